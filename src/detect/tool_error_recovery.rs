//! `tool_error_recovery`: tools fail, and the agent does not get them to succeed.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Evidence;
use super::detector::Fold;
use super::finding::{FailureClass, Finding, Judgement, Verdict};
use super::measures::Measure;
use super::rule::{Grid, Rule};
use super::shell::{Subtools, default_subtools};
use crate::error::{Error, Result};
use crate::trace::{Action, Actors, Digest, DigestMap, Routing, Status, Step, empty, lean_push, map_bytes};

/// Configuration of [`ToolErrorRecovery`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToolErrorRecoveryConfig {
    /// Whose actions count.
    pub actors: Actors,
    /// A recovery rate below this is a failure; in (0, 1].
    pub threshold: f64,
    /// Tools whose name says nothing, because one argument holds a command line: tool and argument. Such a tool is then
    /// name and program, such as `bash:pytest`, where the text of the argument is known.
    pub subtools: BTreeMap<String, String>,
}

impl Default for ToolErrorRecoveryConfig {
    fn default() -> Self {
        Self { actors: Actors::Agent, threshold: 0.5, subtools: default_subtools() }
    }
}

impl ToolErrorRecoveryConfig {
    /// The published rule: tools go by their names alone.
    #[must_use]
    pub fn published() -> Self {
        Self { subtools: BTreeMap::new(), ..Self::default() }
    }
}

#[doc = include_str!("docs/tool_error_recovery.md")]
#[derive(Debug, Clone)]
pub struct ToolErrorRecovery {
    pub(super) config: ToolErrorRecoveryConfig,
    pub(super) subtools: Arc<Subtools>,
}

impl Default for ToolErrorRecovery {
    fn default() -> Self {
        Self::from_checked(ToolErrorRecoveryConfig::default())
    }
}

impl ToolErrorRecovery {
    /// The detector with this configuration.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) where the threshold is not in (0, 1].
    pub fn new(config: ToolErrorRecoveryConfig) -> Result<Self> {
        if !(config.threshold > 0.0 && config.threshold <= 1.0) {
            return Err(Error::config("threshold", format!("{} is not in (0, 1]", config.threshold)));
        }
        Ok(Self::from_checked(config))
    }

    fn from_checked(config: ToolErrorRecoveryConfig) -> Self {
        Self { subtools: Arc::new(Subtools::new(&config.subtools)), config }
    }
}

impl Rule for ToolErrorRecovery {
    type Config = ToolErrorRecoveryConfig;
    const ID: &'static str = "tool_error_recovery";
    const CLASS: FailureClass = FailureClass::Operation;
    const SUMMARY: &'static str = "tools fail, and the agent does not get them to succeed";
    const DOCS: &'static str = include_str!("docs/tool_error_recovery.md");

    fn bench_trace() -> ToolErrorRecoveryConfig {
        ToolErrorRecoveryConfig::published()
    }

    fn with_actors(config: ToolErrorRecoveryConfig, actors: Actors) -> ToolErrorRecoveryConfig {
        ToolErrorRecoveryConfig { actors, ..config }
    }

    fn configured(config: ToolErrorRecoveryConfig) -> Result<Self> {
        Self::new(config)
    }

    fn config(&self) -> &Self::Config {
        &self.config
    }

    fn fold(&self, _routing: &Routing) -> Box<dyn Fold> {
        Box::new(State {
            actors: self.config.actors,
            threshold: self.config.threshold,
            subtools: Arc::clone(&self.subtools),
            calls: 0,
            ids: DigestMap::default(),
            tools: Vec::new(),
            errors: Vec::new(),
        })
    }

    fn needs_argument_texts(&self) -> bool {
        self.subtools.needs_texts()
    }

    fn grid() -> Option<Grid> {
        let values = (1..=20).map(|twentieth| (f64::from(twentieth) / 20.0).into());
        Some(Grid { parameter: "threshold", values: values.collect() })
    }
}

/// Evidence of `tool_error_recovery`: every error of the trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolErrorRecoveryEvidence {
    /// The errors in the order of their steps.
    pub errors: Vec<ToolError>,
}

/// One tool error and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolError {
    /// The step that failed.
    pub step: u64,
    /// The tool.
    pub tool: String,
    /// The first later step at which the tool succeeded.
    pub recovered_by: Option<u64>,
    /// Later calls of the tool, up to and including the recovering one; without one, all later calls.
    pub attempts: u64,
    /// Whether the recovering call had other arguments than the failed one; `None` also where one of the two was
    /// not recorded.
    pub changed_arguments: Option<bool>,
    /// Whether the tool was never called again.
    pub abandoned: bool,
}

#[derive(Debug)]
struct State {
    actors: Actors,
    threshold: f64,
    subtools: Arc<Subtools>,
    calls: u64,
    /// Places in the list of tools.
    ids: DigestMap<usize>,
    tools: Vec<Tool>,
    errors: Vec<Failure>,
}

#[derive(Debug, Default)]
struct Tool {
    /// Calls, where they matter: from the first of the errors that wait on.
    calls: u32,
    /// The name, from the first failure on.
    name: Option<Box<str>>,
    /// The argument that holds a command line, where there is one: its place in the list of subtools.
    command: Option<usize>,
    /// The latest of the errors that wait for a success: its place in the list of errors, counted from 1.
    waiting: Option<NonZeroU32>,
    /// How many errors wait for a success of the tool, or of a program that runs in it.
    open: u32,
}

/// A failure. What it waits with is not needed any more when it is recovered.
#[derive(Debug)]
struct Failure {
    step: u64,
    /// Calls of the tool up to this one.
    calls: u32,
    /// Place in the list of tools.
    tool: u32,
    fate: Fate,
}

#[derive(Debug, Clone, Copy)]
enum Fate {
    /// With the arguments, where they are recorded, and the error of the tool before this one that waits as well.
    Waiting { arguments: Digest, recorded: bool, before: Option<NonZeroU32> },
    /// After so many calls.
    Recovered { step: u64, attempts: u32, changed_arguments: Option<bool> },
}

const _: () = assert!(size_of::<Failure>() <= 40);

impl Failure {
    fn is_recovered(&self) -> bool {
        matches!(self.fate, Fate::Recovered { .. })
    }
}

impl Fold for State {
    fn observe(&mut self, step: &Step<'_>) {
        let Some((action, digests)) = step.digested(self.actors) else { return };
        self.calls += 1;
        let named = self.tool(digests.name, |subtools| subtools.command(digests.name));
        let Some(tool) = self.tools.get(named) else { return };
        if tool.open == 0 && action.status != Status::Error {
            // It recovers nothing, and is no attempt to.
            return;
        }
        let program = tool.command.and_then(|command| self.subtools.program(command, action));
        let id = match &program {
            Some(program) => self.tool(digests.name.and(Digest::of_text(program)), |_| None),
            None => named,
        };
        let Some(tool) = self.tools.get_mut(id) else { return };
        tool.calls = tool.calls.saturating_add(1);
        match action.status {
            Status::Unknown => {}
            Status::Error => {
                tool.name.get_or_insert_with(|| full_name(action, program.as_deref()));
                let place = u32::try_from(self.errors.len()).unwrap_or(u32::MAX);
                let place = NonZeroU32::MIN.saturating_add(place);
                let failure = Failure {
                    step: step.index(),
                    calls: tool.calls,
                    tool: u32::try_from(id).unwrap_or(u32::MAX),
                    fate: Fate::Waiting {
                        arguments: digests.arguments.unwrap_or(Digest::NONE),
                        recorded: digests.arguments.is_some(),
                        before: tool.waiting.replace(place),
                    },
                };
                lean_push(&mut self.errors, failure);
                if let Some(tool) = self.tools.get_mut(named) {
                    tool.open += 1;
                }
            }
            Status::Ok => {
                let mut next = tool.waiting.take();
                let mut recovered = 0;
                while let Some(error) = next.and_then(|place| self.errors.get_mut(place.get() as usize - 1)) {
                    let Fate::Waiting { arguments, recorded, before } = error.fate else { break };
                    error.fate = Fate::Recovered {
                        step: step.index(),
                        attempts: tool.calls - error.calls,
                        changed_arguments: digests.arguments.filter(|_| recorded).map(|now| arguments != now),
                    };
                    next = before;
                    recovered += 1;
                }
                if let Some(tool) = self.tools.get_mut(named) {
                    tool.open -= recovered;
                }
            }
        }
    }

    /// Nothing is certain before the end: a later success still recovers every error.
    fn certain(&self) -> &[Finding] {
        &[]
    }

    fn verdict(&self) -> Verdict {
        let count = self.errors.len() as u64;
        let recovered = self.errors.iter().filter(|error| error.is_recovered()).count() as u64;
        let rate = recovery_rate(recovered, count);
        let measures = [
            Measure::count("tool_calls", self.calls),
            Measure::count("errors", count),
            Measure::count("recovered", recovered),
            Measure { name: "recovery_rate", value: rate },
        ]
        .into();
        let detected = count > 0 && rate < self.threshold;
        let findings = if detected { self.finding(recovered).into_iter().collect() } else { Vec::new() };
        Verdict::Judged(Judgement { detected, score: Some(rate), findings, measures, ..Judgement::default() })
    }

    fn memory(&self) -> usize {
        map_bytes(&self.ids)
            + self.tools.capacity() * (size_of::<Tool>() + 16)
            + self.errors.capacity() * size_of::<Failure>()
    }

    fn restart(&mut self, _routing: &Routing) -> bool {
        self.calls = 0;
        empty(&mut self.ids);
        self.tools.clear();
        self.errors.clear();
        true
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of errors are far below 2^53")]
pub(crate) fn recovery_rate(recovered: u64, errors: u64) -> f64 {
    if errors == 0 { 1.0 } else { recovered as f64 / errors as f64 }
}

pub(super) fn full_name(action: &Action<'_>, program: Option<&str>) -> Box<str> {
    match program {
        Some(program) => format!("{}:{program}", action.name).into(),
        None => action.name.into(),
    }
}

impl State {
    /// The place of a tool in the list, where it is put when it is first met.
    fn tool(&mut self, digest: Digest, command: impl FnOnce(&Subtools) -> Option<usize>) -> usize {
        let next = self.tools.len();
        let id = *self.ids.entry(digest).or_insert(next);
        if id == next {
            self.tools.push(Tool { command: command(&self.subtools), ..Tool::default() });
        }
        id
    }

    fn finding(&self, recovered: u64) -> Option<Finding> {
        let mut open = self.errors.iter().filter(|error| !error.is_recovered());
        let first = open.next()?.step;
        let last = open.next_back().map_or(first, |error| error.step);
        let message = format!("{recovered} of {} tool errors recovered", self.errors.len());
        let errors = self.errors.iter().map(|error| self.evidence(error)).collect();
        let evidence = Evidence::ToolErrorRecovery(ToolErrorRecoveryEvidence { errors });
        Some(Finding::new(ToolErrorRecovery::ID, ToolErrorRecovery::MODE, (first, last), message, evidence))
    }

    fn evidence(&self, error: &Failure) -> ToolError {
        let tool = self.tools.get(error.tool as usize);
        let later = tool.map_or(0, |tool| tool.calls - error.calls);
        let (recovered_by, attempts, changed_arguments) = match error.fate {
            Fate::Waiting { .. } => (None, later, None),
            Fate::Recovered { step, attempts, changed_arguments } => {
                (Some(step), attempts, changed_arguments)
            }
        };
        ToolError {
            step: error.step,
            tool: tool.and_then(|tool| tool.name.as_deref()).unwrap_or_default().to_owned(),
            recovered_by,
            attempts: attempts.into(),
            changed_arguments,
            abandoned: attempts == 0,
        }
    }
}
