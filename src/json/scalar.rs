//! Reads scalars: null, booleans, strings and numbers.

use std::borrow::Cow;

use super::token::{literal_end, number_end};
use super::{Fault, Json, JsonString, Number, Read};
use crate::error::echo;

impl<'a> Json<'a> {
    /// Reads null and returns true, or returns false if another value comes next.
    #[inline]
    pub(crate) fn null(&mut self) -> Read<bool> {
        match self.peek_byte() {
            Some(b'n') => self.literal(b"null").map(|()| true),
            _ => Ok(false),
        }
    }

    /// Reads a value, or returns `None` for null.
    #[inline]
    pub(crate) fn or_null<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<Option<T>> {
        if self.null()? { Ok(None) } else { read(self).map(Some) }
    }

    #[inline]
    fn literal(&mut self, literal: &'static [u8]) -> Read<()> {
        self.at = literal_end(self.bytes, self.at, literal)?;
        Ok(())
    }

    #[inline]
    pub(crate) fn boolean(&mut self) -> Read<bool> {
        match self.peek_byte() {
            Some(b't') => self.literal(b"true").map(|()| true),
            Some(b'f') => self.literal(b"false").map(|()| false),
            _ => Err(self.not("a boolean")),
        }
    }

    /// Reads a string without decoding it.
    #[inline]
    pub(crate) fn text(&mut self) -> Read<JsonString<'a>> {
        match self.peek_byte() {
            Some(b'"') => self.string_extent::<true>(),
            _ => Err(self.not("a string")),
        }
    }

    /// Reads and decodes a string. Text that is not UTF-8 is an error.
    #[inline]
    pub(crate) fn string(&mut self) -> Read<Cow<'a, str>> {
        let string = self.text()?;
        string.to_str().ok_or_else(|| Fault::encoding_at(self.at))
    }

    /// Reads a string or a number as a name, such as the id of a task or run.
    pub(crate) fn ident(&mut self) -> Read<Cow<'a, str>> {
        match self.peek_byte() {
            Some(b'"') => self.string(),
            Some(b'-' | b'0'..=b'9') => Ok(match self.number()? {
                Number::Integer(integer) => Cow::Owned(integer.to_string()),
                Number::Large(digits) => Cow::Borrowed(digits),
                Number::Float(float) => Cow::Owned(serde_json::Value::from(float).to_string()),
            }),
            _ => Err(self.not("a string or a number")),
        }
    }

    /// Reads a name and maps it with `find`. The error for an unknown name calls it "not a known `expected`".
    #[inline]
    pub(crate) fn one_of<T>(&mut self, expected: &str, find: impl Fn(&[u8]) -> Option<T>) -> Read<T> {
        let start = self.at;
        let name = self.text()?.bytes();
        find(&name).ok_or_else(|| {
            let name = String::from_utf8_lossy(&name);
            Fault::shape(start, format!("`{}` is not a known {expected}", echo(&name)))
        })
    }

    /// Reads a number. A number too large for a double is an error.
    pub(crate) fn number(&mut self) -> Read<Number<'a>> {
        if !matches!(self.peek_byte(), Some(b'-' | b'0'..=b'9')) {
            return Err(self.not("a number"));
        }
        let start = self.at;
        let (end, float) = number_end(self.bytes, start)?;
        let spelling = self.bytes.get(start..end).unwrap_or_default();
        self.at = end;
        if let Some(integer) = short_integer(spelling) {
            return Ok(Number::Integer(integer.into()));
        }
        let spelling = std::str::from_utf8(spelling).unwrap_or_default();
        if !float && let Ok(integer) = spelling.parse::<i128>() {
            return Ok(Number::Integer(integer));
        }
        match spelling.parse::<f64>() {
            Ok(value) if !value.is_finite() => Err(Fault::syntax(start, "the number does not fit a double")),
            Ok(value) if float => Ok(Number::Float(value)),
            _ => Ok(Number::Large(spelling)),
        }
    }

    /// Reads a number as the nearest double.
    pub(crate) fn float(&mut self) -> Read<f64> {
        #[expect(clippy::cast_precision_loss, reason = "the nearest double is what is asked for")]
        Ok(match self.number()? {
            Number::Integer(integer) => integer as f64,
            Number::Large(digits) => digits.parse().unwrap_or(f64::MAX),
            Number::Float(float) => float,
        })
    }

    /// Reads a non-negative integer that fits a `u64`. A number with a fraction or exponent must be whole and below
    /// 9e15: `3.0` is 3.
    pub(crate) fn whole(&mut self) -> Read<u64> {
        self.space();
        let start = self.at;
        let number = self.number()?;
        let whole = match number {
            Number::Integer(integer) => u64::try_from(integer).ok(),
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "checked to be whole and small"
            )]
            Number::Float(float) => {
                (float.fract() == 0.0 && (0.0..9e15).contains(&float)).then_some(float as u64)
            }
            Number::Large(_) => None,
        };
        whole.ok_or_else(|| {
            Fault::shape(
                start,
                format!(
                    "expected a whole number, found {}",
                    echo(&String::from_utf8_lossy(self.since(start)))
                ),
            )
        })
    }
}

/// Returns the value of an integer of at most 18 digits, which always fits. Returns `None` for any other
/// number.
#[inline]
fn short_integer(spelling: &[u8]) -> Option<i64> {
    let (negative, digits) = match spelling {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.len() > 18 {
        return None;
    }
    let value = digits
        .iter()
        .try_fold(0_i64, |value, byte| byte.is_ascii_digit().then(|| value * 10 + i64::from(byte - b'0')))?;
    Some(if negative { -value } else { value })
}
