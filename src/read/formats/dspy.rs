//! Results of `dspy.ReAct`: the inputs and outputs of a signature, and a `trajectory` with numbered keys, such as
//! `tool_name_0` and `observation_0`.

use super::chat;
use super::prelude::*;

pub(super) const FORMAT: Definition =
    Definition { signature: &[Shape::Each(RESULT)], reader: Reader::Document(read) };

const RESULT: Mark = Any(&[In("trajectory", &FIRST), FIRST]);
const FIRST: Mark = Has(&["tool_name_0", "tool_args_0"]);
/// Common names of the first input of a signature.
const INPUTS: [&str; 6] = ["question", "query", "task", "prompt", "input", "request"];
/// Common names of its output.
const OUTPUTS: [&str; 4] = ["answer", "response", "output", "prediction"];

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    for result in fitting(&RESULT, document.each(), "objects of other types", runs) {
        let around = chat::around(&result);
        let mut run = Recording::default();
        (run.metadata, run.reward) = (around.metadata, around.reward);
        run.metadata.agent.get_or_insert_with(|| "dspy".into());
        run.say(Actor::User, INPUTS.iter().find_map(|key| result.text(key)));
        let trajectory = result.get("trajectory").map_or(result.clone(), Members::from);
        for number in 0.. {
            let of_step = |key: &str| trajectory.get(&format!("{key}_{number}"));
            let Some(tool) = ident(of_step("tool_name")) else { break };
            run.turn(None);
            run.say(Actor::Agent, text(of_step("thought")));
            if tool == "finish" {
                break;
            }
            let call = run.call(None, Some(tool), of_step("tool_args"));
            if let Some(observation) = of_step("observation") {
                let observation = words::result(observation);
                let raises = |text: &TextCow<'_>| text.text().starts_with("Execution error in ");
                let failed =
                    observation.as_ref().is_some_and(|text| raises(text) || reports_failure(text.text()));
                run.answer_call(call, observation, Outcome::by_text(failed));
            }
        }
        run.turn(None);
        run.say(Actor::Agent, OUTPUTS.iter().find_map(|key| result.text(key)));
        run.give(runs);
    }
}
