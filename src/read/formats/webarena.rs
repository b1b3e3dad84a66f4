//! Trajectories of `WebArena` agents, which alternate between pages and the actions on them.

use super::prelude::*;

pub(super) const FORMAT: Definition =
    Definition { signature: &[Shape::Each(RUN)], reader: Reader::Document(read) };

const RUN: Mark =
    All(&[Has(&["intent", "task_id"]), Holds("trajectory", &In("action", &Has(&["action_name"])))]);

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    for run in fitting(&RUN, document.each(), "items that are not trajectories", runs) {
        give(&run, runs);
    }
}

fn give(run: &Members<'_>, runs: &mut Runs<'_>) {
    let mut recording = Recording::default();
    recording.metadata.task = run.ident("task_id").map(Cow::into_owned);
    recording.model(run.name("source"));
    recording.say(Actor::User, run.message("intent"));
    let mut asked = None;
    for element in run.list("trajectory") {
        let Some(action) = element.member("action") else {
            let page = element.member("axtree").or_else(|| element.member("url")).and_then(words::result);
            match (page, asked.take()) {
                (None, _) => recording.pass_over("elements that are neither pages nor actions", 1),
                (page, Some(call)) => recording.answer_call(call, page, Outcome::UNMARKED),
                (page, None) => recording.say(Actor::Environment, page),
            }
            continue;
        };
        recording.turn(None);
        let thoughts = element.member("metadata").and_then(|metadata| metadata.member("cot"));
        recording.say(Actor::Agent, thoughts.and_then(words::message));
        let name = action.member("action_name").and_then(common::name);
        asked = Some(recording.call(None, name, Some(action)));
    }
    recording.give(runs);
}
