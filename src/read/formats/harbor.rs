//! Trials that Harbor exports as conversations: calls are texts of the agent, and messages of the user answer them.

use std::collections::VecDeque;

use super::chat;
use super::prelude::*;
pub(super) const FORMAT: Definition =
    Definition { signature: &[Shape::Each(EXPORT)], reader: Reader::Document(read) };

const EXPORT: Mark = All(&[Is(Kind::String, &["trial_name"]), Every("conversations", &MESSAGE)]);

const MESSAGE: Mark = All(&[
    Has(&["role"]),
    Is(Kind::String, &["content"]),
    Not(&HasOne(&["tool_calls", "tool_call_id", "function_call"])),
]);

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    for export in fitting(&EXPORT, document.each(), "objects of other types", runs) {
        let mut run = Recording::default();
        (run.metadata, run.reward) = (chat::metadata(&export), chat::reward(&export));
        let id = [export.name("trial_name"), export.ident("episode_id").or_else(|| export.ident("episode"))];
        run.metadata.id = Some(id.into_iter().flatten().collect::<Vec<_>>().join("/"));
        let task = run.metadata.task.take();
        run.metadata.task = task.or_else(|| export.name("task").map(Cow::into_owned));
        // The reward of the trial, or the exception that ended it.
        if let Some(result) = export.name("result") {
            match result.parse().ok().filter(|reward: &f64| reward.is_finite()) {
                Some(reward) => run.reward = Some(reward),
                None => run.metadata.termination = Some(result.into_owned()),
            }
        }
        converse(export.list("conversations"), &mut run);
        run.give(runs);
    }
}

fn converse<'a>(messages: Vec<Raw<'a>>, run: &mut Recording<'a>) {
    let mut asked = VecDeque::new();
    let mut messages = messages.into_iter().map(Members::from).peekable();
    while let Some(message) = messages.next() {
        run.turn(None);
        let actor = words::actor_of(&message.name("role").unwrap_or_default());
        if matches!(actor, Actor::User | Actor::Environment)
            && let Some(call) = asked.pop_front()
        {
            let answer = message.result("content").map(text_calls::answer_in);
            run.answer_to(Some(call), answer.unwrap_or_else(|| Outcome::UNMARKED.answer(Content::Absent)));
            continue;
        }
        // OpenClaw's answers are also messages of the agent.
        let content = |message: &Members<'a>| message.get("content").map(Raw::bytes);
        if !asked.is_empty() && messages.peek().is_some_and(|next| content(next) == content(&message)) {
            run.pass_over("repeated copies of messages", 1);
            continue;
        }
        let text = message.message("content");
        let written = text.as_ref().filter(|_| actor == Actor::Agent);
        let calls = written.map(|text| text_grammars::tool_calls(&text.text().to_str())).unwrap_or_default();
        run.say(actor, text);
        if actor == Actor::Agent {
            asked.clear();
        }
        for call in calls.into_iter().filter(|call| call.arguments.starts_with('{')) {
            let arguments = common::arguments_of_text(Cow::Owned(call.arguments));
            asked.push_back(run.add(Call::new(0, None, call.name).with(arguments)));
        }
    }
}
