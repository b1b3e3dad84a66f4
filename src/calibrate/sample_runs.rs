//! Samples runs for labelling by features that do not depend on a detector.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::stats::Rng;
use crate::trace::{Actors, Status, Trace};

/// Counts of a run's actions, for [`sample_runs`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunFeatures {
    /// Number of actions of all actors.
    pub actions: u64,
    /// Number of failed actions.
    pub errors: u64,
    /// Number of actions with the tool and arguments of an earlier one, whatever their outcomes.
    pub repeats: u64,
}

impl RunFeatures {
    /// Counts actions, errors and repeats.
    #[must_use]
    pub fn of(trace: &Trace) -> Self {
        let mut features = Self { actions: 0, errors: 0, repeats: 0 };
        let mut calls = BTreeSet::new();
        for step in trace.steps() {
            let Some((action, digests)) = step.digested(Actors::All) else { continue };
            features.actions += 1;
            features.errors += u64::from(action.status == Status::Error);
            features.repeats += u64::from(digests.call().is_some_and(|call| !calls.insert(call)));
        }
        features
    }

    /// Returns the class of a count: none, one or two, more.
    fn level(count: u64) -> u8 {
        match count {
            0 => 0,
            1..=2 => 1,
            _ => 2,
        }
    }
}

/// Samples up to `count` runs for labelling, rare kinds included.
///
/// Returns their positions in random order. Runs are stratified by repeats and errors (none, one or two, more) and by
/// length (thirds of the runs). Each stratum gives one run in turn until there are enough.
///
/// ```
/// use wrongturn::{Trace, calibrate::{RunFeatures, sample_runs}};
///
/// let same = RunFeatures::of(&Trace::builder().build()?);
/// let drawn = sample_runs(&[same; 10], 4, 1);
/// assert_eq!(drawn.len(), 4);
/// assert_eq!(drawn, sample_runs(&[same; 10], 4, 1));
/// # Ok::<(), wrongturn::Error>(())
/// ```
#[must_use]
pub fn sample_runs(runs: &[RunFeatures], count: usize, seed: u64) -> Vec<usize> {
    let mut lengths: Vec<u64> = runs.iter().map(|run| run.actions).collect();
    lengths.sort_unstable();
    let third = |part: usize| lengths.get(lengths.len() * part / 3).copied().unwrap_or(u64::MAX);
    let (short, long) = (third(1), third(2));
    let mut strata: BTreeMap<(u8, u8, bool, bool), Vec<usize>> = BTreeMap::new();
    for (place, run) in runs.iter().enumerate() {
        let stratum = (
            RunFeatures::level(run.repeats),
            RunFeatures::level(run.errors),
            run.actions >= short,
            run.actions >= long,
        );
        strata.entry(stratum).or_default().push(place);
    }
    let mut rng = Rng::new(seed);
    let mut strata: Vec<Vec<usize>> = strata.into_values().collect();
    for stratum in &mut strata {
        rng.shuffle(stratum);
    }
    rng.shuffle(&mut strata);
    let mut drawn = Vec::new();
    let mut round = 0;
    while drawn.len() < count.min(runs.len()) {
        let open = strata.iter().filter_map(|stratum| stratum.get(round).copied());
        drawn.extend(open.take(count - drawn.len()));
        round += 1;
    }
    rng.shuffle(&mut drawn);
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_kinds_come_up() {
        let run = |actions, errors, repeats| RunFeatures { actions, errors, repeats };
        let mut runs = vec![run(5, 0, 0); 200];
        runs[17] = run(40, 9, 9);
        runs[99] = run(6, 0, 1);
        for seed in 0..20 {
            let drawn = sample_runs(&runs, 10, seed);
            assert_eq!(drawn.iter().collect::<BTreeSet<_>>().len(), 10);
            assert!(drawn.contains(&17) && drawn.contains(&99), "{drawn:?}");
        }
        assert_ne!(sample_runs(&runs, 10, 1), sample_runs(&runs, 10, 2));
        assert_eq!(sample_runs(&runs, 1000, 1).len(), 200);
        assert!(sample_runs(&[], 3, 1).is_empty());
    }
}
