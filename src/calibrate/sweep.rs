//! Figures of a detector over the values of its main parameter.

use serde::Serialize;
use serde_json::{Value, json};

use super::golden::GoldenSet;
use crate::detect::{Confidence, DetectorInfo, Grid, Preset, with_min_confidence};
use crate::error::Result;
use crate::stats::{Confusion, Outcome};
use crate::trace::Actors;

/// The figures of a detector over the values of its main parameter; see [`sweep()`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Sweep {
    /// The detector.
    pub detector: String,
    /// The parameter; empty if the rule has no grid.
    pub parameter: &'static str,
    /// The figures at each value.
    pub points: Vec<SweepPoint>,
}

/// The figures of a detector at one value of its parameter.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SweepPoint {
    /// The value; null for no limit.
    pub value: Value,
    /// True and false positives and negatives.
    #[serde(flatten)]
    pub confusion: Confusion,
    /// Share of detected entries that are failures; `None` if none is detected.
    pub precision: Option<f64>,
    /// Share of failures that are detected; `None` without failures.
    pub recall: Option<f64>,
    /// Harmonic mean of the two; `None` if there are neither failures nor detected entries.
    pub f1: Option<f64>,
}

/// Sweeps the main parameter of a detector over the values that its rule lists, with defaults for everything else.
///
/// The values are those of [`Rule::grid`](crate::detect::Rule::grid); a rule without a grid has no points.
/// Findings with less confidence than `least` do not count.
///
/// ```
/// use wrongturn::{Confidence, calibrate::{GoldenSet, sweep}, detect::ALL};
///
/// let info = ALL.iter().find(|info| info.id == "loop").unwrap();
/// let found = sweep(&GoldenSet::default(), info, Confidence::Likely)?;
/// assert_eq!(found.parameter, "min_repeats");
/// assert!(found.points.len() > 3);
/// # Ok::<(), wrongturn::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Config`](crate::ErrorKind::Config) if a rule rejects one of its own values; no rule of this
/// crate does.
pub fn sweep(set: &GoldenSet, info: &DetectorInfo, least: Confidence) -> Result<Sweep> {
    let grid = info.grid().unwrap_or(Grid { parameter: "", values: Vec::new() });
    let parameter = grid.parameter;
    let points = grid.values.into_iter().map(|value| {
        let built = info.build(Preset::Default, Actors::Agent, &json!({ parameter: value }))?;
        let detector = with_min_confidence(vec![built], least);
        let confusion: Confusion = set
            .of(info.id)
            .map(|entry| Outcome {
                label: entry.label,
                predicted: detector
                    .iter()
                    .any(|detector| detector.detect(&entry.trace).detected() == Some(true)),
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
