//! `AgentBench`: results of its tasks (`runs.jsonl`), also of benchmarks that are built on it, such as `MedAgentBench`.

use super::prelude::*;
use crate::read::call_outcome::{is_http_failure, states_error};

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
                Some("tool_call") => call(content.as_ref(), &mut run),
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
fn call(content: Option<&TextCow<'_>>, run: &mut Recording<'_>) {
    let text = content.map(|text| text.text().to_str().into_owned()).unwrap_or_default();
    let call = json(&text).map(Members::from).unwrap_or_default();
    let Some(name) = call.name("tool").or_else(|| call.name("name")) else {
        return run.pass_over("calls without a tool", 1);
    };
    let arguments = call.get("arguments").map(|given| given.spelling().into_owned());
    let arguments = arguments.map_or(Content::Absent, |given| common::arguments_of_text(Cow::Owned(given)));
    run.add(Call::new(0, None, name.into_owned()).with(arguments));
}

/// Answers the oldest open call of the tool, or of any tool, by a text such as `{"tool": "search", "result": …}`.
fn answer<'a>(content: Option<TextCow<'a>>, run: &mut Recording<'a>) {
    let text = content.as_ref().map(|text| text.text().to_str().into_owned()).unwrap_or_default();
    let object = json(&text).map(Members::from).unwrap_or_default();
    let result = object.get("result");
    // The response to a request of HTTP.
    let code = result.and_then(|result| result.member("status_code")?.integer());
    let has_http_failure = code.is_some_and(is_http_failure);
    let stated = result.filter(|result| result.kind() != Kind::Null).or_else(|| object.present("error"));
    let stated = stated.and_then(words::result).map(TextCow::into_made);
    let observed = if object.has("result") { stated } else { content };
    let is_failure = |text: &TextCow<'_>| {
        has_http_failure || reports_failure(text.text()) || states_error(&text.text().to_str())
    };
    let by_text = Outcome::by_text(observed.as_ref().is_some_and(is_failure));
    let flag = object.flag("is_error").filter(|is_error| *is_error || !has_http_failure);
    let outcome = flag.map_or(by_text, Outcome::flag);
    let name = ["tool", "name"].iter().find_map(|key| object.name(key)).map(|name| name.into_owned().into());
    let named = name.as_ref().and_then(|name| run.oldest(Some(name)));
    let call = named.or_else(|| run.oldest(None));
    run.answer_to(call, outcome.answer(observed.into()));
}
