//! What became of the files of a scan: one by one while they are few, summed up when they are many.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::corpus::FileSummary;
use crate::error::{Error, ErrorKind};
use crate::input::{Format, PassedOver};

/// How many files are told one by one.
const MOST_LISTED: u64 = 100_000;

/// How many names and errors are told of a file.
const TOLD: usize = 10;

/// How many files with errors are named when files are summed up.
const NAMED: usize = 100;

/// The format of a file that holds several.
const SEVERAL: &str = "several";

/// Standard input may be read by many.
const STDIN: &str = "-";

/// What became of the files of a scan. Up to 100,000 they are told one by one, in the order of their paths and those
/// that could not be reached last, which is the order of a scan; above, as sums, with the first hundred that have
/// errors. It merges: how the files were divided, and who read them, cannot show in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Files {
    /// Files, and parts of files that were read apart.
    parts: u64,
    form: Form,
}

#[derive(Debug, Clone, PartialEq)]
enum Form {
    Listed(BTreeMap<Place, FileReport>),
    Summed(Box<FileSums>),
}

/// Where a file stands in the order of a scan: those that could not be reached come last.
type Place = (bool, PathBuf);

/// What became of one file, or of several parts of it that were read apart.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct FileReport {
    /// How often each format was read, by its name; the empty name where the content gave none away.
    formats: BTreeMap<String, u64>,
    /// Runs that were read.
    pub runs: u64,
    /// Runs that could not be read.
    pub runs_lost: u64,
    /// Those of the runs read in which nobody acts.
    pub runs_without_actions: u64,
    without_actions: First,
    /// What was passed over because no rule reads it, by reason.
    pub passed_over: PassedOver,
    /// How much could not be read.
    pub errors: u64,
    /// How much of that is content of no known format.
    pub foreign: u64,
    first_errors: First,
    /// Of how many parts everything was read, of how many something, of how many nothing.
    parts: [u64; 3],
}

/// The first texts of a file. Of several parts the first of each, then the second of each.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
struct First(BTreeSet<(u64, String)>);

impl First {
    fn of(texts: impl IntoIterator<Item = String>) -> Self {
        Self((0..).zip(texts.into_iter().take(TOLD)).collect())
    }

    fn merge(&mut self, other: &Self) {
        self.0.extend(other.0.iter().cloned());
        while self.0.len() > TOLD {
            self.0.pop_last();
        }
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(_, text)| text.as_str())
    }
}

/// What became of many files together.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct FileSums {
    /// How often each format was read, by its name; the empty name where the content gave none away, `several` where it
    /// held several.
    pub formats: BTreeMap<String, u64>,
    /// Runs that were read.
    pub runs: u64,
    /// Runs that could not be read.
    pub runs_lost: u64,
    /// Those of the runs read in which nobody acts.
    pub runs_without_actions: u64,
    /// What was passed over because no rule reads it, by reason.
    pub passed_over: PassedOver,
    /// How much could not be read.
    pub errors: u64,
    /// Of how many files everything was read, of how many something, of how many nothing.
    pub parts: [u64; 3],
    #[serde(with = "faults")]
    faults: BTreeMap<Place, Fault>,
}

/// What could not be read of one file.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fault {
    errors: u64,
    first: First,
}

fn add(sum: &mut u64, more: u64) {
    *sum = sum.saturating_add(more);
}

fn add_all<K: Ord + Clone>(sums: &mut BTreeMap<K, u64>, more: &BTreeMap<K, u64>) {
    for (key, count) in more {
        add(sums.entry(key.clone()).or_default(), *count);
    }
}

fn add_parts(sums: &mut [u64; 3], more: [u64; 3]) {
    for (sum, more) in sums.iter_mut().zip(more) {
        add(sum, more);
    }
}

impl FileReport {
    /// What a scan told of a file: its summary, its errors as text in their order, and how many of them say that the
    /// content is of no known format.
    #[must_use]
    pub fn of(summary: &FileSummary, errors: &[String], foreign: u64) -> Self {
        let format = match summary.format {
            Some(format) => format.name(),
            None if summary.is_mixed() => SEVERAL,
            None => "",
        };
        let parts = match (summary.errors, summary.runs) {
            (0, _) => [1, 0, 0],
            (_, 0) => [0, 0, 1],
            _ => [0, 1, 0],
        };
        Self {
            formats: [(format.to_owned(), 1)].into(),
            runs: summary.runs,
            runs_lost: summary.runs_lost,
            runs_without_actions: summary.runs_without_actions,
            without_actions: First::of(summary.without_actions.iter().cloned()),
            passed_over: summary.passed_over.clone(),
            errors: summary.errors,
            foreign,
            first_errors: First::of(errors.iter().cloned()),
            parts,
        }
    }

    /// The format that was read; `None` where the content gave none away, or several.
    #[must_use]
    pub fn format(&self) -> Option<Format> {
        let mut named = self.formats.keys().filter(|name| !name.is_empty());
        let format = named.next()?.parse().ok();
        if named.next().is_some() { None } else { format }
    }

    /// The names of the first runs in which nobody acts.
    pub fn without_actions(&self) -> impl Iterator<Item = &str> {
        self.without_actions.texts()
    }

    /// The first errors.
    pub fn first_errors(&self) -> impl Iterator<Item = &str> {
        self.first_errors.texts()
    }

    fn merge(&mut self, other: &Self) {
        add_all(&mut self.formats, &other.formats);
        add(&mut self.runs, other.runs);
        add(&mut self.runs_lost, other.runs_lost);
        add(&mut self.runs_without_actions, other.runs_without_actions);
        self.without_actions.merge(&other.without_actions);
        add_all(&mut self.passed_over, &other.passed_over);
        add(&mut self.errors, other.errors);
        add(&mut self.foreign, other.foreign);
        self.first_errors.merge(&other.first_errors);
        add_parts(&mut self.parts, other.parts);
    }

    fn count(&self) -> u64 {
        self.parts.iter().fold(0, |sum, parts| sum.saturating_add(*parts))
    }
}

impl FileSums {
    /// The first files with errors, in the order of a scan: the path, how many errors, the first of them.
    pub fn faults(&self) -> impl Iterator<Item = (&Path, u64, Option<&str>)> {
        self.faults
            .iter()
            .map(|((_, path), fault)| (path.as_path(), fault.errors, fault.first.texts().next()))
    }

    fn add(&mut self, place: &Place, file: &FileReport) {
        add_all(&mut self.formats, &file.formats);
        add(&mut self.runs, file.runs);
        add(&mut self.runs_lost, file.runs_lost);
        add(&mut self.runs_without_actions, file.runs_without_actions);
        add_all(&mut self.passed_over, &file.passed_over);
        add(&mut self.errors, file.errors);
        add_parts(&mut self.parts, file.parts);
        if file.errors > 0 {
            self.fault(place, &Fault { errors: file.errors, first: file.first_errors.clone() });
        }
    }

    fn fault(&mut self, place: &Place, fault: &Fault) {
        let own = self.faults.entry(place.clone()).or_default();
        add(&mut own.errors, fault.errors);
        own.first.merge(&fault.first);
        if self.faults.len() > NAMED {
            self.faults.pop_last();
        }
    }

    fn merge(&mut self, other: &Self) {
        add_all(&mut self.formats, &other.formats);
        add(&mut self.runs, other.runs);
        add(&mut self.runs_lost, other.runs_lost);
        add(&mut self.runs_without_actions, other.runs_without_actions);
        add_all(&mut self.passed_over, &other.passed_over);
        add(&mut self.errors, other.errors);
        add_parts(&mut self.parts, other.parts);
        for (place, fault) in &other.faults {
            self.fault(place, fault);
        }
    }
}

impl Default for Files {
    fn default() -> Self {
        Self { parts: 0, form: Form::Listed(BTreeMap::new()) }
    }
}

impl Files {
    /// Adds a file, or a part of one.
    pub fn add(&mut self, path: &Path, is_reachable: bool, report: &FileReport) {
        self.take(&(!is_reachable, path.to_path_buf()), report);
        self.settle();
    }

    fn take(&mut self, place: &Place, report: &FileReport) {
        add(&mut self.parts, report.count());
        match &mut self.form {
            Form::Listed(files) => match files.get_mut(place) {
                Some(own) => own.merge(report),
                None => drop(files.insert(place.clone(), report.clone())),
            },
            Form::Summed(sums) => sums.add(place, report),
        }
    }

    /// Sums up what has become too much.
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

    /// Adds the files of another part of a scan.
    ///
    /// # Errors
    /// [`ErrorKind::Partial`] where a file other than standard input is in both, so that its runs would count twice.
    /// This is known only while files are told one by one.
    pub fn merge(&mut self, other: &Self) -> Result<(), Error> {
        if let (Form::Listed(own), Form::Listed(others)) = (&self.form, &other.form) {
            let (few, many) = if own.len() < others.len() { (own, others) } else { (others, own) };
            let twice = |place: &&Place| place.1.as_os_str() != STDIN && many.contains_key(*place);
            if let Some((_, path)) = few.keys().find(twice) {
                let what = "the file is in several of the parts, and its runs would count twice";
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
                // Whatever is summed up there makes more than can be listed here.
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

    /// The files, in the order of a scan; `None` where there are so many that only [`Files::sums`] are kept.
    #[must_use]
    pub fn listed(&self) -> Option<Vec<(&Path, &FileReport)>> {
        match &self.form {
            Form::Listed(files) => {
                Some(files.iter().map(|((_, path), report)| (path.as_path(), report)).collect())
            }
            Form::Summed(_) => None,
        }
    }

    /// What became of all of them together, where they are not listed one by one.
    #[must_use]
    pub fn sums(&self) -> Option<&FileSums> {
        match &self.form {
            Form::Listed(_) => None,
            Form::Summed(sums) => Some(sums),
        }
    }

    /// Of how many files everything was read, of how many something, of how many nothing; of a file that was read in
    /// parts, every part counts.
    #[must_use]
    pub fn read_how_far(&self) -> [u64; 3] {
        match &self.form {
            Form::Listed(files) => {
                let mut parts = [0; 3];
                for report in files.values() {
                    add_parts(&mut parts, report.parts);
                }
                parts
            }
            Form::Summed(sums) => sums.parts,
        }
    }

    /// How many there are; of a file that was read in parts, every part counts.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.parts
    }
}

/// The files in a partial state. How many there are follows from the rest.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Written<L, S> {
    Listed(L),
    Summed(S),
}

impl Serialize for Files {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.form {
            Form::Listed(files) => Written::Listed(
                files
                    .iter()
                    .map(|((last, path), report)| (last, path.to_string_lossy(), report))
                    .collect::<Vec<_>>(),
            ),
            Form::Summed(sums) => Written::Summed(sums),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Files {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut files = Self::default();
        match Written::<Vec<(bool, PathBuf, FileReport)>, Box<FileSums>>::deserialize(deserializer)? {
            Written::Listed(list) => {
                for (last, path, report) in list {
                    files.take(&(last, path), &report);
                }
                files.settle();
            }
            Written::Summed(sums) => {
                let parts = sums.parts.iter().fold(0, |sum: u64, parts| sum.saturating_add(*parts));
                // Fewer would have been listed.
                files.parts = parts.max(MOST_LISTED + 1);
                files.form = Form::Summed(sums);
            }
        }
        Ok(files)
    }
}

mod faults {
    use super::{BTreeMap, Deserialize, Deserializer, Fault, PathBuf, Place, Serializer};

    pub(super) fn serialize<S: Serializer>(
        faults: &BTreeMap<Place, Fault>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer
            .collect_seq(faults.iter().map(|((last, path), fault)| (last, path.to_string_lossy(), fault)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<Place, Fault>, D::Error> {
        let list = Vec::<(bool, PathBuf, Fault)>::deserialize(deserializer)?;
        Ok(list.into_iter().map(|(last, path, fault)| ((last, path), fault)).collect())
    }
}
