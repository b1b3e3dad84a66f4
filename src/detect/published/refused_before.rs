//! `feedback_blindness` as `BenchTrace` publishes it: any repeat of a command that failed earlier, or
//! whose answer held a negative phrase.

use crate::detect::feedback_blindness::{finding, quote};
use crate::detect::shared::{Phrases, quoted};
use crate::detect::{FINDING_BYTES, FeedbackBlindnessConfig, Finding, Fold, Measure, Verdict};
use crate::trace::{Action, Actors, Digest, DigestMap, Status, Step};
use std::collections::VecDeque;
use std::sync::Arc;

/// Remembers, by the text of the command, which attempts were refused. A repeat counts even if it succeeds.
#[derive(Debug, Default)]
pub(in crate::detect) struct RefusedBefore {
    actors: Actors,
    window: Option<u64>,
    phrases: Arc<Phrases>,
    actions: u64,
    refused: DigestMap<VecDeque<Attempt>>,
    findings: Vec<Finding>,
}

#[derive(Debug)]
struct Attempt {
    /// The number of actions up to and including this one.
    number: u64,
    step: u64,
    observation: Option<String>,
}

impl RefusedBefore {
    pub(in crate::detect) fn new(config: &FeedbackBlindnessConfig, phrases: &Arc<Phrases>) -> Self {
        let FeedbackBlindnessConfig { actors, window, .. } = *config;
        Self { actors, window, phrases: Arc::clone(phrases), ..Self::default() }
    }

    fn is_negative(&self, action: &Action<'_>) -> bool {
        action.status == Status::Error
            || action.observation.present().is_some_and(|text| self.phrases.occur_in(&text.to_str()))
    }

    /// Returns the earliest refused attempt within the window.
    fn refused_before(&mut self, name: Digest) -> Option<&Attempt> {
        let attempts = self.refused.get_mut(&name)?;
        if let Some(window) = self.window {
            while attempts.front().is_some_and(|first| self.actions - first.number > window) {
                attempts.pop_front();
            }
        }
        attempts.front()
    }
}

impl Fold for RefusedBefore {
    fn observe(&mut self, step: &Step<'_>) {
        let Some((action, digests)) = step.digested(self.actors) else { return };
        self.actions += 1;
        if let Some(first) = self.refused_before(digests.name) {
            let message =
                format!("`{}` repeats what was refused at step {}", quoted(action.name), first.step);
            let found =
                finding(step.index(), first.step, first.observation.clone(), message).tool(action.name);
            self.findings.push(found);
        }
        if self.is_negative(action) {
            let remembered = self.refused.entry(digests.name).or_default();
            if self.window.is_some() || remembered.is_empty() {
                remembered.push_back(Attempt {
                    number: self.actions,
                    step: step.index(),
                    observation: quote(action),
                });
            }
        }
    }

    fn confirmed(&self) -> &[Finding] {
        &self.findings
    }

    fn verdict(&self) -> Verdict {
        let blind = Measure::count("blind_repeats", self.findings.len() as u64);
        Verdict::found(None, self.findings.clone(), [Measure::count("actions", self.actions), blind])
    }

    fn memory(&self) -> usize {
        let per_name = size_of::<(Digest, VecDeque<Attempt>)>() + 2 * size_of::<Attempt>() + 200;
        self.refused.len() * per_name + self.findings.capacity() * FINDING_BYTES
    }
}
