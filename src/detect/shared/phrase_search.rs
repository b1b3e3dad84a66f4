//! Phrases and patterns that rules look for in texts.

use std::borrow::Cow;
use std::sync::OnceLock;

use aho_corasick::packed::Searcher;
use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use regex::bytes::{Captures, NoExpand, Regex, RegexBuilder};

/// Phrases that match anywhere in a text, ignoring case.
#[derive(Debug, Clone, Default)]
pub(in crate::detect) struct Phrases {
    searcher: Option<AhoCorasick>,
    /// Whether a phrase has a non-ASCII letter with case; texts are then lower-cased before the search.
    has_case: bool,
}

impl Phrases {
    pub(in crate::detect) fn new<'p>(phrases: impl IntoIterator<Item = &'p str>) -> Self {
        let phrases: Vec<String> = phrases.into_iter().map(str::to_lowercase).collect();
        let has_case = |c: char| !c.is_ascii() && c.to_uppercase().ne([c]);
        Self { has_case: phrases.iter().any(|phrase| phrase.contains(has_case)), searcher: searcher(phrases) }
    }

    /// Returns true if the text contains one of the phrases.
    pub(in crate::detect) fn occur_in(&self, text: &str) -> bool {
        self.searcher.as_ref().is_some_and(|searcher| {
            if self.has_case { searcher.is_match(&text.to_lowercase()) } else { searcher.is_match(text) }
        })
    }
}

/// Returns a searcher for texts that ignores ASCII case and finds the leftmost, longest match. `None` if there are no
/// texts, or more than a searcher can hold.
pub(in crate::detect) fn searcher(texts: Vec<String>) -> Option<AhoCorasick> {
    if texts.is_empty() {
        return None;
    }
    AhoCorasick::builder()
        // Matches are rare, and a prefilter skips most of a text before the automaton runs, so the automaton that is
        // quick to build suffices.
        .kind(Some(AhoCorasickKind::ContiguousNFA))
        .match_kind(MatchKind::LeftmostLongest)
        .ascii_case_insensitive(true)
        .build(texts)
        .ok()
}

/// A regular expression over ASCII, compiled when it is first used. One that does not compile matches nothing.
pub(crate) struct Pattern {
    text: &'static str,
    others: &'static [&'static Self],
    compiled: OnceLock<Option<Regex>>,
}

impl Pattern {
    pub(crate) const fn new(text: &'static str) -> Self {
        Self { text, others: &[], compiled: OnceLock::new() }
    }

    /// Creates a pattern that matches where any of these does, in one pass.
    pub(crate) const fn any_of(patterns: &'static [&'static Self]) -> Self {
        Self { text: "", others: patterns, compiled: OnceLock::new() }
    }

    fn get(&self) -> Option<&Regex> {
        let text = || match self.others {
            [] => Cow::Borrowed(self.text),
            others => Cow::Owned(
                others.iter().map(|other| format!("(?:{})", other.text)).collect::<Vec<_>>().join("|"),
            ),
        };
        self.compiled.get_or_init(|| RegexBuilder::new(&text()).unicode(false).build().ok()).as_ref()
    }

    /// Returns the length of the match in bytes, if there is one. The pattern must match only at the start.
    pub(crate) fn length(&self, text: &[u8]) -> Option<usize> {
        self.get()?.find(text).map(|found| found.end())
    }

    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.get().is_some_and(|regex| regex.is_match(text.as_bytes()))
    }

    /// Returns the first group that took part in the first match.
    pub(crate) fn group<'t>(&self, text: &'t str) -> Option<&'t str> {
        let found = self.get()?.captures(text.as_bytes())?;
        let group = found.iter().skip(1).flatten().next()?;
        text.get(group.range())
    }

    /// Returns the first group of each match.
    pub(crate) fn groups<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        let found = self.get().into_iter().flat_map(|regex| regex.captures_iter(text.as_bytes()));
        found.filter_map(|found| text.get(found.get(1)?.range()))
    }

    /// Replaces each match with `#`, except matches in which a group took part.
    pub(crate) fn mask<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        let Some(regex) = self.get() else { return Cow::Borrowed(text) };
        if regex.captures_len() == 1 {
            return regex.replace_all(text, NoExpand(b"#"));
        }
        regex.replace_all(text, |found: &Captures<'_>| match (found.get(0), found.get(1)) {
            (Some(whole), Some(_)) => whole.as_bytes().to_vec(),
            _ => b"#".to_vec(),
        })
    }
}

/// A fast, case-sensitive search for parts of phrases, to skip the many texts that contain none.
#[derive(Debug)]
pub(crate) struct Hints(Option<Searcher>);

impl Hints {
    pub(crate) fn new<'p>(parts: impl IntoIterator<Item = &'p str>) -> Self {
        Self(Searcher::new(parts))
    }

    /// Returns the lines of a text that contain one of the parts; all lines if no searcher could be built.
    pub(crate) fn lines_in<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        let mut rest = text;
        std::iter::from_fn(move || {
            let at = match &self.0 {
                Some(searcher) => searcher.find(rest.as_bytes())?.start(),
                None if rest.is_empty() => return None,
                None => 0,
            };
            let (before, after) = rest.split_at_checked(at)?;
            let start = memchr::memrchr(b'\n', before.as_bytes()).map_or(0, |feed| feed + 1);
            let end = memchr::memchr(b'\n', after.as_bytes()).map_or(rest.len(), |feed| at + feed);
            let line = rest.get(start..end);
            rest = rest.get(end + 1..).unwrap_or_default();
            line
        })
    }

    /// Returns true if the bytes contain one of the parts, or if no searcher could be built.
    pub(crate) fn occur_in(&self, bytes: &[u8]) -> bool {
        self.0.as_ref().is_none_or(|searcher| searcher.find(bytes).is_some())
    }
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
        assert!(!none.occur_in("no effect"));
    }
}
