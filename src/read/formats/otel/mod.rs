//! Traces from spans of OpenTelemetry: encodings, and stages that do not depend on the encoding.
//!
//! Every encoding is read into [`Span`]s and [`LogRecord`]s of a [`SpanCollection`], which groups them by trace id in
//! any order. The stages are functions over the spans of one trace: [`classify`] (tool, model or agent), [`tree`]
//! (which run a span belongs to), [`requests`] (model requests), [`calls`] and [`arguments`] (one action for each
//! call), [`answers`], [`unwrap`], [`status`] and [`outcomes`] (results), and [`assemble`], which makes the [`run`]s of
//! [`steps`]. [`dialects`], [`flattened`] and [`logs`] read messages in spans and records into the parts of a
//! [`message`].
//!
//! Values borrow from the input: [`attributes`] of known [`names`] decode their texts on first read, and JSON inside
//! those texts is [`data`] that borrows from them.
//!
//! To add an encoding, write a function that reads it into spans, and add a line in [`shape`] that recognises it.

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
mod resource;
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
pub(crate) use resource::{Resource, bytes as resource_bytes};
pub(crate) use run::{AgentRun, RESOURCE_LABEL, SPAN_LABEL};

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
