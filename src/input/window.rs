//! A cursor over JSON bytes that cuts out whole values without parsing them: over a slice, or over a stream of
//! which only what is needed is held.

use std::io::Read;

use crate::error::{Error, ErrorKind, Location, Result};

/// How much is read from a stream at a time.
const CHUNK: usize = 256 * 1024;

pub(super) struct Window<'a> {
    source: Source<'a>,
    /// The next byte, in what is held.
    at: usize,
    /// From here on bytes are held although the cursor has passed them.
    marks: Vec<Mark>,
    position: Position,
}

enum Source<'a> {
    Slice(&'a [u8]),
    Stream { input: Box<dyn Read + 'a>, held: Vec<u8>, ended: bool },
}

#[derive(Clone, Copy)]
struct Mark {
    at: usize,
    position: Position,
}

/// A place in the source: complete lines before it, bytes before it in its line.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Position {
    lines: u64,
    bytes: u64,
}

impl Position {
    /// The place of the byte that follows.
    pub(super) fn location(self) -> Location {
        Location { line: self.lines + 1, column: self.bytes + 1 }
    }

    /// The place, in the source, of a place in a text that begins here.
    pub(super) fn translate(self, inner: Location) -> Location {
        if inner.line <= 1 {
            Location { line: self.lines + 1, column: self.bytes + inner.column }
        } else {
            Location { line: self.lines + inner.line, column: inner.column }
        }
    }

    fn advance(&mut self, bytes: &[u8]) {
        self.lines += memchr::memchr_iter(b'\n', bytes).count() as u64;
        match memchr::memrchr(b'\n', bytes) {
            Some(newline) => self.bytes = (bytes.len() - newline - 1) as u64,
            None => self.bytes += bytes.len() as u64,
        }
    }
}

/// A whole value in the window.
#[derive(Clone, Copy)]
pub(super) struct Value {
    start: usize,
    end: usize,
    pub(super) position: Position,
}

impl Value {
    /// The value in the slice that it was found in.
    pub(super) fn of(self, bytes: &[u8]) -> &[u8] {
        bytes.get(self.start..self.end).unwrap_or_default()
    }
}

impl<'a> Window<'a> {
    pub(super) fn over_slice(bytes: &'a [u8]) -> Self {
        Self { source: Source::Slice(bytes), at: 0, marks: Vec::new(), position: Position::default() }
    }

    pub(super) fn over_stream(input: impl Read + 'a) -> Self {
        let source = Source::Stream { input: Box::new(input), held: Vec::new(), ended: false };
        Self { source, at: 0, marks: Vec::new(), position: Position::default() }
    }

    fn held(&self) -> &[u8] {
        match &self.source {
            Source::Slice(bytes) => bytes,
            Source::Stream { held, .. } => held,
        }
    }

    /// Reads more of a stream; `false` where there is no more.
    fn fill(&mut self) -> Result<bool> {
        let keep_from = self.marks.first().map_or(self.at, |mark| mark.at);
        let Source::Stream { input, held, ended } = &mut self.source else { return Ok(false) };
        if *ended {
            return Ok(false);
        }
        if keep_from > CHUNK {
            held.drain(..keep_from);
            self.at -= keep_from;
            for mark in &mut self.marks {
                mark.at -= keep_from;
            }
        }
        let read = input.take(CHUNK as u64).read_to_end(held)?;
        *ended = read == 0;
        Ok(read > 0)
    }

    /// Keeps what follows, so that [`Window::rewind`] can come back to here. Marks nest.
    pub(super) fn mark(&mut self) {
        self.marks.push(Mark { at: self.at, position: self.position });
    }

    /// Forgets the latest mark.
    pub(super) fn unmark(&mut self) {
        self.marks.pop();
    }

    /// Goes back to the latest mark, and forgets it.
    pub(super) fn rewind(&mut self) {
        if let Some(mark) = self.marks.pop() {
            (self.at, self.position) = (mark.at, mark.position);
        }
    }

    /// The next byte that is no white space; it is not consumed.
    pub(super) fn peek(&mut self) -> Result<Option<u8>> {
        loop {
            let rest = self.held().get(self.at..).unwrap_or_default();
            let space = rest.iter().position(|byte| !matches!(byte, b' ' | b'\n' | b'\r' | b'\t'));
            let (skip, found) = match space {
                Some(skip) => (skip, rest.get(skip).copied()),
                None => (rest.len(), None),
            };
            self.advance(skip);
            if found.is_some() || !self.fill()? {
                return Ok(found);
            }
        }
    }

    /// Consumes bytes.
    pub(super) fn advance(&mut self, count: usize) {
        let end = self.at.saturating_add(count).min(self.held().len());
        let mut position = self.position;
        position.advance(self.held().get(self.at..end).unwrap_or_default());
        self.position = position;
        self.at = end;
    }

    pub(super) fn position(&self) -> Position {
        self.position
    }

    /// The byte order mark that some writers put first is no JSON.
    pub(super) fn skip_byte_order_mark(&mut self) -> Result<()> {
        self.peek()?;
        if self.held().get(self.at..).is_some_and(|rest| rest.starts_with(b"\xef\xbb\xbf")) {
            self.at += 3;
        }
        Ok(())
    }

    /// Finds the end of the value that begins at the cursor, which stays before it.
    pub(super) fn value(&mut self) -> Result<Value> {
        self.peek()?;
        let mut scanner = Scanner::default();
        let mut length = 0;
        loop {
            let rest = self.held().get(self.at + length..).unwrap_or_default();
            if let Some(end) = scanner.scan(rest) {
                length += end;
                break;
            }
            length += rest.len();
            if !self.fill()? {
                if length > 0 && scanner.is_scalar() {
                    break;
                }
                self.advance(length);
                let message = "the input ends in the middle of a value";
                return Err(Error::new(ErrorKind::Truncated, message).at(self.position.location()));
            }
        }
        Ok(Value { start: self.at, end: self.at + length, position: self.position })
    }

    pub(super) fn bytes(&self, value: Value) -> &[u8] {
        self.held().get(value.start..value.end).unwrap_or_default()
    }

    /// Consumes a value.
    pub(super) fn pass(&mut self, value: Value) {
        self.advance(value.end - value.start);
    }

    /// Consumes the value at the cursor without holding it.
    pub(super) fn skip(&mut self) -> Result<()> {
        self.peek()?;
        let mut scanner = Scanner::default();
        let mut some = false;
        loop {
            let rest = self.held().get(self.at..).unwrap_or_default();
            some |= !rest.is_empty();
            if let Some(end) = scanner.scan(rest) {
                self.advance(end);
                return Ok(());
            }
            let length = rest.len();
            self.advance(length);
            if !self.fill()? {
                if some && scanner.is_scalar() {
                    return Ok(());
                }
                let message = "the input ends in the middle of a value";
                return Err(Error::new(ErrorKind::Truncated, message).at(self.position.location()));
            }
        }
    }
}

/// Finds the end of a JSON value by its brackets and strings alone.
#[derive(Default)]
struct Scanner {
    depth: usize,
    state: Scan,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Scan {
    #[default]
    Start,
    Inside,
    String,
    Escape,
    Scalar,
}

impl Scanner {
    fn is_scalar(&self) -> bool {
        self.state == Scan::Scalar
    }

    /// The offset just behind the value, where `bytes`, which continue what was scanned before, hold it.
    fn scan(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            match self.state {
                Scan::String => {
                    let rest = bytes.get(at..).unwrap_or_default();
                    let next = memchr::memchr2(b'"', b'\\', rest)?;
                    at += next + 1;
                    if rest.get(next) == Some(&b'\\') {
                        self.state = Scan::Escape;
                    } else if self.depth == 0 {
                        return Some(at);
                    } else {
                        self.state = Scan::Inside;
                    }
                    continue;
                }
                Scan::Escape => self.state = Scan::String,
                Scan::Scalar => {
                    if matches!(byte, b',' | b']' | b'}' | b':' | b' ' | b'\n' | b'\r' | b'\t') {
                        return Some(at);
                    }
                }
                Scan::Start | Scan::Inside => match byte {
                    b'"' => self.state = Scan::String,
                    b'{' | b'[' => {
                        self.depth += 1;
                        self.state = Scan::Inside;
                    }
                    b'}' | b']' if self.state == Scan::Inside => {
                        self.depth -= 1;
                        if self.depth == 0 {
                            return Some(at + 1);
                        }
                    }
                    _ if self.state == Scan::Start => self.state = Scan::Scalar,
                    _ => {}
                },
            }
            at += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn first_value(text: &str) -> String {
        let mut window = Window::over_slice(text.as_bytes());
        let value = window.value().unwrap();
        String::from_utf8(window.bytes(value).to_vec()).unwrap()
    }

    #[test]
    fn values_end_where_json_says() {
        for (text, value) in [
            (r#" {"a": "}\"]"} , 1"#, r#"{"a": "}\"]"}"#),
            (r#"[[], "[", {}] ]"#, r#"[[], "[", {}]"#),
            (r#""a\\" "b""#, r#""a\\""#),
            ("12.5e3,", "12.5e3"),
            ("null", "null"),
        ] {
            assert_eq!(first_value(text), value);
        }
        let truncated = Window::over_slice(b"{\"a\":\n [1, 2").value().err().unwrap();
        assert_eq!(truncated.kind(), ErrorKind::Truncated);
        assert_eq!(truncated.location(), Some(Location { line: 2, column: 7 }));
    }

    /// Gives one byte at a time.
    struct Drip<'a>(&'a [u8]);
    impl Read for Drip<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            (&mut self.0).take(1).read(buffer)
        }
    }

    proptest! {
        #[test]
        fn a_stream_is_cut_as_a_slice_is(text in r#"[ \n{}\[\]":,a1\\]{0,40}"#) {
            let cut = |mut window: Window<'_>| {
                let mut values = Vec::new();
                while let Ok(value) = window.value() {
                    if window.bytes(value).is_empty() {
                        break;
                    }
                    values.push((window.bytes(value).to_vec(), value.position.location()));
                    window.pass(value);
                }
                values
            };
            let slice = cut(Window::over_slice(text.as_bytes()));
            prop_assert_eq!(slice, cut(Window::over_stream(Drip(text.as_bytes()))));
        }
    }
}
