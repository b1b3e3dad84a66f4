//! Estimates the memory that spans and log records take, for the limits of a receiver.

use std::borrow::Cow;

use super::{Attributes, Data, Key, LogRecord, Span, SpanEvent, Value};

/// Assumed overhead of an allocation, in bytes.
const ALLOCATION: usize = 16;

/// Returns the bytes that a text allocates.
fn text(text: &str) -> usize {
    if text.is_empty() { 0 } else { text.len() + ALLOCATION }
}

impl Span<'_> {
    pub(crate) fn bytes(&self) -> usize {
        let texts = [&self.trace_id, &self.span_id, &self.name, &self.scope, &self.message];
        let texts = texts.into_iter().chain(&self.parent).map(|part| text(part));
        let events = self
            .events
            .iter()
            .map(|event| size_of::<SpanEvent<'_>>() + text(&event.name) + event.attributes.bytes());
        size_of::<Self>() + texts.sum::<usize>() + self.attributes.bytes() + events.sum::<usize>()
    }
}

impl LogRecord<'_> {
    pub(crate) fn bytes(&self) -> usize {
        let texts = [&self.trace_id, &self.span_id, &self.name].map(|part| text(part));
        size_of::<Self>() + texts.iter().sum::<usize>() + self.body.bytes() + self.attributes.bytes()
    }
}

impl Attributes<'_> {
    fn bytes(&self) -> usize {
        let attributes = self.iter().map(|(key, value)| {
            let owned = if let Key::Part(Cow::Owned(name)) = key { text(name) } else { 0 };
            size_of_val(key) + size_of_val(value) + owned + value.bytes()
        });
        ALLOCATION + attributes.sum::<usize>()
    }
}

impl Value<'_> {
    /// Returns the bytes that the value allocates.
    fn bytes(&self) -> usize {
        match self {
            Self::Data(data) => data.bytes(),
            words => words.as_str().map_or(0, text),
        }
    }
}

impl Data<'_> {
    fn bytes(&self) -> usize {
        let inside = |bytes: usize| ALLOCATION + bytes;
        match self {
            Self::Text(words) => text(words),
            Self::List(items) => inside(items.iter().map(|item| size_of_val(item) + item.bytes()).sum()),
            Self::Object(members) => {
                let size = size_of::<(Cow<'_, str>, Self)>();
                inside(members.iter().map(|(key, value)| size + text(key) + value.bytes()).sum())
            }
            Self::Null | Self::Bool(_) | Self::Number(_) => 0,
        }
    }
}
