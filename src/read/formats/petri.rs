//! Petri and Bloom: transcripts in which an auditor model talks to a target model. The messages that each of them saw
//! are a run.

use super::inspect::{observation, outcome};
use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Object(Any(&[
        TRANSCRIPT,
        In("transcript", &TRANSCRIPT),
        Holds("rollouts", &In("transcript", &TRANSCRIPT)),
    ]))],
    reader: Reader::Object(read),
};

const TRANSCRIPT: Mark =
    Holds("events", &All(&[Is(Kind::List, &["view"]), In("edit", &Has(&["operation"]))]));

fn read(members: &Members<'_>, runs: &mut Runs<'_>) {
    let rollouts = members.objects("rollouts").map(|rollout| rollout.object("transcript"));
    for transcript in rollouts.chain([members.within("transcript")]) {
        if transcript.has("events") {
            read_transcript(&transcript, runs);
        }
    }
}

fn read_transcript(transcript: &Members<'_>, runs: &mut Runs<'_>) {
    let about = transcript.object("metadata");
    let id = about.ident("transcript_id").map(Cow::into_owned);
    let mut views = Ordered::default();
    for event in transcript.objects("events") {
        // The combined view repeats the messages of the others, so it is not a run.
        let names = event.list("view").into_iter().filter_map(common::name);
        let names: Vec<_> = names.filter(|view| view != "combined").collect();
        runs.pass_over("events that no model saw", u64::from(names.is_empty()));
        let edit = event.object("edit");
        for view in names {
            let (run, has_calls, messages) = views.get(view, |view: &Cow<'_, str>| {
                let is_target = view.starts_with("target");
                let mut run = Recording::of_agent(if is_target { "petri" } else { "petri auditor" });
                let part = |id: &String| if view == "target" { id.clone() } else { format!("{id}/{view}") };
                run.metadata.id = id.as_ref().map(part);
                run.metadata.parent = id.clone().filter(|_| !is_target);
                run.model(about.name(if is_target { "target_model" } else { "auditor_model" }));
                (run, is_target, 0)
            });
            if edit.name("operation").as_deref() == Some("add") {
                let message = edit.object("message");
                *has_calls |= message.has("tool_calls");
                *messages += 1;
                run.turn(event.time("timestamp"));
                read_message(&message, run);
            } else {
                run.pass_over("edits other than additions", 1);
            }
        }
    }
    for (run, has_calls, messages) in views.into_values() {
        if has_calls {
            run.give(runs);
        } else {
            runs.pass_over("messages of auditors that made no calls", messages);
        }
    }
}

/// Reads a message as Inspect writes it.
fn read_message<'a>(message: &Members<'a>, run: &mut Recording<'a>) {
    let role = message.name("role").unwrap_or_default();
    if role == "tool" {
        let (outcome, error_type) = outcome(message);
        let mut answer = outcome.answer(observation(message).into());
        answer.error_type = error_type;
        return run.answer_with(message.name("tool_call_id"), answer);
    }
    run.say(words::actor_of(&role), message.message("content"));
    for call in message.objects("tool_calls") {
        run.call(call.name("id"), call.name("function"), call.get("arguments"));
    }
}
