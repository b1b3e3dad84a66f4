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

    /// Appends a line that is in the bytes at an offset.
    pub(super) fn push_line(&mut self, line: &[u8], offset: usize) {
        self.joints.push((self.text.len(), offset));
        self.text.push_str(&String::from_utf8_lossy(line));
        self.text.push('\n');
    }

    /// Returns the offset in the bytes for an offset in the text.
    pub(super) fn original(&self, offset: usize) -> usize {
        let behind = self.joints.partition_point(|(text, _)| *text <= offset);
        let (text, bytes) = match behind.checked_sub(1).and_then(|last| self.joints.get(last)) {
            Some(joint) => *joint,
            None => (0, 0),
        };
        let valid = match self.joints.get(behind) {
            Some((next, _)) => (next - text).saturating_sub(char::REPLACEMENT_CHARACTER.len_utf8()),
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

    #[test]
    fn offsets_in_lines_are_those_of_their_places() {
        let mut lines = LossyUtf8::default();
        lines.push_line(b"{\"a\": 1}", 10);
        lines.push_line(b"{\"a\": 1}", 50);
        assert_eq!(lines.text, "{\"a\": 1}\n{\"a\": 1}\n");
        assert_eq!([0, 4, 9, 13].map(|offset| lines.original(offset)), [10, 14, 50, 54]);
        assert_eq!(LossyUtf8::of_string("two\nlines".to_owned(), 7).original(5), 12);
    }
}
