//! Attempts without a call: turns of the agent that called no tool and were sent back by the harness.
//!
//! A turn without a call usually ends a run, or is an answer to the user. It is an attempt when the harness answers
//! it, which shows in two ways:
//!
//! - a *refusal*: the message says that the format was wrong ("No tool calls found in the response");
//! - a *nudge*: the same message comes back for the third time after turns without a call, and reads like an
//!   instruction ("Please proceed to the next step using your best judgement").
//!
//! Some harnesses do not record the refused turn, only the refusal. The attempt then has the step of the refusal.

use std::borrow::Cow;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use crate::trace::{Actor, Digest, Event, Step, Text, first_chars};

/// Characters of a message by which it is compared and quoted.
const HEAD: usize = 300;

/// Characters of a message in which a refusal says so. Logs and code that a user pastes reach further.
const REFUSAL_HEAD: usize = 200;

/// Times that a message must have come before it is a nudge.
const NUDGE_AFTER: u32 = 2;

/// The fewest words of a nudge. Users say "yes" and "continue" again and again.
const NUDGE_WORDS: usize = 8;

/// How harnesses refuse a turn, in lower case: both phrases must occur.
const REFUSALS: [(&str, &str); 36] = [
    // No call, too few or too many.
    ("exactly one action", ""),
    ("exactly one tool call", ""),
    ("exactly _one_ function call", ""),
    ("no tool calls found", ""),
    ("no tool call", "response"),
    ("no tool call", "must"),
    ("no function call", "response"),
    ("no function call", "must"),
    ("no action found", "response"),
    ("no action found", "must"),
    ("no code block", "response"),
    ("no code block", "must"),
    ("expected exactly one", "block"),
    ("response must", "tool call"),
    ("response must", "exactly one"),
    ("response must", "at least one"),
    ("response needs to", "tool"),
    ("did not use a tool", "response"),
    ("did not use any tool", "output"),
    ("did not call a tool", "must"),
    ("did not call any tool", "must"),
    ("did not include a tool call", ""),
    ("without a tool call", "must"),
    ("without calling a tool", "must"),
    ("forget to call", "tool"),
    ("forgot to call", "tool"),
    ("forgot to use", "tool"),
    // A call that could not be read.
    ("parse your", "response"),
    ("parse your", "output"),
    ("parse your", "action"),
    ("parse llm output", ""),
    ("previous response had pars", "error"),
    ("your output was not formatted", ""),
    ("your response was not formatted", ""),
    ("your code snippet is invalid", ""),
    ("invalid format", "missing 'action"),
];

/// Words by which users speak of themselves, which harnesses do not.
const FIRST_PERSON: [&str; 6] = ["i", "me", "my", "our", "us", "we"];

static SEARCHER: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let phrases = REFUSALS.map(|(phrase, _)| phrase);
    AhoCorasick::builder().ascii_case_insensitive(true).build(phrases).ok()
});

/// A turn without a call that the harness answered.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Attempt<'a> {
    /// The agent's message, or the answer if the message was not recorded.
    pub(crate) step: u64,
    /// The answer.
    pub(crate) last: u64,
    /// The turn of `step`.
    #[allow(dead_code, reason = "for rules that count turns")]
    pub(crate) turn: u64,
    /// Digest of the beginning of the answer, with its numbers masked: equal for answers of one template.
    pub(crate) answer: Digest,
    /// The beginning of the answer.
    pub(crate) head: Cow<'a, str>,
    /// Whether the answer is a refusal; if not, it is a nudge.
    pub(crate) refused: bool,
    /// Attempts in a row that were answered alike, this one included.
    pub(crate) row: u64,
}

/// Finds attempts without a call, step by step and in constant memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct NoCall {
    /// Whether a step came before that is not a system message: the task is not a refusal.
    begun: bool,
    /// The turn of the agent's last action.
    acted: Option<u64>,
    /// Step and turn of the agent's message, if it is the last step and its turn has no call.
    spoken: Option<(u64, u64)>,
    /// The last answer to a turn without a call, and how often it came without another such answer between.
    answered: Option<(Digest, u32)>,
    /// The answer to the attempt just before, and its [`Attempt::row`].
    row: Option<(Digest, u64)>,
}

impl NoCall {
    /// Takes the next step of the trace, a message or an action. Returns the attempt that the step answers.
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
            (Event::Message(_), Actor::Agent) => {
                let is_without_call = self.acted != Some(step.turn());
                self.spoken = is_without_call.then_some((step.index(), step.turn()));
                None
            }
            (Event::Message(text), _) => {
                let before = self.row.take();
                let mut found = self.answer(step, *text, spoken).filter(|_| begun)?;
                let row = before.filter(|(answer, _)| *answer == found.answer).map_or(0, |(_, row)| row);
                found.row = row + 1;
                self.row = Some((found.answer, found.row));
                Some(found)
            }
        }
    }

    fn answer<'a>(
        &mut self,
        step: &Step<'a>,
        text: Text<'a>,
        spoken: Option<(u64, u64)>,
    ) -> Option<Attempt<'a>> {
        // Instructions arrive at any time. They answer a turn only directly after it.
        if step.actor() == Actor::System && spoken.is_none() {
            return None;
        }
        let head = text.head(HEAD);
        let refused = is_refusal(&head) && !(step.actor() == Actor::User && is_personal(&head));
        if spoken.is_none() && !refused {
            return None;
        }
        let answer = Digest::of_text(&head.replace(|c: char| c.is_ascii_digit(), "0"));
        let before = self.answered.filter(|(last, _)| *last == answer).map_or(0, |(_, times)| times);
        self.answered = Some((answer, before.saturating_add(1)));
        if !refused && (before < NUDGE_AFTER || !is_instruction(&head)) {
            return None;
        }
        let (first, turn) = spoken.unwrap_or((step.index(), step.turn()));
        Some(Attempt { step: first, last: step.index(), turn, answer, head, refused, row: 1 })
    }
}

/// Returns true if a message refuses a turn for its format.
fn is_refusal(text: &str) -> bool {
    let head = first_chars(text, REFUSAL_HEAD);
    let Some(searcher) = SEARCHER.as_ref() else { return false };
    let mut found = searcher.find_overlapping_iter(head).peekable();
    if found.peek().is_none() {
        return false;
    }
    let lower = head.to_lowercase();
    found
        .any(|phrase| REFUSALS.get(phrase.pattern().as_usize()).is_some_and(|(_, also)| lower.contains(also)))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Action, Status, StepInput, Trace};

    const REFUSAL: &str =
        "No tool calls found in the response. Every response MUST include at least one tool call.";
    const NUDGE: &str = "Please proceed to the next step using your best judgement.";

    fn say(actor: Actor, text: &'static str) -> StepInput<'static> {
        StepInput::message(actor, text)
    }

    fn call() -> StepInput<'static> {
        StepInput::action(Actor::Agent, Action::new("look").answered(Status::Ok, "a wall"))
    }

    /// Step, answer, kind and row of each attempt.
    fn attempts<const N: usize>(steps: [StepInput<'static>; N]) -> Vec<(u64, u64, bool, u64)> {
        let mut run = Trace::builder();
        for step in steps {
            run.push(step).unwrap();
        }
        let (trace, mut no_call) = (run.build().unwrap(), NoCall::default());
        let found = trace.steps().filter_map(|step| {
            let found = no_call.observe(&step)?;
            Some((found.step, found.last, found.refused, found.row))
        });
        found.collect()
    }

    #[test]
    fn harnesses_refuse_in_many_words() {
        for text in [
            REFUSAL,
            "Please always provide EXACTLY ONE action in triple backticks, found 0 actions.",
            "Your output was not formatted correctly. You must always include one command.",
            "[ERROR] You did not use a tool in your previous response! Please retry with a tool use.",
            "Previous response had parsing errors:\nERROR: Missing required fields: analysis, plan",
            "Expected exactly one ```bash code block, found 2.",
            "Invalid Format: Missing 'Action:' after 'Thought:'",
            "Could not parse LLM output: `I will look`",
            "Unable to parse your response. Use the format below.",
            "Did you forget to call a tool? Your turn was skipped.",
        ] {
            assert!(is_refusal(text), "{text}");
        }
        for text in [
            "New Terminal Output:\nroot@box:/app# ls",
            "It could not parse the config file.",
            "Why is there no code block in the README?",
            "The tests say: invalid format",
            "Thanks! Is that the only tool call?",
            "Every response must be in French.",
            "The response must include the order.",
            "Could not parse your package.json",
            "Did you forget to call the API?",
            "You did not use any tools. Please use grep.",
        ] {
            assert!(!is_refusal(text), "{text}");
        }
        let far = format!("{}{REFUSAL}", "x ".repeat(REFUSAL_HEAD / 2));
        assert!(!is_refusal(&far));
    }

    #[test]
    fn a_refusal_answers_the_turn_before_it() {
        for actor in [Actor::User, Actor::Environment, Actor::System] {
            let steps = [say(Actor::User, "Fix it."), say(Actor::Agent, "I will."), say(actor, REFUSAL)];
            assert_eq!(attempts(steps), [(1, 2, true, 1)]);
        }
    }

    #[test]
    fn a_refused_turn_need_not_be_recorded() {
        let refusal = || say(Actor::User, REFUSAL);
        let steps = [say(Actor::User, "Fix it."), refusal(), call(), refusal(), refusal()];
        assert_eq!(attempts(steps), [(1, 1, true, 1), (3, 3, true, 1), (4, 4, true, 2)]);
        assert_eq!(attempts([say(Actor::System, "Be brief."), refusal(), call()]), [], "the task");
        assert_eq!(attempts([call(), say(Actor::System, REFUSAL)]), [], "an instruction");
    }

    #[test]
    fn a_user_in_conversation_refuses_nothing() {
        let user = "I get `no tool calls found` from my own agent.";
        assert_eq!(attempts([call(), say(Actor::Agent, "Done."), say(Actor::User, user)]), []);
        for text in [
            "yes",
            "Commit.",
            "I am hesitant to share my address with you. Is there another way?",
            "Could you look at the failing tests once more please?",
            "New Terminal Output: the program has printed nothing at all",
        ] {
            let turn = || [say(Actor::Agent, "Done."), say(Actor::User, text)];
            let steps: [StepInput<'static>; 8] = [turn(), turn(), turn(), turn()]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .try_into()
                .unwrap();
            assert_eq!(attempts(steps), [], "{text}");
        }
    }

    #[test]
    fn the_same_instruction_for_the_third_time_is_a_nudge() {
        let (idle, nudge) = (|| say(Actor::Agent, "Hm."), || say(Actor::User, NUDGE));
        let steps = [idle(), nudge(), call(), idle(), nudge(), idle(), nudge(), idle(), nudge()];
        assert_eq!(attempts(steps), [(5, 6, false, 1), (7, 8, false, 2)]);
        let other = || say(Actor::User, "Now the docs.");
        assert_eq!(attempts([idle(), nudge(), idle(), nudge(), idle(), other(), idle(), nudge()]), []);
        assert_eq!(attempts([idle(), nudge(), call(), nudge(), call(), nudge()]), [], "turns with a call");
    }

    #[test]
    fn a_message_in_the_turn_of_a_call_is_not_what_was_refused() {
        let steps = [call().turn(4), say(Actor::Agent, "Looked.").turn(4), say(Actor::User, REFUSAL).turn(5)];
        assert_eq!(attempts(steps), [(2, 2, true, 1)]);
    }

    #[test]
    fn answers_of_one_template_are_equal() {
        let refusal = |count| format!("Please provide EXACTLY ONE action, found {count} actions.");
        let (none, many) = (refusal(0), refusal(2));
        let mut run = Trace::builder();
        for text in [&none, &many] {
            run.push(StepInput::message(Actor::Agent, "Hm.")).unwrap();
            run.push(StepInput::message(Actor::Environment, text.as_str())).unwrap();
        }
        let (trace, mut no_call) = (run.build().unwrap(), NoCall::default());
        let answers: Vec<Attempt<'_>> = trace.steps().filter_map(|step| no_call.observe(&step)).collect();
        assert_eq!(answers[0].answer, answers[1].answer);
        assert_eq!(answers[1].head, many);
    }
}
