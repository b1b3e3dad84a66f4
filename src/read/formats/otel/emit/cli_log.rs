//! The runs of coding agents, from the log records in which they report prompts, requests and calls.

use std::borrow::Cow;
use std::collections::HashSet;

use super::AgentRun;
use super::model::cli_log::{SESSION, event_of};
use super::model::{Attr, LogRecord, Value};
use super::steps::recorded;
use crate::read::call_outcome::Outcome;
use crate::read::common;
use crate::read::formats::codex_text;
use crate::trace::{Actor, Assembler, Call, Content, Metadata, Usage};

/// The texts in place of a prompt that is not sent.
const REDACTED: [&str; 2] = ["[REDACTED]", "<REDACTED>"];

/// Returns the run of a session from such records, if they hold a prompt or a call.
pub(super) fn run(logs: &[LogRecord<'_>]) -> Option<AgentRun> {
    let events =
        || logs.iter().filter_map(|log| event_of(&log.name).map(|(agent, event)| (agent, event, log)));
    let (agent, _, first) = events().next()?;
    let is_request = |event: &str| matches!(event, "api_request" | "api_response" | "websocket_request");
    let has_requests = events().any(|(_, event, _)| is_request(event));
    let id = first.attributes.first_name(SESSION)?.to_owned();
    let model = events().find_map(|(_, _, log)| log.attributes.name(Attr::CliModel));
    let metadata = Metadata {
        id: Some(id.clone()),
        agent: Some(agent.into()),
        model: model.map(Into::into),
        ..Metadata::default()
    };
    let ids = |wanted: fn(&str, &LogRecord<'_>) -> bool| -> HashSet<&str> {
        events().filter(|(_, event, log)| wanted(event, log)).filter_map(|(_, _, log)| call_id(log)).collect()
    };
    let answered = ids(|event, _| event == "tool_result");
    let refused = ids(|event, log| event == "tool_decision" && is_refused(log));
    let mut steps = Assembler::default();
    let (mut turn, mut has_acted) = (0, false);
    for (_, event, log) in events() {
        let attributes = &log.attributes;
        match event {
            _ if is_request(event) => turn += u64::from(std::mem::take(&mut has_acted)),
            "user_prompt" => {
                turn += u64::from(std::mem::take(&mut has_acted));
                let prompt = attributes.name(Attr::CliPrompt);
                if let Some(prompt) = prompt.filter(|prompt| !REDACTED.contains(prompt)) {
                    steps.message_at(Actor::User, turn, prompt.to_owned(), recorded(log.time));
                }
            }
            "tool_result" | "tool_call" => {
                let is_refused = is_refused(log) || call_id(log).is_some_and(|id| refused.contains(id));
                call(log, turn, is_refused, &mut steps);
            }
            // A call that was refused may have no result.
            "tool_decision" if is_refused(log) && call_id(log).is_none_or(|id| !answered.contains(id)) => {
                call(log, turn, true, &mut steps);
            }
            _ => {}
        }
        let acts = matches!(event, "tool_result" | "tool_call");
        has_acted |= acts;
        turn += u64::from(acts && !has_requests);
    }
    (!steps.entries().is_empty()).then_some(AgentRun { id, metadata, steps, said: 0 })
}

/// Returns true if the record says that a call was refused or cancelled.
fn is_refused(log: &LogRecord<'_>) -> bool {
    let decided = log.attributes.first_name(&[Attr::CliDecision, Attr::CliDecisionType, Attr::CliStatus]);
    matches!(decided, Some("reject" | "denied" | "abort" | "cancelled"))
}

fn call_id<'s>(log: &'s LogRecord<'_>) -> Option<&'s str> {
    log.attributes.first_name(&[Attr::CliCallId, Attr::CliToolUse])
}

/// Adds the call of a record. Its answer is recorded only if it failed, or by Codex.
fn call(log: &LogRecord<'_>, turn: u64, is_refused: bool, steps: &mut Assembler<'static>) {
    let attributes = &log.attributes;
    let Some(tool) = attributes.first_name(&[Attr::CliTool, Attr::CliFunction]) else { return };
    let parameters = || attributes.get(Attr::CliParameters)?.to_data().into_object();
    let of_server = || {
        let parameters = parameters()?;
        Some(format!("mcp__{}__{}", parameters.text("mcp_server_name")?, parameters.text("mcp_tool_name")?))
    };
    let text = |keys: &[Attr]| attributes.first_of(keys).and_then(Value::to_text).map(Cow::into_owned);
    let given = text(&[Attr::CliArguments, Attr::CliFunctionArguments, Attr::CliInput]);
    // Claude Code sends the commands of `Bash`, and other arguments only on demand.
    let command = || {
        let parameters = parameters()?;
        let command = ["full_command", "bash_command"].iter().find_map(|key| parameters.text(key))?;
        Some(serde_json::json!({"command": command}).to_string())
    };
    let given = given.or_else(command);
    // Codex says that every command succeeded.
    let output = text(&[Attr::CliOutput]).map(|output| codex_text::split(output.into()));
    let (by_codex, output) = output.map_or((None, None), |(outcome, output)| (outcome, Some(output)));
    let outcome = match (text(&[Attr::CliSuccess]).as_deref(), by_codex) {
        _ if is_refused => Outcome::REFUSED,
        (_, Some(outcome)) => outcome,
        (Some(succeeded), None) => Outcome::flag(succeeded != "true"),
        (None, None) => Outcome::UNMARKED,
    };
    let answer = output.or_else(|| text(&[Attr::CliError]).map(Into::into));
    let duration = attributes.get(Attr::CliDuration).and_then(Value::as_count);
    let duration = duration.and_then(|duration| duration.checked_mul(1_000_000));
    let usage = Usage { duration_ns: duration, ..Usage::default() };
    let call = steps.call(Call {
        time: recorded(log.time).map(|end| end.saturating_sub(duration.unwrap_or(0))),
        usage: (!usage.is_empty()).then(|| Box::new(usage)),
        arguments: given.map_or(Content::NotRecorded, |given| common::arguments_of_text(Cow::Owned(given))),
        ..Call::new(
            turn,
            call_id(log).map(|id| id.to_owned().into()),
            of_server().unwrap_or_else(|| tool.to_owned()),
        )
    });
    steps.answer_call(call, outcome.answer(answer.map_or(Content::NotRecorded, Content::Present)));
}
