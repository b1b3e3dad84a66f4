//! `OSWorld`: the steps of a trajectory (`traj.jsonl`). Screenshots show the effects of actions, in files of their own.

use std::borrow::Cow;

use crate::json::Raw;
use crate::read::Format;
use crate::read::common;
use crate::read::document::Document;
use crate::read::format::{DocumentReader, Entry, Reader};
use crate::read::outcome::Outcome;
use crate::read::runs::Runs;
use crate::read::sample::Members;
use crate::read::words;
use crate::trace::{Actor, Content, Provenance, UnknownReason};

use super::recorded::{Recording, any_of_first, ident, members, text};

pub(in crate::read) const FORMAT: Entry = Entry {
    format: Format::OsWorld,
    about: "trajectories of OSWorld (traj.jsonl)",
    decisive: "lines with `step_num`, `action_timestamp`, `action` and `done`",
    reader: Reader::Document(DocumentReader {
        claims,
        read: |document, runs| {
            read(document, runs);
            Ok(())
        },
        is_generic: false,
    }),
};

fn claims(document: &Document<'_>) -> bool {
    any_of_first(document.items(), is_step)
}

fn is_step(step: &Members<'_>) -> bool {
    ["step_num", "action_timestamp", "action", "done"].iter().all(|key| step.has(key))
}

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    let mut run = Recording::of_agent("osworld");
    let (mut others, mut response) = (0, None);
    for item in document.items() {
        let item = members(Some(*item));
        run.turn(None);
        if is_step(&item) {
            // The actions of one response repeat it.
            let said = item.get("response");
            if said.map(Raw::bytes) != response {
                run.say(Actor::Agent, text(said));
                response = said.map(Raw::bytes);
            }
            step(&item, &mut run);
        } else if item.has("Error") {
            run.say(Actor::Environment, text(item.get("Error")));
            run.metadata.termination = Some("error".to_owned());
        } else {
            others += 1;
        }
    }
    runs.pass_over("lines of other types", others);
    run.give(runs);
}

fn step<'a>(step: &Members<'a>, run: &mut Recording<'a>) {
    let Some(action) = step.get("action") else { return };
    let call = if let Some(code) = action.string() {
        // Code, or one of the words that end or delay a run.
        let code = common::trim(&code).to_owned();
        let word = matches!(&*code, "WAIT" | "DONE" | "FAIL");
        let call = run.call(
            None,
            Some(Cow::Owned(if word { code.to_lowercase() } else { "pyautogui".into() })),
            None,
        );
        if let Some(call) = run.call_mut(call).filter(|_| !word) {
            call.arguments = Content::Present(common::sole_text("code", &code));
        }
        call
    } else {
        let fields = members(Some(action));
        let name = ["action_type", "action", "name"].iter().find_map(|key| fields.name(key));
        run.call(ident(fields.get("id")), name.map(|name| Cow::Owned(name.to_lowercase())), Some(action))
    };
    let info = step.get("info").filter(|info| !matches!(info.bytes(), b"{}" | b"null"));
    let observed = info.and_then(words::result);
    match observed {
        Some(observed) => run.answer_call(call, Some(observed), Outcome::UNMARKED),
        None => run.answer_in_part(call, Outcome::unknown(UnknownReason::NotTold, Provenance::None)),
    }
    if step.get("done").and_then(Raw::boolean) == Some(true) {
        run.metadata.termination = Some("done".to_owned());
    }
}
