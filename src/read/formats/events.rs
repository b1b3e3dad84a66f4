//! Events of agents that no other format claims: messages, calls and results as objects, under the keys that
//! most tools use. An event may lie inside other objects, and the content of a message may hold calls and
//! results.

use super::chat;
use super::events_listed::listed;
use super::events_lists::{calls_apart, elements, ends_with, have_run_ids, join_updates, shows_a_run};
use super::events_object::{Event, What};
use super::events_open::OpenCalls;
use super::events_what::{
    ARGUMENTS, ASKED, ERRORS, FINISHED, LISTS_OF_RESULTS, LOGGED, OUTPUTS_OF_STEPS, asked, output_of_step,
    said, says,
};
use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Document(
        "objects that are calls, messages that hold calls, or messages of user and assistant",
        shows_a_run,
    )],
    reader: Reader::Last(read),
};

/// A run that is being read, with its calls by id.
pub(super) struct Run<'a> {
    pub(super) recording: Recording<'a>,
    calls: TextMap<Cow<'a, str>, (CallNumber, /* answered */ bool)>,
    open: OpenCalls,
    /// The question that its calls repeat.
    question: Option<Cow<'a, str>>,
    /// True if the next call belongs to a new response.
    is_answered: bool,
    has_begun: bool,
    /// The last text of the agent, and true if it is from the end of a model's turn.
    last_text: Option<(String, bool)>,
}

impl<'a> Run<'a> {
    pub(super) fn new(id: Option<Cow<'a, str>>, part: Option<&str>) -> Self {
        let mut recording = Recording::default();
        recording.metadata.id = match part {
            Some(part) => Some(format!("{}/{part}", id.as_deref().unwrap_or_default())),
            None => id.as_deref().map(Into::into),
        };
        recording.metadata.parent = id.filter(|_| part.is_some()).map(Cow::into_owned);
        Self {
            recording,
            calls: TextMap::default(),
            open: OpenCalls::default(),
            question: None,
            is_answered: true,
            has_begun: false,
            last_text: None,
        }
    }

    /// Adds an event. Returns the number of its parts that are not messages, calls or results.
    fn add(&mut self, event: &Event<'a>) -> usize {
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        if let Some(number) =
            event.form_of_answer().and_then(|form| self.open.take(&form, &mut self.recording))
        {
            self.answer(number, event);
            return 0;
        }
        match event.what {
            Some(What::Message(actor)) => return self.message(actor, event),
            Some(What::Step) if event.is_call() => {
                self.recording.turn(event.time());
                let thought = event.get(&["thought", "thoughts", "reasoning", "model_response"]);
                let thought = thought.and_then(words::text);
                self.recording.say(Actor::Agent, thought.map(|text| event.without_label(text, "Thought: ")));
                self.step(event);
            }
            Some(What::Step) if event.get(&["llm_output"]).is_some() => {
                self.recording.turn(event.time());
                self.recording.say(Actor::Agent, event.get(&["llm_output"]).and_then(words::text));
                let error = event.get(&["error"]).map(|error| error.member("message").unwrap_or(error));
                self.recording.say(Actor::Environment, error.and_then(words::text));
            }
            Some(What::Call | What::Tool) if event.is_call() => {
                // A step may hold its call next to its thought.
                let outer = event.layers.first();
                let thought =
                    || ["thought", "rationale", "llm_output"].iter().find_map(|key| outer?.text(key));
                let thought = event.own_answer().and_then(|_| thought());
                if std::mem::take(&mut self.is_answered) || thought.is_some() {
                    self.recording.turn(event.time());
                }
                self.recording.say(Actor::Agent, thought);
                self.call(event);
            }
            Some(What::Done) => self.done(event),
            Some(What::Finish) => {
                self.recording.turn(event.time());
                for keys in [&["thought"][..], &FINISHED] {
                    self.recording.say(Actor::Agent, event.get(keys).and_then(words::text));
                }
            }
            Some(What::Result | What::Tool) => {
                let mut blocks = event.blocks();
                let results: Vec<_> = event.results().into_iter().map(Event::of).collect();
                let has_text = |event: &Event<'_>| event.answer().0.is_some();
                if results.iter().any(has_text) || !has_text(event) {
                    blocks.extend(results);
                }
                let is_one = || event.get(&LISTS_OF_RESULTS).is_none() || event.call_id().is_some();
                for block in &blocks {
                    self.result(block);
                }
                if blocks.is_empty() && (is_one() || has_text(event)) {
                    self.result(event);
                }
                self.is_answered = true;
            }
            Some(What::Start) => {
                self.recording.turn(event.time());
                // A later start is that of an agent inside the run.
                let is_own = is_first && self.recording.metadata.id.is_none();
                if let Some(around) = event.layers.first().filter(|_| is_own) {
                    self.recording.metadata = chat::metadata(around);
                }
                let system = event.get(&["system_prompt", "system_prompt_verbatim"]).filter(|_| is_first);
                self.recording.say(Actor::System, system.and_then(words::text));
                self.recording.model(event.find(&["model"], Members::name).filter(|_| is_first));
                let asked = event.get(&ASKED).or_else(|| event.get(&["objective"]));
                self.recording.say(Actor::User, asked.and_then(words::text));
            }
            _ => return 1,
        }
        0
    }

    fn message(&mut self, actor: Actor, event: &Event<'a>) -> usize {
        let text = event.text().map(|text| if actor == Actor::User { words::of_user(text) } else { text });
        let is_final = says(&event.layers, "kind", &["assistant_final"]);
        if is_final && self.last_text.as_ref().is_some_and(|(last, _)| ends_with(text.as_ref(), last)) {
            return 1;
        }
        if !event.continues {
            self.recording.turn(event.time());
        }
        self.is_answered = actor != Actor::Agent;
        if actor == Actor::User {
            self.last_text = None;
        }
        if actor == Actor::Agent {
            self.recording.set_usage(event.get(&["usage"]).and_then(tokens::usage));
        }
        if actor != Actor::User {
            self.recording.model(event.ident(&["model", "model_id", "modelId"]));
        }
        let is_repeated = actor == Actor::Agent && self.is_repeated(text.as_ref(), event.ends_model());
        self.recording.say(actor, text.filter(|_| !is_repeated));
        let calls = event.calls().into_iter().map(Event::of);
        let (calls, others): (Vec<_>, Vec<_>) = calls.partition(|call| call.name().is_some());
        for call in calls {
            self.call(&call);
        }
        for block in event.blocks() {
            if block.what == Some(What::Call) { self.call(&block) } else { self.result(&block) }
        }
        event.results().into_iter().for_each(|result| self.result(&Event::of(result)));
        others.len()
    }

    /// Returns true if the end of a model's turn and an event of another type have the same text in a row.
    fn is_repeated(&mut self, text: Option<&TextCow<'_>>, ends_model: bool) -> bool {
        let Some(text) = text.map(|text| text.text().to_str().trim().to_owned()) else { return false };
        let is_same = |(last, was_end): &(String, bool)| *last == text && *was_end != ends_model;
        let is_repeated = self.last_text.as_ref().is_some_and(is_same);
        self.last_text = Some((text, ends_model));
        is_repeated
    }

    /// Adds a call with its answer. If the action is a string, its first word is the name.
    fn step(&mut self, event: &Event<'a>) {
        let name = event.name().unwrap_or_default();
        let name = name
            .strip_prefix("Action: ")
            .filter(|call| event.acts() && call.starts_with(char::is_alphabetic))
            .unwrap_or(&name);
        let is_of_word = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.');
        let is_word = |letter| event.acts() && !is_of_word(letter);
        let word = name.split(is_word).next().unwrap_or_default();
        let arguments = match event.get(&ARGUMENTS) {
            Some(arguments) => common::arguments(arguments),
            None if word != name => Content::Present(common::sole_text("action", name)),
            None if event.acts() => Content::Absent,
            None => event.without_arguments(),
        };
        let call = Call::new(0, event.call_id(), word.to_owned()).with(arguments);
        let number = self.recording.add(call);
        let (observed, outcome) = event.answer();
        let has_error =
            || event.get(&ERRORS).is_some() || event.find(&["result_error"], Members::name).is_some();
        if event.find(&OUTPUTS_OF_STEPS, output_of_step).is_some() || has_error() {
            self.recording.answer_call(number, observed, outcome);
            self.open.forget_started();
        } else if outcome != Outcome::UNMARKED && outcome != Outcome::RUNNING {
            self.recording.answer_without_text(number, outcome);
        } else if let Some(form) = event.form_of_step() {
            self.open.start(form, number);
        }
    }

    /// Adds a call with its result.
    fn done(&mut self, event: &Event<'a>) {
        self.recording.turn(event.time());
        let number = self.recording.call(event.call_id(), event.name(), event.get(&ARGUMENTS));
        self.answer(number, event);
    }

    fn answer(&mut self, call: CallNumber, event: &Event<'a>) {
        let (observed, outcome) = event.answer();
        self.recording.answer_call(call, observed, outcome);
    }

    pub(super) fn call(&mut self, event: &Event<'a>) {
        let own = || event.ident(&["id"]).filter(|id| self.may_be_of(id, event));
        let id = event.call_id().or_else(own);
        let output = event.own_answer();
        let known = id.as_ref().and_then(|id| self.calls.get(id));
        if known.is_some_and(|(_, answered)| !answered) {
            return if output.is_some() {
                self.result(event);
            };
        }
        let form = event.repeated_form();
        let open = match &form {
            _ if id.is_some() => None,
            Some(form) if output.is_some() => self.open.take(form, &mut self.recording),
            // The start of a call that a message announced.
            Some(form) if self.open.start_announced(form, &mut self.recording) => return,
            // The end of a call may name no more than its tool.
            None if output.is_some() => event.name().and_then(|name| self.recording.oldest(Some(&name))),
            _ => None,
        };
        if let Some(number) = open {
            return self.answer(number, event);
        }
        let in_action = || event.get(&["action"]).filter(|action| action.kind() == Kind::Object);
        let arguments = event.get(&ARGUMENTS).or_else(|| event.get(&["fields"])).or_else(in_action);
        let arguments = arguments.map_or_else(|| event.without_arguments(), common::arguments);
        let mut call = Call::new(0, id.clone(), event.name().unwrap_or_default()).with(arguments);
        call.time = event.time();
        let number = self.recording.add(call);
        if output.is_some() {
            self.answer(number, event);
        } else if let Some(failed) = event.has_failed().filter(|_| id.is_none()) {
            self.recording.answer_without_text(number, Outcome::flag(failed));
        } else if let Some(form) = form {
            if id.is_some() { self.open.announce(form, number) } else { self.open.start(form, number) }
        }
        self.calls.extend(id.map(|id| (id, (number, output.is_some()))));
    }

    /// Returns true if no call of another tool has this `id`, which may be that of a whole run.
    fn may_be_of(&mut self, id: &str, event: &Event<'_>) -> bool {
        let number = self.calls.get(id).map(|(number, _)| *number);
        let call = number.and_then(|number| self.recording.call_mut(number));
        event.name().zip(call).is_none_or(|(name, call)| name == call.name)
    }

    fn result(&mut self, event: &Event<'a>) {
        let (observed, outcome) = event.answer();
        let own =
            || event.ident(&["id"]).filter(|id| self.calls.contains_key(id) && self.may_be_of(id, event));
        let id = event.call_id().or_else(own);
        match id.as_ref().and_then(|id| self.calls.get_mut(id)) {
            Some((_, answered)) if *answered => {}
            Some((number, answered)) => {
                *answered = true;
                self.recording.answer_call(*number, observed, outcome);
            }
            None => {
                let form = event.repeated_form().filter(|_| id.is_none());
                if let Some(number) = form.and_then(|form| self.open.take(&form, &mut self.recording)) {
                    return self.recording.answer_call(number, observed, outcome);
                }
                self.open.forget_started();
                let id = id.filter(|_| !self.calls.is_empty());
                self.recording.answer(id, event.name().as_ref(), observed, outcome);
            }
        }
    }
}

#[expect(clippy::unnecessary_wraps, reason = "other generic readers can fail")]
fn read<'a>(document: &Document<'a>, runs: &mut Runs<'_>) -> Read<()> {
    let elements = elements(document);
    let objects = elements.iter().filter(|element| element.kind() == Kind::Object);
    let mut events: Vec<_> =
        objects.map(|object| Event::of(*object)).filter(|event| event.what.is_some()).collect();
    // A log may record a call only once it has its result. Each such result is then a call as well.
    if !events.iter().any(|event| event.is_call() && !event.repeats_call()) {
        let results = events.iter_mut().filter(|event| event.repeats_call());
        results.for_each(|event| event.what = Some(What::Done));
    }
    let mut others = elements.len() - events.len();
    runs.pass_over("calls in other lists", calls_apart(document, &events));
    join_updates(&mut events);
    let mut open = Ordered::default();
    // An event without a session belongs to that of the event before it.
    let is_header =
        |first: &Members<'_>| matches!(first.name("type").as_deref(), Some("session" | "session_start"));
    let header = elements.first().map(|first| Members::from(*first)).filter(is_header);
    // An id that no two events share is that of a call.
    let tasks: TextSet<_> = events.iter().filter_map(Event::task).collect();
    let of_task = tasks.len() < events.len() && events.iter().all(|event| event.task().is_some());
    let of_run = have_run_ids(&events);
    let session = |event: &Event<'a>| {
        let task = event.session().or_else(|| event.task().filter(|_| of_task));
        task.or_else(|| event.run_id().filter(|_| of_run))
    };
    let mut last = events.iter().find_map(session).or_else(|| header.and_then(|header| header.ident("id")));
    // Calls do not repeat the task and the final message that are next to their list.
    let is_told = events.iter().any(|event| matches!(event.what, Some(What::Message(_) | What::Start)));
    let mut task = asked(&document.members()).filter(|_| !is_told);
    let is_over = is_told || events.iter().any(|event| event.what == Some(What::Finish));
    let (mut number, mut count, mut round, mut last_question, mut started) = (0, None, None, None, None);
    let asks = events.iter().filter(|event| event.is_call()).all(|call| call.question().is_some());
    for event in &events {
        last = session(event).or(last);
        let now = event.number();
        let is_next = round.is_some() && event.round() > round;
        let restarts = now.zip(count).is_some_and(|(now, before)| now <= 1 && now < before && !is_next);
        let question = event.question().filter(|_| asks && !is_told);
        let is_other = question.is_some() && question != last_question;
        let start = event.started_id();
        let is_other = is_other || start.is_some() && started.is_some() && start != started;
        started = start.or(started);
        number += u64::from(last.is_none() && (restarts || is_other || event.starts_a_run()));
        (count, round) = (now.or(count), event.round().or(round));
        let part = event.layers.first().and_then(|outer| outer.name("parent_tool_use_id"));
        let part = part.or_else(|| event.sidechain());
        let begin =
            |(last, part, _): &(Option<_>, Option<Cow<'_, str>>, _)| Run::new(last.clone(), part.as_deref());
        let run = open.get((last.clone(), part, number), begin);
        run.recording.say(Actor::User, task.take());
        if question.is_some() && run.question != question {
            run.recording.turn(event.time());
            run.recording.say(Actor::User, question.clone().map(TextCow::from));
            run.question.clone_from(&question);
        }
        last_question = question.or(last_question);
        others += run.add(event);
    }
    let mut all: Vec<Run<'_>> = match document {
        Document::Object(members) if elements.is_empty() => vec![listed(members)],
        _ => open.into_values().collect(),
    };
    if let (Document::Object(members), [run]) = (document, &mut all[..]) {
        let own = std::mem::take(&mut run.recording.metadata);
        let around = chat::metadata(members);
        let mut ids = ["session_id", "conversation_id", "run_id"].iter().filter_map(|key| members.ident(key));
        let id = ids.next().map(Cow::into_owned).or(own.id).or(around.id);
        let model = own.model.or(around.model);
        let termination = around.termination.or(own.termination);
        run.recording.metadata = Metadata { id, model, parent: own.parent, termination, ..around };
        run.recording.reward = chat::reward(members);
        let logged = members.iter().filter_map(|(_, list)| list.items()).flatten();
        let logged = logged.filter(|item| LOGGED.fits_value(*item)).count();
        run.recording.pass_over("actions next to the messages", logged as u64);
        if !elements.is_empty() && !is_over {
            run.recording.turn(None);
            run.recording.say(Actor::Agent, said(members));
        }
    }
    runs.pass_over("events of other types", others as u64);
    for run in all {
        run.recording.give(runs);
    }
    Ok(())
}
