//! Runs from spans and log records of OpenTelemetry.
//!
//! - [`decode`] reads every encoding into the spans and log records of the [`model`], whose
//!   [`Collection`](model::Collection) groups them by trace id in any order.
//! - [`infer`] finds what the spans of one trace show: kinds, the agent of each span, requests to models,
//!   calls, answers and statuses.
//! - [`emit`] makes the steps of each agent's run.
//!
//! [`join`], [`batch`] and [`pool`] combine several inputs. [`observed`] converts spans of other products.

mod batch;
mod decode;
mod emit;
mod infer;
mod join;
mod model;
pub(in crate::read) mod observed;
#[cfg(feature = "scan")]
mod pool;

use crate::json::Read;
use crate::read::Format;
use crate::read::document::Document;
use crate::read::format::{Definition, Reader};
use crate::read::runs::Runs;
use crate::read::signature;
use crate::read::window::Window;

pub use batch::SpanBatch;
pub(crate) use emit::{AgentRun, RESOURCE_LABEL, SPAN_LABEL, runs_of_trace, runs_so_far};
pub(crate) use infer::are_whole_below;
pub use join::SpanJoin;
use model::Collection;
pub(crate) use model::{LogRecord, Resource, Span, put_in_order, resource_bytes};
#[cfg(feature = "scan")]
pub(crate) use pool::SpanPool;

pub(in crate::read) const FORMAT: Definition = Definition {
    signature: &[signature::Shape::Document(
        "`resourceSpans`, `resourceLogs` or `batches`, `data` with spans, or rows with a trace id and a span id, also \
         under `raw_otel_json`",
        decode::claims,
    )],
    reader: Reader::MayBeEmpty(read),
};

/// Returns the JSON of a Python literal.
pub(super) fn python(text: &str) -> Option<String> {
    infer::python::literal(text).map(|data| data.to_json())
}

fn read(document: &Document<'_>, runs: &mut Runs<'_>) -> Read<()> {
    let mut collection = Collection::default();
    let read = decode::take(document, &mut collection);
    collection.give(runs);
    read
}

/// Reads a damaged document up to the damage, or returns false if it holds no spans or log records.
pub(in crate::read) fn read_damaged(bytes: &[u8], window: &Window<'_>, runs: &mut Runs<'_>) -> bool {
    let mut collection = Collection::default();
    let Some(fault) = decode::take_damaged(bytes, &mut collection) else { return false };
    runs.reading.format = Some(Format::OpenTelemetry);
    collection.account(runs);
    runs.fail_at(fault);
    runs.settle(window);
    collection.give(runs);
    true
}

/// Reads an OTLP request in protobuf, or returns false for any other input.
pub(in crate::read) fn read_protobuf(bytes: &[u8], runs: &mut Runs<'_>) -> bool {
    let mut collection = Collection::default();
    let Some(read) = decode::take_protobuf(bytes, &mut collection) else { return false };
    runs.reading.format = Some(Format::OpenTelemetry);
    match read {
        Ok(()) => collection.give(runs),
        Err(error) => runs.fail(error),
    }
    true
}
