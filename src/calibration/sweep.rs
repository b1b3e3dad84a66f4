//! How the figures of a detector depend on its main parameter.

use serde::Serialize;
use serde_json::{Value, json};

use super::golden::GoldenSet;
use crate::detectors::{DetectorInfo, Preset};
use crate::error::Result;
use crate::stats::{Confusion, Outcome};
use crate::trace::Actors;

/// The figures of one detector over the values of one parameter.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Sweep {
    /// The detector.
    pub detector: String,
    /// The parameter.
    pub parameter: &'static str,
    /// The figures at each value.
    pub points: Vec<SweepPoint>,
}

/// The figures at one value.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SweepPoint {
    /// The value; null is no limit.
    pub value: Value,
    /// True and false positives and negatives.
    #[serde(flatten)]
    pub confusion: Confusion,
    /// Precision.
    pub precision: Option<f64>,
    /// Recall.
    pub recall: Option<f64>,
    /// F1.
    pub f1: Option<f64>,
}

/// Sweeps the main parameter of a detector of this crate over its useful range, all else at the defaults:
/// `threshold`, `min_repeats`, `window` or `ratio`.
///
/// # Errors
/// None for the detectors of the registry.
pub fn sweep(set: &GoldenSet, info: &DetectorInfo) -> Result<Sweep> {
    let (parameter, values) = grid(info.id);
    let points = values.into_iter().map(|value| {
        let detector = info.build(Preset::Default, Actors::Agent, &json!({ parameter: value }))?;
        let confusion: Confusion = set
            .of(info.id)
            .map(|entry| Outcome {
                label: entry.label,
                predicted: detector.detect(&entry.trace).detected() == Some(true),
            })
            .collect();
        Ok(SweepPoint {
            value,
            confusion,
            precision: confusion.precision(),
            recall: confusion.recall(),
            f1: confusion.f1(),
        })
    });
    Ok(Sweep { detector: info.id.to_owned(), parameter, points: points.collect::<Result<_>>()? })
}

fn grid(id: &str) -> (&'static str, Vec<Value>) {
    match id {
        "loop" => ("min_repeats", (2..=8).map(Value::from).collect()),
        "feedback_blindness" => {
            let windows = [1, 2, 3, 5, 10, 20].map(Value::from);
            ("window", windows.into_iter().chain([Value::Null]).collect())
        }
        "route_inefficiency" => ("ratio", (4..=16).map(|quarter| json!(f64::from(quarter) / 4.0)).collect()),
        _ => ("threshold", (1..=20).map(|twentieth| json!(f64::from(twentieth) / 20.0)).collect()),
    }
}
