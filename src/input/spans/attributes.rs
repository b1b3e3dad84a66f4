//! Attributes of spans and log records: their values, and which of them any rule reads.

use std::borrow::Cow;

use serde_json::Value as Json;

use crate::trace::Words;

/// A value of an attribute.
#[derive(Debug, Clone)]
pub(crate) enum Value<'a> {
    /// A text, still in its spelling where it comes from JSON.
    Text(Words<'a>),
    Bool(bool),
    Integer(i64),
    Float(f64),
    List(Vec<Value<'a>>),
    Map(Vec<(Cow<'a, str>, Value<'a>)>),
    Null,
}

impl<'a> Value<'a> {
    /// A text that was made or borrowed.
    pub(crate) fn text(text: impl Into<Words<'a>>) -> Self {
        Self::Text(text.into())
    }

    /// The value where it is a text.
    pub(crate) fn as_str(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Text(words) => Some(words.text().to_str()),
            _ => None,
        }
    }

    /// The value as a whole number that is not negative, also where it is spelled as a text or as `3.0`.
    pub(crate) fn as_count(&self) -> Option<u64> {
        match self {
            Self::Integer(integer) => u64::try_from(*integer).ok(),
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "checked to be whole and small"
            )]
            Self::Float(float) => {
                (float.fract() == 0.0 && (0.0..9e15).contains(float)).then_some(*float as u64)
            }
            Self::Text(words) => words.text().to_str().trim().parse().ok(),
            _ => None,
        }
    }

    /// The member of this name.
    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Map(members) => members.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// The value as JSON: a text that holds a JSON list or object is that, another is a string.
    pub(crate) fn to_json(&self) -> Json {
        match self {
            Self::Text(words) => {
                let text = words.text().to_str();
                json_of_text(&text).unwrap_or_else(|| Json::String(text.into_owned()))
            }
            _ => self.to_plain_json(),
        }
    }

    /// The value as JSON, with texts as strings whatever they hold.
    fn to_plain_json(&self) -> Json {
        match self {
            Self::Text(words) => Json::String(words.text().to_str().into_owned()),
            Self::Bool(boolean) => Json::Bool(*boolean),
            Self::Integer(integer) => Json::from(*integer),
            Self::Float(float) => Json::from(*float),
            Self::List(items) => Json::Array(items.iter().map(Self::to_plain_json).collect()),
            Self::Map(members) => Json::Object(
                members.iter().map(|(key, value)| (key.to_string(), value.to_plain_json())).collect(),
            ),
            Self::Null => Json::Null,
        }
    }

    /// The value as a text: of what is no text, its JSON.
    pub(crate) fn to_text(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Null => None,
            Self::Text(words) => Some(words.text().to_str()),
            _ => Some(Cow::Owned(self.to_plain_json().to_string())),
        }
    }

    /// The same on its own.
    pub(crate) fn into_owned(self) -> Value<'static> {
        match self {
            Self::Text(words) => Value::Text(words.into_made()),
            Self::Bool(boolean) => Value::Bool(boolean),
            Self::Integer(integer) => Value::Integer(integer),
            Self::Float(float) => Value::Float(float),
            Self::List(items) => Value::List(items.into_iter().map(Value::into_owned).collect()),
            Self::Map(members) => Value::Map(
                members
                    .into_iter()
                    .map(|(key, value)| (Cow::Owned(key.into_owned()), value.into_owned()))
                    .collect(),
            ),
            Self::Null => Value::Null,
        }
    }
}

/// The JSON list or object that a text holds.
pub(super) fn json_of_text(text: &str) -> Option<Json> {
    let trimmed = text.trim_start();
    if trimmed.starts_with(['{', '[']) { serde_json::from_str(trimmed).ok() } else { None }
}

/// The attributes of a span, of an event, or of a log record, in the order in which they stand. Only those that some
/// rule reads are kept.
#[derive(Debug, Clone, Default)]
pub(crate) struct Attributes<'a>(Vec<(Cow<'a, str>, Value<'a>)>);

impl<'a> Attributes<'a> {
    /// One more; of several of one name the last counts.
    pub(crate) fn push(&mut self, key: Cow<'a, str>, value: Value<'a>) {
        if !matches!(value, Value::Null) {
            self.0.push((key, value));
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Value<'a>> {
        self.0.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// The value of a name where it is a text that is not empty.
    pub(crate) fn name(&self, name: &str) -> Option<Cow<'_, str>> {
        self.get(name)?.as_str().filter(|text| !text.is_empty())
    }

    /// The first of these that is there.
    pub(crate) fn first_of(&self, names: &[&str]) -> Option<&Value<'a>> {
        names.iter().find_map(|name| self.get(name))
    }

    /// The first of these that is a text that is not empty.
    pub(crate) fn first_name(&self, names: &[&str]) -> Option<Cow<'_, str>> {
        names.iter().find_map(|name| self.name(name))
    }

    /// The first of these that is a whole number.
    pub(crate) fn first_count(&self, names: &[&str]) -> Option<u64> {
        names.iter().find_map(|name| self.get(name)?.as_count())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Value<'a>)> {
        self.0.iter().map(|(key, value)| (&**key, value))
    }

    /// As they are held.
    pub(super) fn iter_all(&self) -> impl Iterator<Item = &(Cow<'a, str>, Value<'a>)> {
        self.0.iter()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn into_owned(self) -> Attributes<'static> {
        let own = self.0.into_iter().map(|(key, value)| (owned_key(key), value.into_owned()));
        let mut own: Vec<_> = own.collect();
        // What is owned is held.
        own.shrink_to_fit();
        Attributes(own)
    }
}

/// A key on its own: of most attributes one that everybody shares.
fn owned_key(key: Cow<'_, str>) -> Cow<'static, str> {
    const KEYS: &[&str] = &[
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
        "gen_ai.provider.name",
        "gen_ai.request.model",
        "gen_ai.response.finish_reasons",
        "gen_ai.response.id",
        "gen_ai.response.model",
        "gen_ai.system",
        "gen_ai.tool.call.arguments",
        "gen_ai.tool.call.id",
        "gen_ai.tool.call.result",
        "gen_ai.tool.name",
        "gen_ai.tool.type",
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
    match KEYS.binary_search(&&*key).ok().and_then(|at| KEYS.get(at)) {
        Some(known) => Cow::Borrowed(known),
        None => Cow::Owned(key.into_owned()),
    }
}

/// Whether some rule reads an attribute of this name. What nobody reads is not kept: definitions of tools and
/// bookkeeping of frameworks are most of what a span holds.
pub(super) fn is_read(key: &str) -> bool {
    const UNREAD: &[&str] = &[
        "gen_ai.tool.definitions",
        "gen_ai.tool.description",
        "gen_ai.system_instructions",
        "gen_ai.workflow.",
        "gen_ai.agent.tools",
        "gen_ai.agent.description",
        "tool.description",
        "tool.json_schema",
        "exception.stacktrace",
    ];
    const READ: &[&str] = &[
        "gen_ai.",
        "llm.input_messages.",
        "llm.output_messages.",
        "llm.token_count.",
        "llm.model_name",
        "openinference.span.kind",
        "traceloop.span.kind",
        "traceloop.entity.",
        "traceloop.association.properties.lc_agent_name",
        "traceloop.association.properties.langgraph_node",
        "gcp.vertex.agent.",
        "tool.",
        "tool_arguments",
        "tool_response",
        "input.value",
        "output.value",
        "metadata",
        "session.id",
        "agent.name",
        "agent_name",
        "graph.node.id",
        "logfire.msg",
        "error.type",
        "event.name",
        "exception.",
    ];
    READ.iter().any(|read| key.starts_with(read)) && !UNREAD.iter().any(|unread| key.starts_with(unread))
        || matches!(key, "events" | "content" | "message" | "id" | "role" | "name" | "model_name")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_many_have_are_shared() {
        for (key, is_shared) in
            [("gen_ai.tool.name", true), ("agent.name", true), ("traceloop.span.kind", true), ("x", false)]
        {
            let own = owned_key(Cow::Owned(key.to_owned()));
            assert_eq!((&*own, matches!(own, Cow::Borrowed(_))), (key, is_shared));
        }
    }

    #[test]
    fn what_nobody_reads_is_not_kept() {
        assert!(is_read("gen_ai.tool.name") && is_read("llm.output_messages.0.message.role"));
        assert!(!is_read("gen_ai.tool.definitions") && !is_read("llm.tools.0.tool.json_schema"));
        assert!(!is_read("traceloop.association.properties.langgraph_path") && !is_read("http.url"));
    }

    #[test]
    fn a_number_may_be_spelled_as_text() {
        assert_eq!(Value::text("12").as_count(), Some(12));
        assert_eq!(Value::Float(12.0).as_count(), Some(12));
        assert_eq!(Value::Float(12.5).as_count(), None);
        assert_eq!(Value::Integer(-1).as_count(), None);
    }
}
