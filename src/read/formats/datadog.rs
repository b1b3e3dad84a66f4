//! Spans of Datadog's LLM Observability, as its API lists them.

use super::otel::observed::{self, Observed};
use super::prelude::*;

pub(super) const FORMAT: Definition =
    Definition { signature: &[Shape::Under(&["data"], SPAN)], reader: Reader::Fallible(read) };

const SPAN: Mark = In("attributes", &Is(Kind::String, &["trace_id", "span_id", "span_kind", "name"]));

fn read(document: &Document<'_>, runs: &mut Runs<'_>) -> Read<()> {
    let items = fitting(&SPAN, objects(document, &["data"]), "items that are not spans", runs);
    observed::give(items.iter().map(|item| span(&item.object("attributes"))), runs)
}

fn span<'a>(members: &Members<'a>) -> Read<Observed<'a>> {
    let own = |key: &str| members.name(key).unwrap_or_default();
    let parent = members.name("parent_id").filter(|parent| parent != "undefined");
    let mut span = Observed::new(own("trace_id"), own("span_id"), parent);
    span.name(own("name"));
    let start = members.count("start_ns").or_else(|| members.get("start_ms").and_then(time::of_milliseconds));
    let duration = members.get("duration").and_then(time::of_nanoseconds);
    span.set_times(start, start.zip(duration).map(|(start, duration)| start.saturating_add(duration)));
    match members.name("status").as_deref() {
        Some("error") => span.ended(true, None),
        Some("ok") => span.ended(false, None),
        _ => {}
    }
    span.kind(members.name("span_kind"));
    let said = |key: &str| {
        let value = members.get(key)?;
        Some(value.member("value").or_else(|| value.member("messages")).unwrap_or(value))
    };
    span.value("input.value", said("input"))?;
    span.value("output.value", said("output"))?;
    let metrics = members.object("metrics");
    span.used(members.name("model_name"), metrics.count("input_tokens"), metrics.count("output_tokens"));
    Ok(span)
}
