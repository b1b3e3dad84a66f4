//! Sessions exported by OpenCode: one document of messages and their parts. A tool part is a call with its
//! result. In dumps of its store, the facts about a message are in the message itself instead of in `info`. Rows of its
//! database are in two forms: OpenCode 1 has tables of messages and of their parts, and the messages of OpenCode 2 hold
//! their parts themselves.

use memchr::memmem::Finder;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
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
        Shape::Object(TABLES),
        Shape::Items(Any(&[MESSAGE, In("row", &MESSAGE)])),
    ],
    reader: Reader::Document(read),
};

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    match document {
        Document::Object(members) if TABLES.fits(members) => {
            tables(members, runs);
        }
        Document::Object(members) => session(members, runs),
        document => messages(document.items(), runs),
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
        let parts: Vec<_> = message.objects("parts").collect();
        add(Info::of(&message.within("info")), &parts, turn, &mut run);
    }
    run.give(runs);
}

#[derive(Debug, Default)]
pub(super) struct Info<'a> {
    pub(super) role: Cow<'a, str>,
    pub(super) model: Option<Cow<'a, str>>,
    pub(super) finish: Option<Cow<'a, str>>,
    pub(super) error: Option<Cow<'a, str>>,
    pub(super) time: Option<u64>,
    pub(super) usage: Option<Usage>,
}

impl<'a> Info<'a> {
    pub(super) fn of(info: &Members<'a>) -> Self {
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
pub(super) fn usage(tokens: Raw<'_>) -> Option<Usage> {
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
pub(super) fn add<'a>(info: Info<'a>, parts: &[Members<'a>], turn: u64, run: &mut Recording<'a>) {
    let actor = words::actor_of(&info.role);
    if actor == Actor::Agent {
        run.model(info.model);
        run.metadata.termination = info.error.or(info.finish).map(Cow::into_owned);
    }
    let texts = parts.iter().filter(|part| is_of(part, "text") && part.flag("synthetic") != Some(true));
    run.at(turn, info.time);
    run.say(actor, wire::joined(texts.filter_map(|part| part.string("text")).collect()));
    run.set_usage(info.usage);
    for part in parts.iter().filter(|part| is_of(part, "tool") && actor == Actor::Agent) {
        call(part, run);
    }
}

pub(super) fn is_of(part: &Members<'_>, kind: &str) -> bool {
    part.name("type").is_some_and(|name| name == kind)
}

/// Adds the call that a tool part records, with its result.
fn call<'a>(part: &Members<'a>, run: &mut Recording<'a>) {
    let state = part.object("state");
    let time = state.object("time");
    let [start, end] = ["start", "end"].map(|key| time.get(key).and_then(time::of_milliseconds));
    run.time(start);
    // OpenCode 2 has other keys, also in the state.
    let [id, tool] = if part.has("tool") { ["callID", "tool"] } else { ["id", "name"] };
    let call = run.call(part.name(id), part.name(tool), state.get("input"));
    run.set_times(call, start, end);
    if let Some(answer) = answer(&state) {
        run.steps.answer_call(call, answer);
    }
}

/// Returns the answer to a call, or `None` if the call has not ended.
fn answer<'a>(state: &Members<'a>) -> Option<Answer<'a>> {
    let error = || state.present("error").map(|error| error.member("message").unwrap_or(error));
    let observation = state.present("output").or_else(error).or_else(|| state.get("content"));
    let observation = observation.and_then(words::result);
    let exit = state.object("metadata").get("exit");
    let outcome = match (state.name("status").as_deref()?, exit) {
        ("completed", Some(code)) => {
            is_failure_code(code).map_or_else(|| without_code(observation.as_ref()), Outcome::exit_code)
        }
        ("completed", None) => Outcome::flag(false),
        ("error", _) => observation.as_ref().map_or(Outcome::flag(true), failure),
        _ => return None,
    };
    Some(outcome.answer(observation.into()))
}

/// Number of bytes at the end of an output in which the tool says how it ended the command.
const METADATA: usize = 400;

/// Returns the outcome of a command whose exit code is null. The output says if the tool or the user ended it.
fn without_code(observation: Option<&TextCow<'_>>) -> Outcome {
    let end = observation.map(|text| text.text().tail(METADATA)).unwrap_or_default();
    let (_, said) = end.split_once("_metadata>\n").unwrap_or_default();
    if said.contains("User aborted the command") {
        Outcome::unknown(UnknownReason::Interrupted, Provenance::Text)
    } else {
        Outcome::by_text(said.contains(" tool terminated command after exceeding timeout "))
    }
}

/// Returns the outcome of a failed call. Its error text says if it was interrupted, or refused by the user or by a
/// rule of the user.
fn failure(observation: &TextCow<'_>) -> Outcome {
    const REFUSED: [&str; 2] =
        ["The user rejected permission to", "The user has specified a rule which prevents you from"];
    static FINDER: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(" this specific tool call"));
    let text = observation.text();
    if text.starts_with("Tool execution aborted") {
        Outcome::unknown(UnknownReason::Interrupted, Provenance::Text)
    } else if text.may_hold(&FINDER) && REFUSED.iter().any(|start| text.to_str().contains(start)) {
        Outcome::unknown(UnknownReason::Refused, Provenance::Text)
    } else {
        Outcome::flag(true)
    }
}

/// An object with both tables of OpenCode 1.
const TABLES: Mark = All(&[
    Holds("messages", &All(&[Is(Kind::String, &["id", "session_id"]), In("data", &Has(&["role"]))])),
    Holds("parts", &All(&[Is(Kind::String, &["message_id"]), In("data", &Has(&["type"]))])),
]);

/// A message of OpenCode 2.
const MESSAGE: Mark = All(&[
    Says("id", &["msg_*"]),
    Says("session_id", &["ses_*"]),
    Says("type", &["user", "assistant"]),
    In("data", &Any(&[Has(&["text", "time"]), Holds("content", &Has(&["type"]))])),
]);

/// Runs by the id of their session, with their numbers of messages.
#[derive(Default)]
struct Sessions<'a>(Ordered<Option<Cow<'a, str>>, (Recording<'a>, u64)>);

impl<'a> Sessions<'a> {
    /// Returns the run that a message belongs to, and the turn of the message.
    fn run_of(&mut self, row: &Members<'a>) -> (&mut Recording<'a>, u64) {
        let (run, count) = self.0.get(row.name("session_id"), |id| {
            let mut run = Recording::of_agent("opencode");
            run.metadata.id = id.clone().map(Cow::into_owned);
            (run, 0)
        });
        *count += 1;
        (run, *count - 1)
    }

    fn give(self, runs: &mut Runs<'_>) {
        self.0.into_values().for_each(|(run, _)| run.give(runs));
    }
}

fn tables(members: &Members<'_>, runs: &mut Runs<'_>) {
    let parents = members.objects("sessions").map(|row| (row.name("id"), row.name("parent_id")));
    let parents: BTreeMap<_, _> = parents.collect();
    let mut parts: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for row in members.objects("parts") {
        parts.entry(row.name("message_id")).or_default().push(row.object("data"));
    }
    let mut sessions = Sessions::default();
    for row in members.objects("messages") {
        let (run, turn) = sessions.run_of(&row);
        run.metadata.parent = parents.get(&row.name("session_id")).cloned().flatten().map(Cow::into_owned);
        let parts = parts.remove(&row.name("id")).unwrap_or_default();
        add(Info::of(&row.object("data")), &parts, turn, run);
    }
    sessions.give(runs);
    runs.pass_over("parts without a message", parts.into_values().map(|parts| parts.len() as u64).sum());
}

/// Reads the messages of OpenCode 2. A row may be next to the name of its table.
fn messages(rows: &[Raw<'_>], runs: &mut Runs<'_>) {
    let mut sessions = Sessions::default();
    for row in rows {
        let row = Members::from(*row).within("row");
        let data = row.object("data");
        let kind = row.name("type").unwrap_or_default();
        if kind == "assistant" {
            let (run, turn) = sessions.run_of(&row);
            let parts: Vec<_> = data.objects("content").collect();
            let model = data.object("model").name("id");
            let error = data.object("error").name("type");
            add(Info { role: kind, model, error, ..Info::of(&data) }, &parts, turn, run);
        } else if let Some(text) = data.message("text") {
            let (run, turn) = sessions.run_of(&row);
            run.at(turn, Info::of(&data).time);
            run.say(words::actor_of(&kind), Some(text));
        } else {
            runs.pass_over("rows that are not messages", 1);
        }
    }
    sessions.give(runs);
}
