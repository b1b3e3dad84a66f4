//! Texts that harnesses write: answers of tools, and notices in the user's role.

use serde_json::{Map, Value};

use super::common::trim;
use super::text_grammars::{is_name, is_of_type, tags};
use crate::trace::{Text, first_chars};

#[derive(Debug, PartialEq)]
pub(super) struct Result<'t> {
    /// The tool that the text names.
    pub(super) name: Option<&'t str>,
    pub(super) text: &'t str,
}

/// Prefixes that harnesses write before an answer, and whether they carry meaning and are kept as part of the
/// answer.
const BEFORE: [(&str, bool); 10] = [
    ("API output: ", false),
    ("Result:", false),
    ("OBSERVATION:", false),
    ("Observation:", false),
    ("The output of the OS:", false),
    ("exitcode: ", true),
    ("<function_results>", true),
    ("<returncode>", true),
    ("<output>", true),
    ("The last command <command>", true),
];

/// Returns the answers that the harness has marked in a text.
pub(super) fn results(text: &str) -> Vec<Result<'_>> {
    let text = after_feedback(text).unwrap_or(text).trim_start();
    if text.starts_with("<tool_response>") {
        let answers = tags(text, "<tool_response>", "", "</tool_response");
        return answers.map(|(_, text)| Result { name: None, text: trim(text) }).collect();
    }
    if let Some((name, rest)) =
        text.strip_prefix("EXECUTION RESULT of [").and_then(|rest| rest.split_once("]:"))
    {
        return vec![Result { name: Some(name), text: rest.trim_start_matches('\n') }];
    }
    if text.starts_with('{') && text.contains("\"tool_result\"") {
        let object: Map<String, Value> = serde_json::from_str(text).unwrap_or_default();
        let is_result = is_of_type(&object, "tool_result");
        return is_result.then_some(Result { name: None, text }).into_iter().collect();
    }
    if text.starts_with('[') {
        return bracketed(text);
    }
    let numbered = || {
        // A harness may send its whole prompt again: `[Observation 1: '…', Action 1: '…']`, and so on.
        let repeated = || text.rsplit_once("[Observation ")?.1.split_once("', Action ").map(|(last, _)| last);
        let rest = text.strip_prefix("Observation ").or_else(repeated)?;
        let rest = trim(rest.trim_start_matches(|mark: char| mark.is_ascii_digit()).strip_prefix(':')?);
        Some(Result { name: None, text: rest.strip_prefix('\'').map_or(rest, trim) })
    };
    let marked = BEFORE.iter().find_map(|(mark, is_kept)| {
        let rest = text.strip_prefix(mark)?;
        Some(Result { name: None, text: if *is_kept { text } else { rest.trim_start_matches([' ', '\n']) } })
    });
    marked.or_else(numbered).into_iter().collect()
}

/// Returns what follows the words of the user that Cline writes before an answer.
pub(super) fn after_feedback(text: &str) -> Option<&str> {
    let feedback = text.trim_start().strip_prefix("The user provided the following feedback:")?;
    Some(feedback.trim_start().strip_prefix("<feedback>")?.split_once("</feedback>")?.1)
}

/// The maximum length, in characters, of the head that names the call of an answer. It may contain a command.
const MOST_OF_A_HEAD: usize = 4096;

/// The maximum length, in characters, of the name of a tool in such a head.
const MOST_OF_A_NAME: usize = 256;

/// The words that follow the name of a tool that Cline did not run.
const UNUSED: &str = "] was not executed because a tool has already been used in this message";

/// Returns the name of the tool at the beginning of an answer, and the length of the head before the answer.
fn head(text: &str) -> Option<(&str, usize)> {
    if let Some(rest) = text.strip_prefix("Tool [") {
        // The sentence of Cline is the answer.
        let (name, _) = first_chars(rest, MOST_OF_A_NAME).split_once(']')?;
        let is_unused = rest.strip_prefix(name).is_some_and(|rest| rest.starts_with(UNUSED));
        return (is_name(name) && is_unused).then_some((name, 0));
    }
    let text_of_name = text.strip_prefix('[')?;
    let (name, _) = first_chars(text_of_name, MOST_OF_A_NAME).split_once([' ', ']'])?;
    let rest = text_of_name.get(name.len() + 1..)?;
    let is_head = is_name(name) && (rest.starts_with("for ") || rest.starts_with(" Result:"));
    let (head, _) = is_head.then(|| first_chars(text, MOST_OF_A_HEAD).split_once("] Result:"))??;
    Some((name, head.len() + "] Result:".len()))
}

/// `[tool for 'argument'] Result:` and the text up to the next such head or to `<environment_details>`, or a sentence
/// that says that a tool was not executed.
pub(super) fn bracketed(text: &str) -> Vec<Result<'_>> {
    let (mut found, mut rest) = (Vec::new(), text);
    while let Some((name, length)) = head(rest) {
        let Some(body) = rest.get(length..) else { break };
        let mut places = body.match_indices(['\n']).map(|(at, _)| at + 1);
        let next = places.find(|at| body.get(*at..).and_then(head).is_some());
        let (answer, after) = body.split_at(next.unwrap_or(body.len()));
        let answer = answer.split("<environment_details>").next().unwrap_or_default();
        found.push(Result { name: Some(name), text: trim(answer) });
        rest = after;
    }
    found
}

/// Prefixes of messages that Cline, Roo and Codex send in the user's role.
const NOTICES: [&str; 3] = [
    "[ERROR] You did not use a tool in your previous response",
    "[TASK RESUMPTION] ",
    "Warning: apply_patch was requested via ",
];

/// Prefixes of other messages that Codex sends in the user's role. One that does not end with a tag is the user's.
const OF_CODEX: [&str; 8] = [
    "# AGENTS.md instructions",
    "<recommended_plugins>",
    "<environment_context>",
    "<user_instructions>",
    "<skill>",
    "<subagent_notification>",
    "<turn_aborted>",
    "<hook_prompt",
];

/// Returns true if a user message was written by the harness and contains nothing from the user.
pub(super) fn is_notice(text: Text<'_>) -> bool {
    let has_words = |text: &str| ["<user_message>", "<feedback>"].iter().any(|tag| text.contains(tag));
    let is_of_codex = OF_CODEX.iter().any(|start| text.starts_with(start));
    is_of_codex && text.to_str().trim_end().ends_with('>')
        || NOTICES.iter().any(|start| text.starts_with(start)) && !has_words(&text.to_str())
}
