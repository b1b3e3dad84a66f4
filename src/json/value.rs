//! The kinds of JSON values, and numbers.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Null,
    Bool,
    Number,
    String,
    List,
    Object,
}

impl Kind {
    /// Returns the name of the kind for error messages, with its article.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "a boolean",
            Self::Number => "a number",
            Self::String => "a string",
            Self::List => "a list",
            Self::Object => "an object",
        }
    }
}

/// A number, as exact as possible.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Number<'a> {
    /// An integer that fits an `i128`, spelled without fraction or exponent.
    Integer(i128),
    /// The spelling of an integer that does not fit.
    Large(&'a str),
    /// Any other number, always finite.
    Float(f64),
}

impl Number<'_> {
    /// Returns the number if it is an integer that fits an `i64`. A float must be whole and below 9e15 in
    /// magnitude: `3.0` is 3.
    pub(crate) fn integer(self) -> Option<i64> {
        match self {
            Self::Integer(integer) => i64::try_from(integer).ok(),
            #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and small")]
            Self::Float(float) => (float.fract() == 0.0 && float.abs() < 9e15).then_some(float as i64),
            Self::Large(_) => None,
        }
    }
}
