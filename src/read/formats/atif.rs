//! ATIF, the trajectory format of Harbor, 1.0 to 1.8: one object with `steps`, from any agent.
//! A result may have flags in `extra`, and text that its writer appended.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::claude_code_line::beside_result;
use super::codex_text;
use super::prelude::*;
use crate::read::call_outcome::stops_session;

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Object(All(&[
        Is(Kind::List, &["steps"]),
        Is(Kind::Object, &["agent"]),
        Test("`schema_version` such as ATIF-v1.6", |object| {
            object.name("schema_version").is_some_and(|version| is_version(&version))
        }),
    ]))],
    reader: Reader::Object(read),
};

/// Returns true for a version such as `ATIF-v1.7` or `1.4`.
fn is_version(version: &str) -> bool {
    let number = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let version = version.strip_prefix("ATIF-v").unwrap_or(version);
    version.split_once('.').is_some_and(|(major, minor)| number(major) && number(minor))
}

fn read(members: &Members<'_>, runs: &mut Runs<'_>) {
    // A sub-agent in a file of its own names its parent.
    let parent = members.object("agent").object("extra").name("parent_session_id");
    trajectory(members, parent.map(Cow::into_owned), runs);
}

/// Reads a trajectory, and after it those of its embedded sub-agents.
fn trajectory(members: &Members<'_>, parent: Option<String>, runs: &mut Runs<'_>) {
    let mut open = Trajectory::new(members);
    for step in members.list("steps") {
        open.run.pass_over("steps that are not objects", u64::from(step.kind() != Kind::Object));
        open.step(&Members::from(step));
        open.turn += 1;
    }
    let id = open.end(members, parent, runs);
    for sub_agent in members.objects("subagent_trajectories") {
        if sub_agent.is("steps", Kind::List) {
            trajectory(&sub_agent, id.clone(), runs);
        } else {
            runs.pass_over("sub-agents without steps", 1);
        }
    }
}

/// Returns the results of a step, and whether they are one result in the form
/// `{type: "tool_result", content, result}`.
fn results_of<'a>(observation: &Members<'a>) -> (Vec<StepResult<'a>>, bool) {
    if observation.name("type").as_deref() == Some("tool_result") {
        let success = observation.object("result").flag("success");
        let content = observation.result("content");
        return (vec![StepResult { content, success, ..StepResult::default() }], true);
    }
    let results = observation.objects("results").map(|result| StepResult {
        id: result.name("source_call_id"),
        content: result.result("content"),
        success: None,
        extra: result.object("extra"),
    });
    (results.collect(), false)
}

fn usage_of(metrics: &Members<'_>) -> Usage {
    let [input, output, cached] =
        ["prompt_tokens", "completion_tokens", "cached_tokens"].map(|key| metrics.count(key));
    // Some writers count cached tokens only in the total, so the input is at least the total minus the output.
    let total = metrics.object("extra").count("total_tokens");
    let read = total.and_then(|total| total.checked_sub(output?));
    Usage {
        input_tokens: input.map(|input| read.unwrap_or(0).max(input)),
        output_tokens: output,
        cached_tokens: cached,
        duration_ns: None,
    }
}

#[derive(Default)]
struct Trajectory<'a> {
    run: Recording<'a>,
    turn: u64,
    is_codex: bool,
    is_openclaw: bool,
    copied_calls: u64,
    latest: Option<u64>,
    seen: DigestSet,
    /// The number of messages in the latest request.
    sent: usize,
}

impl<'a> Trajectory<'a> {
    fn new(members: &Members<'a>) -> Self {
        let agent = members.object("agent");
        let mut run = Recording::default();
        run.metadata.agent = agent.name("name").map(|name| name.as_ref().into());
        run.model(agent.name("model_name").or_else(|| agent.name("model")));
        let is = |name| agent.name("name").as_deref() == Some(name);
        let (is_codex, is_openclaw) = (is("codex"), is("openclaw"));
        Self { run, is_codex, is_openclaw, ..Self::default() }
    }

    /// Returns true if the step is older than an earlier one, and was read before: after a compaction, OpenClaw
    /// writes the history again, with shorter results.
    fn is_rewritten(&mut self, step: &Members<'_>) -> bool {
        let Some(time) = step.time("timestamp").filter(|_| self.is_openclaw) else { return false };
        let id = step.object("extra").get("tool_call_id");
        let what = id.or_else(|| step.first(&["tool_calls", "message", "observation"]));
        let spelled = what.map_or(Cow::default(), Raw::spelling);
        let is_old = self.latest > Some(time);
        self.latest = self.latest.max(Some(time));
        !self.seen.insert(Digest::of_text(&format!("{time} {spelled}"))) && is_old
    }

    fn end(mut self, members: &Members<'_>, parent: Option<String>, runs: &mut Runs<'_>) -> Option<String> {
        let id = members.name("trajectory_id").or_else(|| members.name("session_id")).map(Cow::into_owned);
        (self.run.metadata.id, self.run.metadata.parent) = (id.clone(), parent);
        runs.leave_out(self.copied_calls);
        self.run.give(runs);
        id
    }

    fn step(&mut self, step: &Members<'a>) {
        self.run.at(self.turn, step.time("timestamp"));
        let calls = step.list("tool_calls").into_iter().filter(|call| call.kind() == Kind::Object);
        let calls: Vec<_> = calls.map(Members::from).collect();
        let is_copied = step.flag("is_copied_context") == Some(true);
        if is_copied || self.is_rewritten(step) {
            self.copied_calls += calls.len() as u64;
            let reason =
                if is_copied { "steps copied from another trajectory" } else { "repeated copies of steps" };
            return self.run.pass_over(reason, 1);
        }
        self.run.model(step.name("model_name"));
        // Some writers nest the message of a chat, with its role.
        let nested = step.object("message");
        let is_input = |message: &Members<'_>| {
            matches!(message.name("role").as_deref(), Some("user" | "system" | "developer"))
        };
        let sent: Vec<_> = step.objects("message").collect();
        // A request repeats the one before it.
        let known = std::mem::replace(&mut self.sent, sent.len());
        let known = if known < sent.len() { known } else { 0 };
        let added = sent.rsplit(|message| !is_input(message)).next().map_or(0, <[_]>::len);
        for message in sent.iter().skip(known.max(sent.len() - added)) {
            self.run
                .say(words::actor_of(&message.name("role").unwrap_or_default()), message.message("content"));
        }
        let actor = match step.name("source").or_else(|| nested.name("role")).as_deref() {
            Some("agent" | "assistant") => Actor::Agent,
            Some("user") => Actor::User,
            _ => Actor::System,
        };
        let extra = step.object("extra");
        if actor == Actor::Agent {
            let end = &mut self.run.metadata.termination;
            *end = extra.name("stop_reason").map(Cow::into_owned).or(end.take());
        }
        let mut message = step.message("message").or_else(|| nested.message("content"));
        let (mut results, is_dialect) = results_of(&step.object("observation"));
        if let [result] = &mut *results {
            if is_dialect {
                if let Some(id) = message.as_ref().and_then(named_call) {
                    result.id = Some(id);
                    message = None;
                }
            } else {
                result.id = result.id.take().or_else(|| extra.name("tool_call_id"));
            }
        }
        let is_result = extra.name("openclaw_role").as_deref() == Some("toolResult");
        self.run.say(actor, message.filter(|_| !is_result));
        self.run.set_usage(Some(usage_of(&step.object("metrics"))));
        let mut numbers = Vec::with_capacity(calls.len());
        for call in calls {
            let id = call.name("tool_call_id").or_else(|| call.name("id"));
            let name = call.name("function_name").or_else(|| call.name("name"));
            numbers.push(self.run.call(id, name, call.get("arguments")));
        }
        // If a step has a single result, the facts about the step apply to it.
        let extra = if results.len() == 1 { extra } else { Members::default() };
        self.results(results, &extra, &numbers);
    }

    /// Pairs the results of a step with calls: by id, or else in order.
    fn results(&mut self, results: Vec<StepResult<'a>>, step: &Members<'_>, calls: &[CallNumber]) {
        let is_codex = self.is_codex;
        let mut without_id = Vec::new();
        for mut result in results {
            let id = result.id.take();
            match (id, result.is_answer(step).then_some(result)) {
                (None, result) => without_id.push(result),
                (id, Some(result)) => self.run.answer_with(id, answer(result, step, is_codex)),
                (Some(_), None) => {}
            }
        }
        if without_id.is_empty() {
            return;
        }
        if calls.is_empty() {
            for result in without_id.into_iter().flatten() {
                self.run.say(Actor::Environment, result.content);
            }
            return;
        }
        let steps = &mut self.run.steps;
        steps.pair_new();
        let open: Vec<_> = calls.iter().copied().filter(|call| !steps.is_answered(*call)).collect();
        // After a batch of commands, a terminal returns a single screen, which answers each of them.
        let shared = without_id.len() == 1 && open.len() > 1;
        let mut answers =
            without_id.into_iter().map(|result| result.map(|result| answer(result, step, is_codex)));
        if shared {
            if let Some(answer) = answers.next().flatten() {
                for call in open {
                    steps.answer_call(call, answer.clone());
                }
            }
            return;
        }
        let mut open = open.into_iter();
        for answer in answers {
            let call = open.next();
            if let Some(answer) = answer {
                self.run.answer_to(call, answer);
            }
        }
    }
}

/// Returns the id of the call that a message such as `Tool result for call_1` names.
fn named_call(message: &TextCow<'_>) -> Option<Cow<'static, str>> {
    let text = message.text().to_str();
    let id = text.strip_prefix("Tool result for ")?;
    (!id.is_empty() && !id.contains(char::is_whitespace)).then(|| id.to_owned().into())
}

#[derive(Default)]
struct StepResult<'a> {
    id: Option<Cow<'a, str>>,
    content: Option<TextCow<'a>>,
    success: Option<bool>,
    /// Facts about the result.
    extra: Members<'a>,
}

impl StepResult<'_> {
    /// Returns true if it answers a call: it has content, facts or `success`, or the step has a verdict, whatever
    /// its value. `step` has the facts about the step if this is its only result, and is empty otherwise.
    fn is_answer(&self, step: &Members<'_>) -> bool {
        let verdicts = ["tool_result_is_error", "is_error", "exec_status"];
        let has_verdict = || verdicts.iter().any(|key| step.has(key));
        self.content.is_some()
            || self.extra.keys().next().is_some()
            || self.success.is_some()
            || has_verdict()
    }
}

/// Returns the answer that this result is. `step` is as in [`StepResult::is_answer`].
fn answer<'a>(result: StepResult<'a>, step: &Members<'_>, is_codex: bool) -> Answer<'a> {
    let (words, marks) = match result.content {
        Some(content) => {
            let (content, marks) = strip(content);
            (Some(content), marks)
        }
        None => (None, Appended::default()),
    };
    let text = words.as_ref().map_or("".into(), TextCow::text);
    let codex = if is_codex { words.as_ref().and_then(codex_text::read) } else { None };
    // A status of success does not decide: an exit code may still report that the command failed.
    let is_decisive = |outcome: &Outcome| outcome.status != Status::Ok;
    let first = never_ran(text).or_else(|| {
        let flag =
            |extra: &Members<'_>| extra.flag("tool_result_is_error").or_else(|| extra.flag("is_error"));
        let failed = flag(&result.extra).or_else(|| flag(step))?;
        Some(if failed { broken_off(text) } else { None }.unwrap_or(Outcome::flag(failed)))
    });
    let exec_status = step.outcome("exec_status").filter(|_| !stops_session(text));
    let outcome = first
        .or_else(|| result.extra.outcome("status").filter(is_decisive))
        .or_else(|| exec_status.filter(is_decisive))
        .or_else(|| result.success.map(|success| Outcome::flag(!success)))
        .or_else(|| step.get("exec_exit_code").and_then(is_failure_code).map(Outcome::exit_code))
        .or(exec_status)
        .or(marks.outcome)
        .or_else(|| {
            let failed = || broken_off(text).unwrap_or(Outcome::error(Provenance::Text));
            marks.has_failed.then(failed)
        })
        .or_else(|| codex.as_ref().map(|(outcome, _)| *outcome))
        .or_else(|| at_start(text))
        .unwrap_or_else(|| Outcome::by_text(!marks.has_metadata && text.starts_with("<tool_use_error>")));
    let cut = codex.and_then(|(_, observation)| observation);
    outcome.answer(cut.or(words).into())
}

/// Text that a writer appended to a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Appended {
    has_failed: bool,
    has_metadata: bool,
    /// The outcome in the metadata.
    outcome: Option<Outcome>,
}

const FAILED: &str = "[error] tool reported failure";
const METADATA: &str = "[metadata] ";

/// Splits a text into the part before an appended text, and the facts in the appended text.
fn strip(words: TextCow<'_>) -> (TextCow<'_>, Appended) {
    static FINDER: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(METADATA));
    let text = words.text();
    if !text.spelling().ends_with(b"failure") && !text.may_hold(&FINDER) {
        return (words, Appended::default());
    }
    let stripped = match &words {
        TextCow::Borrowed(text) if text.is_plainly_spelled() => {
            strip_text(*text).map(|(kept, marks)| (kept.into(), marks))
        }
        words => {
            let text = words.text().to_str();
            strip_text(Text::from(&*text)).map(|(kept, marks)| (TextCow::from(kept).into_made(), marks))
        }
    };
    stripped.unwrap_or((words, Appended::default()))
}

/// Like [`strip`], for a plainly spelled text; `None` if nothing was appended.
fn strip_text(text: Text<'_>) -> Option<(Text<'_>, Appended)> {
    let failed = Appended { has_failed: true, ..Appended::default() };
    if text.spelling().ends_with(FAILED.as_bytes())
        && let Some((kept, _)) = text.rsplit_once(FAILED)
    {
        if kept.is_empty() {
            return Some((kept, failed));
        }
        if let Some(kept) = kept.without_end("\n\n") {
            return Some((kept, failed));
        }
    }
    let (kept, metadata) = match text.rsplit_once("\n[metadata] ") {
        Some(split) => split,
        None if text.starts_with(METADATA) => ("".into(), text.skip_chars(METADATA.len())),
        None => return None,
    };
    let marks = read_metadata(&metadata.to_str())?;
    Some((without_copies(kept), marks))
}

/// Returns the output without the copies of it, under `[stdout]` and `[stderr]`, that a writer appended.
fn without_copies(text: Text<'_>) -> Text<'_> {
    let text = text.without_end("\n").unwrap_or_else(|| {
        let copies = text.split_once("\n\n[stdout]\n").or_else(|| text.split_once("\n\n[stderr]\n"));
        copies.map_or(text, |(kept, _)| kept)
    });
    if text.starts_with("[stdout]\n") || text.starts_with("[stderr]\n") { "".into() } else { text }
}

/// Reads metadata, as Claude Code stores it next to results; `None` if it is not JSON.
fn read_metadata(text: &str) -> Option<Appended> {
    let (unknown, _) = beside_result(&json(text)?.into());
    let outcome = unknown.map(|reason| Outcome::unknown(reason, Provenance::Flag));
    Some(Appended { has_failed: false, has_metadata: true, outcome })
}
