//! The answer in an event of an agent, and the outcome that it records.

use super::events_keys::{ERRORS, OUTPUTS, OUTPUTS_OF_STEPS};
use super::events_object::Event;
use super::events_what::What;
use super::prelude::*;
use crate::read::call_outcome::{have_failed, is_printed_error, typed_output};

impl<'a> Event<'a> {
    fn flag(&self, keys: &[&str]) -> Option<bool> {
        self.get(keys).and_then(Raw::boolean)
    }

    /// Returns the text of a result and its outcome.
    pub(in crate::read) fn answer(&self) -> (Option<TextCow<'a>>, Outcome) {
        let error = self.get(&ERRORS).filter(|error| error.boolean().is_none());
        let outputs = if self.what == Some(What::Step) { &OUTPUTS_OF_STEPS[..] } else { &OUTPUTS };
        let output = self
            .get(outputs)
            .or_else(|| self.get(&["preview"]))
            .filter(|output| error.is_none() || output.kind() != Kind::Object);
        let is_text = |output: &Raw<'a>| {
            output.member("type").and_then(common::name).is_some_and(|kind| kind == "text")
        };
        // The AI SDK gives the kind of an output next to it.
        let typed = output.and_then(|output| {
            let of_output = Members::from(output);
            let (key, failed) = typed_output(&of_output.name("type")?)?;
            Some((of_output.get(key).filter(|_| of_output.iter().count() == 2)?, failed))
        });
        let text = output.filter(is_text).and_then(words::text);
        let text = text.or_else(|| words::result(typed?.0));
        let observed = text.or_else(|| output.or(error).and_then(words::result));
        let of_output = |keys: &[&str]| keys.iter().find_map(|key| output?.member(key));
        // Cursor's CLI puts the result under a word for its outcome, such as `success`.
        let cursor = self.tool.as_ref().map(|_| members(output));
        let said = cursor.as_ref().and_then(|output| output.iter().next());
        let code = self
            .get(&["exit_code", "exitCode"])
            .or_else(|| of_output(&["exit_code", "exitCode", "exit"]))
            .or_else(|| said?.1.member("exitCode"))
            .or_else(|| members(self.get(&["metadata"])).first(&["exit_code", "exit"]));
        let status = self.find(&["status"], Members::name);
        let status = status.map(|status| status.to_ascii_lowercase());
        // If the action is a string, `success` next to it is the outcome of the task, not of the call.
        let succeeded: &[&str] = if self.acts() { &[] } else { &["success", "successful", "ok"] };
        let failed = self
            .flag(&["is_error", "isError", "error"])
            .or_else(|| self.flag(succeeded).map(|succeeded| !succeeded))
            .or_else(|| of_output(&["is_error", "isError"]).and_then(Raw::boolean))
            .or_else(|| self.find(&["hookName"], Members::name).and(output).and_then(have_failed))
            .or_else(|| typed.filter(|(_, failed)| *failed).map(|(_, failed)| failed))
            .or_else(|| error.is_some().then_some(true))
            .or_else(|| said.map(|(word, _)| word != "success"))
            .or_else(|| match status.as_deref()? {
                "error" | "failed" | "failure" | "invalid_request" => Some(true),
                "success" | "ok" => Some(false),
                _ => None,
            });
        // Grok Build puts the exit code on the first line of the output of a command.
        let first = |text: &TextCow<'_>| words::exit_line(words::first_line(&text.text().head(20)), "exit: ");
        let by_line = || observed.as_ref().filter(|_| failed.is_none()).and_then(first);
        let code = code.and_then(is_failure_code).or_else(by_line);
        let outcome = match (failed, code) {
            _ if said.is_some_and(|(word, _)| word == "rejected") => Outcome::REFUSED,
            (None, None) if status.as_deref() == Some("blocked") => Outcome::REFUSED,
            (Some(true), _) => Outcome::flag(true),
            (_, Some(failed)) => Outcome::exit_code(failed),
            (Some(false), None) => Outcome::flag(false),
            (None, None) => match &observed {
                Some(text) => {
                    Outcome::by_text(text.text().starts_with("Error:") || is_printed_error(text.text()))
                }
                None => Outcome::UNMARKED,
            },
        };
        (observed, outcome)
    }
}
