//! The formulas of this crate: correlation, intervals, classification scores, pass^k.
//!
//! Each formula has a file that names its reference. Most are tested against values from scipy, statsmodels
//! or numpy; the tests quote the expression that computed each value. The functions do not depend on what the
//! numbers mean. Where a statistic is undefined, they return a [`StatsError`] or `None`. The guide on
//! [statistics](crate::guide::statistics) applies them.
//!
//! | question | answer | reference |
//! |---|---|---|
//! | do two columns move together? | [`pearson()`], [`PearsonAccumulator`], [`spearman()`], [`kendall()`] | Pearson 1895, Fisher 1921, Spearman 1904, Kendall 1945 |
//! | … within groups? | [`within_group()`], [`random_effects()`], [`permutation_test()`] | Fisher 1924, DerSimonian & Laird 1986, Hartung & Knapp 2001, Fisher 1935 |
//! | … with other columns held constant? | [`linear_regression()`], [`logistic_regression()`] | Liang & Zeger 1986, McCullagh & Nelder 1989 |
//! | … if observations come in clusters, such as runs of one task? | [`cluster_bootstrap()`] | Efron 1987, Davison & Hinkley 1997 |
//! | … as one of many tests? | [`benjamini_hochberg()`] | Benjamini & Hochberg 1995 |
//! | do two sides differ? | [`mcnemar()`], [`two_proportions()`], [`mean_difference()`], [`PairedDifference`], [`jensen_shannon()`] | McNemar 1947, Pearson 1904, Liang & Zeger 1986, Endres & Schindelin 2003 |
//! | how precise is a proportion? | [`wilson()`] | Wilson 1927 |
//! | how precise is F1? | [`f1_bootstrap()`] | Efron 1979 |
//! | do two raters agree? | [`cohens_kappa()`] | Cohen 1960, Fleiss et al. 1969 |
//! | how good are yes/no answers? | [`Confusion`] | van Rijsbergen 1979 |
//! | how well are ranges located? | [`jaccard()`], [`localization_similarity()`], [`localization_recall()`] | Jaccard 1912 |
//! | how often do k trials all succeed? | [`pass_hat_k()`] | tau-bench, arXiv:2406.12045 |

use std::collections::BTreeMap;

mod benjamini_hochberg;
mod classification;
mod cluster_bootstrap;
mod clustered;
mod columns;
mod distributions;
mod error;
mod fixed_point;
mod interval;
mod jensen_shannon;
mod kappa;
mod kendall;
mod localization;
mod mcnemar;
mod mean_difference;
mod pass_k;
mod pearson;
mod permutation;
mod quantile;
mod random_effects;
mod ratio_bootstrap;
mod regression;
mod resampling;
mod rng;
mod spearman;
mod two_proportions;
mod within_group;

pub use benjamini_hochberg::benjamini_hochberg;
pub use classification::{BootstrapInterval, Confusion, Outcome, f1_bootstrap};
pub use cluster_bootstrap::{ClusterBootstrap, ClusterStatistic, cluster_bootstrap};
pub use clustered::{ClusteredPearson, ClusteredWithin, PairedDifference};
pub use error::{Side, StatsError};
pub use interval::{Interval, wilson};
pub use jensen_shannon::jensen_shannon;
pub use kappa::{Kappa, cohens_kappa};
pub use kendall::{Kendall, kendall};
pub use localization::{jaccard, localization_recall, localization_similarity};
pub use mcnemar::mcnemar;
pub use mean_difference::{MeanDifference, TwoSides, mean_difference};
pub use pass_k::{TaskTrials, pass_hat_k};
pub use pearson::{Correlation, PearsonAccumulator, pearson};
pub use permutation::{PermutationTest, permutation_test};
pub(crate) use quantile::without_tails;
pub use random_effects::{RandomEffects, random_effects};
#[cfg(feature = "benchmarks")]
pub(crate) use ratio_bootstrap::{ratio_bootstrap, resampled_sums};
pub use regression::{Effect, Regression, linear_regression, logistic_regression};
pub use resampling::Resampling;
pub(crate) use rng::Rng;
pub use spearman::spearman;
pub use two_proportions::{TwoProportions, two_proportions};
pub use within_group::within_group;

/// Converts a count to a float. Counts above 2^53 are rounded.
#[expect(
    clippy::cast_precision_loss,
    reason = "exact up to 2^53; above that, off by less than one part in 2^53"
)]
pub(crate) fn float(count: u64) -> f64 {
    count as f64
}

/// Returns `part / whole`, or `None` if `whole` is 0.
pub(crate) fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| float(part) / float(whole))
}

/// Groups the items by key and keeps their order within each group. Items without a key are dropped.
pub(crate) fn grouped<T: Copy, K: Ord>(
    items: impl IntoIterator<Item = T>,
    key: impl Fn(T) -> Option<K>,
) -> BTreeMap<K, Vec<T>> {
    let mut groups: BTreeMap<K, Vec<T>> = BTreeMap::new();
    for item in items {
        if let Some(key) = key(item) {
            groups.entry(key).or_default().push(item);
        }
    }
    groups
}

/// Returns the mean of the values, summed in the given order, or `None` if there are none. Large values do
/// not overflow.
pub(crate) fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    const SMALL: f64 = 1.0 / 9_223_372_036_854_775_808.0;
    let (mut sum, mut small, mut count) = (0.0_f64, 0.0, 0);
    for value in values {
        sum += value;
        small += value * SMALL;
        count += 1;
    }
    (count > 0).then(|| if sum.is_finite() { sum / float(count) } else { small / float(count) / SMALL })
}

#[cfg(test)]
#[track_caller]
fn assert_close(actual: f64, expected: f64, tolerance: f64) {
    assert!((actual - expected).abs() <= tolerance, "{actual:?} is not within {tolerance:e} of {expected:?}");
}
