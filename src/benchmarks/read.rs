//! Reads records, one JSON object per line. Invalid lines are reported and skipped.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Location, Result};
use crate::objects;

/// A record that [`read_lines`] can read.
pub trait Record: DeserializeOwned {
    /// Returns the key of the record, which must be unique in its file. Errors name the record by it.
    fn key(&self) -> String;

    /// Validates the record.
    ///
    /// # Errors
    /// A lower-case description of the rule that the record breaks.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

/// Implements [`Record`] for a type that one field identifies.
macro_rules! record {
    ($type:ty, $what:literal, $field:ident) => {
        impl $crate::benchmarks::Record for $type {
            fn key(&self) -> String {
                format!(concat!($what, " `{}`"), self.$field)
            }
        }
    };
}
pub(super) use record;

/// A record with its line number.
#[derive(Debug, Clone, PartialEq)]
pub struct Line<T> {
    /// Line in the file, counted from 1.
    pub line: u64,
    /// The record.
    pub record: T,
}

/// The valid records of a file, and the errors of the others.
#[derive(Debug)]
pub struct Lines<T> {
    /// The valid records, in file order.
    pub lines: Vec<Line<T>>,
    /// The errors, each with its line, in file order.
    pub errors: Vec<Error>,
}

impl<T> Lines<T> {
    /// Returns the records without their line numbers.
    #[must_use]
    pub fn into_records(self) -> Vec<T> {
        self.lines.into_iter().map(|line| line.record).collect()
    }

    /// Removes the records that `check` rejects, and adds its messages to the errors.
    pub fn retain(&mut self, mut check: impl FnMut(&T) -> Result<(), String>) {
        let lines = std::mem::take(&mut self.lines);
        for line in lines {
            match check(&line.record) {
                Ok(()) => self.lines.push(line),
                Err(why) => self.errors.push(at(line.line, Error::evaluation(why))),
            }
        }
        self.errors.sort_by_key(Error::location);
    }
}

/// Reads records, one JSON object per line.
///
/// Blank lines are skipped. Of several records with the same key, the first is kept; the others are errors.
///
/// ```
/// use wrongturn::benchmarks::{GoldEpisode, read_lines};
///
/// let text = br#"{"id": "e1", "task": "jericho", "failures": []}
///
/// {"id": "e1", "task": "jericho", "failures": []}"#;
/// let read = read_lines::<GoldEpisode>(text);
/// assert_eq!(read.lines.len(), 1);
/// assert_eq!(read.errors[0].location().unwrap().line, 3);
/// ```
#[must_use]
pub fn read_lines<T: Record>(text: &[u8]) -> Lines<T> {
    let mut read = Lines { lines: Vec::new(), errors: Vec::new() };
    let mut keys = BTreeSet::new();
    for (number, line) in (1..).zip(text.split(|byte| *byte == b'\n')) {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let record = objects::from_slice::<T>(line).and_then(|record| {
            record.check().map_err(Error::evaluation)?;
            let key = record.key();
            if keys.contains(&key) {
                return Err(Error::evaluation(format!("{key} is already on an earlier line")));
            }
            keys.insert(key);
            Ok(record)
        });
        match record {
            Ok(record) => read.lines.push(Line { line: number, record }),
            Err(error) => read.errors.push(at(number, error)),
        }
    }
    read
}

/// Sets the line of an error and keeps its column. An error without a column gets column 1.
fn at(line: u64, error: Error) -> Error {
    let column = error.location().map_or(1, |location| location.column);
    error.at(Location { line, column })
}

/// A range of steps, both ends included; in JSON, `[first, last]`.
///
/// A range whose end comes before its start is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Vec<i64>", into = "[i64; 2]")]
pub struct StepRange {
    /// The first step.
    pub first: i64,
    /// The last step.
    pub last: i64,
}

impl StepRange {
    /// Returns true if a step lies in the range.
    #[must_use]
    pub fn contains(self, step: i64) -> bool {
        self.steps().contains(&step)
    }

    pub(super) fn steps(self) -> RangeInclusive<i64> {
        self.first..=self.last
    }
}

impl TryFrom<Vec<i64>> for StepRange {
    type Error = &'static str;

    fn try_from(ends: Vec<i64>) -> Result<Self, Self::Error> {
        match ends.as_slice() {
            [first, last] => Ok(Self { first: *first, last: *last }),
            _ => Err("a range must have a first and a last step"),
        }
    }
}

impl From<[i64; 2]> for StepRange {
    fn from([first, last]: [i64; 2]) -> Self {
        Self { first, last }
    }
}

impl From<StepRange> for [i64; 2] {
    fn from(range: StepRange) -> Self {
        [range.first, range.last]
    }
}

/// Deserializes a range whose end must not come before its start.
pub(super) fn ordered<'de, D: serde::Deserializer<'de>>(value: D) -> Result<StepRange, D::Error> {
    let range = StepRange::deserialize(value)?;
    if range.last < range.first {
        let why = format!("the range [{}, {}] ends before it begins", range.first, range.last);
        return Err(serde::de::Error::custom(why));
    }
    Ok(range)
}

pub(super) fn null_as_default<'de, D, T>(value: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Option::deserialize(value).map(Option::unwrap_or_default)
}
