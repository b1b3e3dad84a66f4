//! Events of an Inspect sample: tokens, times and durations of calls.

use std::collections::{BTreeMap, VecDeque};

use super::prelude::*;

/// The start and duration of a tool execution.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::read) struct Execution {
    pub(in crate::read) time: Option<u64>,
    pub(in crate::read) duration_ns: Option<u64>,
}

/// A response of the model.
#[derive(Debug, Clone, Copy, Default)]
struct Response {
    time: Option<u64>,
    usage: Option<Usage>,
}

/// The measurements of a sample.
#[derive(Debug, Default)]
pub(in crate::read) struct Measured<'a> {
    responses: Vec<Response>,
    /// Indexes into the list of responses.
    by_message: BTreeMap<Cow<'a, str>, usize>,
    by_call: BTreeMap<Cow<'a, str>, usize>,
    /// In order, as ids may repeat.
    executions: BTreeMap<Cow<'a, str>, VecDeque<Execution>>,
}

#[derive(Debug, Default)]
struct Event<'a> {
    kind: Cow<'a, str>,
    id: Option<Cow<'a, str>>,
    start: Option<u64>,
    end: Option<u64>,
    working_time: Option<u64>,
    output: Output<'a>,
}

/// The model's output.
#[derive(Debug, Default)]
struct Output<'a> {
    usage: Option<Usage>,
    /// The id of the first choice.
    message: Option<Cow<'a, str>>,
    calls: Vec<Cow<'a, str>>,
}

impl<'a> Measured<'a> {
    /// Reads the events of a sample.
    pub(in crate::read) fn read(json: &mut Json<'a>) -> Read<Self> {
        let mut measured = Self::default();
        wire::list(json, |json| {
            measured.event(event(json)?);
            Ok(())
        })?;
        Ok(measured)
    }

    fn event(&mut self, event: Event<'a>) {
        match &*event.kind {
            "tool" => {
                if let Some(id) = event.id {
                    let lasted = event.end.and_then(|end| end.checked_sub(event.start?));
                    let duration_ns = event.working_time.or(lasted);
                    let execution = Execution { time: event.start, duration_ns };
                    self.executions.entry(id).or_default().push_back(execution);
                }
            }
            "model" => {
                let place = self.responses.len();
                let Output { usage, message, calls } = event.output;
                self.responses.push(Response { time: event.start, usage });
                if let Some(id) = message {
                    self.by_message.entry(id).or_insert(place);
                }
                for id in calls {
                    self.by_call.entry(id).or_insert(place);
                }
            }
            _ => {}
        }
    }

    /// Returns the request time of the response that this message is.
    pub(in crate::read) fn time_of_message(&self, id: &str) -> Option<u64> {
        self.responses.get(*self.by_message.get(id)?)?.time
    }

    /// Returns the tokens of the response that is this message, or that made one of these calls.
    pub(in crate::read) fn tokens<'c>(
        &self,
        message: Option<&str>,
        mut calls: impl Iterator<Item = &'c str>,
    ) -> Option<Usage> {
        let by_message = message.and_then(|id| self.by_message.get(id));
        let place = by_message.or_else(|| calls.find_map(|id| self.by_call.get(id)))?;
        self.responses.get(*place)?.usage
    }

    /// Returns the first unused execution for a call of this id.
    pub(in crate::read) fn next_execution(&mut self, id: &str) -> Option<Execution> {
        self.executions.get_mut(id)?.pop_front()
    }
}

fn event<'a>(json: &mut Json<'a>) -> Read<Event<'a>> {
    let mut event = Event::default();
    wire::object(json, |key, value| {
        match key {
            b"event" => event.kind = wire::name(value)?.unwrap_or_default(),
            b"id" => event.id = wire::name(value)?,
            b"timestamp" => event.start = wire::time(value)?,
            b"completed" => event.end = wire::time(value)?,
            b"working_time" => event.working_time = time::of_seconds(value.raw()?),
            b"output" => event.output = output(value)?,
            _ => value.skip()?,
        }
        Ok(())
    })?;
    Ok(event)
}

fn output<'a>(json: &mut Json<'a>) -> Read<Output<'a>> {
    let mut output = Output::default();
    wire::object(json, |key, value| {
        match key {
            b"usage" => output.usage = tokens::read(value)?,
            b"choices" => {
                let mut first = true;
                wire::list(value, |choice| {
                    if !std::mem::take(&mut first) {
                        return choice.skip();
                    }
                    wire::member(choice, b"message", |message| output.message(message))
                })?;
            }
            _ => value.skip()?,
        }
        Ok(())
    })?;
    Ok(output)
}

impl<'a> Output<'a> {
    /// Reads the message of a choice.
    fn message(&mut self, json: &mut Json<'a>) -> Read<()> {
        self.calls.clear();
        wire::object(json, |key, value| {
            match key {
                b"id" => self.message = wire::name(value)?,
                b"tool_calls" => {
                    wire::list(value, |call| {
                        wire::member(call, b"id", |id| {
                            self.calls.extend(wire::name(id)?);
                            Ok(())
                        })
                    })?;
                }
                _ => value.skip()?,
            }
            Ok(())
        })?;
        Ok(())
    }
}
