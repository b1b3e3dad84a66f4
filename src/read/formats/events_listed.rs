//! A run in an object that lists its answered calls, next to the task, a transcript and the final message.

use super::events::Run;
use super::events_lists::{end_with_results, has_done};
use super::events_object::{Event, What};
use super::events_what::{LISTS_OF_CALLS, TRANSCRIPTS, asked, said};
use super::prelude::*;

/// Returns the run of an object with a list of its calls.
pub(super) fn listed<'a>(object: &Members<'a>) -> Run<'a> {
    let mut run = Run::new(None, None);
    let done = if has_done(object) { object.object("execution_result") } else { object.clone() };
    let calls = done.whole().map(Event::of).iter().flat_map(Event::calls).map(Event::of).collect::<Vec<_>>();
    let logs = [object.clone(), object.object("conversation_log")];
    let lists = logs.iter().flat_map(|log| TRANSCRIPTS.iter().chain(&["turns"]).map(|key| log.list(key)));
    let lists: Vec<Vec<_>> = lists.map(|list| list.into_iter().map(Event::of).collect()).collect();
    let role = |event: &Event<'_>| What::of(&event.layers.first()?.name("role")?);
    // The answers in a log without calls show where the listed calls belong.
    let is_whole = |log: &&Vec<Event<'_>>| {
        let answers: Vec<_> = log.iter().filter(|event| role(event) == Some(What::Tool)).collect();
        let lists_calls = |event: &Event<'_>| {
            let keys = LISTS_OF_CALLS.iter().chain(&["function_call"]);
            event.is_call() || event.layers.iter().any(|layer| keys.clone().any(|key| layer.has(key)))
        };
        log.iter().any(|event| role(event) == Some(What::Message(Actor::User)))
            && (answers.len() == calls.len() || end_with_results(&answers, &calls))
            && !log.iter().any(lists_calls)
    };
    let log = lists.iter().find(is_whole);
    let apart = lists.iter().map(Vec::len).sum::<usize>() - log.map_or(0, Vec::len);
    run.recording.pass_over("transcript messages apart from the listed calls", apart as u64);
    if log.is_none() {
        run.recording.turn(None);
        run.recording.say(Actor::User, asked(object));
    }
    let trimmed = |text: &TextCow<'_>| text.text().to_str().trim().to_owned();
    // Answers in the turns that the run was given come first, and their calls are not listed.
    let answers = log.into_iter().flatten().filter(|event| role(event) == Some(What::Tool)).count();
    let mut given = answers.saturating_sub(calls.len());
    let (mut calls, mut last, mut step, mut is_asked) = (calls.into_iter(), None, None, false);
    for event in log.into_iter().flatten() {
        match role(event) {
            Some(What::Message(actor)) => {
                let text = event.text();
                if actor == Actor::Agent {
                    last = text.as_ref().map(trimmed);
                }
                is_asked = actor != Actor::Agent;
                run.recording.turn(None);
                run.recording.say(actor, text);
            }
            Some(What::Tool) if given > 0 => {
                given -= 1;
                run.recording.turn(None);
                run.recording.say(Actor::Environment, event.answer().0);
            }
            Some(What::Tool) => {
                if std::mem::take(&mut is_asked) {
                    run.recording.turn(None);
                }
                calls.next().iter().for_each(|call| run.call(call));
            }
            _ => run.recording.pass_over("transcript messages apart from the listed calls", 1),
        }
    }
    for call in calls {
        let number = call.number();
        // An answered call is over before the next one, unless both are in one step.
        if step != Some(number) || number.is_none() && call.own_answer().is_some() {
            run.recording.turn(None);
        }
        step = Some(number);
        run.call(&call);
    }
    run.recording.turn(None);
    run.recording.say(Actor::Agent, said(&done).filter(|text| last != Some(trimmed(text))));
    run.recording.say(Actor::Environment, done.text("other_error"));
    let error = object.name("error").filter(|error| !matches!(&**error, "None" | "null"));
    run.recording.metadata.termination = error.map(Cow::into_owned);
    run
}
