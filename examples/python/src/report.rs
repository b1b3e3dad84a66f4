//! Runs detectors over files and bytes, and holds the result in a report.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyTuple};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use wrongturn::detect::{Cost, Measure};
use wrongturn::merge::{
    FileReport, FlaggedRun, PartialContent, PartialState, RunStrip, ScanPart, StripFinding, StripStep,
};
use wrongturn::read::{Format, read_slice};
use wrongturn::report::{Detail, Document, scan_document};
use wrongturn::scan::{FileScan, ScanEvent, ScanOptions, TraceRecord, read_files};
use wrongturn::trace::{Digest, RouteStatus, RunSummary, StepSink, Unpaired};
use wrongturn::{Error, ErrorKind, Metadata, ReadOptions, Scanner, Step, Verdict};

use crate::detector::{Custom, Fault, Selection};
use crate::table::{self, Table};
use crate::{Failure, config_error, from_json, raised, to_json};

/// The maximum number of errors of a file that its entry in the figures lists.
const FIRST_ERRORS: usize = 10;

#[derive(Deserialize)]
struct Options {
    #[serde(flatten)]
    selection: Selection,
    format: Option<Format>,
    threads: Option<usize>,
}

impl Options {
    fn read(&self) -> ReadOptions {
        ReadOptions { format: self.format, ..ReadOptions::default() }
    }
}

/// The result of a check.
#[pyclass(frozen, eq, module = "wrongturn._native")]
pub(crate) struct Report {
    records: Vec<TraceRecord>,
    /// The place of the first run with each id.
    by_id: HashMap<String, usize>,
    part: ScanPart,
    errors: Vec<Failure>,
    /// The inputs that are not files, by the names that stand for their paths.
    memory: HashMap<PathBuf, PyBackedBytes>,
    format: Option<Format>,
}

impl PartialEq for Report {
    fn eq(&self, other: &Self) -> bool {
        self.records == other.records && self.part == other.part && self.errors == other.errors
    }
}

/// The results gathered from the events of a scan.
#[derive(Default)]
struct Gathered {
    records: Vec<TraceRecord>,
    part: ScanPart,
    errors: Vec<Failure>,
    /// The errors of the current file, as text.
    of_file: Vec<String>,
    foreign: u64,
}

impl Gathered {
    fn take(&mut self, event: ScanEvent<(Option<FlaggedRun>, TraceRecord)>) {
        match event {
            ScanEvent::Record((flagged, record)) => {
                self.part.summary.add(&record);
                self.part.worst.extend(flagged);
                self.records.push(record);
            }
            ScanEvent::Error(error) => {
                self.foreign += u64::from(error.kind() == ErrorKind::Format);
                if self.of_file.len() < FIRST_ERRORS {
                    self.of_file.push(error.to_string());
                }
                self.errors.push(Failure::of(&error));
            }
            ScanEvent::End(summary) => {
                let (errors, foreign) =
                    (std::mem::take(&mut self.of_file), std::mem::take(&mut self.foreign));
                let report = FileReport::of(&summary, &errors, foreign);
                self.part.files.add(&summary.path, summary.is_reachable, &report);
            }
            _ => {}
        }
    }

    fn take_file(&mut self, file: FileScan) {
        for record in file.traces {
            self.take(ScanEvent::Record((FlaggedRun::of(&record), record)));
        }
        for error in file.errors {
            self.take(ScanEvent::Error(error));
        }
        self.take(ScanEvent::End(file.summary));
    }
}

/// Runs detectors over paths and over bytes, without holding the interpreter's lock.
#[pyfunction]
pub(crate) fn check(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    memory: Vec<(PathBuf, PyBackedBytes)>,
    options: &str,
    custom: Vec<Custom>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Report> {
    let options: Options = from_json(py, options)?;
    let fault = Fault::default();
    let scan = ScanOptions {
        read: options.read(),
        digests: true,
        fingerprints: true,
        threads: options.threads,
        ..ScanOptions::default()
    };
    let detectors = options.selection.build(py, custom, &fault)?;
    let scanner = Scanner::new(detectors, scan).map_err(|error| raised(py, &error))?;
    let gathered = py.detach(|| {
        let mut gathered = Gathered::default();
        if !paths.is_empty() {
            let tell = |now: wrongturn::scan::Progress| {
                if let Some(progress) = &progress {
                    // Nothing can handle an exception of a progress callback.
                    let _ = Python::attach(|py| progress.call1(py, (now.bytes, now.bytes_total, now.traces)));
                }
            };
            let map = |record: TraceRecord| (FlaggedRun::of(&record), record);
            scanner.scan_map(&paths, tell, map, |event| gathered.take(event))?;
        }
        for (name, bytes) in &memory {
            gathered.take_file(scanner.scan_slice(name, bytes));
        }
        Ok::<_, Error>(gathered)
    });
    fault.check()?;
    let Gathered { records, part, errors, .. } = gathered.map_err(|error| raised(py, &error))?;
    Ok(Report::new(records, part, errors, memory.into_iter().collect(), options.format))
}

/// A record with the fields that its own JSON leaves out.
#[derive(Serialize, Deserialize)]
struct Kept {
    record: TraceRecord,
    format: Option<Format>,
    metadata: Metadata,
    unpaired: Unpaired,
    actions: u64,
    errors: u64,
    cost: Cost,
    costs_inside: Vec<(Cow<'static, str>, Cost)>,
    digest: Option<Digest>,
    /// The measures of each verdict.
    measures: Vec<Vec<(String, f64)>>,
}

impl Kept {
    fn of(record: &TraceRecord) -> Self {
        let measures = |verdict: &Verdict| {
            let measures = verdict.judgement().map(|judgement| judgement.measures.iter());
            measures.into_iter().flatten().map(|measure| (measure.name.to_owned(), measure.value)).collect()
        };
        Self {
            format: record.format,
            metadata: record.metadata.clone(),
            unpaired: record.unpaired,
            actions: record.actions,
            errors: record.errors,
            cost: record.cost,
            costs_inside: record.costs_inside.clone(),
            digest: record.digest,
            measures: record.verdicts.iter().map(|(_, verdict)| measures(verdict)).collect(),
            record: record.clone(),
        }
    }

    fn restored(self) -> TraceRecord {
        let Self {
            mut record,
            format,
            metadata,
            unpaired,
            actions,
            errors,
            cost,
            costs_inside,
            digest,
            measures,
        } = self;
        for ((_, verdict), measures) in record.verdicts.iter_mut().zip(measures) {
            if let Verdict::Judged(judgement) = verdict {
                let measure = |(name, value)| Measure { name: interned(name), value };
                judgement.measures = measures.into_iter().map(measure).collect::<Vec<_>>().into();
            }
        }
        (record.format, record.metadata, record.unpaired) = (format, metadata, unpaired);
        (record.actions, record.errors) = (actions, errors);
        (record.cost, record.costs_inside, record.digest) = (cost, costs_inside, digest);
        record
    }
}

/// Returns a name that lives as long as the program. Leaks each distinct name once.
fn interned(name: String) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name.as_str()) {
        return known;
    }
    let kept: &'static str = Box::leak(name.into_boxed_str());
    names.insert(kept);
    kept
}

/// The pickled form of a report, without its inputs in memory.
#[derive(Serialize, Deserialize)]
struct Pickled {
    part: String,
    records: Vec<Kept>,
    errors: Vec<Failure>,
    format: Option<Format>,
}

impl Report {
    fn new(
        records: Vec<TraceRecord>,
        part: ScanPart,
        errors: Vec<Failure>,
        memory: HashMap<PathBuf, PyBackedBytes>,
        format: Option<Format>,
    ) -> Self {
        let mut by_id = HashMap::new();
        for (place, record) in records.iter().enumerate() {
            by_id.entry(record.trace_id()).or_insert(place);
        }
        Self { records, by_id, part, errors, memory, format }
    }

    pub(crate) fn records(&self) -> &[TraceRecord] {
        &self.records
    }

    fn record(&self, place: usize) -> PyResult<&TraceRecord> {
        self.records.get(place).ok_or_else(|| PyIndexError::new_err(place))
    }

    /// Returns the steps of a run, read again from its input; empty if the run is no longer there.
    fn steps(&self, file: &Path, position: u64) -> Vec<StripStep> {
        let options = ReadOptions { format: self.format, routes: false, ..ReadOptions::default() };
        let mut sink = OneRun { position, is_open: false, steps: Vec::new() };
        if let Some(bytes) = self.memory.get(file) {
            let _ = read_slice(bytes, &options, &mut sink);
            return sink.steps;
        }
        let mut next = 0;
        let found = read_files([file], &options, |event| {
            match event {
                ScanEvent::Record(trace) if next == position => {
                    return Err(trace.steps().map(|step| StripStep::of(&step)).collect());
                }
                ScanEvent::Record(_) => next += 1,
                ScanEvent::Error(error) => next = error.run().map_or(next, |run| run + 1),
                _ => {}
            }
            Ok::<(), Vec<StripStep>>(())
        });
        found.err().unwrap_or_default()
    }

    fn strip(&self, record: &TraceRecord) -> RunStrip {
        let findings = record.verdicts.iter().flat_map(|(_, verdict)| verdict.findings());
        RunStrip {
            title: record.trace_id(),
            steps: self.steps(&record.file, record.position),
            findings: findings.map(StripFinding::of).collect(),
        }
    }

    /// Returns the worst runs with their steps.
    fn worst(&self) -> Vec<RunStrip> {
        let options = ReadOptions { format: self.format, ..ReadOptions::default() };
        let mut strips = self.part.worst.clone().read(&options);
        for (run, strip) in self.part.worst.runs().iter().zip(&mut strips) {
            if self.memory.contains_key(&*run.file)
                && let Some(record) = self.place(&run.run).and_then(|place| self.records.get(place))
            {
                strip.steps = self.steps(&record.file, record.position);
            }
        }
        strips
    }
}

/// Keeps the steps of the run at one position.
struct OneRun {
    position: u64,
    is_open: bool,
    steps: Vec<StripStep>,
}

impl StepSink for OneRun {
    fn begin(&mut self, position: u64, _routing: &RouteStatus) {
        self.is_open = position == self.position;
    }

    fn step(&mut self, step: &Step<'_>) {
        if self.is_open {
            self.steps.push(StripStep::of(step));
        }
    }

    fn end(&mut self, _ending: RunSummary) {
        self.is_open = false;
    }

    fn abandon(&mut self) {
        self.is_open = false;
    }
}

#[pymethods]
impl Report {
    fn __len__(&self) -> usize {
        self.records.len()
    }

    /// The place of the first run with an id.
    fn place(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    fn runs(&self) -> PyResult<Table> {
        table::runs(&self.records)
    }

    fn findings(&self) -> PyResult<Table> {
        table::findings(&self.records)
    }

    fn errors<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.errors.iter().map(|error| error.exception(py)).collect()
    }

    /// The figures of `wrongturn check --output-format json`.
    fn figures(&self, py: Python<'_>) -> PyResult<String> {
        to_json(py, &self.part.figures())
    }

    /// The counts of runs and of flagged runs.
    fn counts(&self) -> (u64, u64) {
        (self.part.summary.runs(), self.part.summary.flagged())
    }

    fn text(&self) -> String {
        Document::new("").tables_of(self.part.summary.tables()).text(Detail::Full)
    }

    fn html(&self, py: Python<'_>) -> String {
        py.detach(|| {
            let summary = &self.part.summary;
            scan_document(summary, self.worst(), &self.part.files).html()
        })
    }

    /// A run as JSON.
    fn run(&self, py: Python<'_>, place: usize) -> PyResult<String> {
        let record = self.record(place)?;
        let mut run = serde_json::to_value(record).map_err(|error| config_error(py, &error.to_string()))?;
        if let Some(run) = run.as_object_mut() {
            run.remove("fingerprint");
            run.insert("metadata".to_owned(), json!(record.metadata));
            run.insert("cost".to_owned(), json!(record.cost));
        }
        to_json(py, &run)
    }

    /// A page with the strip of a run.
    fn run_html(&self, py: Python<'_>, place: usize) -> PyResult<String> {
        let record = self.record(place)?;
        Ok(py.detach(|| Document::new(record.trace_id()).strips(vec![self.strip(record)]).html()))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let content = PartialContent::Scan(Box::new(self.part.clone()));
        let part = PartialState::new("python", &Value::Null, content).and_then(|state| state.to_json());
        let pickled = Pickled {
            part: String::from_utf8(part.map_err(|error| raised(py, &error))?)?,
            records: self.records.iter().map(Kept::of).collect(),
            errors: self.errors.clone(),
            format: self.format,
        };
        let memory = self.memory.iter().map(|(name, bytes)| (name.as_path(), PyBytes::new(py, bytes)));
        let arguments = (to_json(py, &pickled)?, memory.collect::<Vec<_>>());
        Ok((py.get_type::<Self>().getattr("_restored")?, arguments.into_pyobject(py)?))
    }

    #[staticmethod]
    fn _restored(py: Python<'_>, pickled: &str, memory: Vec<(PathBuf, PyBackedBytes)>) -> PyResult<Self> {
        let Pickled { part, records, errors, format } = from_json(py, pickled)?;
        let state = PartialState::from_json(part.as_bytes()).map_err(|error| raised(py, &error))?;
        let PartialContent::Scan(part) = state.into_content() else {
            return Err(config_error(py, "expected a pickled report, got another state"));
        };
        let records = records.into_iter().map(Kept::restored).collect();
        Ok(Self::new(records, *part, errors, memory.into_iter().collect(), format))
    }
}
