//! The ends of commands and agents that Claude Code ran in the background. A notice names the call. It is a line of its
//! own, or a text in the user's name.

use std::collections::{BTreeMap, BTreeSet};

use super::prelude::*;
use crate::trace::Entry;

/// The beginning and the end of a notice in the user's name.
const NOTICE: &str = "<task-notification>";
const CLOSE: &str = "</task-notification>";

/// Tools that ask for the output of a command or an agent in the background.
const POLLS: [&str; 3] = ["TaskOutput", "BashOutput", "AgentOutputTool"];

#[derive(Debug, Default)]
pub(super) struct Ends {
    /// The ends by the session that the notice names, if any, and the id of the call.
    all: BTreeMap<(Option<String>, String), End>,
    /// Number of lines of printed output that are notices and have ended no call.
    pub(super) lines: u64,
}

#[derive(Debug)]
struct End {
    /// The id of the command or agent.
    task: String,
    outcome: Outcome,
    text: String,
    /// True if the notice is a line of printed output.
    is_line: bool,
}

/// The parts of a notice: the id of the call, that of its task, the word for its end, a sentence about it, and the
/// result of an agent.
struct Notice<'t> {
    id: Option<&'t str>,
    task: Option<&'t str>,
    status: Option<&'t str>,
    summary: &'t str,
    result: &'t str,
}

impl Ends {
    /// Reads the notices at the beginning of a text.
    pub(super) fn read(&mut self, session: Option<&str>, text: Text<'_>) {
        if !text.starts_with(NOTICE) {
            return;
        }
        let text = text.to_str();
        let mut rest = &*text;
        while let Some((notice, after)) = notice(rest) {
            self.add(session, &notice, false);
            rest = after;
        }
    }

    /// Reads a notice of printed output. Returns false for any other line.
    pub(super) fn line(&mut self, session: Option<&str>, line: &Members<'_>) -> bool {
        let says = |key: &str, word: &str| line.name(key).as_deref() == Some(word);
        if !says("subtype", "task_notification") || !says("type", "system") {
            return false;
        }
        let parts = ["tool_use_id", "task_id", "status", "summary"].map(|key| line.name(key));
        let [id, task, status, summary] = parts.each_ref().map(|part| part.as_deref());
        let notice = Notice { id, task, status, summary: summary.unwrap_or_default(), result: "" };
        self.add(session, &notice, true)
    }

    /// Adds the end of a call. Returns false if the notice states none.
    fn add(&mut self, session: Option<&str>, notice: &Notice<'_>, is_line: bool) -> bool {
        let (Some(id), Some(status)) = (notice.id, notice.status) else { return false };
        let code = notice.summary.rsplit_once("exit code ");
        let code = code.map(|(_, code)| code.trim_end_matches(['.', ')']));
        let has_failed = status == "failed";
        let outcome = match (status, code.and_then(|code| words::exit_line(code, ""))) {
            ("completed" | "failed", Some(is_failure)) => Outcome::exit_code(is_failure || has_failed),
            ("completed" | "failed", None) => Outcome::flag(has_failed),
            ("killed" | "stopped", _) => Outcome::unknown(UnknownReason::Interrupted, Provenance::Flag),
            _ => return false,
        };
        self.lines += u64::from(is_line);
        let key = (session.map(str::to_owned), id.to_owned());
        let is_known = |end: &End| end.outcome.status != Status::Unknown;
        if outcome.status != Status::Unknown || !self.all.get(&key).is_some_and(is_known) {
            let texts = [notice.summary, notice.result].map(common::trim);
            let texts: Vec<_> = texts.into_iter().filter(|text| !text.is_empty()).collect();
            let (task, text) = (notice.task.unwrap_or_default().to_owned(), texts.join("\n"));
            self.all.insert(key, End { task, outcome, text, is_line });
        }
        true
    }

    /// Drops the notices that name no session, unless just one run has the call. `ids` are those of the calls of all
    /// runs.
    pub(super) fn keep<'i>(&mut self, ids: impl Iterator<Item = &'i Cow<'i, str>>) {
        if self.all.keys().all(|(session, _)| session.is_some()) {
            return;
        }
        let mut runs = TextMap::<&str, u64>::default();
        ids.for_each(|id| *runs.entry(id).or_default() += 1);
        self.all.retain(|(session, id), _| session.is_some() || runs.get(id.as_str()) == Some(&1));
    }

    /// Gives the calls of a session that were left running their ends. A call whose end the agent has polled is left
    /// as it is.
    pub(super) fn settle(&mut self, session: Option<&str>, steps: &mut Assembler<'_>) {
        if self.all.is_empty() {
            return;
        }
        steps.pair_new();
        let polls = steps.entries().iter().filter_map(|entry| match entry {
            Entry::Call(call, Some(answer), _) if POLLS.contains(&&*call.name) => {
                states_end(answer).then_some(call)
            }
            _ => None,
        });
        let polled: BTreeSet<String> = polls.flat_map(strings).collect();
        for entry in steps.entries_mut() {
            let Entry::Call(Call { id: Some(id), .. }, Some(answer), _) = entry else { continue };
            if !is_running(answer) {
                continue;
            }
            let mut end_of =
                |session: Option<&str>| self.all.remove(&(session.map(str::to_owned), id.to_string()));
            let end = end_of(session).or_else(|| end_of(None));
            if let Some(end) = end.filter(|end| !polled.contains(&end.task)) {
                self.lines -= u64::from(end.is_line);
                end.give(answer);
            }
        }
    }
}

impl End {
    /// Adds the end to an answer. Its text stays, unless it says only that the call was started.
    fn give(self, answer: &mut Answer<'_>) {
        let text = match &answer.observation {
            Content::Present(old) if self.text.is_empty() || !is_start(old.text()) => {
                let old = old.text().to_str();
                [&*old, &*self.text].join(if self.text.is_empty() { "" } else { "\n" })
            }
            _ => self.text,
        };
        let text = if text.is_empty() { Content::Absent } else { Content::Present(text.into()) };
        *answer = self.outcome.answer(text);
    }
}

/// Returns true if a text is nothing but notices.
pub(super) fn are_notices(text: Text<'_>) -> bool {
    let text = text.to_str();
    let mut rest = &*text;
    while let Some((_, after)) = notice(rest) {
        rest = after;
    }
    rest.is_empty()
}

/// Reads the notice at the beginning of a text, and returns the text that follows it. Its result may quote other
/// notices, so it goes up to the last closing tag. A result that is not closed was cut off.
fn notice(text: &str) -> Option<(Notice<'_>, &str)> {
    let (head, rest) = text.strip_prefix(NOTICE)?.split_once("</summary>")?;
    let (head, summary) = head.split_once("<summary>").filter(|(head, _)| !head.contains(CLOSE))?;
    let tag = |name: &str| {
        let (_, inside) = head.split_once(&*["<", name, ">"].concat())?;
        Some(inside.split_once(&*["</", name, ">"].concat())?.0)
    };
    let (before, after) = rest.split_once(CLOSE).unwrap_or((rest, ""));
    let (result, after) = match before.split_once("<result>") {
        None if before.len() == rest.len() => return None,
        None => ("", after),
        Some((before, _)) => {
            let inside = rest.get(before.len() + "<result>".len()..)?;
            match inside.rsplit_once("</result>") {
                Some((result, after)) => (result, after.split_once(CLOSE)?.1),
                None => (inside.trim_end().strip_suffix(CLOSE).unwrap_or(inside), ""),
            }
        }
    };
    let (id, task, status) = (tag("tool-use-id"), tag("task-id"), tag("status"));
    Some((Notice { id, task, status, summary, result }, after.trim_start()))
}

/// Returns true if an answer leaves its call running.
pub(super) fn is_running(answer: &Answer<'_>) -> bool {
    answer.reason == Some(UnknownReason::Running)
}

/// Returns true if a text says only that a call was started.
fn is_start(text: Text<'_>) -> bool {
    const STARTS: [&str; 2] =
        ["Command running in background with ID: ", "Command was manually backgrounded by user with ID: "];
    let is_line = || !text.to_str().trim_end().contains('\n');
    text.starts_with("Async agent launched successfully")
        || STARTS.iter().any(|start| text.starts_with(start)) && is_line()
}

/// Returns true if the answer of a poll states an end, above the output.
fn states_end(answer: &Answer<'_>) -> bool {
    const ENDS: [&str; 4] = ["<status>completed", "<status>failed", "<status>killed", "<exit_code>"];
    let Content::Present(text) = &answer.observation else { return false };
    let head = text.text().head(400);
    let outputs = ["<output>", "<stdout>", "<stderr>"];
    let head = outputs.iter().fold(&*head, |head, tag| head.split(tag).next().unwrap_or_default());
    answer.status != Status::Unknown && ENDS.iter().any(|end| head.contains(end))
}

/// Returns the arguments of a call that are strings and not empty.
fn strings(call: &Call<'_>) -> Vec<String> {
    let given = match &call.arguments {
        Content::Present(arguments) => arguments.json().and_then(json),
        _ => None,
    };
    let members = members(given);
    let texts = members.iter().filter_map(|(_, value)| value.string());
    texts.filter(|text| !text.is_empty()).map(Cow::into_owned).collect()
}
