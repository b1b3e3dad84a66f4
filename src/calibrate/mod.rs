//! Measures detectors against labelled runs.
//!
//! [`calibrate`](calibrate()) takes a [`GoldenSet`] and returns precision, recall and F1 with intervals, a
//! readiness [`Tier`], and how often verdicts change under edits that should not matter.

mod evaluate;
mod figures;
mod gate;
mod golden;
mod needs;
mod perturb;
mod reference;
mod sample_runs;
mod sweep;
mod tier;
mod trials;

pub use evaluate::{CalibrationOptions, calibrate};
pub use figures::{
    Baselines, CalibrationReport, DetectorReport, EntryVerdict, Figures, Flip, Localization, PassKReport,
    WrongVerdict,
};
pub use gate::{BaselineComparison, GateOutcome, compare_with_baseline};
pub use golden::{Difficulty, GoldenEntry, GoldenSet};
pub use needs::Needs;
pub use perturb::{Perturbation, perturb};
pub use reference::{TraceReference, run_of, trace_digest};
pub use sample_runs::{RunFeatures, sample_runs};
pub use sweep::{Sweep, SweepPoint, sweep};
pub use tier::{TIER_GATES, Tier, TierGate, tier};
