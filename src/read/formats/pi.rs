//! Sessions of pi, OpenClaw and Command Code, OpenClaw trajectories, and the events of `pi --mode json`: messages with
//! calls and their results, as JSON lines.

use std::collections::{BTreeMap, BTreeSet};

use super::pi_branches::{
    Ids, abandoned, calls, calls_of, delivered, ids_of, is_by_openclaw, is_longer, is_mirror, key_of, plain,
    quoted_calls,
};
use super::prelude::*;
use crate::read::call_outcome::stops_session;

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Items(Any(&[
        All(&[Says("type", &["session"]), Is(Kind::String, &["id", "cwd", "timestamp"])]),
        All(&[
            Says("type", &["message"]),
            Is(Kind::String, &["id", "timestamp"]),
            Has(&["parentId"]),
            In("message", &Has(&["role", "timestamp"])),
        ]),
        All(&[Says("type", &["message_end"]), In("message", &Has(&["role"]))]),
        All(&[Says("type", &["turn_end"]), In("message", &Has(&["role"])), Is(Kind::List, &["toolResults"])]),
        All(&[Says("type", &["agent_end"]), Is(Kind::List, &["messages"])]),
        All(&[
            Says("type", &["tool_execution_start"]),
            Is(Kind::String, &["toolCallId", "toolName"]),
            Has(&["args"]),
        ]),
        Says("traceSchema", &["openclaw-trajectory"]),
    ]))],
    reader: Reader::Document(read),
};

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    let objects = document.items().iter().filter(|line| line.kind() == Kind::Object);
    let lines: Vec<_> = objects.map(|line| Members::from(*line)).collect();
    let is = |line: &Members<'_>, kind| line.name("type").as_deref() == Some(kind);
    let has_history = |line: &Members<'_>| {
        let data = line.object("data");
        data.has("messagesSnapshot") || line.has("traceSchema") && data.has("messages")
    };
    if lines.iter().any(has_history) {
        return trajectory(&lines, runs);
    }
    let mut rest = &lines[..];
    while !rest.is_empty() {
        // The title of a session of Oh My Pi comes before its header.
        let start = 1 + rest.iter().take_while(|line| is(line, "title")).count();
        let next = rest.iter().skip(start).position(|line| is(line, "session"));
        let end = next.map_or(rest.len(), |end| start + end);
        let (session, others) = rest.split_at(end);
        session_of(session, runs);
        rest = others;
    }
}

/// Keys of the messages in the events of a trajectory: before a request, and after a response.
const HISTORIES: [&str; 2] = ["messages", "messagesSnapshot"];

/// Reads the trajectory of a session. An event repeats earlier messages, but only the first few dozen of a long
/// session, so the messages of all events are merged and sorted by time.
fn trajectory(lines: &[Members<'_>], runs: &mut Runs<'_>) {
    let (mut known, mut messages, mut left_out) = (BTreeMap::new(), Vec::new(), 0);
    let id = lines.iter().find_map(|line| line.name("sessionId")).map(Cow::into_owned);
    let mut branch = Branch::new(id, None, Ids::default());
    branch.run.model(lines.iter().find_map(|line| line.name("modelId")));
    if lines.iter().any(|line| line.has("traceSchema")) {
        branch.run.metadata.agent = Some("openclaw".into());
    }
    for line in lines {
        let data = line.object("data");
        branch.run.pass_over("truncated events", u64::from(data.flag("truncated") == Some(true)));
        for history in HISTORIES {
            let (mut seen, mut last) = (BTreeMap::new(), None);
            for message in data.objects(history) {
                // The last item of a truncated list has the number of items before truncation.
                if let Some(length) = message.get("originalLength").and_then(Raw::integer) {
                    left_out = left_out.max(u64::try_from(length).unwrap_or(0));
                    continue;
                }
                last = message.get("timestamp").and_then(time::of_milliseconds).or(last);
                // A message that appears twice in one list was sent twice.
                let key = key_of(&message, true);
                let times: &mut u64 = seen.entry(key.clone()).or_default();
                *times += 1;
                let before: &mut u64 = known.entry(key).or_default();
                if *times > *before {
                    *before = *times;
                    messages.push((last, message));
                }
            }
        }
    }
    messages.sort_by_key(|(time, _)| *time);
    let left_out = left_out.saturating_sub(messages.len() as u64);
    branch.ids = ids_of(messages.iter().map(|(_, message)| message.clone()));
    for (_, message) in &messages {
        branch.read(message, None);
    }
    branch.run.pass_over("messages that the recorder left out of its snapshots", left_out);
    branch.run.give(runs);
}

fn session_of<'a>(lines: &[Members<'a>], runs: &mut Runs<'_>) {
    let header = lines.iter().find(|line| line.name("type").as_deref() == Some("session"));
    let named = |key: &str| header.and_then(|header| header.name(key)).map(Cow::into_owned);
    let (id, parent) = (named("id"), named("parentSession"));
    let kinds: BTreeSet<_> = lines.iter().filter_map(|line| line.name("type")).collect();
    // The ends of turns and of the agent repeat messages, so only one kind of line counts.
    let whole = ["message_end", "turn_end", "agent_end"].into_iter().find(|kind| kinds.contains(*kind));
    let messages = |line: &Members<'a>| {
        std::iter::once(line.object("message")).chain(line.list("messages").into_iter().map(Members::from))
    };
    let ids = ids_of(lines.iter().flat_map(messages));
    let mut main = Branch::new(id.clone(), parent, ids.clone());
    let mut branches = BTreeMap::new();
    let abandoned = abandoned(lines);
    // A compaction writes the history again, with shorter results. Copies form no branch; the first of a result counts.
    let key = |line: &Members<'_>| key_of(&line.object("message"), false);
    let has_branches = abandoned.iter().any(Option::is_some);
    let kept = lines.iter().zip(&abandoned).filter(|(_, root)| has_branches && root.is_none());
    let kept: BTreeSet<_> = kept.map(|(line, _)| key(line)).collect();
    let is_copy = |line: &Members<'_>| line.object("message").has("timestamp") && kept.contains(&key(line));
    let (copies, placed): (Vec<_>, Vec<_>) =
        lines.iter().zip(abandoned).partition(|(line, root)| root.is_some() && is_copy(line));
    main.run.pass_over("repeated copies of messages", copies.len() as u64);
    let results = copies.iter().rev().filter(|(line, _)| line.object("message").has("toolCallId"));
    let first: BTreeMap<_, _> = results.map(|(line, _)| (key(line), *line)).collect();
    let is_request = |line: &Members<'_>| line.object("message").name("role").as_deref() == Some("user");
    let answered = placed.iter().filter(|(line, _)| line.has("message") && !is_request(line));
    let answered: BTreeSet<usize> = answered.filter_map(|(_, root)| *root).collect();
    for (line, root) in &placed {
        let branch = match root.filter(|_| line.has("message") || line.has("content")) {
            Some(root) if answered.contains(&root) => {
                branches.entry(root).or_insert_with(|| Branch::new(None, id.clone(), ids.clone()))
            }
            Some(_) => {
                main.run.pass_over("messages of branches without an answer", 1);
                continue;
            }
            None => &mut main,
        };
        branch.line(first.get(&key(line)).filter(|copy| is_longer(copy, line)).unwrap_or(line), whole);
    }
    for branch in std::iter::once(main).chain(branches.into_values()) {
        branch.run.give(runs);
    }
    // The messages of a sub-agent are in the answer to the call that started it.
    let is_told = |line: &&Members<'_>| {
        line.name("type").is_some_and(|kind| kind == "message" || Some(&*kind) == whole)
    };
    let mut quoted = BTreeSet::new();
    for line in placed.into_iter().map(|(line, _)| line).filter(is_told) {
        let message = line.object("message");
        let details = message.object("details");
        if message.name("toolName").is_some_and(|tool| tool.starts_with("sessions_")) {
            quoted.extend(quoted_calls(&details));
        }
        for result in details.objects("results") {
            let messages = result.list("messages");
            if !messages.is_empty() {
                let messages: Vec<_> = messages.into_iter().map(Members::from).collect();
                let mut branch = Branch::new(None, id.clone(), ids_of(messages.iter().cloned()));
                for message in &messages {
                    branch.read(message, None);
                }
                branch.run.give(runs);
            }
        }
    }
    if !quoted.is_empty() {
        for line in lines {
            calls_of(&line.object("message")).for_each(|id| _ = quoted.remove(&id));
        }
        runs.leave_out(quoted.len() as u64);
    }
}

#[derive(Default)]
struct Branch<'a> {
    run: Recording<'a>,
    /// The ids of the calls of all branches.
    ids: Ids<'a>,
    /// For each id, the number of calls that another kind of line may repeat.
    called: BTreeMap<Cow<'a, str>, u64>,
    answered: BTreeMap<Cow<'a, str>, u64>,
    /// The texts of the agent since the last message of the user, and those that it sent by a tool.
    said: DigestSet,
    /// Such texts of earlier.
    said_earlier: DigestSet,
}

impl<'a> Branch<'a> {
    fn new(id: Option<String>, parent: Option<String>, ids: Ids<'a>) -> Self {
        let mut run = Recording::of_agent("pi");
        (run.metadata.id, run.metadata.parent) = (id, parent);
        Self { run, ids, ..Self::default() }
    }

    /// Reads a line. Of the events that repeat messages, only those of type `whole` count.
    fn line(&mut self, line: &Members<'a>, whole: Option<&str>) {
        let kind = line.name("type").unwrap_or_default();
        let time = line.time("timestamp");
        match &*kind {
            "message" => {
                self.run.model(line.name("model"));
                self.message(line.get("message"), time);
            }
            kind if Some(kind) == whole => {
                self.message(line.get("message"), time);
                for message in line.list("toolResults").into_iter().chain(line.list("messages")) {
                    self.message(Some(message), time);
                }
            }
            "custom_message" => {
                self.run.time(time);
                self.run.say(Actor::Environment, line.message("content"));
            }
            "tool_execution_start" => {
                let id = line.name("toolCallId");
                if !id.as_ref().is_some_and(|id| repeats(&mut self.called, id)) {
                    self.run.time(time);
                    self.run.call(id, line.name("toolName"), line.get("args"));
                }
            }
            "tool_execution_end" => {
                let id = line.name("toolCallId");
                let result = line.get("result");
                let part = |key: &str| result.and_then(|result| result.member(key));
                let answer = answer(part("content").or(result), part("details"), line.get("isError"));
                if let Some(id) = &id {
                    *self.answered.entry(id.clone()).or_default() += 1;
                }
                self.run.answer_with(id, answer);
            }
            "session"
            | "agent_start"
            | "turn_start"
            | "message_start"
            | "message_update"
            | "turn_end"
            | "agent_end"
            | "tool_execution_update"
            | "model_change"
            | "thinking_level_change" => {}
            _ => self.run.pass_over("lines of other types", 1),
        }
    }

    fn message(&mut self, message: Option<Raw<'a>>, time: Option<u64>) {
        if let Some(message) = message {
            self.read(&Members::from(message), time);
        }
    }

    fn read(&mut self, message: &Members<'a>, time: Option<u64>) {
        self.run.time(message.get("timestamp").and_then(time::of_milliseconds).or(time));
        match message.name("role").as_deref() {
            Some("assistant") => self.response(message),
            Some("toolResult") => {
                let id = message.name("toolCallId");
                if !id.as_ref().is_some_and(|id| repeats(&mut self.answered, id)) {
                    let answer =
                        answer(message.get("content"), message.get("details"), message.get("isError"));
                    self.result(id, message.name("toolName"), answer);
                }
            }
            Some("bashExecution") => self.command(message),
            Some("user") => {
                self.said_earlier.extend(std::mem::take(&mut self.said));
                self.run.say(Actor::User, message.message("content"));
                // Command Code puts results into messages of the user.
                let parts = message.objects("content");
                for part in parts.filter(|part| part.name("type").as_deref() == Some("tool_result")) {
                    let answer = answer(part.get("content"), None, part.get("is_error"));
                    self.run.answer_with(part.name("tool_use_id"), answer);
                }
            }
            Some("system") => {
                let sections = message.object("sections");
                let texts = sections.iter().filter_map(|(_, section)| words::message(section)).collect();
                self.run.say(Actor::System, message.message("content").or_else(|| wire::joined(texts)));
            }
            Some(_) => {
                self.run
                    .say(Actor::Environment, message.first(&["content", "summary"]).and_then(words::message));
            }
            None => self.run.pass_over("lines of other types", 1),
        }
    }

    /// Adds an answer, and the call of the tool if it is not recorded.
    fn result(&mut self, id: Option<Cow<'a, str>>, tool: Option<Cow<'a, str>>, answer: Answer<'a>) {
        let uncalled = id.as_ref().filter(|id| !self.called.contains_key(*id));
        let known = uncalled.and_then(|id| self.ids.get(&plain(id)));
        let lost = uncalled.filter(|_| known.is_none()).cloned().zip(tool);
        let Some((id, tool)) = lost else { return self.run.answer_with(known.cloned().or(id), answer) };
        self.called.insert(id.clone(), 0);
        let call = self.run.add(Call::new(0, Some(id), tool).with(Content::NotRecorded));
        self.run.answer_to(Some(call), answer);
        self.run.turn(None);
    }

    fn response(&mut self, message: &Members<'a>) {
        let text = message.message("content");
        let said = text.as_ref().map(|text| delivered(&text.text().to_str()));
        if is_by_openclaw(message) {
            let is_late = |said| is_mirror(message) && self.said_earlier.contains(&said);
            if said.is_some_and(|said| self.said.contains(&said) || is_late(said)) {
                return self.run.pass_over("repeated copies of messages", 1);
            }
        } else {
            self.run.model(message.name("model"));
            self.run.metadata.termination = message.name("stopReason").map(Cow::into_owned);
            self.said.extend(said);
        }
        self.run.say(Actor::Agent, text);
        self.run.set_usage(message.get("usage").and_then(usage));
        for call in calls(message) {
            let id = call.name("id");
            if let Some(id) = &id {
                *self.called.entry(id.clone()).or_default() += 1;
            }
            let (name, arguments) = (call.name("name"), call.first(&["arguments", "input"]));
            if name.as_ref().is_some_and(|name| name.contains("message")) {
                let arguments = arguments.map(Members::from).unwrap_or_default();
                let texts = arguments.iter().filter_map(|(_, value)| value.string());
                self.said.extend(texts.map(|text| delivered(&text)));
            }
            self.run.call(id, name, arguments);
        }
        self.run.say(Actor::Environment, message.message("errorMessage"));
        self.run.turn(None);
    }

    fn command(&mut self, message: &Members<'a>) {
        let call = self.run.call_text("bash", "command", &message.name("command").unwrap_or_default());
        if let Some(call) = self.run.call_mut(call) {
            call.actor = Actor::User;
        }
        let outcome = if message.flag("cancelled") == Some(true) {
            Outcome::unknown(UnknownReason::Interrupted, Provenance::Flag)
        } else {
            Outcome::of_code(message.get("exitCode"))
        };
        self.run.answer_call(call, message.result("output"), outcome);
        self.run.turn(None);
    }
}

/// Returns true if a call or answer with this id was read before. Each earlier one accounts for one repetition.
fn repeats(counts: &mut BTreeMap<Cow<'_, str>, u64>, id: &str) -> bool {
    counts.get_mut(id).is_some_and(|count| std::mem::replace(count, count.saturating_sub(1)) > 0)
}

/// Returns the answer in a result. The details of OpenClaw's tools have an exit code, a status or an error. A command
/// that a signal ended has the exit code 0, so the status and the error count first.
fn answer<'a>(content: Option<Raw<'a>>, details: Option<Raw<'a>>, is_error: Option<Raw<'a>>) -> Answer<'a> {
    let text = content.and_then(words::result);
    let detail = |key: &str| details.and_then(|details| details.member(key));
    let status = detail("status").and_then(common::name);
    let stops = text.as_ref().is_some_and(|text| stops_session(text.text()));
    let has_failed = || {
        matches!(status.as_deref(), Some("error" | "failed"))
            || detail("error").and_then(common::name).is_some()
    };
    let outcome = match (is_error.and_then(Raw::boolean), status.as_deref()) {
        (Some(true), _) => text.as_ref().and_then(|text| not_run(text.text())).unwrap_or(Outcome::flag(true)),
        (_, Some("running" | "approval-pending")) => Outcome::RUNNING,
        (flag, _) => match detail("exitCode").and_then(is_failure_code) {
            Some(true) => Outcome::exit_code(true),
            _ if has_failed() && !stops => Outcome::flag(true),
            Some(false) => Outcome::exit_code(false),
            None => Outcome::of_flag(flag),
        },
    };
    outcome.answer(text.into())
}

/// Returns the outcome of a call that was skipped or interrupted, according to the text of its result.
fn not_run(text: Text<'_>) -> Option<Outcome> {
    let text = text.to_str();
    if text.starts_with("Skipped due to queued user message") {
        Some(Outcome::unknown(UnknownReason::Cancelled, Provenance::Text))
    } else if text == "Operation aborted" || text.ends_with("Command aborted") {
        Some(Outcome::unknown(UnknownReason::Interrupted, Provenance::Text))
    } else {
        None
    }
}

/// Reads the tokens of a response. The input is the sum of the cached and the other tokens.
fn usage(value: Raw<'_>) -> Option<Usage> {
    let input = ["input", "cacheRead", "cacheWrite"];
    tokens::of_keys(&Members::from(value), &input, &["output"], &["cacheRead"])
}
