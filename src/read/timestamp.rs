//! RFC 3339 timestamps, and the shorter UTC offsets of ISO 8601.

/// Parses a timestamp such as `2026-01-31T23:59:59.25+01:00` to nanoseconds since 1970. Without an offset, the time
/// is UTC. The offset may also be `+0100` or `+01`, as databases write it. Digits of a fraction beyond the ninth
/// are ignored. `None` if the text is malformed, or the time is before 1970 or after July 2554.
pub(super) fn nanoseconds(text: &[u8]) -> Option<u64> {
    let (date, mut rest) = text.split_first_chunk::<19>()?;
    let &[y0, y1, y2, y3, b'-', m0, m1, b'-', d0, d1, b'T' | b't' | b' ', clock @ ..] = date else {
        return None;
    };
    let [h0, h1, b':', n0, n1, b':', s0, s1] = clock else { return None };
    let year = two_digits(y0, y1)? * 100 + two_digits(y2, y3)?;
    let (month, day) = (two_digits(m0, m1)?, two_digits(d0, d1)?);
    let hour = two_digits(h0, h1).filter(|hour| *hour < 24)?;
    let minute = two_digits(n0, n1).filter(|minute| *minute < 60)?;
    // A leap second counts as the first second of the next minute.
    let second = two_digits(s0, s1).filter(|second| *second <= 60)?;
    let fraction = fraction(&mut rest)?;
    let offset = if rest.is_empty() { 0 } else { offset(rest)? };
    let days = days_since_1970(year, month, day)?;
    let seconds = ((days * 24 + i64::from(hour)) * 60 + i64::from(minute) - offset) * 60 + i64::from(second);
    u64::try_from(seconds).ok()?.checked_mul(1_000_000_000)?.checked_add(fraction)
}

fn two_digits(tens: u8, ones: u8) -> Option<u32> {
    let (tens, ones) = (tens.wrapping_sub(b'0'), ones.wrapping_sub(b'0'));
    (tens < 10 && ones < 10).then(|| u32::from(tens) * 10 + u32::from(ones))
}

/// Parses an optional fraction of a second to nanoseconds. `None` if a point has no digits after it.
fn fraction(rest: &mut &[u8]) -> Option<u64> {
    /// Nanoseconds per unit of the last digit, by the number of digits.
    const UNITS: [u64; 10] =
        [1_000_000_000, 100_000_000, 10_000_000, 1_000_000, 100_000, 10_000, 1_000, 100, 10, 1];
    let Some((b'.', after)) = rest.split_first() else { return Some(0) };
    let length = after.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, after) = after.split_at_checked(length)?;
    *rest = after;
    let digits = digits.get(..9).unwrap_or(digits);
    let number = digits.iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0'));
    let unit = UNITS.get(digits.len()).filter(|_| length > 0)?;
    Some(number * unit)
}

fn offset(text: &[u8]) -> Option<i64> {
    let (sign, h, hh, m, mm) = match *text {
        [b'Z' | b'z'] => return Some(0),
        [sign @ (b'+' | b'-'), h, hh, b':', m, mm] | [sign @ (b'+' | b'-'), h, hh, m, mm] => {
            (sign, h, hh, m, mm)
        }
        [sign @ (b'+' | b'-'), h, hh] => (sign, h, hh, b'0', b'0'),
        _ => return None,
    };
    let ahead = if sign == b'+' { 1 } else { -1 };
    let hours = two_digits(h, hh).filter(|hours| *hours < 24)?;
    let minutes = two_digits(m, mm).filter(|minutes| *minutes < 60)?;
    Some(ahead * i64::from(hours * 60 + minutes))
}

/// Returns the days from the start of 1970 to a day of the Gregorian calendar. `None` if the day does not exist.
fn days_since_1970(year: u32, month: u32, day: u32) -> Option<i64> {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let length = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u32::from(is_leap),
        _ => return None,
    };
    if !(1..=length).contains(&day) {
        return None;
    }
    // Years start in March here, so the leap day is the last day of its year. The months then alternate
    // between 31 and 30 days in groups of five, which have 153 days. 400 years have 146 097 days.
    let march = (month + 9) % 12;
    let year = year + 400 - u32::from(month <= 2);
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (march * 153 + 2) / 5 + day - 1;
    // 1970 begins 719 468 days after the first of March of the year 0.
    Some(i64::from(days) - 146_097 - 719_468)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn days_follow_one_another() {
        let mut expected = -719_528;
        for year in 0..=2600 {
            for month in 1..=12 {
                for day in 1..=31 {
                    if let Some(days) = days_since_1970(year, month, day) {
                        assert_eq!(days, expected, "{year}-{month}-{day}");
                        expected += 1;
                    }
                }
            }
        }
        assert_eq!(expected, days_since_1970(2601, 1, 1).unwrap());
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.Z+-]{0,24}", litter in ".{0,40}") {
            let _ = (nanoseconds(text.as_bytes()), nanoseconds(litter.as_bytes()));
        }
    }
}
