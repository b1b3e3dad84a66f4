//! A line of a Codex session. The items are those of the Responses API.

use super::codex_text::is_failure_code;
use super::prelude::*;

/// A line.
pub(in crate::read) struct Line<'a> {
    pub(in crate::read) time: Option<Text<'a>>,
    /// `None` if the type is unknown, or there is no payload.
    pub(in crate::read) kind: Option<Kind<'a>>,
}

impl Line<'_> {}

/// The kind of a line, with its members.
pub(in crate::read) enum Kind<'a> {
    Meta { id: Option<Cow<'a, str>>, parent: Option<Cow<'a, str>> },
    Context { model: Option<Cow<'a, str>> },
    Item(Item<'a>),
    Event(Event<'a>),
    Compacted,
}

/// The types of lines.
#[derive(Clone, Copy)]
pub(in crate::read) enum LineType {
    Meta,
    Context,
    Item,
    Event,
    Compacted,
}

impl LineType {
    /// Returns the type of this name.
    pub(in crate::read) fn of(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"session_meta" => Self::Meta,
            b"turn_context" => Self::Context,
            b"response_item" => Self::Item,
            b"event_msg" => Self::Event,
            b"compacted" => Self::Compacted,
            _ => return None,
        })
    }
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

/// Reads a line.
pub(in crate::read) fn read_line<'a>(json: &mut Json<'a>) -> Read<Line<'a>> {
    let (mut time, mut kind) = (None, None);
    let (mut payload, mut has_payload) = (Payload::default(), false);
    json.object(|key, value| {
        match key {
            b"timestamp" => time = wire::text(value)?,
            b"type" => kind = wire::word(value, LineType::of)?,
            b"payload" => {
                if std::mem::take(&mut has_payload) {
                    payload = Payload::default();
                }
                has_payload = wire::object(value, |key, value| payload.member(key, value))?;
            }
            _ => value.skip()?,
        }
        Ok(())
    })?;
    let kind = kind.filter(|_| has_payload).map(|kind| match kind {
        LineType::Meta => payload.meta(),
        LineType::Context => Kind::Context { model: payload.model },
        LineType::Item => Kind::Item(payload.item()),
        LineType::Event => Kind::Event(payload.event()),
        LineType::Compacted => Kind::Compacted,
    });
    Ok(Line { time, kind })
}

/// The members of all kinds of payloads: the type may come after them.
#[derive(Default)]
struct Payload<'a> {
    kind: Option<Cow<'a, [u8]>>,
    id: Option<Cow<'a, str>>,
    session_id: Option<Cow<'a, str>>,
    source: Option<Raw<'a>>,
    model: Option<Cow<'a, str>>,
    role: Option<Cow<'a, [u8]>>,
    content: Option<TextCow<'a>>,
    call_id: Option<Cow<'a, str>>,
    name: Option<Cow<'a, str>>,
    arguments: Option<wire::Value<'a>>,
    input: Option<wire::Value<'a>>,
    action: Option<wire::Value<'a>>,
    queries: Option<wire::Value<'a>>,
    output: Option<Output<'a>>,
    error: Option<Raw<'a>>,
    status: Option<Text<'a>>,
    success: Option<bool>,
    exit_code: Option<Raw<'a>>,
    duration: Option<Raw<'a>>,
    result: Option<Raw<'a>>,
    tokens: Option<Usage>,
}

impl<'a> Payload<'a> {
    fn member(&mut self, key: &[u8], value: &mut Json<'a>) -> Read<()> {
        match key {
            b"type" => self.kind = wire::spelled(value)?,
            b"id" => self.id = wire::name(value)?,
            b"session_id" => self.session_id = wire::name(value)?,
            b"source" => self.source = wire::value(value)?,
            b"model" => self.model = wire::name(value)?,
            b"role" => self.role = wire::spelled(value)?,
            b"content" => self.content = wire::message(value)?,
            b"call_id" => self.call_id = wire::name(value)?,
            b"name" => self.name = wire::name(value)?,
            b"arguments" => self.arguments = wire::Value::read_present(value)?,
            b"input" => self.input = wire::Value::read_present(value)?,
            b"action" => self.action = wire::Value::read_present(value)?,
            b"queries" => self.queries = wire::Value::read_present(value)?,
            b"output" => self.output = output(value)?,
            b"error" => self.error = wire::value(value)?,
            b"status" => self.status = wire::text(value)?,
            b"success" => self.success = wire::boolean(value)?,
            b"exit_code" => self.exit_code = wire::value(value)?,
            b"duration" => self.duration = wire::value(value)?,
            b"result" => self.result = wire::value(value)?,
            b"info" => self.tokens = tokens(value)?,
            _ => value.skip()?,
        }
        Ok(())
    }

    fn meta(self) -> Kind<'a> {
        let spawn = self.source.and_then(|source| source.member("subagent")?.member("thread_spawn"));
        let parent = spawn.and_then(|spawn| spawn.member("parent_thread_id")).and_then(common::name);
        Kind::Meta { id: self.id.or(self.session_id), parent }
    }

    fn item(self) -> Item<'a> {
        let kind = self.kind.as_deref().unwrap_or_default();
        match kind {
            b"message" => Item::Message {
                actor: match self.role.as_deref() {
                    Some(b"assistant") => Actor::Agent,
                    Some(b"user") => Actor::User,
                    _ => Actor::System,
                },
                text: self.content,
            },
            b"reasoning" => Item::Reasoning,
            b"function_call_output"
            | b"custom_tool_call_output"
            | b"local_shell_call_output"
            | b"tool_search_output"
            | b"computer_call_output" => {
                Item::Output { id: self.call_id.or(self.id), output: self.output.unwrap_or_default() }
            }
            b"function_call" => {
                let arguments = self.arguments.map_or(Content::Absent, wire::Value::arguments);
                self.call(arguments, None)
            }
            b"custom_tool_call" => {
                let arguments = wire::sole_argument_of(self.input, "input");
                self.call(arguments, None)
            }
            b"mcp_call" => {
                let arguments = self.arguments.map_or(Content::Absent, wire::Value::arguments);
                self.mcp_call(arguments)
            }
            b"local_shell_call" | b"tool_search_call" | b"computer_call" => self.named_call(false),
            b"web_search_call"
            | b"file_search_call"
            | b"code_interpreter_call"
            | b"image_generation_call" => self.named_call(true),
            _ => Item::Other,
        }
    }

    fn call(self, arguments: Content<Arguments<'a>>, answer: Option<Answer<'a>>) -> Item<'a> {
        Item::Call { id: self.call_id.or(self.id), name: self.name.unwrap_or_default(), arguments, answer }
    }

    /// Returns a call that contains its answer.
    fn mcp_call(mut self, arguments: Content<Arguments<'a>>) -> Item<'a> {
        let output = self.output.take();
        let error = self.error.and_then(words::result);
        let outcome = match (&error, &output) {
            (Some(_), _) => Some(Outcome::flag(true)),
            (None, Some(_)) => Some(Outcome::UNMARKED),
            (None, None) => None,
        };
        let observation = output.and_then(|output| output.text).or(error);
        let answer = outcome.map(|outcome| outcome.answer(Content::from(observation)));
        self.call(arguments, answer)
    }

    /// Returns a call whose type is its name. The server answers some of them, by their status alone.
    fn named_call(mut self, is_answered: bool) -> Item<'a> {
        let arguments =
            self.action.or(self.arguments).or(self.queries).map_or(Content::Absent, wire::Value::arguments);
        let status = self.status.filter(|_| is_answered).map(|status| status.to_str());
        let answer = match status.as_deref() {
            Some("completed") => Some(Outcome::ok(Provenance::Flag).answer(Content::Absent)),
            Some("failed" | "incomplete") => Some(Outcome::error(Provenance::Flag).answer(Content::Absent)),
            _ => None,
        };
        let kind = self.kind.take().unwrap_or_default();
        let name = kind.strip_suffix(b"_call").unwrap_or(&kind);
        self.name = Some(Cow::Owned(String::from_utf8_lossy(name).into_owned()));
        self.call(arguments, answer)
    }

    fn event(self) -> Event<'a> {
        match self.kind.as_deref().unwrap_or_default() {
            b"task_complete" => Event::End("task_complete"),
            b"turn_aborted" => Event::End("turn_aborted"),
            b"agent_message" | b"user_message" | b"agent_reasoning" => Event::Copy,
            b"token_count" => self.tokens.map_or(Event::Other, Event::Tokens),
            b"patch_apply_end" => outcome(self.call_id, self.success.map(|success| !success)),
            b"mcp_tool_call_end" => outcome(self.call_id, self.result.and_then(mcp_failed)),
            b"exec_command_end" => {
                let failed = self.exit_code.and_then(is_failure_code);
                let duration_ns = self.duration.and_then(duration);
                self.call_id.map_or(Event::Other, |id| Event::Exit { id, failed, duration_ns })
            }
            _ => Event::Other,
        }
    }
}

/// Returns the event's failure flag of a call, if it has one.
fn outcome(id: Option<Cow<'_, str>>, failed: Option<bool>) -> Event<'_> {
    match (id, failed) {
        (Some(id), Some(failed)) => Event::Outcome { id, failed },
        _ => Event::Other,
    }
}

/// Reads an output: a text, a list of parts, or an object `{content, success}`. Null is none.
fn output<'a>(json: &mut Json<'a>) -> Read<Option<Output<'a>>> {
    if json.kind()? != crate::json::Kind::Object {
        return Ok(wire::result(json)?.map(|text| Output { text: Some(text), success: None }));
    }
    json.space();
    let start = json.offset();
    let mut output = Output::default();
    let mut has_content = false;
    json.object(|key, value| {
        match key {
            b"content" => {
                has_content = true;
                output.text = wire::result(value)?;
            }
            b"success" => output.success = wire::boolean(value)?,
            _ => value.skip()?,
        }
        Ok(())
    })?;
    if !has_content {
        output.text = Some(wire::canonical(json.since(start)).into());
    }
    Ok(Some(output))
}

/// Returns whether an MCP call failed: `{Err}`, or `{Ok: {is_error}}`.
fn mcp_failed(result: Raw<'_>) -> Option<bool> {
    if result.member("Err").is_some() {
        return Some(true);
    }
    let answered = result.member("Ok")?;
    ["is_error", "isError"].into_iter().find_map(|key| answered.member(key)?.boolean())
}

/// Reads the tokens of the last response.
fn tokens(info: &mut Json<'_>) -> Read<Option<Usage>> {
    let mut found = None;
    wire::member(info, b"last_token_usage", |value| {
        let mut usage = Usage::default();
        wire::object(value, |key, value| {
            match key {
                b"input_tokens" => usage.input_tokens = wire::count(value)?,
                b"cached_input_tokens" => usage.cached_tokens = wire::count(value)?,
                b"output_tokens" => usage.output_tokens = wire::count(value)?,
                _ => value.skip()?,
            }
            Ok(())
        })?;
        found = Some(usage);
        Ok(())
    })?;
    Ok(found.filter(|usage| !usage.is_empty()))
}

/// Reads `{secs, nanos}` as nanoseconds.
fn duration(duration: Raw<'_>) -> Option<u64> {
    let part = |key: &str| u64::try_from(duration.member(key)?.integer()?).ok();
    part("secs")?.checked_mul(1_000_000_000)?.checked_add(part("nanos")?)
}
