//! Whether a text is a line.

#![expect(
    clippy::inline_always,
    reason = "code is compiled for an instruction set only where it is inlined into its task"
)]

use super::simd::{self, Simd, Task};

/// So many bytes are looked at together.
const GROUP: usize = 256;

/// So much is looked at in two passes where bytes are found that are not plain: its lines, and whether it is UTF-8.
const PART: usize = 4096;

/// Whether bytes are UTF-8 without a line feed. Most are plain: ASCII without control characters.
pub(crate) fn is_line(mut bytes: &[u8]) -> bool {
    loop {
        bytes = bytes.get(simd::run(PlainBeginning(bytes))..).unwrap_or_default();
        let mut end = bytes.len().min(PART);
        while bytes.get(end).is_some_and(|byte| byte & 0xc0 == 0x80) {
            end += 1;
        }
        let (part, rest) = bytes.split_at_checked(end).unwrap_or((bytes, &[]));
        if memchr::memchr(b'\n', part).is_some() || simdutf8::basic::from_utf8(part).is_err() {
            return false;
        }
        if rest.is_empty() {
            return true;
        }
        bytes = rest;
    }
}

/// How much of the beginning of a text is known to be plain.
struct PlainBeginning<'a>(&'a [u8]);

impl Task for PlainBeginning<'_> {
    type Output = usize;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> usize {
        let (groups, _) = self.0.as_chunks::<GROUP>();
        let is_plain = |group: &[u8; GROUP]| {
            let (blocks, _) = group.as_chunks::<64>();
            let lowest = blocks.iter().map(|block| simd.block(block)).reduce(|a, b| simd.lowest(a, b));
            lowest.is_none_or(|lowest| !simd.has_below_space(lowest))
        };
        groups.iter().position(|group| !is_plain(group)).unwrap_or(groups.len()) * GROUP
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lines_are_what_a_search_and_the_standard_library_say(
            parts in prop::collection::vec((0usize..5000, 0usize..8), 0..6),
            cut in 0usize..4,
        ) {
            let between: [&[u8]; 8] = [b"\n", b"\xc3", "\u{e9}".as_bytes(), "\u{1f600}".as_bytes(), b"\t", b"\xff", b"", "\u{20ac}".as_bytes()];
            let mut text = Vec::new();
            for (length, which) in parts {
                text.extend(std::iter::repeat_n(b'x', length));
                text.extend(between[which]);
            }
            text.truncate(text.len().saturating_sub(cut));
            let expected = std::str::from_utf8(&text).is_ok() && !text.contains(&b'\n');
            prop_assert_eq!(is_line(&text), expected);
        }
    }
}
