//! Output of OpenHands evaluations: one line per instance, with its `history` and `test_result`.

use super::prelude::*;
use super::{openhands, openhands_sdk};
use crate::read::words::DECISIVE_ITEMS;

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Object(Test(
        "`history` of OpenHands events, or an empty one with `instance_id`, `instruction` and `test_result`",
        is_output,
    ))],
    reader: Reader::Object(read),
};

fn is_output(members: &Members<'_>) -> bool {
    let Some(history) = members.get("history") else { return false };
    match history.kind() {
        Kind::List => {
            let mut events = events_of(history).into_iter().take(DECISIVE_ITEMS).peekable();
            if events.peek().is_none() {
                return ["instance_id", "instruction", "test_result"].iter().all(|key| members.has(key));
            }
            events.any(|event| openhands::is_event(event) || openhands_sdk::EVENT.fits_value(event))
                || is_pairs(history)
                || members.has("instruction") && is_flat(history)
        }
        Kind::Null => ["instance_id", "instruction", "test_result"].iter().all(|key| members.has(key)),
        _ => false,
    }
}

/// Returns true if a history begins with an action-observation pair, as in the first versions of OpenHands.
fn is_pairs(history: Raw<'_>) -> bool {
    let is_pair = |pair: &Raw<'_>| {
        let has = |place: usize, key| pair.items().and_then(|pair| pair.get(place)?.member(key)).is_some();
        has(0, "action") && has(1, "observation")
    };
    history.items().is_some_and(|pairs| pairs.first().is_some_and(is_pair))
}

/// Match an action and an observation that have neither an id nor a source. An observation follows its action.
const ACTION: Mark = All(&[Is(Kind::String, &["action"]), Not(&HasOne(&["id", "source", "args"]))]);
const OBSERVATION: Mark =
    All(&[Is(Kind::String, &["observation"]), Not(&HasOne(&["id", "source", "cause"]))]);

/// Returns true if a history consists of such actions and observations, as OpenHands' resolver writes it.
fn is_flat(history: Raw<'_>) -> bool {
    let events = history.first_items(DECISIVE_ITEMS);
    events.iter().all(|event| ACTION.fits_value(*event) || OBSERVATION.fits_value(*event))
        && events.iter().any(|event| ACTION.fits_value(*event))
}

/// Returns the events of a history, including those in pairs.
fn events_of(history: Raw<'_>) -> Vec<Raw<'_>> {
    let items = history.items().unwrap_or_default();
    items.into_iter().flat_map(|item| item.items().unwrap_or_else(|| vec![item])).collect()
}

fn read(members: &Members<'_>, runs: &mut Runs<'_>) {
    let Some(history) = members.get("history") else { return };
    let events = events_of(history);
    let settings = members.object("metadata");
    let model = settings.first(&["llm_config", "llm"]).and_then(|llm| llm.member("model"));
    let model = model.or_else(|| settings.get("model_name")).and_then(common::name);
    let instance = members.ident("instance_id").or_else(|| members.ident("id")).map(Cow::into_owned);
    let metadata = Metadata {
        id: instance.clone(),
        task: instance,
        model: model.map(|model| model.as_ref().into()),
        domain: settings.name("dataset").map(|name| name.as_ref().into()),
        termination: members.name("error").map(Cow::into_owned),
        ..Metadata::default()
    };
    let result = ["test_result", "report", "resolved", "success"]
        .into_iter()
        .find_map(|key| reward(members.get(key)?, 0));
    if events.iter().take(DECISIVE_ITEMS).any(|event| openhands_sdk::EVENT.fits_value(*event)) {
        let mut conversation = openhands_sdk::Conversation::new();
        for event in events {
            conversation.read(event);
        }
        conversation.end(runs, metadata, result);
    } else {
        let mut log = openhands::Log::default();
        if is_pairs(history) {
            for pair in history.items().unwrap_or_default() {
                log.pair(&pair.items().unwrap_or_default());
            }
        } else if is_flat(history) {
            let is_pair =
                |one: &Raw<'_>, next: &Raw<'_>| ACTION.fits_value(*one) && OBSERVATION.fits_value(*next);
            events.chunk_by(is_pair).for_each(|pair| log.pair(pair));
        } else {
            for event in events {
                log.read_line(event);
            }
        }
        log.end(runs, metadata, result);
    }
}

/// Returns the reward in a result: a number or a boolean, or one of these nested under a verdict key.
fn reward(result: Raw<'_>, depth: u8) -> Option<f64> {
    const VERDICTS: [&str; 9] =
        ["resolved", "success", "correct", "passed", "reward", "score", "result", "report", "test_result"];
    match result.kind() {
        Kind::Bool => result.boolean().map(|passed| f64::from(u8::from(passed))),
        Kind::Number => result.json().float().ok().filter(|score| score.is_finite()),
        Kind::Object if depth < 3 => {
            let members = Members::from(result);
            VERDICTS.iter().find_map(|key| reward(members.get(key)?, depth + 1))
        }
        _ => None,
    }
}
