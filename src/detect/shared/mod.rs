//! Facts about an action, shared by all rules: the effect of its call, the key that equal calls share, the
//! normal form of its answer, and its failure.
//!
//! The facts of a step are computed once, when the first rule asks, and shared by all rules of a scan or monitor.

mod arguments;
mod attempts;
mod call;
pub(super) mod call_form;
mod call_status;
mod check;
mod does;
mod failure;
mod failure_lines;
mod failure_phrases;
mod failure_text;
mod history;
mod lexicon;
mod looks;
pub(super) mod no_call;
mod phrase_search;
mod polling;
mod preexisting;
mod quote;
pub(super) mod shell;
mod shell_prefix;
mod text;
mod tool;
mod transient;
mod user;

use std::sync::{Arc, OnceLock};

#[cfg(feature = "statistics")]
pub(crate) use arguments::listed_arguments;
pub(crate) use arguments::{each_text, identifiers};
use attempts::AnswerState;
pub(crate) use attempts::{Attempt, Attempts, Excuse};
pub(crate) use call::{Call, Part, Undo};
#[cfg(feature = "benchmarks")]
pub(crate) use call_form::{CallRules, Written};
pub(crate) use check::Check;
pub(crate) use does::{Does, installed, is_search, newly_installed};
pub(crate) use failure::{Failure, FailureKind, Report, stops};
pub(crate) use failure_text::{diagnoses, found_nothing, runs_no_test};
pub(crate) use history::{History, Lines, Past, Said};
pub(super) use lexicon::{Meaning, words};
pub(crate) use looks::{Looks, ShownLines};
pub(crate) use no_call::NoCall;
pub(super) use phrase_search::{Pattern, Phrases};
pub use polling::PollingCall;
pub(super) use polling::SkipRules;
pub(crate) use preexisting::Baseline;
pub(crate) use quote::Shown;
#[cfg(feature = "statistics")]
pub(crate) use quote::command_line;
pub(super) use quote::{after_colon, excerpt, quoted};
pub(crate) use text::without_colours;
pub(super) use text::{is_blank, is_withheld, lines};
use tool::Tool;
pub use transient::TransientRules;
pub(crate) use user::UserSays;

use crate::trace::{Action, Actors, Content, Digest, Digests, Status, Step, Text, UnknownReason};

/// The facts of an action.
#[derive(Debug)]
pub(crate) struct Facts {
    /// The name of the tool, trimmed.
    pub(crate) tool: Arc<str>,
    pub(crate) location: Option<Box<str>>,
    pub(crate) hands_over: bool,
    pub(crate) call: Call,
    /// How the action failed, if it did, by its status or by the text of its answer.
    pub(crate) failure: Option<Box<Failure>>,
    /// The digest of the command line as given, if the action failed or is still running.
    pub(crate) line: Option<Digest>,
    /// Equal for actions with the same result: failures with equal signatures, or answers that differ at most in
    /// times, durations, ids or temporary paths. `None` if the answer is unknown.
    pub(crate) outcome: Option<Digest>,
    /// Whether the answer is final, and if not, why.
    pub(crate) state: AnswerState,
    /// Whether the failure is transient by the default rules, computed on first use.
    transient: OnceLock<bool>,
}

impl Facts {
    /// Returns the name of the tool as recorded, or the program of a command line.
    pub(crate) fn named(&self) -> &str {
        let program = &*self.call.program;
        if self.tool.eq_ignore_ascii_case(program) { &self.tool } else { program }
    }
}

/// Returns the facts of a step; `None` if it is not an action.
pub(crate) fn facts(step: &Step<'_>) -> Option<Arc<Facts>> {
    let (action, digests) = step.digested(Actors::All)?;
    step.facts(|| {
        let tool = Tool::of(action.name, digests.name);
        let call = Call::of(step, action, &digests, &tool);
        let failure = Failure::of(&call, action).map(Box::new);
        let outcome = outcome(action, &digests, &call, failure.as_deref());
        let state = AnswerState::of(&call, action);
        let is_compared = failure.is_some() || state == AnswerState::Running;
        let line = if is_compared { Call::line(action, &tool) } else { None };
        let hands_over = tool.hands_over;
        Facts {
            tool: tool.name,
            hands_over,
            location: step.location().map(Into::into),
            call,
            failure,
            line,
            outcome,
            state,
            transient: OnceLock::new(),
        }
    })
}

fn outcome(action: &Action<'_>, digests: &Digests, call: &Call, failure: Option<&Failure>) -> Option<Digest> {
    if let Some(failure) = failure {
        return Some(failure.signature);
    }
    let said = match (&action.observation, digests.observation) {
        (Content::Present(text), _) if text::is_withheld(*text) => return None,
        (Content::Present(text), Content::Present(digest)) => said(text, call.is_shell, || digest),
        (Content::Absent, _) if action.reason != Some(UnknownReason::Unanswered) => Digest::NONE,
        _ => return None,
    };
    // A negative answer may differ from a positive one in its status alone.
    Some(if action.status == Status::Error { said.and(Digest::NONE) } else { said })
}

/// Returns a digest that is equal for answers that say the same thing. `exact` computes the digest of the exact text.
fn said(text: &Text<'_>, is_shell: bool, exact: impl FnOnce() -> Digest) -> Digest {
    if is_shell || text::holds_clock(text) { text::template_digest(*text) } else { exact() }
}

/// Returns the program that the command line of a step runs; `None` if the step runs no command line.
pub(super) fn program_in(step: &Step<'_>) -> Option<Arc<str>> {
    facts(step).filter(|facts| facts.call.is_shell).map(|facts| Arc::clone(&facts.call.program))
}

/// Returns true if detectors know from the name of a tool that it polls, checks, reads, writes or takes
/// notes.
#[cfg(feature = "statistics")]
pub(crate) fn is_known_tool(name: &str) -> bool {
    polling::is_known(name) || Does::of_tool(name) != Does::Run || Check::of_tool(name).is_some()
}

/// Finds the steps at which progress increases. Each begins a new segment, in which rules count from zero.
#[derive(Debug, Default)]
pub(super) struct ProgressTracker {
    before: Option<f64>,
}

impl ProgressTracker {
    /// Returns true if the step begins a new segment.
    pub(super) fn observe(&mut self, step: &Step<'_>) -> bool {
        let Some(now) = step.progress() else { return false };
        self.before.replace(now).is_some_and(|before| now > before)
    }
}
