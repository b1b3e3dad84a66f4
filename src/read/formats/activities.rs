//! Transcripts of the Microsoft 365 Agents SDK and the Bot Framework: activities, some of them with a call or its result.

use crate::json::{Kind, Raw};
use crate::read::Format;
use crate::read::document::Document;
use crate::read::format::{DocumentReader, Entry, Reader};
use crate::read::outcome::Outcome;
use crate::read::runs::Runs;
use crate::read::sample::Members;
use crate::read::time;
use crate::read::words;
use crate::trace::Actor;

use super::recorded::{Recordings, any_of_first, elements, ident, members, text};

pub(in crate::read) const FORMAT: Entry = Entry {
    format: Format::Activities,
    about: "transcripts of the Microsoft 365 Agents SDK and the Bot Framework",
    decisive: "activities with `type`, `conversation` and `recipient`",
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
    any_of_first(&elements(document, &["activities"]), is_activity)
}

fn is_activity(activity: &Members<'_>) -> bool {
    activity.has("type")
        && activity.is("conversation", Kind::Object)
        && activity.is("recipient", Kind::Object)
        && (activity.has("channelId") || activity.has("channel_id"))
}

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    let mut sessions = Recordings::of_agent("microsoft-agents");
    let mut others = 0;
    for activity in elements(document, &["activities"]) {
        let activity = members(Some(activity));
        if !is_activity(&activity) {
            others += 1;
            continue;
        }
        let run = sessions
            .run(ident(activity.get("conversation").and_then(|conversation| conversation.member("id"))));
        run.turn(activity.get("timestamp").and_then(time::of_string));
        let from = activity.get("from").or_else(|| activity.get("from_property"));
        let role = from.and_then(|from| from.member("role")).and_then(Raw::string);
        let actor = if matches!(role.as_deref(), Some("bot" | "skill")) { Actor::Agent } else { Actor::User };
        let value = members(activity.get("value"));
        let id = ident(value.get("call_id"));
        match (activity.name("type").as_deref(), value.name("type").as_deref()) {
            (Some("message"), _) => run.say(actor, text(activity.get("text"))),
            (_, Some("function_call_output")) => {
                let observed = value.get("output").or_else(|| activity.get("text"));
                run.answer(id, None, observed.and_then(words::result), Outcome::UNMARKED);
            }
            (_, Some("function_call")) | (Some("invoke"), _) => {
                let name = value.name("name").or_else(|| activity.name("name"));
                run.call(id, name, value.get("arguments"));
            }
            (Some("trace" | "typing" | "conversationUpdate" | "endOfConversation"), _) => {}
            _ => others += 1,
        }
    }
    runs.pass_over("activities of other types", others);
    sessions.give(runs);
}
