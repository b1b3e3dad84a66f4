//! What values there are.

/// What kind of value comes next.
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
    /// With its article, for messages.
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

/// A number, kept as exactly as it can be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Number<'a> {
    /// A whole number without fraction or exponent that fits.
    Integer(i128),
    /// A whole number that does not fit, as it is spelled.
    Large(&'a str),
    /// Any other; finite.
    Float(f64),
}

impl Number<'_> {
    /// As a whole number that fits; `3.0` is one.
    pub(crate) fn integer(self) -> Option<i64> {
        match self {
            Self::Integer(integer) => i64::try_from(integer).ok(),
            #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and small")]
            Self::Float(float) => (float.fract() == 0.0 && float.abs() < 9e15).then_some(float as i64),
            Self::Large(_) => None,
        }
    }
}
