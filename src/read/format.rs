//! The entry of a format: its name, how it is recognised, and how its runs are read.

use super::Format;
use super::document::Document;
use super::runs::{Header, ReadRun, Runs};
use super::session::SessionReader;
use super::signature::{Look, Shape};
use crate::json::{Json, Read};

/// One line of the list of formats.
pub(super) struct Entry {
    pub(super) format: Format,
    signature: &'static [Shape],
    pub(super) reader: Reader,
}

/// The definition of a format, in its file.
pub(super) struct Definition {
    /// The shapes by which the format is recognised. One of them is enough.
    pub(super) signature: &'static [Shape],
    pub(super) reader: Reader,
}

/// How the runs of a format are read.
pub(super) enum Reader {
    /// Every run is a value of its own.
    Records(RecordReader),
    /// Runs are found in the whole of an input.
    Document(ReadDocument),
    /// The same, but a fault ends the document.
    Fallible(TryReadDocument),
    /// As `Fallible`, but a document without a run is sound: spans of other programs.
    MayBeEmpty(TryReadDocument),
    /// Lines of a session are added one by one.
    Session(SessionReader),
    /// As `Fallible`, of a format that is asked only if no specific one claims the document. Of these the first counts.
    Generic(TryReadDocument),
    /// As `Generic`, of a format that is asked last: if no other claims the document, or documents inside it.
    Last(TryReadDocument),
}

/// Reads the runs of a document. A fault in a part goes to `Runs`.
type ReadDocument = for<'a> fn(&Document<'a>, &mut Runs<'_>);

/// As [`ReadDocument`]. A fault that is returned ends the document.
type TryReadDocument = for<'a> fn(&Document<'a>, &mut Runs<'_>) -> Read<()>;

impl Entry {
    pub(super) const fn new(format: Format, definition: Definition) -> Self {
        let Definition { signature, reader } = definition;
        Self { format, signature, reader }
    }

    /// Returns true if the input is of the format. `document`: all of it, if it is there whole.
    pub(super) fn claims(&self, look: &Look<'_, '_>, document: Option<&Document<'_>>) -> bool {
        self.signature.iter().any(|shape| shape.fits(look, document))
    }

    /// Returns the signature in words.
    pub(super) fn decisive(&self) -> String {
        self.signature.iter().map(ToString::to_string).collect::<Vec<_>>().join("; or ")
    }
}

/// A format whose runs are values of their own: items of a list, lines, or the one value of a file.
pub(super) struct RecordReader {
    /// A noun phrase for a file of it, with its article.
    pub(super) what: &'static str,
    /// The key of a list of runs in the object around it.
    pub(super) list: &'static str,
    /// Keys that only a run has.
    pub(super) run_keys: &'static [&'static str],
    /// Keys that only the object around the runs has.
    pub(super) header_keys: &'static [&'static str],
    /// Reads a member of the object around the runs.
    pub(super) header: fn(&[u8], &mut Json<'_>, &Runs<'_>, &mut Header) -> Read<()>,
    /// Whether the header is complete, so no member after the runs can add to it.
    pub(super) is_complete: fn(&Header) -> bool,
    /// Reads a run.
    pub(super) run: ReadRun,
}

impl RecordReader {
    /// Returns true if only a run has this key.
    pub(super) fn is_run_key(&self, key: &[u8]) -> bool {
        self.run_keys.iter().any(|known| key == known.as_bytes())
    }

    /// Returns true if only the object around the runs has this key.
    pub(super) fn is_header_key(&self, key: &[u8]) -> bool {
        self.header_keys.iter().any(|known| key == known.as_bytes())
    }

    /// For formats without a header.
    pub(super) fn no_header(_key: &[u8], value: &mut Json<'_>, _: &Runs<'_>, _: &mut Header) -> Read<()> {
        value.skip()
    }
}

/// Makes the type of formats from the list of their modules, names and descriptions.
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
            pub(in crate::read) fn entry(self) -> &'static crate::read::format::Entry {
                match self {
                    $(Self::$name => {
                        static ENTRY: crate::read::format::Entry =
                            crate::read::format::Entry::new(Format::$name, $($module)::+::FORMAT);
                        &ENTRY
                    })+
                }
            }

            /// Returns a description of the format.
            #[must_use]
            pub fn about(self) -> &'static str {
                match self {
                    $(Self::$name => $about,)+
                }
            }

            /// Describes the marks by which the format is recognised.
            #[must_use]
            pub fn signature(self) -> String {
                self.entry().decisive()
            }
        }
    };
}
pub(super) use formats;
