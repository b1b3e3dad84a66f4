//! Calibrates detectors on golden sets, following Pisama; localization follows BenchTrace, section 3.3.1.

use std::collections::BTreeMap;
use std::sync::Arc;

use rayon::prelude::*;

use super::figures::{
    Baselines, CalibrationReport, DetectorReport, EntryVerdict, Figures, Localization, WrongVerdict,
};
use super::golden::{Difficulty, GoldenEntry, GoldenSet};
use super::needs::Needs;
use super::tier::{TIER_GATES, Tier, TierGate, tier};
use super::trials::pass_k;
use crate::detect::{Detector, Explanation, Finding, Verdict};
use crate::stats::{Outcome, jaccard, mean};

/// Options of [`calibrate`].
#[derive(Debug, Clone, PartialEq)]
pub struct CalibrationOptions {
    /// Number of trials of pass^k; 0 counts as 1. Trial 0 is the unchanged golden set; the others are perturbed.
    pub trials: u32,
    /// Seed of the perturbations and of the bootstrap.
    pub seed: u64,
    /// Number of resamples of the bootstrap.
    pub resamples: usize,
    /// The gates of the tiers, highest first.
    pub gates: Vec<TierGate>,
    /// The tier that all trials must reach; `None` for the one that trial 0 reaches.
    pub gate: Option<Tier>,
}

impl Default for CalibrationOptions {
    fn default() -> Self {
        Self { trials: 4, seed: 0, resamples: 2000, gates: TIER_GATES.to_vec(), gate: None }
    }
}

/// Calibrates each detector against the entries of a golden set that test it.
///
/// The report depends only on the entries, the detectors and the options, not on the order of files or the
/// number of threads. The guide on [calibration](crate::guide::calibration) shows how to get from runs to a gate.
///
/// ```
/// use std::path::Path;
/// use wrongturn::{default_detectors, calibrate::{CalibrationOptions, GoldenSet, calibrate}};
///
/// let line = r#"{"id": "a", "detector": "loop", "difficulty": "easy", "label": true,
///     "description": "stuck", "source": "doc", "trace": {"version": 1, "steps": [
///         {"name": "look", "status": "ok"}, {"name": "look", "status": "ok"},
///         {"name": "look", "status": "ok"}, {"name": "look", "status": "ok"}]}}"#;
/// let line = line.replace('\n', " ");
/// let set = GoldenSet::parse(&[(Path::new("doc"), &line)], &["loop"]).unwrap();
/// let report = calibrate(&set, &default_detectors(), &CalibrationOptions::default());
/// assert_eq!(report.detectors[1].figures.f1, Some(1.0));
/// ```
#[must_use]
pub fn calibrate(
    set: &GoldenSet,
    detectors: &[Arc<dyn Detector>],
    options: &CalibrationOptions,
) -> CalibrationReport {
    CalibrationReport {
        trials: options.trials.max(1),
        seed: options.seed,
        resamples: options.resamples,
        gates: options.gates.clone(),
        detectors: detectors.par_iter().map(|detector| report(set, &**detector, options)).collect(),
    }
}

fn report(set: &GoldenSet, detector: &dyn Detector, options: &CalibrationOptions) -> DetectorReport {
    let id = detector.id();
    let entries: Vec<&GoldenEntry> = set.of(&id).collect();
    let verdicts: Vec<Verdict> = entries.par_iter().map(|entry| detector.detect(&entry.trace)).collect();
    let outcomes: Vec<Outcome> = entries
        .iter()
        .zip(&verdicts)
        .map(|(entry, verdict)| Outcome { label: entry.label, predicted: fires(verdict) })
        .collect();
    let figures = Figures::of(&outcomes, options);
    let mut difficulties: BTreeMap<Difficulty, Vec<Outcome>> = BTreeMap::new();
    let mut domains: BTreeMap<String, Vec<Outcome>> = BTreeMap::new();
    for (entry, outcome) in entries.iter().zip(&outcomes) {
        difficulties.entry(entry.difficulty).or_default().push(*outcome);
        let domain = entry.trace.metadata().domain.as_deref().unwrap_or_default();
        domains.entry(domain.to_owned()).or_default().push(*outcome);
    }
    let baselines = Baselines {
        always_fire_f1: figures.confusion.always_fire().f1(),
        never_fire_f1: figures.confusion.never_fire().f1(),
    };
    let low = figures.f1_ci95.interval.map(|interval| interval.low);
    let verdict = |(entry, verdict): (&&GoldenEntry, &Verdict)| EntryVerdict {
        entry: entry.id.clone(),
        label: entry.label,
        detected: verdict.detected(),
    };
    DetectorReport {
        detector: id.to_string(),
        not_applicable: verdicts.iter().filter(|verdict| verdict.detected().is_none()).count() as u64,
        by_difficulty: figures_of(difficulties, options),
        by_domain: figures_of(domains, options),
        localization: localization(&entries, &verdicts),
        tier: tier(&figures.confusion, &options.gates),
        unproven: figures.n > 0 && low <= baselines.always_fire_f1,
        needs: Needs::of(&figures, baselines.always_fire_f1, &options.gates),
        baselines,
        pass_k: pass_k(&entries, &outcomes, detector, options),
        wrong: wrong(&entries, &verdicts, detector),
        verdicts: entries.iter().zip(&verdicts).map(verdict).collect(),
        figures,
    }
}

fn figures_of<K: Ord>(
    groups: BTreeMap<K, Vec<Outcome>>,
    options: &CalibrationOptions,
) -> BTreeMap<K, Figures> {
    groups.into_iter().map(|(group, outcomes)| (group, Figures::of(&outcomes, options))).collect()
}

pub(super) fn fires(verdict: &Verdict) -> bool {
    verdict.detected() == Some(true)
}

fn localization(entries: &[&GoldenEntry], verdicts: &[Verdict]) -> Localization {
    // For each labelled range, its Jaccard index with each finding.
    let indices = entries.iter().zip(verdicts).filter_map(|(entry, verdict)| {
        let (first, last) = entry.range.filter(|_| entry.label)?;
        let index = |found: &Finding| jaccard(&(found.first..=found.last), &(first..=last));
        Some(verdict.findings().iter().map(index).collect())
    });
    let indices: Vec<Vec<f64>> = indices.collect();
    Localization {
        entries: indices.len() as u64,
        similarity: mean(indices.iter().flatten().copied()),
        recall: mean(indices.iter().map(|of_range| of_range.iter().copied().fold(0.0, f64::max))),
    }
}

fn wrong(entries: &[&GoldenEntry], verdicts: &[Verdict], detector: &dyn Detector) -> Vec<WrongVerdict> {
    let contradicted = |(entry, verdict): &(&&GoldenEntry, &Verdict)| entry.label != fires(verdict);
    let wrong: Vec<_> = entries.iter().zip(verdicts).filter(contradicted).collect();
    wrong
        .into_par_iter()
        .map(|(entry, verdict)| {
            let explanation = detector.explain(&entry.trace);
            WrongVerdict {
                entry: entry.id.clone(),
                difficulty: entry.difficulty,
                label: entry.label,
                reason: entry.description.clone(),
                saw: saw(verdict, &explanation),
                explanation,
            }
        })
        .collect()
}

/// Describes a verdict in words; without findings, how the run comes closest to one.
fn saw(verdict: &Verdict, explanation: &Explanation) -> String {
    match verdict {
        Verdict::NotApplicable { reason } => format!("not applicable: {reason}"),
        Verdict::Judged(judgement) if judgement.findings.is_empty() => {
            match (explanation.near_misses.first(), explanation.counterfactuals.first()) {
                (Some(near), _) => format!("nothing; nearest: {near}"),
                (None, Some(change)) => format!("nothing; would be detected {change}"),
                (None, None) => "nothing".to_owned(),
            }
        }
        Verdict::Judged(judgement) => {
            let findings = judgement.findings.iter();
            findings
                .map(|f| format!("steps {}–{}: {}", f.first, f.last, f.message))
                .collect::<Vec<_>>()
                .join("; ")
        }
    }
}
