//! The standard form of the agent data protocol: trajectories of actions and observations. An observation
//! answers the call in the step directly before it.

use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Object(TRAJECTORY), Shape::List(TRAJECTORY)],
    reader: Reader::Document(read),
};

const TRAJECTORY: Mark =
    All(&[Has(&["id"]), Every("content", &Says("class_", &["*_action", "*_observation"]))]);

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    document.each().for_each(|trajectory| give(&trajectory, runs));
}

fn give(members: &Members<'_>, runs: &mut Runs<'_>) {
    let mut run = Recording::default();
    let mut asked = None;
    for (turn, item) in (0..).zip(members.objects("content")) {
        run.at(turn, None);
        step(&item, &mut asked, &mut run);
    }
    let details = members.object("details");
    run.metadata.id = members.ident("id").map(Cow::into_owned);
    run.model(details.name("model_name").or_else(|| details.name("model")));
    run.metadata.termination = details.name("exit_status").map(Cow::into_owned);
    run.give(runs);
}

/// Reads a step. `asked` is the call of the previous step, which an observation answers.
fn step<'a>(step: &Members<'a>, asked: &mut Option<CallNumber>, run: &mut Recording<'a>) {
    let class = step.name("class_").unwrap_or_default();
    if class.ends_with("_action") {
        run.say(Actor::Agent, step.message("description"));
    }
    let answers = asked.take();
    match &*class {
        "api_action" => *asked = Some(run.call(None, step.name("function"), step.get("kwargs"))),
        "code_action" => {
            let call = Call::new(0, None, step.name("language").unwrap_or(Cow::Borrowed("code")));
            *asked = Some(run.add(call.with(wire::sole_argument("code", step.get("content")))));
        }
        "message_action" => run.say(Actor::Agent, step.message("content")),
        "text_observation" | "web_observation" | "image_observation" => {
            let text = observation(&class, step);
            if let Some(call) = answers {
                let answer = text.map_or(Outcome::UNMARKED.answer(Content::Absent), text_calls::answer_in);
                run.steps.answer_call(call, answer);
            } else {
                run.say(words::actor_of(&step.name("source").unwrap_or_default()), text);
            }
        }
        _ => run.pass_over("steps of other classes", 1),
    }
}

/// Returns the text of an observation: for a web page, its accessibility tree, or else its HTML or URL.
fn observation<'a>(class: &str, step: &Members<'a>) -> Option<TextCow<'a>> {
    let keys: &[&str] = if class == "web_observation" { &["axtree", "html", "url"] } else { &["content"] };
    keys.iter().find_map(|key| step.result(key))
}
