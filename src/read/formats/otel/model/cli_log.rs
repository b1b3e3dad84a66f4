//! The log records in which coding agents report what they do.

use super::names::Attr;
use super::span::LogRecord;

/// The prefixes of the events of each agent.
const AGENTS: [(&str, &str); 4] = [
    ("claude_code.", "claude-code"),
    ("codex.", "codex"),
    ("gemini_cli.", "gemini-cli"),
    ("qwen-code.", "qwen-code"),
];

/// Attributes that name a session.
pub(crate) const SESSION: &[Attr] = &[Attr::SessionId, Attr::CodexConversation];

/// Returns the name of the agent that reports an event, and that of the event.
pub(crate) fn event_of(name: &str) -> Option<(&'static str, &str)> {
    AGENTS.iter().find_map(|(prefix, agent)| Some((*agent, name.strip_prefix(prefix)?)))
}

/// Makes the session of such a record its trace, the name of the event its name, and its own trace, if it has one, its
/// span. Returns false if the record is not an event of a coding agent, or does not name a session.
pub(crate) fn claim(log: &mut LogRecord<'_>) -> bool {
    let names = [Some(&*log.name), log.body.as_str(), log.attributes.name(Attr::EventName)];
    let Some(name) = names.into_iter().flatten().find(|name| event_of(name).is_some()) else { return false };
    let Some(session) = log.attributes.first_name(SESSION) else { return false };
    let (session, name) = (session.replace('-', ""), name.to_owned());
    log.span_id = std::mem::replace(&mut log.trace_id, session.into());
    log.name = name.into();
    true
}

/// Returns the traces that the records of a session belong to, whose spans may say the same.
pub(crate) fn own_traces<'s>(logs: &'s [LogRecord<'_>]) -> impl Iterator<Item = &'s str> {
    let of_agent = logs.iter().filter(|log| event_of(&log.name).is_some());
    of_agent.map(|log| &*log.span_id).filter(|trace| !trace.is_empty())
}
