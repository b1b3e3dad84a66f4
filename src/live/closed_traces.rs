//! Recently closed traces, to recognise late pieces.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Bytes allowed per id: the total length of the ids is at most this times `most`.
const ID_BYTES: usize = 64;

/// The ids of the traces that were closed last, each with its number of late pieces.
#[derive(Debug)]
pub(super) struct Remembered {
    most: usize,
    late: BTreeMap<Arc<str>, u64>,
    order: VecDeque<Arc<str>>,
    /// The total length of the ids, in bytes.
    bytes: usize,
}

impl Remembered {
    pub(super) fn new(most: usize) -> Self {
        Self { most, late: BTreeMap::new(), order: VecDeque::new(), bytes: 0 }
    }

    /// Remembers a closed trace, and adds to its number of late pieces. Forgets the oldest beyond the limits.
    pub(super) fn insert(&mut self, trace: Arc<str>, late: u64) {
        let count = self.late.entry(Arc::clone(&trace)).or_insert_with(|| {
            self.bytes += trace.len();
            self.order.push_back(trace);
            0
        });
        *count = count.saturating_add(late);
        while self.order.len() > self.most || self.bytes > self.most.saturating_mul(ID_BYTES) {
            let Some(oldest) = self.order.pop_front() else { break };
            self.bytes -= oldest.len();
            self.late.remove(&oldest);
        }
    }

    /// Counts late pieces of this trace. Returns its id and their total, or `None` if it is not
    /// remembered.
    pub(super) fn count(&mut self, trace: &str, pieces: u64) -> Option<(Arc<str>, u64)> {
        let id = self.late.get_key_value(trace).map(|(id, _)| Arc::clone(id))?;
        let count = self.late.get_mut(trace)?;
        *count = count.saturating_add(pieces);
        Some((id, *count))
    }

    /// Returns the traces in the order in which they closed, each with its number of late pieces.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.order.iter().map(|trace| (&**trace, self.late.get(trace).copied().unwrap_or_default()))
    }

    /// Returns the traces with late pieces, each with the number of these pieces, sorted by id.
    pub(super) fn late(&self) -> impl Iterator<Item = (&str, u64)> {
        self.late.iter().filter(|(_, count)| **count > 0).map(|(trace, count)| (&**trace, *count))
    }
}
