//! The body of a logged request to a model, or of its response.

use super::chat::Form;
use super::llm_stream;
use super::prelude::*;

/// Keys of the content of requests and responses.
const CONTENT: [&str; 8] =
    ["messages", "input", "contents", "choices", "output", "message", "content", "candidates"];

/// The body of a request or response, which may be logged as a string.
pub(super) enum Body<'a> {
    Object(Raw<'a>),
    Text(String),
}

impl<'a> Body<'a> {
    /// Returns the body of a request or response: the value itself, or its `body`, `json`, `body_raw` or `payload`.
    pub(super) fn of(value: Raw<'a>) -> Self {
        let body = ["body", "json", "body_raw"].iter().find_map(|key| value.member(key));
        // VCR.py has the text of a body in an object.
        let body = body.map(|body| body.member("string").unwrap_or(body));
        let value = body.or_else(|| payload(value)).unwrap_or(value);
        let value = llm_stream::without_class(value);
        if let Some(message) = llm_stream::response(value) {
            return Self::Text(message);
        }
        match value.string() {
            Some(text) if Json::new(text.as_bytes()).check().is_ok() => {
                Self::Text(common::trim(&text).to_owned())
            }
            _ => Self::Object(value),
        }
    }

    pub(super) fn json(&self) -> Raw<'_> {
        match self {
            Self::Object(value) => *value,
            Self::Text(text) => Raw::over(text.as_bytes(), 0),
        }
    }

    pub(super) fn member(&self, key: &str) -> Option<Raw<'_>> {
        self.json().member(key).filter(|value| value.kind() != Kind::Null)
    }

    /// Returns the messages of a request, the items of a Responses request, or the contents of a Gemini request.
    /// The form returned with contents is a placeholder: `give` reads contents separately.
    pub(super) fn messages(&self) -> Option<(Vec<Raw<'_>>, Form)> {
        let list = |key| self.json().member(key).and_then(Raw::items).filter(|list| !list.is_empty());
        // For a model without tool calls, `fncall_messages` has the calls that were parsed from its texts.
        let messages = ["fncall_messages", "messages"].into_iter().find_map(list);
        let messages = messages.map(|messages| (messages, Form::Messages));
        let messages = messages.or_else(|| list("input").map(|items| (items, Form::Items)));
        // The input of the Responses API may be a text.
        let text = || {
            self.member("input")
                .filter(|input| input.kind() == Kind::String && self.member("model").is_some())
        };
        let messages = messages.or_else(|| Some((vec![text()?], Form::Items)));
        messages.or_else(|| self.contents().map(|contents| (contents, Form::Items)))
    }

    pub(super) fn contents(&self) -> Option<Vec<Raw<'_>>> {
        let contents = self.json().member("contents").and_then(Raw::items)?;
        contents.first()?.member("parts").is_some().then_some(contents)
    }
}

fn has_content(body: Raw<'_>) -> bool {
    CONTENT.iter().any(|key| body.member(key).is_some())
}

/// Returns the `payload` of a request or response if it is the body: it has the content, and the value itself has none.
pub(super) fn payload(value: Raw<'_>) -> Option<Raw<'_>> {
    value.member("payload").filter(|payload| has_content(*payload) && !has_content(value))
}

/// Returns a request and its response under keys that name them, such as `requestBody` and `response_body`. The response
/// may be null.
pub(super) fn named_pair<'a>(members: &Members<'a>) -> Option<(Body<'a>, Option<Body<'a>>)> {
    // Few keys hold the part, so few are split into words.
    let named = |part: &'static str, names: &'static [&str]| {
        let is_named = move |key: &str| {
            key.contains(part) && words::snake_case(key).split('_').any(|word| names.contains(&word))
        };
        members.iter().filter(move |(key, _)| is_named(key)).map(|(_, value)| value)
    };
    let is_request = |body: &Body<'_>| {
        body.json().kind() == Kind::Object && body.member("model").is_some() && body.messages().is_some()
    };
    let request = named("eq", &["request", "req"]).map(Body::of).find(is_request)?;
    let responses = || named("es", &["response", "resp", "res"]);
    let response = responses().map(Body::of).find(|body| has_content(body.json()));
    let is_null = || responses().any(|value| value.kind() == Kind::Null);
    (response.is_some() || is_null()).then_some((request, response))
}
