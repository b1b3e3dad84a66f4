//! Qwen Code sessions: one `Content` of the Gemini API per line, with a record of the outcome next to each
//! tool response.

use super::gemini_contents::{Contents, usage};
use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Items(All(&[
        Is(Kind::String, &["uuid", "sessionId"]),
        Says("type", &["user", "assistant", "tool_result"]),
        In("message", &Is(Kind::List, &["parts"])),
    ]))],
    reader: Reader::Document(read),
};

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    let mut sessions: Ordered<_, Contents<'_>> = Ordered::default();
    for line in document.each() {
        let (Some(message), session) = (line.get("message"), line.name("sessionId")) else {
            runs.pass_over("lines without a message", 1);
            continue;
        };
        let contents = sessions.get(session, |session| {
            let mut contents = Contents::of_agent("qwen-code");
            contents.run.metadata.id = session.clone().map(Cow::into_owned);
            contents
        });
        let is_agent = line.name("type").as_deref() == Some("assistant");
        let time = line.get("timestamp").and_then(time::of_string);
        // A recorded success does not count: the text of the result may report a nonzero exit code.
        let outcome =
            line.object("toolCallResult").outcome("status").filter(|known| known.status != Status::Ok);
        let role = if is_agent { "model" } else { "user" };
        contents.add_with(role, Some(message), time, usage(line.get("usageMetadata")), outcome);
        contents.run.model(line.name("model").filter(|_| is_agent));
    }
    sessions.into_values().for_each(|contents| contents.run.give(runs));
}
