//! Moatless trajectories: steps or transitions with actions, and trees of nodes, which are read as one run
//! in the order of the node numbers.

use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Object(Test(
        "`transitions` or `steps` with `actions`, or `nodes` or a `root` with `node_id` and actions",
        |object| transitions(object).is_some() || !nodes(object).is_empty(),
    ))],
    reader: Reader::Object(read),
};

/// Returns the transitions, which the first version calls steps; `None` if the first that are not only a state have no
/// list of actions.
fn transitions<'a>(members: &Members<'a>) -> Option<Vec<Raw<'a>>> {
    let has_actions = |item: &Raw<'_>| {
        let actions = item.member("actions").and_then(Raw::items);
        let is_action = |action: &Raw<'_>| {
            let has = |key| action.member(key).is_some();
            has("action") || has("name") && has("input") || has("request") && has("response")
        };
        actions.is_some_and(|actions| actions.iter().all(is_action))
    };
    let list = |key| members.get(key).and_then(Raw::items).filter(|list: &Vec<Raw<'_>>| !list.is_empty());
    let items = ["transitions", "steps"].into_iter().find_map(list)?;
    let is_state = |item: &&Raw<'_>| members.has("transition_rules") && item.member("actions").is_none();
    let mut first = items.iter().filter(|item| !is_state(item)).take(words::DECISIVE_ITEMS).peekable();
    (first.peek().is_some() && first.all(has_actions)).then_some(items)
}

/// Returns the nodes of a tree in the order of their numbers; none if no node has an action.
fn nodes<'a>(members: &Members<'a>) -> Vec<Raw<'a>> {
    fn collect<'a>(node: Raw<'a>, nodes: &mut Vec<(i64, Raw<'a>)>) {
        if let Some(number) = node.member("node_id").and_then(Raw::integer) {
            nodes.push((number, node));
        }
        node.member("children")
            .and_then(Raw::items)
            .unwrap_or_default()
            .into_iter()
            .for_each(|node| collect(node, nodes));
    }
    let mut found = Vec::new();
    match (members.get("root"), members.get("nodes").and_then(Raw::items)) {
        (Some(root), _) if root.kind() == Kind::Object => collect(root, &mut found),
        (_, Some(list)) => list.into_iter().for_each(|node| collect(node, &mut found)),
        _ => {}
    }
    found.sort_by_key(|(number, _)| *number);
    let has_action =
        |node: &Raw<'_>| node.member("action").is_some() || node.member("action_steps").is_some();
    let nodes: Vec<Raw<'a>> = found.into_iter().map(|(_, node)| node).collect();
    if nodes.iter().any(has_action) { nodes } else { Vec::new() }
}

fn read(members: &Members<'_>, runs: &mut Runs<'_>) {
    let mut run = Recording::of_agent("moatless");
    let task = members.get("initial_message").or_else(|| members.get("input")?.member("problem_statement"));
    run.say(Actor::User, task.and_then(words::message));
    match transitions(members) {
        Some(transitions) => {
            for transition in transitions {
                run.turn(None);
                let state = transition.member("name").or_else(|| transition.member("state")?.member("name"));
                for action in transition.member("actions").and_then(Raw::items).unwrap_or_default() {
                    let answered = action.member("response").filter(|_| action.member("request").is_some());
                    let within = answered.unwrap_or(action);
                    let outcome = ["output", "observation"].iter().find_map(|key| within.member(key));
                    let refused = within.member("retry_message").filter(|text| text.kind() == Kind::String);
                    let asked = ["action", "request"].iter().find_map(|key| action.member(key));
                    let asked = asked.unwrap_or(action);
                    add(asked, state, refused.or(outcome), &mut run);
                }
            }
        }
        None => {
            for node in nodes(members) {
                run.turn(None);
                let message = |key: &&str| node.member(key).and_then(words::message);
                run.say(Actor::User, ["user_message", "message"].iter().find_map(message));
                run.say(Actor::Agent, message(&"assistant_message"));
                let several = node.member("action_steps").and_then(Raw::items).unwrap_or_default();
                for step in if several.is_empty() { vec![node] } else { several } {
                    let action = step.member("action").filter(|action| action.kind() == Kind::Object);
                    let observation = step.member("observation").or_else(|| step.member("output"));
                    if let Some(action) = action {
                        add(action, None, observation, &mut run);
                    }
                }
            }
        }
    }
    let info = members.object("info");
    let instance = info.name("instance_id").or_else(|| members.object("metadata").name("instance_id"));
    run.metadata.id = info.name("trace_id").map(Cow::into_owned);
    run.metadata.task = instance.map(Cow::into_owned);
    run.metadata.termination = info.name("status").map(Cow::into_owned);
    run.model(members.object("transition_rules").object("global_params").name("model"));
    run.model(members.object("agent").object("completion").name("model"));
    run.give(runs);
}

fn add<'a>(action: Raw<'a>, state: Option<Raw<'a>>, outcome: Option<Raw<'a>>, run: &mut Recording<'a>) {
    // An action that wraps another only adds thoughts; the inner one is the call.
    for thoughts in ["thoughts", "scratch_pad"].iter().filter_map(|key| action.member(key)) {
        run.say(Actor::Agent, words::message(thoughts));
    }
    let action = action.member("action").filter(|inner| inner.kind() == Kind::Object).unwrap_or(action);
    let class = action.member("action_args_class").and_then(common::name);
    let class =
        class.map(|class| class.rsplit('.').next().unwrap_or_default().trim_end_matches("Args").to_owned());
    let named = ["action_name", "name"].iter().find_map(|key| action.member(key).and_then(common::name));
    let name = class.map(Cow::Owned).or(named).or_else(|| state.and_then(common::name));
    let Some(name) = name else { return run.pass_over("actions without a name", 1) };
    let arguments = arguments(action.member("input").unwrap_or(action));
    let call = run.add(Call::new(0, None, name).with(arguments));
    let Some(outcome) = outcome.filter(|outcome| outcome.kind() != Kind::Null) else { return };
    let message = outcome.member("message").filter(|_| outcome.member("properties").is_some());
    let text = words::result(message.unwrap_or(outcome));
    run.answer_call(call, text, self::outcome(outcome));
}

/// Returns the members of an action, without its class and the model's thoughts.
fn arguments(action: Raw<'_>) -> Content<Arguments<'_>> {
    const NO_ARGUMENTS: [&[u8]; 3] = [b"thoughts", b"scratch_pad", b"action_args_class"];
    if action.kind() != Kind::Object {
        return common::arguments_of_text("{}".into());
    }
    common::arguments_without(action, |key| NO_ARGUMENTS.contains(&key))
}

fn outcome(observation: Raw<'_>) -> Outcome {
    let is_there = |value: Option<Raw<'_>>| value.is_some_and(|value| value.kind() != Kind::Null);
    let within = |key: &str| observation.member("properties").and_then(|properties| properties.member(key));
    // An observation that is plain text asks the model to try again, so the action failed.
    let is_refused = observation.kind() == Kind::String;
    let corrects = observation.member("expect_correction").and_then(Raw::boolean) == Some(true);
    let fails =
        ["fail_reason", "error"].iter().any(|key| is_there(within(key)) || is_there(observation.member(key)));
    if is_refused || corrects || fails { Outcome::flag(true) } else { Outcome::UNMARKED }
}
