//! Calls that stand in an input and were not read: counted without regard to its format, and reported.
//!
//! The count costs a second pass, which is taken only where what was read is suspicious: a run without a call, speakers
//! of no known role, answers without their calls, or few calls for so many bytes.

use std::collections::HashSet;
use std::hash::Hash;

use memchr::memmem;

use super::runs::Runs;
use super::{Format, ReadOptions, Window};
use crate::error::{Error, ErrorKind};
use crate::json::{Json, Kind, Raw, Read};
use crate::trace::{Actors, Digest, Ending, Event, Routing, Step, StepSink};

/// Keys of lists of calls, of single calls, and the types of objects that are calls. All but the last hold `tool` or
/// `function`.
const LISTS: [&str; 3] = ["tool_calls", "toolCalls", "tool_uses"];
const SINGLE: [&str; 2] = ["function_call", "functionCall"];
const KINDS: [&str; 8] = [
    "tool_use",
    "tool_call",
    "tool-call",
    "toolCall",
    "toolUse",
    "function_call",
    "functionCall",
    "custom_tool_call",
];

/// More bytes for each call than this are suspicious.
const BYTES_PER_CALL: u64 = 128 << 10;

/// What was read so far, as far as it can be suspicious.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tally {
    pub(super) runs: u64,
    pub(super) without_actions: u64,
    pub(super) actions: u64,
    /// Messages of speakers in no known role, and answers without a call.
    pub(super) strangers: u64,
    pub(super) passed_over: u64,
    pub(super) set_aside: bool,
}

impl Tally {
    /// Reports the calls among these bytes, which were read since, as far as there are more than were read.
    pub(super) fn report(self, bytes: &[u8], runs: &mut Runs<'_>) {
        let now = runs.tally();
        let actions = now.actions - self.actions;
        let is_suspicious = now.runs == self.runs
            || now.without_actions > self.without_actions
            || now.strangers > self.strangers
            || now.passed_over - self.passed_over > actions
            || bytes.len() as u64 / BYTES_PER_CALL > actions;
        if !is_suspicious || !runs.counts_unread || now.set_aside || now.faults_since(&self) || !may_hold_calls(bytes) {
            return;
        }
        let found = Found::in_bytes(bytes);
        if let Some(unread) = found.count().checked_sub(actions).filter(|unread| *unread > 0) {
            let first = found.first_besides(&ids_read(bytes, runs.format(), runs.options));
            runs.fail_unread(unread, &first);
        }
    }
}
