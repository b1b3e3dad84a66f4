//! Escapes in strings: validity, canonical spelling, and decoded characters.

use super::scan::{Escapes, Unsound};

/// Classifies an escape, or returns `None` if it is invalid or incomplete. `place` is the offset of the byte
/// after the backslash.
#[expect(
    clippy::inline_always,
    reason = "measured: a call for each takes as long as the check of three blocks"
)]
#[inline(always)]
pub(super) fn escape_at(bytes: &[u8], place: usize) -> Option<Escapes> {
    match bytes.get(place)? {
        b'u' => {
            let digits = *bytes.get(place + 1..)?.first_chunk::<4>()?;
            Some(match unit(digits)? {
                0xa | 0x20..0x80 => Escapes::Ambiguous,
                0..0x20 if is_canonical_unicode(&digits) => Escapes::Plain,
                _ => Escapes::Usual,
            })
        }
        b'"' | b'\\' | b'n' | b't' | b'r' | b'b' | b'f' => Some(Escapes::Plain),
        b'/' => Some(Escapes::Usual),
        _ => None,
    }
}

/// Returns the error for an invalid or incomplete escape. `place` is the offset of the byte after the
/// backslash.
#[cold]
pub(super) fn no_escape(bytes: &[u8], place: usize) -> Unsound {
    if bytes.get(place) != Some(&b'u') {
        return Unsound::Escape(place);
    }
    let digits = bytes.get(place + 1..).unwrap_or_default().iter().take(4);
    match digits.enumerate().find(|(_, byte)| !byte.is_ascii_hexdigit()) {
        Some((wrong, _)) => Unsound::Escape(place + 1 + wrong),
        None => Unsound::Open,
    }
}

/// The value of each byte as a hexadecimal digit, or 0xff.
#[expect(clippy::indexing_slicing, reason = "at compile time")]
const DIGITS: [u8; 256] = {
    let mut digits = [0xff; 256];
    let mut value = 0_u8;
    while value < 16 {
        digits[b"0123456789abcdef"[value as usize] as usize] = value;
        digits[b"0123456789ABCDEF"[value as usize] as usize] = value;
        value += 1;
    }
    digits
};

/// Returns the value of four hexadecimal digits, or `None` if one of them is not such a digit.
#[inline]
fn unit(digits: [u8; 4]) -> Option<u16> {
    let [a, b, c, d] =
        digits.map(|digit| DIGITS.get(usize::from(digit)).map_or(0xff, |value| u16::from(*value)));
    ((a | b | c | d) < 16).then_some(a << 12 | b << 8 | c << 4 | d)
}

/// Returns true if canonical JSON spells a character as `\u` and these digits. It does so only for control
/// characters without a shorter escape.
pub(super) fn is_canonical_unicode(digits: &[u8]) -> bool {
    match digits {
        [b'0', b'0', b'0', low] => matches!(low, b'0'..=b'7' | b'b' | b'e' | b'f'),
        [b'0', b'0', b'1', low] => matches!(low, b'0'..=b'9' | b'a'..=b'f'),
        _ => false,
    }
}

/// Appends the canonical JSON spelling of a character.
pub(super) fn push_spelling(character: char, to: &mut String) {
    let short = match character {
        '"' => r#"\""#,
        '\\' => r"\\",
        '\u{8}' => r"\b",
        '\t' => r"\t",
        '\n' => r"\n",
        '\u{c}' => r"\f",
        '\r' => r"\r",
        '\0'..='\u{1f}' => {
            let digit = |value: u32| char::from_digit(value, 16).unwrap_or('0');
            to.push_str("\\u00");
            to.push(digit(u32::from(character) >> 4));
            return to.push(digit(u32::from(character) & 0xf));
        }
        _ => return to.push(character),
    };
    to.push_str(short);
}

/// Returns the character and the length of the escape at the start of `escape`. An invalid escape, or an
/// unpaired surrogate, decodes to U+FFFD.
#[inline]
pub(super) fn decode_escape(escape: &[u8]) -> (char, usize) {
    let simple = match escape.get(1) {
        Some(b'n') => '\n',
        Some(b't') => '\t',
        Some(b'r') => '\r',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'u') => return decode_unicode(escape),
        Some(&byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
        _ => return (char::REPLACEMENT_CHARACTER, 1),
    };
    (simple, 2)
}

fn decode_unicode(escape: &[u8]) -> (char, usize) {
    let Some(first) = hex_unit(escape) else { return (char::REPLACEMENT_CHARACTER, 2) };
    if let Some(single) = char::from_u32(u32::from(first)) {
        return (single, 6);
    }
    let pair = escape.get(6..).and_then(hex_unit).map(|second| [first, second]);
    match pair.and_then(|units| char::decode_utf16(units).next()?.ok()) {
        Some(decoded) => (decoded, 12),
        None => (char::REPLACEMENT_CHARACTER, 6),
    }
}

fn hex_unit(escape: &[u8]) -> Option<u16> {
    let digits = escape.strip_prefix(b"\\u")?.first_chunk::<4>()?;
    unit(*digits)
}
