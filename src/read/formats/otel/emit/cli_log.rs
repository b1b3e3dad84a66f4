//! The log records in which coding agents report their prompts, requests and calls.

use std::borrow::Cow;
use std::collections::HashSet;

use super::AgentRun;
use super::model::{Attr, LogRecord, Value};
use super::steps::recorded;
use crate::read::call_outcome::Outcome;
use crate::read::common;
use crate::trace::{Actor, Assembler, Call, Content, Metadata, Usage};

/// The prefixes of the events of each agent.
const AGENTS: [(&str, &str); 4] = [
    ("claude_code.", "claude-code"),
    ("codex.", "codex"),
    ("gemini_cli.", "gemini-cli"),
    ("qwen-code.", "qwen-code"),
];

/// Returns the name of the agent that reports an event, and that of the event.
fn event_of(name: &str) -> Option<(&'static str, &str)> {
    AGENTS.iter().find_map(|(prefix, agent)| Some((*agent, name.strip_prefix(prefix)?)))
}

/// Makes the session of such a record its trace, and the name of the event its name. Returns false if the record is no
/// event of a coding agent, or names no session. Claude Code records spans as well if a record belongs to a trace.
pub(crate) fn claim(log: &mut LogRecord<'_>) -> bool {
    let names = [Some(&*log.name), log.body.as_str(), log.attributes.name(Attr::EventName)];
    let Some(name) = names.into_iter().flatten().find(|name| event_of(name).is_some()) else { return false };
    let session = log.attributes.first_name(&[Attr::SessionId, Attr::CodexConversation]);
    let Some(session) = session.map(|session| session.replace('-', "")) else { return false };
    let is_traced = name.starts_with("claude_code.") && !log.trace_id.is_empty();
    let name = name.to_owned();
    if !is_traced {
        (log.trace_id, log.name, log.span_id) = (session.into(), name.into(), "".into());
    }
    !is_traced
}

/// Returns the run of a session that only such records tell of, if they hold a prompt or a call.
pub(super) fn run(logs: &[LogRecord<'_>]) -> Option<AgentRun> {
    let events =
        || logs.iter().filter_map(|log| event_of(&log.name).map(|(agent, event)| (agent, event, log)));
    let (agent, _, first) = events().next()?;
    let is_request = |event: &str| matches!(event, "api_request" | "api_response");
    let has_requests = events().any(|(_, event, _)| is_request(event));
    let id = first.attributes.first_name(&[Attr::SessionId, Attr::CodexConversation])?.to_owned();
    let mut metadata = Metadata { id: Some(id.clone()), agent: Some(agent.into()), ..Metadata::default() };
    let results = events().filter(|(_, event, _)| *event == "tool_result");
    let answered: HashSet<&str> =
        results.filter_map(|(_, _, log)| log.attributes.name(Attr::CliToolUse)).collect();
    let mut steps = Assembler::default();
    let (mut turn, mut has_acted) = (0, false);
    for (_, event, log) in events() {
        let attributes = &log.attributes;
        match event {
            _ if is_request(event) => {
                if metadata.model.is_none() {
                    metadata.model = attributes.name(Attr::CliModel).map(Into::into);
                }
                turn += u64::from(std::mem::take(&mut has_acted));
            }
            "user_prompt" => {
                turn += u64::from(std::mem::take(&mut has_acted));
                if let Some(prompt) = attributes.name(Attr::CliPrompt) {
                    steps.message_at(Actor::User, turn, prompt.to_owned(), recorded(log.time));
                }
            }
            "tool_result" | "tool_call" => call(log, turn, &mut steps),
            // A call that the user refused has no result.
            "tool_decision" if attributes.name(Attr::CliDecision) == Some("reject") => {
                if attributes.name(Attr::CliToolUse).is_some_and(|id| !answered.contains(id)) {
                    call(log, turn, &mut steps);
                }
            }
            _ => {}
        }
        let acts = matches!(event, "tool_result" | "tool_call");
        has_acted |= acts;
        turn += u64::from(acts && !has_requests);
    }
    (!steps.entries().is_empty()).then_some(AgentRun { id, metadata, steps, said: 0 })
}

/// Adds the call of a record. Its answer is recorded only if it failed, or by Codex.
fn call(log: &LogRecord<'_>, turn: u64, steps: &mut Assembler<'static>) {
    let attributes = &log.attributes;
    let Some(name) = attributes.first_name(&[Attr::CliTool, Attr::CliFunction]) else { return };
    let text = |keys: &[Attr]| attributes.first_of(keys).and_then(Value::to_text).map(Cow::into_owned);
    let given = text(&[Attr::CliArguments, Attr::CliFunctionArguments, Attr::CliInput]);
    let given = given.or_else(|| command(log));
    let succeeded = text(&[Attr::CliSuccess]);
    let outcome = match succeeded.as_deref() {
        None if attributes.name(Attr::CliDecision).is_some() => Outcome::REFUSED,
        None => Outcome::UNMARKED,
        Some(_) if attributes.name(Attr::CliDecision) == Some("reject") => Outcome::REFUSED,
        Some(succeeded) => Outcome::flag(succeeded != "true"),
    };
    let answer = text(&[Attr::CliOutput, Attr::CliError]);
    let answer = answer.map_or(Content::NotRecorded, |answer| Content::Present(answer.into()));
    let duration = attributes.get(Attr::CliDuration).and_then(Value::as_count);
    let duration = duration.and_then(|duration| duration.checked_mul(1_000_000));
    let usage = Usage { duration_ns: duration, ..Usage::default() };
    let id = attributes.first_name(&[Attr::CliCallId, Attr::CliToolUse]);
    let call = steps.call(Call {
        time: recorded(log.time).map(|end| end.saturating_sub(duration.unwrap_or(0))),
        usage: (!usage.is_empty()).then(|| Box::new(usage)),
        arguments: given.map_or(Content::NotRecorded, |given| common::arguments_of_text(Cow::Owned(given))),
        ..Call::new(turn, id.map(|id| id.to_owned().into()), name.to_owned())
    });
    steps.answer_call(call, outcome.answer(answer));
}

/// Returns the command of Claude Code's `Bash` as its arguments. Other arguments are recorded only on demand.
fn command(log: &LogRecord<'_>) -> Option<String> {
    let parameters = log.attributes.get(Attr::CliParameters)?.to_data().into_object()?;
    let command = ["full_command", "bash_command"].iter().find_map(|key| parameters.text(key))?;
    Some(serde_json::json!({"command": command}).to_string())
}
