//! Pairs calls with their answers and hands the steps on in source order.

use std::borrow::Cow;
use std::collections::VecDeque;

use crate::error::Result;
use crate::trace::{
    Action, Actor, Arguments, Digest, DigestMap, Gate, Provenance, Status, Step, StepInput, Text,
    UnknownReason, Unpaired, empty,
};

/// How many steps wait until some are handed on: what reads and what judges run one after the other, not in turns.
const BATCH: usize = 64;

/// A call as a reader found it.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub(super) actor: Actor,
    pub(super) turn: u64,
    pub(super) id: Cow<'a, str>,
    pub(super) name: Cow<'a, str>,
    pub(super) arguments: Option<Arguments<'a>>,
}

/// An answer as a reader found it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answer<'a> {
    pub(super) text: Option<Text<'a>>,
    pub(super) status: Status,
    pub(super) provenance: Provenance,
}

/// A queue of the steps of one run, and then of the next. A step leaves it as soon as it and all before it are complete.
///
/// An answer belongs to the oldest unanswered call of its id. One that comes before any such call may belong
/// to a later call: from then on everything waits for the end of the run, where a second pass pairs what is left.
#[derive(Debug, Default)]
pub(super) struct Pairing<'a> {
    gate: Gate,
    queue: VecDeque<Entry<'a>>,
    /// How many entries have left the queue.
    gone: u64,
    /// How many entries have been paired, or found to have no partner.
    seen: u64,
    /// The oldest and the newest unanswered call of each id.
    open: DigestMap<(u64, u64)>,
    hold: bool,
    unpaired: Unpaired,
}

#[derive(Debug)]
enum Entry<'a> {
    Message {
        actor: Actor,
        turn: u64,
        text: Text<'a>,
    },
    Call(Call<'a>, Option<Answer<'a>>, /* the next unanswered call of the id */ Option<u64>),
    /// An answer that nobody has looked for a call for.
    Answer {
        turn: u64,
        id: Cow<'a, str>,
        answer: Answer<'a>,
    },
    /// An answer without a call (so far).
    Orphan {
        turn: u64,
        id: Digest,
        answer: Answer<'a>,
    },
    /// An answer that found its call.
    Paired,
}

impl<'a> Pairing<'a> {
    /// Begins a run. With `hold`, nothing is handed on before its end.
    pub(super) fn begin(&mut self, hold: bool) {
        self.gate = Gate::new();
        self.queue.clear();
        self.gone = 0;
        self.seen = 0;
        empty(&mut self.open);
        self.hold = hold;
        self.unpaired = Unpaired::default();
    }

    pub(super) fn message(&mut self, actor: Actor, turn: u64, text: Text<'a>) {
        self.queue.push_back(Entry::Message { actor, turn, text });
    }

    pub(super) fn call(&mut self, call: Call<'a>) {
        self.queue.push_back(Entry::Call(call, None, None));
    }

    pub(super) fn answer(&mut self, turn: u64, id: Cow<'a, str>, answer: Answer<'a>) {
        self.queue.push_back(Entry::Answer { turn, id, answer });
    }

    /// Pairs what has come since this was last done.
    fn pair_new(&mut self) {
        for number in self.seen..self.gone + self.queue.len() as u64 {
            match self.entry(number) {
                Some(Entry::Call(call, ..)) => {
                    let id = Digest::of_text(&call.id);
                    self.open(id, number);
                }
                Some(Entry::Answer { turn, id, answer }) => {
                    let (turn, id, answer) = (*turn, Digest::of_text(id), *answer);
                    let paired = self.pair(id, answer);
                    self.hold |= !paired;
                    if let Some(entry) = self.entry(number) {
                        *entry = if paired { Entry::Paired } else { Entry::Orphan { turn, id, answer } };
                    }
                }
                _ => {}
            }
        }
        self.seen = self.gone + self.queue.len() as u64;
    }

    /// The call of this number waits for an answer.
    fn open(&mut self, id: Digest, number: u64) {
        let newest = self.open.entry(id).or_insert((number, number));
        let before = std::mem::replace(&mut newest.1, number);
        if before != number
            && let Some(Entry::Call(_, _, next)) = self.entry(before)
        {
            *next = Some(number);
        }
    }

    fn entry(&mut self, number: u64) -> Option<&mut Entry<'a>> {
        let position = usize::try_from(number.checked_sub(self.gone)?).ok()?;
        self.queue.get_mut(position)
    }

    /// Gives the answer to the oldest unanswered call of the id, if there is one.
    fn pair(&mut self, id: Digest, answer: Answer<'a>) -> bool {
        let Some(&(oldest, newest)) = self.open.get(&id) else { return false };
        let Some(Entry::Call(_, slot, next)) = self.entry(oldest) else { return false };
        *slot = Some(answer);
        match next.take() {
            Some(next) => self.open.insert(id, (next, newest)),
            None => self.open.remove(&id),
        };
        true
    }

    /// Hands on what is complete, as soon as there is enough of it.
    pub(super) fn flush(&mut self, sink: &mut dyn FnMut(&Step<'_>)) -> Result<()> {
        if self.queue.len() < BATCH {
            return Ok(());
        }
        self.pair_new();
        if self.hold {
            return Ok(());
        }
        let waits = |entry: &Entry<'_>| matches!(entry, Entry::Call(_, None, _));
        let complete = self.queue.iter().position(waits).unwrap_or(self.queue.len());
        self.hand_on(complete, sink)
    }

    /// Ends the run: pairs what is left, and hands on everything.
    pub(super) fn finish(&mut self, sink: &mut dyn FnMut(&Step<'_>)) -> Result<Unpaired> {
        self.pair_new();
        if self.hold && !self.open.is_empty() {
            for position in 0..self.queue.len() {
                let Some(&Entry::Orphan { id, answer, .. }) = self.queue.get(position) else { continue };
                if self.pair(id, answer)
                    && let Some(entry) = self.queue.get_mut(position)
                {
                    *entry = Entry::Paired;
                }
            }
        }
        self.hand_on(self.queue.len(), sink)?;
        Ok(self.unpaired)
    }

    /// Hands on so many entries.
    fn hand_on(&mut self, count: usize, sink: &mut dyn FnMut(&Step<'_>)) -> Result<()> {
        for entry in self.queue.range(..count) {
            let input = match entry {
                // What is handed on has been paired, so that no answer is left as it came.
                Entry::Paired | Entry::Answer { .. } => continue,
                Entry::Message { actor, turn, text } => StepInput::message(*actor, *text).turn(*turn),
                Entry::Orphan { turn, answer, .. } => {
                    self.unpaired.messages += 1;
                    let text = answer.text.unwrap_or_else(|| Text::from(""));
                    StepInput::message(Actor::Environment, text).turn(*turn)
                }
                Entry::Call(call, answer, _) => {
                    self.unpaired.calls += u64::from(answer.is_none());
                    let action = Action {
                        name: &call.name,
                        arguments: call.arguments.clone().into(),
                        call_id: Some(&*call.id),
                        observation: answer.and_then(|answer| answer.text).into(),
                        status: answer.map_or(Status::Unknown, |answer| answer.status),
                        provenance: answer.map_or(Provenance::None, |answer| answer.provenance),
                        reason: answer.is_none().then_some(UnknownReason::Unanswered),
                        error_type: None,
                    };
                    StepInput::action(call.actor, action).turn(call.turn)
                }
            };
            sink(&self.gate.admit(input)?);
        }
        self.queue.drain(..count);
        self.gone += count as u64;
        Ok(())
    }
}
