//! Event logs of the Copilot CLI (`events.jsonl`): tool requests and executions, also of sub-agents.

use super::copilot_cli_session::Open;
use super::prelude::*;
use crate::read::session::SessionReader;

pub(in crate::read) const FORMAT: Definition = Definition {
    about: "event logs of the Copilot CLI",
    signature: &[Shape::Items(All(&[
        Is(Kind::String, &["id"]),
        Has(&["timestamp"]),
        Any(&[
            All(&[Says("type", &["session.start"]), In("data", &Has(&["sessionId"]))]),
            All(&[
                Says("type", &["assistant.message"]),
                In("data", &All(&[Has(&["content"]), Any(&[Has(&["messageId"]), Has(&["toolRequests"])])])),
            ]),
            All(&[Says("type", &["tool.execution_start"]), In("data", &Has(&["toolCallId", "toolName"]))]),
            All(&[Says("type", &["tool.execution_complete"]), In("data", &Has(&["toolCallId", "success"]))]),
        ]),
    ]))],
    reader: Reader::Session(SessionReader { open: |_| Box::<Open<'_>>::default(), list: "" }),
};

/// Returns the answer of an execution. The answer of a command ends with its exit code.
pub(super) fn answer<'a>(data: &Members<'a>) -> Answer<'a> {
    let error = data.present("error");
    let code = error.and_then(|error| error.member("code")).and_then(common::name);
    let result = data.present("result");
    let text = result.map(|result| result.member("content").unwrap_or(result));
    let text =
        text.or_else(|| error.map(|error| error.member("message").unwrap_or(error))).and_then(words::result);
    let outcome = match data.flag("success") {
        _ if matches!(code.as_deref(), Some("rejected" | "denied")) => Outcome::REFUSED,
        Some(false) => Outcome::flag(true),
        success => match text.as_ref().and_then(|text| exit_code(text.text())) {
            Some(failed) => Outcome::exit_code(failed),
            None => success.map_or(Outcome::UNMARKED, |_| Outcome::flag(false)),
        },
    };
    outcome.answer(text.into())
}

/// Returns true if the exit code in the last line of a text is not 0.
fn exit_code(text: Text<'_>) -> Option<bool> {
    let text = text.to_str();
    let last = common::trim(&text).rsplit('\n').next()?;
    words::exit_line(last.strip_suffix('>')?, "<exited with exit code ")
}
