//! Results of tools that are written as JSON into a text: the blocks and results of MCP, messages of Hermes, and exit
//! codes.

use super::call_outcome::{
    EXIT_CODES, Outcome, has_failed, is_failure_code, is_printed_error, is_stated_error,
};
use super::members::Members;
use super::words;
use crate::json::{Json, Kind, Raw};
use crate::trace::{Provenance, TextCow, UnknownReason};

/// Members of both the blocks and the results of MCP. Objects with unknown members are kept as they are.
const OF_MCP: [&str; 6] = ["type", "annotations", "isError", "is_error", "_meta", "meta"];

/// The maximum number of results around a text.
const MOST_NESTED: usize = 4;

/// A result without the objects around its text.
pub(super) struct Unwrapped<'a> {
    /// The outcome that the objects record or that the text of a block reports.
    pub(super) outcome: Option<Outcome>,
    pub(super) text: TextCow<'a>,
    /// False if the text was in a list. A tool may return such a list as data, so its first words report no failure.
    pub(super) may_report: bool,
}

/// Removes the objects around the text of a result: a block `{"type": "text", "text": …}`, a list of such blocks,
/// `{"content": […], "isError": …}`, or `{"tool_call_id": …, "name": …, "content": …}`, as Hermes writes them. A text
/// inside may be such a result again. If the text `is_of_tool`, its first object is the tool's own account of the call.
pub(super) fn unwrapped(mut words: TextCow<'_>, mut is_of_tool: bool) -> Unwrapped<'_> {
    let mut outcome = is_printed_error(words.text()).then_some(Outcome::flag(true));
    let (mut is_marked_ok, mut may_report) = (false, true);
    for depth in 0..=MOST_NESTED {
        if !words.text().starts_with("{") && !words.text().starts_with("[") {
            break;
        }
        let text = words.text().to_str();
        let json = Json::new(text.as_bytes());
        if !json.is_sound() {
            break;
        }
        let value = Raw::over(text.as_bytes(), 0);
        let object = Members::from(value);
        let flag = ["isError", "is_error"].iter().find_map(|key| object.flag(key));
        is_marked_ok |= flag == Some(false);
        outcome = outcome.or_else(|| recorded(&object, flag == Some(true)));
        let is_error = depth > 0 && object.name("object").is_some_and(|object| object == "error");
        let has_failed = is_of_tool && has_failed(&object);
        if (is_error || has_failed || is_stated_error(&object)) && may_report && !is_marked_ok {
            outcome = outcome.or(Some(Outcome::error(Provenance::Text)));
        }
        let Some((inner, is_failed)) = inside(value, &object) else { break };
        is_of_tool = is_message(&object);
        may_report &= depth > 0 || is_of_tool || object.has("text");
        outcome = outcome.or_else(|| outcome_of_inner(&inner, is_failed, may_report && !is_marked_ok));
        drop(text);
        words = inner.into();
    }
    let outcome = outcome.or_else(|| is_marked_ok.then_some(Outcome::flag(false)));
    Unwrapped { outcome, text: words, may_report }
}

/// Returns the outcome of a result that is marked as failed, or else that in the exit code next to the output of a
/// command.
fn recorded(object: &Members<'_>, is_failed: bool) -> Option<Outcome> {
    if is_failed {
        return Some(Outcome::flag(true));
    }
    let is_of_command = ["stdout", "stderr", "output", "content"].iter().any(|key| object.has(key));
    let codes = [object, &object.object("metadata")]
        .map(|object| EXIT_CODES.iter().find_map(|key| object.get(key).and_then(is_failure_code)));
    codes.into_iter().flatten().next().filter(|_| is_of_command).map(Outcome::exit_code)
}

/// Returns true if an object is a message that names the call that it answers.
fn is_message(object: &Members<'_>) -> bool {
    object.has("tool_call_id")
        && object.has("content")
        && object.keys().all(|key| matches!(key, "tool_call_id" | "name" | "content" | "role"))
}

/// Returns the text in a block, a list of blocks or a result, and true for a single block that is marked as failed:
/// among several blocks, the mark only tells the error output from the rest.
fn inside(value: Raw<'_>, object: &Members<'_>) -> Option<(String, bool)> {
    let blocks = match (value.kind(), object.get("content")) {
        (_, Some(content)) if is_message(object) => {
            return Some((words::result(content)?.text().to_str().into_owned(), false));
        }
        (Kind::List, _) => value.items()?,
        (_, Some(content)) if is_of_mcp(object, "content") => content.items()?,
        _ => vec![value],
    };
    let is_block = |block: &Raw<'_>| {
        let block = Members::from(*block);
        block.name("type").is_some_and(|kind| kind == "text")
            && block.is("text", Kind::String)
            && is_of_mcp(&block, "text")
    };
    if blocks.is_empty() || !blocks.iter().all(is_block) {
        return None;
    }
    let is_failed =
        matches!(&blocks[..], [block] if block.member("error").and_then(Raw::boolean) == Some(true));
    let texts: Vec<_> = blocks.iter().filter_map(|block| block.member("text")?.string()).collect();
    Some((texts.join("\n"), is_failed))
}

/// Returns true if an object has no members but those of MCP, with its content under `content`.
fn is_of_mcp(object: &Members<'_>, content: &str) -> bool {
    object.iter().all(|(key, value)| match key {
        "error" if content == "text" => matches!(value.kind(), Kind::Bool | Kind::Null),
        "error" | "structuredContent" => value.kind() == Kind::Null,
        _ => key == content || OF_MCP.contains(&key),
    })
}

/// Returns the outcome of a text inside. `is_failed` is true if its block is marked as failed. With `may_report`, the
/// first words of the text may report a failure.
fn outcome_of_inner(text: &str, is_failed: bool, may_report: bool) -> Option<Outcome> {
    let last = text.trim_end().rsplit('\n').next().unwrap_or_default();
    if let Some(failed) = words::exit_line(last, "Command completed with return code: ") {
        return Some(Outcome::exit_code(failed));
    }
    let starts = |starts: &[&str]| starts.iter().any(|start| text.trim_start().starts_with(start));
    if starts(&["Security violation: "]) && is_failed {
        return Some(Outcome::unknown(UnknownReason::Refused, Provenance::Text));
    }
    if is_failed {
        return Some(Outcome::flag(true));
    }
    let reports = may_report && starts(&["Error:", "error:", "Failed to ", "failed to "]);
    reports.then_some(Outcome::error(Provenance::Text))
}
