//! Rows of the sessions table of Agno, exported as JSON. The runs of a session are a list, or JSON in a string, which
//! some stores encode twice.

use super::chat::Form;
use super::chat_messages::Conversation;
use super::prelude::*;

pub(super) const FORMAT: Definition =
    Definition { signature: &[Shape::Each(SESSION)], reader: Reader::Document(read) };

const SESSION: Mark = All(&[
    Any(&[Is(Kind::String, &["runs"]), Is(Kind::List, &["runs"]), Is(Kind::Null, &["runs"])]),
    Not(&Has(&["messages"])),
    Is(Kind::String, &["session_id"]),
    Says("session_type", &["agent", "team", "workflow"]),
]);

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    for row in fitting(&SESSION, document.each(), "rows of other types", runs) {
        let Some(held) = row.present("runs") else { continue };
        let text = decoded(held);
        match json(&text).and_then(Raw::items) {
            Some(all) => session(row.name("session_id"), all, runs),
            None => runs.pass_over("sessions without a list of runs", 1),
        }
    }
}

fn decoded(runs: Raw<'_>) -> Cow<'_, str> {
    let text = runs.string().unwrap_or_else(|| runs.spelling());
    let inner = json(&text).and_then(Raw::string).map(Cow::into_owned);
    inner.map_or(text, Cow::Owned)
}

/// Emits the chat of a session, and a chat for each member of a team.
fn session(id: Option<Cow<'_, str>>, all: Vec<Raw<'_>>, runs: &mut Runs<'_>) {
    let id = id.map(Cow::into_owned);
    let mut chats: Ordered<_, Conversation<'_>> = Ordered::default();
    let all = all.into_iter().map(Members::from);
    for run in fitting(&Is(Kind::List, &["messages"]), all, "runs without messages", runs) {
        let member =
            run.present("parent_run_id").and_then(|_| run.name("agent_id").or_else(|| run.name("team_id")));
        let name = member.map(|member| format!("{}/{member}", id.as_deref().unwrap_or_default()));
        let chat = chats.get(name, |name| {
            let parent = id.clone().filter(|_| name.is_some());
            let id = name.clone().or_else(|| id.clone());
            let metadata = Metadata { id, parent, agent: Some("agno".into()), ..Metadata::default() };
            Conversation::new(Form::Messages, metadata)
        });
        let metadata = &mut chat.metadata;
        metadata.model = metadata.model.take().or(run.name("model").map(|model| model.as_ref().into()));
        metadata.termination = run.name("status").filter(|status| status != "COMPLETED").map(Cow::into_owned);
        let is_first = chat.elements() == 0;
        for message in run.list("messages") {
            let look = Members::from(message);
            // Each run repeats the instructions, and may repeat messages of the runs before it.
            let is_again = !is_first && look.name("role").as_deref() == Some("system")
                || look.flag("from_history") == Some(true);
            if !is_again {
                chat.take(message);
            }
        }
    }
    chats.into_values().for_each(|chat| chat.give(runs));
}
