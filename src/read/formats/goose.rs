//! Goose: sessions in lines, exported sessions, and rows of `sessions.db`. A message has parts; some are calls and some
//! are answers.

use super::prelude::*;
use super::recorded::{elements, ident, items, json, members, text};

pub(in crate::read) const FORMAT: Entry = Entry {
    format: Format::Goose,
    about: "sessions of Goose",
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
    let around = match document {
        Document::Object(around) => around.clone(),
        _ => Members::default(),
    };
    let (mut others, mut unread) = (0, 0);
    for (message, row) in messages.iter().zip(&rows) {
        let message = Members::from(*message);
        if HEADER.fits(&message) || !message.has("role") {
            others += 1;
            continue;
        }
        let session = sessions.run(ident(message.get("session_id").or_else(|| around.get("id"))));
        session.model(around.get("model_config").and_then(|model| model.member("model_name")?.string()));
        let time = message.get("created").or_else(|| message.get("created_timestamp"));
        session.turn(time.and_then(time::of_seconds));
        let is_agent = message.name("role").as_deref() == Some("assistant");
        let parts = match row {
            Some(row) => items(json(row)),
            None => message.list("content"),
        };
        unread += u64::from(row.as_deref().is_some_and(|row| json(row).is_none()));
        for part in parts {
            unread += u64::from(!read_part(part, is_agent, session));
        }
    }
    runs.pass_over("elements without messages", others);
    runs.pass_over("parts of other types", unread);
    sessions.give(runs);
}

/// Reads a part of a message, or returns false if its type is unknown.
fn read_part<'a>(part: Raw<'a>, is_agent: bool, session: &mut Recording<'a>) -> bool {
    let kind = part.member("type").and_then(Raw::string);
    match kind.as_deref() {
        Some("text") => session.say(if is_agent { Actor::Agent } else { Actor::User }, text(Some(part))),
        Some("toolRequest" | "frontendToolRequest") => {
            // The value of a request that could not be parsed is an error.
            let call = part.member("toolCall").and_then(|call| call.member("value"));
            let name = call.and_then(|call| call.member("name")).and_then(common::name);
            let arguments = call.and_then(|call| call.member("arguments"));
            session.call(ident(part.member("id")), name, arguments);
        }
        Some("toolResponse") => {
            let result = members(part.member("toolResult"));
            let (observation, outcome) = answer(&result);
            session.answer(ident(part.member("id")), None, observation, outcome);
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
        _ => return false,
    }
    true
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
