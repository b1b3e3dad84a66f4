//! The files of a scan: listed while they are few, summed when they are many.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::file_report::{FileReport, FileSums, Place, add, add_parts, by_place, total};
use crate::error::{Error, ErrorKind};
use crate::read::{Format, PassedOver};
use crate::scan::path_text;
use crate::trace::Unpaired;

/// Maximum number of files, or parts of files, that are listed. More are summed.
const MOST_LISTED: u64 = 100_000;

/// The name of standard input, which several splits may read.
const STDIN: &str = "-";

/// The files of a scan, in a form that merges.
///
/// Up to 100,000 files are listed in scan order: by path, with unreadable paths last. Larger scans
/// keep sums and the first hundred files with errors. The result does not depend on how the files were
/// divided.
///
/// ```
/// use wrongturn::{Scanner, default_detectors, merge::{FileReport, Files}, report::render_files, scan::ScanOptions};
///
/// let scanner = Scanner::new(default_detectors(), ScanOptions::default())?;
/// let scanned = scanner.scan_slice("a.jsonl".as_ref(), b"{\"id\": \"a\", \"messages\": 7}");
/// let errors: Vec<String> = scanned.errors.iter().map(ToString::to_string).collect();
/// let mut files = Files::default();
/// files.add("a.jsonl".as_ref(), true, &FileReport::of(&scanned.summary, &errors, 0));
/// assert_eq!((files.count(), files.read_counts()), (1, [0, 0, 1]));
/// assert!(render_files(&files).starts_with("a.jsonl: "));
/// assert!(files.faults()[0].2[0].starts_with("a.jsonl"));
/// # Ok::<(), wrongturn::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Files {
    /// The number of files. A file that was read in parts counts once for each part.
    parts: u64,
    form: Form,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Form {
    Listed(#[serde(with = "by_place")] BTreeMap<Place, FileReport>),
    Summed(Box<FileSums>),
}

impl Default for Files {
    fn default() -> Self {
        Self { parts: 0, form: Form::Listed(BTreeMap::new()) }
    }
}

impl Files {
    /// Adds a file or a part of one. `is_reachable` is false for paths that cannot be read; they come last.
    pub fn add(&mut self, path: &Path, is_reachable: bool, report: &FileReport) {
        self.take(&(!is_reachable, path.to_path_buf()), report);
        self.settle();
    }

    fn take(&mut self, place: &Place, report: &FileReport) {
        add(&mut self.parts, total(report.parts));
        match &mut self.form {
            Form::Listed(files) => match files.get_mut(place) {
                Some(own) => own.merge(report),
                None => drop(files.insert(place.clone(), report.clone())),
            },
            Form::Summed(sums) => sums.add(place, report),
        }
    }

    /// Replaces the list with sums if it has become too long.
    fn settle(&mut self) {
        if let Form::Listed(files) = &self.form
            && self.parts > MOST_LISTED
        {
            let mut sums = FileSums::default();
            for (place, report) in files {
                sums.add(place, report);
            }
            self.form = Form::Summed(Box::new(sums));
        }
    }

    /// Adds the files of another split.
    ///
    /// # Errors
    /// [`ErrorKind::Partial`] if a file other than standard input is in both, as its runs would be counted
    /// twice; `self` is then unchanged. This is checked only while both sides list their files.
    pub fn merge(&mut self, other: &Self) -> Result<(), Error> {
        if let (Form::Listed(own), Form::Listed(others)) = (&self.form, &other.form) {
            let (few, many) = if own.len() < others.len() { (own, others) } else { (others, own) };
            let twice = |place: &&Place| place.1.as_os_str() != STDIN && many.contains_key(*place);
            if let Some((_, path)) = few.keys().find(twice) {
                let what = "the file is in more than one split, so its runs would be counted twice";
                return Err(Error::new(ErrorKind::Partial, what).in_file(path));
            }
        }
        match &other.form {
            Form::Listed(files) => {
                for (place, report) in files {
                    self.take(place, report);
                }
            }
            Form::Summed(others) => {
                // The other side has too many files to list, so the two together do as well.
                add(&mut self.parts, other.parts);
                self.settle();
                if let Form::Summed(sums) = &mut self.form {
                    sums.merge(others);
                }
            }
        }
        self.settle();
        Ok(())
    }

    /// Returns the files in scan order; `None` if only [`Files::sums`] are kept.
    #[must_use]
    pub fn listed(&self) -> Option<Vec<(&Path, &FileReport)>> {
        match &self.form {
            Form::Listed(files) => {
                Some(files.iter().map(|((_, path), report)| (path.as_path(), report)).collect())
            }
            Form::Summed(_) => None,
        }
    }

    /// Returns the sums; `None` if the files are listed.
    #[must_use]
    pub fn sums(&self) -> Option<&FileSums> {
        match &self.form {
            Form::Listed(_) => None,
            Form::Summed(sums) => Some(sums),
        }
    }

    /// Returns the files with errors in scan order: the path, the number of errors, and the first of them.
    /// If only sums are kept, returns the first hundred files with one error each.
    #[must_use]
    pub fn faults(&self) -> Vec<(&Path, u64, Vec<String>)> {
        match &self.form {
            Form::Listed(files) => {
                let faulty = files.iter().filter(|(_, report)| report.counts.errors > 0);
                let first = |report: &FileReport| report.first_errors().map(str::to_owned).collect();
                faulty.map(|((_, path), report)| (&**path, report.counts.errors, first(report))).collect()
            }
            Form::Summed(sums) => {
                let first = |error: Option<&str>| error.into_iter().map(str::to_owned).collect();
                sums.faults().map(|(path, errors, error)| (path, errors, first(error))).collect()
            }
        }
    }

    /// Returns the figures of a report: an entry for each file if they are listed, otherwise the sums.
    #[must_use]
    pub fn figures(&self) -> impl Serialize {
        match &self.form {
            Form::Listed(files) => {
                Figures::Listed(files.iter().map(|((_, path), report)| Input::of(path, report)).collect())
            }
            Form::Summed(sums) => Figures::Summed(sums),
        }
    }

    /// Returns the numbers of files that were read in full, in part and not at all. A file that was read in
    /// parts counts once for each part.
    #[must_use]
    pub fn read_counts(&self) -> [u64; 3] {
        match &self.form {
            Form::Listed(files) => files.values().fold([0; 3], |mut parts, report| {
                add_parts(&mut parts, report.parts);
                parts
            }),
            Form::Summed(sums) => sums.parts,
        }
    }

    /// Returns the number of files. A file that was read in parts counts once for each part.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.parts
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Figures<'f> {
    Listed(Vec<Input<'f>>),
    Summed(&'f FileSums),
}

#[derive(Serialize)]
struct Input<'f> {
    file: String,
    format: Option<Format>,
    runs_read: u64,
    runs_skipped: u64,
    runs_without_actions: u64,
    passed_over: &'f PassedOver,
    unread_calls: u64,
    unpaired: Unpaired,
    errors: Vec<&'f str>,
}

impl<'f> Input<'f> {
    fn of(path: &Path, report: &'f FileReport) -> Self {
        let counts = &report.counts;
        Self {
            file: path_text(path.as_os_str()).into_owned(),
            format: report.format(),
            runs_read: counts.runs,
            runs_skipped: counts.runs_lost,
            runs_without_actions: counts.runs_without_actions,
            passed_over: &counts.passed_over,
            unread_calls: counts.unread_calls,
            unpaired: counts.unpaired,
            errors: report.first_errors().collect(),
        }
    }
}

/// Omits the number of files, which is computed from the rest on reading.
impl Serialize for Files {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.form.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Files {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut files = Self { parts: 0, form: Form::deserialize(deserializer)? };
        match &files.form {
            Form::Listed(listed) => {
                for report in listed.values() {
                    add(&mut files.parts, total(report.parts));
                }
            }
            // A smaller number would have been listed.
            Form::Summed(sums) => files.parts = total(sums.parts).max(MOST_LISTED + 1),
        }
        files.settle();
        Ok(files)
    }
}
