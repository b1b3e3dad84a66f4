//! Metadata of runs from a table.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::trace::RunSummary;

/// Metadata from a table, assigned to runs by file, run id or task.
///
/// A row names its runs by `file` (a path or its last parts), by `run` (the id), or by both. A row with neither names
/// them by `task`, and also by `trial` if both the row and the run have one. `model`, `domain`, `task`, `reward` and
/// `trial` fill in what a run does not record; any other column is a label. Rows that name a file take precedence over
/// rows that name only a run, and those over rows that name only a task; for each column, the first row with a value
/// wins. `path` is another name for `file`; `run_id`, `id` and `trace` for `run`; `task_id` for `task`; `score` for
/// `reward`.
///
/// ```
/// use std::sync::Arc;
/// use wrongturn::{Scanner, default_detectors, scan::{RunTable, ScanOptions}};
///
/// let table = Arc::new(RunTable::from_csv("file,model,reward\na.json,m-1,1\nb.json,m-2,0\n")?);
/// let options = ScanOptions { run_table: Some(Arc::clone(&table)), ..ScanOptions::default() };
/// let scanner = Scanner::new(default_detectors(), options)?;
/// let file = scanner.scan_slice("runs/a.json".as_ref(), br#"{"version": 1, "steps": []}"#);
/// assert_eq!((file.traces[0].metadata.model.as_deref(), file.traces[0].reward), (Some("m-1"), Some(1.0)));
/// assert_eq!((table.unmatched_rows(), table.unmatched_runs()), (1, 0));
/// # Ok::<(), wrongturn::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct RunTable {
    rows: Vec<Row>,
    /// The indices of rows with a file, by file name.
    by_file: BTreeMap<OsString, Vec<usize>>,
    /// The indices of other rows with a run id, by this id.
    by_run: BTreeMap<String, Vec<usize>>,
    /// The indices of the remaining rows, by task.
    by_task: BTreeMap<String, Vec<usize>>,
    overrides: bool,
    /// The new name of each model, and whether a run had the old one.
    aliases: BTreeMap<String, (String, AtomicBool)>,
    unmatched_runs: AtomicU64,
}

/// The names of the columns that name runs.
const FILE: &[&str] = &["file", "path"];
const RUN: &[&str] = &["run", "run_id", "id", "trace"];
const TASK: &[&str] = &["task", "task_id"];

#[derive(Debug, Default)]
struct Row {
    file: Option<PathBuf>,
    run: Option<String>,
    task: Option<String>,
    trial: Option<u64>,
    model: Option<String>,
    domain: Option<String>,
    reward: Option<f64>,
    labels: BTreeMap<String, String>,
    is_matched: AtomicBool,
}

impl RunTable {
    /// Reads CSV with a header line. Empty cells are missing values.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`](crate::ErrorKind::Shape) if the header names no file, run or task or has a column twice, or
    /// if a row names no file, run or task, has more or fewer cells than the header, has a reward that is neither a
    /// finite number nor a Boolean, or has a trial that is not a whole number.
    pub fn from_csv(text: &str) -> Result<Self> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
        let unread = |error: csv::Error| Error::shape(error.to_string());
        let header = reader.headers().map_err(unread)?.clone();
        let names: Vec<&str> = header.iter().map(str::trim).collect();
        let twice =
            (1..).zip(&names).find(|(before, name)| names.iter().skip(*before).any(|other| other == *name));
        if let Some((_, name)) = twice {
            return Err(Error::shape(format!("line 1: the column `{name}` occurs twice")));
        }
        if !names.iter().any(|name| [FILE, RUN, TASK].concat().contains(name)) {
            return Err(Error::shape("line 1: expected a header with `file`, `run` or `task`"));
        }
        let mut table = Self::default();
        for cells in reader.records() {
            let cells = cells.map_err(unread)?;
            let line = cells.position().map_or(0, csv::Position::line);
            if cells.len() != names.len() {
                let (expected, got) = (names.len(), cells.len());
                return Err(Error::shape(format!("line {line}: expected {expected} cells, got {got}")));
            }
            let known: Map<String, Value> = names
                .iter()
                .zip(&cells)
                .filter(|(_, cell)| !cell.is_empty())
                .map(|(name, cell)| ((*name).to_owned(), cell.into()))
                .collect();
            if !known.is_empty() {
                table.add(line, known)?;
            }
        }
        Ok(table)
    }

    /// Reads JSON lines, each an object. Null is a missing value.
    ///
    /// # Errors
    /// As for [`RunTable::from_csv`], and if a line is not a JSON object.
    pub fn from_jsonl(text: &str) -> Result<Self> {
        let mut table = Self::default();
        for (line, text) in (1..).zip(text.lines()).filter(|(_, text)| !text.trim().is_empty()) {
            let row = serde_json::from_str(text);
            let row =
                row.map_err(|error| Error::shape(format!("line {line}: expected an object: {error}")))?;
            table.add(line, row)?;
        }
        Ok(table)
    }

    /// Sets whether rows replace recorded values. By default, they do not.
    #[must_use]
    pub fn overriding(self, overrides: bool) -> Self {
        Self { overrides, ..self }
    }

    /// Renames a model, recorded or from a row, in all runs.
    #[must_use]
    pub fn with_alias(mut self, model: impl Into<String>, name: impl Into<String>) -> Self {
        self.aliases.insert(model.into(), (name.into(), AtomicBool::new(false)));
        self
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows.len() as u64
    }

    /// Returns the models renamed by [`RunTable::with_alias`] that no run has had so far.
    pub fn unmatched_aliases(&self) -> impl Iterator<Item = &str> {
        let unmatched =
            self.aliases.iter().filter(|(_, (_, is_matched))| !is_matched.load(Ordering::Relaxed));
        unmatched.map(|(model, _)| model.as_str())
    }

    /// Returns the number of rows that have matched no run so far.
    #[must_use]
    pub fn unmatched_rows(&self) -> u64 {
        self.rows.iter().filter(|row| !row.is_matched.load(Ordering::Relaxed)).count() as u64
    }

    /// Returns the number of runs that have matched no row so far, or 0 if the table has no rows. Runs of
    /// sub-agents are not counted.
    #[must_use]
    pub fn unmatched_runs(&self) -> u64 {
        self.unmatched_runs.load(Ordering::Relaxed)
    }

    fn add(&mut self, line: u64, cells: Map<String, Value>) -> Result<()> {
        let mut row = Row::default();
        for (name, value) in cells {
            let text = match value {
                Value::Null => continue,
                Value::String(text) => text,
                other => other.to_string(),
            };
            let wrong =
                |what: &str| Error::shape(format!("line {line}: expected {what} for `{name}`, got `{text}`"));
            match name.as_str() {
                name if FILE.contains(&name) => row.file = Some(text.into()),
                name if RUN.contains(&name) => row.run = Some(text),
                name if TASK.contains(&name) => row.task = Some(text),
                "trial" => row.trial = Some(text.parse().map_err(|_| wrong("a whole number"))?),
                "model" => row.model = Some(text),
                "domain" => row.domain = Some(text),
                "reward" | "score" => row.reward = Some(reward(&text).ok_or_else(|| wrong("a number"))?),
                _ => _ = row.labels.insert(name, text),
            }
        }
        let place = self.rows.len();
        match (&row.file, &row.run, &row.task) {
            (Some(file), ..) => {
                let name = file.file_name().unwrap_or_default().to_owned();
                self.by_file.entry(name).or_default().push(place);
            }
            (None, Some(run), _) => self.by_run.entry(run.clone()).or_default().push(place),
            (None, None, Some(task)) => self.by_task.entry(task.clone()).or_default().push(place),
            (None, None, None) => {
                return Err(Error::shape(format!("line {line}: expected `file`, `run` or `task`")));
            }
        }
        self.rows.push(row);
        Ok(())
    }

    /// Completes the metadata and the reward of a run of this file.
    pub(super) fn complete(&self, file: &Path, ending: &mut RunSummary) {
        let is_sub_agent = ending.metadata.parent.is_some();
        let rows = self.rows_of(file, ending);
        if rows.is_empty() && !is_sub_agent && !self.rows.is_empty() {
            self.unmatched_runs.fetch_add(1, Ordering::Relaxed);
        }
        let mut set = BTreeSet::new();
        for row in rows {
            row.is_matched.store(true, Ordering::Relaxed);
            row.complete(ending, self.overrides, &mut set);
        }
        let model = &mut ending.metadata.model;
        if let Some((name, is_matched)) = model.as_deref().and_then(|model| self.aliases.get(model)) {
            is_matched.store(true, Ordering::Relaxed);
            *model = Some(name.as_str().into());
        }
    }

    /// Returns the rows of a run: first those by file, then by id, then by task.
    fn rows_of(&self, file: &Path, ending: &RunSummary) -> Vec<&Row> {
        let known = &ending.metadata;
        let by_file = self.by_file.get(file.file_name().unwrap_or(OsStr::new("")));
        let by_run = known.id.as_ref().and_then(|id| self.by_run.get(id));
        let by_task = known.task.as_ref().and_then(|task| self.by_task.get(task));
        let places = [by_file, by_run, by_task].into_iter().flatten().flatten();
        let is_of = |row: &&Row| {
            row.file.as_ref().is_none_or(|end| file.ends_with(end))
                && row.run.as_ref().is_none_or(|run| known.id.as_ref() == Some(run))
                && (row.file.is_some() || row.run.is_some() || fit(row.trial, known.trial))
        };
        places.filter_map(|place| self.rows.get(*place)).filter(is_of).collect()
    }
}

/// Returns true if two trials are equal or one is unknown.
fn fit(one: Option<u64>, other: Option<u64>) -> bool {
    one.zip(other).is_none_or(|(one, other)| one == other)
}

/// Parses a finite number, or a Boolean as 1 or 0.
fn reward(text: &str) -> Option<f64> {
    match text.trim() {
        "true" | "True" => Some(1.0),
        "false" | "False" => Some(0.0),
        text => text.parse().ok().filter(|reward: &f64| reward.is_finite()),
    }
}

impl Row {
    /// Sets missing values. With `overrides`, replaces all values that no earlier row set. A sub-agent gets no
    /// reward: the reward is that of the whole run.
    fn complete<'r>(&'r self, ending: &mut RunSummary, overrides: bool, set: &mut BTreeSet<&'r str>) {
        let mut takes = |name: &'r str, is_known: bool| if overrides { set.insert(name) } else { !is_known };
        let known = &mut ending.metadata;
        if self.model.is_some() && takes("model", known.model.is_some()) {
            known.model = self.model.as_deref().map(Into::into);
        }
        if self.domain.is_some() && takes("domain", known.domain.is_some()) {
            known.domain = self.domain.as_deref().map(Into::into);
        }
        if self.task.is_some() && takes("task", known.task.is_some()) {
            known.task.clone_from(&self.task);
        }
        if self.trial.is_some() && takes("trial", known.trial.is_some()) {
            known.trial = self.trial;
        }
        if self.reward.is_some() && known.parent.is_none() && takes("reward", ending.reward.is_some()) {
            ending.reward = self.reward;
        }
        for (name, text) in &self.labels {
            if takes(name, known.labels.contains_key(name)) {
                known.labels.insert(name.clone(), text.clone());
            }
        }
    }
}
