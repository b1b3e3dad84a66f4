//! Strings as they are spelled, and what they say.

use std::borrow::Cow;

use super::scan::Escapes;

/// The longest spelling of one character in a JSON string: a surrogate pair, `\ud83d\ude00`.
const LONGEST_ESCAPE: usize = 12;

/// The inside of a JSON string, as it is spelled.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JsonString<'a> {
    inner: &'a [u8],
    escapes: Escapes,
}

impl<'a> JsonString<'a> {
    pub(super) fn new(inner: &'a [u8], escapes: Escapes) -> Self {
        Self { inner, escapes }
    }

    /// The bytes between the quotes.
    pub(crate) fn inner(self) -> &'a [u8] {
        self.inner
    }

    pub(crate) fn escapes(self) -> Escapes {
        self.escapes
    }

    pub(crate) fn is_empty(self) -> bool {
        self.inner.is_empty()
    }

    /// What the string says; `None` where it is not UTF-8.
    pub(crate) fn to_str(self) -> Option<Cow<'a, str>> {
        let inner = simdutf8::basic::from_utf8(self.inner).ok()?;
        Some(match self.escapes {
            Escapes::None => Cow::Borrowed(inner),
            _ => Cow::Owned(unescape(inner)),
        })
    }

    /// What the string says, with U+FFFD for what is no UTF-8.
    pub(crate) fn decode(self) -> Cow<'a, str> {
        if let Some(text) = self.to_str() {
            return text;
        }
        match (self.escapes, String::from_utf8_lossy(self.inner)) {
            (Escapes::None, text) => text,
            (_, text) => Cow::Owned(unescape(&text)),
        }
    }

    /// The first `chars` characters of what the string says.
    pub(crate) fn head(self, chars: usize) -> Cow<'a, str> {
        let mut end = self.inner.len().min(chars.saturating_mul(LONGEST_ESCAPE));
        // Between two characters, and not within an escape.
        while end < self.inner.len() && self.inner.get(end).is_some_and(|byte| byte & 0xc0 == 0x80) {
            end += 1;
        }
        let start = self.inner.get(..end).unwrap_or_default();
        match self.escapes {
            Escapes::None => match String::from_utf8_lossy(start) {
                Cow::Borrowed(text) => Cow::Borrowed(first_chars(text, chars)),
                Cow::Owned(text) => Cow::Owned(first_chars(&text, chars).to_owned()),
            },
            _ => {
                let start = String::from_utf8_lossy(start);
                let text = unescape(whole_escapes(&start));
                Cow::Owned(first_chars(&text, chars).to_owned())
            }
        }
    }

    /// Whether what the string says begins with `prefix`.
    pub(crate) fn starts_with(self, prefix: &str) -> bool {
        match (self.escapes, self.inner.first(), prefix.as_bytes().first()) {
            (_, _, None) => true,
            (_, None, Some(_)) => false,
            // The usual case: the first byte tells already.
            (_, Some(first), Some(wanted)) if first != wanted && *first != b'\\' => false,
            (Escapes::None, ..) => self.inner.starts_with(prefix.as_bytes()),
            _ => {
                let start = self.inner.get(..prefix.len()).unwrap_or(self.inner);
                // Up to the first escape a string is spelled as it is.
                match memchr::memchr(b'\\', start) {
                    None => start == prefix.as_bytes(),
                    Some(_) => self.head(prefix.chars().count()) == prefix,
                }
            }
        }
    }

    /// What stands before and behind the first place, or the last, where the string says `part`, in which only line
    /// feeds are spelled with escapes. Not for strings with ambiguous escapes.
    pub(crate) fn split_at_part(self, part: &str, last: bool) -> Option<(Self, Self)> {
        if self.inner.len() < part.len() {
            return None;
        }
        let part = part.replace('\n', "\\n");
        let (mut start, mut end) = (0, self.inner.len());
        let at = loop {
            let searched = self.inner.get(start..end)?;
            let found = if last {
                memchr::memmem::rfind(searched, part.as_bytes())
            } else {
                memchr::memmem::find(searched, part.as_bytes())
            };
            let at = start + found?;
            // Behind a backslash that is meant, `\n` is not a line feed.
            let before = self.inner.get(..at).unwrap_or_default();
            let backslashes = before.iter().rev().take_while(|byte| **byte == b'\\').count();
            if backslashes % 2 == 0 {
                break at;
            }
            if last {
                end = at + part.len() - 1;
            } else {
                start = at + 1;
            }
        };
        let piece = |inner| Self { inner, escapes: self.escapes };
        Some((piece(self.inner.get(..at)?), piece(self.inner.get(at + part.len()..)?)))
    }

    /// What stands behind the first `chars` characters.
    pub(crate) fn skip_chars(self, chars: usize) -> Self {
        let mut rest = self.inner;
        for _ in 0..chars {
            let length = match rest.first() {
                None => break,
                Some(b'\\') => {
                    let escape = rest.get(..rest.len().min(LONGEST_ESCAPE)).unwrap_or_default();
                    decode_escape(&String::from_utf8_lossy(escape)).1
                }
                Some(_) => 1 + rest.iter().skip(1).take_while(|byte| *byte & 0xc0 == 0x80).count(),
            };
            rest = rest.get(length..).unwrap_or_default();
        }
        Self { inner: rest, escapes: self.escapes }
    }
}

/// What the inside of a JSON string says. Unpaired surrogates become U+FFFD.
pub(super) fn unescape(inner: &str) -> String {
    let mut text = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        let (plain, escape) = rest.split_at(at);
        text.push_str(plain);
        let (decoded, length) = decode_escape(escape);
        text.push(decoded);
        rest = escape.get(length..).unwrap_or_default();
    }
    text.push_str(rest);
    text
}

/// The character that the escape at the start of `escape` stands for, and the length of its spelling.
fn decode_escape(escape: &str) -> (char, usize) {
    let simple = match escape.as_bytes().get(1) {
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

fn decode_unicode(escape: &str) -> (char, usize) {
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

fn hex_unit(escape: &str) -> Option<u16> {
    let digits = escape.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}

/// `prefix` without an escape that its end cuts through.
fn whole_escapes(prefix: &str) -> &str {
    let mut end = 0;
    while let Some(at) = prefix.get(end..).and_then(|rest| memchr::memchr(b'\\', rest.as_bytes())) {
        let start = end + at;
        let rest = prefix.get(start..).unwrap_or_default();
        let length = if rest.starts_with("\\u") { 6 } else { 2 };
        if rest.len() < length {
            return prefix.get(..start).unwrap_or_default();
        }
        end = start + length;
    }
    prefix
}

/// The first `chars` characters of a text.
fn first_chars(text: &str, chars: usize) -> &str {
    match text.char_indices().nth(chars) {
        Some((end, _)) => text.get(..end).unwrap_or(text),
        None => text,
    }
}
