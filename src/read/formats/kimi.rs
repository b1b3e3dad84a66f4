//! Kimi CLI sessions: events of the wire (`wire.jsonl`, `kimi --wire`), or the messages of the model's
//! context (`context.jsonl`). Kimi Code writes both to one file, as `context.append_loop_event` and
//! `context.append_message`.

use std::collections::BTreeSet;

use super::prelude::*;
use crate::read::call_outcome::{of_kimi, stopped_by_kimi};

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Items(Any(&[EVENT, In("message", &EVENT), In("params", &EVENT), MARK, APPENDED]))],
    reader: Reader::Session(SessionReader { open: |_| Box::<Sessions<'_>>::default(), list: "" }),
};

const EVENT: Mark = All(&[
    Says("type", &["TurnBegin", "StepBegin", "ContentPart", "ToolCall", "ToolResult", "StatusUpdate"]),
    Is(Kind::Object, &["payload"]),
]);
/// Lines of Kimi Code.
const APPENDED: Mark = Says("type", &["context.append_loop_event", "context.append_message"]);
/// Lines of a context that are not messages.
const MARK: Mark = Says("role", &["_checkpoint", "_usage", "_system_prompt"]);

/// A session, and its sub-agents by their id or that of the call that began them.
#[derive(Default)]
struct Sessions<'a> {
    main: Open<'a>,
    sub_agents: Ordered<Cow<'a, str>, Open<'a>>,
}

impl<'a> session::Session<'a> for Sessions<'a> {
    fn add(&mut self, line: &Members<'a>, runs: &mut Runs<'_>) {
        let time = line
            .get("timestamp")
            .and_then(time::of_seconds)
            .or_else(|| line.get("time").and_then(time::of_milliseconds));
        self.main.run.model(line.name("model"));
        let inner =
            ["message", "params", "event"].into_iter().find_map(|key| line.get(key)).map(Members::from);
        let event = inner.as_ref().unwrap_or(line);
        let is_read = match event.name("role") {
            Some(role) => self.main.message(&role, event),
            None => self.event(event, time) || is_aside(line),
        };
        self.main.run.pass_over("lines of other types", u64::from(!is_read));
        self.main.run.hand_on(runs);
    }

    fn end(self: Box<Self>, runs: &mut Runs<'_>) {
        self.main.end(runs);
        self.sub_agents.into_values().for_each(|sub_agent| sub_agent.end(runs));
    }
}

impl<'a> Sessions<'a> {
    fn event(&mut self, event: &Members<'a>, time: Option<u64>) -> bool {
        let kind = event.name("type");
        let payload = if event.has("payload") { event.object("payload") } else { event.clone() };
        if kind.as_deref() != Some("SubagentEvent") {
            return kind.is_some_and(|kind| self.main.event(&kind, &payload, time));
        }
        let keys = ["agent_id", "parent_tool_call_id", "task_tool_call_id"];
        let id = keys.into_iter().find_map(|key| payload.name(key)).unwrap_or_default();
        let open = self.sub_agents.get(id, |_| Open::default());
        let event = payload.object("event");
        event.name("type").is_some_and(|kind| open.event(&kind, &event.object("payload"), time))
    }
}

/// The part before the first dot in the types of Kimi Code lines that add nothing to the run.
const ASIDES: [&str; 9] =
    ["config", "full_compaction", "llm", "metadata", "permission", "plan_mode", "tools", "turn", "usage"];

/// Returns true if a Kimi Code line adds nothing to the run.
fn is_aside(line: &Members<'_>) -> bool {
    let kind = line.name("type").unwrap_or_default();
    let about = kind.split('.').next().unwrap_or_default();
    ASIDES.contains(&about) || kind == "context.apply_compaction"
}

struct Open<'a> {
    run: Recording<'a>,
    /// Parts of the agent's unfinished message.
    said: Vec<TextCow<'a>>,
    /// The events of calls and results, because Kimi Code may write one twice. Their ids are not enough,
    /// because different calls may share one.
    seen: BTreeSet<&'a [u8]>,
    /// The prompts of Kimi Code that no message of the context has repeated yet, and their times.
    asked: Vec<(TextCow<'a>, Option<u64>)>,
    /// True if a step has begun and not ended. The prompts in it are not answered.
    in_step: bool,
}

impl Default for Open<'_> {
    fn default() -> Self {
        let run = Recording::of_agent("kimi");
        Self { run, said: Vec::new(), seen: BTreeSet::new(), asked: Vec::new(), in_step: false }
    }
}

impl<'a> Open<'a> {
    fn event(&mut self, kind: &str, payload: &Members<'a>, time: Option<u64>) -> bool {
        if !matches!(kind, "ContentPart" | "content.part") {
            self.flush();
        }
        if matches!(kind, "tool.call" | "tool.result")
            && payload.has("toolCallId")
            && let Some(event) = payload.whole()
            && !self.seen.insert(event.bytes())
        {
            return true;
        }
        match kind {
            "TurnBegin" => {
                self.run.turn(time);
                self.run.say(Actor::User, text(payload.get("user_input")));
            }
            "turn.prompt" => {
                let is_of_user = payload.object("origin").name("kind").is_none_or(|kind| kind == "user");
                let text = payload.text("input").filter(|_| is_of_user && !self.in_step);
                self.asked.extend(text.map(|text| (text, time)));
                let is_other = |part: &Raw<'_>| part.kind() != Kind::Object;
                let others = payload.list("input").into_iter().filter(is_other).count();
                self.run.pass_over("parts that are not objects", others as u64);
            }
            "turn.cancel" | "turn.end" => self.in_step = false,
            "StepBegin" | "step.begin" => {
                self.ask();
                self.in_step = true;
                self.run.turn(time);
            }
            "ContentPart" | "content.part" => {
                self.ask();
                self.said.extend(payload.within("part").result("text"));
            }
            "tool.call" => {
                self.ask();
                self.run.call(payload.ident("toolCallId"), payload.name("name"), payload.get("args"));
            }
            "ToolCall" => self.call(payload),
            "ToolResult" | "tool.result" => {
                let (observation, outcome) = answer(&members(payload.first(&["return_value", "result"])));
                let id = ident(payload.first(&["tool_call_id", "toolCallId"]));
                self.run.answer(id, None, observation, outcome);
            }
            "StatusUpdate" | "step.end" => {
                self.in_step &= kind != "step.end";
                self.run.set_usage(payload.first(&["token_usage", "usage"]).and_then(usage));
            }
            "StepInterrupted"
            | "TurnEnd"
            | "CompactionBegin"
            | "CompactionEnd"
            | "ApprovalRequest"
            | "ApprovalResponse"
            | "ApprovalRequestResolved" => {}
            _ => return false,
        }
        true
    }

    fn call(&mut self, call: &Members<'a>) {
        let function = call.object("function");
        self.run.call(call.ident("id"), function.name("name"), function.get("arguments"));
    }

    /// Reads a message of a context, or returns false if its role is unknown.
    fn message(&mut self, role: &str, message: &Members<'a>) -> bool {
        let content = text(message.get("content"));
        match role {
            "user" | "assistant" => {
                self.run.turn(None);
                // Reminders and notices of finished jobs are in the user's role.
                let origin = message.object("origin").name("kind");
                let actor = match origin.as_deref() {
                    _ if role == "assistant" => Actor::Agent,
                    None | Some("user") => Actor::User,
                    Some(_) => Actor::Environment,
                };
                // Files that the prompt names may follow it.
                let said = content.as_ref().filter(|_| actor == Actor::User).map(|text| text.text().to_str());
                let repeats = |(asked, _): &(TextCow<'_>, _)| {
                    said.as_ref().is_some_and(|said| said.trim().starts_with(asked.text().to_str().trim()))
                };
                let repeated = self.asked.iter().position(repeats);
                repeated.map(|place| self.asked.remove(place));
                self.run.say(actor, content);
                message.objects("tool_calls").for_each(|call| self.call(&call));
            }
            "tool" => {
                let outcome = content.as_ref().and_then(|text| of_kimi(text.text()));
                let outcome = outcome.unwrap_or(Outcome::UNMARKED);
                self.run.answer(message.ident("tool_call_id"), None, content, outcome);
            }
            "_checkpoint" | "_usage" | "_system_prompt" => {}
            _ => return false,
        }
        true
    }

    fn flush(&mut self) {
        let said = std::mem::take(&mut self.said);
        self.run.say(Actor::Agent, wire::joined(said));
    }

    /// Adds the prompts that no message repeated, because their turn begins.
    fn ask(&mut self) {
        for (text, time) in std::mem::take(&mut self.asked) {
            self.run.turn(time);
            self.run.say(Actor::User, Some(text));
        }
    }

    fn end(mut self, runs: &mut Runs<'_>) {
        self.flush();
        self.run.give(runs);
    }
}

/// Returns the answer in a result: the output, or else the message. After a failure, it is the message and
/// the output.
fn answer<'a>(result: &Members<'a>) -> (Option<TextCow<'a>>, Outcome) {
    let part = |key: &str| text(result.get(key)).filter(|text| !wire::is_blank(text.text()));
    let is_error = result.first(&["is_error", "isError"]).and_then(Raw::boolean);
    let is_error = is_error.or_else(|| result.name("type").map(|kind| kind == "ToolError"));
    let (message, output) = (part("message"), part("output"));
    if is_error != Some(true) {
        return (output.or(message), Outcome::of_flag(is_error));
    }
    let stopped = message.as_ref().or(output.as_ref()).and_then(|message| stopped_by_kimi(message.text()));
    let parts: Vec<_> = message.into_iter().chain(output).collect();
    (wire::joined(parts), stopped.unwrap_or(Outcome::flag(true)))
}

/// Reads the tokens of a response. The input is the sum of the cached and the other tokens.
fn usage(value: Raw<'_>) -> Option<Usage> {
    let cached = ["input_cache_read", "inputCacheRead"];
    let others = ["input_other", "inputOther", "input_cache_creation", "inputCacheCreation"];
    let input = [&cached[..], &others].concat();
    tokens::of_keys(&Members::from(value), &input, &["output"], &cached)
}
