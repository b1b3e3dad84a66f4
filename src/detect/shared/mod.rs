//! Facts about an action, shared by all rules: the effect of its call, the key that equal calls share, the
//! normal form of its answer, and its failure.
//!
//! The facts of a step are computed once, when the first rule asks, and shared by all rules of a scan or monitor.

mod arguments;
mod attempts;
mod baseline;
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
mod phrases;
mod polling;
pub(super) mod shell;
mod shell_prefix;
mod text;
mod tool;
mod transient;
mod user;

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};

pub(crate) use arguments::{each_text, identifiers, listed_arguments};
use attempts::AnswerState;
pub(crate) use attempts::{Attempt, Attempts, Excuse};
pub(crate) use baseline::Baseline;
pub(crate) use call::{Call, Part, Undo};
#[cfg(feature = "benchmarks")]
pub(crate) use call_form::{CallRules, Written};
pub(crate) use check::Check;
pub(crate) use does::{Does, installed, installs, is_search};
pub(crate) use failure::{Failure, FailureKind, Report, stops};
pub(crate) use failure_text::{diagnoses, found_nothing, runs_no_test};
pub(crate) use history::{History, Lines, Past, Said};
pub(super) use lexicon::{Meaning, words};
pub(crate) use looks::{Looks, ShownLines};
pub(crate) use no_call::NoCall;
pub(super) use phrases::Phrases;
pub(super) use polling::PassedOver;
pub use polling::PollingCall;
pub(crate) use text::without_colours;
pub(super) use text::{is_blank, lines};
use tool::Tool;
pub use transient::TransientRules;
pub(crate) use user::UserSays;

use crate::json::Json;
use crate::trace::{
    Action, Actors, Arguments, Content, Digest, Digests, Status, Step, Text, UnknownReason, canonical_text,
    first_chars,
};

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
    /// Equal for actions with the same result: failures with one signature, or answers that differ at most in
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

/// A call as messages show it, formatted on demand.
#[derive(Debug, Clone)]
pub(crate) struct Shown {
    pub(crate) call: Arc<Facts>,
    /// The index of the command to show; `None` for the one that failed, else the main one.
    part: Option<usize>,
    /// The arguments that are shown.
    given: Option<Box<str>>,
    /// The whole command line, if the harness refused it.
    line: Option<Box<str>>,
}

impl Shown {
    /// Shows the tool and the beginning of the command that failed, else of the main one, or the
    /// target of the call.
    pub(crate) fn of(call: &Arc<Facts>) -> Self {
        Self { call: Arc::clone(call), part: None, given: None, line: None }
    }

    /// Like [`Shown::of`], with the beginning of this command.
    pub(crate) fn part(call: &Arc<Facts>, part: &Part) -> Self {
        Self { part: Some(part.place), ..Self::of(call) }
    }

    /// Like [`Shown::of`], with the arguments of a structured call that names no file, or a command line that the
    /// harness refused, or PowerShell could not parse, as a whole.
    pub(crate) fn with(call: &Arc<Facts>, action: &Action<'_>) -> Self {
        let is_plain = !call.call.is_shell && call.call.target.is_none() && action.name.trim() == &*call.tool;
        let given = action.arguments.as_ref().present().filter(|_| is_plain).and_then(Arguments::json);
        let refused = |failure: &Failure| {
            let refused = failure.is_flagged && failure.kind == FailureKind::Refused;
            call.call.is_shell && (refused || failure.has_unknown_separator())
        };
        let is_refused = call.failure.as_deref().is_some_and(refused);
        let line = is_refused.then(|| arguments::Given::by(action, true).line).flatten();
        Self { given: given.map(Into::into), line: line.map(Into::into), ..Self::of(call) }
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Facts { tool, call, failure, .. } = &*self.call;
        let name = quoted(tool);
        if let Some(line) = &self.line {
            return write!(f, "`{name}: {}`", excerpt(line, 60));
        }
        if let Some(json) = self.given.as_deref().map(canonical_text).filter(|json| json != "{}") {
            // A single text is a query or code, so the name of its argument says nothing.
            if let Some(text) = sole_text(&json) {
                return write!(f, "`{name}: {}`", excerpt(&text, 60));
            }
            let listed = listed_arguments(&json).unwrap_or(json);
            return write!(f, "`{name} {}`", excerpt(&listed, 60));
        }
        let failed = || failure.as_ref().and_then(|failure| call.failed_part(&failure.line));
        let main = || call.parts.iter().find(|part| part.program == call.program).or(call.parts.first());
        let part = match self.part {
            Some(place) => call.parts.get(place),
            None => failed().or_else(main),
        };
        match (part.filter(|_| call.is_shell), &call.target) {
            // If the tool has the name of the program, the command already shows it.
            (Some(part), _) if part.name() == &**tool => write!(f, "`{}`", part.shown),
            (Some(part), _) => {
                // If the line did not parse, an ellipsis stands for the rest of it.
                let is_part = call.parts.len() > 1
                    && !part.shown.ends_with('…')
                    && failure.as_ref().is_some_and(|failure| failure.is_unparsed());
                write!(f, "`{name}: {}{}`", part.shown, if is_part { " …" } else { "" })
            }
            (None, Some(target)) => write!(f, "`{name} {}`", short_path(target, 60)),
            (None, None) => write!(f, "`{name}`"),
        }
    }
}

/// Returns the program that the command line of a step runs; `None` if the step runs no command line.
pub(super) fn program_in(step: &Step<'_>) -> Option<Arc<str>> {
    facts(step).filter(|facts| facts.call.is_shell).map(|facts| Arc::clone(&facts.call.program))
}

/// Returns the beginning of a text on one line: at most `chars` characters, and an ellipsis if more follow.
pub(super) fn excerpt(text: &str, chars: usize) -> String {
    let text = text.trim();
    let head = first_chars(text, 2 * chars);
    let line = head.split_whitespace().collect::<Vec<_>>().join(" ");
    let start = first_chars(&line, chars);
    let is_whole = start.len() == line.len() && head.len() == text.len();
    if is_whole { line } else { format!("{}…", start.trim_end()) }
}

/// Returns the command line, or the only text, that a call hands to its tool; of `bash -c '…'`, the line inside.
#[cfg(feature = "statistics")]
pub(crate) fn command_line<'a>(action: &'a Action<'_>) -> Option<Cow<'a, str>> {
    let json = action.arguments.as_ref().present().and_then(Arguments::json)?;
    let line = arguments::Given::by(action, false).line.or_else(|| sole_text(json).map(Cow::Owned))?;
    Some(shell::line_inside(&line).map_or(line, Cow::Owned))
}

/// Returns the text of the only argument, if it has several words.
fn sole_text(json: &str) -> Option<String> {
    let (mut count, mut sole) = (0, None);
    let read = Json::new(json.as_bytes()).members(|_, value| {
        count += 1;
        sole = value.checked()?.string().map(Cow::into_owned);
        Ok(())
    });
    sole.filter(|text| read.is_ok() && count == 1 && text.trim().contains(char::is_whitespace))
}

/// Shortens a path to about `longest` characters, keeping its end.
fn short_path(path: &str, longest: usize) -> String {
    let start = path.len().saturating_sub(longest);
    let end =
        path.get(start..).filter(|_| start > 0).and_then(|end| end.find('/').and_then(|at| end.get(at..)));
    end.map_or_else(|| excerpt(path, longest), |end| format!("…{end}"))
}

/// Returns a colon and the beginning of a line without its full stop; empty if the line is blank.
pub(super) fn after_colon(line: &str) -> String {
    let line = excerpt(line, 100);
    let line = if line.ends_with("..") { &line } else { line.trim_end_matches('.') };
    if line.is_empty() { String::new() } else { format!(": {line}") }
}

/// Returns true if detectors know from the name of a tool that it polls, checks, reads, writes or takes
/// notes.
#[cfg(feature = "statistics")]
pub(crate) fn is_known_tool(name: &str) -> bool {
    polling::is_known(name) || Does::of_tool(name) != Does::Run || Check::of_tool(name).is_some()
}

/// Returns the part of a name that messages quote, at most 80 characters.
pub(super) fn quoted(name: &str) -> &str {
    first_chars(name.trim(), 80)
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
