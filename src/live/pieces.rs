//! The pieces of one trace in call order, with calls and answers paired.

use std::collections::{BTreeMap, VecDeque};

use super::piece::Piece;
use crate::trace::{Digest, StepInput, Unpaired};

/// The place of a piece in call order: its time, then its order of arrival.
pub(super) type Place = (u64, u64);

/// The pieces of one trace, sorted by time, then by order of arrival.
///
/// A call is paired with the first answer with its id that no earlier call has taken. Pieces are numbered and
/// paired on arrival; [`Pieces::sort`] does both again if a piece came out of order.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    entries: BTreeMap<Place, Entry>,
    ids: BTreeMap<Digest, Waiting>,
    came: u64,
    /// The number of calls and complete steps.
    steps: u64,
    last_step: Option<Place>,
    next_turn: u64,
    /// The counts of calls without an answer and of answers without a call.
    pub(super) unpaired: Unpaired,
    must_sort: bool,
    pub(super) bytes: usize,
    pub(super) out_of_order: u64,
}

#[derive(Debug)]
struct Entry {
    piece: Piece,
    /// The index of the step in call order; unused for an answer.
    number: u64,
    /// The turn of the step; unused for an answer.
    turn: u64,
    /// The answer, if this is a call.
    answer: Option<Place>,
}

/// The unpaired calls, or the unpaired answers, with one id.
#[derive(Debug, Default)]
struct Waiting {
    calls: VecDeque<Place>,
    answers: VecDeque<Place>,
}

impl Pieces {
    /// Adds a piece with this time. Returns the place of the step that it completes, if any.
    pub(super) fn add(&mut self, time: u64, piece: Piece) -> Option<Place> {
        let place = (time, self.came);
        self.came += 1;
        self.bytes += piece.bytes();
        if self.entries.last_key_value().is_some_and(|(last, _)| *last > place) {
            self.out_of_order += 1;
            self.must_sort = true;
        }
        self.put(place, piece)
    }

    fn put(&mut self, place: Place, piece: Piece) -> Option<Place> {
        let is_last = self.last_step.is_none_or(|last| last < place);
        // A step in the middle gets its index when the pieces are sorted.
        let number = if is_last { self.steps } else { 0 };
        let turn = piece.kept().turn.unwrap_or(self.next_turn);
        let mut entry = Entry { number, turn, piece, answer: None };
        if entry.piece.is_step() {
            self.steps += 1;
            self.last_step = self.last_step.max(Some(place));
            self.next_turn = entry.turn.saturating_add(1);
        }
        let complete = match &entry.piece {
            Piece::Step(_) => Some(place),
            Piece::Call(_) => {
                let waiting = self.ids.entry(entry.piece.id()).or_default();
                entry.answer = waiting.answers.pop_front();
                if entry.answer.is_some() {
                    self.unpaired.messages -= 1;
                    Some(place)
                } else {
                    waiting.calls.push_back(place);
                    self.unpaired.calls += 1;
                    None
                }
            }
            Piece::Answer(_) => {
                let waiting = self.ids.entry(entry.piece.id()).or_default();
                let call = waiting.calls.pop_front();
                if let Some(call) = call.and_then(|call| self.entries.get_mut(&call)) {
                    call.answer = Some(place);
                    self.unpaired.calls -= 1;
                } else {
                    waiting.answers.push_back(place);
                    self.unpaired.messages += 1;
                }
                call
            }
        };
        self.entries.insert(place, entry);
        complete
    }

    /// Numbers and pairs all pieces again if one came out of order since the last time.
    pub(super) fn sort(&mut self) {
        if !self.must_sort {
            return;
        }
        let before = std::mem::take(self);
        (self.came, self.bytes, self.out_of_order) = (before.came, before.bytes, before.out_of_order);
        for (place, entry) in before.entries {
            self.put(place, entry.piece);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the step at this place with its index, or `None` if the piece is an answer.
    pub(super) fn step(&self, place: Place) -> Option<(u64, StepInput<'_>)> {
        self.input(self.entries.get(&place)?)
    }

    fn input<'p>(&'p self, entry: &'p Entry) -> Option<(u64, StepInput<'p>)> {
        let answer = entry.answer.and_then(|place| self.entries.get(&place));
        let input = entry.piece.input(answer.map(|answer| &answer.piece))?;
        Some((entry.number, input.at(entry.number).turn(entry.turn)))
    }

    /// Returns the steps in call order, with or without the calls that have no answer.
    pub(super) fn in_order(&self, with_open_calls: bool) -> impl Iterator<Item = (u64, StepInput<'_>)> {
        self.entries
            .values()
            .filter(move |entry| {
                with_open_calls || entry.answer.is_some() || matches!(entry.piece, Piece::Step(_))
            })
            .filter_map(|entry| self.input(entry))
    }

    /// Returns the pieces with their times, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &Piece)> {
        self.entries.iter().map(|((time, _), entry)| (*time, &entry.piece))
    }

    pub(super) fn into_pieces(self) -> Vec<(u64, Piece)> {
        self.entries.into_iter().map(|((time, _), entry)| (time, entry.piece)).collect()
    }

    /// Adds the pieces of another part of the same trace without counting them as out of order.
    pub(super) fn append(&mut self, pieces: impl IntoIterator<Item = (u64, Piece)>) {
        let before = self.out_of_order;
        for (time, piece) in pieces {
            self.add(time, piece);
        }
        self.out_of_order = before;
    }
}
