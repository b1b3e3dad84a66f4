//! Names that most formats use.

pub(super) use std::borrow::Cow;

pub(super) use super::recorded::{
    self, Ordered, Recording, Recordings, any_of_first, elements, fitting, ident, items, json, members,
    objects, text,
};
pub(super) use crate::json::{Json, Kind, Raw, Read, fields};
pub(super) use crate::read::Format;
pub(super) use crate::read::call_outcome::{Outcome, is_failure_code};
pub(super) use crate::read::document::Document;
pub(super) use crate::read::format::{Definition, Reader};
pub(super) use crate::read::members::Members;
pub(super) use crate::read::runs::Runs;
pub(super) use crate::read::signature::Mark::{
    self, All, Any, Every, Has, HasOne, Holds, In, Is, MayBeList, Not, Says, Test, Values,
};
pub(super) use crate::read::signature::{self, Look, Shape};
pub(super) use crate::read::{common, time, tokens, wire, words};
pub(super) use crate::trace::{
    Actor, Answer, Arguments, Assembler, Call, CallNumber, Content, Metadata, Provenance, Status, Text,
    TextCow, TextMap, TextSet, UnknownReason, Usage,
};
