//! The agent's last words: whether it ends by reporting a failure.

use std::sync::LazyLock;

use crate::detect::shared::{Pattern, Phrases, words};

/// Words with which an agent says that it could not do something, in lower case. Agents answer in the user's language.
#[rustfmt::skip]
static CONFESSES: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(["unable", "not able", "cannot", "can't", "can’t",
    "could not", "couldn't", "couldn’t", "failed", "unsuccessful", "not successful", "not available", "not installed",
    "blocked", "denied", "rejected", "your approval", "please approve", "require approval", "requires approval",
    "échou", "impossible de", "pas pu ", "fehlgeschlagen", "konnte nicht", "no se pudo", "no pude", "não foi possível", "falhou",
    "не удалось", "失败", "无法", "失敗", "できません", "실패"]));

/// A sentence that says that a check failed, or that the work could not be checked.
static CHECK_FAILED: Pattern = Pattern::new(
    r"(?i)\b(?:tests?|builds?|suites?|lint\w*|compil\w+)\b.{0,60}?\b(?:fail(?:s|ed|ing|ures?)?\b|(?:not|n't|n’t) pass)|\b(?:could not|couldn(?:'|’)t|cannot|can(?:'|’)t) be (?:verified|built|compiled|run|tested|executed)\b|\bunable to (?:verify|build|compile|run)\b|\b(?:run|tests?|build) (?:is|are|was|were) blocked\b",
);

/// Words in the same sentence that say the opposite.
static NONE_FAILED: Pattern = Pattern::new(r"(?i)\b(?:no|none|0|zero|fixed|first|initially|before)\b");

/// A sentence that says that all is well.
static ALL_PASS: Pattern = Pattern::new(
    r"(?i)\ball (?:\w+ ){0,2}?(?:tests|checks) (?:now )?pass|\bnow pass|\bpass(?:es)? now\b|\beverything works\b|\ball good\b",
);

/// Whether the agent's words since its last call report a failure.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct LastWords {
    /// Whether they say that something could not be done.
    pub(super) admit: bool,
    /// Whether the last message among them says in one sentence that a check failed, and nowhere that all pass.
    pub(super) admit_check: bool,
}

impl LastWords {
    /// Adds a message, or the arguments of the call that ends the run.
    pub(super) fn add(&mut self, text: &str, any_check_failed: bool) {
        // `5 passed, 0 failed` admits nothing.
        let text = text.replace(" 0 failed", "");
        self.admit |= CONFESSES.occur_in(&text);
        let mut sentences = text.split(['\n', '!', '?', ';']).flat_map(|line| line.split(". "));
        let admits = |words: &str| CHECK_FAILED.is_match(words) && !NONE_FAILED.is_match(words);
        self.admit_check = any_check_failed && sentences.any(admits) && !ALL_PASS.is_match(&text);
    }
}

/// Returns true if a tool ends the run, and its arguments are the agent's last words: `finish`, `attempt_completion`.
pub(super) fn ends_run(name: &str) -> bool {
    let is_end = |word: &str| {
        ["completion", "done", "finish", "terminate"].iter().any(|end| word.eq_ignore_ascii_case(end))
    };
    words(name).last().is_some_and(is_end)
}
