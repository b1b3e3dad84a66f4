//! Attempts without a call: agent turns without a tool call to which the harness replied.
//!
//! A turn without a call usually ends a run, or is an answer to the user. It counts as an attempt if the harness
//! answers it in one of two ways:
//!
//! - a *refusal*: the message says that the format was wrong ("No tool calls found in the response");
//! - a *nudge*: the same message follows a turn without a call for the third time in a row, and reads like an
//!   instruction ("Please proceed to the next step using your best judgement").
//!
//! Some harnesses do not record the refused turn, only the refusal. The attempt then takes the refusal's step. Others
//! record each refused turn, but only their last refusal, with which they end the run.

use std::borrow::Cow;
use std::sync::LazyLock;

use super::phrase_search::{Hints, Pattern};
use crate::trace::{Actor, Digest, Event, Step, Text, first_chars};

/// The number of leading characters of a message that are compared and quoted.
const HEAD: usize = 300;

/// The number of leading characters that are searched for a refusal. Phrases further on are usually from logs or
/// code that a user pasted.
const REFUSAL_HEAD: usize = 200;

/// Number of times that a message must already have arrived for the next arrival to be a nudge.
const NUDGE_AFTER: u32 = 2;

/// Minimum number of words in a nudge. Shorter ones, such as "yes" and "continue", often come from users.
const NUDGE_WORDS: usize = 8;

/// How harnesses refuse a turn: no call, too many, or one that could not be read.
static REFUSAL: Pattern = Pattern::new(
    r"(?is)exactly (?:one|_one_) (?:action|tool call|function call)|no tool calls found|did not include a tool call|(?:no (?:tool call|function call|action found|code block)|did not call (?:a|any) tool|without (?:a tool call|calling a tool)).*(?:response|must)|expected exactly one.*block|response must.*(?:tool call|exactly one|at least one)|response needs to.*tool|did not use (?:a|any) tool.*(?:response|output)|forg[eo]t to (?:call|use).*tool|parse (?:llm output|your.*(?:response|output|action))|previous response had pars.*error|your (?:output|response) was not formatted|your code snippet is invalid|exit due to repeated format|invalid format.*missing 'action",
);

/// Substrings of the phrases above, as harnesses spell them. Messages without any of them are skipped quickly.
#[rustfmt::skip]
static HINTS: LazyLock<Hints> = LazyLock::new(|| Hints::new(["xactly one", "XACTLY ONE", "xactly _one_", "o tool call",
    "o function call", "o action found", "o code block", "esponse must", "esponse MUST", "esponse needs", "id not use",
    "id not call", "id not include", "ithout a tool", "ithout calling", "orget to", "orgot to", "arse your", "arse LLM",
    "arse llm", "had pars", "not formatted", "snippet is invalid", "epeated format", "nvalid format", "nvalid Format"]));

/// A part of the refusal with which SWE-agent ends a run.
const ENDS: &str = "epeated format";

/// Words with which a model declines a task. A nudge does not turn such an answer into an attempt.
static DECLINES: Pattern = Pattern::new(
    r"(?i)\bi(?:(?:'|’)m| am)? (?:sorry, (?:but )?i )?(?:can(?:'|’)t|cannot|can not|won(?:'|’)t|unable to|not able to) (?:(?:help|assist|comply)(?: you)? with|(?:fulfil+|proceed with) (?:that|this|the|your) request|(?:create|generate|provide|write) (?:content|guidance|information|instructions))\b|\bi (?:must|have to) decline",
);

/// Parts of the phrases above. Messages without any of them are skipped quickly.
static DECLINE_HINTS: LazyLock<Hints> = LazyLock::new(|| {
    Hints::new([
        "t help",
        "t assist",
        "able to help",
        "able to assist",
        "comply",
        "ulfil",
        "proceed with",
        "decline",
        "content",
        "guidance",
        "information",
        "instructions",
    ])
});

/// Words with which users refer to themselves; harnesses do not use them.
const FIRST_PERSON: [&str; 6] = ["i", "me", "my", "our", "us", "we"];

/// A turn without a call that the harness answered.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Attempt<'a> {
    /// The step of the agent's message, or of the answer if the message was not recorded.
    pub(crate) step: u64,
    /// The number of turns that the harness answered: more than one if a refusal follows several unanswered turns.
    pub(crate) turns: u64,
    /// The step of the answer.
    pub(crate) last: u64,
    /// Digest of the beginning and the length of the answer or, for a refusal, of its beginning with digits masked.
    /// It is equal for answers from the same template.
    pub(crate) answer: Digest,
    /// The beginning of the answer.
    pub(crate) head: Cow<'a, str>,
    /// Whether the answer is a refusal; if not, it is a nudge.
    pub(crate) refused: bool,
    /// The number of consecutive turns that got this answer, including this one.
    pub(crate) row: u64,
    /// The first step of these turns.
    pub(crate) row_start: u64,
}

/// The agent's messages in turns without a call, if they are the last steps: the steps of the first and the latest, the
/// turn of the latest, and the number of turns.
#[derive(Debug, Clone, Copy)]
struct Spoken {
    first: u64,
    latest: u64,
    turn: u64,
    turns: u64,
    /// Whether the agent declines the task in the latest.
    declines: bool,
}

impl Attempt<'_> {
    /// Returns the step of the last turn, or of the answer if it follows several.
    pub(crate) fn last_turn(&self) -> u64 {
        if self.turns == 1 { self.step } else { self.last }
    }
}

/// Finds attempts without a call, step by step and in constant memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct NoCall {
    /// Whether any earlier step has an actor other than the system. The first message of such an actor is the task, so
    /// it is not a refusal.
    begun: bool,
    /// The turn of the agent's last action.
    acted: Option<u64>,
    spoken: Option<Spoken>,
    /// The last answer to a turn without a call, and how often it came with no other such answer in between.
    answered: Option<(Digest, u32)>,
    /// The answer to the turn just before, its [`Attempt::row`] and [`Attempt::row_start`].
    row: Option<(Digest, u64, u64)>,
}

impl NoCall {
    /// Processes the next step of the trace. Returns the attempt that this step answers, if any.
    pub(crate) fn observe<'a>(&mut self, step: &Step<'a>) -> Option<Attempt<'a>> {
        let (begun, spoken) = (self.begun, self.spoken.take());
        self.begun |= step.actor() != Actor::System;
        match (step.event(), step.actor()) {
            (Event::Action(_), actor) => {
                self.row = None;
                if actor == Actor::Agent {
                    self.acted = Some(step.turn());
                }
                None
            }
            (Event::Message(text), Actor::Agent) => {
                let is_without_call = self.acted != Some(step.turn());
                let declines = is_without_call
                    && DECLINE_HINTS.occur_in(text.start(HEAD))
                    && DECLINES.is_match(&text.head(HEAD));
                let (latest, turn) = (step.index(), step.turn());
                let (first, turns) = match spoken {
                    Some(row) => (row.first, row.turns + u64::from(row.turn != turn)),
                    None => (latest, 1),
                };
                self.spoken = is_without_call.then_some(Spoken { first, latest, turn, turns, declines });
                None
            }
            (Event::Message(text), _) => {
                let before = self.row.take();
                if begun { self.answer(step, *text, spoken, before) } else { None }
            }
        }
    }

    fn answer<'a>(
        &mut self,
        step: &Step<'a>,
        text: Text<'a>,
        spoken: Option<Spoken>,
        row: Option<(Digest, u64, u64)>,
    ) -> Option<Attempt<'a>> {
        // System messages can arrive at any time. They answer a turn only if they directly follow it.
        if step.actor() == Actor::System && spoken.is_none() {
            return None;
        }
        // Computed once for all rules.
        let (refused, answer) = *step.facts(|| {
            if is_refusal(text, step.actor()) {
                (true, Digest::of_text(&text.head(HEAD).replace(|c: char| c.is_ascii_digit(), "0")))
            } else {
                (false, text.start_digest(HEAD).and(Digest::of_text(&text.len().to_string())))
            }
        })?;
        if !refused && spoken.is_none_or(|row| row.declines) {
            return None;
        }
        // Only the refusal that ends a run answers several turns.
        let ends = refused && text.head(REFUSAL_HEAD).contains(ENDS);
        let (first, turns) = match spoken {
            Some(row) if ends => (row.first, row.turns),
            spoken => (spoken.map_or(step.index(), |row| row.latest), 1),
        };
        let row = row.filter(|(last, ..)| *last == answer);
        let (row, row_start) = row.map_or((turns, first), |(_, row, start)| (row + turns, start));
        self.row = Some((answer, row, row_start));
        let before = self.answered.filter(|(last, _)| *last == answer).map_or(0, |(_, times)| times);
        self.answered = Some((answer, before.saturating_add(1)));
        if !refused && before < NUDGE_AFTER {
            return None;
        }
        let head = text.head(HEAD);
        if !refused && !is_instruction(&head) {
            return None;
        }
        Some(Attempt { step: first, turns, last: step.index(), answer, head, refused, row, row_start })
    }
}

/// Returns true if a message refuses a turn for its format. A user's message in the first person does not count.
fn is_refusal(text: Text<'_>, actor: Actor) -> bool {
    HINTS.occur_in(text.start(HEAD)) && {
        let head = text.head(HEAD);
        REFUSAL.is_match(first_chars(&head, REFUSAL_HEAD)) && !(actor == Actor::User && is_personal(&head))
    }
}

/// Returns true if a message tells the agent what to do, and does not read like a user in conversation.
fn is_instruction(text: &str) -> bool {
    let is_addressed =
        words(text).any(|word| ["you", "your"].iter().any(|you| word.eq_ignore_ascii_case(you)));
    words(text).count() >= NUDGE_WORDS
        && is_addressed
        && !text.contains('?')
        && !text.starts_with(['<', '[', '{'])
        && !is_personal(text)
}

/// Returns true if the author speaks of themselves.
fn is_personal(text: &str) -> bool {
    words(text).any(|word| FIRST_PERSON.iter().any(|person| word.eq_ignore_ascii_case(person)))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}
