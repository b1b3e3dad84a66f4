//! What can be wrong with a JSON text, and where.

use crate::error::{Error, ErrorKind, echo};

/// Result of reading a piece of JSON.
pub(crate) type Read<T> = std::result::Result<T, Fault>;

/// Something wrong with a JSON text, at an offset of the text that is read.
#[derive(Debug)]
pub(crate) struct Fault(Box<(usize, Cause)>);

#[derive(Debug)]
enum Cause {
    /// The text ends in the middle of a value.
    End,
    /// A string that is needed is not UTF-8.
    Encoding,
    Syntax(&'static str),
    Shape(String),
    Other(Error),
}

impl Fault {
    pub(crate) fn end_at(at: usize) -> Self {
        Self(Box::new((at, Cause::End)))
    }

    pub(crate) fn encoding_at(at: usize) -> Self {
        Self(Box::new((at, Cause::Encoding)))
    }

    #[cold]
    pub(crate) fn syntax(at: usize, what: &'static str) -> Self {
        Self(Box::new((at, Cause::Syntax(what))))
    }

    #[cold]
    pub(crate) fn shape(at: usize, what: impl Into<String>) -> Self {
        Self(Box::new((at, Cause::Shape(what.into()))))
    }

    /// An error of another kind, at this place.
    #[cold]
    pub(crate) fn other(at: usize, error: Error) -> Self {
        Self(Box::new((at, Cause::Other(error))))
    }

    /// The offset in the text.
    pub(crate) fn at(&self) -> usize {
        self.0.0
    }

    /// Whether more input might mend it.
    pub(crate) fn is_end(&self) -> bool {
        matches!(self.0.1, Cause::End)
    }

    /// Whether reading invalid bytes as U+FFFD would mend it.
    pub(crate) fn is_encoding(&self) -> bool {
        matches!(self.0.1, Cause::Encoding)
    }

    /// Whether the text is JSON so far as it was read.
    pub(crate) fn is_sound_json(&self) -> bool {
        matches!(self.0.1, Cause::Shape(_) | Cause::Other(_))
    }

    /// The error, without its place.
    pub(crate) fn into_error(self) -> Error {
        match self.0.1 {
            Cause::End => Error::new(ErrorKind::Truncated, "the input ends in the middle of a value"),
            Cause::Encoding => Error::new(ErrorKind::Syntax, "a string is not UTF-8"),
            Cause::Syntax(what) => Error::new(ErrorKind::Syntax, what),
            Cause::Shape(what) => Error::shape(what),
            Cause::Other(error) => error,
        }
    }
}

/// What was found where something else was expected.
pub(super) fn unexpected(at: usize, expected: &str, found: &str) -> Fault {
    Fault::shape(at, format!("expected {expected}, found {found}"))
}

/// A name that is none of those that are known.
pub(super) fn unknown_name(at: usize, name: &str, expected: &str) -> Fault {
    Fault::shape(at, format!("`{}` is no known {expected}", echo(name)))
}
