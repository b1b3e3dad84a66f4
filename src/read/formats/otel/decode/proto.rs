//! OTLP as protobuf: bodies of export requests, with the types of the official crate.

use std::borrow::Cow;

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::logs::v1 as logs;
use opentelemetry_proto::tonic::trace::v1 as trace;
use prost::Message;
use serde_json::Number;

use super::model::{
    Attributes, Code, Collection, Data, Key, LogRecord, Span, SpanEvent, id_of_bytes, is_remote, resource,
};
use crate::error::{Error, ErrorKind, Result};

/// Reads the body of an export request as spans or, if that fails, as log records.
pub(super) fn take(bytes: &[u8], into: &mut Collection<'_>) -> Result<()> {
    let spans = match ExportTraceServiceRequest::decode(bytes) {
        Ok(request) => {
            // A request with log records may decode as spans, but without valid ids.
            let is_own = |span: &trace::Span| span.trace_id.len() == 16 && span.span_id.len() == 8;
            let mut spans = request
                .resource_spans
                .iter()
                .flat_map(|resource| &resource.scope_spans)
                .flat_map(|scope| &scope.spans)
                .peekable();
            if spans.peek().is_none() || spans.any(is_own) {
                take_spans(request, into);
                return Ok(());
            }
            Error::new(ErrorKind::Format, "expected spans with ids of 16 and 8 bytes, found none")
        }
        Err(error) => {
            Error::new(ErrorKind::Syntax, format!("the request with spans cannot be read: {error}"))
        }
    };
    match ExportLogsServiceRequest::decode(bytes) {
        Ok(request) => {
            take_logs(request, into);
            Ok(())
        }
        Err(_) => Err(spans),
    }
}

fn take_spans(request: ExportTraceServiceRequest, into: &mut Collection<'_>) {
    for sender in request.resource_spans {
        into.resource = None;
        for attribute in sender.resource.map(|resource| resource.attributes).unwrap_or_default() {
            resource::add(&mut into.resource, &attribute.key, &value(attribute.value).into());
        }
        for scope in sender.scope_spans {
            let name = scope.scope.map(|scope| scope.name).unwrap_or_default();
            for found in scope.spans {
                let mut read = span(found);
                read.scope = Cow::Owned(name.clone());
                into.push_span(read);
            }
        }
    }
    into.resource = None;
}

fn span(span: trace::Span) -> Span<'static> {
    let status = span.status.unwrap_or_default();
    Span {
        trace_id: id_of_bytes(&span.trace_id).unwrap_or_default().into(),
        span_id: id_of_bytes(&span.span_id).unwrap_or_default().into(),
        parent: id_of_bytes(&span.parent_span_id).map(Cow::Owned),
        is_parent_remote: is_remote(span.flags.into()),
        name: Cow::Owned(span.name),
        scope: Cow::Borrowed(""),
        start: span.start_time_unix_nano,
        end: (span.end_time_unix_nano != 0).then_some(span.end_time_unix_nano),
        status: Code::of_number(u64::try_from(status.code).unwrap_or_default()),
        message: Cow::Owned(status.message),
        attributes: attributes(span.attributes),
        events: span
            .events
            .into_iter()
            .map(|event| SpanEvent { name: Cow::Owned(event.name), attributes: attributes(event.attributes) })
            .collect(),
        resource: None,
    }
}

fn attributes(list: Vec<KeyValue>) -> Attributes<'static> {
    let mut found = Attributes::default();
    for attribute in list {
        if let Some(key) = Key::of(Cow::Owned(attribute.key)) {
            found.push(key, value(attribute.value).into());
        }
    }
    found
}

/// Converts a value. The decoder limits the depth, and thus the recursion.
fn value(value: Option<AnyValue>) -> Data<'static> {
    match value.and_then(|value| value.value) {
        Some(Any::StringValue(text)) => Data::Text(text.into()),
        Some(Any::BoolValue(boolean)) => Data::Bool(boolean),
        Some(Any::IntValue(integer)) => Data::Number(integer.into()),
        Some(Any::DoubleValue(float)) => Number::from_f64(float).map_or(Data::Null, Data::Number),
        Some(Any::ArrayValue(list)) => {
            Data::List(list.values.into_iter().map(|item| self::value(Some(item))).collect())
        }
        Some(Any::KvlistValue(list)) => Data::Object(
            list.values.into_iter().map(|item| (item.key.into(), self::value(item.value))).collect(),
        ),
        Some(Any::BytesValue(bytes)) => Data::Text(String::from_utf8_lossy(&bytes).into_owned().into()),
        _ => Data::Null,
    }
}

fn take_logs(request: ExportLogsServiceRequest, into: &mut Collection<'_>) {
    let scopes = request.resource_logs.into_iter().flat_map(|resource| resource.scope_logs);
    for record in scopes.flat_map(|scope| scope.log_records) {
        into.push_log(log(record));
    }
}

fn log(record: logs::LogRecord) -> LogRecord<'static> {
    let time = [record.time_unix_nano, record.observed_time_unix_nano].into_iter().find(|time| *time != 0);
    LogRecord {
        trace_id: id_of_bytes(&record.trace_id).unwrap_or_default().into(),
        span_id: id_of_bytes(&record.span_id).unwrap_or_default().into(),
        time: time.unwrap_or_default(),
        name: Cow::Owned(record.event_name),
        body: value(record.body).into(),
        attributes: attributes(record.attributes),
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::Attr;
    use super::*;

    #[test]
    fn requests_are_read_and_others_are_errors() {
        let text = |text: &str| Some(AnyValue { value: Some(Any::StringValue(text.into())) });
        let id = KeyValue { key: "gen_ai.tool.call.id".into(), value: text("c"), ..KeyValue::default() };
        let span = trace::Span {
            trace_id: vec![1; 16],
            span_id: vec![2; 8],
            start_time_unix_nano: 5,
            end_time_unix_nano: 9,
            attributes: vec![id],
            ..trace::Span::default()
        };
        let scope_spans = vec![trace::ScopeSpans { spans: vec![span], ..trace::ScopeSpans::default() }];
        let resource = trace::ResourceSpans { scope_spans, ..trace::ResourceSpans::default() };
        let spans = ExportTraceServiceRequest { resource_spans: vec![resource] }.encode_to_vec();
        let log = logs::LogRecord {
            trace_id: vec![1; 16],
            observed_time_unix_nano: 7,
            event_name: "gen_ai.choice".into(),
            body: text("so"),
            ..logs::LogRecord::default()
        };
        let scope_logs = vec![logs::ScopeLogs { log_records: vec![log], ..logs::ScopeLogs::default() }];
        let resource = logs::ResourceLogs { scope_logs, ..logs::ResourceLogs::default() };
        let records = ExportLogsServiceRequest { resource_logs: vec![resource] }.encode_to_vec();
        let mut collection = Collection::default();
        for bytes in [&spans, &records] {
            assert!(super::super::take_protobuf(bytes, &mut collection).unwrap().is_ok());
        }
        let bundle = collection.traces.values().next().unwrap();
        assert_eq!((bundle.spans[0].start, bundle.spans[0].end, bundle.logs[0].time), (5, Some(9), 7));
        assert_eq!(bundle.spans[0].attributes.name(Attr::ToolCallId), Some("c"));
        assert!(take(&spans[..spans.len() - 3], &mut collection).is_err());
    }
}
