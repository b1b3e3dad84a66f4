//! Continue: sessions of the editor. The state of a call has its outcome.

use super::prelude::*;

pub(super) const FORMAT: Definition =
    Definition { signature: &[Shape::Each(SESSION)], reader: Reader::Document(read) };

const SESSION: Mark =
    All(&[Has(&["sessionId", "workspaceDirectory"]), Holds("history", &Is(Kind::Object, &["message"]))]);

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    for session in fitting(&SESSION, document.each(), "objects of other types", runs) {
        let mut run = Recording::of_agent("continue");
        run.metadata.id = session.name("sessionId").map(Into::into);
        run.model(session.name("chatModelTitle"));
        let mut states = TextMap::default();
        for item in session.objects("history") {
            run.turn(None);
            message(&item, &mut states, &mut run);
        }
        // A result without a message is only in the state of its call.
        for (id, state) in states {
            let output = items(state.member("output")).into_iter();
            let observed =
                wire::joined(output.filter_map(|item| words::result(item.member("content")?)).collect());
            // A call that has not ended may have partial output, and is answered as running.
            if let Some(outcome) = outcome(state).or_else(|| observed.as_ref().map(|_| Outcome::RUNNING)) {
                run.answer(Some(id), None, observed, outcome);
            }
        }
        run.give(runs);
    }
}

/// Reads an item of a session. `states` holds the states of calls without a result message.
fn message<'a>(item: &Members<'a>, states: &mut TextMap<Cow<'a, str>, Raw<'a>>, run: &mut Recording<'a>) {
    let message = item.object("message");
    let content = message.get("content");
    match message.name("role").as_deref() {
        Some("user") => run.say(Actor::User, text(content)),
        Some("system") => run.say(Actor::System, text(content)),
        Some("assistant") => {
            run.say(Actor::Agent, text(content));
            let own = item.get("toolCallState").into_iter();
            for state in item.list("toolCallStates").into_iter().chain(own) {
                states.extend(ident(state.member("toolCallId")).map(|id| (id, state)));
            }
            for call in message.objects("toolCalls") {
                let function = call.object("function");
                run.call(call.ident("id"), function.name("name"), function.get("arguments"));
            }
        }
        Some("tool") => {
            let id = message.ident("toolCallId");
            let state = id.as_ref().and_then(|id| states.remove(id));
            let outcome = state.and_then(outcome).unwrap_or(Outcome::UNMARKED);
            run.answer(id, None, content.and_then(words::result), outcome);
        }
        Some("thinking") => {}
        _ => run.pass_over("messages of other types", 1),
    }
}

/// Returns the outcome of a call from its state, or `None` if the call has not ended.
fn outcome(state: Raw<'_>) -> Option<Outcome> {
    Outcome::of_word(&state.member("status")?.string()?)
}
