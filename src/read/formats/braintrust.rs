//! Braintrust logs: rows of spans. A row of type `tool` is a call.

use super::otel::observed::{self, Observed};
use super::prelude::*;

pub(super) const FORMAT: Definition =
    Definition { signature: &[Shape::Under(&LISTS, ROW)], reader: Reader::Fallible(read) };

const LISTS: [&str; 3] = ["events", "data", "rows"];

const ROW: Mark = All(&[
    Is(Kind::String, &["span_id", "root_span_id"]),
    Any(&[
        Is(Kind::Object, &["span_attributes"]),
        All(&[Is(Kind::Null, &["span_attributes"]), Has(&["_xact_id"])]),
    ]),
]);

fn read(document: &Document<'_>, runs: &mut Runs<'_>) -> Read<()> {
    let rows = fitting(&ROW, objects(document, &LISTS), "items that are not spans", runs);
    observed::give(rows.iter().map(span), runs)
}

fn span<'a>(row: &Members<'a>) -> Read<Observed<'a>> {
    let (attributes, metrics) = (row.object("span_attributes"), row.object("metrics"));
    let own = |key: &str| row.name(key).unwrap_or_default();
    let parent = row.list("span_parents").first().and_then(|parent| common::name(*parent));
    let mut span = Observed::new(own("root_span_id"), own("span_id"), parent);
    span.name(attributes.name("name").unwrap_or_default());
    let moment = |key: &str| metrics.get(key).and_then(time::of_seconds);
    span.set_times(moment("start").or_else(|| row.time("created")), moment("end"));
    let error = row.present("error").filter(|error| error.string().is_none_or(|text| !text.is_empty()));
    if let Some(error) = error {
        span.ended(true, Some(error.string().unwrap_or_else(|| error.spelling())));
    }
    let kind = attributes.name("type");
    let output = row.present("output");
    // What a failed tool printed says less than its error.
    let is_told = |error: &Raw<'_>| error.kind() == Kind::String || output.is_none();
    let told = error.filter(|error| kind.as_deref() == Some("tool") && is_told(error));
    span.kind(kind);
    span.value("input.value", row.get("input"))?;
    span.value("output.value", told.or(output))?;
    span.used(
        row.object("metadata").name("model"),
        metrics.count("prompt_tokens"),
        metrics.count("completion_tokens"),
    );
    Ok(span)
}
