//! Events of agents that no other format claims: messages, calls and results as objects, under the keys that most tools
//! use. An event may lie inside other objects, and the content of a message may hold calls and results.

use super::prelude::*;
use super::recorded::members;

pub(in crate::read) const FORMAT: Entry = Entry {
    format: Format::Events,
    about: "events of other agents (Cursor, Factory Droid, Kimi, Grok and the like): messages, calls, results and steps, \
            one per line, in a list, or in a list of an object",
    signature: &[Shape::Document(
        "objects that are calls, messages that hold calls, or messages of user and assistant",
        shows_a_run,
    )],
    reader: Reader::Last(read),
};

/// Keys of objects that hold the rest of an event.
const INNER: [&str; 15] = [
    "message", "payload", "event", "data", "item", "raw_item", "msg", "update", "content", "function",
    "part", "kind", "state", "response", "result",
];

/// Keys of objects that are a call or a result by their place.
const CALL_KEYS: [&str; 4] = ["toolUse", "functionCall", "function_call", "tool_call"];
const RESULT_KEYS: [&str; 4] = ["toolResult", "functionResponse", "function_response", "tool_result"];

const LISTS_OF_CALLS: [&str; 3] = ["tool_calls", "toolCalls", "tool_uses"];
const NAMES: [&str; 6] = ["name", "tool_name", "toolName", "tool", "function", "tool_type"];
const NAMES_OF_STEPS: [&str; 6] = ["tool", "tool_name", "toolName", "action_type", "action", "name"];
const ARGUMENTS: [&str; 11] = [
    "arguments",
    "args",
    "input",
    "parameters",
    "params",
    "tool_input",
    "toolInput",
    "rawInput",
    "action_input",
    "tool_args",
    "action_args",
];
const OUTPUTS: [&str; 10] = [
    "output",
    "result",
    "content",
    "response",
    "tool_output",
    "toolOutput",
    "tool_response",
    "value",
    "observation",
    "text",
];
const OUTPUTS_OF_STEPS: [&str; 7] =
    ["observation", "tool_output", "toolOutput", "tool_response", "tool_result", "result", "output"];
const CALL_IDS: [&str; 8] =
    ["tool_call_id", "toolCallId", "tool_use_id", "toolUseId", "call_id", "callId", "callID", "tool_id"];
const SESSIONS: [&str; 4] = ["sessionId", "session_id", "conversation_id", "thread_id"];

/// A step without a type: a tool with its input or answer, or an action with its input, or with a thought and what the
/// agent observed.
const STEP: Mark = Any(&[
    All(&[
        Any(&[
            Is(Kind::String, &["tool"]),
            Is(Kind::String, &["tool_name"]),
            Is(Kind::String, &["toolName"]),
        ]),
        Any(&[
            Has(&["args"]),
            Has(&["arguments"]),
            Has(&["input"]),
            Has(&["tool_input"]),
            Has(&["tool_args"]),
            Has(&["parameters"]),
            Has(&["params"]),
            Has(&["observation"]),
        ]),
    ]),
    All(&[
        Any(&[
            Is(Kind::String, &["action", "action_input"]),
            Is(Kind::String, &["action", "thought", "observation"]),
            Is(Kind::String, &["action_type", "observation"]),
            All(&[Is(Kind::String, &["action"]), Is(Kind::Object, &["action_input"])]),
            All(&[Is(Kind::String, &["action_type"]), Any(&[Has(&["action_input"]), Has(&["action_args"])])]),
            All(&[In("action", &Any(&[Has(&["name"]), Has(&["tool"])])), Has(&["observation"])]),
        ]),
        // Steps of SWE-agent, which are read only in its own documents.
        Not(&Has(&["response"])),
    ]),
]);

/// The kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Message(Actor),
    Call,
    Result,
    /// A call or a result, by its members.
    Tool,
    /// A step of an agent: what it thought, the call, and the answer.
    Step,
}

impl What {
    /// Returns what an event is by its type or role.
    fn of(word: &str) -> Option<Self> {
        let mut normal = String::with_capacity(word.len());
        for letter in word.chars() {
            if letter.is_ascii_uppercase() && normal.ends_with(|before: char| before.is_ascii_lowercase()) {
                normal.push('_');
            }
            normal.push(if letter.is_alphanumeric() { letter.to_ascii_lowercase() } else { '_' });
        }
        Some(match &*normal {
            "user" | "human" | "user_prompt_submit" => Self::Message(Actor::User),
            "assistant" | "ai" | "agent" | "model" | "gpt" | "bot" | "content_part" | "tool_calls" => {
                Self::Message(Actor::Agent)
            }
            "system" | "developer" => Self::Message(Actor::System),
            "tool" | "function" | "mcp_tool" | "post_tool_use" | "post_tool_use_failure" => Self::Tool,
            "tool_call"
            | "tool_use"
            | "function_call"
            | "custom_tool_call"
            | "mcp_tool_call"
            | "mcp_tool_use"
            | "server_tool_use"
            | "backend_tool_call"
            | "tool_invocation"
            | "tool_call_invocation"
            | "pre_tool_use"
            | "tool_request"
            | "tool_start"
            | "tool_call_start"
            | "tool_call_started"
            | "tool_execution_start"
            | "tool_called"
            | "on_tool_start" => Self::Call,
            "tool_result"
            | "tool_response"
            | "tool_output"
            | "function_result"
            | "function_response"
            | "function_call_output"
            | "custom_tool_call_output"
            | "tool_call_result"
            | "tool_call_output"
            | "mcp_tool_result"
            | "tool_end"
            | "tool_call_end"
            | "tool_call_completed"
            | "tool_execution_end"
            | "tool_completed"
            | "tool_error"
            | "on_tool_end"
            | "on_tool_error"
            | "observation" => Self::Result,
            _ => return None,
        })
    }
}

/// An object with the objects inside it that belong to the event, the innermost last.
struct Event<'a> {
    layers: Vec<Members<'a>>,
    /// The keys of the inner layers in their outer ones.
    path: Vec<&'static str>,
    /// The tool, if the key of the call names it.
    tool: Option<String>,
    what: Option<What>,
}

impl<'a> Event<'a> {
    fn of(object: Raw<'a>) -> Self {
        let (mut layers, mut path) = (vec![Members::from(object)], Vec::new());
        let mut by_place = None;
        while let Some(last) = layers.last().filter(|_| layers.len() < 5) {
            let object = |key: &&&str| last.is(key, Kind::Object);
            let known = |keys: &'static [&'static str]| keys.iter().find(object);
            let inner = if let Some(key) = known(&CALL_KEYS) {
                by_place = Some(What::Call);
                key
            } else if let Some(key) = known(&RESULT_KEYS) {
                by_place = Some(What::Result);
                key
            } else if let Some(key) = known(&INNER) {
                key
            } else {
                break;
            };
            path.push(*inner);
            let inner = last.object(inner);
            layers.push(inner);
        }
        // Cursor's CLI names a call by its key: `{"shellToolCall": {"args": …, "result": …}}`.
        let tool = layers.last().filter(|_| by_place == Some(What::Call)).and_then(|last| {
            let (key, value) = last.iter().find(|(_, value)| value.kind() == Kind::Object)?;
            Some((key.strip_suffix("ToolCall")?.to_owned(), Members::from(value)))
        });
        let tool = tool.map(|(tool, inner)| {
            layers.push(inner);
            tool
        });
        let words = layers.iter().rev().flat_map(|layer| {
            let named = ["hook_event_name", "type", "$type", "kind", "event", "event_type", "role", "from"]
                .into_iter()
                .filter_map(|key| layer.name(key));
            named.chain(layer.object("role").name("value"))
        });
        let mut what = by_place.or_else(|| words.into_iter().find_map(|word| What::of(&word)));
        if what.is_none()
            && let Some(last) = layers.last().filter(|last| STEP.fits(last))
        {
            what = Some(What::Step);
            layers.extend(Some(last.object("action")).filter(|_| last.is("action", Kind::Object)));
        }
        Self { layers, path, tool, what }
    }

    /// Returns the value of the first of these keys, from the innermost object outwards.
    fn get(&self, keys: &[&str]) -> Option<Raw<'a>> {
        self.layers.iter().rev().find_map(|layer| keys.iter().find_map(|key| layer.present(key)))
    }

    /// Like [`Event::get`], but returns nothing that the innermost object is a part of.
    fn get_next_to(&self, keys: &[&str]) -> Option<Raw<'a>> {
        self.layers.iter().enumerate().rev().find_map(|(place, layer)| {
            let is_other = |key: &&&str| self.path.get(place) != Some(*key);
            keys.iter().filter(is_other).find_map(|key| layer.present(key))
        })
    }

    fn ident(&self, keys: &[&str]) -> Option<Cow<'a, str>> {
        self.layers.iter().rev().find_map(|layer| keys.iter().find_map(|key| layer.ident(key)))
    }

    fn name(&self) -> Option<Cow<'a, str>> {
        if let Some(tool) = &self.tool {
            return Some(Cow::Owned(tool.clone()));
        }
        let names = if self.what == Some(What::Step) { &NAMES_OF_STEPS } else { &NAMES };
        self.layers.iter().rev().find_map(|layer| names.iter().find_map(|key| layer.name(key)))
    }

    fn session(&self) -> Option<Cow<'a, str>> {
        let outer = self.layers.first()?;
        SESSIONS.iter().find_map(|key| outer.ident(key))
    }

    fn flag(&self, keys: &[&str]) -> Option<bool> {
        self.get(keys).and_then(Raw::boolean)
    }

    fn calls(&self) -> Vec<Raw<'a>> {
        let lists = |layer: &Members<'a>| LISTS_OF_CALLS.iter().find_map(|key| layer.get(key)?.items());
        self.layers.iter().rev().find_map(lists).unwrap_or_default()
    }

    /// Returns the text of a message, without the blocks in it.
    fn text(&self) -> Option<TextCow<'a>> {
        self.layers.iter().rev().find_map(|layer| {
            ["content", "text", "parts", "contents", "message", "prompt"]
                .iter()
                .find_map(|key| layer.get(key).and_then(words::text))
        })
    }

    /// Returns the parts of the content that are calls or results.
    fn blocks(&self) -> Vec<Self> {
        let parts = self.layers.iter().rev().find_map(|layer| {
            ["content", "parts", "contents"].iter().find_map(|key| layer.get(key)?.items())
        });
        let parts = parts.unwrap_or_default().into_iter().filter(|part| part.kind() == Kind::Object);
        parts.map(Self::of).filter(|part| matches!(part.what, Some(What::Call | What::Result))).collect()
    }

    fn is_call(&self) -> bool {
        match self.what {
            Some(What::Call) => self.name().is_some(),
            Some(What::Message(_)) => {
                self.calls().iter().any(|call| Self::of(*call).name().is_some())
                    || self.blocks().iter().any(|block| block.what == Some(What::Call))
            }
            Some(What::Tool) => self.name().is_some() && self.get(&ARGUMENTS).is_some(),
            Some(What::Step) => self.name().is_some(),
            _ => false,
        }
    }

    fn time(&self) -> Option<u64> {
        let time = self.get(&["timestamp", "time", "created_at", "createdAt", "ts"])?;
        // Numbers of 13 digits and more are milliseconds.
        let is_long = time.integer().is_some_and(|number| number > 99_999_999_999);
        time::of_string(time)
            .or_else(|| if is_long { time::of_milliseconds(time) } else { time::of_seconds(time) })
    }

    /// Returns the text of a result and its outcome.
    fn answer(&self) -> (Option<TextCow<'a>>, Outcome) {
        let error = self.get(&["error"]).filter(|error| error.boolean().is_none());
        let outputs = if self.what == Some(What::Step) { &OUTPUTS_OF_STEPS[..] } else { &OUTPUTS };
        let output = self.get(outputs).filter(|output| error.is_none() || output.kind() != Kind::Object);
        let observed = output.or(error).and_then(words::result);
        let of_output = |keys: &[&str]| keys.iter().find_map(|key| output?.member(key));
        // Cursor's CLI puts the result under the word for it.
        let cursor = self.tool.as_ref().map(|_| members(output));
        let said = cursor.as_ref().and_then(|output| output.iter().next());
        let code = self
            .get(&["exit_code", "exitCode"])
            .or_else(|| of_output(&["exit_code", "exitCode", "exit"]))
            .or_else(|| said?.1.member("exitCode"));
        let status = self.layers.iter().rev().find_map(|layer| layer.name("status"));
        let failed = self
            .flag(&["is_error", "isError", "error"])
            .or_else(|| self.flag(&["success", "successful", "ok"]).map(|succeeded| !succeeded))
            .or_else(|| of_output(&["is_error", "isError"]).and_then(Raw::boolean))
            .or_else(|| error.is_some().then_some(true))
            .or_else(|| said.map(|(word, _)| word != "success"))
            .or_else(|| match status.as_deref()?.to_ascii_lowercase().as_str() {
                "error" | "failed" | "failure" => Some(true),
                "success" | "ok" => Some(false),
                _ => None,
            });
        let outcome = match (failed, code.and_then(is_failure_code)) {
            _ if said.is_some_and(|(word, _)| word == "rejected") => {
                Outcome::unknown(UnknownReason::Refused, Provenance::Flag)
            }
            (Some(true), _) => Outcome::flag(true),
            (_, Some(failed)) => Outcome::exit_code(failed),
            (Some(false), None) => Outcome::flag(false),
            (None, None) => match &observed {
                Some(text) if text.text().starts_with("Error:") => Outcome::error(Provenance::Text),
                _ => Outcome::UNMARKED,
            },
        };
        (observed, outcome)
    }
}

/// Returns true if a document has a call, or messages of a user and an agent.
pub(in crate::read) fn shows_a_run(document: &Document<'_>) -> bool {
    !elements(document).is_empty()
}

/// Returns the events of a document; none if they do not show a run of an agent.
fn elements<'a>(document: &Document<'a>) -> Vec<Raw<'a>> {
    match document {
        Document::Object(members) => {
            // An event is not a document of events.
            let is_event = members.whole().is_some_and(|object| Event::of(object).what.is_some());
            if is_event {
                Vec::new()
            } else {
                members.iter().find_map(|(key, value)| of_key(key, value)).unwrap_or_default()
            }
        }
        document if are_events(document.items()) => document.items().to_vec(),
        _ => Vec::new(),
    }
}

/// Returns the events in a list under a key. Answers of a model are not a run.
fn of_key<'a>(key: &str, value: Raw<'a>) -> Option<Vec<Raw<'a>>> {
    let is_other =
        matches!(key, "choices" | "candidates" | "tools" | "functions" | "content" | "input" | "output");
    let items = value.items().filter(|_| !is_other && !LISTS_OF_CALLS.contains(&key))?;
    are_events(&items).then_some(items)
}

/// Number of events that show a run.
const SHOWN: usize = 256;

fn are_events(items: &[Raw<'_>]) -> bool {
    let (mut asked, mut said) = (false, false);
    for item in items.iter().take(SHOWN).filter(|item| item.kind() == Kind::Object) {
        let event = Event::of(*item);
        if event.is_call() {
            return true;
        }
        let has_text = || event.text().is_some();
        asked |= event.what == Some(What::Message(Actor::User)) && has_text();
        said |= event.what == Some(What::Message(Actor::Agent)) && has_text();
    }
    asked && said
}

/// A run that is being read, with its open calls by id.
struct Run<'a> {
    recording: Recording<'a>,
    calls: TextMap<Cow<'a, str>, (CallNumber, /* answered */ bool)>,
    has_ids: bool,
    /// True if the next call belongs to a new response.
    is_answered: bool,
}

impl<'a> Run<'a> {
    fn new(id: Option<Cow<'a, str>>, part: Option<&str>) -> Self {
        let mut recording = Recording::default();
        recording.metadata.id = match part {
            Some(part) => Some(format!("{}/{part}", id.as_deref().unwrap_or_default())),
            None => id.as_deref().map(Into::into),
        };
        recording.metadata.parent = id.filter(|_| part.is_some()).map(Cow::into_owned);
        Self { recording, calls: TextMap::default(), has_ids: false, is_answered: true }
    }

    /// Adds an event. Returns how much of it is neither a message nor a call nor a result.
    fn add(&mut self, event: &Event<'a>) -> usize {
        match event.what {
            Some(What::Message(actor)) => return self.message(actor, event),
            Some(What::Step) if event.is_call() => {
                self.recording.turn(event.time());
                self.recording.say(
                    Actor::Agent,
                    event.get(&["thought", "thoughts", "reasoning"]).and_then(words::text),
                );
                self.step(event);
            }
            Some(What::Call | What::Tool) if event.is_call() => {
                if std::mem::take(&mut self.is_answered) {
                    self.recording.turn(event.time());
                }
                self.call(event);
            }
            Some(What::Result | What::Tool) => {
                let blocks = event.blocks();
                for block in &blocks {
                    self.result(block);
                }
                if blocks.is_empty() {
                    self.result(event);
                }
                self.is_answered = true;
            }
            _ => return 1,
        }
        0
    }

    fn message(&mut self, actor: Actor, event: &Event<'a>) -> usize {
        self.recording.turn(event.time());
        self.is_answered = actor != Actor::Agent;
        if actor == Actor::Agent {
            self.recording.spent(event.get(&["usage"]).and_then(tokens::usage));
            self.recording.model(event.ident(&["model", "model_id", "modelId"]));
        }
        self.recording.say(actor, event.text());
        let calls = event.calls().into_iter().map(Event::of);
        let (calls, others): (Vec<_>, Vec<_>) = calls.partition(|call| call.name().is_some());
        for call in calls {
            self.call(&call);
        }
        for block in event.blocks() {
            if block.what == Some(What::Call) { self.call(&block) } else { self.result(&block) }
        }
        others.len()
    }

    /// Adds a call with its answer. An action that is a text has its first word as its name.
    fn step(&mut self, event: &Event<'a>) {
        let name = event.name().unwrap_or_default();
        let is_of_word = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.');
        let word = name.split(|letter| !is_of_word(letter)).next().unwrap_or_default();
        let mut call = Call::new(0, event.ident(&CALL_IDS), word.to_owned());
        call.arguments = match event.get(&ARGUMENTS) {
            Some(arguments) => common::arguments(arguments),
            None if word != name => Content::Present(common::sole_text("action", &name)),
            None => Content::Absent,
        };
        let number = self.recording.add(call);
        if event.get(&OUTPUTS_OF_STEPS).or_else(|| event.get(&["error"])).is_some() {
            let (observed, outcome) = event.answer();
            self.recording.answer_call(number, observed, outcome);
        }
    }

    fn call(&mut self, event: &Event<'a>) {
        let id = event.ident(&CALL_IDS).or_else(|| event.ident(&["id"]));
        let output = event.get_next_to(&[
            "output",
            "result",
            "response",
            "tool_output",
            "toolOutput",
            "tool_response",
            "error",
        ]);
        let known = id.as_ref().and_then(|id| self.calls.get(id));
        if known.is_some_and(|(_, answered)| !answered) {
            return if output.is_some() {
                self.result(event);
            };
        }
        self.has_ids |= id.is_some();
        let mut call = Call::new(0, id.clone(), event.name().unwrap_or_default());
        call.arguments = event.get(&ARGUMENTS).map_or(Content::Absent, common::arguments);
        call.time = event.time();
        let number = self.recording.add(call);
        let answered = output.is_some();
        if answered {
            let (observed, outcome) = event.answer();
            self.recording.answer_call(number, observed, outcome);
        }
        self.calls.extend(id.map(|id| (id, (number, answered))));
    }

    fn result(&mut self, event: &Event<'a>) {
        let (observed, outcome) = event.answer();
        let known = |id: &Cow<'a, str>| self.calls.contains_key(id);
        let id = event.ident(&CALL_IDS).or_else(|| event.ident(&["id"]).filter(known));
        match id.as_ref().and_then(|id| self.calls.get_mut(id)) {
            Some((_, answered)) if *answered => {}
            Some((number, answered)) => {
                *answered = true;
                self.recording.answer_call(*number, observed, outcome);
            }
            None => {
                self.recording.answer(id.filter(|_| self.has_ids), event.name().as_ref(), observed, outcome);
            }
        }
    }
}

#[expect(clippy::unnecessary_wraps, reason = "other generic readers can fail")]
fn read(document: &Document<'_>, runs: &mut Runs<'_>) -> Read<()> {
    let elements = elements(document);
    let objects = elements.iter().filter(|element| element.kind() == Kind::Object);
    let events: Vec<_> =
        objects.map(|object| Event::of(*object)).filter(|event| event.what.is_some()).collect();
    let mut others = elements.len() - events.len();
    let mut all: Vec<Run<'_>> = Vec::new();
    let mut places = TextMap::default();
    // Events without a session belong to the one before.
    let header = elements.first().map(|first| Members::from(*first));
    let header =
        header.filter(|first| matches!(first.name("type").as_deref(), Some("session" | "session_start")));
    let mut last =
        events.iter().find_map(Event::session).or_else(|| header.and_then(|header| header.ident("id")));
    for event in &events {
        last = event.session().or(last);
        let part = event.layers.first().and_then(|outer| outer.name("parent_tool_use_id"));
        let place = *places.entry((last.clone(), part.clone())).or_insert_with(|| {
            all.push(Run::new(last.clone(), part.as_deref()));
            all.len() - 1
        });
        others += all.get_mut(place).map_or(1, |run| run.add(event));
    }
    if let (Document::Object(members), [run]) = (document, &mut all[..]) {
        let id = members.ident("session_id").or_else(|| members.ident("id"));
        let metadata = &mut run.recording.metadata;
        metadata.id = metadata.id.take().or(id.map(Cow::into_owned));
        run.recording.model(members.name("model"));
    }
    runs.pass_over("events of other types", others as u64);
    for run in all {
        run.recording.give(runs);
    }
    Ok(())
}
