//! `expected_action`: an action that the reference expects was not taken.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::Evidence;
use super::detector::Fold;
use super::expected_calls::{Expectation, ExpectedCalls, Missed};
use super::explanation::{Comparator, Condition, NearMiss};
use super::finding::{FailureClass, FailureMode, Finding, Judgement, Verdict};
use super::measures::Measure;
use super::rule::{Grid, Rule};
use crate::error::{Error, Result};
use crate::json::Json;
use crate::names::named;
use crate::trace::{
    Action, Actor, Actors, Content, Digest, ExpectedAction, Members, Routing, Status, Step, Target,
};

const PERCEPTION: FailureMode = FailureMode::new(FailureClass::Operation, "perception_error");
const DECISION: FailureMode = FailureMode::new(FailureClass::Operation, "decision_error");

/// Configuration of [`MissedAction`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MissedActionConfig {
    /// Whose actions count, and are expected.
    pub actors: Actors,
    /// Missed actions that are too many; at least 1.
    pub min_missed: u64,
}

impl Default for MissedActionConfig {
    fn default() -> Self {
        Self { actors: Actors::Agent, min_missed: 1 }
    }
}

/// What became of an expected action that was missed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Miss {
    /// Its tool was never called.
    NeverCalled,
    /// Its tool was called, with other arguments.
    Arguments,
    /// It was taken, and failed every time.
    Rejected,
}

named! { Miss, "kind" { NeverCalled => "never_called", Arguments => "arguments", Rejected => "rejected" } }

#[doc = include_str!("docs/expected_action.md")]
#[derive(Debug, Clone, Default)]
pub struct MissedAction {
    config: MissedActionConfig,
}

impl MissedAction {
    /// The detector with this configuration.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) where `min_missed` is 0.
    pub fn new(config: MissedActionConfig) -> Result<Self> {
        if config.min_missed == 0 {
            return Err(Error::config("min_missed", "0 would find every run; it must be at least 1"));
        }
        Ok(Self { config })
    }
}

impl Rule for MissedAction {
    type Config = MissedActionConfig;
    const ID: &'static str = "expected_action";
    const CLASS: FailureClass = FailureClass::Operation;
    const SUMMARY: &'static str = "an action that the reference expects was not taken";
    const DOCS: &'static str = include_str!("docs/expected_action.md");
    const OPT_IN: bool = true;

    fn with_actors(config: MissedActionConfig, actors: Actors) -> MissedActionConfig {
        MissedActionConfig { actors, ..config }
    }

    fn configured(config: MissedActionConfig) -> Result<Self> {
        Self::new(config)
    }

    fn config(&self) -> &Self::Config {
        &self.config
    }

    fn fold(&self, routing: &Routing) -> Box<dyn Fold> {
        Box::new(State::new(self.config.clone(), routing))
    }

    fn needs_argument_texts(&self) -> bool {
        true
    }

    fn grid() -> Option<Grid> {
        Some(Grid { parameter: "min_missed", values: (1..=8).map(Into::into).collect() })
    }
}

/// Evidence of `expected_action`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissedActionEvidence {
    /// What became of the action.
    pub kind: Miss,
    /// The milestone of the reference route, counted from 0.
    pub expected: u64,
    /// The name of the tool.
    pub name: String,
    /// The compared arguments in which the first call of the tool differs, in order (`arguments`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differing: Vec<String>,
}

#[derive(Debug, Default)]
struct State {
    config: MissedActionConfig,
    calls: ExpectedCalls<u64>,
    /// Of each expected call the milestone, and the name.
    milestones: Vec<(usize, String)>,
    /// The first and the last action.
    ends: Option<(u64, u64)>,
    /// Whether an action has its arguments recorded.
    comparable: bool,
    /// Why there is nothing to say of the trace.
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
        self.calls.observe(tool(step.actor(), digests.name), step.index(), failed, || {
            let given = given(action)?;
            Some(move |name: &str| given.get(name))
        });
    }

    /// Nothing is certain before the end: what is expected may still come.
    fn certain(&self) -> &[Finding] {
        &[]
    }

    fn verdict(&self) -> Verdict {
        let not_applicable = |reason| Verdict::NotApplicable { reason };
        if let Some(reason) = self.not_applicable.clone() {
            return not_applicable(reason);
        }
        let Some(ends) = self.ends else { return not_applicable("no actions".into()) };
        if !self.comparable {
            return super::incomparable();
        }
        let found = self.calls.missed().filter_map(|(place, missed)| self.finding(place, missed, ends));
        let mut findings: Vec<Finding> = found.collect();
        let (expected, missed) = (self.calls.len() as u64, findings.len() as u64);
        let never_called = findings.iter().filter(|finding| finding.mode == PERCEPTION).count() as u64;
        let detected = missed >= self.config.min_missed;
        if !detected {
            findings.clear();
        }
        Verdict::Judged(Judgement {
            detected,
            score: Some(share_met(missed, expected)),
            findings,
            measures: [
                Measure::count("expected", expected),
                Measure::count("missed", missed),
                Measure::count("never_called", never_called),
            ]
            .into(),
            ..Judgement::default()
        })
    }

    fn near_misses(&self) -> Vec<NearMiss> {
        let missed = self.calls.missed().count() as u64;
        let conditions =
            vec![Condition::count("actions", missed, Comparator::AtLeast, self.config.min_missed)];
        if missed == 0 { Vec::new() } else { vec![NearMiss::new("missed_action", conditions)] }
    }

    fn memory(&self) -> usize {
        self.calls.memory() + self.milestones.capacity() * (size_of::<(usize, String)>() + 16)
    }

    fn restart(&mut self, routing: &Routing) -> bool {
        (self.ends, self.comparable) = (None, false);
        self.milestones.clear();
        self.not_applicable = self.expect(routing).err();
        true
    }
}

impl State {
    fn new(config: MissedActionConfig, routing: &Routing) -> Self {
        let mut state = Self { config, ..Self::default() };
        state.restart(routing);
        state
    }

    /// Begins anew, with what a route expects. `Err`: why the route does not apply.
    fn expect(&mut self, routing: &Routing) -> Result<(), Cow<'static, str>> {
        self.calls.begin([]);
        let route = match routing {
            Routing::Unknown(reason) => return Err(reason.clone()),
            Routing::Known(route) => route,
        };
        let mut expected = Vec::new();
        for (place, milestone) in route.milestones().iter().enumerate() {
            let Target::Action(action) = &milestone.target else {
                return Err("the reference route is one of scores: it expects no actions".into());
            };
            if self.config.actors.include(action.actor()) {
                self.milestones.push((place, action.name().to_owned()));
                expected.push(expectation(action));
            }
        }
        self.calls.begin(expected);
        if self.milestones.is_empty() {
            Err("no expected actions of the chosen actors".into())
        } else {
            Ok(())
        }
    }

    fn finding(&self, place: usize, missed: Missed<'_, u64>, ends: (u64, u64)) -> Option<Finding> {
        let (milestone, name) = self.milestones.get(place)?;
        let quoted = super::quoted(name);
        let (mode, kind, place, message, differing) = match missed {
            Missed::NeverCalled => (
                PERCEPTION,
                Miss::NeverCalled,
                ends,
                format!("`{quoted}` was expected and never called"),
                &[][..],
            ),
            Missed::Arguments(step, differing) => {
                let message = format!("`{quoted}` was expected with other arguments");
                (DECISION, Miss::Arguments, (step, step), message, differing)
            }
            Missed::Rejected(step) => {
                let message = format!("`{quoted}` was called as expected, and failed every time");
                (DECISION, Miss::Rejected, (step, step), message, &[][..])
            }
        };
        let evidence = MissedActionEvidence {
            kind,
            expected: *milestone as u64,
            name: name.clone(),
            differing: differing.to_vec(),
        };
        let evidence = Evidence::MissedAction(evidence);
        let finding = Finding::new(MissedAction::ID, mode, place, message, evidence);
        Some(finding.identified_by(format_args!("milestone-{milestone}")))
    }
}

/// A tool in the hands of an actor.
fn tool(actor: Actor, name: Digest) -> Digest {
    Digest::of_text(actor.name()).and(name)
}

fn expectation(action: &ExpectedAction) -> Expectation {
    let members = Members::of(action.arguments());
    let names = match action.compare() {
        Some(names) => names.to_vec(),
        None => names_of(action.arguments()),
    };
    let compared = names.into_iter().map(|name| {
        let value = members.get(&name);
        (name, value)
    });
    Expectation { tool: tool(action.actor(), action.name_digest()), compared: compared.collect() }
}

/// The names of the members of a JSON object, each once, in the order in which they first stand there.
fn names_of(json: &str) -> Vec<String> {
    let (mut names, mut known) = (Vec::new(), BTreeSet::new());
    let read = Json::new(json.as_bytes()).object(|key, value| {
        let name = String::from_utf8_lossy(key);
        if known.insert(Digest::of_text(&name)) {
            names.push(name.into_owned());
        }
        value.skip()
    });
    if read.is_err() {
        names.clear();
    }
    names
}

/// What a call was given; `None` where nobody knows.
fn given(action: &Action<'_>) -> Option<Members> {
    match &action.arguments {
        Content::Absent => Some(Members::default()),
        Content::NotRecorded => None,
        Content::Present(arguments) => arguments.json().map(Members::of),
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of milestones are far below 2^53")]
fn share_met(missed: u64, expected: u64) -> f64 {
    if expected == 0 { 1.0 } else { 1.0 - missed as f64 / expected as f64 }
}
