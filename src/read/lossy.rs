//! Text that differs from the bytes it was made from: U+FFFD for bytes that are not UTF-8, or lines taken out of others.

/// A text made from bytes, with a map of offsets.
#[derive(Debug, Default)]
pub(super) struct LossyUtf8 {
    pub(super) text: String,
    /// The offset after each replacement, in the text and in the bytes.
    joints: Vec<(usize, usize)>,
}

impl LossyUtf8 {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut text = String::with_capacity(bytes.len());
        let mut joints = Vec::new();
        let mut offset = 0;
        for chunk in bytes.utf8_chunks() {
            text.push_str(chunk.valid());
            offset += chunk.valid().len() + chunk.invalid().len();
            if !chunk.invalid().is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
                joints.push((text.len(), offset));
            }
        }
        Self { text, joints }
    }

    /// Makes the text of a string that is spelled in the bytes from an offset on. Escapes are not mapped.
    pub(super) fn of_string(text: String, offset: usize) -> Self {
        Self { text, joints: vec![(0, offset)] }
    }

    /// Appends a line that is in the bytes at an offset, unless it repeats the one before.
    pub(super) fn push_line(&mut self, line: &[u8], offset: usize) {
        let line = String::from_utf8_lossy(line);
        let last = self.joints.last().and_then(|(start, _)| self.text.get(*start..));
        if last.and_then(|last| last.strip_suffix('\n')) != Some(&*line) {
            self.joints.push((self.text.len(), offset));
            self.text.push_str(&line);
            self.text.push('\n');
        }
    }

    /// Returns the offset in the bytes for an offset in the text.
    pub(super) fn original(&self, offset: usize) -> usize {
        let behind = self.joints.partition_point(|(text, _)| *text <= offset);
        let (text, bytes) = match behind.checked_sub(1).and_then(|last| self.joints.get(last)) {
            Some(joint) => *joint,
            None => (0, 0),
        };
        let valid = match self.joints.get(behind) {
            Some((next, _)) => next - char::REPLACEMENT_CHARACTER.len_utf8() - text,
            None => usize::MAX,
        };
        // A replacement has the offset of the first byte that it replaces.
        bytes + (offset - text).min(valid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_those_of_the_bytes() {
        let bytes = b"a\xffb\xe2\x82cd\xfe";
        let lossy = LossyUtf8::of(bytes);
        assert_eq!(lossy.text, "a\u{fffd}b\u{fffd}cd\u{fffd}");
        let originals: Vec<usize> = (0..=lossy.text.len()).map(|offset| lossy.original(offset)).collect();
        assert_eq!(originals, [0, 1, 1, 1, 2, 3, 3, 3, 5, 6, 7, 7, 7, 8]);
    }
}
