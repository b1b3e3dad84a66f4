//! Calibration of detectors against labelled entries: how good, how sure, how robust.

mod evaluate;
mod golden;
mod perturb;
mod sweep;
mod tier;

pub use evaluate::{
    Baselines, CalibrationOptions, CalibrationReport, DetectorReport, Figures, Flip, Localization,
    PassKReport, WrongVerdict, calibrate,
};
pub use golden::{Difficulty, GoldenEntry, GoldenSet};
pub use perturb::{Perturbation, perturb};
pub use sweep::{Sweep, SweepPoint, sweep};
pub use tier::{TIER_GATES, Tier, TierGate, tier};
