//! Recognises the encoding of spans.

use super::relatives;
use crate::json::{Kind, Raw};
use crate::read::document::Document;
use crate::read::members::Members;

/// The encoding of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// The key of a list of resources.
    Otlp(&'static str),
    /// `trace` or `data` around a list of resources.
    Within(&'static str),
    Jaeger,
    /// `spans`, nested or not.
    Nested,
    /// One span.
    Row,
}

/// Keys of lists of resources.
const LISTS: [&str; 4] = ["resourceSpans", "resource_spans", "resourceLogs", "resource_logs"];

/// Returns true if this is a key of a list of resources.
pub(super) fn is_otlp(key: &[u8]) -> bool {
    LISTS.iter().any(|list| list.as_bytes() == key)
}

/// Returns the encoding of an object, or `None` if it holds no spans or log records.
pub(super) fn shape(members: &Members<'_>) -> Option<Shape> {
    let is_list =
        |key: &str| members.get(key).is_none_or(|value| matches!(value.kind(), Kind::List | Kind::Null));
    if let Some(key) = LISTS.iter().find(|key| members.has(key) && is_list(key)) {
        return Some(Shape::Otlp(key));
    }
    if let Some(first) = first_of(members.get("batches"))
        && ["scopeSpans", "instrumentationLibrarySpans", "resource"]
            .iter()
            .any(|key| first.member(key).is_some())
    {
        return Some(Shape::Otlp("batches"));
    }
    for key in ["trace", "data"] {
        if let Some(inner) = members.get(key).filter(|inner| inner.kind() == Kind::Object)
            && matches!(shape(&Members::of(&mut inner.json())), Some(Shape::Otlp(_)))
        {
            return Some(Shape::Within(key));
        }
    }
    if let Some(first) = first_of(members.get("data"))
        && first.member("spans").is_some_and(|spans| spans.kind() == Kind::List)
        && (first.member("traceID").is_some() || first.member("processes").is_some())
    {
        return Some(Shape::Jaeger);
    }
    if let Some(first) = first_of(members.get("spans"))
        && is_row(&Members::of(&mut first.json()), members.has("trace_id"))
    {
        return Some(Shape::Nested);
    }
    is_row(members, false).then_some(Shape::Row)
}

fn first_of(list: Option<Raw<'_>>) -> Option<Raw<'_>> {
    list?.items()?.first().copied().filter(|first| first.kind() == Kind::Object)
}

/// Returns true if an object is a single span.
fn is_row(members: &Members<'_>, has_trace: bool) -> bool {
    let is_id = |raw: Option<Raw<'_>>| raw.and_then(Raw::string).is_some_and(|text| relatives::is_id(&text));
    let inner = members.first(&["context", "spanContext", "span_context"]);
    let id = |names: [(&str, &str); 2]| {
        names.iter().any(|(name, dotted)| {
            is_id(members.get(name))
                || is_id(inner.and_then(|inner| inner.member(name)))
                || is_id(members.get(dotted))
        })
    };
    let named = ["name", "span_name"].iter().any(|key| members.is(key, Kind::String));
    named
        && id([("span_id", "context.span_id"), ("spanId", "context.spanId")])
        && (has_trace || id([("trace_id", "context.trace_id"), ("traceId", "context.traceId")]))
}

/// An object without any of these keys holds no spans.
const KEYS: [&str; 15] = [
    "resourceSpans",
    "resource_spans",
    "resourceLogs",
    "resource_logs",
    "batches",
    "trace",
    "data",
    "spans",
    "context",
    "spanContext",
    "span_context",
    "span_id",
    "spanId",
    "context.span_id",
    "context.spanId",
];

/// Returns true if a document holds spans or log records.
pub(super) fn claims(document: &Document<'_>) -> bool {
    /// Number of items of a list that are checked.
    const ITEMS: usize = 64;
    let has_spans =
        |members: &Members<'_>| members.keys().any(|key| KEYS.contains(&key)) && shape(members).is_some();
    match document {
        Document::Object(members) => has_spans(members),
        Document::List(items) | Document::Lines(items) => items
            .iter()
            .take(ITEMS)
            .any(|item| item.kind() == Kind::Object && has_spans(&Members::of(&mut item.json()))),
    }
}
