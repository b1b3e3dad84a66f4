//! Strings as they are spelled in JSON, and the text that they spell.

use std::borrow::Cow;

use super::block::first_backslash;
use super::escape::{decode_escape, is_canonical_unicode, push_spelling};
use super::scan::{Ambiguous, Escapes, first_to_escape};

/// The inside of a JSON string, as it is spelled.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JsonString<'a> {
    inner: &'a [u8],
    escapes: Escapes,
}

impl<'a> JsonString<'a> {
    pub(crate) fn new(inner: &'a [u8], escapes: Escapes) -> Self {
        Self { inner, escapes }
    }

    pub(crate) fn inner(self) -> &'a [u8] {
        self.inner
    }

    pub(crate) fn escapes(self) -> Escapes {
        self.escapes
    }

    pub(crate) fn is_empty(self) -> bool {
        self.inner.is_empty()
    }

    /// Returns the text, or `None` if it is not UTF-8.
    pub(crate) fn to_str(self) -> Option<Cow<'a, str>> {
        let inner = simdutf8::basic::from_utf8(self.inner).ok()?;
        Some(match self.escapes {
            Escapes::None => Cow::Borrowed(inner),
            _ => Cow::Owned(unescape(inner)),
        })
    }

    /// Returns the text as bytes, for comparisons. Bytes that are not UTF-8 are kept if it has no escapes,
    /// and become U+FFFD otherwise.
    #[inline]
    pub(crate) fn bytes(self) -> Cow<'a, [u8]> {
        match self.escapes {
            Escapes::None => Cow::Borrowed(self.inner),
            _ => Cow::Owned(self.decode().into_owned().into_bytes()),
        }
    }

    /// Returns the text with U+FFFD for bytes that are not UTF-8.
    pub(crate) fn decode(self) -> Cow<'a, str> {
        if let Some(text) = self.to_str() {
            return text;
        }
        match (self.escapes, String::from_utf8_lossy(self.inner)) {
            (Escapes::None, text) => text,
            (_, text) => Cow::Owned(unescape(&text)),
        }
    }

    pub(crate) fn head(self, chars: usize) -> Cow<'a, str> {
        let end = self.after_chars(chars);
        Self { inner: self.inner.get(..end).unwrap_or_default(), ..self }.decode()
    }

    pub(crate) fn skip_chars(self, chars: usize) -> Self {
        let start = self.after_chars(chars);
        Self { inner: self.inner.get(start..).unwrap_or_default(), ..self }
    }

    /// Returns the offset in the spelling after the first `chars` characters of the text.
    fn after_chars(self, chars: usize) -> usize {
        let (mut at, mut left) = (0, chars);
        while left > 0 && at < self.inner.len() {
            let rest = self.inner.get(at..).unwrap_or_default();
            let near = rest.get(..left).unwrap_or(rest);
            let plain = near.get(..next_escape(near).unwrap_or(near.len())).unwrap_or_default();
            left -= plain.iter().filter(|byte| !is_continuation(**byte)).count();
            at += plain.len();
            if plain.len() < near.len() && left > 0 {
                at += decode_escape(self.inner.get(at..).unwrap_or_default()).1;
                left -= 1;
            }
        }
        let rest = self.inner.get(at..).unwrap_or_default();
        at + rest.iter().take_while(|byte| is_continuation(**byte)).count()
    }

    /// Returns the lines of the text that begin in the last `bytes` bytes of its spelling, or the whole text if its
    /// spelling is no longer than that. The result is empty if no line begins there.
    pub(crate) fn tail(self, bytes: usize) -> Cow<'a, str> {
        let Some(start) = self.inner.len().checked_sub(bytes).filter(|start| *start > 0) else {
            return self.decode();
        };
        match self.places_of(r"\n", start).next() {
            Some(at) => Self { inner: self.inner.get(at + 2..).unwrap_or_default(), ..self }.decode(),
            None => Cow::Borrowed(""),
        }
    }

    pub(crate) fn starts_with(self, prefix: &str) -> bool {
        match (self.escapes, self.inner.first(), prefix.as_bytes().first()) {
            (_, _, None) => true,
            (_, None, Some(_)) => false,
            // Usually the first byte decides.
            (_, Some(first), Some(wanted)) if first != wanted && *first != b'\\' => false,
            (Escapes::None, ..) => self.inner.starts_with(prefix.as_bytes()),
            _ => {
                let mut rest = self.inner;
                prefix.chars().all(|wanted| {
                    let length = if rest.first() == Some(&b'\\') {
                        let (decoded, length) = decode_escape(rest);
                        Some(length).filter(|_| decoded == wanted)
                    } else {
                        let mut spelled = [0; 4];
                        let spelled = wanted.encode_utf8(&mut spelled).as_bytes();
                        rest.starts_with(spelled).then_some(spelled.len())
                    };
                    rest = length.and_then(|length| rest.get(length..)).unwrap_or_default();
                    length.is_some()
                })
            }
        }
    }

    /// Returns true if line feeds and printable ASCII except `/` are all spelled in the usual way.
    pub(crate) fn is_usual(self) -> bool {
        self.escapes != Escapes::Ambiguous
    }

    /// Returns the canonical JSON spelling of the text, or `None` if the text must be respelled but is not
    /// UTF-8.
    pub(crate) fn canonical_spelling(self) -> Option<Cow<'a, [u8]>> {
        if self.escapes <= Escapes::Plain {
            return Some(Cow::Borrowed(self.inner));
        }
        let (mut spelling, mut copied, mut inner) = (String::new(), 0, "");
        for at in Ambiguous::of(self.inner) {
            // The second half of a surrogate pair was decoded with the first.
            let Some(escape) = self.inner.get(at..).filter(|_| at >= copied) else { continue };
            if escape.get(1) == Some(&b'u') && escape.get(2..6).is_some_and(is_canonical_unicode) {
                continue;
            }
            if copied == 0 {
                inner = simdutf8::basic::from_utf8(self.inner).ok()?;
                // The canonical spelling is never longer.
                spelling.reserve_exact(inner.len());
            }
            spelling.push_str(inner.get(copied..at)?);
            let (decoded, length) = decode_escape(escape);
            push_spelling(decoded, &mut spelling);
            copied = at + length;
        }
        if copied == 0 {
            return Some(Cow::Borrowed(self.inner));
        }
        spelling.push_str(inner.get(copied..)?);
        Some(Cow::Owned(spelling.into_bytes()))
    }

    /// Splits the text at the first line feed, or returns `None` if there is none. The spelling must be usual
    /// ([`Self::is_usual`]).
    pub(crate) fn split_line(self) -> Option<(Self, Self)> {
        let (mut at, mut escapes) = (0, Escapes::None);
        loop {
            at += next_escape(self.inner.get(at..)?)?;
            if self.inner.get(at + 1) == Some(&b'n') {
                let line = Self { inner: self.inner.get(..at)?, escapes };
                return Some((line, Self { inner: self.inner.get(at + 2..)?, escapes: self.escapes }));
            }
            (at, escapes) = (at + 2, self.escapes);
        }
    }

    /// Splits the text around the first or last occurrence of `part`, which must contain no `/` and, except
    /// for line feeds, nothing that JSON escapes. Returns `None` if `part` does not occur. The spelling must be
    /// usual ([`Self::is_usual`]).
    pub(crate) fn split_at_part(self, part: &str, last: bool) -> Option<(Self, Self)> {
        if self.inner.len() < part.len() {
            return None;
        }
        let part = part.replace('\n', "\\n");
        let mut places = self.places_of(&part, 0);
        let at = if last { places.last() } else { places.next() }?;
        let piece = |inner| Self { inner, escapes: self.escapes };
        Some((piece(self.inner.get(..at)?), piece(self.inner.get(at + part.len()..)?)))
    }

    /// Returns the text before `part` if the text ends with it. `part` must contain no `/` and, except for
    /// line feeds, nothing that JSON escapes. The spelling must be usual ([`Self::is_usual`]).
    pub(crate) fn without_end(self, part: &str) -> Option<Self> {
        let inner = self.inner.strip_suffix(part.replace('\n', "\\n").as_bytes())?;
        self.is_unescaped(inner.len()).then_some(Self { inner, ..self })
    }

    /// Returns the offsets, from `start` on, at which `spelling` occurs without beginning inside an escape.
    fn places_of(self, spelling: &str, mut start: usize) -> impl Iterator<Item = usize> {
        let finder = memchr::memmem::Finder::new(spelling);
        let found = std::iter::from_fn(move || {
            let at = start + finder.find(self.inner.get(start..)?)?;
            start = at + 1;
            Some(at)
        });
        found.filter(move |at| self.is_unescaped(*at))
    }

    /// Returns false if the byte at this offset of the spelling belongs to an escape that begins before it: an odd
    /// number of backslashes comes before the byte.
    fn is_unescaped(self, at: usize) -> bool {
        let before = self.inner.get(..at).unwrap_or_default();
        before.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 0
    }
}

/// Decodes the inside of a JSON string. Unpaired surrogates and invalid escapes become U+FFFD.
fn unescape(inner: &str) -> String {
    let mut text = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(escape) = copy_plain(rest, &mut text) {
        let (decoded, length) = decode_escape(escape.as_bytes());
        text.push(decoded);
        rest = escape.get(length..).unwrap_or_default();
    }
    text
}

/// Copies the text before the first escape and returns the rest, or `None` if it has no escape.
#[inline]
fn copy_plain<'a>(mut text: &'a str, to: &mut String) -> Option<&'a str> {
    // Escapes often come close together. Copying a whole block is faster than copying part of it.
    for _ in 0..4 {
        let Some((block, rest)) = text.split_at_checked(16) else { break };
        to.push_str(block);
        if let Some(at) = block.as_bytes().first_chunk().and_then(|block| first_backslash(*block)) {
            to.truncate(to.len() - 16 + at);
            return text.get(at..);
        }
        text = rest;
    }
    let at = memchr::memchr(b'\\', text.as_bytes());
    to.push_str(text.get(..at.unwrap_or(text.len()))?);
    text.get(at?..)
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

/// Returns the canonical JSON spelling of a text, without quotes.
pub(crate) fn spelling_of(text: &str) -> Cow<'_, str> {
    let Some(first) = next_to_escape(text.as_bytes()) else { return Cow::Borrowed(text) };
    let mut spelling = String::with_capacity(text.len() + text.len() / 8);
    let (mut rest, mut next) = (text, Some(first));
    while let Some(at) = next {
        // Copying a whole block is faster than copying part of it.
        let length = spelling.len() + at;
        match rest.get(..16) {
            Some(block) if at < 16 => {
                spelling.push_str(block);
                spelling.truncate(length);
            }
            _ => spelling.push_str(rest.get(..at).unwrap_or_default()),
        }
        push_spelling(rest.as_bytes().get(at).copied().map_or('\0', char::from), &mut spelling);
        rest = rest.get(at + 1..).unwrap_or_default();
        next = next_to_escape(rest.as_bytes());
    }
    spelling.push_str(rest);
    Cow::Owned(spelling)
}

/// Returns the index of the next byte that JSON must escape.
fn next_to_escape(bytes: &[u8]) -> Option<usize> {
    let (blocks, rest) = bytes.as_chunks::<16>();
    let found =
        blocks.iter().enumerate().find_map(|(place, block)| Some(place * 16 + first_to_escape(*block)?));
    let escape = |byte: &u8| *byte < 0x20 || matches!(byte, b'"' | b'\\');
    found.or_else(|| rest.iter().position(escape).map(|at| blocks.len() * 16 + at))
}

fn next_escape(bytes: &[u8]) -> Option<usize> {
    if let Some(at) = bytes.first_chunk::<16>().and_then(|block| first_backslash(*block)) {
        return Some(at);
    }
    memchr::memchr(b'\\', bytes)
}
