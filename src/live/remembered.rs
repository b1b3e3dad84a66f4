//! The traces that were closed a while ago, by which late pieces are recognised.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// How many bytes an id may take on average.
const ID_BYTES: usize = 64;

/// The ids of the traces that were closed last, with how much came too late for each.
#[derive(Debug)]
pub(super) struct Remembered {
    most: usize,
    late: BTreeMap<Arc<str>, u64>,
    order: VecDeque<Arc<str>>,
    /// The lengths of all ids.
    bytes: usize,
}

impl Remembered {
    pub(super) fn new(most: usize) -> Self {
        Self { most, late: BTreeMap::new(), order: VecDeque::new(), bytes: 0 }
    }

    /// Remembers a closed trace for which so many pieces were late.
    pub(super) fn insert(&mut self, trace: Arc<str>, late: u64) {
        let count = self.late.entry(Arc::clone(&trace)).or_insert_with(|| {
            self.bytes += trace.len();
            self.order.push_back(trace);
            0
        });
        *count += late;
        while self.order.len() > self.most || self.bytes > self.most.saturating_mul(ID_BYTES) {
            let Some(oldest) = self.order.pop_front() else { break };
            self.bytes -= oldest.len();
            self.late.remove(&oldest);
        }
    }

    /// Counts pieces that came for this trace. `None`: the trace is not known to have been closed; otherwise its id and
    /// how much has come.
    pub(super) fn count(&mut self, trace: &str, pieces: u64) -> Option<(Arc<str>, u64)> {
        let id = self.late.get_key_value(trace).map(|(id, _)| Arc::clone(id))?;
        let count = self.late.get_mut(trace)?;
        *count += pieces;
        Some((id, *count))
    }

    /// Returns the traces, the one that was closed first at the front, each with what was late for it.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.order.iter().map(|trace| (&**trace, self.late.get(trace).copied().unwrap_or_default()))
    }

    /// Returns the traces for which something came too late, and how much.
    pub(super) fn late(&self) -> impl Iterator<Item = (&str, u64)> {
        self.late.iter().filter(|(_, count)| **count > 0).map(|(trace, count)| (&**trace, *count))
    }
}
