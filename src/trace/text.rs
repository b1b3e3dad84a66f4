//! Text borrowed from the input, plain or in its JSON spelling, and decoded on demand.

use std::borrow::Cow;
use std::fmt;

use super::digest::Digest;
use crate::json::{Escapes, JsonString};

/// A copy of a text in its original spelling, decoded only when it is read.
#[derive(Debug, Clone)]
pub(crate) struct KeptText {
    spelling: Box<[u8]>,
    escapes: Option<Escapes>,
}

impl KeptText {
    pub(crate) fn to_str(&self) -> Cow<'_, str> {
        match self.escapes {
            None => String::from_utf8_lossy(&self.spelling),
            Some(escapes) => JsonString::new(&self.spelling, escapes).decode(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.spelling.len()
    }
}

/// A text of a trace, possibly in its JSON spelling. [`Text::to_str`] then decodes it; [`Text::digest`] rarely has to.
///
/// ```
/// use wrongturn::trace::Text;
///
/// let text = Text::from("no such order");
/// assert_eq!(&text, "no such order");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Text<'a>(Repr<'a>);

#[derive(Debug, Clone, Copy)]
enum Repr<'a> {
    Plain(&'a str),
    /// The inside of a JSON string, possibly with escapes.
    Json(JsonString<'a>),
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Self(Repr::Plain(text))
    }
}

impl<'a> From<&'a String> for Text<'a> {
    fn from(text: &'a String) -> Self {
        Self(Repr::Plain(text))
    }
}

impl<'a> From<JsonString<'a>> for Text<'a> {
    fn from(string: JsonString<'a>) -> Self {
        Self(Repr::Json(string))
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.to_str())
    }
}

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.to_str() == other.to_str()
    }
}

impl PartialEq<str> for Text<'_> {
    fn eq(&self, other: &str) -> bool {
        self.to_str() == other
    }
}

impl<'a> Text<'a> {
    /// Returns true if the text is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self.0 {
            Repr::Plain(text) => text.is_empty(),
            Repr::Json(string) => string.is_empty(),
        }
    }

    /// Returns the whole text, borrowed unless it must be decoded. Unpaired surrogates become U+FFFD.
    #[must_use]
    pub fn to_str(&self) -> Cow<'a, str> {
        match self.0 {
            Repr::Plain(text) => Cow::Borrowed(text),
            Repr::Json(string) => string.decode(),
        }
    }

    /// Returns the first `chars` characters of the text.
    #[must_use]
    pub fn head(&self, chars: usize) -> Cow<'a, str> {
        match self.0 {
            Repr::Plain(text) => Cow::Borrowed(first_chars(text, chars)),
            Repr::Json(string) => string.head(chars),
        }
    }

    /// Returns the length of the text's spelling, in bytes.
    pub(crate) fn len(&self) -> usize {
        self.spelling().len()
    }

    /// Copies the text without decoding it.
    pub(crate) fn keep(&self) -> KeptText {
        let escapes = match self.0 {
            Repr::Plain(_) => None,
            Repr::Json(string) => Some(string.escapes()),
        };
        KeptText { spelling: self.spelling().into(), escapes }
    }

    /// Returns the first `bytes` bytes of the text's spelling.
    pub(crate) fn start(&self, bytes: usize) -> &'a [u8] {
        let spelling = self.spelling();
        spelling.get(..bytes).unwrap_or(spelling)
    }

    /// Returns the digest of the first `bytes` bytes of the text's spelling.
    pub(crate) fn start_digest(&self, bytes: usize) -> Digest {
        Digest::of_spelling(self.start(bytes))
    }

    /// Returns the last lines of the text that fit into about `bytes` bytes, or all of a shorter text.
    pub(crate) fn tail(&self, bytes: usize) -> Cow<'a, str> {
        match self.0 {
            Repr::Plain(text) => {
                let start = text.len().saturating_sub(bytes);
                let line = memchr::memchr(b'\n', text.as_bytes().get(start..).unwrap_or_default());
                match (start, line) {
                    (0, _) => text.into(),
                    (_, Some(end)) => text.get(start + end + 1..).unwrap_or_default().into(),
                    (_, None) => "".into(),
                }
            }
            Repr::Json(string) => string.tail(bytes),
        }
    }

    /// Returns true if the text begins with `prefix`.
    #[must_use]
    pub fn starts_with(&self, prefix: &str) -> bool {
        match self.0 {
            Repr::Plain(text) => text.starts_with(prefix),
            Repr::Json(string) => string.starts_with(prefix),
        }
    }

    /// Returns true if the text can be split without decoding.
    pub(crate) fn is_plainly_spelled(&self) -> bool {
        match self.0 {
            Repr::Plain(_) => true,
            Repr::Json(string) => string.is_usual(),
        }
    }

    /// Returns the text's spelling.
    pub(crate) fn spelling(&self) -> &'a [u8] {
        match self.0 {
            Repr::Plain(text) => text.as_bytes(),
            Repr::Json(string) => string.inner(),
        }
    }

    /// Returns the text as a JSON string, if it is spelled as one.
    pub(crate) fn json(self) -> Option<JsonString<'a>> {
        match self.0 {
            Repr::Plain(_) => None,
            Repr::Json(string) => Some(string),
        }
    }

    /// Splits the text at the first line feed. The text must be plainly spelled.
    pub(crate) fn split_line(self) -> (Self, Option<Self>) {
        let split = match self.0 {
            Repr::Plain(text) => text.split_once('\n').map(|(line, rest)| (line.into(), rest.into())),
            Repr::Json(string) => string.split_line().map(|(line, rest)| (line.into(), rest.into())),
        };
        split.map_or((self, None), |(line, rest)| (line, Some(rest)))
    }

    /// Splits the text at the first occurrence of `part`, which must contain no `/`, and no characters that
    /// JSON escapes other than line feeds. The text must be plainly spelled.
    pub(crate) fn split_once(self, part: &str) -> Option<(Self, Self)> {
        match self.0 {
            Repr::Plain(text) => text.split_once(part).map(|(before, after)| (before.into(), after.into())),
            Repr::Json(string) => {
                string.split_at_part(part, false).map(|(before, after)| (before.into(), after.into()))
            }
        }
    }

    /// Like [`Text::split_once`], but splits at the last occurrence.
    pub(crate) fn rsplit_once(self, part: &str) -> Option<(Self, Self)> {
        match self.0 {
            Repr::Plain(text) => text.rsplit_once(part).map(|(before, after)| (before.into(), after.into())),
            Repr::Json(string) => {
                string.split_at_part(part, true).map(|(before, after)| (before.into(), after.into()))
            }
        }
    }

    /// Strips the suffix `part`; `None` if the text does not end with it. The same limits apply as for
    /// [`Text::split_once`].
    pub(crate) fn without_end(self, part: &str) -> Option<Self> {
        match self.0 {
            Repr::Plain(text) => text.strip_suffix(part).map(Self::from),
            Repr::Json(string) => string.without_end(part).map(Self::from),
        }
    }

    /// Returns the text after the first `chars` characters.
    pub(crate) fn skip_chars(self, chars: usize) -> Self {
        match self.0 {
            Repr::Plain(text) => text.get(first_chars(text, chars).len()..).unwrap_or_default().into(),
            Repr::Json(string) => string.skip_chars(chars).into(),
        }
    }

    /// Returns false only if the text does not contain `part`, which must have no `/` and no characters that
    /// JSON escapes.
    pub(crate) fn may_hold(&self, part: &memchr::memmem::Finder<'_>) -> bool {
        part.find(self.spelling()).is_some() || !self.is_plainly_spelled()
    }

    /// Returns the digest by which texts are compared. It does not depend on their spelling.
    #[must_use]
    pub fn digest(&self) -> Digest {
        match self.0 {
            Repr::Plain(text) => Digest::of_decoded(text),
            // The canonical spelling is unique, so it can stand for the text.
            Repr::Json(string) => match string.canonical_spelling() {
                Some(spelling) => Digest::of_spelling(&spelling),
                None => Digest::of_decoded(&string.decode()),
            },
        }
    }
}

/// Returns the first `chars` characters of a text.
pub(crate) fn first_chars(text: &str, chars: usize) -> &str {
    if text.len() <= chars {
        return text;
    }
    let ascii = text.get(..chars).filter(|start| start.is_ascii());
    if let Some(start) = ascii {
        return start;
    }
    match text.char_indices().nth(chars) {
        Some((end, _)) => text.get(..end).unwrap_or(text),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;
    use proptest::prelude::*;

    fn text(raw: &str) -> Text<'_> {
        Json::new(raw.as_bytes()).text().unwrap().into()
    }

    #[test]
    fn spellings_of_one_text_are_equal() {
        assert_eq!(text(r#""caf\u00e9\n""#).digest(), text("\"caf\u{e9}\\n\"").digest());
        assert_eq!(text(r#""a\/b\n""#).digest(), text(r#""a/b\n""#).digest());
        assert_ne!(text(r#""a\n""#).digest(), text(r#""a\t""#).digest());
        assert_eq!(text(r#""\ud83d\ude00!""#).to_str(), "\u{1f600}!");
        assert_eq!(text(r#""\ud83d!""#).to_str(), "\u{fffd}!");
        assert!(text(r#""\u0045rror""#).starts_with("Error"));
        assert_eq!(text(r#""a\n\u00e9\"\u0001""#).digest(), Text::from("a\n\u{e9}\"\u{1}").digest());
        for raw in [
            r#""\u001b[1m\u0000\u000b\n""#,
            r#""\u001B\/""#,
            r#""\u000a\u0008""#,
            r#""\\u001b\\u000a\\/""#,
            r#""\u007f\u2014""#,
        ] {
            assert_eq!(text(raw).digest(), Text::from(&*text(raw).to_str()).digest(), "{raw}");
        }
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
        fn texts_are_taken_apart_as_they_are_decoded(
            original in r#"([a-c\n]|\\|\[m\] |é|"){0,30}"#,
            part in r"(\n|\[m\] |[ab]){1,3}",
            chars in 0usize..20,
        ) {
            let raw = serde_json::to_string(&original).unwrap();
            let spelled = text(&raw);
            prop_assert!(spelled.is_plainly_spelled());
            let plain = Text::from(original.as_str());
            prop_assert_eq!(spelled.skip_chars(chars).split_once(&part), plain.skip_chars(chars).split_once(&part));
            prop_assert_eq!(spelled.rsplit_once(&part), plain.rsplit_once(&part));
            prop_assert_eq!(spelled.split_line(), plain.split_line());
            prop_assert_eq!(spelled.split_line().1, original.split_once('\n').map(|(_, rest)| rest.into()));
            prop_assert_eq!(spelled.without_end(&part), original.strip_suffix(&part).map(Text::from));
            prop_assert_eq!(plain.without_end(&part), spelled.without_end(&part));
            for tail in [spelled.tail(chars), plain.tail(chars)] {
                prop_assert!(original.ends_with(&*tail));
                let before = original.strip_suffix(&*tail).unwrap_or_default();
                prop_assert!(tail.is_empty() || before.is_empty() || before.ends_with('\n'));
            }
            let rest: String = original.chars().skip(chars).collect();
            prop_assert_eq!(spelled.skip_chars(chars).to_str(), rest.as_str());
            prop_assert_eq!(spelled.skip_chars(chars).digest(), Text::from(rest.as_str()).digest());
        }

        #[test]
        fn no_spelling_panics(inner in r#"(\\u[0-9a-fA-F]{4}|\\u00[0-7][0-9a-f]|\\[nt"/\\]|\\|u|é|[a-z]){0,30}"#, chars in 0usize..20) {
            let raw = format!("\"{inner}\"");
            if let Ok(string) = Json::new(raw.as_bytes()).text() {
                let text = Text::from(string);
                let decoded = text.to_str();
                prop_assert!(text.head(chars).chars().count() <= chars);
                prop_assert_eq!(text.head(chars), Text::from(&*decoded).head(chars));
                prop_assert_eq!(text.digest(), Text::from(&*decoded).digest());
                prop_assert!(text.starts_with(&text.head(3)));
                if text.is_plainly_spelled() {
                    for part in ["\n", "u", "n", "tt"] {
                        prop_assert_eq!(text.split_once(part).is_some(), decoded.contains(part));
                    }
                }
                prop_assert!(text.may_hold(&memchr::memmem::Finder::new("u")) || !decoded.contains('u'));
                let rest: String = decoded.chars().skip(chars).collect();
                prop_assert_eq!(text.skip_chars(chars).to_str(), rest);
            }
        }
    }
}
