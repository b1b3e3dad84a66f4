//! Junie sessions (`~/.junie/sessions/<session>/events.jsonl`): events, some of which show or update a block of a
//! session. The last event of a block counts.

use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Items(All(&[
        Says("kind", &["SessionA2uxEvent"]),
        In("event", &In("agentEvent", &Is(Kind::String, &["kind"]))),
    ]))],
    reader: Reader::Document(read),
};

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    let mut run = Recording::of_agent("junie");
    let mut blocks = Ordered::default();
    for (number, line) in document.each().enumerate() {
        let event = line.object("event").object("agentEvent");
        match (event.ident("stepId"), line.name("kind").as_deref()) {
            (None, Some("TaskState")) => {
                run.metadata.termination = line.name("state").map(Cow::into_owned);
            }
            // Other events have no place of their own.
            (step, _) => {
                let number = step.is_none().then_some(number);
                let time = line.get("timestampMs").and_then(time::of_milliseconds);
                let event = if event.has("kind") { event } else { line };
                blocks.get((step, number), |_| (Members::default(), time)).0 = event;
            }
        }
    }
    for (event, time) in blocks.into_values() {
        block(&event, time, &mut run);
    }
    run.give(runs);
}

/// Adds a block or another event. A block with a status is a call; its kind is its tool unless it names one.
fn block<'a>(event: &Members<'a>, time: Option<u64>, run: &mut Recording<'a>) {
    let kind = event.name("kind").unwrap_or_default();
    match (&*kind, kind.strip_suffix("BlockUpdatedEvent"), event.name("status")) {
        (_, Some(tool), Some(status)) => {
            run.turn_of_call(time);
            let name = event.name("toolName").unwrap_or_else(|| tool.to_owned().into());
            let input = event.get("input").map(common::arguments);
            let arguments =
                input.or_else(|| event.whole().map(|event| common::arguments_without(event, is_aside)));
            let call = Call::new(0, event.ident("stepId"), name).with(arguments.unwrap_or(Content::Absent));
            let call = run.add(call);
            let outcome = Outcome::of_word(&status.to_ascii_lowercase()).unwrap_or(Outcome::UNMARKED);
            match event.result("output") {
                Some(output) => run.answer_call(call, Some(output), outcome),
                None => run.answer_without_text(call, outcome),
            }
        }
        ("UserPromptEvent", ..) => {
            run.turn(time);
            run.say(Actor::User, event.text("prompt"));
        }
        ("ResultBlockUpdatedEvent", ..) => {
            run.turn(time);
            run.say(Actor::Agent, event.text("result"));
        }
        (_, Some(_), None) if event.has("text") => {
            run.turn(time);
            run.say(Actor::Agent, event.text("text"));
        }
        ("AgentFailureEvent" | "AgentTaskFailedEvent", ..) => {
            run.turn(time);
            run.say(Actor::Environment, event.text("message"));
        }
        _ => run.pass_over("events of other types", 1),
    }
}

/// Returns true for a key of a block that is not an argument of its call.
fn is_aside(key: &[u8]) -> bool {
    const ASIDES: [&[u8]; 10] = [
        b"kind",
        b"agent",
        b"stepId",
        b"status",
        b"toolName",
        b"output",
        b"presentableOutput",
        b"outputLinesCount",
        b"details",
        b"cancelRequest",
    ];
    ASIDES.contains(&key)
}
