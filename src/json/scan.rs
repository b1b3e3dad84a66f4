//! Where a string ends: its bytes are looked at 64 at a time, by safe SIMD.

use wide::u8x16;

/// How a string is spelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Escapes {
    /// Without escapes: the spelling is the text.
    None,
    /// With escapes as canonical JSON has them, so that equal texts have equal spellings.
    Plain,
    /// With others as well: one text may be spelled in several ways, but its line feeds and what can be seen of ASCII
    /// in one, except for `/`.
    Usual,
    /// With `\u` for a line feed or for what can be seen of ASCII.
    Ambiguous,
}

/// The end of a string.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    /// Where the closing quote is.
    pub(super) close: usize,
    /// How it is spelled; of a string that is passed over, [`Escapes::Ambiguous`] stands for any escape.
    pub(super) escapes: Escapes,
}

/// Why a string does not end well, and where.
#[derive(Debug, Clone, Copy)]
pub(super) enum Unsound {
    /// The input ends first.
    Open,
    /// A control character stands in it unescaped.
    Control(usize),
    /// A backslash is followed by something that is no escape.
    Escape(usize),
}

/// Bits of the bytes of a block that matter, lowest first.
#[derive(Clone, Copy)]
struct Marks {
    quotes: u64,
    backslashes: u64,
    /// Control characters; not looked for where the string is passed over.
    controls: u64,
}

fn marks_16<const STRICT: bool>(block: [u8; 16]) -> [u32; 3] {
    let block = u8x16::new(block);
    let equal = |byte: u8| block.simd_eq(u8x16::splat(byte)).to_bitmask();
    let controls = if STRICT { block.min(u8x16::splat(0x1f)).simd_eq(block).to_bitmask() } else { 0 };
    [equal(b'"'), equal(b'\\'), controls]
}

/// How many bytes of white space a block begins with, as far as it is spaces and line feeds.
#[inline]
pub(super) fn leading_space(block: [u8; 16]) -> usize {
    let block = u8x16::new(block);
    let equal = |byte: u8| block.simd_eq(u8x16::splat(byte)).to_bitmask();
    (equal(b' ') | equal(b'\n')).trailing_ones() as usize
}

/// Where the first backslash of a block is.
#[inline]
pub(super) fn first_backslash(block: [u8; 16]) -> Option<usize> {
    let found = u8x16::new(block).simd_eq(u8x16::splat(b'\\')).to_bitmask();
    (found != 0).then(|| found.trailing_zeros() as usize)
}

/// Where the first backslash is that `u` or `/` follows, whether it begins an escape or not.
pub(super) fn first_ambiguous(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let (Some(block), Some(next)) = (
        bytes.get(at..).and_then(<[u8]>::first_chunk::<16>),
        bytes.get(at + 1..).and_then(<[u8]>::first_chunk::<16>),
    ) {
        let (block, next) = (u8x16::new(*block), u8x16::new(*next));
        let follows = next.simd_eq(u8x16::splat(b'u')) | next.simd_eq(u8x16::splat(b'/'));
        let found = (block.simd_eq(u8x16::splat(b'\\')) & follows).to_bitmask();
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize);
        }
        at += 16;
    }
    let rest = bytes.get(at..).unwrap_or_default();
    rest.windows(2).position(|pair| matches!(pair, [b'\\', b'u' | b'/'])).map(|found| at + found)
}

/// Where the first byte of a block is that a string cannot hold without an escape.
#[inline]
pub(super) fn first_to_escape(block: [u8; 16]) -> Option<usize> {
    let [quotes, backslashes, controls] = marks_16::<true>(block);
    let found = quotes | backslashes | controls;
    (found != 0).then(|| found.trailing_zeros() as usize)
}

/// Where the string closes whose first byte behind the quote is at `from`, if it does so within 16 bytes and has no
/// escapes up to there; `STRICT`: nor control characters.
#[inline]
pub(super) fn short_end<const STRICT: bool>(bytes: &[u8], from: usize) -> Option<usize> {
    let [quotes, backslashes, controls] = marks_16::<STRICT>(*bytes.get(from..)?.first_chunk::<16>()?);
    let before = quotes.wrapping_sub(1) & !quotes;
    (quotes != 0 && (backslashes | controls) & before == 0).then(|| from + quotes.trailing_zeros() as usize)
}

fn marks<const STRICT: bool>(block: &[u8; 64]) -> Marks {
    let mut marks = Marks { quotes: 0, backslashes: 0, controls: 0 };
    let mut any_control = u8x16::splat(0);
    for (part, lane) in block.as_chunks::<16>().0.iter().enumerate() {
        let shift = part * 16;
        let lane = u8x16::new(*lane);
        marks.quotes |= u64::from(lane.simd_eq(u8x16::splat(b'"')).to_bitmask()) << shift;
        marks.backslashes |= u64::from(lane.simd_eq(u8x16::splat(b'\\')).to_bitmask()) << shift;
        any_control |= if STRICT { controls(lane) } else { any_control };
    }
    // Hardly ever one stands there.
    if any_control.to_bitmask() != 0 {
        marks.controls = places(block, controls);
    }
    marks
}

/// Which bytes are control characters.
fn controls(lane: u8x16) -> u8x16 {
    lane.min(u8x16::splat(0x1f)).simd_eq(lane)
}

/// The places in a block that `found` says, lowest first.
fn places(block: &[u8; 64], found: impl Fn(u8x16) -> u8x16) -> u64 {
    let lanes = block.as_chunks::<16>().0.iter().enumerate();
    lanes.fold(0, |places, (part, lane)| {
        places | u64::from(found(u8x16::new(*lane)).to_bitmask()) << (part * 16)
    })
}

/// The bytes that a backslash before them escapes. `carried` is 1 where the first byte of the block is one of them,
/// and is left for the block after it. The arithmetic is that of Langdale and Lemire, "Parsing gigabytes of JSON per
/// second" (2019), section 3.1.1.
fn escaped(backslashes: u64, carried: &mut u64) -> u64 {
    const ODD: u64 = 0xaaaa_aaaa_aaaa_aaaa;
    let starts = backslashes & !*carried;
    let codes = ((starts << 1 | ODD).wrapping_sub(starts)) ^ ODD;
    let escaped = codes ^ (backslashes | *carried);
    *carried = (codes & backslashes) >> 63;
    escaped
}

/// Finds the end of the string whose first byte behind the quote is at `from`. `STRICT`: its spelling is checked as
/// well; otherwise only its extent is looked for.
#[inline]
pub(super) fn string_end<const STRICT: bool>(bytes: &[u8], from: usize) -> Result<Extent, Unsound> {
    match short_end::<STRICT>(bytes, from) {
        Some(close) => Ok(Extent { close, escapes: Escapes::None }),
        None => long_string_end::<STRICT>(bytes, from),
    }
}

/// The same, where it is not known to be short and plain.
pub(super) fn long_string_end<const STRICT: bool>(bytes: &[u8], from: usize) -> Result<Extent, Unsound> {
    // Of the others, most are ids and dates.
    if let Some(block) = bytes.get(from + 16..).and_then(<[u8]>::first_chunk::<16>)
        && let Some(first) = bytes.get(from..).and_then(<[u8]>::first_chunk::<16>)
    {
        let [quotes, backslashes, controls] = marks_16::<STRICT>(*first);
        if quotes | backslashes | controls == 0 {
            let [quotes, backslashes, controls] = marks_16::<STRICT>(*block);
            let before = quotes.wrapping_sub(1) & !quotes;
            if quotes != 0 && (backslashes | controls) & before == 0 {
                let close = from + 16 + quotes.trailing_zeros() as usize;
                return Ok(Extent { close, escapes: Escapes::None });
            }
        }
    }
    let mut escapes = Escapes::None;
    let mut carried = 0;
    let mut at = from;
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        let marks = match rest.first_chunk::<64>() {
            Some(block) => marks::<STRICT>(block),
            None if rest.is_empty() => return Err(Unsound::Open),
            None => {
                let mut block = [b' '; 64];
                block.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
                marks::<STRICT>(&block)
            }
        };
        let hidden =
            if marks.backslashes | carried == 0 { 0 } else { escaped(marks.backslashes, &mut carried) };
        let closing = marks.quotes & !hidden;
        let before = closing.wrapping_sub(1) & !closing;
        if marks.backslashes & before != 0 {
            escapes = escapes.max(if STRICT { Escapes::Plain } else { Escapes::Ambiguous });
        }
        if STRICT {
            let control = marks.controls & before;
            if control != 0 {
                return Err(Unsound::Control(at + control.trailing_zeros() as usize));
            }
            // Quotes, backslashes and line feeds are the usual escapes, and sound. The others are looked at one by one.
            let mut others = hidden & before & !(marks.quotes | marks.backslashes);
            if others != 0
                && let Some(block) = rest.first_chunk::<64>()
            {
                others &= !places(block, |lane| lane.simd_eq(u8x16::splat(b'n')));
            }
            while others != 0 {
                let place = at + others.trailing_zeros() as usize;
                others &= others - 1;
                escapes = escapes.max(escape_at(bytes, place)?);
            }
        }
        if closing != 0 {
            return Ok(Extent { close: at + closing.trailing_zeros() as usize, escapes });
        }
        if rest.len() < 64 {
            return Err(Unsound::Open);
        }
        at += 64;
    }
}

/// Checks the escape whose character behind the backslash is at `place`.
fn escape_at(bytes: &[u8], place: usize) -> Result<Escapes, Unsound> {
    match bytes.get(place) {
        Some(b'n' | b't' | b'r' | b'b' | b'f') => Ok(Escapes::Plain),
        Some(b'/') => Ok(Escapes::Usual),
        Some(b'u') => {
            let digits = bytes.get(place + 1..).unwrap_or_default();
            let digits = digits.get(..digits.len().min(4)).unwrap_or_default();
            match digits.iter().position(|byte| !byte.is_ascii_hexdigit()) {
                Some(wrong) => Err(Unsound::Escape(place + 1 + wrong)),
                None if digits.len() < 4 => Err(Unsound::Open),
                None if is_canonical_unicode(digits) => Ok(Escapes::Plain),
                None => Ok(match digits {
                    [b'0', b'0', b'2'..=b'7', _] | [b'0', b'0', b'0', b'a' | b'A'] => Escapes::Ambiguous,
                    _ => Escapes::Usual,
                }),
            }
        }
        Some(_) => Err(Unsound::Escape(place)),
        None => Err(Unsound::Open),
    }
}

/// Whether canonical JSON spells a character by `\u` and these digits: a control character without a shorter escape.
pub(super) fn is_canonical_unicode(digits: &[u8]) -> bool {
    match digits {
        [b'0', b'0', b'0', low] => matches!(low, b'0'..=b'7' | b'b' | b'e' | b'f'),
        [b'0', b'0', b'1', low] => matches!(low, b'0'..=b'9' | b'a'..=b'f'),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The same, byte by byte.
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
