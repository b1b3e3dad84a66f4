//! Messages of the Vercel AI SDK: texts and calls in `parts`, or calls in `toolInvocations` next to `content`. A call
//! includes its state and result. Also reads streams of events, which build messages piece by piece.

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
        let mut stream = Stream::default();
        document.items().iter().for_each(|event| stream.event(&Members::from(*event)));
        stream.end_message();
        return stream.run.give(runs);
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

/// A stream of events that carry texts and arguments in pieces. An element with a role is a complete message.
#[derive(Default)]
struct Stream<'a> {
    run: Recording<'a>,
    /// The texts that have not ended, by id.
    said: Ordered<Option<Cow<'a, str>>, String>,
    /// The calls of the current message by id, each with the pieces of its arguments.
    inputs: Ordered<Option<Cow<'a, str>>, (Option<CallNumber>, String)>,
}

impl<'a> Stream<'a> {
    fn event(&mut self, event: &Members<'a>) {
        let kind = event.name("type").unwrap_or_default();
        if event.has("role") {
            self.end_message();
            message(event, &mut self.run);
            let others =
                event.objects("content").filter(|part| part.name("type").is_none_or(|kind| kind != "text"));
            self.run.pass_over("parts of other types", others.count() as u64);
            return self.run.turn(None);
        }
        match &*kind {
            "text-delta" => match event.name("delta") {
                Some(delta) => self.said.get(event.ident("id"), |_| String::new()).push_str(&delta),
                None => self.run.pass_over("text deltas without text", 1),
            },
            "text-end" => {
                let said = std::mem::take(self.said.get(event.ident("id"), |_| String::new()));
                self.run.say(Actor::Agent, Some(said.into()));
            }
            kind if kind.starts_with("tool-input-") => self.input(kind, event),
            kind if kind.starts_with("reasoning-") => {}
            "text-start" | "message-metadata" => {}
            kind => {
                self.end_texts();
                self.other(kind, event);
            }
        }
    }

    fn other(&mut self, kind: &str, event: &Members<'a>) {
        let id = event.ident("toolCallId");
        match kind {
            "start-step" => self.run.turn(None),
            "start" => self.end_message(),
            "finish" => {
                self.end_message();
                self.run.turn(None);
            }
            "finish-step" => {}
            "tool-output-available" if event.flag("preliminary") == Some(true) => {}
            "tool-output-available" => {
                self.run.answer(id, None, event.result("output"), Outcome::flag(false));
            }
            "tool-output-error" => self.run.answer(id, None, event.result("errorText"), Outcome::flag(true)),
            "tool-output-denied" => self.run.answer(id, None, None, Outcome::REFUSED),
            "error" => self.run.say(Actor::Environment, event.text("errorText")),
            _ => self.run.pass_over("events of other types", 1),
        }
    }

    /// Reads a piece of the arguments of a call, or all of them.
    fn input(&mut self, kind: &str, event: &Members<'a>) {
        let id = event.ident("toolCallId");
        let (number, input) = self.inputs.get(id.clone(), |_| Default::default());
        let number = *number.get_or_insert_with(|| self.run.call(id, event.name("toolName"), None));
        input.push_str(&event.name("inputTextDelta").unwrap_or_default());
        if let Some(whole) = event.present("input") {
            input.clear();
            self.run.call_mut(number).into_iter().for_each(|call| call.arguments = common::arguments(whole));
        }
        if kind == "tool-input-error" {
            self.run.answer_call(number, event.result("errorText"), Outcome::flag(true));
        }
    }

    fn end_texts(&mut self) {
        for said in std::mem::take(&mut self.said).into_values() {
            self.run.say(Actor::Agent, Some(said.into()));
        }
    }

    /// Ends a message. Another message may use its ids again.
    fn end_message(&mut self) {
        self.end_texts();
        for (number, input) in std::mem::take(&mut self.inputs).into_values() {
            if let Some(call) = number.filter(|_| !input.is_empty()).and_then(|call| self.run.call_mut(call))
            {
                call.arguments = common::arguments_of_text(input.into());
            }
        }
    }
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
    let approval = call.object("approval");
    match call.name("state").as_deref() {
        Some("output-available") => run.answer_call(number, call.result("output"), Outcome::flag(false)),
        Some("result") => run.answer_call(number, call.result("result"), Outcome::UNMARKED),
        Some("output-error") => run.answer_call(number, call.result("errorText"), Outcome::flag(true)),
        Some("output-denied") => run.answer_call(number, approval.result("reason"), Outcome::REFUSED),
        Some("approval-responded") if approval.flag("approved") == Some(false) => {
            run.answer_call(number, approval.result("reason"), Outcome::REFUSED);
        }
        _ => {}
    }
}
