//! Tests the attributes and encodings of evaluation events.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a wrong shape fails its test")]

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::{Value, json};
use wrongturn::{
    Action, Detector, Metadata, Monitor, Status, Trace, Verdict, default_detectors,
    export::{EventContext, EventLabel, otlp_json},
    live::{Update, UpdateKind},
    trace::{Actor, SpanId, StepInput, Usage},
};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

fn span(number: u64) -> SpanId {
    SpanId::from_bytes(number.to_be_bytes()).unwrap()
}

/// Returns a run of five equal calls, each in a span of its own.
fn trace() -> Trace {
    let mut builder = Trace::builder();
    for number in 0..5 {
        let usage = Usage { duration_ns: Some(10), input_tokens: Some(7), ..Usage::default() };
        let action = Action::new("look").answered(Status::Ok, "a wall");
        let step = StepInput::action(Actor::Agent, action).turn(number).span(span(number + 1)).usage(usage);
        builder.push(step).unwrap();
    }
    builder.build().unwrap()
}

fn context() -> EventContext {
    let mut metadata = Metadata::default();
    metadata.agent = Some("clerk".into());
    metadata.labels.insert("conversation".into(), "c-1".into());
    metadata.labels.insert("span_id".into(), span(0xabc).to_string());
    EventContext::new(&format!("{TRACE}/sub"), &metadata).observed(1_700_000_000_000_000_000)
}

fn verdicts() -> Vec<(Cow<'static, str>, Verdict)> {
    default_detectors().iter().map(|detector| (detector.id(), detector.detect(&trace()))).collect()
}

fn records(line: &str) -> Vec<Value> {
    let request: Value = serde_json::from_str(line).unwrap();
    let scope = &request["resourceLogs"][0]["scopeLogs"][0];
    assert_eq!(scope["scope"]["name"], "wrongturn");
    scope["logRecords"].as_array().unwrap().clone()
}

/// Returns the OTLP value of an attribute.
fn attribute<'r>(record: &'r Value, name: &str) -> Option<&'r Value> {
    let attributes = record["attributes"].as_array().unwrap();
    attributes.iter().find(|attribute| attribute["key"] == name).map(|attribute| &attribute["value"])
}

/// A finding belongs to the span of its last step, and a verdict without findings to that of the agent.
#[test]
fn events_of_verdicts_are_as_pinned() {
    let mut text = String::new();
    for mut record in records(&otlp_json(&context().of_verdicts(&verdicts()))) {
        let attributes = record.as_object_mut().unwrap().remove("attributes").unwrap();
        writeln!(text, "{record}").unwrap();
        for attribute in attributes.as_array().unwrap() {
            writeln!(text, "  {}: {}", attribute["key"], attribute["value"]).unwrap();
        }
    }
    insta::assert_snapshot!("events", text);
}

#[test]
fn malformed_ids_are_left_out() {
    let context = EventContext::new("support-17", &Metadata::default());
    let record = &records(&otlp_json(&context.of_verdicts(&verdicts())))[0];
    for member in ["traceId", "spanId", "timeUnixNano"] {
        assert_eq!(record.get(member), None, "{member}");
    }
    assert_eq!(attribute(record, "wrongturn.trace"), Some(&json!({"stringValue": "support-17"})));
    // There are too many digits for an id.
    assert_eq!(EventContext::new(&format!("{TRACE}0"), &Metadata::default()).trace, None);
}

#[test]
fn a_judgement_that_was_stopped_says_so() {
    let mut monitor = Monitor::new(&default_detectors()).unwrap().with_memory_limit(1);
    for step in trace().steps() {
        monitor.observe_step(&step);
    }
    for (detector, verdict) in monitor.finish() {
        let [event] = &context().of_verdict(&detector, &verdict)[..] else { continue };
        assert_eq!(event.label, EventLabel::NotApplicable);
        let line = otlp_json(std::slice::from_ref(event));
        assert_eq!(
            attribute(&records(&line)[0], "error.type"),
            Some(&json!({"stringValue": "memory_limit"})),
            "{detector}: {verdict:?}"
        );
    }
}

#[test]
fn updates_are_events_of_one_id() {
    let mut monitor = Monitor::new(&default_detectors()).unwrap();
    let mut updates: Vec<Update> = Vec::new();
    for step in trace().steps() {
        monitor.observe_step(&step);
        updates.extend(monitor.updates());
    }
    updates.extend(monitor.conclude().updates);
    updates.retain(|update| update.finding.detector == "loop");
    let kinds: Vec<UpdateKind> = updates.iter().map(|update| update.kind).collect();
    assert_eq!(kinds, [UpdateKind::Opened, UpdateKind::Closed]);
    for update in &updates {
        let record = &records(&otlp_json(&[context().of_update(update)]))[0];
        assert_eq!(attribute(record, "wrongturn.finding.id"), Some(&json!({"stringValue": "loop:2"})));
        assert_eq!(attribute(record, "wrongturn.update"), Some(&json!({"stringValue": update.kind.name()})));
    }
}

#[test]
fn evidence_that_is_too_long_is_counted() {
    let mut builder = Trace::builder();
    for number in 0..1000 {
        builder.call("book", &json!({"n": number}), Status::Error, &number.to_string()).unwrap();
    }
    let recovery =
        wrongturn::ToolErrorRecovery::new(wrongturn::detect::ToolErrorRecoveryConfig::published()).unwrap();
    let verdict = recovery.detect(&builder.build().unwrap());
    let record = &records(&otlp_json(&context().of_verdict("tool_error_recovery", &verdict)))[0];
    assert_eq!(attribute(record, "wrongturn.evidence"), None);
    let bytes = attribute(record, "wrongturn.evidence.bytes").unwrap()["intValue"].as_str().unwrap();
    assert!(bytes.parse::<u64>().unwrap() > 32 << 10);
}

/// The types of `opentelemetry-proto` have the same content as the JSON.
#[cfg(feature = "otlp")]
#[test]
fn both_encodings_agree() {
    use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
    use wrongturn::trace::TraceId;
    let events = context().of_verdicts(&verdicts());
    let request = wrongturn::export::otlp_logs(&events);
    let ids = |record: &Value| {
        let member = |name: &str| record[name].as_str().unwrap().to_owned();
        (member("traceId"), member("spanId"))
    };
    let written = records(&otlp_json(&events));
    let sent = &request.resource_logs[0].scope_logs[0].log_records;
    assert_eq!(sent.len(), written.len());
    for (sent, written) in sent.iter().zip(&written) {
        let trace = TraceId::from_bytes(sent.trace_id.as_slice().try_into().unwrap()).unwrap();
        let span = SpanId::from_bytes(sent.span_id.as_slice().try_into().unwrap()).unwrap();
        assert_eq!((trace.to_string(), span.to_string()), ids(written));
        assert_eq!(sent.severity_number, written["severityNumber"]);
        for attribute in &sent.attributes {
            let json = self::attribute(written, &attribute.key).unwrap();
            match attribute.value.as_ref().unwrap().value.as_ref().unwrap() {
                Any::StringValue(text) => assert_eq!(json["stringValue"], *text),
                Any::IntValue(count) => assert_eq!(json["intValue"], count.to_string()),
                Any::DoubleValue(number) => assert_eq!(json["doubleValue"], *number),
                Any::ArrayValue(list) => {
                    assert_eq!(json["arrayValue"]["values"].as_array().unwrap().len(), list.values.len());
                }
                other => unreachable!("{other:?}"),
            }
        }
        assert_eq!(sent.attributes.len(), written["attributes"].as_array().unwrap().len());
    }
}

#[test]
fn events_are_grouped_by_the_service_that_sent_the_trace() {
    let events = |service: Option<&str>| {
        let mut metadata = Metadata::default();
        let label = service.map(|service| ("resource.service.name".to_owned(), service.to_owned()));
        metadata.labels.extend(label);
        EventContext::new(TRACE, &metadata).of_verdicts(&verdicts())
    };
    let all = [events(Some("shop")), events(Some("shop")), events(None)].concat();
    let request: Value = serde_json::from_str(&otlp_json(&all)).unwrap();
    let senders: Vec<_> = request["resourceLogs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|logs| {
            (&logs["resource"]["attributes"][0]["value"]["stringValue"], &logs["scopeLogs"][0]["logRecords"])
        })
        .map(|(service, records)| (service.as_str().unwrap(), records.as_array().unwrap().len()))
        .collect();
    let one = events(None).len();
    assert_eq!(senders, [("shop", 2 * one), ("wrongturn", one)]);
}
