//! Trials that Harbor exports as conversations: calls are texts of the agent, and messages of the user answer them.

use std::collections::{BTreeSet, VecDeque};

use super::chat;
use super::prelude::*;
use crate::read::snapshots;
pub(super) const FORMAT: Definition =
    Definition { signature: &[Shape::Each(EXPORT)], reader: Reader::Document(read) };

const EXPORT: Mark = All(&[Is(Kind::String, &["trial_name"]), Every("conversations", &MESSAGE)]);

const MESSAGE: Mark = All(&[
    Has(&["role"]),
    Is(Kind::String, &["content"]),
    Not(&HasOne(&["tool_calls", "tool_call_id", "function_call"])),
]);

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    let exports = fitting(&EXPORT, document.each(), "objects of other types", runs);
    let continued = continued(&exports);
    runs.pass_over("episodes that another one continues", continued.len() as u64);
    for (place, export) in exports.into_iter().enumerate() {
        if continued.contains(&place) {
            continue;
        }
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

/// Returns the places of the exports whose conversation begins another one of the same trial: Harbor may export the
/// conversation so far at each request.
fn continued(exports: &[Members<'_>]) -> BTreeSet<usize> {
    let mut all: Vec<_> = exports
        .iter()
        .enumerate()
        .map(|(place, export)| {
            let list = export.get("conversations").map(Raw::bytes).unwrap_or_default();
            let list = list.strip_suffix(b"]").unwrap_or(list).trim_ascii_end();
            let whose = ["trial_name", "run_id", "agent", "model", "result"].map(|key| export.name(key));
            (whose, list, place)
        })
        .collect();
    // In this order, a conversation is directly before those that begin with it.
    all.sort_unstable();
    let pairs = all.iter().zip(all.iter().skip(1));
    let continued =
        pairs.filter(|((whose, one, _), (other, next, _))| whose == other && snapshots::begins(next, one));
    continued.map(|((.., place), _)| *place).collect()
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
