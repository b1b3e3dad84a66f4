//! `route_inefficiency`: far more steps than the reference route needs.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::route_pairs::Pairs;
use super::route_progress::Tracker;
use super::rule::{positive, rule};
use super::wasted_actions::Waste;
use super::{
    Confidence, FailureClass, Finding, Fold, Grid, Measure, NearMiss, Rule, Verdict, WastedActions,
    WastedActionsConfig,
};
use crate::error::Result;
use crate::names::named;
use crate::trace::{Actors, RouteStatus, Step};

named! {
    /// How a run is compared with a route of expected actions. Routes of scores are always compared pair by pair.
    #[derive(Default)]
    #[non_exhaustive]
    pub enum RouteScope: "choice of routes" {
        /// The whole run: far more actions than milestones, many of them wasted.
        #[default]
        Run = "run",
        /// From one milestone to the next.
        Pairs = "pairs",
    }
}

/// Configuration of [`RouteInefficiency`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RouteInefficiencyConfig {
    /// Whose actions count, if the milestones are actions.
    pub actors: Actors,
    /// Ratio of steps to the reference distance (`run`: of actions to milestones) above which the agent's
    /// route is too long; above 0.
    pub ratio: f64,
    /// Minimum number of steps beyond the reference distance (`pairs`).
    pub min_extra: u64,
    /// Whether the start of the trace counts as a milestone, if expected actions are compared pair by pair.
    pub from_start: bool,
    /// How a run is compared with expected actions.
    pub routes: RouteScope,
    /// Minimum weight of wasted actions, as `wasted_actions` counts it (`run`); above 0.
    pub min_wasted: f64,
}

impl Default for RouteInefficiencyConfig {
    fn default() -> Self {
        let WastedActionsConfig { actors, min_wasted, .. } = WastedActionsConfig::default();
        Self { actors, ratio: 2.0, min_extra: 5, from_start: true, routes: RouteScope::Run, min_wasted }
    }
}

impl RouteInefficiencyConfig {
    /// Creates the configuration of the `BenchTrace` benchmark's published rule: only the ratio, from one milestone to
    /// the next.
    #[must_use]
    pub fn bench_trace() -> Self {
        Self { min_extra: 0, routes: RouteScope::Pairs, ..Self::default() }
    }

    fn check(&self) -> Result<()> {
        positive("ratio", self.ratio)?;
        self.waste().check()
    }

    fn waste(&self) -> WastedActionsConfig {
        let Self { actors, min_wasted, .. } = *self;
        WastedActionsConfig { actors, min_wasted, ..WastedActionsConfig::default() }
    }
}

rule! {
    #[doc = include_str!("docs/route_inefficiency.md")]
    RouteInefficiency(RouteInefficiencyConfig), ready: WastedActions = |config| WastedActions::from_checked(config.waste())
}

impl Rule for RouteInefficiency {
    const ID: &'static str = "route_inefficiency";
    const CLASS: FailureClass = FailureClass::Strategy;
    const SUMMARY: &'static str = "far more steps than the reference route needs";
    const DOCS: &'static str = include_str!("docs/route_inefficiency.md");

    fn bench_trace() -> RouteInefficiencyConfig {
        RouteInefficiencyConfig::bench_trace()
    }

    fn fold(&self, routing: &RouteStatus) -> Box<dyn Fold> {
        let RouteInefficiencyConfig { actors, from_start, routes, .. } = *self.config;
        let tracker = match routing {
            RouteStatus::Unknown(reason) => Err(reason.clone()),
            RouteStatus::Known(route) => Tracker::new(route, actors, from_start).map_err(Cow::Borrowed),
        };
        let not_applicable = tracker.as_ref().err().cloned();
        let tracker = tracker.unwrap_or_default();
        Box::new(State {
            whole: routes == RouteScope::Run && !tracker.by_score(),
            tracker,
            pairs: Pairs::new(&self.config),
            waste: Waste::new(&self.ready),
            comparable: false,
            not_applicable,
            config: Arc::clone(&self.config),
        })
    }

    fn reads_argument_texts(&self) -> bool {
        self.config.routes == RouteScope::Run
    }

    fn grid() -> Option<Grid> {
        let values = (4..=16).map(|quarter| (f64::from(quarter) / 4.0).into());
        Some(Grid { parameter: "ratio", values: values.collect() })
    }
}

/// The milestone at which a detour begins or should end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MilestoneEvidence {
    /// The step at which the reference reaches it.
    pub reference_step: u64,
    /// The label of the milestone, or its action if it has no label; `start` for the start of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// The score that reaches it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
}

/// Evidence of `route_inefficiency`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RouteInefficiencyEvidence {
    /// A detour between two milestones.
    Pair(PairEvidence),
    /// A detour of the whole run.
    Run(RunEvidence),
}

/// Evidence of a detour between two milestones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairEvidence {
    /// Steps that the agent took between the two milestones, or to the end of the trace.
    pub steps: u64,
    /// Steps that the reference takes between them.
    pub reference_steps: u64,
    /// `steps / reference_steps`.
    pub ratio: f64,
    /// Whether the second milestone was reached.
    pub reached: bool,
    /// The milestone at which the range begins.
    pub from: MilestoneEvidence,
    /// The milestone at which it ends, or should have.
    pub to: MilestoneEvidence,
}

/// Evidence of a run with far more actions than its route has milestones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunEvidence {
    /// Actions of the chosen actors.
    pub actions: u64,
    /// Milestones of the chosen actors.
    pub milestones: u64,
    /// Number of these milestones that were reached.
    pub milestones_reached: u64,
    /// The weight of wasted actions, as `wasted_actions` counts it; some count half.
    pub wasted: f64,
}

#[derive(Debug)]
struct State {
    config: Arc<RouteInefficiencyConfig>,
    tracker: Tracker,
    pairs: Pairs,
    waste: Waste,
    /// Whether the run is compared as a whole.
    whole: bool,
    /// Whether any action so far has recorded arguments.
    comparable: bool,
    /// Why the trace cannot be judged.
    not_applicable: Option<Cow<'static, str>>,
}

impl Fold for State {
    fn observe(&mut self, step: &Step<'_>) {
        if self.not_applicable.is_some() {
            return;
        }
        let now = self.tracker.observe(step);
        if self.whole {
            self.waste.observe(step);
        } else if let Some(now) = now {
            self.comparable |= step.digested(self.config.actors).is_some_and(|(_, d)| d.arguments.is_some());
            self.pairs.observe(&self.tracker, now);
        }
    }

    /// A pair is confirmed as soon as it is too long.
    fn confirmed(&self) -> &[Finding] {
        // Nothing is confirmed until an action can be compared.
        if self.whole || !(self.comparable || self.tracker.by_score()) { &[] } else { &self.pairs.confirmed }
    }

    fn verdict(&self) -> Verdict {
        if let Some(reason) = self.not_applicable.clone() {
            return Verdict::NotApplicable { reason };
        }
        if self.whole { self.finish_run() } else { self.finish_pairs() }
    }

    fn near_misses(&self) -> Vec<NearMiss> {
        if self.whole { Vec::new() } else { self.pairs.near_misses(&self.tracker) }
    }

    fn memory(&self) -> usize {
        self.tracker.memory() + self.pairs.memory() + self.waste.memory()
    }
}

impl State {
    fn finish_pairs(&self) -> Verdict {
        if self.tracker.acted() && !self.comparable && !self.tracker.by_score() {
            return super::incomparable();
        }
        let (findings, extra) = self.pairs.finish(&self.tracker);
        self.judge(findings, extra)
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of actions are far below 2^53")]
    fn finish_run(&self) -> Verdict {
        let Waste { actions, place, .. } = self.waste;
        if self.waste.attempts.are_incomparable() {
            return super::incomparable();
        }
        let milestones = self.tracker.milestones();
        let too_many = actions as f64 > self.config.ratio * milestones as f64 && self.waste.is_too_much();
        let finding = place.filter(|_| too_many).map(|place| {
            let number = self.waste.number();
            let milestones_reached = self.tracker.reached();
            let missed = match self.tracker.missed() {
                Some((first, 0)) => format!(" (`{first}` not called as expected)"),
                Some((first, others)) => format!(" (`{first}` and {others} more not called as expected)"),
                None => String::new(),
            };
            let message = format!(
                "{actions} actions, {number} of them wasted, where the reference takes {milestones}{missed}"
            );
            let wasted = self.waste.wasted();
            let evidence = RunEvidence { actions, milestones, milestones_reached, wasted };
            let evidence = RouteInefficiencyEvidence::Run(evidence);
            RouteInefficiency::finding(place, message, evidence).confidence(Confidence::Likely)
        });
        let extra = Measure::count("extra_steps", actions.saturating_sub(milestones));
        self.judge(finding.into_iter().collect(), extra)
    }

    fn judge(&self, findings: Vec<Finding>, extra: Measure) -> Verdict {
        let detours = Measure::count("detours", findings.len() as u64);
        let reached = Measure::count("milestones_reached", self.tracker.reached());
        Verdict::found(None, findings, [detours, extra, reached])
    }
}
