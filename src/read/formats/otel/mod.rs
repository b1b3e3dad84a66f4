//! Spans of OpenTelemetry as traces: the encodings, and the stages that know none of them.
//!
//! Every encoding is read into [`Span`]s and [`LogRecord`]s of a [`SpanCollection`], which puts them together by
//! trace id, wherever they lay and in whatever order they came. The stages behind it are functions over the spans of
//! one trace: [`classify`] (what a span is of), [`tree`] (whose run it is part of), [`requests`] (what models were
//! asked), [`calls`] and [`arguments`] (one action for each call), [`answers`], [`unwrap`], [`status`] and
//! [`outcomes`] (what came back), and [`assemble`], which makes the [`run`]s of [`steps`]. What is said in spans and
//! records is read by [`dialects`], [`flattened`] and [`logs`] into the parts of a [`message`].
//!
//! What is looked at stays where it lies: [`attributes`] of known [`names`] decode their texts when they are first read,
//! and the JSON within those texts is [`data`] that borrows from them, as do the parts of messages.
//!
//! To add an encoding: a function that reads it into spans, and a line in [`shape`] that recognises it.

mod answers;
mod arguments;
mod assemble;
mod attributes;
mod batch;
mod callers;
mod calls;
mod classify;
mod collection;
mod damaged;
mod data;
mod dialects;
mod flattened;
mod join;
mod logs;
mod message;
mod model;
mod names;
pub(in crate::read) mod observed;
mod otlp_json;
#[cfg(feature = "otlp")]
mod otlp_proto;
mod outcomes;
mod places;
#[cfg(feature = "scan")]
mod pool;
mod protobuf;
mod python;
mod relatives;
mod request;
mod requests;
mod run;
mod shape;
mod status;
mod steps;
#[cfg(test)]
mod tests;
mod tree;
mod unwrap;
mod waiting;
mod wire;

use crate::json::Read;
use crate::read::Format;
use crate::read::document::Document;
use crate::read::format::{Entry, Reader};
use crate::read::runs::Runs;
use crate::read::signature;

pub(crate) use assemble::{are_whole_below, runs_so_far};
pub use batch::SpanBatch;
use collection::SpanCollection;
pub(crate) use collection::{put_in_order, runs_of_trace};
pub(in crate::read) use damaged::{read_damaged, read_protobuf};
pub use join::SpanJoin;
pub(crate) use model::{LogRecord, Span};
#[cfg(feature = "scan")]
pub(crate) use pool::SpanPool;
pub(crate) use run::{AgentRun, SPAN_LABEL};

pub(in crate::read) const FORMAT: Entry = Entry {
    format: Format::OpenTelemetry,
    about: "spans and log records of OpenTelemetry: OTLP as JSON or protobuf, OpenInference rows, Jaeger and Tempo exports",
    signature: &[signature::Shape::Document(
        "`resourceSpans`, `resourceLogs` or `batches`, `data` with spans, or rows with a trace id and a span id",
        shape::claims,
    )],
    reader: Reader::Fallible(read),
};

fn read(document: &Document<'_>, runs: &mut Runs<'_>) -> Read<()> {
    let mut collection = SpanCollection::default();
    let read = collection.take(document);
    collection.account(runs);
    collection.give(runs);
    read
}
