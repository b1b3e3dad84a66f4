//! Events of a conversation in one form: log records, events of spans, and the list of events that some instrumentation
//! keeps in an attribute.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::attributes::{Attributes, Value};
use super::data::{Data, Members};
use super::dialects::blocks;
use super::message::{Block, Reply, Role, is_masked, name_of};
use super::model::{LogRecord, Record, Span};
use super::tree::{At, Tree};
use super::waiting::Waiting;
use crate::trace::Content;

/// The name of the event that holds a request's input and output as attributes.
const DETAILS: &str = "gen_ai.client.inference.operation.details";

/// An event of a conversation.
#[derive(Debug, Clone)]
pub(super) struct ChatEvent<'s> {
    pub(super) direction: Direction,
    pub(super) blocks: Vec<Block<'s>>,
    pub(super) time: u64,
}

/// The direction of an event, from the model's point of view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// Input of the model.
    Input,
    /// Output of the model.
    Output,
}

/// Both.
pub(super) const BOTH: &[Direction] = &[Direction::Input, Direction::Output];

/// The log records of the spans of a trace. `None` is the key for spans that are missing.
pub(super) type Records<'s> = BTreeMap<Option<At>, Vec<ChatEvent<'s>>>;

/// Parsed log records, by span.
pub(super) fn records<'s>(tree: &Tree<'s, '_>, logs: &'s [LogRecord<'_>]) -> Records<'s> {
    let mut records = Records::new();
    for log in logs.iter().filter(|log| !tree.is_awaited(&log.span_id)) {
        let events = of_record(&log.record, log.time);
        if !events.is_empty() {
            records.entry(tree.position(&log.span_id)).or_default().extend(events);
        }
    }
    for events in records.values_mut() {
        pair_events(events);
    }
    records
}

/// Answers without ids belong to the calls before them, which are separate events.
fn pair_events(events: &mut [ChatEvent<'_>]) {
    let lengths: Vec<usize> = events.iter().map(|event| event.blocks.len()).collect();
    let mut all: Vec<Block<'_>> = events.iter_mut().flat_map(|event| event.blocks.drain(..)).collect();
    pair_by_order(&mut all);
    let mut all = all.into_iter();
    for (event, length) in events.iter_mut().zip(lengths) {
        event.blocks.extend(all.by_ref().take(length));
    }
}

/// Returns the input or output of a model from the log records of its span or, without any, from its span events.
/// `None` if there are neither.
pub(super) fn said<'s>(
    records: &Records<'s>,
    at: At,
    span: &'s Span<'_>,
    direction: Direction,
) -> Option<Vec<Block<'s>>> {
    let is_wanted = |event: &&ChatEvent<'_>| event.direction == direction;
    if let Some(events) = records.get(&Some(at)) {
        let mut events = events.iter().filter(is_wanted).peekable();
        events.peek()?;
        return Some(events.flat_map(|event| event.blocks.iter().cloned()).collect());
    }
    // The output identifies the answers in the input.
    let mut events = of_span(span, if direction == Direction::Input { BOTH } else { &[Direction::Output] });
    if direction == Direction::Input {
        pair_events(&mut events);
    }
    let mut events = events.into_iter().filter(|event| is_wanted(&event)).peekable();
    events.peek()?;
    Some(events.flat_map(|event| event.blocks).collect())
}

/// Parses a log record.
fn of_record<'s>(record: &'s Record<'_>, time: u64) -> Vec<ChatEvent<'s>> {
    chat_events(&record.name, &record.body, &record.attributes, time, BOTH)
}

/// Parses the events of a span in one direction.
pub(super) fn of_span<'s>(span: &'s Span<'_>, wanted: &[Direction]) -> Vec<ChatEvent<'s>> {
    let mut found = Vec::new();
    for event in &span.events {
        found.extend(chat_events(&event.name, &Value::Null, &event.attributes, span.start, wanted));
    }
    if let Some(Data::List(events)) = span.attributes.get("events").map(Value::to_data) {
        for event in events {
            if let Data::Object(event) = event
                && let Some(speech) = event.text("event.name").and_then(speech_of)
                && wanted.contains(&speech.0)
            {
                found.push(chat_event(speech, event, span.start));
            }
        }
    }
    found
}

fn chat_events<'s>(
    name: &str,
    body: &'s Value<'_>,
    attributes: &'s Attributes<'_>,
    time: u64,
    wanted: &[Direction],
) -> Vec<ChatEvent<'s>> {
    if name == DETAILS {
        let mut found = Vec::new();
        for (key, direction, role) in [
            ("gen_ai.input.messages", Direction::Input, Role::Unknown),
            ("gen_ai.output.messages", Direction::Output, Role::Agent),
        ] {
            if wanted.contains(&direction)
                && let Some(value) = attributes.get(key).or_else(|| body.get(key))
            {
                found.push(ChatEvent { direction, blocks: blocks(value.to_data(), role), time });
            }
        }
        return found;
    }
    let Some(speech) = speech_of(name).filter(|speech| wanted.contains(&speech.0)) else {
        return Vec::new();
    };
    let members = match body.to_data() {
        Data::Object(members) => members,
        Data::Null => attributes
            .iter()
            .map(|(key, value)| (Cow::Borrowed(key), value.to_text().map_or(Data::Null, Data::Text)))
            .collect(),
        other => std::iter::once((Cow::Borrowed("content"), other)).collect(),
    };
    vec![chat_event(speech, members, time)]
}

/// Returns the direction and role of an event name.
fn speech_of(name: &str) -> Option<(Direction, Role)> {
    Some(match name {
        "gen_ai.choice" => (Direction::Output, Role::Agent),
        "gen_ai.assistant.message" => (Direction::Input, Role::Agent),
        "gen_ai.user.message" => (Direction::Input, Role::User),
        "gen_ai.system.message" => (Direction::Input, Role::System),
        "gen_ai.tool.message" => (Direction::Input, Role::Tool),
        _ => return None,
    })
}

fn chat_event((direction, role): (Direction, Role), mut members: Members<'_>, time: u64) -> ChatEvent<'_> {
    // A list of parts may be JSON in a text.
    if let Some(content) = members.get_mut("content")
        && let Data::Text(text) = &content
        && let Some(Data::List(parts)) = Data::of_cow(text)
        && parts.iter().all(|part| part.as_object().is_some())
        && !parts.is_empty()
    {
        *content = Data::List(parts);
    }
    if role == Role::Tool {
        return ChatEvent { direction, blocks: tool_message(&members), time };
    }
    members.remove("role");
    members.remove("name");
    ChatEvent { direction, blocks: blocks(Data::Object(members), role), time }
}

fn tool_message<'s>(members: &Members<'s>) -> Vec<Block<'s>> {
    let id = name_of(members, &["id", "tool_call_id"]);
    let content = members.get("content");
    if let Some(parts @ Data::List(_)) = content {
        let read = blocks(parts.clone(), Role::Tool);
        if read.iter().any(|block| matches!(block, Block::Reply(_))) {
            return read;
        }
    }
    let content = match content {
        None => Content::NotRecorded,
        Some(Data::Text(text)) if is_masked(text) => Content::NotRecorded,
        Some(value) => Content::Present(value.clone()),
    };
    vec![Block::Reply(Reply { id, content, is_error: false })]
}

/// An answer without an id belongs to the calls of the message before it, in order.
pub(super) fn pair_by_order(blocks: &mut [Block<'_>]) {
    let mut waiting = Waiting::default();
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
                    Some(_) if waiting.is_empty() => {}
                    Some(id) => waiting.remove(id.clone()),
                    None => reply.id = waiting.next(),
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
    use serde_json::{Value as Json, json};

    fn record(name: &'static str, body: &Json) -> Vec<ChatEvent<'static>> {
        let body = Box::leak(Box::new(Value::text(body.to_string())));
        chat_events(name, body, Box::leak(Box::default()), 0, BOTH)
    }

    fn ids(events: &[ChatEvent<'_>]) -> Vec<Option<String>> {
        events
            .iter()
            .flat_map(|event| &event.blocks)
            .filter_map(|block| match block {
                Block::Call(ModelCall { id, .. }) | Block::Reply(Reply { id, .. }) => {
                    Some(id.as_deref().map(str::to_owned))
                }
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
            let events = record("gen_ai.choice", &body);
            assert_eq!(
                (events[0].direction, ids(&events)),
                (Direction::Output, vec![Some("c".into())]),
                "{body}"
            );
        }
    }

    #[test]
    fn answers_without_ids_belong_to_the_calls_before_them() {
        let mut all: Vec<Block<'_>> = [
            ("gen_ai.assistant.message", json!({"tool_calls": [{"id": "a", "function": {"name": "f"}}, {"id": "b", "function": {"name": "f"}}]})),
            ("gen_ai.tool.message", json!({"content": "1"})),
            ("gen_ai.tool.message", json!({"content": "2"})),
            ("gen_ai.assistant.message", json!({"tool_calls": [{"id": "c", "function": {"name": "f"}}]})),
            ("gen_ai.tool.message", json!({"content": "3"})),
            ("gen_ai.tool.message", json!({"content": "4"})),
        ]
        .iter()
        .flat_map(|(name, body)| record(name, body))
        .flat_map(|event| event.blocks)
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
    fn answers_by_id_and_by_order_go_together() {
        let call = |id: &'static str| {
            let arguments = Content::NotRecorded;
            Block::Call(ModelCall { id: named(id), name: "f".into(), arguments, refused: None })
        };
        let reply = |id: &'static str| {
            Block::Reply(Reply { id: named(id), content: Content::NotRecorded, is_error: false })
        };
        let mut blocks = [
            call("a"),
            call("b"),
            call("b"),
            call(""),
            call("c"),
            call("d"),
            reply("b"),
            reply("x"),
            reply(""),
            reply(""),
            reply("c"),
            reply(""),
            reply(""),
            call("b"),
            call("c"),
            reply(""),
            reply(""),
        ];
        pair_by_order(&mut blocks);
        let replies: Vec<_> = blocks
            .iter()
            .filter_map(|block| match block {
                Block::Reply(reply) => Some(reply.id.as_deref().unwrap_or_default()),
                _ => None,
            })
            .collect();
        assert_eq!(replies, ["b", "x", "a", "", "c", "d", "", "b", "c"]);
    }

    fn named(id: &'static str) -> Option<Cow<'static, str>> {
        (!id.is_empty()).then_some(Cow::Borrowed(id))
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
        let events = of_span(&span, BOTH);
        assert_eq!(ids(&events), [Some("c".into()), Some("c".into()), Some("d".into())]);
        assert!(matches!(&events[1].blocks[0], Block::Reply(reply) if reply.is_error));
    }
}
