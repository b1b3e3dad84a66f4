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
    /// Indexes of responses, by message id.
    by_message: BTreeMap<Cow<'a, str>, usize>,
    /// Indexes of responses, by call id.
    by_call: BTreeMap<Cow<'a, str>, usize>,
    /// By call id, in order: ids may repeat.
    executions: BTreeMap<Cow<'a, str>, VecDeque<Execution>>,
}

impl<'a> Measured<'a> {
    /// Reads the events of a sample.
    pub(in crate::read) fn of(events: Raw<'a>) -> Self {
        let mut measured = Self::default();
        for event in events.items().unwrap_or_default() {
            measured.event(&Members::from(event));
        }
        measured
    }

    fn event(&mut self, event: &Members<'a>) {
        let time = event.time("timestamp");
        match event.name("event").as_deref() {
            Some("tool") => {
                if let Some(id) = event.name("id") {
                    let end = event.time("completed");
                    let duration_ns = event
                        .get("working_time")
                        .and_then(time::of_seconds)
                        .or_else(|| end?.checked_sub(time?));
                    self.executions.entry(id).or_default().push_back(Execution { time, duration_ns });
                }
            }
            Some("model") => {
                let place = self.responses.len();
                let output = event.object("output");
                self.responses.push(Response { time, usage: output.usage("usage") });
                let choice = output.objects("choices").next();
                let message = choice.map(|choice| choice.object("message")).unwrap_or_default();
                if let Some(id) = message.name("id") {
                    self.by_message.entry(id).or_insert(place);
                }
                for id in message.objects("tool_calls").filter_map(|call| call.name("id")) {
                    self.by_call.entry(id).or_insert(place);
                }
            }
            _ => {}
        }
    }

    /// Returns the request time of the response with this message.
    pub(in crate::read) fn time_of_message(&self, id: &str) -> Option<u64> {
        self.responses.get(*self.by_message.get(id)?)?.time
    }

    /// Returns the tokens of the response with this message, or else with one of these calls.
    pub(in crate::read) fn tokens<'c>(
        &self,
        message: Option<&str>,
        mut calls: impl Iterator<Item = &'c str>,
    ) -> Option<Usage> {
        let by_message = message.and_then(|id| self.by_message.get(id));
        let place = by_message.or_else(|| calls.find_map(|id| self.by_call.get(id)))?;
        self.responses.get(*place)?.usage
    }

    /// Takes the next execution of a call with this id.
    pub(in crate::read) fn next_execution(&mut self, id: &str) -> Option<Execution> {
        self.executions.get_mut(id)?.pop_front()
    }
}
