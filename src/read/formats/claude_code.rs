//! Claude Code sessions: one event per line. User and assistant events become steps, and so does text that the user
//! typed while the agent worked. A lone result is a run as well: `claude -p --output-format json` prints nothing else.

use super::chat_content::Block;
use super::claude_code_ends::{Ends, is_running};
use super::claude_code_line::{self, Line, SYNTHETIC, are_notes, read_line};
use super::claude_code_queue::{Queue, is_local, is_of_harness};
use super::prelude::*;
pub(super) const FORMAT: Definition = Definition {
    signature: &[
        Shape::Items(All(&[
            TURN,
            Any(&[SESSION, Is(Kind::String, &["session_id"]), Is(Kind::String, &["uuid"])]),
        ])),
        Shape::Object(Holds("loglines", &TURN)),
        Shape::Each(All(&[
            Says("type", &["result"]),
            Is(Kind::String, &["subtype", "session_id"]),
            Is(Kind::Bool, &["is_error"]),
        ])),
        Shape::Document("lines that are all notes of Claude Code", are_notes),
    ],
    reader: Reader::Session(SessionReader { open: |_| Box::<Sessions<'_>>::default(), list: "loglines" }),
};

const TURN: Mark = All(&[Says("type", &["user", "assistant"]), In("message", &Has(&["content"]))]);

pub(super) const SESSION: Mark = Is(Kind::String, &["sessionId"]);

/// The key of a run: its session and, for a sub-agent, its part of the session (see [`Sessions::part`]).
type Key<'a> = (Option<Cow<'a, str>>, Option<Cow<'a, str>>);

/// The sessions of a file, in the order of their first lines.
#[derive(Default)]
struct Sessions<'a> {
    open: Ordered<Key<'a>, Session<'a>>,
    /// True if a session has a line other than its result.
    has_lines: bool,
    /// The session of the previous line.
    last: Option<Cow<'a, str>>,
    /// The session of the last line that starts one in printed output, and its model.
    init: Option<(Option<Cow<'a, str>>, Cow<'a, str>)>,
    /// The part of each line of a sub-agent, by line id.
    parts: TextMap<Cow<'a, str>, Cow<'a, str>>,
    /// The sub-agents that are forks of a session and have no line yet.
    forks: TextSet<Cow<'a, str>>,
    /// The ends of calls that ran in the background.
    ends: Ends,
}

impl<'a> session::Session<'a> for Sessions<'a> {
    fn add(&mut self, line: &Members<'a>, runs: &mut Runs<'_>) {
        let read = read_line(line);
        if self.ends.line(read.session.as_deref(), line) {
            return;
        }
        if !read.ends_run() || self.ended(&read, line).is_none() {
            self.line(read, runs);
        }
        // Only the first session is emitted early: usually, it is the one that grows.
        if let Some(first) = self.open.first_mut() {
            first.hand_on(runs);
        }
    }

    fn end(self: Box<Self>, runs: &mut Runs<'_>) {
        let Self { open, mut ends, .. } = *self;
        let open: Vec<_> = open.into_values().collect();
        ends.keep(open.iter().flat_map(|session| session.calls.keys()));
        for mut session in open {
            let name = session.run.metadata.parent.as_ref().or(session.run.metadata.id.as_ref());
            ends.settle(name.map(String::as_str), &mut session.run.steps);
            session.end(runs);
        }
        runs.pass_over("lines of type system", ends.lines);
    }
}

impl<'a> Sessions<'a> {
    /// Reads the result of a run: how it ended, and a failure that no other line states. `None` if it ends no run.
    fn ended(&mut self, read: &Line<'a>, line: &Members<'a>) -> Option<()> {
        let how = line.name("subtype")?;
        let key = (read.session.clone().or_else(|| self.last.clone()), None);
        let is_first = self.open.known(&key).is_none();
        let is_begun = || self.init.as_ref().is_some_and(|(session, _)| *session == key.0);
        if is_first && !is_begun() && self.has_lines {
            return None;
        }
        let session = self.session(key);
        let used = line.object("modelUsage");
        if let Some((model, _)) = used.only().filter(|_| is_first) {
            session.model.get_or_insert_with(|| model.to_owned().into());
        }
        let (has_failed, is_success) = (line.flag("is_error") == Some(true), how == "success");
        if is_first || has_failed || !is_success {
            // Even if the last request failed, the result is called a success.
            let how = if has_failed && is_success { "error".into() } else { how };
            let is_plain = |reason: &str| matches!(reason, "end_turn" | "stop_sequence");
            let tells = |reason: &Cow<'_, str>| is_success && !(has_failed && is_plain(reason));
            let reason = line.name("stop_reason").filter(tells).unwrap_or(how);
            session.run.metadata.termination = Some(reason.into_owned());
        }
        if is_first || has_failed && !session.has_failed {
            let actor = if has_failed { Actor::Environment } else { Actor::Agent };
            if let Some(text) = line.message("result").or_else(|| line.message("errors")) {
                session.run.steps.message_at(actor, session.next_turn(), text, read.time);
            }
        }
        Some(())
    }

    /// Returns a session, which may begin with this line.
    fn session(&mut self, key: Key<'a>) -> &mut Session<'a> {
        let init = self.init.as_ref().filter(|(session, _)| key.1.is_none() && *session == key.0);
        let model = init.map(|(_, model)| model.clone());
        let is_forked = key.1.as_ref().is_some_and(|part| self.forks.remove(part));
        self.open.get(key, |key| Session { model, is_forked, ..Session::new(key) })
    }

    fn line(&mut self, mut line: Line<'a>, runs: &mut Runs<'_>) {
        if let Some(text) = line.text.as_ref().filter(|_| line.is_assistant != Some(true)) {
            self.ends.read(line.session.as_deref(), text.text());
        }
        let Some(is_assistant) = line.is_assistant.filter(|_| line.has_message) else {
            return self.other(line, runs);
        };
        let session = line.session.take().or_else(|| self.last.take());
        self.last.clone_from(&session);
        let part = line.is_sidechain.then(|| self.part(&mut line));
        if line.is_skipped {
            return runs.pass_over("internal lines of Claude Code", 1);
        }
        if part.as_ref().is_some_and(|part| is_copy(part)) {
            let calls = line.blocks.iter().filter(|block| block.is_call).count();
            runs.leave_out(calls as u64);
            return runs.pass_over("lines of a copy of the session, made for a summary or a question", 1);
        }
        self.has_lines = true;
        let session = self.session((session, part));
        if line.uuid.take().is_some_and(|uuid| !session.uuids.insert(uuid)) {
            return runs.pass_over("repeated lines", 1);
        }
        if line.is_of_cursor() {
            session.run.metadata.agent = Some("cursor".into());
        }
        if session.is_forked || !session.copied.is_empty() {
            let (calls, results) = session.without_copies(&mut line, is_assistant);
            runs.leave_out(calls);
            runs.pass_over("calls and results copied to a fork", calls + results);
            if calls + results > 0 && line.blocks.is_empty() && line.text.is_none() {
                return;
            }
        }
        session.has_failed = line.model.as_deref() == Some(SYNTHETIC);
        if is_assistant {
            return session.assistant(line);
        }
        let is_next = line.queue.is_none() && (line.text.is_some() || line.blocks.is_empty());
        let dequeued = session.queue.dequeued.take_if(|_| is_next);
        let (turn, is_attached) = (session.next_turn(), line.queue.is_some());
        if let Some(text) = line.text.take() {
            line.text = session.queue.message(text, dequeued, is_attached, turn);
            session.run.pass_over("repeated messages", u64::from(line.text.is_none()));
        }
        session.user(line);
    }

    /// Reads a line without a message: the start of printed output, or a change of the queue.
    fn other(&mut self, mut line: Line<'a>, runs: &mut Runs<'_>) {
        let session = line.session.take().or_else(|| self.last.clone());
        if line.is_fork()
            && let Some(agent) = line.agent.take()
        {
            self.forks.insert(agent);
            return;
        }
        if let Some(model) = line.model.take() {
            self.init = Some((session, model));
        } else if let Some(known) = self.open.known(&(session, None))
            && let Some(operation) = line.queue.take()
            && let Some(text) = known.queue.change(&operation, line.text.take(), known.next_turn())
        {
            line.text = Some(text);
            return known.user(line);
        }
        runs.pass_over(line.reason_of_kind(), 1);
    }

    /// Returns the part of the session to which a sub-agent's line belongs: the id of the agent, or else the part of
    /// the parent line, or else the id of the line.
    fn part(&mut self, line: &mut Line<'a>) -> Cow<'a, str> {
        let known = || line.parent.as_ref().and_then(|parent| self.parts.get(parent)).cloned();
        let part = line.agent.take().or_else(known).or_else(|| line.uuid.clone()).unwrap_or_default();
        if let Some(uuid) = &line.uuid {
            self.parts.insert(uuid.clone(), part.clone());
        }
        part
    }
}

#[derive(Default)]
struct Session<'a> {
    run: Recording<'a>,
    /// The sub-agent.
    part: Option<String>,
    /// The model at the start of printed output, for a run whose responses name none.
    model: Option<Cow<'a, str>>,
    queue: Queue<'a>,
    /// True if the last line is a failure of the harness.
    has_failed: bool,
    /// True if a call was left running. A later line may tell its end, so the steps wait for the end of the session.
    has_running: bool,
    /// True until the directive of a fork. Its first lines are copies of the calls that started forks.
    is_forked: bool,
    /// The ids of the copied calls.
    copied: TextSet<Cow<'a, str>>,
    uuids: TextSet<Cow<'a, str>>,
    calls: TextMap<Cow<'a, str>, CallNumber>,
    /// The ids of calls that have a result.
    answered: TextSet<Cow<'a, str>>,
    /// The turns of responses, by id.
    turns: TextMap<Cow<'a, str>, u64>,
    /// The tokens of each turn.
    usages: Vec<Usage>,
    /// The calls that wait for their tokens, with their turns.
    turns_of_calls: Vec<(CallNumber, usize)>,
    /// Number of turns whose tokens are assigned.
    settled: usize,
}

/// Returns true for the id of a sub-agent that only repeats the session, to sum it up, to answer a side question, or to
/// suggest what the user may ask next.
pub(super) fn is_copy(part: &str) -> bool {
    ["acompact-", "aside_question-", "aprompt_suggestion-"].iter().any(|start| part.starts_with(start))
}

impl<'a> Session<'a> {
    fn new((session, part): &Key<'a>) -> Self {
        let mut run = Recording::of_agent("claude-code");
        let session = session.as_ref().map(ToString::to_string);
        run.metadata.id = match part {
            Some(part) => Some(format!("{}/{part}", session.as_deref().unwrap_or_default())),
            None => session.clone(),
        };
        run.metadata.parent = session.filter(|_| part.is_some());
        Self { run, part: part.as_ref().map(ToString::to_string), ..Self::default() }
    }

    /// Returns true if this is a sub-agent whose steps another input has.
    fn is_elsewhere(&self, runs: &Runs<'_>) -> bool {
        self.part.as_ref().is_some_and(|part| runs.is_elsewhere(part))
    }

    /// Returns the next turn, which user messages get.
    fn next_turn(&self) -> u64 {
        self.usages.len() as u64
    }

    /// Removes the copied calls of a fork and their results from a line, and returns the numbers of both.
    fn without_copies(&mut self, line: &mut Line<'a>, is_assistant: bool) -> (u64, u64) {
        self.is_forked &= is_assistant;
        let starts_fork = |block: &&Block<'a>| block.is_call && block.name.as_deref() == Some("Agent");
        let copied = line.blocks.iter().filter(|block| self.is_forked && starts_fork(block));
        self.copied.extend(copied.filter_map(|block| block.id.clone()));
        let (mut calls, mut results) = (0, 0);
        line.blocks.retain(|block| {
            let id = if block.is_call { &block.id } else { &block.answers };
            let is_copy = id.as_ref().is_some_and(|id| self.copied.contains(id));
            calls += u64::from(is_copy && block.is_call);
            results += u64::from(is_copy && !block.is_call);
            !is_copy
        });
        (calls, results)
    }

    fn user(&mut self, line: Line<'a>) {
        let turn = self.next_turn();
        if let Some(text) = line.text.filter(|text| !is_local(text)) {
            let actor = if is_of_harness(&text) { Actor::Environment } else { line.writer };
            self.run.steps.message_at(actor, turn, text, line.time);
        }
        for block in line.blocks.into_iter().filter(|block| !block.is_call) {
            self.result(block, turn, line.unknown, line.duration);
        }
    }

    /// Adds a result. `unknown` and `duration` come from the line around its message.
    fn result(
        &mut self,
        mut block: Block<'a>,
        turn: u64,
        unknown: Option<UnknownReason>,
        duration: Option<u64>,
    ) {
        let id = block.answers.take();
        if id.as_ref().is_some_and(|id| !self.answered.insert(id.clone())) {
            return self.run.pass_over("repeated results", 1);
        }
        let call = id.as_ref().and_then(|id| self.calls.get(id)).copied();
        if let Some(call) = call.and_then(|call| self.run.steps.call_mut(call))
            && duration.is_some()
        {
            call.usage.get_or_insert_default().duration_ns = duration;
        }
        let is_stated =
            |reason: &UnknownReason| *reason == UnknownReason::Refused || block.is_error != Some(true);
        block.unknown = unknown.filter(is_stated);
        let answer = claude_code_line::answer(block);
        self.has_running |= is_running(&answer);
        self.run.steps.answer(turn, id, answer);
    }

    fn assistant(&mut self, mut line: Line<'a>) {
        let (next, is_answered) = (self.next_turn(), line.is_answered_call());
        let turn = line.message_id.take().map_or(next, |id| *self.turns.entry(id).or_insert(next));
        if turn == next {
            self.usages.push(Usage::default());
        }
        let turn_place = usize::try_from(turn).unwrap_or(usize::MAX);
        // Each line of a response repeats its tokens; the last line has the final count of output tokens.
        if let Some(usage) = self.usages.get_mut(turn_place).filter(|_| !line.usage.is_empty()) {
            *usage = line.usage;
        }
        self.run.model(line.model.take());
        self.run.metadata.termination = line.stop_reason.take().map(Cow::into_owned);
        if let Some(text) = line.text {
            self.run.steps.message_at(Actor::Agent, turn, text, line.time);
        }
        let mut own_call = None;
        for mut block in line.blocks {
            if let Some(text) = block.content.take_if(|_| block.is_text) {
                self.run.steps.message_at(Actor::Agent, turn, text, line.time);
                continue;
            }
            if !block.is_call {
                // Only results of known calls count: the model may invent others.
                if block.answers.as_ref().is_some_and(|id| self.calls.contains_key(id)) {
                    self.result(block, turn, None, None);
                } else if let Some(call) = own_call.take().filter(|_| block.answers.is_none()) {
                    self.run.steps.answer_call(call, claude_code_line::answer(block));
                }
                continue;
            }
            let Block { id, name, arguments, .. } = block;
            if id.as_ref().is_some_and(|id| self.calls.contains_key(id)) {
                self.run.pass_over("repeated calls", 1);
                continue;
            }
            let call =
                Call { arguments, time: line.time, ..Call::new(turn, id.clone(), name.unwrap_or_default()) };
            let call = self.run.steps.call(call);
            own_call = Some(call).filter(|_| is_answered);
            self.turns_of_calls.push((call, turn_place));
            if let Some(id) = id {
                self.calls.insert(id, call);
            }
        }
    }

    /// Assigns the tokens of the turns before `before` to their calls and messages.
    fn settle(&mut self, before: u64) {
        let settled = usize::try_from(before).unwrap_or(usize::MAX).min(self.usages.len());
        self.turns_of_calls.retain(|(call, turn)| {
            let usage = self.usages.get(*turn).filter(|usage| !usage.is_empty() && *turn < settled);
            if let (Some(usage), Some(call)) = (usage, self.run.steps.call_mut(*call)) {
                let duration_ns = call.usage.as_ref().and_then(|usage| usage.duration_ns);
                call.usage = Some(Box::new(Usage { duration_ns, ..*usage }));
            }
            *turn >= settled
        });
        let turns = (0..).zip(&self.usages).take(settled).skip(self.settled);
        for (turn, usage) in turns {
            self.run.steps.set_usage(turn, Some(*usage));
        }
        self.settled = settled.max(self.settled);
    }

    /// Emits the steps before the last response, which may have more lines.
    fn hand_on(&mut self, runs: &mut Runs<'_>) {
        if self.has_running || self.is_elsewhere(runs) {
            return;
        }
        let last = self.next_turn().saturating_sub(1);
        if usize::try_from(last).is_ok_and(|last| last > self.settled) {
            self.settle(last);
        }
        runs.hand_on(&mut self.run.steps, last);
    }

    /// Emits the rest of the run.
    fn end(mut self, runs: &mut Runs<'_>) {
        if self.is_elsewhere(runs) {
            runs.leave_out(self.calls.len() as u64);
            return runs.pass_over("sub-agents that have a file of their own", 1);
        }
        self.settle(u64::MAX);
        self.run.model(self.model);
        self.run.give(runs);
    }
}
