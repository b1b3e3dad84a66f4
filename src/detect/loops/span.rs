//! A loop that was found, and the message about it.

use std::sync::Arc;

use super::{Loop, LoopEvidence, LoopKind};
use crate::detect::shared::{
    Attempt, Does, Facts, Said, Shown, after_colon, excerpt, is_blank, lines, no_call, without_colours,
};
use crate::detect::{Confidence, Finding, Rule};
use crate::trace::Action;

/// A loop, or a series of repeats that is not yet one.
#[derive(Debug)]
pub(super) struct Span {
    pub(super) kind: LoopKind,
    pub(super) count: u64,
    pub(super) place: (u64, u64),
    /// The first and last step without those of merged loops.
    pub(super) own: (u64, u64),
    pub(super) confidence: Confidence,
    /// The call that repeats, or the latest one.
    pub(super) call: Option<Arc<Facts>>,
    /// The call and its answer, as shown in the message; for failures, the most frequent ones.
    pub(super) shown: Option<Shown>,
    pub(super) said: String,
    /// Number of different failures, and whether the calls differ.
    pub(super) ways: u64,
    pub(super) varied: bool,
    /// Whether the harness refused the turns without a call.
    pub(super) refused: bool,
    /// The step at which it was found, and those of merged loops. They identify the findings.
    pub(super) found: u64,
    pub(super) merged: Vec<u64>,
}

impl Span {
    pub(super) fn new(kind: LoopKind, count: u64, place: (u64, u64)) -> Self {
        Self {
            kind,
            count,
            place,
            own: place,
            confidence: Confidence::Likely,
            call: None,
            shown: None,
            said: String::new(),
            ways: 1,
            varied: false,
            refused: false,
            found: place.1,
            merged: Vec::new(),
        }
    }

    pub(super) fn of(kind: LoopKind, count: u64, first: u64, attempt: &Attempt) -> Self {
        let call = Some(Arc::clone(&attempt.call));
        Self { call, ..Self::new(kind, count, (first, attempt.outcome_step)) }
    }

    pub(super) fn of_no_call(attempt: &no_call::Attempt<'_>) -> Self {
        let place = (attempt.row_start, attempt.last);
        let said = excerpt(&attempt.head, 100);
        Self { said, refused: attempt.refused, ..Self::new(LoopKind::NoCall, attempt.row, place) }
    }

    pub(super) fn certain_if(mut self, is_certain: bool) -> Self {
        self.confidence = if is_certain { Confidence::Certain } else { Confidence::Likely };
        self
    }

    /// Sets the call and the answer that the message shows, unless they are set already.
    pub(super) fn show(&mut self, attempt: &Attempt, action: &Action<'_>) {
        self.shown.get_or_insert_with(|| Shown::with(&attempt.call, action));
        // For failures, `quote` has set the most frequent line, which may be empty.
        if self.said.is_empty() && self.kind != LoopKind::RepeatedFailure {
            self.said = match (attempt.failure(), action.observation.present()) {
                (Some(failure), _) => excerpt(&failure.line, 100),
                (None, Some(answer)) if is_blank(answer) => "(empty)".to_owned(),
                (None, Some(answer)) => {
                    excerpt(&lines(&without_colours(answer.head(400))).collect::<Vec<_>>().join(" "), 60)
                }
                (None, None) => String::new(),
            };
        }
    }

    /// Quotes this line of a failure, and shows its call if the calls differ.
    pub(super) fn quote(&mut self, varied: bool, said: Option<&Said>) {
        let Some(said) = said else { return };
        self.varied = varied;
        said.line().clone_into(&mut self.said);
        self.shown = Some(said.shown.clone()).filter(|_| varied).or(self.shown.take());
    }

    pub(super) fn finding(&self) -> Finding {
        let Self { kind, count, own: (first, last), said, ways, .. } = self;
        let shown = self.shown.as_ref().map_or_else(String::new, Shown::to_string);
        let what = match kind {
            LoopKind::RepeatedFailure => {
                let has_target = |call: &Arc<Facts>| call.call.is_shell || call.call.target.is_some();
                let subject = if self.varied && self.call.as_ref().is_some_and(has_target) {
                    format!("{count} calls like {shown} failed")
                } else {
                    format!("{shown} failed {count} times")
                };
                let (how, most) = match ways {
                    1 => ("in the same way".to_owned(), ""),
                    ways => {
                        let most = if said.is_empty() {
                            ", most often with no error stated"
                        } else {
                            ", most often"
                        };
                        (format!("in {ways} ways without a success"), most)
                    }
                };
                format!("{subject} {how} (steps {first}-{last}){most}{}", after_colon(said))
            }
            LoopKind::NoCall => {
                let (place, said) = (format!("(steps {first}-{last})"), after_colon(said));
                if self.refused {
                    format!("the harness sent back {count} turns {place}{said}")
                } else {
                    format!("{count} turns without a call got the same message {place}{said}")
                }
            }
            LoopKind::SameQuestion => {
                format!("the agent asked the same {count} times (steps {first}-{last}){}", after_colon(said))
            }
            LoopKind::IdleLooks => {
                let is_look = self.call.as_ref().is_some_and(|call| call.call.does == Does::Read);
                let what = if is_look { "looks" } else { "calls" };
                let said = after_colon(said);
                format!("{count} {what} bring nothing new (steps {first}-{last}), the last {shown}{said}")
            }
            _ => {
                let said = after_colon(said);
                let failed = self.call.as_ref().is_some_and(|facts| facts.failure.is_some());
                let is_shell = self.call.as_ref().is_some_and(|facts| facts.call.is_shell);
                let (what, how) = match (failed, is_shell) {
                    (true, false) => ("failed", " with the same arguments"),
                    (true, true) => ("failed", " in the same way"),
                    (false, _) => ("got the same answer", ""),
                };
                if self.varied {
                    format!("{count} calls like {shown} {what} (steps {first}-{last}){said}")
                } else {
                    format!("{shown} {what} {count} times{how} (steps {first}-{last}){said}")
                }
            }
        };
        let action = self.call.as_ref().map_or_else(String::new, |call| call.named().to_owned());
        let evidence = LoopEvidence {
            kind: *kind,
            repeat_count: *count,
            action: action.clone(),
            location: self.call.as_ref().and_then(|call| call.location.as_deref().map(str::to_owned)),
            repeating_keys: None,
            period: None,
        };
        let (from, to) = self.place;
        let others = self.place != self.own;
        let what = if others { format!("{what}; with other repeats, steps {from}-{to}") } else { what };
        let finding = Loop::finding(self.place, what, evidence);
        let merged = self.merged.iter().map(|step| Finding::id_of(Loop::ID, step)).collect();
        Finding { merged, ..finding.with_id(self.found).tool(action).confidence(self.confidence) }
    }
}
