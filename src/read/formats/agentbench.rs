//! `AgentBench`: results of its tasks (`runs.jsonl`), also of benchmarks that are built on it, such as `MedAgentBench`.

use super::prelude::*;
use crate::read::call_outcome::states_error;

pub(super) const FORMAT: Definition =
    Definition { signature: &[Shape::Each(RESULT)], reader: Reader::Document(read) };

const RESULT: Mark = All(&[
    Has(&["index", "error", "time"]),
    In("output", &All(&[Has(&["result", "status"]), Is(Kind::List, &["history"])])),
]);

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    for result in fitting(&RESULT, document.each(), "objects of other types", runs) {
        let mut run = Recording::default();
        let output = result.object("output");
        run.metadata.task = result.ident("index").map(Cow::into_owned);
        run.metadata.termination = output.name("status").map(Cow::into_owned);
        run.reward = output.flag("correct").map(|is_correct| f64::from(u8::from(is_correct)));
        for message in output.objects("history") {
            run.turn(None);
            let content = message.result("content");
            match message.name("role").as_deref() {
                Some("tool_call") => call(content, &mut run),
                Some("tool_result") => answer(content, &mut run),
                Some(role) => run.say(words::actor_of(role), content),
                None => run.pass_over("elements that are not messages", 1),
            }
        }
        run.turn(None);
        run.say(Actor::Environment, result.text("error"));
        run.give(runs);
    }
}

/// Adds the call in a text such as `{"tool": "search", "arguments": {…}}`.
fn call<'a>(content: Option<TextCow<'a>>, run: &mut Recording<'a>) {
    let text = content.as_ref().map(|text| text.text().to_str().into_owned()).unwrap_or_default();
    let call = json(&text).map(Members::from).unwrap_or_default();
    let Some(name) = call.name("tool") else {
        run.pass_over("calls without a tool", 1);
        return run.say(Actor::Agent, content);
    };
    let arguments = call.get("arguments").map(|given| given.spelling().into_owned());
    let arguments = arguments.map_or(Content::Absent, |given| common::arguments_of_text(Cow::Owned(given)));
    run.add(Call::new(0, None, name.into_owned()).with(arguments));
}

/// Answers the oldest open call by a text such as `{"tool": "search", "result": …}`.
fn answer<'a>(content: Option<TextCow<'a>>, run: &mut Recording<'a>) {
    let text = content.as_ref().map(|text| text.text().to_str().into_owned()).unwrap_or_default();
    let object = json(&text).map(Members::from).unwrap_or_default();
    let result = object.get("result");
    // The response to a request of HTTP.
    let code = result.and_then(|result| result.member("status_code")?.integer());
    let has_http_failure = code.is_some_and(|code| (400..600).contains(&code));
    let observed = result.and_then(words::result).map(TextCow::into_made).or(content);
    let is_failure = |text: &TextCow<'_>| {
        has_http_failure || reports_failure(text.text()) || states_error(&text.text().to_str())
    };
    let by_text = Outcome::by_text(observed.as_ref().is_some_and(is_failure));
    let flag = object.flag("is_error").filter(|is_error| *is_error || !has_http_failure);
    run.answer(None, None, observed, flag.map_or(by_text, Outcome::flag));
}
