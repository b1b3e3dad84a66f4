//! The answer in an event of an agent: its text, and the outcome of the call.

use super::events_object::{Event, What};
use super::events_what::{ERRORS, OUTPUTS, OUTPUTS_OF_STEPS, output_of_step};
use super::prelude::*;
use crate::read::call_outcome::{
    EXIT_CODES, have_failed, is_http_failure, is_printed_error, says_error, states_error,
};

impl<'a> Event<'a> {
    /// Returns true if it is a step whose parts begin with their labels, such as `Action: `.
    fn is_labelled(&self) -> bool {
        self.acts()
            && self.find(&["action"], Members::name).is_some_and(|action| is_call_after_label(&action))
    }

    /// Cuts the label of a part of a step off its text, if the parts have labels.
    pub(super) fn without_label(&self, text: TextCow<'a>, label: &str) -> TextCow<'a> {
        let is_labelled = self.is_labelled() && text.text().starts_with(label);
        if is_labelled { text.text().skip_chars(label.len()).to_str().into_owned().into() } else { text }
    }

    /// Returns whether a call failed, if a status of HTTP or a flag says so. The start of a call has no such flag.
    pub(super) fn has_failed(&self) -> Option<bool> {
        let outer = self.layers.first();
        let status = outer.and_then(|outer| outer.integer("status_code").or_else(|| outer.integer("status")));
        let is_start = self.what == Some(What::Call) && self.own_answer().is_none();
        let flag = || self.flag(&["tool_success"]).filter(|_| !is_start).map(|ok| !ok);
        status.filter(|status| is_http_failure(*status)).map(|_| true).or_else(flag)
    }

    fn flag(&self, keys: &[&str]) -> Option<bool> {
        self.get(keys).and_then(Raw::boolean)
    }

    /// Returns the text of a result and its outcome.
    pub(super) fn answer(&self) -> (Option<TextCow<'a>>, Outcome) {
        let is_some = |error: &Raw<'a>| error.boolean().is_none() && says_error(*error) == Some(true);
        let error = self.get(&ERRORS).or_else(|| self.get(&["result_error"])).filter(is_some);
        let is_step = self.what == Some(What::Step);
        let output = if is_step { self.find(&OUTPUTS_OF_STEPS, output_of_step) } else { self.get(&OUTPUTS) };
        let is_blank = |output: &Raw<'a>| match output.items() {
            Some(items) => items.is_empty(),
            None => output.string().is_some_and(|text| common::is_blank(&text)),
        };
        let summary = || self.get(&["summary", "detail"]).filter(|_| error.is_none());
        let output = output.or_else(|| self.get(&["preview"])).or_else(summary);
        let output =
            output.filter(|output| error.is_none() || output.kind() != Kind::Object && !is_blank(output));
        let is_text = |output: &Raw<'a>| {
            output.member("type").and_then(common::name).is_some_and(|kind| kind == "text")
        };
        // The AI SDK gives the kind of an output next to it.
        let typed = output.and_then(|output| {
            let of_output = Members::from(output);
            let (key, failed) = typed_output(&of_output.name("type")?)?;
            Some((of_output.get(key).filter(|_| of_output.iter().count() == 2)?, failed))
        });
        let text = output.filter(is_text).and_then(words::text).or_else(|| words::result(typed?.0));
        let text = text.or_else(|| words::result(output?.member("llmContent")?));
        // A message of LangChain or LangGraph.
        let message = output.filter(|output| output.member("tool_call_id").is_some()).map(Members::from);
        let text = text.or_else(|| words::result(message.as_ref()?.get("content")?));
        let observed = text.or_else(|| output.or(error).and_then(words::result));
        let observed = observed.map(|text| self.without_label(text, "Observation: "));
        let of_output = |keys: &[&str]| keys.iter().find_map(|key| output?.member(key));
        // Cursor's CLI puts the result under a word for its outcome, such as `success`.
        let cursor = self.tool.as_ref().map(|_| members(output));
        let said = cursor.as_ref().and_then(|output| output.iter().next());
        let code = self
            .get(&EXIT_CODES)
            .or_else(|| of_output(&EXIT_CODES))
            .or_else(|| of_output(&["exit"]))
            .or_else(|| said?.1.member("exitCode"))
            .or_else(|| members(self.get(&["metadata"])).first(&["exit_code", "exit"]));
        let status = self.find(&["status"], Members::name).or_else(|| message.as_ref()?.name("status"));
        let status = status.map(|status| status.to_ascii_lowercase());
        // A status inside the output may be that of the data, such as a cancelled order.
        let own = 1 + self.path.iter().take_while(|key| !OUTPUTS.contains(key)).count();
        let own = self.layers.iter().take(own).rev().find_map(|layer| layer.name("status"));
        let by_word = own.and_then(|word| match &*word.to_ascii_lowercase() {
            "timeout" | "timed_out" | "fail" | "aborted" => Some(Outcome::flag(true)),
            "rejected" => Some(Outcome::REFUSED),
            "unknown" => Some(Outcome::unknown(UnknownReason::Unspecified, Provenance::Flag)),
            word => Outcome::of_word(word).filter(|outcome| outcome.status != Status::Ok),
        });
        // If the action is a string without input, `success` next to it is the outcome of the task, not of the call.
        let succeeded: &[&str] = if self.acts() && self.get(&["action_input"]).is_none() {
            &[]
        } else {
            &["execution_success", "success", "successful", "ok", "result_ok"]
        };
        let flag = self
            .flag(&["is_error", "isError", "error"])
            .or_else(|| self.flag(succeeded).map(|succeeded| !succeeded))
            .or_else(|| of_output(&["is_error", "isError"]).and_then(Raw::boolean))
            .or_else(|| of_output(succeeded).and_then(Raw::boolean).map(|succeeded| !succeeded));
        let of_text = |code: Raw<'_>| code.string()?.parse::<i64>().ok().map(|code| code != 0);
        let code = code.and_then(|code| is_failure_code(code).or_else(|| of_text(code)));
        let failed = flag
            .or_else(|| self.find(&["hookName"], Members::name).and(output).and_then(have_failed))
            .or_else(|| typed.filter(|(_, failed)| *failed).map(|(_, failed)| failed))
            // A command may warn of something.
            .or_else(|| (error.is_some() && code != Some(false)).then_some(true))
            .or_else(|| said.map(|(word, _)| word != "success"))
            .or_else(|| match status.as_deref()? {
                "error" | "failed" | "failure" | "invalid_request" => Some(true),
                "success" | "ok" => Some(false),
                _ => None,
            })
            .or_else(|| self.has_failed());
        // Grok Build puts the exit code on the first line of the output of a command.
        let first = |text: &TextCow<'_>| words::exit_line(words::first_line(&text.text().head(20)), "exit: ");
        let by_line = || observed.as_ref().filter(|_| failed.is_none()).and_then(first);
        let code = code.or_else(by_line);
        let outcome = match (failed, code, by_word) {
            _ if said.is_some_and(|(word, _)| word == "rejected")
                || flag.is_none() && by_word == Some(Outcome::REFUSED) =>
            {
                Outcome::REFUSED
            }
            (None, None, _) if status.as_deref() == Some("blocked") => Outcome::REFUSED,
            (Some(true), ..) => Outcome::flag(true),
            (_, Some(failed), _) => Outcome::exit_code(failed),
            (Some(false), None, _) => Outcome::flag(false),
            (None, None, Some(outcome)) => outcome,
            (None, None, None) => observed.as_ref().map(TextCow::text).map_or(Outcome::UNMARKED, |text| {
                let has_failed =
                    || reports_failure(text) || is_printed_error(text) || states_error(&text.to_str());
                at_start(text).unwrap_or_else(|| Outcome::by_text(has_failed()))
            }),
        };
        (observed, outcome)
    }
}

fn is_call_after_label(action: &str) -> bool {
    action.strip_prefix("Action: ").is_some_and(|call| call.starts_with(char::is_alphabetic))
}
