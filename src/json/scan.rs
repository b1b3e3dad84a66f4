//! Finds the end of a string.

use wide::u8x16;

use super::block::{Block, below, block_at, controls_of, escaped};
use super::escape::{escape_at, no_escape};

/// How a string is spelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Escapes {
    /// Without escapes: the spelling is the text.
    None,
    /// With canonical escapes only: equal texts have equal spellings.
    Plain,
    /// With other escapes too. The text may have several spellings, but line feeds and printable ASCII except
    /// `/` have one.
    Usual,
    /// With `\u` for a line feed, printable ASCII or DEL.
    Ambiguous,
}

/// The end of a string.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    /// The offset of the closing quote.
    pub(super) close: usize,
    /// The spelling. In a string that was not checked, any escape gives [`Escapes::Ambiguous`].
    pub(super) escapes: Escapes,
}

/// The reason why a string is invalid, with the offset.
#[derive(Debug, Clone, Copy)]
pub(super) enum Unsound {
    /// The input ends before the string does.
    Open,
    /// An unescaped control character.
    Control(usize),
    /// An invalid escape, at its first wrong byte.
    Escape(usize),
}

/// Marks the bytes of a block that end the plain part of a string: quotes, backslashes and, if `STRICT`,
/// control characters.
#[inline]
fn specials<const STRICT: bool>(block: [u8; 16]) -> u32 {
    let block = u8x16::new(block);
    let mut special = block.simd_eq(u8x16::splat(b'"')) | block.simd_eq(u8x16::splat(b'\\'));
    if STRICT {
        special |= controls_of(block);
    }
    special.to_bitmask()
}

/// Returns the index of the first byte in a block that a string must escape, or `None`.
#[inline]
pub(super) fn first_to_escape(block: [u8; 16]) -> Option<usize> {
    let found = specials::<true>(block);
    (found != 0).then(|| found.trailing_zeros() as usize)
}

/// Finds the closing quote of a string whose first byte is at `from`, if it is within 16 bytes and no escape
/// comes before it. If `STRICT`, no control character may come before it either. Returns `None` if fewer than
/// 16 bytes are left.
#[inline]
pub(super) fn short_end<const STRICT: bool>(bytes: &[u8], from: usize) -> Option<usize> {
    let special = specials::<STRICT>(*bytes.get(from..)?.first_chunk()?);
    let first = from + special.trailing_zeros() as usize;
    (special != 0 && bytes.get(first) == Some(&b'"')).then_some(first)
}

/// Like [`short_end`], but within 32 bytes, for longer keys, ids and dates.
#[inline]
pub(super) fn medium_end<const STRICT: bool>(bytes: &[u8], from: usize) -> Option<usize> {
    let block = bytes.get(from..)?.first_chunk::<32>()?;
    let ([low, high], _) = block.as_chunks() else { return None };
    let found = specials::<STRICT>(*low) | specials::<STRICT>(*high) << 16;
    let first = from + found.trailing_zeros() as usize;
    (found != 0 && bytes.get(first) == Some(&b'"')).then_some(first)
}

/// Finds the end of the string whose first byte is at `from`. If `STRICT`, its spelling is checked too.
#[inline]
pub(super) fn string_end<const STRICT: bool>(bytes: &[u8], from: usize) -> Result<Extent, Unsound> {
    match short_end::<STRICT>(bytes, from) {
        Some(close) => Ok(Extent { close, escapes: Escapes::None }),
        None => long_string_end::<STRICT>(bytes, from),
    }
}

/// Like [`string_end`], but without a shortcut for short strings.
pub(super) fn long_string_end<const STRICT: bool>(bytes: &[u8], from: usize) -> Result<Extent, Unsound> {
    let mut escapes = Escapes::None;
    let mut carried = 0;
    let mut at = from;
    let mut end = [b' '; 64];
    loop {
        let Some(block) = block_at(bytes, at, &mut end) else { return Err(Unsound::Open) };
        let block = Block::new(block);
        let quotes = block.equal(b'"');
        let backslashes = block.equal(b'\\');
        let (mut closing, before) = (quotes, carried);
        if backslashes | carried != 0 {
            let hidden = escaped(backslashes, &mut carried);
            closing &= !hidden;
            let inside = below(closing);
            if (backslashes | hidden) & inside != 0 {
                escapes = escapes.max(if STRICT { Escapes::Plain } else { Escapes::Ambiguous });
            }
            if STRICT {
                // `\"`, `\\` and `\n` are valid. Other escapes are checked one by one.
                let mut others = hidden & inside & !(quotes | backslashes | block.equal(b'n'));
                while others != 0 {
                    match escape_at(bytes, at + others.trailing_zeros() as usize) {
                        Some(found) => escapes = escapes.max(found),
                        None => return Err(fault_of(bytes, at, before)),
                    }
                    others &= others - 1;
                }
            }
        }
        if STRICT && block.has_controls() && block.controls() & below(closing) != 0 {
            return Err(fault_of(bytes, at, before));
        }
        if closing != 0 {
            return Ok(Extent { close: at + closing.trailing_zeros() as usize, escapes });
        }
        at += 64;
    }
}

/// Returns the error in an invalid string, searching from an offset inside it. `carried` is 1 if the byte
/// there is escaped.
#[cold]
fn fault_of(bytes: &[u8], from: usize, mut carried: u64) -> Unsound {
    let rest = bytes.get(from..).unwrap_or_default();
    for (at, byte) in rest.iter().enumerate().map(|(at, byte)| (from + at, *byte)) {
        if std::mem::take(&mut carried) != 0 {
            if escape_at(bytes, at).is_none() {
                return no_escape(bytes, at);
            }
        } else if byte == b'\\' {
            carried = 1;
        } else if byte < 0x20 {
            return Unsound::Control(at);
        }
    }
    Unsound::Open
}

/// Iterates over the offsets of the escapes `\u` and `\/` in a string.
pub(super) struct Ambiguous<'a> {
    bytes: &'a [u8],
    /// The offset up to which the string was scanned.
    at: usize,
    /// The escapes of the last block that have not been returned yet: a bit for each byte after a backslash.
    left: u64,
    carried: u64,
}

impl<'a> Ambiguous<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, left: 0, carried: 0 }
    }
}

impl Iterator for Ambiguous<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.left == 0 {
            let mut end = [b' '; 64];
            let block = Block::new(block_at(self.bytes, self.at, &mut end)?);
            let backslashes = block.equal(b'\\');
            if backslashes | self.carried != 0 {
                let ambiguous = block.equal(b'u') | block.equal(b'/');
                self.left = escaped(backslashes, &mut self.carried) & ambiguous;
            }
            self.at += 64;
        }
        let behind = self.at - 64 + self.left.trailing_zeros() as usize;
        self.left &= self.left - 1;
        behind.checked_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Finds the closing quote byte by byte. Returns its offset and whether an escape comes before it.
    fn naive(bytes: &[u8], from: usize) -> Option<(usize, bool)> {
        let mut at = from;
        let mut any = false;
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'"' => return Some((at, any)),
                b'\\' => {
                    any = true;
                    at += 2;
                }
                _ => at += 1,
            }
        }
        None
    }

    proptest! {
        #[test]
        fn strings_end_where_a_byte_by_byte_walk_says(
            text in r#"(\\["\\nu/]|[a-z]{0,20}|\\\\|"|é){0,60}"#, from in 0usize..3
        ) {
            let bytes = text.as_bytes();
            let from = from.min(bytes.len());
            let found = string_end::<false>(bytes, from).ok();
            let expected = naive(bytes, from);
            prop_assert_eq!(found.map(|extent| (extent.close, extent.escapes != Escapes::None)), expected);
            if let Ok(strict) = string_end::<true>(bytes, from) {
                prop_assert_eq!(Some(strict.close), expected.map(|(close, _)| close));
            }
        }
    }

    #[test]
    fn spellings_are_distinguished() {
        let escapes = |text: &str| string_end::<true>(text.as_bytes(), 0).unwrap().escapes;
        let long = "x".repeat(100);
        assert_eq!(escapes("abc\""), Escapes::None);
        assert_eq!(escapes(&format!("{long}\\n\"")), Escapes::Plain);
        assert_eq!(escapes(&format!("{long}\\\\u\"")), Escapes::Plain);
        assert_eq!(escapes(&format!("{long}\\u00e9\"")), Escapes::Usual);
        assert_eq!(escapes(&format!("{long}\\u001b\\u0000\"")), Escapes::Plain);
        for (other, expected) in [
            ("\\u001B", Escapes::Usual),
            ("\\u007f", Escapes::Ambiguous),
            ("\\u0041\\u00e9", Escapes::Ambiguous),
            ("\\u000a", Escapes::Ambiguous),
            ("\\u000A\\n", Escapes::Ambiguous),
            ("\\/", Escapes::Usual),
        ] {
            assert_eq!(escapes(&format!("{long}{other}\"")), expected, "{other}");
        }
        for (text, fault) in [("\\x\"", 1), ("\\u00g0\"", 4), ("a\n\"", 1)] {
            let text = format!("{long}{text}");
            match string_end::<true>(text.as_bytes(), 0) {
                Err(Unsound::Control(at) | Unsound::Escape(at)) => assert_eq!(at, 100 + fault, "{text}"),
                other => panic!("{text}: {other:?}"),
            }
        }
        assert!(matches!(string_end::<true>(b"\\u00", 0), Err(Unsound::Open)));
    }
}
