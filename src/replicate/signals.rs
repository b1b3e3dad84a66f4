//! Ranks the correlations of recovery with reward, and adjusts p-values for the number of tests.

use serde::Serialize;

use super::analysis::PairAssociations;
use super::association::Association;
use super::relation::Relation;
use crate::stats::{Interval, benjamini_hochberg};

/// The correlation of recovery with reward in one pair of model and domain.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Signal {
    /// The model.
    pub model: String,
    /// The domain.
    pub domain: String,
    /// The distance from 0 to the interval over clusters; 0 if the interval contains 0 or is undefined.
    pub at_least: f64,
    /// The correlation, with `q` adjusted for the number of tests among all signals.
    #[serde(flatten)]
    pub association: Association,
}

/// Returns the signals in pairs with at least `min_n` runs with errors and a reward, strongest evidence
/// first.
pub(super) fn strongest(pairs: &[PairAssociations], min_n: u64) -> Vec<Signal> {
    let mut signals: Vec<Signal> = pairs
        .iter()
        .filter(|pair| pair.runs_with_errors >= min_n)
        .flat_map(|pair| pair.associations.iter().map(move |association| (pair, association)))
        .filter(|(_, one)| matches!(one.relation, Relation::Recovery | Relation::RecoveryWithErrors))
        .filter(|(_, one)| one.pearson.r().is_some())
        .map(|(pair, association)| Signal {
            model: pair.model.clone(),
            domain: pair.domain.clone(),
            at_least: association.interval().map_or(0.0, distance_from_zero),
            association: association.clone(),
        })
        .collect();
    adjust(signals.iter_mut().map(|signal| &mut signal.association));
    let size = |signal: &Signal| signal.association.pearson.r().map_or(0.0, f64::abs);
    signals.sort_by(|a, b| b.at_least.total_cmp(&a.at_least).then_with(|| size(b).total_cmp(&size(a))));
    signals
}

fn distance_from_zero(interval: Interval) -> f64 {
    interval.low.max(-interval.high).max(0.0)
}

/// Sets `q` of these associations: their p-values, adjusted for the number of tests among them.
pub(super) fn adjust<'a>(associations: impl Iterator<Item = &'a mut Association>) {
    let mut tested: Vec<&mut Association> = associations.filter(|one| one.permutation.is_some()).collect();
    let p_values: Vec<f64> = tested.iter().filter_map(|one| one.permutation.map(|test| test.p)).collect();
    // The p-values lie in [0, 1], so this does not fail.
    for (one, q) in tested.iter_mut().zip(benjamini_hochberg(&p_values).unwrap_or_default()) {
        one.q = Some(q);
    }
}
