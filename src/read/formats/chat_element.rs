//! An element of a chat (a message or an item), and the signs of an error in it.

use super::chat_call::ToolCall;
use super::chat_content::Body;
use super::chat_items::Item;
use super::mini_swe_agent::Extra;
use super::prelude::*;
use crate::read::call_outcome::{at_start, broken_off, in_background, never_ran};

#[derive(Debug, Default)]
pub(super) struct Element<'a> {
    pub(super) item: Option<Item>,
    kind: Option<Cow<'a, str>>,
    has_body: bool,
    is_foreign: bool,
    pub(super) role: Option<Cow<'a, str>>,
    /// The original role, if an exporter replaced it.
    pub(super) original_role: Option<Cow<'a, str>>,
    pub(super) content: Option<Body<'a>>,
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) call_id: Option<Cow<'a, str>>,
    pub(super) name: Option<Cow<'a, str>>,
    arguments: Option<Raw<'a>>,
    action: Option<Raw<'a>>,
    queries: Option<Raw<'a>>,
    input: Option<Raw<'a>>,
    pub(super) output: Option<Raw<'a>>,
    error: Option<Raw<'a>>,
    pub(super) status: Option<Cow<'a, str>>,
    /// The entries of a message under `tool_calls`.
    pub(super) tool_calls: Vec<ToolCall<'a>>,
    pub(super) function_call: Option<Raw<'a>>,
    /// The id of the call that a message answers.
    pub(super) answers: Option<Cow<'a, str>>,
    /// The results inside one message of AutoGen 0.2, as separate messages.
    pub(super) tool_responses: Vec<Self>,
    pub(super) extra: Extra<'a>,
    pub(super) is_error: Option<bool>,
    timestamp: Option<Raw<'a>>,
    usage: Option<Usage>,
}

impl<'a> Element<'a> {
    /// Reads an element into `self`, which must be empty.
    pub(super) fn read(&mut self, json: &mut Json<'a>) -> Read<()> {
        let found = self;
        wire::object(json, |key, value| {
            let place = match key {
                b"type" => {
                    let kind = wire::text(value)?.map(|kind| kind.to_str());
                    found.item = kind.as_deref().and_then(Item::of);
                    // Steps of the Gemini Interactions API have no role; the type implies it.
                    match kind.as_deref() {
                        Some("user_input") => found.role = Some("user".into()),
                        Some("model_output") => found.role = Some("assistant".into()),
                        _ => {}
                    }
                    found.kind = kind;
                    return Ok(());
                }
                b"role" => return wire::text(value).map(|role| found.role = role.map(plain_role)),
                b"content" => {
                    let body = Body::read(value, found.role.as_deref())?;
                    (found.content, found.has_body) = (Some(body), true);
                    return Ok(());
                }
                b"name" => return wire::name(value).map(|name| found.name = name),
                b"status" => return wire::name(value).map(|status| found.status = status),
                b"is_error" | b"isError" | b"tool_call_error" => {
                    return wire::boolean(value).map(|flag| found.is_error = flag.or(found.is_error));
                }
                b"success" => {
                    let flag = wire::boolean(value)?.map(|succeeded| !succeeded);
                    found.is_error = found.is_error.or(flag);
                    return Ok(());
                }
                b"metadata" => {
                    let metadata = Members::from(value.raw()?);
                    let flag = metadata.flag("isError").or_else(|| metadata.flag("is_error"));
                    found.is_error = found.is_error.or(flag);
                    return Ok(());
                }
                b"extra" => return value.raw().map(|extra| found.extra = Extra::of(&extra.into())),
                b"usage" => {
                    found.usage = tokens::read(value)?;
                    return Ok(());
                }
                b"parts" | b"requestor" | b"toolUseId" => {
                    found.is_foreign = true;
                    return value.skip();
                }
                b"tool_call" => {
                    let read = ToolCall { is_foreign: false, ..ToolCall::read(value)? };
                    if read.call.is_some() && found.tool_calls.is_empty() {
                        found.tool_calls.push(read);
                    }
                    return Ok(());
                }
                b"function_call" if value.kind()? != Kind::List => {
                    found.has_body = true;
                    &mut found.function_call
                }
                b"tool_calls" | b"function_call" => {
                    found.has_body = true;
                    return found.calls(value);
                }
                b"id" => return wire::ident(value).map(|id| found.id = id),
                b"call_id" | b"callId" => return wire::ident(value).map(|id| found.call_id = id),
                b"tool_call_id" | b"toolCallId" => return wire::ident(value).map(|id| found.answers = id),
                b"tool_responses" => {
                    found.tool_responses.clear();
                    wire::list(value, |response| {
                        let mut read = Self::default();
                        read.read(response)?;
                        found.tool_responses.push(read);
                        Ok(())
                    })?;
                    return Ok(());
                }
                b"tool_call_ids" => {
                    wire::list(value, |id| {
                        found.answers = wire::ident(id)?.or(found.answers.take());
                        Ok(())
                    })?;
                    return Ok(());
                }
                b"arguments" => &mut found.arguments,
                b"action" | b"code" if key == b"action" || found.action.is_none() => &mut found.action,
                b"queries" => &mut found.queries,
                b"input" => &mut found.input,
                b"output" | b"result" | b"tool_result" | b"response" | b"observation" => {
                    // `output` if it says something, else the first that does.
                    let value = value.raw()?;
                    let is_known = found.output.is_some_and(|known| !says_nothing(known));
                    let is_kept = says_nothing(value) || is_known && key != b"output";
                    found.output = found.output.filter(|_| is_kept).or(Some(value));
                    return Ok(());
                }
                b"error" => &mut found.error,
                b"timestamp" => &mut found.timestamp,
                b"_metadata" => return found.metadata(value),
                _ => return value.skip(),
            };
            *place = Some(value.raw()?);
            Ok(())
        })?;
        Ok(())
    }

    /// Reads the `_metadata` that an exporter adds to a message.
    fn metadata(&mut self, json: &mut Json<'a>) -> Read<()> {
        wire::object(json, |key, value| {
            match key {
                b"timestamp" => self.timestamp = self.timestamp.or(wire::value(value)?),
                b"original_role" => self.original_role = wire::name(value)?,
                _ => value.skip()?,
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Reads the calls of a message. If the key is repeated, the last list counts.
    fn calls(&mut self, json: &mut Json<'a>) -> Read<()> {
        self.tool_calls.clear();
        wire::list(json, |call| ToolCall::read(call).map(|read| self.tool_calls.push(read)))?;
        Ok(())
    }

    /// Returns true if it has calls outside its content.
    pub(super) fn has_calls(&self) -> bool {
        !self.tool_calls.is_empty() || self.function_call.is_some_and(|call| call.kind() == Kind::Object)
    }

    /// Returns the name of the sub-agent that the role names (`subagent-7` in `assistant-subagent-7`), and
    /// replaces the role with `assistant`, `tool` or the original one.
    pub(super) fn sub_agent(&mut self) -> Option<String> {
        let name = self.role.as_deref()?.strip_prefix("assistant-")?.to_owned();
        let role = if self.answers.is_some() { Some("tool".into()) } else { self.original_role.take() };
        self.role = Some(role.unwrap_or_else(|| "assistant".into()));
        Some(name)
    }

    pub(super) fn is_message(&self) -> bool {
        self.role.is_some()
            && self.has_body
            && !self.is_foreign
            && !self.tool_calls.iter().any(|call| call.is_foreign)
    }

    pub(super) fn is_item(&self) -> bool {
        self.kind.is_some() || self.role.is_some()
    }

    pub(super) fn is_reasoning(&self) -> bool {
        matches!(self.kind.as_deref(), Some("reasoning" | "thought"))
    }

    /// Returns a member of an item, unless it is null.
    pub(super) fn part(&self, key: &str) -> Option<Raw<'a>> {
        let part = match key {
            "arguments" => self.arguments,
            "action" => self.action,
            "queries" => self.queries,
            "input" => self.input,
            "output" => self.output,
            "error" => self.error,
            _ => None,
        };
        part.filter(|part| part.kind() != Kind::Null)
    }

    /// Returns its time, from a date or from seconds since 1970.
    pub(super) fn time(&self) -> Option<u64> {
        let written = self.timestamp.and_then(|at| time::of_string(at).or_else(|| time::of_seconds(at)));
        written.or(self.extra.time)
    }

    /// Returns the token usage of its response.
    pub(super) fn usage(&self) -> Option<Usage> {
        self.usage.or(self.extra.usage)
    }

    /// Returns the outcome that the text and flags of a result show, if any. Callers must try this before the
    /// text rules of Codex.
    pub(super) fn outcome(&self, text: Text<'_>) -> Option<Outcome> {
        let starts = |start, outcome| text.starts_with(start).then_some(outcome);
        let stopped = Outcome::unknown(UnknownReason::Interrupted, Provenance::Text);
        let early =
            never_ran(text).or_else(|| broken_off(text)).or_else(|| starts("aborted by user", stopped));
        let marked = early.or_else(|| self.flag()).or_else(|| in_background(text));
        let marked = marked.or_else(|| starts("<tool_use_error>", Outcome::error(Provenance::Text)));
        if marked.is_some() {
            return marked;
        }
        // OpenHands appends the exit code of a command.
        let tail = text.tail(300);
        let by_line = |line: &str| {
            let line = line.strip_prefix('[')?.strip_suffix(']')?;
            let codes = ["Command finished with exit code ", "The command completed with exit code "];
            codes.iter().find_map(|code| words::exit_line(line.trim_end_matches('.'), code))
        };
        if let Some(failed) = tail.lines().rev().take(3).find_map(by_line) {
            return Some(Outcome::exit_code(failed));
        }
        at_start(text)
    }

    /// Returns the outcome of a call from the flags and the exit code of its result.
    pub(super) fn flag(&self) -> Option<Outcome> {
        let stated = |error: Raw<'a>| {
            error.boolean().or_else(|| error.string().filter(|text| !text.trim().is_empty()).map(|_| true))
        };
        if let Some(failed) = self.is_error.or_else(|| self.error.and_then(stated)) {
            return Some(Outcome::flag(failed));
        }
        match self.status.as_deref() {
            Some("error") => return Some(Outcome::flag(true)),
            Some("success") => return Some(Outcome::flag(false)),
            _ => {}
        }
        self.extra.returncode.and_then(is_failure_code).map(Outcome::exit_code)
    }
}

/// Returns a role. Results in messages of pi have one of their own.
fn plain_role(role: Text<'_>) -> Cow<'_, str> {
    if role == *"toolResult" { "tool".into() } else { role.to_str() }
}

/// The possible kinds of an element, before it is read.
pub(super) struct ElementProbe {
    pub(super) is_message: bool,
    pub(super) is_item: bool,
    /// Whether its type is that of a call or output; `None` if it has no type.
    pub(super) of_calls: Option<bool>,
}

impl ElementProbe {
    pub(super) fn at(json: &mut Json<'_>) -> Read<Self> {
        let (mut has_role, mut has_body, mut is_foreign) = (false, false, false);
        let (mut has_foreign_calls, mut of_calls) = (false, None);
        let (mut has_content, mut has_other_text) = (false, false);
        wire::object(json, |key, value| {
            match key {
                b"type" => {
                    let kind = wire::text(value)?;
                    of_calls = kind.map(|kind| Item::of(&kind.to_str()).is_some());
                }
                b"role" => has_role = wire::text(value)?.is_some(),
                b"content" => (has_body, has_content) = (true, true),
                b"function_call" => has_body = true,
                b"message" | b"model_output" => has_other_text |= value.kind()? == Kind::String,
                b"tool_calls" => (has_body, has_foreign_calls) = (true, are_foreign_calls(value.raw()?)),
                b"parts" | b"requestor" | b"toolUseId" => is_foreign = true,
                _ => {}
            }
            Ok(())
        })?;
        Ok(Self {
            // Only the reader of events reads texts under other keys.
            is_message: has_role
                && has_body
                && !is_foreign
                && !has_foreign_calls
                && (has_content || !has_other_text),
            is_item: of_calls.is_some() || has_role,
            of_calls,
        })
    }
}

/// Returns true if any of the calls has the form of Inspect (`function` is a string) or of tau2 (`requestor`).
fn are_foreign_calls(calls: Raw<'_>) -> bool {
    let mut foreign = false;
    let _ = wire::list(&mut calls.json(), |call| {
        wire::object(call, |key, value| {
            foreign |= key == b"requestor" || key == b"function" && value.kind()? == Kind::String;
            Ok(())
        })?;
        Ok(())
    });
    foreign
}

/// Returns true if a value is null or an empty text.
fn says_nothing(value: Raw<'_>) -> bool {
    value.kind() == Kind::Null || matches!(value.bytes(), b"\"\"")
}
