//! Content that is present, absent, or left out of the record.

use serde::{Deserialize, Serialize};

/// The recorded content of arguments or an observation.
///
/// Content that the record leaves out (masked, or traced without content) is not absent: when detectors
/// compare actions, it equals nothing, not even itself. `==` on this type compares records, so two
/// [`Content::NotRecorded`] are equal.
///
/// ```
/// use wrongturn::trace::Content;
///
/// let masked: Content<&str> = Content::NotRecorded;
/// assert!(masked.present().is_none() && !masked.is_recorded());
/// assert_eq!(Content::from(Some("a wall")).map(str::len), Content::Present(6));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content<T> {
    /// There was no content, such as the observation of an unanswered call.
    #[default]
    Absent,
    /// There may have been content, but the source does not record it.
    NotRecorded,
    /// The content.
    Present(T),
}

impl<T> Content<T> {
    /// Returns the content, if present.
    pub fn present(self) -> Option<T> {
        match self {
            Self::Present(content) => Some(content),
            Self::Absent | Self::NotRecorded => None,
        }
    }

    /// Borrows the content.
    pub fn as_ref(&self) -> Content<&T> {
        match self {
            Self::Absent => Content::Absent,
            Self::NotRecorded => Content::NotRecorded,
            Self::Present(content) => Content::Present(content),
        }
    }

    /// Applies a function to the content, if present.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Content<U> {
        match self {
            Self::Absent => Content::Absent,
            Self::NotRecorded => Content::NotRecorded,
            Self::Present(content) => Content::Present(change(content)),
        }
    }

    /// Returns true if the content is absent.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }

    /// Returns true if the content is present.
    pub fn is_present(&self) -> bool {
        matches!(self, Self::Present(_))
    }

    /// Returns false for [`Content::NotRecorded`].
    pub fn is_recorded(&self) -> bool {
        !matches!(self, Self::NotRecorded)
    }
}

impl<T> From<Option<T>> for Content<T> {
    /// Converts `None` to [`Content::Absent`].
    fn from(content: Option<T>) -> Self {
        content.map_or(Self::Absent, Self::Present)
    }
}
