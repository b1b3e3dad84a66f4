//! Rows of the sessions table of Agno, exported as JSON. The runs of a session are JSON in a string, which some
//! stores encode twice.

use super::chat::Form;
use super::chat_messages::Conversation;
use super::prelude::*;

pub(in crate::read) const FORMAT: Definition = Definition {
    signature: &[Shape::Each(All(&[
        Has(&["runs"]),
        Is(Kind::String, &["session_id"]),
        Says("session_type", &["agent", "team", "workflow"]),
    ]))],
    reader: Reader::Fallible(read),
};

fn read(document: &Document<'_>, runs: &mut Runs<'_>) -> Read<()> {
    for row in document.each() {
        let text = row.get("runs").map(decoded).unwrap_or_default();
        session(row.name("session_id"), items(json(&text)), runs)?;
    }
    Ok(())
}

fn decoded(runs: Raw<'_>) -> Cow<'_, str> {
    let text = runs.string().unwrap_or_else(|| runs.spelling());
    let inner = json(&text).and_then(Raw::string).map(Cow::into_owned);
    inner.map_or(text, Cow::Owned)
}

/// Emits the chat of a session, and a chat for each member of a team.
fn session(id: Option<Cow<'_, str>>, all: Vec<Raw<'_>>, runs: &mut Runs<'_>) -> Read<()> {
    let id = id.map(Cow::into_owned);
    let mut chats: Ordered<_, (Metadata, Conversation<'_>)> = Ordered::default();
    let mut others = 0;
    for run in all.into_iter().map(Members::from) {
        let member = run.present("parent_run_id").and_then(|_| run.name("agent_id"));
        let name = member.map(|member| format!("{}/{member}", id.as_deref().unwrap_or_default()));
        let (metadata, chat) = chats.get(name, |name| {
            let parent = id.clone().filter(|_| name.is_some());
            let id = name.clone().or_else(|| id.clone());
            let metadata = Metadata { id, parent, agent: Some("agno".into()), ..Metadata::default() };
            (metadata, Conversation::new(Form::Messages))
        });
        metadata.model = metadata.model.take().or(run.name("model").map(|model| model.as_ref().into()));
        metadata.termination = run.name("status").filter(|status| status != "COMPLETED").map(Cow::into_owned);
        let is_first = chat.elements() == 0;
        for message in run.objects("messages") {
            // Each run repeats the instructions, and may repeat messages of the runs before it.
            let is_again = !is_first && message.name("role").as_deref() == Some("system")
                || message.flag("from_history") == Some(true);
            if let Some(message) = message.whole().filter(|_| !is_again) {
                others += u64::from(!chat.element(&mut message.json())?);
            }
        }
    }
    for (metadata, mut chat) in chats.into_values() {
        others += chat.unknown();
        runs.give_unrouted(&mut chat.assembler, metadata, None);
    }
    runs.pass_over("elements that are not messages", others);
    Ok(())
}
