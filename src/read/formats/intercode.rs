//! InterCode logs: an object of episodes, each with parallel lists of actions, observations and flags for whether
//! the environment could run the action.

use super::prelude::*;

pub(super) const FORMAT: Definition =
    Definition { signature: &[Shape::Object(Values(&EPISODE))], reader: Reader::Object(read) };

const EPISODE: Mark = Any(&[
    In("turn_history", &Is(Kind::List, &["actions", "observations"])),
    // Of people.
    All(&[
        Has(&["query", "gold"]),
        Every(
            "trajectory",
            &All(&[Is(Kind::String, &["action"]), Has(&["observation"]), Not(&Has(&["thought"]))]),
        ),
    ]),
]);

fn read(members: &Members<'_>, runs: &mut Runs<'_>) {
    for (key, episode) in members.iter() {
        if EPISODE.fits_value(episode) {
            give(key.to_owned(), &Members::from(episode), runs);
        } else {
            runs.pass_over("members that are not episodes", 1);
        }
    }
}

fn give(key: String, episode: &Members<'_>, runs: &mut Runs<'_>) {
    let mut run = Recording::default();
    let history = episode.get("turn_history");
    let list = |key| history.and_then(|history| history.member(key)?.items()).unwrap_or_default();
    let [thoughts, plan, mut actions, mut observations, valid] =
        ["thoughts", "steps", "actions", "observations", "valid_action"].map(list);
    for turn in episode.objects("trajectory").filter(|_| history.is_none()) {
        actions.extend(turn.get("action"));
        observations.extend(turn.get("observation"));
    }
    run.say(Actor::User, episode.message("query"));
    let environment = episode.name("environment");
    let tool = environment.as_deref().map_or("action", |name| name.strip_prefix("ic_").unwrap_or(name));
    let argument = match tool {
        "bash" | "ctf" => "command",
        "sql" => "query",
        "python" => "code",
        _ => "action",
    };
    for (index, action) in actions.iter().enumerate() {
        run.turn(None);
        for texts in [&plan, &thoughts] {
            run.say(Actor::Agent, texts.get(index).and_then(|text| words::message(*text)));
        }
        let text = action.string().unwrap_or_else(|| action.spelling());
        let (name, argument, text) = match submitted(&text) {
            Some(answer) => ("submit", "answer", answer),
            None => (tool, argument, executed(&text)),
        };
        let call = run.call_text(name.to_owned(), argument, text);
        if let Some(observation) = observations.get(index) {
            let text = words::result(*observation);
            let outcome = outcome(valid.get(index).and_then(|valid| valid.boolean()), text.as_ref());
            run.answer_call(call, text, outcome);
        }
    }
    let unasked = observations.len().saturating_sub(actions.len());
    runs.pass_over("observations without an action", unasked as u64);
    run.metadata.id = Some(key);
    run.metadata.task = episode.ident("task_id").map(Cow::into_owned);
    run.metadata.domain = environment.map(|name| name.as_ref().into());
    run.reward = episode.object("summary").number("max_reward").or_else(|| episode.number("reward"));
    run.give(runs);
}

fn submitted(action: &str) -> Option<&str> {
    let answer = action.strip_prefix("submit").filter(|rest| rest.is_empty() || rest.starts_with(' '));
    answer.map(common::trim)
}

/// Returns the code of an action, which may have the form `execute[…]`.
fn executed(action: &str) -> &str {
    action.strip_prefix("execute[").and_then(|rest| rest.strip_suffix(']')).unwrap_or(action)
}

fn outcome(is_valid: Option<bool>, observation: Option<&TextCow<'_>>) -> Outcome {
    let starts =
        ["Error executing query:", "Traceback (most recent call last)", "{'error': '", "{\"error\": \""];
    let complains = |text: &TextCow<'_>| {
        let is_unknown = || {
            let text = text.text().to_str();
            text.lines().count() == 1 && text.trim_end().ends_with("command not found")
        };
        starts.iter().any(|start| text.text().starts_with(start)) || is_unknown()
    };
    is_valid.map_or_else(
        || Outcome::by_text(observation.is_some_and(complains)),
        |is_valid| Outcome::flag(!is_valid),
    )
}
