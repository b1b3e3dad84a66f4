//! Finds the messages of logged model responses, and computes keys that match messages repeated by later requests.

use super::prelude::*;

/// A request that is logged as an object separate from its response, as CAI logs it.
pub(super) const REQUEST: Mark = All(&[
    Is(Kind::String, &["model"]),
    Holds("messages", &Has(&["role"])),
    Not(&HasOne(&["choices", "response", "object"])),
]);

/// The response to the request before it.
pub(super) const RESPONSE: Mark =
    All(&[Says("object", &["chat.completion"]), Holds("choices", &Is(Kind::Object, &["message"]))]);

/// Returns true if requests and responses are separate objects: at least one request whose last message is not from
/// the assistant is directly before a response, and there are at least half as many responses as requests.
pub(super) fn are_separate(objects: &[Members<'_>]) -> bool {
    let waits = |request: &Members<'_>| {
        REQUEST.fits(request)
            && request.list("messages").last().is_some_and(|last| {
                last.member("role").and_then(common::name).is_some_and(|role| role != "assistant")
            })
    };
    let mut pairs = objects.iter().zip(objects.iter().skip(1));
    let is_answered = pairs.any(|(request, response)| waits(request) && RESPONSE.fits(response));
    let count = |mark: &Mark| objects.iter().filter(|object| mark.fits(object)).count();
    is_answered && 2 * count(&RESPONSE) >= count(&REQUEST)
}

/// Returns a key that identifies a message by its role, texts, calls and results. Leaves out cache markers, which
/// clients change, and reasoning, which they may omit.
pub(super) fn key(message: Raw<'_>) -> String {
    if message.kind() == Kind::String {
        return format!("user\n{}", message.spelling());
    }
    let role = message.member("role").and_then(Raw::string);
    let mut key = role.map_or("assistant".into(), Cow::into_owned);
    let mut add = |object: Raw<'_>, name: &str| {
        if let Some(value) = object.member(name) {
            key.push('\n');
            key.push_str(&if name == "input" { input(value) } else { value.spelling() });
        }
    };
    match message.member("content").or_else(|| message.member("parts")).and_then(Raw::items) {
        Some(parts) => {
            for part in parts {
                if part.member("type").and_then(Raw::string).as_deref() == Some("reasoning") {
                    continue;
                }
                for name in
                    ["text", "id", "tool_use_id", "functionCall", "functionResponse", "toolUse", "toolResult"]
                {
                    add(part, name);
                }
                if part.member("toolCallId").is_some() {
                    for name in ["toolCallId", "toolName", "input", "output"] {
                        add(part, name);
                    }
                }
            }
        }
        None => add(message, "content"),
    }
    for name in ["tool_calls", "tool_call_id", "call_id"] {
        add(message, name);
    }
    key
}

/// Returns the input of a call as canonical JSON. Responses may hold it as a string, later requests as an object.
fn input(value: Raw<'_>) -> Cow<'_, str> {
    let text = value.string().unwrap_or_else(|| value.spelling());
    wire::canonical(text.as_bytes()).into()
}

/// Returns the text of a message and its calls without their ids.
pub(super) fn said(message: Raw<'_>) -> (String, Vec<String>) {
    let content = message.member("content").or_else(|| message.member("parts"));
    let parts = content.and_then(Raw::items).unwrap_or_default();
    let texts = parts.iter().filter_map(|part| part.member("text")?.string());
    let text = content.and_then(Raw::string).into_iter().chain(texts).collect();
    (text, calls(message).into_iter().filter_map(call).collect())
}

/// Returns the ids of the calls in a message, as spelled in JSON, so strings keep their quotes.
pub(super) fn call_ids(message: Raw<'_>) -> Vec<String> {
    let id = |call: Raw<'_>| {
        ["call_id", "id", "toolCallId"].iter().find_map(|key| Some(call.member(key)?.spelling().into_owned()))
    };
    calls(message).into_iter().filter(|value| call(*value).is_some()).filter_map(id).collect()
}

/// Returns the values in a message that may be calls: those in its lists, and the message itself.
fn calls(message: Raw<'_>) -> Vec<Raw<'_>> {
    let lists = ["content", "parts", "tool_calls"].into_iter().filter_map(|key| message.member(key)?.items());
    lists.flatten().chain([message]).collect()
}

/// Returns the name and arguments of a call as one text, or `None` if the value is not a call.
fn call(value: Raw<'_>) -> Option<String> {
    let inner = ["function", "functionCall", "toolUse"].iter().find_map(|key| value.member(key));
    let inner = inner.unwrap_or(value);
    let name = ["name", "toolName"].iter().find_map(|key| inner.member(key))?;
    let given = ["arguments", "args", "input"].iter().find_map(|key| inner.member(key));
    Some(format!("{} {}", name.spelling(), given.map(input).unwrap_or_default()))
}

/// Builds the message, as JSON, of a response that holds texts and calls in separate lists. `None` without `textParts`.
pub(super) fn message_of_parts(response: Raw<'_>) -> Option<String> {
    let parts = |key| response.member(key).and_then(Raw::items);
    let text =
        |part: Raw<'_>| Some(format!(r#"{{"type":"text","text":{}}}"#, part.member("text")?.spelling()));
    let texts = parts("textParts")?.into_iter().filter_map(text);
    let calls = parts("toolCalls").unwrap_or_default().into_iter().map(|call| call.spelling().into_owned());
    let content: Vec<_> = texts.chain(calls).collect();
    let usage = response.member("usage").map_or("null".into(), Raw::spelling);
    Some(format!(r#"{{"content":[{}],"usage":{usage}}}"#, content.join(",")))
}

/// Returns the messages in a response of any of the APIs. Empty if it has none.
pub(super) fn spoken(response: Raw<'_>) -> Vec<Raw<'_>> {
    let choice = response
        .member("choices")
        .and_then(Raw::items)
        .and_then(|choices| choices.first()?.member("message"));
    // Bedrock's Converse has an output with one message.
    let inner = || response.member("output")?.member("message");
    let candidate = || response.member("candidates")?.items()?.first()?.member("content");
    if let Some(message) = choice.or_else(|| response.member("message")).or_else(inner).or_else(candidate) {
        return vec![message];
    }
    if let Some(items) = response.member("output").and_then(Raw::items) {
        return items;
    }
    let is_message = ["content", "tool_calls"].iter().any(|key| response.member(key).is_some());
    if is_message { vec![response] } else { Vec::new() }
}
