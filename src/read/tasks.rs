//! The tasks that a file lists beside its runs, and the lists that files read before had.
//!
//! Files of one domain mostly list the same tasks, to the byte: what is known of a list need not be read again.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use crate::json::Json;
use crate::trace::{Digest, DigestMap, Routing};

/// The tasks of a file.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    /// The routes by the digests of the tasks' ids.
    pub(super) routes: DigestMap<Routing>,
    /// Whether one of the routes compares single arguments.
    pub(super) looks_inside: bool,
}

/// How many lists are kept. Every list is held against each of them.
const MOST_LISTS: usize = 16;

/// How long a list that is kept may be, in bytes.
const LONGEST_LIST: usize = 512 << 10;

/// Lists of tasks as they stood in files, with what was read of them. They belong to one scanner, whose options do not
/// change.
#[derive(Debug, Default)]
pub(crate) struct KnownTasks {
    lists: RwLock<Vec<Known>>,
    /// The digests of the lists that were read last, as far as those were not known. To copy a list takes long beside
    /// reading it, and is left until it comes again.
    once: Mutex<VecDeque<Digest>>,
}

#[derive(Debug)]
struct Known {
    text: Box<[u8]>,
    tasks: Arc<Tasks>,
}

impl KnownTasks {
    /// Passes over a list that comes next, if it is known.
    pub(super) fn pass(&self, json: &mut Json<'_>) -> Option<Arc<Tasks>> {
        let lists = self.lists.read().unwrap_or_else(PoisonError::into_inner);
        lists.iter().find(|known| json.passes_again(&known.text)).map(|known| Arc::clone(&known.tasks))
    }

    /// Whether a list with this digest was read not long ago.
    fn is_second(&self, digest: Digest) -> bool {
        let mut once = self.once.lock().unwrap_or_else(PoisonError::into_inner);
        if once.contains(&digest) {
            return true;
        }
        if once.len() == MOST_LISTS {
            once.pop_front();
        }
        once.push_back(digest);
        false
    }

    /// Keeps a list that was read, if it is not the first time; where there are many, instead of the oldest.
    pub(super) fn keep(&self, text: &[u8], tasks: &Arc<Tasks>) {
        if text.len() > LONGEST_LIST || !self.is_second(Digest::of_spelling(text)) {
            return;
        }
        let known = Known { text: text.into(), tasks: Arc::clone(tasks) };
        let mut lists = self.lists.write().unwrap_or_else(PoisonError::into_inner);
        // Threads may read the same list at the same time.
        if lists.iter().any(|other| other.text == known.text) {
            return;
        }
        let oldest = (lists.len() == MOST_LISTS).then(|| lists.remove(0));
        lists.push(known);
        drop(lists);
        // To give up what was read of a list takes a while: nobody waits for that.
        drop(oldest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_that_came_last_are_passed_over() {
        let known = KnownTasks::default();
        let list = |number: usize| format!("[{number}]");
        for number in 0..3 * MOST_LISTS {
            known.keep(list(number).as_bytes(), &Arc::default());
            assert!(known.pass(&mut Json::new(list(number).as_bytes())).is_none(), "{number}, read once");
            known.keep(list(number).as_bytes(), &Arc::default());
        }
        for number in 0..4 * MOST_LISTS {
            let text = list(number) + ", 1]";
            let mut json = Json::new(text.as_bytes());
            let passed = known.pass(&mut json).is_some();
            assert_eq!(passed, (2 * MOST_LISTS..3 * MOST_LISTS).contains(&number), "{number}");
            assert_eq!(json.offset(), if passed { list(number).len() } else { 0 });
        }
        let long = format!("[{}]", " ".repeat(LONGEST_LIST));
        known.keep(long.as_bytes(), &Arc::default());
        known.keep(long.as_bytes(), &Arc::default());
        assert!(known.pass(&mut Json::new(long.as_bytes())).is_none());
        assert!(known.pass(&mut Json::new(list(3 * MOST_LISTS - 1).as_bytes())).is_some());
    }
}
