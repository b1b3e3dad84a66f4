//! Calibration reports: precision, recall and F1 with intervals, verdicts and trials.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::evaluate::CalibrationOptions;
use super::golden::Difficulty;
use super::needs::Needs;
use super::perturb::Perturbation;
use super::tier::{Tier, TierGate};
use crate::detect::Explanation;
use crate::stats::{BootstrapInterval, Confusion, Interval, Outcome, f1_bootstrap, wilson};

/// The confidence level of the Wilson intervals.
const CONFIDENCE: f64 = 0.95;

/// Precision, recall and F1 of a detector with intervals. Undefined values are `None`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Figures {
    /// Number of entries.
    pub n: u64,
    /// True and false positives and negatives.
    #[serde(flatten)]
    pub confusion: Confusion,
    /// Share of detected entries that are failures.
    pub precision: Option<f64>,
    /// 95% Wilson interval of the precision.
    pub precision_ci95: Option<Interval>,
    /// Share of failures that are detected.
    pub recall: Option<f64>,
    /// 95% Wilson interval of the recall.
    pub recall_ci95: Option<Interval>,
    /// Harmonic mean of precision and recall.
    pub f1: Option<f64>,
    /// 95% percentile bootstrap interval of F1.
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

/// Agreement of findings with labelled ranges, over the failures with a range.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Localization {
    /// Number of failures with a range.
    pub entries: u64,
    /// Mean, over all findings, of the Jaccard index with the labelled range; `None` without findings.
    pub similarity: Option<f64>,
    /// Mean, over the labelled ranges, of the best Jaccard index with a finding; `None` without ranges.
    pub recall: Option<f64>,
}

/// The F1 of a detector that always fires and of one that never fires.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Baselines {
    /// F1 of always firing.
    pub always_fire_f1: Option<f64>,
    /// F1 of never firing.
    pub never_fire_f1: Option<f64>,
}

/// pass^k of a detector: whether its tier survives perturbations of the entries.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PassKReport {
    /// Number of trials.
    pub k: u32,
    /// The tier that every trial must reach; `None` if none was given and trial 0 reaches none.
    pub gate: Option<Tier>,
    /// 1 if every trial clears the gate, otherwise 0; `None` without a gate.
    pub pass: Option<u8>,
    /// F1 of each trial; trial 0 is unperturbed.
    pub f1: Vec<Option<f64>>,
    /// Verdicts that perturbations flipped.
    pub flips: Vec<Flip>,
}

/// A verdict that flips under perturbations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Flip {
    /// Id of the entry.
    pub entry: String,
    /// Index of the trial, at least 1: trial 0 is unperturbed.
    pub trial: u32,
    /// The perturbations that each flip the verdict on their own, or all perturbations if none does.
    pub perturbations: Vec<Perturbation>,
    /// The verdict without perturbations; true if detected.
    pub from: bool,
    /// The verdict with all perturbations.
    pub to: bool,
}

/// A detector's verdict on one golden entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EntryVerdict {
    /// Id of the entry.
    pub entry: String,
    /// The label.
    pub label: bool,
    /// The verdict; `None` if the detector is not applicable, which counts as not detected.
    pub detected: Option<bool>,
}

impl EntryVerdict {
    /// Returns true if the verdict agrees with the label.
    #[must_use]
    pub fn is_right(&self) -> bool {
        self.label == (self.detected == Some(true))
    }
}

/// A verdict that contradicts the label.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct WrongVerdict {
    /// Id of the entry.
    pub entry: String,
    /// Its difficulty.
    pub difficulty: Difficulty,
    /// The label.
    pub label: bool,
    /// The reason for the label: the entry's description.
    pub reason: String,
    /// The verdict in words.
    pub saw: String,
    /// The explanation of the verdict and its counterfactuals.
    pub explanation: Explanation,
}

/// The calibration of one detector: figures, tier, robustness and verdicts.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DetectorReport {
    /// The detector.
    pub detector: String,
    /// Its figures on all entries.
    #[serde(flatten)]
    pub figures: Figures,
    /// Number of entries to which the detector is not applicable; they count as not detected.
    pub not_applicable: u64,
    /// Its figures by difficulty.
    pub by_difficulty: BTreeMap<Difficulty, Figures>,
    /// Its figures by domain; traces without a domain are under the empty name.
    pub by_domain: BTreeMap<String, Figures>,
    /// Agreement of its findings with labelled ranges.
    pub localization: Localization,
    /// The F1 of always and never firing.
    pub baselines: Baselines,
    /// The readiness tier.
    pub tier: Tier,
    /// True unless the interval of F1 is above the F1 of always firing; false without entries.
    pub unproven: bool,
    /// How many more entries are needed for the next tier, and to prove better than always firing.
    pub needs: Needs,
    /// Robustness under perturbations.
    pub pass_k: PassKReport,
    /// Verdicts that contradict their labels, ordered by entry.
    pub wrong: Vec<WrongVerdict>,
    /// All verdicts, ordered by entry.
    pub verdicts: Vec<EntryVerdict>,
}

/// The calibration of several detectors; see [`calibrate`](crate::calibrate).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CalibrationReport {
    /// Number of trials of pass^k.
    pub trials: u32,
    /// The seed of the perturbations and of the bootstrap.
    pub seed: u64,
    /// Number of resamples of the bootstrap.
    pub resamples: usize,
    /// The gates of the tiers, highest first.
    pub gates: Vec<TierGate>,
    /// One report per detector, in the order given.
    pub detectors: Vec<DetectorReport>,
}
