//! Chats of Copilot in VS Code: exports, stored sessions and the log of their changes. A request has rounds of calls.

use std::collections::BTreeMap;

use super::copilot_chat_log::{self as log, arguments, is_true, parts, short, shown, told};
use super::prelude::*;

pub(in crate::read) const FORMAT: Entry = Entry {
    format: Format::CopilotChat,
    about: "chats of Copilot in VS Code",
    signature: &[
        Shape::Object(CHAT),
        Shape::Lines(Test("a snapshot of such an object", |line| {
            line.whole().and_then(log::snapshot).is_some_and(|chat| CHAT.fits(&chat))
        })),
    ],
    reader: Reader::Document(read),
};

const CHAT: Mark = All(&[
    Has(&["responderUsername"]),
    Is(Kind::List, &["requests"]),
    Not(&Holds("requests", &Not(&Has(&["message", "response"])))),
]);

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    match document {
        Document::Object(members) => chat(members, runs),
        Document::List(_) => {}
        Document::Lines(lines) => {
            for chat_text in log::chats(lines, runs) {
                chat(&Members::of(&mut Json::new(chat_text.as_bytes())), runs);
            }
        }
    }
}

/// Reads one chat.
fn chat(members: &Members<'_>, runs: &mut Runs<'_>) {
    let id = members.name("sessionId").map(Cow::into_owned);
    let mut main = Agent::new(id.clone(), None);
    let mut helpers: BTreeMap<Cow<'_, str>, Agent<'_>> = BTreeMap::new();
    for request in members.list("requests") {
        let request = Members::from(request);
        let calls = main.request(&request);
        for part in parts(&request, true) {
            let of_call = part.name("toolCallId").and_then(|id| calls.get(&id).copied());
            let helper = part.name("subAgentInvocationId");
            let agent = match helper {
                Some(helper) if of_call.is_none() => helpers
                    .entry(helper.clone())
                    .or_insert_with(|| Agent::new(Some(helper.into_owned()), id.clone())),
                _ => &mut main,
            };
            agent.invocation(&part, of_call);
        }
        main.answer(&calls, &request);
    }
    main.run.give(runs);
    for (_, helper) in helpers {
        helper.run.give(runs);
    }
}

/// The calls of a request by id.
type Calls<'a> = BTreeMap<Cow<'a, str>, CallNumber>;

/// An agent of a chat that is being read.
struct Agent<'a> {
    run: Recording<'a>,
}

impl<'a> Agent<'a> {
    fn new(id: Option<String>, parent: Option<String>) -> Self {
        let mut run = Recording::of_agent("copilot");
        (run.metadata.id, run.metadata.parent) = (id, parent);
        Self { run }
    }

    /// Reads the user's text, and the texts and calls of each round.
    fn request(&mut self, request: &Members<'a>) -> Calls<'a> {
        let run = &mut self.run;
        run.time(request.get("timestamp").and_then(time::of_milliseconds));
        let message = request.get("message");
        let asked = message.and_then(|message| message.member("text")).or(message);
        run.say(Actor::User, asked.and_then(words::message));
        let details = request.object("result").object("metadata");
        run.model(details.name("resolvedModel").or_else(|| request.name("modelId")));
        let rounds = details.list("toolCallRounds");
        if rounds.is_empty() {
            let texts =
                parts(request, false).filter(|part| !part.has("kind")).filter_map(|part| part.name("value"));
            run.say(Actor::Agent, Some(texts.collect::<String>().into()));
        }
        let mut calls = Calls::new();
        for round in rounds.into_iter().map(Members::from) {
            run.time(round.get("timestamp").and_then(time::of_milliseconds));
            run.say(Actor::Agent, round.message("response"));
            for call in round.list("toolCalls") {
                if call.kind() != Kind::Object {
                    run.pass_over("items among calls that are no calls", 1);
                    continue;
                }
                let call = Members::from(call);
                let number = run.call(call.name("id"), call.name("name"), call.get("arguments"));
                calls.extend(call.name("id").map(|id| (short(&id).to_owned().into(), number)));
            }
            run.turn(None);
        }
        calls
    }

    /// Reads a displayed tool invocation: of a known call, or a call of its own.
    fn invocation(&mut self, part: &Members<'a>, known: Option<CallNumber>) {
        let outcome = shown(part);
        let result = part.get("resultDetails").and_then(|details| details.member("output").or(Some(details)));
        let number = known.unwrap_or_else(|| {
            let mut call = Call::new(0, part.name("toolCallId"), part.name("toolId").unwrap_or_default());
            call.arguments = arguments(part);
            self.run.time(None);
            let number = self.run.add(call);
            self.run.turn(None);
            number
        });
        if known.is_none() && (outcome.is_some() || result.is_some() || is_true(part.get("isComplete"))) {
            let text = result.and_then(words::result).map_or(Content::NotRecorded, Content::Present);
            self.run.steps.answer_call(number, outcome.unwrap_or(Outcome::UNMARKED).answer(text));
        }
    }

    /// Assigns the results of a request to its calls.
    fn answer(&mut self, calls: &Calls<'a>, request: &Members<'a>) {
        let result = request.get("result");
        let results = result.and_then(|result| result.member("metadata")?.member("toolCallResults"));
        let mut shown: BTreeMap<_, _> =
            parts(request, true).filter_map(|part| Some((part.name("toolCallId")?, shown(&part)?))).collect();
        let results = results.map(Members::from).unwrap_or_default();
        for (id, result) in results.iter() {
            let id = short(id);
            let text = log::text_of(result);
            let flag = ["isError", "hasError"].iter().any(|key| is_true(result.member(key)));
            let marked = shown.remove(id).or_else(|| flag.then(|| Outcome::flag(true)));
            let outcome =
                marked.unwrap_or_else(|| text.as_ref().map_or(Outcome::UNMARKED, |text| told(text.text())));
            let answer = outcome.answer(text.into());
            match calls.get(id) {
                Some(number) => _ = self.run.steps.answer_call(*number, answer),
                None => self.run.answer_with(None, answer),
            }
        }
        // A refused call may have no result.
        for (id, outcome) in shown {
            if let Some(number) = calls.get(&id) {
                self.run.answer_call(*number, None, outcome);
            }
        }
        self.run.metadata.termination = is_true(request.get("isCanceled")).then(|| "canceled".to_owned());
        if let Some(error) = result.and_then(|result| result.member("errorDetails")) {
            let code = error.member("code").and_then(common::name);
            self.run.metadata.termination = Some(code.map_or_else(|| "error".to_owned(), Cow::into_owned));
            self.run.time(None);
            self.run.say(Actor::Environment, error.member("message").and_then(words::message));
        }
    }
}
