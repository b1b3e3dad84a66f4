//! Amazon Q Developer CLI: saved conversations, and database rows that hold them.

use super::prelude::*;
use super::recorded::{ident, items, json, members, text};

pub(in crate::read) const FORMAT: Entry = Entry {
    format: Format::AmazonQ,
    about: "conversations of the Amazon Q Developer CLI",
    signature: &[Shape::Each(Any(&[CONVERSATION, ROW]))],
    reader: Reader::Document(read),
};

const CONVERSATION: Mark = All(&[
    Has(&["conversation_id"]),
    Any(&[Holds("history", &Has(&["user", "assistant"])), Test("`history` of pairs", has_pairs)]),
]);
const ROW: Mark = All(&[Has(&["key"]), Says("value", &["{\"conversation_id\"*"])]);

fn has_pairs(object: &Members<'_>) -> bool {
    let first = object.get("history").and_then(|history| history.first_items(1).into_iter().next());
    first.is_some_and(|pair| items(Some(pair)).first().is_some_and(|user| user.member("content").is_some()))
}

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    let mut others = 0;
    for object in document.each() {
        let row = object.get("value").and_then(Raw::string).filter(|_| ROW.fits(&object));
        if let Some(value) = row.as_deref().and_then(json) {
            conversation(&Members::from(value), runs);
        } else if row.is_none() && CONVERSATION.fits(&object) {
            conversation(&object, runs);
        } else {
            others += 1;
        }
    }
    runs.pass_over("objects of other types", others);
}

fn conversation(object: &Members<'_>, runs: &mut Runs<'_>) {
    let mut run = Recording::of_agent("amazon-q");
    run.metadata.id = object.name("conversation_id").map(Into::into);
    let model = object.object("model_info").name("model_id").or_else(|| object.name("model"));
    run.model(model);
    let mut others = 0;
    for item in object.list("history") {
        // Older versions write pairs.
        let pair = items(Some(item));
        let user = item.member("user").or_else(|| pair.first().copied());
        let assistant = item.member("assistant").or_else(|| pair.get(1).copied());
        run.turn(None);
        others += u64::from(!user_message(user.and_then(|user| user.member("content")), &mut run));
        run.turn(None);
        others += u64::from(!agent_message(assistant, &mut run));
    }
    runs.pass_over("messages of other types", others);
    run.give(runs);
}

/// Reads a user message or the results of tools, or returns false for anything else.
fn user_message<'a>(content: Option<Raw<'a>>, run: &mut Recording<'a>) -> bool {
    let content = members(content);
    let cancelled = content.get("CancelledToolUses");
    if let Some(results) = content.get("ToolUseResults").or(cancelled) {
        for result in items(results.member("tool_use_results")) {
            let outcome = match result.member("status").and_then(Raw::string).as_deref() {
                _ if cancelled.is_some() => Outcome::REFUSED,
                Some("Success") => Outcome::flag(false),
                Some("Error") => Outcome::flag(true),
                _ => Outcome::UNMARKED,
            };
            let observed = items(result.member("content")).into_iter().find_map(result_text);
            run.answer(ident(result.member("tool_use_id")), None, observed, outcome);
        }
    }
    let prompt = content.get("Prompt").or(cancelled).and_then(|prompt| prompt.member("prompt"));
    run.say(Actor::User, text(prompt));
    content.has("Prompt") || content.has("ToolUseResults") || cancelled.is_some()
}

/// Returns the text of a result block: `{"Text": …}` or `{"Json": …}`.
fn result_text(block: Raw<'_>) -> Option<TextCow<'_>> {
    block.member("Text").or_else(|| block.member("Json")).and_then(words::result)
}

/// Reads a message of the model, or returns false if its type is unknown.
fn agent_message<'a>(message: Option<Raw<'a>>, run: &mut Recording<'a>) -> bool {
    let message = members(message);
    let Some(response) = message.get("ToolUse").or_else(|| message.get("Response")) else { return false };
    run.say(Actor::Agent, text(response.member("content")));
    for call in items(response.member("tool_uses")) {
        let name: Option<Cow<'_, str>> = call.member("name").and_then(common::name);
        run.call(ident(call.member("id")), name, call.member("args"));
    }
    true
}
