//! Finds the events of a document: in a list or lines, or in the lists of an object.

use std::collections::{BTreeMap, BTreeSet};

use super::events_object::{Event, What, holds_answers};
use super::events_what::{
    ARGUMENTS, ASKED, CONCLUDED, LISTS_OF_CALLS, LISTS_OF_RESULTS, SAID, SCORED, TASK, TRANSCRIPTS,
    UNCALLED_RUN, asked, said,
};
use super::prelude::*;

/// Returns true if a document has a call, or messages of a user and an agent.
pub(in crate::read) fn shows_a_run(document: &Document<'_>) -> bool {
    !elements(document).is_empty()
        || matches!(document, Document::Object(object)
            if (has_calls(object) || CONCLUDED.fits(object)) && !is_turn(object))
}

/// Returns the keys of lists that may hold the calls of a run, and of those with all its events.
fn lists_of_calls() -> impl Iterator<Item = &'static str> {
    LISTS_OF_CALLS.into_iter().chain(["calls", "steps"])
}

/// Returns the keys of the first run with calls, to which runs without calls are compared.
pub(in crate::read) fn keys_of_runs(items: &[Raw<'_>]) -> BTreeSet<String> {
    let objects = items.iter().filter(|item| item.kind() == Kind::Object).map(|item| Members::from(*item));
    let has_calls = |object: &Members<'_>| lists_of_calls().any(|key| !object.list(key).is_empty());
    let keys = |object: Members<'_>| object.iter().map(|(key, _)| key.to_owned()).collect();
    objects.into_iter().find(has_calls).map(keys).unwrap_or_default()
}

/// Returns true if an object is a run without calls and has keys of a run with calls: that of the list and another.
pub(in crate::read) fn is_like(object: &Members<'_>, keys: &BTreeSet<String>) -> bool {
    let is_list = |key: &str| lists_of_calls().any(|list| list == key);
    let (lists, others): (Vec<_>, Vec<_>) =
        object.iter().map(|(key, _)| key).filter(|key| keys.contains(*key)).partition(|key| is_list(key));
    is_uncalled(object) && !lists.is_empty() && !others.is_empty()
}

/// Returns true if an object is a run whose list of calls is empty. Only other runs next to it show that it is one.
fn is_uncalled(object: &Members<'_>) -> bool {
    let is_empty = |key: &str| object.is(key, Kind::List) && object.list(key).is_empty();
    lists_of_calls().any(is_empty) && asked(object).or_else(|| said(object)).is_some()
}

/// Returns the events of a document; none if they do not show a run of an agent.
pub(super) fn elements<'a>(document: &Document<'a>) -> Vec<Raw<'a>> {
    match document {
        Document::Object(members) => {
            let members = &posted(members);
            // A document that is itself an event has no list of events.
            let is_event = members.whole().is_some_and(|object| Event::of(object).what.is_some());
            if is_event && !holds_answers(members) || is_turn(members) || TASK.fits(members) {
                Vec::new()
            } else {
                if let Some(events) = by_time(members) {
                    return events;
                }
                // Next to answered calls, a list without answers is not the run.
                let are_answered = holds_answers(members);
                let is_run = |events: &Vec<Raw<'_>>| {
                    !are_answered || events.iter().any(|event| Event::of(*event).is_answered())
                };
                let lists = members.iter().filter_map(|(key, value)| of_key(key, value)).filter(is_run);
                let mut lists = lists.collect::<Vec<_>>();
                // A transcript may be recorded twice, once without its calls.
                let holds_calls =
                    |events: &Vec<Raw<'_>>| events.iter().any(|event| Event::of(*event).is_call());
                // Agents may each record what they saw of the same talk.
                let longest = (0..lists.len()).rev().max_by_key(|place| lists.get(*place).map(Vec::len));
                let place = lists.iter().position(holds_calls).or(longest).unwrap_or_default();
                if lists.is_empty() { Vec::new() } else { lists.swap_remove(place) }
            }
        }
        document if are_events(document.items()) => document.items().to_vec(),
        _ => Vec::new(),
    }
}

/// Returns the number of calls in the lists of an object that its events do not include.
pub(super) fn calls_apart(document: &Document<'_>, events: &[Event<'_>]) -> u64 {
    let form = |call: &Event<'_>| call.repeated_form().or_else(|| call.name().map(Cow::into_owned));
    let forms = |event: &Event<'_>| match event.what {
        Some(What::Message(_)) => {
            let blocks = event.blocks().into_iter().filter(|block| block.what == Some(What::Call));
            event.calls().into_iter().map(Event::of).chain(blocks).filter_map(|call| form(&call)).collect()
        }
        _ if event.is_call() => form(event).into_iter().collect(),
        _ => Vec::new(),
    };
    let Document::Object(members) = document else { return 0 };
    let object = posted(members);
    if events.is_empty() || holds_answers(&object) {
        return 0;
    }
    let known: BTreeSet<_> = events.iter().flat_map(forms).collect();
    let lists = object.iter().filter_map(|(key, value)| of_key(key, value)).flatten();
    lists.map(Event::of).flat_map(|event| forms(&event)).filter(|call| !known.contains(call)).count() as u64
}

/// Returns the messages and the calls of an object that lists them apart, in order of time. A message may repeat
/// calls, but none that is not listed.
fn by_time<'a>(object: &Members<'a>) -> Option<Vec<Raw<'a>>> {
    let lists: Vec<_> = object.iter().filter_map(|(key, value)| of_key(key, value)).collect();
    let events = |list: &[Raw<'a>]| list.iter().copied().map(Event::of).collect::<Vec<_>>();
    let is_said = |list: &[Event<'_>]| list.iter().all(|event| matches!(event.what, Some(What::Message(_))));
    let [one, other] = &lists[..] else { return None };
    let (mut said, mut called) = (events(one), events(other));
    let (mut all, mut calls) = (one.clone(), other);
    if !is_said(&said) {
        (said, called, all, calls) = (called, said, other.clone(), one);
    }
    let is_bare_call = |event: &Event<'_>| event.what == Some(What::Step) && event.time().is_some();
    if !is_said(&said) || said.iter().any(|event| event.time().is_none()) || !called.iter().all(is_bare_call)
    {
        return None;
    }
    let form = |call: &Raw<'_>| wire::canonical(call.bytes());
    let mut repeated: BTreeMap<_, u64> = BTreeMap::new();
    for call in said.iter().flat_map(Event::calls) {
        *repeated.entry(form(&call)).or_default() += 1;
    }
    all.extend(calls.iter().filter(|call| match repeated.get_mut(&form(call)) {
        Some(times) if *times > 0 => {
            *times -= 1;
            false
        }
        _ => true,
    }));
    if repeated.values().any(|times| *times > 0) {
        return None;
    }
    all.sort_by_key(|event| Event::of(*event).time());
    Some(all)
}

/// Returns the call in a report that a service for voice agents posts, or else the object itself.
fn posted<'a>(object: &Members<'a>) -> Members<'a> {
    let has_events = |object: &Members<'a>| object.iter().any(|(key, value)| of_key(key, value).is_some());
    let calls = [object.object("message").object("artifact"), object.object("call")];
    let call = calls.into_iter().find(|call| TRANSCRIPTS.iter().any(|key| !call.list(key).is_empty()));
    call.filter(|call| has_events(call) && !has_events(object)).unwrap_or_else(|| object.clone())
}

/// Returns the events in a list under a key. `None` for lists that are not a run, such as the choices of a model
/// and the reference actions of a task.
pub(super) fn of_key<'a>(key: &str, value: Raw<'a>) -> Option<Vec<Raw<'a>>> {
    let is_other =
        matches!(key, "choices" | "candidates" | "tools" | "functions" | "content" | "input" | "output");
    let is_reference = key == "fallback_options" || words::may_be_reference(key);
    let items = value.items().filter(|_| !is_other && !is_reference && !LISTS_OF_CALLS.contains(&key))?;
    are_events(&items).then_some(items)
}

/// Number of items that are checked for a run.
const SHOWN: usize = 256;

fn are_events(items: &[Raw<'_>]) -> bool {
    let shown = || items.iter().take(SHOWN).filter(|item| item.kind() == Kind::Object);
    let objects = || shown().map(|item| Members::from(*item));
    // Numbered items without calls are steps.
    let is_numbered =
        |item: &Members<'_>| item.whole().is_some_and(|item| Event::of(item).number().is_some());
    let mut runs = objects().skip_while(|item| is_uncalled(item) && !is_numbered(item));
    if runs.next().is_some_and(|first| is_whole_run(&first)) || objects().any(|item| has_result(&item)) {
        return false;
    }
    let (mut asked, mut said) = (false, false);
    for item in shown() {
        let event = Event::of(*item);
        // Without arguments, it may be anything that has the type of a tool and a name.
        let is_bare = event.what == Some(What::Tool) && !event.has_any(&ARGUMENTS);
        if event.is_call() && !is_bare || is_turn(&Members::from(*item)) {
            return true;
        }
        let has_text = || event.text().is_some();
        asked |=
            event.what == Some(What::Message(Actor::User)) && has_text() || event.what == Some(What::Start);
        said |= event.what == Some(What::Message(Actor::Agent)) && has_text();
    }
    asked && said
}

/// Returns true if an object is a numbered turn of a run, with its answered calls.
fn is_turn(object: &Members<'_>) -> bool {
    const NUMBERS: [&str; 6] = ["turn", "turn_id", "turn_number", "turn_index", "iteration", "round"];
    NUMBERS.iter().any(|key| object.has(key)) && holds_answers(object) && !is_listed(object)
}

/// Returns true if an object is a run of its own, with its answered calls and its task or transcript.
fn is_whole_run(object: &Members<'_>) -> bool {
    let has_transcript =
        || TRANSCRIPTS.iter().any(|key| object.get(key).and_then(|list| of_key(key, list)).is_some());
    is_listed(object) || holds_answers(object) && !is_turn(object) && has_transcript()
}

/// Returns true if an object has a run under `result`, and is not an event.
fn has_result(object: &Members<'_>) -> bool {
    let result = object.object("result");
    let is_event = ["type", "role", "event", "event_type", "kind"].iter().any(|key| object.has(key));
    !is_event && holds_answers(&result) && SAID.iter().any(|key| result.has(key))
}

/// Returns true if a document is a run with a list of its answered calls, or with its calls next to its messages.
pub(in crate::read) fn lists_calls(document: &Document<'_>) -> bool {
    matches!(document, Document::Object(object) if is_listed(object) || by_time(object).is_some())
}

/// Returns true if an object is a run with a task and a list of its answered calls.
fn is_listed(object: &Members<'_>) -> bool {
    has_calls(object) && ASKED.iter().any(|key| object.has(key))
}

/// Returns true if an object holds the answered calls of a run, which may have none.
fn has_calls(object: &Members<'_>) -> bool {
    holds_answers(object) || has_done(object) || SCORED.fits(object) || UNCALLED_RUN.fits(object)
}

/// Returns true if the calls of a run are in the result in its object. A run may have none.
pub(super) fn has_done(object: &Members<'_>) -> bool {
    let result = object.object("execution_result");
    let is_over =
        || result.name("other_error").is_some() || SAID.iter().any(|key| result.name(key).is_some());
    holds_answers(&result) || result.is("tools_called", Kind::List) && is_over()
}

/// Returns true if all events have the id of a run, and it is neither that of a call nor that of the whole log.
pub(super) fn have_run_ids(events: &[Event<'_>]) -> bool {
    // The last number and the calls of each run, and true if it has messages.
    let mut runs: BTreeMap<Cow<'_, str>, (i64, u64, bool)> = BTreeMap::new();
    for event in events {
        let Some(id) = event.run_id().filter(|_| event.question().is_none()) else { return false };
        let (last, calls, speaks) = runs.entry(id).or_default();
        // A run that starts again is another run.
        let number = event.number().unwrap_or(*last);
        if number < *last || *speaks && event.starts_a_run() {
            return false;
        }
        *last = number;
        *calls += u64::from(event.is_call());
        *speaks |= matches!(event.what, Some(What::Message(_) | What::Start | What::Finish));
    }
    let long = runs.values().filter(|(_, calls, _)| *calls > 1).count();
    2 * long >= runs.len() || runs.values().all(|(.., speaks)| *speaks)
}

/// Joins the updates of a message, which Microsoft.Extensions.AI streams: each holds a piece of a text, a call, or
/// nothing.
pub(super) fn join_updates(events: &mut Vec<Event<'_>>) {
    events.dedup_by(|update, before| {
        let id = id_of_update(update);
        update.continues = id.is_some() && id == id_of_update(before);
        if !update.continues || !update.blocks().is_empty() || !before.blocks().is_empty() {
            return false;
        }
        let facts = |event: &Event<'_>| {
            let usage = event.get(&["usage"]).map(|usage| usage.bytes().to_vec());
            (usage, event.ident(&["model", "model_id", "modelId"]).map(Cow::into_owned))
        };
        let (new, known) = (facts(update), facts(before));
        if new != known && new != (None, None) && known != (None, None) {
            return false;
        }
        let text = before.joined.take().unwrap_or_else(|| piece_of(before));
        before.joined = Some(text + &piece_of(update));
        if known == (None, None) {
            // The event that is kept has the model and the tokens.
            std::mem::swap(&mut before.layers, &mut update.layers);
        }
        true
    });
}

/// Returns the ids of the response and the message that an update belongs to.
fn id_of_update<'a>(event: &Event<'a>) -> Option<[Cow<'a, str>; 2]> {
    let [update] = &event.layers[..] else { return None };
    let own = ["content", "text", "parts", "message", "prompt", "model_output"];
    let mut own = own.iter().chain(&LISTS_OF_CALLS).chain(&LISTS_OF_RESULTS);
    let is_typed = |part: &Raw<'_>| part.member("$type").and_then(common::name).is_some();
    let is_one = event.what == Some(What::Message(Actor::Agent))
        && update.is("contents", Kind::List)
        && update.list("contents").iter().all(is_typed)
        && !own.any(|key| update.present(key).is_some());
    is_one.then_some([update.name("responseId")?, update.name("messageId")?])
}

/// Returns the piece of the text in an update.
fn piece_of(event: &Event<'_>) -> String {
    let parts = event.layers.iter().flat_map(|update| update.objects("contents"));
    let texts = parts.filter(|part| part.name("$type").as_deref() == Some("text"));
    texts.filter_map(|part| part.get("text")?.string()).collect()
}

/// Returns true if the last answers are the results of these calls, in order.
pub(super) fn end_with_results(answers: &[&Event<'_>], calls: &[Event<'_>]) -> bool {
    let form = |text: TextCow<'_>| wire::canonical(text.text().to_str().as_bytes());
    let is_same = |(answer, call): (&&Event<'_>, &Event<'_>)| {
        let result = call.own_answer().and_then(words::result).map(form);
        result.is_some() && result == answer.answer().0.map(form)
    };
    let last = answers.len().checked_sub(calls.len()).and_then(|given| answers.get(given..));
    !calls.is_empty() && last.is_some_and(|last| last.iter().zip(calls).all(is_same))
}

/// Returns true if a text ends with the last one, if that is not empty.
pub(super) fn ends_with(text: Option<&TextCow<'_>>, last: &str) -> bool {
    !last.is_empty() && text.is_some_and(|text| text.text().to_str().trim().ends_with(last))
}
