//! Rows of the `messages` table of Crush, or of the early `OpenCode` written in Go, exported as JSON. The parts of
//! a row's message are usually JSON in a string. Rows of several sessions may be interleaved.

use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Under(&["messages"], All(&[Has(&["session_id", "role"]), PARTS]))],
    reader: Reader::Document(read),
};

const PARTS: Mark = Test("`parts` (a list, or JSON in a string) of objects with `type` and `data`", |row| {
    let text = row.get("parts").and_then(Raw::string);
    parts(row, text.as_deref()).is_some_and(|parts| parts.iter().any(|part| PART.fits_value(*part)))
});
const PART: Mark = All(&[Is(Kind::String, &["type"]), Is(Kind::Object, &["data"])]);

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    let rows: Vec<_> = objects(document, &["messages"]).collect();
    let texts: Vec<_> = rows.iter().map(|row| row.get("parts").and_then(Raw::string)).collect();
    let mut sessions = Recordings::of_agent("crush");
    // The session of each call. The id of a sub-agent's session is that of the call that began it; later versions
    // put a message id before it.
    let mut callers = TextMap::default();
    for (row, text) in rows.iter().zip(&texts) {
        let (Some(id), Some(parts)) = (row.name("session_id"), parts(row, text.as_deref())) else {
            runs.pass_over("rows without a session or readable parts", 1);
            continue;
        };
        let session = sessions.run(Some(id.clone()));
        let parent = callers.get(id.rsplit("$$").next().unwrap_or_default());
        session.metadata.parent = parent.map(|parent: &Cow<'_, str>| parent.clone().into_owned());
        session.turn(row.get("created_at").and_then(time_of));
        let actor = words::actor_of(&row.name("role").unwrap_or_default());
        if actor == Actor::Agent {
            session.model(row.name("model"));
        }
        for part in parts.into_iter().map(Members::from) {
            if let Some(call) = read_part(&part, actor, session) {
                callers.insert(call, id.clone());
            }
        }
    }
    sessions.give(runs);
}

/// Returns the parts of a row. `text` is the decoded `parts`, if that is a string.
fn parts<'a>(row: &Members<'a>, text: Option<&'a str>) -> Option<Vec<Raw<'a>>> {
    text.map_or_else(|| row.get("parts"), json)?.items()
}

/// Reads a time in seconds, the unit that databases use, or in milliseconds, the unit that the schema documents.
fn time_of(value: Raw<'_>) -> Option<u64> {
    const YEAR_5138: i64 = 100_000_000_000;
    if value.integer()? < YEAR_5138 { time::of_seconds(value) } else { time::of_milliseconds(value) }
}

/// Reads a part of a message. Returns the call id if the part is a call.
fn read_part<'a>(part: &Members<'a>, actor: Actor, session: &mut Recording<'a>) -> Option<Cow<'a, str>> {
    let data = part.object("data");
    match part.name("type").as_deref() {
        Some("text") => session.say(actor, data.text("text")),
        Some("tool_call") => {
            session.call(data.ident("id"), data.name("name"), data.get("input"));
            return data.ident("id");
        }
        Some("tool_result") => {
            let text = data.result("content");
            let outcome = outcome(&data, text.as_ref());
            session.answer(data.ident("tool_call_id"), data.name("name").as_ref(), text, outcome);
        }
        Some("finish") if actor == Actor::Agent => {
            session.metadata.termination = data.name("reason").map(Cow::into_owned);
            if session.metadata.termination.as_deref() == Some("error") {
                session.say(Actor::Environment, data.text("details").or_else(|| data.text("message")));
            }
        }
        Some("finish" | "reasoning" | "image_url" | "binary") => {}
        _ => session.pass_over("parts of other types", 1),
    }
    None
}

/// Returns the outcome of a call. The result of a command that failed is not flagged, but ends with its exit code and
/// the working directory.
fn outcome(result: &Members<'_>, text: Option<&TextCow<'_>>) -> Outcome {
    const END: usize = 8192;
    let interrupted = Outcome::unknown(UnknownReason::Interrupted, Provenance::Text);
    let flagged = Outcome::of_flag(result.flag("is_error"));
    let Some(text) = text.map(TextCow::text) else { return flagged };
    let end = text.tail(END);
    if result.flag("is_error") == Some(true) {
        return match &*end {
            "Permission denied" | "User denied permission" => Outcome::REFUSED,
            "Tool execution canceled by user" => interrupted,
            _ => flagged,
        };
    }
    let metadata = result.name("metadata").unwrap_or_default();
    let metadata = members(json(&metadata));
    if metadata.flag("background") == Some(true) && metadata.has("shell_id") {
        return Outcome::RUNNING;
    }
    // Only the metadata of a command has a start time; other results have no exit code.
    if !metadata.has("start_time") {
        return flagged;
    }
    let output = end.rsplit_once("\n\n<cwd>").map_or(&*end, |(output, _)| output);
    let last = output.rsplit('\n').next().unwrap_or_default();
    if last == "Command was aborted before completion" {
        return interrupted;
    }
    words::exit_line(last, "Exit code ").map_or(flagged, Outcome::exit_code)
}
