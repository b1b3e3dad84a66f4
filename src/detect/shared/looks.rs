//! Finds looks that bring nothing new. A look is a call that is not known to change anything. It brings nothing new if
//! its answer says so, or if it resembles an earlier look and shows no new line.

use std::collections::VecDeque;
use std::sync::Arc;

use super::failure_lines::is_start_up;
use super::shell::last_part;
use super::text::was_shown_before;
use super::{Attempt, Does, Facts, is_withheld, lines};
use crate::trace::{Action, Digest, DigestMap, DigestSet, KeptText, Text};

/// The latest looks since something was changed, at most eight.
#[derive(Debug, Default)]
pub(crate) struct Looks {
    recent: VecDeque<Look>,
    idle: IdleLooks,
}

/// A series of looks. A single look that brings something new may come between two that do not.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct IdleLooks {
    /// The step of the earliest look that one of these repeats.
    pub(crate) first: u64,
    /// How many of the looks brought nothing new.
    pub(crate) count: u64,
    /// Whether one of these was a command line, or its answer said that it had been shown before.
    pub(crate) rests_on_text: bool,
    /// Whether the latest look brought something new.
    is_interrupted: bool,
}

#[derive(Debug)]
struct Look {
    step: u64,
    call: Arc<Facts>,
    turn: u64,
    outcome: Option<Digest>,
    bigrams: Option<Bigrams>,
    answer: KeptText,
    /// The digests of the lines of the answer, computed when they are first compared.
    lines: Option<Vec<Digest>>,
}

impl Looks {
    const WINDOW: usize = 8;
    /// Minimum similarity at which two command lines of one program count as looking at the same thing.
    const LIKENESS: f64 = 0.3;
    /// Maximum length, in bytes, of an answer that says next to nothing.
    const SHORT: usize = 24;
    /// Maximum length, in bytes, of an answer whose lines are remembered.
    const LONGEST: usize = 16_384;

    /// Processes an attempt. If it is a look that brings nothing new, returns the series that it ends.
    pub(crate) fn observe(&mut self, attempt: &Attempt, answer: Option<Text<'_>>) -> Option<IdleLooks> {
        if attempt.changes {
            self.clear();
            return None;
        }
        if self.recent.is_empty() {
            self.idle = IdleLooks::default();
        }
        if let Some(first) = self.repeated(attempt, answer) {
            self.idle.first = if self.idle.count == 0 { first } else { self.idle.first.min(first) };
            self.idle.count += 1;
            self.idle.rests_on_text |= attempt.call.call.is_shell || answer.is_some_and(was_shown_before);
            self.idle.is_interrupted = false;
            return Some(self.idle);
        }
        if self.idle.is_interrupted {
            self.recent.truncate(1);
            self.idle = IdleLooks::default();
        } else {
            self.idle.is_interrupted = true;
        }
        None
    }

    /// Records a look. If it brings nothing new, returns the step of the earliest look that it repeats: its answer says
    /// so, or it resembles earlier looks and shows no new line or next to nothing.
    fn repeated(&mut self, attempt: &Attempt, answer: Option<Text<'_>>) -> Option<u64> {
        let answer = answer.filter(|answer| !is_withheld(*answer))?;
        let call = &attempt.call.call;
        let mut bigrams = None;
        let (mut like, mut same_key) = (Vec::new(), false);
        for earlier in self.recent.iter_mut().filter(|earlier| earlier.turn != attempt.turn) {
            let other = &earlier.call.call;
            let is_same = call.key.is_some() && other.key == call.key;
            let mut is_alike = || {
                let mine = bigrams.get_or_insert_with(|| Bigrams::of(&call.text));
                let theirs = earlier.bigrams.get_or_insert_with(|| Bigrams::of(&other.text));
                mine.likeness(theirs) >= Self::LIKENESS
            };
            if is_same || call.is_shell && other.is_shell && other.program == call.program && is_alike() {
                same_key |= is_same;
                like.push(earlier);
            }
        }
        let idle = match like.as_slice() {
            _ if was_shown_before(answer) => true,
            [] => false,
            // A structured call brings nothing new only if its answer equals that of an earlier look.
            _ if !call.is_shell => {
                like.iter().any(|like| attempt.outcome.is_some() && like.outcome == attempt.outcome)
            }
            _ => {
                let text = answer.to_str();
                let mut told = lines(&text).filter(|line| line.len() >= 3);
                // The first empty result of a search is new, even if the command itself prints the words for it, as
                // `grep … || echo none` does.
                let says_something = lines(&text).any(|line| {
                    line.len() >= 3 && !is_start_up(line, call) && !call.text.contains(&line.to_lowercase())
                });
                let known: DigestSet =
                    like.iter_mut().flat_map(|like| like.lines().iter().copied()).collect();
                let nothing_new = told.all(|line| known.contains(&Digest::of_text(line)));
                if call.does == Does::Read && !same_key {
                    says_something && nothing_new
                } else {
                    // A counter that advances is new: `51/200` after `50/200`.
                    let words = |text: &str| text.replace(|c: char| c.is_ascii_digit(), "");
                    let counts = |like: &Look| {
                        let before = like.answer.to_str();
                        before != text && words(&before) == words(&text)
                    };
                    let is_short = || lines(&text).map(str::len).sum::<usize>() <= Self::SHORT;
                    nothing_new || is_short() && !(same_key && like.iter().any(|like| counts(like)))
                }
            }
        };
        let first = like.last().map_or(attempt.step, |like| like.step);
        let kept = if call.is_shell && answer.len() <= Self::LONGEST { answer } else { Text::from("") };
        self.recent.truncate(Self::WINDOW - 1);
        let (call, turn, outcome) = (Arc::clone(&attempt.call), attempt.turn, attempt.outcome);
        let (step, answer) = (attempt.step, kept.keep());
        self.recent.push_front(Look { step, call, turn, outcome, bigrams, answer, lines: None });
        idle.then_some(first)
    }

    pub(crate) fn clear(&mut self) {
        self.recent.clear();
    }

    pub(crate) fn memory(&self) -> usize {
        self.recent.iter().map(|look| look.answer.len() + 1_024).sum()
    }
}

impl Look {
    fn lines(&mut self) -> &[Digest] {
        self.lines.get_or_insert_with(|| line_digests(&self.answer.to_str()))
    }
}

/// Returns the digests of the lines of an answer that have at least 3 bytes.
fn line_digests(answer: &str) -> Vec<Digest> {
    lines(answer).filter(|line| line.len() >= 3).map(Digest::of_text).collect()
}

/// The pairs of neighbouring words of a text, to compare it with others.
#[derive(Debug, Clone)]
struct Bigrams(DigestSet);

impl Bigrams {
    /// Maximum number of words compared.
    const MOST: usize = 2_000;

    fn of(text: &str) -> Self {
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
        let mut before = Digest::NONE;
        let pair = |word: &str| {
            let word = Digest::of_text(word);
            std::mem::replace(&mut before, word).and(word)
        };
        Self(words.take(Self::MOST).map(pair).collect())
    }

    /// Returns the Jaccard similarity of the pairs of both texts: 0 to 1, and 1 if neither has a pair.
    #[expect(clippy::cast_precision_loss, reason = "at most 2,000 words")]
    fn likeness(&self, other: &Self) -> f64 {
        let both = self.0.intersection(&other.0).count();
        let either = self.0.len() + other.0.len() - both;
        if either == 0 { 1.0 } else { both as f64 / either as f64 }
    }
}

/// The lines of files that reads have shown, to recognise a read that shows nothing new.
#[derive(Debug, Default)]
pub(crate) struct ShownLines {
    /// For each file, the text that was shown first; once the file is read again, the digests of all lines shown
    /// instead.
    files: DigestMap<ShownFile>,
}

#[derive(Debug)]
struct ShownFile {
    first: Option<KeptText>,
    lines: DigestSet,
    /// The numbers of user requests and of actions when the file was last shown.
    seen: (u64, u64),
    /// Whether the file has been changed since then.
    changed: bool,
}

impl ShownLines {
    const FILES: usize = 64;

    /// Records that a file was changed. Files are identified by name, without folders.
    pub(crate) fn changed(&mut self, file: &str) {
        if let Some(known) = self.files.get_mut(&Self::key(file)) {
            known.changed = true;
        }
    }

    fn key(file: &str) -> Digest {
        Digest::of_text(&last_part(file).to_lowercase())
    }

    /// Records a read, and returns whether all that it shows of a file had already been shown since the user's last
    /// request, or a short while ago. `now` holds the numbers of user requests and of actions so far. After a change of
    /// the file, the first read that shows only known lines counts as a look at the change. Answers of at most 24
    /// bytes, and those of more than 16 KiB, are not compared.
    pub(crate) fn all(&mut self, attempt: &Attempt, action: &Action<'_>, now: (u64, u64)) -> bool {
        let call = &attempt.call.call;
        let Some((file, answer)) = call.target.as_deref().zip(action.observation.present()) else {
            return false;
        };
        if was_shown_before(answer) {
            return true;
        }
        let is_compared = (Looks::SHORT + 1..=Looks::LONGEST).contains(&answer.len()) && !is_withheld(answer);
        if !is_compared || attempt.failure().is_some() {
            return false;
        }
        let file = Self::key(file);
        if self.files.len() >= Self::FILES && !self.files.contains_key(&file) {
            return false;
        }
        let new = || ShownFile {
            first: Some(answer.keep()),
            lines: DigestSet::default(),
            seen: now,
            changed: false,
        };
        let Some(known) = self.files.get_mut(&file).filter(|known| is_recent(known.seen, now)) else {
            self.files.insert(file, new());
            return false;
        };
        known.seen = now;
        if let Some(first) = known.first.take() {
            known.lines.extend(line_digests(&first.to_str()));
        }
        let text = answer.to_str();
        let lines = line_digests(&text);
        // Separators that a command prints itself (`====`) show nothing.
        let tells = |line: &str| line.len() >= 3 && line.contains(char::is_alphanumeric);
        let all = self::lines(&text).any(tells) && lines.iter().all(|line| known.lines.contains(line));
        known.lines.extend(lines);
        all && !std::mem::take(&mut known.changed)
    }

    pub(crate) fn memory(&self) -> usize {
        let file = |file: &ShownFile| {
            file.first.as_ref().map_or(0, KeptText::len) + file.lines.len() * 2 * size_of::<Digest>()
        };
        self.files.values().map(file).sum()
    }
}

/// Returns true if the agent should still know what it saw `then`: since the user's last request, or at most 30 actions
/// ago. Both arguments hold numbers of requests and of actions.
fn is_recent(then: (u64, u64), now: (u64, u64)) -> bool {
    then.0 == now.0 || now.1 - then.1 <= 30
}
