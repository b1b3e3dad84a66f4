//! How much of a file, or of many files together, was read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::read::{Format, ReadCounts};
use crate::scan::{FileSummary, StoredPath};

/// Maximum number of run ids, and of errors, kept for a file.
const KEPT: usize = 10;

/// Maximum number of files with errors that a [`FileSums`] lists.
const NAMED: usize = 100;

const SEVERAL: &str = "several";

/// The position of a file in scan order: whether its path cannot be read, and the path. Paths that cannot be
/// read come last.
pub(super) type Place = (bool, PathBuf);

/// The report of one file of a scan, or of several parts of it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FileReport {
    /// The number of files by format name: empty if the format was not recognised, `several` if a file held more
    /// than one.
    pub formats: BTreeMap<String, u64>,
    /// The counts.
    #[serde(flatten)]
    pub counts: ReadCounts,
    /// The numbers of parts that were read in full (without errors), in part, and not at all (with errors and no
    /// runs).
    pub parts: [u64; 3],
    without_actions: First,
    /// Number of errors about content in an unknown format.
    pub foreign: u64,
    first_errors: First,
}

/// The first texts of a file. With several parts, the first text of each part, then the second of each.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
struct First(BTreeSet<(u64, String)>);

impl First {
    fn of(texts: impl IntoIterator<Item = String>) -> Self {
        Self((0..).zip(texts.into_iter().take(KEPT)).collect())
    }

    fn merge(&mut self, other: &Self) {
        self.0.extend(other.0.iter().cloned());
        while self.0.len() > KEPT {
            self.0.pop_last();
        }
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(_, text)| text.as_str())
    }
}

/// The report of many files of a scan together.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FileSums {
    /// The number of files by format name, as in [`FileReport::formats`].
    pub formats: BTreeMap<String, u64>,
    /// The counts.
    #[serde(flatten)]
    pub counts: ReadCounts,
    /// The numbers of files, as in [`FileReport::parts`]. A file that was read in parts counts once for each part.
    pub parts: [u64; 3],
    #[serde(with = "by_place")]
    faults: BTreeMap<Place, Fault>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fault {
    errors: u64,
    first: First,
}

pub(super) fn add(sum: &mut u64, more: u64) {
    *sum = sum.saturating_add(more);
}

fn add_all(sums: &mut BTreeMap<String, u64>, more: &BTreeMap<String, u64>) {
    for (key, count) in more {
        add(sums.entry(key.clone()).or_default(), *count);
    }
}

pub(crate) fn total(parts: [u64; 3]) -> u64 {
    parts.into_iter().fold(0, u64::saturating_add)
}

pub(super) fn add_parts(sums: &mut [u64; 3], more: [u64; 3]) {
    for (sum, more) in sums.iter_mut().zip(more) {
        add(sum, more);
    }
}

impl FileReport {
    /// Creates the report of a scanned file from its summary, the text of its errors in order, and the number
    /// of errors about content in an unknown format.
    #[must_use]
    pub fn of(summary: &FileSummary, errors: &[String], foreign: u64) -> Self {
        let format = match summary.format {
            Some(format) => format.name(),
            None if summary.is_mixed() => SEVERAL,
            None => "",
        };
        let parts = match (summary.counts.errors, summary.counts.runs) {
            (0, _) => [1, 0, 0],
            (_, 0) => [0, 0, 1],
            _ => [0, 1, 0],
        };
        Self {
            formats: [(format.to_owned(), 1)].into(),
            counts: summary.counts.clone(),
            parts,
            without_actions: First::of(summary.without_actions.iter().cloned()),
            foreign,
            first_errors: First::of(errors.iter().cloned()),
        }
    }

    /// Returns the name of the format if the first error says that it is known but not supported.
    pub(crate) fn unread_format(&self) -> Option<&str> {
        self.first_errors
            .texts()
            .next()?
            .strip_suffix(": this format is known but not supported")?
            .rsplit(": ")
            .next()
    }

    /// Returns the format; `None` if it was not recognised, or if there were several.
    #[must_use]
    pub fn format(&self) -> Option<Format> {
        let mut named = self.formats.keys().filter(|name| !name.is_empty());
        let format = named.next()?.parse().ok();
        if named.next().is_some() { None } else { format }
    }

    /// Returns the ids of the first runs without actions, at most 10.
    pub fn without_actions(&self) -> impl Iterator<Item = &str> {
        self.without_actions.texts()
    }

    /// Returns the first errors, at most 10.
    pub fn first_errors(&self) -> impl Iterator<Item = &str> {
        self.first_errors.texts()
    }

    pub(super) fn merge(&mut self, other: &Self) {
        add_all(&mut self.formats, &other.formats);
        self.counts.add(&other.counts);
        add_parts(&mut self.parts, other.parts);
        self.without_actions.merge(&other.without_actions);
        add(&mut self.foreign, other.foreign);
        self.first_errors.merge(&other.first_errors);
    }
}

impl FileSums {
    /// Returns the first hundred files with errors in scan order: the path, the number of errors and the
    /// first error.
    pub fn faults(&self) -> impl Iterator<Item = (&Path, u64, Option<&str>)> {
        self.faults
            .iter()
            .map(|((_, path), fault)| (path.as_path(), fault.errors, fault.first.texts().next()))
    }

    pub(super) fn add(&mut self, place: &Place, file: &FileReport) {
        self.add_counts(&file.formats, &file.counts, file.parts);
        if file.counts.errors > 0 {
            self.fault(place, &Fault { errors: file.counts.errors, first: file.first_errors.clone() });
        }
    }

    fn add_counts(&mut self, formats: &BTreeMap<String, u64>, counts: &ReadCounts, parts: [u64; 3]) {
        add_all(&mut self.formats, formats);
        self.counts.add(counts);
        add_parts(&mut self.parts, parts);
    }

    fn fault(&mut self, place: &Place, fault: &Fault) {
        let own = self.faults.entry(place.clone()).or_default();
        add(&mut own.errors, fault.errors);
        own.first.merge(&fault.first);
        if self.faults.len() > NAMED {
            self.faults.pop_last();
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.add_counts(&other.formats, &other.counts, other.parts);
        for (place, fault) in &other.faults {
            self.fault(place, fault);
        }
    }
}

/// Stores a map as a list of places and values, because a place cannot be a key of JSON.
pub(super) mod by_place {
    use super::{BTreeMap, Deserialize, Deserializer, Place, Serialize, Serializer, StoredPath};

    pub(in crate::merge) fn serialize<T: Serialize, S: Serializer>(
        map: &BTreeMap<Place, T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(map.iter().map(|((last, path), value)| (last, StoredPath(path), value)))
    }

    pub(in crate::merge) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<Place, T>, D::Error> {
        let list = Vec::<(bool, StoredPath, T)>::deserialize(deserializer)?;
        Ok(list.into_iter().map(|(last, StoredPath(path), value)| ((last, path), value)).collect())
    }
}
