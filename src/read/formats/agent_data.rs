//! The standard form of the agent data protocol: trajectories of actions and observations. An observation answers the
//! action before it.

use super::prelude::*;
use crate::read::text_calls;

pub(in crate::read) const FORMAT: Entry = Entry {
    format: Format::AgentData,
    about: "trajectories of the agent data protocol, in its standard form",
    signature: &[Shape::Object(TRAJECTORY), Shape::List(TRAJECTORY)],
    reader: Reader::Fallible(read),
};

const TRAJECTORY: Mark =
    All(&[Has(&["id"]), Every("content", &Says("class_", &["*_action", "*_observation"]))]);

fn read(document: &Document<'_>, runs: &mut Runs<'_>) -> Read<()> {
    match document {
        Document::Lines(_) => Ok(()),
        Document::Object(members) => give(members, runs),
        Document::List(items) => items.iter().try_for_each(|item| give(&Members::from(*item), runs)),
    }
}

fn give(members: &Members<'_>, runs: &mut Runs<'_>) -> Read<()> {
    let mut steps = Assembler::default();
    let (mut turn, mut asked, mut others) = (0, None, 0);
    if let Some(content) = members.get("content").filter(|content| content.kind() == Kind::List) {
        content.json().list(|json| {
            if !step(json, turn, &mut asked, &mut steps)? {
                others += 1;
            }
            turn += 1;
            Ok(())
        })?;
    }
    runs.pass_over("steps of other classes", others);
    let detail = |key| members.get("details")?.member(key).and_then(common::name);
    let metadata = Metadata {
        id: members.ident("id").map(Cow::into_owned),
        model: detail("model_name").or_else(|| detail("model")).map(|model| model.as_ref().into()),
        termination: detail("exit_status").map(Cow::into_owned),
        ..Metadata::default()
    };
    runs.give_unrouted(&mut steps, metadata, None);
    Ok(())
}

/// Reads a step, or returns false if its class is unknown. `asked` is the call that an observation would answer.
fn step<'a>(
    json: &mut Json<'a>,
    turn: u64,
    asked: &mut Option<CallNumber>,
    steps: &mut Assembler<'a>,
) -> Read<bool> {
    let step = Members::of(json);
    let class = step.name("class_").unwrap_or_default();
    let is_action = class.ends_with("_action");
    if is_action && let Some(thought) = step.get("description").and_then(words::message) {
        steps.message(Actor::Agent, turn, thought);
    }
    let answers = asked.take();
    match &*class {
        "api_action" => {
            let mut call = Call::new(turn, None, step.name("function").unwrap_or_default());
            call.arguments = step.get("kwargs").map_or(Content::Absent, common::arguments);
            *asked = Some(steps.call(call));
        }
        "code_action" => {
            let language = step.name("language").unwrap_or(Cow::Borrowed("code"));
            let mut call = Call::new(turn, None, language);
            let code = step.get("content").map(|code| wire::Value::read(&mut code.json())).transpose()?;
            call.arguments = wire::sole_argument_of(code, "code");
            *asked = Some(steps.call(call));
        }
        "message_action" => {
            if let Some(text) = step.get("content").and_then(words::message) {
                steps.message(Actor::Agent, turn, text);
            }
        }
        "text_observation" | "web_observation" | "image_observation" => {
            let text = observation(&class, &step);
            if let Some(call) = answers {
                let answer = text.map_or(Outcome::UNMARKED.answer(Content::Absent), text_calls::answer_in);
                steps.answer_call(call, answer);
            } else if let Some(text) = text.filter(|text| !wire::is_blank(text.text())) {
                let actor = match step.name("source").as_deref() {
                    Some("user") => Actor::User,
                    Some("agent") => Actor::Agent,
                    _ => Actor::Environment,
                };
                steps.message(actor, turn, text);
            }
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// Returns the text of an observation: for a page, its accessibility tree, or else its source.
fn observation<'a>(class: &str, step: &Members<'a>) -> Option<TextCow<'a>> {
    let keys: &[&str] = if class == "web_observation" { &["axtree", "html", "url"] } else { &["content"] };
    keys.iter().find_map(|key| step.result(key))
}
