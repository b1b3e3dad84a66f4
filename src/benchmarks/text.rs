//! Text comparison: normalization and token overlap.

use std::collections::BTreeMap;

use crate::stats::float;
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

/// Trims and lower-cases a text; returns an empty one for `None`.
pub(super) fn norm(text: Option<&str>) -> String {
    text.unwrap_or_default().trim().to_lowercase()
}

pub(super) fn first_word(text: &str) -> Option<&str> {
    text.split_whitespace().next()
}

/// Returns the F1 score of two texts' tokens, compared as multisets; 0 if they share none.
///
/// A token is a maximal run of letters, numbers (general categories L and N) and underscores in the
/// lower-cased text.
///
/// ```
/// use wrongturn::benchmarks::token_f1;
///
/// // 3 of 4 predicted tokens are right, 3 of 3 are found.
/// assert_eq!(token_f1("c b a a", "a b c"), 2.0 * 0.75 / 1.75);
/// ```
#[must_use]
pub fn token_f1(predicted: &str, gold: &str) -> f64 {
    let (predicted, gold) = (tokens(predicted), tokens(gold));
    let shared: u64 =
        predicted.iter().map(|(token, count)| gold.get(token).map_or(0, |other| *count.min(other))).sum();
    if shared == 0 {
        return 0.0;
    }
    let all = |tokens: &BTreeMap<String, u64>| float(tokens.values().sum());
    let precision = float(shared) / all(&predicted);
    let recall = float(shared) / all(&gold);
    2.0 * precision * recall / (precision + recall)
}

fn tokens(text: &str) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    let lower = text.to_lowercase();
    for token in lower.split(|c| !is_word(c)).filter(|token| !token.is_empty()) {
        *counts.entry(token.to_owned()).or_default() += 1;
    }
    counts
}

fn is_word(c: char) -> bool {
    let group = || c.general_category_group();
    c == '_' || matches!(group(), GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number)
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "exact by definition")]
mod tests {
    use super::*;

    #[test]
    fn only_ends_and_case_are_normalized() {
        assert_eq!(norm(Some("\u{a0}\tTake  the LAMP.\n")), "take  the lamp.");
        assert_eq!(norm(Some("ΟΔΟΣ")), "οδος");
        assert_eq!(norm(None), "");
        assert_eq!(first_word("take  lamp"), Some("take"));
        assert_eq!(first_word(" "), None);
    }

    #[test]
    fn tokens_are_letters_numbers_and_underscores() {
        let found: Vec<(String, u64)> =
            tokens("Don't — U.S. x_1 ½ naïve naive\u{301} ⓐ").into_iter().collect();
        let expected =
            [("don", 1), ("naive", 1), ("naïve", 1), ("s", 1), ("t", 1), ("u", 1), ("x_1", 1), ("½", 1)];
        assert_eq!(found, expected.map(|(token, count)| (token.to_owned(), count)));
    }

    #[test]
    fn texts_without_a_shared_token_score_0() {
        for (predicted, gold) in [("", "a"), ("a", ""), ("", ""), ("a", "b"), ("...", "...")] {
            assert_eq!(token_f1(predicted, gold), 0.0, "{predicted} {gold}");
        }
    }
}
