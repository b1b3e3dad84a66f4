//! Gates for detectors, and the comparison of their verdicts with those of an earlier calibration.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::figures::{CalibrationReport, DetectorReport, EntryVerdict};
use super::tier::{Tier, TierGate};
use crate::error::{Error, Result};
use crate::names::named;
use crate::stats::mcnemar;

/// The significance level of a difference.
const SIGNIFICANCE: f64 = 0.05;

named! {
    /// The outcome of a gate.
    pub enum GateOutcome: "outcome" {
        /// Every trial cleared it.
        Passed = "passed",
        /// A trial did not clear it, or there is no gate.
        Failed = "failed",
        /// There was no entry to judge the detector by.
        Untested = "untested",
    }
}

impl DetectorReport {
    /// Returns the outcome for the gate that all trials must clear
    /// ([`CalibrationOptions::gate`](crate::calibrate::CalibrationOptions::gate)).
    #[must_use]
    pub fn outcome(&self) -> GateOutcome {
        match (self.figures.n, self.pass_k.pass) {
            (0, _) => GateOutcome::Untested,
            (_, Some(1)) => GateOutcome::Passed,
            _ => GateOutcome::Failed,
        }
    }

    /// Describes how the detector falls short of the gate: in F1, precision or number of entries, or else in
    /// a trial. Empty if it clears the gate.
    #[must_use]
    pub fn lacks(&self, gate: &TierGate) -> Vec<String> {
        let figures = &self.figures;
        let shown =
            |value: Option<f64>| value.map_or_else(|| "undefined".to_owned(), |value| format!("{value:.4}"));
        let mut lacks = Vec::new();
        if figures.f1.is_none_or(|f1| f1 < gate.f1) {
            lacks.push(format!("F1 {} of {:.2}", shown(figures.f1), gate.f1));
        }
        if gate.precision > 0.0 && figures.precision.is_none_or(|precision| precision < gate.precision) {
            lacks.push(format!("precision {} of {:.2}", shown(figures.precision), gate.precision));
        }
        if figures.n < gate.n {
            lacks.push(format!("{} of {} entries", figures.n, gate.n));
        }
        if lacks.is_empty() && self.pass_k.pass != Some(1) {
            lacks.push(format!("not all of {} trials", self.pass_k.k));
        }
        lacks
    }
}

impl CalibrationReport {
    /// Returns the gate of a tier, if it has one.
    #[must_use]
    pub fn gate(&self, tier: Tier) -> Option<&TierGate> {
        self.gates.iter().find(|gate| gate.tier == tier)
    }
}

/// Verdicts of a detector compared with those of an earlier calibration, on the entries that both contain.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct BaselineComparison {
    /// The detector.
    pub detector: String,
    /// Number of entries that have the same label in both calibrations.
    pub entries: u64,
    /// Entries only in the new calibration.
    pub added: Vec<String>,
    /// Entries only in the earlier calibration.
    pub removed: Vec<String>,
    /// Entries with a changed label; they are not compared.
    pub relabelled: Vec<String>,
    /// Entries whose verdict was wrong and is now right.
    pub mended: Vec<String>,
    /// Entries whose verdict was right and is now wrong.
    pub broken: Vec<String>,
    /// The two-sided p-value of McNemar's exact test.
    pub p: f64,
    /// True if more entries broke than were mended, with p < 0.05.
    pub regression: bool,
}

/// The fields of an earlier report that are compared.
#[derive(Deserialize)]
struct Earlier {
    detectors: Vec<EarlierDetector>,
}

#[derive(Deserialize)]
struct EarlierDetector {
    detector: String,
    verdicts: Vec<EntryVerdict>,
}

/// Compares a calibration with an earlier one, given as JSON. The result omits detectors that the
/// earlier one lacks.
///
/// ```
/// use serde_json::json;
/// use wrongturn::{default_detectors, calibrate::{CalibrationOptions, GoldenSet, calibrate, compare_with_baseline}};
///
/// let report = calibrate(&GoldenSet::default(), &default_detectors(), &CalibrationOptions::default());
/// let earlier = json!({"detectors": [
///     {"detector": "loop", "verdicts": [{"entry": "a", "label": true, "detected": false}]}]});
/// let compared = compare_with_baseline(&report, &earlier)?;
/// assert_eq!(compared[0].removed, ["a"]);
/// assert!(!compared[0].regression);
/// # Ok::<(), wrongturn::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Shape`](crate::ErrorKind::Shape) if the JSON is not a calibration report.
pub fn compare_with_baseline(report: &CalibrationReport, earlier: &Value) -> Result<Vec<BaselineComparison>> {
    let earlier = Earlier::deserialize(earlier)
        .map_err(|error| Error::shape(format!("not a calibration report with verdicts: {error}")))?;
    let known = |detector: &DetectorReport| {
        earlier.detectors.iter().find(|known| known.detector == detector.detector)
    };
    let compared = report.detectors.iter().filter_map(|now| Some(compare(now, &known(now)?.verdicts)));
    Ok(compared.collect())
}

fn compare(now: &DetectorReport, before: &[EntryVerdict]) -> BaselineComparison {
    let before: BTreeMap<&str, &EntryVerdict> =
        before.iter().map(|verdict| (verdict.entry.as_str(), verdict)).collect();
    let after: BTreeMap<&str, &EntryVerdict> =
        now.verdicts.iter().map(|verdict| (verdict.entry.as_str(), verdict)).collect();
    let only = |these: &BTreeMap<&str, _>, those: &BTreeMap<&str, &EntryVerdict>| -> Vec<String> {
        these.keys().filter(|id| !those.contains_key(*id)).map(|id| (*id).to_owned()).collect()
    };
    let mut comparison = BaselineComparison {
        detector: now.detector.clone(),
        added: only(&after, &before),
        removed: only(&before, &after),
        ..BaselineComparison::default()
    };
    for (id, new) in &after {
        let Some(old) = before.get(id) else { continue };
        if old.label != new.label {
            comparison.relabelled.push((*id).to_owned());
            continue;
        }
        comparison.entries += 1;
        match (old.is_right(), new.is_right()) {
            (true, false) => comparison.broken.push((*id).to_owned()),
            (false, true) => comparison.mended.push((*id).to_owned()),
            _ => {}
        }
    }
    let (broken, mended) = (comparison.broken.len() as u64, comparison.mended.len() as u64);
    comparison.p = mcnemar(broken, mended);
    comparison.regression = broken > mended && comparison.p < SIGNIFICANCE;
    comparison
}
