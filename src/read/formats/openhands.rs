//! OpenHands event logs: actions and the observations that name them as their cause.

use std::collections::{BTreeMap, BTreeSet};

use super::prelude::*;
use crate::trace::Entry;

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Document(
        "events with `id` and `source`, some with `action` and some with `observation`",
        are_events,
    )],
    reader: Reader::Fallible(read),
};

fn are_events(document: &Document<'_>) -> bool {
    if let Document::Lines(lines) = document {
        return lines.iter().any(|line| is_event(*line));
    }
    let (mut kinds, mut is_sure) = ([false; 2], false);
    for (place, event) in objects(document, &["trajectory"]).enumerate() {
        if !EVENT.fits(&event) {
            return false;
        }
        for (seen, kind) in kinds.iter_mut().zip(["action", "observation"]) {
            *seen |= event.is(kind, Kind::String);
        }
        is_sure |= SURE.fits(&event);
        if kinds == [true; 2] && place + 1 >= words::DECISIVE_ITEMS {
            break;
        }
    }
    is_sure || kinds == [true; 2]
}

const EVENT: Mark = Has(&["id", "source"]);

/// Fits only OpenHands events, which have a timestamp and the members of an action or an observation.
const SURE: Mark = All(&[
    Has(&["id", "source", "timestamp"]),
    Any(&[
        All(&[Is(Kind::String, &["action"]), Is(Kind::Object, &["args"])]),
        All(&[Is(Kind::String, &["observation"]), Has(&["content"])]),
    ]),
]);

/// Returns true if a value is an event that no other format has.
pub(super) fn is_event(event: Raw<'_>) -> bool {
    SURE.fits_value(event)
}

fn read(document: &Document<'_>, runs: &mut Runs<'_>) -> Read<()> {
    let mut log = Log::default();
    for event in elements(document, &["trajectory"]) {
        if matches!(document, Document::Lines(_)) {
            log.read_line(event);
        } else if !log.read(event) {
            return Err(words::unfit(event.offset(), "OpenHands events"));
        }
    }
    log.end(runs, Metadata::default(), None);
    Ok(())
}

/// Actions that are not tool calls.
const NO_CALLS: [&str; 7] =
    ["message", "system", "recall", "change_agent_state", "condensation", "condensation_request", "null"];

/// Members of `args` that are not arguments.
const NO_ARGUMENTS: [&[u8]; 5] =
    [b"security_risk", b"confirmation_state", b"hidden", b"blocking", b"is_static"];

/// Members of an action that are not arguments, if its arguments are members of its own.
const NO_ARGUMENTS_OF_FLAT: [&[u8]; 5] =
    [b"action", b"action_risk", b"is_confirmed", b"keep_prompt", b"kernel_init_code"];

/// An event. Its `tool_call_metadata` holds the call as the model wrote it, and the response that contained it.
#[derive(Debug, Default)]
struct Event<'a> {
    members: Members<'a>,
    source: Cow<'a, str>,
}

impl<'a> Event<'a> {
    fn of(members: Members<'a>) -> Self {
        Self { source: members.name("source").unwrap_or_default(), members }
    }

    /// Returns the name of the action or of the observation, which may be empty.
    fn kind(&self, key: &str) -> Option<Cow<'a, str>> {
        self.members.get(key).and_then(Raw::string)
    }

    /// Returns the event if its arguments are members of its own: it has neither an id nor a source.
    fn flat(&self) -> Option<Raw<'a>> {
        self.members.whole().filter(|_| !self.members.has("id") && !self.members.has("source"))
    }

    fn time(&self) -> Option<u64> {
        self.members.time("timestamp")
    }

    fn is_call(&self) -> bool {
        self.source == "agent" && self.kind("action").is_some_and(|action| !NO_CALLS.contains(&&*action))
    }

    fn answer(&self) -> Answer<'a> {
        let (outcome, content) = (self.outcome(), self.members.result("content"));
        let is_missing = content.as_ref().is_none_or(|content| wire::is_blank(content.text()));
        let suffix = || self.members.object("extras").object("metadata").result("suffix");
        let is_stated = outcome.status == Status::Error && outcome.provenance == Provenance::Text;
        let text = if is_missing && is_stated { suffix().or(content) } else { content };
        outcome.answer(text.into())
    }

    fn outcome(&self) -> Outcome {
        let observation = self.kind("observation").unwrap_or_default();
        let extras = self.members.object("extras");
        let exit_code = self.members.within("extras").present("exit_code");
        let exit_code = exit_code.or_else(|| extras.object("metadata").get("exit_code"));
        if observation == "user_rejected" {
            return Outcome::REFUSED;
        }
        if let Some(stated) =
            of_shell(exit_code.and_then(Raw::integer), extras.name("command").as_deref(), || {
                [self.members.result("content"), extras.object("metadata").result("suffix")]
            })
        {
            return stated;
        }
        if let Some(success) = self.members.flag("success") {
            return Outcome::flag(!success);
        }
        if observation == "error" || extras.flag("error") == Some(true) {
            return Outcome::flag(true);
        }
        // Failed edits and reads of files have no flag, only a text.
        let fails = |content: TextCow<'_>| match &*observation {
            "edit" | "read" => content.text().starts_with("ERROR:\n"),
            "run_ipython" => is_failed_edit(content.text()),
            _ => false,
        };
        if self.members.result("content").is_some_and(fails) {
            return Outcome::error(Provenance::Text);
        }
        Outcome::of_code(exit_code)
    }
}

/// Returns true if the output of `IPython` begins with the harness's report of an edit that failed.
fn is_failed_edit(text: Text<'_>) -> bool {
    let head = text.head(400);
    let path = || head.strip_prefix("[No exact match found in ")?.split_once(" for").map(|(path, _)| path);
    head.starts_with("[Your proposed edit has introduced new syntax error(s).")
        || path().is_some_and(|path| !path.contains(char::is_whitespace))
}

/// Returns the outcome of a command that still runs, did not start, or was a key such as Ctrl+C, if it is one.
pub(super) fn of_shell<'a>(
    code: Option<i64>,
    command: Option<&str>,
    texts: impl Fn() -> [Option<TextCow<'a>>; 2],
) -> Option<Outcome> {
    let says = |part: &str| texts().iter().flatten().any(|text| text.text().to_str().contains(part));
    match code? {
        -1 if says("is NOT executed. The previous command is still running")
            || says("ERROR: No previous running command to interact with") =>
        {
            Some(Outcome::error(Provenance::Text))
        }
        -1 => Some(Outcome::unknown(UnknownReason::Running, Provenance::ExitCode)),
        130 if command.is_some_and(|command| command.starts_with("C-")) => Some(Outcome::exit_code(false)),
        _ => None,
    }
}

#[derive(Default)]
pub(super) struct Log<'a> {
    run: Recording<'a>,
    /// Ids of the calls that may have an observation.
    calls: BTreeSet<Cow<'a, str>>,
    /// The turns of the model's responses, by response id.
    turns: BTreeMap<Cow<'a, str>, u64>,
    /// Ids of the responses whose text was added.
    said: BTreeSet<Cow<'a, str>>,
    /// The last text before a call.
    last: String,
    turn: u64,
}

impl<'a> Log<'a> {
    /// Emits the run. `metadata` comes from outside the events.
    pub(super) fn end(mut self, runs: &mut Runs<'_>, metadata: Metadata, reward: Option<f64>) {
        let model = metadata.model.or(self.run.metadata.model);
        self.run.metadata = Metadata { agent: Some("openhands".into()), model, ..metadata };
        self.run.reward = reward;
        self.run.give(runs);
    }

    /// Reads a line, which may not be an event.
    pub(super) fn read_line(&mut self, line: Raw<'a>) {
        if !self.read(line) {
            self.run.pass_over("lines of other types", 1);
        }
    }

    /// Reads an event, or returns false if the value is not one.
    fn read(&mut self, value: Raw<'a>) -> bool {
        let members = Members::from(value);
        let is_event = EVENT.fits(&members);
        if is_event {
            self.event(&Event::of(members));
        }
        is_event
    }

    /// Reads an action paired with its observation, as early versions of OpenHands recorded them.
    pub(super) fn pair(&mut self, pair: &[Raw<'a>]) {
        let mut events = pair.iter().map(|event| Event::of(Members::from(*event)));
        let [mut action, observation] = [(); 2].map(|()| events.next().unwrap_or_default());
        // The task comes before the first call.
        let is_task =
            action.kind("action").as_deref() == Some("message") && self.run.steps.next_number() == 0;
        if action.source.is_empty() {
            action.source = if is_task { "user" } else { "agent" }.into();
        }
        let is_empty = matches!(observation.kind("observation").as_deref(), None | Some("null"));
        if action.is_call() {
            let number = self.call(&action);
            if !is_empty {
                self.run.steps.answer_call(number, observation.answer());
            }
        } else {
            self.event(&action);
            if !is_empty {
                self.event(&observation);
            }
        }
    }

    fn event(&mut self, event: &Event<'a>) {
        if event.is_call() {
            self.call(event);
            return;
        }
        let members = &event.members;
        self.run.at(self.turn, event.time());
        if event.kind("action").as_deref() == Some("message") {
            self.last.clear();
            self.run.say(words::actor_of(&event.source), members.within("args").message("content"));
        }
        let Some(observation) = event.kind("observation") else { return };
        match members.ident("cause") {
            Some(cause) if self.calls.contains(&cause) => {
                self.run.answer_with(Some(cause), event.answer());
            }
            // The call was recorded elsewhere, but its answer repeats it.
            Some(cause) if members.object("tool_call_metadata").name("function_name").is_some() => {
                self.repeated_call(cause, event);
            }
            // A call that OpenHands could not parse has no event of its own, only this error.
            _ if observation == "error" => self.run.answer_with(None, event.answer()),
            _ => self.run.pass_over("observations without a known call", 1),
        }
    }

    /// Reads a call from the model response recorded in the call's observation.
    fn repeated_call(&mut self, cause: Cow<'a, str>, event: &Event<'a>) {
        let written = event.members.object("tool_call_metadata");
        let response = written.object("model_response");
        let message = message(&written, &response);
        let arguments = written_arguments(&written, &message);
        let arguments = arguments
            .and_then(|arguments| object_of(arguments).or_else(|| Some(common::arguments(arguments))));
        let arguments = arguments.unwrap_or_default();
        self.run.time(None);
        self.run.model(response.name("model"));
        self.say(&response, message.message("content"));
        self.run.set_usage(response.usage("usage"));
        let call = Call::new(0, Some(cause), written.name("function_name").unwrap_or_default());
        let number = self.run.add(call.with(arguments));
        self.turn += 1;
        self.run.steps.answer_call(number, event.answer());
    }

    /// Adds the text of the agent before a call, unless the agent has just said the same. All calls of a response
    /// repeat its text.
    fn say(&mut self, response: &Members<'a>, text: Option<TextCow<'a>>) {
        let id = response.name("id");
        let is_new = id.clone().is_none_or(|id| self.said.insert(id));
        let Some(text) = text.filter(|_| is_new) else { return };
        let words = text.text().to_str().trim().to_owned();
        let is_last = match self.run.steps.entries().back() {
            Some(Entry::Message { actor: Actor::Agent, text: last, .. }) => {
                last.text().to_str().trim() == words
            }
            _ => id.is_none() && self.last == words,
        };
        if !is_last && !words.replace("<think>", "").replace("</think>", "").trim().is_empty() {
            self.run.say(Actor::Agent, Some(text));
            self.last = words;
        }
    }

    fn call(&mut self, event: &Event<'a>) -> CallNumber {
        let written = event.members.object("tool_call_metadata");
        let response = written.object("model_response");
        let turn = response.name("id").map_or(self.turn, |id| *self.turns.entry(id).or_insert(self.turn));
        self.turn = self.turn.max(turn + 1);
        self.run.model(response.name("model"));
        self.run.at(turn, event.time());
        let action = event.kind("action").unwrap_or_default();
        let is_finish = action == "finish";
        // For `think`, the thought is the argument.
        let with_thought = action == "think";
        let message = message(&written, &response);
        let text = if written.is("model_response", Kind::Object) {
            message.message("content")
        } else {
            event.members.within("args").message("thought").filter(|_| !with_thought)
        };
        self.say(&response, text);
        self.run.set_usage(response.usage("usage"));
        let arguments = written_arguments(&written, &message).and_then(object_of);
        let arguments = arguments.or_else(|| match event.members.get("args") {
            Some(given) => Some(arguments_of(given, with_thought, false)),
            None => event.flat().map(|action| arguments_of(action, with_thought, true)),
        });
        let id = event.members.ident("id");
        let call = Call::new(0, id.clone(), written.name("function_name").unwrap_or(action));
        let number = self.run.add(call.with(arguments.unwrap_or_default()));
        // A finish has no answer, so no observation may be paired with it.
        if let Some(id) = id.filter(|_| !is_finish) {
            self.calls.insert(id);
        }
        number
    }
}

/// Returns the message of the model that has the call that this metadata names, or else its first message.
fn message<'a>(metadata: &Members<'a>, response: &Members<'a>) -> Members<'a> {
    let messages: Vec<_> = response.objects("choices").map(|choice| choice.object("message")).collect();
    let with_call = messages.iter().find(|message| written_arguments(metadata, message).is_some());
    with_call.or(messages.first()).cloned().unwrap_or_default()
}

/// Returns the arguments of the call that this metadata names, as the model wrote them.
fn written_arguments<'a>(metadata: &Members<'a>, message: &Members<'a>) -> Option<Raw<'a>> {
    let id = metadata.get("tool_call_id")?.string()?;
    let calls = message.list("tool_calls");
    let call = calls.iter().find(|call| call.member("id").and_then(Raw::string).as_ref() == Some(&id))?;
    call.member("function")?.member("arguments")
}

/// Returns the arguments that the model wrote, if they are an object. It also rates the risk of its call.
fn object_of(written: Raw<'_>) -> Option<Content<Arguments<'_>>> {
    let text = written.string();
    let object = text.as_deref().and_then(json).unwrap_or(written);
    let arguments = common::arguments_without(object, |key| key == b"security_risk");
    (object.kind() == Kind::Object).then(|| arguments.map(Arguments::into_made))
}

/// Returns the arguments without those members that are not, and without `thought` unless `with_thought`.
fn arguments_of(value: Raw<'_>, with_thought: bool, is_flat: bool) -> Content<Arguments<'_>> {
    common::arguments_without(value, |key| {
        NO_ARGUMENTS.contains(&key)
            || is_flat && NO_ARGUMENTS_OF_FLAT.contains(&key)
            || !with_thought && key == b"thought"
    })
}
