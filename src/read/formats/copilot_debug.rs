//! Debug logs of Copilot in VS Code (`debug-logs/<session>/main.jsonl`): an entry per line, written when it ends, so
//! entries are sorted by start. A call is an entry with its result. Exported prompts (`*.chatreplay.json`) hold lists
//! of similar entries.

use super::copilot_chat_log::{short, told};
use super::prelude::*;

pub(super) const FORMAT: Definition =
    Definition { signature: &[Shape::Items(ENTRY), Shape::Object(EXPORT)], reader: Reader::Document(read) };

const ENTRY: Mark =
    All(&[Is(Kind::String, &["sid", "type"]), Is(Kind::Number, &["ts"]), Is(Kind::Object, &["attrs"])]);

const EXPORT: Mark = Holds("prompts", &All(&[PROMPT, Holds("logs", &LOGGED)]));
const LOGGED: Mark = Says("kind", &["element", "request", "toolCall", "error"]);
const PROMPT: Mark = All(&[Has(&["prompt"]), Is(Kind::List, &["logs"])]);

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    if let Document::Object(export) = document {
        return read_export(export, runs);
    }
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
                run.set_usage(entry.usage("attrs"));
                run.say(Actor::Environment, attributes.text("error"));
            }
            Some("tool_call") => {
                let call = run.call(None, entry.name("name"), attributes.get("args"));
                let duration = entry.count("dur").and_then(|time| time.checked_mul(1_000_000));
                run.set_times(call, time, duration.and_then(|duration| duration.checked_add(time?)));
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

fn read_export(export: &Members<'_>, runs: &mut Runs<'_>) {
    let mut run = Recording::of_agent("copilot-chat");
    let prompts = export.list("prompts").into_iter().map(Members::from);
    for prompt in fitting(&PROMPT, prompts, "prompts of other types", runs) {
        // A prompt that was seen before continues; its text is a copy.
        if prompt.flag("hasSeen") != Some(true) {
            run.turn(None);
            run.say(Actor::User, prompt.text("prompt"));
        }
        for entry in prompt.list("logs").into_iter().map(Members::from) {
            match entry.name("kind").as_deref() {
                Some("request") => {
                    let request = entry.object("metadata");
                    run.turn(request.time("startTime"));
                    run.model(request.name("model"));
                    run.set_usage(request.usage("usage"));
                    run.say(Actor::Agent, entry.object("response").get("message").and_then(lines));
                }
                Some("toolCall") => {
                    let id = entry.name("id").map(|id| Cow::from(short(&id).to_owned()));
                    let call = run.call(id, entry.name("tool"), entry.get("args"));
                    run.set_times(call, entry.time("time"), None);
                    if let Some(response) = entry.get("response") {
                        let observed = lines(response);
                        let outcome = observed.as_ref().map(|text| told(text.text()));
                        run.answer_call(call, observed, outcome.unwrap_or(Outcome::UNMARKED));
                    }
                }
                Some("element") => {}
                _ => run.pass_over("entries of other types", 1),
            }
        }
    }
    run.give(runs);
}

/// Returns a text that is a string or a list of lines.
fn lines(value: Raw<'_>) -> Option<TextCow<'_>> {
    let parts = value.items().unwrap_or_else(|| vec![value]);
    wire::joined(parts.into_iter().filter_map(|part| part.string().map(TextCow::from)).collect())
}
