//! Spans and log records in memory: the form into which all encodings are read.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::attributes::{Attributes, Value};
use super::resource::Resource;
use crate::trace::SpanId;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Code {
    #[default]
    Unset,
    Ok,
    Error,
}

impl Code {
    /// Parses a number or a name, in any spelling in use. Any other text gives [`Code::Unset`].
    pub(crate) fn of_name(name: &str) -> Self {
        let name = name.trim().to_ascii_lowercase();
        let name = name.rsplit(['.', '_']).next().unwrap_or_default();
        match name {
            "ok" | "1" => Self::Ok,
            "error" | "2" => Self::Error,
            _ => Self::Unset,
        }
    }

    pub(crate) fn of_number(number: u64) -> Self {
        match number {
            1 => Self::Ok,
            2 => Self::Error,
            _ => Self::Unset,
        }
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct SpanEvent<'a> {
    #[serde(borrow)]
    pub(crate) name: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) attributes: Attributes<'a>,
}

/// The flags of a span whose parent is in another process: 0x100 if that is known, and 0x200 if it is so.
const REMOTE: u64 = 0x300;

/// Returns true if these flags say that the parent is in another process.
pub(crate) fn is_remote(flags: u64) -> bool {
    flags & REMOTE == REMOTE
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_field_names, reason = "the names of the standard")]
pub(crate) struct Span<'a> {
    #[serde(borrow, skip_serializing_if = "str::is_empty")]
    pub(crate) trace_id: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) span_id: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parent: Option<Cow<'a, str>>,
    /// True if the sender says that the parent is in another process.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) is_parent_remote: bool,
    #[serde(borrow)]
    pub(crate) name: Cow<'a, str>,
    /// The name of the instrumentation scope.
    #[serde(borrow, skip_serializing_if = "str::is_empty")]
    pub(crate) scope: Cow<'a, str>,
    /// Nanoseconds since 1970; `0` if not recorded.
    pub(crate) start: u64,
    pub(crate) end: Option<u64>,
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) status: Code,
    #[serde(borrow, skip_serializing_if = "str::is_empty")]
    pub(crate) message: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) attributes: Attributes<'a>,
    #[serde(borrow, skip_serializing_if = "Vec::is_empty")]
    pub(crate) events: Vec<SpanEvent<'a>>,
    /// The service that sent the span.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) resource: Resource,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Span<'_> {
    /// Returns the id of the span, if it has the form that OpenTelemetry requires.
    pub(crate) fn own_id(&self) -> Option<SpanId> {
        self.span_id.parse().ok()
    }

    /// Returns the time from start to end in nanoseconds, if both are recorded and the end is not before the start.
    pub(crate) fn duration(&self) -> Option<u64> {
        self.end?.checked_sub(self.start).filter(|_| self.start > 0)
    }

    pub(crate) fn into_owned(self) -> Span<'static> {
        Span {
            trace_id: owned(self.trace_id),
            span_id: owned(self.span_id),
            parent: self.parent.map(owned),
            is_parent_remote: self.is_parent_remote,
            name: owned(self.name),
            scope: owned(self.scope),
            start: self.start,
            end: self.end,
            status: self.status,
            message: owned(self.message),
            attributes: self.attributes.into_owned(),
            events: self
                .events
                .into_iter()
                .map(|event| SpanEvent { name: owned(event.name), attributes: event.attributes.into_owned() })
                .collect(),
            resource: self.resource,
        }
    }

    /// Compares two spans with the same id by completeness: by end, where a missing end is least, then by status,
    /// then by the number of attributes and of events. Other fields only make the choice independent of input order.
    fn by_content(&self, other: &Self) -> Ordering {
        let key = |span: &Self| (span.end, span.status, span.attributes.len(), span.events.len(), span.start);
        key(self).cmp(&key(other)).then_with(|| content(self).cmp(&content(other)))
    }
}

/// A log record, which may belong to a span.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct LogRecord<'a> {
    #[serde(borrow, default, skip_serializing_if = "str::is_empty")]
    pub(crate) trace_id: Cow<'a, str>,
    /// Empty if it belongs only to the trace.
    #[serde(borrow)]
    pub(crate) span_id: Cow<'a, str>,
    /// When it was made or, if that is not recorded, observed: nanoseconds since 1970; `0` if neither is
    /// recorded.
    pub(crate) time: u64,
    #[serde(borrow)]
    pub(crate) name: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) body: Value<'a>,
    #[serde(borrow)]
    pub(crate) attributes: Attributes<'a>,
}

impl LogRecord<'_> {
    pub(crate) fn into_owned(self) -> LogRecord<'static> {
        LogRecord {
            trace_id: owned(self.trace_id),
            span_id: owned(self.span_id),
            time: self.time,
            name: owned(self.name),
            body: self.body.into_owned(),
            attributes: self.attributes.into_owned(),
        }
    }
}

/// Sorts spans and log records, and drops duplicates.
pub(crate) fn put_in_order(spans: &mut Vec<Span<'_>>, logs: &mut Vec<LogRecord<'_>>) {
    spans_in_order(spans);
    records_in_order(logs);
}

/// Sorts spans by start and id, and keeps only the most complete span with each id, whatever the input order.
fn spans_in_order(spans: &mut Vec<Span<'_>>) {
    let mut ids: Vec<&str> = spans.iter().map(|span| &*span.span_id).collect();
    ids.sort_unstable();
    if ids.windows(2).any(|pair| matches!(pair, [one, other] if one == other)) {
        spans.sort_by(|a, b| a.span_id.cmp(&b.span_id).then_with(|| b.by_content(a)));
        spans.dedup_by(|later, first| later.span_id == first.span_id);
    }
    spans.sort_by(|a, b| a.start.cmp(&b.start).then_with(|| a.span_id.cmp(&b.span_id)));
}

/// Sorts log records by time and span, and drops duplicates. Records of the same time and span keep their
/// order. Those without a time are all kept, since equal ones may be different events.
fn records_in_order(records: &mut Vec<LogRecord<'_>>) {
    records.sort_by(|a, b| a.time.cmp(&b.time).then_with(|| a.span_id.cmp(&b.span_id)));
    let mut keep = Vec::with_capacity(records.len());
    for same in records.chunk_by(|a, b| a.time == b.time && a.span_id == b.span_id) {
        match same {
            [_, _, ..] if same.iter().all(|record| record.time != 0) => {
                let mut seen = HashSet::with_capacity(same.len());
                keep.extend(same.iter().map(|record| seen.insert(content(record))));
            }
            _ => keep.resize(keep.len() + same.len(), true),
        }
    }
    let mut keep = keep.into_iter();
    records.retain(|_| keep.next().unwrap_or(true));
}

/// Returns all that is recorded, for comparisons.
fn content(item: &impl Serialize) -> String {
    serde_json::to_string(item).unwrap_or_default()
}

fn owned(text: Cow<'_, str>) -> Cow<'static, str> {
    Cow::Owned(text.into_owned())
}

/// Normalizes an id. Hex digits, with or without `0x`, and padded base64 of 8 or 16 bytes become lower-case
/// hex. Any other text is trimmed. `None` if the id is empty or zero.
pub(crate) fn id(text: Cow<'_, str>) -> Option<Cow<'_, str>> {
    // Most ids are lower-case hex already. Checking every byte is faster than stopping at the first other one.
    let (usual, zeros) = text.bytes().fold((true, true), |(usual, zeros), byte| {
        let is_digit = byte.wrapping_sub(b'0') < 10 || byte.wrapping_sub(b'a') < 6;
        (usual & is_digit, zeros && byte == b'0')
    });
    if usual {
        return (!zeros).then_some(text);
    }
    let text = text.trim();
    let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    if hex.bytes().all(|byte| byte == b'0') {
        return None;
    }
    if hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Some(Cow::Owned(hex.to_ascii_lowercase()));
    }
    let padded = matches!((text.len(), text.ends_with('=')), (12 | 24, true));
    match padded.then(|| bytes_of_base64(text)).flatten() {
        Some(bytes) => id_of_bytes(&bytes).map(Cow::Owned),
        None => Some(Cow::Owned(text.to_owned())),
    }
}

/// Returns bytes as lower-case hex, or `None` if there are none or all are zero.
pub(crate) fn id_of_bytes(bytes: &[u8]) -> Option<String> {
    if bytes.iter().all(|byte| *byte == 0) {
        return None;
    }
    let digit = |value: u8| char::from_digit(u32::from(value), 16);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 0xf)]).collect()
}

/// Returns the 8 or 16 bytes of an id in base64.
fn bytes_of_base64(text: &str) -> Option<Vec<u8>> {
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
    matches!(bytes.len(), 8 | 16).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_hex_or_base64_and_not_zero() {
        for (text, expected) in [
            ("EEE19B7EC3C1B174", Some("eee19b7ec3c1b174")),
            ("0xEEE19B7EC3C1B174", Some("eee19b7ec3c1b174")),
            ("7uGbfsPBsXQ=", Some("eee19b7ec3c1b174")),
            ("not hex", Some("not hex")),
            ("0000000000000000", None),
            ("AAAAAAAAAAA=", None),
        ] {
            assert_eq!(id(text.into()).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_duration_needs_both_times() {
        for (start, end, expected) in
            [(3, Some(5), Some(2)), (0, Some(5), None), (3, None, None), (5, Some(3), None)]
        {
            assert_eq!(Span { start, end, ..Span::default() }.duration(), expected, "{start} {end:?}");
        }
    }
}
