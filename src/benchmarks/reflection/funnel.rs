//! The funnel: the stage at which an episode's reflection fails.

use super::episode::{DiagnosisScore, LocalizationScore};
use crate::names::named;

named! {
    /// The stage at which an episode ends: the first that it fails, or `Pass`.
    #[derive(PartialOrd, Ord)]
    pub enum Stage: "stage" {
        /// Detection failed.
        Detection = "detection",
        /// Localization failed.
        Localization = "localization",
        /// Diagnosis failed.
        Diagnosis = "diagnosis",
        /// The episode passed all stages.
        Pass = "pass",
    }
}

/// The condition of the localization stage.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LocalizationGate {
    /// The best Jaccard index between predicted and annotated ranges is at least this. Passes without annotations.
    BestJaccard(f64),
    /// Localization recall is at least this. Fails without annotations.
    Recall(f64),
}

/// The condition of the diagnosis stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiagnosisGate {
    /// Every failure is judged 1. Passes without failures.
    Every,
    /// At least one failure is judged 1. Fails without failures.
    Any,
}

/// The conditions of a funnel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FunnelRule {
    /// The condition of localization.
    pub localization: LocalizationGate,
    /// The condition of diagnosis.
    pub diagnosis: DiagnosisGate,
}

impl FunnelRule {
    pub(super) fn stage(
        &self,
        detected: bool,
        localization: Option<&LocalizationScore>,
        failures: &[DiagnosisScore],
    ) -> Stage {
        let localized = match self.localization {
            LocalizationGate::BestJaccard(least) => localization.is_none_or(|score| score.best >= least),
            LocalizationGate::Recall(least) => localization.is_some_and(|score| score.recall >= least),
        };
        let right = |score: &DiagnosisScore| score.judged_right();
        let diagnosed = match self.diagnosis {
            DiagnosisGate::Every => failures.iter().all(right),
            DiagnosisGate::Any => failures.iter().any(right),
        };
        match (detected, localized, diagnosed) {
            (false, ..) => Stage::Detection,
            (_, false, _) => Stage::Localization,
            (_, _, false) => Stage::Diagnosis,
            _ => Stage::Pass,
        }
    }
}
