//! `MiniMax` Agent (Mavis) sessions: one document of messages. Each call contains its result.

use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Object(All(&[
        In("session", &Is(Kind::String, &["session_id"])),
        Holds(
            "messages",
            &Any(&[
                Has(&["msg_id", "msg_type", "msg_content"]),
                Holds("tool_calls", &Has(&["tool_name", "tool_call_args"])),
            ]),
        ),
    ]))],
    reader: Reader::Object(read),
};

fn read(members: &Members<'_>, runs: &mut Runs<'_>) {
    let session = members.object("session");
    let mut run = Recording::of_agent("minimax");
    run.metadata.id = session.name("session_id").map(Cow::into_owned);
    run.model(session.name("effective_model"));
    let messages: Vec<_> = members.objects("messages").collect();
    let of_agent = Says("role", &["assistant"]);
    let responses = messages.iter().filter(|message| of_agent.fits(message)).count();
    // Token counts have no ids. They are matched to responses by order, if there is one for each response.
    let counts = Some(members.list("tokenUsage")).filter(|counts| counts.len() == responses);
    let mut usage = counts.into_iter().flatten().map(|count| usage(&count.into()));
    for message in &messages {
        run.turn(message.get("timestamp").and_then(time::of_milliseconds));
        let text = message.text("msg_content");
        match message.name("role").as_deref() {
            Some("user") => run.say(Actor::User, text),
            Some("assistant") => {
                run.set_usage(usage.next().flatten());
                run.say(Actor::Agent, text);
                message.objects("tool_calls").for_each(|call| read_call(&call, &mut run));
            }
            _ => run.pass_over("messages of other roles", 1),
        }
    }
    run.give(runs);
}

fn read_call<'a>(call: &Members<'a>, run: &mut Recording<'a>) {
    let number = run.call(call.name("tool_call_id"), call.name("tool_name"), call.get("tool_call_args"));
    let outcome = match call.integer("tool_call_status") {
        Some(2) => Outcome::flag(false),
        Some(3) => Outcome::flag(true),
        _ => Outcome::UNMARKED,
    };
    let observation = call.result("tool_call_result_data");
    if observation.is_some() || outcome != Outcome::UNMARKED {
        run.answer_call(number, observation, outcome);
    }
}

/// Returns the tokens of a response. The input includes cached tokens, and the output includes reasoning.
fn usage(counts: &Members<'_>) -> Option<Usage> {
    let input = ["input_tokens", "cache_read_tokens", "cache_write_tokens"];
    tokens::of_keys(counts, &input, &["output_tokens", "reasoning_tokens"], &["cache_read_tokens"])
}
