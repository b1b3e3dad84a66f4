//! pass^k: whether verdicts and tiers survive perturbations.

use rayon::prelude::*;

use super::evaluate::{CalibrationOptions, fires};
use super::figures::{Flip, PassKReport};
use super::golden::GoldenEntry;
use super::perturb::{Perturbation, perturb};
use super::tier::tier;
use crate::detect::Detector;
use crate::stats::{Confusion, Outcome};

/// Runs the trials of a detector. The first trial is the unchanged golden set; `outcomes` are its outcomes.
pub(super) fn pass_k(
    entries: &[&GoldenEntry],
    outcomes: &[Outcome],
    detector: &dyn Detector,
    options: &CalibrationOptions,
) -> PassKReport {
    let as_it_stands: Confusion = outcomes.iter().copied().collect();
    let wanted = options.gate.unwrap_or_else(|| tier(&as_it_stands, &options.gates));
    let gate = options.gates.iter().find(|gate| gate.tier == wanted);
    let mut confusions = vec![as_it_stands];
    let mut flips = Vec::new();
    for trial in 1..options.trials.max(1) {
        let trials: Vec<(Outcome, Option<Flip>)> = entries
            .par_iter()
            .zip(outcomes)
            .map(|(entry, outcome)| perturbed(entry, *outcome, detector, trial, options.seed))
            .collect();
        confusions.push(trials.iter().map(|(outcome, _)| *outcome).collect());
        flips.extend(trials.into_iter().filter_map(|(_, flip)| flip));
    }
    PassKReport {
        k: options.trials.max(1),
        gate: gate.map(|gate| gate.tier),
        pass: gate.map(|gate| u8::from(confusions.iter().all(|confusion| gate.clears(confusion)))),
        f1: confusions.iter().map(Confusion::f1).collect(),
        flips,
    }
}

/// Returns the outcome of an entry in a perturbed trial, and its flip, if any.
fn perturbed(
    entry: &GoldenEntry,
    outcome: Outcome,
    detector: &dyn Detector,
    trial: u32,
    seed: u64,
) -> (Outcome, Option<Flip>) {
    let seed = entry_seed(&entry.id, trial, seed);
    let fires_under = |perturbations: &[Perturbation]| match perturb(&entry.trace, perturbations, seed) {
        Ok(trace) => fires(&detector.detect(&trace)),
        // A trace keeps its verdict if shifted step indices or turns would exceed 64 bits.
        Err(_) => outcome.predicted,
    };
    let every = Perturbation::VARIANTS;
    let predicted = fires_under(every);
    if predicted == outcome.predicted {
        return (outcome, None);
    }
    let mut perturbations: Vec<Perturbation> =
        every.iter().copied().filter(|one| fires_under(&[*one]) != outcome.predicted).collect();
    if perturbations.is_empty() {
        perturbations = every.to_vec();
    }
    let flip = Flip { entry: entry.id.clone(), trial, perturbations, from: outcome.predicted, to: predicted };
    (Outcome { predicted, ..outcome }, Some(flip))
}

/// Returns a seed made from the id of the entry (FNV-1a, 64 bits). It does not depend on the position, so adding
/// entries leaves the perturbations of the others unchanged.
fn entry_seed(id: &str, trial: u32, seed: u64) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325 ^ seed;
    id.bytes()
        .chain(trial.to_le_bytes())
        .fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
