//! The agent's last words: whether it ends by reporting a failure.

use std::sync::LazyLock;

use crate::detect::shared::{Phrases, words};

/// Words with which an agent says that it could not do something, in lower case.
#[rustfmt::skip]
static CONFESSES: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(["unable", "not able", "cannot", "can't", "can’t",
    "could not", "couldn't", "couldn’t", "failed", "unsuccessful", "not successful", "not available", "not installed",
    "blocked", "denied", "rejected", "your approval", "please approve", "require approval", "requires approval"]));

/// Words that name a check, or the code that it runs.
static CHECKS: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::new(["test", "build", "built", "check", "compil", "verif", "lint", "execut", " run"])
});

/// Words with which an agent says that a failure is over.
static OVER: LazyLock<Phrases> =
    LazyLock::new(|| Phrases::new(["fixed", "resolved", "no longer", " now ", "passes", "all tests pass"]));

/// Whether the agent's words since its last call report a failure.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct LastWords {
    /// Whether they say that something could not be done.
    pub(super) admit: bool,
    /// Whether the last of them say in one sentence that a check failed, and not that it passes now.
    pub(super) admit_check: bool,
}

impl LastWords {
    pub(super) fn add(&mut self, text: &str) {
        // `5 passed, 0 failed` admits nothing.
        let text = text.replace(" 0 failed", "");
        self.admit |= CONFESSES.occur_in(&text);
        let mut sentences = text.split(['\n', '!', '?', ';']).flat_map(|line| line.split(". "));
        self.admit_check =
            sentences.any(|told| CONFESSES.occur_in(told) && CHECKS.occur_in(told) && !OVER.occur_in(told));
    }
}

/// Returns true if a tool ends the run, and its arguments are the agent's last words: `finish`, `attempt_completion`.
pub(super) fn ends_run(name: &str) -> bool {
    let is_end = |word: &str| {
        ["completion", "done", "finish", "terminate"].iter().any(|end| word.eq_ignore_ascii_case(end))
    };
    words(name).last().is_some_and(is_end)
}
