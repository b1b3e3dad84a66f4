//! The figures of detectors on golden sets (Pisama; localization after `BenchTrace` 3.3.1).

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize, Serializer};

use super::golden::{Difficulty, GoldenEntry, GoldenSet};
use super::needs::Needs;
use super::perturb::{Perturbation, perturb};
use super::tier::{TIER_GATES, Tier, TierGate, tier};
use crate::detectors::{Detector, Explanation, Verdict};
use crate::stats::{
    BootstrapInterval, Confusion, Interval, Outcome, f1_bootstrap, localization_recall,
    localization_similarity, wilson,
};

/// The level of all intervals.
const CONFIDENCE: f64 = 0.95;

/// How a calibration is done.
#[derive(Debug, Clone, PartialEq)]
pub struct CalibrationOptions {
    /// Trials of pass^k; trial 0 is the golden set as it stands, each further one is perturbed. At least 1.
    pub trials: u32,
    /// Seed of the perturbations and of the bootstrap.
    pub seed: u64,
    /// Resamples of the bootstrap.
    pub resamples: usize,
    /// The gates, the highest first.
    pub gates: Vec<TierGate>,
    /// The tier that pass^k holds the trials to; `None` is the one that trial 0 reaches.
    pub gate: Option<Tier>,
}

impl Default for CalibrationOptions {
    fn default() -> Self {
        Self { trials: 4, seed: 0, resamples: 2000, gates: TIER_GATES.to_vec(), gate: None }
    }
}

/// Scores of yes/no verdicts, with their intervals. What is not defined is null.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Figures {
    /// Entries.
    pub n: u64,
    /// True and false positives and negatives.
    #[serde(flatten)]
    pub confusion: Confusion,
    /// Detected entries that are failures, of the detected ones.
    pub precision: Option<f64>,
    /// Wilson interval of the precision, 95%.
    pub precision_ci95: Option<Interval>,
    /// Detected entries that are failures, of the failures.
    pub recall: Option<f64>,
    /// Wilson interval of the recall, 95%.
    pub recall_ci95: Option<Interval>,
    /// Harmonic mean of the two.
    pub f1: Option<f64>,
    /// Percentile bootstrap interval of F1, 95%.
    pub f1_ci95: BootstrapInterval,
}

impl Figures {
    pub(super) fn of(outcomes: &[Outcome], options: &CalibrationOptions) -> Self {
        let confusion: Confusion = outcomes.iter().copied().collect();
        let Confusion { tp, fp, fn_, .. } = confusion;
        let interval = |trials| wilson(tp, trials, CONFIDENCE).ok();
        Self {
            n: confusion.n(),
            confusion,
            precision: confusion.precision(),
            precision_ci95: interval(tp + fp),
            recall: confusion.recall(),
            recall_ci95: interval(tp + fn_),
            f1: confusion.f1(),
            f1_ci95: f1_bootstrap(outcomes, options.resamples, options.seed),
        }
    }
}

/// How well findings lie where the labels say, over the labelled failures that have a place.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Localization {
    /// Entries that are failures with a place.
    pub entries: u64,
    /// Mean, over the predicted ranges, of the best Jaccard index with a labelled one.
    pub similarity: Option<f64>,
    /// Mean, over the labelled ranges, of the best Jaccard index with a predicted one.
    pub recall: Option<f64>,
}

/// F1 of detectors that do not look.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Baselines {
    /// One that always fires.
    pub always_fire_f1: Option<f64>,
    /// One that never fires.
    pub never_fire_f1: Option<f64>,
}

/// Whether the tier survives perturbations.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PassKReport {
    /// Trials.
    pub k: u32,
    /// The tier whose gate every trial is held to; null where trial 0 clears none and none was asked for.
    pub gate: Option<Tier>,
    /// 1 if every trial clears the gate, else 0; null where there is no gate.
    pub pass: Option<u8>,
    /// F1 of each trial.
    pub f1: Vec<Option<f64>>,
    /// Verdicts that a perturbation turned.
    pub flips: Vec<Flip>,
}

/// A verdict that is another under a perturbation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Flip {
    /// The entry.
    pub entry: String,
    /// The trial.
    pub trial: u32,
    /// The perturbations that turn it alone; all of them where only their company does.
    pub perturbations: Vec<Perturbation>,
    /// Whether the failure was detected without the perturbation.
    pub from: bool,
    /// Whether it was detected with it.
    pub to: bool,
}

/// What a detector says of one entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EntryVerdict {
    /// The entry.
    pub entry: String,
    /// What the label says.
    pub label: bool,
    /// Whether the failure was detected; null where the detector is not applicable, which counts as not detected.
    pub detected: Option<bool>,
}

impl EntryVerdict {
    /// Whether detector and label agree.
    #[must_use]
    pub fn is_right(&self) -> bool {
        self.label == (self.detected == Some(true))
    }
}

/// A verdict that the label contradicts.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct WrongVerdict {
    /// The entry.
    pub entry: String,
    /// Its difficulty.
    pub difficulty: Difficulty,
    /// What the label says.
    pub label: bool,
    /// Why it says so.
    pub reason: String,
    /// What the detector saw.
    pub saw: String,
    /// Why it says what it says, and what would turn it.
    pub explanation: Explanation,
}

/// The calibration of one detector.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DetectorReport {
    /// The detector.
    pub detector: String,
    /// Its figures on all entries.
    #[serde(flatten)]
    pub figures: Figures,
    /// Entries to which the detector does not apply; they count as not detected.
    pub not_applicable: u64,
    /// Its figures by difficulty.
    #[serde(serialize_with = "by_difficulty")]
    pub by_difficulty: BTreeMap<Difficulty, Figures>,
    /// Its figures by the domain of the traces; those without one are under the empty name.
    pub by_domain: BTreeMap<String, Figures>,
    /// How well it localizes.
    pub localization: Localization,
    /// What detectors reach that do not look.
    pub baselines: Baselines,
    /// The readiness tier.
    pub tier: Tier,
    /// Whether the F1 interval leaves open that always firing does as well.
    pub unproven: bool,
    /// How many entries it still takes.
    pub needs: Needs,
    /// Robustness.
    pub pass_k: PassKReport,
    /// The verdicts that labels contradict, by entry.
    pub wrong: Vec<WrongVerdict>,
    /// All verdicts, by entry.
    pub verdicts: Vec<EntryVerdict>,
}

fn by_difficulty<S: Serializer>(
    map: &BTreeMap<Difficulty, Figures>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(map)
}

/// The calibration of several detectors.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CalibrationReport {
    /// Trials of pass^k.
    pub trials: u32,
    /// The seed.
    pub seed: u64,
    /// Resamples of the bootstrap.
    pub resamples: usize,
    /// The gates of the tiers, the highest first.
    pub gates: Vec<TierGate>,
    /// One report per detector, in the order given.
    pub detectors: Vec<DetectorReport>,
}

/// Calibrates detectors against the entries of a golden set that test them.
///
/// The report depends on the entries, the detectors and the options alone: neither on the order of files nor on
/// the number of threads.
///
/// ```
/// use std::path::Path;
/// use tracelint::{CalibrationOptions, GoldenSet, calibrate, default_detectors};
///
/// let line = r#"{"id": "a", "detector": "loop", "difficulty": "easy", "label": true, "description": "stuck",
///     "source": "doc", "trace": {"version": 1, "steps": [
///     {"name": "look", "status": "ok"}, {"name": "look", "status": "ok"},
///     {"name": "look", "status": "ok"}, {"name": "look", "status": "ok"}]}}"#.replace('\n', " ");
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
    let entries: Vec<&GoldenEntry> = set.of(detector.id()).collect();
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
    DetectorReport {
        detector: detector.id().to_owned(),
        not_applicable: verdicts.iter().filter(|verdict| verdict.detected().is_none()).count() as u64,
        by_difficulty: difficulties
            .into_iter()
            .map(|(difficulty, outcomes)| (difficulty, Figures::of(&outcomes, options)))
            .collect(),
        by_domain: domains
            .into_iter()
            .map(|(domain, outcomes)| (domain, Figures::of(&outcomes, options)))
            .collect(),
        localization: localization(&entries, &verdicts),
        tier: tier(&figures.confusion, &options.gates),
        unproven: figures.n > 0 && low <= baselines.always_fire_f1,
        needs: Needs::of(&figures, baselines.always_fire_f1, &options.gates),
        baselines,
        pass_k: pass_k(&entries, &outcomes, detector, options),
        wrong: wrong(&entries, &verdicts, detector),
        verdicts: entries
            .iter()
            .zip(&verdicts)
            .map(|(entry, verdict)| EntryVerdict {
                entry: entry.id.clone(),
                label: entry.label,
                detected: verdict.detected(),
            })
            .collect(),
        figures,
    }
}

fn fires(verdict: &Verdict) -> bool {
    verdict.detected() == Some(true)
}

#[expect(clippy::cast_precision_loss, reason = "counts of ranges are far below 2^53")]
fn localization(entries: &[&GoldenEntry], verdicts: &[Verdict]) -> Localization {
    let mut placed = 0;
    let (mut similarity, mut predictions, mut recall, mut labels) = (0.0, 0, 0.0, 0);
    for (entry, verdict) in entries.iter().zip(verdicts) {
        let Some((first, last)) = entry.range.filter(|_| entry.label) else { continue };
        let labelled = [first..=last];
        let predicted: Vec<RangeInclusive<u64>> =
            verdict.findings().iter().map(|finding| finding.first..=finding.last).collect();
        placed += 1;
        similarity += localization_similarity(&predicted, &labelled).unwrap_or(0.0) * predicted.len() as f64;
        predictions += predicted.len();
        recall += localization_recall(&predicted, &labelled).unwrap_or(0.0);
        labels += 1;
    }
    let mean = |sum: f64, count: usize| (count > 0).then(|| sum / count as f64);
    Localization { entries: placed, similarity: mean(similarity, predictions), recall: mean(recall, labels) }
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

fn saw(verdict: &Verdict, explanation: &Explanation) -> String {
    match verdict {
        Verdict::NotApplicable { reason } => format!("not applicable: {reason}"),
        Verdict::Judged(judgement) if judgement.findings.is_empty() => {
            let mut parts = vec!["nothing".to_owned()];
            parts.extend(explanation.near.first().map(|near| format!("nearest: {near}")));
            for (count, what) in
                [(explanation.transient, "transient failures"), (explanation.exempt, "polling calls")]
            {
                parts.extend((count > 0).then(|| format!("passed over: {count} {what}")));
            }
            parts.join("; ")
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

fn pass_k(
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

/// The outcome of an entry in a perturbed trial, and what turned it.
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
        // A trace whose indices leave no room is left as it is.
        Err(_) => outcome.predicted,
    };
    let predicted = fires_under(&Perturbation::ALL);
    if predicted == outcome.predicted {
        return (outcome, None);
    }
    let mut perturbations: Vec<Perturbation> =
        Perturbation::ALL.into_iter().filter(|one| fires_under(&[*one]) != outcome.predicted).collect();
    if perturbations.is_empty() {
        perturbations = Perturbation::ALL.to_vec();
    }
    let flip = Flip { entry: entry.id.clone(), trial, perturbations, from: outcome.predicted, to: predicted };
    (Outcome { predicted, ..outcome }, Some(flip))
}

/// A seed of the entry's own, whatever its place in the set (FNV-1a, 64 bits).
fn entry_seed(id: &str, trial: u32, seed: u64) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325 ^ seed;
    id.bytes()
        .chain(trial.to_le_bytes())
        .fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
