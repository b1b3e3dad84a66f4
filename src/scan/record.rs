//! What a scan says: of each run, of each file, of its progress.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::detect::{Cost, Verdict};
use crate::error::Error;
use crate::fingerprint::Fingerprint;
use crate::read::{Format, PassedOver, Reading, no_document};
use crate::trace::{Digest, Metadata, Unpaired};

/// What the scan says of one run.
///
/// In JSON: `{"trace", "position", "file", "model", "domain", "reward", "verdicts": {detector: verdict},
/// "fingerprint"?}`, where `trace` is the source's own id, or else `<file stem>#<position>`. What is written is read back;
/// all else is then as of a run of which nothing more is known.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TraceRecord {
    /// The file.
    pub file: Arc<Path>,
    /// The 0-based place of the run in its file.
    pub position: u64,
    /// What the run is known by.
    pub metadata: Metadata,
    /// Its reward; finite.
    pub reward: Option<f64>,
    /// Calls and answers that found no partner.
    pub unpaired: Unpaired,
    /// How many actions it has, of whomever.
    pub actions: u64,
    /// The verdicts, in the order of the detectors.
    pub verdicts: Vec<(Cow<'static, str>, Verdict)>,
    /// What the whole run took, as far as the source records it.
    pub cost: Cost,
    /// What the steps inside of a detector's findings took, each step once; of the detectors that found something.
    pub costs_inside: Vec<(Cow<'static, str>, Cost)>,
    /// The digest of the content of the run, where it was asked for: of who said and did what, and what came back,
    /// in order. Ids, names, rewards and times do not count.
    pub digest: Option<Digest>,
    /// The fingerprint, where it was asked for.
    pub fingerprint: Option<Fingerprint>,
}

impl TraceRecord {
    /// The source's own id of the run, or else `<file stem>#<position>`.
    #[must_use]
    pub fn trace_id(&self) -> String {
        self.metadata.id.clone().unwrap_or_else(|| {
            let stem = self.file.file_stem().unwrap_or_default().to_string_lossy();
            format!("{stem}#{}", self.position)
        })
    }

    /// What a detector says of the run.
    #[must_use]
    pub fn verdict(&self, detector: &str) -> Option<&Verdict> {
        self.verdicts.iter().find(|(id, _)| id == detector).map(|(_, verdict)| verdict)
    }
}

impl Serialize for TraceRecord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let verdicts: BTreeMap<&str, &Verdict> =
            self.verdicts.iter().map(|(id, verdict)| (id.as_ref(), verdict)).collect();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("trace", &self.trace_id())?;
        map.serialize_entry("position", &self.position)?;
        map.serialize_entry("file", &self.file.display().to_string())?;
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
            #[serde(default)]
            model: Option<Arc<str>>,
            #[serde(default)]
            domain: Option<Arc<str>>,
            #[serde(default)]
            reward: Option<f64>,
            verdicts: BTreeMap<String, Verdict>,
            #[serde(default)]
            fingerprint: Option<Fingerprint>,
        }
        let Wire { trace, position, file, model, domain, reward, verdicts, fingerprint } =
            Wire::deserialize(deserializer)?;
        Ok(Self {
            file: file.into(),
            position,
            metadata: Metadata { id: Some(trace), model, domain, ..Metadata::default() },
            reward,
            unpaired: Unpaired::default(),
            actions: 0,
            verdicts: verdicts.into_iter().map(|(id, verdict)| (id.into(), verdict)).collect(),
            cost: Cost::default(),
            costs_inside: Vec::new(),
            digest: None,
            fingerprint,
        })
    }
}

/// What became of one file.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FileSummary {
    /// The file.
    pub path: Arc<Path>,
    /// The format that was read; `None` where the content gave none away, or several.
    pub format: Option<Format>,
    /// Whether there were documents of several formats.
    #[serde(skip)]
    is_mixed: bool,
    /// Whether it has documents in its lines, of which one at least should be read.
    #[serde(skip)]
    wants_document: bool,
    /// Whether it could be found at all. What could not comes last in a scan.
    #[serde(skip)]
    pub is_reachable: bool,
    /// Runs that were read.
    pub runs: u64,
    /// Those of them in which nobody acts.
    pub runs_without_actions: u64,
    /// Names of the first of those.
    pub without_actions: Vec<String>,
    /// How much could not be read.
    pub errors: u64,
    /// How much of that cost a run.
    pub runs_lost: u64,
    /// What was passed over because no rule reads it, by reason.
    pub passed_over: PassedOver,
    /// Calls that stand in the file and were not read. An error names the first.
    pub unread_calls: u64,
    /// Calls and answers of all its runs that found no partner.
    pub unpaired: Unpaired,
}

impl FileSummary {
    pub(super) fn new(path: Arc<Path>) -> Self {
        Self {
            path,
            format: None,
            is_mixed: false,
            wants_document: false,
            is_reachable: true,
            runs: 0,
            runs_without_actions: 0,
            without_actions: Vec::new(),
            errors: 0,
            runs_lost: 0,
            passed_over: PassedOver::new(),
            unread_calls: 0,
            unpaired: Unpaired::default(),
        }
    }

    /// Whether there were documents of several formats.
    pub(crate) fn is_mixed(&self) -> bool {
        self.is_mixed
    }

    /// What a path gives that cannot be reached.
    pub(super) fn unreachable(path: Arc<Path>) -> Self {
        Self { is_reachable: false, errors: 1, ..Self::new(path) }
    }

    /// Counts something of the file that could not be read.
    pub(super) fn count(&mut self, error: &Error) {
        self.errors += 1;
        self.runs_lost += u64::from(error.run().is_some());
    }

    /// What is wrong where all parts of the file together have no document, and should have one.
    pub(super) fn lacks_document(&self) -> Option<Error> {
        let is_unread = self.format.is_none() && !self.is_mixed && self.errors == 0;
        (self.wants_document && is_unread).then(no_document)
    }

    /// Adds what another part of the file gave.
    pub(super) fn add(&mut self, reading: Reading) {
        self.wants_document |= reading.wants_document;
        let differs = self.format.zip(reading.format).is_some_and(|(one, other)| one != other);
        self.is_mixed |= reading.is_mixed || differs;
        self.format = self.format.or(reading.format).filter(|_| !self.is_mixed);
        self.runs += reading.runs;
        self.runs_without_actions += reading.runs_without_actions;
        self.unread_calls += reading.unread_calls;
        self.unpaired.add(reading.unpaired);
        for (reason, count) in reading.passed_over {
            *self.passed_over.entry(reason).or_default() += count;
        }
    }
}

/// What a scan reports, in source order.
#[derive(Debug)]
#[non_exhaustive]
pub enum ScanEvent<T = TraceRecord> {
    /// A file begins.
    Begin(Arc<Path>),
    /// A run of it, or what was made of it.
    Record(T),
    /// Something of it could not be read.
    Error(Error),
    /// The file is over.
    End(FileSummary),
    /// Files of a directory that was asked for, and of those in it, are not read: their names are none of inputs.
    /// Behind all files.
    NotRead {
        /// The directory.
        directory: Arc<Path>,
        /// How many files.
        files: u64,
        /// The same by the endings of their names, those without a plain one, and beside a hundred others the
        /// rest, under the empty one.
        endings: BTreeMap<String, u64>,
    },
}

/// Everything that a scan says of one file, held together.
#[derive(Debug)]
#[non_exhaustive]
pub struct FileScan {
    /// The file.
    pub path: Arc<Path>,
    /// The format that was read; `None` where the content gave none away, or several.
    pub format: Option<Format>,
    /// The runs, in the order of the file.
    pub traces: Vec<TraceRecord>,
    /// What could not be read, each error with this path.
    pub errors: Vec<Error>,
    /// The counts.
    pub summary: FileSummary,
}

impl FileScan {
    /// Puts the events of files together.
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

/// How far a scan has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Progress {
    /// Bytes of the files that are done.
    pub bytes: u64,
    /// Bytes of all files, as far as their sizes are known beforehand.
    pub bytes_total: u64,
    /// Files done.
    pub files: u64,
    /// Runs done.
    pub traces: u64,
}
