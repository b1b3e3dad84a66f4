//! Small rules on texts and roles that several formats share.

use super::wire;
use crate::error::{Error, ErrorKind};
use crate::json::{Fault, Kind, Raw};
use crate::trace::{Actor, TextCow};

/// Returns the text of a message: a string or text parts. `None` if it is blank.
pub(super) fn message(content: Raw<'_>) -> Option<TextCow<'_>> {
    wire::message(&mut content.json()).ok().flatten()
}

/// Reads the text of a message: a string, text parts, or one text part. `None` if it is blank.
pub(super) fn text(value: Raw<'_>) -> Option<TextCow<'_>> {
    let words = match value.kind() {
        Kind::Object => wire::part_text(&mut value.json()),
        _ => wire::message_text(&mut value.json()),
    };
    words.ok().flatten().filter(|words| !wire::is_blank(words.text()))
}

/// Returns the words of the user in a message. Cursor wraps them in tags, below the time.
pub(super) fn of_user(text: TextCow<'_>) -> TextCow<'_> {
    if !["<timestamp>", "<user_query>"].iter().any(|start| text.text().starts_with(start)) {
        return text;
    }
    let query = |text: &str| {
        let timed = text.strip_prefix("<timestamp>").and_then(|rest| rest.split_once("</timestamp>"));
        let rest = timed.map_or(text, |(_, rest)| rest.trim_start());
        let query = rest.strip_prefix("<user_query>")?.trim_end().strip_suffix("</user_query>")?;
        let query = Some(query.trim()).filter(|query| !query.is_empty() && !query.contains("</user_query>"));
        query.map(str::to_owned)
    };
    let query = query(&text.text().to_str());
    query.map_or(text, TextCow::from)
}

pub(super) fn result(content: Raw<'_>) -> Option<TextCow<'_>> {
    wire::result(&mut content.json()).ok().flatten()
}

/// Returns a name in snake case: `tool_call` for `toolCall`, `Tool Call` and `TOOL-CALL`.
pub(super) fn snake_case(name: &str) -> String {
    let mut normal = String::with_capacity(name.len());
    let mut was_lower = false;
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && was_lower {
            normal.push('_');
        }
        was_lower = letter.is_ascii_lowercase();
        normal.push(if letter.is_alphanumeric() { letter.to_ascii_lowercase() } else { '_' });
    }
    normal
}

/// Returns true for the key of a reference solution, which is not a run: `gold` or `expected_tool_calls`, but not
/// `expected_error`.
pub(super) fn is_reference(key: &str) -> bool {
    if !may_be_reference(key) {
        return false;
    }
    let key = snake_case(key);
    let (first, rest) = key.split_once('_').unwrap_or((&key, ""));
    let last = rest.rsplit('_').next().unwrap_or_default();
    let is_mark = matches!(first, "gold" | "golden" | "expected" | "reference");
    key.starts_with("ground_truth")
        || is_mark && matches!(last, "" | "call" | "calls" | "action" | "actions" | "trajectory" | "steps")
}

/// Returns true for a key that begins like that of a reference solution.
pub(super) fn may_be_reference(key: &str) -> bool {
    ["gold", "expected", "reference", "ground_truth", "groundTruth"].iter().any(|mark| key.starts_with(mark))
}

/// Returns the first line of a text, without its line feed.
pub(super) fn first_line(text: &str) -> &str {
    text.split('\n').next().unwrap_or_default()
}

/// Roles of chats in lower case, and who speaks in them. ShareGPT has the names of models.
const ROLES: [(&[&str], Actor); 3] = [
    (&["assistant", "agent", "ai", "bot", "model", "gpt", "chatgpt", "bing", "bard"], Actor::Agent),
    (&["user", "human"], Actor::User),
    (&["system", "developer"], Actor::System),
];

/// Returns the actor of a chat role in any case: the environment if the role is unknown.
pub(super) fn actor_of(role: &str) -> Actor {
    let is_role = |names: &[&str]| names.iter().any(|name| role.eq_ignore_ascii_case(name));
    ROLES.iter().find(|(names, _)| is_role(names)).map_or(Actor::Environment, |(_, actor)| *actor)
}

/// Returns true if a line consists of `words` and an exit code that is not 0, false if the code is 0, and
/// `None` for any other line.
pub(super) fn exit_line(line: &str, words: &str) -> Option<bool> {
    let code = line.strip_prefix(words)?;
    let digits = code.strip_prefix('-').unwrap_or(code);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.bytes().any(|byte| byte != b'0'))
}

/// Returns the fault of a document that begins like a format but does not continue like it.
#[cold]
pub(super) fn unfit(at: usize, what: &str) -> Fault {
    let message = format!("unknown input format: it begins with {what}, but continues with something else");
    Fault::other(at, Error::new(ErrorKind::Format, message))
}

/// Number of items of a list that decide its format; others are checked when they are read.
pub(super) const DECISIVE_ITEMS: usize = 16;
