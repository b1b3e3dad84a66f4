//! Output of `codex exec --json`: events of threads, whose items are started, updated and completed. Captures contain
//! lines of other origin as well.

use super::codex_text::is_failure_code;
use super::prelude::*;
use crate::read::session::{Session, SessionReader};

pub(in crate::read) const FORMAT: Entry = Entry {
    format: Format::CodexExec,
    about: "events of `codex exec --json`",
    signature: &[Shape::Lines(Any(&[
        All(&[Says("type", &["thread.started"]), Is(Kind::String, &["thread_id"])]),
        All(&[Says("type", &["item.started", "item.completed"]), Is(Kind::Object, &["item"])]),
    ]))],
    reader: Reader::Session(SessionReader { open: |_| Box::<Threads<'_>>::default(), list: "" }),
};

/// A line as it stands.
#[derive(Default)]
struct Line<'a> {
    kind: Option<Cow<'a, str>>,
    thread: Option<Cow<'a, str>>,
    item: Option<Item<'a>>,
}

fn read_line<'a>(json: &mut Json<'a>) -> Read<Line<'a>> {
    let mut read = Line::default();
    json.object(|key, value| {
        match key {
            b"type" => read.kind = wire::name(value)?,
            b"thread_id" => read.thread = wire::name(value)?,
            b"item" => {
                let mut item = Item::default();
                read.item = wire::object(value, |key, value| item.member(key, value))?.then_some(item);
            }
            _ => value.skip()?,
        }
        Ok(())
    })?;
    Ok(read)
}

/// The members of all kinds of items.
#[derive(Default)]
struct Item<'a> {
    id: Option<Cow<'a, str>>,
    kind: Option<Cow<'a, str>>,
    status: Option<Cow<'a, str>>,
    text: Option<TextCow<'a>>,
    message: Option<TextCow<'a>>,
    command: Option<wire::Value<'a>>,
    output: Option<TextCow<'a>>,
    exit_code: Option<Raw<'a>>,
    changes: Option<wire::Value<'a>>,
    query: Option<wire::Value<'a>>,
    server: Option<Cow<'a, str>>,
    tool: Option<Cow<'a, str>>,
    arguments: Option<wire::Value<'a>>,
    result: Option<Raw<'a>>,
    error: Option<Raw<'a>>,
    prompt: Option<wire::Value<'a>>,
}

impl<'a> Item<'a> {
    fn member(&mut self, key: &[u8], value: &mut Json<'a>) -> Read<()> {
        match key {
            b"id" => self.id = wire::name(value)?,
            b"type" => self.kind = wire::name(value)?,
            b"status" => self.status = wire::name(value)?,
            b"text" => self.text = wire::message(value)?,
            b"message" => self.message = wire::message(value)?,
            b"command" => self.command = wire::Value::read_present(value)?,
            b"aggregated_output" => self.output = wire::result(value)?,
            b"exit_code" => self.exit_code = wire::value(value)?,
            b"changes" => self.changes = wire::Value::read_present(value)?,
            b"query" => self.query = wire::Value::read_present(value)?,
            b"server" => self.server = wire::name(value)?,
            b"tool" => self.tool = wire::name(value)?,
            b"arguments" => self.arguments = wire::Value::read_present(value)?,
            b"result" => self.result = wire::value(value)?,
            b"error" => self.error = wire::value(value)?,
            b"prompt" => self.prompt = wire::Value::read_present(value)?,
            _ => value.skip()?,
        }
        Ok(())
    }

    /// Returns the name and arguments of the call, or `None` if the item is not one.
    fn call(&self) -> Option<(Cow<'a, str>, Given<'a>)> {
        Some(match self.kind.as_deref()? {
            "command_execution" => ("command_execution".into(), Given::Sole("command", self.command)),
            "file_change" => ("file_change".into(), Given::Sole("changes", self.changes)),
            "web_search" => ("web_search".into(), Given::Sole("query", self.query)),
            "collab_tool_call" => (self.tool.clone().unwrap_or_default(), Given::Sole("prompt", self.prompt)),
            "mcp_tool_call" => {
                let [server, tool] =
                    [&self.server, &self.tool].map(|name| name.as_deref().unwrap_or_default());
                (format!("{server}/{tool}").into(), Given::All(self.arguments))
            }
            _ => return None,
        })
    }

    /// Returns the outcome of the call. Changes of files, searches and calls of other agents have no output.
    fn observation(&mut self) -> Content<TextCow<'a>> {
        match self.kind.as_deref() {
            Some("command_execution") => self.output.take().into(),
            Some("mcp_tool_call") => self.mcp_observation().into(),
            _ => Content::NotRecorded,
        }
    }

    fn mcp_observation(&self) -> Option<TextCow<'a>> {
        match (self.result, self.error) {
            (Some(result), _) => match result.member("content") {
                Some(content) => words::result(content),
                None => Some(wire::canonical(result.bytes()).into()),
            },
            (None, Some(error)) => words::result(error.member("message").unwrap_or(error)),
            (None, None) => None,
        }
    }

    fn outcome(&self) -> Outcome {
        match self.status.as_deref() {
            Some("failed") => Outcome::flag(true),
            Some("completed") => Outcome::flag(false),
            Some("declined") => Outcome::unknown(UnknownReason::Refused, Provenance::Flag),
            Some("in_progress") => Outcome::unknown(UnknownReason::Running, Provenance::Flag),
            _ => match self.exit_code.and_then(is_failure_code) {
                Some(failed) => Outcome::exit_code(failed),
                None => Outcome::UNMARKED,
            },
        }
    }
}

/// The arguments of a call, as recorded.
#[derive(Clone, Copy)]
enum Given<'a> {
    /// A single argument of this name.
    Sole(&'static str, Option<wire::Value<'a>>),
    All(Option<wire::Value<'a>>),
}

impl<'a> Given<'a> {
    fn arguments(self) -> Content<Arguments<'a>> {
        match self {
            Self::Sole(name, value) => wire::sole_argument_of(value, name),
            Self::All(value) => value.map_or(Content::Absent, wire::Value::arguments),
        }
    }
}

/// The threads of an input, in the order of their first lines.
#[derive(Default)]
struct Threads<'a> {
    open: Vec<Thread<'a>>,
    places: TextMap<Option<Cow<'a, str>>, usize>,
    /// The thread that was started last.
    current: Option<usize>,
    /// Number of skipped events and lines.
    without_content: u64,
    of_other_types: u64,
}

impl<'a> Session<'a> for Threads<'a> {
    fn add(&mut self, line: &mut Json<'a>) -> Read<()> {
        let line = read_line(line)?;
        match (line.kind.as_deref(), line.thread, line.item) {
            (Some("thread.started"), Some(id), _) => {
                let place = self.place(Some(id));
                self.current = Some(place);
                if let Some(thread) = self.open.get_mut(place) {
                    // The ids of items start anew.
                    thread.items.clear();
                }
            }
            (Some("turn.completed"), ..) => self.terminate("turn.completed"),
            (Some("turn.failed"), ..) => self.terminate("turn.failed"),
            (Some(kind @ ("item.started" | "item.updated" | "item.completed")), _, Some(item)) => {
                let is_completed = kind == "item.completed";
                let place = match self.current {
                    Some(place) => place,
                    None => self.place(None),
                };
                if let Some(thread) = self.open.get_mut(place) {
                    thread.item(item, is_completed);
                }
            }
            (Some("turn.started"), ..) => self.without_content += 1,
            _ => self.of_other_types += 1,
        }
        Ok(())
    }

    /// The first thread is the one that grows, as a rule. A call is complete when its item is.
    fn hand_on(&mut self, runs: &mut Runs<'_>) {
        if let Some(first) = self.open.first_mut() {
            runs.hand_on(&mut first.steps, u64::MAX);
        }
    }

    fn end(self: Box<Self>, runs: &mut Runs<'_>) {
        runs.pass_over("events without content", self.without_content);
        runs.pass_over("lines of other types", self.of_other_types);
        for thread in self.open {
            thread.end(runs);
        }
    }
}

impl<'a> Threads<'a> {
    fn place(&mut self, id: Option<Cow<'a, str>>) -> usize {
        let next = self.open.len();
        let place = *self.places.entry(id.clone()).or_insert(next);
        if place == next {
            self.open.push(Thread::new(id));
        }
        place
    }

    fn terminate(&mut self, termination: &'static str) {
        let place = self.current.or_else(|| self.places.get(&None).copied());
        if let Some(thread) = place.and_then(|place| self.open.get_mut(place)) {
            thread.termination = Some(termination);
        }
    }
}

/// A thread that is being read.
struct Thread<'a> {
    id: Option<Cow<'a, str>>,
    termination: Option<&'static str>,
    steps: Assembler<'a>,
    /// Number of items.
    count: u64,
    items: TextMap<Cow<'a, str>, Sight>,
    /// The calls, with their latest arguments.
    calls: Vec<(CallNumber, Given<'a>)>,
}

/// A known item.
#[derive(Clone, Copy)]
struct Sight {
    ordinal: u64,
    /// Its index among the calls; `None` if it is not one.
    call: Option<usize>,
}

impl<'a> Thread<'a> {
    fn new(id: Option<Cow<'a, str>>) -> Self {
        Self {
            id,
            termination: None,
            steps: Assembler::default(),
            count: 0,
            items: TextMap::default(),
            calls: Vec::new(),
        }
    }

    /// An item is placed where it was first seen, with its latest arguments.
    fn item(&mut self, mut item: Item<'a>, is_completed: bool) {
        let call = item.call();
        let known = item.id.as_ref().and_then(|id| self.items.get(id)).copied();
        let seen = known.unwrap_or_else(|| self.new_item(&item, call.as_ref().map(|(name, _)| name)));
        let place = seen.call.and_then(|place| self.calls.get_mut(place));
        if let (Some((_, given)), Some((_, now))) = (place, call) {
            *given = now;
        }
        if !is_completed {
            return;
        }
        if let Some((call, given)) = seen.call.and_then(|place| self.calls.get(place)).copied() {
            let outcome = item.outcome();
            if let Some(call) = self.steps.call_mut(call) {
                call.arguments = given.arguments();
            }
            self.steps.answer_call(call, outcome.answer(item.observation()));
            return;
        }
        let (actor, text) = match item.kind.as_deref() {
            Some("agent_message") => (Actor::Agent, item.text),
            Some("error") => (Actor::Environment, item.message),
            _ => return,
        };
        if let Some(text) = text {
            self.steps.message(actor, seen.ordinal, text);
        }
    }

    fn new_item(&mut self, item: &Item<'a>, call: Option<&Cow<'a, str>>) -> Sight {
        let ordinal = self.count;
        self.count += 1;
        let call = call.map(|name| {
            let call = self.steps.call(Call::new(ordinal, item.id.clone(), name.clone()));
            self.calls.push((call, Given::All(None)));
            self.calls.len() - 1
        });
        let seen = Sight { ordinal, call };
        if let Some(id) = &item.id {
            self.items.insert(id.clone(), seen);
        }
        seen
    }

    /// Emits the trace.
    fn end(mut self, runs: &mut Runs<'_>) {
        // Items that never completed.
        for (call, given) in self.calls {
            if let Some(call) = self.steps.call_mut(call) {
                call.arguments = given.arguments();
            }
        }
        let metadata = Metadata {
            id: self.id.map(Cow::into_owned),
            agent: Some("codex".into()),
            termination: self.termination.map(Into::into),
            ..Metadata::default()
        };
        runs.give_unrouted(&mut self.steps, metadata, None);
    }
}
