//! Runs that are the same run.

use std::collections::BTreeMap;

use serde::Serialize;

use super::row::SimulationRow;
use crate::trace::Digest;

/// A run that repeats another one's messages, and is left out.
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

/// The first run of each digest, and the others. A run without a digest repeats none.
pub(super) fn distinct(rows: &[SimulationRow]) -> (Vec<SimulationRow>, Vec<Duplicate>) {
    let mut first: BTreeMap<Digest, &SimulationRow> = BTreeMap::new();
    let (mut kept, mut duplicates) = (Vec::new(), Vec::new());
    for row in rows {
        if let Some(original) = row.digest.and_then(|digest| first.get(&digest)) {
            duplicates.push(Duplicate {
                file: row.file.clone(),
                id: row.id.clone(),
                of_file: original.file.clone(),
                of_id: original.id.clone(),
            });
            continue;
        }
        if let Some(digest) = row.digest {
            first.insert(digest, row);
        }
        kept.push(row.clone());
    }
    (kept, duplicates)
}
