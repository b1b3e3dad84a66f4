//! The standard form of the agent data protocol: trajectories of actions and observations. An observation answers the
//! action before it.

use super::prelude::*;
use crate::read::text_calls;

pub(in crate::read) const FORMAT: Entry = Entry {
    format: Format::AgentData,
    about: "trajectories of the agent data protocol, in its standard form",
    signature: &[Shape::Object(TRAJECTORY), Shape::List(TRAJECTORY)],
    reader: Reader::Document(read),
};

const TRAJECTORY: Mark =
    All(&[Has(&["id"]), Every("content", &Says("class_", &["*_action", "*_observation"]))]);

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    match document {
        Document::Lines(_) => {}
        Document::Object(members) => give(members, runs),
        Document::List(items) => items.iter().for_each(|item| give(&Members::from(*item), runs)),
    }
}

fn give(members: &Members<'_>, runs: &mut Runs<'_>) {
    let mut steps = Assembler::default();
    let (mut asked, mut others) = (None, 0);
    for (turn, item) in (0..).zip(members.objects("content")) {
        others += u64::from(!step(&item, turn, &mut asked, &mut steps));
    }
    runs.pass_over("steps of other classes", others);
    let details = members.object("details");
    let metadata = Metadata {
        id: members.ident("id").map(Cow::into_owned),
        model: details
            .name("model_name")
            .or_else(|| details.name("model"))
            .map(|model| model.as_ref().into()),
        termination: details.name("exit_status").map(Cow::into_owned),
        ..Metadata::default()
    };
    runs.give_unrouted(&mut steps, metadata, None);
}

/// Reads a step, or returns false if its class is unknown. `asked` is the call that an observation would answer.
fn step<'a>(
    step: &Members<'a>,
    turn: u64,
    asked: &mut Option<CallNumber>,
    steps: &mut Assembler<'a>,
) -> bool {
    let class = step.name("class_").unwrap_or_default();
    let is_action = class.ends_with("_action");
    if is_action && let Some(thought) = step.message("description") {
        steps.message(Actor::Agent, turn, thought);
    }
    let answers = asked.take();
    match &*class {
        "api_action" => {
            let mut call = Call::new(turn, None, step.name("function").unwrap_or_default());
            call.arguments = step.arguments("kwargs");
            *asked = Some(steps.call(call));
        }
        "code_action" => {
            let language = step.name("language").unwrap_or(Cow::Borrowed("code"));
            let mut call = Call::new(turn, None, language);
            call.arguments = wire::sole_argument("code", step.get("content"));
            *asked = Some(steps.call(call));
        }
        "message_action" => {
            if let Some(text) = step.message("content") {
                steps.message(Actor::Agent, turn, text);
            }
        }
        "text_observation" | "web_observation" | "image_observation" => {
            let text = observation(&class, step);
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
        _ => return false,
    }
    true
}

/// Returns the text of an observation: for a page, its accessibility tree, or else its source.
fn observation<'a>(class: &str, step: &Members<'a>) -> Option<TextCow<'a>> {
    let keys: &[&str] = if class == "web_observation" { &["axtree", "html", "url"] } else { &["content"] };
    keys.iter().find_map(|key| step.result(key))
}
