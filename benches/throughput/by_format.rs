//! Measures, for each format, the CPU time of a scan on one thread relative to the floor, which is the time of parsing
//! the same JSON and ignoring every value.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::Value;
use wrongturn::{
    Scanner, default_detectors,
    scan::{ScanEvent, ScanOptions},
};

use super::{Arguments, Input, common, floor, in_folder, median};

/// The files of one format.
struct Group<'i> {
    name: String,
    files: Vec<&'i Input>,
}

/// Prints a line for each format: sizes, speeds, and the time of the scan relative to the floor.
#[expect(clippy::cast_precision_loss, reason = "figures for a reader")]
pub(crate) fn run(inputs: &[Input], arguments: &Arguments) -> Result<u8, common::Failure> {
    let options = ScanOptions { threads: Some(1), ..ScanOptions::default() };
    let scanner = Scanner::new(default_detectors(), options)?;
    let (groups, left) = grouped(inputs, &scanner);
    let wanted = usize::try_from(arguments.min_mb.saturating_mul(1_000_000))?;
    let mut lines = format!(
        "Medians of {} rounds\n{:<18}  {:>5}  {:>15}  {:>6}  {:>10}  {:>9}  {:>5}\n",
        arguments.rounds, "format", "files", "KB per file", "MB", "floor MB/s", "scan MB/s", "ratio"
    );
    let mut figures = serde_json::Map::new();
    for Group { name, files } in &groups {
        let mut sizes: Vec<usize> = files.iter().map(|input| input.bytes.len()).collect();
        sizes.sort_unstable();
        let once: usize = sizes.iter().sum();
        let times = wanted.div_ceil(once.max(1)).max(1);
        let work: Vec<&Input> = std::iter::repeat_n(files, times).flatten().copied().collect();
        let megabytes = (once * times) as f64 / 1e6;
        let rounds = if arguments.on_disk {
            in_folder(|folder| on_disk(folder, &work, &scanner, arguments.rounds))?
        } else {
            in_memory(&work, &scanner, arguments.rounds)
        };
        let figure = |of: fn(&[f64; 2]) -> f64| median(rounds.iter().map(of).collect());
        let ratio = figure(|[floor, scan]| scan / floor);
        let kilobytes = |place: usize| sizes.get(place).map_or(f64::NAN, |size| *size as f64 / 1e3);
        let range = format!("{:.1} to {:.1}", kilobytes(0), kilobytes(sizes.len() - 1));
        lines += &format!(
            "{name:<18}  {:>5}  {range:>15}  {megabytes:>6.1}  {:>10.0}  {:>9.0}  {ratio:>5.2}\n",
            files.len(),
            megabytes / figure(|[floor, _]| *floor),
            megabytes / figure(|[_, scan]| *scan),
        );
        figures.insert(name.clone(), ratio.into());
    }
    if left > 0 {
        lines += &format!("left out: {left} files of an unknown format, of several, or compressed\n");
    }
    common::print(&format!("{lines}{}\n", Value::from(figures)))?;
    Ok(0)
}

/// Groups files by format. Returns the number of files left out: of an unknown format, of several, or compressed.
fn grouped<'i>(inputs: &'i [Input], scanner: &Scanner) -> (Vec<Group<'i>>, usize) {
    let mut groups: BTreeMap<String, Vec<&Input>> = BTreeMap::new();
    let mut left = 0;
    for input in inputs {
        match scanner.scan_slice(&input.path, &input.bytes).format {
            // The floor does not decompress.
            Some(format) if !input.bytes.starts_with(b"PK") => {
                groups.entry(format.to_string()).or_default().push(input);
            }
            _ => left += 1,
        }
    }
    (groups.into_iter().map(|(name, files)| Group { name, files }).collect(), left)
}

/// Returns the seconds of the floor and of the scan in each round, over files in memory.
fn in_memory(work: &[&Input], scanner: &Scanner, rounds: u32) -> Vec<[f64; 2]> {
    let ignore = || {
        for input in work {
            floor(&input.bytes);
        }
    };
    let scan = || {
        for input in work {
            drop(std::hint::black_box(scanner.scan_slice(&input.path, &input.bytes)));
        }
    };
    (0..rounds).map(|_| [busy(ignore), busy(scan)]).collect()
}

/// Like [`in_memory`], over files in this directory, which are written first.
fn on_disk(
    folder: &Path,
    work: &[&Input],
    scanner: &Scanner,
    rounds: u32,
) -> Result<Vec<[f64; 2]>, common::Failure> {
    for (number, input) in work.iter().enumerate() {
        let name = input.path.file_name().unwrap_or_default().to_string_lossy();
        std::fs::write(folder.join(format!("{number:06}-{name}")), &input.bytes)?;
    }
    let run_floor = || -> std::io::Result<()> {
        let entries = std::fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
        let mut paths = entries.collect::<Result<Vec<PathBuf>, _>>()?;
        paths.sort();
        let mut bytes = Vec::new();
        for path in paths {
            bytes.clear();
            File::open(path)?.read_to_end(&mut bytes)?;
            floor(&bytes);
        }
        Ok(())
    };
    let scan = || {
        let mut files = 0;
        let each = |event: ScanEvent| files += usize::from(matches!(event, ScanEvent::End(_)));
        scanner.scan([folder], |_| {}, each).map(|()| files)
    };
    let mut seconds = Vec::new();
    for _ in 0..rounds {
        let (mut ignored, mut files) = (Ok(()), Ok(0));
        seconds.push([busy(|| ignored = run_floor()), busy(|| files = scan())]);
        ignored?;
        let read = files?;
        if read != work.len() {
            return Err(format!("expected {} files in the directory, got {read}", work.len()).into());
        }
    }
    Ok(seconds)
}

/// Returns the CPU seconds of this thread or, if the system does not report them, the elapsed seconds.
#[expect(clippy::cast_precision_loss, reason = "figures for a reader")]
fn busy(work: impl FnOnce()) -> f64 {
    let worked = || {
        // The system counts the time of a thread fully only when it is scheduled again.
        std::thread::yield_now();
        let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        told.split_whitespace().next()?.parse::<u64>().ok()
    };
    let (before, start) = (worked(), Instant::now());
    work();
    match (before, worked()) {
        (Some(before), Some(after)) if after > before => (after - before) as f64 / 1e9,
        _ => start.elapsed().as_secs_f64(),
    }
}
