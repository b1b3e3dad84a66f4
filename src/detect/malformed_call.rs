//! `malformed_call`: calls that never reached a tool, and turns refused for lack of a call.

use serde::{Deserialize, Serialize};

use super::rule::{at_least, rule};
pub use super::shared::call_form::MalformedReason;
use super::shared::call_form::{CallRules, HEAD, REJECTIONS, Written, broken_call};
use super::shared::no_call::{Attempt, NoCall};
use super::{
    Comparator, Condition, Confidence, Evidence, FINDING_BYTES, FailureClass, FailureMode, Finding, Fold,
    Grid, Measure, NearMiss, Rule, Verdict,
};
use crate::error::{Error, Result};
use crate::trace::{Action, Actor, Actors, Arguments, Event, RouteStatus, Status, Step};

/// Configuration of [`MalformedCall`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MalformedCallConfig {
    /// Whose actions count.
    pub actors: Actors,
    /// Minimum number of malformed calls that counts as the failure; at least 1.
    pub min_calls: u64,
    /// Whether arguments must be a JSON object. Set to `false` if tools take plain text or numbers.
    pub objects_only: bool,
    /// Phrases in an answer that show that the call never reached its tool. Case is ignored.
    pub rejections: Vec<String>,
}

impl Default for MalformedCallConfig {
    fn default() -> Self {
        let rejections = REJECTIONS.map(str::to_owned).to_vec();
        Self { actors: Actors::Agent, min_calls: 1, objects_only: true, rejections }
    }
}

/// Evidence of `malformed_call`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MalformedCallEvidence {
    /// Why the call is malformed.
    pub reason: MalformedReason,
    /// The tool that it names; empty if it names none.
    pub tool: String,
    /// Number of consecutive turns without a call that were refused in the same way (`no_call`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
}

rule! {
    #[doc = include_str!("docs/malformed_call.md")]
    MalformedCall(MalformedCallConfig),
    ready: CallRules = |config| CallRules::new(config.rejections.iter().map(String::as_str))
}

impl MalformedCallConfig {
    fn check(&self) -> Result<()> {
        if self.rejections.iter().any(|rejection| rejection.trim().is_empty()) {
            return Err(Error::config("rejections", "an empty text would match every error"));
        }
        at_least("min_calls", self.min_calls, 1)
    }
}

impl Rule for MalformedCall {
    const ID: &'static str = "malformed_call";
    const CLASS: FailureClass = FailureClass::System;
    const SUMMARY: &'static str = "calls that never reached a tool";
    const DOCS: &'static str = include_str!("docs/malformed_call.md");
    const MODE: FailureMode = FailureMode::new(FailureClass::System, "format");
    const OPT_IN: bool = true;

    fn fold(&self, _routing: &RouteStatus) -> Box<dyn Fold> {
        Box::new(State::new(self.clone()))
    }

    fn reads_argument_texts(&self) -> bool {
        self.config.objects_only
    }

    fn grid() -> Option<Grid> {
        Some(Grid { parameter: "min_calls", values: (1..=8).map(Into::into).collect() })
    }
}

#[derive(Debug)]
struct State {
    detector: MalformedCall,
    no_call: NoCall,
    /// If the last step is a message of the agent with a broken call, its index and the beginning of the call.
    broken: Option<(u64, String)>,
    calls: u64,
    malformed: u64,
    /// Whether any action has its arguments or its answer recorded.
    recorded: bool,
    findings: Vec<Finding>,
    /// The findings as they were when confirmed. Later turns may extend those in `findings`.
    confirmed: Vec<Finding>,
}

impl State {
    fn new(detector: MalformedCall) -> Self {
        let (no_call, findings, confirmed) = (NoCall::default(), Vec::new(), Vec::new());
        Self { detector, no_call, broken: None, calls: 0, malformed: 0, recorded: false, findings, confirmed }
    }

    fn action(&mut self, step: u64, action: &Action<'_>) {
        self.calls += 1;
        self.recorded |= action.arguments.is_recorded() || action.observation.is_recorded();
        let given = action.arguments.as_ref().present();
        let read = |given: &Arguments<'_>| given.json().map(Written::of_recorded);
        let written = given.filter(|_| self.detector.config.objects_only).and_then(read);
        let failure = action.observation.present().filter(|_| action.status == Status::Error);
        let answer = failure.map(|answer| answer.head(HEAD));
        let reason = self.detector.ready.reason(action.name, written, answer.as_deref());
        let Some(reason) = reason else { return };
        let tool = super::shared::quoted(action.name);
        let given = given.and_then(Arguments::canonical).unwrap_or_default();
        let given = super::shared::excerpt(&serde_json::from_str(&given).unwrap_or(given), 80);
        let answer = super::shared::excerpt(answer.as_deref().unwrap_or_default(), 80);
        let message = match reason {
            MalformedReason::EmptyName => format!("a call names no tool: `{given}`"),
            MalformedReason::ArgumentsNotJson => format!("arguments of `{tool}` are not JSON: `{given}`"),
            MalformedReason::ArgumentsNotAnObject => {
                format!("arguments of `{tool}` are not an object: `{given}`")
            }
            _ => format!("`{tool}` was rejected before it ran: {answer}"),
        };
        let evidence = MalformedCallEvidence { reason, tool: tool.to_owned(), turns: None };
        self.found((step, step), message, evidence);
    }

    /// Reports a refused turn. Extends the finding of the previous turn if that was refused in the same way.
    fn refused(&mut self, attempt: &Attempt<'_>) {
        self.calls += 1;
        let (answer, last, turns) = (super::shared::excerpt(&attempt.head, 90), attempt.last, attempt.row);
        let evidence = MalformedCallEvidence {
            reason: MalformedReason::NoCall,
            tool: String::new(),
            turns: Some(turns),
        };
        match self.findings.last_mut() {
            Some(finding) if turns > 1 => {
                let first = finding.first;
                self.malformed += 1;
                finding.last = last;
                finding.message = format!(
                    "the harness sent back {turns} turns in a row (steps {first}-{last}): \"{answer}\""
                );
                finding.evidence = Evidence::MalformedCall(evidence);
            }
            _ => self.found(
                (attempt.step, last),
                format!("the harness sent back a turn: \"{answer}\""),
                evidence,
            ),
        }
    }

    /// Reports a broken call in the message before this step, unless the agent makes a call now, and looks for a broken
    /// call in this step.
    fn written(&mut self, step: &Step<'_>) {
        let is_run = matches!(step.event(), Event::Action(_)) && step.actor() == Actor::Agent;
        if let Some((at, call)) = self.broken.take().filter(|_| !is_run) {
            self.calls += 1;
            let reason = MalformedReason::TextNotJson;
            let evidence = MalformedCallEvidence { reason, tool: String::new(), turns: None };
            self.found((at, at), format!("a call in a message is not JSON: `{call}`"), evidence);
        }
        if let Event::Message(text) = step.event()
            && step.actor() == Actor::Agent
        {
            let text = text.to_str();
            let call = broken_call(&text).map(|call| super::shared::excerpt(call, 80));
            self.broken = call.map(|call| (step.index(), call));
        }
    }

    fn found(&mut self, place: (u64, u64), message: String, evidence: MalformedCallEvidence) {
        self.malformed += 1;
        let confidence = match evidence.reason {
            MalformedReason::NoCall
            | MalformedReason::RejectedBeforeRunning
            | MalformedReason::TextNotJson => Confidence::Likely,
            _ => Confidence::Certain,
        };
        let tool = evidence.tool.clone();
        let finding = MalformedCall::finding(place, message, evidence);
        self.findings.push(finding.tool(tool).confidence(confidence));
    }

    fn is_too_many(&self) -> bool {
        self.malformed >= self.detector.config.min_calls
    }
}

impl Fold for State {
    fn observe(&mut self, step: &Step<'_>) {
        let actors = self.detector.config.actors;
        let attempt = self.no_call.observe(step);
        let refused = attempt.filter(|attempt| attempt.refused && actors.include(Actor::Agent));
        if let Some(action) = step.action_of(actors) {
            self.action(step.index(), action);
        }
        if let Some(attempt) = refused {
            // The turn is reported as refused, so its broken call must not count again.
            self.broken = None;
            self.refused(&attempt);
        } else if actors.include(Actor::Agent) {
            self.written(step);
        }
        if self.is_too_many() {
            self.confirmed.extend_from_slice(self.findings.get(self.confirmed.len()..).unwrap_or_default());
        }
    }

    /// Returns all findings once there are enough malformed calls.
    fn confirmed(&self) -> &[Finding] {
        &self.confirmed
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of actions are far below 2^53")]
    fn verdict(&self) -> Verdict {
        if self.calls > 0 && !self.recorded && self.malformed == 0 {
            let reason = "no action has its arguments or its answer recorded".into();
            return Verdict::NotApplicable { reason };
        }
        let score = if self.calls == 0 { 1.0 } else { 1.0 - self.malformed as f64 / self.calls as f64 };
        let findings = if self.is_too_many() { self.findings.clone() } else { Vec::new() };
        let measures = [Measure::count("calls", self.calls), Measure::count("malformed", self.malformed)];
        Verdict::found(Some(score), findings, measures)
    }

    fn near_misses(&self) -> Vec<NearMiss> {
        let conditions = vec![Condition::count(
            "calls",
            self.malformed,
            Comparator::AtLeast,
            self.detector.config.min_calls,
        )];
        let ends = self.findings.first().zip(self.findings.last());
        let near = ends.map(|(first, last)| (first.first, last.last));
        near.map(|steps| NearMiss::new("malformed_call", conditions).at(steps)).into_iter().collect()
    }

    fn memory(&self) -> usize {
        (self.findings.capacity() + self.confirmed.capacity()) * FINDING_BYTES
    }
}
