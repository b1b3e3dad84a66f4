//! `expected_action`: an action that the reference expects was not taken.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::expected_calls::{Expectation, ExpectedCalls, Missed, tool_of};
use super::rule::{at_least, rule};
use super::{
    Comparator, Condition, FailureClass, FailureMode, Finding, Fold, Grid, Measure, NearMiss, Rule, Verdict,
};
use crate::error::Result;
use crate::names::named;
use crate::trace::{Actors, Content, Members, ReferenceAction, RouteStatus, Status, Step, Target};

const PERCEPTION: FailureMode = FailureMode::new(FailureClass::Operation, "perception_error");
const DECISION: FailureMode = FailureMode::new(FailureClass::Operation, "decision_error");

/// Configuration of [`ExpectedAction`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ExpectedActionConfig {
    /// Whose actions count, and whose expected actions are judged.
    pub actors: Actors,
    /// Minimum number of missed actions that counts as the failure; at least 1.
    pub min_missed: u64,
}

impl Default for ExpectedActionConfig {
    fn default() -> Self {
        Self { actors: Actors::Agent, min_missed: 1 }
    }
}

impl ExpectedActionConfig {
    fn check(&self) -> Result<()> {
        at_least("min_missed", self.min_missed, 1)
    }
}

named! {
    /// How an expected action was missed.
    #[non_exhaustive]
    pub enum Miss: "kind" {
        /// Its tool was never called.
        NeverCalled = "never_called",
        /// Its tool was called, but with other arguments.
        Arguments = "arguments",
        /// It was called as expected and failed every time.
        Rejected = "rejected",
    }
}

rule! {
    #[doc = include_str!("docs/expected_action.md")]
    ExpectedAction(ExpectedActionConfig)
}

impl Rule for ExpectedAction {
    const ID: &'static str = "expected_action";
    const CLASS: FailureClass = FailureClass::Operation;
    const SUMMARY: &'static str = "an action that the reference expects was not taken";
    const DOCS: &'static str = include_str!("docs/expected_action.md");
    const OPT_IN: bool = true;

    fn fold(&self, routing: &RouteStatus) -> Box<dyn Fold> {
        Box::new(State::new(&self.config, routing))
    }

    fn grid() -> Option<Grid> {
        Some(Grid { parameter: "min_missed", values: (1..=8).map(Into::into).collect() })
    }
}

/// Evidence of `expected_action`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExpectedActionEvidence {
    /// How the action was missed.
    pub kind: Miss,
    /// The index of the milestone in the reference route, from 0.
    pub expected: u64,
    /// The name of the tool.
    pub name: String,
    /// The compared arguments that differ in the first call of the tool, in the order of comparison (`arguments`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differing: Vec<String>,
}

/// Nothing is confirmed before the end: an expected action may still come.
#[derive(Debug, Default)]
struct State {
    config: Arc<ExpectedActionConfig>,
    /// The expected actions of the chosen actors, each with its index in the route.
    expected: Vec<(u64, ReferenceAction)>,
    calls: ExpectedCalls<u64>,
    /// The steps of the first and the last action.
    ends: Option<(u64, u64)>,
    /// Whether any action has its arguments recorded. If none has, the verdict is not applicable.
    comparable: bool,
    /// Why the trace cannot be judged.
    not_applicable: Option<Cow<'static, str>>,
}

impl Fold for State {
    fn observe(&mut self, step: &Step<'_>) {
        if self.not_applicable.is_some() {
            return;
        }
        let Some((action, digests)) = step.digested(self.config.actors) else { return };
        let (first, _) = self.ends.unwrap_or((step.index(), step.index()));
        self.ends = Some((first, step.index()));
        self.comparable |= action.arguments.is_recorded();
        let failed = action.status == Status::Error;
        self.calls.observe(tool_of(step.actor(), digests.name), step.index(), failed, || {
            let given = match &action.arguments {
                Content::Absent => Members::default(),
                Content::NotRecorded => return None,
                Content::Present(arguments) => Members::of(arguments.json()?),
            };
            Some(move |name: &str| given.get(name))
        });
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of milestones are far below 2^53")]
    fn verdict(&self) -> Verdict {
        if let Some(reason) = self.not_applicable.clone() {
            return Verdict::NotApplicable { reason };
        }
        let Some(ends) = self.ends else { return Verdict::NotApplicable { reason: "no actions".into() } };
        if !self.comparable {
            return super::incomparable();
        }
        let found = self.calls.missed().filter_map(|(place, missed)| self.finding(place, missed, ends));
        let mut findings: Vec<Finding> = found.collect();
        let (expected, missed) = (self.calls.len(), findings.len());
        let never_called = findings.iter().filter(|finding| finding.mode == PERCEPTION).count();
        if (missed as u64) < self.config.min_missed {
            findings.clear();
        }
        let counts = [("expected", expected), ("missed", missed), ("never_called", never_called)];
        let measures = counts.map(|(name, count)| Measure::count(name, count as u64));
        Verdict::found(Some(1.0 - missed as f64 / expected as f64), findings, measures)
    }

    fn near_misses(&self) -> Vec<NearMiss> {
        let missed = self.calls.missed().count() as u64;
        let limit = self.config.min_missed;
        let conditions = vec![Condition::count("actions", missed, Comparator::AtLeast, limit)];
        if missed == 0 { Vec::new() } else { vec![NearMiss::new("missed_action", conditions)] }
    }

    fn memory(&self) -> usize {
        let per_action = size_of::<(u64, ReferenceAction)>() + 64;
        self.calls.memory() + self.expected.capacity() * per_action
    }
}

impl State {
    fn new(config: &Arc<ExpectedActionConfig>, routing: &RouteStatus) -> Self {
        let mut state = Self { config: Arc::clone(config), ..Self::default() };
        state.not_applicable = state.expect(routing).err();
        state
    }

    /// Collects the expected actions of a route, or returns why the route does not apply.
    fn expect(&mut self, routing: &RouteStatus) -> Result<(), Cow<'static, str>> {
        let route = match routing {
            RouteStatus::Unknown(reason) => return Err(reason.clone()),
            RouteStatus::Known(route) => route,
        };
        for (place, milestone) in (0..).zip(route.milestones()) {
            let Target::Action(action) = &milestone.target else {
                return Err("the reference route has scores, not expected actions".into());
            };
            if self.config.actors.include(action.actor()) {
                self.expected.push((place, action.clone()));
            }
        }
        if self.expected.is_empty() {
            return Err("no expected actions of the chosen actors".into());
        }
        self.calls.begin(self.expected.iter().map(|(_, action)| Expectation::of(action)));
        Ok(())
    }

    fn finding(&self, place: usize, missed: Missed<u64>, ends: (u64, u64)) -> Option<Finding> {
        let (milestone, action) = self.expected.get(place)?;
        let (tool, arguments) =
            (super::shared::excerpt(action.name(), 40), super::shared::excerpt(action.arguments(), 60));
        let (mode, kind, place, message, differing) = match missed {
            Missed::NeverCalled => {
                let message = format!("`{tool}` was never called; expected `{tool} {arguments}`");
                (PERCEPTION, Miss::NeverCalled, ends, message, Vec::new())
            }
            Missed::Arguments(step, differing) => {
                let names = super::shared::excerpt(&differing.join(", "), 40);
                let message =
                    format!("`{tool}` was called with other values of {names} than expected: `{arguments}`");
                (DECISION, Miss::Arguments, (step, step), message, differing)
            }
            Missed::Rejected(step) => {
                let message = format!("`{tool} {arguments}` was called as expected and failed every time");
                (DECISION, Miss::Rejected, (step, step), message, Vec::new())
            }
        };
        let (expected, name) = (*milestone, action.name().to_owned());
        let evidence = ExpectedActionEvidence { kind, expected, name, differing };
        let finding = Finding { mode, ..ExpectedAction::finding(place, message, evidence) };
        Some(finding.with_id(format_args!("milestone-{milestone}")).tool(action.name()))
    }
}
