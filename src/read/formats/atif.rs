//! ATIF, the trajectory format of Harbor, 1.0 to 1.8: one object with `steps`, from any agent.

use super::atif_result::{Marks, StepResult, answer};
use super::prelude::*;

pub(in crate::read) const FORMAT: Entry = Entry {
    format: Format::Atif,
    about: "ATIF trajectories, 1.0 to 1.8",
    signature: &[Shape::Object(All(&[
        Is(Kind::List, &["steps"]),
        Is(Kind::Object, &["agent"]),
        Test("`schema_version` such as ATIF-v1.6", |object| {
            object.name("schema_version").is_some_and(|version| is_version(&version))
        }),
    ]))],
    reader: Reader::Fallible(read),
};

/// `ATIF-v1.7`, or `1.4`.
fn is_version(version: &str) -> bool {
    let number = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let version = version.strip_prefix("ATIF-v").unwrap_or(version);
    version.split_once('.').is_some_and(|(major, minor)| number(major) && number(minor))
}

fn read(document: &Document<'_>, runs: &mut Runs<'_>) -> Read<()> {
    match document {
        Document::Object(members) => trajectory(members, parent(members.get("agent")), runs),
        Document::List(_) | Document::Lines(_) => Ok(()),
    }
}

/// Reads a trajectory, and after it those of its embedded sub-agents.
fn trajectory(members: &Members<'_>, parent: Option<String>, runs: &mut Runs<'_>) -> Read<()> {
    let mut open = Trajectory::new(members);
    if let Some(steps) = members.get("steps") {
        open.steps(&mut steps.json()).inspect_err(|_| open.pass_over(runs))?;
    }
    let id = open.end(members, parent, runs);
    sub_agents(members, id.as_ref(), runs)
}

fn sub_agents(members: &Members<'_>, parent: Option<&String>, runs: &mut Runs<'_>) -> Read<()> {
    for sub_agent in members.list("subagent_trajectories") {
        let sub_agent = Members::from(sub_agent);
        if sub_agent.is("steps", Kind::List) {
            trajectory(&sub_agent, parent.cloned(), runs)?;
        } else {
            runs.pass_over("sub-agents without steps", 1);
        }
    }
    Ok(())
}

/// Facts about the agent.
fn of_agent<'a>(members: &Members<'a>, key: &str) -> Option<Cow<'a, str>> {
    members.get("agent")?.member(key).and_then(common::name)
}

fn is_codex(members: &Members<'_>) -> bool {
    of_agent(members, "name").is_some_and(|name| name == "codex")
}

/// Returns the parent of a trajectory in a separate file.
fn parent(agent: Option<Raw<'_>>) -> Option<String> {
    let id = agent?.member("extra")?.member("parent_session_id")?;
    common::name(id).map(Cow::into_owned)
}

/// A parsed step.
#[derive(Default)]
struct Step<'a> {
    is_copied: bool,
    source: Cow<'a, str>,
    message: Option<TextCow<'a>>,
    model: Option<Cow<'a, str>>,
    time: Option<u64>,
    calls: Vec<Call<'a>>,
    results: Vec<StepResult<'a>>,
    /// True if there is only one result, in a form of its own, which names its call in the message.
    is_dialect: bool,
    usage: Usage,
    extra: Extra<'a>,
}

/// Facts in `extra` of a step.
#[derive(Default)]
struct Extra<'a> {
    /// Facts about the only result of the step.
    marks: Marks,
    is_result: bool,
    tool_call_id: Option<Cow<'a, str>>,
    stop_reason: Option<Cow<'a, str>>,
}

fn read_step<'a>(json: &mut Json<'a>) -> Read<Step<'a>> {
    let mut step = Step::default();
    wire::object(json, |key, value| {
        match key {
            b"is_copied_context" => step.is_copied = wire::boolean(value)? == Some(true),
            b"source" => step.source = wire::name(value)?.unwrap_or_default(),
            b"message" => step.message = wire::message(value)?,
            b"model_name" => step.model = wire::name(value)?,
            b"timestamp" => step.time = wire::time(value)?,
            b"metrics" => step.usage = metrics(value)?,
            b"extra" => step.extra = read_extra(value)?,
            b"observation" => (step.results, step.is_dialect) = observation(value)?,
            b"tool_calls" => {
                step.calls.clear();
                wire::list(value, |call| {
                    step.calls.extend(tool_call(call)?);
                    Ok(())
                })?;
            }
            _ => value.skip()?,
        }
        Ok(())
    })?;
    Ok(step)
}

/// Returns a call without a turn. `None` if it is not an object.
fn tool_call<'a>(json: &mut Json<'a>) -> Read<Option<Call<'a>>> {
    let (mut id, mut other_id, mut name, mut other_name) = (None, None, None, None);
    let mut call = Call::new(0, None, "");
    let is_call = wire::object(json, |key, value| {
        match key {
            b"tool_call_id" => id = wire::name(value)?,
            b"id" => other_id = wire::name(value)?,
            b"function_name" => name = wire::name(value)?,
            b"name" => other_name = wire::name(value)?,
            b"arguments" => call.arguments = common::read_arguments(value)?,
            _ => value.skip()?,
        }
        Ok(())
    })?;
    call.id = id.or(other_id);
    call.name = name.or(other_name).unwrap_or_default();
    Ok(is_call.then_some(call))
}

/// Reads the results of a step, and whether it is a single one in the form `{type: "tool_result", content, result}`.
fn observation<'a>(json: &mut Json<'a>) -> Read<(Vec<StepResult<'a>>, bool)> {
    let mut results = Vec::new();
    let mut sole = StepResult::default();
    let mut is_dialect = false;
    wire::object(json, |key, value| {
        match key {
            b"results" => {
                results.clear();
                wire::list(value, |result| {
                    results.push(read_result(result)?);
                    Ok(())
                })?;
            }
            b"type" => is_dialect = wire::name(value)?.as_deref() == Some("tool_result"),
            b"content" => sole.content = wire::result(value)?,
            b"result" => {
                sole.success = None;
                wire::member(value, b"success", |value| {
                    sole.success = wire::boolean(value)?;
                    Ok(())
                })?;
            }
            _ => value.skip()?,
        }
        Ok(())
    })?;
    Ok(if is_dialect { (vec![sole], true) } else { (results, false) })
}

fn read_result<'a>(json: &mut Json<'a>) -> Read<StepResult<'a>> {
    let mut result = StepResult::default();
    wire::object(json, |key, value| {
        match key {
            b"source_call_id" => result.id = wire::name(value)?,
            b"content" => result.content = wire::result(value)?,
            b"extra" => result.marks = Marks::read(value, |_, value| value.skip())?,
            _ => value.skip()?,
        }
        Ok(())
    })?;
    Ok(result)
}

fn read_extra<'a>(json: &mut Json<'a>) -> Read<Extra<'a>> {
    let mut extra = Extra::default();
    extra.marks = Marks::read(json, |key, value| {
        match key {
            b"openclaw_role" => extra.is_result = wire::name(value)?.as_deref() == Some("toolResult"),
            b"tool_call_id" => extra.tool_call_id = wire::name(value)?,
            b"stop_reason" => extra.stop_reason = wire::name(value)?,
            _ => value.skip()?,
        }
        Ok(())
    })?;
    Ok(extra)
}

/// Reads the tokens of a step's response.
fn metrics(json: &mut Json<'_>) -> Read<Usage> {
    let mut usage = Usage::default();
    let mut total = None;
    wire::object(json, |key, value| {
        match key {
            b"prompt_tokens" => usage.input_tokens = wire::count(value)?,
            b"completion_tokens" => usage.output_tokens = wire::count(value)?,
            b"cached_tokens" => usage.cached_tokens = wire::count(value)?,
            b"extra" => wire::member(value, b"total_tokens", |value| {
                total = wire::count(value)?;
                Ok(())
            })?,
            _ => value.skip()?,
        }
        Ok(())
    })?;
    // Some writers count cached tokens only in the total.
    let read = total.and_then(|total| total.checked_sub(usage.output_tokens?));
    usage.input_tokens = usage.input_tokens.map(|input| read.unwrap_or(0).max(input));
    Ok(usage)
}

/// A trajectory that is being read.
struct Trajectory<'a> {
    steps: Assembler<'a>,
    turn: u64,
    is_codex: bool,
    model: Option<Cow<'a, str>>,
    termination: Option<Cow<'a, str>>,
    copied: u64,
    copied_calls: u64,
    no_objects: u64,
}

impl<'a> Trajectory<'a> {
    fn new(members: &Members<'a>) -> Self {
        Self {
            steps: Assembler::default(),
            turn: 0,
            is_codex: is_codex(members),
            model: None,
            termination: None,
            copied: 0,
            copied_calls: 0,
            no_objects: 0,
        }
    }

    fn steps(&mut self, steps: &mut Json<'a>) -> Read<()> {
        wire::list(steps, |step| {
            self.no_objects += u64::from(step.kind()? != Kind::Object);
            let step = read_step(step)?;
            self.step(self.turn, step);
            self.turn += 1;
            Ok(())
        })
        .map(|_| ())
    }

    /// Emits the trace and returns its id.
    fn end(mut self, members: &Members<'_>, parent: Option<String>, runs: &mut Runs<'_>) -> Option<String> {
        let id = members.name("trajectory_id").or_else(|| members.name("session_id")).map(Cow::into_owned);
        let model = of_agent(members, "model_name").or_else(|| of_agent(members, "model"));
        let metadata = Metadata {
            id: id.clone(),
            agent: of_agent(members, "name").map(|name| name.as_ref().into()),
            parent,
            model: model.or(self.model.take()).map(|model| model.as_ref().into()),
            termination: self.termination.take().map(Cow::into_owned),
            ..Metadata::default()
        };
        self.pass_over(runs);
        runs.pass_over("steps copied from another trajectory", self.copied);
        runs.leave_out(self.copied_calls);
        runs.give_unrouted(&mut self.steps, metadata, None);
        id
    }

    fn pass_over(&self, runs: &mut Runs<'_>) {
        runs.pass_over("steps that are no objects", self.no_objects);
    }

    fn step(&mut self, turn: u64, mut step: Step<'a>) {
        if step.is_copied {
            self.copied += 1;
            self.copied_calls += step.calls.len() as u64;
            return;
        }
        self.model = self.model.take().or_else(|| step.model.take());
        let actor = match &*step.source {
            "agent" => Actor::Agent,
            "user" => Actor::User,
            _ => Actor::System,
        };
        if actor == Actor::Agent
            && let Some(reason) = step.extra.stop_reason.take()
        {
            self.termination = Some(reason);
        }
        name_call(&mut step);
        if let Some(message) = step.message.take().filter(|_| !step.extra.is_result) {
            self.steps.message_at(actor, turn, message, step.time);
            self.steps.spent(turn, Some(step.usage).filter(|_| step.calls.is_empty()));
        }
        let mut calls = Vec::with_capacity(step.calls.len());
        for call in std::mem::take(&mut step.calls) {
            let usage = (!step.usage.is_empty()).then(|| Box::new(step.usage));
            calls.push(self.steps.call(Call { turn, time: step.time, usage, ..call }));
        }
        self.results(turn, step, &calls);
    }

    /// Pairs the results of a step: by id, or else by index.
    fn results(&mut self, turn: u64, step: Step<'a>, calls: &[CallNumber]) {
        let marks = if step.results.len() == 1 { step.extra.marks } else { Marks::default() };
        let mut without_id = Vec::new();
        for mut result in step.results {
            let id = result.id.take();
            let answer = result.is_answer(marks).then_some(result);
            match (id, answer) {
                (None, answer) => without_id.push(answer),
                (id, Some(result)) => self.steps.answer(turn, id, answer_of(result, marks, self.is_codex)),
                (Some(_), None) => {}
            }
        }
        if without_id.is_empty() {
            return;
        }
        if calls.is_empty() {
            for content in without_id.into_iter().flatten().filter_map(|result| result.content) {
                if !wire::is_blank(content.text()) {
                    self.steps.message_at(Actor::Environment, turn, content, step.time);
                }
            }
            return;
        }
        self.steps.pair_new();
        let open: Vec<_> = calls.iter().copied().filter(|call| !self.steps.is_answered(*call)).collect();
        // One screen after a batch of commands answers each of them.
        let shared = without_id.len() == 1 && open.len() > 1;
        let is_codex = self.is_codex;
        let mut answers =
            without_id.into_iter().map(|result| result.map(|result| answer_of(result, marks, is_codex)));
        if shared {
            if let Some(answer) = answers.next().flatten() {
                for call in open {
                    self.steps.answer_call(call, answer.clone());
                }
            }
            return;
        }
        for (call, answer) in open.into_iter().zip(answers.by_ref()) {
            if let Some(answer) = answer {
                self.steps.answer_call(call, answer);
            }
        }
        for answer in answers.flatten() {
            self.steps.answer(turn, None, answer);
        }
    }
}

/// Gives the only result of a step the id that the step names.
fn name_call(step: &mut Step<'_>) {
    let [result] = &mut *step.results else { return };
    if step.is_dialect {
        let message = step.message.as_ref().map(|message| message.text().to_str());
        let id = message.as_deref().and_then(|message| message.strip_prefix("Tool result for "));
        if let Some(id) = id.filter(|id| !id.is_empty() && !id.contains(char::is_whitespace)) {
            result.id = Some(Cow::Owned(id.to_owned()));
            step.message = None;
        }
    } else if result.id.is_none() {
        result.id = step.extra.tool_call_id.take();
    }
}

fn answer_of(result: StepResult<'_>, marks: Marks, is_codex: bool) -> Answer<'_> {
    let (outcome, observation) = answer(result, marks, is_codex);
    outcome.answer(Content::from(observation))
}
