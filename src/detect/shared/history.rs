//! The latest 1,024 attempts of a run, with which later attempts are compared.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{Attempt, Call, Does, Facts, FailureKind, Shown, excerpt};
use crate::trace::{Digest, DigestMap, DigestSet};

/// An attempt as it is remembered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Past {
    pub(crate) step: u64,
    pub(crate) turn: u64,
    /// The number of the attempt, counted from 0.
    pub(crate) number: u64,
    /// The number of the user's requests before it.
    pub(crate) requests: u32,
    pub(crate) key: Option<Digest>,
    /// `None` if the answer was not recorded. Such an outcome must never count as equal to another.
    pub(crate) outcome: Option<Digest>,
    /// The number of changes before this attempt, and including it.
    pub(crate) changes_before: u64,
    pub(crate) changes_after: u64,
    /// The number of new outcomes before this attempt, and including it.
    pub(crate) novel_before: u64,
    pub(crate) novel_after: u64,
    /// Identifies its failure, if it failed; equal for failures that count as the same ([`History::add`]).
    pub(crate) failure: Option<Digest>,
    /// A digest of its answer with most numbers masked; 0 if it did not fail. The lowest bit is set if the answer is
    /// the report of a check.
    form: u64,
    /// The numbers of the latest earlier attempts with the same key, with the same failure, and with a failure of the
    /// same program.
    same_key: Option<u64>,
    same_failure: Option<u64>,
    same_row: Option<u64>,
    /// The number of attempts up to the latest one with this call, or with its last command, that did not fail.
    went_through: u64,
}

/// The latest attempts. Each is linked to the previous one with the same key and to the previous one with the same
/// failure.
#[derive(Debug, Default)]
pub(crate) struct History {
    past: VecDeque<Past>,
    count: u64,
    changes: u64,
    novel: u64,
    by_key: DigestMap<u64>,
    by_failure: DigestMap<u64>,
    /// By program: the latest failure since it last succeeded.
    rows: DigestMap<u64>,
    /// The latest calls and commands that did not fail, each with the number of attempts up to it.
    went_through: VecDeque<(Digest, u64)>,
    outcomes: DigestSet,
    said: DigestMap<Lines>,
}

/// The lines that stated one failure, at most eight.
#[derive(Debug, Default)]
pub(crate) struct Lines(Vec<Said>);

/// A line that stated a failure, the latest call that it answered, and how often it came.
#[derive(Debug)]
pub(crate) struct Said {
    answer: Arc<Facts>,
    pub(crate) shown: Shown,
    pub(crate) times: u64,
}

/// Returns a digest of each command of a command line, or the key of another call.
fn commands(call: &Call) -> impl Iterator<Item = Digest> {
    let key = call.key.filter(|_| !call.is_shell);
    let parts = call.parts.iter().filter(|_| call.is_shell).map(|part| Digest::of_text(call.text_of(part)));
    parts.chain(key)
}

impl Past {
    /// Returns true if the call went through after the attempt with this number.
    pub(crate) fn went_through_since(&self, number: u64) -> bool {
        self.went_through > number + 1
    }

    /// Returns true if something changed between an earlier failure and this attempt, and the answer differs. Holds
    /// only for the same call, or if this answer is the report of a check.
    pub(crate) fn tells_more_than(&self, earlier: &Self) -> bool {
        earlier.changes_after < self.changes_before
            && (self.key.is_some() && self.key == earlier.key || self.form & 1 == 1)
            && self.form != earlier.form
    }
}

impl Said {
    pub(crate) fn line(&self) -> &str {
        self.answer.failure.as_ref().map_or("", |failure| &failure.line)
    }
}

impl Lines {
    /// Maximum number of lines remembered.
    const MOST: usize = 8;

    /// Adds the line of a failed attempt. Lines with the same first 100 characters count as one.
    pub(crate) fn add(&mut self, attempt: &Attempt, shown: Shown) {
        let line = attempt.failure().map_or("", |failure| &failure.line);
        let is_same =
            |said: &&mut Said| said.line() == line || excerpt(said.line(), 100) == excerpt(line, 100);
        if let Some(before) = self.0.iter_mut().find(is_same) {
            (before.times, before.shown) = (before.times + 1, shown);
        } else if self.0.len() < Self::MOST {
            self.0.push(Said { answer: Arc::clone(&attempt.answer), shown, times: 1 });
        }
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Said> {
        self.0.iter()
    }
}

impl History {
    /// Maximum number of attempts remembered.
    const MOST: usize = 1_024;
    /// Maximum number of calls and commands remembered that did not fail. Loops span few attempts, so only the latest
    /// matter.
    const SUCCESSES: usize = 32;

    /// Adds an attempt and returns it as it is remembered. `requests` is the number of the user's requests so far.
    ///
    /// Two failures are the same if their programs and signatures are equal and, for calls that write and run no check,
    /// their files. A tool and a program of a command line are never equal.
    pub(crate) fn add(&mut self, attempt: &Attempt, requests: u32) -> Past {
        let call = &attempt.call.call;
        let checks = call.parts.iter().any(|part| part.check.is_some());
        let target = call.target.as_deref().filter(|_| call.does == Does::Write && !checks);
        let program = Digest::of_text(&call.program);
        let program = match attempt.failure() {
            // A harness may refuse any command in the same words, so refusals are compared across programs.
            Some(failure) if call.is_shell && failure.kind == FailureKind::Refused => Digest::NONE,
            _ if call.is_shell => program.and(Digest::NONE),
            _ => program,
        };
        let file = target.map_or(Digest::NONE, Digest::of_text);
        let failure = attempt.failure().map(|failure| program.and(file).and(failure.signature));
        if let Some(failure) = failure {
            self.said.entry(failure).or_default().add(attempt, Shown::of(&attempt.call));
        }
        let number = self.count;
        let known = call.key.zip(attempt.outcome).map(|(key, outcome)| key.and(outcome));
        let is_new = known.is_none_or(|known| self.outcomes.insert(known));
        let (changes_before, novel_before) = (self.changes, self.novel);
        self.changes += u64::from(attempt.changes);
        self.novel += u64::from(is_new);
        self.count += 1;
        let last = commands(call).last().filter(|_| failure.is_some());
        let success = self.went_through.iter().rfind(|(command, _)| Some(*command) == last);
        let went_through = success.map_or(0, |(_, number)| *number);
        for command in commands(call).filter(|_| failure.is_none()) {
            if self.went_through.len() == Self::SUCCESSES {
                self.went_through.pop_front();
            }
            self.went_through.push_back((command, self.count));
        }
        let past = Past {
            step: attempt.step,
            turn: attempt.turn,
            number,
            requests,
            key: call.key,
            outcome: attempt.outcome,
            changes_before,
            changes_after: self.changes,
            novel_before,
            novel_after: self.novel,
            failure,
            form: attempt
                .failure()
                .map_or(0, |failure| failure.form & !1 | u64::from(failure.report.is_some())),
            went_through,
            same_key: call.key.and_then(|key| self.by_key.insert(key, number)),
            same_failure: failure.and_then(|failure| self.by_failure.insert(failure, number)),
            same_row: match failure {
                Some(_) => self.rows.insert(program, number),
                None => self.rows.remove(&program).and(None),
            },
        };
        if self.past.len() == Self::MOST {
            self.past.pop_front();
        }
        self.past.push_back(past);
        past
    }

    /// Adds the outcome of the latest attempt, which was not answered when it was added, and returns the attempt.
    /// `None` if another attempt is the latest.
    pub(crate) fn answer(&mut self, attempt: &Attempt) -> Option<Past> {
        let past = self.past.back_mut().filter(|past| past.step == attempt.step)?;
        past.outcome = attempt.outcome;
        let known = past.key.zip(past.outcome).map(|(key, outcome)| key.and(outcome));
        // `add` counted an attempt without an outcome as new.
        self.novel -= u64::from(known.is_some_and(|known| !self.outcomes.insert(known)));
        past.novel_after = self.novel;
        Some(*past)
    }

    /// Returns the step of the latest attempt with a key.
    pub(crate) fn latest(&self, key: Digest) -> Option<u64> {
        Some(self.at(*self.by_key.get(&key)?)?.step)
    }

    /// Forgets the attempts with a key, so the next one counts as the first.
    pub(crate) fn forget(&mut self, key: Digest) {
        self.by_key.remove(&key);
    }

    /// Returns the line that stated a failure most often.
    pub(crate) fn said(&self, failure: Digest) -> Option<&Said> {
        self.said.get(&failure)?.iter().rev().max_by_key(|said| said.times)
    }

    fn at(&self, number: u64) -> Option<&Past> {
        let newer = usize::try_from(self.count - number).ok()?;
        self.past.get(self.past.len().checked_sub(newer)?)
    }

    /// Returns the attempts of earlier turns with the same key, the latest of each turn, latest turn first.
    pub(crate) fn same_calls<'h>(&'h self, past: &'h Past) -> impl Iterator<Item = &'h Past> {
        let mut turn = past.turn;
        std::iter::successors(past.same_key.and_then(|number| self.at(number)), |past| {
            self.at(past.same_key?)
        })
        .filter(move |earlier| std::mem::replace(&mut turn, earlier.turn) != earlier.turn)
    }

    /// Returns the attempts of earlier turns with the same failure, the latest of each turn, latest turn first.
    pub(crate) fn same_failures<'h>(&'h self, past: &'h Past) -> impl Iterator<Item = &'h Past> {
        let mut turn = past.turn;
        std::iter::successors(past.same_failure.and_then(|number| self.at(number)), |past| {
            self.at(past.same_failure?)
        })
        .filter(move |earlier| std::mem::replace(&mut turn, earlier.turn) != earlier.turn)
    }

    /// Returns this failure and, before it, those of the same program since that program last succeeded, latest first.
    pub(crate) fn row<'h>(&'h self, past: &'h Past) -> impl Iterator<Item = &'h Past> {
        std::iter::successors(Some(past), |past| self.at(past.same_row?))
    }

    pub(crate) fn memory(&self) -> usize {
        let digests = self.by_key.len() + self.by_failure.len() + self.outcomes.len();
        let lines: usize = self.said.values().map(|lines| lines.0.len()).sum();
        self.past.len() * size_of::<Past>() + digests * 2 * size_of::<(Digest, u64)>() + lines * 512
    }
}
