//! Points in time as sources write them, in nanoseconds since 1970.

use crate::json::{Kind, Number, Raw};

const SECOND: i128 = 1_000_000_000;

/// A date and time by ISO 8601, such as `2026-03-17T22:42:23.353Z`. Without an offset it is taken for UTC.
pub(super) fn of_text(text: &str) -> Option<u64> {
    let bytes = text.as_bytes();
    let (date, rest) = bytes.split_at_checked(10)?;
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = *date else { return None };
    let (year, month, day) = (digits(&[y1, y2, y3, y4])?, digits(&[m1, m2])?, digits(&[d1, d2])?);
    let [b'T' | b't' | b' ', h1, h2, b':', n1, n2, b':', s1, s2, rest @ ..] = rest else { return None };
    let (hour, minute, second) = (digits(&[*h1, *h2])?, digits(&[*n1, *n2])?, digits(&[*s1, *s2])?);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 24 || minute > 59 || second > 60 {
        return None;
    }
    let (nanos, rest) = fraction(rest)?;
    let offset = match rest {
        [] | [b'Z' | b'z'] => 0,
        [sign @ (b'+' | b'-'), h1, h2] => signed(*sign, digits(&[*h1, *h2])? * 60),
        [sign @ (b'+' | b'-'), h1, h2, m1, m2] | [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            signed(*sign, digits(&[*h1, *h2])? * 60 + digits(&[*m1, *m2])?)
        }
        _ => return None,
    };
    let minutes = (days(year, month, day) * 24 + hour) * 60 + minute - offset;
    u64::try_from((i128::from(minutes) * 60 + i128::from(second)) * SECOND + i128::from(nanos)).ok()
}

fn signed(sign: u8, value: i64) -> i64 {
    if sign == b'-' { -value } else { value }
}

fn digits(bytes: &[u8]) -> Option<i64> {
    bytes.iter().try_fold(0, |sum, byte| byte.is_ascii_digit().then(|| sum * 10 + i64::from(byte - b'0')))
}

/// A fraction of a second, if there is one, in nanoseconds; what is finer is cut off.
fn fraction(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let Some(rest) = bytes.strip_prefix(b".").or_else(|| bytes.strip_prefix(b",")) else {
        return Some((0, bytes));
    };
    let length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (fraction, rest) = rest.split_at_checked(length).filter(|_| length > 0)?;
    let mut nanos = 0;
    for position in 0..9 {
        nanos = nanos * 10 + fraction.get(position).map_or(0, |digit| i64::from(digit - b'0'));
    }
    Some((nanos, rest))
}

/// Days from 1970 to a date of the Gregorian calendar: years are counted from March, in eras of 400.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// A string with a date and time.
pub(super) fn of_string(value: Raw<'_>) -> Option<u64> {
    of_text(&value.string()?)
}

/// A number of seconds.
pub(super) fn of_seconds(value: Raw<'_>) -> Option<u64> {
    scaled(value, SECOND)
}

/// A number of milliseconds.
pub(super) fn of_milliseconds(value: Raw<'_>) -> Option<u64> {
    scaled(value, SECOND / 1000)
}

/// A number of units of so many nanoseconds, where it is not negative and fits.
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
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2000-02-29T12:00:00Z", Some(951_825_600_000_000_000)),
            ("2026-03-17T22:42:23.353Z", Some(1_773_787_343_353_000_000)),
            ("2026-03-17 22:42:23.353", Some(1_773_787_343_353_000_000)),
            ("2025-05-12T20:28:13.296345-04:00", Some(1_747_096_093_296_345_000)),
            ("2025-05-13T00:28:13.2963451239+0000", Some(1_747_096_093_296_345_123)),
            ("2025-05-13T02:28:13+02", Some(1_747_096_093_000_000_000)),
            ("1969-12-31T23:59:59Z", None),
            ("2025-13-01T00:00:00Z", None),
            ("2025-05-13T00:28", None),
            ("2025-05-13T00:28:13.Z", None),
            ("2025-05-13T00:28:13 UTC", None),
            ("", None),
            ("é025-05-13T00:28:13", None),
        ] {
            assert_eq!(of_text(text), expected, "{text}");
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
