//! Scores of yes/no answers against labels.
//!
//! ```text
//! precision = tp / (tp + fp)    recall = tp / (tp + fn)    F1 = 2tp / (2tp + fp + fn)
//! ```
//!
//! References: van Rijsbergen, "Information Retrieval" (1979), chapter 7; for the percentile bootstrap of F1, Efron,
//! "Bootstrap methods: another look at the jackknife", Ann. Statist. 7 (1979). Oracle: the definitions, and
//! `scipy.stats.bootstrap`.

use serde::Serialize;

use super::interval::Interval;
use super::quantile::without_tails;
use super::ratio;
use super::rng::Rng;

/// A yes/no answer with its true label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Outcome {
    /// The true label.
    pub label: bool,
    /// The answer.
    pub predicted: bool,
}

/// How many yes/no answers were right and wrong, by label.
///
/// ```
/// use wrongturn::stats::{Confusion, Outcome};
///
/// let outcomes = [(true, true), (true, true), (true, false), (false, true), (false, false)];
/// let confusion: Confusion =
///     outcomes.into_iter().map(|(label, predicted)| Outcome { label, predicted }).collect();
/// assert_eq!((confusion.tp, confusion.fp, confusion.fn_, confusion.tn), (2, 1, 1, 1));
/// assert_eq!(confusion.f1(), Some(2.0 / 3.0));
/// // A share of nothing is undefined, neither 0 nor NaN.
/// assert_eq!(Confusion::default().precision(), None);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize)]
pub struct Confusion {
    /// Label yes, answer yes.
    pub tp: u64,
    /// Label no, answer yes.
    pub fp: u64,
    /// Label yes, answer no.
    #[serde(rename = "fn")]
    pub fn_: u64,
    /// Label no, answer no.
    pub tn: u64,
}

impl Confusion {
    /// Returns the number of outcomes. The sum saturates.
    #[must_use]
    pub fn n(&self) -> u64 {
        self.positives().saturating_add(self.negatives())
    }

    /// Returns the share of yes answers that are right, or `None` without yes answers.
    #[must_use]
    pub fn precision(&self) -> Option<f64> {
        ratio(self.tp, self.tp.saturating_add(self.fp))
    }

    /// Returns the share of yes labels that were answered yes, or `None` without yes labels.
    #[must_use]
    pub fn recall(&self) -> Option<f64> {
        ratio(self.tp, self.positives())
    }

    /// Returns F1, the harmonic mean of precision and recall. It is 0 if just one of them is undefined, and
    /// `None` if both are.
    #[must_use]
    pub fn f1(&self) -> Option<f64> {
        let (labelled, predicted) = (self.positives(), self.tp.saturating_add(self.fp));
        ratio(self.tp.saturating_mul(2), labelled.saturating_add(predicted))
    }

    /// Returns the confusion matrix of always answering yes on the same labels.
    #[must_use]
    pub fn always_fire(&self) -> Self {
        Self { tp: self.positives(), fp: self.negatives(), fn_: 0, tn: 0 }
    }

    /// Returns the confusion matrix of always answering no on the same labels.
    #[must_use]
    pub fn never_fire(&self) -> Self {
        Self { tp: 0, fp: 0, fn_: self.positives(), tn: self.negatives() }
    }

    fn positives(&self) -> u64 {
        self.tp.saturating_add(self.fn_)
    }

    fn negatives(&self) -> u64 {
        self.fp.saturating_add(self.tn)
    }
}

impl FromIterator<Outcome> for Confusion {
    fn from_iter<I: IntoIterator<Item = Outcome>>(outcomes: I) -> Self {
        let mut confusion = Self::default();
        for outcome in outcomes {
            let cell = match (outcome.label, outcome.predicted) {
                (true, true) => &mut confusion.tp,
                (false, true) => &mut confusion.fp,
                (true, false) => &mut confusion.fn_,
                (false, false) => &mut confusion.tn,
            };
            *cell = cell.saturating_add(1);
        }
        confusion
    }
}

/// A bootstrap interval, with the number of resamples.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct BootstrapInterval {
    /// The interval; `None` if the statistic was undefined on every resample.
    pub interval: Option<Interval>,
    /// The number of resamples drawn.
    pub resamples: usize,
    /// The number of resamples on which the statistic was undefined. The interval excludes them.
    pub undefined: usize,
}

/// Returns the 95% percentile bootstrap interval of F1.
///
/// The result depends on the order of `outcomes`, so callers must pass them in a stable order. Resamples with
/// neither a yes label nor a yes answer have no F1 and are counted as undefined.
#[must_use]
pub fn f1_bootstrap(outcomes: &[Outcome], resamples: usize, seed: u64) -> BootstrapInterval {
    let mut rng = Rng::new(seed);
    let mut resample =
        || -> Confusion { (0..outcomes.len()).filter_map(|_| rng.pick(outcomes)).copied().collect() };
    let values: Vec<f64> = (0..resamples).filter_map(|_| resample().f1()).collect();
    let undefined = resamples - values.len();
    BootstrapInterval { interval: without_tails(values, 0.025), resamples, undefined }
}

#[cfg(test)]
mod tests {
    use super::super::assert_close;
    use super::*;

    fn confusion(tp: u64, fp: u64, fn_: u64, tn: u64) -> Confusion {
        Confusion { tp, fp, fn_, tn }
    }

    #[test]
    fn a_zero_denominator_is_undefined() {
        let empty = Confusion::default();
        assert_eq!((empty.precision(), empty.recall(), empty.f1()), (None, None, None));
        let only_negatives = confusion(0, 0, 0, 5);
        assert_eq!(only_negatives.f1(), None);
        let only_alarms = confusion(0, 5, 0, 0);
        assert_eq!(only_alarms.precision(), Some(0.0));
        assert_eq!((only_alarms.recall(), only_alarms.f1()), (None, Some(0.0)));
        let only_misses = confusion(0, 0, 5, 0);
        assert_eq!(only_misses.precision(), None);
        assert_eq!((only_misses.recall(), only_misses.f1()), (Some(0.0), Some(0.0)));
    }

    #[test]
    fn baselines_keep_the_labels() {
        let scores = confusion(6, 2, 4, 1);
        assert_eq!(scores.always_fire(), confusion(10, 3, 0, 0));
        assert_eq!(scores.never_fire(), confusion(0, 0, 10, 3));
        let balanced = confusion(9, 0, 1, 10);
        assert_close(balanced.always_fire().f1().unwrap(), 2.0 / 3.0, 0.0);
        assert_eq!(balanced.never_fire().f1(), Some(0.0));
    }

    #[test]
    fn serializes_fn_under_its_name() {
        let json = serde_json::to_string(&confusion(6, 2, 4, 1)).unwrap();
        assert_eq!(json, r#"{"tp":6,"fp":2,"fn":4,"tn":1}"#);
    }
}
