//! Opik traces: spans as its API and exports list them.

use super::otel::observed::{self, Observed, sole};
use super::prelude::*;

pub(super) const FORMAT: Definition =
    Definition { signature: &[Shape::Under(&LISTS, SPAN)], reader: Reader::Fallible(read) };

const LISTS: [&str; 2] = ["content", "spans"];

const SPAN: Mark = All(&[
    Is(Kind::String, &["id", "trace_id", "start_time"]),
    Any(&[Has(&["parent_span_id"]), Has(&["name", "input"])]),
    Says("type", &["general", "tool", "llm", "guardrail"]),
]);

fn read(document: &Document<'_>, runs: &mut Runs<'_>) -> Read<()> {
    let spans = fitting(&SPAN, objects(document, &LISTS), "items that are not spans", runs);
    observed::give(spans.iter().map(span), runs)
}

fn span<'a>(members: &Members<'a>) -> Read<Observed<'a>> {
    let name = |key: &str| members.name(key);
    let own = |key: &str| name(key).unwrap_or_default();
    let mut span = Observed::new(own("trace_id"), own("id"), name("parent_span_id"));
    span.name(own("name"));
    span.set_times(members.time("start_time"), members.time("end_time"));
    if members.present("error_info").is_some() {
        span.ended(true, members.object("error_info").name("message"));
    }
    span.kind(name("type"));
    let output = members.get("output");
    let answer = output.and_then(|output| sole(output, "output"));
    span.value("input.value", members.get("input"))?;
    span.value("output.value", answer.or(output))?;
    let usage = members.usage("usage").unwrap_or_default();
    span.used(name("model"), usage.input_tokens, usage.output_tokens);
    Ok(span)
}
