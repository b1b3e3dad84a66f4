//! Results of a scan: records of runs, summaries of files, and progress.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::open::Compression;
use crate::detect::{Cost, Finding, Verdict};
use crate::error::Error;
use crate::fingerprint::Fingerprint;
use crate::path_text::path_text;
use crate::read::{Format, ReadCounts, ReadSummary, no_document};
use crate::trace::{Digest, Metadata, SourcePlace, Unpaired};

/// The results for one run.
///
/// In JSON: `{"trace", "position", "file", "model", "domain", "reward", "verdicts": {detector: verdict},
/// "fingerprint"?}`, where `trace` is [`TraceRecord::trace_id`]. A record that is read back has `trace` as its id and
/// its verdicts sorted by detector. Fields that are not in the JSON get their defaults.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TraceRecord {
    /// The file.
    pub file: Arc<Path>,
    /// The format, if it is known.
    pub format: Option<Format>,
    /// The 0-based position of the run in its file.
    pub position: u64,
    /// Its metadata.
    pub metadata: Metadata,
    /// Its reward, if known; finite.
    pub reward: Option<f64>,
    /// Counts of unpaired calls and answers.
    pub unpaired: Unpaired,
    /// Number of actions, of all actors.
    pub actions: u64,
    /// Number of actions with the status `error`.
    pub errors: u64,
    /// The verdicts by the id of the detector, in the order of the detectors.
    pub verdicts: Vec<(Cow<'static, str>, Verdict)>,
    /// The recorded cost of the whole run.
    pub cost: Cost,
    /// For each detector with findings, the cost of the steps inside the findings; each step counts once.
    pub costs_inside: Vec<(Cow<'static, str>, Cost)>,
    /// The digest of the content of the run, if requested: its messages and actions in order, with actors,
    /// arguments and answers. Statuses, metadata, rewards and times are ignored.
    pub digest: Option<Digest>,
    /// The fingerprint, if requested.
    pub fingerprint: Option<Fingerprint>,
    /// The place in the file of the last step of each finding, by step index. Filled in if
    /// [`ReadOptions::places`](crate::ReadOptions::places) is set and the format supports it.
    pub places: BTreeMap<u64, SourcePlace>,
}

impl TraceRecord {
    /// Returns the run's id in the source, or else `<file stem>#<position>`.
    #[must_use]
    pub fn trace_id(&self) -> String {
        self.metadata
            .id
            .clone()
            .unwrap_or_else(|| format!("{}#{}", path_text(stem(&self.file)), self.position))
    }

    /// Returns the id of the run if it has no action.
    pub(super) fn without_action(&self) -> Option<String> {
        (self.actions == 0).then(|| self.trace_id())
    }

    /// Returns the verdict of the detector with this id, or `None` if it did not judge the run.
    #[must_use]
    pub fn verdict(&self, detector: &str) -> Option<&Verdict> {
        self.verdicts.iter().find(|(id, _)| id == detector).map(|(_, verdict)| verdict)
    }

    /// Returns the findings of all detectors.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.verdicts.iter().flat_map(|(_, verdict)| verdict.findings())
    }
}

impl Serialize for TraceRecord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let verdicts: BTreeMap<&str, &Verdict> =
            self.verdicts.iter().map(|(id, verdict)| (id.as_ref(), verdict)).collect();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("trace", &self.trace_id())?;
        map.serialize_entry("position", &self.position)?;
        map.serialize_entry("file", &path_text(self.file.as_os_str()))?;
        map.serialize_entry("model", &self.metadata.model)?;
        map.serialize_entry("domain", &self.metadata.domain)?;
        map.serialize_entry("reward", &self.reward)?;
        map.serialize_entry("verdicts", &verdicts)?;
        if let Some(fingerprint) = &self.fingerprint {
            map.serialize_entry("fingerprint", fingerprint)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for TraceRecord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Wire {
            trace: String,
            position: u64,
            file: PathBuf,
            model: Option<Arc<str>>,
            domain: Option<Arc<str>>,
            reward: Option<f64>,
            verdicts: BTreeMap<String, Verdict>,
            fingerprint: Option<Fingerprint>,
        }
        let Wire { trace, position, file, model, domain, reward, verdicts, fingerprint } =
            Wire::deserialize(deserializer)?;
        Ok(Self {
            file: file.into(),
            format: None,
            position,
            metadata: Metadata { id: Some(trace), model, domain, ..Metadata::default() },
            reward,
            unpaired: Unpaired::default(),
            actions: 0,
            errors: 0,
            verdicts: verdicts.into_iter().map(|(id, verdict)| (id.into(), verdict)).collect(),
            cost: Cost::default(),
            costs_inside: Vec::new(),
            digest: None,
            fingerprint,
            places: BTreeMap::new(),
        })
    }
}

/// Returns the name of a file without its extension, or without its last two extensions if it is compressed.
fn stem(file: &Path) -> &OsStr {
    let stem = file.file_stem().unwrap_or_default();
    match Compression::of(file) {
        Compression::None => stem,
        _ => Path::new(stem).file_stem().unwrap_or_default(),
    }
}

/// Maximum length of [`FileSummary::without_actions`].
const NAMED: usize = 10;

/// Summary of one file.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FileSummary {
    /// The file.
    pub path: Arc<Path>,
    /// The format; `None` if it was not recognised, or if there were several.
    pub format: Option<Format>,
    /// True if there were documents of several formats.
    #[serde(skip)]
    is_mixed: bool,
    /// True if its lines are documents; it is then an error if none can be read.
    #[serde(skip)]
    wants_document: bool,
    /// False if the path cannot be read or is a directory without inputs. Such paths come last in a scan.
    #[serde(skip)]
    pub is_reachable: bool,
    /// The counts.
    #[serde(flatten)]
    pub counts: ReadCounts,
    /// The ids of the first 10 runs without an action.
    pub without_actions: Vec<String>,
}

impl FileSummary {
    pub(super) fn new(path: Arc<Path>) -> Self {
        Self {
            path,
            format: None,
            is_mixed: false,
            wants_document: false,
            is_reachable: true,
            counts: ReadCounts::default(),
            without_actions: Vec::new(),
        }
    }

    pub(crate) fn is_mixed(&self) -> bool {
        self.is_mixed
    }

    /// Makes the summary of a path that cannot be read, with one error.
    pub(super) fn unreachable(path: Arc<Path>) -> Self {
        let counts = ReadCounts { errors: 1, ..ReadCounts::default() };
        Self { is_reachable: false, counts, ..Self::new(path) }
    }

    /// Adds the id of a run without an action, unless [`NAMED`] ids are there already.
    pub(super) fn name_without_action(&mut self, name: Option<String>) {
        self.without_actions.extend(name.filter(|_| self.without_actions.len() < NAMED));
    }

    /// Returns an error if a line of the file should have been a document and none was.
    pub(super) fn lacks_document(&self) -> Option<Error> {
        let is_unread = self.format.is_none() && !self.is_mixed && self.counts.errors == 0;
        (self.wants_document && is_unread).then(no_document)
    }

    pub(super) fn add(&mut self, reading: &ReadSummary) {
        self.wants_document |= reading.wants_document;
        let differs = self.format.zip(reading.format).is_some_and(|(one, other)| one != other);
        self.is_mixed |= reading.is_mixed || differs;
        self.format = self.format.or(reading.format).filter(|_| !self.is_mixed);
        self.counts.add(&reading.counts);
    }
}

/// An event of a scan or of reading files. Events come in source order.
#[derive(Debug)]
#[non_exhaustive]
pub enum ScanEvent<T = TraceRecord> {
    /// A file begins.
    Begin(Arc<Path>),
    /// A run of the file: a record, a trace, or the value that the caller mapped the record to.
    Record(T),
    /// An error in the file, or about it.
    Error(Error),
    /// The file ends.
    End(FileSummary),
    /// Files in a given directory that are not read because of their extensions. Comes after all files that are read.
    NotRead {
        /// The directory.
        directory: Arc<Path>,
        /// Number of files.
        files: u64,
        /// Number of files by extension. Files without a plain extension, and those with extensions beyond the
        /// first hundred, are counted under the empty string.
        endings: BTreeMap<String, u64>,
    },
}

/// All results for one file.
#[derive(Debug)]
#[non_exhaustive]
pub struct FileScan {
    /// The file.
    pub path: Arc<Path>,
    /// The format; `None` if it was not recognised, or if there were several.
    pub format: Option<Format>,
    /// The records of runs, in file order.
    pub traces: Vec<TraceRecord>,
    /// The errors, each with this path.
    pub errors: Vec<Error>,
    /// The summary.
    pub summary: FileSummary,
}

impl FileScan {
    /// Adds an event to the results of the last file, or begins another.
    pub(super) fn collect(files: &mut Vec<Self>, event: ScanEvent) {
        match event {
            ScanEvent::Begin(path) => files.push(Self {
                path: Arc::clone(&path),
                format: None,
                traces: Vec::new(),
                errors: Vec::new(),
                summary: FileSummary::new(path),
            }),
            ScanEvent::Record(record) => files.last_mut().map_or((), |file| file.traces.push(record)),
            ScanEvent::Error(error) => files.last_mut().map_or((), |file| file.errors.push(error)),
            ScanEvent::End(summary) => {
                if let Some(file) = files.last_mut() {
                    file.format = summary.format;
                    file.summary = summary;
                }
            }
            ScanEvent::NotRead { .. } => {}
        }
    }
}

/// Progress of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Progress {
    /// Size of the finished files on disk, in bytes.
    pub bytes: u64,
    /// Size of all files in bytes, where known in advance.
    pub bytes_total: u64,
    /// Number of finished files.
    pub files: u64,
    /// Number of runs in finished files and pieces of files.
    pub traces: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scanner;

    #[test]
    fn a_compressed_file_gives_its_runs_the_same_names() {
        for name in ["a.json", "dir/a.json.gz", "a.jsonl.zst"] {
            assert_eq!(stem(Path::new(name)), "a");
        }
        assert_eq!(stem(Path::new("a.b.json")), "a.b");
    }

    #[test]
    fn a_file_in_memory_names_its_runs_without_actions() -> crate::Result<()> {
        let run =
            "{\"version\": 1, \"steps\": []}\n{\"version\": 1, \"steps\": [{\"name\": \"x\"}]}\n".repeat(12);
        let scanner = Scanner::new(Vec::new(), crate::scan::ScanOptions::default())?;
        let summary = scanner.scan_slice(Path::new("a.jsonl"), run.as_bytes()).summary;
        assert_eq!(summary.counts.runs_without_actions, 12);
        assert_eq!((summary.without_actions.len(), summary.without_actions[1].as_str()), (10, "a#2"));
        Ok(())
    }
}
