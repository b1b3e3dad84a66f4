//! OSWorld: the steps of a trajectory (`traj.jsonl`). The effects of actions are in screenshots, which are
//! separate files, so most calls have no recorded answer.

use super::prelude::*;

pub(super) const FORMAT: Definition =
    Definition { signature: &[Shape::Items(STEP)], reader: Reader::Document(read) };

const STEP: Mark = Has(&["step_num", "action_timestamp", "action", "done"]);

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    let mut run = Recording::of_agent("osworld");
    let mut response = None;
    for item in document.each() {
        run.turn(None);
        if STEP.fits(&item) {
            // Every action in a response repeats that response, so add its text only once.
            let said = item.get("response");
            if said.map(Raw::bytes) != response {
                run.say(Actor::Agent, text(said));
                response = said.map(Raw::bytes);
            }
            step(&item, &mut run);
        } else if item.has("Error") {
            run.say(Actor::Environment, item.text("Error"));
            run.metadata.termination = Some("error".to_owned());
        } else {
            run.pass_over("lines of other types", 1);
        }
    }
    run.give(runs);
}

fn step<'a>(step: &Members<'a>, run: &mut Recording<'a>) {
    let Some(action) = step.get("action") else { return };
    let call = if let Some(code) = action.string() {
        // Code, or a word that ends or delays a run.
        let code = common::trim(&code).to_owned();
        let word = matches!(&*code, "WAIT" | "DONE" | "FAIL");
        if word {
            run.call(None, Some(code.to_lowercase().into()), None)
        } else {
            run.call_text("pyautogui", "code", &code)
        }
    } else {
        let fields = Members::from(action);
        let name = ["action_type", "action", "name"].iter().find_map(|key| fields.name(key));
        run.call(fields.ident("id"), name.map(|name| Cow::Owned(name.to_lowercase())), Some(action))
    };
    let info = step.get("info").filter(|info| !matches!(info.bytes(), b"{}" | b"null"));
    let observed = info.and_then(words::result);
    match observed {
        Some(observed) => run.answer_call(call, Some(observed), Outcome::UNMARKED),
        None => run.answer_without_text(call, Outcome::unknown(UnknownReason::Unspecified, Provenance::None)),
    }
    if step.flag("done") == Some(true) {
        run.metadata.termination = Some("done".to_owned());
    }
}
