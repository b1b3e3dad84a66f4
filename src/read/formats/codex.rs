//! Sessions of Codex: one item or event per line, `{timestamp, type, payload}`.

use std::collections::VecDeque;

use super::codex_line::{Event, Item, Output, Payload};
use super::codex_text;
use super::prelude::*;
use crate::read::outcome::never_ran;
use crate::read::session::{self, SessionReader};

pub(in crate::read) const FORMAT: Definition = Definition {
    about: "sessions of Codex, an item per line",
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

/// Returns true for the first line of a session of the first versions, whose other lines are bare items.
pub(super) fn is_old_header(line: &Members<'_>) -> bool {
    line.is("id", Kind::String)
        && ["timestamp", "instructions"].iter().all(|key| line.has(key))
        && line.keys().all(|key| matches!(key, "id" | "timestamp" | "instructions" | "git"))
}

/// A session in the middle of being read. Events may concern a result that stands before them, so steps wait until the
/// model responds to them.
#[derive(Default)]
struct Session<'a> {
    /// The steps of the last turns, and how many came before them.
    steps: VecDeque<Step<'a>>,
    gone: usize,
    /// The place of the first step of the turn that the model took last.
    turn_start: usize,
    /// The steps of earlier turns.
    run: Recording<'a>,
    /// The turn after the last one of the model, whose items follow one another, and whether more of them may follow.
    next: u64,
    is_open: bool,
    /// The calls of the current turn, which wait for its tokens.
    waiting: Vec<usize>,
    /// The turn of a message that waits for its tokens.
    said: Option<u64>,
    /// What events say of the outcomes of calls, by call id.
    outcomes: TextMap<Cow<'a, str>, Outcome>,
    /// The calls by id.
    calls: TextMap<Cow<'a, str>, usize>,
}

/// A step that is held to the end.
enum Step<'a> {
    Message { actor: Actor, turn: u64, text: TextCow<'a>, time: Option<u64> },
    Call(Box<Call<'a>>, Option<Answer<'a>>),
    Output { turn: u64, id: Option<Cow<'a, str>>, output: Output<'a> },
}

impl<'a> session::Session<'a> for Session<'a> {
    fn add(&mut self, line: &Members<'a>, runs: &mut Runs<'_>) {
        match Payload::of(line) {
            Some(Payload::Meta { id, parent }) => {
                // A resumed session repeats this line.
                let metadata = &mut self.run.metadata;
                if metadata.id.is_none() {
                    metadata.parent = metadata.parent.take().or(parent.map(Cow::into_owned));
                    metadata.id = id.map(Cow::into_owned);
                }
            }
            Some(Payload::Context { model }) => self.run.model(model),
            Some(Payload::Item(item)) => self.item(item, || line.time("timestamp")),
            Some(Payload::Event(event)) => self.event(event),
            Some(Payload::Compacted) => self.run.pass_over("lines with copied history", 1),
            None => self.run.pass_over("lines of other types", 1),
        }
        // Events of the turn that goes on may still come.
        self.settle(self.turn_start);
        self.run.hand_on(runs);
    }

    fn end(mut self: Box<Self>, runs: &mut Runs<'_>) {
        self.settle(usize::MAX);
        self.run.give(runs);
    }
}

impl<'a> Session<'a> {
    /// Adds the steps before this place to the run.
    fn settle(&mut self, end: usize) {
        while self.gone < end
            && let Some(step) = self.steps.pop_front()
        {
            self.gone += 1;
            match step {
                Step::Message { actor, turn, text, time } => {
                    self.run.steps.message_at(actor, turn, text, time);
                }
                Step::Output { turn, id, output } => {
                    let stated = id.as_ref().and_then(|id| self.outcomes.get(id)).copied();
                    let answer = answer(output, stated);
                    self.run.steps.answer(turn, id, answer);
                }
                Step::Call(call, answer) => {
                    let call = self.run.steps.call(*call);
                    if let Some(answer) = answer {
                        self.run.steps.answer_call(call, answer);
                    }
                }
            }
        }
    }

    fn item(&mut self, item: Item<'a>, time: impl Fn() -> Option<u64>) {
        match item {
            Item::Message { actor, text } => {
                let turn = if actor == Actor::Agent {
                    let turn = self.model_turn();
                    self.said = Some(turn);
                    turn
                } else {
                    self.others_turn()
                };
                self.steps.extend(text.map(|text| Step::Message { actor, turn, text, time: time() }));
            }
            Item::Reasoning => {
                self.model_turn();
            }
            Item::Call { id, name, arguments, answer } => {
                let turn = self.model_turn();
                let place = self.gone + self.steps.len();
                self.waiting.push(place);
                if let Some(id) = &id {
                    self.calls.insert(id.clone(), place);
                }
                let call = Call { arguments, time: time(), ..Call::new(turn, id, name) };
                self.steps.push_back(Step::Call(Box::new(call), answer));
            }
            Item::Output { id, output } => {
                let turn = self.others_turn();
                self.steps.push_back(Step::Output { turn, id, output });
            }
            Item::Other => self.run.pass_over("items of other types", 1),
        }
    }

    /// Returns the turn of an item of the model.
    fn model_turn(&mut self) -> u64 {
        if !std::mem::replace(&mut self.is_open, true) {
            self.waiting.clear();
            self.said = None;
            self.turn_start = self.gone + self.steps.len();
            self.next += 1;
        }
        self.next - 1
    }

    /// Returns the next turn, to which messages of others lead.
    fn others_turn(&mut self) -> u64 {
        self.is_open = false;
        self.next
    }

    fn event(&mut self, event: Event<'a>) {
        match event {
            Event::End(termination) => self.run.metadata.termination = Some(termination.to_owned()),
            Event::Tokens(usage) => self.tokens(usage),
            Event::Outcome { id, failed } => {
                self.outcomes.insert(id, Outcome::flag(failed));
            }
            Event::Exit { id, failed, duration_ns } => {
                if let Some(stated) = failed.map(Outcome::exit_code) {
                    let known = self.outcomes.entry(id.clone()).or_insert(stated);
                    // A flag counts more, whatever comes first.
                    *known = if known.provenance == Provenance::Flag { *known } else { stated };
                }
                let place = self.calls.get(&id).copied();
                if let (Some(duration), Some(usage)) = (duration_ns, place.and_then(|at| self.usage(at))) {
                    usage.duration_ns = Some(duration);
                }
            }
            Event::Copy => self.run.pass_over("events that are copies of items", 1),
            Event::Other => self.run.pass_over("events of other types", 1),
        }
    }

    /// Returns the tokens of the latest response; they are repeated if there is nothing new.
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
            Step::Call(call, _) => Some(call.usage.get_or_insert_default()),
            Step::Message { .. } | Step::Output { .. } => None,
        }
    }
}

/// Returns the answer in an output. For a call that is running or was interrupted, the text that the model saw first.
/// `stated` is what events say.
fn answer(output: Output<'_>, stated: Option<Outcome>) -> Answer<'_> {
    let Output { text: words, success } = output;
    let text = words.as_ref().map_or("".into(), TextCow::text);
    let codex = words.as_ref().and_then(codex_text::read);
    let outcome = never_ran(text)
        .or_else(|| codex.as_ref().map(|codex| codex.outcome).filter(|outcome| outcome.reason.is_some()))
        .or_else(|| success.map(|success| Outcome::flag(!success)))
        .or(stated)
        .or_else(|| codex.as_ref().map(|codex| codex.outcome))
        .unwrap_or(Outcome::UNMARKED);
    let cut = codex.and_then(|codex| codex.observation);
    outcome.answer(Content::from(cut.or(words)))
}
