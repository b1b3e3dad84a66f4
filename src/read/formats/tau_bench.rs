//! tau-bench v1: a list of runs `{task_id, reward, info, traj, trial}`, one of them, or one per line. A run may be under
//! `trajectory`, next to figures of an experiment.

use std::sync::Arc;

use super::chat_call::ToolCall;
use super::prelude::*;
use crate::read::answers_without_id::InOrder;
use crate::trace::{Milestone, ReferenceAction, ReferenceRoute, RouteStatus, RunSummary};

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Each(Any(&[RUN, In("trajectory", &RUN)]))],
    reader: Reader::Records(RecordReader {
        what: "tau-bench results (a list or an object)",
        list: "",
        run_keys: &["traj"],
        header_keys: &[],
        header: RecordReader::no_header,
        is_complete: |_| true,
        run,
    }),
};

const RUN: Mark = All(&[
    Has(&["traj", "task_id"]),
    Not(&Any(&[Is(Kind::Object, &["traj"]), Is(Kind::String, &["traj"])])),
    HasOne(&["reward", "info"]),
    Not(&HasOne(&["simulations", "messages"])),
]);

fn run<'a>(
    json: &mut Json<'a>,
    _: &Header,
    steps: &mut Assembler<'a>,
    runs: &mut Runs<'_>,
) -> Read<RunSummary> {
    let start = json.offset();
    let outer = Members::try_read(json)?;
    // A run under `trajectory` counts if the outer object has no messages.
    let inner = if outer.has("traj") { Members::default() } else { outer.object("trajectory") };
    let get = |key| inner.get(key).or_else(|| outer.get(key));
    let mut list = get("traj").ok_or_else(|| json.missing("traj"))?.json();
    let messages = list.or_null(|list| list.list_of(Message::read))?.unwrap_or_default();
    let trial = get("trial").map(|trial| trial.json().or_null(Json::whole)).transpose()?.flatten();
    let reward = get("reward").map(|reward| reward.json().or_null(Json::float)).transpose()?.flatten();
    let task = get("task_id").and_then(common::ident);
    let info = get("info").map(Members::from).unwrap_or_default();
    let metadata = Metadata {
        id: task.as_ref().map(|task| format!("{task}/{}", trial.unwrap_or(0))),
        task: task.map(Cow::into_owned),
        trial,
        termination: info.present("error").map(|_| "error".to_owned()),
        domain: domain(&messages),
        ..Metadata::default()
    };
    runs.begin(&routing(info.object("task").get("actions").and_then(Raw::items)));
    steps.begin(false);
    read_steps(messages, steps);
    let typed = |error: Error| Fault::other(start, error);
    let ending = RunSummary::new(metadata, reward).map_err(typed)?;
    Ok(ending.with_unpaired(runs.finish(steps).map_err(typed)?))
}

struct Message<'a> {
    role: Cow<'a, str>,
    content: Option<Raw<'a>>,
    calls: Vec<Call<'a>>,
    id: Option<Cow<'a, str>>,
    name: Option<Cow<'a, str>>,
}

impl<'a> Message<'a> {
    fn read(json: &mut Json<'a>) -> Read<Self> {
        let (members, read) = Members::read(json);
        read?;
        let call = |call: &mut Json<'a>| Ok(ToolCall::of(&Members::from(call.raw()?)).call);
        let calls = members.present("tool_calls").map(|calls| calls.json().list_of(call)).transpose()?;
        let unknown = || Call::new(0, None, "");
        Ok(Self {
            role: members.name("role").unwrap_or_default(),
            content: members.get("content"),
            calls: calls.into_iter().flatten().map(|call| call.unwrap_or_else(unknown)).collect(),
            id: members.name("tool_call_id"),
            name: members.name("name"),
        })
    }

    fn text(&self) -> Option<TextCow<'a>> {
        wire::message_text(&mut self.content?.json()).ok().flatten()
    }
}

/// The prefix of an answer to a call that the agent wrote as text.
const OUTPUT: &str = "API output: ";

fn read_steps<'a>(messages: Vec<Message<'a>>, steps: &mut Assembler<'a>) {
    let (mut waiting, mut in_order) = (None, InOrder::default());
    let mut messages = (0_u64..).zip(messages).peekable();
    while let Some((turn, message)) = messages.next() {
        let text = message.text();
        let asked = waiting.take();
        let actor = match &*message.role {
            "tool" => {
                let answer = answer(message.content.and_then(words::result));
                let name = message.name.as_ref();
                let call = if message.id.is_none() { in_order.without_id_first(name, steps) } else { None };
                steps.answer_to(call, turn, message.id, answer);
                continue;
            }
            "assistant" => Actor::Agent,
            "user" => Actor::User,
            _ => Actor::System,
        };
        if actor == Actor::User
            && let Some(text) = text.as_ref().filter(|text| text.text().starts_with(OUTPUT))
        {
            let output = text.text().skip_chars(OUTPUT.len()).to_str().into_owned();
            let answer = answer(Some(output.into()));
            steps.answer_to(asked, turn, None, answer);
            continue;
        }
        let may_be_written = actor == Actor::Agent && message.calls.is_empty();
        let answered = messages.peek().filter(|_| may_be_written).is_some_and(|(_, next)| {
            next.role == "user" && next.text().is_some_and(|text| text.text().starts_with(OUTPUT))
        });
        let written = text.as_ref().filter(|_| answered);
        let written = written.and_then(|text| written_call(&text.text().to_str(), turn));
        if let Some(text) = text.filter(|text| !wire::is_blank(text.text())) {
            steps.message(actor, turn, text);
        }
        for call in message.calls {
            steps.call(Call { turn, ..call });
        }
        waiting = written.map(|call| steps.call(call));
    }
}

/// Returns the call after the last `Action:`, or in the whole text if it has none. `None` if this is not a
/// call, or a call of `respond`, which only sends a message.
fn written_call(text: &str, turn: u64) -> Option<Call<'static>> {
    let action =
        text.rfind("Action:").map_or(text, |at| text.get(at + "Action:".len()..).unwrap_or_default());
    let value: serde_json::Value = serde_json::from_str(common::trim(action)).ok()?;
    let name = value.get("name")?.as_str().filter(|name| *name != "respond")?;
    let arguments = common::arguments_of_value(value.get("arguments")?);
    Some(Call::new(turn, None, name.to_owned()).with(arguments))
}

fn answer(text: Option<TextCow<'_>>) -> Answer<'_> {
    let begins = |start: &str| text.as_ref().is_some_and(|text| text.text().starts_with(start));
    let failed = begins("Error") || begins("Unknown action ");
    let (status, provenance) =
        if failed { (Status::Error, Provenance::Text) } else { (Status::Ok, Provenance::None) };
    Answer::new(Content::from(text), status, provenance)
}

/// Returns the domain, from the heading of the first system message.
fn domain(messages: &[Message<'_>]) -> Option<Arc<str>> {
    let text = messages.iter().find(|message| message.role == "system")?.text()?;
    let text = text.text().head(40).to_ascii_lowercase();
    ["airline", "retail"]
        .into_iter()
        .find(|domain| text.starts_with(&format!("# {domain} agent policy")))
        .map(Arc::from)
}

/// Makes the route of a run from its expected actions. Skips actions without a name, but counts them in step numbers.
fn routing(actions: Option<Vec<Raw<'_>>>) -> RouteStatus {
    let Some(actions) = actions else {
        return RouteStatus::Unknown("the run lists no expected actions".into());
    };
    let milestones = (1..).zip(actions).filter_map(|(step, action)| {
        let arguments = action.member("kwargs").map_or(Cow::Borrowed("null"), Raw::spelling);
        let name = action.member("name")?.string()?;
        Some(Milestone::action(step, ReferenceAction::from_json(Actor::Agent, &name, &arguments, None)))
    });
    match ReferenceRoute::new(milestones.collect()) {
        Ok(route) => Some(route).into(),
        Err(error) => RouteStatus::Unknown(error.message().into()),
    }
}
