//! Names that most formats use.

pub(super) use std::borrow::Cow;

pub(super) use super::recorded::{
    self, Ordered, Recording, Recordings, any_of_first, elements, fitting, ident, items, json, members,
    objects, text,
};
pub(super) use crate::error::{Error, ErrorKind};
pub(super) use crate::json::{Fault, Json, Kind, Raw, Read, fields};
pub(super) use crate::read::Format;
pub(super) use crate::read::call_outcome::{
    Outcome, at_start, broken_off, in_background, is_failure_code, never_ran, reports_failure, typed_output,
};
pub(super) use crate::read::document::Document;
pub(super) use crate::read::format::{Definition, Reader, RecordReader};
pub(super) use crate::read::header::Header;
pub(super) use crate::read::members::Members;
pub(super) use crate::read::runs::Runs;
pub(super) use crate::read::session::{self, SessionReader};
pub(super) use crate::read::signature::Mark::{
    self, All, Any, Every, Has, HasOne, Holds, In, Is, MayBeList, Not, Says, Test, Values,
};
pub(super) use crate::read::signature::{self, Look, Shape};
pub(super) use crate::read::{common, text_calls, text_grammars, time, tokens, wire, words};
pub(super) use crate::trace::{
    Actor, Answer, Arguments, Assembler, Call, CallNumber, Content, Digest, DigestSet, Metadata, Provenance,
    Status, Text, TextCow, TextMap, TextSet, UnknownReason, Usage,
};
