//! Codex sessions: one item or event per line, `{timestamp, type, payload}`. The items are those of the
//! Responses API. `codex exec --json` first printed only events, `{id, msg}`, after a line with the prompt.

use std::collections::{BTreeSet, VecDeque};

use super::chat_items::{self, Item};
use super::codex_events::{
    PRINTED, Scripts, Stated, Step, duration, ended_call, event_of_item, id_of_header, is_of_script,
    is_old_header, name_of, output_of, read_meta, sender_of, set_ids, writer_of,
};
use super::codex_usage::Counts;
use super::prelude::*;
use crate::trace::Entry;

pub(super) const FORMAT: Definition = Definition {
    signature: &[
        Shape::Items(All(&[
            Says("type", &["session_meta", "turn_context", "response_item", "event_msg", "compacted"]),
            Is(Kind::Object, &["payload"]),
        ])),
        Shape::Items(Test("`id`, `timestamp` and `instructions`, and nothing else but `git`", is_old_header)),
        Shape::Items(Any(&[PRINTED, In("params", &PRINTED), Has(&["workdir", "approval", "sandbox"])])),
    ],
    reader: Reader::Session(SessionReader {
        open: |_| Box::new(Session { run: Recording::of_agent("codex"), ..Session::default() }),
        list: "",
    }),
};

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
    /// The ids in the headers of the session.
    ids: TextSet<Cow<'a, str>>,
    /// The run with the steps that no longer wait.
    run: Recording<'a>,
    /// The turn after the model's latest turn.
    next: u64,
    /// True if more items of the latest turn may follow.
    is_open: bool,
    counts: Counts,
    stated: Stated<'a>,
    /// The ids of the calls that are answered.
    answered: TextSet<Cow<'a, str>>,
    /// Number of the user's messages that are items.
    requests: u64,
    /// The numbers of requests after which a message of the agent is an item.
    replied: BTreeSet<u64>,
    /// The digests of the messages in items, except the user's.
    texts: DigestSet,
    /// The digest of the agent's last message in an event.
    last_told: Option<Digest>,
    /// The ids of the calls that began with an event.
    begun: TextSet<Cow<'a, str>>,
    /// The ids of the calls that are only in the events that ended them.
    ended: TextSet<Cow<'a, str>>,
    scripts: Scripts<'a>,
    /// The positions of the calls, by id.
    calls: TextMap<Cow<'a, str>, usize>,
    /// The ids of the calls to tools of MCP.
    of_mcp: TextSet<Cow<'a, str>>,
}

impl<'a> session::Session<'a> for Session<'a> {
    fn add(&mut self, line: &Members<'a>, runs: &mut Runs<'_>) {
        // The headers of continued sessions come before the items: after them, another file begins.
        let id = id_of_header(line).filter(|id| !self.ids.contains(id));
        if id.is_some() && (self.requests > 0 || self.next > 0) {
            session::Session::end(Box::new(std::mem::take(self)), runs);
            self.run = Recording::of_agent("codex");
        }
        self.ids.extend(id);
        self.line(line);
        // Events may still concern the latest turn.
        self.settle(self.turn_start);
        self.run.hand_on(runs);
    }

    fn end(mut self: Box<Self>, runs: &mut Runs<'_>) {
        self.others_turn();
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
                    let key = id.as_deref().unwrap_or_default();
                    let is_of_mcp = self.of_mcp.contains(key);
                    let answer = chat_items::answer(output, self.stated.outcome(key), is_of_mcp);
                    let answer = self.stated.completed(key, answer);
                    self.run.steps.answer(turn, id, answer);
                }
                Step::Told { requests, actor, text, .. } if self.is_copy(requests, actor, Some(&text)) => {
                    self.run.pass_over(COPIES, 1);
                }
                Step::Told { actor, turn, text, time, .. } => {
                    self.run.steps.put(Entry::Message { actor, turn, text, time });
                }
                Step::Ended(call, output) => self.end_call(*call, output),
            }
        }
    }

    /// Adds the answer that an event records to its call. Without an item, the event is the call as well, unless a
    /// script made it.
    fn end_call(&mut self, call: Call<'a>, output: Option<TextCow<'a>>) {
        let Some(id) = call.id.clone().filter(|id| !self.answered.contains(id)) else { return };
        let stated = self.stated.outcome(&id).unwrap_or(Outcome::UNMARKED);
        let answer = self.stated.completed(&id, stated.answer(output.into()));
        if self.calls.contains_key(&id) {
            self.run.steps.answer(call.turn, Some(id.clone()), answer);
        } else if self.scripts.are_any && call.actor != Actor::User {
            return self.run.pass_over(OF_SCRIPTS, 1);
        } else {
            self.run.steps.put(Entry::Call(call, Some(answer), None));
        }
        self.answered.insert(id);
    }

    fn line(&mut self, line: &Members<'a>) {
        if !line.is("payload", Kind::Object) {
            let printed = [line.object("params").object("msg"), line.object("msg")];
            if let Some(event) = printed.iter().find(|event| event.has("type")) {
                let is_read = self.begun(event).or_else(|| self.event(event, None)).is_some();
                self.run.pass_over("events of other types", u64::from(!is_read));
            } else if line.is("prompt", Kind::String) {
                self.told(Actor::User, line.message("prompt"), None);
            } else if line.has("sandbox") {
                self.run.model(line.name("model"));
            } else if is_old_header(line) {
                set_ids(&mut self.run.metadata, line.name("id"), None);
            } else if !self.item(line, line) {
                self.run.pass_over("lines of other types", 1);
            }
            return;
        }
        let payload = line.object("payload");
        let reason = match line.name("type").as_deref() {
            Some("session_meta") => {
                self.counts.resume();
                return read_meta(&mut self.run.metadata, &payload);
            }
            Some("turn_context") => return self.run.model(payload.name("model")),
            Some("response_item") if self.item(&payload, line) => return,
            Some("event_msg") if self.event(&payload, line.time("timestamp")).is_some() => return,
            Some("response_item") => "items of other types",
            Some("event_msg") => "events of other types",
            Some("compacted") => {
                self.counts.compact();
                "lines with copied history"
            }
            _ => "lines of other types",
        };
        self.run.pass_over(reason, 1);
    }

    /// Adds the item of a line, or returns false if its type is unknown.
    fn item(&mut self, item: &Members<'a>, line: &Members<'a>) -> bool {
        let time = || line.time("timestamp");
        let id = || item.name("call_id").or_else(|| item.name("id"));
        let kind = item.name("type").unwrap_or_default();
        match (&*kind, Item::of(&kind)) {
            ("message", _) => {
                let text = item.message("content");
                let actor = writer_of(item, text.as_ref());
                self.requests += u64::from(actor == Actor::User);
                self.replied.extend((actor == Actor::Agent).then_some(self.requests));
                if let Some(text) = text.as_ref().filter(|_| actor != Actor::User) {
                    self.texts.insert(text.text().digest());
                    self.texts.extend(self.steps.iter().filter_map(|step| step.start_of(text)));
                }
                let turn = self.turn_of(actor);
                self.say(actor, turn, text, time());
            }
            ("agent_message", _) => {
                let turn = self.others_turn();
                self.say(sender_of(item), turn, item.message("content"), time());
            }
            ("reasoning", _) => _ = self.model_turn(),
            (_, Some(Item::Output)) => {
                let turn = self.others_turn();
                self.answered.extend(id());
                let output = item.present("output").or_else(|| item.present("tools"));
                let printed = self.scripts.end(id().as_ref(), output);
                self.stated.extend(id().zip(printed));
                self.steps.push_back(Step::Output { turn, id: id(), output });
            }
            (_, Some(kind)) => {
                let turn = self.model_turn();
                let place = self.gone + self.steps.len();
                self.counts.waiting.push(place);
                self.calls.extend(id().map(|id| (id, place)));
                let status = item.name("status");
                let (call, answer) =
                    kind.call(id(), name_of(item), status.as_deref(), |key| item.present(key));
                self.answered.extend(id().filter(|_| answer.is_some()));
                self.of_mcp.extend(id().filter(|_| call.name.starts_with("mcp__")));
                let call = Call { turn, time: time(), ..call };
                self.scripts.begin(kind, &call, item);
                self.steps.push_back(Step::Whole(Entry::Call(call, answer, None)));
            }
            (_, None) => return false,
        }
        true
    }

    fn say(&mut self, actor: Actor, turn: u64, text: Option<TextCow<'a>>, time: Option<u64>) {
        self.steps.extend(text.map(|text| Step::Whole(Entry::Message { actor, turn, text, time })));
    }

    /// Returns the turn of an item of the model, and begins it if none is open.
    fn model_turn(&mut self) -> u64 {
        if !std::mem::replace(&mut self.is_open, true) {
            self.counts.forget();
            self.scripts.forget_open();
            self.turn_start = self.gone + self.steps.len();
            self.next += 1;
        }
        self.next - 1
    }

    /// Ends the turn of the model, and returns the turn after it.
    fn others_turn(&mut self) -> u64 {
        if let Some(tokens) = self.counts.take_ahead() {
            self.set_usage(tokens);
        }
        self.is_open = false;
        self.next
    }

    /// Returns the turn of a message.
    fn turn_of(&mut self, actor: Actor) -> u64 {
        if actor == Actor::Agent {
            let turn = self.model_turn();
            self.counts.said = Some(turn);
            return turn;
        }
        let turn = self.others_turn();
        if actor == Actor::User {
            self.counts.waiting.clear();
        }
        turn
    }

    /// Reads an event. `None` if its type is unknown or a needed member is missing.
    fn event(&mut self, event: &Members<'a>, time: Option<u64>) -> Option<()> {
        match &*event.name("type")? {
            kind @ ("task_complete" | "turn_aborted") => {
                self.run.metadata.termination = Some(kind.to_owned());
                let last = self.last_told.take();
                let text = event.message("last_agent_message");
                let is_copy = text.as_ref().is_none_or(|text| last == Some(text.text().digest()));
                if !is_copy && !self.replied.contains(&self.requests) {
                    self.told(Actor::Agent, text, time);
                }
            }
            "session_configured" => {
                set_ids(&mut self.run.metadata, event.name("session_id"), None);
                self.run.model(event.name("model"));
            }
            "token_count" => {
                let info = event.object("info");
                let tokens = info.usage("last_token_usage")?;
                if self.counts.is_new(tokens, info.usage("total_token_usage"), self.is_open) {
                    self.set_usage(tokens);
                }
            }
            kind @ ("exec_command_end" | "patch_apply_end" | "mcp_tool_call_end") => {
                self.ended(kind, event, time)?;
            }
            "item_completed" => {
                let item = event.object("item");
                let kind = event_of_item(&item.name("type")?)?;
                self.ended(kind, &item, time)?;
            }
            "user_message" => self.told(Actor::User, event.message("message"), time),
            "agent_message" => self.told(Actor::Agent, event.message("message"), time),
            "agent_reasoning" => self.run.pass_over(COPIES, 1),
            "error" => {
                let text = event.message("message")?;
                let turn = self.others_turn();
                self.say(Actor::Environment, turn, Some(text), time);
            }
            _ => return None,
        }
        Some(())
    }

    /// Adds the call that an event begins. `None` if the event begins none.
    fn begun(&mut self, event: &Members<'a>) -> Option<()> {
        let kind = event.name("type").filter(|kind| kind.ends_with("_begin"))?;
        let id = event.name("call_id")?;
        let (call, _) = ended_call(&kind.replace("_begin", "_end"), event)?;
        let turn = self.model_turn();
        self.begun.insert(id.clone());
        self.calls.insert(id.clone(), self.gone + self.steps.len());
        self.steps.push_back(Step::Whole(Entry::Call(Call { id: Some(id), turn, ..call }, None, None)));
        Some(())
    }

    /// Returns true if the message of an event is known to be the copy of an item.
    fn is_copy(&self, requests: u64, actor: Actor, text: Option<&TextCow<'a>>) -> bool {
        let is_known =
            if actor == Actor::Agent { self.replied.contains(&requests) } else { self.requests > 0 };
        is_known || text.is_some_and(|text| self.texts.contains(&text.text().digest()))
    }

    /// Adds a message that an event records, unless it is known to be the copy of an item.
    fn told(&mut self, actor: Actor, text: Option<TextCow<'a>>, time: Option<u64>) {
        let requests = self.requests;
        if self.is_copy(requests, actor, text.as_ref()) {
            let text = text.filter(|_| actor == Actor::Agent);
            self.texts.extend(text.map(|text| text.text().digest()));
            return self.run.pass_over(COPIES, 1);
        }
        let turn = self.turn_of(actor);
        if actor == Actor::Agent {
            self.last_told = text.as_ref().map(|text| text.text().digest());
        }
        self.steps.extend(text.map(|text| Step::Told { requests, actor, turn, text, time }));
    }

    /// Reads the end of a call. `None` if it has no id.
    fn ended(&mut self, kind: &str, event: &Members<'a>, time: Option<u64>) -> Option<()> {
        let id = event.name("call_id").or_else(|| event.name("id"))?;
        let place = self.calls.get(&id).copied();
        let is_known = place.is_some();
        let stated = self.stated.add(id.clone(), kind, event);
        if !is_known && let Some(script) = self.scripts.caller(event, time) {
            self.stated.set_script(script, stated);
        }
        let lasted = duration(event).filter(|_| kind == "exec_command_end");
        if let Some(duration) = lasted
            && let Some(usage) = place.and_then(|at| self.usage(at))
        {
            usage.duration_ns = Some(duration);
        }
        let has_begun = self.begun.contains(&id);
        let unnamed = || has_begun.then(|| (Call::new(0, None, ""), output_of(event)));
        if !self.answered.contains(&id)
            && let Some((call, output)) = ended_call(kind, event).or_else(unnamed)
        {
            let call = Call { id: Some(id.clone()), time, ..call };
            let is_own = !is_known && !self.scripts.are_any;
            let is_inner = is_of_script(&call, kind, event);
            if is_own && (is_inner || !self.ended.insert(id)) {
                self.run.pass_over(if is_inner { OF_SCRIPTS } else { COPIES }, 1);
                return Some(());
            }
            let turn = if is_own { self.model_turn() } else { self.next };
            let call = Call { turn, ..call };
            self.steps.push_back(Step::Ended(Box::new(call), output));
            if is_own || has_begun {
                self.others_turn();
            }
        }
        Some(())
    }

    /// Sets the token counts of the message and the calls that wait for them.
    fn set_usage(&mut self, tokens: Usage) {
        if let Some(turn) = self.counts.said.take() {
            self.run.steps.set_usage(turn, Some(tokens));
        }
        for place in std::mem::take(&mut self.counts.waiting) {
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

const COPIES: &str = "events that are copies of items";
const OF_SCRIPTS: &str = "events of calls of scripts";
