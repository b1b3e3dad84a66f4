//! Results of ATIF steps, with the flags in `extra` and the text that writers append.

use memchr::memmem::Finder;
use std::sync::LazyLock;

use super::claude_code_line::beside_result;
use super::codex_text;
use super::prelude::*;
use crate::read::call_outcome::{broken_off, never_ran, stops_session};

/// A parsed result of a step.
#[derive(Default)]
pub(in crate::read) struct StepResult<'a> {
    pub(in crate::read) id: Option<Cow<'a, str>>,
    pub(in crate::read) content: Option<TextCow<'a>>,
    pub(in crate::read) success: Option<bool>,
    pub(in crate::read) marks: Marks,
}

impl StepResult<'_> {
    /// Returns true if it answers a call: it has content, marks or `success`, or the step has a verdict.
    /// `step` has the marks of the step if this is its only result, and is empty otherwise.
    pub(in crate::read) fn is_answer(&self, step: Marks) -> bool {
        self.content.is_some() || self.marks.is_there || self.success.is_some() || step.has_verdict
    }
}

/// Facts in `extra` of a result or of its step.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::read) struct Marks {
    /// True if `extra` has any member.
    is_there: bool,
    /// True if any of `is_error`, `tool_result_is_error` and `exec_status` is present, whatever its value.
    has_verdict: bool,
    tool_result_is_error: Option<bool>,
    is_error: Option<bool>,
    /// From `status`; used only for results.
    status: Option<Outcome>,
    /// From `exec_status`; used only for steps, like `exec_exit_code`.
    exec_status: Option<Outcome>,
    has_exec_failed: Option<bool>,
}

impl Marks {
    /// Returns the marks in an `extra`.
    pub(in crate::read) fn of(extra: &Members<'_>) -> Self {
        let verdicts = ["tool_result_is_error", "is_error", "exec_status"];
        Self {
            is_there: extra.keys().next().is_some(),
            has_verdict: verdicts.iter().any(|key| extra.has(key)),
            tool_result_is_error: extra.flag("tool_result_is_error"),
            is_error: extra.flag("is_error"),
            status: extra.outcome("status"),
            exec_status: extra.outcome("exec_status"),
            has_exec_failed: extra.get("exec_exit_code").and_then(is_failure_code),
        }
    }

    fn failed(self) -> Option<bool> {
        self.tool_result_is_error.or(self.is_error)
    }
}

/// Returns the outcome and observation of the call that this result answers. `step` is as in
/// [`StepResult::is_answer`].
pub(in crate::read) fn answer(
    result: StepResult<'_>,
    step: Marks,
    is_codex: bool,
) -> (Outcome, Option<TextCow<'_>>) {
    let (words, marks) = match result.content {
        Some(content) => {
            let (content, marks) = strip(content);
            (Some(content), marks)
        }
        None => (None, Appended::default()),
    };
    let text = words.as_ref().map_or("".into(), TextCow::text);
    let codex = if is_codex { words.as_ref().and_then(codex_text::read) } else { None };
    // A status of success does not decide: an exit code may still report that the command failed.
    let is_decisive = |outcome: &Outcome| outcome.status != Status::Ok;
    let first = never_ran(text).or_else(|| {
        let failed = result.marks.failed().or_else(|| step.failed())?;
        Some(if failed { broken_off(text) } else { None }.unwrap_or(Outcome::flag(failed)))
    });
    let exec_status = step.exec_status.filter(|_| !stops_session(text));
    let outcome = first
        .or_else(|| result.marks.status.filter(is_decisive))
        .or_else(|| exec_status.filter(is_decisive))
        .or_else(|| result.success.map(|success| Outcome::flag(!success)))
        .or_else(|| step.has_exec_failed.map(Outcome::exit_code))
        .or(exec_status)
        .or(marks.outcome)
        .or_else(|| {
            let failed = || broken_off(text).unwrap_or(Outcome::error(Provenance::Text));
            marks.has_failed.then(failed)
        })
        .or_else(|| codex.as_ref().map(|(outcome, _)| *outcome))
        .unwrap_or_else(|| Outcome::by_text(!marks.has_metadata && text.starts_with("<tool_use_error>")));
    let cut = codex.and_then(|(_, observation)| observation);
    (outcome, cut.or(words))
}

/// Text that a writer appended to a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Appended {
    has_failed: bool,
    has_metadata: bool,
    /// The outcome in the metadata.
    outcome: Option<Outcome>,
}

const FAILED: &str = "[error] tool reported failure";
const METADATA: &str = "[metadata] ";

/// Splits a text into the part before an appended text, and the facts in the appended text.
fn strip(words: TextCow<'_>) -> (TextCow<'_>, Appended) {
    static FINDER: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(METADATA));
    let text = words.text();
    if !text.spelling().ends_with(b"failure") && !text.may_hold(&FINDER) {
        return (words, Appended::default());
    }
    let stripped = match &words {
        TextCow::Borrowed(text) if text.is_plainly_spelled() => {
            strip_text(*text).map(|(kept, marks)| (kept.into(), marks))
        }
        words => {
            let text = words.text().to_str();
            strip_text(Text::from(&*text)).map(|(kept, marks)| (TextCow::from(kept).into_made(), marks))
        }
    };
    stripped.unwrap_or((words, Appended::default()))
}

/// Like [`strip`], for a plainly spelled text; `None` if nothing was appended.
fn strip_text(text: Text<'_>) -> Option<(Text<'_>, Appended)> {
    let failed = Appended { has_failed: true, ..Appended::default() };
    if text.spelling().ends_with(FAILED.as_bytes())
        && let Some((kept, _)) = text.rsplit_once(FAILED)
    {
        if kept.is_empty() {
            return Some((kept, failed));
        }
        if let Some(kept) = kept.without_end("\n\n") {
            return Some((kept, failed));
        }
    }
    let (kept, metadata) = match text.rsplit_once("\n[metadata] ") {
        Some(split) => split,
        None if text.starts_with(METADATA) => ("".into(), text.skip_chars(METADATA.len())),
        None => return None,
    };
    let marks = read_metadata(&metadata.to_str())?;
    Some((without_copies(kept), marks))
}

/// Returns the output without the copies of it, under `[stdout]` and `[stderr]`, that a writer appended.
fn without_copies(text: Text<'_>) -> Text<'_> {
    let text = text.without_end("\n").unwrap_or_else(|| {
        let copies = text.split_once("\n\n[stdout]\n").or_else(|| text.split_once("\n\n[stderr]\n"));
        copies.map_or(text, |(kept, _)| kept)
    });
    if text.starts_with("[stdout]\n") || text.starts_with("[stderr]\n") { "".into() } else { text }
}

/// Reads metadata, as Claude Code stores it next to results; `None` if it is not JSON.
fn read_metadata(text: &str) -> Option<Appended> {
    let (unknown, _) = beside_result(&json(text)?.into());
    let outcome = unknown.map(|reason| Outcome::unknown(reason, Provenance::Flag));
    Some(Appended { has_failed: false, has_metadata: true, outcome })
}
