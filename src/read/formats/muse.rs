//! Muse Code sessions: a record per line, whose payload may be an event of a run.

use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Items(All(&[
        Has(&["stream", "payload_type"]),
        In(
            "payload",
            &In(
                "event",
                &Says(
                    "kind",
                    &[
                        "started",
                        "assistant_tool_calls_committed",
                        "tool_result_batch_committed",
                        "assistant_message_committed",
                    ],
                ),
            ),
        ),
    ]))],
    reader: Reader::Document(read),
};

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    let mut sessions = Recordings::of_agent("muse");
    let mut usage = None;
    for line in document.each() {
        let run = sessions.run(line.object("stream").ident("id"));
        let event = line.object("payload").object("event");
        let time = line.count("recorded_at").and_then(|microseconds| microseconds.checked_mul(1000));
        match event.name("kind").as_deref() {
            Some("started") if event.has("prompt") => {
                run.turn(time);
                run.say(Actor::User, event.text("prompt"));
            }
            // The usage of a response comes before the response.
            Some("model_completed") => {
                run.model(event.name("model"));
                usage = event.usage("usage");
            }
            Some("assistant_message_committed") => {
                run.turn(time);
                run.set_usage(usage.take());
                run.say(Actor::Agent, event.text("text"));
            }
            Some("assistant_tool_calls_committed") => {
                run.turn(time);
                run.set_usage(usage.take());
                for call in event.objects("tool_calls") {
                    run.call(call.ident("call_id"), call.name("name"), call.get("args"));
                }
            }
            Some("tool_result_batch_committed") => {
                for result in event.objects("results") {
                    let (observation, outcome) = answer(&result);
                    run.answer(result.ident("tool_call_id"), None, observation, outcome);
                }
            }
            Some("terminal") => run.metadata.termination = event.name("terminal").map(Cow::into_owned),
            _ => run.pass_over("records of other types", 1),
        }
    }
    sessions.give(runs);
}

/// Returns the text of a result and its outcome. The text of a command is an object with its output and exit code.
fn answer<'a>(result: &Members<'a>) -> (Option<TextCow<'a>>, Outcome) {
    let text = result.result("text");
    let decoded = text.as_ref().map(|text| text.text().to_str()).unwrap_or_default();
    let command = members(json(&decoded));
    if !command.has("terminal_status") {
        let failed = decoded.starts_with("tool failed: ");
        return (text, Outcome::by_text(failed));
    }
    let code = command.get("exit_code").and_then(is_failure_code).map(Outcome::exit_code);
    let outcome = code.or_else(|| command.outcome("terminal_status")).unwrap_or(Outcome::UNMARKED);
    let output = command.result("output").map(|output| TextCow::from(output.into_cow().into_owned()));
    (output.or(text), outcome)
}
