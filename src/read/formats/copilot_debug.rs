//! Debug logs of Copilot in VS Code (`debug-logs/<session>/main.jsonl`): an entry per line, written when it
//! ends. A call is an entry with its result.

use super::prelude::*;

pub(in crate::read) const FORMAT: Definition =
    Definition { signature: &[Shape::Items(ENTRY)], reader: Reader::Document(read) };

const ENTRY: Mark =
    All(&[Is(Kind::String, &["sid", "type"]), Is(Kind::Number, &["ts"]), Is(Kind::Object, &["attrs"])]);

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    let mut sessions = Recordings::of_agent("copilot-chat");
    let mut entries = fitting(&ENTRY, document.each(), "entries of other types", runs);
    entries.sort_by_key(|entry| entry.integer("ts"));
    for entry in &entries {
        let run = sessions.run(entry.name("sid"));
        let time = entry.get("ts").and_then(time::of_milliseconds);
        let kind = entry.name("type");
        if matches!(kind.as_deref(), Some("user_message" | "llm_request")) {
            run.turn(time);
        }
        let attributes = entry.object("attrs");
        match kind.as_deref() {
            Some("session_start") => {
                run.metadata.parent = attributes.name("parentSessionId").map(Cow::into_owned);
            }
            Some("user_message") => run.say(Actor::User, attributes.text("content")),
            Some("agent_response") => respond(&attributes, run),
            Some("llm_request") => {
                run.model(attributes.name("model"));
                run.spent(entry.usage("attrs"));
                run.say(Actor::Environment, attributes.text("error"));
            }
            Some("tool_call") => {
                let call = run.call(None, entry.name("name"), attributes.get("args"));
                let duration = entry.count("dur").and_then(|time| time.checked_mul(1_000_000));
                run.lasted(call, time, duration.and_then(|duration| duration.checked_add(time?)));
                let failed = entry.name("status").as_deref() == Some("error");
                let observed = attributes.result("error").or_else(|| attributes.result("result"));
                run.answer_call(call, observed, Outcome::flag(failed));
            }
            Some("turn_start" | "turn_end" | "discovery" | "generic" | "child_session_ref" | "hook") => {}
            _ => runs.pass_over("entries of other types", 1),
        }
    }
    sessions.give(runs);
}

/// Adds the texts of a response: a string with a JSON list of messages, or plain text. Calls are separate
/// entries.
fn respond<'a>(attributes: &Members<'a>, run: &mut Recording<'a>) {
    let Some(response) = attributes.get("response").and_then(Raw::string) else { return };
    let Some(messages) = json(&response).and_then(Raw::items) else {
        return run.say(Actor::Agent, attributes.text("response"));
    };
    let parts = messages.into_iter().flat_map(|message| items(message.member("parts")));
    for part in parts.map(|part| members(Some(part))) {
        if part.name("type").as_deref() == Some("text") {
            let text = part.get("content").and_then(Raw::string).map(Cow::into_owned);
            run.say(Actor::Agent, text.map(TextCow::from));
        }
    }
}
