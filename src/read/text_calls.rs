//! Calls that an agent writes as text, and answers inside other texts.
//!
//! Calls are looked for only in runs without a recorded call. A grammar is used only if the harness answered a call
//! in it, or if the prompt defines it: code in ordinary chat is not a call. The agent's text is kept as a message.
//! A harness message that answers the call becomes the observation.

use std::borrow::Cow;
use std::collections::VecDeque;

use super::call_outcome::{
    Outcome, at_start, broken_off, in_background, in_last_line, is_of_ipython, never_ran, reports_failure,
    states_error,
};
use super::common;
use super::formats::{cline_ui, swe_agent};
use super::text_grammars::{self, Written};
use super::text_results::{Result, results};
use super::words;
use super::written_results::{self, Unwrapped};
use crate::trace::{Actor, Answer, Assembler, Call, CallNumber, Content, Entry, Provenance, Text, TextCow};

struct Grammar {
    /// Substrings of a text with a call, and of a prompt that defines the grammar. One of them is enough.
    marks: &'static [&'static str],
    calls: fn(&str) -> Vec<Written>,
    /// Further substrings, all of which a prompt needs to define the grammar; `None` if no prompt suffices.
    prompt: Option<&'static [&'static str]>,
    /// The prefix of every answer, if messages of any role but the system may hold calls.
    answer: Option<&'static str>,
    /// Actors whose message after a call shows that the call was made, whatever the message says.
    answered_by: &'static [Actor],
    /// True if a run in which most texts of the agent hold a call uses the grammar.
    by_use: bool,
}

/// Makes a grammar that is defined by a prompt with a mark and all of these substrings.
const fn defined(
    marks: &'static [&'static str],
    calls: fn(&str) -> Vec<Written>,
    prompt: &'static [&'static str],
) -> Grammar {
    Grammar { marks, calls, prompt: Some(prompt), answer: None, answered_by: &[], by_use: false }
}

/// The grammars, most specific first.
static GRAMMARS: [Grammar; 18] = [
    defined(&["keystrokes"], text_grammars::keystrokes, &["commands"]),
    Grammar {
        answered_by: &[Actor::Environment],
        ..defined(&["\"action\"", "\"command\"", "\"tool_name\""], text_grammars::object, &[])
    },
    Grammar {
        answered_by: &[Actor::Environment],
        ..defined(&["\"tool_call\""], text_grammars::typed_object, &[])
    },
    Grammar {
        answered_by: &[Actor::Environment, Actor::System, Actor::User],
        ..defined(&["----BEGIN_FUNCTION_CALL----"], text_grammars::delimited, &[])
    },
    Grammar { prompt: None, answer: Some("exitcode: "), ..defined(&["```"], text_grammars::scripts, &[]) },
    defined(&["<function=", "<invoke name="], text_grammars::functions, &[]),
    defined(&["<tool_call>"], text_grammars::tool_calls, &[]),
    defined(&["<execute"], text_grammars::executions, &["</execute"]),
    defined(&["<"], cline_ui::calls, &["</read_file>"]),
    defined(&["<action>"], text_grammars::action_tags, &["</action>"]),
    defined(&["next action I will perform is"], text_grammars::performed, &[]),
    Grammar { prompt: None, ..defined(&["```"], text_grammars::command_blocks, &[]) },
    // MedAgentBench; the database task of AgentBench; at the end, WebShop.
    defined(&["GET ", "POST "], text_grammars::requests, &["\nGET url", "\nPOST url"]),
    defined(&["Action: Operation"], text_grammars::react, &[]),
    defined(&["ACTION"], text_grammars::react, &["ACTION:", "THOUGHT:"]),
    defined(&["Action"], text_grammars::react, &["Action:", "Thought:"]),
    Grammar {
        prompt: None,
        answered_by: &[Actor::Environment],
        ..defined(&["\"name\""], text_grammars::named_object, &[])
    },
    Grammar { prompt: None, by_use: true, ..defined(&["Action:"], text_grammars::bracketed_action, &[]) },
];

/// Signs that a run uses a grammar.
#[derive(Clone, Copy, PartialEq)]
enum Evidence {
    /// The prompt defines it, an actor in `answered_by` spoke after a call, or most texts of the agent hold a call: any
    /// text after a call is its answer.
    Prompt,
    /// Answers are marked as such: unmarked texts are not answers.
    Answers,
}

impl Grammar {
    fn calls_in(&self, text: Text<'_>) -> Vec<Written> {
        let text = text.to_str();
        if self.marks.iter().any(|mark| text.contains(mark)) { (self.calls)(&text) } else { Vec::new() }
    }

    fn may_call(&self, actor: Actor, text: Text<'_>) -> bool {
        match self.answer {
            Some(answer) => actor != Actor::System && !text.starts_with(answer),
            None => actor == Actor::Agent,
        }
    }

    /// Returns for each entry, last first, whether an answer follows before any other code: other code is only quoted.
    fn answered<'e>(&self, entries: impl DoubleEndedIterator<Item = &'e Entry<'e>>) -> Vec<bool> {
        let mut next = self.answer.is_none();
        let is_answered = |entry: &Entry<'_>| match (entry, self.answer) {
            (Entry::Message { text, .. }, Some(answer)) => {
                let is_answer = text.text().starts_with(answer);
                let is_code = !is_answer && !self.calls_in(text.text()).is_empty();
                let then = is_answer || next && !is_code;
                std::mem::replace(&mut next, then)
            }
            _ => std::mem::replace(&mut next, true),
        };
        entries.rev().map(is_answered).collect()
    }

    fn may_answer(&self, text: Text<'_>) -> bool {
        self.answer.is_none_or(|answer| text.starts_with(answer)) && !results(&text.to_str()).is_empty()
    }

    fn is_defined_in(&self, text: &str) -> bool {
        let has_all = |parts: &[&str]| parts.iter().all(|part| text.contains(part));
        self.prompt.is_some_and(has_all) && self.marks.iter().any(|mark| text.contains(mark))
    }

    fn evidence(&self, entries: &VecDeque<Entry<'_>>) -> Option<Evidence> {
        let (mut is_prompt, mut is_defined, mut asked) = (true, false, false);
        let (mut calls, mut others) = (0, 0);
        for entry in entries {
            match entry {
                Entry::Message { actor, text, .. } if self.may_call(*actor, text.text()) => {
                    is_prompt = false;
                    asked = !self.calls_in(text.text()).is_empty();
                    *(if asked { &mut calls } else { &mut others }) += 1;
                }
                Entry::Message { text, .. } if is_prompt => {
                    is_defined |= self.is_defined_in(&text.text().to_str());
                }
                Entry::Message { actor, .. } if asked && self.answered_by.contains(actor) => {
                    return Some(Evidence::Prompt);
                }
                Entry::Message { text, .. } if asked && self.may_answer(text.text()) => {
                    return Some(Evidence::Answers);
                }
                Entry::Answer { .. } | Entry::Orphan { .. } if asked => return Some(Evidence::Answers),
                _ => {}
            }
        }
        (calls > 0 && is_defined || self.by_use && calls > 1.max(others)).then_some(Evidence::Prompt)
    }
}

/// Returns true if a text has a call in one of the grammars.
pub(super) fn has_call(text: Text<'_>) -> bool {
    GRAMMARS.iter().any(|grammar| !grammar.calls_in(text).is_empty())
}

/// Reads calls and answers in the texts of a held run: calls if none is recorded, else answers to unanswered
/// calls. Returns the number of calls in `<tool_call>` that nothing shows to have been made.
pub(super) fn read(run: &mut Assembler<'_>) -> usize {
    if run.actions() > 0 {
        read_answers(run);
        return 0;
    }
    let found = GRAMMARS.iter().find_map(|grammar| Some((grammar, grammar.evidence(run.entries())?)));
    if let Some((grammar, evidence)) = found {
        read_calls(run, grammar, evidence);
        return 0;
    }
    let unread = |entry: &Entry<'_>| match entry {
        Entry::Message { actor: Actor::Agent, text, .. } => {
            let calls = text_grammars::tool_calls(&text.text().to_str());
            calls.iter().filter(|call| call.arguments.starts_with('{')).count()
        }
        _ => 0,
    };
    run.entries().iter().map(unread).sum()
}

fn read_calls(run: &mut Assembler<'_>, grammar: &Grammar, evidence: Evidence) {
    let (mut asked, mut submits) = (VecDeque::new(), false);
    let entries = run.take_entries();
    let is_of_agent = |entry: &Entry<'_>| matches!(entry, Entry::Message { actor: Actor::Agent, .. });
    let last = entries.iter().rposition(is_of_agent);
    let mut answered = grammar.answered(entries.iter());
    for (place, entry) in entries.into_iter().enumerate() {
        let is_run = answered.pop() == Some(true);
        match entry {
            Entry::Message { actor, turn, ref text, time } if grammar.may_call(actor, text.text()) => {
                let calls = if is_run { grammar.calls_in(text.text()) } else { Vec::new() };
                run.put(entry);
                if grammar.answer.is_none() || !calls.is_empty() {
                    asked.clear();
                }
                // mini-swe-agent answers the command that submits with the bare submission.
                submits = last == Some(place)
                    && calls.iter().any(|call| text_grammars::is_submission(&call.arguments));
                for written in calls {
                    let arguments = common::arguments_of_text(Cow::Owned(written.arguments));
                    let mut call = Call::new(turn, None, written.name).with(arguments);
                    (call.time, call.usage) = (time, run.tokens_of(turn).map(Box::new));
                    let number = run.call(call);
                    match written.answer {
                        Some(answer) => _ = run.answer_call(number, answer_of(&answer)),
                        None => asked.push_back(number),
                    }
                }
            }
            Entry::Message { turn, ref text, .. } if !asked.is_empty() => {
                let text = text.text().to_str().into_owned();
                let results = results(&text);
                let is_own = grammar.marks.contains(&"<function=") && swe_agent::is_reply(&text);
                let is_other = evidence == Evidence::Answers && !is_own && !submits;
                if results.is_empty() && is_other {
                    run.put(entry);
                } else if results.is_empty() {
                    run.answer_to(asked.pop_front(), turn, None, answer_of(&text));
                    asked.clear();
                }
                for result in results {
                    run.answer_to(asked.pop_front(), turn, None, answer_of(result.text));
                }
                put_feedback(run, &text, turn);
            }
            Entry::Answer { turn, id: None, answer } | Entry::Orphan { turn, id: None, answer } => {
                let answer = match &answer.observation {
                    Content::Present(words) if answer.provenance == Provenance::None => {
                        let text = words.text().to_str();
                        answer_of(results(&text).first().map_or(&*text, |result| result.text))
                    }
                    _ => answer,
                };
                run.answer_to(asked.pop_front(), turn, None, answer);
            }
            entry => run.put(entry),
        }
    }
}

/// Pairs recorded calls with the answers that Cline and Roo write into texts (`[read_file for 'a'] Result:`).
fn read_answers(run: &mut Assembler<'_>) {
    run.pair_new();
    let is_open = |entry: &Entry<'_>| matches!(entry, Entry::Call(_, None, _));
    let is_answer = |entry: &Entry<'_>| match entry {
        Entry::Message { actor, text, .. } => *actor != Actor::Agent && named(&text.text()).is_some(),
        _ => false,
    };
    if !run.entries().iter().any(is_open) || !run.entries().iter().any(is_answer) {
        return;
    }
    let (mut asked, mut asked_in): (Vec<(Cow<'_, str>, CallNumber)>, _) = (Vec::new(), None);
    for entry in run.take_entries() {
        match entry {
            Entry::Call(call, None, _) => {
                if asked_in != Some(call.turn) {
                    asked.clear();
                }
                asked_in = Some(call.turn);
                let name = call.name.clone();
                asked.push((name, run.call(call)));
            }
            Entry::Message { actor, turn, ref text, .. } if actor != Actor::Agent => {
                let Some(text) = named(&text.text()) else {
                    run.put(entry);
                    continue;
                };
                for Result { name, text } in results(&text) {
                    let same =
                        asked.iter().position(|(asked, _)| name.is_some_and(|name| name == asked.as_ref()));
                    let place = same.unwrap_or(0);
                    let call = (place < asked.len()).then(|| asked.remove(place).1);
                    run.answer_to(call, turn, None, answer_of(text));
                }
                put_feedback(run, &text, turn);
            }
            entry => run.put(entry),
        }
    }
}

/// Adds the words of the user that Cline and Roo put into an answer.
fn put_feedback(run: &mut Assembler<'_>, text: &str, turn: u64) {
    let inner = text.split_once("<feedback>").and_then(|(_, rest)| rest.split_once("</feedback>"));
    if let Some(words) = inner.map(|(words, _)| words.trim()).filter(|words| !words.is_empty()) {
        run.put(Entry::Message { actor: Actor::User, turn, text: words.to_owned().into(), time: None });
    }
}

/// Returns the text if it begins with an answer that names its call, or with words of the user before such an answer.
fn named(text: &Text<'_>) -> Option<String> {
    let is_feedback = || text.head(100).trim_start().starts_with("The user provided the following feedback:");
    let text = (text.starts_with("[") || is_feedback()).then(|| text.to_str())?;
    results(&text).first()?.name?;
    Some(text.into_owned())
}

/// Returns the answer of a call, with the outcome that its text reports.
pub(super) fn answer_of<'a>(text: &str) -> Answer<'a> {
    answer_in(text.to_owned().into())
}

/// Returns the answer in a harness message, with the outcome that it records or reports.
pub(super) fn answer_in(text: TextCow<'_>) -> Answer<'_> {
    // WebVoyager keeps only the last observations.
    if text.text().starts_with("A screenshot and some texts. (Omitted in context.)") {
        return Outcome::UNMARKED.answer(Content::NotRecorded);
    }
    let Unwrapped { outcome, text, may_report } = written_results::unwrapped(unmarked(text), false);
    let by_text = || if may_report { self::outcome(&text.text().to_str()) } else { Outcome::UNMARKED };
    let outcome = outcome.unwrap_or_else(by_text);
    outcome.answer(Content::Present(text))
}

/// Returns an answer without the prefix that OpenHands adds.
pub(super) fn unmarked(text: TextCow<'_>) -> TextCow<'_> {
    let is_marked =
        ["OBSERVATION:", "EXECUTION RESULT of ["].iter().any(|mark| text.text().starts_with(mark));
    let answer =
        is_marked.then(|| results(&text.text().to_str()).first().map(|result| result.text.to_owned()));
    answer.flatten().map_or(text, TextCow::from)
}

/// Prefixes of texts that report a failure.
const FAILURES: [&str; 9] = [
    "[ERROR]",
    "<error>",
    "Error executing",
    "Error in sending the ",
    "Error reading",
    "The tool execution failed",
    "Tool execution failed",
    "{\"error\":\"",
    "{\"error\": \"",
];

/// Infers the outcome of a call from the text of its answer.
fn outcome(text: &str) -> Outcome {
    let start = text.trim_start();
    let early = never_ran(start.into())
        .or_else(|| broken_off(text.into()))
        .or_else(|| in_background(start.into()))
        .or_else(|| at_start(start.into()).filter(|_| start.starts_with(['<', 'T'])));
    if let Some(outcome) = early {
        return outcome;
    }
    let by_line = |line: &str| {
        let line = line.trim_matches(|mark| matches!(mark, '[' | ']' | '.'));
        let line = line.split_once(" (execution ").map_or(line, |(line, _)| line);
        let code = [
            "Command finished with exit code ",
            "Command finished with exit code: ",
            "The command completed with exit code ",
            "Exit code: ",
            "exitcode: ",
        ];
        code.iter().find_map(|code| words::exit_line(line, code))
    };
    // The output of any command may contain Cline's phrases, so only the first line is checked for them.
    let of_cline = |line: &str| {
        let code = ["Command failed with exit code ", "Command executed successfully (exit code "];
        code.iter().find_map(|code| words::exit_line(line.trim_end_matches(['.', ')']), code))
    };
    let by_first = start.lines().next().and_then(of_cline);
    let mut by_others = text.lines().take(3).chain(text.lines().rev().take(4));
    if let Some(failed) = by_first.or_else(|| by_others.find_map(by_line)) {
        return Outcome::exit_code(failed);
    }
    if let Some(outcome) = in_last_line(text) {
        return outcome;
    }
    let failed = FAILURES.iter().any(|failure| start.starts_with(failure))
        || reports_failure(start.into())
        || is_of_ipython(start)
        || swe_agent::is_failure(start, "bash")
        || states_error(start);
    // Cline does not state whether such a command failed.
    let is_unstated = start.starts_with("Command executed.\nOutput:");
    let ok = if is_unstated { Outcome::UNMARKED } else { Outcome::ok(Provenance::Text) };
    if failed { Outcome::error(Provenance::Text) } else { ok }
}
