//! Which encoding of spans an object is of.

use super::relatives;
use crate::json::{Kind, Raw};
use crate::read::document::{Document, Sign};
use crate::read::sample::Members;
use crate::read::words;

/// What an object of an encoding holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// The key of a list of resources.
    Otlp(&'static str),
    /// `trace` or `data` around one.
    Within(&'static str),
    Jaeger,
    /// `spans`, nested or not.
    Nested,
    /// One span.
    Row,
}

/// The keys of lists of resources.
const LISTS: [&str; 4] = ["resourceSpans", "resource_spans", "resourceLogs", "resource_logs"];

/// Whether this key is that of a list of resources.
pub(super) fn is_otlp(key: &[u8]) -> bool {
    LISTS.iter().any(|list| list.as_bytes() == key)
}

/// The encoding of an object; `None`: it holds no spans and no log records.
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

/// Whether an object is a span that stands by itself.
fn is_row(members: &Members<'_>, has_trace: bool) -> bool {
    let is_id = |raw: Option<Raw<'_>>| raw.and_then(Raw::string).is_some_and(|text| relatives::is_id(&text));
    let inner = ["context", "spanContext", "span_context"].iter().find_map(|key| members.get(key));
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

/// Whether an object has one of the keys without which it holds none.
fn may_be(item: Raw<'_>) -> bool {
    let mut found = false;
    let _ = item.json().object(|key, _| {
        found |= Sign::of(key) == Some(Sign::Span);
        if found { Err(words::enough()) } else { Ok(()) }
    });
    found
}

/// Whether a document holds spans or log records.
pub(super) fn claims(document: &Document<'_>) -> bool {
    const LOOKED_AT: usize = 64;
    let claims = |item: &Raw<'_>| {
        item.kind() == Kind::Object && may_be(*item) && shape(&Members::of(&mut item.json())).is_some()
    };
    match document {
        Document::Object(members) => {
            members.keys().any(|key| Sign::of(key.as_bytes()) == Some(Sign::Span)) && shape(members).is_some()
        }
        Document::Lines(lines) => lines.may_have(Sign::Span) && lines.iter().any(claims),
        Document::List(items) => items.iter().take(LOOKED_AT).any(claims),
    }
}
