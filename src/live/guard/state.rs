//! The state of a guard between two calls.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::follow::Followed;
use crate::detect::Finding;
use crate::error::{Error, Result};
use crate::trace::Status;

/// The version of states that this crate writes, and the only one it reads.
const VERSION: u32 = 1;

/// The maximum length of each list: reported findings, blocked calls, and calls that the file lacks.
const MOST: usize = 256;

/// The state of a [`Guard`](super::Guard) for one session between two calls. Its JSON holds an offset into the session
/// file, the file's first line, the reported findings, the ids of blocked calls, and the calls that the file
/// lacks, with their answers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct GuardState {
    #[serde(deserialize_with = "supported_version")]
    version: u32,
    /// The position in bytes from which to read the session file.
    pub(super) offset: u64,
    /// The number of steps before `offset`, without those of `head`, which is read each time.
    pub(super) before: u64,
    /// The first line of the file, which readers need to recognise the format; empty until the offset moves.
    pub(super) head: String,
    reported: Vec<Reported>,
    pub(super) blocked: Vec<String>,
    /// Calls from hooks that the session file lacks.
    pub(super) recent: Vec<HookCall>,
    #[serde(skip)]
    pub(super) error: Option<String>,
}

/// Reads a version, and refuses any but [`VERSION`].
fn supported_version<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<u32, D::Error> {
    let version = u32::deserialize(deserializer)?;
    if version == VERSION {
        return Ok(version);
    }
    Err(D::Error::custom(format!("expected version {VERSION}, got version {version}")))
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Reported {
    pub(super) run: Option<String>,
    pub(super) id: String,
    pub(super) detector: String,
    pub(super) first: u64,
    pub(super) last: u64,
    /// The index of the last action when it was reported.
    pub(super) at: u64,
}

/// A call, as a hook reports it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct HookCall {
    pub(super) id: Option<String>,
    pub(super) tool: String,
    pub(super) input: String,
    /// The answer and its status; meaningless in a hook that runs before the call.
    pub(super) text: String,
    pub(super) status: Status,
}

impl Default for GuardState {
    fn default() -> Self {
        Self {
            version: VERSION,
            offset: 0,
            before: 0,
            head: String::new(),
            reported: Vec::new(),
            blocked: Vec::new(),
            recent: Vec::new(),
            error: None,
        }
    }
}

impl GuardState {
    /// Parses a state from JSON.
    ///
    /// # Errors
    /// [`ErrorKind::Trace`](crate::ErrorKind::Trace) if it is not a state or has another version.
    pub fn read(json: &[u8]) -> Result<Self> {
        serde_json::from_slice(json)
            .map_err(|error| Error::trace(format!("expected the state of a session: {error}")))
    }

    /// Returns the position, in bytes, from which the session file is needed. If the file is shorter, start
    /// with a new state.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the first error in the part of the session that was read last.
    #[must_use]
    pub fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// Returns a state that holds only the offset and the first line of the file.
    pub(super) fn of_file(&self) -> Self {
        Self { offset: self.offset, head: self.head.clone(), ..Self::default() }
    }

    /// Removes the calls from hooks whose answers are in one of the runs.
    pub(super) fn forget_answered(&mut self, runs: &[Followed]) {
        self.recent.retain(|recent| !runs.iter().any(|run| run.is_answered(recent.id.as_deref())));
    }

    /// Adds a call with its answer, unless a call with its id is known.
    pub(super) fn add(&mut self, call: &HookCall) {
        if call.id.is_none() || self.recent.iter().all(|recent| recent.id != call.id) {
            push(&mut self.recent, call.clone());
        }
    }

    /// Returns the reported finding of the same run and detector that has the same id or overlaps this one.
    pub(super) fn known(&mut self, run: &Followed, finding: &Finding) -> Option<&mut Reported> {
        self.reported.iter_mut().find(|known| {
            known.run == run.id
                && known.detector == finding.detector
                && (known.id == finding.id || finding.first <= known.last && known.first <= finding.last)
        })
    }

    /// Returns the findings that have not been reported, and extends the stored ranges of the others.
    pub(super) fn new_findings(&mut self, run: &Followed, mut findings: Vec<Finding>) -> Vec<Finding> {
        findings.retain(|finding| {
            let known = self.known(run, finding);
            let is_new = known.is_none();
            if let Some(known) = known {
                known.last = known.last.max(finding.last);
            }
            is_new
        });
        findings
    }

    /// Returns the findings that have not been reported, and marks them as reported.
    pub(super) fn report_new(&mut self, run: &Followed, findings: Vec<Finding>) -> Vec<Finding> {
        let new = self.new_findings(run, findings);
        for finding in &new {
            self.report(run, finding);
        }
        new
    }

    pub(super) fn report(&mut self, run: &Followed, finding: &Finding) {
        let reported = Reported {
            run: run.id.clone(),
            id: finding.id.clone(),
            detector: finding.detector.to_string(),
            first: finding.first,
            last: finding.last,
            at: run.last_action(),
        };
        push(&mut self.reported, reported);
    }
}

/// Adds an item, and drops the oldest if the list is full.
pub(super) fn push<T>(list: &mut Vec<T>, item: T) {
    if list.len() >= MOST {
        list.remove(0);
    }
    list.push(item);
}
