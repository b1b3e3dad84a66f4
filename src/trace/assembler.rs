//! Assembles a run: pairs calls with their answers and emits the steps in source order.
//!
//! The reader of a format adds messages, calls and answers in the order of the input, borrowed or owned.

use std::borrow::Cow;
use std::collections::VecDeque;

use super::content::Content;
use super::digest::Digest;
use super::maps::{DigestMap, empty};
use super::pieces::{Answer, Call};
use super::sink::{StepValidator, Unpaired};
use super::step::{Actor, Step, StepInput};
use super::text::Text;
use super::text_cow::TextCow;
use super::turn_tokens::TurnUsage;
use super::usage::Usage;
use crate::error::{Error, ErrorKind, Result};

/// The minimum queue length for a flush, so reading and detection alternate in batches rather than step by step.
const BATCH: usize = 64;

/// Maximum number of queued entries of a held run.
const MOST_WAITING: usize = 1 << 24;

/// The position of a call among the entries of its run. Readers use it to pair answers that carry no call id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CallNumber(u64);

/// Queues the steps of one run after another. A step leaves the queue once it and all steps before it are
/// complete.
///
/// An answer belongs to the oldest unanswered call with its id. An answer that comes before any such call may
/// belong to a later one: the whole queue then waits for the end of the run, when a second pass pairs the
/// rest.
#[derive(Debug, Default)]
pub(crate) struct Assembler<'a> {
    gate: StepValidator,
    queue: VecDeque<Entry<'a>>,
    /// Number of entries that left the queue.
    gone: u64,
    /// Number of entries that `pair_new` has visited.
    seen: u64,
    /// The positions of the oldest and the newest unanswered call with each id.
    open: DigestMap<(u64, u64)>,
    hold: bool,
    spent: TurnUsage,
    unpaired: Unpaired,
    actions: u64,
}

/// A piece of a run in the queue.
#[derive(Debug)]
pub(crate) enum Entry<'a> {
    Message {
        actor: Actor,
        turn: u64,
        text: TextCow<'a>,
        time: Option<u64>,
    },
    Call(Call<'a>, Option<Answer<'a>>, /* the next unanswered call with this id */ Option<u64>),
    /// An answer that `pair_new` has not visited.
    Answer {
        turn: u64,
        id: Option<Cow<'a, str>>,
        answer: Answer<'a>,
    },
    /// An answer for which `pair_new` found no call. [`Assembler::finish`] tries again.
    Orphan {
        turn: u64,
        id: Option<Digest>,
        answer: Answer<'a>,
    },
    /// A placeholder for an answer that moved to its call. It keeps the positions of later entries.
    Paired,
}

impl Entry<'_> {
    /// Returns the turn, or 0 for [`Entry::Paired`].
    pub(crate) fn turn(&self) -> u64 {
        match self {
            Self::Message { turn, .. } | Self::Answer { turn, .. } | Self::Orphan { turn, .. } => *turn,
            Self::Call(call, ..) => call.turn,
            Self::Paired => 0,
        }
    }
}

impl<'a> Assembler<'a> {
    /// Begins a run and discards the previous one. With `hold`, [`Assembler::flush`] emits nothing.
    pub(crate) fn begin(&mut self, hold: bool) {
        self.gate = StepValidator::new();
        self.queue.clear();
        self.gone = 0;
        self.seen = 0;
        empty(&mut self.open);
        self.hold = hold;
        self.spent.clear();
        self.unpaired = Unpaired::default();
        self.actions = 0;
    }

    /// Adds a message without a time.
    pub(crate) fn message(&mut self, actor: Actor, turn: u64, text: impl Into<TextCow<'a>>) {
        self.message_at(actor, turn, text, None);
    }

    /// Adds a message, with its time if known.
    pub(crate) fn message_at(
        &mut self,
        actor: Actor,
        turn: u64,
        text: impl Into<TextCow<'a>>,
        time: Option<u64>,
    ) {
        self.queue.push_back(Entry::Message { actor, turn, text: text.into(), time });
    }

    /// Sets the tokens of a turn, unless they are already set. The agent's messages carry them if the turn has no
    /// call; calls carry their own. Holds the run, because a call of this turn may follow.
    pub(crate) fn set_usage(&mut self, turn: u64, tokens: Option<Usage>) {
        if let Some(tokens) = tokens.filter(|tokens| !tokens.is_empty()) {
            self.hold = true;
            self.spent.add(turn, tokens);
        }
    }

    /// Adds a call and returns its number.
    pub(crate) fn call(&mut self, call: Call<'a>) -> CallNumber {
        self.actions += 1;
        self.queue.push_back(Entry::Call(call, None, None));
        CallNumber(self.next_number() - 1)
    }

    /// Adds an answer to the call with this id. An answer without an id is never paired.
    pub(crate) fn answer(&mut self, turn: u64, id: Option<Cow<'a, str>>, answer: Answer<'a>) {
        self.queue.push_back(Entry::Answer { turn, id, answer });
    }

    /// Answers this call. Returns false if it has already been answered or emitted. Callers must not use this if
    /// another answer may carry the id of the call: that answer would go to a later call or stay unpaired.
    pub(crate) fn answer_call(&mut self, CallNumber(number): CallNumber, answer: Answer<'a>) -> bool {
        match self.entry(number) {
            Some(Entry::Call(_, slot @ None, _)) => {
                *slot = Some(answer);
                true
            }
            _ => false,
        }
    }

    /// Answers this call. Without a call, adds an answer to the call with this id, as [`Assembler::answer`] does.
    pub(crate) fn answer_to(
        &mut self,
        call: Option<CallNumber>,
        turn: u64,
        id: Option<Cow<'a, str>>,
        answer: Answer<'a>,
    ) {
        match call {
            Some(call) => _ = self.answer_call(call, answer),
            None => self.answer(turn, id, answer),
        }
    }

    /// Returns true if this call has an answer or was emitted. Answers added by id count only after
    /// [`Assembler::pair_new`].
    pub(crate) fn is_answered(&mut self, CallNumber(number): CallNumber) -> bool {
        number < self.gone || matches!(self.entry(number), Some(Entry::Call(_, Some(_), _)))
    }

    /// Returns the call, or `None` if it was emitted.
    pub(crate) fn call_mut(&mut self, CallNumber(number): CallNumber) -> Option<&mut Call<'a>> {
        match self.entry(number) {
            Some(Entry::Call(call, ..)) => Some(call),
            _ => None,
        }
    }

    /// Returns the entries that have not been emitted.
    pub(crate) fn entries(&self) -> &VecDeque<Entry<'a>> {
        &self.queue
    }

    /// Like [`Assembler::entries`], for callers that change the answers of calls.
    pub(crate) fn entries_mut(&mut self) -> impl Iterator<Item = &mut Entry<'a>> {
        self.queue.iter_mut()
    }

    /// Returns the calls that have not been emitted, from position `first` on.
    pub(crate) fn calls_from(&self, first: u64) -> impl Iterator<Item = (CallNumber, &Call<'a>)> {
        let place = usize::try_from(first.saturating_sub(self.gone)).unwrap_or(usize::MAX);
        self.queue.iter().skip(place).zip(first.max(self.gone)..).filter_map(|(entry, number)| match entry {
            Entry::Call(call, ..) => Some((CallNumber(number), call)),
            _ => None,
        })
    }

    /// Returns the position that the next entry will have.
    pub(crate) fn next_number(&self) -> u64 {
        self.gone + self.queue.len() as u64
    }

    /// Takes all entries of a held run, for callers that change or drop some and add back the rest.
    pub(crate) fn take_entries(&mut self) -> VecDeque<Entry<'a>> {
        self.seen = self.gone;
        self.actions = 0;
        empty(&mut self.open);
        // Sorts the tokens by turn, as `tokens_of` requires.
        self.spent.leave_out(std::iter::empty());
        std::mem::take(&mut self.queue)
    }

    /// Adds back an entry from [`Assembler::take_entries`].
    pub(crate) fn put(&mut self, mut entry: Entry<'a>) {
        if let Entry::Call(_, _, next) = &mut entry {
            self.actions += 1;
            *next = None;
        }
        self.queue.push_back(entry);
    }

    /// Returns the tokens of a turn. Callers must call [`Assembler::take_entries`] first.
    pub(crate) fn tokens_of(&self, turn: u64) -> Option<Usage> {
        self.spent.of_message(Actor::Agent, turn)
    }

    /// Returns the number of calls in the run, queued or emitted.
    pub(crate) fn actions(&self) -> u64 {
        self.actions
    }

    /// Pairs the calls and answers that were added since it last ran.
    pub(crate) fn pair_new(&mut self) {
        for number in self.seen..self.next_number() {
            match self.entry(number) {
                Some(Entry::Call(call, None, _)) => {
                    if let Some(id) = call.id.as_deref().map(Digest::of_text) {
                        self.open(id, number);
                    }
                }
                Some(entry @ Entry::Answer { .. }) => {
                    let Entry::Answer { turn, id, answer } = std::mem::replace(entry, Entry::Paired) else {
                        continue;
                    };
                    let id = id.as_deref().map(Digest::of_text);
                    if let Some(answer) = self.pair(id, answer) {
                        // An answer without an id cannot belong to a later call, so it need not wait for one.
                        self.hold |= id.is_some();
                        if let Some(entry) = self.entry(number) {
                            *entry = Entry::Orphan { turn, id, answer };
                        }
                    }
                }
                _ => {}
            }
        }
        self.seen = self.next_number();
    }

    /// Registers an unanswered call as the newest with its id.
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

    /// Adds an answer to the oldest unanswered call with this id, or returns the answer if there is none.
    fn pair(&mut self, id: Option<Digest>, answer: Answer<'a>) -> Option<Answer<'a>> {
        let Some(id) = id else { return Some(answer) };
        let mut left = Some(answer);
        // Skips calls that `answer_call` has answered.
        while left.is_some()
            && let Some(&(oldest, newest)) = self.open.get(&id)
            && let Some(Entry::Call(_, slot, next)) = self.entry(oldest)
        {
            if slot.is_none() {
                *slot = left.take();
            }
            match next.take() {
                Some(next) => self.open.insert(id, (next, newest)),
                None => self.open.remove(&id),
            };
        }
        left
    }

    /// Emits the steps before the first unanswered call, unless the run is held or fewer than [`BATCH`] entries wait.
    ///
    /// # Errors
    /// If a held run has too many queued entries, or if a step is invalid.
    pub(crate) fn flush(&mut self, sink: &mut dyn FnMut(&Step<'_>)) -> Result<()> {
        if self.queue.len() < BATCH {
            return Ok(());
        }
        self.pair_new();
        if self.hold {
            if self.queue.len() > MOST_WAITING {
                return Err(Error::new(
                    ErrorKind::TooLarge,
                    format!("cannot hold more than {MOST_WAITING} steps of one run"),
                ));
            }
            return Ok(());
        }
        let waits = |entry: &Entry<'_>| matches!(entry, Entry::Call(_, None, _));
        let complete = self.queue.iter().position(waits).unwrap_or(self.queue.len());
        self.hand_on(complete, sink)
    }

    /// Emits steps, stopping before the first that has turn `before` or a later one, is an unanswered call, or is
    /// an answer that may belong to a later call. Does so even if the run is held.
    ///
    /// # Errors
    /// If a step is invalid.
    pub(crate) fn emit_before(&mut self, before: u64, sink: &mut dyn FnMut(&Step<'_>)) -> Result<()> {
        self.pair_new();
        let waits = |entry: &Entry<'_>| {
            let may_change = matches!(entry, Entry::Call(_, None, _) | Entry::Orphan { id: Some(_), .. });
            may_change || entry.turn() >= before && !matches!(entry, Entry::Paired)
        };
        let complete = self.queue.iter().position(waits).unwrap_or(self.queue.len());
        if complete == 0 { Ok(()) } else { self.hand_on(complete, sink) }
    }

    /// Ends the run: pairs what is left, emits all steps and returns the counts of unpaired calls and answers.
    ///
    /// # Errors
    /// If a step is invalid.
    pub(crate) fn finish(&mut self, sink: &mut dyn FnMut(&Step<'_>)) -> Result<Unpaired> {
        self.pair_new();
        if self.hold && !self.open.is_empty() {
            for position in 0..self.queue.len() {
                let Some(entry @ Entry::Orphan { id: Some(_), .. }) = self.queue.get_mut(position) else {
                    continue;
                };
                let Entry::Orphan { turn, id, answer } = std::mem::replace(entry, Entry::Paired) else {
                    continue;
                };
                if let Some(answer) = self.pair(id, answer)
                    && let Some(entry) = self.queue.get_mut(position)
                {
                    *entry = Entry::Orphan { turn, id, answer };
                }
            }
        }
        self.hand_on(self.queue.len(), sink)?;
        Ok(self.unpaired)
    }

    /// Removes the first `count` entries from the queue and emits their steps.
    fn hand_on(&mut self, count: usize, sink: &mut dyn FnMut(&Step<'_>)) -> Result<()> {
        if !self.spent.is_empty() {
            self.spent.leave_out(self.queue.iter().filter_map(|entry| match entry {
                Entry::Call(call, ..) => Some(call.turn),
                _ => None,
            }));
        }
        for entry in self.queue.range(..count) {
            let input = match entry {
                // `pair_new` has visited all entries, so no `Answer` is left.
                Entry::Paired | Entry::Answer { .. } => continue,
                Entry::Message { actor, turn, text, time } => {
                    let mut input = StepInput::message(*actor, text.text()).turn(*turn);
                    input.time = *time;
                    input.usage = self.spent.of_message(*actor, *turn);
                    input
                }
                Entry::Orphan { turn, answer, .. } => {
                    self.unpaired.messages += 1;
                    let text = match &answer.observation {
                        Content::Present(words) => words.text(),
                        _ => Text::from(""),
                    };
                    StepInput::message(Actor::Environment, text).turn(*turn)
                }
                Entry::Call(call, answer, _) => {
                    self.unpaired.calls += u64::from(answer.is_none());
                    call.step(answer.as_ref())
                }
            };
            sink(&self.gate.admit(input)?);
        }
        self.queue.drain(..count);
        self.gone += count as u64;
        Ok(())
    }
}
