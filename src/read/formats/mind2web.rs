//! Online-Mind2Web: the result of a task, with the actions in the browser as texts. What they led to is in
//! screenshots.

use super::prelude::*;

pub(super) const FORMAT: Definition =
    Definition { signature: &[Shape::Each(RESULT)], reader: Reader::Document(read) };

const RESULT: Mark = All(&[
    Has(&["task_id", "task", "final_result_response"]),
    Is(Kind::List, &["action_history", "thoughts"]),
]);

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    for result in fitting(&RESULT, document.each(), "objects of other types", runs) {
        let mut run = Recording::default();
        run.metadata.task = result.ident("task_id").map(Cow::into_owned);
        run.metadata.termination = result.name("result_status").map(Cow::into_owned);
        run.say(Actor::User, result.text("task"));
        let (thoughts, actions) = (result.list("thoughts"), result.list("action_history"));
        let mut last = None;
        for place in 0..thoughts.len().max(actions.len()) {
            let thought = thoughts.get(place).copied();
            let is_other =
                thought.is_some_and(|thought| !matches!(thought.kind(), Kind::String | Kind::Null));
            run.pass_over("thoughts that are not texts", u64::from(is_other));
            let thought = thought.filter(|thought| thought.kind() == Kind::String);
            let thought = thought.and_then(Raw::string).filter(|thought| !common::is_blank(thought));
            // Several actions of one response repeat its thought.
            if thought.is_none() || thought != last {
                run.turn(None);
                run.say(Actor::Agent, thought.clone().map(|thought| thought.into_owned().into()));
            }
            last = thought;
            let Some(action) = actions.get(place) else { continue };
            let Some(action) = action.string() else {
                run.pass_over("actions that are not texts", 1);
                continue;
            };
            let word = action.split(common::SPACE).next().unwrap_or_default().to_ascii_lowercase();
            let is_of_name = |mark: char| mark.is_ascii_alphanumeric() || mark == '_';
            let is_word = !word.is_empty() && word.chars().all(is_of_name);
            let name = if is_word { word } else { "browser".to_owned() };
            let call = run.call_text(name, "action", &action);
            run.answer_without_text(call, Outcome::unknown(UnknownReason::Unspecified, Provenance::None));
        }
        run.turn(None);
        run.say(Actor::Agent, result.text("final_result_response"));
        run.give(runs);
    }
}
