//! Histories of Qodo in editors: the messages of several threads. The parts of an answer are texts, and calls with
//! their results.

use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Object(All(&[
        Is(Kind::List, &["threads"]),
        Holds("messages", &Has(&["messageID", "threadID", "role"])),
    ]))],
    reader: Reader::Object(read),
};

fn read(history: &Members<'_>, runs: &mut Runs<'_>) {
    let mut threads = Recordings::of_agent("qodo");
    for message in history.list("messages").into_iter().map(Members::from) {
        let run = threads.run(message.name("threadID"));
        run.turn(message.time("createdAt"));
        run.model(message.name("modelLabel"));
        match message.name("role").as_deref() {
            Some("user") => run.say(Actor::User, message.text("userInput")),
            Some("assistant") => {
                run.say(Actor::System, message.text("extraInstructions"));
                message.objects("data").for_each(|part| self::part(&part, run));
            }
            _ => run.pass_over("messages of other types", 1),
        }
    }
    threads.give(runs);
}

fn part<'a>(part: &Members<'a>, run: &mut Recording<'a>) {
    match part.name("type").as_deref() {
        // `content` is HTML that was made from `originalContent`, so prefer the latter.
        Some("text") => {
            run.say(Actor::Agent, part.text("originalContent").or_else(|| part.text("content")));
        }
        Some("tool_use") => {
            let used = part.object("toolUseData");
            let call = run.call(used.name("identifier"), used.name("tool"), used.get("args"));
            if let Some(result) = used.get("message").and_then(Raw::string) {
                let outcome = Outcome::of_flag(used.flag("isError"));
                run.answer_call(call, Some(text_of(&result)), outcome);
            }
        }
        _ => run.pass_over("parts of other types", 1),
    }
}

/// Returns the text of a result: JSON with text parts under `content`, or plain text.
fn text_of(result: &str) -> TextCow<'static> {
    let content = json(result).and_then(|result| result.member("content"));
    let text = content.and_then(words::result).map(|text| text.text().to_str().into_owned());
    text.unwrap_or_else(|| result.to_owned()).into()
}
