//! Transcripts and trajectories, format by format: what each rule makes of small inputs written for it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod archives;
mod chat;
mod events;
mod items;
mod marks;
mod mutations;
#[path = "../reading/mod.rs"]
mod reading;
mod recognition;
mod trajectories;

use reading::said;
use wrongturn::{
    Action, ReadOptions, Step, Trace,
    read::{Format, Reading},
    read_traces,
    trace::{Content, Event},
};

/// Reads an input.
fn read(input: impl AsRef<[u8]>) -> (Vec<Trace>, Reading) {
    read_traces(input.as_ref(), &ReadOptions::default())
}

/// Reads an input of one trace of this format, in which nothing is wrong.
#[track_caller]
fn one(format: Format, input: impl AsRef<[u8]>) -> Trace {
    let (mut traces, reading) = read(input);
    assert!(reading.errors.is_empty(), "{:?}", reading.errors);
    assert_eq!(reading.format, Some(format));
    assert_eq!(traces.len(), 1);
    traces.pop().unwrap()
}

/// An action in a line: `turn name(arguments) status/provenance[/reason] [#id] [= observation]`.
fn told(step: &Step<'_>, action: &Action<'_>) -> String {
    let arguments = match &action.arguments {
        Content::Present(arguments) => arguments.canonical().unwrap(),
        Content::Absent => String::new(),
        Content::NotRecorded => "?".to_owned(),
    };
    let mut line =
        format!("{} {}({arguments}) {}/{}", step.turn(), action.name, action.status, action.provenance);
    if let Some(reason) = action.reason {
        line += &format!("/{reason}");
    }
    if let Some(id) = action.call_id {
        line += &format!(" #{id}");
    }
    if let Content::Present(observation) = action.observation {
        line += &format!(" = {}", observation.to_str());
    }
    line
}

/// Every step of a trace in a line; messages are `turn actor: text`.
fn lines(trace: &Trace) -> Vec<String> {
    let line = |step: Step<'_>| match step.event() {
        Event::Message(text) => format!("{} {}: {}", step.turn(), step.actor(), text.to_str()),
        Event::Action(action) => told(&step, action),
    };
    trace.steps().map(line).collect()
}

/// The actions alone.
fn actions(trace: &Trace) -> Vec<String> {
    let action = |step: Step<'_>| match step.event() {
        Event::Action(action) => Some(told(&step, action)),
        Event::Message(_) => None,
    };
    trace.steps().filter_map(action).collect()
}

/// What a trace is known by: `id parent model agent domain task reward termination`, with `-` for what is not known.
fn known(trace: &Trace) -> String {
    let metadata = trace.metadata();
    let texts = [
        metadata.id.as_deref(),
        metadata.parent.as_deref(),
        metadata.model.as_deref(),
        metadata.agent.as_deref(),
        metadata.domain.as_deref(),
        metadata.task.as_deref(),
    ];
    let mut known: Vec<String> = texts.iter().map(|text| text.unwrap_or("-").to_owned()).collect();
    known.push(trace.reward().map_or("-".to_owned(), |reward| reward.to_string()));
    known.push(metadata.termination.clone().unwrap_or("-".to_owned()));
    known.join(" ")
}

/// Calls and results without a partner.
fn unpaired(trace: &Trace) -> (u64, u64) {
    (trace.unpaired().calls, trace.unpaired().messages)
}

/// Tokens read, written and cached, the duration and the time of the actions.
fn costs(trace: &Trace) -> Vec<[Option<u64>; 5]> {
    let cost = |step: Step<'_>| {
        matches!(step.event(), Event::Action(_)).then(|| {
            let usage = step.usage().copied().unwrap_or_default();
            [usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.duration_ns, step.time()]
        })
    };
    trace.steps().filter_map(cost).collect()
}
