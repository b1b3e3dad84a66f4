//! Texts that stay where they lie: plain, or still in their JSON spelling until somebody reads them.

use std::borrow::Cow;

use super::digest::Digest;
use crate::json::{Escapes, JsonString};

/// A text of a trace. Reading it may decode it; comparing it by [`Text::digest`] does not.
#[derive(Debug, Clone, Copy)]
pub struct Text<'a>(Repr<'a>);

#[derive(Debug, Clone, Copy)]
enum Repr<'a> {
    Plain(&'a str),
    /// The inside of a JSON string, which may hold escapes.
    Json(JsonString<'a>),
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Self(Repr::Plain(text))
    }
}

impl<'a> From<JsonString<'a>> for Text<'a> {
    fn from(string: JsonString<'a>) -> Self {
        Self(Repr::Json(string))
    }
}

impl<'a> Text<'a> {
    /// Whether the text has no characters.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self.0 {
            Repr::Plain(text) => text.is_empty(),
            Repr::Json(string) => string.is_empty(),
        }
    }

    /// The whole text. Borrowed where it needs no decoding; unpaired surrogates become U+FFFD.
    #[must_use]
    pub fn to_str(&self) -> Cow<'a, str> {
        match self.0 {
            Repr::Plain(text) => Cow::Borrowed(text),
            Repr::Json(string) => string.decode(),
        }
    }

    /// The first `chars` characters of the text.
    #[must_use]
    pub fn head(&self, chars: usize) -> Cow<'a, str> {
        match self.0 {
            Repr::Plain(text) => Cow::Borrowed(first_chars(text, chars)),
            Repr::Json(string) => string.head(chars),
        }
    }

    /// Whether the text begins with `prefix`.
    #[must_use]
    pub fn starts_with(&self, prefix: &str) -> bool {
        match self.0 {
            Repr::Plain(text) => text.starts_with(prefix),
            Repr::Json(string) => string.starts_with(prefix),
        }
    }

    /// The digest by which texts of one trace are compared.
    #[must_use]
    pub fn digest(&self) -> Digest {
        match self.0 {
            Repr::Plain(text) => Digest::of_decoded(text),
            // Without \\u and \\/ a text has one spelling only, so that its spelling can stand for it.
            Repr::Json(string) if string.escapes() != Escapes::Ambiguous => {
                Digest::of_spelling(string.inner())
            }
            Repr::Json(string) => Digest::of_decoded(&string.decode()),
        }
    }
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
            if let Ok(string) = Json::new(raw.as_bytes()).text() {
                let text = Text::from(string);
                prop_assert!(text.head(chars).chars().count() <= chars);
                let decoded = text.to_str();
                prop_assert_eq!(text.head(chars), Text::from(&*decoded).head(chars));
                prop_assert_eq!(text.digest(), Text::from(&*decoded).digest());
                prop_assert!(text.starts_with(&text.head(3)));
            }
        }
    }
}
