//! AG-UI, the Agent User Interaction Protocol: events that an agent sends to a user interface. Texts and arguments
//! arrive in pieces, and a snapshot of the messages replaces all that came before it.

use super::prelude::*;

pub(super) const FORMAT: Definition =
    Definition { signature: &[Shape::Under(&["events"], EVENT)], reader: Reader::Document(read) };

const EVENT: Mark = Any(&[
    All(&[Says("type", &["RUN_STARTED"]), HasOne(&["threadId", "thread_id"])]),
    All(&[
        Says("type", &["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_CHUNK"]),
        HasOne(&["messageId", "message_id"]),
    ]),
    All(&[Says("type", &["TOOL_CALL_START", "TOOL_CALL_CHUNK"]), HasOne(&["toolCallId", "tool_call_id"])]),
    All(&[Says("type", &["MESSAGES_SNAPSHOT"]), Is(Kind::List, &["messages"])]),
]);

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    let mut threads = Ordered::default();
    let mut current = None;
    let mut others = 0;
    for event in objects(document, &["events"]) {
        if event.name("type").as_deref() == Some("RUN_STARTED") {
            current = id_of(&event, ["threadId", "thread_id"]);
        }
        let thread = threads.get(current.clone(), |id| Thread::new(id.clone()));
        others += u64::from(!thread.event(&event));
    }
    runs.pass_over("events of other types", others);
    threads.into_values().for_each(|thread| thread.give(runs));
}

type Id<'a> = Cow<'a, str>;

fn id_of<'a>(object: &Members<'a>, keys: [&str; 2]) -> Option<Id<'a>> {
    object.first(&keys).and_then(common::ident)
}

enum Entry<'a> {
    Message {
        actor: Actor,
        id: Option<Id<'a>>,
        text: String,
        time: Option<u64>,
    },
    Call {
        id: Option<Id<'a>>,
        /// The message that the call belongs to.
        parent: Option<Id<'a>>,
        name: Id<'a>,
        arguments: String,
        time: Option<u64>,
    },
    Answer(Option<Id<'a>>, Option<TextCow<'a>>, Outcome),
}

#[derive(Default)]
struct Thread<'a> {
    run: Recording<'a>,
    entries: Vec<Entry<'a>>,
    /// Places of the messages since the last call, and the message that was continued last.
    messages: TextMap<Id<'a>, usize>,
    last_message: Option<Id<'a>>,
    /// Places of the calls that have no answer, and the call that was continued last.
    calls: TextMap<Id<'a>, usize>,
    last_call: Option<Id<'a>>,
    /// Ids of messages of a history, which a later run may send again.
    known: TextSet<Id<'a>>,
}

impl<'a> Thread<'a> {
    fn new(id: Option<Id<'a>>) -> Self {
        let mut run = Recording::of_agent("ag-ui");
        run.metadata.id = id.map(Cow::into_owned);
        Self { run, ..Self::default() }
    }

    /// Adds an event. Returns false if its type is unknown, or if the call that it continues is.
    fn event(&mut self, event: &Members<'a>) -> bool {
        let time = event.get("timestamp").and_then(time_of);
        let message = id_of(event, ["messageId", "message_id"]);
        let call = id_of(event, ["toolCallId", "tool_call_id"]);
        let piece = event.name("delta").unwrap_or_default();
        let Some(kind) = event.name("type") else { return false };
        self.run.model(event.name("model"));
        let termination = &mut self.run.metadata.termination;
        match &*kind {
            "RUN_STARTED" => {
                *termination = None;
                let is_first = self.entries.is_empty();
                self.history(event.object("input").objects("messages"), is_first);
            }
            "MESSAGES_SNAPSHOT" => self.replace(event.objects("messages")),
            "TEXT_MESSAGE_START" | "TEXT_MESSAGE_CONTENT" | "TEXT_MESSAGE_CHUNK" => {
                let id = message.or_else(|| self.last_message.clone());
                self.last_message.clone_from(&id);
                let place = id.as_ref().and_then(|id| self.messages.get(id));
                if let Some(Entry::Message { text, .. }) =
                    place.and_then(|place| self.entries.get_mut(*place))
                {
                    text.push_str(&piece);
                } else {
                    self.messages.extend(id.clone().map(|id| (id, self.entries.len())));
                    let actor = words::actor_of(&event.name("role").unwrap_or("assistant".into()));
                    self.entries.push(Entry::Message { actor, id, text: piece.into_owned(), time });
                }
            }
            "TOOL_CALL_START" | "TOOL_CALL_CHUNK" | "TOOL_CALL_ARGS" => {
                let Some(id) = call.or_else(|| self.last_call.clone()) else { return false };
                self.last_call = Some(id.clone());
                let place = self.calls.get(&id).copied();
                let known = place.and_then(|place| self.entries.get_mut(place));
                if let Some(Entry::Call { arguments, .. }) = known {
                    // An adapter may begin a call again, with all of its arguments.
                    if kind == "TOOL_CALL_START" {
                        arguments.clear();
                    }
                    arguments.push_str(&piece);
                } else {
                    let parent = id_of(event, ["parentMessageId", "parent_message_id"]);
                    let name = event.first(&["toolCallName", "tool_call_name"]).and_then(common::name);
                    if name.is_none() {
                        return false;
                    }
                    self.call(Some(id), name, parent, piece.into_owned(), time);
                }
            }
            "TOOL_CALL_RESULT" => {
                let content = event.first(&["content", "result"]).and_then(words::result);
                self.answer(call, content, Outcome::UNMARKED);
            }
            "RUN_ERROR" => {
                let text = event.text("message").or_else(|| event.text("error")).map(TextCow::into_cow);
                let text = text.unwrap_or_default().into_owned();
                self.entries.push(Entry::Message { actor: Actor::Environment, id: None, text, time });
                *termination = Some("RUN_ERROR".to_owned());
            }
            "RUN_FINISHED" => {
                let outcome = || event.name("outcome").unwrap_or("RUN_FINISHED".into()).into_owned();
                termination.get_or_insert_with(outcome);
            }
            "TEXT_MESSAGE_END" | "TOOL_CALL_END" | "RAW" | "CUSTOM" | "USAGE_METADATA" => {}
            kind => {
                let asides = ["STATE_", "STEP_", "THINKING_", "REASONING_", "ACTIVITY_"];
                return asides.iter().any(|aside| kind.starts_with(aside));
            }
        }
        true
    }

    fn call(
        &mut self,
        id: Option<Id<'a>>,
        name: Option<Id<'a>>,
        parent: Option<Id<'a>>,
        arguments: String,
        time: Option<u64>,
    ) {
        self.messages.clear();
        self.calls.extend(id.clone().map(|id| (id, self.entries.len())));
        self.entries.push(Entry::Call { id, parent, name: name.unwrap_or_default(), arguments, time });
    }

    fn answer(&mut self, call: Option<Id<'a>>, content: Option<TextCow<'a>>, outcome: Outcome) {
        call.as_ref().map(|call| self.calls.remove(call));
        self.entries.push(Entry::Answer(call, content, outcome));
    }

    /// Replaces the thread by a snapshot of its messages.
    fn replace(&mut self, messages: impl Iterator<Item = Members<'a>>) {
        let mut before = std::mem::take(self);
        self.history(messages, true);
        let count = |entries: &[Entry<'_>]| {
            entries.iter().filter(|entry| matches!(entry, Entry::Call { .. })).count() as u64
        };
        let lost = count(&before.entries).saturating_sub(count(&self.entries));
        before.run.pass_over("calls that a snapshot of the messages leaves out", lost);
        self.run = before.run;
    }

    /// Adds messages of a history. Unless they are all that is known, only what the user adds is new: messages,
    /// and answers to calls.
    fn history(&mut self, messages: impl Iterator<Item = Members<'a>>, is_all: bool) {
        // The messages of one history may share an id.
        let mut ids = Vec::new();
        for message in messages {
            let id = message.ident("id");
            let role = message.name("role").unwrap_or_default();
            if id.as_ref().is_some_and(|id| self.known.contains(id)) {
                continue;
            }
            ids.extend(id.clone());
            if role == "tool" {
                // LlamaIndex may give the calls of a history other ids. Their answers then follow in order.
                let call = id_of(&message, ["toolCallId", "tool_call_id"]);
                let call = call.filter(|call| self.calls.contains_key(call));
                if is_all || call.is_some() {
                    let outcome = Outcome::of_flag(message.present("error").map(|_| true));
                    let content = message.text("content").or_else(|| message.result("error"));
                    let content = content.or_else(|| message.result("content"));
                    self.answer(call, content, outcome);
                }
            } else if !matches!(&*role, "reasoning" | "activity") && (is_all || role == "user") {
                let text = message.message("content").map(TextCow::into_cow).unwrap_or_default().into_owned();
                let actor = words::actor_of(&role);
                self.entries.push(Entry::Message { actor, id: id.clone(), text, time: None });
                for call in message.objects("toolCalls").chain(message.objects("tool_calls")) {
                    let function = call.object("function");
                    let arguments = function.name("arguments").unwrap_or_default().into_owned();
                    self.call(call.ident("id"), function.name("name"), id.clone(), arguments, None);
                }
            }
        }
        self.known.extend(ids);
    }

    fn give(self, runs: &mut Runs<'_>) {
        let mut run = self.run;
        let mut said = None;
        for entry in self.entries {
            match entry {
                Entry::Message { actor, id, text, time } => {
                    run.turn(time);
                    run.say(actor, Some(text.into()));
                    said = id;
                }
                Entry::Call { id, parent, name, arguments, time } => {
                    if parent.is_none() || parent != said {
                        run.turn_of_call(time);
                    }
                    let arguments = common::arguments_of_text(arguments.into());
                    let mut call = Call::new(0, id, name).with(arguments);
                    call.time = time;
                    run.add(call);
                }
                Entry::Answer(call, content, outcome) => run.answer(call, None, content, outcome),
            }
        }
        run.give(runs);
    }
}

/// Returns the time of an event: milliseconds, or seconds as LlamaIndex writes them.
fn time_of(value: Raw<'_>) -> Option<u64> {
    let is_short = value.integer().is_some_and(|number| number < 100_000_000_000);
    if is_short { time::of_seconds(value) } else { time::of_milliseconds(value) }
}
