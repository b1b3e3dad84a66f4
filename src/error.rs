//! The error type of the crate: a category, a location and a message.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::path_text::path_text;
#[cfg(feature = "statistics")]
use crate::stats::StatsError;

/// The category of an [`Error`], for callers that branch on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file, directory or stream could not be read or written, or a thread could not be started.
    Io,
    /// The input holds no JSON value or no run, or the directory holds no input.
    Empty,
    /// The input ends in the middle of a value.
    Truncated,
    /// The input is not JSON.
    Syntax,
    /// The input is JSON, but does not have the expected shape.
    Shape,
    /// A value is not valid in a trace, such as a reward that is not finite.
    Trace,
    /// A setting has an unknown field or name, or a value out of range.
    Config,
    /// A golden set has an invalid entry.
    Golden,
    /// The input exceeds a size limit.
    TooLarge,
    /// The input has an unknown format, or one that this build cannot read.
    Format,
    /// The input has calls that were not read.
    Unread,
    /// A record in the input of a benchmark is invalid.
    Evaluation,
    /// A statistic is undefined for its input.
    Statistics,
    /// A partial state is damaged, or cannot be merged: its kind or options differ, or runs would count
    /// twice.
    Partial,
    /// A partial state has another format version, or another version of this crate wrote it.
    Version,
}

/// A line and a column of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Location {
    /// Line, counted from 1.
    pub line: u64,
    /// Column in bytes, counted from 1.
    pub column: u64,
}

/// An error with its category and, if known, its location.
///
/// Displays as `path:10:7: run 3: message`, without a full stop.
///
/// ```
/// use wrongturn::{ErrorKind, ReadOptions, read_traces};
///
/// let lines = b"{\"id\": \"a\", \"messages\": []}\n{\"id\": \"b\", \"messages\": 7}";
/// let (_, reading) = read_traces(lines, &ReadOptions::default());
/// let error = &reading.errors[0];
/// assert_eq!((error.kind(), error.run()), (ErrorKind::Shape, Some(1)));
/// assert_eq!(error.location().map(|place| place.line), Some(2));
/// assert!(error.to_string().starts_with("run 1: line 2 column "));
/// ```
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    path: Option<PathBuf>,
    run: Option<u64>,
    location: Option<Location>,
    cause: Cause,
}

#[derive(Debug, thiserror::Error)]
enum Cause {
    #[error(transparent)]
    Io(io::Error),
    #[cfg(feature = "statistics")]
    #[error(transparent)]
    Statistics(StatsError),
    #[error("{0}")]
    Text(String),
}

/// The result type of the fallible functions of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self::from_cause(kind, Cause::Text(message.into()))
    }

    fn from_cause(kind: ErrorKind, cause: Cause) -> Self {
        Self(Box::new(Inner { kind, path: None, run: None, location: None, cause }))
    }

    pub(crate) fn shape(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Shape, message)
    }

    pub(crate) fn trace(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Trace, message)
    }

    /// Makes an [`ErrorKind::Config`] error with the message `field: message`.
    #[must_use]
    pub fn config(field: &str, message: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Config, format!("{field}: {message}"))
    }

    pub(crate) fn golden(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Golden, message)
    }

    pub(crate) fn evaluation(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Evaluation, message)
    }

    /// Converts an error of the JSON parser, with its location.
    pub(crate) fn json(error: &serde_json::Error) -> Self {
        let kind = match error.classify() {
            serde_json::error::Category::Data => ErrorKind::Shape,
            serde_json::error::Category::Eof => ErrorKind::Truncated,
            serde_json::error::Category::Syntax | serde_json::error::Category::Io => ErrorKind::Syntax,
        };
        let text = error.to_string();
        let place = format!(" at line {} column {}", error.line(), error.column());
        let message = text.strip_suffix(&place).unwrap_or(&text).to_owned();
        let made = Self::new(kind, message);
        if error.line() == 0 {
            return made;
        }
        made.at(Location { line: error.line() as u64, column: error.column().max(1) as u64 })
    }

    #[must_use]
    pub(crate) fn at(mut self, location: Location) -> Self {
        self.0.location = Some(location);
        self
    }

    /// Removes the location.
    #[must_use]
    pub(crate) fn unplaced(mut self) -> Self {
        self.0.location = None;
        self
    }

    /// Adds `first` to the position of the run, if there is one.
    #[must_use]
    pub(crate) fn with_runs_from(mut self, first: u64) -> Self {
        self.0.run = self.0.run.map(|run| run + first);
        self
    }

    #[must_use]
    pub(crate) fn in_run(mut self, run: u64) -> Self {
        self.0.run = Some(run);
        self
    }

    /// Sets the file, unless the error already has one.
    #[must_use]
    pub fn in_file(mut self, path: &Path) -> Self {
        self.0.path.get_or_insert_with(|| path.to_path_buf());
        self
    }

    /// Returns the category.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the path of the file, if known.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// Returns the 0-based position, within its file, of the run that could not be read. `None` if the error
    /// does not concern a single run.
    #[must_use]
    pub fn run(&self) -> Option<u64> {
        self.0.run
    }

    /// Returns the line and column in the input, if known.
    #[must_use]
    pub fn location(&self) -> Option<Location> {
        self.0.location
    }

    /// Returns the message without the path, the run and the location.
    #[must_use]
    pub fn message(&self) -> String {
        self.0.cause.to_string()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.0.path.as_ref().map(|path| match path_text(path.as_os_str()) {
            stdin if stdin == "-" => "standard input".into(),
            text => text,
        });
        match (&path, self.0.location) {
            (Some(path), Some(Location { line, column })) => write!(f, "{path}:{line}:{column}: ")?,
            (Some(path), None) => write!(f, "{path}: ")?,
            (None, _) => {}
        }
        if let Some(run) = self.0.run {
            write!(f, "run {run}: ")?;
        }
        if let (None, Some(Location { line, column })) = (&path, self.0.location) {
            write!(f, "line {line} column {column}: ")?;
        }
        write!(f, "{}", self.0.cause)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        // The cause itself is part of the message.
        self.0.cause.source()
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::from_cause(ErrorKind::Io, Cause::Io(error))
    }
}

#[cfg(feature = "statistics")]
impl From<StatsError> for Error {
    fn from(error: StatsError) -> Self {
        Self::from_cause(ErrorKind::Statistics, Cause::Statistics(error))
    }
}

/// Returns the first 200 characters of an input, with control characters escaped, and `…` if there are more.
pub(crate) fn echo(input: &str) -> String {
    const QUOTED: usize = 200;
    let mut text = String::new();
    for (position, char) in input.chars().enumerate() {
        if position == QUOTED {
            text.push('…');
            break;
        }
        if char.is_control() { text.extend(char.escape_default()) } else { text.push(char) }
    }
    text
}

const _: () = {
    const fn thread_safe<T: Send + Sync>() {}
    thread_safe::<Error>();
};
