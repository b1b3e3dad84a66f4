//! White space, literals and numbers.

use super::block::leading_space;
use super::fault::{Fault, Read};

/// Returns the offset of the first byte at or after `at` that is not white space.
#[inline]
pub(super) fn behind_space(bytes: &[u8], at: usize) -> usize {
    match bytes.get(at) {
        // Usually there is one space, as after a colon, or none.
        Some(byte) if *byte > b' ' => at,
        Some(b' ') if bytes.get(at + 1).is_some_and(|byte| *byte > b' ') => at + 1,
        Some(_) => behind_long_space(bytes, at),
        None => at,
    }
}

fn behind_long_space(bytes: &[u8], mut at: usize) -> usize {
    loop {
        if let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk::<16>) {
            let space = leading_space(*block);
            at += space;
            if space == 16 {
                continue;
            }
        } else {
            let rest = bytes.get(at..).unwrap_or_default();
            at += rest.iter().take_while(|byte| matches!(byte, b' ' | b'\n')).count();
        }
        match bytes.get(at) {
            Some(b'\t' | b'\r') => at += 1,
            _ => return at,
        }
    }
}

/// Returns the end of the literal at an offset.
#[inline]
pub(super) fn literal_end(bytes: &[u8], at: usize, literal: &'static [u8]) -> Read<usize> {
    let end = at + literal.len();
    if bytes.get(at..end) == Some(literal) && bytes.get(end).is_none_or(|byte| ends_word(*byte)) {
        return Ok(end);
    }
    Err(no_literal(bytes, at, literal))
}

#[cold]
fn no_literal(bytes: &[u8], at: usize, literal: &'static [u8]) -> Fault {
    let rest = bytes.get(at..).unwrap_or_default();
    let same = rest.iter().zip(literal).take_while(|(a, b)| a == b).count();
    if same == rest.len() { Fault::end_at(bytes.len()) } else { Fault::syntax(at + same, "invalid literal") }
}

/// Returns the end of the number at an offset, and whether it has a fraction or exponent.
#[inline]
pub(super) fn number_end(bytes: &[u8], start: usize) -> Read<(usize, bool)> {
    // Most numbers are integers of a few digits.
    if let Some(b'1'..=b'9') = bytes.get(start) {
        let end = behind_digits(bytes, start + 1);
        if bytes.get(end).is_some_and(|byte| ends_word(*byte)) {
            return Ok((end, false));
        }
    }
    any_number_end(bytes, start)
}

fn any_number_end(bytes: &[u8], start: usize) -> Read<(usize, bool)> {
    let fault = |at: usize| match bytes.get(at) {
        Some(_) => Err(Fault::syntax(at, "invalid number")),
        None => Err(Fault::end_at(at)),
    };
    let whole = start + usize::from(bytes.get(start) == Some(&b'-'));
    let mut at = behind_digits(bytes, whole);
    if at == whole {
        return fault(at);
    }
    if at - whole > 1 && bytes.get(whole) == Some(&b'0') {
        return Err(Fault::syntax(whole + 1, "invalid number"));
    }
    let mut float = false;
    if bytes.get(at) == Some(&b'.') {
        float = true;
        let fraction = at + 1;
        at = behind_digits(bytes, fraction);
        if at == fraction {
            return fault(at);
        }
    }
    if let Some(b'e' | b'E') = bytes.get(at) {
        float = true;
        at += 1;
        at += usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));
        let exponent = at;
        at = behind_digits(bytes, exponent);
        if at == exponent {
            return fault(at);
        }
    }
    if bytes.get(at).is_some_and(|byte| !ends_word(*byte)) {
        return Err(Fault::syntax(at, "invalid number"));
    }
    Ok((at, float))
}

#[inline]
fn behind_digits(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(u8::is_ascii_digit) {
        at += 1;
    }
    at
}

/// Returns true if a byte may follow a number or literal.
#[inline]
fn ends_word(byte: u8) -> bool {
    matches!(byte, b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t')
}
