//! Contents of the Gemini API, and histories of the Gemini CLI: parts that are texts, calls and responses.

use std::collections::BTreeSet;

use super::gemini_cli::has_failed;
use super::llm_responses;
use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Document(
        "contents with `role` and `parts`, one of the role `model` or with a call",
        are_contents,
    )],
    reader: Reader::Generic(|document, runs| {
        read(document, runs);
        Ok(())
    }),
};

/// Keys of a list of contents, in a request and in the histories of the CLI.
const LISTS: [&str; 3] = ["contents", "clientHistory", "history"];

fn are_contents(document: &Document<'_>) -> bool {
    let contents = elements(document, &LISTS);
    let has_parts =
        |content: &Members<'_>| content.is("parts", Kind::List) && content.is("role", Kind::String);
    let is_sure = |content: &Members<'_>| {
        has_parts(content)
            && (content.name("role").as_deref() == Some("model")
                || content.list("parts").iter().any(|part| call_of(*part).is_some()))
    };
    llm_responses::CANDIDATES.fits(&document.members())
        || any_of_first(&contents, is_sure) && !any_of_first(&contents, |content| !has_parts(content))
}

/// Returns the call or response in a part, and true for a call.
fn call_of(part: Raw<'_>) -> Option<(bool, Raw<'_>)> {
    let names = [
        ("functionCall", true),
        ("function_call", true),
        ("functionResponse", false),
        ("function_response", false),
    ];
    let present = |(name, is_call)| {
        let value = part.member(name).filter(|value| value.kind() == Kind::Object)?;
        Some((is_call, value))
    };
    names.into_iter().find_map(present)
}

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    let mut contents = match document {
        Document::Object(members) => Contents::of_request(members),
        _ => Contents::of_agent("gemini"),
    };
    for content in elements(document, &LISTS) {
        contents.add_said(content, None);
    }
    if let Document::Object(members) = document {
        contents.response(members);
    }
    contents.run.give(runs);
}

/// A run that is read content by content.
pub(super) struct Contents<'a> {
    pub(super) run: Recording<'a>,
    /// The ids of calls. A response may have an id although its call has none; such an id is ignored.
    ids: BTreeSet<Cow<'a, str>>,
}

impl<'a> Contents<'a> {
    pub(super) fn of_agent(agent: &str) -> Self {
        Self { run: Recording::of_agent(agent), ids: BTreeSet::new() }
    }

    /// Begins a run with the model and the system prompt of a request.
    pub(super) fn of_request(request: &Members<'a>) -> Self {
        let mut contents = Self::of_agent("gemini");
        contents.run.model(request.name("model").or_else(|| request.name("modelVersion")));
        let system = request.get("systemInstruction").or_else(|| request.get("system_instruction"));
        contents.add("system", system, None);
        contents
    }

    /// Adds a content of a request. If it came from an earlier response of the API, its tokens are in `response`.
    pub(super) fn add_said(&mut self, content: Raw<'a>, response: Option<Raw<'a>>) {
        let role = content.member("role").and_then(common::name).unwrap_or_default();
        let tokens = response.and_then(|response| usage(response.member("usageMetadata")));
        self.add_with(&role, Some(content), None, tokens, None);
    }

    /// Adds a content in this role, as a turn of its own.
    pub(super) fn add(&mut self, role: &str, content: Option<Raw<'a>>, time: Option<u64>) {
        self.add_with(role, content, time, None, None);
    }

    /// Adds a content with its tokens. `outcome` is that of the responses in it, if it is recorded elsewhere.
    pub(super) fn add_with(
        &mut self,
        role: &str,
        content: Option<Raw<'a>>,
        time: Option<u64>,
        tokens: Option<Usage>,
        outcome: Option<Outcome>,
    ) {
        let actor = words::actor_of(role);
        let parts = recorded::items(content.and_then(|content| content.member("parts")));
        self.run.turn(time);
        self.run.set_usage(tokens);
        let mut texts = Vec::new();
        for part in parts {
            let (text, call) = (part.member("text"), call_of(part));
            let is_thought = part.member("thought").and_then(Raw::boolean) == Some(true);
            texts.extend(text.filter(|_| !is_thought).and_then(Raw::string));
            if let Some((is_call, value)) = call {
                self.say(actor, std::mem::take(&mut texts));
                if is_call {
                    self.call(&Members::from(value));
                } else {
                    self.answer(&Members::from(value), outcome);
                }
            } else if text.is_none() {
                self.run.pass_over("parts of other types", 1);
            }
        }
        // tRPC-Agent writes the text of a content without parts.
        texts.extend(content.and_then(|content| content.member("content")?.string()));
        self.say(actor, texts);
    }

    /// Adds the texts between two calls as one message.
    fn say(&mut self, actor: Actor, texts: Vec<Cow<'a, str>>) {
        let texts: Vec<_> = texts.into_iter().map(TextCow::from).collect();
        let opens = matches!(&*texts, [text] if opens(actor, text.text()));
        self.run.say(if opens { Actor::Environment } else { actor }, wire::joined(texts));
    }

    /// Adds a call with `id`, `name` and `args`.
    pub(super) fn call(&mut self, call: &Members<'a>) -> CallNumber {
        let id = call.name("id");
        self.ids.extend(id.clone());
        self.run.call(id, call.name("name"), call.get("args"))
    }

    /// Adds the response to a call. `known` is its outcome, if that is recorded elsewhere.
    pub(super) fn answer(&mut self, response: &Members<'a>, known: Option<Outcome>) {
        let (id, name) = (response.name("id").filter(|id| self.ids.contains(id)), response.name("name"));
        let value = response.present("response");
        let (text, outcome) = outcome(value, name.as_deref());
        self.run.answer(id, name.as_ref(), text, known.unwrap_or(outcome));
    }

    /// Adds the first candidate of a response of the API, with its tokens.
    pub(super) fn response(&mut self, members: &Members<'a>) {
        let response = members.get("response").map_or_else(|| members.clone(), Members::from);
        let candidates = response.list("candidates");
        if let Some(candidate) = candidates.first() {
            let tokens = usage(response.get("usageMetadata"));
            self.add_with("model", candidate.member("content"), None, tokens, None);
            self.run.model(response.name("modelVersion"));
            self.run.metadata.termination =
                candidate.member("finishReason").and_then(common::name).map(Cow::into_owned);
        }
    }
}

/// Returns true for the two messages with which the Gemini CLI opens a history.
fn opens(actor: Actor, text: Text<'_>) -> bool {
    match actor {
        Actor::User => {
            text.starts_with("This is the Gemini CLI. We are setting up the context for our chat.")
        }
        Actor::Agent => text.to_str().trim() == "Got it. Thanks for the context!",
        _ => false,
    }
}

/// Returns the text of a response, and the outcome of the call: by its text, its `error`, its `status`, or
/// the exit code of a command.
fn outcome<'a>(response: Option<Raw<'a>>, name: Option<&str>) -> (Option<TextCow<'a>>, Outcome) {
    let part = |key: &str| response?.member(key).filter(|value| value.kind() != Kind::Null);
    let error = part("error").filter(|error| error.boolean() != Some(false));
    let text =
        error.or_else(|| part("output")).or_else(|| part("result")).or(response).and_then(words::result);
    let status = part("status").and_then(common::name);
    let refused = |text: &TextCow<'_>| text.text().starts_with("[Operation Cancelled]");
    let failed = |text: &TextCow<'_>| name == Some("run_shell_command") && has_failed(text);
    let outcome = if text.as_ref().is_some_and(refused) {
        Outcome::unknown(UnknownReason::Refused, Provenance::Text)
    } else if error.is_some() || status.as_deref() == Some("error") {
        Outcome::flag(true)
    } else if text.as_ref().is_some_and(failed) {
        Outcome::exit_code(true)
    } else {
        Outcome::UNMARKED
    };
    (text, outcome)
}

/// Returns the tokens of a response of the API.
pub(super) fn usage(metadata: Option<Raw<'_>>) -> Option<Usage> {
    tokens::of_keys(
        &recorded::members(metadata),
        &["promptTokenCount", "prompt_token_count"],
        &["candidatesTokenCount", "candidates_token_count", "thoughtsTokenCount", "thoughts_token_count"],
        &["cachedContentTokenCount", "cached_content_token_count"],
    )
}
