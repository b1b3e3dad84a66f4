//! Encodings of spans and log records. Each is read into the [`Collection`] of the [`model`].
//!
//! To add an encoding, write a function that reads it into spans, and a line in [`shape`] that recognises it.

mod json;
mod otlp;
#[cfg(feature = "otlp")]
mod proto;
mod request;
mod wire;

pub(super) use request::take as take_protobuf;

use std::borrow::Cow;

use json::Around;

use super::model;
use super::model::{Collection, id};
use crate::json::{Fault, Json, Kind, Raw, Read, fields};
use crate::read::document::Document;
use crate::read::members::Members;

/// The encoding of an object.
enum Shape<'a> {
    /// Lists of resources.
    Otlp(Members<'a>),
    /// A list of Jaeger's traces.
    Jaeger(Raw<'a>),
    /// The trace id, if any, and a list of spans, which may enclose others.
    Nested(Option<Cow<'a, str>>, Raw<'a>),
    /// One span.
    Row(Raw<'a>),
    /// One log record.
    Record(Raw<'a>),
    /// One of the above, as JSON in a string.
    Spelled(Cow<'a, str>),
}

/// Keys of lists of resources.
const LISTS: [&str; 5] = ["resourceSpans", "resource_spans", "resourceLogs", "resource_logs", BATCHES];

/// Tempo's key. Other formats use it as well, so the first item is checked too.
const BATCHES: &str = "batches";

/// The key of a span or log record in the rows of the logs of Amazon Bedrock.
const ROW: &str = "raw_otel_json";

fn is_resources(key: &[u8]) -> bool {
    LISTS.iter().any(|list| list.as_bytes() == key)
}

/// Returns the encoding of an object, or `None` if it holds no spans or log records.
fn shape<'a>(members: &Members<'a>) -> Option<Shape<'a>> {
    let first = |key| {
        let list = members.get(key)?;
        let first = list.first_items(1).first().copied().filter(|first| first.kind() == Kind::Object)?;
        Some((list, first))
    };
    let is_list =
        |key: &str| members.get(key).is_some_and(|value| matches!(value.kind(), Kind::List | Kind::Null));
    let of_tempo = |first: Raw<'_>| {
        let keys = ["scopeSpans", "instrumentationLibrarySpans", "resource"];
        keys.iter().any(|key| first.member(key).is_some())
    };
    if LISTS.iter().any(|key| *key != BATCHES && is_list(key))
        || first(BATCHES).is_some_and(|(_, first)| of_tempo(first))
    {
        return Some(Shape::Otlp(members.clone()));
    }
    for key in ["trace", "data", ROW] {
        let inner = Some(members.object(key)).filter(|inner| inner.whole().is_some());
        let shape = inner.and_then(|inner| shape(&inner));
        if let Some(shape) = shape.filter(|shape| key == ROW || matches!(shape, Shape::Otlp(_))) {
            return Some(shape);
        }
    }
    for text in [ROW, "message"].iter().filter_map(|key| members.name(key)) {
        let is_of_trace =
            text.starts_with('{') && (text.contains("\"traceId\"") || text.contains("\"trace_id\""));
        if is_of_trace && shape(&spelled(&text)).is_some() {
            return Some(Shape::Spelled(text));
        }
    }
    if let Some((data, first)) = first("data")
        && first.member("spans").is_some_and(|spans| spans.kind() == Kind::List)
        && (first.member("traceID").is_some() || first.member("processes").is_some())
    {
        return Some(Shape::Jaeger(data));
    }
    let trace = members.name("trace_id").or_else(|| members.name("traceId")).and_then(id);
    if let Some((spans, first)) = first("spans")
        && is_row(&Members::from(first), trace.is_some())
    {
        return Some(Shape::Nested(trace, spans));
    }
    let whole = members.whole()?;
    if is_row(members, false) {
        return Some(Shape::Row(whole));
    }
    let has = |names: [&str; 2]| names.iter().any(|name| members.has(name));
    let is_record =
        has(["traceId", "trace_id"]) && has(["timeUnixNano", "time_unix_nano"]) && members.has("body");
    is_record.then_some(Shape::Record(whole))
}

/// Returns the members of the object that a text holds.
fn spelled(text: &str) -> Members<'_> {
    Members::from(Raw::over(text.as_bytes(), 0))
}

/// Returns true if an object is a single span. `has_trace` is true if an enclosing object has the trace id.
fn is_row(members: &Members<'_>, has_trace: bool) -> bool {
    // Objects that are not spans often have shorter ids.
    let has_known = || {
        let attributes = members.object("attributes");
        attributes.keys().any(|key| ["openinference.", "gen_ai."].iter().any(|known| key.starts_with(known)))
    };
    let is_whole = members.has("attributes") && members.has("start_time") || has_known();
    let is_id = |raw: Option<Raw<'_>>| {
        raw.is_some_and(|raw| match raw.kind() {
            // any-agent writes ids as numbers.
            Kind::Number => is_whole,
            _ => raw.string().is_some_and(|text| (is_whole || text.len() >= 8) && id(text).is_some()),
        })
    };
    let inner = members.first(&["context", "spanContext", "span_context", "SpanContext"]);
    let has_id = |names: [(&str, &str); 3]| {
        names.iter().any(|(name, dotted)| {
            is_id(members.get(name))
                || is_id(inner.and_then(|inner| inner.member(name)))
                || is_id(members.get(dotted))
        })
    };
    let named = ["name", "span_name", "Name"].iter().any(|key| members.is(key, Kind::String));
    named
        && has_id([("span_id", "context.span_id"), ("spanId", "context.spanId"), ("SpanID", "")])
        && (has_trace
            || has_id([("trace_id", "context.trace_id"), ("traceId", "context.traceId"), ("TraceID", "")]))
}

/// Returns true if a document holds spans or log records.
pub(super) fn claims(document: &Document<'_>) -> bool {
    /// Maximum number of list items or lines to check.
    const ITEMS: usize = 64;
    match document {
        Document::Object(members) => shape(members).is_some(),
        Document::List(items) | Document::Lines(items) => items
            .iter()
            .take(ITEMS)
            .any(|item| item.kind() == Kind::Object && shape(&Members::from(*item)).is_some()),
    }
}

/// Adds the spans and log records of a document.
pub(super) fn take<'a>(document: &Document<'a>, into: &mut Collection<'a>) -> Read<()> {
    if let Document::Object(members) = document {
        return take_object(members, into);
    }
    for item in document.items() {
        if item.kind() != Kind::Object {
            into.pass_over("items that are not objects");
            continue;
        }
        match take_object(&Members::from(*item), into) {
            Err(fault) if fault.is_sound_json() => into.fault(fault),
            read => read?,
        }
    }
    Ok(())
}

fn take_object<'a>(members: &Members<'a>, into: &mut Collection<'a>) -> Read<()> {
    match shape(members) {
        Some(Shape::Otlp(members)) => {
            for (_, value) in members.iter().filter(|(key, _)| is_resources(key.as_bytes())) {
                otlp::resources(&mut value.json(), into)?;
            }
        }
        Some(Shape::Jaeger(data)) => json::jaeger(&mut data.json(), into)?,
        Some(Shape::Nested(trace, spans)) => json::nested(trace.as_ref(), &mut spans.json(), into)?,
        Some(Shape::Row(object)) => json::row(&mut object.json(), &Around::default(), into)?,
        Some(Shape::Record(object)) => into.push_log(json::log(&mut object.json())?),
        Some(Shape::Spelled(text)) => {
            let mut inner = Collection::default();
            if take_object(&spelled(&text), &mut inner).is_err() {
                into.pass_over("rows with a damaged span");
            }
            into.take_in(inner);
        }
        None => into.pass_over("objects that are not spans"),
    }
    Ok(())
}

/// Reads a damaged input up to the damage, and returns the error there. `None` if it holds no spans or log records.
pub(super) fn take_damaged<'a>(bytes: &'a [u8], into: &mut Collection<'a>) -> Option<Fault> {
    let mut json = Json::new(bytes);
    let mut found = false;
    // The input may be a sequence of documents.
    while json.peek_byte() == Some(b'{') {
        let start = json.clone();
        if let Ok(whole) = json.raw() {
            let members = Members::from(whole);
            found |= shape(&members).is_some();
            if let Err(fault) = take_object(&members, into) {
                into.fault(fault);
            }
            continue;
        }
        json = start;
        let read = json.object(fields!(key, value => {
            _ if value.kind()? != Kind::List => {}
            _ if is_resources(key) => {
                found = true;
                otlp::resources(value, into)?;
            }
            b"data" => json::jaeger(value, into)?,
            b"spans" => json::nested(None, value, into)?,
        }));
        found |= !into.traces.is_empty();
        return read.err().filter(|_| found);
    }
    let end = json.offset();
    found.then(|| match first_unsound(bytes) {
        // The error may be in a skipped part. If it has already been recorded, it must not be reported twice.
        Some(fault) => {
            into.faults.retain(|known| known.at() != fault.at());
            fault
        }
        None => Fault::syntax(end, "expected another object"),
    })
}

/// Returns the first syntax error in a sequence of documents.
fn first_unsound(bytes: &[u8]) -> Option<Fault> {
    let mut json = Json::new(bytes);
    while json.peek_byte() == Some(b'{') {
        if let Err(fault) = json.check() {
            return Some(fault);
        }
    }
    None
}
