//! Parses times, written in several ways, into nanoseconds since 1970.

use super::timestamp::nanoseconds;
use crate::json::{Kind, Number, Raw};

const SECOND: i128 = 1_000_000_000;

/// Parses a date and time as in RFC 3339, which is UTC if it has no offset.
pub(super) fn of_string(value: Raw<'_>) -> Option<u64> {
    nanoseconds(value.string()?.as_bytes())
}

pub(super) fn of_seconds(value: Raw<'_>) -> Option<u64> {
    scaled(value, SECOND)
}

pub(super) fn of_milliseconds(value: Raw<'_>) -> Option<u64> {
    scaled(value, SECOND / 1000)
}

/// Converts nanoseconds, which may be a float.
pub(super) fn of_nanoseconds(value: Raw<'_>) -> Option<u64> {
    scaled(value, 1)
}

/// Converts a number of units of `unit` nanoseconds, if it is not negative and fits.
fn scaled(value: Raw<'_>, unit: i128) -> Option<u64> {
    if value.kind() != Kind::Number {
        return None;
    }
    match value.json().number().ok()? {
        Number::Integer(count) => u64::try_from(count.checked_mul(unit)?).ok(),
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked to be in range; fractions of a second are floats in the source"
        )]
        Number::Float(count) => {
            let nanos = count * unit as f64;
            (0.0..1.8e19).contains(&nanos).then_some(nanos.round() as u64)
        }
        Number::Large(_) => None,
    }
}
