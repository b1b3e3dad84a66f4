//! OTLP as JSON: `resourceSpans` and `resourceLogs`, and Tempo's `batches`.

use std::borrow::Cow;

use super::SpanCollection;
use super::attributes::{Attributes, Value};
use super::model::{LogRecord, Record, Span, SpanEvent, id, is_remote};
use super::{resource, wire};
use crate::json::{Json, Kind, Raw, Read};

/// A list of resources with their spans or log records.
pub(super) fn resources<'a>(json: &mut Json<'a>, into: &mut SpanCollection<'a>) -> Read<()> {
    objects(json, into, |resource, into| {
        let mut is_known = false;
        let mut waiting: Vec<Raw<'a>> = Vec::new();
        into.resource = None;
        resource.object(|key, value| match key {
            b"resource" => {
                is_known = true;
                sender(value, into)
            }
            b"scopeSpans"
            | b"scope_spans"
            | b"instrumentationLibrarySpans"
            | b"ilSpans"
            | b"scopeLogs"
            | b"scope_logs"
            | b"instrumentationLibraryLogs" => {
                if is_known {
                    return objects(value, into, scope);
                }
                // The sender may still come, unless the input is cut off here: then this part is read now.
                let here = value.mark();
                let Ok(scopes) = value.raw() else {
                    value.back_to(here);
                    return objects(value, into, scope);
                };
                waiting.push(scopes);
                Ok(())
            }
            _ => value.skip(),
        })?;
        for scopes in waiting {
            objects(&mut scopes.json(), into, scope)?;
        }
        into.resource = None;
        Ok(())
    })
}

/// Reads the attributes of the sender of the spans that follow.
fn sender<'a>(json: &mut Json<'a>, into: &mut SpanCollection<'a>) -> Read<()> {
    if json.kind()? != Kind::Object {
        return json.skip();
    }
    json.object(|key, value| match key {
        b"attributes" if value.kind()? == Kind::List => value.list(|item| {
            if item.kind()? != Kind::Object {
                return item.skip();
            }
            let (mut name, mut text) = (None, Value::Null);
            item.object(|key, value| {
                match key {
                    b"key" => name = wire::text(value)?,
                    b"value" => text = wire::any_value(value)?,
                    _ => value.skip()?,
                }
                Ok(())
            })?;
            resource::add(&mut into.resource, &name.unwrap_or_default(), &text);
            Ok(())
        }),
        _ => value.skip(),
    })
}

/// Reads the objects of a list. A malformed object is skipped and reported.
fn objects<'a>(
    json: &mut Json<'a>,
    into: &mut SpanCollection<'a>,
    mut read: impl FnMut(&mut Json<'a>, &mut SpanCollection<'a>) -> Read<()>,
) -> Read<()> {
    if json.null()? {
        return Ok(());
    }
    json.list(|item| into.contained(item, &mut read))
}

fn scope<'a>(json: &mut Json<'a>, into: &mut SpanCollection<'a>) -> Read<()> {
    let mut name = None;
    let mut waiting: Vec<Raw<'a>> = Vec::new();
    json.object(|key, value| {
        match key {
            b"scope" | b"instrumentationLibrary" | b"instrumentation_scope" => {
                name = Some(scope_name(value)?);
            }
            b"spans" | b"logRecords" | b"log_records" | b"logs" => match &name {
                Some(name) => items(value, key == b"spans", name, into)?,
                // Its name may still follow.
                None => waiting.push(value.raw()?),
            },
            _ => value.skip()?,
        }
        Ok(())
    })?;
    let name = name.unwrap_or_default();
    for list in waiting {
        let spans = list.items().and_then(|items| items.first().copied());
        let spans =
            spans.is_some_and(|first| first.member("spanId").is_some() && first.member("name").is_some());
        items(&mut list.json(), spans, &name, into)?;
    }
    Ok(())
}

#[expect(clippy::ptr_arg, reason = "what is borrowed is borrowed again")]
fn items<'a>(
    json: &mut Json<'a>,
    spans: bool,
    scope: &Cow<'a, str>,
    into: &mut SpanCollection<'a>,
) -> Read<()> {
    objects(json, into, |item, into| {
        if spans {
            let mut read = span(item)?;
            read.scope.clone_from(scope);
            into.push_span(read);
        } else {
            into.push_log(log(item)?);
        }
        Ok(())
    })
}

fn scope_name<'a>(json: &mut Json<'a>) -> Read<Cow<'a, str>> {
    let mut name = None;
    if json.kind()? != Kind::Object {
        json.skip()?;
        return Ok(Cow::Borrowed(""));
    }
    json.object(|key, value| {
        match key {
            b"name" => name = wire::text(value)?,
            _ => value.skip()?,
        }
        Ok(())
    })?;
    Ok(name.unwrap_or_default())
}

fn span<'a>(json: &mut Json<'a>) -> Read<Span<'a>> {
    let mut span = Span::default();
    json.object(|key, value| {
        match key {
            b"traceId" | b"trace_id" => span.trace_id = ident(value)?.unwrap_or_default(),
            b"spanId" | b"span_id" => span.span_id = ident(value)?.unwrap_or_default(),
            b"parentSpanId" | b"parent_span_id" => span.parent = ident(value)?,
            b"flags" => span.is_parent_remote = is_remote(wire::count(value)?.unwrap_or_default()),
            b"name" => span.name = wire::text(value)?.unwrap_or_default(),
            b"startTimeUnixNano" | b"start_time_unix_nano" => {
                span.start = wire::time(value)?.unwrap_or_default();
            }
            b"endTimeUnixNano" | b"end_time_unix_nano" => {
                span.end = wire::time(value)?.filter(|end| *end != 0);
            }
            b"attributes" => span.attributes = wire::attributes(value)?,
            b"events" if value.kind()? == Kind::List => span.events = events(value)?,
            b"status" => (span.status, span.message) = wire::status(value)?,
            _ => value.skip()?,
        }
        Ok(())
    })?;
    Ok(span)
}

/// An id in its normalized spelling.
pub(super) fn ident<'a>(json: &mut Json<'a>) -> Read<Option<Cow<'a, str>>> {
    Ok(match json.kind()? {
        Kind::String | Kind::Number => id(json.ident()?),
        _ => {
            json.skip()?;
            None
        }
    })
}

/// The events of a span.
pub(super) fn events<'a>(json: &mut Json<'a>) -> Read<Vec<SpanEvent<'a>>> {
    let mut events = Vec::new();
    json.list(|item| {
        if item.kind()? != Kind::Object {
            return item.skip();
        }
        let mut event = SpanEvent::default();
        item.object(|key, value| {
            match key {
                b"name" | b"Name" => event.name = wire::text(value)?.unwrap_or_default(),
                b"attributes" | b"Attributes" => event.attributes = wire::attributes(value)?,
                _ => value.skip()?,
            }
            Ok(())
        })?;
        events.push(event);
        Ok(())
    })?;
    Ok(events)
}

fn log<'a>(json: &mut Json<'a>) -> Read<LogRecord<'a>> {
    let (mut trace_id, mut span_id, mut time, mut seen) = (None, None, None, None);
    let (mut name, mut body, mut attributes) = (None, Value::Null, Attributes::default());
    json.object(|key, value| {
        match key {
            b"traceId" | b"trace_id" => trace_id = ident(value)?,
            b"spanId" | b"span_id" => span_id = ident(value)?,
            b"timeUnixNano" | b"time_unix_nano" => time = wire::time(value)?,
            b"observedTimeUnixNano" | b"observed_time_unix_nano" => seen = wire::time(value)?,
            b"eventName" | b"event_name" => name = wire::text(value)?.filter(|name| !name.is_empty()),
            b"body" => body = wire::any_value(value)?,
            b"attributes" => attributes = wire::attributes(value)?,
            _ => value.skip()?,
        }
        Ok(())
    })?;
    Ok(log_record(trace_id, span_id, time.filter(|time| *time != 0).or(seen), name, body, attributes))
}

/// A log record whose name may be in its attributes.
pub(super) fn log_record<'a>(
    trace_id: Option<Cow<'a, str>>,
    span_id: Option<Cow<'a, str>>,
    time: Option<u64>,
    name: Option<Cow<'a, str>>,
    body: Value<'a>,
    attributes: Attributes<'a>,
) -> LogRecord<'a> {
    let name = match name {
        Some(name) => name,
        None => Cow::Owned(attributes.name("event.name").unwrap_or_default().to_owned()),
    };
    LogRecord {
        trace_id: trace_id.unwrap_or_default(),
        span_id: span_id.unwrap_or_default(),
        time: time.unwrap_or_default(),
        record: Record { name, body, attributes },
    }
}
