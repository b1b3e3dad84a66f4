//! Spans and log records in memory: what every encoding is read into, and all that the later stages look at.

use std::borrow::Cow;
use std::cmp::Ordering;

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

    fn into_owned(self) -> Attributes<'static> {
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

/// How a span says that it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, PartialOrd, Ord)]
pub(crate) enum Code {
    #[default]
    Unset,
    Ok,
    Error,
}

impl Code {
    /// From a number or a name, in any of the spellings in use.
    pub(super) fn of_name(name: &str) -> Self {
        let name = name.trim().to_ascii_lowercase();
        let name = name.rsplit(['.', '_']).next().unwrap_or_default();
        match name {
            "ok" | "1" => Self::Ok,
            "error" | "2" => Self::Error,
            _ => Self::Unset,
        }
    }

    pub(super) fn of_number(number: i64) -> Self {
        match number {
            1 => Self::Ok,
            2 => Self::Error,
            _ => Self::Unset,
        }
    }
}

/// Something that happened within a span.
#[derive(Debug, Clone, Default)]
pub(crate) struct SpanEvent<'a> {
    pub(crate) name: Cow<'a, str>,
    pub(crate) attributes: Attributes<'a>,
}

/// A span.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_field_names, reason = "the names that everybody gives them")]
pub(crate) struct Span<'a> {
    pub(crate) trace_id: String,
    pub(crate) span_id: String,
    pub(crate) parent: Option<String>,
    pub(crate) name: Cow<'a, str>,
    /// The name of the instrumentation scope.
    pub(crate) scope: Cow<'a, str>,
    /// Nanoseconds since 1970; `0` where it is not told.
    pub(crate) start: u64,
    pub(crate) end: Option<u64>,
    pub(crate) status: Code,
    pub(crate) message: Cow<'a, str>,
    pub(crate) attributes: Attributes<'a>,
    pub(crate) events: Vec<SpanEvent<'a>>,
}

impl Span<'_> {
    /// How long it took, where that is told and not negative.
    pub(crate) fn duration(&self) -> Option<u64> {
        self.end?.checked_sub(self.start)
    }

    /// The same on its own, without its source.
    pub(crate) fn into_owned(self) -> Span<'static> {
        Span {
            trace_id: self.trace_id,
            span_id: self.span_id,
            parent: self.parent,
            name: Cow::Owned(self.name.into_owned()),
            scope: Cow::Owned(self.scope.into_owned()),
            start: self.start,
            end: self.end,
            status: self.status,
            message: Cow::Owned(self.message.into_owned()),
            attributes: self.attributes.into_owned(),
            events: self
                .events
                .into_iter()
                .map(|event| SpanEvent {
                    name: Cow::Owned(event.name.into_owned()),
                    attributes: event.attributes.into_owned(),
                })
                .collect(),
        }
    }

    /// Of two spans of one id, which tells more: an ended one, then the one with more attributes. Whatever else is
    /// compared only makes the choice the same in any order.
    fn telling(&self, other: &Self) -> Ordering {
        let key = |span: &Self| (span.end, span.status, span.attributes.len(), span.events.len(), span.start);
        key(self).cmp(&key(other)).then_with(|| self.content().cmp(&other.content()))
    }

    fn content(&self) -> String {
        let attributes: Vec<_> = self.attributes.iter().map(|(key, value)| (key, value.to_text())).collect();
        format!("{:?}{:?}{:?}{attributes:?}", self.name, self.message, self.parent)
    }
}

/// A log record that belongs to a span.
#[derive(Debug, Clone)]
pub(crate) struct LogRecord<'a> {
    pub(crate) trace_id: String,
    /// Empty where it belongs to the trace only.
    pub(crate) span_id: String,
    /// When it was made or, where that is not told, seen.
    pub(crate) time: u64,
    pub(crate) record: Record<'a>,
}

impl LogRecord<'_> {
    /// The same on its own, without its source.
    pub(crate) fn into_owned(self) -> LogRecord<'static> {
        LogRecord {
            trace_id: self.trace_id,
            span_id: self.span_id,
            time: self.time,
            record: Record {
                name: Cow::Owned(self.record.name.into_owned()),
                body: self.record.body.into_owned(),
                attributes: self.record.attributes.into_owned(),
            },
        }
    }
}

/// A message of a conversation as an event tells it: a log record, an event of a span, or an item of a span's
/// `events`.
#[derive(Debug, Clone)]
pub(crate) struct Record<'a> {
    pub(crate) name: Cow<'a, str>,
    pub(crate) body: Value<'a>,
    pub(crate) attributes: Attributes<'a>,
}

/// Puts spans in the order of their starts, whatever order they came in, and leaves one of each id.
pub(super) fn in_order(spans: &mut Vec<Span<'_>>) {
    spans.sort_by(|a, b| a.span_id.cmp(&b.span_id).then_with(|| b.telling(a)));
    spans.dedup_by(|later, first| later.span_id == first.span_id);
    spans.sort_by(|a, b| a.start.cmp(&b.start).then_with(|| a.span_id.cmp(&b.span_id)));
}

/// Puts log records in the order of their times, and leaves one of each. Records of one time keep the order in which
/// they came.
pub(super) fn records_in_order(records: &mut Vec<LogRecord<'_>>) {
    records.sort_by(|a, b| a.time.cmp(&b.time).then_with(|| a.span_id.cmp(&b.span_id)));
    let content = |record: &LogRecord<'_>| {
        (record.record.name.clone().into_owned(), record.record.body.to_text().map(Cow::into_owned), {
            let attributes = record.record.attributes.iter();
            attributes
                .map(|(key, value)| (key.to_owned(), value.to_text().map(Cow::into_owned)))
                .collect::<Vec<_>>()
        })
    };
    let mut kept: Vec<LogRecord<'_>> = Vec::with_capacity(records.len());
    for record in records.drain(..) {
        let same_time = kept.iter().rev().take_while(|other| other.time == record.time && record.time != 0);
        let mut twins = same_time.filter(|other| other.span_id == record.span_id);
        if !twins.any(|other| content(other) == content(&record)) {
            kept.push(record);
        }
    }
    *records = kept;
}

/// An id in one spelling: lower-case hex where it is hex, with or without `0x`, or base64 of 8 or 16 bytes. `None`
/// where it is empty or all zeros.
pub(super) fn id(text: &str) -> Option<String> {
    let text = text.trim();
    let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    if hex.bytes().all(|byte| byte == b'0') {
        return None;
    }
    if hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Some(hex.to_ascii_lowercase());
    }
    let padded = matches!((text.len(), text.ends_with('=')), (12 | 24, true));
    Some(padded.then(|| hex_of_base64(text)).flatten().unwrap_or_else(|| text.to_owned()))
}

/// Bytes as lower-case hex; `None` where there are none, or all are zero.
pub(super) fn id_of_bytes(bytes: &[u8]) -> Option<String> {
    if bytes.iter().all(|byte| *byte == 0) {
        return None;
    }
    let digit = |value: u8| char::from_digit(u32::from(value), 16);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 0xf)]).collect()
}

fn hex_of_base64(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(16);
    let (mut held, mut bits) = (0_u32, 0_u32);
    for byte in text.trim_end_matches('=').bytes() {
        let sextet = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        held = (held << 6 | u32::from(sextet)) & 0xff_ffff;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(held >> bits & 0xff).ok()?);
        }
    }
    if matches!(bytes.len(), 8 | 16) { id_of_bytes(&bytes) } else { None }
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
    fn ids_have_one_spelling() {
        assert_eq!(id("0xABCDEF0012345678").as_deref(), Some("abcdef0012345678"));
        assert_eq!(id("q83vABI0Vng=").as_deref(), Some("abcdef0012345678"));
        assert_eq!(id("/////////////////////w==").as_deref(), Some("ffffffffffffffffffffffffffffffff"));
        assert_eq!(id("my-span").as_deref(), Some("my-span"));
        for none in ["", "0000000000000000", "0x"] {
            assert_eq!(id(none), None, "{none}");
        }
        assert_eq!(id_of_bytes(&[0xab, 1]).as_deref(), Some("ab01"));
        assert_eq!(id_of_bytes(&[0; 8]), None);
    }

    #[test]
    fn codes_have_many_spellings() {
        for name in ["STATUS_CODE_ERROR", "Error", "ERROR", "StatusCode.ERROR", "2"] {
            assert_eq!(Code::of_name(name), Code::Error, "{name}");
        }
        assert_eq!(Code::of_name("STATUS_CODE_OK"), Code::Ok);
        assert_eq!(Code::of_name("UNSET"), Code::Unset);
    }

    #[test]
    fn of_two_spans_of_one_id_the_ended_one_counts() {
        let span = |end, start| Span { span_id: "a".into(), end, start, ..Span::default() };
        for order in [[span(None, 1), span(Some(5), 1)], [span(Some(5), 1), span(None, 1)]] {
            let mut spans = order.to_vec();
            in_order(&mut spans);
            assert_eq!((spans.len(), spans[0].end), (1, Some(5)));
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
