//! The messages of a tau2-bench run: who speaks, who calls which tool, and what came back.

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::container::RunContext;
use super::pairing::{Answer, Call, Pairing};
use super::wire::{ByteKeys, Ident, Object, RawText, Str, one_of};
use crate::trace::{Actor, Arguments, ArgumentsDigest, Provenance, Status, StepSink};

/// What is read of the run so far.
#[derive(Default)]
pub(super) struct Scratch<'de> {
    pub(super) pairing: Pairing<'de>,
    /// The calls of one message.
    calls: Vec<ToolCall<'de>>,
}

/// Who calls, or should call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Requestor {
    Assistant,
    User,
}

impl<'de> Deserialize<'de> for Requestor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "requestor `assistant` or `user`";
        one_of(deserializer, expected, |name| match name {
            b"assistant" | b"agent" => Some(Self::Assistant),
            b"user" => Some(Self::User),
            _ => None,
        })
    }
}

impl Requestor {
    pub(super) fn actor(self) -> Actor {
        match self {
            Self::Assistant => Actor::Agent,
            Self::User => Actor::User,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    System,
    User,
    Assistant,
    Tool,
}

impl<'de> Deserialize<'de> for Role {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "role `system`, `user`, `assistant` or `tool`";
        one_of(deserializer, expected, |name| match name {
            b"system" | b"developer" => Some(Self::System),
            b"user" => Some(Self::User),
            b"assistant" => Some(Self::Assistant),
            b"tool" => Some(Self::Tool),
            _ => None,
        })
    }
}

struct ToolCall<'a> {
    id: Option<Ident<'a>>,
    name: Str<'a>,
    arguments: Option<Arguments<'a>>,
    requestor: Option<Requestor>,
}

#[derive(Default, Deserialize)]
struct ToolMessage<'a> {
    #[serde(default, borrow)]
    id: Option<Ident<'a>>,
    #[serde(default, borrow)]
    content: Option<RawText<'a>>,
    #[serde(default)]
    error: Option<bool>,
}

/// Reads the messages of a run, and hands their steps on.
pub(super) struct Messages<'x, 'de> {
    /// Whether the texts of arguments are kept.
    pub(super) texts: bool,
    pub(super) scratch: &'x mut Scratch<'de>,
    pub(super) context: &'x mut RunContext,
    pub(super) sink: &'x mut dyn StepSink,
}

impl<'de> DeserializeSeed<'de> for Messages<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, messages: D) -> Result<(), D::Error> {
        messages.deserialize_option(self)
    }
}

impl<'de> Visitor<'de> for Messages<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list of messages, or null")
    }

    fn visit_none<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, messages: D) -> Result<(), D::Error> {
        messages.deserialize_seq(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut messages: A) -> Result<(), A::Error> {
        let Self { texts, scratch, context, sink } = self;
        let mut turn = 0;
        while messages.next_element_seed(Message { turn, texts, scratch })?.is_some() {
            context.typed(scratch.pairing.flush(&mut |step| sink.step(step)))?;
            turn += 1;
        }
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum MessageField {
    Role,
    Content,
    ToolCalls,
    Id,
    Error,
    ToolMessages,
    #[serde(other)]
    Other,
}

/// Reads one message into the queue.
struct Message<'x, 'de> {
    turn: u64,
    texts: bool,
    scratch: &'x mut Scratch<'de>,
}

impl<'de> DeserializeSeed<'de> for Message<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, message: D) -> Result<(), D::Error> {
        message.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Message<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a message (an object)")
    }

    fn visit_map<A: MapAccess<'de>>(self, message: A) -> Result<(), A::Error> {
        let mut message = ByteKeys(message);
        let Self { turn, texts, scratch: Scratch { pairing, calls } } = self;
        let mut role = None;
        let mut answer = ToolMessage::default();
        let mut answers: Option<Vec<Object<ToolMessage<'de>>>> = None;
        let (mut has_content, mut has_calls) = (false, false);
        calls.clear();
        while let Some(field) = message.next_key()? {
            match field {
                MessageField::Role => role = Some(message.next_value::<Role>()?),
                MessageField::Content => {
                    answer.content = message.next_value()?;
                    has_content = true;
                }
                MessageField::ToolCalls => {
                    message.next_value_seed(ToolCalls { texts, calls })?;
                    has_calls = true;
                }
                MessageField::Id => answer.id = message.next_value()?,
                MessageField::Error => answer.error = message.next_value()?,
                MessageField::ToolMessages => answers = message.next_value()?,
                MessageField::Other => {
                    message.next_value::<IgnoredAny>()?;
                }
            }
            // Most messages begin with all that matters, and go on at length.
            if has_content && has_calls && role.is_some_and(|role| role != Role::Tool) {
                while message.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                break;
            }
        }
        let actor = match role.ok_or_else(|| A::Error::missing_field("role"))? {
            Role::Tool => {
                match answers {
                    Some(answers) => answers.into_iter().for_each(|answer| answer.0.enqueue(turn, pairing)),
                    None => answer.enqueue(turn, pairing),
                }
                return Ok(());
            }
            Role::System => Actor::System,
            Role::User => Actor::User,
            Role::Assistant => Actor::Agent,
        };
        if let Some(RawText(text)) = answer.content.filter(|content| !content.0.is_empty()) {
            pairing.message(actor, turn, text);
        }
        for call in calls.drain(..) {
            pairing.call(Call {
                actor: call.requestor.map_or(actor, Requestor::actor),
                turn,
                id: call.id.unwrap_or_default().0,
                name: call.name.0,
                arguments: call.arguments,
            });
        }
        Ok(())
    }
}

/// Reads a list of calls, or null, into a list that is used again.
struct ToolCalls<'x, 'de> {
    texts: bool,
    calls: &'x mut Vec<ToolCall<'de>>,
}

impl<'de> DeserializeSeed<'de> for ToolCalls<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, calls: D) -> Result<(), D::Error> {
        calls.deserialize_option(self)
    }
}

impl<'de> Visitor<'de> for ToolCalls<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list of tool calls, or null")
    }

    fn visit_none<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, calls: D) -> Result<(), D::Error> {
        calls.deserialize_seq(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut calls: A) -> Result<(), A::Error> {
        while let Some(call) = calls.next_element_seed(ToolCallSeed { texts: self.texts })? {
            self.calls.push(call);
        }
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum CallField {
    Id,
    Name,
    Arguments,
    Requestor,
    #[serde(other)]
    Other,
}

struct ToolCallSeed {
    texts: bool,
}

impl<'de> DeserializeSeed<'de> for ToolCallSeed {
    type Value = ToolCall<'de>;

    fn deserialize<D: Deserializer<'de>>(self, call: D) -> Result<ToolCall<'de>, D::Error> {
        call.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ToolCallSeed {
    type Value = ToolCall<'de>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a tool call (an object)")
    }

    fn visit_map<A: MapAccess<'de>>(self, call: A) -> Result<ToolCall<'de>, A::Error> {
        let mut call = ByteKeys(call);
        let (mut id, mut name, mut arguments, mut requestor) = (None, None, None, None);
        while let Some(field) = call.next_key()? {
            match field {
                CallField::Id => id = call.next_value()?,
                CallField::Name => name = Some(call.next_value()?),
                CallField::Arguments if self.texts => {
                    let json = call.next_value::<Option<&RawValue>>()?.map(RawValue::get);
                    arguments = json.map(Arguments::from_json);
                }
                CallField::Arguments => {
                    arguments = call.next_value_seed(ArgumentsDigest)?.map(Arguments::from_digest);
                }
                CallField::Requestor => requestor = call.next_value()?,
                CallField::Other => {
                    call.next_value::<IgnoredAny>()?;
                }
            }
        }
        let name = name.ok_or_else(|| A::Error::missing_field("name"))?;
        Ok(ToolCall { id, name, arguments, requestor })
    }
}

impl<'de> ToolMessage<'de> {
    fn enqueue(self, turn: u64, pairing: &mut Pairing<'de>) {
        let text = self.content.map(|content| content.0);
        // The replicated note's rule: the flag, or a text that begins with `Error`, whatever the flag says.
        let (status, provenance) = match self.error {
            Some(true) => (Status::Error, Provenance::Flag),
            _ if text.is_some_and(|text| text.starts_with("Error")) => (Status::Error, Provenance::Text),
            Some(false) => (Status::Ok, Provenance::Flag),
            None => (Status::Ok, Provenance::None),
        };
        let id = self.id.unwrap_or_default().0;
        pairing.answer(turn, id, Answer { text, status, provenance });
    }
}
