//! Finds the end of a list or object: the bracket that closes it.

use super::block::{Block, block_at, escaped, up_to_each};

/// The reason why the end of a list or object was not found.
#[derive(Debug, Clone, Copy)]
pub(super) enum Unbalanced {
    /// The input ends first.
    Open,
    /// The bracket at this offset exceeds the depth allowed.
    Deep(usize),
}

/// Returns the offset after the closing bracket of the list or object that begins at `from`. Looks only at
/// strings and brackets, not at whether `]` closes `[`. `most` is the depth allowed, including this level.
pub(super) fn container_end(bytes: &[u8], from: usize, most: u32) -> Result<usize, Unbalanced> {
    if most == 0 {
        return Err(Unbalanced::Deep(from));
    }
    let mut at = from + 1;
    let mut nesting = Nesting { depth: 1, most, string: 0, carried: 0 };
    let mut end = [b' '; 64];
    loop {
        let Some(block) = block_at(bytes, at, &mut end) else { return Err(Unbalanced::Open) };
        match nesting.pass(block) {
            Step::On => {}
            Step::Closed(place) => return Ok(at + place + 1),
            Step::Deep(place) => return Err(Unbalanced::Deep(at + place)),
        }
        at += 64;
    }
}

/// Returns true if the list or object at the start of a text is nested deeper than `most` levels.
pub(crate) fn is_deeper(text: &[u8], most: u32) -> bool {
    matches!(container_end(text, 0, most), Err(Unbalanced::Deep(_)))
}

/// State carried from one block to the next.
struct Nesting {
    depth: u32,
    most: u32,
    /// All ones inside a string.
    string: u64,
    /// 1 if the next byte is escaped.
    carried: u64,
}

enum Step {
    On,
    /// The index in the block of the bracket that closes the container.
    Closed(usize),
    /// The index in the block of a bracket that exceeds the depth allowed.
    Deep(usize),
}

impl Nesting {
    #[inline]
    fn pass(&mut self, bytes: &[u8; 64]) -> Step {
        let block = Block::new(bytes);
        let (string, carried) = (self.string, self.carried);
        let mut quotes = block.equal(b'"');
        let backslashes = block.equal(b'\\');
        if backslashes | carried != 0 {
            quotes &= !escaped(backslashes, &mut self.carried);
        }
        if quotes == 0 && string != 0 {
            return Step::On;
        }
        let inside = up_to_each(quotes) ^ string;
        self.string = if inside >> 63 == 0 { 0 } else { u64::MAX };
        // `[` and `{` differ in one bit, as do `]` and `}`.
        let brackets = block.with_bits(0x20);
        let mut opening = brackets.equal(b'{');
        let mut closing = brackets.equal(b'}');
        if backslashes & !inside == 0 {
            opening &= !inside;
            closing &= !inside;
        } else {
            // A backslash outside a string escapes nothing, which `escaped` does not know: rescan byte by byte.
            (self.string, self.carried) = (string, carried);
            let outside = self.outside(bytes);
            opening &= outside;
            closing &= outside;
        }
        let (opened, closed) = (opening.count_ones(), closing.count_ones());
        match self.depth.checked_add(opened) {
            Some(deepest) if closed < self.depth && deepest <= self.most => {
                self.depth = deepest - closed;
                Step::On
            }
            _ => self.brackets(opening, closing),
        }
    }

    /// Finds the bytes outside strings, byte by byte.
    #[cold]
    fn outside(&mut self, block: &[u8; 64]) -> u64 {
        let (mut in_string, mut is_escaped) = (self.string != 0, self.carried != 0);
        let mut outside = 0;
        for (place, byte) in block.iter().enumerate() {
            if !in_string {
                outside |= 1 << place;
            }
            if *byte == b'"' && !is_escaped {
                in_string = !in_string;
            }
            is_escaped = in_string && *byte == b'\\' && !is_escaped;
        }
        (self.string, self.carried) = (if in_string { u64::MAX } else { 0 }, is_escaped.into());
        outside
    }

    /// Walks the brackets in order, to find the one that closes the container or exceeds the depth allowed.
    fn brackets(&mut self, opening: u64, closing: u64) -> Step {
        let mut left = opening | closing;
        while left != 0 {
            let bit = left & left.wrapping_neg();
            let place = bit.trailing_zeros() as usize;
            if closing & bit != 0 {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0 {
                    return Step::Closed(place);
                }
            } else if self.depth < self.most {
                self.depth += 1;
            } else {
                return Step::Deep(place);
            }
            left ^= bit;
        }
        Step::On
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Like [`container_end`], byte by byte.
    fn naive_container(bytes: &[u8], most: u32) -> Option<usize> {
        let (mut depth, mut in_string, mut is_escaped) = (0, false, false);
        for (at, byte) in bytes.iter().enumerate() {
            match byte {
                b'"' if !is_escaped => in_string = !in_string,
                b'{' | b'[' if !in_string => depth += 1,
                b'}' | b']' if !in_string => depth -= 1,
                _ => {}
            }
            is_escaped = in_string && *byte == b'\\' && !is_escaped;
            if depth == 0 {
                return Some(at + 1);
            }
            if depth > most {
                return None;
            }
        }
        None
    }

    proptest! {
        #[test]
        fn containers_end_where_a_byte_by_byte_walk_says(
            text in r#"\[([\[{]{0,3}("(\\["\\n]|[a-z{}\[\]]{0,40})*")?[,: \\]{0,9}[\]}]{0,3}){0,40}"#,
            most in prop::sample::select(vec![1, 3, 20, u32::MAX]),
        ) {
            prop_assert_eq!(container_end(text.as_bytes(), 0, most).ok(), naive_container(text.as_bytes(), most));
        }
    }
}
