//! tau2-bench results.
//!
//! One JSON object `{timestamp?, info, tasks, simulations}` (or flat `domain` and `model` keys instead of `info`),
//! a bare list of runs, one run, or a directory with `results.json` beside `simulations/<id>.json`.

use std::sync::Arc;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::ReadOptions;
use super::container::{Layout, RunContext};
use super::tau2_messages::{Messages, Requestor, Scratch};
use super::wire::{ByteKeys, Ident, Object, Str, whole_number};
use crate::trace::{
    Digest, DigestMap, Ending, ExpectedAction, Metadata, Milestone, ReferenceRoute, Routing, StepSink,
};

/// What the runs of a file have in common.
#[derive(Debug, Clone, Default)]
pub(super) struct Header {
    info: Info,
    flat_model: Option<Arc<str>>,
    flat_domain: Option<Arc<str>>,
    /// The routes of the tasks by the digests of their ids; `None`: the file has told no tasks (yet).
    routes: Option<Arc<DigestMap<Routing>>>,
    /// Whether one of the routes compares single arguments.
    looks_inside: bool,
}

#[derive(Debug, Clone, Default, Deserialize)]
struct Info {
    #[serde(default)]
    agent_info: Option<Object<AgentInfo>>,
    #[serde(default)]
    environment_info: Option<Object<EnvironmentInfo>>,
}

#[derive(Debug, Clone, Deserialize)]
struct AgentInfo {
    #[serde(default)]
    llm: Option<Arc<str>>,
}

#[derive(Debug, Clone, Deserialize)]
struct EnvironmentInfo {
    #[serde(default)]
    domain_name: Option<Arc<str>>,
}

#[derive(Deserialize)]
struct Task<'a> {
    #[serde(borrow)]
    id: Ident<'a>,
    #[serde(default, borrow)]
    evaluation_criteria: Option<Object<Criteria<'a>>>,
}

#[derive(Deserialize)]
struct Criteria<'a> {
    #[serde(default, borrow)]
    actions: Option<Vec<Object<Expected<'a>>>>,
}

#[derive(Deserialize)]
struct Expected<'a> {
    #[serde(default)]
    requestor: Option<Requestor>,
    #[serde(borrow)]
    name: Str<'a>,
    #[serde(default, borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(default)]
    compare_args: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct RewardInfo {
    #[serde(default)]
    reward: Option<f64>,
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Field {
    Id,
    TaskId,
    Trial,
    TerminationReason,
    RewardInfo,
    Messages,
    #[serde(other)]
    Other,
}

/// The tau2-bench layout.
#[derive(Debug, Clone, Default)]
pub(super) struct Tau2 {
    /// Whether anybody asks for reference routes.
    pub(super) routes: bool,
    /// Whether what comes behind the runs comes too late.
    pub(super) streamed: bool,
    /// Whether the texts of arguments are kept.
    pub(super) argument_texts: bool,
    pub(super) header: Header,
}

impl Layout for Tau2 {
    const RUNS: &'static str = "simulations";
    const RUN_KEYS: &'static [&'static str] =
        &["messages", "reward_info", "task_id", "termination_reason", "trial"];
    const NAME: &'static str = "tau2 result";
    type Scratch<'de> = Scratch<'de>;

    fn header_value<'de, D: Deserializer<'de>>(&mut self, key: &str, value: D) -> Result<bool, D::Error> {
        match key {
            "info" => {
                self.header.info =
                    Option::<Object<Info>>::deserialize(value)?.map(|info| info.0).unwrap_or_default();
            }
            "model" => self.header.flat_model = flat(value)?,
            "domain" => self.header.flat_domain = flat(value)?,
            "tasks" if self.routes => {
                let tasks = Option::<Vec<Object<Task<'de>>>>::deserialize(value)?;
                self.header.looks_inside = tasks.iter().flatten().any(|task| task.0.looks_inside());
                let routing =
                    |tasks: Vec<Object<Task<'de>>>| tasks.into_iter().map(|task| task.0.routing()).collect();
                self.header.routes = tasks.map(routing).map(Arc::new);
            }
            _ => {
                IgnoredAny::deserialize(value)?;
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn run<'de, D: Deserializer<'de>>(
        &mut self,
        run: D,
        scratch: &mut Scratch<'de>,
        context: &mut RunContext,
        sink: &mut dyn StepSink,
    ) -> Result<(), D::Error> {
        run.deserialize_map(RunVisitor { layout: self, scratch, context, sink })
    }

    fn keep_texts(&mut self, keep: bool) -> bool {
        std::mem::replace(&mut self.argument_texts, keep)
    }

    fn model(&self) -> Option<&Arc<str>> {
        let agent = self.header.info.agent_info.as_ref();
        agent.and_then(|agent| agent.0.llm.as_ref()).or(self.header.flat_model.as_ref())
    }

    fn domain(&self) -> Option<&Arc<str>> {
        let environment = self.header.info.environment_info.as_ref();
        environment.and_then(|e| e.0.domain_name.as_ref()).or(self.header.flat_domain.as_ref())
    }
}

/// A flat key that names the model or the domain; whatever else it may be elsewhere is not for us.
fn flat<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Arc<str>>, D::Error> {
    let raw = <&'de RawValue>::deserialize(value)?;
    Ok(serde_json::from_str(raw.get()).ok())
}

impl Tau2 {
    pub(super) fn new(options: &ReadOptions) -> Self {
        Self { routes: options.routes, argument_texts: options.argument_texts, ..Self::default() }
    }

    fn routing(&self, task: Option<&str>) -> Routing {
        let Some(routes) = &self.header.routes else {
            let why = if self.streamed {
                "the stream told no tasks before its runs"
            } else {
                "the file has no tasks"
            };
            return Routing::Unknown(why.into());
        };
        let Some(task) = task else { return Routing::Unknown("the run names no task".into()) };
        match routes.get(&Digest::of_text(task)) {
            Some(routing) => routing.clone(),
            None => Routing::Unknown(format!("task {task} is not in the file").into()),
        }
    }
}

impl Task<'_> {
    fn actions(&self) -> impl Iterator<Item = &Expected<'_>> {
        let criteria = self.evaluation_criteria.iter();
        criteria.filter_map(|criteria| criteria.0.actions.as_ref()).flatten().map(|action| &action.0)
    }

    /// Whether an expected action compares single arguments.
    fn looks_inside(&self) -> bool {
        self.actions().any(|action| action.compare_args.as_ref().is_some_and(|names| !names.is_empty()))
    }

    fn routing(self) -> (Digest, Routing) {
        let actions = self.evaluation_criteria.and_then(|criteria| criteria.0.actions).unwrap_or_default();
        let milestones = (1..).zip(actions).map(|(reference_step, Object(expected))| {
            let actor = expected.requestor.unwrap_or(Requestor::Assistant).actor();
            let arguments = expected.arguments.map_or("null", RawValue::get);
            let action = ExpectedAction::from_json(actor, &expected.name.0, arguments, expected.compare_args);
            Milestone::action(reference_step, action)
        });
        let routing = match ReferenceRoute::new(milestones.collect()) {
            Ok(route) => Routing::Known(Arc::new(route)),
            Err(error) => Routing::Unknown(error.message().into()),
        };
        (Digest::of_text(&self.id.0), routing)
    }
}

struct RunVisitor<'x, 'de> {
    layout: &'x Tau2,
    scratch: &'x mut Scratch<'de>,
    context: &'x mut RunContext,
    sink: &'x mut dyn StepSink,
}

impl<'de> Visitor<'de> for RunVisitor<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a simulation run (an object)")
    }

    fn visit_map<A: MapAccess<'de>>(self, run: A) -> Result<(), A::Error> {
        let mut run = ByteKeys(run);
        let Self { layout, scratch, context, sink } = self;
        let mut metadata = Metadata::default();
        let mut reward = None;
        let mut has_messages = false;
        let mut begun = false;
        let mut known = false;
        // Without routes in sight the task need not be known beforehand.
        let mut task_told = layout.header.routes.is_none();
        while let Some(field) = run.next_key()? {
            known |= !matches!(field, Field::Other);
            match field {
                Field::Id => metadata.id = text(run.next_value()?),
                Field::TaskId => {
                    metadata.task = text(run.next_value()?);
                    task_told = true;
                }
                Field::Trial => metadata.trial = run.next_value::<Whole>()?.0,
                Field::TerminationReason => metadata.termination = run.next_value()?,
                Field::RewardInfo => {
                    reward = run.next_value::<Option<Object<RewardInfo>>>()?.and_then(|info| info.0.reward);
                }
                Field::Messages => {
                    if has_messages {
                        return Err(A::Error::duplicate_field("messages"));
                    }
                    if task_told {
                        sink.begin(context.position(), &layout.routing(metadata.task.as_deref()));
                        begun = true;
                    }
                    has_messages = true;
                    scratch.pairing.begin(!begun);
                    let texts = layout.argument_texts || layout.header.looks_inside;
                    run.next_value_seed(Messages { texts, scratch, context, sink })?;
                }
                Field::Other => {
                    run.next_value::<IgnoredAny>()?;
                }
            }
        }
        if !known {
            return Err(A::Error::custom("not a simulation run: it has none of a run's keys"));
        }
        if !begun {
            sink.begin(context.position(), &layout.routing(metadata.task.as_deref()));
        }
        metadata.model = layout.model().cloned();
        metadata.domain = layout.domain().cloned();
        let mut ending = context.typed(Ending::new(metadata, reward))?;
        if has_messages {
            ending.unpaired = context.typed(scratch.pairing.finish(&mut |step| sink.step(step)))?;
        }
        sink.end(ending);
        Ok(())
    }
}

fn text(ident: Option<Ident<'_>>) -> Option<String> {
    ident.map(|ident| ident.0.into_owned())
}

#[derive(Deserialize)]
#[serde(transparent)]
struct Whole(#[serde(deserialize_with = "whole_number")] Option<u64>);
