//! What events tell of a conversation: log records, events of spans, and the list of events that some
//! instrumentation keeps in an attribute. In one form, whatever they were.

use serde_json::{Map, Value as Json};

use super::attributes::{Attributes, Value, json_of_text};
use super::message::{Block, Reply, Role, blocks, is_masked, name_of};
use super::model::{Record, Span};
use crate::trace::Content;

/// The name of the event that holds a request's input and output as attributes.
const DETAILS: &str = "gen_ai.client.inference.operation.details";

/// An event of a conversation.
#[derive(Debug, Clone)]
pub(super) struct Told {
    pub(super) kind: TellsOf,
    pub(super) blocks: Vec<Block>,
    pub(super) time: u64,
}

/// What an event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TellsOf {
    /// What the model was given.
    Input,
    /// What it gave back.
    Output,
}

/// What a log record tells.
pub(super) fn of_record(record: &Record<'_>, time: u64) -> Vec<Told> {
    tell(&record.name, &record.body, &record.attributes, time)
}

/// What the events within a span tell.
pub(super) fn of_span(span: &Span<'_>) -> Vec<Told> {
    let mut told = Vec::new();
    for event in &span.events {
        told.extend(tell(&event.name, &Value::Null, &event.attributes, span.start));
    }
    if let Some(Json::Array(events)) = span.attributes.get("events").map(Value::to_json) {
        for event in events {
            if let Json::Object(event) = event
                && let Some(Json::String(name)) = event.get("event.name")
                && let Some(of) = subject(name)
            {
                told.push(tell_members(of, event, span.start));
            }
        }
    }
    told
}

fn tell(name: &str, body: &Value<'_>, attributes: &Attributes<'_>, time: u64) -> Vec<Told> {
    if name == DETAILS {
        let mut told = Vec::new();
        for (key, kind, role) in [
            ("gen_ai.input.messages", TellsOf::Input, Role::Unknown),
            ("gen_ai.output.messages", TellsOf::Output, Role::Agent),
        ] {
            if let Some(value) = attributes.get(key).or_else(|| body.get(key)) {
                told.push(Told { kind, blocks: blocks(&value.to_json(), role), time });
            }
        }
        return told;
    }
    let Some(of) = subject(name) else { return Vec::new() };
    let members = match body.to_json() {
        Json::Object(members) => members,
        Json::Null => attributes
            .iter()
            .map(|(key, value)| (key.to_owned(), value.to_text().map_or(Json::Null, Into::into)))
            .collect(),
        other => std::iter::once(("content".to_owned(), other)).collect(),
    };
    vec![tell_members(of, members, time)]
}

/// What an event of this name is about, and who speaks in it.
fn subject(name: &str) -> Option<(TellsOf, Role)> {
    Some(match name {
        "gen_ai.choice" => (TellsOf::Output, Role::Agent),
        "gen_ai.assistant.message" => (TellsOf::Input, Role::Agent),
        "gen_ai.user.message" => (TellsOf::Input, Role::User),
        "gen_ai.system.message" => (TellsOf::Input, Role::System),
        "gen_ai.tool.message" => (TellsOf::Input, Role::Tool),
        _ => return None,
    })
}

fn tell_members((kind, role): (TellsOf, Role), mut members: Map<String, Json>, time: u64) -> Told {
    // A list of parts may be a text of JSON.
    if let Some(Json::String(text)) = members.get("content")
        && let Some(Json::Array(parts)) = json_of_text(text)
        && parts.iter().all(Json::is_object)
        && !parts.is_empty()
    {
        members.insert("content".to_owned(), Json::Array(parts));
    }
    if role == Role::Tool {
        return Told { kind, blocks: tool_message(&members), time };
    }
    members.remove("role");
    members.remove("name");
    let read = blocks(&Json::Object(members), role);
    Told { kind, blocks: read, time }
}

fn tool_message(members: &Map<String, Json>) -> Vec<Block> {
    let id = name_of(members, &["id", "tool_call_id"]);
    let content = members.get("content");
    if let Some(parts @ Json::Array(_)) = content {
        let read = blocks(parts, Role::Tool);
        if read.iter().any(|block| matches!(block, Block::Reply(_))) {
            return read;
        }
    }
    let content = match content {
        None => Content::NotRecorded,
        Some(Json::String(text)) if is_masked(text) => Content::NotRecorded,
        Some(value) => Content::Present(value.clone()),
    };
    vec![Block::Reply(Reply { id, content, is_error: false })]
}

/// An answer without an id belongs to the calls of the message before it, in order.
pub(super) fn pair_by_order(blocks: &mut [Block]) {
    let mut waiting: Vec<Option<String>> = Vec::new();
    let mut answered = false;
    for block in blocks {
        match block {
            Block::Call(call) => {
                if answered {
                    waiting.clear();
                    answered = false;
                }
                waiting.push(call.id.clone());
            }
            Block::Reply(reply) => {
                answered = true;
                match &reply.id {
                    Some(id) => waiting.retain(|other| other.as_ref() != Some(id)),
                    None if !waiting.is_empty() => reply.id = waiting.remove(0),
                    None => {}
                }
            }
            Block::Turn | Block::Text(Role::Agent, _) => {
                if answered {
                    waiting.clear();
                    answered = false;
                }
            }
            Block::Text(..) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::message::ModelCall;
    use super::*;
    use serde_json::json;

    fn record(name: &'static str, body: &Json) -> Vec<Told> {
        tell(name, &Value::text(body.to_string()), &Attributes::default(), 0)
    }

    fn ids(told: &[Told]) -> Vec<Option<String>> {
        told.iter()
            .flat_map(|told| &told.blocks)
            .filter_map(|block| match block {
                Block::Call(ModelCall { id, .. }) | Block::Reply(Reply { id, .. }) => Some(id.clone()),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn calls_stand_in_the_message_or_beside_it() {
        let calls = json!([{"id": "c", "function": {"name": "f", "arguments": "{}"}}]);
        for body in [
            json!({"index": 0, "message": {"role": "assistant", "tool_calls": calls}}),
            json!({"index": 0, "message": {}, "tool_calls": calls}),
        ] {
            let told = record("gen_ai.choice", &body);
            assert_eq!((told[0].kind, ids(&told)), (TellsOf::Output, vec![Some("c".into())]), "{body}");
        }
    }

    #[test]
    fn answers_without_ids_belong_to_the_calls_before_them() {
        let mut all: Vec<Block> = [
            ("gen_ai.assistant.message", json!({"tool_calls": [{"id": "a", "function": {"name": "f"}}, {"id": "b", "function": {"name": "f"}}]})),
            ("gen_ai.tool.message", json!({"content": "1"})),
            ("gen_ai.tool.message", json!({"content": "2"})),
            ("gen_ai.assistant.message", json!({"tool_calls": [{"id": "c", "function": {"name": "f"}}]})),
            ("gen_ai.tool.message", json!({"content": "3"})),
            ("gen_ai.tool.message", json!({"content": "4"})),
        ]
        .iter()
        .flat_map(|(name, body)| record(name, body))
        .flat_map(|told| told.blocks)
        .collect();
        pair_by_order(&mut all);
        let replies: Vec<_> = all
            .iter()
            .filter_map(|block| match block {
                Block::Reply(reply) => Some(reply.id.as_deref()),
                _ => None,
            })
            .collect();
        assert_eq!(replies, [Some("a"), Some("b"), Some("c"), None]);
    }

    #[test]
    fn events_of_spans_hold_parts_as_text() {
        let mut span = Span::default();
        for (name, key, text) in [
            (
                "gen_ai.choice",
                "message",
                r#"[{"text": "so"}, {"toolUse": {"toolUseId": "c", "name": "f", "input": {}}}]"#,
            ),
            (
                "gen_ai.tool.message",
                "content",
                r#"[{"toolResult": {"toolUseId": "c", "status": "error", "content": [{"text": "x"}]}}]"#,
            ),
            (
                DETAILS,
                "gen_ai.output.messages",
                r#"[{"role": "assistant", "parts": [{"type": "tool_call", "id": "d", "name": "f"}]}]"#,
            ),
            ("exception", "exception.message", "no"),
        ] {
            let mut event = super::super::model::SpanEvent { name: name.into(), ..Default::default() };
            event.attributes.push(key.into(), Value::text(text));
            span.events.push(event);
        }
        let told = of_span(&span);
        assert_eq!(ids(&told), [Some("c".into()), Some("c".into()), Some("d".into())]);
        assert!(matches!(&told[1].blocks[0], Block::Reply(reply) if reply.is_error));
    }
}
