//! How far the behaviour of two sides lies apart, and how far it would by chance.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::{ComparedRun, FingerprintComparison, Tasks};
use crate::stats::{Interval, Resampling, Rng, float, jensen_shannon, quantile};

/// The runs of one task: how many of the first side, then all of them with their edges.
type EdgeRuns = (usize, Vec<Vec<(usize, f64)>>);

/// The distance of the pooled fingerprints, and its distribution when runs change sides within their task.
pub(super) fn fingerprints(tasks: &Tasks<'_>, options: &Resampling) -> Option<FingerprintComparison> {
    let mut numbers: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut number = |from: String, to: String| {
        let next = numbers.len();
        *numbers.entry((from, to)).or_insert(next)
    };
    let mut edges = |run: &&ComparedRun| -> Option<Vec<(usize, f64)>> {
        let fingerprint = run.fingerprint.as_ref()?;
        let count =
            |(from, to, count): (&_, &_, u64)| (number(format!("{from}"), format!("{to}")), float(count));
        Some(fingerprint.edges().map(count).collect())
    };
    let tasks: Vec<EdgeRuns> = tasks
        .values()
        .map(|[first, second]| {
            let mut runs: Vec<_> = first.iter().filter_map(&mut edges).collect();
            let firsts = runs.len();
            runs.extend(second.iter().filter_map(&mut edges));
            (firsts, runs)
        })
        .collect();
    let size = numbers.len();
    let apart = |rng: &mut Option<Rng>| {
        let mut sums = [vec![0.0; size], vec![0.0; size]];
        for (firsts, runs) in &tasks {
            let mut order: Vec<usize> = (0..runs.len()).collect();
            if let Some(rng) = rng {
                rng.shuffle(&mut order);
            }
            for (place, run) in order.into_iter().enumerate() {
                let Some(sums) = sums.get_mut(usize::from(place >= *firsts)) else { continue };
                for (edge, count) in runs.get(run).into_iter().flatten() {
                    if let Some(sum) = sums.get_mut(*edge) {
                        *sum += count;
                    }
                }
            }
        }
        let [first, second] = sums;
        jensen_shannon(&first, &second)
    };
    let distance = apart(&mut None)?;
    let mut null: Vec<f64> = (0..options.resamples)
        .into_par_iter()
        .map(|number| apart(&mut Some(Rng::stream(options.seed, number as u64))))
        .collect::<Option<_>>()?;
    null.sort_unstable_by(f64::total_cmp);
    let arrangements = null.len() as u64;
    let at_least = null.iter().filter(|chance| **chance >= distance - 1e-12).count() as u64;
    let tail = (1.0 - options.confidence) / 2.0;
    let p = float(at_least + 1) / float(arrangements + 1);
    let by_chance = Interval { low: quantile(&null, tail)?, high: quantile(&null, 1.0 - tail)? };
    Some(FingerprintComparison { distance, by_chance, p, arrangements })
}
