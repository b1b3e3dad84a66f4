//! Measures the speed of a scan relative to the speed of parsing the JSON.
//!
//! Reads the given files into memory once, then alternates the floor (`serde_json` ignoring every value) and
//! the scan with the default detectors over several rounds, on one thread and on two. For runs in lines, the
//! scan of the original files is measured as well. Prints medians; the last line is a JSON object.
//!
//! `cargo run --release -p wrongturn-benches --bin throughput -- --help`

mod by_format;
#[path = "../common.rs"]
mod common;
mod drawn;
mod layout;
mod made;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use clap::Parser;
use layout::Layout;
use serde::de::IgnoredAny;
use serde_json::json;
use wrongturn::{
    Scanner, default_detectors,
    scan::{ScanEvent, ScanOptions, TraceRecord},
};

/// Measures the scan against a floor: parsing the same JSON and ignoring every value.
#[derive(Parser)]
#[command(after_help = "\
Exit status: 0; 2 for wrong usage, or if nothing could be read.

Example: throughput --rounds 15 --min-mb 200 --layout lines golden/tau2")]
struct Arguments {
    /// Files or directories
    #[arg(required_unless_present = "made")]
    paths: Vec<PathBuf>,
    /// Add random sessions of so many KB in the formats of recorded sessions, with texts as long as real ones
    #[arg(long, value_name = "KB", num_args = 0..=1, require_equals = true, default_missing_value = "300",
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    made: Option<u32>,
    /// Repeat the files until they hold this many MB; at most 100,000
    #[arg(long, default_value_t = 0, value_name = "MB", value_parser = clap::value_parser!(u64).range(..=100_000))]
    min_mb: u64,
    /// Rounds; medians are printed
    #[arg(long, default_value_t = 7, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    rounds: u32,
    /// Layout: the files as they are, or the runs of tau2 files one on each line
    #[arg(long, value_enum, default_value = "files", value_name = "LAYOUT")]
    layout: Layout,
    /// Cut every run to its first messages, up to so many KB
    #[arg(long, value_name = "KB", num_args = 0..=1, default_missing_value = "3")]
    short: Option<usize>,
    /// Measure one single file with two threads against one, its records written to a file
    #[arg(long)]
    single: bool,
    /// One line per format: the files of each, repeated until they hold `--min-mb`, by one thread's own time
    #[arg(long)]
    by_format: bool,
    /// With `--by-format`: the files are written to a directory first; floor and scan each list it, open and
    /// read them
    #[arg(long, requires = "by_format")]
    on_disk: bool,
}

struct Input {
    path: PathBuf,
    bytes: Vec<u8>,
}

fn main() -> ExitCode {
    common::run(run)
}

#[expect(clippy::cast_precision_loss, reason = "figures for a reader")]
fn run(arguments: &Arguments) -> Result<u8, common::Failure> {
    let mut inputs = Vec::new();
    for path in &arguments.paths {
        read(path, &mut BTreeSet::new(), &mut inputs)?;
    }
    if let Some(kilobytes) = arguments.made {
        let made = made::files(usize::try_from(kilobytes)?);
        inputs.extend(made.into_iter().map(|(name, bytes)| Input { path: name.into(), bytes }));
    }
    if arguments.short.is_some() {
        inputs = laid_out(&inputs, Layout::Files, arguments.short);
    }
    let mut files = Vec::new();
    if arguments.layout == Layout::Lines {
        files = std::mem::take(&mut inputs);
        inputs = laid_out(&files, Layout::Lines, None);
    }
    let once: usize = inputs.iter().map(|input| input.bytes.len()).sum();
    if once == 0 {
        return Err("there is nothing to read".into());
    }
    if arguments.single {
        return single(&inputs, arguments);
    }
    if arguments.by_format {
        return by_format::run(&inputs, arguments);
    }
    let wanted = usize::try_from(arguments.min_mb.saturating_mul(1_000_000))?;
    let repeated = |inputs| -> Vec<&Input> {
        std::iter::repeat_n(inputs, wanted.div_ceil(once).max(1)).flatten().collect()
    };
    let (work, files) = (repeated(&inputs), repeated(&files));
    let megabytes_of =
        |work: &[&Input]| work.iter().map(|input| input.bytes.len()).sum::<usize>() as f64 / 1e6;
    let megabytes = megabytes_of(&work);
    let scanner = Scanner::new(default_detectors(), ScanOptions::default())?;
    let runs = AtomicUsize::new(0);
    let floor = |input: &Input| floor(&input.bytes);
    let scan_uncounted =
        |input: &Input| std::hint::black_box(scanner.scan_slice(&input.path, &input.bytes)).errors.is_empty();
    let scan = |input: &Input| {
        let file = scanner.scan_slice(&input.path, &input.bytes);
        runs.fetch_add(file.traces.len(), Ordering::Relaxed);
        std::hint::black_box(file).errors.is_empty()
    };

    let mut rounds = Vec::new();
    for _ in 0..arguments.rounds {
        let floor_1 = time(&work, 1, floor);
        let scan_1 = time(&work, 1, scan);
        let floor_2 = time(&work, 2, floor);
        let scan_2 = time(&work, 2, scan);
        let files_1 = time(&files, 1, scan_uncounted);
        rounds.push([floor_1, scan_1, floor_2, scan_2, files_1]);
    }
    let counted = runs.into_inner() as f64 / f64::from(2 * arguments.rounds);
    let figure = |of: fn(&[f64; 5]) -> f64| median(rounds.iter().map(of).collect());
    let ratio = figure(|[floor, scan, ..]| scan / floor);
    let speedup = figure(|[_, scan, _, two, _]| scan / two);
    let floor_speedup = figure(|[floor, _, two, ..]| floor / two);
    let scan_seconds = figure(|[_, scan, ..]| *scan);
    let floor_seconds = figure(|[floor, ..]| *floor);
    let peak = peak_mib();

    let of_files = (arguments.layout == Layout::Lines).then(|| {
        let (megabytes_of_files, seconds) = (megabytes_of(&files), figure(|[.., files]| *files));
        let share = figure(|[_, scan, .., files]| files / scan) * megabytes / megabytes_of_files;
        (megabytes_of_files / seconds, counted / seconds, share)
    });
    let figures = json!({
        "ratio_1t": ratio,
        "speedup_2t": speedup,
        "floor_speedup_2t": floor_speedup,
        "mb_per_s_1t": megabytes / scan_seconds,
        "runs_per_s_1t": counted / scan_seconds,
        "files_mb_per_s_1t": of_files.map(|(megabytes, ..)| megabytes),
        "lines_to_files": of_files.map(|(.., share)| share),
        "peak_mib": peak,
    });
    let of_files = of_files.map_or_else(String::new, |(megabytes, runs, share)| {
        format!(
            "  the files         {megabytes:8.0} MB/s   {runs:.0} runs/s\n  \
             \x20                 {share:.3} of their MB/s in lines\n"
        )
    });
    common::print(&format!(
        "{} files, {megabytes:.0} MB, {counted:.0} runs, {} rounds (medians)\n  \
         floor, 1 thread   {:8.0} MB/s\n  \
         scan, 1 thread    {:8.0} MB/s   {:.0} runs/s\n  \
         \x20                 {ratio:.3} times the floor's time\n  \
         two threads       scan {speedup:.2} times as fast, floor {floor_speedup:.2} times\n\
         {of_files}  peak memory       {} (the files included)\n{figures}\n",
        work.len(),
        arguments.rounds,
        megabytes / floor_seconds,
        megabytes / scan_seconds,
        counted / scan_seconds,
        peak.map_or("unknown".to_owned(), |mib| format!("{mib:.0} MiB")),
    ))?;
    Ok(0)
}

/// Returns the inputs in their new layout, without those that became empty.
fn laid_out(inputs: &[Input], layout: Layout, short: Option<usize>) -> Vec<Input> {
    let anew =
        |input: &Input| Input { path: input.path.clone(), bytes: layout::anew(&input.bytes, layout, short) };
    inputs.iter().map(anew).filter(|input| !input.bytes.is_empty()).collect()
}

/// Parses all values of an input and ignores them. A line that is not JSON is skipped.
fn floor(mut bytes: &[u8]) -> bool {
    loop {
        let mut values = serde_json::Deserializer::from_slice(bytes).into_iter::<IgnoredAny>();
        let sound = values.by_ref().map(std::hint::black_box).all(|value| value.is_ok());
        let rest = bytes.get(values.byte_offset()..).unwrap_or_default();
        match rest.iter().position(|byte| *byte == b'\n') {
            Some(end) if !sound => bytes = rest.get(end + 1..).unwrap_or_default(),
            _ => return sound,
        }
    }
}

/// Runs `work` in a new directory, which is removed afterwards.
fn in_folder<T>(work: impl FnOnce(&Path) -> Result<T, common::Failure>) -> Result<T, common::Failure> {
    let folder = std::env::temp_dir().join(format!("wrongturn-throughput-{}", std::process::id()));
    std::fs::create_dir(&folder)?;
    let done = work(&folder);
    let _ = std::fs::remove_dir_all(&folder);
    done
}

/// Scans a single file of all inputs from disk with one thread and with two, and writes its records.
#[expect(clippy::cast_precision_loss, reason = "figures for a reader")]
fn single(inputs: &[Input], arguments: &Arguments) -> Result<u8, common::Failure> {
    let (bytes, times) = in_folder(|folder| single_in(folder, inputs, arguments))?;
    let one = median(times.iter().map(|[one, _]| *one).collect());
    let two = median(times.iter().map(|[_, two]| *two).collect());
    let speedup = median(times.iter().map(|[one, two]| one / two).collect());
    let megabytes = bytes as f64 / 1e6;
    let figures = json!({
        "single_mb": megabytes,
        "single_mb_per_s_1t": megabytes / one,
        "single_mb_per_s_2t": megabytes / two,
        "single_speedup_2t": speedup,
    });
    common::print(&format!(
        "one file of {megabytes:.0} MB, records written, {} rounds (medians)\n  \
         1 thread          {:8.0} MB/s\n  2 threads         {:8.0} MB/s, {speedup:.2} times as fast\n{figures}\n",
        arguments.rounds,
        megabytes / one,
        megabytes / two,
    ))?;
    Ok(0)
}

fn single_in(
    folder: &Path,
    inputs: &[Input],
    arguments: &Arguments,
) -> Result<(u64, Vec<[f64; 2]>), common::Failure> {
    let path = folder.join("all.jsonl");
    let mut file = std::io::BufWriter::new(std::fs::File::create(&path)?);
    let wanted = arguments.min_mb.saturating_mul(1_000_000);
    let mut bytes = 0;
    while bytes == 0 || bytes < wanted {
        for input in inputs {
            file.write_all(&input.bytes)?;
            file.write_all(b"\n")?;
            bytes += input.bytes.len() as u64 + 1;
        }
    }
    file.flush()?;
    let scans = std::cell::Cell::new(0_u64);
    let scan = |threads: usize| -> Result<f64, common::Failure> {
        scans.set(scans.get() + 1);
        let target = folder.join(format!("out-{}.jsonl", scans.get()));
        let options = ScanOptions { threads: Some(threads), ..ScanOptions::default() };
        let scanner = Scanner::new(default_detectors(), options)?;
        let start = Instant::now();
        let mut out = std::io::BufWriter::new(std::fs::File::create(&target)?);
        let mut failure = None;
        let map = |record: TraceRecord| {
            let mut line = serde_json::to_vec(&record).map_err(|error| error.to_string())?;
            line.push(b'\n');
            Ok::<_, String>(line)
        };
        scanner.scan_map(
            [&path],
            |_| {},
            map,
            |event| {
                if let ScanEvent::Record(line) = event
                    && failure.is_none()
                {
                    let written = line.map_err(Into::into).and_then(|line| Ok(out.write_all(&line)?));
                    failure = written.err().map(|error: common::Failure| error.to_string());
                }
            },
        )?;
        out.flush()?;
        let seconds = start.elapsed().as_secs_f64();
        std::fs::remove_file(&target)?;
        match failure {
            Some(failure) => Err(failure.into()),
            None => Ok(seconds),
        }
    };
    scan(1)?;
    let times = (0..arguments.rounds).map(|_| Ok([scan(1)?, scan(2)?]));
    Ok((bytes, times.collect::<Result<_, common::Failure>>()?))
}

fn read(
    path: &Path,
    visited: &mut BTreeSet<PathBuf>,
    inputs: &mut Vec<Input>,
) -> Result<(), common::Failure> {
    let place = |error: std::io::Error| format!("{}: {error}", path.display());
    if !visited.insert(std::fs::canonicalize(path).map_err(place)?) {
        return Ok(());
    }
    if path.is_dir() {
        let mut entries: Vec<PathBuf> = std::fs::read_dir(path)
            .map_err(place)?
            .map(|entry| entry.map(|e| e.path()))
            .collect::<Result<_, _>>()
            .map_err(place)?;
        entries.sort();
        for entry in entries {
            let is_input = |ending: &std::ffi::OsStr| {
                ["json", "jsonl", "ndjson", "traj"].iter().any(|known| ending == *known)
            };
            if entry.is_dir() || entry.extension().is_some_and(is_input) {
                read(&entry, visited, inputs)?;
            }
        }
    } else {
        inputs.push(Input { path: path.to_path_buf(), bytes: std::fs::read(path).map_err(place)? });
    }
    Ok(())
}

/// Returns the seconds that `job` takes for all of the work on this many threads.
fn time(work: &[&Input], threads: usize, job: impl Fn(&Input) -> bool + Sync) -> f64 {
    let next = AtomicUsize::new(0);
    let take = || {
        while let Some(input) = work.get(next.fetch_add(1, Ordering::Relaxed)) {
            job(input);
        }
    };
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(take);
        }
        take();
    });
    start.elapsed().as_secs_f64()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Returns the largest resident size of this process so far in MiB, if the system reports it.
fn peak_mib() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib / 1024.0)
}
