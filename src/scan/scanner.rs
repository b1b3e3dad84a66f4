//! Runs detectors over the runs of many files in parallel, with results in source order.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::find_files::{Discovered, discover};
use super::metadata_table::RunTable;
use super::order::Order;
use super::profile::Profile;
use super::record::{FileScan, FileSummary, Progress, ScanEvent, TraceRecord};
use super::run_detectors::Sink;
use super::threads::Work;
use crate::detect::{Detector, check_ids};
use crate::error::{Error, ErrorKind, Result};
use crate::read::{Format, InputContext, ReadOptions, Window, read_window};
use crate::trace::Metadata;

const MOST_THREADS: usize = 1024;

const MOST_PIECE_BYTES: usize = 1 << 30;

/// Options of a scan. Fields may be added: write `..ScanOptions::default()` after those that you set.
///
/// ```
/// use wrongturn::{ReadOptions, Scanner, default_detectors, scan::ScanOptions};
///
/// let options = ScanOptions {
///     read: ReadOptions { text_errors: false, ..ReadOptions::default() },
///     fingerprints: true,
///     threads: Some(1),
///     ..ScanOptions::default()
/// };
/// let scanner = Scanner::new(default_detectors(), options)?;
/// let run = br#"{"version": 1, "steps": [{"name": "look", "status": "ok"}, {"name": "go", "status": "ok"}]}"#;
/// let file = scanner.scan_slice("run.json".as_ref(), run);
/// assert!(file.traces[0].fingerprint.as_ref().is_some_and(|fingerprint| !fingerprint.is_empty()));
/// // The number of threads must be from 1 to 1,024.
/// assert!(Scanner::new(Vec::new(), ScanOptions { threads: Some(0), ..ScanOptions::default() }).is_err());
/// # Ok::<(), wrongturn::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ScanOptions {
    /// How files are read.
    pub read: ReadOptions,
    /// Whether to compute fingerprints.
    pub fingerprints: bool,
    /// Whether to compute the digest of each run's content, to recognise repeated runs.
    pub digests: bool,
    /// A table that completes the metadata of runs.
    pub run_table: Option<Arc<RunTable>>,
    /// Number of threads, from 1 to 1,024; `None` for one per core.
    pub threads: Option<usize>,
    /// Uncompressed files up to this size, in bytes, are read whole by one thread. Other files are streamed
    /// and, if their format allows it, cut into pieces that threads share.
    pub whole_file_limit: u64,
    /// The approximate size of a piece in bytes, at most 1 GiB. Runs are not divided: a run larger than this makes
    /// its piece larger.
    pub piece_bytes: usize,
    /// Whether to read all files as one source of spans and log records: parts of a trace are joined across files.
    /// A trace then belongs to the first file that has a part of it, and files of spans come last. A file that
    /// also holds other runs is reported twice. Spans are held until every file has been read.
    pub join: bool,
    /// Other detectors for some runs. The detectors of the first profile that matches a run replace the
    /// scanner's own.
    pub profiles: Vec<Profile>,
}

impl Default for ScanOptions {
    fn default() -> Self {
        Self {
            read: ReadOptions::default(),
            fingerprints: false,
            digests: false,
            run_table: None,
            threads: None,
            whole_file_limit: 4 << 20,
            piece_bytes: 768 << 10,
            join: false,
            profiles: Vec::new(),
        }
    }
}

/// Runs detectors over files and directories of recorded runs.
///
/// ```no_run
/// use wrongturn::{Scanner, default_detectors, scan::{ScanEvent, ScanOptions}};
///
/// let scanner = Scanner::new(default_detectors(), ScanOptions::default())?;
/// scanner.scan(["results"], |_| {}, |event| {
///     if let ScanEvent::Record(record) = event {
///         println!("{}", record.trace_id());
///     }
/// })?;
/// # Ok::<(), wrongturn::Error>(())
/// ```
#[derive(Debug)]
pub struct Scanner {
    /// The detectors of the scanner and of all profiles, each once.
    pub(super) detectors: Vec<Arc<dyn Detector>>,
    /// The scanner's own detectors, as indices into `detectors`.
    pub(super) own: Vec<usize>,
    /// The detectors of each profile, as indices into `detectors`.
    pub(super) of_profiles: Vec<Vec<usize>>,
    pub(super) options: ScanOptions,
}

impl Scanner {
    /// Creates a scanner with these detectors. If the options do not say whether to keep argument texts, they
    /// are kept only if a detector reads them.
    ///
    /// # Errors
    /// [`ErrorKind::Config`] if two detectors of the scanner or of one profile share an id, an id is not
    /// `snake_case`, the number of threads is 0 or above 1,024, or pieces are larger than 1 GiB.
    pub fn new(detectors: Vec<Arc<dyn Detector>>, mut options: ScanOptions) -> Result<Self> {
        check_ids(&detectors)?;
        let own = (0..detectors.len()).collect();
        let mut all = detectors;
        let mut of_profiles = Vec::new();
        for profile in &options.profiles {
            check_ids(&profile.detectors)?;
            of_profiles.push(profile.detectors.iter().map(|detector| place_in(&mut all, detector)).collect());
        }
        if options.threads.is_some_and(|threads| threads == 0 || threads > MOST_THREADS) {
            return Err(Error::config("threads", format!("expected a number from 1 to {MOST_THREADS}")));
        }
        if options.piece_bytes > MOST_PIECE_BYTES {
            return Err(Error::config("piece_bytes", format!("expected at most {MOST_PIECE_BYTES}")));
        }
        options
            .read
            .argument_texts
            .get_or_insert_with(|| all.iter().any(|detector| detector.reads_argument_texts()));
        Ok(Self { detectors: all, own, of_profiles, options })
    }

    /// Returns the indices of the detectors that judge a run.
    pub(super) fn judges(&self, file: &Path, format: Option<Format>, metadata: &Metadata) -> &[usize] {
        let mut profiles = self.options.profiles.iter().zip(&self.of_profiles);
        let found = profiles.find(|(profile, _)| profile.filter.matches(file, format, metadata));
        found.map_or(&self.own, |(_, places)| places)
    }

    /// Scans files and directories. `each` takes the events in source order, whatever the number of threads:
    /// files sorted by path, then joined files of spans, then directories with files that are not inputs,
    /// then paths that cannot be read. `progress` is called whenever results are emitted, possibly those of
    /// several files at once.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] if threads cannot be started. Unreadable input is not an error but an event.
    ///
    /// # Panics
    /// If a detector or callback panics: the other threads stop, and the panic continues in the caller.
    pub fn scan<I>(
        &self,
        paths: I,
        progress: impl Fn(Progress) + Sync,
        each: impl FnMut(ScanEvent) + Send,
    ) -> Result<()>
    where
        I: IntoIterator<Item: AsRef<Path>>,
    {
        self.scan_map(paths, progress, |record| record, each)
    }

    /// Like [`Scanner::scan`], but first maps each record on the thread that read it, for example to text.
    ///
    /// # Errors
    /// See [`Scanner::scan`].
    pub fn scan_map<I, T: Send>(
        &self,
        paths: I,
        progress: impl Fn(Progress) + Sync,
        map: impl Fn(TraceRecord) -> T + Sync,
        each: impl FnMut(ScanEvent<T>) + Send,
    ) -> Result<()>
    where
        I: IntoIterator<Item: AsRef<Path>>,
    {
        let paths = paths.into_iter().map(|path| path.as_ref().to_path_buf());
        let Discovered { files, unread, .. } = discover(paths.collect::<Vec<PathBuf>>());
        let threads = match self.options.threads {
            Some(threads) => threads,
            None => std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(MOST_THREADS),
        };
        let bytes = files.iter().map(|file| file.size).sum();
        let order = Order::new(each, progress, bytes, 4 * threads);
        let work = Work::new(self, &files, order, map, threads);
        if threads == 1 {
            work.run();
        } else {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .map_err(|error| Error::new(ErrorKind::Io, format!("cannot start threads: {error}")))?;
            pool.scope(|scope| {
                for _ in 0..threads {
                    scope.spawn(|_| work.run_beside_others());
                }
            });
            work.resume_panic();
        }
        work.join();
        unread.into_events().for_each(work.order.into_each());
        Ok(())
    }

    /// Like [`Scanner::scan`], but returns the results of all files at once, without [`ScanEvent::NotRead`].
    ///
    /// # Errors
    /// See [`Scanner::scan`].
    pub fn collect<I>(&self, paths: I) -> Result<Vec<FileScan>>
    where
        I: IntoIterator<Item: AsRef<Path>>,
    {
        let mut files = Vec::new();
        self.scan(paths, |_| {}, |event| FileScan::collect(&mut files, event))?;
        Ok(files)
    }

    /// Scans an uncompressed file in memory, called `path` in the results. Reads no sidecar files.
    #[must_use]
    pub fn scan_slice(&self, path: &Path, bytes: &[u8]) -> FileScan {
        let path: Arc<Path> = path.into();
        let mut sink = Sink::new(self, &path, None);
        let context = InputContext::default();
        let reading = read_window(&mut Window::over_slice(bytes), &context, &self.options.read, &mut sink);
        let mut summary = FileSummary::new(Arc::clone(&path));
        let (mut traces, mut errors) = (Vec::new(), Vec::new());
        for item in sink.kept.take() {
            match item {
                Ok(record) => {
                    summary.name_without_action(record.without_action());
                    traces.push(record);
                }
                Err(error) => errors.push(error.in_file(&path)),
            }
        }
        summary.add(&reading);
        FileScan { path, format: summary.format, traces, errors, summary }
    }
}

/// Returns the index of a detector in a list, adding the detector if it is not there.
fn place_in(all: &mut Vec<Arc<dyn Detector>>, detector: &Arc<dyn Detector>) -> usize {
    all.iter().position(|known| Arc::ptr_eq(known, detector)).unwrap_or_else(|| {
        all.push(Arc::clone(detector));
        all.len() - 1
    })
}
