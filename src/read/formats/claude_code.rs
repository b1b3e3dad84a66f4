//! Sessions of Claude Code: one line per event, of which those of the user and of the assistant make the traces.

use std::borrow::Cow;

use super::claude_code_line::{Block, Line, Mark, read_line};
use crate::json::{Json, Kind, Raw, Read};
use crate::read::Format;
use crate::read::document::Document;
use crate::read::format::{DocumentReader, Entry, Reader};
use crate::read::outcome::{Outcome, broken_off, never_ran};
use crate::read::runs::{PassedOver, Runs};
use crate::read::sample::Members;
use crate::read::session_lines::{self, SessionLines};
use crate::read::wire;
use crate::trace::{
    Actor, Assembler, Call, CallNumber, Content, Metadata, Provenance, Text, TextMap, TextSet, Usage, Words,
};

pub(in crate::read) const FORMAT: Entry = Entry {
    format: Format::ClaudeCode,
    about: "sessions of Claude Code, an event per line or under `loglines`",
    decisive: "lines of type `user` or `assistant` with an object `message`, and `sessionId` or `uuid`",
    reader: Reader::Document(DocumentReader { claims, read, is_generic: false }),
};

fn claims(document: &Document<'_>) -> bool {
    match document {
        Document::Lines(lines) => lines.iter().copied().any(is_event),
        Document::Object(members) => {
            loglines(members).is_some_and(|lines| lines.iter().any(|line| is_turn(*line, false)))
        }
        Document::List(_) => false,
    }
}

/// The lines of a session as claude.ai exports it.
fn loglines<'a>(members: &Members<'a>) -> Option<Vec<Raw<'a>>> {
    let lines = members.get("loglines")?.items()?;
    Some(lines.into_iter().filter(|line| line.kind() == Kind::Object).collect())
}

fn is_event(line: Raw<'_>) -> bool {
    is_turn(line, true)
}

/// Whether a line is of a message; `named`: one that names its session or itself.
fn is_turn(line: Raw<'_>, named: bool) -> bool {
    let (mut is_turn, mut has_message, mut has_session, mut has_uuid) = (false, false, false, false);
    let read = line.json().object(|key, value| {
        match key {
            b"type" => is_turn = matches!(wire::name(value)?.as_deref(), Some("user" | "assistant")),
            b"message" => has_message = value.raw()?.kind() == Kind::Object,
            b"sessionId" | b"session_id" => has_session = wire::text(value)?.is_some(),
            b"uuid" => has_uuid = wire::text(value)?.is_some(),
            _ => {}
        }
        Ok(())
    });
    read.is_ok() && is_turn && has_message && (has_session || has_uuid || !named)
}

fn read(document: &Document<'_>, runs: &mut Runs<'_>) -> Read<()> {
    match document {
        Document::Object(members) => {
            let lines = loglines(members).unwrap_or_default();
            session_lines::read::<Sessions<'_>>(&Document::Lines(lines), runs)
        }
        _ => session_lines::read::<Sessions<'_>>(document, runs),
    }
}

/// What a trace is of: a session, and the part of it that is a sub-agent's.
type Key<'a> = (Option<Cow<'a, str>>, Option<Cow<'a, str>>);

/// The sessions of a file, in the order of their first lines.
#[derive(Default)]
struct Sessions<'a> {
    open: Vec<Session<'a>>,
    places: TextMap<Key<'a>, usize>,
    /// The session of the line before.
    last: Option<Cow<'a, str>>,
    /// The parts of sub-agents, by the ids of their lines.
    parts: TextMap<Cow<'a, str>, Cow<'a, str>>,
    passed_over: PassedOver,
}

impl<'a> SessionLines<'a> for Sessions<'a> {
    type Line = Line<'a>;

    fn read_line(json: &mut Json<'a>) -> Read<Line<'a>> {
        read_line(json)
    }

    fn add(&mut self, mut line: Line<'a>) {
        let Some(is_assistant) = line.is_assistant.filter(|_| line.has_message) else {
            return count(&mut self.passed_over, line.reason_of_kind());
        };
        let session = line.session.take().or_else(|| self.last.take());
        self.last.clone_from(&session);
        let part = line.is_sidechain.then(|| self.part(&mut line));
        if line.is_skipped {
            return count(&mut self.passed_over, "lines that the program wrote for itself");
        }
        let key = (session, part);
        let place = if let Some(place) = self.places.get(&key) {
            *place
        } else {
            self.open.push(Session::new(&key));
            *self.places.entry(key).or_insert(self.open.len() - 1)
        };
        let Some(session) = self.open.get_mut(place) else { return };
        if line.uuid.take().is_some_and(|uuid| !session.uuids.insert(uuid)) {
            return count(&mut self.passed_over, "lines that stand there twice");
        }
        let passed_over = &mut self.passed_over;
        if is_assistant { session.assistant(line, passed_over) } else { session.user(line, passed_over) }
    }

    fn end(self, runs: &mut Runs<'_>) {
        for (reason, count) in self.passed_over {
            runs.pass_over(reason, count);
        }
        for session in self.open {
            session.end(runs);
        }
    }
}

impl<'a> Sessions<'a> {
    /// The part of a sub-agent's line: its agent's id, or the part of the line before it, or its own id.
    fn part(&mut self, line: &mut Line<'a>) -> Cow<'a, str> {
        let known = || line.parent.as_ref().and_then(|parent| self.parts.get(parent)).cloned();
        let part = line.agent.take().or_else(known).or_else(|| line.uuid.clone()).unwrap_or_default();
        if let Some(uuid) = &line.uuid {
            self.parts.insert(uuid.clone(), part.clone());
        }
        part
    }
}

/// A trace in the middle of being read.
struct Session<'a> {
    metadata: Metadata,
    steps: Assembler<'a>,
    uuids: TextSet<Cow<'a, str>>,
    /// The calls with an id, by it.
    calls: TextMap<Cow<'a, str>, CallNumber>,
    /// The ids of results.
    answered: TextSet<Cow<'a, str>>,
    /// The turns of responses, by their ids.
    turns: TextMap<Cow<'a, str>, u64>,
    /// The tokens of each turn, and all calls with their turns.
    usages: Vec<Usage>,
    turns_of_calls: Vec<(CallNumber, usize)>,
}

/// User texts that are no messages begin so: what commands of the program itself wrote.
const LOCAL: [&str; 2] = [
    "<local-command-",
    "Caveat: The messages below were generated by the user while running local commands.",
];

impl<'a> Session<'a> {
    fn new((session, part): &Key<'a>) -> Self {
        let mut metadata = Metadata::default();
        let session = session.as_ref().map(ToString::to_string);
        metadata.id = match part {
            Some(part) => Some(format!("{}/{part}", session.as_deref().unwrap_or_default())),
            None => session.clone(),
        };
        metadata.parent = session.filter(|_| part.is_some());
        metadata.agent = Some("claude-code".into());
        let mut steps = Assembler::default();
        steps.begin(true);
        Self {
            metadata,
            steps,
            uuids: TextSet::default(),
            calls: TextMap::default(),
            answered: TextSet::default(),
            turns: TextMap::default(),
            usages: Vec::new(),
            turns_of_calls: Vec::new(),
        }
    }

    /// The turn that comes next, which what the user says leads to.
    fn next_turn(&self) -> u64 {
        self.usages.len() as u64
    }

    fn user(&mut self, line: Line<'a>, passed_over: &mut PassedOver) {
        let turn = self.next_turn();
        let is_local = |text: Text<'_>| LOCAL.iter().any(|start| text.starts_with(start));
        let (text, blocks) = (line.text(), line.blocks);
        if let Some(text) = text.filter(|text| !is_local(text.text())) {
            self.steps.message_at(Actor::User, turn, text, line.time);
        }
        for block in blocks {
            let Block::Result { id, content, is_error } = block else { continue };
            if id.as_ref().is_some_and(|id| !self.answered.insert(id.clone())) {
                count(passed_over, "results that stand there twice");
                continue;
            }
            let call = id.as_ref().and_then(|id| self.calls.get(id)).copied();
            if let Some(call) = call.and_then(|call| self.steps.call_mut(call))
                && line.duration.is_some()
            {
                call.usage.get_or_insert_default().duration_ns = line.duration;
            }
            let text = content.as_ref().map_or("".into(), Words::text);
            let outcome = outcome(text, is_error, line.mark);
            self.steps.answer(turn, id, outcome.answer(Content::from(content)));
        }
    }

    fn assistant(&mut self, mut line: Line<'a>, passed_over: &mut PassedOver) {
        let next = self.next_turn();
        let turn = match line.message_id.take() {
            Some(id) => *self.turns.entry(id).or_insert(next),
            None => next,
        };
        if turn == next {
            self.usages.push(Usage::default());
        }
        let turn_place = usize::try_from(turn).unwrap_or(usize::MAX);
        // Each line of a response repeats its tokens; the last line has all that were written.
        if let Some(usage) = self.usages.get_mut(turn_place).filter(|_| !line.usage.is_empty()) {
            *usage = line.usage;
        }
        if self.metadata.model.is_none() {
            self.metadata.model = line.model.as_deref().map(Into::into);
        }
        self.metadata.termination = line.stop_reason.take().map(Cow::into_owned);
        if let Some(text) = line.text() {
            self.steps.message_at(Actor::Agent, turn, text, line.time);
        }
        for block in line.blocks {
            let Block::Call { id, name, arguments } = block else { continue };
            if id.as_ref().is_some_and(|id| self.calls.contains_key(id)) {
                count(passed_over, "calls that stand there twice");
                continue;
            }
            let call = Call { arguments, time: line.time, ..Call::new(turn, id.clone(), name) };
            let call = self.steps.call(call);
            self.turns_of_calls.push((call, turn_place));
            if let Some(id) = id {
                self.calls.insert(id, call);
            }
        }
    }

    /// Hands the trace on.
    fn end(mut self, runs: &mut Runs<'_>) {
        for (call, turn) in self.turns_of_calls {
            let usage = self.usages.get(turn).filter(|usage| !usage.is_empty());
            if let (Some(usage), Some(call)) = (usage, self.steps.call_mut(call)) {
                let duration_ns = call.usage.as_ref().and_then(|usage| usage.duration_ns);
                call.usage = Some(Box::new(Usage { duration_ns, ..*usage }));
            }
        }
        for (turn, usage) in (0..).zip(self.usages) {
            self.steps.spent(turn, Some(usage));
        }
        runs.give_unrouted(&mut self.steps, self.metadata, None);
    }
}

fn count(passed_over: &mut PassedOver, reason: impl Into<Cow<'static, str>>) {
    *passed_over.entry(reason.into()).or_default() += 1;
}

/// How a call ended. `mark`: what stands beside the message of its result.
fn outcome(text: Text<'_>, is_error: Option<bool>, mark: Option<Mark>) -> Outcome {
    if let Some(never_ran) = never_ran(text) {
        return never_ran;
    }
    match (is_error, mark) {
        (Some(true), _) => broken_off(text).unwrap_or(Outcome::flag(true)),
        (_, Some(mark)) => Outcome::unknown(mark.reason(), Provenance::Flag),
        (Some(false), None) => Outcome::flag(false),
        (None, None) => Outcome::UNMARKED,
    }
}
