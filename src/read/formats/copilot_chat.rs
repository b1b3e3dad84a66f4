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
    main.end(runs);
    for (_, helper) in helpers {
        helper.end(runs);
    }
}

/// The calls of a request by id.
type Calls<'a> = BTreeMap<Cow<'a, str>, CallNumber>;

/// An agent of a chat that is being read.
struct Agent<'a> {
    steps: Assembler<'a>,
    metadata: Metadata,
    turn: u64,
    /// Number of items among calls that are not calls.
    others: u64,
}

impl<'a> Agent<'a> {
    fn new(id: Option<String>, parent: Option<String>) -> Self {
        let metadata = Metadata { id, parent, agent: Some("copilot".into()), ..Metadata::default() };
        Self { steps: Assembler::default(), metadata, turn: 0, others: 0 }
    }

    fn end(mut self, runs: &mut Runs<'_>) {
        runs.pass_over("items among calls that are no calls", self.others);
        runs.give_unrouted(&mut self.steps, self.metadata, None);
    }

    fn say(&mut self, actor: Actor, text: Option<Raw<'a>>, time: Option<u64>) {
        if let Some(text) = text.and_then(words::message) {
            self.steps.message_at(actor, self.turn, text, time);
        }
    }

    /// Reads the user's text, and the texts and calls of each round.
    fn request(&mut self, request: &Members<'a>) -> Calls<'a> {
        let time = request.get("timestamp").and_then(time::of_milliseconds);
        let message = request.get("message");
        self.say(Actor::User, message.and_then(|message| message.member("text")).or(message), time);
        let details = request.get("result").and_then(|result| result.member("metadata"));
        let detail = |key: &str| details.and_then(|details| details.member(key));
        let model = detail("resolvedModel").and_then(common::name).or_else(|| request.name("modelId"));
        self.metadata.model = self.metadata.model.take().or(model.map(|model| model.as_ref().into()));
        let rounds = detail("toolCallRounds").and_then(Raw::items).unwrap_or_default();
        if rounds.is_empty() {
            let texts =
                parts(request, false).filter(|part| !part.has("kind")).filter_map(|part| part.name("value"));
            let text: String = texts.collect();
            if !common::is_blank(&text) {
                self.steps.message_at(Actor::Agent, self.turn, text, time);
            }
        }
        let mut calls = Calls::new();
        for round in rounds {
            let time = round.member("timestamp").and_then(time::of_milliseconds);
            self.say(Actor::Agent, round.member("response"), time);
            for call in round.member("toolCalls").and_then(Raw::items).unwrap_or_default() {
                if call.kind() != Kind::Object {
                    self.others += 1;
                    continue;
                }
                let id = call.member("id").and_then(common::name);
                let name = call.member("name").and_then(common::name).unwrap_or_default();
                let mut found = Call::new(self.turn, id.clone(), name);
                found.arguments = call.member("arguments").map_or(Content::Absent, common::arguments);
                found.time = time;
                let number = self.steps.call(found);
                if let Some(id) = id {
                    calls.insert(short(&id).to_owned().into(), number);
                }
            }
            self.turn += 1;
        }
        calls
    }

    /// Reads a displayed tool invocation: of a known call, or a call of its own.
    fn invocation(&mut self, part: &Members<'a>, known: Option<CallNumber>) {
        let outcome = shown(part);
        let result = part.get("resultDetails").and_then(|details| details.member("output").or(Some(details)));
        let number = known.unwrap_or_else(|| {
            let mut call =
                Call::new(self.turn, part.name("toolCallId"), part.name("toolId").unwrap_or_default());
            call.arguments = arguments(part);
            self.turn += 1;
            self.steps.call(call)
        });
        if known.is_none() && (outcome.is_some() || result.is_some() || is_true(part.get("isComplete"))) {
            let text = result.and_then(words::result).map_or(Content::NotRecorded, Content::Present);
            self.steps.answer_call(number, outcome.unwrap_or(Outcome::UNMARKED).answer(text));
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
                Some(number) => drop(self.steps.answer_call(*number, answer)),
                None => self.steps.answer(self.turn, None, answer),
            }
        }
        // A refused call may have no result.
        for (id, outcome) in shown {
            if let Some(number) = calls.get(&id) {
                self.steps.answer_call(*number, outcome.answer(Content::Absent));
            }
        }
        self.metadata.termination = is_true(request.get("isCanceled")).then(|| "canceled".to_owned());
        if let Some(error) = result.and_then(|result| result.member("errorDetails")) {
            let code = error.member("code").and_then(common::name);
            self.metadata.termination = Some(code.map_or_else(|| "error".to_owned(), Cow::into_owned));
            self.say(Actor::Environment, error.member("message"), None);
        }
    }
}
