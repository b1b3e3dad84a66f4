//! OpenCode events: output of `opencode run --format json`, events of its server, and its event store. An
//! event carries the current state of a message or part; the last state of each counts.

use super::opencode::{self, Info};
use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Items(Any(&[EVENT, In("payload", &EVENT), In("event", &EVENT)]))],
    reader: Reader::Document(read),
};

const PART: Mark = In("part", &Has(&["messageID"]));
const DATA: Mark = Any(&[PART, In("properties", &PART), In("data", &PART)]);
const EVENT: Mark = Any(&[
    All(&[Says("type", &["tool_use", "step_start", "step_finish", "text"]), Has(&["sessionID"]), DATA]),
    All(&[Says("type", &["message.part.updated*"]), DATA]),
    All(&[Says("type", &["error"]), Has(&["sessionID"]), In("error", &Has(&["name", "data"]))]),
]);

struct Event<'a> {
    /// Its type, without the version that the store adds.
    kind: Cow<'a, str>,
    line: Raw<'a>,
    /// The object with its message or part.
    data: Raw<'a>,
}

impl<'a> Event<'a> {
    fn of(line: Raw<'a>) -> Option<Self> {
        // Events for all directories and for plugins have a wrapper.
        let inner = line.member("payload").or_else(|| line.member("event"));
        let line = inner.filter(|inner| inner.kind() == Kind::Object).unwrap_or(line);
        let kind = line.member("type")?.string()?;
        let is_version = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
        let kind = match kind.rsplit_once('.') {
            Some((kind, version)) if is_version(version) => Cow::Owned(kind.to_owned()),
            _ => kind,
        };
        let data = line.member("properties").or_else(|| line.member("data")).unwrap_or(line);
        Some(Self { kind, line, data })
    }

    fn part(&self) -> Option<Raw<'a>> {
        self.data.member("part").filter(|part| part.kind() == Kind::Object)
    }

    fn time(&self) -> Option<u64> {
        let time = self.line.member("timestamp").or_else(|| self.data.member("time"));
        time.and_then(time::of_milliseconds)
    }

    fn session(&self) -> Option<Cow<'a, str>> {
        let of = |value: Raw<'a>| value.member("sessionID").and_then(common::name);
        let info = || self.data.member("info");
        let own =
            || info()?.member("id").filter(|_| self.kind.starts_with("session.")).and_then(common::name);
        let within = || self.part().and_then(of).or_else(|| info().and_then(of)).or_else(own);
        of(self.data).or_else(|| of(self.line)).or_else(within)
    }
}

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    let mut sessions = Ordered::default();
    for line in document.items() {
        let event = Event::of(*line);
        let is_read = event.and_then(|event| Some(sessions.get(event.session()?, Session::of).add(&event)));
        runs.pass_over("events without content", u64::from(is_read != Some(true)));
    }
    sessions.into_values().for_each(|session| session.end(runs));
}

struct Session<'a> {
    run: Recording<'a>,
    termination: Option<Cow<'a, str>>,
    messages: Ordered<Cow<'a, str>, Message<'a>>,
    /// The index of each part in its message, by part id.
    parts: TextMap<Cow<'a, str>, usize>,
    /// Number of errors between messages.
    errors: u64,
}

/// A message with the last states of its parts.
#[derive(Default)]
struct Message<'a> {
    info: Option<Raw<'a>>,
    parts: Vec<Option<Raw<'a>>>,
    time: Option<u64>,
    /// The text of an error between messages.
    error: Option<TextCow<'a>>,
}

impl<'a> Session<'a> {
    fn of(id: &Cow<'a, str>) -> Self {
        let mut run = Recording::of_agent("opencode");
        run.metadata.id = Some(id.to_string());
        let (messages, parts) = (Ordered::default(), TextMap::default());
        Self { run, termination: None, messages, parts, errors: 0 }
    }

    fn add(&mut self, event: &Event<'a>) -> bool {
        let data = event.data;
        let name = |key: &str| data.member(key).and_then(common::name);
        match (&*event.kind, event.part(), data.member("info")) {
            ("message.removed", ..) => {
                if let Some(message) = name("messageID").map(|id| self.message(id)) {
                    *message = Message { parts: vec![None; message.parts.len()], ..Message::default() };
                }
            }
            ("message.part.removed", ..) => {
                let place = name("partID").and_then(|id| self.parts.get(&id).copied());
                let message = name("messageID").map(|id| self.message(id));
                if let Some(part) = message.and_then(|message| message.parts.get_mut(place?)) {
                    *part = None;
                }
            }
            ("session.created" | "session.updated", _, Some(info)) => {
                let parent = &mut self.run.metadata.parent;
                let named = info.member("parentID").and_then(common::name);
                *parent = named.map(Cow::into_owned).or(parent.take());
            }
            ("error" | "session.error", ..) => {
                let error = members(data.member("error"));
                self.termination = error.name("name");
                let text = error.object("data").message("message").or_else(|| error.message("message"));
                if let Some(text) = text {
                    self.errors += 1;
                    let time = event.time();
                    *self.message(format!("error {}", self.errors).into()) =
                        Message { time, error: Some(text), ..Message::default() };
                }
            }
            ("message.updated", _, Some(info)) => {
                let Some(id) = info.member("id").and_then(common::name) else { return false };
                self.message(id).info = Some(info);
            }
            (_, Some(part), _) => return self.part(event, part),
            _ => return false,
        }
        true
    }

    fn message(&mut self, id: Cow<'a, str>) -> &mut Message<'a> {
        self.messages.get(id, |_| Message::default())
    }

    /// Replaces the state of a part, or returns false if it names no message.
    fn part(&mut self, event: &Event<'a>, part: Raw<'a>) -> bool {
        let Some(message) = part.member("messageID").and_then(common::name) else { return false };
        let known = part.member("id").and_then(common::name);
        let place = known.as_ref().and_then(|id| self.parts.get(id).copied());
        let message = self.message(message);
        // Where ids are masked, parts of different types share one.
        let is_same = |former: &&mut Option<Raw<'a>>| {
            let kind = |part: Raw<'a>| part.member("type").and_then(common::name);
            former.is_none_or(|former| kind(former) == kind(part))
        };
        if let Some(former) = place.and_then(|place| message.parts.get_mut(place)).filter(is_same) {
            *former = Some(part);
        } else {
            message.time = message.time.or_else(|| event.time());
            message.parts.push(Some(part));
            let place = message.parts.len() - 1;
            self.parts.extend(known.map(|id| (id, place)));
        }
        true
    }

    /// Adds the messages in order and emits the run.
    fn end(mut self, runs: &mut Runs<'_>) {
        for (turn, mut message) in (0..).zip(self.messages.into_values()) {
            if let Some(error) = message.error.take() {
                self.run.at(turn, message.time);
                self.run.say(Actor::Environment, Some(error));
                continue;
            }
            let (info, parts) = message.read();
            opencode::add(info, &parts, turn, &mut self.run);
        }
        let end = &mut self.run.metadata.termination;
        *end = self.termination.map(Cow::into_owned).or(end.take());
        self.run.give(runs);
    }
}

impl<'a> Message<'a> {
    fn read(self) -> (Info<'a>, Vec<Members<'a>>) {
        let mut info = match self.info {
            Some(info) => Info::of(&info.into()),
            // Printed events have no info, and all are the model's.
            None => Info { role: "assistant".into(), time: self.time, ..Info::default() },
        };
        let parts: Vec<_> = self.parts.into_iter().flatten().map(Members::from).collect();
        for part in parts.iter().filter(|part| opencode::is_of(part, "step-finish")) {
            info.finish = part.name("reason").or(info.finish);
            info.usage = info.usage.or_else(|| opencode::usage(part.get("tokens")?));
        }
        (info, parts)
    }
}
