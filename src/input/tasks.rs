//! The tasks that a file lists beside its runs, and the lists that files read before had.
//!
//! All files of a domain list the same tasks, to the byte: what is known of a list need not be read again.

use std::sync::{Arc, PoisonError, RwLock};

use crate::json::Json;
use crate::trace::{DigestMap, Routing};

/// The tasks of a file.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    /// The routes by the digests of the tasks' ids.
    pub(super) routes: DigestMap<Routing>,
    /// Whether one of the routes compares single arguments.
    pub(super) looks_inside: bool,
}

/// How long all lists that are kept may be together, in bytes.
const MOST_KEPT: usize = 4 << 20;

/// Lists of tasks as they stood in files, with what was read of them. All are read with the same options.
#[derive(Debug, Default)]
pub(crate) struct KnownTasks {
    lists: RwLock<Vec<Known>>,
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

    /// Keeps a list that was read, instead of the oldest where there are many.
    pub(super) fn keep(&self, text: &[u8], tasks: &Arc<Tasks>) {
        if text.len() > MOST_KEPT {
            return;
        }
        let known = Known { text: text.into(), tasks: Arc::clone(tasks) };
        let mut lists = self.lists.write().unwrap_or_else(PoisonError::into_inner);
        // Threads may read the same list at the same time.
        if lists.iter().any(|other| other.text == known.text) {
            return;
        }
        lists.push(known);
        let mut kept: usize = lists.iter().map(|known| known.text.len()).sum();
        while kept > MOST_KEPT {
            kept -= lists.remove(0).text.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_that_came_last_are_passed_over() {
        let known = KnownTasks::default();
        let list = |number: usize| format!("[{number}{}]", " ".repeat(1 << 20));
        for number in 0..8 {
            known.keep(list(number).as_bytes(), &Arc::default());
            known.keep(list(number).as_bytes(), &Arc::default());
        }
        for number in 0..9 {
            let text = list(number) + ", 1]";
            let mut json = Json::new(text.as_bytes());
            let passed = known.pass(&mut json).is_some();
            assert_eq!(passed, (5..8).contains(&number), "{number}");
            assert_eq!(json.offset(), if passed { list(number).len() } else { 0 });
        }
        known.keep(" ".repeat(MOST_KEPT + 1).as_bytes(), &Arc::default());
        assert!(known.pass(&mut Json::new(list(7).as_bytes())).is_some());
    }
}
