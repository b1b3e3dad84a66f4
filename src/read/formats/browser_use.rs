//! browser-use: the history of an agent. An entry has the actions of a response, and a result for each that
//! ran.

use super::prelude::*;

pub(super) const FORMAT: Definition =
    Definition { signature: &[Shape::Under(&["history"], ENTRY)], reader: Reader::Document(read) };

const ENTRY: Mark = All(&[
    Has(&["model_output"]),
    Any(&[Is(Kind::List, &["result"]), Is(Kind::Object, &["result"])]),
    Is(Kind::Object, &["state"]),
]);

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    let mut run = Recording::of_agent("browser-use");
    for item in fitting(&ENTRY, objects(document, &["history"]), "elements of other types", runs) {
        entry(&item, &mut run);
    }
    run.give(runs);
}

fn entry<'a>(entry: &Members<'a>, run: &mut Recording<'a>) {
    let metadata = entry.object("metadata");
    let time = |key: &str| metadata.get(key).and_then(time::of_seconds);
    run.turn(time("step_start_time"));
    let tokens = metadata.integer("input_tokens");
    let duration_ns = time("step_end_time").and_then(|end| end.checked_sub(time("step_start_time")?));
    let input_tokens = tokens.and_then(|tokens| u64::try_from(tokens).ok()).filter(|tokens| *tokens > 0);
    run.set_usage(Some(Usage { duration_ns, input_tokens, ..Usage::default() }));
    let output = entry.object("model_output");
    let thoughts = output.object("current_state");
    run.say(Actor::Agent, text(thoughts.get("next_goal").or_else(|| output.get("next_goal"))));
    let mut calls: Vec<CallNumber> = Vec::new();
    for action in listed(&output, "action") {
        // The key of an action is its name. Older versions also list the other names, with null values.
        let named =
            action.iter().filter(|(key, value)| value.kind() != Kind::Null && *key != "interacted_element");
        let add =
            |(name, arguments): (&str, _)| run.call(None, Some(name.to_owned().into()), Some(arguments));
        // The result of an action with several names is that of the first.
        let added: Vec<_> = named.map(add).collect();
        calls.extend(added.first());
    }
    let mut calls = calls.into_iter();
    for result in listed(entry, "result") {
        let error = result.get("error").filter(|error| error.kind() == Kind::String);
        let content = result.present("extracted_content");
        let outcome = Outcome::flag(error.is_some());
        let observed = error.or(content).and_then(words::result);
        match calls.next() {
            Some(call) => run.answer_call(call, observed, outcome),
            None => run.say(Actor::Environment, observed),
        }
        if result.flag("is_done") == Some(true) {
            run.metadata.termination = Some("done".to_owned());
        }
    }
    // Actions after one that changed the page or failed do not run.
    calls.for_each(|call| {
        run.answer_call(call, None, Outcome::unknown(UnknownReason::Cancelled, Provenance::None));
    });
}

/// Returns the objects in the list under a key. Early versions have one object instead of the list.
fn listed<'a>(members: &Members<'a>, key: &str) -> Vec<Members<'a>> {
    let value = members.get(key);
    let list = value.and_then(Raw::items).or_else(|| value.map(|value| vec![value]));
    list.unwrap_or_default().into_iter().map(Members::from).collect()
}
