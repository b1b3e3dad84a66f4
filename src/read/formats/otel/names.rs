//! Names of attributes: those that a rule reads, and those that are common.

use std::borrow::Cow;

use crate::json::{Escapes, JsonString};

/// Common names that a rule reads. They are shared, and found by one look-up.
const COMMON: &[&str] = &[
    "agent.name",
    "gen_ai.agent.name",
    "gen_ai.completion.0.content",
    "gen_ai.completion.0.role",
    "gen_ai.conversation.id",
    "gen_ai.input.messages",
    "gen_ai.operation.name",
    "gen_ai.output.messages",
    "gen_ai.prompt.0.content",
    "gen_ai.prompt.0.role",
    "gen_ai.request.model",
    "gen_ai.response.id",
    "gen_ai.response.model",
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.id",
    "gen_ai.tool.call.result",
    "gen_ai.tool.name",
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.output_tokens",
    "input.value",
    "llm.model_name",
    "llm.token_count.completion",
    "llm.token_count.prompt",
    "llm.token_count.total",
    "metadata",
    "openinference.span.kind",
    "output.value",
    "session.id",
    "tool.name",
    "tool.parameters",
    "traceloop.entity.input",
    "traceloop.entity.name",
    "traceloop.entity.output",
    "traceloop.span.kind",
];

/// Common names that no rule reads, although they begin like one that a rule reads.
const UNREAD: &[&str] = &[
    "gen_ai.agent.call.id",
    "gen_ai.event.end_time",
    "gen_ai.event.start_time",
    "gen_ai.output.type",
    "gen_ai.provider.name",
    "gen_ai.request.max_tokens",
    "gen_ai.response.finish_reasons",
    "gen_ai.system",
    "gen_ai.task.id",
    "gen_ai.task.kind",
    "gen_ai.task.name",
    "gen_ai.task.parent.id",
    "gen_ai.tool.type",
    "gen_ai.usage.total_tokens",
];

/// Size of the table of common names: a power of two, several times the number of names.
const PLACES: usize = 256;

/// The common names by slot, each with whether a rule reads it. On a collision the next free slot is used; no name is
/// empty.
static TABLE: [(&str, bool); PLACES] = table();

#[expect(clippy::indexing_slicing, reason = "done when compiled")]
const fn table() -> [(&'static str, bool); PLACES] {
    let mut table = [("", false); PLACES];
    let mut number = 0;
    while number < COMMON.len() + UNREAD.len() {
        let is_read = number < COMMON.len();
        let name = if is_read { COMMON[number] } else { UNREAD[number - COMMON.len()] };
        let mut at = place(name.as_bytes());
        while !table[at].0.is_empty() {
            at = (at + 1) % PLACES;
        }
        table[at] = (name, is_read);
        number += 1;
    }
    table
}

/// Returns the first slot of a name, by its length and some of its bytes.
#[expect(clippy::indexing_slicing, reason = "within the length")]
pub(super) const fn place(name: &[u8]) -> usize {
    let length = name.len();
    if length == 0 {
        return 0;
    }
    let (last, third, middle) = (name[length - 1], name[length - length / 3 - 1], name[length / 2]);
    (length + 7 * last as usize + 31 * third as usize + 67 * middle as usize) % PLACES
}

/// Returns a common name, and whether a rule reads it.
fn common(name: &[u8]) -> Option<(&'static str, bool)> {
    let mut at = place(name);
    loop {
        match *TABLE.get(at)? {
            ("", _) => return None,
            known if known.0.as_bytes() == name => return Some(known),
            _ => at = (at + 1) % PLACES,
        }
    }
}

/// Returns a name as JSON spells it, or `None` if no rule reads it.
pub(super) fn read(name: JsonString<'_>) -> Option<Cow<'_, str>> {
    if name.escapes() != Escapes::None {
        return Some(name.decode()).filter(|name| is_read(name.as_bytes()));
    }
    match common(name.inner()) {
        Some((common, is_read)) => is_read.then_some(Cow::Borrowed(common)),
        None => begins_read(name.inner()).then(|| name.decode()),
    }
}

/// Returns an owned name, which is shared for most attributes.
pub(super) fn owned(name: Cow<'_, str>) -> Cow<'static, str> {
    match common(name.as_bytes()) {
        Some((common, _)) => Cow::Borrowed(common),
        None => Cow::Owned(name.into_owned()),
    }
}

/// Returns true if a rule reads an attribute of this name. Others are dropped: definitions of tools and bookkeeping of
/// frameworks make up most of a span.
pub(super) fn is_read(name: &[u8]) -> bool {
    common(name).map_or_else(|| begins_read(name), |(_, is_read)| is_read)
}

/// Returns true if an uncommon name is one that a rule reads, or begins like one.
fn begins_read(name: &[u8]) -> bool {
    let begins = |start: &str| name.starts_with(start.as_bytes());
    let is_read = match name.first() {
        Some(b'g') => {
            let is_unread = begins("gen_ai.tool.definitions")
                || begins("gen_ai.tool.description")
                || begins("gen_ai.system_instructions")
                || begins("gen_ai.workflow.")
                || begins("gen_ai.agent.tools")
                || begins("gen_ai.agent.description");
            begins("gen_ai.") && !is_unread || begins("gcp.vertex.agent.") || begins("graph.node.id")
        }
        Some(b'l') => {
            begins("llm.input_messages.")
                || begins("llm.output_messages.")
                || begins("llm.token_count.")
                || begins("llm.model_name")
                || begins("logfire.msg")
        }
        Some(b't') => {
            begins("tool.") && !begins("tool.description") && !begins("tool.json_schema")
                || begins("traceloop.span.kind")
                || begins("traceloop.entity.")
                || begins("traceloop.association.properties.lc_agent_name")
                || begins("traceloop.association.properties.langgraph_node")
                || begins("tool_arguments")
                || begins("tool_response")
        }
        Some(b'e') => {
            begins("error.type")
                || begins("event.name")
                || begins("exception.") && !begins("exception.stacktrace")
        }
        Some(b'o') => begins("openinference.span.kind") || begins("output.value"),
        Some(b'i') => begins("input.value"),
        Some(b'm') => begins("metadata"),
        Some(b's') => begins("session.id"),
        Some(b'a') => begins("agent.name") || begins("agent_name"),
        _ => false,
    };
    is_read
        || matches!(
            name,
            b"events" | b"content" | b"message" | b"id" | b"tool_call_id" | b"role" | b"name" | b"model_name"
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_names_are_read_and_shared() {
        for name in COMMON {
            assert_eq!(common(name.as_bytes()), Some((*name, true)));
            assert!(is_read(name.as_bytes()) && begins_read(name.as_bytes()), "{name}");
        }
        for name in UNREAD {
            assert!(!is_read(name.as_bytes()) && begins_read(name.as_bytes()), "{name}");
        }
        for (name, is_shared) in [
            ("gen_ai.tool.name", true),
            ("agent.name", true),
            ("traceloop.span.kind", true),
            ("x", false),
            ("", false),
        ] {
            let own = owned(Cow::Owned(name.to_owned()));
            assert_eq!((&*own, matches!(own, Cow::Borrowed(_))), (name, is_shared));
        }
    }

    #[test]
    fn few_names_share_a_place() {
        let mut places: Vec<usize> = COMMON.iter().chain(UNREAD).map(|name| place(name.as_bytes())).collect();
        places.sort_unstable();
        places.dedup();
        let names = COMMON.len() + UNREAD.len();
        assert!(places.len() + names / 6 > names, "{} of {names}", places.len());
    }

    #[test]
    fn what_nobody_reads_is_not_kept() {
        assert!(is_read(b"gen_ai.tool.name") && is_read(b"llm.output_messages.0.message.role"));
        assert!(!is_read(b"gen_ai.tool.definitions") && !is_read(b"llm.tools.0.tool.json_schema"));
        assert!(!is_read(b"traceloop.association.properties.langgraph_path") && !is_read(b"http.url"));
    }
}
