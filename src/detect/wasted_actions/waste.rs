//! The wasted actions of a run, counted step by step.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

use super::{WasteReason, WastedActions, WastedActionsConfig, WastedActionsEvidence, WastedTool};
use crate::detect::shared::{
    Attempt, Attempts, Baseline, Check, Does, Excuse, FailureKind, NoCall, Part, Report, ShownLines,
    UserSays, found_nothing, runs_no_test, shell::last_part,
};
use crate::detect::{Comparator, Condition, Confidence, Finding, Fold, Measure, NearMiss, Verdict};
use crate::trace::{Action, Actors, Digest, DigestMap, Step, UnknownReason};

/// Stands for the tool in turns without a call.
const NO_CALL: &str = "no call";
/// Number of actions in a stretch of [`WastedActionsConfig::min_stretch`].
const STRETCH: u64 = 20;
/// Minimum share of wasted actions in the whole run for a stretch to count. In long runs below it, reviewers agreed
/// with none of ten findings on a stretch.
const LEAST: f64 = 0.1;
/// Maximum number of steps remembered for each reason, and of those that a message names.
const STEPS: usize = 20;
const NAMED: usize = 3;

/// Counts the wasted actions of a trace. Nothing is confirmed before the end: the counts may still grow.
#[derive(Debug, Default)]
pub(in crate::detect) struct Waste {
    actors: Actors,
    min_wasted: f64,
    min_share: f64,
    min_stretch: f64,
    pub(in crate::detect) attempts: Attempts,
    no_call: NoCall,
    pub(in crate::detect) actions: u64,
    changes: u64,
    /// Number of calls that write and did not fail.
    writes: u64,
    waits: u64,
    user: UserSays,
    /// The key of the latest attempt with a key, and whether the latest attempt repeats the key before it.
    latest: Option<Digest>,
    follows: bool,
    /// When each answer was last seen, by key and outcome.
    seen: DigestMap<Seen>,
    /// The turn of the latest failure of each program with each signature and, under [`Digest::NONE`], of any failure.
    failures: DigestMap<u64>,
    /// Number of failures that do not count because another one of their turn did.
    sent_along: u64,
    baseline: Baseline,
    shown: ShownLines,
    /// The number of writes before each file was last written, by its name.
    written: DigestMap<u64>,
    /// Whether the last call that was not a mere read was a successful write, with no unsuccessful search since.
    has_written: bool,
    /// The turn of the latest search that found nothing.
    searched_in: Option<u64>,
    halves: u64,
    /// The wasted ones of the latest [`STRETCH`] actions: number of the action, step, and weight in halves.
    recent: VecDeque<(u64, u64, u64)>,
    /// The greatest sum of these weights so far, with the number of these actions and the first and last step.
    densest: (u64, u64, Option<(u64, u64)>),
    pub(in crate::detect) place: Option<(u64, u64)>,
    reasons: BTreeMap<WasteReason, u64>,
    /// By reason, the steps of its first [`STEPS`] wasted actions.
    steps: BTreeMap<WasteReason, Vec<u64>>,
    by_tool: BTreeMap<String, u64>,
}

/// When an answer was last seen, and in how many turns.
#[derive(Debug, Clone, Copy)]
struct Seen {
    turn: u64,
    changes: u64,
    writes: u64,
    spoken: u64,
    waits: u64,
    requests: u32,
    times: u32,
}

impl Waste {
    pub(in crate::detect) fn new(rule: &WastedActions) -> Self {
        let WastedActionsConfig { actors, min_wasted, min_share, min_stretch, .. } = *rule.config;
        let attempts = Attempts::new(actors, &rule.ready);
        Self { actors, min_wasted, min_share, min_stretch, attempts, ..Self::default() }
    }

    fn count(&mut self, reason: WasteReason, step: u64, tool: &str) {
        self.halves += reason.halves();
        self.recent.push_back((self.actions, step, reason.halves()));
        while self.recent.front().is_some_and(|(action, ..)| action + STRETCH <= self.actions) {
            self.recent.pop_front();
        }
        let sum = self.recent.iter().map(|(_, _, halves)| halves).sum();
        if sum > self.densest.0 {
            let place = self.recent.front().map(|(_, first, _)| (*first, step));
            self.densest = (sum, self.recent.len() as u64, place);
        }
        *self.reasons.entry(reason).or_default() += 1;
        let steps = self.steps.entry(reason).or_default();
        steps.extend((steps.len() < STEPS && steps.last() != Some(&step)).then_some(step));
        *self.by_tool.entry(tool.to_owned()).or_default() += 1;
        self.place = Some((self.place.map_or(step, |(first, _)| first.min(step)), step));
    }

    /// Returns why an attempt was wasted, if it was. `action` is `None` if a message brought the outcome.
    fn reason(&mut self, attempt: &Attempt, action: Option<&Action<'_>>) -> Option<WasteReason> {
        let call = &attempt.call.call;
        let known = call.key.zip(attempt.outcome).map(|(key, outcome)| key.and(outcome));
        let writes = self.writes + u64::from(call.does == Does::Write && attempt.failure().is_none());
        let now = Seen {
            turn: attempt.turn,
            changes: self.changes,
            writes,
            spoken: self.user.messages,
            requests: self.user.requests,
            waits: self.waits,
            times: 1,
        };
        let before = known.and_then(|known| self.seen.get(&known).copied());
        let again = before.is_some_and(|before| before.turn != now.turn);
        if let Some(known) = known {
            let times = before.map_or(0, |before| before.times) + u32::from(again || before.is_none());
            self.seen.insert(known, Seen { times, ..now });
        }
        let moment = (self.user.messages, self.actions);
        let shows_nothing_new =
            call.does == Does::Read && action.is_some_and(|action| self.shown.all(attempt, action, moment));
        let checks = |part: &Part| part.check >= Some(Check::Form);
        let without_changes = self.baseline.excuses(attempt);
        if call.does == Does::Note {
            return None;
        }
        if let Some(failure) = attempt.failure() {
            let failed = Digest::of_text(&call.program).and(failure.signature);
            // The calls of one turn were all sent before any of them failed, so only one failure counts.
            let mut in_turn = |key| self.failures.insert(key, attempt.turn).map(|turn| turn == attempt.turn);
            let again = in_turn(failed) == Some(false);
            let is_sent_before = in_turn(Digest::NONE) == Some(true);
            // The first failure with a value that the user gave is not the agent's fault.
            let is_given = |action| self.user.gave(action);
            let counts = failure.report == Some(Report::Counted);
            let reports = failure.report.is_some() && failure.kind != FailureKind::NoTests;
            let is_refused = action.is_some_and(|action| action.reason == Some(UnknownReason::Refused));
            let excused = is_refused
                || without_changes
                || failure.is_partial && !again
                || (is_sent_before || reports) && (!again || counts)
                || !call.is_shell && before.is_none() && action.is_some_and(is_given);
            self.sent_along += u64::from(is_sent_before && !again && !reports && !is_refused);
            return (!excused).then_some(if again { WasteReason::FailedAgain } else { WasteReason::Failed });
        }
        if before.is_some() && !again {
            return None;
        }
        let is_rewritten = |before: &Seen| {
            let file = call.target.as_deref().map(|path| Digest::of_text(&last_part(path).to_lowercase()));
            file.and_then(|file| self.written.get(&file)).is_some_and(|writes| *writes >= before.writes)
        };
        match before.filter(|before| again && !is_rewritten(before)) {
            Some(before)
                if call.does == Does::Read
                    || before.changes == now.changes
                        && (call.does != Does::Write || before.writes + 1 == now.writes) =>
            {
                // The user has spoken since, and may have asked for it again, or a wait may have changed the answer. For
                // a new request, a file may be read again.
                let asked_for = before.spoken != now.spoken || before.waits != now.waits;
                let is_new = before.requests != now.requests && call.target.is_some();
                if asked_for && (call.does != Does::Read || is_new) {
                    return None;
                }
                let whole = (self.follows || before.times > 1 || !call.is_shell) && !asked_for;
                Some(if whole { WasteReason::KnownAgain } else { WasteReason::KnownAnswer })
            }
            _ if shows_nothing_new => Some(WasteReason::NothingNew),
            _ if action.is_some_and(|action| runs_no_test(call, action)) => Some(WasteReason::Failed),
            // The searches of one turn are assumed to look for the same thing, so one counts.
            _ if action.is_some_and(|action| found_nothing(call, action)) => {
                let is_first = self.searched_in.replace(now.turn) != Some(now.turn);
                // The first search after a write may confirm that something is gone.
                let confirms = is_first && std::mem::take(&mut self.has_written);
                (is_first && !confirms).then_some(WasteReason::NothingFound)
            }
            // A check that still passes tells the agent something, so it is not wasted.
            Some(_) if call.does == Does::Run && !call.parts.iter().all(checks) => {
                Some(WasteReason::SameResult)
            }
            _ => None,
        }
    }

    pub(in crate::detect) fn number(&self) -> u64 {
        self.reasons.values().sum()
    }

    /// Returns the weight of the wasted actions; some count half.
    #[expect(clippy::cast_precision_loss, reason = "counts of actions are far below 2^53")]
    pub(in crate::detect) fn wasted(&self) -> f64 {
        self.halves as f64 / 2.0
    }

    /// Returns true if enough is wasted for a finding.
    pub(in crate::detect) fn is_too_much(&self) -> bool {
        let in_stretch = self.stretch() >= self.min_stretch && self.is_share(LEAST);
        self.wasted() >= self.min_wasted && (self.is_share(self.min_share) || in_stretch)
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of actions are far below 2^53")]
    fn is_share(&self, share: f64) -> bool {
        self.wasted() >= share * self.actions as f64
    }

    /// Returns the greatest weight of wasted actions in a stretch of [`STRETCH`].
    #[expect(clippy::cast_precision_loss, reason = "a stretch is short")]
    fn stretch(&self) -> f64 {
        self.densest.0 as f64 / 2.0
    }

    /// Returns how many actions gained nothing for a reason, and the steps of the first few: `4 failed (steps 3, 9, 14,
    /// …)`.
    fn describe(&self, reason: WasteReason) -> String {
        let count = self.reasons.get(&reason).copied().unwrap_or(0);
        let steps = self.steps.get(&reason).map(Vec::as_slice).unwrap_or_default();
        let named: Vec<String> = steps.iter().take(NAMED).map(u64::to_string).collect();
        let word = if steps.len() == 1 { "step" } else { "steps" };
        let more = if steps.len() > NAMED { ", …" } else { "" };
        format!("{count} {} ({word} {}{more})", reason.describe(), named.join(", "))
    }

    fn finding(&self, place: (u64, u64)) -> Finding {
        let mut by_tool: Vec<WastedTool> = self
            .by_tool
            .iter()
            .map(|(tool, wasted)| WastedTool { tool: tool.clone(), wasted: *wasted })
            .collect();
        by_tool.sort_by_key(|tool| Reverse(tool.wasted));
        by_tool.truncate(10);
        let count = self.number();
        let reasons: Vec<String> = self.reasons.keys().map(|reason| self.describe(*reason)).collect();
        let most = match by_tool.first() {
            Some(most) if by_tool.len() > 1 && 2 * most.wasted > count && most.tool != NO_CALL => {
                format!("; most by `{}`", most.tool)
            }
            _ => String::new(),
        };
        let tool = by_tool.first().filter(|most| most.tool != NO_CALL).map(|most| most.tool.clone());
        // If the share of the whole run is too small, the finding covers the densest stretch.
        let (_, inside, stretch) = self.densest;
        let stretch = stretch.filter(|_| !self.is_share(self.min_share));
        let of_these = if inside == count { "all".to_owned() } else { format!("{inside} of these") };
        let of_these =
            stretch.map_or_else(String::new, |(first, last)| format!(", {of_these} at steps {first}-{last}"));
        let reasons = reasons.join(", ");
        let along = match self.sent_along {
            0 => String::new(),
            more => format!("; {more} more failed in the same turns"),
        };
        let message =
            format!("{count} of {} actions gained nothing{of_these}: {reasons}{along}{most}", self.actions);
        let evidence = WastedActionsEvidence {
            wasted: self.wasted(),
            actions: self.actions,
            reasons: self.reasons.clone(),
            steps: self.steps.clone(),
            by_tool,
        };
        let finding = WastedActions::finding(stretch.unwrap_or(place), message, evidence);
        finding.tool(tool.unwrap_or_default()).confidence(Confidence::Likely)
    }
}

impl Fold for Waste {
    fn observe(&mut self, step: &Step<'_>) {
        if let Some(refused) = self.no_call.observe(step).filter(|attempt| attempt.refused) {
            for _ in 0..refused.turns {
                self.actions += 1;
                self.count(WasteReason::NoCall, refused.step, NO_CALL);
            }
        } else {
            self.user.observe(step);
            // In a continued session, the agent no longer knows what it saw.
            if self.user.resumes {
                (self.seen, self.shown) = (DigestMap::default(), ShownLines::default());
            }
        }
        if let Some((attempt, _)) = self.attempts.answered(step)
            && let Some(reason) = self.reason(&attempt, None)
        {
            self.count(reason, attempt.outcome_step, attempt.call.named());
        }
        let Some(action) = step.action_of(self.actors) else { return };
        let attempt = self.attempts.observe(step);
        let waits = attempt.as_ref().and_then(|attempt| attempt.excuse);
        let notes = attempt.as_ref().is_some_and(|attempt| attempt.call.call.does == Does::Note);
        self.actions += u64::from(!notes && !matches!(waits, Some(Excuse::Polling | Excuse::Waiting)));
        self.waits += u64::from(waits == Some(Excuse::Waiting));
        if let Some(attempt) = attempt.filter(|attempt| attempt.excuse.is_none()) {
            let key = attempt.call.call.key;
            self.follows = key.is_some() && std::mem::replace(&mut self.latest, key) == key;
            if let Some(reason) = self.reason(&attempt, Some(action)) {
                self.count(reason, attempt.outcome_step, attempt.call.named());
            }
            self.changes += u64::from(attempt.changes);
            let writes = attempt.call.call.does == Does::Write && attempt.failure().is_none();
            self.writes += u64::from(writes);
            for file in attempt.call.call.parts.iter().filter_map(|part| part.file.as_deref()) {
                self.shown.changed(file);
                self.written.extend(writes.then(|| (Digest::of_text(file), self.writes - 1)));
            }
            if attempt.call.call.does != Does::Read {
                self.has_written = writes;
            }
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of actions are far below 2^53")]
    fn verdict(&self) -> Verdict {
        if self.attempts.are_incomparable() {
            return crate::detect::incomparable();
        }
        let finding = self.place.filter(|_| self.is_too_much()).map(|place| self.finding(place));
        let of = |reasons: &[WasteReason]| {
            reasons.iter().filter_map(|reason| self.reasons.get(reason)).sum::<u64>()
        };
        let measures = [
            Measure::count("actions", self.actions),
            Measure::count("failed", of(&[WasteReason::Failed, WasteReason::FailedAgain])),
            Measure::count("repeated", of(&[WasteReason::KnownAnswer, WasteReason::KnownAgain])),
            Measure { name: "wasted", value: self.wasted() },
        ];
        let score = 1.0 - (self.wasted() / (self.actions as f64).max(1.0)).min(1.0);
        Verdict::found(Some(score), finding.into_iter().collect(), measures)
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of actions are far below 2^53")]
    fn near_misses(&self) -> Vec<NearMiss> {
        let (wasted, actions) = (self.wasted(), (self.actions as f64).max(1.0));
        let at_least = |name, value, limit| Condition::measure(name, value, Comparator::AtLeast, limit);
        let mut conditions = vec![at_least("wasted", wasted, self.min_wasted)];
        // Either is enough, so only the nearer one is named.
        let (share, stretch) = (wasted / actions, self.stretch());
        conditions.push(if stretch >= self.min_stretch && share < LEAST {
            at_least("share", share, LEAST)
        } else if share * self.min_stretch >= stretch * self.min_share {
            at_least("share", share, self.min_share)
        } else {
            at_least("stretch", stretch, self.min_stretch)
        });
        let near = self.place.map(|place| NearMiss::new("wasted_actions", conditions).at(place));
        near.into_iter().collect()
    }

    fn memory(&self) -> usize {
        let digests = self.seen.len() * 2 * size_of::<(Digest, Seen)>()
            + self.written.len() * 2 * size_of::<(Digest, u64)>()
            + self.failures.len() * 2 * size_of::<(Digest, u64)>()
            + self.recent.len() * 2 * size_of::<(u64, u64, u64)>();
        let texts =
            self.by_tool.len() * 96 + self.steps.len() * STEPS * size_of::<u64>() + self.user.memory();
        digests + self.shown.memory() + self.attempts.memory() + self.baseline.memory() + texts
    }
}
