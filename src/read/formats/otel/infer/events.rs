//! Events of a conversation: log records, events of spans, and the list of events that some instrumentation
//! keeps in an attribute.

use std::collections::VecDeque;

use super::prelude::*;

/// The name of the event that holds a request's input and output as attributes.
const DETAILS: &str = "gen_ai.client.inference.operation.details";

#[derive(Debug, Clone)]
pub(crate) struct ChatEvent<'s> {
    pub(crate) direction: Direction,
    pub(crate) blocks: Vec<Block<'s>>,
    pub(crate) time: u64,
}

/// The direction of an event, from the model's point of view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Input,
    Output,
}

pub(crate) const BOTH: &[Direction] = &[Direction::Input, Direction::Output];

/// The events in log records, by span. `None` is the key for records without a known span.
pub(crate) type Records<'s> = BTreeMap<Option<At>, Vec<ChatEvent<'s>>>;

/// Reads log records, except those whose span may still arrive.
pub(crate) fn records<'s>(tree: &Tree<'s>, logs: &'s [LogRecord<'_>]) -> Records<'s> {
    let mut records = Records::new();
    for log in logs.iter().filter(|log| !tree.is_awaited(&log.span_id)) {
        let events = chat_events(&log.name, &log.body, &log.attributes, log.time, BOTH);
        if !events.is_empty() {
            records.entry(tree.position(&log.span_id)).or_default().extend(events);
        }
    }
    for events in records.values_mut() {
        pair_by_order(events.iter_mut().flat_map(|event| &mut event.blocks));
    }
    records
}

/// Returns the input or output of a model from the log records of its span or, if it has none, from its span
/// events. `None` if no event has this direction.
pub(crate) fn said<'s>(
    records: &Records<'s>,
    at: At,
    span: &'s Span<'_>,
    direction: Direction,
) -> Option<Vec<Block<'s>>> {
    let events = if let Some(events) = records.get(&Some(at)) {
        Cow::Borrowed(events.as_slice())
    } else if direction == Direction::Output {
        Cow::Owned(of_span(span, &[Direction::Output]))
    } else {
        // Answers in the input may get their ids from calls in the output.
        let mut events = of_span(span, BOTH);
        pair_by_order(events.iter_mut().flat_map(|event| &mut event.blocks));
        Cow::Owned(events)
    };
    let mut events = events.iter().filter(|event| event.direction == direction).peekable();
    events.peek()?;
    Some(events.flat_map(|event| event.blocks.iter().cloned()).collect())
}

/// Reads the events of a span that have one of these directions.
pub(crate) fn of_span<'s>(span: &'s Span<'_>, wanted: &[Direction]) -> Vec<ChatEvent<'s>> {
    let mut found = Vec::new();
    for event in &span.events {
        found.extend(chat_events(&event.name, &Value::NULL, &event.attributes, span.start, wanted));
    }
    if let Some(Data::List(events)) = span.attributes.get(Attr::Events).map(Value::to_data) {
        for event in events {
            if let Data::Object(event) = event
                && let Some(speech) = event.text(Attr::EventName.as_str()).and_then(speech_of)
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
        let both = [
            (Attr::GenAiInput, Direction::Input, Role::Unknown),
            (Attr::GenAiOutput, Direction::Output, Role::Agent),
        ];
        let said = both.into_iter().filter(|(_, direction, _)| wanted.contains(direction));
        let events = said.filter_map(|(key, direction, role)| {
            let in_body = || Some(body.to_plain_data().into_object()?.remove(key.as_str())?.parsed());
            let value = attributes.get(key).map(Value::to_data).or_else(in_body)?;
            Some(ChatEvent { direction, blocks: blocks(value, role), time })
        });
        return events.collect();
    }
    let whole = match name {
        "gen_ai.content.prompt" => Some((Direction::Input, PROMPT)),
        "gen_ai.content.completion" => Some((Direction::Output, COMPLETION)),
        _ => None,
    };
    if let Some((direction, messages)) = whole {
        let blocks = spread(attributes, messages).filter(|_| wanted.contains(&direction));
        return blocks.map(|blocks| ChatEvent { direction, blocks, time }).into_iter().collect();
    }
    let Some(speech) = speech_of(name).filter(|speech| wanted.contains(&speech.0)) else {
        return Vec::new();
    };
    let members = match body.to_data() {
        Data::Object(members) => members,
        Data::Null => {
            let text = |value: &'s Value<'_>| value.to_text().map_or(Data::Null, Data::Text);
            attributes.iter().map(|(key, value)| (Cow::Borrowed(key.as_str()), text(value))).collect()
        }
        other => std::iter::once((Cow::Borrowed("content"), other)).collect(),
    };
    vec![chat_event(speech, members, time)]
}

/// Returns the direction and role of the event with this name.
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
    // A list of parts may be JSON in a string.
    if let Some(content) = members.get_mut("content")
        && let Data::Text(text) = &content
        && let Some(Data::List(parts)) = Data::of_cow(text)
        && parts.iter().all(|part| part.as_object().is_some())
        && !parts.is_empty()
    {
        *content = Data::List(parts);
    }
    // Strands names the events of some messages of the user after the tool.
    let is_of_user = members.text("role").is_some_and(|name| Role::of_name(name) == Role::User);
    let role = if role == Role::Tool && is_of_user { Role::User } else { role };
    let blocks = if role == Role::Tool {
        tool_message(members)
    } else {
        members.remove("role");
        members.remove("name");
        blocks(Data::Object(members), role)
    };
    ChatEvent { direction, blocks, time }
}

fn tool_message(mut members: Members<'_>) -> Vec<Block<'_>> {
    let id = name_of(&members, &["id", "tool_call_id"]);
    let content = members.remove("content");
    if let Some(parts @ Data::List(_)) = &content {
        let read = blocks(parts.clone(), Role::Tool);
        if read.iter().any(|block| matches!(block, Block::Reply(_))) {
            return read;
        }
    }
    vec![Block::Reply(Reply { id, content: content_of(content), is_error: false })]
}

/// Gives each answer without an id that of the next unanswered call in the agent's message before it.
pub(crate) fn pair_by_order<'b, 's: 'b>(blocks: impl IntoIterator<Item = &'b mut Block<'s>>) {
    let mut calls: VecDeque<Option<Cow<'s, str>>> = VecDeque::new();
    let mut answered: HashSet<Cow<'s, str>> = HashSet::new();
    let mut in_answers = false;
    for block in blocks {
        match block {
            Block::Reply(reply) => {
                in_answers = true;
                if let Some(id) = &reply.id {
                    answered.insert(id.clone());
                } else {
                    let is_open = |id: &Option<_>| id.as_ref().is_none_or(|id| !answered.contains(id));
                    reply.id = std::iter::from_fn(|| calls.pop_front()).find(is_open).flatten();
                }
            }
            Block::Call(_) | Block::Turn | Block::Text(Role::Agent, _) => {
                if std::mem::take(&mut in_answers) {
                    calls.clear();
                    answered = HashSet::new();
                }
                if let Block::Call(call) = block {
                    calls.push_back(call.id.clone());
                }
            }
            Block::Text(..) => {}
        }
    }
}
