//! Messages of the Vercel AI SDK: texts and calls in `parts` or `toolInvocations`. A call includes its state
//! and result. A stream of events makes up one message.

use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[
        Shape::Under(
            &["messages"],
            All(&[Has(&["role"]), Any(&[Holds("parts", &PART), Holds("toolInvocations", &INVOCATION)])]),
        ),
        Shape::Items(EVENT),
    ],
    reader: Reader::Document(read),
};

const INVOCATION: Mark = Has(&["toolCallId", "toolName", "state"]);
const PART: Mark = Any(&[
    All(&[Has(&["toolCallId", "state"]), Says("type", &["tool-*", "dynamic-tool"])]),
    In("toolInvocation", &INVOCATION),
]);

/// An event of a stream.
const EVENT: Mark = Any(&[
    All(&[Says("type", &["tool-input-*", "tool-output-*"]), Has(&["toolCallId"]), Not(&Has(&["role"]))]),
    All(&[Says("type", &["text-start", "reasoning-start"]), Has(&["id"])]),
]);

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    if any_of_first(document.items(), |event| EVENT.fits(event)) {
        return stream(document.items(), runs);
    }
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

/// Reads the events of a stream, in which texts and arguments come in pieces.
fn stream(events: &[Raw<'_>], runs: &mut Runs<'_>) {
    let mut run = Recording::default();
    let mut inputs: Ordered<Cow<'_, str>, (Option<CallNumber>, String)> = Ordered::default();
    let (mut said, mut said_in) = (String::new(), None);
    for event in events.iter().map(|event| Members::from(*event)) {
        let kind = event.name("type").unwrap_or_default();
        if kind != "text-delta" || event.ident("id") != said_in {
            run.say(Actor::Agent, Some(std::mem::take(&mut said).into()));
        }
        if kind == "text-delta" {
            said.push_str(&event.name("delta").unwrap_or_default());
            said_in = event.ident("id");
            continue;
        }
        let id = event.ident("toolCallId");
        match &*kind {
            "start-step" => run.turn(None),
            "tool-input-start" | "tool-input-delta" | "tool-input-available" | "tool-input-error" => {
                let (number, input) = inputs.get(id.clone().unwrap_or_default(), |_| Default::default());
                let number = *number.get_or_insert_with(|| run.call(id, event.name("toolName"), None));
                input.push_str(&event.name("inputTextDelta").unwrap_or_default());
                if let Some(whole) = event.present("input") {
                    *input = whole.string().unwrap_or_else(|| whole.spelling()).into_owned();
                }
                if let Some(call) = run.call_mut(number) {
                    call.arguments = common::arguments_of_text(input.clone().into());
                }
                if kind == "tool-input-error" {
                    run.answer_call(number, event.result("errorText"), Outcome::flag(true));
                }
            }
            "tool-output-available" if event.flag("preliminary") == Some(true) => {}
            "tool-output-available" => run.answer(id, None, event.result("output"), Outcome::flag(false)),
            "tool-output-error" => run.answer(id, None, event.result("errorText"), Outcome::flag(true)),
            "tool-output-denied" => run.answer(id, None, None, Outcome::REFUSED),
            "error" => run.say(Actor::Environment, event.text("errorText")),
            "start" | "finish" | "finish-step" | "text-start" | "text-end" | "message-metadata" => {}
            kind if kind.starts_with("reasoning-") => {}
            _ => run.pass_over("parts of other types", 1),
        }
    }
    run.say(Actor::Agent, Some(said.into()));
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
