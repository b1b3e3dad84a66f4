//! The default rule: the agent is stuck.

use std::sync::Arc;

use super::same_answer::SameAnswer;
use super::same_question::SameQuestion;
use super::span::Span;
use super::{Loop, LoopConfig, LoopKind};
use crate::detect::shared::{
    Attempt, Attempts, Does, Excuse, History, Looks, Meaning, NoCall, Past, ProgressTracker, UserSays,
    each_text, excerpt, shell, words,
};
use crate::detect::{
    Comparator, Condition, Confidence, Finding, Fold, Measure, NearMiss, Verdict, incomparable,
};
use crate::trace::{Action, Actor, Digest, Event, Step};

/// The default rule. Loops that overlap are one finding.
#[derive(Debug)]
pub(super) struct Stuck {
    config: Arc<LoopConfig>,
    attempts: Attempts,
    progress: ProgressTracker,
    /// The attempts since progress last increased.
    history: History,
    looks: Looks,
    no_call: NoCall,
    same_answer: SameAnswer,
    same_question: SameQuestion,
    user: UserSays,
    spans: Vec<Span>,
    /// The longest span of each kind that is not a loop yet, for near misses.
    nearest: Vec<Span>,
    confirmed: Vec<Finding>,
}

/// Maximum distance, in attempts, between two equal failures.
const APART: u64 = 8;
/// Maximum number of earlier equal calls, or equal failures, that an attempt is compared with.
const LOOK_BACK: usize = 16;

impl Stuck {
    pub(super) fn new(rule: &Loop) -> Self {
        Self {
            config: Arc::clone(&rule.config),
            attempts: Attempts::new(rule.config.actors, &rule.ready),
            progress: ProgressTracker::default(),
            history: History::default(),
            looks: Looks::default(),
            no_call: NoCall::default(),
            same_answer: SameAnswer::default(),
            same_question: SameQuestion::default(),
            user: UserSays::default(),
            spans: Vec::new(),
            nearest: Vec::new(),
            confirmed: Vec::new(),
        }
    }

    /// Returns the number of equal attempts that an excuse covers.
    fn patience(&self, excuse: Option<Excuse>) -> u64 {
        match excuse {
            None => 0,
            Some(Excuse::Transient) => 4,
            Some(Excuse::Waiting) => 8,
            Some(Excuse::Polling) => self.config.max_polls - 1,
        }
    }

    /// Returns true if, since the latest equal call, the user has named the file that the call reads or the script that
    /// it runs, as scheduled prompts do.
    fn is_asked_for(&self, key: Digest, attempt: &Attempt) -> bool {
        let call = &attempt.call.call;
        let read = call.target.as_deref().filter(|_| call.does == Does::Read).map(shell::last_part);
        let mut files = read.into_iter().chain(call.parts.iter().filter_map(|part| part.script.as_deref()));
        self.history.latest(key).is_some_and(|before| self.user.latest > before)
            && files.any(|file| self.user.names(file))
    }

    /// Returns the equal calls with equal answers up to this attempt, and whether they are a loop: `min_repeats` with
    /// no change in between, or one fewer if they are consecutive or each writes. A poll gets here only past its limit.
    fn repeat(&self, now: &Past, attempt: &Attempt, action: Option<&Action<'_>>) -> Option<(Span, bool)> {
        let (call, min) = (&attempt.call.call, self.config.min_repeats);
        // Each click may turn a page, so a new answer in between ends a series of clicks. Whether the call repeats is
        // checked first because most calls are made once.
        let moves = self.history.same_calls(now).next().is_some() && action.is_some_and(moves);
        let max_gap = if moves { 0 } else { self.config.max_gap };
        let (mut later, mut first) = (now, now);
        let (mut count, mut idle, mut adjacent, mut in_a_row, mut unchanged) = (1, 1, 1, true, true);
        let mut is_asked = call.is_shell || call.target.is_some();
        for earlier in self.history.same_calls(now).take(LOOK_BACK) {
            let equal = earlier.outcome.is_some() && earlier.outcome == now.outcome;
            if !equal || later.novel_before - earlier.novel_after > max_gap {
                break;
            }
            in_a_row &= later.number - earlier.number == 1 && later.turn.saturating_sub(earlier.turn) <= 2;
            count += 1;
            is_asked &= earlier.requests < later.requests;
            unchanged &= later.changes_before == earlier.changes_after;
            idle += u64::from(unchanged);
            adjacent += u64::from(in_a_row);
            (first, later) = (earlier, earlier);
        }
        let writes = call.does == Does::Write && !call.is_shell && count + 1 >= min && count >= 2;
        let count = count.max(attempt.excused + 1);
        let polled = attempt.excuse == Some(Excuse::Polling);
        // The user may ask for each command, and for each read or write of a file.
        let repeats = idle >= min || adjacent + 1 >= min && adjacent >= 2 && !moves || writes;
        let is_loop = repeats && !is_asked || polled;
        (count > 1 || is_loop).then(|| {
            let first = attempt.excused_since.unwrap_or(first.step).min(first.step);
            let span = Span::of(LoopKind::RepeatedCall, count, first, attempt);
            (span.certain_if(!call.is_shell && !attempt.unpaired), is_loop)
        })
    }

    /// Returns the equal failures up to this attempt, and whether they are a loop: `min_failures`, or one fewer if they
    /// are consecutive, or two fewer if two of these are the same call.
    fn failure(&self, now: &Past, attempt: &Attempt) -> (Span, bool) {
        let (mut later, mut count, mut on_end, mut varied) = (now, 1, vec![now.key], false);
        let call = &attempt.call.call;
        let mut is_asked = call.is_shell || call.target.is_some();
        for earlier in self.history.same_failures(now).take(LOOK_BACK) {
            if later.number - earlier.number > APART
                || later.tells_more_than(earlier)
                || later.went_through_since(earlier.number)
            {
                break;
            }
            if later.number - earlier.number == 1 && on_end.len() == count {
                on_end.push(earlier.key);
            }
            count += 1;
            varied |= earlier.key != now.key;
            is_asked &= earlier.requests < later.requests;
            later = earlier;
        }
        is_asked &= count > 1;
        let exact = on_end
            .iter()
            .enumerate()
            .any(|(at, key)| key.is_some() && on_end.iter().skip(at + 1).any(|other| other == key));
        let (count, on_end, min) = (count as u64, on_end.len() as u64, self.config.min_failures);
        let (count, since) = (count.max(attempt.excused + 1), attempt.excused_since.unwrap_or(later.step));
        let first = since.min(later.step);
        let is_certain = !varied
            && !attempt.call.call.is_shell
            && attempt.failure().is_some_and(|failure| failure.recorded);
        let mut span = Span::of(LoopKind::RepeatedFailure, count, first, attempt).certain_if(is_certain);
        span.quote(varied, now.failure.and_then(|failure| self.history.said(failure)));
        let is_loop = count >= min || on_end + 1 >= min && on_end >= 2 || on_end + 2 >= min && exact;
        if is_loop || is_asked { (span, is_loop && !is_asked) } else { self.failures_of_program(now, span) }
    }

    /// Extends the span to all failures of the program since it last succeeded, and returns true, if these are a loop:
    /// `min_failures` - 3 of them repeat earlier ones exactly, with no change in between. Otherwise returns the span as
    /// it is.
    fn failures_of_program(&self, now: &Past, mut span: Span) -> (Span, bool) {
        let row: Vec<&Past> = self.history.row(now).take(4 * LOOK_BACK).collect();
        let Some(first) = row.last() else { return (span, false) };
        let repeats = |past: &&&Past| {
            let mut before = self.history.same_calls(past);
            before.next().is_some_and(|before| {
                before.number >= first.number
                    && before.failure == past.failure
                    && before.changes_after == past.changes_before
            })
        };
        let exact = row.iter().filter(repeats).count() as u64;
        if exact == 0 || exact + 3 < self.config.min_failures {
            return (span, false);
        }
        let mut ways: Vec<(Digest, u64)> = Vec::new();
        for failure in row.iter().filter_map(|past| past.failure) {
            match ways.iter_mut().find(|(way, _)| *way == failure) {
                Some((_, times)) => *times += 1,
                None => ways.push((failure, 1)),
            }
        }
        span.confidence = Confidence::Likely;
        span.count = row.len() as u64;
        (span.place.0, span.own.0) = (first.step, first.step);
        span.ways = ways.len() as u64;
        let most = ways.iter().rev().max_by_key(|(_, times)| *times);
        let varied = row.iter().any(|past| past.key != now.key);
        span.quote(varied, most.and_then(|(failure, _)| self.history.said(*failure)));
        (span, true)
    }

    /// Returns the span if it is a loop; otherwise keeps it if it is the longest of its kind.
    fn keep(&mut self, (span, is_loop): (Span, bool)) -> Option<Span> {
        if is_loop {
            return Some(span);
        }
        let before = self.nearest.iter().find(|other| other.kind == span.kind).map_or(1, |other| other.count);
        if span.count > before {
            self.nearest.retain(|other| other.kind != span.kind);
            self.nearest.push(span);
        }
        None
    }

    /// Merges a loop into those that it overlaps, under the id of the first. A loop without overlap is confirmed.
    fn report(&mut self, mut span: Span) {
        let overlaps = |other: &Span| other.place.0 <= span.place.1 && span.place.0 <= other.place.1;
        let (inside, apart): (Vec<Span>, Vec<Span>) =
            std::mem::take(&mut self.spans).into_iter().partition(overlaps);
        self.spans = apart;
        if inside.is_empty() {
            self.confirmed.push(span.finding());
        }
        for (number, mut other) in inside.into_iter().enumerate() {
            let key = |span: &Span| span.call.as_ref().and_then(|call| call.call.key);
            let is_same =
                other.kind == span.kind && (span.kind != LoopKind::RepeatedCall || key(&other) == key(&span));
            if is_same && span.count > LOOK_BACK as u64 {
                span.count = span.count.max(other.count + u64::from(span.own.1 > other.own.1));
                span.own.0 = span.own.0.min(other.own.0);
            }
            // The first keeps its id, and the others are merged into it.
            let mut merged = std::mem::take(&mut other.merged);
            merged.append(&mut span.merged);
            merged.extend((number > 0).then_some(other.found));
            let found = if number == 0 { other.found } else { span.found };
            let place = (span.place.0.min(other.place.0), span.place.1.max(other.place.1));
            // The finding describes the loop of higher confidence or, among equals, the one with more repeats, where
            // looks count half. A tie goes to repeated failures, because their number may still grow.
            let weight = |span: &Span| if span.kind == LoopKind::IdleLooks { 1 } else { 2 };
            let fails = |span: &Span| span.kind == LoopKind::RepeatedFailure;
            let rank = |span: &Span| (span.confidence, weight(span) * span.count, fails(span));
            let most = if rank(&other) > rank(&span) { other } else { span };
            span = Span { place, found, merged, ..most };
        }
        self.spans.push(span);
    }
}

/// Returns true if a call clicks, scrolls, presses a key or changes the directory.
fn moves(action: &Action<'_>) -> bool {
    const GESTURES: [&str; 8] =
        ["click", "key", "left_click", "mouse_click", "press", "press_key", "scroll", "swipe"];
    let mut moves = Meaning::of_any(words(action.name)).is(Meaning::MOVES);
    each_text(action, |_, text, _| moves |= GESTURES.contains(&text));
    moves
}

impl Fold for Stuck {
    fn observe(&mut self, step: &Step<'_>) {
        let mut found = Vec::new();
        if let Some(attempt) = self.no_call.observe(step) {
            found.extend((attempt.row >= self.config.min_repeats).then(|| Span::of_no_call(&attempt)));
        }
        let requests = self.user.messages;
        self.user.observe(step);
        if self.user.messages > requests {
            self.same_answer.clear();
        }
        if let Some((count, first)) = self.same_question.observe(step)
            && let Event::Message(text) = step.event()
            && count >= self.config.min_repeats
            && self.config.actors.include(Actor::Agent)
        {
            let said = excerpt(&text.head(200), 100);
            let span = Span::new(LoopKind::SameQuestion, count, (first, step.index()));
            found.push(Span { said, ..span.certain_if(true) });
        }
        if let Event::Message(text) = step.event()
            && let Some((attempt, shown)) = self.attempts.answered(step)
            && let Some(now) = self.history.answer(&attempt)
        {
            let repeat = self.repeat(&now, &attempt, None);
            found.extend(repeat.and_then(|repeat| self.keep(repeat)).map(|span| Span {
                shown: Some(shown),
                said: excerpt(&text.head(200), 60),
                ..span
            }));
        }
        if let Some(action) = step.action_of(self.config.actors) {
            if self.progress.observe(step) {
                (self.history, self.looks) = (History::default(), Looks::default());
                self.same_answer.clear();
            }
            let attempt = self.attempts.observe(step);
            if let Some(attempt) = attempt.filter(|attempt| attempt.excused >= self.patience(attempt.excuse))
            {
                if let Some(key) = attempt.call.call.key.filter(|key| self.is_asked_for(*key, &attempt)) {
                    self.history.forget(key);
                    self.looks.clear();
                }
                let now = self.history.add(&attempt, self.user.requests);
                let repeat = self.repeat(&now, &attempt, Some(action));
                found.extend(repeat.and_then(|repeat| self.keep(repeat)));
                if let Some((count, first)) = self.same_answer.observe(&attempt, action)
                    && count >= self.config.min_repeats
                    && found.is_empty()
                {
                    let span = Span::of(LoopKind::RepeatedCall, count, first, &attempt);
                    found.push(Span { varied: true, ..span });
                }
                if attempt.call.call.does != Does::Note {
                    if attempt.failure().is_some() {
                        let failure = self.failure(&now, &attempt);
                        found.extend(self.keep(failure));
                    }
                    if let Some(idle) = self.looks.observe(&attempt, action.observation.present())
                        && idle.count >= self.config.min_looks
                        && !attempt.was_polled()
                    {
                        let span = Span::of(LoopKind::IdleLooks, idle.count, idle.first, &attempt);
                        found.push(span.certain_if(!idle.rests_on_text));
                    }
                }
                for span in &mut found {
                    span.show(&attempt, action);
                }
            }
        }
        for span in found {
            self.report(span);
        }
    }

    /// Returns a finding as soon as its loop is complete. The loop may go on.
    fn confirmed(&self) -> &[Finding] {
        if self.attempts.comparable { &self.confirmed } else { &[] }
    }

    fn verdict(&self) -> Verdict {
        if self.attempts.are_incomparable() {
            return incomparable();
        }
        let loops = Measure::count("loops", self.spans.len() as u64);
        let measures = [Measure::count("actions", self.attempts.actions), loops];
        Verdict::found(None, self.spans.iter().map(Span::finding).collect(), measures)
    }

    fn near_misses(&self) -> Vec<NearMiss> {
        let near = |span: &Span| {
            let (what, limit) = match span.kind {
                LoopKind::RepeatedFailure => ("failures", self.config.min_failures),
                _ => ("repeats", self.config.min_repeats),
            };
            let conditions = vec![Condition::count(what, span.count, Comparator::AtLeast, limit)];
            let tool = span.call.as_ref().map_or("", |call| call.named());
            NearMiss::new(span.kind.name(), conditions).tool(tool).at(span.place)
        };
        self.nearest.iter().map(near).collect()
    }

    fn memory(&self) -> usize {
        let attempts = self.history.memory() + self.looks.memory() + self.attempts.memory();
        let spans = self.spans.len() + self.nearest.len() + self.confirmed.len();
        attempts + spans * 1_024 + self.user.memory()
    }
}
