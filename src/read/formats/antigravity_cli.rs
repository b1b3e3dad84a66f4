//! Events that Antigravity's CLI prints: updates of steps, which are responses and calls. The prompt is not among them.

use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Items(Any(&[
        All(&[Says("event", &["init"]), Is(Kind::String, &["conversation_id"]), Is(Kind::Object, &["init"])]),
        All(&[Says("event", &["step_update"]), In("step_update", &Has(&["step_index", "step_type"]))]),
    ]))],
    reader: Reader::Session(SessionReader { open: |_| Box::new(Open::new()), list: "" }),
};

/// The conversation that is being read. An `init` of another one ends it.
struct Open<'a> {
    run: Recording<'a>,
    /// The step of the model's current response, and its text, joined from parts.
    response: Option<Cow<'a, str>>,
    said: String,
    /// The calls, by the index of their step.
    calls: TextMap<Cow<'a, str>, CallNumber>,
}

impl<'a> session::Session<'a> for Open<'a> {
    fn add(&mut self, line: &Members<'a>, runs: &mut Runs<'_>) {
        match line.name("event").as_deref() {
            Some("init") => {
                let id = line.name("conversation_id").map(Cow::into_owned);
                if self.run.metadata.id.as_ref().is_some_and(|known| Some(known) != id.as_ref()) {
                    Box::new(std::mem::replace(self, Self::new())).end(runs);
                }
                self.run.metadata.id = id;
                self.run.model(line.object("init").name("model"));
            }
            Some("step_update") => self.step(&line.object("step_update")),
            Some("result") => self.result(&line.object("result")),
            _ => self.run.pass_over("lines of other types", 1),
        }
        self.run.hand_on(runs);
    }

    fn end(mut self: Box<Self>, runs: &mut Runs<'_>) {
        self.flush();
        self.run.give(runs);
    }
}

impl<'a> Open<'a> {
    fn new() -> Self {
        let run = Recording::of_agent("antigravity");
        Self { run, response: None, said: String::new(), calls: TextMap::default() }
    }

    fn flush(&mut self) {
        let said = std::mem::take(&mut self.said);
        self.run.say(Actor::Agent, Some(said.into()));
    }

    fn step(&mut self, step: &Members<'a>) {
        let index = step.ident("step_index");
        match step.name("step_type").as_deref() {
            Some("agent_response") => {
                if self.response != index {
                    self.flush();
                    self.run.turn(None);
                    self.response = index;
                }
                self.said.push_str(&step.name("text_delta").unwrap_or_default());
                if step.name("state").as_deref() != Some("ACTIVE") {
                    self.flush();
                    self.run.set_usage(step.get("usage").and_then(usage));
                }
            }
            Some("tool") => {
                let info = step.object("tool_info");
                let name = step.name("tool_name").or_else(|| info.name("name"));
                self.call(index, name, info.arguments("parameters"), step, &info);
            }
            // Where the tool is not named, it has a step of its own.
            Some("subagent") if step.has("tool_name") => {
                let info = step.object("subagent_info");
                let started = wire::sole_argument("subagents", info.get("subagents"));
                self.call(index, step.name("tool_name"), started, step, &info);
            }
            _ => self.run.pass_over("steps of other types", 1),
        }
    }

    /// Adds or updates a call. It keeps the place where it first appeared.
    fn call(
        &mut self,
        index: Option<Cow<'a, str>>,
        name: Option<Cow<'a, str>>,
        arguments: Content<Arguments<'a>>,
        step: &Members<'a>,
        info: &Members<'a>,
    ) {
        self.flush();
        let known = index.as_ref().and_then(|index| self.calls.get(index)).copied();
        let number = known.unwrap_or_else(|| self.run.call(None, name, None));
        self.calls.extend(index.map(|index| (index, number)));
        if let Some(call) = self.run.call_mut(number).filter(|_| !arguments.is_absent()) {
            call.arguments = arguments;
        }
        let error = info.present("error");
        let failed = match step.name("state").as_deref() {
            Some("ERROR") => true,
            Some("DONE") => error.is_some(),
            _ => return,
        };
        let said = error.map(|error| error.member("message").unwrap_or(error)).or(info.present("output"));
        let observation = said.map_or(Content::NotRecorded, |said| words::result(said).into());
        self.run.steps.answer_call(number, Outcome::flag(failed).answer(observation));
    }

    fn result(&mut self, result: &Members<'a>) {
        self.flush();
        self.run.metadata.termination = result.name("status").map(Cow::into_owned);
        self.run.say(Actor::Environment, result.message("error"));
    }
}

/// Reads the tokens of a response. The input is the sum of the cached and the other tokens.
fn usage(usage: Raw<'_>) -> Option<Usage> {
    let input = ["input_tokens", "cache_read_tokens"];
    tokens::of_keys(&Members::from(usage), &input, &["output_tokens"], &["cache_read_tokens"])
}
