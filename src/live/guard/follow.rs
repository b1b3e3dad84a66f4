//! The runs of a session, each followed by a monitor.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::state::{GuardState, HookCall};
use crate::detect::{Detector, Finding};
use crate::live::Monitor;
use crate::trace::{
    Action, Actor, Arguments, Content, Digest, Event, Provenance, RouteStatus, RunSummary, Status, Step,
    StepInput, StepSink, UnknownReason,
};

const NO_ROUTE: &str = "sessions do not record a reference route";

/// Feeds the runs of a session to monitors as they are read.
pub(super) struct Follow<'g> {
    detectors: &'g [Arc<dyn Detector>],
    state: &'g GuardState,
    open: Option<Followed>,
    runs: Vec<Followed>,
}

/// A run with the state of its detectors.
#[derive(Debug)]
pub(super) struct Followed {
    /// The id or, for a run without one, `#` and its position; `None` at position 0.
    pub(super) id: Option<String>,
    pub(super) monitor: Monitor,
    /// The index of the first step; above 0 if the session is not read from its beginning.
    start: u64,
    /// The index of the next step.
    next: u64,
    turn: u64,
    /// The ids of calls, each with whether the call has been answered.
    calls: BTreeMap<String, bool>,
    actions: Vec<u64>,
    /// The latest answer to each combination of tool and arguments.
    answers: BTreeMap<Digest, (String, Status, Provenance)>,
}

impl<'g> Follow<'g> {
    pub(super) fn new(detectors: &'g [Arc<dyn Detector>], state: &'g GuardState) -> Self {
        Self { detectors, state, open: None, runs: Vec::new() }
    }

    fn start(&self) -> Followed {
        let routing = RouteStatus::Unknown(NO_ROUTE.into());
        let start = if self.runs.is_empty() { self.state.before } else { 0 };
        Followed {
            id: None,
            monitor: Monitor::open(self.detectors, &routing),
            start,
            next: start,
            turn: 0,
            calls: BTreeMap::new(),
            actions: Vec::new(),
            answers: BTreeMap::new(),
        }
    }

    /// Returns the runs. Calls known only from hooks are appended to the first.
    pub(super) fn finish(mut self) -> Vec<Followed> {
        if self.runs.is_empty() {
            self.runs.push(self.start());
        }
        let is_known = |recent: &HookCall| {
            self.runs.iter().any(|run| recent.id.as_deref().is_some_and(|id| run.has(id)))
        };
        let missing: Vec<&HookCall> = self.state.recent.iter().filter(|recent| !is_known(recent)).collect();
        if let Some(run) = self.runs.first_mut() {
            for recent in missing {
                run.act(&recent.action(), Actor::Agent, run.turn.saturating_add(1));
            }
        }
        self.runs
    }
}

impl StepSink for Follow<'_> {
    fn begin(&mut self, position: u64, _routing: &RouteStatus) {
        let id = (position > 0).then(|| format!("#{position}"));
        self.open = Some(Followed { id, ..self.start() });
    }

    fn step(&mut self, step: &Step<'_>) {
        let state = self.state;
        let Some(run) = &mut self.open else { return };
        let Event::Action(action) = step.event() else {
            run.observe(step.input());
            return;
        };
        let id = action.call_id.unwrap_or_default();
        if state.blocked.iter().any(|blocked| blocked == id) {
            run.next = run.next.saturating_add(1);
            return;
        }
        let is_open = action.reason == Some(UnknownReason::Unanswered);
        if !is_open {
            run.calls.insert(id.to_owned(), true);
            run.note(action);
            run.actions.push(run.next);
            run.observe(step.input());
            return;
        }
        run.calls.insert(id.to_owned(), false);
        match state.recent.iter().find(|recent| recent.id.as_deref() == Some(id)) {
            Some(recent) => run.act(&recent.action(), step.actor(), step.turn()),
            None => run.next = run.next.saturating_add(1),
        }
    }

    fn end(&mut self, ending: RunSummary) {
        if let Some(mut run) = self.open.take() {
            run.id = ending.metadata().id.clone().or(run.id);
            self.runs.push(run);
        }
    }

    fn abandon(&mut self) {
        self.open = None;
    }
}

impl HookCall {
    fn action(&self) -> Action<'_> {
        let mut action = Action::new(&self.tool).answered(self.status, &self.text);
        action.arguments = Content::Present(Arguments::from_json(&self.input));
        action.call_id = self.id.as_deref();
        action
    }
}

/// Returns a digest of the tool and arguments of a call.
fn key(action: &Action<'_>) -> Digest {
    let arguments = match &action.arguments {
        Content::Present(arguments) => arguments.digest(),
        _ => Digest::of_no_arguments(),
    };
    Digest::of_text(action.name).and(arguments)
}

impl Followed {
    fn observe(&mut self, input: StepInput<'_>) {
        self.turn = input.turn.unwrap_or(self.turn);
        // Cannot fail: the numbers increase, and readers emit finite progress.
        let _ = self.monitor.observe(input.at(self.next));
        self.next = self.next.saturating_add(1);
    }

    fn act(&mut self, action: &Action<'_>, actor: Actor, turn: u64) {
        self.note(action);
        self.actions.push(self.next);
        self.observe(StepInput::action(actor, action.clone()).turn(turn));
    }

    fn note(&mut self, action: &Action<'_>) {
        if let Some(text) = action.observation.present() {
            self.answers.insert(key(action), (text.to_str().into_owned(), action.status, action.provenance));
        }
    }

    pub(super) fn has(&self, id: &str) -> bool {
        self.calls.contains_key(id)
    }

    pub(super) fn open_calls(&self) -> impl Iterator<Item = &str> {
        self.calls.iter().filter(|(id, answered)| !**answered && !id.is_empty()).map(|(id, _)| id.as_str())
    }

    /// Returns true if the session file has the answer to this call.
    pub(super) fn is_answered(&self, id: Option<&str>) -> bool {
        id.and_then(|id| self.calls.get(id)).copied().unwrap_or_default()
    }

    /// Returns the number of steps, including the calls that the monitor skips: blocked and unanswered ones.
    pub(super) fn steps(&self) -> u64 {
        self.next - self.start
    }

    /// Returns the index of the last action; 0 if there is none.
    pub(super) fn last_action(&self) -> u64 {
        self.actions.last().copied().unwrap_or_default()
    }

    pub(super) fn actions_after(&self, step: u64) -> u64 {
        self.actions.iter().filter(|action| **action > step).count() as u64
    }

    /// Returns all findings, as if the run were over.
    pub(super) fn findings(&self) -> Vec<Finding> {
        self.monitor.peek().iter().flat_map(|(_, verdict)| verdict.findings().to_vec()).collect()
    }

    /// Adds a call, assuming that it gets the latest answer to an equal call. Returns the open finding that the
    /// call extends, if any. Adds nothing if no equal call was answered.
    pub(super) fn would_go_on<'f>(&mut self, call: &HookCall, open: &'f [Finding]) -> Option<&'f Finding> {
        let action = call.action();
        let (text, status, provenance) = self.answers.get(&key(&action))?.clone();
        let action = action.answered(status, &text).provenance(provenance);
        self.observe(StepInput::action(Actor::Agent, action).turn(self.turn.saturating_add(1)));
        let then = self.monitor.open_findings();
        open.iter().find(|finding| {
            then.iter().any(|grown| grown.detector == finding.detector && grown.first <= finding.last)
        })
    }
}
