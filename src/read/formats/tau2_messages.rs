//! The messages of a tau2-bench run: texts, calls and answers.

use super::prelude::*;
use crate::json::JsonString;

/// Reads the caller of a call; `None` for null.
pub(super) fn requestor(json: &mut Json<'_>) -> Read<Option<Actor>> {
    if json.null()? {
        return Ok(None);
    }
    let named = json.one_of("requestor `assistant` or `user`", |name| match name {
        b"assistant" | b"agent" => Some(Actor::Agent),
        b"user" => Some(Actor::User),
        _ => None,
    });
    named.map(Some)
}

/// Reads a role. `tool` is the environment.
fn role(json: &mut Json<'_>) -> Read<Actor> {
    json.one_of("role `system`, `user`, `assistant` or `tool`", |name| match name {
        b"system" | b"developer" => Some(Actor::System),
        b"user" => Some(Actor::User),
        b"assistant" => Some(Actor::Agent),
        b"tool" => Some(Actor::Environment),
        _ => None,
    })
}

/// Reads messages. The buffers for calls and answers are reused from one message to the next.
#[derive(Default)]
pub(super) struct Messages<'a> {
    /// Whether to keep the texts of arguments.
    texts: bool,
    /// Calls, each with its caller if that is named.
    calls: Vec<(Call<'a>, Option<Actor>)>,
    answers: Vec<ToolAnswer<'a>>,
}

#[derive(Default)]
struct ToolAnswer<'a> {
    id: Option<Cow<'a, str>>,
    content: Option<JsonString<'a>>,
    error: Option<bool>,
}

impl<'a> Messages<'a> {
    pub(super) fn new(texts: bool) -> Self {
        Self { texts, ..Self::default() }
    }

    /// Reads the messages of a run, or null, and returns their number. With `runs`, emits complete steps while
    /// reading.
    pub(super) fn read(
        &mut self,
        json: &mut Json<'a>,
        steps: &mut Assembler<'a>,
        mut runs: Option<&mut Runs<'_>>,
    ) -> Read<u64> {
        let mut turn = 0;
        json.list_or_null(|message| {
            self.message(message, turn, steps)?;
            turn += 1;
            if let Some(runs) = &mut runs {
                runs.flush(steps).map_err(|error| Fault::other(message.offset(), error))?;
            }
            Ok(())
        })?;
        Ok(turn)
    }

    fn message(&mut self, json: &mut Json<'a>, turn: u64, steps: &mut Assembler<'a>) -> Read<()> {
        self.calls.clear();
        self.answers.clear();
        let mut actor = None;
        let (mut grouped, mut answers) = (false, None);
        let mut own = ToolAnswer::default();
        json.object(fields!(key, value => {
            b"role" => actor = Some(role(value)?),
            b"content" => own.content = value.or_null(Json::text)?,
            b"tool_calls" => {
                self.calls.clear();
                value
                    .list_or_null(|call| tool_call(call, self.texts).map(|call| self.calls.push(call)))?;
            }
            // Once a role other than `tool` is known, the id is skipped, whatever its type.
            b"tool_call_id"
                if value.kind()? == Kind::String
                    && actor.is_none_or(|actor| actor == Actor::Environment) =>
            {
                answers = id(value)?.filter(|id| !id.is_empty());
            }
            b"id" if actor.is_none_or(|actor| actor == Actor::Environment) => own.id = id(value)?,
            // The same holds for the flag.
            b"error" if actor.is_none_or(|actor| actor == Actor::Environment) => {
                own.error = value.or_null(Json::boolean)?;
            }
            b"tool_messages" => {
                self.answers.clear();
                grouped = value
                    .list_or_null(|answer| tool_answer(answer).map(|answer| self.answers.push(answer)))?;
            }
        }))?;
        let actor = actor.ok_or_else(|| json.missing("role"))?;
        if actor == Actor::Environment {
            if !grouped {
                own.id = answers.or(own.id);
                own.give(turn, steps);
            }
            self.answers.drain(..).for_each(|answer| answer.give(turn, steps));
            return Ok(());
        }
        if let Some(content) = own.content.filter(|content| !content.is_empty()) {
            steps.message(actor, turn, Text::from(content));
        }
        for (call, requestor) in self.calls.drain(..) {
            // Calls and answers without an id get the empty one, which pairs them with each other.
            let id = Some(call.id.unwrap_or_default());
            steps.call(Call { actor: requestor.unwrap_or(actor), turn, id, ..call });
        }
        Ok(())
    }
}

pub(super) fn id<'a>(json: &mut Json<'a>) -> Read<Option<Cow<'a, str>>> {
    if json.null()? { Ok(None) } else { json.ident().map(Some) }
}

fn tool_call<'a>(json: &mut Json<'a>, texts: bool) -> Read<(Call<'a>, Option<Actor>)> {
    let (mut name, mut caller, mut call) = (None, None, Call::new(0, None, ""));
    json.object(|key, value| {
        match key {
            b"id" => call.id = id(value)?,
            b"requestor" => caller = requestor(value)?,
            // As chats of OpenAI have it.
            b"function" if value.kind()? == Kind::Object => {
                value.object_or_null(|key, value| called(key, value, texts, &mut name, &mut call))?;
            }
            _ => called(key, value, texts, &mut name, &mut call)?,
        }
        Ok(())
    })?;
    call.name = name.ok_or_else(|| json.missing("name"))?;
    Ok((call, caller))
}

/// Reads a member of a call: its name or its arguments.
fn called<'a>(
    key: &[u8],
    value: &mut Json<'a>,
    texts: bool,
    name: &mut Option<Cow<'a, str>>,
    call: &mut Call<'a>,
) -> Read<()> {
    match key {
        b"name" => *name = Some(value.string()?),
        b"arguments" => call.arguments = arguments(value, texts)?,
        _ => value.skip()?,
    }
    Ok(())
}

/// Reads arguments: their digest and, with `texts`, their text. `Absent` for null.
fn arguments<'a>(json: &mut Json<'a>, texts: bool) -> Read<Content<Arguments<'a>>> {
    if matches!(json.kind()?, Kind::Null | Kind::String) {
        return common::read_arguments(json);
    }
    json.space();
    let start = json.offset();
    let digest = Digest::read(json)?;
    if !texts {
        return Ok(Content::Present(Arguments::from_digest(digest)));
    }
    match simdutf8::basic::from_utf8(json.since(start)) {
        Ok(text) => Ok(Content::Present(Arguments::with_digest(Cow::Borrowed(text), digest))),
        Err(_) => Err(Fault::encoding_at(start)),
    }
}

fn tool_answer<'a>(json: &mut Json<'a>) -> Read<ToolAnswer<'a>> {
    let mut answer = ToolAnswer::default();
    json.object(fields!(key, value => {
        b"id" => answer.id = id(value)?,
        b"content" => answer.content = value.or_null(Json::text)?,
        b"error" => answer.error = value.or_null(Json::boolean)?,
    }))?;
    Ok(answer)
}

impl<'a> ToolAnswer<'a> {
    fn give(self, turn: u64, steps: &mut Assembler<'a>) {
        // As in Pisama's note on tau2-bench: an answer is an error if its flag says so, or if its text begins
        // with `Error`, whatever the flag says.
        let (status, provenance) = match self.error {
            Some(true) => (Status::Error, Provenance::Flag),
            _ if self.content.is_some_and(|content| content.starts_with("Error")) => {
                (Status::Error, Provenance::Text)
            }
            Some(false) => (Status::Ok, Provenance::Flag),
            None => (Status::Ok, Provenance::None),
        };
        let observation = Content::from(self.content.map(|content| Text::from(content).into()));
        let answer = Answer::new(observation, status, provenance);
        steps.answer(turn, Some(self.id.unwrap_or_default()), answer);
    }
}
