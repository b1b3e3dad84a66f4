//! A line of a Codex session. The items are those of the Responses API.

use super::chat_items::Item as ItemKind;
use super::codex::is_old_header;
use super::prelude::*;

/// The payload of a line.
pub(in crate::read) enum Payload<'a> {
    Meta { id: Option<Cow<'a, str>>, parent: Option<Cow<'a, str>> },
    Context { model: Option<Cow<'a, str>> },
    Item(Item<'a>),
    Event(Event<'a>),
    Compacted,
}

/// An item of the conversation.
pub(in crate::read) enum Item<'a> {
    Message {
        actor: Actor,
        text: Option<TextCow<'a>>,
    },
    Reasoning,
    Call {
        id: Option<Cow<'a, str>>,
        name: Cow<'a, str>,
        arguments: Content<Arguments<'a>>,
        /// Calls that the server makes and answers itself.
        answer: Option<Answer<'a>>,
    },
    Output {
        id: Option<Cow<'a, str>>,
        output: Output<'a>,
    },
    Other,
}

/// The output of a call.
#[derive(Default)]
pub(in crate::read) struct Output<'a> {
    pub(in crate::read) text: Option<TextCow<'a>>,
    pub(in crate::read) success: Option<bool>,
}

/// An event next to the conversation.
pub(in crate::read) enum Event<'a> {
    End(&'static str),
    Tokens(Usage),
    /// Whether a call failed.
    Outcome {
        id: Cow<'a, str>,
        failed: bool,
    },
    /// A command ended.
    Exit {
        id: Cow<'a, str>,
        failed: Option<bool>,
        duration_ns: Option<u64>,
    },
    /// An event that repeats an item.
    Copy,
    Other,
}

impl<'a> Payload<'a> {
    /// Returns the payload of a line; `None` if the type is unknown.
    pub(in crate::read) fn of(line: &Members<'a>) -> Option<Self> {
        let Some(payload) = line.get("payload").filter(|payload| payload.kind() == Kind::Object) else {
            if is_old_header(line) {
                return Some(Self::Meta { id: line.name("id"), parent: None });
            }
            let item = Item::of(line);
            return if matches!(item, Item::Other) { None } else { Some(Self::Item(item)) };
        };
        let payload = Members::from(payload);
        Some(match &*line.name("type")? {
            "session_meta" => Self::meta(&payload),
            "turn_context" => Self::Context { model: payload.name("model") },
            "response_item" => Self::Item(Item::of(&payload)),
            "event_msg" => Self::Event(Event::of(&payload)),
            "compacted" => Self::Compacted,
            _ => return None,
        })
    }

    fn meta(payload: &Members<'a>) -> Self {
        let spawn = payload.object("source").object("subagent").object("thread_spawn");
        let id = payload.name("id").or_else(|| payload.name("session_id"));
        Self::Meta { id, parent: spawn.name("parent_thread_id") }
    }
}

impl<'a> Item<'a> {
    fn of(payload: &Members<'a>) -> Self {
        let kind = payload.name("type").unwrap_or_default();
        match (&*kind, ItemKind::of(&kind)) {
            ("message", _) => Self::Message {
                actor: match payload.name("role").as_deref() {
                    Some("assistant") => Actor::Agent,
                    Some("user") => Actor::User,
                    _ => Actor::System,
                },
                text: payload.message("content"),
            },
            ("reasoning", _) => Self::Reasoning,
            (_, Some(ItemKind::Output)) => {
                let output = payload.present("output").map(Output::of).unwrap_or_default();
                Self::Output { id: id(payload), output }
            }
            (_, Some(ItemKind::Function)) => Self::call(payload, payload.arguments("arguments"), None),
            (_, Some(ItemKind::Custom)) => {
                Self::call(payload, wire::sole_argument("input", payload.present("input")), None)
            }
            (_, Some(ItemKind::Mcp)) => {
                Self::call(payload, payload.arguments("arguments"), mcp_answer(payload))
            }
            (_, Some(ItemKind::Tool(name))) => Self::named_call(payload, name, None),
            (_, Some(ItemKind::Server(name))) => {
                // The server answers these by their status alone.
                let outcome = match payload.name("status").as_deref() {
                    Some("completed") => Some(Outcome::flag(false)),
                    Some("failed" | "incomplete") => Some(Outcome::flag(true)),
                    _ => None,
                };
                Self::named_call(payload, name, outcome.map(|outcome| outcome.answer(Content::Absent)))
            }
            (_, None) => Self::Other,
        }
    }

    fn call(payload: &Members<'a>, arguments: Content<Arguments<'a>>, answer: Option<Answer<'a>>) -> Self {
        Self::Call { id: id(payload), name: payload.name("name").unwrap_or_default(), arguments, answer }
    }

    /// Returns a call of a tool that the type names.
    fn named_call(payload: &Members<'a>, name: &'static str, answer: Option<Answer<'a>>) -> Self {
        let arguments = ["action", "arguments", "queries"].into_iter().find_map(|key| payload.present(key));
        Self::Call {
            id: id(payload),
            name: name.into(),
            arguments: arguments.map_or(Content::Absent, common::arguments),
            answer,
        }
    }
}

fn id<'a>(payload: &Members<'a>) -> Option<Cow<'a, str>> {
    payload.name("call_id").or_else(|| payload.name("id"))
}

/// Returns the answer that a call of an MCP server contains.
fn mcp_answer<'a>(payload: &Members<'a>) -> Option<Answer<'a>> {
    let output = payload.present("output").map(Output::of);
    let error = payload.result("error");
    let outcome = match (&error, &output) {
        (Some(_), _) => Outcome::flag(true),
        (None, Some(_)) => Outcome::UNMARKED,
        (None, None) => return None,
    };
    let observation = output.and_then(|output| output.text).or(error);
    Some(outcome.answer(observation.into()))
}

impl<'a> Event<'a> {
    fn of(payload: &Members<'a>) -> Self {
        let id = payload.name("call_id");
        match payload.name("type").as_deref().unwrap_or_default() {
            "task_complete" => Self::End("task_complete"),
            "turn_aborted" => Self::End("turn_aborted"),
            "agent_message" | "user_message" | "agent_reasoning" => Self::Copy,
            "token_count" => {
                payload.object("info").usage("last_token_usage").map_or(Self::Other, Self::Tokens)
            }
            "patch_apply_end" => Self::outcome(id, payload.flag("success").map(|success| !success)),
            "mcp_tool_call_end" => Self::outcome(id, mcp_failed(&payload.object("result"))),
            "exec_command_end" => {
                let failed = payload.get("exit_code").and_then(is_failure_code);
                let duration_ns = duration(&payload.object("duration"));
                id.map_or(Self::Other, |id| Self::Exit { id, failed, duration_ns })
            }
            _ => Self::Other,
        }
    }

    /// Returns the event's failure flag of a call, if it has one.
    fn outcome(id: Option<Cow<'a, str>>, failed: Option<bool>) -> Self {
        id.zip(failed).map_or(Self::Other, |(id, failed)| Self::Outcome { id, failed })
    }
}

impl<'a> Output<'a> {
    /// Returns an output: a text, a list of parts, or an object `{content, success}`.
    fn of(value: Raw<'a>) -> Self {
        let text = words::result(value.member("content").unwrap_or(value));
        Self { text, success: value.member("success").and_then(Raw::boolean) }
    }
}

/// Returns whether an MCP call failed: `{Err}`, or `{Ok: {is_error}}`.
fn mcp_failed(result: &Members<'_>) -> Option<bool> {
    if result.has("Err") {
        return Some(true);
    }
    let answered = result.object("Ok");
    answered.flag("is_error").or_else(|| answered.flag("isError"))
}

/// Converts `{secs, nanos}` to nanoseconds.
fn duration(duration: &Members<'_>) -> Option<u64> {
    duration.count("secs")?.checked_mul(1_000_000_000)?.checked_add(duration.count("nanos")?)
}
