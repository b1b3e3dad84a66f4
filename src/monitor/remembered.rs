//! The traces that were closed a while ago, so that what comes too late is known to be late.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The ids of closed traces, the latest of them, with how much came too late for each.
#[derive(Debug)]
pub(super) struct Remembered {
    most: usize,
    late: BTreeMap<Arc<str>, u64>,
    order: VecDeque<Arc<str>>,
}

impl Remembered {
    pub(super) fn new(most: usize) -> Self {
        Self { most, late: BTreeMap::new(), order: VecDeque::new() }
    }

    pub(super) fn insert(&mut self, trace: Arc<str>) {
        if self.most == 0 {
            return;
        }
        if self.late.insert(Arc::clone(&trace), 0).is_none() {
            self.order.push_back(trace);
        }
        while self.order.len() > self.most {
            if let Some(oldest) = self.order.pop_front() {
                self.late.remove(&oldest);
            }
        }
    }

    /// Counts pieces that came for this trace. `None`: the trace is not known to have been closed; otherwise its id,
    /// and how much has come.
    pub(super) fn count(&mut self, trace: &str, pieces: u64) -> Option<(Arc<str>, u64)> {
        let id = self.late.get_key_value(trace).map(|(id, _)| Arc::clone(id))?;
        let count = self.late.get_mut(trace)?;
        *count += pieces;
        Some((id, *count))
    }

    /// The traces for which something came too late, and how much.
    pub(super) fn late(&self) -> impl Iterator<Item = (&str, u64)> {
        self.late.iter().filter(|(_, count)| **count > 0).map(|(trace, count)| (&**trace, *count))
    }
}
