//! Output of `codex exec --json`: events of threads, whose items are started, updated and completed. Captured
//! output may also contain unrelated lines. The app server of Codex notifies of the same events, in camel case. VT Code
//! logs such events under `event`, with a call and its output as two items.

use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[
        Shape::Items(EVENT),
        Shape::Under(&["events"], In("payload", &EVENT)),
        Shape::Items(All(&[Is(Kind::String, &["schema_version"]), In("event", &OF_VT_CODE)])),
    ],
    reader: Reader::Session(SessionReader { open: |_| Box::<Threads<'_>>::default(), list: "events" }),
};

const EVENT: Mark = Any(&[
    All(&[Says("type", &["thread.started"]), Is(Kind::String, &["thread_id"])]),
    All(&[Says("type", &["item.started", "item.completed"]), Is(Kind::Object, &["item"])]),
    All(&[
        Says("method", &["item/started", "item/completed"]),
        In("params", &All(&[Is(Kind::String, &["threadId"]), In("item", &Is(Kind::String, &["type"]))])),
    ]),
]);

/// An event of VT Code.
const OF_VT_CODE: Mark = All(&[EVENT, Any(&[Has(&["thread_id"]), In("item", &Is(Kind::String, &["type"]))])]);

/// Returns the type of an item, in snake case.
fn kind_of(item: &Members<'_>) -> Option<String> {
    item.name("type").map(|kind| words::snake_case(&kind))
}

/// Returns the name and arguments of a call; `None` if the item is not one.
fn call_of<'a>(item: &Members<'a>) -> Option<(Cow<'a, str>, Content<Arguments<'a>>)> {
    let sole = |key: &str| wire::sole_argument(key, item.present(key));
    Some(match &*kind_of(item)? {
        "command_execution" => ("command_execution".into(), sole("command")),
        "file_change" => ("file_change".into(), sole("changes")),
        "web_search" => ("web_search".into(), sole("query")),
        "collab_tool_call" | "collab_agent_tool_call" => {
            (item.name("tool").unwrap_or_default(), sole("prompt"))
        }
        "mcp_tool_call" => {
            let names: Vec<_> = ["server", "tool"].iter().filter_map(|key| item.name(key)).collect();
            (names.join("/").into(), item.arguments("arguments"))
        }
        "tool_invocation" => (item.name("tool_name").unwrap_or_default(), item.arguments("arguments")),
        "dynamic_tool_call" => (item.name("tool").unwrap_or_default(), item.arguments("arguments")),
        _ => return None,
    })
}

/// Returns the answer to a completed call. The output of file changes, web searches and calls to other agents
/// is not recorded.
fn answer_of<'a>(item: &Members<'a>) -> Answer<'a> {
    let observation = match kind_of(item).as_deref() {
        Some("command_execution") => {
            item.first(&["aggregated_output", "aggregatedOutput"]).and_then(words::result).into()
        }
        Some("mcp_tool_call") => mcp_observation(item).into(),
        Some("tool_output") => item.get("output").and_then(words::result).into(),
        Some("dynamic_tool_call") => item.get("contentItems").and_then(words::result).into(),
        _ => Content::NotRecorded,
    };
    let code = || Outcome::of_code(item.first(&["exit_code", "exitCode"]));
    let outcome = item.outcome("status").unwrap_or_else(code);
    outcome.answer(observation)
}

fn mcp_observation<'a>(item: &Members<'a>) -> Option<TextCow<'a>> {
    match (item.present("result"), item.present("error")) {
        (Some(result), _) => match result.member("content") {
            Some(content) => words::result(content),
            None => Some(wire::canonical(result.bytes()).into()),
        },
        (None, Some(error)) => words::result(error.member("message").unwrap_or(error)),
        (None, None) => None,
    }
}

/// The threads of an input, in the order of their first lines.
#[derive(Default)]
struct Threads<'a> {
    open: Ordered<Option<Cow<'a, str>>, Thread<'a>>,
    /// The id of the thread that was started last, to which items belong.
    current: Option<Cow<'a, str>>,
    /// True once a thread of `codex exec` has begun.
    is_exec: bool,
}

impl<'a> session::Session<'a> for Threads<'a> {
    fn add(&mut self, line: &Members<'a>, runs: &mut Runs<'_>) {
        if line.is("payload", Kind::Object) {
            return self.add(&line.object("payload"), runs);
        }
        if line.is("schema_version", Kind::String) && line.is("event", Kind::Object) {
            self.add(&line.object("event"), runs);
            if let Some(thread) = self.open.known(&self.current) {
                thread.run.metadata.agent = Some("vtcode".into());
            }
            return;
        }
        // The reply to the start of a thread names its model.
        let reply = line.object("result");
        let is_reply = line.has("id") && reply.has("model") && !self.is_exec;
        if let Some(id) = reply.object("thread").name("id").filter(|_| is_reply) {
            self.current = Some(id);
            return self.current().run.model(reply.name("model"));
        }
        let (kind, event) = match line.name("method") {
            Some(method) if line.is("params", Kind::Object) => {
                let event = line.object("params");
                let id = event.name("threadId").or_else(|| event.object("thread").name("id"));
                self.current = id.or_else(|| self.current.take());
                (Some(method.replace('/', ".").into()), event)
            }
            _ => (line.name("type"), line.clone()),
        };
        let begins = ["thread.started", "item.started", "item.completed"];
        self.is_exec |= !line.has("method") && kind.as_deref().is_some_and(|kind| begins.contains(&kind));
        let item = event.get("item").filter(|item| item.kind() == Kind::Object).map(Members::from);
        match (kind.as_deref(), event.name("thread_id"), item) {
            (Some("thread.started"), Some(id), _) => {
                self.current = Some(id);
                // A thread that is started again reuses item ids for other items.
                self.current().items.clear();
            }
            (Some("thread.started"), ..) if event.object("thread").has("model") => {
                self.current().run.model(event.object("thread").name("model"));
            }
            (Some("turn.completed"), ..)
                if event.object("turn").name("status").as_deref() == Some("failed") =>
            {
                self.terminate("turn.failed");
                self.fail(&event.object("turn"), false, runs);
            }
            (Some("turn.completed"), ..) => self.terminate("turn.completed"),
            (Some("turn.failed"), ..) => {
                self.terminate("turn.failed");
                self.fail(&event, true, runs);
            }
            (Some("error"), ..) if self.fail(&event, false, runs) => {}
            (Some(kind @ ("item.started" | "item.updated" | "item.completed")), _, Some(item)) => {
                let is_plan = kind_of(&item).as_deref() == Some("todo_list");
                runs.pass_over("states of a plan", u64::from(is_plan));
                let thread = self.current();
                if kind_of(&item).as_deref() == Some("tool_output") {
                    thread.output(&item, kind == "item.completed");
                } else {
                    thread.item(&item, kind);
                }
            }
            (Some("turn.started"), ..) => {
                if let Some(thread) = self.open.known(&self.current) {
                    thread.failure = None;
                }
                runs.pass_over("events without content", 1);
            }
            _ => runs.pass_over("lines of other types", 1),
        }
        // Emits steps of the first thread only, which is usually the only one that grows. A call is complete
        // once its item is completed.
        if let Some(first) = self.open.first_mut() {
            first.run.hand_on(runs);
        }
    }

    fn end(self: Box<Self>, runs: &mut Runs<'_>) {
        self.open.into_values().for_each(|thread| thread.run.give(runs));
    }
}

impl<'a> Threads<'a> {
    fn current(&mut self) -> &mut Thread<'a> {
        self.open.get(self.current.clone(), |id| Thread::new(id.clone()))
    }

    fn terminate(&mut self, termination: &'static str) {
        if let Some(thread) = self.open.known(&self.current) {
            thread.run.metadata.termination = Some(termination.to_owned());
        }
    }

    /// Adds the error in an event to the current thread, unless it was the last one. `turn.failed` (`is_end`) repeats
    /// the error that ended the turn, so it counts only if the turn has no other. Returns false without a thread or a
    /// text.
    fn fail(&mut self, event: &Members<'a>, is_end: bool, runs: &mut Runs<'_>) -> bool {
        let text = event.object("error").message("message").or_else(|| event.message("message"));
        let Some((thread, text)) = self.open.known(&self.current).zip(text) else { return false };
        let words = text.text().to_str().into_owned();
        match &thread.failure {
            Some(known) if *known == words => {}
            Some(_) if is_end => runs.pass_over("errors at the end of turns with another error", 1),
            _ => {
                thread.run.at(thread.count, None);
                thread.run.say(Actor::Environment, Some(text));
                thread.count += 1;
                thread.failure = Some(words);
            }
        }
        true
    }
}

struct Thread<'a> {
    run: Recording<'a>,
    /// Number of known items, and the turn of the next.
    count: u64,
    items: TextMap<Cow<'a, str>, Sight>,
    /// The last error of the turn.
    failure: Option<String>,
}

/// A known item. Its ordinal is its turn.
#[derive(Clone, Copy)]
struct Sight {
    ordinal: u64,
    /// `None` if it is not a call.
    call: Option<CallNumber>,
}

impl<'a> Thread<'a> {
    fn new(id: Option<Cow<'a, str>>) -> Self {
        let mut run = Recording::of_agent("codex");
        run.metadata.id = id.map(Cow::into_owned);
        Self { run, count: 0, items: TextMap::default(), failure: None }
    }

    /// Adds or updates an item. It keeps the position where it first appeared and takes the latest arguments.
    fn item(&mut self, item: &Members<'a>, event: &str) {
        let is_completed = event == "item.completed";
        let (call, kind) = (call_of(item), kind_of(item));
        let id = item.name("id");
        let is_invocation = kind.as_deref() == Some("tool_invocation");
        if is_invocation && event == "item.started" {
            // VT Code may give all calls the same id.
            self.items.remove(id.as_deref().unwrap_or_default());
        }
        let known = id.as_ref().and_then(|id| self.items.get(id)).copied();
        let seen = known.unwrap_or_else(|| self.new_item(id, call.as_ref().map(|(name, _)| name)));
        if let Some(number) = seen.call {
            if let (Some(known), Some((_, arguments))) = (self.run.call_mut(number), call) {
                known.arguments = arguments;
            }
            if is_completed && !is_invocation {
                self.run.steps.answer_call(number, answer_of(item));
            }
            return;
        }
        let (actor, key) = match kind.as_deref() {
            Some("agent_message") if is_completed => (Actor::Agent, "text"),
            Some("user_message") if is_completed => (Actor::User, "content"),
            Some("error") if is_completed => (Actor::Environment, "message"),
            _ => return,
        };
        let text = item.message(key);
        if actor == Actor::Environment {
            self.failure = text.as_ref().map(|text| text.text().to_str().into_owned());
        }
        self.run.at(seen.ordinal, None);
        self.run.say(actor, text);
    }

    /// Adds the output of a call, which is an item of its own.
    fn output(&mut self, item: &Members<'a>, is_completed: bool) {
        let call = item.name("call_id").and_then(|id| self.items.get(&id)?.call);
        match call.filter(|_| is_completed) {
            Some(call) => _ = self.run.steps.answer_call(call, answer_of(item)),
            None => self.run.pass_over("outputs without a call", u64::from(is_completed)),
        }
    }

    fn new_item(&mut self, id: Option<Cow<'a, str>>, call: Option<&Cow<'a, str>>) -> Sight {
        let ordinal = self.count;
        self.count += 1;
        let call = call.map(|name| {
            self.run.at(ordinal, None);
            self.run.call(id.clone(), Some(name.clone()), None)
        });
        let seen = Sight { ordinal, call };
        self.items.extend(id.map(|id| (id, seen)));
        seen
    }
}
