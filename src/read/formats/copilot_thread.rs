//! Threads of Copilot on github.com: messages with the skills that each answer executed.

use std::collections::BTreeSet;

use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Object(Holds("messages", &Has(&["id", "threadID", "role"])))],
    reader: Reader::Object(read),
};

fn read(thread: &Members<'_>, runs: &mut Runs<'_>) {
    let mut run = Recording::of_agent("copilot");
    run.metadata.id = thread.objects("messages").find_map(|one| one.ident("threadID")).map(Cow::into_owned);
    let mut known = BTreeSet::new();
    for message in thread.list("messages").into_iter().map(Members::from) {
        run.pass_over("messages of other types", u64::from(!message.has("role")));
        run.turn(message.get("createdAt").and_then(time::of_string));
        run.model(message.name("model"));
        for execution in message.objects("skillExecutions") {
            // A message may repeat the executions before it.
            if execution.name("callId").is_some_and(|id| !id.is_empty())
                && !known.insert(execution.whole().map(Raw::bytes))
            {
                run.pass_over("repeated executions", 1);
                continue;
            }
            skill(&execution, &mut run);
        }
        run.say(words::actor_of(&message.name("role").unwrap_or_default()), message.text("content"));
    }
    run.give(runs);
}

/// Adds the call of a skill, answered by its references. `completed` may hide a failure, so it counts as unmarked.
fn skill<'a>(execution: &Members<'a>, run: &mut Recording<'a>) {
    run.call(execution.ident("callId"), execution.name("slug"), execution.get("arguments"));
    let said = execution.objects("references").find_map(|reference| reference.text("text"));
    let referred = || execution.get("references").filter(|list| !items(Some(*list)).is_empty());
    let failed = said.as_ref().is_some_and(|said| said.text().starts_with("Failed to execute "));
    let is_unsupported = |reference: Members<'_>| reference.name("type").as_deref() == Some("unsupported");
    let Some(outcome) = execution.outcome("status") else { return };
    let outcome = match outcome.status {
        Status::Ok if execution.objects("references").any(is_unsupported) => Outcome::flag(true),
        Status::Ok if failed => Outcome::error(Provenance::Text),
        Status::Ok => Outcome::UNMARKED,
        _ => outcome,
    };
    run.answer(execution.ident("callId"), None, said.or_else(|| referred().and_then(words::result)), outcome);
}
