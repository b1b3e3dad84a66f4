//! The metadata and the reward in the object that encloses a chat.

use super::chat::has_requests;
use super::mini_swe_agent::model_of;
use super::prelude::*;
use crate::trace::RunSummary;

/// Returns the metadata and the reward in the object that encloses a run.
pub(in crate::read) fn around(members: &Members<'_>) -> RunSummary {
    RunSummary::new(metadata(members), reward(members)).unwrap_or_default()
}

/// A key of the object around a run, and the keys of the objects in it.
type Path = [&'static str];

/// Where the reward is, most specific first: a number if it is a reward or a score, or else a flag that says whether
/// the task was solved.
const REWARDS: [&Path; 14] = [
    &["reward"],
    &["final_reward"],
    &["goal_achieved"],
    &["resolved"],
    &["pass"],
    &["evaluation_result", "score"],
    &["grade", "score"],
    &["grade", "passed"],
    &["execution_result", "success"],
    &["state", "success"],
    &["metadata", "won"],
    &["correct"],
    &["score"],
    &["passed"],
];
const IDS: [&Path; 7] =
    [&["trace_id"], &["traj_id"], &["rollout_id"], &["session_id"], &["conversation_id"], &["id"], &["uuid"]];
const TASKS: [&Path; 7] = [
    &["task_id"],
    &["instance_id"],
    &["task_name"],
    &["input_metadata", "row_id"],
    &["task", "id"],
    &["task", "task_id"],
    &["case_id"],
];
const MODELS: [&Path; 4] =
    [&["model"], &["model_name"], &["input_metadata", "completion_params", "model"], &["metadata", "model"]];
const AGENTS: [&Path; 2] = [&["agent"], &["condition_id"]];

/// Returns the first value at one of these paths that `read` accepts.
fn at<'a, T>(members: &Members<'a>, paths: &[&Path], read: impl Fn(Raw<'a>) -> Option<T>) -> Option<T> {
    paths.iter().find_map(|path| {
        let (first, rest) = path.split_first()?;
        read(rest.iter().try_fold(members.get(first)?, |value, key| value.member(key))?)
    })
}

/// Returns the reward in the object around a run.
pub(in crate::read) fn reward(members: &Members<'_>) -> Option<f64> {
    REWARDS.iter().find_map(|path| {
        let (key, outer) = path.split_last()?;
        let around = outer.iter().fold(members.clone(), |around, key| around.object(key));
        let (number, passed) = (around.number(key), around.flag("passed"));
        // A score of any range, such as 85 of 100, counts only if it is known whether that is enough. Next to a run, it
        // may rate something else.
        let is_next_to_run = *key == "score" && outer.is_empty();
        let is_reward = |number: &f64| match *key {
            "score" if is_next_to_run => passed.is_some() && (0.0..=1.0).contains(number),
            "score" => (0.0..=1.0).contains(number) || passed.is_some(),
            key => key.ends_with("reward"),
        };
        let flag = if is_next_to_run { number.and(passed) } else { around.flag(key) };
        number.filter(is_reward).or_else(|| flag.map(|solved| f64::from(u8::from(solved))))
    })
}

/// Returns the metadata in the object that encloses the elements.
pub(in crate::read) fn metadata(members: &Members<'_>) -> Metadata {
    let info = members.get("info");
    let mini = || {
        let written = members.name("trajectory_format")?;
        written.starts_with("mini-swe-agent").then_some(Cow::Borrowed("mini-swe-agent"))
    };
    let amp = || {
        let first = members.get("messages")?.first_items(1).first()?.member("messageId");
        first.filter(|id| {
            id.kind() == Kind::Number && members.name("id").is_some_and(|id| id.starts_with("T-"))
        })?;
        Some(Cow::Borrowed("amp"))
    };
    let is_response = members.name("object").is_some_and(|object| object == "response");
    let status = || members.name("status").filter(|_| is_response);
    let of_request = || {
        let requests = members.list("trajectory");
        let model = requests.first()?.member("response")?.member("model")?.string();
        model.filter(|model| !model.is_empty() && has_requests(members))
    };
    // `model` may then be no more than the name of a family.
    let model = members.name("model_id").filter(|_| members.is("model", Kind::String));
    let model = model.or_else(|| at(members, &MODELS, common::name));
    let model = model.or_else(|| info.and_then(model_of)).or_else(of_request);
    let session =
        || members.get("meta")?.member("session_meta")?.member("session_id").and_then(common::ident);
    let is_rollout = ["prompt", "completion", "reward"].iter().all(|key| members.has(key));
    // A sample of a training has the id of the training as `run_id`.
    let is_sample = is_rollout && ["sample_id", "run_id"].iter().all(|key| members.ident(key).is_some());
    let example = members.ident("example_id").filter(|_| is_rollout);
    let example = example.or_else(|| members.ident("problem_id").filter(|_| is_sample));
    // A task with white space is what the user said.
    let named = || members.name("task").filter(|task| !task.contains(char::is_whitespace));
    let task = at(members, &TASKS, common::ident).or(example).or_else(named);
    let last = if is_sample { "sample_id" } else { "run_id" };
    let id = at(members, &IDS, common::ident).or_else(|| members.ident(last));
    Metadata {
        id: id.or_else(session).map(Cow::into_owned),
        task: task.map(Cow::into_owned),
        model: model.map(|model| model.as_ref().into()),
        agent: at(members, &AGENTS, common::name)
            .or_else(mini)
            .or_else(amp)
            .map(|agent| agent.as_ref().into()),
        termination: common::exit_status(members).or_else(status).map(Cow::into_owned),
        ..Metadata::default()
    }
}
