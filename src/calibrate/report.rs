//! What a calibration finds: figures, verdicts, trials.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};

use super::evaluate::CalibrationOptions;
use super::golden::Difficulty;
use super::needs::Needs;
use super::perturb::Perturbation;
use super::tier::{Tier, TierGate};
use crate::detect::Explanation;
use crate::stats::{BootstrapInterval, Confusion, Interval, Outcome, f1_bootstrap, wilson};

/// The level of all intervals.
const CONFIDENCE: f64 = 0.95;

/// Precision, recall and F1 of a detector's verdicts, with their intervals. What is not defined is null.
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

/// The F1 of a detector that always fires and of one that never does.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Baselines {
    /// One that always fires.
    pub always_fire_f1: Option<f64>,
    /// One that never fires.
    pub never_fire_f1: Option<f64>,
}

/// pass^k of a detector: whether its tier survives perturbations of the entries.
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

/// A verdict that turns under a perturbation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Flip {
    /// The entry.
    pub entry: String,
    /// The trial.
    pub trial: u32,
    /// The perturbations that turn it alone; all of them where only all together do.
    pub perturbations: Vec<Perturbation>,
    /// Whether the failure was detected without the perturbation.
    pub from: bool,
    /// Whether it was detected with it.
    pub to: bool,
}

/// A detector's verdict on one golden entry.
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
    /// Why the detector gave this verdict, and what would flip it.
    pub explanation: Explanation,
}

/// The calibration of one detector: figures, tier, robustness, verdicts.
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
    /// The F1 of always and of never firing.
    pub baselines: Baselines,
    /// The readiness tier.
    pub tier: Tier,
    /// Whether the F1 interval leaves open that always firing does as well.
    pub unproven: bool,
    /// How many more entries it needs.
    pub needs: Needs,
    /// Whether the tier survives perturbations.
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

/// The calibration of several detectors: [`calibrate`](crate::calibrate).
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
