//! Sessions exported by OpenCode: one document of messages and their parts. A tool part is a call with its
//! result. In dumps of its store, the facts about a message are in the message itself instead of in `info`. Rows of its
//! database are in `opencode_rows`.

use memchr::memmem::Finder;
use std::sync::LazyLock;

use super::opencode_rows;
use super::prelude::*;

pub(in crate::read) const FORMAT: Definition = Definition {
    signature: &[
        Shape::Object(All(&[
            In("info", &Is(Kind::String, &["id"])),
            Holds("messages", &All(&[Is(Kind::Object, &["info"]), Is(Kind::List, &["parts"])])),
        ])),
        Shape::Object(All(&[
            In("session", &Is(Kind::String, &["id"])),
            Holds(
                "messages",
                &All(&[
                    Is(Kind::String, &["role"]),
                    In("time", &Has(&["created"])),
                    Is(Kind::List, &["parts"]),
                ]),
            ),
        ])),
        Shape::Object(opencode_rows::TABLES),
        Shape::Items(Any(&[opencode_rows::MESSAGE, In("row", &opencode_rows::MESSAGE)])),
    ],
    reader: Reader::Document(read),
};

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    match document {
        Document::Object(members) if opencode_rows::TABLES.fits(members) => {
            opencode_rows::tables(members, runs);
        }
        Document::Object(members) => session(members, runs),
        document => opencode_rows::messages(document.items(), runs),
    }
}

fn session(members: &Members<'_>, runs: &mut Runs<'_>) {
    let mut run = Recording::of_agent("opencode");
    let session = members.object(if members.has("info") { "info" } else { "session" });
    run.metadata.id = session.name("id").map(Cow::into_owned);
    run.metadata.parent = session.name("parentID").or_else(|| session.name("parent_id")).map(Cow::into_owned);
    for (turn, message) in (0..).zip(members.list("messages")) {
        run.pass_over("messages that are not objects", u64::from(message.kind() != Kind::Object));
        let message = Members::from(message);
        let parts: Vec<_> = message.objects("parts").map(Part).collect();
        add(Info::of(&message.within("info")), &parts, turn, &mut run);
    }
    run.give(runs);
}

/// Facts about a message.
#[derive(Debug, Default)]
pub(in crate::read) struct Info<'a> {
    pub(in crate::read) role: Cow<'a, str>,
    pub(in crate::read) model: Option<Cow<'a, str>>,
    /// Why the response ended.
    pub(in crate::read) finish: Option<Cow<'a, str>>,
    pub(in crate::read) error: Option<Cow<'a, str>>,
    pub(in crate::read) time: Option<u64>,
    pub(in crate::read) usage: Option<Usage>,
}

impl<'a> Info<'a> {
    pub(in crate::read) fn of(info: &Members<'a>) -> Self {
        Self {
            role: info.name("role").unwrap_or_default(),
            model: info.name("modelID"),
            finish: info.name("finish"),
            error: info.object("error").name("name"),
            time: info.object("time").get("created").and_then(time::of_milliseconds),
            usage: info.get("tokens").and_then(usage),
        }
    }
}

/// Returns the tokens of a response. The input includes cached tokens, and the output includes reasoning.
pub(in crate::read) fn usage(tokens: Raw<'_>) -> Option<Usage> {
    let tokens = Members::from(tokens);
    let cache = tokens.object("cache");
    let usage = Usage {
        duration_ns: None,
        input_tokens: tokens::sum([tokens.count("input"), cache.count("read"), cache.count("write")]),
        output_tokens: tokens::sum([tokens.count("output"), tokens.count("reasoning")]),
        cached_tokens: cache.count("read"),
    };
    (!usage.is_empty()).then_some(usage)
}

/// Adds a message with its parts. Only tool parts of the agent become calls.
pub(super) fn add<'a>(info: Info<'a>, parts: &[Part<'a>], turn: u64, run: &mut Recording<'a>) {
    let actor = words::actor_of(&info.role);
    if actor == Actor::Agent {
        run.model(info.model);
        run.metadata.termination = info.error.or(info.finish).map(Cow::into_owned);
    }
    let texts = parts.iter().filter(|part| part.is("text") && part.0.flag("synthetic") != Some(true));
    run.at(turn, info.time);
    run.say(actor, wire::joined(texts.filter_map(|part| part.0.string("text")).collect()));
    run.spent(info.usage);
    for part in parts.iter().filter(|part| part.is("tool") && actor == Actor::Agent) {
        part.call(run);
    }
}

/// A part of a message.
pub(in crate::read) struct Part<'a>(pub(in crate::read) Members<'a>);

impl<'a> Part<'a> {
    /// Returns true if the part has this type.
    pub(in crate::read) fn is(&self, kind: &str) -> bool {
        self.0.name("type").is_some_and(|name| name == kind)
    }

    /// Adds the call that a tool part records, with its result.
    fn call(&self, run: &mut Recording<'a>) {
        let state = self.0.object("state");
        let time = state.object("time");
        let [start, end] = ["start", "end"].map(|key| time.get(key).and_then(time::of_milliseconds));
        run.time(start);
        // OpenCode 2 has other keys, also in the state.
        let [id, tool] = if self.0.has("tool") { ["callID", "tool"] } else { ["id", "name"] };
        let call = run.call(self.0.name(id), self.0.name(tool), state.get("input"));
        run.lasted(call, start, end);
        if let Some(answer) = answer(&state) {
            run.steps.answer_call(call, answer);
        }
    }
}

/// Returns the answer to a call, or `None` if the call has not ended.
fn answer<'a>(state: &Members<'a>) -> Option<Answer<'a>> {
    let error = || state.present("error").map(|error| error.member("message").unwrap_or(error));
    let observation = state.present("output").or_else(error).or_else(|| state.get("content"));
    let observation = observation.and_then(words::result);
    let exit = state.object("metadata").get("exit").and_then(is_failure_code);
    let outcome = match state.name("status").as_deref()? {
        "completed" => exit.map_or(Outcome::flag(false), Outcome::exit_code),
        "error" => observation.as_ref().map_or(Outcome::flag(true), failure),
        _ => return None,
    };
    Some(outcome.answer(observation.into()))
}

/// Returns the outcome of a failed call. Its error text says if it was interrupted or rejected by the user.
fn failure(observation: &TextCow<'_>) -> Outcome {
    const REJECTED: &str = "The user rejected permission to use this specific tool call";
    static FINDER: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(REJECTED));
    let text = observation.text();
    if text.starts_with("Tool execution aborted") {
        Outcome::unknown(UnknownReason::Interrupted, Provenance::Text)
    } else if text.may_hold(&FINDER) && text.to_str().contains(REJECTED) {
        Outcome::unknown(UnknownReason::Refused, Provenance::Text)
    } else {
        Outcome::flag(true)
    }
}
