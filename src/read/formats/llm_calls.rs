//! Logs of model requests and responses: AppWorld's `lm_calls.jsonl`, tau2's `llm_debug`, logs of API proxies
//! (Gemini's API included), requests and responses on lines of their own, as CAI logs them, and the steps of the AI
//! SDK's `DevTools`. Each request repeats the messages before it, so a run is read from the last request of a
//! conversation and its response. Requests that continue a response that the API keeps have only what is new; they
//! are joined.

use super::chat_element::Element;
use super::chat_messages::{Conversation, SKIPPED};
use super::gemini_contents::Contents;
use super::llm_body::{Body, named_pair, payload};
use super::llm_conversations::{self, Exchanges, Kept};
use super::prelude::*;
use super::{adk, llm_code, llm_messages, llm_responses};
use crate::read::signature::SHOWN;

pub(super) const FORMAT: Definition = Definition {
    signature: &[
        Shape::Each(All(&[EXCHANGE, Not(&adk::EVALUATED)])),
        Shape::Object(STORE),
        Shape::Together(
            "objects with `model` and `messages`, the last not by the assistant, at least one directly before its \
             response (a `chat.completion` with `choices`), and half as many responses as requests or more",
            |look| llm_messages::are_separate(look.objects()),
        ),
        Shape::Together(
            "lists or lines of responses alone: objects `chat.completion`, `candidates` or `output` with a `message`, \
             or events of streams",
            |look| !matches!(look, Look::Object(..)) && llm_responses::are_listed(look.objects()),
        ),
    ],
    reader: Reader::Fallible(read),
};

const EXCHANGE: Mark = Test(
    "`request` (or `payload`) and `response`, or `input` and `output`, the first with `messages`, `input` or \
     `contents`; or `messages` and a `response` with `choices`; or keys such as `requestBody` and `response_body`",
    |object| Exchange::of(object).is_some(),
);

/// A request with its response in the store of the AI SDK's `DevTools`, both as strings.
const STEP: Mark = All(&[
    Has(&["step_number", "output"]),
    Is(Kind::String, &["run_id", "input", "model_id", "provider"]),
    Says("type", &["generate", "stream"]),
]);

const STORE: Mark = Holds("steps", &STEP);

/// A logged request with its response.
pub(super) struct Exchange<'a> {
    request: Body<'a>,
    length: usize,
    response: Option<Body<'a>>,
    /// True if the log covers the run from its start. Model messages in the first request are then examples.
    is_whole: bool,
    id: Option<Cow<'a, str>>,
    /// The run to which the log assigns it. Other runs may repeat its messages.
    pub(super) run: Option<Cow<'a, str>>,
    model: Option<Cow<'a, str>>,
    /// The error that the log has for a request without a response.
    error: Option<Raw<'a>>,
    /// True if the response is an object of its own.
    pub(super) is_apart: bool,
}

impl<'a> Exchange<'a> {
    /// Makes an exchange, or returns `None` if the request has no messages.
    fn new(request: Body<'a>, response: Option<Body<'a>>) -> Option<Self> {
        let length = request.messages()?.0.len();
        Some(Self {
            request,
            length,
            response,
            is_whole: false,
            id: None,
            run: None,
            model: None,
            error: None,
            is_apart: false,
        })
    }

    fn of(members: &Members<'a>) -> Option<Self> {
        if STEP.fits(members) {
            return Self::of_step(members);
        }
        let object = |key| members.get(key).filter(|value: &Raw<'_>| value.kind() == Kind::Object);
        let (request, response, is_whole) =
            match (object("request").or_else(|| object("payload")), object("input")) {
                (Some(request), _) => (request, members.get("response"), false),
                // If the output has messages too, these are the states of a graph before and after a run.
                (None, Some(input)) => {
                    (input, object("output").filter(|output| output.member("messages").is_none()), true)
                }
                (None, None) => {
                    let named =
                        || named_pair(members).and_then(|(request, response)| Self::new(request, response));
                    return Self::flat(members).or_else(named);
                }
            };
        // A request that failed has an error instead of a response.
        let has_body = || request.member("body").or_else(|| payload(request)).is_some();
        let has_failed = || members.present("error").is_some() && has_body();
        let has_outcome = members.has("response") || has_failed();
        // Spans with an input and an output may show tools.
        let is_span =
            || ["parent_span_id", "parentObservationId"].iter().any(|key| members.present(key).is_some());
        if is_whole && (response.is_none() || is_span()) || !is_whole && !has_outcome {
            return None;
        }
        let response = response.filter(|response| response.kind() != Kind::Null).map(Body::of);
        let id = ["session_id", "conversation_id", "task_id"].iter().find_map(|key| members.name(key));
        let exchange =
            Self { is_whole, id, error: members.present("error"), ..Self::new(Body::of(request), response)? };
        (!exchange.is_other_task()).then_some(exchange)
    }

    /// Returns an exchange in OpenHands' form: the members of the request and the response are in one object.
    fn flat(members: &Members<'a>) -> Option<Self> {
        let keys: &[&str] = if members.has("fncall_messages") {
            &["fncall_response", "response"]
        } else {
            // Here the messages have their calls as text, and so has `raw_response`.
            &["raw_response", "response"]
        };
        let is_response = |response: &Raw<'_>| {
            ["choices", "output"]
                .iter()
                .any(|key| response.member(key).is_some_and(|list| list.kind() == Kind::List))
        };
        let response = keys.iter().filter_map(|key| members.get(key)).find(is_response)?;
        Self::new(Body::Object(members.whole()?), Some(Body::Object(response)))
    }

    fn of_step(step: &Members<'a>) -> Option<Self> {
        let prompt = Body::of(step.get("input")?);
        let prompt = prompt.json().member("prompt")?.spelling();
        let request = Body::Text(format!(r#"{{"messages":{prompt}}}"#));
        let output = step.present("output").map(Body::of);
        // Streamed output has its texts and calls in separate lists, which are joined into one message.
        let response = output.map(|output| match llm_messages::message_of_parts(output.json()) {
            Some(message) => Body::Text(message),
            None => output,
        });
        let (run, model) = (step.name("run_id"), step.name("model_id"));
        Some(Self { id: run.clone(), run, model, ..Self::new(request, response)? })
    }

    /// Returns the [`llm_messages::key`] of each message in the request.
    pub(super) fn keys(&self) -> Vec<String> {
        let messages = self.request.messages().map(|(messages, _)| messages).unwrap_or_default();
        messages.into_iter().map(llm_messages::key).collect()
    }

    pub(super) fn spoken(&self) -> Vec<Raw<'_>> {
        self.response.as_ref().map(|response| llm_messages::spoken(response.json())).unwrap_or_default()
    }

    fn failure(&self) -> Option<TextCow<'_>> {
        let error = self.response.as_ref().and_then(|response| response.member("error")).or(self.error)?;
        words::text(error.member("message").unwrap_or(error))
    }

    /// Returns what the API keeps and the request continues. The request then has only what is new.
    pub(super) fn continued(&self) -> Vec<Kept> {
        let id = |key| {
            let value = self.request.member(key)?;
            common::ident(value.member("id").unwrap_or(value)).map(Cow::into_owned)
        };
        let response = id("previous_response_id").map(Kept::Response);
        response.into_iter().chain(id("conversation").map(Kept::Conversation)).collect()
    }

    /// Returns the response, for a request that continues it.
    pub(super) fn answered(&self) -> Option<Kept> {
        let id = self.response.as_ref()?.member("id").and_then(common::ident)?;
        Some(Kept::Response(id.into_owned()))
    }

    /// Returns true if the request is a text to which the response is no message: a text to embed or to speak.
    fn is_other_task(&self) -> bool {
        let messages = self.request.messages().map(|(messages, _)| messages).unwrap_or_default();
        let is_text = messages.first().is_some_and(|message| message.kind() == Kind::String);
        let is_message = |response: &Body<'_>| {
            ["messages", "message", "output", "choices"].iter().any(|key| response.member(key).is_some())
        };
        is_text && self.continued().is_empty() && !self.response.as_ref().is_some_and(is_message)
    }

    fn model(&self) -> Option<Cow<'_, str>> {
        let model = |body: &Body<'a>| body.json().member("model").and_then(common::name).map(Cow::into_owned);
        let model = self.response.as_ref().and_then(model).or_else(|| model(&self.request)).map(Cow::Owned);
        model.or_else(|| self.model.clone())
    }
}

fn read(document: &Document<'_>, runs: &mut Runs<'_>) -> Read<()> {
    let objects: Vec<_> = match document {
        Document::Object(object) if STORE.fits(object) => object.objects("steps").collect(),
        document => document.each().collect(),
    };
    if llm_responses::are_listed(objects.get(..SHOWN).unwrap_or(&objects)) {
        return llm_responses::read(objects.into_iter(), runs);
    }
    let mut exchanges: Vec<_> = objects.iter().filter_map(Exchange::of).collect();
    let mut others = objects.len() - exchanges.len();
    if exchanges.is_empty() {
        (exchanges, others) = paired(&objects);
    }
    runs.pass_over("items that are not requests with responses", others as u64);
    let conversations = llm_conversations::group(&exchanges);
    for one in &conversations {
        give(one, runs);
    }
    Ok(())
}

/// Returns the requests, each with the response after it, and the number of the other objects. Responses after two or
/// more requests belong to none of them, unless the requests are the same.
fn paired<'a>(objects: &[Members<'a>]) -> (Vec<Exchange<'a>>, usize) {
    let (mut exchanges, mut others): (Vec<Exchange<'a>>, _) = (Vec::new(), 0);
    let (mut is_waiting, mut is_only) = (false, false);
    for object in objects {
        let body = object.whole();
        let request = body.filter(|_| llm_messages::REQUEST.fits(object)).map(Body::Object);
        if let Some(request) = request.and_then(|body| Exchange::new(body, None)) {
            let bytes = request.request.json().bytes();
            let is_same = exchanges.last().is_some_and(|last| last.request.json().bytes() == bytes);
            is_only = !is_waiting || is_only && is_same;
            is_waiting = true;
            exchanges.push(Exchange { is_apart: true, ..request });
            continue;
        }
        let is_response = llm_messages::RESPONSE.fits(object);
        match exchanges.last_mut().filter(|last| is_response && is_only && last.response.is_none()) {
            Some(last) => last.response = body.map(Body::Object),
            None => others += 1,
        }
        is_waiting &= !is_response;
    }
    (exchanges, others)
}

/// Emits the requests of one conversation as a run.
fn give(one: &Exchanges<'_, '_>, runs: &mut Runs<'_>) {
    let (Some(first), Some(last)) = (one.parts.first().and_then(|part| part.first()), one.last()) else {
        return;
    };
    let Some((messages, form)) = last.request.messages() else { return };
    let response = last.spoken();
    let failure = last.failure().filter(|_| response.is_empty());
    let is_lost = response.is_empty() && last.response.is_some() && failure.is_none();
    runs.pass_over("last responses without a message", u64::from(is_lost));
    runs.pass_over("responses that no later request repeats", one.lost);
    let metadata = Metadata {
        id: last.id.as_deref().map(str::to_owned),
        model: last.model().map(|model| model.as_ref().into()),
        termination: failure.is_some().then(|| "error".to_owned()),
        ..Metadata::default()
    };
    if let Some(contents) = last.request.contents() {
        let mut run = Contents::of_request(&Members::from(last.request.json()));
        for (place, content) in contents.into_iter().enumerate() {
            let exchange = one.parts.iter().flatten().find(|exchange| exchange.length == place);
            let response = exchange.and_then(|exchange| exchange.response.as_ref());
            run.add_said(content, response.map(Body::json));
        }
        if let Some(response) = &last.response {
            run.response(&Members::from(response.json()));
        }
        let mut run = run.run;
        run.turn(None);
        run.say(Actor::Environment, failure);
        run.metadata.id = metadata.id;
        run.metadata.termination = run.metadata.termination.or(metadata.termination);
        run.give(runs);
        return;
    }
    let mut known = if last.is_whole { first.length } else { one.known };
    let (examples, said) = messages.split_at_checked(known).unwrap_or((&messages, &[]));
    let examples = if last.is_whole { examples } else { &[] };
    if last.is_whole
        && let Some(mut run) = llm_code::run(examples, said, &response)
    {
        run.metadata = metadata;
        run.give(runs);
        return;
    }
    let mut conversation = Conversation::new(form, metadata);
    for key in ["system", "instructions"] {
        if let Some(text) = last.request.json().member(key).and_then(words::message) {
            conversation.assembler.message(Actor::System, 0, text);
        }
    }
    for example in examples {
        llm_code::prompt(*example, &mut conversation.assembler);
    }
    for part in &one.parts {
        let others = converse(part, std::mem::take(&mut known), &mut conversation);
        runs.pass_over(SKIPPED, others);
    }
    if let Some(failure) = failure {
        let turn = conversation.end_turn();
        conversation.assembler.message(Actor::Environment, turn, failure);
    }
    conversation.give(runs);
}

/// Adds the messages of requests that repeat each other, but for the first `known`, and the last response. Returns the
/// number of elements that do not have the expected form.
fn converse<'e>(exchanges: &[&'e Exchange<'_>], known: usize, conversation: &mut Conversation<'e>) -> u64 {
    let Some(last) = exchanges.last() else { return 0 };
    let messages = last.request.messages().map(|(messages, _)| messages).unwrap_or_default();
    let mut others = 0;
    for (place, message) in messages.into_iter().enumerate().skip(known) {
        // The response to an earlier request begins where that request ended.
        if let Some(exchange) = exchanges.iter().find(|exchange| exchange.length == place) {
            conversation.of_one_response(usage(exchange));
        }
        others += u64::from(!add(message, conversation));
    }
    conversation.of_one_response(usage(last));
    for message in last.spoken() {
        others += u64::from(!add(message, conversation));
    }
    others
}

/// Adds a message, or returns false if it does not have the expected form. A message without a role is the model's.
pub(super) fn add<'a>(message: Raw<'a>, conversation: &mut Conversation<'a>) -> bool {
    let mut element = Element::from(message);
    if message.kind() == Kind::String {
        (element.role, element.content) = (Some("user".into()), Some(message));
    }
    if element.role.is_none() && element.item.is_none() {
        element.role = Some("assistant".into());
    }
    conversation.add(element)
}

fn usage(exchange: &Exchange<'_>) -> Option<crate::trace::Usage> {
    exchange.response.as_ref()?.json().member("usage").and_then(tokens::usage)
}
