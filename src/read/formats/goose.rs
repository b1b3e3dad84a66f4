//! Goose: sessions as JSON lines, exported sessions, and rows of `sessions.db`. A message has parts; some are
//! calls and some are answers.

use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Under(&LISTS, Any(&[ROW, HEADER, PARTS]))],
    reader: Reader::Document(read),
};

const ROW: Mark = All(&[Is(Kind::String, &["content_json"]), Has(&["session_id", "role"])]);
/// The first line of a session, which describes it.
const HEADER: Mark = Has(&["working_dir", "message_count", "accumulated_total_tokens"]);
const PARTS: Mark =
    All(&[Has(&["role"]), Holds("content", &Any(&[Has(&["id", "toolCall"]), Has(&["id", "toolResult"])]))]);

const LISTS: [&str; 2] = ["conversation", "messages"];

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    let messages = elements(document, &LISTS);
    let rows: Vec<Option<Cow<'_, str>>> =
        messages.iter().map(|message| message.member("content_json").and_then(Raw::string)).collect();
    let mut sessions = Recordings::of_agent("goose");
    let around = document.members();
    for (message, row) in messages.iter().zip(&rows) {
        let message = Members::from(*message);
        if HEADER.fits(&message) || !message.has("role") {
            runs.pass_over("elements without messages", 1);
            continue;
        }
        let session = sessions.run(ident(message.get("session_id").or_else(|| around.get("id"))));
        session.model(around.object("model_config").name("model_name"));
        session.turn(message.first(&["created", "created_timestamp"]).and_then(time::of_seconds));
        let is_agent = message.name("role").as_deref() == Some("assistant");
        let parts = match row {
            Some(row) => items(json(row)),
            None => message.list("content"),
        };
        let is_damaged = row.as_deref().is_some_and(|row| json(row).is_none());
        session.pass_over("messages whose content is not JSON", u64::from(is_damaged));
        for part in parts {
            read_part(part, is_agent, session);
        }
    }
    sessions.give(runs);
}

fn read_part<'a>(value: Raw<'a>, is_agent: bool, session: &mut Recording<'a>) {
    let part = Members::from(value);
    match part.name("type").as_deref() {
        Some("text") => session.say(if is_agent { Actor::Agent } else { Actor::User }, words::text(value)),
        Some("toolRequest" | "frontendToolRequest") => {
            // A request that could not be parsed has no such object, so its call has no name.
            let call = part.object("toolCall").object("value");
            session.call(part.ident("id"), call.name("name"), call.get("arguments"));
        }
        Some("toolResponse") => {
            let (observation, outcome) = answer(&part.object("toolResult"));
            session.answer(part.ident("id"), None, observation, outcome);
        }
        Some(
            "thinking"
            | "redactedThinking"
            | "reasoning"
            | "image"
            | "toolConfirmationRequest"
            | "actionRequired"
            | "systemNotification"
            | "contextLengthExceeded"
            | "summarizationRequested"
            | "conversationCompacted",
        ) => {}
        _ => session.pass_over("parts of other types", 1),
    }
}

/// Reads the answer in a result: an error, the content, or an object with the content and a flag.
fn answer<'a>(result: &Members<'a>) -> (Option<TextCow<'a>>, Outcome) {
    let value = result.get("value");
    if result.name("status").as_deref() == Some("error") {
        return (result.get("error").or(value).and_then(words::result), Outcome::flag(true));
    }
    let content = value.and_then(|value| value.member("content")).or(value);
    let is_error = value.and_then(|value| value.member("isError")).and_then(Raw::boolean);
    let code = value.and_then(|value| value.member("structuredContent")?.member("exit_code")?.integer());
    let outcome = match code {
        Some(code) if is_error != Some(true) => Outcome::exit_code(code != 0),
        _ => Outcome::flag(is_error == Some(true)),
    };
    (content.and_then(words::result), outcome)
}
