//! Texts that stay where they lie: plain, or still in their JSON spelling until somebody reads them.

use std::borrow::Cow;
use std::sync::LazyLock;

use aho_corasick::packed::Searcher;

use super::digest::Digest;

/// The longest spelling of one character in a JSON string: a surrogate pair, `\ud83d\ude00`.
const LONGEST_ESCAPE: usize = 12;

/// A text of a trace. Reading it may decode it; comparing it by [`Text::digest`] does not.
#[derive(Debug, Clone, Copy)]
pub struct Text<'a>(Repr<'a>);

#[derive(Debug, Clone, Copy)]
enum Repr<'a> {
    Plain(&'a str),
    /// The inside of a JSON string, which may hold escapes.
    Json(&'a str),
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Self(Repr::Plain(text))
    }
}

impl<'a> Text<'a> {
    /// The text of a JSON string in its raw spelling, quotes included. `None`: it is no string.
    pub(crate) fn from_json(raw: &'a str) -> Option<Self> {
        Some(Self(Repr::Json(raw.strip_prefix('"')?.strip_suffix('"')?)))
    }

    /// Whether the text has no characters.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self.0 {
            Repr::Plain(text) | Repr::Json(text) => text.is_empty(),
        }
    }

    /// The whole text. Borrowed where it needs no decoding; unpaired surrogates become U+FFFD.
    #[must_use]
    pub fn to_str(&self) -> Cow<'a, str> {
        match self.0 {
            Repr::Plain(text) => Cow::Borrowed(text),
            Repr::Json(inner) if !has_escape(inner) => Cow::Borrowed(inner),
            Repr::Json(inner) => Cow::Owned(unescape(inner)),
        }
    }

    /// The first `chars` characters of the text.
    #[must_use]
    pub fn head(&self, chars: usize) -> Cow<'a, str> {
        match self.0 {
            Repr::Plain(text) => Cow::Borrowed(first_chars(text, chars)),
            Repr::Json(inner) => {
                let enough = floor_boundary(inner, chars.saturating_mul(LONGEST_ESCAPE));
                let whole = whole_escapes(inner.get(..enough).unwrap_or(inner));
                if !has_escape(whole) {
                    return Cow::Borrowed(first_chars(whole, chars));
                }
                let mut text = unescape(whole);
                text.truncate(first_chars(&text, chars).len());
                Cow::Owned(text)
            }
        }
    }

    /// Whether the text begins with `prefix`.
    #[must_use]
    pub fn starts_with(&self, prefix: &str) -> bool {
        match self.0 {
            Repr::Plain(text) => text.starts_with(prefix),
            // The usual case: the first character tells already.
            Repr::Json(inner)
                if !inner.starts_with('\\') && !inner.starts_with(prefix.chars().next().unwrap_or('\\')) =>
            {
                prefix.is_empty()
            }
            Repr::Json(_) => self.head(prefix.chars().count()) == prefix,
        }
    }

    /// The digest by which texts of one trace are compared.
    #[must_use]
    pub fn digest(&self) -> Digest {
        match self.0 {
            Repr::Plain(text) => Digest::of_text(text),
            // Without \u and \/ a text has one spelling only, so that its spelling can stand for it.
            Repr::Json(inner) if has_one_spelling(inner) => Digest::of_text(inner),
            Repr::Json(inner) => match serde_json::to_string(&unescape(inner)) {
                Ok(spelling) => Digest::of_text(spelling.get(1..spelling.len() - 1).unwrap_or(inner)),
                Err(_) => Digest::of_text(inner),
            },
        }
    }
}

fn has_escape(inner: &str) -> bool {
    memchr::memchr(b'\\', inner.as_bytes()).is_some()
}

/// Whether no escape has an alternative. A false alarm (an escaped `\` before a `u`) costs time only.
fn has_one_spelling(inner: &str) -> bool {
    /// Searches for both escapes at once. `None`: not on this kind of machine.
    static AMBIGUOUS: LazyLock<Option<Searcher>> = LazyLock::new(|| Searcher::new([r"\u", r"\/"]));
    match &*AMBIGUOUS {
        Some(escapes) => escapes.find(inner).is_none(),
        None => !has_escape(inner),
    }
}

fn unescape(inner: &str) -> String {
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

fn floor_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0)
}

/// The first `chars` characters of a text.
pub(crate) fn first_chars(text: &str, chars: usize) -> &str {
    match text.char_indices().nth(chars) {
        Some((end, _)) => text.get(..end).unwrap_or(text),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(raw: &str) -> Text<'_> {
        Text::from_json(raw).unwrap()
    }

    #[test]
    fn spellings_of_one_text_are_equal() {
        assert_eq!(text(r#""caf\u00e9\n""#).digest(), text("\"caf\u{e9}\\n\"").digest());
        assert_eq!(text(r#""a\/b\n""#).digest(), text(r#""a/b\n""#).digest());
        assert_ne!(text(r#""a\n""#).digest(), text(r#""a\t""#).digest());
        assert_eq!(text(r#""\ud83d\ude00!""#).to_str(), "\u{1f600}!");
        assert_eq!(text(r#""\ud83d!""#).to_str(), "\u{fffd}!");
        assert!(text(r#""\u0045rror""#).starts_with("Error"));
        assert!(!text(r#""\n""#).is_empty() && text(r#""""#).is_empty());
    }

    #[test]
    fn a_head_ends_between_characters() {
        let raw = format!("\"{}\"", r"\ud83d\ude00".repeat(300));
        assert_eq!(text(&raw).head(200).chars().count(), 200);
        assert_eq!(text(r#""\\\\\\""#).head(2), r"\\");
        assert_eq!(text("\"\u{e9}\u{e9}\\n\"").head(1), "\u{e9}");
    }

    proptest! {
        #[test]
        fn decoding_is_serde_jsons(original in ".{0,40}", chars in 0usize..50) {
            let raw = serde_json::to_string(&original).unwrap();
            prop_assert_eq!(text(&raw).to_str(), original.as_str());
            let head: String = original.chars().take(chars).collect();
            prop_assert_eq!(text(&raw).head(chars), head.as_str());
            prop_assert_eq!(Text::from(original.as_str()).head(chars), head);
        }

        #[test]
        fn no_spelling_panics(inner in r#"(\\u[0-9a-fA-F]{4}|\\[nt"/\\]|\\|u|é|[a-z]){0,30}"#, chars in 0usize..20) {
            let raw = format!("\"{inner}\"");
            let text = text(&raw);
            prop_assert!(text.head(chars).chars().count() <= chars);
            let _ = (text.to_str(), text.digest());
        }
    }
}
