//! Attempts: each call with its outcome, which a later poll may deliver.

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock};

use super::failure_phrases::{KILLED, NO_SESSION};
use super::phrase_search::Hints;
use super::{Call, Does, Facts, Failure, Part, Shown, SkipRules, facts, said, words};
use crate::trace::{
    Action, Actor, Actors, Arguments, Digest, DigestMap, DigestSet, Event, Status, Step, UnknownReason,
    first_chars,
};

/// A call with its outcome.
#[derive(Debug, Clone)]
pub(crate) struct Attempt {
    /// The step and turn of the call.
    pub(crate) step: u64,
    pub(crate) turn: u64,
    /// The step with the outcome; differs from `step` if the call was polled.
    pub(crate) outcome_step: u64,
    /// Whether it is a poll whose original call is unknown.
    pub(crate) polls: bool,
    /// The facts of the call.
    pub(crate) call: Arc<Facts>,
    /// The facts of its answer.
    pub(crate) answer: Arc<Facts>,
    /// Equal for calls with the same result; `None` if the answer is not known.
    pub(crate) outcome: Option<Digest>,
    /// Whether it changed something that no equal call is known to have changed before. A write whose outcome is
    /// not known counts each time.
    pub(crate) changes: bool,
    /// Why it may be reasonable to make the same call again; `None` if it is not.
    pub(crate) excuse: Option<Excuse>,
    /// The number of consecutive excused attempts at this call with this outcome before this one, and the step of the
    /// first.
    pub(crate) excused: u64,
    pub(crate) excused_since: Option<u64>,
    /// Whether the source pairs no answer with the call: the message after the call may then be the answer.
    pub(crate) unpaired: bool,
}

/// Why it may be reasonable to make the same call again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Excuse {
    Transient,
    /// The answer says that something is not over yet, or the call itself waits.
    Waiting,
    /// The call asks whether something is over, and it is not.
    Polling,
}

impl Attempt {
    pub(crate) fn failure(&self) -> Option<&Failure> {
        self.answer.failure.as_deref()
    }

    /// Returns true if the failure is transient by the default rules, whether or not it excuses another try.
    pub(crate) fn is_transient(&self) -> bool {
        self.answer.transient.get() == Some(&true)
    }

    /// Returns true if a later poll brought the outcome.
    pub(crate) fn was_polled(&self) -> bool {
        self.outcome_step != self.step
    }
}

/// Pairs calls that were left running with the polls that bring their outcomes. Remembers at most eight running calls.
#[derive(Debug, Default)]
pub(crate) struct Attempts {
    actors: Actors,
    skip_rules: Arc<SkipRules>,
    /// The number of actions, and whether the arguments of any were recorded.
    pub(crate) actions: u64,
    pub(crate) comparable: bool,
    running: VecDeque<Running>,
    /// The keys of the calls that changed something.
    changes: DigestSet,
    /// The number of the latest action that waits, polls or is left running, and of the latest look with each key.
    waited: u64,
    looked: DigestMap<u64>,
    /// Excused attempts by key: the latest outcome, how many in succession had it, and the step of the first.
    excused: DigestMap<(Digest, u64, u64)>,
    /// The latest action, if it was not answered, and the form in which findings show it.
    unpaired: Option<(Attempt, Shown)>,
}

#[derive(Debug)]
struct Running {
    step: u64,
    turn: u64,
    call: Arc<Facts>,
    session: Option<String>,
}

impl Attempts {
    /// Maximum number of calls left running that are remembered.
    const RUNNING: usize = 8;
    /// Maximum number of look-ups that are remembered.
    const LOOKED: usize = 16;

    /// Creates an empty record of the attempts of these actors.
    pub(crate) fn new(actors: Actors, skip_rules: &Arc<SkipRules>) -> Self {
        Self { actors, skip_rules: Arc::clone(skip_rules), ..Self::default() }
    }

    /// Returns true if there were actions, but the arguments of none were recorded.
    pub(crate) fn are_incomparable(&self) -> bool {
        self.actions > 0 && !self.comparable
    }

    /// Returns the attempt that a step completes. `None` for a message, an action of other actors, a call that is still
    /// running, and a call that never ran.
    pub(crate) fn observe(&mut self, step: &Step<'_>) -> Option<Attempt> {
        let (action, digests) = step.digested(self.actors)?;
        self.actions += 1;
        self.comparable |= digests.arguments.is_some();
        self.unpaired = None;
        let answer = facts(step)?;
        let failed = answer.failure.is_some();
        let is_poll = self.skip_rules.is_exempt(action, &digests);
        if !is_poll && !failed && answer.state == AnswerState::Running {
            self.running.truncate(Self::RUNNING - 1);
            let (step, turn, session) = (step.index(), step.turn(), session(action));
            self.running.push_front(Running { step, turn, call: answer, session });
            self.waited = self.actions;
            return None;
        }
        if answer.state == AnswerState::NeverRan {
            return None;
        }
        // A poll may fail by itself, which says nothing about the command.
        let is_unknown = answer.failure.as_ref().is_some_and(|failure| NO_SESSION.is_match(&failure.line));
        let brings = is_poll && action.status != Status::Unknown && !is_unknown;
        let brought = if brings { self.brought_by(action) } else { None };
        let polls = is_poll && brought.is_none();
        let excuse = if polls && !failed && !is_final(action) {
            Some(Excuse::Polling)
        } else if failed
            && self.skip_rules.is_transient(action, &answer.transient)
            && !is_time_limit(&answer, action)
        {
            Some(Excuse::Transient)
        } else {
            (answer.state == AnswerState::Waiting).then_some(Excuse::Waiting)
        };
        if matches!(excuse, Some(Excuse::Polling | Excuse::Waiting)) {
            self.waited = self.actions;
        }
        // A file is not expected to change by itself.
        let may_change = failed || answer.call.target.is_none();
        let looked = answer.call.key.filter(|_| may_change && answer.call.does == Does::Read);
        if self.looked.len() == Self::LOOKED {
            self.looked.clear();
        }
        let looked = looked.and_then(|key| self.looked.insert(key, self.actions));
        // A look that is repeated after a wait may show what others have done meanwhile.
        let excuse = excuse.or(looked.filter(|looked| *looked < self.waited).map(|_| Excuse::Waiting));
        let own = Running { step: step.index(), turn: step.turn(), call: Arc::clone(&answer), session: None };
        let Running { step: origin, turn, call, .. } = brought.unwrap_or(own);
        let outcome = answer.outcome;
        let (mut excused, mut excused_since) = (0, None);
        if let (Some(_), Some(key), Some(outcome)) = (excuse, call.call.key, outcome) {
            let row = self.excused.entry(key).or_insert((outcome, 0, step.index()));
            if row.0 == outcome {
                (excused, excused_since) = (row.1, (row.1 > 0).then_some(row.2));
                row.1 += 1;
            } else {
                *row = (outcome, 1, step.index());
            }
        }
        // A call that succeeds without an excuse ends the series of excused attempts.
        if let Some(key) = call.call.key.filter(|_| excuse.is_none() && !failed) {
            self.excused.remove(&key);
        }
        let writes = call.call.does == Does::Write && !failed;
        let changes =
            writes && (outcome.is_none() || call.call.key.is_none_or(|key| self.changes.insert(key)));
        let outcome_step = step.index();
        let unpaired = action.reason == Some(UnknownReason::Unanswered) && action.observation.is_absent();
        let attempt = Attempt {
            step: origin,
            turn,
            outcome_step,
            polls,
            call,
            answer,
            outcome,
            changes,
            excuse,
            excused,
            excused_since,
            unpaired,
        };
        self.unpaired = unpaired.then(|| (attempt.clone(), Shown::with(&attempt.call, action)));
        Some(attempt)
    }

    /// Returns true if a call that was made after the step `after` and has a `wanted` part is still running, and the
    /// agent has only waited since.
    pub(crate) fn ends_running(&self, wanted: impl Fn(&Part) -> bool, after: u64) -> bool {
        let runs = |run: &Running| run.step > after && run.call.call.parts.iter().any(&wanted);
        self.waited == self.actions && self.running.iter().any(runs)
    }

    /// Returns the unanswered call that this message answers, with its outcome, and the call as findings show it. The
    /// message must come from the user or the environment and directly follow the call.
    pub(crate) fn answered(&mut self, step: &Step<'_>) -> Option<(Attempt, Shown)> {
        let Event::Message(text) = step.event() else { return None };
        let (mut attempt, shown) = self.unpaired.take()?;
        attempt.outcome = Some(said(text, attempt.call.call.is_shell, || Digest::of_text(&text.to_str())));
        let is_direct = step.index() == attempt.outcome_step + 1 && !text.is_empty();
        (is_direct && matches!(step.actor(), Actor::User | Actor::Environment)).then_some((attempt, shown))
    }

    pub(crate) fn memory(&self) -> usize {
        (self.changes.len() + self.excused.len() + self.looked.len()) * 2 * size_of::<(Digest, u64)>()
            + self.running.len() * 1_024
    }

    /// Removes and returns the call whose outcome a poll brings: the latest call of the session that the poll's
    /// arguments name, or else the latest call without a session.
    fn brought_by(&mut self, poll: &Action<'_>) -> Option<Running> {
        let json = poll.arguments.as_ref().present().and_then(Arguments::json).unwrap_or_default();
        let named =
            |running: &Running| running.session.as_deref().is_some_and(|session| json.contains(session));
        let place = self.running.iter().position(named);
        self.running
            .remove(place.or_else(|| self.running.iter().position(|running| running.session.is_none()))?)
    }
}

/// Whether an answer is final, and if not, why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerState {
    /// The answer is final.
    Final,
    /// The call never ran: another one failed, or was answered first.
    NeverRan,
    Running,
    /// Something has not happened yet, or the call itself waits.
    Waiting,
}

/// Phrases in an answer that show its state, in lower case.
const RUNNING: [&str; 4] =
    ["still running", "running in the background", "running in background", "process running"];
const WAITING: [&str; 7] =
    ["queued", "in progress", "in_progress", "not ready", "not yet", "not finished", "not complete"];
const NEVER_RAN: [&str; 6] = [
    "sibling tool call errored",
    "cancelled: parallel tool call",
    "missing tool result in session history",
    "tool call skipped",
    "tool use skipped",
    "tool call cancelled",
];
/// The number of leading characters of an answer that are searched for these phrases.
const HEAD: usize = 600;

/// Parts of the phrases above, to skip most answers quickly.
static HINTS: LazyLock<Hints> = LazyLock::new(|| {
    let parts = "unning UNNING ueued rogress ot_ready kipped ncelled issing";
    Hints::new(parts.split(' ').chain(["ot ready", "ot yet", "ot finished", "ot complete", "ling tool"]))
});

impl AnswerState {
    pub(crate) fn of(call: &Call, action: &Action<'_>) -> Self {
        let is_waiting =
            || action.status != Status::Unknown && call.parts.iter().any(|part| waits(&part.program));
        let Some(answer) = action.observation.present() else {
            return match action.reason {
                Some(UnknownReason::Running) => Self::Running,
                _ if is_waiting() => Self::Waiting,
                _ => Self::Final,
            };
        };
        if action.status == Status::Unknown
            && action.reason != Some(UnknownReason::Unspecified)
            && !answer.is_empty()
        {
            return Self::Running;
        }
        if is_waiting() {
            return Self::Waiting;
        }
        let bytes = answer.spelling();
        let head = bytes.get(..bytes.len().min(HEAD + 100)).unwrap_or_default();
        if !HINTS.occur_in(head) {
            return Self::Final;
        }
        let head = answer.head(HEAD).to_lowercase();
        let says = |phrases: &[&str], chars: usize| {
            let part = first_chars(&head, chars);
            phrases.iter().any(|phrase| part.contains(phrase))
        };
        let reports = head.contains("running") && (head.contains("status") || head.contains("state"));
        if action.status != Status::Ok && says(&NEVER_RAN, 200) {
            Self::NeverRan
        } else if action.status == Status::Ok && says(&RUNNING, 300) && !is_final(action) {
            Self::Running
        } else if call.does == Does::Read && bytes.len() <= HEAD && (reports || says(&WAITING, HEAD)) {
            Self::Waiting
        } else {
            Self::Final
        }
    }
}

/// Returns true if a program or tool only waits: `sleep`, `wait_for_next_day`, `computer wait`.
fn waits(program: &str) -> bool {
    // Fast path: most programs do not wait.
    if !["wait", "leep"].iter().any(|part| program.contains(part)) {
        return false;
    }
    let program = program.to_ascii_lowercase();
    let all: Vec<&str> = words(&program).collect();
    matches!(
        all[..],
        ["sleep" | "wait"] | ["start", "sleep"] | ["wait", "for" | "until", ..] | [.., _, "wait"]
    )
}

/// Returns true if an answer says that its command has ended.
fn is_final(action: &Action<'_>) -> bool {
    let Some(answer) = action.observation.present() else { return false };
    let text = answer.to_str().to_lowercase();
    [
        "exit code",
        "exit_code",
        "exited with",
        "exit status",
        "<status>completed",
        "<status>failed",
        "<status>killed",
    ]
    .iter()
    .any(|phrase| text.contains(phrase))
}

/// Returns true if a command was stopped at a time limit. Only the timeout of a remote service is transient.
fn is_time_limit(answer: &Facts, action: &Action<'_>) -> bool {
    let says_so = |text: &str| ["timeout", "timed out"].iter().any(|phrase| text.contains(phrase));
    let answered =
        || action.observation.present().map_or_else(String::new, |answer| answer.head(300).to_lowercase());
    let is_stopped = |text: &str| if answer.call.is_shell { says_so(text) } else { KILLED.is_match(text) };
    answer.call.does == Does::Run
        && (action.error_type.is_some_and(|kind| says_so(&kind.to_lowercase())) || is_stopped(&answered()))
}

/// Returns the id of the session in which a command was left running: `session fast-lagoon`, `session ID 28895`.
fn session(action: &Action<'_>) -> Option<String> {
    let answer = action.observation.present()?.head(300).to_lowercase();
    let (_, rest) = answer.split_once("session")?;
    let rest = rest.strip_prefix("_id").or_else(|| rest.strip_prefix(" id")).unwrap_or(rest);
    let id: String = rest
        .trim_start_matches([' ', ':', '=', '"'])
        .chars()
        .take_while(|c| c.is_alphanumeric() || matches!(c, '-' | '_'))
        .collect();
    Some(id).filter(|id| !id.is_empty())
}
