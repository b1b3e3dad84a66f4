//! Mastra: traces as its server returns them. A tool span is a call with its result.

use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Under(&["spans"], SPAN), Shape::Object(In("trace", &Holds("spans", &SPAN)))],
    reader: Reader::Document(read),
};

const SPAN: Mark = All(&[
    Says(
        "spanType",
        &["agent_run", "model_*", "llm_*", "*tool_call", "workflow_*", "processor_run", "generic"],
    ),
    Has(&["traceId", "spanId", "startedAt"]),
]);

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    let mut traces = Recordings::of_agent("mastra");
    let items = match document {
        Document::Object(members) if members.is("trace", Kind::Object) => {
            members.object("trace").list("spans")
        }
        document => elements(document, &["spans"]),
    };
    let items = items.into_iter().map(Members::from);
    let mut spans = fitting(&SPAN, items, "objects that are not spans", runs);
    spans.sort_by_key(|span| span.time("startedAt"));
    for span in &spans {
        let run = traces.run(span.name("traceId"));
        let (start, attributes) = (span.time("startedAt"), span.object("attributes"));
        match span.name("spanType").as_deref() {
            Some(kind) if kind.ends_with("tool_call") => {
                let name = ["entityName", "entityId", "name"].into_iter().find_map(|key| span.name(key));
                let call = run.call(None, name, span.get("input"));
                run.set_times(call, start, span.time("endedAt"));
                let error = span.present("error");
                let failed = error.is_some() || attributes.flag("success") == Some(false);
                let message = error.map(|error| error.member("message").unwrap_or(error));
                let observed = message.or_else(|| span.present("output"));
                let is_over = span.present("endedAt").is_some() || observed.is_some();
                run.answer_call(call, observed.and_then(words::result), Outcome::of_span(failed, is_over));
            }
            // An agent run with a parent span is part of a call, so its input is not the user's.
            Some("agent_run") if span.present("parentSpanId").is_none() => {
                run.turn(start);
                run.say(Actor::User, span.get("input").and_then(asked));
            }
            Some("model_generation" | "llm_generation") => run.model(attributes.name("model")),
            Some("model_step") => {
                run.turn(start);
                run.set_usage(attributes.usage("usage"));
                run.say(Actor::Agent, span.object("output").text("text"));
            }
            _ => {}
        }
    }
    traces.give(runs);
}

/// Returns the user's request: a string, or the last message of a list.
fn asked(input: Raw<'_>) -> Option<TextCow<'_>> {
    let messages = input.items().or_else(|| input.member("messages")?.items());
    match messages.and_then(|messages| messages.last().copied()) {
        Some(last) => words::text(last.member("content")?),
        None => words::text(input),
    }
}
