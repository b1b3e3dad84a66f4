//! Names that most files of this folder use.

pub(super) use std::borrow::Cow;
pub(super) use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

pub(super) use super::dialects::{blocks, blocks_of_spread, prompt};
pub(super) use super::dotted_names::spread;
pub(super) use super::events::{self, ChatEvent, Direction, Records, pair_by_order};
pub(super) use super::kinds::{self, Kind};
pub(super) use super::message::{
    Block, ModelCall, Reply, Role, arguments_of, begins_object, content_of, is_masked, name_of,
};
pub(super) use super::model::{
    Attr, Attributes, COMPLETION, Code, Data, INPUT_MESSAGES, LogRecord, Members, OUTPUT_MESSAGES, PROMPT,
    Span, SpanEvent, Spread, Value,
};
pub(super) use super::python;
pub(super) use super::request::{self, Request};
pub(super) use super::results::{self, Outcome};
pub(super) use super::tree::{self, At, Owner, Tree};
pub(super) use crate::trace::{Answer, Arguments, Content, Digest};
