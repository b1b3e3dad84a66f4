//! Texts that readers hand on: where they lie, or made.

use std::borrow::Cow;

use super::text::Text;

/// A text that lies in the input, or one that was made from it.
#[derive(Debug, Clone)]
pub(crate) enum Words<'a> {
    Lying(Text<'a>),
    Made(Box<str>),
}

impl Words<'_> {
    /// The text, wherever it is.
    pub(crate) fn text(&self) -> Text<'_> {
        match self {
            Self::Lying(text) => *text,
            Self::Made(text) => Text::from(&**text),
        }
    }

    /// The same, made from the input where it lies there.
    pub(crate) fn into_made<'b>(self) -> Words<'b> {
        match self {
            Self::Lying(text) => text.to_str().into_owned().into(),
            Self::Made(text) => Words::Made(text),
        }
    }
}

impl<'a> From<Text<'a>> for Words<'a> {
    fn from(text: Text<'a>) -> Self {
        Self::Lying(text)
    }
}

impl<'a> From<&'a str> for Words<'a> {
    fn from(text: &'a str) -> Self {
        Self::Lying(text.into())
    }
}

impl From<String> for Words<'_> {
    fn from(text: String) -> Self {
        Self::Made(text.into())
    }
}

impl<'a> From<Cow<'a, str>> for Words<'a> {
    fn from(text: Cow<'a, str>) -> Self {
        match text {
            Cow::Borrowed(text) => text.into(),
            Cow::Owned(text) => text.into(),
        }
    }
}
