//! The run of one agent, and how its steps are emitted.

use std::borrow::Cow;

use crate::read::common;
use crate::trace::{Actor, Answer, Assembler, Call, Content, Metadata, SpanId, UnknownReason, Usage};

/// The label with the span that identifies a run.
pub(crate) const SPAN_LABEL: &str = "span_id";

/// The prefix of the labels of a run that are attributes of the service that sent its spans.
pub(crate) const RESOURCE_LABEL: &str = "resource.";

/// The run of one agent within a trace.
#[derive(Debug, Clone)]
pub(crate) struct AgentRun {
    /// The trace id; for further agents of the trace, with a suffix.
    pub(crate) id: String,
    pub(super) metadata: Metadata,
    pub(super) steps: Vec<SpanStep>,
}

/// A step of a run, with its span.
#[derive(Debug, Clone)]
pub(crate) struct SpanStep {
    pub(crate) turn: u64,
    pub(crate) time: Option<u64>,
    pub(crate) span: Option<SpanId>,
    pub(crate) usage: Usage,
    pub(crate) event: SpanEventStep,
}

/// The event of a step.
#[derive(Debug, Clone)]
pub(crate) enum SpanEventStep {
    Message(Actor, String),
    Action(Box<SpanAction>),
}

/// An action with its answer, if any.
#[derive(Debug, Clone)]
pub(crate) struct SpanAction {
    pub(crate) id: Option<String>,
    pub(crate) name: String,
    pub(crate) arguments: Content<String>,
    pub(crate) answer: Option<Answer<'static>>,
}

fn is_open(answer: &Answer<'_>) -> bool {
    answer.reason == Some(UnknownReason::Unanswered)
}

impl AgentRun {
    /// Drops the last turn if one of its calls is unanswered.
    pub(crate) fn leave_out_waiting(&mut self) {
        let Some(last) = self.steps.iter().map(|step| step.turn).max() else { return };
        let waits = |step: &SpanStep| {
            step.turn == last
                && matches!(&step.event, SpanEventStep::Action(action) if action.answer.as_ref().is_none_or(is_open))
        };
        if self.steps.iter().any(waits)
            && let Some(first) = self.steps.iter().position(|step| step.turn == last)
        {
            self.steps.truncate(first);
        }
    }

    pub(crate) fn metadata(&self) -> Metadata {
        self.metadata.clone()
    }

    /// Adds the steps to an assembler that has begun the run.
    pub(crate) fn put<'r>(&'r self, into: &mut Assembler<'r>) {
        for step in &self.steps {
            match &step.event {
                SpanEventStep::Message(actor, text) => {
                    into.message_at(*actor, step.turn, &**text, step.time);
                    into.spent(step.turn, Some(step.usage));
                }
                SpanEventStep::Action(action) => {
                    let mut call =
                        Call::new(step.turn, action.id.as_deref().map(Cow::Borrowed), &*action.name);
                    call.time = step.time;
                    call.span = step.span;
                    call.usage = (!step.usage.is_empty()).then(|| Box::new(step.usage));
                    call.arguments = match &action.arguments {
                        Content::Present(text) => common::arguments_of_text(Cow::Borrowed(text)),
                        Content::Absent => Content::Absent,
                        Content::NotRecorded => Content::NotRecorded,
                    };
                    let number = into.call(call);
                    if let Some(answer) = &action.answer {
                        into.answer_call(number, answer.borrowed());
                    }
                }
            }
        }
    }
}
