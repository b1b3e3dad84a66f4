//! Other JSON forms of spans: rows of Phoenix and of the SDK's console exporter, TRAIL's nested spans, and exports of
//! Jaeger's interface.

use std::borrow::Cow;

use super::SpanCollection;
use super::attributes::{Attributes, Value};
use super::model::{Code, Span, SpanEvent, id};
use super::names::is_read;
use super::otlp_json::{events, ident};
use super::wire;
use crate::json::{Json, Kind, Raw, Read};

/// Members of a row.
#[derive(Default)]
struct Row<'a> {
    span: Span<'a>,
    /// The kind next to the attributes.
    kind: Option<Cow<'a, str>>,
    duration: Option<u64>,
    children: Vec<Raw<'a>>,
}

/// Reads a single span: of Phoenix (`span_id`, `name`, `start_time`), of the console (`context`), of TRAIL
/// (`span_name`, `child_spans`), or as scripts write them (`spanContext`). Its children follow it.
pub(super) fn row<'a>(
    json: &mut Json<'a>,
    parent: Option<&Cow<'a, str>>,
    trace: Option<&Cow<'a, str>>,
    into: &mut SpanCollection<'a>,
) -> Read<()> {
    let mut read = Row::default();
    json.object(|key, value| row_member(key, value, &mut read))?;
    let Row { mut span, kind, duration, children } = read;
    if let Some(kind) = kind {
        set_kind(&mut span, kind);
    }
    if span.parent.is_none() {
        span.parent = parent.cloned();
    }
    if span.trace_id.is_empty() {
        span.trace_id = trace.cloned().unwrap_or_default();
    }
    if span.end.is_none() {
        span.end = duration.and_then(|duration| span.start.checked_add(duration));
    }
    let (own, trace) = (span.span_id.clone(), span.trace_id.clone());
    into.push_span(span);
    let own = if own.is_empty() { parent } else { Some(&own) };
    for child in children {
        into.contained(&mut child.json(), &mut |json: &mut Json<'a>, into: &mut SpanCollection<'a>| {
            row(json, own, Some(&trace), into)
        })?;
    }
    Ok(())
}

fn row_member<'a>(key: &[u8], value: &mut Json<'a>, row: &mut Row<'a>) -> Read<()> {
    match key {
        b"context" | b"spanContext" | b"span_context" if value.kind()? == Kind::Object => {
            value.object(|key, value| ids(key, value, &mut row.span))?;
        }
        b"trace_id" | b"traceId" | b"span_id" | b"spanId" | b"parent_id" | b"parent_span_id"
        | b"parentId" | b"parentSpanId" => ids(key, value, &mut row.span)?,
        b"context.trace_id" => row.span.trace_id = ident(value)?.unwrap_or_default(),
        b"context.span_id" => row.span.span_id = ident(value)?.unwrap_or_default(),
        b"name" | b"span_name" => row.span.name = wire::text(value)?.unwrap_or_default(),
        b"span_kind" | b"kind" => row.kind = wire::text(value)?,
        b"start_time" | b"startTime" | b"timestamp" | b"startTimeUnixNano" | b"start_timestamp" => {
            row.span.start = moment(value)?.unwrap_or_default();
        }
        b"end_time" | b"endTime" | b"endTimeUnixNano" | b"end_timestamp" => {
            row.span.end = moment(value)?.filter(|end| *end != 0);
        }
        b"duration" | b"duration_ns" => row.duration = took(key, value)?,
        b"status" => (row.span.status, row.span.message) = wire::status(value)?,
        b"status_code" | b"otel_status_code" => row.span.status = wire::code(value)?,
        b"status_message" | b"otel_status_message" => {
            row.span.message = wire::text(value)?.unwrap_or_default();
        }
        b"attributes" | b"span_attributes" => row.span.attributes = wire::attributes(value)?,
        b"scope_name" | b"otel_scope_name" => row.span.scope = wire::text(value)?.unwrap_or_default(),
        b"instrumentation_scope" | b"instrumentationScope" if value.kind()? == Kind::Object => {
            value.object(|key, value| match key {
                b"name" => wire::text(value).map(|name| row.span.scope = name.unwrap_or_default()),
                _ => value.skip(),
            })?;
        }
        b"events" | b"otel_events" if value.kind()? == Kind::List => row.span.events = events(value)?,
        b"child_spans" | b"children" if value.kind()? == Kind::List => {
            value.list(|child| {
                row.children.push(child.raw()?);
                Ok(())
            })?;
        }
        // Columns of a table of attributes.
        _ => match key.strip_prefix(b"attributes.").map(String::from_utf8_lossy) {
            Some(name) if is_read(name.as_bytes()) => {
                let read = wire::plain(value)?;
                row.span.attributes.push(Cow::Owned(name.into_owned()), read);
            }
            _ => value.skip()?,
        },
    }
    Ok(())
}

/// Sets the kind from next to the attributes, if they have none and a rule knows it.
fn set_kind<'a>(span: &mut Span<'a>, kind: Cow<'a, str>) {
    const KIND: &str = "openinference.span.kind";
    let is_known = ["TOOL", "LLM", "AGENT", "CHAIN"].iter().any(|known| kind.eq_ignore_ascii_case(known));
    if is_known && span.attributes.get(KIND).is_none() {
        span.attributes.push(Cow::Borrowed(KIND), Value::text(kind));
    }
}

fn ids<'a>(key: &[u8], value: &mut Json<'a>, span: &mut Span<'a>) -> Read<()> {
    match key {
        b"trace_id" | b"traceId" => span.trace_id = ident(value)?.unwrap_or_default(),
        b"span_id" | b"spanId" => span.span_id = ident(value)?.unwrap_or_default(),
        b"parent_id" | b"parent_span_id" | b"parentId" | b"parentSpanId" => span.parent = ident(value)?,
        _ => value.skip()?,
    }
    Ok(())
}

/// Parses a time in any form, also `[seconds, nanoseconds]`.
fn moment(json: &mut Json<'_>) -> Read<Option<u64>> {
    if json.kind()? != Kind::List {
        return wire::time(json);
    }
    let mut parts = Vec::new();
    json.list(|part| {
        parts.push(wire::count(part)?);
        Ok(())
    })?;
    Ok(match parts.as_slice() {
        [Some(seconds), Some(nanoseconds)] => {
            seconds.checked_mul(1_000_000_000).and_then(|whole| whole.checked_add(*nanoseconds))
        }
        _ => None,
    })
}

/// Parses a duration: nanoseconds by name, or ISO 8601 (`PT1M2.5S`).
fn took(key: &[u8], json: &mut Json<'_>) -> Read<Option<u64>> {
    if json.kind()? != Kind::String {
        let number = wire::count(json)?;
        return Ok(number.filter(|_| key == b"duration_ns"));
    }
    let text = json.string()?;
    Ok(nanoseconds_of_duration(&text))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be in range")]
fn nanoseconds_of_duration(text: &str) -> Option<u64> {
    let mut rest = text.strip_prefix("PT")?;
    let mut seconds = 0.0;
    while let Some(at) = rest.find(['H', 'M', 'S']) {
        let (number, unit) = rest.split_at(at);
        let number: f64 = number.parse().ok()?;
        seconds += number
            * match unit.chars().next()? {
                'H' => 3600.0,
                'M' => 60.0,
                _ => 1.0,
            };
        rest = unit.get(1..)?;
    }
    (rest.is_empty() && (0.0..1e9).contains(&seconds)).then_some((seconds * 1e9) as u64)
}

/// Reads `{"trace_id": …, "spans": […]}` with nested spans.
pub(super) fn nested<'a>(
    trace: Option<&Cow<'a, str>>,
    spans: &mut Json<'a>,
    into: &mut SpanCollection<'a>,
) -> Read<()> {
    spans.list(|span| {
        into.contained(span, &mut |json: &mut Json<'a>, into: &mut SpanCollection<'a>| {
            row(json, None, trace, into)
        })
    })
}

/// Reads the traces of a Jaeger export.
pub(super) fn jaeger<'a>(json: &mut Json<'a>, into: &mut SpanCollection<'a>) -> Read<()> {
    json.list(|trace| {
        into.contained(trace, &mut |json: &mut Json<'a>, into: &mut SpanCollection<'a>| {
            json.object(|key, value| match key {
                b"spans" if value.kind()? == Kind::List => {
                    value.list(|span| into.contained(span, &mut jaeger_span))
                }
                _ => value.skip(),
            })
        })
    })
}

fn jaeger_span<'a>(json: &mut Json<'a>, into: &mut SpanCollection<'a>) -> Read<()> {
    let mut span = Span::default();
    let mut duration = None;
    let mut tags = Vec::new();
    json.object(|key, value| {
        match key {
            b"traceID" | b"traceId" => span.trace_id = ident(value)?.unwrap_or_default(),
            b"spanID" | b"spanId" => span.span_id = ident(value)?.unwrap_or_default(),
            b"parentSpanID" | b"parentSpanId" => span.parent = ident(value)?.or(span.parent.take()),
            b"operationName" => span.name = wire::text(value)?.unwrap_or_default(),
            b"startTime" => span.start = wire::count(value)?.unwrap_or_default().saturating_mul(1000),
            b"duration" => duration = wire::count(value)?.map(|micros| micros.saturating_mul(1000)),
            b"references" if value.kind()? == Kind::List => value.list(|item| reference(item, &mut span))?,
            b"tags" if value.kind()? == Kind::List => tags = jaeger_tags(value)?,
            b"logs" if value.kind()? == Kind::List => value.list(|log| {
                let mut fields = Vec::new();
                log.object(|key, value| {
                    match key {
                        b"fields" if value.kind()? == Kind::List => fields = jaeger_tags(value)?,
                        _ => value.skip()?,
                    }
                    Ok(())
                })?;
                span.events.push(jaeger_event(fields));
                Ok(())
            })?,
            _ => value.skip()?,
        }
        Ok(())
    })?;
    for (key, value) in tags {
        match &*key {
            "otel.status_code" => {
                span.status = value.as_str().map_or(Code::Unset, Code::of_name);
            }
            "otel.status_description" => {
                span.message = Cow::Owned(value.as_str().unwrap_or_default().to_owned());
            }
            "otel.scope.name" | "otel.library.name" => {
                span.scope = Cow::Owned(value.as_str().unwrap_or_default().to_owned());
            }
            "error" if span.status == Code::Unset => {
                let is_set = matches!(value, Value::Bool(true)) || value.as_str() == Some("true");
                span.status = if is_set { Code::Error } else { Code::Unset };
            }
            _ if is_read(key.as_bytes()) => span.attributes.push(key, value),
            _ => {}
        }
    }
    span.end = duration.and_then(|duration: u64| span.start.checked_add(duration));
    into.push_span(span);
    Ok(())
}

fn reference<'a>(json: &mut Json<'a>, span: &mut Span<'a>) -> Read<()> {
    let (mut kind, mut parent) = (None, None);
    json.object(|key, value| {
        match key {
            b"refType" => kind = wire::text(value)?,
            b"spanID" | b"spanId" => parent = ident(value)?,
            _ => value.skip()?,
        }
        Ok(())
    })?;
    if span.parent.is_none() && kind.is_none_or(|kind| kind == "CHILD_OF") {
        span.parent = parent;
    }
    Ok(())
}

fn jaeger_tags<'a>(json: &mut Json<'a>) -> Read<Vec<(Cow<'a, str>, Value<'a>)>> {
    let mut tags = Vec::new();
    json.list(|tag| {
        let (mut name, mut found) = (None, None);
        tag.object(|key, value| {
            match key {
                b"key" => name = wire::text(value)?,
                b"value" => found = Some(wire::plain(value)?),
                _ => value.skip()?,
            }
            Ok(())
        })?;
        tags.extend(name.zip(found));
        Ok(())
    })?;
    Ok(tags)
}

fn jaeger_event<'a>(fields: Vec<(Cow<'a, str>, Value<'a>)>) -> SpanEvent<'a> {
    let mut event = SpanEvent::default();
    let mut attributes = Attributes::default();
    for (key, value) in fields {
        if matches!(&*key, "event" | "name") && event.name.is_empty() {
            event.name = Cow::Owned(value.as_str().unwrap_or_default().to_owned());
        } else if is_read(key.as_bytes()) {
            attributes.push(key, value);
        }
    }
    event.attributes = attributes;
    event
}

/// Returns true if a text is long enough for the id of a span's row: other objects have short ids.
pub(super) fn is_id(text: &str) -> bool {
    text.len() >= 8 && id(Cow::Borrowed(text)).is_some()
}
