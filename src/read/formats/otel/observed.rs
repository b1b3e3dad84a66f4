//! Converts spans of tracing products with their own formats to the attributes of OpenInference.

use std::borrow::Cow;

use super::infer::kinds::{Kind as SpanKind, kind};
use super::model::{Attr, Code, Collection, Data, Key, Span, Value, id};
use crate::json::{Kind, Raw, Read};
use crate::read::members::Members;
use crate::read::runs::Runs;

/// A span that is being built.
#[derive(Default)]
pub(in crate::read) struct Observed<'a>(Span<'a>);

impl<'a> Observed<'a> {
    pub(in crate::read) fn new(trace: Cow<'a, str>, id: Cow<'a, str>, parent: Option<Cow<'a, str>>) -> Self {
        let own = |text| self::id(text).unwrap_or_default();
        let parent = parent.and_then(self::id);
        Self(Span { trace_id: own(trace), span_id: own(id), parent, ..Span::default() })
    }

    pub(in crate::read) fn name(&mut self, name: Cow<'a, str>) {
        self.0.name = name;
    }

    /// Sets the start and end, in nanoseconds since 1970.
    pub(in crate::read) fn set_times(&mut self, start: Option<u64>, end: Option<u64>) {
        self.0.start = start.unwrap_or_default();
        self.0.end = end;
    }

    /// Sets whether the span failed, and why.
    pub(in crate::read) fn ended(&mut self, failed: bool, message: Option<Cow<'a, str>>) {
        self.0.status = if failed { Code::Error } else { Code::Ok };
        self.0.message = message.unwrap_or_default();
    }

    /// Adds an attribute, unless its value is null. An object or a list becomes JSON text, canonical in an output. An
    /// object with an error is kept as it is, because the order of its keys counts.
    pub(in crate::read) fn value(&mut self, name: &'static str, value: Option<Raw<'a>>) -> Read<()> {
        let value = value.map(|value| match value.kind() {
            Kind::Object | Kind::List if name == "output.value" && value.member("error").is_none() => {
                Ok(Value::text(crate::read::wire::canonical(value.bytes())))
            }
            Kind::Object | Kind::List => Ok(Value::text(value.spelling())),
            _ => Value::read(&mut value.json()),
        });
        self.push(name, value.transpose()?);
        Ok(())
    }

    /// Sets the kind: `LLM`, `TOOL` or `AGENT`, in any case. Any other text makes a chain.
    pub(in crate::read) fn kind(&mut self, kind: Option<Cow<'a, str>>) {
        self.text("openinference.span.kind", kind);
    }

    pub(in crate::read) fn text(&mut self, name: &'static str, text: Option<Cow<'a, str>>) {
        self.push(name, text.map(Value::text));
    }

    /// Sets the model of a request, and its numbers of input and output tokens.
    pub(in crate::read) fn used(
        &mut self,
        model: Option<Cow<'a, str>>,
        input: Option<u64>,
        output: Option<u64>,
    ) {
        let count = |count: Option<u64>| count.map(|count| Data::Number(count.into()).into());
        self.text("llm.model_name", model);
        self.push("llm.token_count.prompt", count(input));
        self.push("llm.token_count.completion", count(output));
    }

    fn push(&mut self, name: &'static str, value: Option<Value<'a>>) {
        self.0.attributes.push_named(Cow::Borrowed(name), value.unwrap_or_default());
    }

    /// Adds the attributes of the original OpenTelemetry span, as the product recorded them.
    pub(in crate::read) fn attributes(&mut self, object: Raw<'_>) -> Read<()> {
        crate::read::wire::object(&mut object.json(), |key, value| {
            if let Some(key) = Key::of(String::from_utf8_lossy(key)) {
                self.0.attributes.push(key.into_owned(), Value::read(value)?.into_owned());
            }
            Ok(())
        })
        .map(|_| ())
    }

    /// Returns true if the span has one of these attributes.
    pub(in crate::read) fn has(&self, names: &[&str]) -> bool {
        self.0.attributes.iter().any(|(key, _)| names.contains(&key.as_str()))
    }
}

/// Groups spans by trace and emits their runs.
pub(in crate::read) fn give<'a>(
    spans: impl IntoIterator<Item = Read<Observed<'a>>>,
    runs: &mut Runs<'_>,
) -> Read<()> {
    let mut collection = Collection::default();
    for span in spans {
        collection.push_span(span?.0);
    }
    for bundle in collection.traces.values_mut() {
        name_agent(&mut bundle.spans);
    }
    collection.give(runs);
    Ok(())
}

/// Makes the root of a trace without requests its agent, if both its input and its output are plain text: what the user
/// asked and what the agent answered.
fn name_agent(spans: &mut [Span<'_>]) {
    let is_of = |span: &Span<'_>, wanted| kind(span) == wanted;
    if spans.iter().any(|span| is_of(span, SpanKind::Model) || is_of(span, SpanKind::Agent)) {
        return;
    }
    let is_plain =
        |span: &Span<'_>, name| span.attributes.name(name).is_some_and(|text| Data::of_text(text).is_none());
    let root = spans.iter_mut().find(|span| {
        span.parent.is_none()
            && is_of(span, SpanKind::Chain)
            && is_plain(span, Attr::InputValue)
            && is_plain(span, Attr::OutputValue)
    });
    if let Some(root) = root {
        root.attributes.push(Key::Known(Attr::OpenInferenceKind), Value::text("AGENT"));
    }
}

/// Returns the only member of an object, if it has this name.
pub(in crate::read) fn sole<'a>(value: Raw<'a>, name: &str) -> Option<Raw<'a>> {
    Members::from(value).only().filter(|(key, _)| *key == name).map(|(_, value)| value)
}

/// Returns the only member of an object if it is a string, or else the value itself.
pub(in crate::read) fn sole_text(value: Raw<'_>) -> Raw<'_> {
    let inner = Members::from(value).only().map(|(_, inner)| inner);
    inner.filter(|inner| inner.kind() == Kind::String).unwrap_or(value)
}
