//! Event logs of the Copilot CLI (`events.jsonl`): requests of tools, their executions, and those of sub-agents.

use super::copilot_cli_session::Session;
use crate::json::{Kind, Raw, Read};
use crate::read::Format;
use crate::read::common;
use crate::read::document::Document;
use crate::read::format::{DocumentReader, Entry, Reader};
use crate::read::outcome::Outcome;
use crate::read::runs::Runs;
use crate::read::sample::Members;
use crate::read::words;
use crate::trace::{Answer, Provenance, Text, UnknownReason};

pub(in crate::read) const FORMAT: Entry = Entry {
    format: Format::CopilotCli,
    about: "event logs of the Copilot CLI",
    decisive: "lines with `timestamp` and `data`, of the types `session.start`, `assistant.message` or `tool.execution_start`",
    reader: Reader::Document(DocumentReader { claims, read, is_generic: false }),
};

fn claims(document: &Document<'_>) -> bool {
    matches!(document, Document::Lines(lines) if lines.iter().any(|line| is_line(*line)))
}

fn is_line(line: Raw<'_>) -> bool {
    let line = Members::of(&mut line.json());
    let Some(data) = line.get("data").filter(|_| line.is("id", Kind::String) && line.has("timestamp")) else {
        return false;
    };
    let has = |key: &str| data.member(key).is_some();
    match line.name("type").as_deref() {
        Some("session.start") => has("sessionId"),
        Some("assistant.message") => has("content") && (has("messageId") || has("toolRequests")),
        Some("tool.execution_start") => has("toolCallId") && has("toolName"),
        Some("tool.execution_complete") => has("toolCallId") && has("success"),
        _ => false,
    }
}

#[expect(clippy::unnecessary_wraps, reason = "a reader of documents may fail")]
fn read(document: &Document<'_>, runs: &mut Runs<'_>) -> Read<()> {
    let Document::Lines(lines) = document else { return Ok(()) };
    let mut session = Session::default();
    for line in lines {
        let line = Members::of(&mut line.json());
        if line.name("type").as_deref() == Some("session.start") && !session.is_empty() {
            std::mem::take(&mut session).end(runs);
        }
        session.line(&line);
    }
    session.end(runs);
    Ok(())
}

/// The answer of an execution. That of a command ends with its exit code.
pub(super) fn answer<'a>(data: &Members<'a>) -> Answer<'a> {
    let error = data.get("error").filter(|error| error.kind() != Kind::Null);
    let code = error.and_then(|error| error.member("code")).and_then(common::name);
    let result = data.get("result").filter(|result| result.kind() != Kind::Null);
    let text = result.map(|result| result.member("content").unwrap_or(result));
    let text =
        text.or_else(|| error.map(|error| error.member("message").unwrap_or(error))).and_then(words::result);
    let outcome = match data.get("success").and_then(Raw::boolean) {
        _ if matches!(code.as_deref(), Some("rejected" | "denied")) => {
            Outcome::unknown(UnknownReason::Refused, Provenance::Flag)
        }
        Some(false) => Outcome::flag(true),
        success => match text.as_ref().and_then(|text| exit_code(text.text())) {
            Some(failed) => Outcome::exit_code(failed),
            None => success.map_or(Outcome::UNMARKED, |_| Outcome::flag(false)),
        },
    };
    outcome.answer(text.into())
}

/// Whether the exit code in the last line of a text is not 0.
fn exit_code(text: Text<'_>) -> Option<bool> {
    let text = text.to_str();
    let last = common::trim(&text).rsplit('\n').next()?;
    words::exit_line(last.strip_suffix('>')?, "<exited with exit code ")
}
