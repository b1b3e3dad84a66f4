//! MLflow traces, whose spans keep their type, inputs and outputs in attributes named `mlflow.…`.

use super::otel::observed::{self, Observed};
use super::prelude::*;

pub(super) const FORMAT: Definition =
    Definition { signature: &[Shape::Object(TRACE), Shape::List(TRACE)], reader: Reader::Fallible(read) };

const TRACE: Mark =
    Test("`info`, and `spans` under `data` with attributes `mlflow.…`", |object| spans(object).is_some());

fn spans<'a>(members: &Members<'a>) -> Option<Vec<Raw<'a>>> {
    let spans = members.get("data")?.member("spans")?.items()?;
    let is_own = |span: &Raw<'_>| {
        let attributes = span.member("attributes").map(Members::from).unwrap_or_default();
        attributes.keys().any(|key| key.starts_with("mlflow."))
    };
    (members.is("info", Kind::Object) && spans.first().is_some_and(is_own)).then_some(spans)
}

fn read(document: &Document<'_>, runs: &mut Runs<'_>) -> Read<()> {
    let mut found = Vec::new();
    for object in document.each() {
        match spans(&object) {
            Some(spans) => found.extend(spans),
            None => runs.pass_over("items that are not traces", 1),
        }
    }
    observed::give(found.into_iter().map(|span| self::span(&Members::from(span))), runs)
}

/// Converts a span. In version 2 it has a `context`; version 3 names its members as OTLP does.
fn span<'a>(members: &Members<'a>) -> Read<Observed<'a>> {
    let context = members.object("context");
    let name = |keys: [&str; 2]| keys.iter().find_map(|key| members.name(key));
    let moment = |keys: [&str; 2]| {
        let time = members.first(&keys).and_then(common::ident);
        time.and_then(|time| time.parse().ok())
    };
    let own = |id: &str| members.name(id).or_else(|| context.name(id)).unwrap_or_default();
    let mut span = Observed::new(own("trace_id"), own("span_id"), name(["parent_id", "parent_span_id"]));
    span.name(members.name("name").unwrap_or_default());
    span.set_times(
        moment(["start_time", "start_time_unix_nano"]),
        moment(["end_time", "end_time_unix_nano"]),
    );
    let status = members.object("status");
    let code = members.name("status_code").or_else(|| status.name("code")).unwrap_or_default();
    match code.rsplit('_').next() {
        Some("ERROR") => span.ended(true, members.name("status_message").or_else(|| status.name("message"))),
        Some("OK") => span.ended(false, None),
        _ => {}
    }
    let Some(attributes) = members.get("attributes") else { return Ok(span) };
    span.attributes(attributes)?;
    let kind = attributes.member("mlflow.spanType").and_then(text);
    span.kind(kind.map(|kind| if kind == "CHAT_MODEL" { Cow::Borrowed("LLM") } else { kind }));
    span.text("input.value", attributes.member("mlflow.spanInputs").and_then(text));
    span.text("output.value", attributes.member("mlflow.spanOutputs").and_then(text));
    if let Some(usage) = attributes.member("mlflow.chat.tokenUsage").and_then(text) {
        let usage = tokens::usage(Raw::over(usage.as_bytes(), 0)).unwrap_or_default();
        span.used(None, usage.input_tokens, usage.output_tokens);
    }
    Ok(span)
}

/// Returns the text of an attribute, unwrapping a string that holds a JSON string. Other values stay JSON,
/// except null, which has no text.
fn text(value: Raw<'_>) -> Option<Cow<'_, str>> {
    let Some(outer) = value.string() else {
        return (value.kind() != Kind::Null).then(|| value.spelling());
    };
    if outer.starts_with('"') && Json::new(outer.as_bytes()).check().is_ok() {
        return Raw::over(outer.as_bytes(), 0).string().map(|inner| Cow::Owned(inner.into_owned()));
    }
    Some(outer)
}
