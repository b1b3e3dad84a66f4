//! Messages of the Vercel AI SDK: texts and calls in `parts` or `toolInvocations`. A call includes its state
//! and result.

use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Under(
        &["messages"],
        All(&[Has(&["role"]), Any(&[Holds("parts", &PART), Holds("toolInvocations", &INVOCATION)])]),
    )],
    reader: Reader::Document(read),
};

const INVOCATION: Mark = Has(&["toolCallId", "toolName", "state"]);
const PART: Mark = Any(&[
    All(&[Has(&["toolCallId", "state"]), Says("type", &["tool-*", "dynamic-tool"])]),
    In("toolInvocation", &INVOCATION),
]);

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    let mut run = Recording::default();
    let chat = document.members();
    run.metadata.id = chat.ident("id").or_else(|| chat.ident("chatId")).map(Cow::into_owned);
    run.model(chat.name("model"));
    let all = elements(document, &["messages"]);
    let messages = || all.iter().filter(|element| element.kind() == Kind::Object);
    messages().for_each(|element| message(&Members::from(*element), &mut run));
    runs.pass_over("elements that are not messages", (all.len() - messages().count()) as u64);
    run.give(runs);
}

fn message<'a>(message: &Members<'a>, run: &mut Recording<'a>) {
    let time = message.time("createdAt");
    run.turn(time);
    let actor = words::actor_of(&message.name("role").unwrap_or_default());
    let parts = message.list("parts");
    if parts.is_empty() {
        run.say(actor, message.message("content"));
        let mut latest = 0;
        for invocation in message.objects("toolInvocations") {
            let step = invocation.count("step").unwrap_or(0);
            if std::mem::replace(&mut latest, step) != step {
                run.turn(time);
            }
            call(&invocation, run);
        }
    }
    for part in parts.into_iter().map(Members::from) {
        match part.name("type").as_deref() {
            // A message holds all model responses up to the next user message. Each is a turn.
            Some("step-start") => run.turn(time),
            Some("text") => run.say(actor, part.text("text")),
            _ if part.has("toolInvocation") => call(&part.object("toolInvocation"), run),
            _ if PART.fits(&part) => call(&part, run),
            Some("reasoning" | "file" | "source-url" | "source-document") => {}
            _ => run.pass_over("parts of other types", 1),
        }
    }
}

fn call<'a>(call: &Members<'a>, run: &mut Recording<'a>) {
    let kind = call.name("type").unwrap_or_default();
    let of_type = || kind.strip_prefix("tool-").map(|name| Cow::Owned(name.to_owned()));
    let name = call.name("toolName").or_else(of_type);
    let arguments = ["input", "args", "rawInput"].into_iter().find_map(|key| call.present(key));
    let number = run.call(call.ident("toolCallId"), name, arguments);
    match call.name("state").as_deref() {
        Some("output-available") => run.answer_call(number, call.result("output"), Outcome::flag(false)),
        Some("result") => run.answer_call(number, call.result("result"), Outcome::UNMARKED),
        Some("output-error") => run.answer_call(number, call.result("errorText"), Outcome::flag(true)),
        Some("output-denied") => {
            run.answer_call(number, None, Outcome::REFUSED);
        }
        _ => {}
    }
}
