//! The calls of a run that have no answer yet, by name and arguments.

use std::collections::VecDeque;

use super::prelude::*;

/// Calls without an answer. Logs record a call before and after it, and its end may name no id.
#[derive(Default)]
pub(super) struct OpenCalls {
    started: TextMap<String, VecDeque<CallNumber>>,
    /// The calls with an id, which other events may start and end without it.
    announced: TextMap<String, VecDeque<CallNumber>>,
}

impl OpenCalls {
    pub(super) fn start(&mut self, form: String, call: CallNumber) {
        self.started.entry(form).or_default().push_back(call);
    }

    pub(super) fn announce(&mut self, form: String, call: CallNumber) {
        self.announced.entry(form).or_default().push_back(call);
    }

    /// Starts the oldest announced call of a form. Returns false if there is none.
    pub(super) fn start_announced(&mut self, form: &str, recording: &mut Recording<'_>) -> bool {
        let call = take(&mut self.announced, form, recording);
        call.map(|call| self.start(form.to_owned(), call)).is_some()
    }

    /// Removes the oldest call of a form, started calls first, and returns it.
    pub(super) fn take(&mut self, form: &str, recording: &mut Recording<'_>) -> Option<CallNumber> {
        take(&mut self.started, form, recording).or_else(|| take(&mut self.announced, form, recording))
    }

    /// Removes the started calls: later events are not their ends.
    pub(super) fn forget_started(&mut self) {
        self.started.clear();
    }
}

/// Removes the oldest call of a form and those before it that were answered otherwise.
fn take(
    calls: &mut TextMap<String, VecDeque<CallNumber>>,
    form: &str,
    recording: &mut Recording<'_>,
) -> Option<CallNumber> {
    let calls = calls.get_mut(form)?;
    std::iter::from_fn(|| calls.pop_front()).find(|call| !recording.steps.is_answered(*call))
}
