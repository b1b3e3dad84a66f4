//! Kiro CLI sessions (`~/.kiro/sessions/cli/<session>.jsonl`): a message per line, whose parts have a
//! `kind`.

use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Items(All(&[
        Says("kind", &["Prompt", "AssistantMessage", "ToolResults"]),
        In("data", &Is(Kind::List, &["content"])),
    ]))],
    reader: Reader::Document(read),
};

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    let mut run = Recording::of_agent("kiro");
    for line in document.each() {
        let data = line.object("data");
        let actor = match line.name("kind").as_deref() {
            Some("Prompt") => Some(Actor::User),
            Some("AssistantMessage") => Some(Actor::Agent),
            Some("ToolResults") => None,
            _ => {
                run.pass_over("messages and parts of other kinds", 1);
                continue;
            }
        };
        if actor.is_some() {
            run.turn(data.object("meta").get("timestamp").and_then(time::of_seconds));
        }
        for part in data.objects("content") {
            let inner = part.object("data");
            match (part.name("kind").as_deref(), actor) {
                (Some("text"), Some(actor)) => run.say(actor, part.text("data")),
                (Some("toolUse"), _) => {
                    run.call(inner.ident("toolUseId"), inner.name("name"), inner.get("input"));
                }
                (Some("toolResult"), _) => {
                    let (observation, outcome) = answer(&inner);
                    run.answer(inner.ident("toolUseId"), None, observation, outcome);
                }
                (Some("text" | "thinking"), _) => {}
                _ => run.pass_over("messages and parts of other kinds", 1),
            }
        }
    }
    run.give(runs);
}

/// Returns the text of a result and its outcome. Commands report their exit code as text such as
/// `exit status: 1`.
fn answer<'a>(result: &Members<'a>) -> (Option<TextCow<'a>>, Outcome) {
    let parts: Vec<_> = result.objects("content").filter_map(|part| part.get("data")).collect();
    let ended = parts.iter().find_map(|part| part.member("exit_status")?.string());
    let code = ended.and_then(|text| text.rsplit(' ').next()?.parse::<i64>().ok());
    let outcome = match (result.name("status").as_deref(), code) {
        (Some("error"), _) => Outcome::flag(true),
        (_, Some(code)) => Outcome::exit_code(code != 0),
        (Some("success"), None) => Outcome::flag(false),
        _ => Outcome::UNMARKED,
    };
    (wire::joined(parts.into_iter().filter_map(words::result).collect()), outcome)
}
