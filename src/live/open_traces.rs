//! The open and parked traces, ordered by due time and by silence, with their sizes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::open_trace::OpenTrace;

#[derive(Debug, Default)]
pub(super) struct Slots {
    pub(super) traces: BTreeMap<Arc<str>, Slot>,
    due: BTreeSet<(u64, Arc<str>)>,
    pub(super) open: Share,
    pub(super) parked: Share,
    turns: u64,
}

#[derive(Debug)]
pub(super) struct Slot {
    pub(super) state: State,
    pub(super) due: u64,
    /// The rank of its last change among the changes of all traces.
    turn: u64,
    bytes: usize,
    pub(super) pieces: u64,
}

#[derive(Debug)]
pub(super) enum State {
    Open(Box<OpenTrace>),
    Parked(Box<[u8]>),
}

/// The order and totals of the open traces, or of the parked ones.
#[derive(Debug, Default)]
pub(super) struct Share {
    /// Ordered by turn, so the first has been silent longest.
    silent: BTreeSet<(u64, Arc<str>)>,
    pub(super) bytes: usize,
    pub(super) pieces: u64,
}

/// An estimate of the bytes of a slot and of its entries in maps and sets.
const SLOT_BYTES: usize = size_of::<Slot>() + 160;

impl Slots {
    /// Returns the stored id of a trace, to share its text.
    pub(super) fn id(&self, trace: &str) -> Option<Arc<str>> {
        self.traces.get_key_value(trace).map(|(id, _)| Arc::clone(id))
    }

    pub(super) fn first(&self) -> Option<Arc<str>> {
        self.traces.first_key_value().map(|(id, _)| Arc::clone(id))
    }

    /// Returns the trace that has been due longest, if any is due by this time.
    pub(super) fn due_by(&self, now: u64) -> Option<Arc<str>> {
        self.due.first().filter(|(due, _)| *due <= now).map(|(_, id)| Arc::clone(id))
    }

    pub(super) fn bytes(&self) -> usize {
        self.open.bytes + self.parked.bytes
    }

    /// Adds a trace with this many pieces, as the one that changed last. It is not due until [`Slots::set_due`].
    pub(super) fn insert(&mut self, id: &Arc<str>, state: State, pieces: u64) {
        self.turns += 1;
        let slot = Slot { bytes: state.memory(id), state, due: u64::MAX, turn: self.turns, pieces };
        let share = slot.state.share(&mut self.open, &mut self.parked);
        share.silent.insert((slot.turn, Arc::clone(id)));
        share.bytes += slot.bytes;
        share.pieces = share.pieces.saturating_add(pieces);
        self.due.insert((slot.due, Arc::clone(id)));
        self.traces.insert(Arc::clone(id), slot);
    }

    pub(super) fn remove(&mut self, id: &Arc<str>) -> Option<Slot> {
        let slot = self.traces.remove(id)?;
        self.due.remove(&(slot.due, Arc::clone(id)));
        let share = slot.state.share(&mut self.open, &mut self.parked);
        share.silent.remove(&(slot.turn, Arc::clone(id)));
        share.bytes -= slot.bytes;
        share.pieces = share.pieces.saturating_sub(slot.pieces);
        Some(slot)
    }

    pub(super) fn set_due(&mut self, id: &Arc<str>, due: u64) {
        let Some(slot) = self.traces.get_mut(id) else { return };
        if due != slot.due {
            self.due.remove(&(slot.due, Arc::clone(id)));
            self.due.insert((due, Arc::clone(id)));
            slot.due = due;
        }
    }

    /// Counts new pieces of a trace, which makes it the one that changed last.
    pub(super) fn came(&mut self, now: u64, id: &Arc<str>, pieces: u64) {
        self.turns += 1;
        let Some(slot) = self.traces.get_mut(id) else { return };
        let share = slot.state.share(&mut self.open, &mut self.parked);
        share.silent.remove(&(slot.turn, Arc::clone(id)));
        share.silent.insert((self.turns, Arc::clone(id)));
        share.pieces = share.pieces.saturating_add(pieces);
        slot.turn = self.turns;
        slot.pieces = slot.pieces.saturating_add(pieces);
        if let State::Open(open) = &mut slot.state {
            open.last = now;
        }
    }

    /// Changes an open trace and measures it again. Returns `None` if it is not open.
    pub(super) fn change<T>(&mut self, id: &Arc<str>, change: impl FnOnce(&mut OpenTrace) -> T) -> Option<T> {
        let slot = self.traces.get_mut(id)?;
        let State::Open(open) = &mut slot.state else { return None };
        let changed = change(open);
        let bytes = slot.state.memory(id);
        self.open.bytes = self.open.bytes - slot.bytes + bytes;
        slot.bytes = bytes;
        Some(changed)
    }
}

impl Share {
    pub(super) fn len(&self) -> usize {
        self.silent.len()
    }

    pub(super) fn longest_silent(&self) -> Option<Arc<str>> {
        self.silent.first().map(|(_, id)| Arc::clone(id))
    }
}

impl State {
    /// Returns an estimate of the bytes of a trace, with its slot and id.
    fn memory(&self, id: &str) -> usize {
        let own = match self {
            Self::Open(open) => open.memory(),
            Self::Parked(parked) => parked.len(),
        };
        own + SLOT_BYTES + id.len()
    }

    fn share<'s>(&self, open: &'s mut Share, parked: &'s mut Share) -> &'s mut Share {
        match self {
            Self::Open(_) => open,
            Self::Parked(_) => parked,
        }
    }

    pub(super) fn into_open(self) -> OpenTrace {
        match self {
            Self::Open(open) => *open,
            Self::Parked(parked) => OpenTrace::unpacked(&parked),
        }
    }
}
