//! Logs of model requests and responses: AppWorld's `lm_calls.jsonl`, tau2's `llm_debug`, logs of API proxies
//! (Gemini's API included), and the steps of the AI SDK's `DevTools`. Each request repeats the messages before it,
//! so a run is read from the last request of a conversation and its response.

use super::chat::Form;
use super::chat_element::Element;
use super::chat_messages::{Conversation, SKIPPED};
use super::gemini_contents::Contents;
use super::prelude::*;
use super::{llm_code, llm_stream};

pub(in crate::read) const FORMAT: Definition = Definition {
    signature: &[
        Shape::Each(Test(
            "`request` and `response`, or `input` and `output`, the first with `messages` or `contents`; or \
             `messages` and a `response` with `choices`",
            |object| Exchange::of(object).is_some(),
        )),
        Shape::Object(STORE),
    ],
    reader: Reader::Fallible(read),
};

/// A request with its response in the store of the AI SDK's `DevTools`, both as strings.
const STEP: Mark = All(&[
    Has(&["step_number", "output"]),
    Is(Kind::String, &["run_id", "input", "model_id", "provider"]),
    Says("type", &["generate", "stream"]),
]);

const STORE: Mark = Holds("steps", &STEP);

/// A logged request with its response.
struct Exchange<'a> {
    request: Body<'a>,
    /// Number of messages in the request.
    length: usize,
    response: Option<Body<'a>>,
    /// True if the log covers the run from its start. Model messages in the first request are then examples.
    is_whole: bool,
    id: Option<Cow<'a, str>>,
    /// The run to which the log assigns it. Other runs may repeat its messages.
    run: Option<Cow<'a, str>>,
    model: Option<Cow<'a, str>>,
}

/// The body of a request or response, which may be logged as a string.
enum Body<'a> {
    Object(Raw<'a>),
    Text(String),
}

impl<'a> Body<'a> {
    /// Returns the body of a request or response: the value itself, or its `body`, `json` or `body_raw`.
    fn of(value: Raw<'a>) -> Self {
        let value = ["body", "json", "body_raw"].iter().find_map(|key| value.member(key)).unwrap_or(value);
        let text = value.string();
        if let Some(message) = text.as_deref().and_then(llm_stream::response) {
            return Self::Text(message);
        }
        match text {
            Some(text) if Json::new(text.as_bytes()).check().is_ok() => Self::Text(text.into_owned()),
            _ => Self::Object(value),
        }
    }

    fn json(&self) -> Raw<'_> {
        match self {
            Self::Object(value) => *value,
            Self::Text(text) => Raw::over(text.as_bytes(), 0),
        }
    }

    /// Returns the messages of a request, the items of a Responses request, or the contents of a Gemini request.
    /// The form returned with contents is a placeholder: `give` reads contents separately.
    fn messages(&self) -> Option<(Vec<Raw<'_>>, Form)> {
        let list = |key| self.json().member(key).and_then(Raw::items).filter(|list| !list.is_empty());
        // For a model without tool calls, `fncall_messages` has the calls that were parsed from its texts.
        let messages = ["fncall_messages", "messages"].into_iter().find_map(list);
        let messages = messages.map(|messages| (messages, Form::Messages));
        let messages = messages.or_else(|| list("input").map(|items| (items, Form::Items)));
        messages.or_else(|| self.contents().map(|contents| (contents, Form::Items)))
    }

    /// Returns the contents of a request to Gemini.
    fn contents(&self) -> Option<Vec<Raw<'_>>> {
        let contents = self.json().member("contents").and_then(Raw::items)?;
        contents.first()?.member("parts").is_some().then_some(contents)
    }
}

impl<'a> Exchange<'a> {
    /// Makes an exchange, or returns `None` if the request has no messages.
    fn new(request: Body<'a>, response: Option<Body<'a>>) -> Option<Self> {
        let length = request.messages()?.0.len();
        Some(Self { request, length, response, is_whole: false, id: None, run: None, model: None })
    }

    fn of(members: &Members<'a>) -> Option<Self> {
        if STEP.fits(members) {
            return Self::of_step(members);
        }
        // Spans with an input and an output may show tools.
        if ["parent_span_id", "parentObservationId"].iter().any(|key| members.has(key)) {
            return None;
        }
        let object = |key| members.get(key).filter(|value: &Raw<'_>| value.kind() == Kind::Object);
        let (request, response, is_whole) = match (object("request"), object("input")) {
            (Some(request), _) => (request, members.get("response"), false),
            // If the output has messages too, these are the states of a graph before and after a run.
            (None, Some(input)) => {
                (input, object("output").filter(|output| output.member("messages").is_none()), true)
            }
            (None, None) => return Self::flat(members),
        };
        // A request that failed has an error instead of a response.
        let has_failed = || members.present("error").is_some() && request.member("body").is_some();
        let has_outcome = members.has("response") || has_failed();
        if is_whole && response.is_none() || !is_whole && !has_outcome {
            return None;
        }
        let response = response.filter(|response| response.kind() != Kind::Null).map(Body::of);
        let id = ["session_id", "conversation_id", "task_id"].iter().find_map(|key| members.name(key));
        Some(Self { is_whole, id, ..Self::new(Body::of(request), response)? })
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
        let response = output.map(|output| match spoken_in_parts(output.json()) {
            Some(message) => Body::Text(message),
            None => output,
        });
        let (run, model) = (step.name("run_id"), step.name("model_id"));
        Some(Self { id: run.clone(), run, model, ..Self::new(request, response)? })
    }

    /// Returns the [`key`] of each message in the request.
    fn keys(&self) -> Vec<String> {
        let messages = self.request.messages().map(|(messages, _)| messages).unwrap_or_default();
        messages.into_iter().map(key).collect()
    }

    /// Returns the messages or items of the response.
    fn spoken(&self) -> Vec<Raw<'_>> {
        self.response.as_ref().map(|response| spoken(response.json())).unwrap_or_default()
    }

    fn model(&self) -> Option<Cow<'_, str>> {
        let model = |body: &Body<'a>| body.json().member("model").and_then(common::name).map(Cow::into_owned);
        let model = self.response.as_ref().and_then(model).or_else(|| model(&self.request)).map(Cow::Owned);
        model.or_else(|| self.model.clone())
    }
}

/// Returns a key that identifies a message. Ignores cache marks, which clients change, and reasoning, which they
/// may omit.
fn key(message: Raw<'_>) -> String {
    let role = message.member("role").and_then(Raw::string);
    let mut key = role.map_or("assistant".into(), Cow::into_owned);
    let mut add = |object: Raw<'_>, name: &str| {
        if let Some(value) = object.member(name) {
            key.push('\n');
            key.push_str(&if name == "input" { input(value) } else { value.spelling() });
        }
    };
    match message.member("content").or_else(|| message.member("parts")).and_then(Raw::items) {
        Some(parts) => {
            for part in parts {
                if part.member("type").and_then(Raw::string).as_deref() == Some("reasoning") {
                    continue;
                }
                for name in ["text", "id", "tool_use_id", "functionCall", "functionResponse"] {
                    add(part, name);
                }
                if part.member("toolCallId").is_some() {
                    for name in ["toolCallId", "toolName", "input", "output"] {
                        add(part, name);
                    }
                }
            }
        }
        None => add(message, "content"),
    }
    for name in ["tool_calls", "tool_call_id", "call_id"] {
        add(message, name);
    }
    key
}

/// Returns the input of a call as canonical JSON. A response has it as a string, and later requests as an object.
fn input(value: Raw<'_>) -> Cow<'_, str> {
    let text = value.string().unwrap_or_else(|| value.spelling());
    wire::canonical(text.as_bytes()).into()
}

fn read(document: &Document<'_>, runs: &mut Runs<'_>) -> Read<()> {
    let objects: Vec<_> = match document {
        Document::Object(object) if STORE.fits(object) => object.objects("steps").collect(),
        document => document.each().collect(),
    };
    let exchanges: Vec<_> = objects.iter().filter_map(Exchange::of).collect();
    runs.pass_over("items that are not requests with responses", (objects.len() - exchanges.len()) as u64);
    let mut conversations: Vec<Exchanges<'_, '_>> = Vec::new();
    for exchange in &exchanges {
        let keys = exchange.keys();
        let is_same_run = |one: &Exchanges<'_, '_>| one.last().is_some_and(|last| last.run == exchange.run);
        let continued = |one: &Exchanges<'_, '_>| is_same_run(one) && keys.starts_with(&one.keys);
        let mut open = conversations.iter().rposition(continued);
        let mut known = 0;
        if open.is_none()
            && let Some((place, length)) = repeated(&conversations, &keys)
        {
            known = length;
            // If the client runs the tools, the log begins a new run after each answer; join it to the run before.
            open = keys.get(known).is_some_and(|key| key.starts_with("tool\n")).then_some(place);
        }
        match open.and_then(|place| conversations.get_mut(place)) {
            Some(open) => {
                open.keys = keys;
                open.requests.push(exchange);
            }
            None => conversations.push(Exchanges { keys, requests: vec![exchange], known }),
        }
    }
    conversations.iter().try_for_each(|one| give(&one.requests, one.known, runs))
}

/// The requests of one conversation.
struct Exchanges<'e, 'a> {
    /// The keys of the messages of the last request.
    keys: Vec<String>,
    requests: Vec<&'e Exchange<'a>>,
    /// Number of messages at the start that belong to an earlier run.
    known: usize,
}

impl<'e, 'a> Exchanges<'e, 'a> {
    fn last(&self) -> Option<&'e Exchange<'a>> {
        self.requests.last().copied()
    }
}

/// Returns the index of the longest conversation that the messages with these keys begin with, and the number of
/// its messages that they repeat, those of its last response included.
fn repeated(conversations: &[Exchanges<'_, '_>], keys: &[String]) -> Option<(usize, usize)> {
    let places = conversations.iter().enumerate();
    let before = places.filter(|(_, one)| keys.len() > one.keys.len() && keys.starts_with(&one.keys));
    let (place, one) = before.max_by_key(|(_, one)| one.keys.len())?;
    let spoken: Vec<_> = one.last()?.spoken().into_iter().map(key).collect();
    let is_answered = keys.get(one.keys.len()..).is_some_and(|later| later.starts_with(&spoken));
    Some((place, one.keys.len() + if is_answered { spoken.len() } else { 0 }))
}

/// Emits the requests of one conversation as a run.
fn give(exchanges: &[&Exchange<'_>], known: usize, runs: &mut Runs<'_>) -> Read<()> {
    let (Some(first), Some(last)) = (exchanges.first(), exchanges.last()) else { return Ok(()) };
    let Some((messages, form)) = last.request.messages() else { return Ok(()) };
    let at = |place| exchanges.iter().find(|exchange| exchange.length == place);
    let metadata = Metadata {
        id: last.id.as_deref().map(str::to_owned),
        model: last.model().map(|model| model.as_ref().into()),
        ..Metadata::default()
    };
    if let Some(contents) = last.request.contents() {
        let mut run = Contents::of_request(&Members::from(last.request.json()));
        for (place, content) in contents.into_iter().enumerate() {
            let response = at(place).and_then(|exchange| exchange.response.as_ref());
            run.add_said(content, response.map(Body::json));
        }
        if let Some(response) = &last.response {
            run.response(&Members::from(response.json()));
        }
        run.run.metadata.id = metadata.id;
        run.run.give(runs);
        return Ok(());
    }
    let response = last.spoken();
    let is_lost = response.is_empty() && last.response.is_some();
    runs.pass_over("last responses without a message", u64::from(is_lost));
    let prompt = if last.is_whole { first.length } else { known };
    let (examples, said) = messages.split_at_checked(prompt).unwrap_or((&messages, &[]));
    let examples = if last.is_whole { examples } else { &[] };
    if last.is_whole
        && let Some(mut run) = llm_code::run(examples, said, &response)
    {
        run.metadata = metadata;
        run.give(runs);
        return Ok(());
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
    let mut others = 0;
    for (place, message) in (prompt..).zip(said) {
        // The response to an earlier request begins where that request ended.
        if let Some(exchange) = at(place) {
            conversation.of_one_response(usage(exchange));
        }
        others += u64::from(!add(*message, &mut conversation)?);
    }
    conversation.of_one_response(usage(last));
    for message in response {
        others += u64::from(!add(message, &mut conversation)?);
    }
    runs.pass_over(SKIPPED, others);
    conversation.give(runs);
    Ok(())
}

/// Adds a message, or returns false if it does not have the expected form. A message without a role is the model's.
fn add<'a>(message: Raw<'a>, conversation: &mut Conversation<'a>) -> Read<bool> {
    let mut element = Element::default();
    element.read(&mut message.json())?;
    if element.role.is_none() && element.item.is_none() {
        element.role = Some("assistant".into());
    }
    conversation.add(&mut element)
}

fn usage(exchange: &Exchange<'_>) -> Option<crate::trace::Usage> {
    exchange.response.as_ref()?.json().member("usage").and_then(tokens::usage)
}

/// Returns the message of a response that has its texts and calls in separate lists.
fn spoken_in_parts(response: Raw<'_>) -> Option<String> {
    let parts = |key| response.member(key).and_then(Raw::items);
    let text =
        |part: Raw<'_>| Some(format!(r#"{{"type":"text","text":{}}}"#, part.member("text")?.spelling()));
    let texts = parts("textParts")?.into_iter().filter_map(text);
    let calls = parts("toolCalls").unwrap_or_default().into_iter().map(|call| call.spelling().into_owned());
    let content: Vec<_> = texts.chain(calls).collect();
    let usage = response.member("usage").map_or("null".into(), Raw::spelling);
    Some(format!(r#"{{"content":[{}],"usage":{usage}}}"#, content.join(",")))
}

/// Returns the messages or items of a response.
fn spoken(response: Raw<'_>) -> Vec<Raw<'_>> {
    let choice = response
        .member("choices")
        .and_then(Raw::items)
        .and_then(|choices| choices.first()?.member("message"));
    if let Some(message) = choice.or_else(|| response.member("message")) {
        return vec![message];
    }
    if let Some(items) = response.member("output").and_then(Raw::items) {
        return items;
    }
    let is_message = ["content", "tool_calls"].iter().any(|key| response.member(key).is_some());
    if is_message { vec![response] } else { Vec::new() }
}
