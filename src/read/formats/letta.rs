//! Letta: messages of an agent, each with a `message_type`, alone or in the results of letta-evals.

use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Under(&LISTS, Any(&[MESSAGE, SAMPLE]))],
    reader: Reader::Document(read),
};

const LISTS: [&str; 2] = ["messages", "results"];
const MESSAGE: Mark = Says(
    "message_type",
    &[
        "tool_call_message",
        "tool_return_message",
        "reasoning_message",
        "hidden_reasoning_message",
        "assistant_message",
        "approval_request_message",
        "approval_response_message",
    ],
);
const SAMPLE: Mark =
    Test("`sample` and a `trajectory` of lists of such messages", |object| evaluated(object).is_some());

/// Returns the letta-evals result in an object: the object itself, or `result` in a line of type `result`.
fn evaluated<'a>(object: &Members<'a>) -> Option<Members<'a>> {
    let result = match object.get("result") {
        Some(result) if object.name("type").as_deref() == Some("result") => Members::from(result),
        _ => object.clone(),
    };
    let turns = result.get("trajectory").and_then(Raw::items)?;
    let has_messages = turns.iter().any(|turn| {
        turn.items().is_some_and(|messages| any_of_first(&messages, |message| message.has("message_type")))
    });
    (result.is("sample", Kind::Object) && has_messages).then_some(result)
}

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    let mut conversation = Recording::of_agent("letta");
    let mut has_messages = false;
    let mut items = elements(document, &LISTS);
    let date = |item: Option<&Raw<'_>>| item.and_then(|item| item.member("date")).and_then(time::of_string);
    // By default, the server lists the newest message first.
    if date(items.first()) > date(items.last()) && date(items.last()).is_some() {
        items.reverse();
    }
    for item in items {
        let object = Members::from(item);
        if let Some(result) = evaluated(&object) {
            sample(document, &result, runs);
        } else if object.has("message_type") {
            has_messages = true;
            message(&object, &mut conversation);
        } else {
            runs.pass_over("elements of other types", 1);
        }
    }
    if has_messages {
        conversation.give(runs);
    }
}

fn sample(document: &Document<'_>, result: &Members<'_>, runs: &mut Runs<'_>) {
    let mut run = Recording::of_agent("letta");
    let sample = result.object("sample");
    run.metadata.id = result.name("agent_id").map(Into::into);
    run.metadata.task = sample.ident("id").map(Into::into);
    run.model(result.name("model_name"));
    run.metadata.domain = document.members().name("suite").as_deref().map(Into::into);
    run.reward = result.object("grade").number("score");
    run.say(Actor::User, sample.text("input"));
    for sent in result.list("trajectory").into_iter().filter_map(Raw::items).flatten() {
        message(&Members::from(sent), &mut run);
    }
    run.give(runs);
}

fn message<'a>(message: &Members<'a>, run: &mut Recording<'a>) {
    run.turn(message.time("date"));
    let content = || message.text("content");
    match message.name("message_type").as_deref() {
        Some("user_message") => run.say(Actor::User, content()),
        Some("system_message" | "event_message" | "summary_message") => run.say(Actor::System, content()),
        Some("assistant_message") => run.say(Actor::Agent, content()),
        Some("reasoning_message" | "hidden_reasoning_message" | "ping") => {}
        Some("tool_call_message" | "approval_request_message") => {
            let calls = message.list("tool_calls");
            let calls = if calls.is_empty() { message.get("tool_call").into_iter().collect() } else { calls };
            for call in calls.into_iter().map(Members::from) {
                run.call(call.ident("tool_call_id"), call.name("name"), call.get("arguments"));
            }
        }
        Some("tool_return_message") => {
            let returns = message.list("tool_returns");
            if returns.is_empty() {
                tool_return(message, run);
            }
            for answer in returns {
                tool_return(&Members::from(answer), run);
            }
        }
        Some("approval_response_message") => {
            // Approvals hold the results of client-side tools.
            let answers = message.objects("approvals").filter(|answer| answer.has("tool_return"));
            answers.for_each(|answer| tool_return(&answer, run));
        }
        Some("usage_statistics") => run.set_usage(message.whole().and_then(tokens::usage)),
        Some("stop_reason") => run.metadata.termination = message.name("stop_reason").map(Into::into),
        _ => run.pass_over("elements of other types", 1),
    }
}

fn tool_return<'a>(answer: &Members<'a>, run: &mut Recording<'a>) {
    let failed = || answer.flag("is_err").filter(|failed| *failed);
    let outcome = answer.outcome("status").unwrap_or_else(|| Outcome::of_flag(failed()));
    let observation = answer.result("tool_return");
    run.answer(answer.ident("tool_call_id"), answer.name("name").as_ref(), observation, outcome);
}
