//! Rows of OpenCode's database. OpenCode 1 has tables of messages and of their parts. The messages of OpenCode 2 hold
//! their parts themselves.

use std::collections::BTreeMap;

use super::opencode::{Info, Part, add};
use super::prelude::*;

/// An object with both tables of OpenCode 1.
pub(super) const TABLES: Mark = All(&[
    Holds("messages", &All(&[Is(Kind::String, &["id", "session_id"]), In("data", &Has(&["role"]))])),
    Holds("parts", &All(&[Is(Kind::String, &["message_id"]), In("data", &Has(&["type"]))])),
]);

/// A message of OpenCode 2.
pub(super) const MESSAGE: Mark = All(&[
    Says("id", &["msg_*"]),
    Says("session_id", &["ses_*"]),
    Says("type", &["user", "assistant"]),
    In("data", &Any(&[Has(&["text", "time"]), Holds("content", &Has(&["type"]))])),
]);

/// Runs by the id of their session, with their numbers of messages.
#[derive(Default)]
struct Sessions<'a>(Ordered<Option<Cow<'a, str>>, (Recording<'a>, u64)>);

impl<'a> Sessions<'a> {
    /// Returns the run that a message belongs to, and the turn of the message.
    fn run_of(&mut self, row: &Members<'a>) -> (&mut Recording<'a>, u64) {
        let (run, count) = self.0.get(row.name("session_id"), |id| {
            let mut run = Recording::of_agent("opencode");
            run.metadata.id = id.clone().map(Cow::into_owned);
            (run, 0)
        });
        *count += 1;
        (run, *count - 1)
    }

    fn give(self, runs: &mut Runs<'_>) {
        self.0.into_values().for_each(|(run, _)| run.give(runs));
    }
}

/// Reads the tables of OpenCode 1.
pub(super) fn tables(members: &Members<'_>, runs: &mut Runs<'_>) {
    let parents = members.objects("sessions").map(|row| (row.name("id"), row.name("parent_id")));
    let parents: BTreeMap<_, _> = parents.collect();
    let mut parts: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for row in members.objects("parts") {
        parts.entry(row.name("message_id")).or_default().push(Part(row.object("data")));
    }
    let mut sessions = Sessions::default();
    for row in members.objects("messages") {
        let (run, turn) = sessions.run_of(&row);
        run.metadata.parent = parents.get(&row.name("session_id")).cloned().flatten().map(Cow::into_owned);
        let parts = parts.remove(&row.name("id")).unwrap_or_default();
        add(Info::of(&row.object("data")), &parts, turn, run);
    }
    sessions.give(runs);
    runs.pass_over("parts without a message", parts.into_values().map(|parts| parts.len() as u64).sum());
}

/// Reads the messages of OpenCode 2. A row may be next to the name of its table.
pub(super) fn messages(rows: &[Raw<'_>], runs: &mut Runs<'_>) {
    let mut sessions = Sessions::default();
    for row in rows {
        let row = Members::from(*row).within("row");
        let data = row.object("data");
        let kind = row.name("type").unwrap_or_default();
        if kind == "assistant" {
            let (run, turn) = sessions.run_of(&row);
            let parts: Vec<_> = data.objects("content").map(Part).collect();
            let model = data.object("model").name("id");
            let error = data.object("error").name("type");
            add(Info { role: kind, model, error, ..Info::of(&data) }, &parts, turn, run);
        } else if let Some(text) = data.message("text") {
            let (run, turn) = sessions.run_of(&row);
            run.at(turn, Info::of(&data).time);
            run.say(words::actor_of(&kind), Some(text));
        } else {
            runs.pass_over("rows that are not messages", 1);
        }
    }
    sessions.give(runs);
}
