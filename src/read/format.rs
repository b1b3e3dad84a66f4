//! The definition of a format: how it is recognised, and how its runs are read.

use super::Format;
use super::document::Document;
use super::header::Header;
use super::members::Members;
use super::runs::{ReadRun, Runs};
use super::session::SessionReader;
use super::signature::{Look, Shape};
use crate::json::{Json, Read};

pub(super) struct Definition {
    /// The shapes by which the format is recognised. One of them is enough.
    pub(super) signature: &'static [Shape],
    pub(super) reader: Reader,
}

pub(super) enum Reader {
    Records(RecordReader),
    /// The whole input is needed to find its runs. A fault in a part of it goes to [`Runs`].
    Document(for<'a> fn(&Document<'a>, &mut Runs<'_>)),
    /// Like `Document`, for a format whose documents are objects.
    Object(for<'a> fn(&Members<'a>, &mut Runs<'_>)),
    /// Like `Document`, but a fault ends the reading of the document.
    Fallible(TryReadDocument),
    /// Like `Fallible`, but a document without a run is not an error: its spans may come from other programs.
    MayBeEmpty(TryReadDocument),
    /// The lines of a session are added one by one.
    Session(SessionReader),
    /// Like `Fallible`, but the format is tried only if no specific format claims the document. The first
    /// generic format that claims it wins.
    Generic(TryReadDocument),
    /// Like `Generic`, but tried last: only if no other format claims the document or a document
    /// inside it.
    Last(TryReadDocument),
}

/// Reads the runs of a document. A returned fault ends the reading of the document.
type TryReadDocument = for<'a> fn(&Document<'a>, &mut Runs<'_>) -> Read<()>;

impl Format {
    /// Returns true if an input has a shape of the format. `document` is the whole input, if all of it has been read.
    pub(super) fn claims(self, look: &Look<'_, '_>, document: Option<&Document<'_>>) -> bool {
        self.definition().signature.iter().any(|shape| shape.fits(look, document))
    }

    pub(super) fn reader(self) -> &'static Reader {
        &self.definition().reader
    }

    /// Describes the marks by which the format is recognised.
    #[must_use]
    pub fn signature(self) -> String {
        self.definition().signature.iter().map(ToString::to_string).collect::<Vec<_>>().join("; or ")
    }
}

/// A format whose runs are values of their own: items of a list, lines, or the one value of a file.
pub(super) struct RecordReader {
    /// A noun phrase for the content of a file, as in `expected …`.
    pub(super) what: &'static str,
    /// The key of the list of runs in the enclosing object; empty if the format has no such object.
    pub(super) list: &'static str,
    /// Keys that only a run has.
    pub(super) run_keys: &'static [&'static str],
    /// Keys that only the enclosing object has.
    pub(super) header_keys: &'static [&'static str],
    /// Reads a member of the enclosing object into the header.
    pub(super) header: fn(&[u8], &mut Json<'_>, &Runs<'_>, &mut Header) -> Read<()>,
    /// Returns true if the header is complete and no member after the runs can add to it.
    pub(super) is_complete: fn(&Header) -> bool,
    pub(super) run: ReadRun,
}

impl RecordReader {
    pub(super) fn is_run_key(&self, key: &[u8]) -> bool {
        self.run_keys.iter().any(|known| key == known.as_bytes())
    }

    pub(super) fn is_header_key(&self, key: &[u8]) -> bool {
        self.header_keys.iter().any(|known| key == known.as_bytes())
    }

    /// Skips a member, for formats without a header.
    pub(super) fn no_header(_key: &[u8], value: &mut Json<'_>, _: &Runs<'_>, _: &mut Header) -> Read<()> {
        value.skip()
    }
}

macro_rules! formats {
    ($($name:ident => $($module:ident)::+, $text:literal, $about:literal;)+) => {
        crate::names::named! {
            /// A format that can be read.
            #[derive(PartialOrd, Ord)]
            #[non_exhaustive]
            #[expect(clippy::doc_markdown, reason = "the descriptions are printed as well")]
            pub enum Format: "format" {
                $(#[doc = $about] $name = $text),+
            }
        }

        impl Format {
            pub(in crate::read) fn definition(self) -> &'static crate::read::format::Definition {
                match self {
                    $(Self::$name => &$($module)::+::FORMAT,)+
                }
            }

            /// Returns a description of the format.
            #[must_use]
            pub fn about(self) -> &'static str {
                match self {
                    $(Self::$name => $about,)+
                }
            }
        }
    };
}
pub(super) use formats;
