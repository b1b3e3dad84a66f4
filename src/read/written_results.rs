//! Results of tools that are written as JSON into a text: the blocks and results of MCP, and exit codes.

use super::call_outcome::{Outcome, is_failure_code};
use super::members::Members;
use super::words;
use crate::json::{Json, Kind, Raw};
use crate::trace::{Provenance, TextCow, UnknownReason};

/// Members of the blocks and results of MCP. Objects with others are kept as they are.
const OF_MCP: [&str; 10] = [
    "type",
    "text",
    "annotations",
    "error",
    "content",
    "isError",
    "is_error",
    "structuredContent",
    "_meta",
    "meta",
];

/// The maximum number of results around a text.
const MOST_NESTED: usize = 4;

/// Returns the outcome that a result records, and its text without the objects around it: a block `{"type": "text",
/// "text": …}`, a list of such blocks, or `{"content": […], "isError": …}`. A text inside may be such a result again.
pub(super) fn unwrapped(mut words: TextCow<'_>) -> (Option<Outcome>, TextCow<'_>) {
    let mut outcome = None;
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
        let is_error = depth > 0 && object.name("object").is_some_and(|object| object == "error");
        let by_text = is_error.then_some(Outcome::error(Provenance::Text));
        outcome = outcome.or_else(|| recorded(&object)).or(by_text);
        let Some((inner, is_failed)) = inside(value, &object) else { break };
        outcome = outcome.or_else(|| outcome_of_inner(&inner, is_failed));
        drop(text);
        words = inner.into();
    }
    (outcome, words)
}

/// Returns the outcome in the flag of a result of MCP, or in the exit code next to the output of a command.
fn recorded(object: &Members<'_>) -> Option<Outcome> {
    if ["isError", "is_error"].iter().any(|key| object.flag(key) == Some(true)) {
        return Some(Outcome::flag(true));
    }
    let is_of_command = ["stdout", "stderr", "output", "content"].iter().any(|key| object.has(key));
    let codes = [object, &object.object("metadata")].map(|object| {
        let keys = ["exit_code", "exitCode", "returncode", "return_code"];
        keys.iter().find_map(|key| object.get(key).and_then(is_failure_code))
    });
    codes.into_iter().flatten().next().filter(|_| is_of_command).map(Outcome::exit_code)
}

/// Returns the text in a block, a list of blocks or a result, and true for a single block that is marked as failed:
/// among several blocks, the mark only tells the error output from the rest.
fn inside(value: Raw<'_>, object: &Members<'_>) -> Option<(String, bool)> {
    let blocks = match (value.kind(), object.get("content")) {
        (Kind::List, _) => value.items()?,
        (_, Some(content)) if is_of_mcp(object) => content.items()?,
        _ => vec![value],
    };
    let is_block = |block: &Raw<'_>| {
        let block = Members::from(*block);
        block.name("type").is_some_and(|kind| kind == "text")
            && block.is("text", Kind::String)
            && is_of_mcp(&block)
    };
    if blocks.is_empty() || !blocks.iter().all(is_block) {
        return None;
    }
    let is_failed =
        matches!(&blocks[..], [block] if block.member("error").and_then(Raw::boolean) == Some(true));
    let texts: Vec<_> = blocks.iter().filter_map(|block| block.member("text")?.string()).collect();
    Some((texts.join("\n"), is_failed))
}

fn is_of_mcp(object: &Members<'_>) -> bool {
    object.keys().all(|key| OF_MCP.contains(&key))
}

/// Returns the outcome that the text of a block reports. `is_failed` is true if the block is marked as failed.
fn outcome_of_inner(text: &str, is_failed: bool) -> Option<Outcome> {
    let last = text.trim_end().rsplit('\n').next().unwrap_or_default();
    if let Some(failed) = words::exit_line(last, "Command completed with return code: ") {
        return Some(Outcome::exit_code(failed));
    }
    let starts = |starts: &[&str]| starts.iter().any(|start| text.trim_start().starts_with(start));
    if starts(&["Security violation: "]) && is_failed {
        return Some(Outcome::unknown(UnknownReason::Refused, Provenance::Text));
    }
    let by_text = || {
        starts(&["Error:", "error:", "Failed to ", "failed to "]).then_some(Outcome::error(Provenance::Text))
    };
    is_failed.then_some(Outcome::flag(true)).or_else(by_text)
}
