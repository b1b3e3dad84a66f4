//! ATIF, the trajectory format of Harbor, 1.0 to 1.8: one object with `steps`, from any agent.

use super::atif_result::{Marks, StepResult, answer};
use super::prelude::*;

pub(in crate::read) const FORMAT: Definition = Definition {
    signature: &[Shape::Object(All(&[
        Is(Kind::List, &["steps"]),
        Is(Kind::Object, &["agent"]),
        Test("`schema_version` such as ATIF-v1.6", |object| {
            object.name("schema_version").is_some_and(|version| is_version(&version))
        }),
    ]))],
    reader: Reader::Object(read),
};

/// Returns true for a version such as `ATIF-v1.7` or `1.4`.
fn is_version(version: &str) -> bool {
    let number = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let version = version.strip_prefix("ATIF-v").unwrap_or(version);
    version.split_once('.').is_some_and(|(major, minor)| number(major) && number(minor))
}

fn read(members: &Members<'_>, runs: &mut Runs<'_>) {
    // A sub-agent in a file of its own names its parent.
    let parent = members.object("agent").object("extra").name("parent_session_id");
    trajectory(members, parent.map(Cow::into_owned), runs);
}

/// Reads a trajectory, and after it those of its embedded sub-agents.
fn trajectory(members: &Members<'_>, parent: Option<String>, runs: &mut Runs<'_>) {
    let mut open = Trajectory::new(members);
    for step in members.list("steps") {
        open.run.pass_over("steps that are not objects", u64::from(step.kind() != Kind::Object));
        open.step(&Members::from(step));
        open.turn += 1;
    }
    let id = open.end(members, parent, runs);
    for sub_agent in members.objects("subagent_trajectories") {
        if sub_agent.is("steps", Kind::List) {
            trajectory(&sub_agent, id.clone(), runs);
        } else {
            runs.pass_over("sub-agents without steps", 1);
        }
    }
}

/// Returns the results of a step, and whether they are one result in the form
/// `{type: "tool_result", content, result}`.
fn results_of<'a>(observation: &Members<'a>) -> (Vec<StepResult<'a>>, bool) {
    if observation.name("type").as_deref() == Some("tool_result") {
        let success = observation.object("result").flag("success");
        let content = observation.result("content");
        return (vec![StepResult { content, success, ..StepResult::default() }], true);
    }
    let results = observation.objects("results").map(|result| StepResult {
        id: result.name("source_call_id"),
        content: result.result("content"),
        success: None,
        marks: Marks::of(&result.object("extra")),
    });
    (results.collect(), false)
}

/// Returns the tokens of a step's response.
fn usage_of(metrics: &Members<'_>) -> Usage {
    let [input, output, cached] =
        ["prompt_tokens", "completion_tokens", "cached_tokens"].map(|key| metrics.count(key));
    // Some writers count cached tokens only in the total, so the input is at least the total minus the output.
    let total = metrics.object("extra").count("total_tokens");
    let read = total.and_then(|total| total.checked_sub(output?));
    Usage {
        input_tokens: input.map(|input| read.unwrap_or(0).max(input)),
        output_tokens: output,
        cached_tokens: cached,
        duration_ns: None,
    }
}

/// A trajectory that is being read.
struct Trajectory<'a> {
    run: Recording<'a>,
    turn: u64,
    is_codex: bool,
    copied_calls: u64,
}

impl<'a> Trajectory<'a> {
    fn new(members: &Members<'a>) -> Self {
        let agent = members.object("agent");
        let mut run = Recording::default();
        run.metadata.agent = agent.name("name").map(|name| name.as_ref().into());
        run.model(agent.name("model_name").or_else(|| agent.name("model")));
        Self { run, turn: 0, is_codex: agent.name("name").as_deref() == Some("codex"), copied_calls: 0 }
    }

    /// Emits the run and returns its id.
    fn end(mut self, members: &Members<'_>, parent: Option<String>, runs: &mut Runs<'_>) -> Option<String> {
        let id = members.name("trajectory_id").or_else(|| members.name("session_id")).map(Cow::into_owned);
        (self.run.metadata.id, self.run.metadata.parent) = (id.clone(), parent);
        runs.leave_out(self.copied_calls);
        self.run.give(runs);
        id
    }

    fn step(&mut self, step: &Members<'a>) {
        self.run.at(self.turn, step.time("timestamp"));
        let calls = step.list("tool_calls").into_iter().filter(|call| call.kind() == Kind::Object);
        let calls: Vec<_> = calls.map(Members::from).collect();
        if step.flag("is_copied_context") == Some(true) {
            self.copied_calls += calls.len() as u64;
            return self.run.pass_over("steps copied from another trajectory", 1);
        }
        self.run.model(step.name("model_name"));
        // Some writers nest the message of a chat, with its role.
        let nested = step.object("message");
        let actor = match step.name("source").or_else(|| nested.name("role")).as_deref() {
            Some("agent" | "assistant") => Actor::Agent,
            Some("user") => Actor::User,
            _ => Actor::System,
        };
        let extra = step.object("extra");
        if actor == Actor::Agent {
            let end = &mut self.run.metadata.termination;
            *end = extra.name("stop_reason").map(Cow::into_owned).or(end.take());
        }
        let mut message = step.message("message").or_else(|| nested.message("content"));
        let (mut results, is_dialect) = results_of(&step.object("observation"));
        if let [result] = &mut *results {
            if is_dialect {
                if let Some(id) = message.as_ref().and_then(named_call) {
                    result.id = Some(id);
                    message = None;
                }
            } else {
                result.id = result.id.take().or_else(|| extra.name("tool_call_id"));
            }
        }
        let is_result = extra.name("openclaw_role").as_deref() == Some("toolResult");
        self.run.say(actor, message.filter(|_| !is_result));
        self.run.spent(Some(usage_of(&step.object("metrics"))));
        let mut numbers = Vec::with_capacity(calls.len());
        for call in calls {
            let id = call.name("tool_call_id").or_else(|| call.name("id"));
            let name = call.name("function_name").or_else(|| call.name("name"));
            numbers.push(self.run.call(id, name, call.get("arguments")));
        }
        // If a step has a single result, marks on the step apply to it.
        let marks = if results.len() == 1 { Marks::of(&extra) } else { Marks::default() };
        self.results(results, marks, &numbers);
    }

    /// Pairs the results of a step with calls: by id, or else in order.
    fn results(&mut self, results: Vec<StepResult<'a>>, marks: Marks, calls: &[CallNumber]) {
        let is_codex = self.is_codex;
        let mut without_id = Vec::new();
        for mut result in results {
            let id = result.id.take();
            let answer = result.is_answer(marks).then_some(result);
            match (id, answer) {
                (None, answer) => without_id.push(answer),
                (id, Some(result)) => self.run.answer_with(id, answer_of(result, marks, is_codex)),
                (Some(_), None) => {}
            }
        }
        if without_id.is_empty() {
            return;
        }
        if calls.is_empty() {
            for result in without_id.into_iter().flatten() {
                self.run.say(Actor::Environment, result.content);
            }
            return;
        }
        let steps = &mut self.run.steps;
        steps.pair_new();
        let open: Vec<_> = calls.iter().copied().filter(|call| !steps.is_answered(*call)).collect();
        // After a batch of commands, a terminal returns a single screen, which answers each of them.
        let shared = without_id.len() == 1 && open.len() > 1;
        let mut answers =
            without_id.into_iter().map(|result| result.map(|result| answer_of(result, marks, is_codex)));
        if shared {
            if let Some(answer) = answers.next().flatten() {
                for call in open {
                    steps.answer_call(call, answer.clone());
                }
            }
            return;
        }
        let mut open = open.into_iter();
        for answer in answers {
            let call = open.next();
            if let Some(answer) = answer {
                self.run.answer_to(call, answer);
            }
        }
    }
}

/// Returns the id of the call that a message such as `Tool result for call_1` names.
fn named_call(message: &TextCow<'_>) -> Option<Cow<'static, str>> {
    let text = message.text().to_str();
    let id = text.strip_prefix("Tool result for ")?;
    (!id.is_empty() && !id.contains(char::is_whitespace)).then(|| id.to_owned().into())
}

fn answer_of(result: StepResult<'_>, marks: Marks, is_codex: bool) -> Answer<'_> {
    let (outcome, observation) = answer(result, marks, is_codex);
    outcome.answer(Content::from(observation))
}
