//! Points in time in nanoseconds since 1970, from several spellings.

use super::timestamp::nanoseconds;
use crate::json::{Kind, Number, Raw};

const SECOND: i128 = 1_000_000_000;

/// Parses a date and time of RFC 3339. Without an offset it is taken for UTC.
pub(super) fn of_string(value: Raw<'_>) -> Option<u64> {
    nanoseconds(value.string()?.as_bytes())
}

/// Converts seconds.
pub(super) fn of_seconds(value: Raw<'_>) -> Option<u64> {
    scaled(value, SECOND)
}

/// Converts milliseconds.
pub(super) fn of_milliseconds(value: Raw<'_>) -> Option<u64> {
    scaled(value, SECOND / 1000)
}

/// Converts a number of units of `unit` nanoseconds each, if it is not negative and fits.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times() {
        for (text, expected) in [
            ("2026-03-17T22:42:23.353Z", Some(1_773_787_343_353_000_000)),
            ("2026-03-17 22:42:23.353", Some(1_773_787_343_353_000_000)),
            ("2025-05-12T20:28:13.296345-04:00", Some(1_747_096_093_296_345_000)),
            ("2025-05-13T00:28", None),
            ("2025-05-13T00:28:13 UTC", None),
            ("", None),
        ] {
            let json = format!("\"{text}\"");
            assert_eq!(of_string(Raw::over(json.as_bytes(), 0)), expected, "{text}");
        }
    }

    #[test]
    fn numbers() {
        let raw = |json: &'static str| Raw::over(json.as_bytes(), 0);
        assert_eq!(of_seconds(raw("1775802351.5")), Some(1_775_802_351_500_000_000));
        assert_eq!(of_milliseconds(raw("1775802351873")), Some(1_775_802_351_873_000_000));
        for none in ["-1", "1e300", "99999999999999999999999999999999", "\"1\"", "null"] {
            assert_eq!(of_seconds(raw(none)), None, "{none}");
        }
    }
}
