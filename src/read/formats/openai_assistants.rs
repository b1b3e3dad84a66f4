//! OpenAI Assistants API: the steps of runs, with the messages of their threads.

use super::chat::is_newest_first;
use super::prelude::*;

pub(super) const FORMAT: Definition =
    Definition { signature: &[Shape::Under(&LISTS, STEP)], reader: Reader::Document(read) };

const LISTS: [&str; 2] = ["data", "steps"];
const STEP: Mark = Says("object", &["thread.run.step"]);
const MESSAGE: Mark = Says("object", &["thread.message"]);

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    let around = document.members();
    let mut entries = Vec::new();
    for mut list in [around.list("thread_messages"), around.list("messages"), elements(document, &LISTS)] {
        if is_newest_first(&list) {
            list.reverse();
        }
        entries.extend(list.into_iter().map(Members::from));
    }
    let mut entries = fitting(&Any(&[STEP, MESSAGE]), entries, "objects of other types", runs);
    // A stream repeats a step in each of its states; the last one counts.
    let mut seen = TextSet::default();
    entries.reverse();
    entries.retain(|entry| entry.name("id").is_none_or(|id| seen.insert(id)));
    entries.reverse();
    entries.sort_by_key(|entry| entry.integer("created_at"));
    let mut threads = Recordings::of_agent("openai-assistants");
    for entry in &entries {
        let run = threads.run(entry.name("thread_id").or_else(|| entry.name("run_id")));
        run.model(around.object("run").name("model"));
        run.metadata.termination = around.object("run").name("status").map(Cow::into_owned);
        run.turn(entry.get("created_at").and_then(time::of_seconds));
        if STEP.fits(entry) {
            step(entry, run);
            let id = entry.object("step_details").object("message_creation").name("message_id");
            let is_missing = |id| !seen.contains(id);
            run.pass_over(
                "messages that are not in the file",
                u64::from(id.as_ref().is_some_and(is_missing)),
            );
        } else {
            let actor = words::actor_of(&entry.name("role").unwrap_or_default());
            entry.objects("content").for_each(|part| run.say(actor, part.object("text").text("value")));
        }
    }
    threads.give(runs);
}

/// Adds the calls of a step, with their outputs.
fn step<'a>(step: &Members<'a>, run: &mut Recording<'a>) {
    run.set_usage(step.get("usage").and_then(tokens::usage));
    let failed = step.object("last_error").text("message");
    for call in step.object("step_details").objects("tool_calls") {
        let kind = call.name("type").unwrap_or_default();
        let tool = call.object(&kind);
        let (number, output) = if kind == "code_interpreter" {
            let call =
                Call::new(0, call.ident("id"), kind).with(wire::sole_argument("code", tool.get("input")));
            let logs: Vec<_> = tool.objects("outputs").filter_map(|output| output.string("logs")).collect();
            let logs = logs.iter().map(|logs| logs.text().to_str()).collect::<Vec<_>>().join("\n");
            (run.add(call), tool.has("outputs").then(|| logs.into()))
        } else {
            let name = tool.name("name").unwrap_or(kind);
            let output = tool.result("output").or_else(|| tool.result("results"));
            (run.call(call.ident("id"), Some(name), tool.get("arguments")), output)
        };
        if output.is_some() {
            run.answer_call(number, output, Outcome::UNMARKED);
        } else if failed.is_some() {
            run.answer_call(number, failed.clone(), Outcome::flag(true));
        }
    }
}
