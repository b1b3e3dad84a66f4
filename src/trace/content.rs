//! Content that may be there, may not be there, or may have been left out of the record.

use serde::{Deserialize, Serialize};

/// What a record says of the arguments or of the observation of an action.
///
/// To leave something out (tracing without content, masked fields) is not to say that there was none: what was
/// not recorded equals nothing, not even itself, when detectors compare actions. The equality of this type is that
/// of records: two that leave the same out are equal.
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
    /// There was none.
    #[default]
    Absent,
    /// The source does not hold it.
    NotRecorded,
    /// Here it is.
    Present(T),
}

impl<T> Content<T> {
    /// The content, where it is there.
    pub fn present(self) -> Option<T> {
        match self {
            Self::Present(content) => Some(content),
            Self::Absent | Self::NotRecorded => None,
        }
    }

    /// The same of a reference.
    pub fn as_ref(&self) -> Content<&T> {
        match self {
            Self::Absent => Content::Absent,
            Self::NotRecorded => Content::NotRecorded,
            Self::Present(content) => Content::Present(content),
        }
    }

    /// The same of what `change` makes of the content.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Content<U> {
        match self {
            Self::Absent => Content::Absent,
            Self::NotRecorded => Content::NotRecorded,
            Self::Present(content) => Content::Present(change(content)),
        }
    }

    /// Whether there was none.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }

    /// Whether the content is there.
    pub fn is_present(&self) -> bool {
        matches!(self, Self::Present(_))
    }

    /// Whether the source holds the content, or says that there was none.
    pub fn is_recorded(&self) -> bool {
        !matches!(self, Self::NotRecorded)
    }
}

impl<T> From<Option<T>> for Content<T> {
    /// `None` is absent.
    fn from(content: Option<T>) -> Self {
        content.map_or(Self::Absent, Self::Present)
    }
}
