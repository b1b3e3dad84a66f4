//! Spans and log records as JSON: those of OTLP, rows of Phoenix and of the SDK's console exporter, TRAIL's nested
//! spans, and exports of Jaeger's interface. One reader handles the field names of all of them.

use std::borrow::Cow;

use super::model::{Attr, Code, Collection, Key, LogRecord, Span, SpanEvent, Value, is_remote};
use super::wire::{self, ident};
use crate::json::{Json, Kind, Raw, Read, fields};
use crate::read::members::Members;

/// Reads the objects of a list, which may be null. An object of the wrong shape is skipped and reported.
pub(super) fn objects<'a>(
    json: &mut Json<'a>,
    into: &mut Collection<'a>,
    mut read: impl FnMut(&mut Json<'a>, &mut Collection<'a>) -> Read<()>,
) -> Read<()> {
    if json.null()? {
        return Ok(());
    }
    json.list(|item| into.contained(item, &mut read))
}

/// Facts about a span that are recorded in the objects that enclose it.
#[derive(Default)]
pub(super) struct Around<'r, 'a> {
    pub(super) trace: Option<&'r Cow<'a, str>>,
    pub(super) parent: Option<&'r Cow<'a, str>>,
    pub(super) scope: Option<&'r Cow<'a, str>>,
    /// True if times are in microseconds, as Jaeger writes them.
    pub(super) micros: bool,
}

/// A span that is being read. Its other members are applied to it at the end.
#[derive(Default)]
struct Row<'a> {
    span: Span<'a>,
    /// The kind, if it is recorded next to the attributes.
    kind: Option<Cow<'a, str>>,
    duration: Option<u64>,
    children: Vec<Raw<'a>>,
    is_capitalised: bool,
}

/// Reads a single span, and its children after it.
pub(super) fn row<'a>(json: &mut Json<'a>, around: &Around<'_, 'a>, into: &mut Collection<'a>) -> Read<()> {
    let mut read = Row::default();
    json.object(|key, value| read.named(key, value, around.micros))?;
    let Row { mut span, kind, duration, children, .. } = read;
    if let Some(kind) = kind {
        set_kind(&mut span, kind);
    }
    if span.parent.is_none() {
        span.parent = around.parent.cloned();
    }
    if span.trace_id.is_empty() {
        span.trace_id = around.trace.cloned().unwrap_or_default();
    }
    if let Some(scope) = around.scope {
        span.scope.clone_from(scope);
    }
    if around.micros {
        span.start = span.start.saturating_mul(1000);
    }
    if span.end.is_none() {
        span.end = duration.and_then(|duration| span.start.checked_add(duration));
    }
    if children.is_empty() {
        into.push_span(span);
        return Ok(());
    }
    let (own, trace) = (span.span_id.clone(), span.trace_id.clone());
    into.push_span(span);
    let parent = if own.is_empty() { around.parent } else { Some(&own) };
    let around = Around { parent, trace: Some(&trace), ..Around::default() };
    for child in children {
        into.contained(&mut child.json(), &mut |json: &mut Json<'a>, into: &mut Collection<'a>| {
            row(json, &around, into)
        })?;
    }
    Ok(())
}

impl<'a> Row<'a> {
    /// Reads a member. The console exporter of Go capitalises their keys, and begins with the name.
    fn named(&mut self, key: &[u8], value: &mut Json<'a>, micros: bool) -> Read<()> {
        self.is_capitalised |= key == b"Name";
        match key.split_first() {
            Some((first @ b'A'..=b'Z', rest)) if self.is_capitalised => {
                self.member(&[&[first.to_ascii_lowercase()], rest].concat(), value, micros)
            }
            _ => self.member(key, value, micros),
        }
    }

    fn member(&mut self, key: &[u8], value: &mut Json<'a>, micros: bool) -> Read<()> {
        let span = &mut self.span;
        match key {
            b"traceId" | b"trace_id" | b"traceID" | b"context.trace_id" => {
                span.trace_id = ident(value)?.unwrap_or_default();
            }
            b"spanId" | b"span_id" | b"spanID" | b"context.span_id" => {
                span.span_id = ident(value)?.unwrap_or_default();
            }
            b"parentSpanId" | b"parent_span_id" | b"parentSpanID" | b"parent_id" | b"parentId" => {
                span.parent = ident(value)?.or(span.parent.take());
            }
            b"parent" if value.kind()? == Kind::Object => {
                value.object(|key, value| match key {
                    b"span_id" | b"SpanID" => ident(value).map(|id| span.parent = id),
                    _ => Ok(()),
                })?;
            }
            b"context" | b"spanContext" | b"span_context" if value.kind()? == Kind::Object => {
                value.object(|key, value| match key {
                    b"trace_id" | b"traceId" | b"TraceID" | b"span_id" | b"spanId" | b"SpanID" => {
                        self.named(key, value, micros)
                    }
                    _ => Ok(()),
                })?;
            }
            b"flags" => span.is_parent_remote = is_remote(wire::count(value)?.unwrap_or_default()),
            b"name" | b"span_name" | b"operationName" => span.name = wire::text(value)?.unwrap_or_default(),
            b"startTimeUnixNano"
            | b"start_time_unix_nano"
            | b"start_time_ns"
            | b"start_time"
            | b"startTime"
            | b"timestamp"
            | b"start_timestamp" => span.start = wire::time(value)?.unwrap_or_default(),
            b"endTimeUnixNano"
            | b"end_time_unix_nano"
            | b"end_time_ns"
            | b"end_time"
            | b"endTime"
            | b"end_timestamp" => {
                span.end = wire::time(value)?.filter(|end| *end != 0);
            }
            b"duration" | b"duration_ns" => self.duration = duration(value, key == b"duration_ns", micros)?,
            b"attributes" | b"span_attributes" => span.attributes = wire::attributes(value)?,
            // The name of Google Cloud Trace.
            b"labels" if span.attributes.len() == 0 => span.attributes = wire::attributes(value)?,
            b"events" | b"otel_events" | b"logs" if value.kind()? == Kind::List => {
                span.events = events(value)?;
            }
            b"status" => (span.status, span.message) = wire::status(value)?,
            b"status_code" | b"otel_status_code" => span.status = wire::code(value)?,
            b"status_message" | b"otel_status_message" => {
                span.message = wire::text(value)?.unwrap_or_default();
            }
            b"kind" | b"span_kind" => self.kind = wire::text(value)?,
            b"scope_name" | b"otel_scope_name" => span.scope = wire::text(value)?.unwrap_or_default(),
            b"instrumentation_scope" | b"instrumentationScope" | b"instrumentationLibrary"
                if value.kind()? == Kind::Object =>
            {
                span.scope = wire::name(value)?.unwrap_or_default();
            }
            b"child_spans" | b"children" if value.kind()? == Kind::List => {
                value.list(|child| child.raw().map(|child| self.children.push(child)))?;
            }
            b"tags" if value.kind()? == Kind::List => tags(value, span)?,
            b"references" if value.kind()? == Kind::List => value.list(|item| reference(item, span))?,
            // Tables have a column for each attribute, such as `attributes.tool.name`.
            _ => {
                if let Some(name) = key.strip_prefix(b"attributes.").map(String::from_utf8_lossy)
                    && let Some(key) = Key::of(name)
                {
                    span.attributes.push(key.into_owned(), Value::read(value)?);
                }
            }
        }
        Ok(())
    }
}

/// Sets the kind that is recorded next to the attributes, if it is known and they hold none.
fn set_kind<'a>(span: &mut Span<'a>, kind: Cow<'a, str>) {
    let is_known = ["TOOL", "LLM", "AGENT", "CHAIN"].iter().any(|known| kind.eq_ignore_ascii_case(known));
    if is_known && span.attributes.get(Attr::OpenInferenceKind).is_none() {
        span.attributes.push(Key::Known(Attr::OpenInferenceKind), Value::text(kind));
    }
}

/// Reads a duration and converts it to nanoseconds. It may be ISO 8601 (`PT1M2.5S`), or a number if its unit is known.
fn duration(json: &mut Json<'_>, nanos: bool, micros: bool) -> Read<Option<u64>> {
    if json.kind()? == Kind::String && !micros {
        return json.string().map(|text| nanoseconds_of_duration(&text));
    }
    let number = wire::count(json)?;
    Ok(if micros { number.map(|micros| micros.saturating_mul(1000)) } else { number.filter(|_| nanos) })
}

fn nanoseconds_of_duration(text: &str) -> Option<u64> {
    let mut rest = text.strip_prefix("PT")?;
    let mut seconds = 0.0;
    for (unit, length) in [('H', 3600.0), ('M', 60.0), ('S', 1.0)] {
        if let Some((number, after)) = rest.split_once(unit) {
            seconds += number.parse::<f64>().ok()? * length;
            rest = after;
        }
    }
    (rest.is_empty() && seconds < 1e9).then(|| wire::whole(seconds * 1e9)).flatten()
}

/// Reads the events of a span. Jaeger records the name of an event among its fields.
fn events<'a>(json: &mut Json<'a>) -> Read<Vec<SpanEvent<'a>>> {
    let mut events = Vec::new();
    json.list(|item| {
        if item.kind()? != Kind::Object {
            return item.skip();
        }
        let mut event = SpanEvent::default();
        item.object(fields!(key, value => {
            b"name" | b"Name" => event.name = wire::text(value)?.unwrap_or_default(),
            b"attributes" | b"Attributes" => event.attributes = wire::attributes(value)?,
            b"fields" if value.kind()? == Kind::List => {
                for (name, value) in wire::pairs(value)? {
                    if matches!(&*name, "event" | "name") && event.name.is_empty() {
                        event.name = Cow::Owned(value.as_str().unwrap_or_default().to_owned());
                    } else {
                        event.attributes.push_named(name, value);
                    }
                }
            }
        }))?;
        events.push(event);
        Ok(())
    })?;
    Ok(events)
}

/// Reads the tags of a Jaeger span, which hold its attributes, its status and its scope.
fn tags<'a>(json: &mut Json<'a>, span: &mut Span<'a>) -> Read<()> {
    for (name, value) in wire::pairs(json)? {
        let text = || Cow::Owned(value.as_str().unwrap_or_default().to_owned());
        match &*name {
            "otel.status_code" => span.status = Code::of_name(&text()),
            "otel.status_description" => span.message = text(),
            "otel.scope.name" | "otel.library.name" => span.scope = text(),
            "error" if span.status == Code::Unset => {
                if value.to_text().is_some_and(|text| text == "true") {
                    span.status = Code::Error;
                }
            }
            _ => span.attributes.push_named(name, value),
        }
    }
    Ok(())
}

/// Sets the parent of a Jaeger span from a reference of type `CHILD_OF` or without a type.
fn reference<'a>(json: &mut Json<'a>, span: &mut Span<'a>) -> Read<()> {
    let members = Members::try_read(json)?;
    if span.parent.is_none()
        && members.name("refType").is_none_or(|kind| kind == "CHILD_OF")
        && let Some(parent) = members.first(&["spanID", "spanId"])
    {
        span.parent = ident(&mut parent.json())?;
    }
    Ok(())
}

/// Reads a list of spans with their children. `trace` is the trace id of spans that have none.
pub(super) fn nested<'a>(
    trace: Option<&Cow<'a, str>>,
    spans: &mut Json<'a>,
    into: &mut Collection<'a>,
) -> Read<()> {
    objects(spans, into, |span, into| row(span, &Around { trace, ..Around::default() }, into))
}

/// Reads the traces of a Jaeger export.
pub(super) fn jaeger<'a>(json: &mut Json<'a>, into: &mut Collection<'a>) -> Read<()> {
    let around = Around { micros: true, ..Around::default() };
    objects(json, into, |trace, into| {
        trace.object(|key, value| {
            if key == b"spans" && value.kind()? == Kind::List {
                objects(value, into, |span, into| row(span, &around, into))?;
            }
            Ok(())
        })
    })
}

pub(super) fn log<'a>(json: &mut Json<'a>) -> Read<LogRecord<'a>> {
    let mut log = LogRecord::default();
    let mut seen = 0;
    json.object(fields!(key, value => {
        b"traceId" | b"trace_id" => log.trace_id = ident(value)?.unwrap_or_default(),
        b"spanId" | b"span_id" => log.span_id = ident(value)?.unwrap_or_default(),
        b"timeUnixNano" | b"time_unix_nano" => log.time = wire::time(value)?.unwrap_or_default(),
        b"observedTimeUnixNano" | b"observed_time_unix_nano" => {
            seen = wire::time(value)?.unwrap_or_default();
        }
        b"eventName" | b"event_name" => log.name = wire::text(value)?.unwrap_or_default(),
        b"body" => log.body = wire::any_value(value)?,
        b"attributes" => log.attributes = wire::attributes(value)?,
    }))?;
    if log.time == 0 {
        log.time = seen;
    }
    Ok(log)
}
