//! How near a trace comes to too many wasted actions, and to too long a route.

use std::sync::Arc;

use serde_json::Value;

use super::explanation::{Bound, Change, Condition, Explanation, Near, SHOWN};
use super::route_inefficiency::{RouteInefficiency, RouteInefficiencyConfig, Routes};
use super::route_progress::Tracker;
use super::seen;
use super::wasted_actions::{Waste, WasteRules, WastedActions};
use crate::trace::{Routing, Trace};

/// What a trace wastes, by the rules of `wasted_actions`.
struct Account {
    wasted: u64,
    actions: u64,
    place: Option<(u64, u64)>,
    /// The latest action that would be wasted if it were done again with the same answer.
    repeatable: Option<u64>,
}

impl Account {
    fn of(rules: &Arc<WasteRules>, trace: &Trace, explanation: &mut Explanation) -> Self {
        let mut waste = Waste::new(Arc::clone(rules));
        let mut repeatable = None;
        for step in trace {
            waste.observe(&step);
            let Some((action, digests)) = step.digested(rules.actors) else { continue };
            if let Some(passed) = rules.passed_over.reason(&step, action, &digests) {
                explanation.pass_over(passed);
            } else if seen::key(&step, &digests).is_some() && seen::observation(&digests).is_some() {
                repeatable = Some(step.index());
            }
        }
        Self { wasted: waste.wasted(), actions: waste.actions, place: waste.place, repeatable }
    }

    fn near(&self, rules: &WasteRules) -> Near {
        let conditions = vec![
            Condition::count("wasted", self.wasted, Bound::AtLeast, rules.min_wasted),
            Condition::measure("share", self.share(), Bound::AtLeast, rules.min_share),
        ];
        let near = Near::new("wasted_actions", conditions);
        match self.place {
            Some(place) => near.at(place),
            None => near,
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of actions are far below 2^53")]
    fn share(&self) -> f64 {
        if self.actions == 0 { 0.0 } else { self.wasted as f64 / self.actions as f64 }
    }

    /// The fields with which so much waste is too much; `None`: there is no waste.
    fn lowered(&self, rules: &WasteRules) -> Option<Vec<(&'static str, Value)>> {
        if self.wasted == 0 {
            return None;
        }
        let mut fields: Vec<(&'static str, Value)> = Vec::new();
        if self.wasted < rules.min_wasted {
            fields.push(("min_wasted", self.wasted.into()));
        }
        if !enough(self.wasted, self.actions, rules.min_share) {
            let mut share = self.share();
            while !enough(self.wasted, self.actions, share) {
                share = share.next_down();
            }
            fields.push(("min_share", share.into()));
        }
        Some(fields)
    }

    /// How many more wasted actions would be too many, where `enough` of all are.
    fn missing(&self, rules: &WasteRules, actions: impl Fn(u64) -> bool) -> Option<u64> {
        let holds = |more: u64| {
            self.wasted + more >= rules.min_wasted
                && enough(self.wasted + more, self.actions + more, rules.min_share)
                && actions(self.actions + more)
        };
        // Every condition that holds for one number holds for all above it, if any does at all.
        let mut most = 1_u64;
        while !holds(most) {
            most = most.checked_mul(2).filter(|most| *most < 1 << 40)?;
        }
        let mut least = 0;
        while least + 1 < most {
            let middle = least.midpoint(most);
            if holds(middle) { most = middle } else { least = middle }
        }
        Some(most)
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of actions are far below 2^53")]
fn enough(wasted: u64, actions: u64, share: f64) -> bool {
    wasted as f64 >= share * actions as f64
}

pub(super) fn wasted(rule: &WastedActions, trace: &Trace, explanation: &mut Explanation) {
    let account = Account::of(&rule.0, trace, explanation);
    explanation.near.push(account.near(&rule.0));
    if explanation.fired() {
        explanation.config([("min_wasted", (account.wasted + 1).into())]);
        return;
    }
    if let Some((step, times)) = account.repeatable.zip(account.missing(&rule.0, |_| true)) {
        explanation.changes.push(Change::Repeat { step, times });
    }
    explanation.config(account.lowered(&rule.0).into_iter().flatten());
}

pub(super) fn route(rule: &RouteInefficiency, trace: &Trace, explanation: &mut Explanation) {
    let RouteInefficiencyConfig { actors, from_start, routes, .. } = rule.config;
    let Routing::Known(route) = trace.routing() else { return };
    let mut tracker = Tracker::default();
    if tracker.begin(route, actors, from_start).is_err() {
        return;
    }
    for step in trace {
        tracker.observe(&step);
    }
    if routes == Routes::Run && !tracker.by_score() {
        run(rule, trace, tracker.milestones(), explanation);
    } else {
        pairs(&rule.config, &tracker, explanation);
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of actions are far below 2^53")]
fn run(rule: &RouteInefficiency, trace: &Trace, milestones: u64, explanation: &mut Explanation) {
    let account = Account::of(&rule.waste, trace, explanation);
    let limit = rule.config.ratio * milestones as f64;
    let actions = Condition::measure("actions", account.actions as f64, Bound::Above, limit);
    let long_enough = actions.holds;
    let mut near = account.near(&rule.waste);
    near.what = "long_route";
    near.conditions.insert(0, actions);
    explanation.near.push(near);
    if explanation.fired() {
        explanation.config([("min_wasted", (account.wasted + 1).into())]);
        return;
    }
    let missing = account.missing(&rule.waste, |actions| actions as f64 > limit);
    if let Some((step, times)) = account.repeatable.zip(missing) {
        explanation.changes.push(Change::Repeat { step, times });
    }
    if let Some(mut fields) = account.lowered(&rule.waste) {
        if !long_enough {
            fields.push(("ratio", ((account.actions as f64 - 0.5) / milestones as f64).into()));
        }
        explanation.config(fields);
    }
}

/// From one milestone to the next: the pairs with the longest ways.
#[expect(clippy::cast_precision_loss, reason = "steps are far below 2^53")]
fn pairs(config: &RouteInefficiencyConfig, tracker: &Tracker, explanation: &mut Explanation) {
    let mut ways: Vec<(u64, u64, (u64, u64))> = tracker
        .open_pairs()
        .filter_map(|pair| Some((tracker.measure(pair)?, pair.distance)))
        .map(|(reach, distance)| (reach.steps, distance, (reach.first_step, reach.last_step)))
        .collect();
    let ratio = |steps: u64, distance: u64| steps as f64 / distance as f64;
    ways.sort_by(|a, b| ratio(b.0, b.1).total_cmp(&ratio(a.0, a.1)).then(a.2.cmp(&b.2)));
    for (steps, distance, place) in ways.iter().take(SHOWN) {
        let conditions = vec![
            Condition::measure("ratio", ratio(*steps, *distance), Bound::Above, config.ratio),
            Condition::count(
                "extra steps",
                steps.saturating_sub(*distance),
                Bound::AtLeast,
                config.min_extra,
            ),
        ];
        explanation.near.push(Near::new("detour", conditions).at(*place));
    }
    if explanation.fired() {
        let longest = ways.iter().map(|(steps, distance, _)| ratio(*steps, *distance)).max_by(f64::total_cmp);
        explanation.config(longest.map(|ratio| ("ratio", (ratio + 1.0).into())));
        return;
    }
    if let Some((steps, distance, _)) = ways.iter().find(|(steps, distance, _)| steps >= distance) {
        let mut fields: Vec<(&'static str, Value)> = Vec::new();
        if *steps as f64 <= config.ratio * *distance as f64 {
            fields.push(("ratio", ((*steps as f64 - 0.5) / *distance as f64).into()));
        }
        if steps - distance < config.min_extra {
            fields.push(("min_extra", (steps - distance).into()));
        }
        explanation.config(fields);
    }
}
