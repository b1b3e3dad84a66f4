//! Recorded sessions of agents, format by format: a fixture for every rule, what damage costs, and that the formats
//! keep to themselves.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests say what they expect by failing"
)]

mod atif;
mod claude_code;
mod codex;
mod codex_exec;
mod damage;
#[path = "../reading/mod.rs"]
mod reading;

use reading::said;
use wrongturn::{
    ReadOptions, Step, Trace,
    read::{Format, Reading},
    read_traces,
    trace::{Content, Event},
};

/// Reads an input that must be of this format.
fn read(format: Format, input: impl AsRef<[u8]>) -> (Vec<Trace>, Reading) {
    let (traces, reading) = read_traces(input.as_ref(), &ReadOptions::default());
    assert_eq!(reading.format, Some(format), "{:?}", reading.errors);
    assert!(reading.errors.is_empty(), "{:?}", reading.errors);
    (traces, reading)
}

/// The traces of an input in lines of words: of each what it is known by, its steps, and what found no partner.
fn told(format: Format, input: impl AsRef<[u8]>) -> Vec<String> {
    let (traces, _) = read(format, input);
    traces.iter().flat_map(words).collect()
}

fn words(trace: &Trace) -> Vec<String> {
    let known = trace.metadata();
    let or_none = |name: Option<&str>| name.unwrap_or("-").to_owned();
    let mut lines = vec![format!(
        "{} < {} by {} of {}, {}",
        or_none(known.id.as_deref()),
        or_none(known.parent.as_deref()),
        or_none(known.agent.as_deref()),
        or_none(known.model.as_deref()),
        or_none(known.termination.as_deref()),
    )];
    lines.extend(trace.steps().map(|step| step_words(&step)));
    let unpaired = trace.unpaired();
    if (unpaired.calls, unpaired.messages) != (0, 0) {
        lines.push(format!("unpaired: {} calls, {} results", unpaired.calls, unpaired.messages));
    }
    lines
}

fn step_words(step: &Step<'_>) -> String {
    match step.event() {
        Event::Message(text) => format!("{} {}: {}", step.turn(), step.actor(), text.to_str()),
        Event::Action(action) => {
            let arguments = match &action.arguments {
                Content::Absent => String::new(),
                Content::NotRecorded => "?".to_owned(),
                Content::Present(arguments) => arguments.canonical().unwrap(),
            };
            let id = action.call_id.unwrap_or("-");
            format!("{} {}{arguments} #{id} {}", step.turn(), action.name, outcome_words(step))
        }
    }
}

/// How an action ended, by what, and what it observed.
fn outcome_words(step: &Step<'_>) -> String {
    let Event::Action(action) = step.event() else { panic!("no action") };
    let reason = action.reason.map_or(String::new(), |reason| format!("/{reason}"));
    let observation = match &action.observation {
        Content::Absent => "-".to_owned(),
        Content::NotRecorded => "?".to_owned(),
        Content::Present(text) => format!("{:?}", text.to_str()),
    };
    format!("{}/{}{reason} {observation}", action.status, action.provenance)
}

/// The outcome of the only action of an input.
fn sole_outcome(format: Format, input: impl AsRef<[u8]>) -> String {
    let (traces, _) = read(format, input);
    let outcomes: Vec<_> = traces
        .iter()
        .flat_map(Trace::steps)
        .filter(|step| matches!(step.event(), Event::Action(_)))
        .map(|step| outcome_words(&step))
        .collect();
    assert_eq!(outcomes.len(), 1, "{outcomes:?}");
    outcomes.into_iter().next().unwrap()
}

/// One JSON value per line.
fn lines(values: &[serde_json::Value]) -> String {
    values.iter().map(|value| value.to_string() + "\n").collect()
}

/// The usage and times of the actions.
fn costs(trace: &Trace) -> Vec<[Option<u64>; 5]> {
    trace
        .steps()
        .filter(|step| matches!(step.event(), Event::Action(_)))
        .map(|step| {
            let usage = step.usage().copied().unwrap_or_default();
            [step.time(), usage.input_tokens, usage.cached_tokens, usage.output_tokens, usage.duration_ns]
        })
        .collect()
}
