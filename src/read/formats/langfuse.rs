//! Traces of Langfuse, as its API and its exports give them: observations of models, tools and what is around them.

use std::borrow::Cow;

use super::otel::observed::{self, Observed, sole};
use crate::json::{Json, Kind, Raw, Read};
use crate::read::Format;
use crate::read::common;
use crate::read::document::Document;
use crate::read::format::{DocumentReader, Entry, Reader};
use crate::read::runs::Runs;
use crate::read::sample::Members;
use crate::read::time;

pub(in crate::read) const FORMAT: Entry = Entry {
    format: Format::Langfuse,
    about: "traces of Langfuse: of its API, or exported",
    decisive: "observations with `traceId`, `startTime` and a `type` such as `GENERATION`, alone or under `observations` or `data`",
    reader: Reader::Document(DocumentReader { claims, read, is_generic: false }),
};

fn claims(document: &Document<'_>) -> bool {
    match document {
        Document::Object(members) => held_by(members).is_some(),
        Document::List(items) => items.first().is_some_and(|item| is_observation(*item) || holds(*item)),
        Document::Lines(lines) => lines.iter().any(|line| is_observation(*line)),
    }
}

fn is_observation(item: Raw<'_>) -> bool {
    if item.kind() != Kind::Object {
        return false;
    }
    let observation = Members::of(&mut item.json());
    let kind = observation.name("type");
    let is_type = |kind: Cow<'_, str>| {
        !kind.is_empty() && kind.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
    };
    kind.is_some_and(is_type)
        && ["traceId", "startTime", "id"].iter().all(|key| observation.is(key, Kind::String))
}

fn holds(item: Raw<'_>) -> bool {
    item.kind() == Kind::Object && held_by(&Members::of(&mut item.json())).is_some()
}

/// The list of observations that an object holds: a trace of the API, one with its trace beside it, or a page.
fn held_by<'a>(members: &Members<'a>) -> Option<Raw<'a>> {
    let list = |key| members.get(key).filter(|list: &Raw<'_>| list.kind() == Kind::List);
    ["observations", "data"]
        .into_iter()
        .filter_map(list)
        .find(|list| list.items().and_then(|items| items.first().copied()).is_some_and(is_observation))
}

fn read(document: &Document<'_>, runs: &mut Runs<'_>) -> Read<()> {
    let mut spans = Vec::new();
    let mut others = 0;
    match document {
        Document::Object(members) => take(members, &mut spans, &mut others)?,
        Document::List(_) | Document::Lines(_) => {
            for item in document.items() {
                if is_observation(*item) {
                    spans.push(span(&Members::of(&mut item.json()), None)?);
                } else if holds(*item) {
                    take(&Members::of(&mut item.json()), &mut spans, &mut others)?;
                } else {
                    others += 1;
                }
            }
        }
    }
    runs.pass_over("items that are no observations", others);
    observed::give(spans, runs);
    Ok(())
}

fn take<'a>(members: &Members<'a>, spans: &mut Vec<Observed<'a>>, others: &mut u64) -> Read<()> {
    let trace = members.get("trace").filter(|trace| trace.kind() == Kind::Object);
    let session = match trace {
        Some(trace) => trace.member("sessionId").and_then(common::name),
        None => members.name("sessionId"),
    };
    for item in held_by(members).and_then(Raw::items).unwrap_or_default() {
        if is_observation(item) {
            spans.push(span(&Members::of(&mut item.json()), session.clone())?);
        } else {
            *others += 1;
        }
    }
    Ok(())
}

/// The span that an observation is. Those that were sent as spans of OpenTelemetry keep their attributes.
fn span<'a>(observation: &Members<'a>, session: Option<Cow<'a, str>>) -> Read<Observed<'a>> {
    let name = |key: &str| observation.name(key);
    let moment = |key: &str| observation.get(key).and_then(time::of_string);
    let parent = name("parentObservationId");
    let mut span = Observed::new(name("traceId").unwrap_or_default(), name("id").unwrap_or_default(), parent);
    span.name(name("name").unwrap_or_default());
    span.lasted(moment("startTime"), moment("endTime"));
    if name("level").is_some_and(|level| level == "ERROR") {
        span.ended(true, name("statusMessage"));
    }
    let metadata = observation.get("metadata");
    let text = metadata.and_then(Raw::string).filter(|text| Json::new(text.as_bytes()).check().is_ok());
    let parsed = text.as_ref().map(|text| Raw::over(text.as_bytes(), 0)).or(metadata);
    if let Some(attributes) = parsed.and_then(|metadata| metadata.member("attributes")) {
        span.attributes(attributes)?;
    }
    span.text("openinference.span.kind", kind(name("type").as_deref()).map(Cow::Borrowed));
    span.text("session.id", session);
    span.value("metadata", metadata.filter(|metadata| metadata.kind() == Kind::Object))?;
    if !span.has(&["input.value", "gen_ai.input.messages"]) {
        let input = observation.get("input");
        let arguments =
            input.and_then(|input| sole(input, "input")).filter(|inner| inner.kind() == Kind::Object);
        span.value("input.value", arguments.or(input))?;
    }
    if !span.has(&["output.value", "gen_ai.output.messages"]) {
        span.value("output.value", observation.get("output"))?;
    }
    span.text("llm.model_name", name("model"));
    let usage = observation.get("usageDetails").or_else(|| observation.get("usage"));
    let count = |keys: [&str; 2], flat: &str| {
        let within = keys.iter().find_map(|key| usage?.member(key)?.integer());
        within.or_else(|| observation.get(flat)?.integer()).and_then(|count| u64::try_from(count).ok())
    };
    let (prompt, completion) = (
        count(["input", "promptTokens"], "inputUsage"),
        count(["output", "completionTokens"], "outputUsage"),
    );
    span.count("llm.token_count.prompt", prompt.filter(|count| *count > 0));
    span.count("llm.token_count.completion", completion.filter(|count| *count > 0));
    Ok(span)
}

/// The kind of a span by the type of an observation. That of a `SPAN` shows in its attributes or its name.
fn kind(kind: Option<&str>) -> Option<&'static str> {
    Some(match kind? {
        "GENERATION" => "LLM",
        "TOOL" => "TOOL",
        "AGENT" => "AGENT",
        "CHAIN" => "CHAIN",
        _ => return None,
    })
}
