//! Phrases that are looked for in what an action brought, all of them in one pass.

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

/// Phrases that match anywhere in a text, without case.
#[derive(Debug, Clone)]
pub(super) struct Phrases {
    searcher: Option<AhoCorasick>,
}

impl Phrases {
    pub(super) fn new<'p>(phrases: impl IntoIterator<Item = &'p str>) -> Self {
        Self { searcher: searcher(phrases.into_iter().map(str::to_lowercase).collect()) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.searcher.is_none()
    }

    /// Whether one of them stands in the text.
    pub(super) fn occur_in(&self, text: &str) -> bool {
        self.searcher.as_ref().is_some_and(|searcher| searcher.is_match(&text.to_lowercase()))
    }
}

/// A searcher for texts, of which the leftmost is found, and of several there the longest. `None`: there are none, or
/// more than a searcher can hold.
pub(super) fn searcher(texts: Vec<String>) -> Option<AhoCorasick> {
    if texts.is_empty() {
        return None;
    }
    AhoCorasick::builder()
        // What is looked for is rare, and most of a text is passed over before an automaton is asked: the one that is
        // made quickly will do.
        .kind(Some(AhoCorasickKind::ContiguousNFA))
        .match_kind(MatchKind::LeftmostLongest)
        .build(texts)
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_does_not_matter_and_none_is_found_nowhere() {
        let phrases = Phrases::new(["No Effect", "Übung"]);
        for text in ["it has no effect.", "NO EFFECT", "eine übung", "ÜBUNG"] {
            assert!(phrases.occur_in(text), "{text}");
        }
        assert!(!phrases.occur_in("no  effect") && !phrases.occur_in(""));
        let none = Phrases::new([]);
        assert!(none.is_empty() && !none.occur_in("no effect"));
    }
}
