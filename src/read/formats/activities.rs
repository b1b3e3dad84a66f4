//! Transcripts of the Microsoft 365 Agents SDK and the Bot Framework: activities, some of them with a call or
//! its result.

use super::prelude::*;

pub(super) const FORMAT: Definition =
    Definition { signature: &[Shape::Under(&["activities"], ACTIVITY)], reader: Reader::Document(read) };

const ACTIVITY: Mark = All(&[
    Has(&["type"]),
    Is(Kind::Object, &["conversation", "recipient"]),
    HasOne(&["channelId", "channel_id"]),
]);

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    let mut sessions = Recordings::of_agent("microsoft-agents");
    let activities = objects(document, &["activities"]);
    for activity in fitting(&ACTIVITY, activities, "activities of other types", runs) {
        let run = sessions.run(activity.object("conversation").ident("id"));
        run.turn(activity.time("timestamp"));
        let role = activity.first(&["from", "from_property"]).and_then(|from| from.member("role")?.string());
        let actor = if matches!(role.as_deref(), Some("bot" | "skill")) { Actor::Agent } else { Actor::User };
        let value = activity.object("value");
        let id = value.ident("call_id");
        match (activity.name("type").as_deref(), value.name("type").as_deref()) {
            (Some("message"), _) => run.say(actor, activity.text("text")),
            (_, Some("function_call_output")) => {
                let observed = value.get("output").or_else(|| activity.get("text"));
                run.answer(id, None, observed.and_then(words::result), Outcome::UNMARKED);
            }
            (_, Some("function_call")) | (Some("invoke"), _) => {
                let name = value.name("name").or_else(|| activity.name("name"));
                run.call(id, name, value.get("arguments"));
            }
            (Some("trace" | "typing" | "conversationUpdate" | "endOfConversation"), _) => {}
            _ => runs.pass_over("activities of other types", 1),
        }
    }
    sessions.give(runs);
}
