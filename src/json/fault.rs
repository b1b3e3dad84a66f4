//! Errors in a JSON text, with their offsets.

use crate::error::{Error, ErrorKind};

pub(crate) type Read<T> = std::result::Result<T, Fault>;

/// An error in a JSON text, at an offset of that text.
#[derive(Debug)]
pub(crate) struct Fault(Box<(usize, Cause)>);

#[derive(Debug)]
enum Cause {
    /// The text ends in the middle of a value.
    End,
    /// A string that was to be decoded is not UTF-8.
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

    /// Makes the error for a value nested deeper than [`MAX_DEPTH`](super::MAX_DEPTH).
    #[cold]
    pub(super) fn too_deep(at: usize) -> Self {
        Self::syntax(at, "nested more than 128 levels deep")
    }

    #[cold]
    pub(crate) fn shape(at: usize, what: impl Into<String>) -> Self {
        Self(Box::new((at, Cause::Shape(what.into()))))
    }

    /// Wraps an error of another kind at this offset.
    #[cold]
    pub(crate) fn other(at: usize, error: Error) -> Self {
        Self(Box::new((at, Cause::Other(error))))
    }

    pub(crate) fn at(&self) -> usize {
        self.0.0
    }

    /// Returns true if more input might resolve the error.
    pub(crate) fn is_end(&self) -> bool {
        matches!(self.0.1, Cause::End)
    }

    /// Returns true if replacing invalid bytes with U+FFFD would resolve the error.
    pub(crate) fn is_encoding(&self) -> bool {
        matches!(self.0.1, Cause::Encoding)
    }

    /// Returns true if the text is valid JSON up to the error.
    pub(crate) fn is_sound_json(&self) -> bool {
        matches!(self.0.1, Cause::Shape(_) | Cause::Other(_))
    }

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
