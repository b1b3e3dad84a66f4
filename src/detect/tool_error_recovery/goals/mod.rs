//! Goals: groups of failed attempts at the same thing. At the end of a run, each is reached, open or neither.

mod findings;
mod goal;

use std::cell::LazyCell;
use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

pub(super) use goal::End;
use goal::{Goal, GoalState};

use super::OpenReason;
use super::purpose::{
    LINES, are_alike, arguments, content, files_in_diff, finds_files, key, key_of, share_word, subject,
};
use crate::detect::shared::{
    Attempt, Does, FailureKind, Part, Phrases, Shown, found_nothing, identifiers, installed, is_search,
    newly_installed,
};
use crate::trace::{Action, Digest, DigestMap, DigestSet, Text};

/// The goals of a run.
#[derive(Debug, Default)]
pub(super) struct Goals {
    pub(super) min_attempts: u64,
    all: Vec<Goal>,
    waiting: usize,
    /// Indices into `all`, by key.
    by_key: DigestMap<Vec<usize>>,
    /// The names of the files that were changed.
    changed: DigestSet,
    /// The keys of look-ups that were answered.
    looked_up: DigestSet,
    /// The keys of structured calls that succeeded since a file was edited or a command line changed something.
    done: DigestSet,
    /// The keys of command lines that succeeded, and of calls that wrote.
    passed: DigestSet,
    /// The step of the latest new look-up.
    new_look: Option<u64>,
    /// The step of the latest hand-over to a human, and that of the latest new look-up before it.
    handed_over: Option<(u64, Option<u64>)>,
    /// The step of the agent's latest English message while a failure was not admitted.
    spoke: Option<u64>,
    /// The step of the agent's latest message that admits a failure.
    admitted: Option<u64>,
    /// Whether a tool call has failed since a failure was last admitted. Shell calls, look-ups and calls of unknown
    /// tools do not count.
    unadmitted: bool,
    /// The steps of the unbroken series of failures at the end of the run so far, and their turns. A failed look-up breaks
    /// it.
    tail: Vec<u64>,
    tail_turns: Vec<u64>,
    /// Whether the agent has a shell.
    has_shell: bool,
}

/// Words and stems with which an agent admits a failure, in lower case.
#[rustfmt::skip]
static ADMITS: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(["sorry", "apolog", "unfortunat", "unable", "cannot",
    "can't", "can’t", "couldn't", "couldn’t", "could not", "wasn't", "wasn’t", "was not", "won't", "won’t", "didn't",
    "didn’t", "did not", "error", "fail", "issue", "problem", "insufficient", "refus", "reject",
    "declin", "unsuccessful", "block", "missing", "however", "instead", "limitation", "not possible", "not available",
    "not found", "not allow", "not installed", "not enough", "does not", "doesn't", "doesn’t", "not yet", "no longer", "can only", "prevent", "please provide", "i need", "timed out"]));

impl Goals {
    pub(super) fn new(min_attempts: u64) -> Self {
        Self { min_attempts, ..Self::default() }
    }

    pub(super) fn any_waiting(&self) -> bool {
        self.waiting > 0
    }

    /// Records a message of the agent, unless all failures have been admitted.
    pub(super) fn message(&mut self, step: u64, text: Text<'_>) {
        if !self.unadmitted {
            return;
        }
        let text = text.to_str();
        // The words of admission are English, so only English messages count.
        if [" the ", " The ", " THE ", " your ", " has been "].iter().any(|word| text.contains(word)) {
            self.spoke = Some(step);
        }
        if ADMITS.occur_in(&text) {
            (self.admitted, self.unadmitted) = (Some(step), false);
        }
    }

    /// Records look-ups, hand-overs and the failures at the end of the run. Returns whether the same look-up was
    /// answered before.
    pub(super) fn observe(&mut self, attempt: &Attempt, told: &Part) -> bool {
        let (call, failed) = (&attempt.call.call, attempt.failure().is_some());
        self.has_shell |= call.is_shell;
        if !failed && attempt.call.hands_over {
            self.handed_over = Some((attempt.step, self.new_look));
        }
        let known = call.key.is_some_and(|key| self.looked_up.contains(&key));
        if call.does == Does::Read && !failed && !known {
            self.new_look = Some(attempt.step);
            self.looked_up.extend(call.key);
        }
        if failed && told.does != Does::Read {
            self.tail.push(attempt.step);
            self.tail_turns.push(attempt.turn);
            self.tail_turns.dedup();
        } else {
            self.tail.clear();
            self.tail_turns.clear();
        }
        known
    }

    /// Marks all goals with a key as reached. The key is `CHANGE`, `INSTALL` or the name of a tool.
    pub(super) fn reach_all(&mut self, key: &str) {
        for goal in self.by_key.get(&key_of("", key)).cloned().unwrap_or_default() {
            self.reach(goal, GoalState::Reached);
        }
    }

    /// Marks the goals of a tool that keeps lists of tasks as reached: it has accepted one in a later turn.
    pub(super) fn noted(&mut self, tool: &str, turn: u64) {
        if tool.contains("todo") {
            self.reach_where(|goal| *goal.program == *tool && !goal.turns.contains(&turn));
        }
    }

    /// Marks the waiting goals that fit as reached.
    fn reach_where(&mut self, fits: impl Fn(&Goal) -> bool) {
        for goal in 0..self.all.len() {
            if self.all.get(goal).is_some_and(|goal| goal.is_waiting() && fits(goal)) {
                self.reach(goal, GoalState::Reached);
            }
        }
    }

    fn reach(&mut self, goal: usize, state: GoalState) {
        if let Some(goal) = self.all.get_mut(goal).filter(|goal| goal.is_waiting()) {
            goal.state = state;
            self.waiting -= 1;
        }
    }

    pub(super) fn success(&mut self, attempt: &Attempt, action: &Action<'_>, known: bool) {
        let call = &attempt.call.call;
        self.changed.extend(call.parts.iter().filter_map(|part| part.file.as_deref().map(Digest::of_text)));
        // After an edit, the same call is another attempt.
        if attempt.changes && (call.is_shell || call.parts.iter().any(|part| part.file.is_some())) {
            self.done.clear();
        }
        if call.is_shell || call.does == Does::Write {
            self.passed.extend(call.key);
        }
        if !call.is_shell {
            self.done.extend(call.key);
        }
        if self.waiting == 0 {
            return;
        }
        // A diff shows that a failed command changed the file after all, if no other call did.
        let mut shown = files_in_diff(action);
        shown.retain(|file| !self.changed.contains(&Digest::of_text(file)));
        if !shown.is_empty() {
            self.reach_where(|goal| goal.is_shell && !goal.targets.is_disjoint(&shown));
        }
        // The agent wrote a file that it could not read, so the read no longer matters.
        if call.does == Does::Write && call.target.is_some() {
            self.reach_where(|goal| goal.does == Does::Read && goal.file == call.target);
        }
        // The same text went through elsewhere, or the same arguments went through with a tool that exists.
        let sent = LazyCell::new(|| content(action));
        let same = arguments(action).filter(|_| !call.is_shell);
        let is_sent = |goal: &Goal| {
            let lines = goal.content.len();
            let is_same_call =
                same.is_some() && goal.arguments == same && are_alike(&goal.program, &call.program);
            let is_same_text = lines >= LINES && goal.content.intersection(&sent).count() * 4 >= lines * 3;
            is_same_call || is_same_text
        };
        self.reach_where(is_sent);
        self.found(&newly_installed(call));
        let mine = LazyCell::new(|| if call.is_shell { BTreeSet::new() } else { identifiers(action) });
        // A search in the shell, such as `find`, does what the file search tool could not.
        let finds = call.is_shell && call.parts.iter().any(|part| is_search(&part.program));
        if finds && !found_nothing(call, action) {
            self.reach_where(|goal| !goal.is_shell && finds_files(&goal.program));
        }
        // Another tool looked up the same thing (not a file), or replaced a tool that failed only transiently.
        let may_replace = call.does != Does::Write && !call.is_shell && call.target.is_none();
        if may_replace && !known && !found_nothing(call, action) {
            let subject = subject(action);
            let is_same = |goal: &Goal| {
                !goal.targets.is_empty() && goal.targets.is_subset(&mine)
                    || subject.is_some_and(|subject| goal.subjects.contains(&subject))
            };
            let both_read = |goal: &Goal| goal.does == Does::Read && call.does == Does::Read;
            let is_like = |goal: &Goal| {
                both_read(goal)
                    || goal.does != Does::Write
                        && goal.is_transient
                        && share_word(&goal.program, &call.program)
            };
            let is_other = |goal: &Goal| !goal.is_shell && goal.program != call.program;
            self.reach_where(|goal| is_like(goal) && is_other(goal) && is_same(goal));
        }
        if call.is_shell {
            // Earlier calls of the tool without a command line were malformed.
            self.reach_all(&attempt.call.tool.to_lowercase());
        }
        for part in &call.parts {
            // Earlier calls of the tool that named no file were malformed; this one is the correct form.
            if part.file.is_some() && !call.is_shell {
                self.reach_all(&part.program);
            }
            let goals = self.by_key.get(&key(part, call.is_shell)).cloned().unwrap_or_default();
            for place in goals {
                // Calls of the same turn were sent before the failure was known, so only a write to the same target
                // reaches the goal.
                let does_it = |goal: &Goal| goal.does == Does::Write && !goal.targets.is_disjoint(&mine);
                let counts = |goal: &&Goal| !goal.turns.contains(&attempt.turn) || does_it(goal);
                let Some(goal) = self.all.get(place).filter(counts) else { continue };
                let state = if part.installs() {
                    if goal.targets.is_disjoint(&installed(&call.text)) {
                        continue;
                    }
                    GoalState::Reached
                } else if part.file.is_some() {
                    let mut files = call.parts.iter().filter_map(|part| part.file.as_deref()).chain(["?"]);
                    if !files.any(|file| goal.targets.contains(file)) {
                        continue;
                    }
                    GoalState::Reached
                } else if goal.does != Does::Read
                    || goal.targets.is_empty()
                    || mine.is_empty()
                    || !goal.targets.is_disjoint(&mine)
                {
                    GoalState::Reached
                } else if !known {
                    GoalState::Replaced
                } else {
                    continue;
                };
                self.reach(place, state);
            }
        }
    }

    /// Settles the goals whose commands did not find what is installed now: if they fail again, it is for another reason,
    /// unless it is still not found.
    fn found(&mut self, names: &BTreeSet<String>) {
        let is_found = |goal: &Goal| goal.missing.as_ref().is_some_and(|missing| missing.is_subset(names));
        if !names.is_empty() {
            self.reach_where(is_found);
        }
    }

    pub(super) fn failure(&mut self, attempt: &Attempt, told: &Part, action: &Action<'_>) {
        let call = &attempt.call.call;
        let kind = attempt.failure().map(|failure| &failure.kind);
        let missing = match kind {
            Some(FailureKind::Missing(name)) => Some(name.replace('_', "-")),
            _ => None,
        };
        // Of commands joined by `&&`, those before the one that failed have succeeded.
        let before = call.parts.iter().take(told.place);
        let line = attempt.failure().map_or("", |failure| &failure.line);
        let has_installed =
            before.clone().any(Part::installs) && !line.starts_with("E: ") && !line.starts_with("dpkg");
        if has_installed && before.skip(1).chain([told]).all(|part| !part.apart) {
            let mut names = newly_installed(call);
            names.retain(|name| missing.as_ref() != Some(name));
            self.found(&names);
        }
        // A call that succeeded before need not succeed again.
        if call.key.is_some_and(|key| self.done.contains(&key)) {
            return;
        }
        let mine: BTreeSet<String> = match &told.file {
            Some(file) => BTreeSet::from([file.clone()]),
            None if told.installs() => installed(&call.text),
            None if call.is_shell => BTreeSet::new(),
            None => identifiers(action),
        };
        let next = self.all.len();
        let known = self.by_key.entry(key(told, call.is_shell)).or_default();
        let find = |wanted: &dyn Fn(&Goal) -> bool| {
            known.iter().rev().copied().find(|place| self.all.get(*place).is_some_and(wanted))
        };
        let place = find(&|goal| {
            goal.is_waiting()
                && (goal.targets.is_empty() || mine.is_empty() || !goal.targets.is_disjoint(&mine))
        })
        .or_else(|| {
            find(&|goal| {
                // A command that was installed may still be missing.
                let is_missing = goal.missing.is_some() && missing.is_some();
                (goal.state == GoalState::Replaced || goal.state == GoalState::Reached && is_missing)
                    && goal.calls.iter().any(|(key, _)| *key == call.key)
            })
        });
        let place = place.unwrap_or_else(|| {
            known.push(next);
            self.all.push(Goal {
                does: told.does,
                is_shell: call.is_shell,
                program: Arc::clone(&told.program),
                place: (attempt.step, attempt.step),
                missing: (!told.installs()).then(BTreeSet::new),
                is_transient: true,
                ..Goal::default()
            });
            next
        });
        let Some(goal) = self.all.get_mut(place) else { return };
        self.waiting += usize::from(!goal.is_waiting());
        let is_there = kind.is_some_and(|kind| *kind != FailureKind::NoTool);
        goal.missing = goal.missing.take().zip(missing).map(|(mut all, name)| {
            all.insert(name);
            all
        });
        goal.went_before |= call.key.is_some_and(|key| self.passed.contains(&key));
        goal.arguments = arguments(action).filter(|_| !is_there);
        self.unadmitted |= !goal.is_shell && goal.does != Does::Read && is_there;
        goal.is_transient &= attempt.is_transient();
        goal.subjects.extend(subject(action));
        goal.file.clone_from(&call.target);
        if call.does == Does::Write {
            goal.content = content(action);
        }
        goal.state = GoalState::Waiting;
        goal.place.1 = attempt.outcome_step;
        goal.failures += 1;
        let shown =
            if call.is_shell { Shown::part(&attempt.call, told) } else { Shown::with(&attempt.call, action) };
        goal.lines.add(attempt, shown);
        if goal.turns.last() != Some(&attempt.turn) {
            goal.turns.push(attempt.turn);
        }
        goal.targets.extend(mine);
        match goal.calls.iter_mut().find(|(key, _)| *key == call.key) {
            Some((_, count)) => *count += 1,
            None => goal.calls.push((call.key, 1)),
        }
    }

    /// Returns why a goal is left open at the end, if it is. `end` is how the run ends.
    fn open_reason(&self, goal: &Goal, end: End) -> Option<OpenReason> {
        if !goal.is_waiting() {
            return None;
        }
        let (turns, last, min) = (goal.turns(), goal.place.1, self.min_attempts);
        let since = |step: Option<u64>| step.is_some_and(|step| step > last);
        // If the agent has a shell, a later request of the user or a final report of the failure excuses a goal.
        let has_user = self.has_shell && end.asked > last;
        let is_reported = has_user || self.has_shell && end.is_confessed;
        if goal.does == Does::Read {
            let is_like = |other: &&Goal| other.does == Does::Read && other.program == goal.program;
            let of_tool = self.all.iter().filter(|other| other.is_waiting()).filter(is_like);
            let all: BTreeSet<u64> = of_tool.flat_map(|goal| goal.turns.iter().copied()).collect();
            let is_vain = turns >= 2 && goal.most_repeated() >= 2 || all.len() as u64 >= min;
            let is_excused = is_reported || self.has_shell && since(self.new_look);
            return (is_vain && !is_excused).then_some(OpenReason::InVain);
        }
        let is_tool = !goal.is_shell && goal.does != Does::Read;
        let handed_over = is_tool && self.handed_over.is_some_and(|(step, look)| step > last && !since(look));
        // An agent that was stopped had no chance to try anything else.
        let is_excused = is_reported || turns < min && end.is_stopped;
        let is_tried_again = turns >= 2 && (turns >= min || !goal.is_varied());
        if is_tried_again && is_excused && !handed_over {
            None
        } else if is_tried_again {
            Some(OpenReason::NeverThrough)
        } else if handed_over {
            Some(OpenReason::HandedOver)
        } else if is_tool && since(self.spoke) && !since(self.admitted) && !since(self.new_look) {
            Some(OpenReason::PassedOver)
        } else if self.tail_turns.len() as u64 >= min && self.tail.contains(&last) && !has_user {
            Some(OpenReason::EndsFailing)
        } else {
            None
        }
    }

    pub(super) fn memory(&self) -> usize {
        let digests = self.looked_up.len() + self.done.len() + self.changed.len();
        let digests = digests + self.passed.len();
        let lines: usize = self.all.iter().map(|goal| goal.content.len() + goal.subjects.len()).sum();
        self.all.len() * 1_024 + (digests + lines) * 2 * size_of::<Digest>() + self.tail.len() * 16
    }
}
