//! The in-memory spans and log records that all encodings are decoded into. Values borrow from the input.

mod attributes;
pub(super) mod cli_log;
mod collection;
mod data;
mod memory;
mod monocle;
mod names;
pub(super) mod resource;
mod span;

pub(super) use attributes::{Attributes, Value};
pub(super) use collection::{Bundle, Collection};
pub(super) use data::{Data, Members};
pub(super) use names::{Attr, COMPLETION, INPUT_MESSAGES, Key, OUTPUT_MESSAGES, PROMPT, Spread};
pub(crate) use resource::{Resource, bytes as resource_bytes};
#[cfg(feature = "otlp")]
pub(super) use span::id_of_bytes;
pub(super) use span::{Code, SpanEvent, id, is_remote};
pub(crate) use span::{LogRecord, Span, put_in_order};
