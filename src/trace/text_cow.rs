//! Texts that readers pass on, borrowed or owned.

use std::borrow::Cow;

use super::text::Text;
use crate::json::{Escapes, JsonString};

/// A text that borrows from the input, or one that was made from it.
#[derive(Debug, Clone)]
pub(crate) enum TextCow<'a> {
    Borrowed(Text<'a>),
    Made(Box<str>),
    /// Copied from the input in its spelling.
    Copied(Box<[u8]>, Escapes),
}

impl<'a> TextCow<'a> {
    pub(crate) fn text(&self) -> Text<'_> {
        match self {
            Self::Borrowed(text) => *text,
            Self::Made(text) => Text::from(&**text),
            Self::Copied(spelling, escapes) => Text::from(JsonString::new(spelling, *escapes)),
        }
    }

    pub(crate) fn into_cow(self) -> Cow<'a, str> {
        match self {
            Self::Borrowed(text) => text.to_str(),
            other => Cow::Owned(other.text().to_str().into_owned()),
        }
    }

    /// Copies a borrowed text. The result does not borrow from the input.
    pub(crate) fn into_made<'b>(self) -> TextCow<'b> {
        match self {
            Self::Borrowed(text) => match text.json() {
                Some(string) => TextCow::Copied(string.inner().into(), string.escapes()),
                None => text.to_str().into_owned().into(),
            },
            Self::Made(text) => TextCow::Made(text),
            Self::Copied(spelling, escapes) => TextCow::Copied(spelling, escapes),
        }
    }
}

impl<'a> From<Text<'a>> for TextCow<'a> {
    fn from(text: Text<'a>) -> Self {
        Self::Borrowed(text)
    }
}

impl<'a> From<&'a str> for TextCow<'a> {
    fn from(text: &'a str) -> Self {
        Self::Borrowed(text.into())
    }
}

impl From<String> for TextCow<'_> {
    fn from(text: String) -> Self {
        Self::Made(text.into())
    }
}

impl<'a> From<Cow<'a, str>> for TextCow<'a> {
    fn from(text: Cow<'a, str>) -> Self {
        match text {
            Cow::Borrowed(text) => text.into(),
            Cow::Owned(text) => text.into(),
        }
    }
}

impl PartialEq for TextCow<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}
