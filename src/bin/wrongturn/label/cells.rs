//! Checks the cells that a reader filled in. Errors name the row, the value and the expected form.

use std::collections::BTreeSet;
use std::path::Path;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use wrongturn::{Trace, calibrate::Difficulty, detect::detector_info};

use crate::common::output::{at, read};
use crate::common::{Failure, joined, terminal::cut};

/// The first and the last step of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Span(u64, u64);

impl Span {
    fn of(first: u64, last: u64) -> Option<Self> {
        (first <= last).then_some(Self(first, last))
    }

    /// Parses `[8, 14]` or the text `8-14`.
    fn of_cell(cell: &Value) -> Option<Self> {
        if let Value::String(text) = cell {
            return text.parse().ok();
        }
        let (first, last) = Deserialize::deserialize(cell).ok()?;
        Self::of(first, last)
    }
}

impl FromStr for Span {
    type Err = String;

    /// Parses `8-14`, or `8` for one step.
    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| -> Option<u64> {
            let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| text.parse().ok()).flatten()
        };
        let (first, last) = text.split_once(['-', '–']).unwrap_or((text, text));
        let span = number(first).zip(number(last)).and_then(|(first, last)| Self::of(first, last));
        span.ok_or_else(|| "expected two steps such as 8-14, the first not above the last, or one".to_owned())
    }
}

/// A row of a sheet or a golden entry that has a label.
pub(crate) struct Labelled {
    /// The key of the label: `run` and the number of the row, or the id of the entry.
    pub(crate) key: String,
    pub(crate) detector: String,
    pub(crate) label: bool,
    pub(crate) range: Option<Span>,
    pub(crate) difficulty: Option<Difficulty>,
    pub(crate) description: String,
    /// The run of the row; `None` for an entry.
    pub(crate) row: Option<RowOf>,
}

/// The file and id of a row's run, and a digest that shows whether the run has changed.
pub(crate) struct RowOf {
    pub(crate) file: String,
    pub(crate) run: String,
    pub(crate) digest: String,
}

impl Labelled {
    /// Returns an error unless both labels are for the same run and detector.
    pub(crate) fn same_run(&self, other: &Self) -> Result<(), String> {
        if self.detector != other.detector {
            return Err(format!("the label is for `{}`, the first for `{}`", other.detector, self.detector));
        }
        let digest = |label: &Self| label.row.as_ref().map(|row| row.digest.clone());
        if digest(self) != digest(other) {
            return Err("the run is not the one that the first reader read".to_owned());
        }
        Ok(())
    }
}

/// Returns the labelled rows of a sheet, or the entries of a golden file. One error reports the faults of all
/// lines.
pub(crate) fn labelled(path: &Path) -> Result<Vec<Labelled>, Failure> {
    let text = String::from_utf8(read(path)?).map_err(at(path))?;
    let (mut found, mut wrong, mut known) = (Vec::new(), Vec::new(), BTreeSet::new());
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        match of_line(line) {
            Ok(None) => {}
            Ok(Some(label)) if known.insert(label.key.clone()) => found.push(label),
            Ok(Some(label)) => wrong.push(at(path)(format!("line {number}: {}: labelled above", label.key))),
            Err(error) => wrong.push(at(path)(format!("line {number}: {error}"))),
        }
    }
    if wrong.is_empty() { Ok(found) } else { Err(joined(&wrong).into()) }
}

/// The cells of a row.
const ROW: &str = "n detector file run digest label where difficulty description trace";

/// The fields of an entry.
const ENTRY: &str = "id detector difficulty label where description source tags reference trace";

type Cells = Map<String, Value>;

/// Parses a line. Returns `None` if it has no label yet.
fn of_line(line: &str) -> Result<Option<Labelled>, String> {
    let cells: Cells = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let (key, known) = match (cells.get("id"), cells.get("n")) {
        (Some(Value::String(id)), None) => (id.clone(), ENTRY),
        (None, Some(Value::Number(n))) if n.is_u64() => (format!("run {n}"), ROW),
        _ => return Err("expected `n`, the number of a row, or `id`, that of an entry".to_owned()),
    };
    of_cells(&key, &cells, known).map_err(|error| format!("{key}: {error}"))
}

fn of_cells(key: &str, cells: &Cells, known: &str) -> Result<Option<Labelled>, String> {
    if let Some(name) = cells.keys().find(|name| !known.split(' ').any(|known| known == *name)) {
        return Err(format!("unknown cell `{name}`: expected {}", known.replace(' ', ", ")));
    }
    let Some(label) = optional(cells, "label", "true, false or null", Value::as_bool)? else {
        return Ok(None);
    };
    let detector = text(cells, "detector", "the id of a detector")?;
    detector_info(&detector).map_err(|error| error.to_string())?;
    let span = "[first, last] or \"first-last\", the first not above the last, or null";
    let range = optional(cells, "where", span, Span::of_cell)?;
    if range.is_some() && !label {
        return Err(wrong(cells, "where", "null where `label` is false"));
    }
    let is_row = known == ROW;
    let difficulty = |cell: &Value| cell.as_str()?.parse().ok();
    let difficulty = optional(cells, "difficulty", "easy, medium or hard", difficulty)?;
    if is_row && difficulty.is_none() {
        return Err("difficulty is missing: expected easy, medium or hard".to_owned());
    }
    let description = text(cells, "description", "a sentence")?;
    let place = |name| text(cells, name, "the original text of the sheet");
    let row =
        || Ok::<_, String>(RowOf { file: place("file")?, run: place("run")?, digest: place("digest")? });
    let row = is_row.then(row).transpose()?;
    if let Some(Span(first, last)) = range
        && let Some(Span(start, end)) = cells.get("trace").and_then(steps_of)
        && !(start <= first && last <= end)
    {
        return Err(wrong(cells, "where", &format!("steps of the run, which has {start}-{end}")));
    }
    Ok(Some(Labelled { key: key.to_owned(), detector, label, range, difficulty, description, row }))
}

fn steps_of(trace: &Value) -> Option<Span> {
    let trace: Trace = serde_json::from_value(trace.clone()).ok()?;
    let mut steps = trace.steps().map(|step| step.index());
    let first = steps.next()?;
    Span::of(first, steps.next_back().unwrap_or(first))
}

/// Returns the value of a cell, or `None` if it is null or missing.
fn optional<T>(
    cells: &Cells,
    name: &str,
    expected: &str,
    parse: impl FnOnce(&Value) -> Option<T>,
) -> Result<Option<T>, String> {
    match cells.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(cell) => parse(cell).map(Some).ok_or_else(|| wrong(cells, name, expected)),
    }
}

fn text(cells: &Cells, name: &str, expected: &str) -> Result<String, String> {
    let cell = cells.get(name).ok_or_else(|| format!("{name} is missing"))?;
    let text = cell.as_str().filter(|text| !text.trim().is_empty());
    text.map(str::to_owned).ok_or_else(|| wrong(cells, name, expected))
}

fn wrong(cells: &Cells, name: &str, expected: &str) -> String {
    let found = cut(&cells.get(name).unwrap_or(&Value::Null).to_string(), 40);
    format!("{name}: expected {expected}, found {found}")
}
