//! How well predicted ranges match labelled ones.
//!
//! ```text
//! J(A, B) = |A ∩ B| / |A ∪ B|
//! similarity = mean over predictions P of max over labels L of J(P, L)
//! recall     = mean over labels L of max over predictions P of J(P, L)
//! ```
//!
//! Ranges include both ends: `5..=5` holds one number.
//!
//! Reference: Jaccard, "The distribution of the flora in the alpine zone", New Phytologist 11
//! (1912); the two means are those of BenchTrace, section 3.3.1.

use std::ops::RangeInclusive;

use super::mean;

/// Returns the Jaccard index of two ranges, or 0 if both are empty. A range whose start exceeds its end is
/// empty.
///
/// ```
/// use wrongturn::stats::jaccard;
///
/// assert_eq!(jaccard(&(0..=9), &(5..=9)), 0.5);
/// ```
#[must_use]
pub fn jaccard<N: Copy + Ord + Into<i128>>(a: &RangeInclusive<N>, b: &RangeInclusive<N>) -> f64 {
    let overlap = length(*a.start().max(b.start()), *a.end().min(b.end()));
    let union = length(*a.start(), *a.end()) + length(*b.start(), *b.end()) - overlap;
    if union > 0.0 { overlap / union } else { 0.0 }
}

/// Returns the mean over `predicted` of the best Jaccard index with a labelled range.
///
/// Returns `None` if no range is predicted, and 0 if ranges are predicted but none is labelled.
///
/// ```
/// use wrongturn::stats::{localization_recall, localization_similarity};
///
/// let (predicted, labelled) = ([0..=9, 50..=59], [5..=9]);
/// assert_eq!(localization_similarity(&predicted, &labelled), Some(0.25));
/// assert_eq!(localization_recall(&predicted, &labelled), Some(0.5));
/// ```
#[must_use]
pub fn localization_similarity<N: Copy + Ord + Into<i128>>(
    predicted: &[RangeInclusive<N>],
    labelled: &[RangeInclusive<N>],
) -> Option<f64> {
    let best = |range| labelled.iter().map(|other| jaccard(range, other)).fold(0.0, f64::max);
    mean(predicted.iter().map(best))
}

/// Returns the mean over `labelled` of the best Jaccard index with a predicted range.
///
/// Returns `None` if no range is labelled, and 0 if ranges are labelled but none is predicted.
/// [`localization_similarity`] has an example of both.
#[must_use]
pub fn localization_recall<N: Copy + Ord + Into<i128>>(
    predicted: &[RangeInclusive<N>],
    labelled: &[RangeInclusive<N>],
) -> Option<f64> {
    // The same mean, with the sides swapped.
    localization_similarity(labelled, predicted)
}

/// Returns how many numbers lie from `first` to `last`, both included.
#[expect(clippy::cast_precision_loss, reason = "lengths above 2^53 are rounded")]
fn length(first: impl Into<i128>, last: impl Into<i128>) -> f64 {
    let steps = last.into().saturating_sub(first.into());
    if steps < 0 { 0.0 } else { steps as f64 + 1.0 }
}

#[cfg(test)]
mod tests {
    use super::super::assert_close;
    use super::*;

    #[test]
    fn both_ends_belong_to_a_range() {
        assert_close(jaccard(&(5..=5), &(5..=5)), 1.0, 0.0);
        assert_close(jaccard(&(2..=5), &(4..=9)), 2.0 / 8.0, 0.0);
        assert_close(jaccard(&(2..=5), &(5..=6)), 1.0 / 5.0, 0.0);
        assert_close(jaccard(&(2..=5), &(6..=9)), 0.0, 0.0);
        assert_close(jaccard(&(0..=9), &(3..=4)), 0.2, 0.0);
    }

    #[test]
    fn similarity_and_recall_average_over_different_sides() {
        let predicted = [0..=4, 10..=11, 30..=39];
        let labelled = [0..=3, 10..=13];
        // Best per prediction: 4/5, 2/4, 0. Best per label: 4/5, 2/4.
        let similarity = localization_similarity(&predicted, &labelled);
        assert_close(similarity.unwrap(), 1.3 / 3.0, 1e-15);
        assert_close(localization_recall(&predicted, &labelled).unwrap(), 0.65, 1e-15);
    }

    #[test]
    fn empty_sides() {
        let ranges = [1..=2];
        assert_eq!(localization_similarity(&[], &ranges), None);
        assert_eq!(localization_recall(&[], &ranges), Some(0.0));
        assert_eq!(localization_similarity(&ranges, &[]), Some(0.0));
        assert_eq!(localization_recall(&ranges, &[]), None);
    }
}
