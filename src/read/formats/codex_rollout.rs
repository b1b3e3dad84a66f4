//! Codex sessions: one item or event per line, `{timestamp, type, payload}`. The items are those of the
//! Responses API.

use std::collections::VecDeque;

use super::chat_items::{self, Item};
use super::prelude::*;
use crate::read::session::{self, SessionReader};
use crate::read::text_calls;
use crate::trace::Entry;

pub(in crate::read) const FORMAT: Definition = Definition {
    signature: &[
        Shape::Items(All(&[
            Says("type", &["session_meta", "turn_context", "response_item", "event_msg", "compacted"]),
            Is(Kind::Object, &["payload"]),
        ])),
        Shape::Items(Test("`id`, `timestamp` and `instructions`, and nothing else but `git`", is_old_header)),
    ],
    reader: Reader::Session(SessionReader {
        open: |_| Box::new(Session { run: Recording::of_agent("codex"), ..Session::default() }),
        list: "",
    }),
};

/// Returns true for the first line of a session of the earliest Codex versions, where the other lines are bare items.
fn is_old_header(line: &Members<'_>) -> bool {
    line.is("id", Kind::String)
        && ["timestamp", "instructions"].iter().all(|key| line.has(key))
        && line.keys().all(|key| matches!(key, "id" | "timestamp" | "instructions" | "git"))
}

/// A session that is being read. An event may concern an earlier result, so steps wait until the next turn of
/// the model.
#[derive(Default)]
struct Session<'a> {
    /// The steps that wait.
    steps: VecDeque<Step<'a>>,
    /// Number of steps that no longer wait.
    gone: usize,
    /// The position, among all steps, of the first step of the model's latest turn.
    turn_start: usize,
    /// The run with the steps that no longer wait.
    run: Recording<'a>,
    /// The turn after the model's latest turn.
    next: u64,
    /// True if more items of the latest turn may follow.
    is_open: bool,
    /// The positions of the calls of the current turn, which wait for its tokens.
    waiting: Vec<usize>,
    /// The turn of a message that waits for its tokens.
    said: Option<u64>,
    /// The outcomes that events state, by call id.
    outcomes: TextMap<Cow<'a, str>, Outcome>,
    /// The positions of the calls, by id.
    calls: TextMap<Cow<'a, str>, usize>,
}

/// A step that waits.
enum Step<'a> {
    Whole(Entry<'a>),
    Output { turn: u64, id: Option<Cow<'a, str>>, output: Option<Raw<'a>> },
}

impl<'a> session::Session<'a> for Session<'a> {
    fn add(&mut self, line: &Members<'a>, runs: &mut Runs<'_>) {
        self.line(line);
        // Events may still concern the latest turn.
        self.settle(self.turn_start);
        self.run.hand_on(runs);
    }

    fn end(mut self: Box<Self>, runs: &mut Runs<'_>) {
        self.settle(usize::MAX);
        self.run.give(runs);
    }
}

impl<'a> Session<'a> {
    /// Adds the steps before position `end` to the run.
    fn settle(&mut self, end: usize) {
        while self.gone < end
            && let Some(step) = self.steps.pop_front()
        {
            self.gone += 1;
            match step {
                Step::Whole(entry) => self.run.steps.put(entry),
                Step::Output { turn, id, output } => {
                    let stated = id.as_ref().and_then(|id| self.outcomes.get(id)).copied();
                    self.run.steps.answer(turn, id, chat_items::answer(output, stated, false));
                }
            }
        }
    }

    fn line(&mut self, line: &Members<'a>) {
        if !line.is("payload", Kind::Object) {
            if is_old_header(line) {
                self.meta(line.name("id"), None);
            } else if !self.item(line, line) {
                self.run.pass_over("lines of other types", 1);
            }
            return;
        }
        let payload = line.object("payload");
        match line.name("type").as_deref() {
            Some("session_meta") => {
                let spawn = payload.object("source").object("subagent").object("thread_spawn");
                let id = payload.name("id").or_else(|| payload.name("session_id"));
                self.meta(id, spawn.name("parent_thread_id"));
            }
            Some("turn_context") => self.run.model(payload.name("model")),
            Some("response_item") => {
                let is_read = self.item(&payload, line);
                self.run.pass_over("items of other types", u64::from(!is_read));
            }
            Some("event_msg") => {
                let is_read = self.event(&payload).is_some();
                self.run.pass_over("events of other types", u64::from(!is_read));
            }
            Some("compacted") => self.run.pass_over("lines with copied history", 1),
            _ => self.run.pass_over("lines of other types", 1),
        }
    }

    /// Sets the ids, unless they are already set: a resumed session repeats them.
    fn meta(&mut self, id: Option<Cow<'a, str>>, parent: Option<Cow<'a, str>>) {
        let metadata = &mut self.run.metadata;
        if metadata.id.is_none() {
            metadata.parent = metadata.parent.take().or(parent.map(Cow::into_owned));
            metadata.id = id.map(Cow::into_owned);
        }
    }

    /// Adds the item of a line, or returns false if its type is unknown.
    fn item(&mut self, item: &Members<'a>, line: &Members<'a>) -> bool {
        let time = || line.time("timestamp");
        let id = || item.name("call_id").or_else(|| item.name("id"));
        let kind = item.name("type").unwrap_or_default();
        match (&*kind, Item::of(&kind)) {
            ("message", _) => {
                let text = item.message("content");
                let actor = match item.name("role").as_deref() {
                    Some("assistant") => Actor::Agent,
                    Some("user") if text.as_ref().is_some_and(|text| text_calls::is_notice(text.text())) => {
                        Actor::Environment
                    }
                    Some("user") => Actor::User,
                    _ => Actor::System,
                };
                let is_own = actor == Actor::Agent;
                let turn = if is_own { self.model_turn() } else { self.others_turn() };
                self.said = if is_own { Some(turn) } else { self.said };
                let message = text.map(|text| Entry::Message { actor, turn, text, time: time() });
                self.steps.extend(message.map(Step::Whole));
            }
            ("reasoning", _) => _ = self.model_turn(),
            (_, Some(Item::Output)) => {
                let turn = self.others_turn();
                self.steps.push_back(Step::Output { turn, id: id(), output: item.present("output") });
            }
            (_, Some(kind)) => {
                let turn = self.model_turn();
                let place = self.gone + self.steps.len();
                self.waiting.push(place);
                self.calls.extend(id().map(|id| (id, place)));
                let status = item.name("status");
                let (call, answer) =
                    kind.call(id(), item.name("name"), status.as_deref(), |key| item.present(key));
                let call = Call { turn, time: time(), ..call };
                self.steps.push_back(Step::Whole(Entry::Call(call, answer, None)));
            }
            (_, None) => return false,
        }
        true
    }

    /// Returns the turn of an item of the model, and begins it if none is open.
    fn model_turn(&mut self) -> u64 {
        if !std::mem::replace(&mut self.is_open, true) {
            self.waiting.clear();
            self.said = None;
            self.turn_start = self.gone + self.steps.len();
            self.next += 1;
        }
        self.next - 1
    }

    /// Ends the turn of the model, and returns the turn after it.
    fn others_turn(&mut self) -> u64 {
        self.is_open = false;
        self.next
    }

    /// Reads an event. `None` if its type is unknown or a needed member is missing.
    fn event(&mut self, event: &Members<'a>) -> Option<()> {
        match &*event.name("type")? {
            kind @ ("task_complete" | "turn_aborted") => {
                self.run.metadata.termination = Some(kind.to_owned());
            }
            "token_count" => self.tokens(event.object("info").usage("last_token_usage")?),
            "patch_apply_end" => {
                let failed = !event.flag("success")?;
                self.outcomes.insert(event.name("call_id")?, Outcome::flag(failed));
            }
            "mcp_tool_call_end" => {
                let failed = mcp_failed(&event.object("result"))?;
                self.outcomes.insert(event.name("call_id")?, Outcome::flag(failed));
            }
            "exec_command_end" => self.exit(event.name("call_id")?, event),
            "agent_message" | "user_message" | "agent_reasoning" => {
                self.run.pass_over("events that are copies of items", 1);
            }
            _ => return None,
        }
        Some(())
    }

    /// Reads the exit code and the duration of a command.
    fn exit(&mut self, id: Cow<'a, str>, event: &Members<'a>) {
        let place = self.calls.get(&id).copied();
        if let Some(failed) = event.get("exit_code").and_then(is_failure_code) {
            let stated = Outcome::exit_code(failed);
            let known = self.outcomes.entry(id).or_insert(stated);
            // A flag takes precedence, whichever comes first.
            *known = if known.provenance == Provenance::Flag { *known } else { stated };
        }
        let lasted = duration(&event.object("duration"));
        if let (Some(duration), Some(usage)) = (lasted, place.and_then(|at| self.usage(at))) {
            usage.duration_ns = Some(duration);
        }
    }

    /// Sets the token counts of the message and the calls that wait for them. The same counts may be repeated
    /// later, which changes nothing.
    fn tokens(&mut self, tokens: Usage) {
        if let Some(turn) = self.said.take() {
            self.run.steps.spent(turn, Some(tokens));
        }
        for place in std::mem::take(&mut self.waiting) {
            if let Some(usage) = self.usage(place) {
                *usage = Usage { duration_ns: usage.duration_ns, ..tokens };
            }
        }
    }

    fn usage(&mut self, place: usize) -> Option<&mut Usage> {
        match self.steps.get_mut(place.checked_sub(self.gone)?)? {
            Step::Whole(Entry::Call(call, ..)) => Some(call.usage.get_or_insert_default()),
            _ => None,
        }
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
