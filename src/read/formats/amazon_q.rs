//! Amazon Q Developer CLI: saved conversations, and database rows that hold them.

use super::prelude::*;

pub(super) const FORMAT: Definition =
    Definition { signature: &[Shape::Each(Any(&[CONVERSATION, ROW]))], reader: Reader::Document(read) };

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
    for object in document.each() {
        let row = object.get("value").and_then(Raw::string).filter(|_| ROW.fits(&object));
        if let Some(value) = row.as_deref().and_then(json) {
            conversation(&Members::from(value), runs);
        } else if row.is_none() && CONVERSATION.fits(&object) {
            conversation(&object, runs);
        } else {
            runs.pass_over("objects of other types", 1);
        }
    }
}

fn conversation(object: &Members<'_>, runs: &mut Runs<'_>) {
    let mut run = Recording::of_agent("amazon-q");
    run.metadata.id = object.name("conversation_id").map(Into::into);
    let model = object.object("model_info").name("model_id").or_else(|| object.name("model"));
    run.model(model);
    for item in object.list("history") {
        // Older versions write an entry as a pair instead of an object.
        let pair = items(Some(item));
        let user = item.member("user").or_else(|| pair.first().copied());
        let assistant = item.member("assistant").or_else(|| pair.get(1).copied());
        run.turn(None);
        user_message(&members(user).object("content"), &mut run);
        run.turn(None);
        agent_message(&members(assistant), &mut run);
    }
    run.give(runs);
}

/// Reads a prompt, or the results or cancellations of calls.
fn user_message<'a>(content: &Members<'a>, run: &mut Recording<'a>) {
    let cancelled = content.get("CancelledToolUses");
    if let Some(results) = content.get("ToolUseResults").or(cancelled) {
        for result in Members::from(results).objects("tool_use_results") {
            let outcome = cancelled.map(|_| Outcome::REFUSED).or_else(|| result.outcome("status"));
            // A block is `{"Text": …}` or `{"Json": …}`.
            let mut blocks = result.objects("content");
            let observed = blocks.find_map(|block| words::result(block.first(&["Text", "Json"])?));
            run.answer(result.ident("tool_use_id"), None, observed, outcome.unwrap_or(Outcome::UNMARKED));
        }
    }
    let prompt = content.get("Prompt").or(cancelled).and_then(|prompt| prompt.member("prompt"));
    run.say(Actor::User, text(prompt));
    let is_known = content.has("Prompt") || content.has("ToolUseResults") || cancelled.is_some();
    run.pass_over("messages of other types", u64::from(!is_known));
}

fn agent_message<'a>(message: &Members<'a>, run: &mut Recording<'a>) {
    let Some(response) = message.first(&["ToolUse", "Response"]).map(Members::from) else {
        return run.pass_over("messages of other types", 1);
    };
    run.say(Actor::Agent, response.text("content"));
    for call in response.objects("tool_uses") {
        run.call(call.ident("id"), call.name("name"), call.get("args"));
    }
}
