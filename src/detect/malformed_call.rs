//! `malformed_call`: calls that never reached a tool.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Evidence;
use super::detector::Fold;
use super::explanation::{Comparator, Condition, NearMiss};
use super::finding::{FINDING_BYTES, FailureClass, FailureMode, Finding, Judgement, Verdict};
use super::measures::Measure;
use super::phrases::Phrases;
use super::rule::{Grid, Rule};
use crate::error::{Error, Result};
use crate::json::{Json, Kind};
use crate::names::named;
use crate::trace::{Action, Actors, Arguments, Routing, Status, Step, first_chars};

/// Characters of an observation that are looked at.
const LOOKED_AT: usize = 300;

/// What the frame around the tools says of a call that it does not pass on.
const REJECTIONS: [&str; 13] = [
    "unknown tool",
    "tool not found",
    "no such tool",
    "unknown function",
    "invalid arguments",
    "invalid parameters",
    "missing required argument",
    "missing required parameter",
    "missing 1 required",
    "unexpected keyword argument",
    "failed to parse",
    "not valid json",
    "invalid json",
];

/// Why a call is malformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MalformedReason {
    /// It names no tool.
    EmptyName,
    /// Its arguments are no JSON.
    ArgumentsNotJson,
    /// Its arguments are JSON, but no object.
    ArgumentsNotAnObject,
    /// It failed, and the answer says that the tool was not run.
    RejectedBeforeRunning,
}

named! {
    MalformedReason, "reason" {
        EmptyName => "empty_name",
        ArgumentsNotJson => "arguments_not_json",
        ArgumentsNotAnObject => "arguments_not_an_object",
        RejectedBeforeRunning => "rejected_before_running",
    }
}

/// Configuration of [`MalformedCall`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MalformedCallConfig {
    /// Whose actions count.
    pub actors: Actors,
    /// Malformed calls that are too many; at least 1.
    pub min_calls: u64,
    /// Whether arguments that are no JSON object are malformed. Not where tools take a bare text or number.
    pub objects_only: bool,
    /// What an answer says of a call that was not passed on to its tool, in any case.
    pub rejections: Vec<String>,
}

impl Default for MalformedCallConfig {
    fn default() -> Self {
        Self {
            actors: Actors::Agent,
            min_calls: 1,
            objects_only: true,
            rejections: REJECTIONS.map(str::to_owned).to_vec(),
        }
    }
}

/// The rule for one call, with what an answer says where the tool was not run.
#[derive(Debug, Clone)]
pub(crate) struct CallRules {
    rejections: Phrases,
}

impl Default for CallRules {
    fn default() -> Self {
        Self::new(REJECTIONS)
    }
}

impl CallRules {
    pub(crate) fn new<'t>(rejections: impl IntoIterator<Item = &'t str>) -> Self {
        Self { rejections: Phrases::new(rejections) }
    }

    /// Why a call is malformed: the first reason that holds. `failure` is the observation of a call that failed.
    pub(crate) fn reason(
        &self,
        name: &str,
        written: Option<Written>,
        failure: Option<&str>,
    ) -> Option<MalformedReason> {
        if name.trim().is_empty() {
            return Some(MalformedReason::EmptyName);
        }
        match written {
            Some(Written::NotJson) => return Some(MalformedReason::ArgumentsNotJson),
            Some(Written::NotAnObject) => return Some(MalformedReason::ArgumentsNotAnObject),
            Some(Written::Object) | None => {}
        }
        let head = first_chars(failure?, LOOKED_AT);
        self.rejections.occur_in(head).then_some(MalformedReason::RejectedBeforeRunning)
    }
}

/// What stands where an object of arguments should.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Written {
    Object,
    NotJson,
    NotAnObject,
}

impl Written {
    /// As a model wrote them.
    pub(crate) fn of_text(text: &str) -> Self {
        let mut json = Json::new(text.as_bytes());
        match json.kind() {
            Ok(kind) if json.check().is_ok() && json.peek_byte().is_none() => {
                if kind == Kind::Object {
                    Self::Object
                } else {
                    Self::NotAnObject
                }
            }
            _ => Self::NotJson,
        }
    }

    /// As a trace keeps them: a text that is no JSON stands for itself, and null for none.
    fn of_recorded(json: &str) -> Self {
        let found = Self::of_text(json);
        if found != Self::NotAnObject || json.trim() == "null" {
            return if found == Self::NotJson { found } else { Self::Object };
        }
        match Json::new(json.as_bytes()).string() {
            Ok(text) if Self::of_text(&text) == Self::NotJson => Self::NotJson,
            _ => found,
        }
    }
}

#[doc = include_str!("docs/malformed_call.md")]
#[derive(Debug, Clone)]
pub struct MalformedCall {
    config: Arc<MalformedCallConfig>,
    rules: Arc<CallRules>,
}

impl Default for MalformedCall {
    fn default() -> Self {
        Self::from_checked(&MalformedCallConfig::default())
    }
}

impl MalformedCall {
    /// The detector with this configuration.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) where `min_calls` is 0, or a rejection is an empty text.
    pub fn new(config: &MalformedCallConfig) -> Result<Self> {
        if config.min_calls == 0 {
            return Err(Error::config("min_calls", "0 would find every run; it must be at least 1"));
        }
        if config.rejections.iter().any(|rejection| rejection.trim().is_empty()) {
            return Err(Error::config("rejections", "an empty text would match every error"));
        }
        Ok(Self::from_checked(config))
    }

    fn from_checked(config: &MalformedCallConfig) -> Self {
        let rules = CallRules::new(config.rejections.iter().map(String::as_str));
        Self { config: Arc::new(config.clone()), rules: Arc::new(rules) }
    }

    fn reason(&self, action: &Action<'_>) -> Option<MalformedReason> {
        let arguments = action.arguments.as_ref().present().filter(|_| self.config.objects_only);
        let written = arguments.and_then(Arguments::json).map(Written::of_recorded);
        let observation = action.observation.present().filter(|_| action.status == Status::Error);
        let head = observation.map(|observation| observation.head(LOOKED_AT));
        self.rules.reason(action.name, written, head.as_deref())
    }
}

impl Rule for MalformedCall {
    type Config = MalformedCallConfig;
    const ID: &'static str = "malformed_call";
    const CLASS: FailureClass = FailureClass::System;
    const SUMMARY: &'static str = "calls that never reached a tool";
    const DOCS: &'static str = include_str!("docs/malformed_call.md");
    const MODE: FailureMode = FailureMode::new(FailureClass::System, "format");
    const OPT_IN: bool = true;

    fn with_actors(config: MalformedCallConfig, actors: Actors) -> MalformedCallConfig {
        MalformedCallConfig { actors, ..config }
    }

    fn configured(config: MalformedCallConfig) -> Result<Self> {
        Self::new(&config)
    }

    fn config(&self) -> &Self::Config {
        &self.config
    }

    fn fold(&self, _routing: &Routing) -> Box<dyn Fold> {
        Box::new(State::new(self.clone()))
    }

    fn needs_argument_texts(&self) -> bool {
        self.config.objects_only
    }

    fn grid() -> Option<Grid> {
        Some(Grid { parameter: "min_calls", values: (1..=8).map(Into::into).collect() })
    }
}

/// Evidence of `malformed_call`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MalformedCallEvidence {
    /// Why the call is malformed.
    pub reason: MalformedReason,
    /// The tool that it names.
    pub tool: String,
}

#[derive(Debug)]
struct State {
    detector: MalformedCall,
    calls: u64,
    /// Whether any action has its arguments or its answer recorded.
    recorded: bool,
    findings: Vec<Finding>,
}

impl State {
    fn new(detector: MalformedCall) -> Self {
        Self { detector, calls: 0, recorded: false, findings: Vec::new() }
    }

    fn is_too_many(&self) -> bool {
        self.findings.len() as u64 >= self.detector.config.min_calls
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of actions are far below 2^53")]
    fn score(&self) -> f64 {
        if self.calls == 0 { 1.0 } else { 1.0 - self.findings.len() as f64 / self.calls as f64 }
    }
}

impl Fold for State {
    fn observe(&mut self, step: &Step<'_>) {
        let Some(action) = step.action_of(self.detector.config.actors) else { return };
        self.calls += 1;
        self.recorded |= action.arguments.is_recorded() || action.observation.is_recorded();
        if let Some(reason) = self.detector.reason(action) {
            self.findings.push(finding(step.index(), action.name, reason));
        }
    }

    /// A malformed call stays one: all of them as soon as they are too many.
    fn certain(&self) -> &[Finding] {
        if self.is_too_many() { &self.findings } else { &[] }
    }

    fn verdict(&self) -> Verdict {
        if self.calls > 0 && !self.recorded && self.findings.is_empty() {
            return Verdict::NotApplicable {
                reason: "no action has its arguments or its answer recorded".into(),
            };
        }
        let detected = self.is_too_many();
        Verdict::Judged(Judgement {
            detected,
            score: Some(self.score()),
            findings: if detected { self.findings.clone() } else { Vec::new() },
            measures: [
                Measure::count("calls", self.calls),
                Measure::count("malformed", self.findings.len() as u64),
            ]
            .into(),
            ..Judgement::default()
        })
    }

    fn near_misses(&self) -> Vec<NearMiss> {
        let (count, limit) = (self.findings.len() as u64, self.detector.config.min_calls);
        let conditions = vec![Condition::count("calls", count, Comparator::AtLeast, limit)];
        let ends = self.findings.first().zip(self.findings.last());
        let near = ends.map(|(first, last)| (first.first, last.last));
        near.map(|steps| NearMiss::new("malformed_call", conditions).at(steps)).into_iter().collect()
    }

    fn memory(&self) -> usize {
        self.findings.capacity() * FINDING_BYTES
    }

    fn restart(&mut self, _routing: &Routing) -> bool {
        (self.calls, self.recorded) = (0, false);
        self.findings.clear();
        true
    }
}

fn finding(step: u64, tool: &str, reason: MalformedReason) -> Finding {
    let tool = super::quoted(tool);
    let message = match reason {
        MalformedReason::EmptyName => "a call names no tool".to_owned(),
        MalformedReason::ArgumentsNotJson => format!("the arguments of `{tool}` are no JSON"),
        MalformedReason::ArgumentsNotAnObject => format!("the arguments of `{tool}` are no object"),
        MalformedReason::RejectedBeforeRunning => format!("`{tool}` was rejected before it ran"),
    };
    let evidence = Evidence::MalformedCall(MalformedCallEvidence { reason, tool: tool.to_owned() });
    Finding::new(MalformedCall::ID, MalformedCall::MODE, (step, step), message, evidence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_reason_counts() {
        use MalformedReason::{ArgumentsNotAnObject, ArgumentsNotJson, EmptyName, RejectedBeforeRunning};
        let rules = CallRules::default();
        let far = format!("{}unknown tool", "x".repeat(289));
        for (name, text, failure, reason) in [
            (" ", Some("{"), Some("unknown tool"), Some(EmptyName)),
            ("f", Some("{"), None, Some(ArgumentsNotJson)),
            ("f", Some(""), None, Some(ArgumentsNotJson)),
            ("f", Some("{} {}"), None, Some(ArgumentsNotJson)),
            ("f", Some("null"), None, Some(ArgumentsNotAnObject)),
            ("f", Some("{}"), Some("INVALID JSON"), Some(RejectedBeforeRunning)),
            ("f", None, None, None),
            ("f", None, Some("no such file"), None),
            ("f", None, Some(&*far), None),
            ("f", None, Some(&far[1..]), Some(RejectedBeforeRunning)),
        ] {
            let written = text.map(Written::of_text);
            assert_eq!(rules.reason(name, written, failure), reason, "{name} {text:?} {failure:?}");
        }
        let own = CallRules::new(["Access Denied"]);
        assert_eq!(own.reason("f", None, Some("access denied")), Some(RejectedBeforeRunning));
        assert_eq!(rules.reason("f", None, Some("access denied")), None);
    }

    #[test]
    fn what_a_trace_keeps_of_a_text_is_read_back() {
        for (json, written) in [
            (" {} ", Written::Object),
            ("null", Written::Object),
            (r#""{\"a\": ""#, Written::NotJson),
            (r#""{\"a\": 1}""#, Written::NotAnObject),
            (r#""""#, Written::NotJson),
            ("[{}]", Written::NotAnObject),
            ("7", Written::NotAnObject),
            ("{", Written::NotJson),
            ("", Written::NotJson),
        ] {
            assert_eq!(Written::of_recorded(json), written, "{json}");
        }
    }
}
