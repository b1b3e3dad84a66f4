//! Logs of InterCode: an object of episodes, each with parallel lists of actions, observations and whether the
//! environment could run the action.

use super::prelude::*;

pub(in crate::read) const FORMAT: Entry = Entry {
    format: Format::InterCode,
    about: "logs of InterCode",
    signature: &[Shape::Object(Values(&EPISODE))],
    reader: Reader::Document(read),
};

const EPISODE: Mark = In("turn_history", &Is(Kind::List, &["actions", "observations"]));

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    let Document::Object(members) = document else { return };
    for (key, episode) in members.iter() {
        if EPISODE.fits_value(episode) {
            give(key.to_owned(), &Members::from(episode), runs);
        } else {
            runs.pass_over("members that are not episodes", 1);
        }
    }
}

fn give(key: String, episode: &Members<'_>, runs: &mut Runs<'_>) {
    let mut steps = Assembler::default();
    let history = episode.get("turn_history");
    let list = |key| history.and_then(|history| history.member(key)?.items()).unwrap_or_default();
    let [thoughts, actions, observations, valid] =
        [list("thoughts"), list("actions"), list("observations"), list("valid_action")];
    if let Some(query) = episode.message("query") {
        steps.message(Actor::User, 0, query);
    }
    let environment = episode.name("environment");
    let tool = environment.as_deref().map_or("action", |name| name.strip_prefix("ic_").unwrap_or(name));
    let argument = match tool {
        "bash" | "ctf" => "command",
        "sql" => "query",
        "python" => "code",
        _ => "action",
    };
    for (index, (turn, action)) in (1..).zip(&actions).enumerate() {
        if let Some(thought) = thoughts.get(index).and_then(|thought| words::message(*thought)) {
            steps.message(Actor::Agent, turn, thought);
        }
        let text = action.string().unwrap_or_else(|| action.spelling());
        let (name, argument, text) = match submitted(&text) {
            Some(answer) => ("submit", "answer", answer),
            None => (tool, argument, executed(&text)),
        };
        let mut call = Call::new(turn, None, name.to_owned());
        call.arguments = Content::Present(common::sole_text(argument, text));
        let call = steps.call(call);
        if let Some(observation) = observations.get(index) {
            let text = words::result(*observation);
            let outcome = outcome(valid.get(index).and_then(|valid| valid.boolean()), text.as_ref());
            steps.answer_call(call, outcome.answer(text.into()));
        }
    }
    let unasked = observations.len().saturating_sub(actions.len());
    runs.pass_over("observations without an action", unasked as u64);
    let metadata = Metadata {
        id: Some(key),
        task: episode.ident("task_id").map(Cow::into_owned),
        domain: environment.map(|name| name.as_ref().into()),
        ..Metadata::default()
    };
    runs.give_unrouted(&mut steps, metadata, reward(episode));
}

/// Returns the answer that an action submits.
fn submitted(action: &str) -> Option<&str> {
    let answer = action.strip_prefix("submit").filter(|rest| rest.is_empty() || rest.starts_with(' '));
    answer.map(common::trim)
}

/// Returns the code of an action, which may have the form `execute[…]`.
fn executed(action: &str) -> &str {
    action.strip_prefix("execute[").and_then(|rest| rest.strip_suffix(']')).unwrap_or(action)
}

fn outcome(is_valid: Option<bool>, observation: Option<&TextCow<'_>>) -> Outcome {
    let complains = |text: &TextCow<'_>| text.text().starts_with("Error executing query:");
    match is_valid {
        Some(is_valid) => Outcome::flag(!is_valid),
        None if observation.is_some_and(complains) => Outcome::error(Provenance::Text),
        None => Outcome::UNMARKED,
    }
}

fn reward(episode: &Members<'_>) -> Option<f64> {
    let reward = episode.get("summary")?.member("max_reward")?;
    (reward.kind() == Kind::Number).then(|| reward.json().float().ok()).flatten()
}
