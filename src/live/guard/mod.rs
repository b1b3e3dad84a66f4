//! Watches the growing session of a coding agent and reports each finding once.

mod follow;
mod hook;
mod state;

use std::sync::Arc;

use follow::{Follow, Followed};
pub use hook::Hook;
use hook::Moment;
pub use state::GuardState;
use state::push;

use crate::detect::{Detector, Finding, check_ids};
use crate::error::{Error, Result};
use crate::read::{ReadOptions, read_slice};

/// The approximate number of bytes that remain to be read after the offset has moved forward.
const WINDOW: usize = 1 << 19;

/// The offset moves forward if more bytes than this remain. Each hook call takes longer with a larger value;
/// the target is 20 ms in a session of 50 MB.
const LARGEST_WINDOW: usize = WINDOW + WINDOW / 2;

/// Watches the session of a coding agent: warns its model at most once about each finding, and can block calls
/// that extend a finding.
///
/// An agent calls a [`Hook`] before and after each tool call and at the end of its turn. [`Guard::advise`]
/// reads the latest part of the session file and returns [`Advice`]. Agents write that file with a delay, so
/// `advise` adds the call that the hook reports if it is not in the file. Blocked calls are not judged and
/// therefore never cause a finding.
///
/// The caller keeps a [`GuardState`] for each session between calls. The `wrongturn guard` command is built
/// on this type. For a session without hooks, [`Guard::watch`] returns the new findings.
///
/// ```
/// use wrongturn::{default_detectors, live::{Guard, GuardState, Hook}};
///
/// let guard = Guard::new(default_detectors())?.block_after(2);
/// let mut state = GuardState::default();
/// let mut advice = Vec::new();
/// for number in 0..6 {
///     // The session file is empty so far: everything comes from the hooks.
///     for event in ["PreToolUse", "PostToolUse"] {
///         let hook = format!(
///             r#"{{"hook_event_name": "{event}", "session_id": "s", "tool_name": "Bash", "tool_use_id": "c{number}",
///                 "tool_input": {{"command": "make"}}, "tool_response": {{"stdout": "", "stderr": "no rule"}}}}"#
///         );
///         let hook = Hook::read(hook.as_bytes())?;
///         let answer = hook.answer(&guard.advise(&mut state, &hook, b""));
///         advice.push(answer.is_some());
///         if answer.is_some_and(|answer| answer.to_string().contains("deny")) {
///             break;
///         }
///     }
/// }
/// // The warning comes after the third call; two more calls run, and the sixth is blocked.
/// assert_eq!(advice, [false, false, false, false, false, true, false, false, false, false, true]);
/// # Ok::<(), wrongturn::Error>(())
/// ```
#[derive(Debug)]
pub struct Guard {
    detectors: Vec<Arc<dyn Detector>>,
    block_after: Option<u64>,
}

/// The decision of a guard. [`Hook::answer`] writes it in the protocol of the agent.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Advice {
    /// No warning, and the call may run.
    None,
    /// A finding that has not been reported before. At the end of a turn, the run is judged as if it were
    /// over, which may give several.
    Warn(Vec<Finding>),
    /// The call would extend a reported finding, and is blocked.
    Block(Box<Finding>),
}

impl Advice {
    /// Returns the findings that caused the warning or the block.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        match self {
            Self::None => &[],
            Self::Warn(findings) => findings,
            Self::Block(finding) => std::slice::from_ref(finding),
        }
    }

    /// Returns the advice as a sentence for the model.
    pub(super) fn text(&self) -> Option<String> {
        let end = match self {
            Self::None => return None,
            Self::Warn(_) => "Change the approach instead of repeating it",
            Self::Block(_) => {
                "The call was blocked because it would continue this pattern. Change the approach"
            }
        };
        let named = |finding: &Finding| format!("{} [{}]", finding.message.trim_end_matches('.'), finding.id);
        let findings: Vec<String> = self.findings().iter().map(named).collect();
        Some(format!("wrongturn: {}. {end}.", findings.join("; ")))
    }
}

impl Guard {
    /// Creates a guard that warns but never blocks.
    ///
    /// # Errors
    /// Same as [`Monitor::new`](crate::Monitor::new).
    pub fn new(detectors: Vec<Arc<dyn Detector>>) -> Result<Self> {
        check_ids(&detectors)?;
        Ok(Self { detectors, block_after: None })
    }

    /// Blocks a call that repeats an earlier one and extends a reported finding, if at least this many
    /// actions have followed the warning.
    #[must_use]
    pub fn block_after(mut self, actions: u64) -> Self {
        self.block_after = Some(actions);
        self
    }

    /// Returns the advice for this hook. `session` is the content of the session file from
    /// [`GuardState::offset`] to the end. The first part of a long session is not judged: its steps are only counted.
    #[must_use]
    pub fn advise(&self, state: &mut GuardState, hook: &Hook, session: &[u8]) -> Advice {
        if hook.moment == Moment::Other {
            return Advice::None;
        }
        if let (Moment::AfterCall, Some(call)) = (hook.moment, &hook.call) {
            state.add(call);
        }
        let call = hook.call.as_ref();
        let session = advance(state, whole_lines(session));
        let mut runs = self.follow(state, session);
        let of_call = |run: &Followed| call.and_then(|call| call.id.as_deref()).is_some_and(|id| run.has(id));
        let at = runs.iter().position(of_call).unwrap_or_default();
        if hook.moment == Moment::AtEnd {
            let all: Vec<Finding> =
                runs.iter().flat_map(|run| state.report_new(run, run.findings())).collect();
            return if all.is_empty() { Advice::None } else { Advice::Warn(all) };
        }
        let Some(run) = runs.get_mut(at) else { return Advice::None };
        let open = run.monitor.open_findings();
        if hook.moment == Moment::BeforeCall
            && let (Some(after), Some(call)) = (self.block_after, call)
            && let Some(finding) = run.would_go_on(call, &open)
            && let Some(known) = state.known(run, finding)
            && run.actions_after(known.at) >= after
        {
            let finding = Finding { id: known.id.clone(), ..finding.clone() };
            if let Some(id) = &call.id {
                push(&mut state.blocked, id.clone());
            }
            return Advice::Block(Box::new(finding));
        }
        let new = state.new_findings(run, open);
        match new.into_iter().next() {
            Some(finding) if hook.can_warn() => {
                state.report(run, &finding);
                Advice::Warn(vec![finding])
            }
            _ => Advice::None,
        }
    }

    /// Returns the confirmed findings of a session that have not been reported yet, by run and in the order
    /// of the detectors, each with the id of its run if the session has several. `session` is the content of the
    /// session file from [`GuardState::offset`] to the end.
    #[must_use]
    pub fn watch(&self, state: &mut GuardState, session: &[u8]) -> Vec<(Option<String>, Finding)> {
        let session = whole_lines(session);
        let runs = self.follow(state, session);
        let several = runs.len() > 1;
        let mut all = Vec::new();
        for run in &runs {
            let id = run.id.clone().filter(|_| several);
            let new = state.report_new(run, run.monitor.confirmed());
            all.extend(new.into_iter().map(|finding| (id.clone(), finding)));
        }
        advance(state, session);
        all
    }

    fn follow(&self, state: &mut GuardState, session: &[u8]) -> Vec<Followed> {
        let (runs, error) = read(&self.detectors, state, session);
        state.error = error;
        state.forget_answered(&runs);
        runs
    }
}

/// Moves the offset forward if more than [`LARGEST_WINDOW`] bytes remain, and returns the lines after it. The steps of
/// earlier lines are counted but not judged.
fn advance<'s>(state: &mut GuardState, session: &'s [u8]) -> &'s [u8] {
    if session.len() <= LARGEST_WINDOW || !is_lines(session) {
        return session;
    }
    let (gone, rest, runs) = complete(&state.of_file(), session, line_end(session, session.len() - WINDOW));
    if state.offset == 0 {
        let first = gone.split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default();
        state.head = String::from_utf8_lossy(first).into_owned();
    }
    // Later reads begin with the head again, so its steps are not counted here.
    let count = |runs: &[Followed]| runs.first().map_or(0, Followed::steps);
    let in_head = count(&read(&[], &GuardState::default(), state.head.as_bytes()).0);
    state.before = state.before.saturating_add(count(&runs).saturating_sub(in_head));
    state.offset = state.offset.saturating_add(gone.len() as u64);
    state.forget_answered(&runs);
    rest
}

/// Splits the session at `cut`, or after the last later line that answers a call before `cut`. Returns both parts
/// and the runs of the first.
fn complete<'s>(
    state: &GuardState,
    session: &'s [u8],
    mut cut: usize,
) -> (&'s [u8], &'s [u8], Vec<Followed>) {
    // The added lines may hold calls with later answers, so this repeats. Four rounds are nearly always enough.
    let mut rounds = 0;
    loop {
        let (gone, rest) = session.split_at_checked(cut).unwrap_or_default();
        let (runs, _) = read(&[], state, gone);
        let open: Vec<_> =
            runs.iter().flat_map(Followed::open_calls).map(memchr::memmem::Finder::new).collect();
        let (mut end, mut answered) = (cut, cut);
        for line in rest.split_inclusive(|byte| *byte == b'\n').take(64) {
            end += line.len();
            if open.iter().any(|id| id.find(line).is_some()) {
                answered = end;
            }
        }
        if answered == cut || rounds == 4 {
            return (gone, rest, runs);
        }
        (cut, rounds) = (answered, rounds + 1);
    }
}

/// Returns the runs of a part of the session, and the first error.
fn read(
    detectors: &[Arc<dyn Detector>],
    state: &GuardState,
    session: &[u8],
) -> (Vec<Followed>, Option<String>) {
    let mut follow = Follow::new(detectors, state);
    // The first line identifies the format, so it precedes each part unless it is very long.
    let has_head = state.offset > 0 && state.head.len() < WINDOW;
    let with_head = has_head.then(|| [state.head.as_bytes(), session].concat());
    let summary = read_slice(with_head.as_deref().unwrap_or(session), &ReadOptions::default(), &mut follow);
    // The line of an error counts from the start of this part, so only the message is kept.
    (follow.finish(), summary.errors.first().map(Error::message))
}

/// Returns the session without its last line if that is incomplete.
fn whole_lines(session: &[u8]) -> &[u8] {
    let end = if is_lines(session) { line_end(session, session.len()) } else { session.len() };
    session.get(..end).unwrap_or_default()
}

/// Returns true if the first line is a complete JSON value, as in JSON Lines.
fn is_lines(session: &[u8]) -> bool {
    let mut lines = session.split_inclusive(|byte| *byte == b'\n');
    lines.next().is_some_and(|first| {
        first.ends_with(b"\n") && serde_json::from_slice::<serde::de::IgnoredAny>(first).is_ok()
    })
}

/// Returns the end of the last line that is complete before `place`; 0 if there is none.
fn line_end(bytes: &[u8], place: usize) -> usize {
    let before = bytes.get(..place).unwrap_or_default();
    memchr::memrchr(b'\n', before).map_or(0, |at| at + 1)
}
