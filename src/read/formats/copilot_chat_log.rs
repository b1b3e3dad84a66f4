//! The log in which VS Code stores a chat as a snapshot followed by changes, and the outcomes of the chat's calls.

use std::collections::BTreeMap;

use serde_json::Value;

use super::prelude::*;

/// Returns the chat in a snapshot line.
pub(super) fn snapshot(line: Raw<'_>) -> Option<Members<'_>> {
    let line = Members::from(line);
    let is_snapshot = line.integer("kind") == Some(0);
    let chat = line.get("v").filter(|chat| is_snapshot && chat.kind() == Kind::Object)?;
    Some(Members::from(chat))
}

/// Returns the chats of a log, after their last changes, as JSON. Counts changes that do not apply as
/// skipped.
pub(super) fn chats(lines: &[Raw<'_>], runs: &mut Runs<'_>) -> Vec<String> {
    let (mut chats, mut latest) = (Vec::new(), 0);
    // Places of the chats by id.
    let mut places = BTreeMap::new();
    for line in lines {
        let line: Option<Value> = serde_json::from_slice(line.bytes()).ok();
        let is_read = line.is_some_and(|mut line| {
            let value = line.get_mut("v").map(Value::take);
            let at = line.get("i").and_then(Value::as_u64);
            let path = line.get("k").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            match (line.get("kind").and_then(Value::as_u64), value) {
                (Some(0), Some(chat)) => {
                    // A later snapshot of the same chat replaces its state.
                    let id = chat.get("sessionId").and_then(Value::as_str).map(str::to_owned);
                    latest = id.map_or(chats.len(), |id| *places.entry(id).or_insert(chats.len()));
                    match chats.get_mut(latest) {
                        Some(before) => *before = chat,
                        None => chats.push(chat),
                    }
                    true
                }
                (Some(kind), value) => {
                    chats.get_mut(latest).and_then(|chat| change(chat, kind, path, value, at)).is_some()
                }
                (None, _) => false,
            }
        });
        runs.pass_over("changes to a chat that do not apply", u64::from(!is_read));
    }
    chats.iter().map(Value::to_string).collect()
}

/// Applies a change at a path: sets or deletes a value, or truncates a list to `at` items and appends to it.
/// Returns `None` if the change does not apply.
fn change(chat: &mut Value, kind: u64, path: &[Value], value: Option<Value>, at: Option<u64>) -> Option<()> {
    if kind == 2 {
        let list = path.iter().try_fold(chat, child)?.as_array_mut()?;
        if let Some(at) = at {
            list.truncate(usize::try_from(at).ok()?);
        }
        if let Some(Value::Array(items)) = value {
            list.extend(items);
        }
        return Some(());
    }
    let (last, path) = path.split_last()?;
    let parent = path.iter().try_fold(chat, child)?;
    match (kind, parent, last) {
        (1, Value::Object(members), Value::String(key)) => {
            members.insert(key.clone(), value.unwrap_or_default());
        }
        (1, Value::Array(items), Value::Number(place)) => {
            let place = usize::try_from(place.as_u64()?).ok()?;
            if place == items.len() {
                items.push(Value::Null);
            }
            *items.get_mut(place)? = value.unwrap_or_default();
        }
        (3, Value::Object(members), Value::String(key)) => drop(members.remove(key)),
        _ => return None,
    }
    Some(())
}

fn child<'v>(value: &'v mut Value, key: &Value) -> Option<&'v mut Value> {
    match key {
        Value::String(key) => value.get_mut(key),
        Value::Number(place) => value.get_mut(usize::try_from(place.as_u64()?).ok()?),
        _ => None,
    }
}

/// Returns the text of a tool result, whose parts are strings or trees of elements with text leaves.
pub(super) fn text_of(result: Raw<'_>) -> Option<TextCow<'_>> {
    let mut texts = Vec::new();
    for part in result.member("content")?.items()? {
        let Some(value) = part.member("value") else { continue };
        let text = value.string().unwrap_or_else(|| {
            let mut text = String::new();
            leaves(value.member("node").unwrap_or(value), &mut text);
            text.into()
        });
        texts.push(TextCow::from(text));
    }
    Some(wire::joined(texts).unwrap_or_else(|| "".into()))
}

/// Appends the text of an element and the texts below it.
fn leaves(element: Raw<'_>, to: &mut String) {
    if let Some(text) = element.member("text").and_then(Raw::string) {
        let breaks = element.member("lineBreakBefore").and_then(Raw::boolean) == Some(true);
        if breaks && !to.is_empty() && !to.ends_with('\n') {
            to.push('\n');
        }
        to.push_str(&text);
    }
    for child in element.member("children").and_then(Raw::items).unwrap_or_default() {
        leaves(child, to);
    }
}

pub(super) fn is_true(value: Option<Raw<'_>>) -> bool {
    value.and_then(Raw::boolean) == Some(true)
}

/// Returns the outcome that a displayed invocation shows: a refusal, an exit code, or the flag of its result.
pub(super) fn shown(part: &Members<'_>) -> Option<Outcome> {
    let confirmed = part.get("isConfirmed");
    let kind = confirmed.and_then(|confirmed| confirmed.member("type")).and_then(Raw::integer);
    if confirmed.and_then(Raw::boolean) == Some(false) || matches!(kind, Some(0 | 5)) {
        return Some(Outcome::REFUSED);
    }
    let state = part.object("toolSpecificData").object("terminalCommandState");
    let exit_code = state.get("exitCode").and_then(is_failure_code);
    let error = part.object("resultDetails").flag("isError");
    exit_code.map(Outcome::exit_code).or(error.map(Outcome::flag))
}

/// Returns the arguments that a displayed invocation shows.
pub(super) fn arguments<'a>(part: &Members<'a>) -> Content<Arguments<'a>> {
    let data = |key: &str| part.get("toolSpecificData").and_then(|data| data.member(key));
    let input = data("rawInput").or_else(|| part.get("resultDetails")?.member("input"));
    match (input, data("commandLine")) {
        (Some(input), _) => common::arguments(input),
        (None, Some(command)) => {
            let command = command.member("original").unwrap_or(command).string().unwrap_or_default();
            Content::Present(common::sole_text("command", &command))
        }
        (None, None) => Content::NotRecorded,
    }
}

/// Returns the outcome that the text of a result reports.
pub(super) fn told(text: Text<'_>) -> Outcome {
    let text = text.to_str();
    let last = common::trim(&text).rsplit('\n').next().unwrap_or_default();
    if let Some(failed) = words::exit_line(last, "Command exited with code ") {
        return Outcome::exit_code(failed);
    }
    let starts = |starts: &[&str]| starts.iter().any(|start| text.starts_with(start));
    if starts(&["The user cancelled the tool call", "The user chose to skip the tool call"]) {
        return Outcome::unknown(UnknownReason::Refused, Provenance::Text);
    }
    let failed = [
        "ERROR while calling tool",
        "ERROR: Your input to the tool was invalid",
        "Applying patch failed with",
    ];
    Outcome::by_text(starts(&failed))
}

/// Returns the parts of a response that are tool invocations, or, if `tools` is false, the other parts.
pub(super) fn parts<'a>(request: &Members<'a>, tools: bool) -> impl Iterator<Item = Members<'a>> {
    let parts = request.list("response");
    let parts = parts.into_iter().filter(|part| part.kind() == Kind::Object);
    let is_tool = |part: &Members<'_>| part.name("kind").as_deref() == Some("toolInvocationSerialized");
    parts.map(Members::from).filter(move |part| is_tool(part) == tools)
}

/// Returns the id of the call that a displayed invocation belongs to.
pub(super) fn call_id<'a>(part: &Members<'a>) -> Option<Cow<'a, str>> {
    part.name("toolCallId").map(|id| Cow::Owned(short(&id).to_owned()))
}

/// Strips the suffix by which VS Code makes an id unique. The ids of displayed invocations may lack it.
pub(super) fn short(id: &str) -> &str {
    id.split("__vscode-").next().unwrap_or(id)
}
