//! The ends of commands and agents that Claude Code ran in the background. A notice names the call. It is a line of its
//! own, or a text in the user's name.

use std::collections::BTreeSet;

use super::prelude::*;

/// The beginning of a notice in the user's name.
const NOTICE: &str = "<task-notification>";

/// Tools that ask for the output of a command or an agent in the background.
const POLLS: [&str; 3] = ["TaskOutput", "BashOutput", "AgentOutputTool"];

/// The ends of calls, by the ids of the calls.
#[derive(Debug, Default)]
pub(super) struct Ends(TextMap<String, End>);

#[derive(Debug)]
struct End {
    /// The id of the command or agent.
    task: String,
    outcome: Outcome,
    text: String,
}

impl Ends {
    /// Reads the notices in a text that begins with one.
    pub(super) fn read(&mut self, text: Text<'_>) {
        if !text.starts_with(NOTICE) {
            return;
        }
        for notice in text.to_str().split(NOTICE) {
            let (head, rest) = notice.split_once("<result>").unwrap_or((notice, ""));
            let (result, _) = rest.rsplit_once("</result>").unwrap_or_default();
            let tag = |name: &str| {
                let (_, inside) = head.split_once(&*["<", name, ">"].concat())?;
                Some(inside.split_once(&*["</", name, ">"].concat())?.0)
            };
            let parts = [tag("tool-use-id"), tag("task-id"), tag("status"), tag("summary")];
            self.add(parts, result);
        }
    }

    /// Reads a notice of printed output. Returns false for any other line.
    pub(super) fn line(&mut self, line: &Members<'_>) -> bool {
        let is_notice = line.name("subtype").as_deref() == Some("task_notification");
        let parts = ["tool_use_id", "task_id", "status", "summary"].map(|key| line.name(key));
        is_notice && self.add(parts.each_ref().map(|part| part.as_deref()), "")
    }

    /// Adds the end of a call: its id, that of its task, the word for its end, and a sentence about it.
    fn add(&mut self, [id, task, status, summary]: [Option<&str>; 4], result: &str) -> bool {
        let (Some(id), Some(status), summary) = (id, status, summary.unwrap_or_default()) else {
            return false;
        };
        let code = summary.rsplit_once("exit code ").map(|(_, code)| code.trim_end_matches(')'));
        let has_failed = status == "failed";
        let outcome = match (status, code.and_then(|code| words::exit_line(code, ""))) {
            ("completed" | "failed", Some(is_failure)) => Outcome::exit_code(is_failure || has_failed),
            ("completed" | "failed", None) => Outcome::flag(has_failed),
            ("killed" | "stopped", _) => Outcome::unknown(UnknownReason::Interrupted, Provenance::Flag),
            _ => return false,
        };
        let texts = [summary, result].map(common::trim);
        let texts: Vec<_> = texts.into_iter().filter(|text| !text.is_empty()).collect();
        let (task, text) = (task.unwrap_or_default().to_owned(), texts.join("\n"));
        self.0.insert(id.to_owned(), End { task, outcome, text });
        true
    }

    /// Gives the calls that were left running their ends. A call whose end the agent has polled is left as it is.
    pub(super) fn settle(&self, steps: &mut Assembler<'_>) {
        if self.0.is_empty() {
            return;
        }
        let polls = steps
            .answered()
            .filter(|(call, answer)| POLLS.contains(&&*call.name) && answer.status != Status::Unknown);
        let polled: BTreeSet<String> = polls.flat_map(|(call, _)| strings(call)).collect();
        for (call, answer) in steps.answered().filter(|(_, answer)| is_running(answer)) {
            let end = call.id.as_deref().and_then(|id| self.0.get(id));
            if let Some(end) = end.filter(|end| !polled.contains(&end.task)) {
                *answer = end.outcome.answer(Content::Present(end.text.clone().into()));
            }
        }
    }
}

/// Returns true if an answer leaves its call running.
pub(super) fn is_running(answer: &Answer<'_>) -> bool {
    answer.reason == Some(UnknownReason::Running)
}

/// Returns the arguments of a call that are strings.
fn strings(call: &Call<'_>) -> Vec<String> {
    let given = match &call.arguments {
        Content::Present(arguments) => arguments.json().and_then(json),
        _ => None,
    };
    let members = members(given);
    members.iter().filter_map(|(_, value)| value.string()).map(Cow::into_owned).collect()
}
