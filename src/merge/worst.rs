//! The worst flagged runs of a scan and, once the scan is over, their steps.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};

use super::flagged::{FlaggedRun, RunStrip, StripStep, covered};
use crate::read::ReadOptions;
use crate::scan::{ScanEvent, read_files, read_joined};
use crate::trace::Trace;

pub(crate) const WORST_RUNS: usize = 50;

/// The worst runs of a scan, at most 50: those that a report draws.
///
/// Runs are ranked by the number of steps inside findings, then by the number of findings, then by scan order.
/// A scan does not keep steps: [`FlaggedRuns::read`] reads the files of these runs again.
///
/// ```no_run
/// use wrongturn::{ReadOptions, Scanner, default_detectors, merge::{Files, FlaggedRun, FlaggedRuns, ScanSummary}, report::scan_document, scan::{ScanEvent, ScanOptions}};
///
/// let scanner = Scanner::new(default_detectors(), ScanOptions::default())?;
/// let (mut summary, mut flagged) = (ScanSummary::default(), FlaggedRuns::default());
/// scanner.scan(["results"], |_| {}, |event| {
///     if let ScanEvent::Record(record) = event {
///         summary.add(&record);
///         flagged.extend(FlaggedRun::of(&record));
///     }
/// })?;
/// let flagged = flagged.read(&ReadOptions::default());
/// let html = scan_document(&summary, flagged, &Files::default()).html();
/// # Ok::<(), wrongturn::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct FlaggedRuns {
    worst: Vec<FlaggedRun>,
}

impl Extend<FlaggedRun> for FlaggedRuns {
    /// Adds runs, in any order, and keeps the worst.
    fn extend<I: IntoIterator<Item = FlaggedRun>>(&mut self, runs: I) {
        for run in runs {
            let place = self.worst.partition_point(|before| before.order() <= run.order());
            if place < WORST_RUNS {
                self.worst.insert(place, run);
                self.worst.truncate(WORST_RUNS);
            }
        }
    }
}

impl<'de> Deserialize<'de> for FlaggedRuns {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut runs = Self::default();
        let read = Vec::<FlaggedRun>::deserialize(deserializer)?;
        runs.extend(read.into_iter().map(|mut run| {
            run.covered = covered(&run.findings);
            run
        }));
        Ok(runs)
    }
}

impl FlaggedRuns {
    /// Adds the runs of another split.
    pub fn merge(&mut self, other: &Self) {
        self.extend(other.worst.iter().cloned());
    }

    /// Returns the runs, worst first.
    #[must_use]
    pub fn runs(&self) -> &[FlaggedRun] {
        &self.worst
    }

    /// Reads the steps of these runs from their files and returns the runs, worst first. A run has no steps
    /// if its file no longer holds it, or if it was read from a pipe.
    #[must_use]
    pub fn read(self, options: &ReadOptions) -> Vec<RunStrip> {
        let mut files: Vec<Arc<Path>> = self.wanted().into_keys().map(|(file, _)| file).collect();
        files.dedup();
        self.drawn(options, |options, each| {
            let Ok(()) = read_files(files, options, each);
        })
    }

    /// Like [`FlaggedRuns::read`], but for a scan of these paths with
    /// [`ScanOptions::join`](crate::scan::ScanOptions::join): reads all of them again. If there are no
    /// runs, reads nothing and returns an empty list.
    #[must_use]
    pub fn read_joined<I>(self, paths: I, options: &ReadOptions) -> Vec<RunStrip>
    where
        I: IntoIterator<Item: AsRef<Path>>,
    {
        if self.worst.is_empty() {
            return Vec::new();
        }
        let paths = paths.into_iter().filter(|path| can_be_read_again(path.as_ref()));
        self.drawn(options, |options, each| {
            let Ok(()) = read_joined(paths, options, each);
        })
    }

    /// Returns the indices, by file and position, of the runs whose files can be read again.
    fn wanted(&self) -> BTreeMap<(Arc<Path>, u64), usize> {
        let mut wanted = BTreeMap::new();
        for (place, run) in self.worst.iter().enumerate() {
            if can_be_read_again(&run.file) {
                wanted.insert((Arc::clone(&run.file), run.position), place);
            }
        }
        wanted
    }

    /// Returns the runs with the steps that `read` emits.
    fn drawn(
        self,
        options: &ReadOptions,
        read: impl FnOnce(&ReadOptions, &mut dyn FnMut(ScanEvent<Trace>) -> Result<(), Infallible>),
    ) -> Vec<RunStrip> {
        let wanted = self.wanted();
        let mut drawn = vec![Vec::new(); self.worst.len()];
        let options = ReadOptions { routes: false, argument_texts: Some(true), ..options.clone() };
        let mut file: Arc<Path> = Arc::from(Path::new(""));
        // With `join`, a file that holds spans and other runs is reported twice; the second report continues the
        // positions of the first.
        let mut positions: BTreeMap<Arc<Path>, u64> = BTreeMap::new();
        read(&options, &mut |event| {
            match event {
                ScanEvent::Begin(begun) => file = begun,
                ScanEvent::Record(trace) => {
                    let position = positions.entry(Arc::clone(&file)).or_default();
                    let place = wanted.get(&(Arc::clone(&file), *position)).copied();
                    let found = place.and_then(|place| self.worst.get(place).zip(drawn.get_mut(place)));
                    if let Some((_, steps)) = found.filter(|(run, _)| run.is(&trace)) {
                        *steps = trace.steps().map(|step| StripStep::of(&step)).collect();
                    }
                    *position += 1;
                }
                // A run that cannot be read takes a position as well.
                ScanEvent::Error(error) => {
                    if let Some(run) = error.run() {
                        positions.insert(Arc::clone(&file), run + 1);
                    }
                }
                ScanEvent::End(_) | ScanEvent::NotRead { .. } => {}
            }
            Ok(())
        });
        let strip =
            |(run, steps): (FlaggedRun, _)| RunStrip { title: run.title, steps, findings: run.findings };
        self.worst.into_iter().zip(drawn).map(strip).collect()
    }
}

/// Returns true if the path is a file or a directory, and not standard input, a pipe or a device. A directory
/// may hold one run as many files.
fn can_be_read_again(path: &Path) -> bool {
    path.is_file() || path.is_dir()
}

#[cfg(test)]
mod tests {
    use super::super::flagged::tests::run;
    use super::*;

    #[test]
    fn the_worst_are_kept_in_order_however_many_come() {
        let mut flagged = FlaggedRuns::default();
        let middling = (0..WORST_RUNS).map(|number| run(&format!("m{number:02}"), &[(0, 4)]));
        flagged.extend(middling);
        flagged.extend([run("small", &[(0, 3)]), run("two", &[(0, 0), (1, 1)]), run("long", &[(0, 9)])]);
        flagged.extend([run("p", &[(3, 7)])]);
        let names: Vec<&str> = flagged.worst.iter().map(|run| run.title.as_str()).collect();
        assert_eq!(names.len(), WORST_RUNS);
        assert_eq!(names.get(..4), Some(["long", "m00", "m01", "m02"].as_slice()));
        assert_eq!(names.last(), Some(&"m48"));
    }
}
