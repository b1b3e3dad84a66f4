//! The worst flagged runs of a scan and, once the scan is over, their steps.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::detect::Confidence;
use crate::read::ReadOptions;
use crate::scan::{ScanEvent, StoredPath, TraceRecord, path_text, read_files, read_joined};
use crate::trace::{Actor, Content, Digest, Event, Status, Step, Trace};

/// The number of runs kept for a report.
pub(crate) const WORST_RUNS: usize = 50;

/// A run as a report draws it: a row of steps with the findings under them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunStrip {
    /// The name of the run.
    pub title: String,
    /// Its steps, in order.
    pub steps: Vec<StripStep>,
    /// The findings.
    pub findings: Vec<StripFinding>,
}

/// A step of a [`RunStrip`].
#[derive(Debug, Clone, PartialEq)]
pub struct StripStep {
    /// The index in the source, which findings point to.
    pub index: u64,
    /// Who acts or speaks.
    pub actor: Actor,
    /// The tool; `None` for a message.
    pub tool: Option<String>,
    /// How an action ended.
    pub status: Option<Status>,
    /// The step as it was recorded.
    pub raw: String,
}

impl StripStep {
    /// Draws a step of a trace.
    #[must_use]
    pub fn of(step: &Step<'_>) -> Self {
        let (tool, status, raw) = match step.event() {
            Event::Message(text) => (None, None, text.to_str().into_owned()),
            Event::Action(action) => {
                let arguments = match &action.arguments {
                    Content::Absent => String::new(),
                    Content::NotRecorded => "arguments not recorded".to_owned(),
                    Content::Present(arguments) => arguments.json().unwrap_or_default().to_owned(),
                };
                let answer = match &action.observation {
                    Content::Absent => "no answer".to_owned(),
                    Content::NotRecorded => "answer not recorded".to_owned(),
                    Content::Present(text) => text.to_str().into_owned(),
                };
                let raw = format!("{}({arguments})\n→ {}: {answer}", action.name, action.status);
                (Some(action.name.to_owned()), Some(action.status), raw)
            }
        };
        Self { index: step.index(), actor: step.actor(), tool, status, raw }
    }
}

/// A finding in a [`RunStrip`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StripFinding {
    /// The detector.
    pub detector: String,
    /// Index of the first step.
    pub first: u64,
    /// Index of the last step, inclusive.
    pub last: u64,
    /// How sure the finding is.
    pub confidence: Confidence,
    /// The message.
    pub message: String,
    /// The evidence, as JSON.
    pub evidence: String,
}

/// A flagged run: its place and its findings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlaggedRun {
    #[serde(serialize_with = "write_path", deserialize_with = "read_path")]
    file: Arc<Path>,
    position: u64,
    run: String,
    model: Option<Arc<str>>,
    reward: Option<f64>,
    /// The number of steps of the run.
    steps: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digest: Option<Digest>,
    title: String,
    findings: Vec<StripFinding>,
    /// The number of steps inside findings.
    #[serde(skip)]
    covered: u64,
    /// The steps, once they were read again.
    #[serde(skip)]
    drawn: Vec<StripStep>,
}

fn write_path<S: Serializer>(path: &Arc<Path>, serializer: S) -> Result<S::Ok, S::Error> {
    StoredPath(path).serialize(serializer)
}

fn read_path<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<Path>, D::Error> {
    StoredPath::deserialize(deserializer).map(|StoredPath(path): StoredPath| path.into())
}

impl FlaggedRun {
    /// Returns the flagged run of a record; `None` if no detector found anything.
    #[must_use]
    pub fn of(record: &TraceRecord) -> Option<Self> {
        let findings: Vec<StripFinding> = record
            .verdicts
            .iter()
            .flat_map(|(_, verdict)| verdict.findings())
            .map(|finding| StripFinding {
                detector: finding.detector.to_string(),
                first: finding.first,
                last: finding.last,
                confidence: finding.confidence,
                message: finding.message.clone(),
                evidence: serde_json::to_string(&finding.evidence).unwrap_or_default(),
            })
            .collect();
        if findings.is_empty() {
            return None;
        }
        let model = record.metadata.model.as_deref().map(|model| format!(", {model}")).unwrap_or_default();
        let title = format!("{}{model}, in {}", record.trace_id(), path_text(record.file.as_os_str()));
        Some(Self {
            file: Arc::clone(&record.file),
            position: record.position,
            run: record.trace_id(),
            model: record.metadata.model.clone(),
            reward: record.reward,
            steps: record.cost.steps,
            digest: record.digest,
            title,
            covered: covered(&findings),
            findings,
            drawn: Vec::new(),
        })
    }

    /// Returns the file that holds the run.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Returns the id of the run, see [`TraceRecord::trace_id`].
    #[must_use]
    pub fn run(&self) -> &str {
        &self.run
    }

    /// Returns the model that drove the agent.
    #[must_use]
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// Returns the reward of the run.
    #[must_use]
    pub fn reward(&self) -> Option<f64> {
        self.reward
    }

    /// Returns the number of steps of the run.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Returns the findings of all detectors.
    #[must_use]
    pub fn findings(&self) -> &[StripFinding] {
        &self.findings
    }

    /// Orders by steps inside findings (most first), then by findings (most first), then by scan order.
    fn order(&self) -> impl Ord + '_ {
        let worst = Reverse((self.covered, self.findings.len()));
        (worst, &*self.file, self.position, &self.title, &self.findings)
    }
}

/// Returns how many step indices lie in at least one of the ranges.
fn covered(findings: &[StripFinding]) -> u64 {
    union(findings.iter().map(|finding| (finding.first, finding.last)).collect())
}

/// Returns how many indices lie in at least one of the inclusive ranges.
pub(super) fn union(mut ranges: Vec<(u64, u64)>) -> u64 {
    ranges.sort_unstable();
    let (mut sum, mut next) = (0_u64, 0);
    for (first, last) in ranges {
        let first = first.max(next);
        if first <= last {
            sum = sum.saturating_add((last - first).saturating_add(1));
            next = last.saturating_add(1);
        }
    }
    sum
}

/// The worst runs of a scan, at most as many as a report draws.
///
/// Runs are ranked by steps inside findings, then by findings, then by scan order. A scan does not keep steps:
/// [`FlaggedRuns::read`] reads the files of these runs again.
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
/// let html = scan_document(&summary, &summary.costs(), flagged, &Files::default()).html();
/// # Ok::<(), wrongturn::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct FlaggedRuns {
    worst: Vec<FlaggedRun>,
}

impl Extend<FlaggedRun> for FlaggedRuns {
    /// Adds runs, in any order.
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

impl<'r> IntoIterator for &'r FlaggedRuns {
    type Item = &'r FlaggedRun;
    type IntoIter = std::slice::Iter<'r, FlaggedRun>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'de> Deserialize<'de> for FlaggedRuns {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut runs = Self::default();
        let read = Vec::<FlaggedRun>::deserialize(deserializer)?;
        runs.extend(read.into_iter().map(|run| FlaggedRun { covered: covered(&run.findings), ..run }));
        Ok(runs)
    }
}

impl FlaggedRuns {
    /// Adds the runs of another split.
    pub fn merge(&mut self, other: &Self) {
        self.extend(other.worst.iter().cloned());
    }

    /// Returns the runs, worst first.
    pub fn iter(&self) -> std::slice::Iter<'_, FlaggedRun> {
        self.worst.iter()
    }

    /// Reads the steps of these runs from their files and returns the runs, worst first. A run has no steps if its file
    /// no longer holds it, or if it was read from a pipe.
    #[must_use]
    pub fn read(self, options: &ReadOptions) -> Vec<RunStrip> {
        let mut files: Vec<Arc<Path>> = self.wanted().into_keys().map(|(file, _)| file).collect();
        files.dedup();
        self.drawn(options, |options, each| {
            let Ok(()) = read_files(files, options, each);
        })
    }

    /// Like [`FlaggedRuns::read`], for a scan of these paths with
    /// [`ScanOptions::join`](crate::scan::ScanOptions::join): all of them are read again.
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

    /// Returns the runs by file and position.
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
        mut self,
        options: &ReadOptions,
        read: impl FnOnce(&ReadOptions, &mut dyn FnMut(ScanEvent<Trace>) -> Result<(), Infallible>),
    ) -> Vec<RunStrip> {
        let wanted = self.wanted();
        let options = ReadOptions { routes: false, argument_texts: Some(true), ..options.clone() };
        let mut file: Arc<Path> = Arc::from(Path::new(""));
        // A file with spans and other runs is read twice.
        let mut positions: BTreeMap<Arc<Path>, u64> = BTreeMap::new();
        read(&options, &mut |event| {
            match event {
                ScanEvent::Begin(begun) => file = begun,
                ScanEvent::Record(trace) => {
                    let position = positions.entry(Arc::clone(&file)).or_default();
                    let run = wanted.get(&(Arc::clone(&file), *position));
                    let run = run.and_then(|place| self.worst.get_mut(*place));
                    let is_same = |run: &FlaggedRun| run.digest.is_none_or(|known| known == digest(&trace));
                    if let Some(run) = run.filter(|run| is_same(run)) {
                        run.drawn = trace.steps().map(|step| StripStep::of(&step)).collect();
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
        let strip = |FlaggedRun { title, drawn: steps, findings, .. }| RunStrip { title, steps, findings };
        self.worst.into_iter().map(strip).collect()
    }
}

/// Returns true unless the path is standard input, a pipe or a device. A directory may be one run in many files.
fn can_be_read_again(path: &Path) -> bool {
    path.is_file() || path.is_dir()
}

fn digest(trace: &Trace) -> Digest {
    trace.steps().fold(Digest::of_nothing(), |digest, step| digest.with_step(&step))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str, ranges: &[(u64, u64)]) -> FlaggedRun {
        let finding = |&(first, last): &(u64, u64)| StripFinding {
            detector: "d".to_owned(),
            first,
            last,
            confidence: Confidence::Certain,
            message: String::new(),
            evidence: String::new(),
        };
        let findings: Vec<_> = ranges.iter().map(finding).collect();
        FlaggedRun {
            file: Path::new("f").into(),
            position: 0,
            run: name.to_owned(),
            model: None,
            reward: None,
            steps: 20,
            digest: None,
            title: name.to_owned(),
            covered: covered(&findings),
            findings,
            drawn: Vec::new(),
        }
    }

    #[test]
    fn ranges_that_overlap_count_once() {
        assert_eq!(run("", &[(2, 6), (5, 9), (1, 3), (20, 20)]).covered, 10);
        assert_eq!(run("", &[(0, u64::MAX), (5, 9)]).covered, u64::MAX);
    }

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
