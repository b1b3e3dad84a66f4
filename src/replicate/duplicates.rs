//! Runs that are the same run.

use std::collections::BTreeMap;

use serde::Serialize;

use super::row::SimulationRow;
use crate::trace::Digest;

/// A run that is left out, as it repeats another one's messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Duplicate {
    /// Its file.
    pub file: String,
    /// Its id.
    pub id: Option<String>,
    /// The file of the run that it repeats.
    pub of_file: String,
    /// The id of the run that it repeats.
    pub of_id: Option<String>,
}

/// Divides runs into those that count and those that repeat the messages of one of them.
///
/// A run without a digest repeats none, and different trials of one task in one file are never taken for repetitions.
///
/// ```
/// use wrongturn::{Scanner, default_detectors, replicate::{SimulationRow, distinct_runs}, scan::ScanOptions};
///
/// let options = ScanOptions { digests: true, ..ScanOptions::default() };
/// let scanner = Scanner::new(default_detectors(), options)?;
/// let file = br#"{"simulations": [{"id": "a", "messages": [{"role": "user", "content": "hello"}]}]}"#;
/// let rows: Vec<SimulationRow> = ["one.json", "copy.json"]
///     .iter()
///     .flat_map(|name| scanner.scan_slice(name.as_ref(), file).traces)
///     .filter_map(|record| SimulationRow::of(&record))
///     .collect();
/// let (kept, duplicates) = distinct_runs(&rows);
/// assert_eq!((kept.len(), duplicates[0].of_file.as_str()), (1, "one.json"));
/// # Ok::<(), wrongturn::Error>(())
/// ```
#[must_use]
pub fn distinct_runs(rows: &[SimulationRow]) -> (Vec<SimulationRow>, Vec<Duplicate>) {
    let mut alike: BTreeMap<Digest, Vec<&SimulationRow>> = BTreeMap::new();
    let (mut kept, mut duplicates) = (Vec::new(), Vec::new());
    for row in rows {
        if let Some(digest) = row.digest {
            let before = alike.entry(digest).or_default();
            if let Some(original) = before.iter().find(|original| !is_another_trial(original, row)) {
                duplicates.push(Duplicate {
                    file: row.file.clone(),
                    id: row.id.clone(),
                    of_file: original.file.clone(),
                    of_id: original.id.clone(),
                });
                continue;
            }
            before.push(row);
        }
        kept.push(row.clone());
    }
    (kept, duplicates)
}

/// Whether both were made as different trials of one task, and only came out alike.
fn is_another_trial(one: &SimulationRow, other: &SimulationRow) -> bool {
    one.file == other.file
        && one.task == other.task
        && one.trial.is_some()
        && other.trial.is_some()
        && one.trial != other.trial
}
