//! The parallel scan: detectors over every run of every file, results in source order.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::source::{Role, SourceFile, discover};
use crate::detectors::{Detector, Monitor, Verdict};
use crate::error::{Error, ErrorKind, Result};
use crate::fingerprint::{Fingerprint, FingerprintBuilder};
use crate::input::{
    Companion, Format, ReadOptions, Reading, read_header_or_runs, read_slice_split, read_slice_with,
    read_stream, read_stream_with,
};
use crate::trace::{Ending, Metadata, Routing, Step, StepSink, Unpaired};

/// To cut a file takes half as long as to scan it, so that two threads together are no faster than one alone.
const HELPERS: usize = 3;

/// Files below this size, in bytes, are read by one thread.
const WORTH_CUTTING: u64 = 4 << 20;

/// How a corpus is scanned.
#[derive(Debug, Clone)]
pub struct ScanOptions {
    /// How files are read.
    pub read: ReadOptions,
    /// Whether fingerprints are taken.
    pub fingerprints: bool,
    /// Threads; `None` is one per core.
    pub threads: Option<usize>,
    /// Files above this size, in bytes, are streamed run by run instead of being held whole.
    pub whole_file_limit: u64,
}

impl Default for ScanOptions {
    fn default() -> Self {
        Self { read: ReadOptions::default(), fingerprints: false, threads: None, whole_file_limit: 256 << 20 }
    }
}

/// What the scan says of one run.
///
/// In JSON: `{"trace", "position", "file", "model", "domain", "reward", "verdicts": {detector: verdict},
/// "fingerprint"?}`, where `trace` is the source's own id, or else `<file stem>#<position>`.
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
    /// The verdicts, in the order of the detectors.
    pub verdicts: Vec<(&'static str, Verdict)>,
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
        self.verdicts.iter().find(|(id, _)| *id == detector).map(|(_, verdict)| verdict)
    }
}

impl Serialize for TraceRecord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let verdicts: BTreeMap<&str, &Verdict> =
            self.verdicts.iter().map(|(id, verdict)| (*id, verdict)).collect();
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

/// What the scan says of one file.
#[derive(Debug)]
#[non_exhaustive]
pub struct FileScan {
    /// The file.
    pub path: Arc<Path>,
    /// The format that was read; `None` where the content gave none away.
    pub format: Option<Format>,
    /// The runs, in the order of the file.
    pub traces: Vec<TraceRecord>,
    /// What could not be read, each error with this path.
    pub errors: Vec<Error>,
}

/// How far a scan has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
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

/// Runs detectors over corpora.
///
/// ```no_run
/// use tracelint::{ScanOptions, Scanner, default_detectors};
///
/// let scanner = Scanner::new(default_detectors(), ScanOptions::default());
/// scanner.scan(&["results".into()], |_| {}, |file| {
///     for trace in file.traces {
///         println!("{}", trace.trace_id());
///     }
/// })?;
/// # Ok::<(), tracelint::Error>(())
/// ```
#[derive(Debug)]
pub struct Scanner {
    detectors: Vec<Arc<dyn Detector>>,
    options: ScanOptions,
}

impl Scanner {
    /// A scanner with these detectors. It keeps the texts of arguments where one of them reads them.
    #[must_use]
    pub fn new(detectors: Vec<Arc<dyn Detector>>, mut options: ScanOptions) -> Self {
        options.read.argument_texts = detectors.iter().any(|detector| detector.reads_argument_texts());
        Self { detectors, options }
    }

    /// Scans files and directories. `each` is given every file in source order, which is the sorted order of
    /// the paths, whatever the number of threads; `progress` is told after every file.
    ///
    /// # Errors
    /// Only where threads cannot be started. What cannot be read is in the [`FileScan`] of its path.
    pub fn scan(
        &self,
        paths: &[PathBuf],
        progress: impl Fn(Progress) + Sync,
        each: impl FnMut(FileScan) + Send,
    ) -> Result<()> {
        let (files, unreachable) = discover(paths);
        let delivery = Mutex::new(Delivery {
            next: 0,
            waiting: BTreeMap::new(),
            each,
            progress: Progress {
                bytes_total: files.iter().map(|file| file.size).sum(),
                ..Progress::default()
            },
        });
        let deliver = |number: usize, file: FileScan, bytes: u64| {
            let now = delivery.lock().unwrap_or_else(PoisonError::into_inner).take(number, file, bytes);
            progress(now);
        };
        let threads = match self.options.threads {
            Some(threads) => threads.max(1),
            None => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        };
        let scan = Scan { scanner: self, threads, files: &files, next: AtomicUsize::new(0) };
        if threads == 1 {
            scan.work(&deliver);
        } else {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .map_err(|error| Error::new(ErrorKind::Io, format!("cannot start threads: {error}")))?;
            pool.scope(|scope| {
                for _ in 0..threads.min(files.len()) {
                    scope.spawn(|_| scan.work(&deliver));
                }
            });
        }
        let mut each = delivery.into_inner().unwrap_or_else(PoisonError::into_inner).each;
        for error in unreachable {
            let path: Arc<Path> = error.path().unwrap_or(Path::new("")).into();
            each(FileScan { path, format: None, traces: Vec::new(), errors: vec![error] });
        }
        Ok(())
    }

    /// As [`Scanner::scan`], with all files at once.
    ///
    /// # Errors
    /// As [`Scanner::scan`].
    pub fn collect(&self, paths: &[PathBuf]) -> Result<Vec<FileScan>> {
        let mut files = Vec::new();
        self.scan(paths, |_| {}, |file| files.push(file))?;
        Ok(files)
    }

    /// Scans a file in memory, which is called `path` in the results.
    #[must_use]
    pub fn scan_slice(&self, path: &Path, bytes: &[u8]) -> FileScan {
        self.scan_with(path, |sink| read_slice_with(bytes, &self.options.read, None, sink))
    }

    fn scan_with(&self, path: &Path, read: impl FnOnce(&mut dyn StepSink) -> Reading) -> FileScan {
        let file: Arc<Path> = path.into();
        let mut sink = self.sink(&file);
        let reading = read(&mut sink);
        file_scan(file, reading, sink.records)
    }

    /// As [`Scanner::scan_slice`], by several threads of the current pool where the file can be cut.
    fn scan_split(&self, path: &Path, bytes: &[u8], companion: Option<&Companion>) -> FileScan {
        let file: Arc<Path> = path.into();
        match read_slice_split(bytes, &self.options.read, companion, || self.sink(&file)) {
            Some((reading, sinks)) => {
                let records = sinks.into_iter().flat_map(|sink| sink.records).collect();
                file_scan(file, reading, records)
            }
            None => self.scan_with(path, |sink| read_slice_with(bytes, &self.options.read, companion, sink)),
        }
    }

    fn sink(&self, file: &Arc<Path>) -> Sink<'_> {
        Sink {
            detectors: &self.detectors,
            fingerprints: self.options.fingerprints,
            file: Arc::clone(file),
            position: 0,
            monitor: None,
            fingerprint: None,
            records: Vec::new(),
        }
    }
}

fn file_scan(path: Arc<Path>, reading: Reading, traces: Vec<TraceRecord>) -> FileScan {
    let errors = reading.errors.into_iter().map(|error| error.in_file(&path)).collect();
    FileScan { format: reading.format, traces, errors, path }
}

/// Hands results on in order, whoever is done first.
struct Delivery<F> {
    next: usize,
    waiting: BTreeMap<usize, FileScan>,
    each: F,
    progress: Progress,
}

impl<F: FnMut(FileScan)> Delivery<F> {
    fn take(&mut self, number: usize, file: FileScan, bytes: u64) -> Progress {
        self.progress.bytes += bytes;
        self.progress.files += 1;
        self.progress.traces += file.traces.len() as u64;
        self.waiting.insert(number, file);
        while let Some(file) = self.waiting.remove(&self.next) {
            self.next += 1;
            (self.each)(file);
        }
        self.progress
    }
}

/// One scan under way, shared by its threads.
struct Scan<'s> {
    scanner: &'s Scanner,
    threads: usize,
    files: &'s [SourceFile],
    next: AtomicUsize,
}

impl Scan<'_> {
    /// Takes file after file until none is left, with one buffer for all of them.
    fn work(&self, deliver: &impl Fn(usize, FileScan, u64)) {
        let mut buffer = Vec::new();
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(file) = self.files.get(number) else { return };
            let done = self.file(file, &mut buffer);
            deliver(number, done, file.size);
        }
    }

    fn file(&self, file: &SourceFile, buffer: &mut Vec<u8>) -> FileScan {
        let options = &self.scanner.options;
        // Threads that find no file of their own help with this one.
        if self.threads >= self.files.len().saturating_mul(HELPERS)
            && file.size >= WORTH_CUTTING
            && matches!(file.role, Role::Runs)
            && matches!(fill(file, options.whole_file_limit, buffer), Ok(None))
        {
            return self.scanner.scan_split(&file.path, buffer, None);
        }
        self.scanner.scan_with(&file.path, |sink| {
            match fill(file, options.whole_file_limit, buffer) {
                Ok(None) => match &file.role {
                    Role::Runs => read_slice_with(buffer, &options.read, None, sink),
                    Role::RunOf(shared) => {
                        read_slice_with(buffer, &options.read, Some(shared.get(&options.read)), sink)
                    }
                    Role::Header => read_header_or_runs(buffer, &options.read, sink),
                },
                Ok(Some(stream)) => match &file.role {
                    Role::Runs => read_stream(stream, &options.read, sink),
                    Role::RunOf(shared) => {
                        read_stream_with(stream, &options.read, Some(shared.get(&options.read)), sink)
                    }
                    // What it holds beside the tasks is little, and they are held anyway.
                    Role::Header => match whole(stream) {
                        Ok(bytes) => read_header_or_runs(&bytes, &options.read, sink),
                        Err(error) => Reading { errors: vec![error], ..Reading::default() },
                    },
                },
                Err(error) => Reading { errors: vec![error], ..Reading::default() },
            }
        })
    }
}

fn whole(mut stream: impl Read) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads the file into the buffer, or opens it as a stream where it is too large or no regular file.
fn fill(file: &SourceFile, limit: u64, buffer: &mut Vec<u8>) -> Result<Option<Box<dyn Read>>> {
    if file.path.as_os_str() == "-" {
        return Ok(Some(Box::new(std::io::stdin())));
    }
    let mut input = File::open(&file.path)?;
    let metadata = input.metadata()?;
    if !metadata.is_file() || metadata.len() > limit {
        return Ok(Some(Box::new(input)));
    }
    buffer.clear();
    let size = usize::try_from(metadata.len()).unwrap_or(usize::MAX);
    if buffer.capacity() < size {
        // Grown in place, the old buffer would be copied for nothing.
        *buffer = Vec::new();
        buffer.try_reserve_exact(size).map_err(|error| Error::new(ErrorKind::Io, error.to_string()))?;
    }
    input.read_to_end(buffer)?;
    Ok(None)
}

/// Folds the detectors over the runs of one file.
struct Sink<'s> {
    detectors: &'s [Arc<dyn Detector>],
    fingerprints: bool,
    file: Arc<Path>,
    position: u64,
    /// Serves run after run.
    monitor: Option<Monitor>,
    fingerprint: Option<FingerprintBuilder>,
    records: Vec<TraceRecord>,
}

impl StepSink for Sink<'_> {
    fn begin(&mut self, position: u64, routing: &Routing) {
        self.position = position;
        match &mut self.monitor {
            Some(monitor) => monitor.reopen(routing),
            None => self.monitor = Some(Monitor::open(self.detectors, routing)),
        }
        self.fingerprint = self.fingerprints.then(FingerprintBuilder::default);
    }

    fn step(&mut self, step: &Step<'_>) {
        if let Some(monitor) = &mut self.monitor {
            monitor.observe_step(step);
        }
        if let Some(fingerprint) = &mut self.fingerprint {
            fingerprint.observe(step);
        }
    }

    fn end(&mut self, ending: Ending) {
        let verdicts = self.monitor.as_mut().map(Monitor::close).unwrap_or_default();
        self.records.push(TraceRecord {
            file: Arc::clone(&self.file),
            position: self.position,
            metadata: ending.metadata,
            reward: ending.reward,
            unpaired: ending.unpaired,
            verdicts,
            fingerprint: self.fingerprint.take().map(FingerprintBuilder::finish),
        });
    }

    fn abandon(&mut self) {
        self.fingerprint = None;
    }

    fn rewind(&mut self) {
        self.abandon();
        self.records.clear();
    }

    fn describe(&mut self, model: Option<&Arc<str>>, domain: Option<&Arc<str>>) {
        for record in &mut self.records {
            record.metadata.describe(model, domain);
        }
    }
}
