//! AgentV: results of evaluations, and transcripts. A call contains its result.

use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Each(All(&[Has(&["test_id"]), Any(&[MESSAGE, RESULT])]))],
    reader: Reader::Document(read),
};

const MESSAGE: Mark = Has(&["message_index", "role"]);
const CALLS: Mark = Holds("tool_calls", &Has(&["tool"]));
/// A result of an evaluation: it has scores and a target, or messages with calls in AgentV's form.
const RESULT: Mark =
    Any(&[Holds("output", &CALLS), Holds("messages", &CALLS), Has(&["score", "scores", "target"])]);

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    let mut transcripts = Recordings::of_agent("agentv");
    for object in document.each() {
        if MESSAGE.fits(&object) {
            let run = transcripts.run(object.name("test_id"));
            run.metadata.task = object.name("test_id").map(Into::into);
            run.model(object.get("source").and_then(|source| source.member("model")?.string()));
            message(&object, run);
        } else if RESULT.fits(&object) {
            let list =
                ["output", "messages"].iter().map(|key| object.list(key)).find(|list| !list.is_empty());
            let Some(list) = list else {
                runs.pass_over("results without messages", 1);
                continue;
            };
            let mut run = Recording::of_agent("agentv");
            run.metadata.task = object.name("test_id").map(Into::into);
            run.metadata.domain = object.name("suite").as_deref().map(Into::into);
            run.metadata.trial = object.count("attempt");
            run.model(object.name("target"));
            run.reward = object.number("score");
            run.say(Actor::User, object.text("input"));
            for item in list {
                message(&Members::from(item), &mut run);
            }
            run.give(runs);
        } else {
            runs.pass_over("objects of other types", 1);
        }
    }
    transcripts.give(runs);
}

fn message<'a>(message: &Members<'a>, run: &mut Recording<'a>) {
    run.turn(message.time("start_time"));
    run.set_usage(tokens::of_keys(&message.object("token_usage"), &["input"], &["output"], &["cached"]));
    let role = message.name("role").unwrap_or(Cow::Borrowed("assistant"));
    run.say(words::actor_of(&role), message.text("content"));
    for call in message.objects("tool_calls") {
        let number = run.call(call.ident("id"), call.name("tool"), call.get("input"));
        let error = call.present("error");
        let failed = error.is_some()
            || call.flag("is_error") == Some(true)
            || call.name("status").as_deref() == Some("error");
        if let Some(observed) = error.or_else(|| call.present("output")) {
            let outcome = if failed { Outcome::flag(true) } else { Outcome::UNMARKED };
            run.answer_call(number, words::result(observed), outcome);
        }
    }
}
