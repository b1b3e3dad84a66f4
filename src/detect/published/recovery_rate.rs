//! The measure of recovery that Pisama publishes: the share of tool errors that are followed by a success of the same
//! tool.

use crate::detect::shared::program_in;
use crate::detect::tool_error_recovery::recovery_rate;
use crate::detect::{
    Finding, Fold, Measure, ToolError, ToolErrorRecovery, ToolErrorRecoveryEvidence, Verdict,
};
use crate::trace::{Action, Actors, Digest, DigestMap, Status, Step};

/// Follows the errors of each tool until the tool succeeds, so nothing is confirmed before the end. With
/// `by_program`, a shell counts as one tool for each program that it runs.
#[derive(Debug, Default)]
pub(in crate::detect) struct RecoveryRate {
    actors: Actors,
    threshold: f64,
    /// True if shell calls are distinguished by the program that they run.
    by_program: bool,
    calls: u64,
    /// Indices into `tools`, by the digest of the name (and program).
    ids: DigestMap<usize>,
    tools: Vec<Tool>,
    errors: Vec<Failure>,
}

#[derive(Debug, Default)]
struct Tool {
    /// Calls of the tool since the first error of any tool.
    calls: u64,
    /// The name as messages show it, with the program if shell calls are distinguished.
    name: String,
    /// Indices into `errors` of those that wait for a success.
    waiting: Vec<usize>,
}

#[derive(Debug)]
struct Failure {
    step: u64,
    tool: usize,
    /// [`Tool::calls`] at this error.
    calls: u64,
    arguments: Option<Digest>,
    recovered: Option<Recovery>,
}

#[derive(Debug)]
struct Recovery {
    step: u64,
    attempts: u64,
    changed_arguments: Option<bool>,
}

impl RecoveryRate {
    pub(in crate::detect) fn new(actors: Actors, threshold: f64, by_program: bool) -> Self {
        Self { actors, threshold, by_program, ..Self::default() }
    }

    /// Returns the index of the action's tool in `tools`, and adds it if it is new.
    fn tool(&mut self, step: &Step<'_>, action: &Action<'_>, name: Digest) -> usize {
        let program = if self.by_program { program_in(step) } else { None };
        let id = program.as_deref().map_or(name, |program| name.and(Digest::of_text(program)));
        let next = self.tools.len();
        let place = *self.ids.entry(id).or_insert(next);
        if place == next {
            self.tools.push(Tool::default());
        }
        if let Some(tool) = self.tools.get_mut(place).filter(|tool| tool.name.is_empty()) {
            tool.name = match &program {
                Some(program) => format!("{}:{program}", action.name),
                None => action.name.to_owned(),
            };
        }
        place
    }

    fn recovered(&self) -> u64 {
        self.errors.iter().filter(|error| error.recovered.is_some()).count() as u64
    }

    /// Returns the measures that the replication correlates with rewards.
    pub(in crate::detect) fn measures(&self) -> [Measure; 4] {
        let (errors, recovered) = (self.errors.len() as u64, self.recovered());
        [
            Measure::count("tool_calls", self.calls),
            Measure::count("errors", errors),
            Measure::count("recovered", recovered),
            Measure { name: "recovery_rate", value: recovery_rate(recovered, errors) },
        ]
    }

    fn finding(&self) -> Option<Finding> {
        let mut open = self.errors.iter().filter(|error| error.recovered.is_none());
        let (first, last) = open.next().map(|first| (first, open.next_back().unwrap_or(first)))?;
        let place = (first.step, last.step);
        let tool = self.tools.get(first.tool).map_or("", |tool| &tool.name);
        let message = format!("{} of {} tool errors recovered", self.recovered(), self.errors.len());
        let errors = self.errors.iter().map(|error| self.evidence(error)).collect();
        let evidence = ToolErrorRecoveryEvidence { errors, ..Default::default() };
        Some(ToolErrorRecovery::finding(place, message, evidence).tool(tool))
    }

    fn evidence(&self, error: &Failure) -> ToolError {
        let tool = self.tools.get(error.tool);
        let later = tool.map_or(0, |tool| tool.calls - error.calls);
        let attempts = error.recovered.as_ref().map_or(later, |recovery| recovery.attempts);
        ToolError {
            step: error.step,
            tool: tool.map_or_else(String::new, |tool| tool.name.clone()),
            recovered_by: error.recovered.as_ref().map(|recovery| recovery.step),
            attempts,
            changed_arguments: error.recovered.as_ref().and_then(|recovery| recovery.changed_arguments),
            abandoned: attempts == 0,
        }
    }
}

impl Fold for RecoveryRate {
    fn observe(&mut self, step: &Step<'_>) {
        let Some((action, digests)) = step.digested(self.actors) else { return };
        self.calls += 1;
        if self.errors.is_empty() && action.status != Status::Error {
            return;
        }
        let place = self.tool(step, action, digests.name);
        let Some(tool) = self.tools.get_mut(place) else { return };
        tool.calls += 1;
        match action.status {
            Status::Unknown => {}
            Status::Error => {
                tool.waiting.push(self.errors.len());
                self.errors.push(Failure {
                    step: step.index(),
                    tool: place,
                    calls: tool.calls,
                    arguments: digests.arguments,
                    recovered: None,
                });
            }
            Status::Ok => {
                for error in tool.waiting.drain(..) {
                    let Some(error) = self.errors.get_mut(error) else { continue };
                    let changed = error.arguments.zip(digests.arguments).map(|(before, now)| before != now);
                    error.recovered = Some(Recovery {
                        step: step.index(),
                        attempts: tool.calls - error.calls,
                        changed_arguments: changed,
                    });
                }
            }
        }
    }

    fn verdict(&self) -> Verdict {
        let rate = recovery_rate(self.recovered(), self.errors.len() as u64);
        let finding = self.finding().filter(|_| rate < self.threshold);
        Verdict::found(Some(rate), finding.into_iter().collect(), self.measures())
    }

    fn memory(&self) -> usize {
        let per_tool = size_of::<Tool>() + 32 + 2 * size_of::<(Digest, usize)>();
        let per_error = size_of::<Failure>() + size_of::<usize>();
        self.tools.len() * per_tool + self.errors.capacity() * per_error
    }
}
