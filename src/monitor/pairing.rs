//! The pieces of one trace between their arrival and their step: held for earlier ones, then put in order, then paired.

use std::collections::{BTreeMap, VecDeque};

use super::piece::{Kept, KeptReply, Piece};
use crate::trace::{Digest, Unpaired};

/// The place of a piece: its time, and the order of arrival among those of one time.
type Place = (u64, u64);

/// The pieces of one trace on their way.
#[derive(Debug, Default)]
pub(super) struct Pairing {
    /// By place: those that are held for earlier ones.
    held: BTreeMap<Place, Piece>,
    /// When each of them came, in that order; those that are gone from `held` stay here until their time.
    arrivals: VecDeque<(u64, Place)>,
    came: u64,
    /// The place of the latest piece that was let through.
    through: Option<Place>,
    /// In order: those that are complete, or wait for their answers.
    queue: VecDeque<Waiting>,
    /// How many have left the queue.
    gone: u64,
    /// The unanswered calls of each id, as numbers of the queue.
    calls: BTreeMap<Digest, VecDeque<u64>>,
    /// By the id of the call: answers for which none has come yet.
    early: BTreeMap<Digest, VecDeque<(KeptReply, usize)>>,
    early_count: usize,
    given_up: u64,
    pub(super) bytes: usize,
    pub(super) out_of_order: u64,
    pub(super) late_answers: u64,
}

#[derive(Debug)]
struct Waiting {
    step: Box<Kept>,
    bytes: usize,
    /// When it began to wait for its answer; `None`: it is complete.
    since: Option<u64>,
}

impl Pairing {
    /// Takes a piece of this time, at that time.
    pub(super) fn hold(&mut self, now: u64, time: u64, piece: Piece) {
        let place = (time, self.came);
        self.came += 1;
        if self.through.is_some_and(|through| place.0 < through.0) {
            self.out_of_order += 1;
        }
        self.bytes += piece.bytes();
        self.held.insert(place, piece);
        self.arrivals.push_back((now, place));
    }

    /// How many pieces are held or wait.
    pub(super) fn len(&self) -> usize {
        self.held.len() + self.queue.len() + self.early_count
    }

    /// How many are held for earlier ones.
    pub(super) fn held(&self) -> usize {
        self.held.len()
    }

    /// When something is to be done next.
    pub(super) fn due(&self, reorder: u64, answer: u64) -> Option<u64> {
        let held = self.arrivals.front().map(|(came, _)| came.saturating_add(reorder));
        let front = self.queue.front().and_then(|waiting| waiting.since);
        let given_up = front.map(|since| since.saturating_add(answer));
        held.into_iter().chain(given_up).min()
    }

    /// Lets through what has been held long enough, and with it whatever comes before.
    pub(super) fn release(&mut self, now: u64, reorder: u64) {
        let mut up_to: Option<Place> = None;
        while let Some(&(came, place)) = self.arrivals.front()
            && came.saturating_add(reorder) <= now
        {
            self.arrivals.pop_front();
            up_to = up_to.max(Some(place));
        }
        let Some(up_to) = up_to else { return };
        while let Some(first) = self.held.first_entry()
            && *first.key() <= up_to
        {
            let (place, piece) = first.remove_entry();
            self.through = self.through.max(Some(place));
            self.take(now, piece);
        }
    }

    /// Lets everything through.
    pub(super) fn release_all(&mut self, now: u64) {
        self.arrivals.clear();
        while let Some((place, piece)) = self.held.pop_first() {
            self.through = self.through.max(Some(place));
            self.take(now, piece);
        }
    }

    fn take(&mut self, now: u64, piece: Piece) {
        let bytes = piece.bytes();
        match piece {
            Piece::Step(step) => self.queue.push_back(Waiting { step, bytes, since: None }),
            Piece::Call(mut step) => {
                let number = self.gone + self.queue.len() as u64;
                let id = Digest::of_text(step.call_id().unwrap_or_default());
                if let Some((reply, more)) = self.early_answer(id) {
                    step.answer(reply);
                    self.queue.push_back(Waiting { step, bytes: bytes + more, since: None });
                } else {
                    self.calls.entry(id).or_default().push_back(number);
                    self.queue.push_back(Waiting { step, bytes, since: Some(now) });
                }
            }
            Piece::Answer(reply) => {
                let id = Digest::of_text(reply.call_id.as_deref().unwrap_or_default());
                let Some(calls) = self.calls.get_mut(&id) else {
                    self.early.entry(id).or_default().push_back((*reply, bytes));
                    self.early_count += 1;
                    return;
                };
                let oldest = calls.pop_front();
                if calls.is_empty() {
                    self.calls.remove(&id);
                }
                let place = oldest.and_then(|number| usize::try_from(number.checked_sub(self.gone)?).ok());
                if let Some(waiting) = place.and_then(|place| self.queue.get_mut(place)) {
                    waiting.step.answer(*reply);
                    waiting.since = None;
                    waiting.bytes += bytes;
                } else {
                    self.late_answers += 1;
                    self.bytes = self.bytes.saturating_sub(bytes);
                }
            }
        }
    }

    /// An answer to a call of this id that came before the call.
    fn early_answer(&mut self, id: Digest) -> Option<(KeptReply, usize)> {
        let answers = self.early.get_mut(&id)?;
        let first = answers.pop_front();
        if answers.is_empty() {
            self.early.remove(&id);
        }
        self.early_count -= usize::from(first.is_some());
        first
    }

    /// Calls without an answer, and answers without a call.
    pub(super) fn unpaired(&self) -> Unpaired {
        Unpaired { calls: self.given_up, messages: self.early_count as u64 }
    }

    /// The next step, where it is complete or has waited long enough.
    pub(super) fn next(&mut self, now: u64, answer: u64) -> Option<Box<Kept>> {
        let front = self.queue.front()?;
        if front.since.is_some_and(|since| since.saturating_add(answer) > now) {
            return None;
        }
        let Waiting { mut step, bytes, since } = self.queue.pop_front()?;
        self.gone += 1;
        self.bytes = self.bytes.saturating_sub(bytes);
        if since.is_some() {
            step.give_up();
            self.given_up += 1;
        }
        Some(step)
    }
}
