//! Spans of OpenTelemetry as traces: the encodings, and the stages that know none of them.
//!
//! Every encoding is read into [`Span`]s and [`LogRecord`]s of a [`SpanCollection`], which puts them together by
//! trace id, wherever they lay and in whatever order they came. The stages behind it are functions over the spans of
//! one trace: [`classify`] (what a span is of), [`tree`] (whose run it is part of), [`requests`] (what models were
//! asked), [`calls`] (one action for each call), [`answers`], [`unwrap`] and [`status`] (what came back), and
//! [`assemble`], which makes the runs.
//!
//! To add an encoding: a function that reads it into spans, and a line in [`shape`] that recognises it.

mod answers;
mod assemble;
mod batch;
mod calls;
mod classify;
mod logs;
mod message;
mod model;
mod otlp_json;
#[cfg(feature = "otlp")]
mod otlp_proto;
mod protobuf;
mod python;
mod relatives;
mod requests;
mod status;
#[cfg(test)]
mod tests;
mod tree;
mod unwrap;
mod wire;

use std::collections::BTreeMap;

use super::document::{Document, Parsed};
use super::format::{DocumentReader, Entry, Reader};
use super::runs::Runs;
use super::sample::Members;
use super::window::Window;
use super::{Format, ReadOptions, Reading, recognise};
#[cfg(not(feature = "otlp"))]
use crate::error::{Error, ErrorKind};
use crate::json::{Fault, Json, Kind, Raw, Read};
use crate::trace::{Assembler, Ending, Routing, StepSink};

pub(crate) use assemble::{AgentRun, SPAN_LABEL};
pub use batch::SpanBatch;
pub(crate) use model::{LogRecord, Span};

pub(super) const FORMAT: Entry = Entry {
    format: Format::OpenTelemetry,
    about: "spans and log records of OpenTelemetry: OTLP as JSON or protobuf, OpenInference rows, Jaeger and Tempo exports",
    decisive: "`resourceSpans`, `resourceLogs` or `batches`, `data` with spans, or rows with a trace id and a span id",
    reader: Reader::Document(DocumentReader { claims, read, lines_last: false }),
};

/// How many faults of one input are kept.
const MOST_FAULTS: usize = 100;

/// What an object of an encoding holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// The key of a list of resources.
    Otlp(&'static str),
    /// `trace` or `data` around one.
    Within(&'static str),
    Jaeger,
    /// `spans`, nested or not.
    Nested,
    /// One span.
    Row,
}

/// The encoding of an object; `None`: it holds no spans and no log records.
fn shape(members: &Members<'_>) -> Option<Shape> {
    const LISTS: &[&str] = &["resourceSpans", "resource_spans", "resourceLogs", "resource_logs"];
    let is_list =
        |key: &str| members.get(key).is_none_or(|value| matches!(value.kind(), Kind::List | Kind::Null));
    if let Some(key) = LISTS.iter().find(|key| members.has(key) && is_list(key)) {
        return Some(Shape::Otlp(key));
    }
    if let Some(first) = first_of(members.get("batches"))
        && ["scopeSpans", "instrumentationLibrarySpans", "resource"]
            .iter()
            .any(|key| first.member(key).is_some())
    {
        return Some(Shape::Otlp("batches"));
    }
    for key in ["trace", "data"] {
        if let Some(inner) = members.get(key).filter(|inner| inner.kind() == Kind::Object)
            && matches!(shape(&Members::of(&mut inner.json())), Some(Shape::Otlp(_)))
        {
            return Some(Shape::Within(key));
        }
    }
    if let Some(first) = first_of(members.get("data"))
        && first.member("spans").is_some_and(|spans| spans.kind() == Kind::List)
        && (first.member("traceID").is_some() || first.member("processes").is_some())
    {
        return Some(Shape::Jaeger);
    }
    if let Some(first) = first_of(members.get("spans"))
        && is_row(&Members::of(&mut first.json()), members.has("trace_id"))
    {
        return Some(Shape::Nested);
    }
    is_row(members, false).then_some(Shape::Row)
}

fn first_of(list: Option<Raw<'_>>) -> Option<Raw<'_>> {
    list?.items()?.first().copied().filter(|first| first.kind() == Kind::Object)
}

/// Whether an object is a span that stands by itself.
fn is_row(members: &Members<'_>, has_trace: bool) -> bool {
    let is_id = |raw: Option<Raw<'_>>| raw.and_then(Raw::string).is_some_and(|text| relatives::is_id(&text));
    let inner = ["context", "spanContext", "span_context"].iter().find_map(|key| members.get(key));
    let id = |names: &[&str]| {
        names.iter().any(|name| {
            is_id(members.get(name))
                || is_id(inner.and_then(|inner| inner.member(name)))
                || is_id(members.get(&format!("context.{name}")))
        })
    };
    let named = ["name", "span_name"].iter().any(|key| members.is(key, Kind::String));
    named && id(&["span_id", "spanId"]) && (has_trace || id(&["trace_id", "traceId"]))
}

fn claims(document: &Document<'_>) -> bool {
    const LOOKED_AT: usize = 64;
    let claims =
        |item: &Raw<'_>| item.kind() == Kind::Object && shape(&Members::of(&mut item.json())).is_some();
    match document {
        Document::Object(members) => shape(members).is_some(),
        Document::List(_) | Document::Lines(_) => document.items().iter().take(LOOKED_AT).any(claims),
    }
}

fn read(document: &Document<'_>, runs: &mut Runs<'_>) -> Read<()> {
    let mut collection = SpanCollection::default();
    let read = collection.take(document);
    collection.account(runs);
    collection.give(runs);
    read
}

/// Spans and log records on their way to traces, of as many inputs as belong together.
#[derive(Debug, Default)]
pub(crate) struct SpanCollection<'a> {
    traces: BTreeMap<String, Bundle<'a>>,
    /// What was passed over, by reason.
    passed_over: BTreeMap<&'static str, u64>,
    faults: Vec<Fault>,
    /// How many more there were.
    more_faults: u64,
}

/// What is there of one trace.
#[derive(Debug, Default)]
struct Bundle<'a> {
    spans: Vec<Span<'a>>,
    logs: Vec<LogRecord<'a>>,
}

impl<'a> SpanCollection<'a> {
    /// A span, in any order. One without ids belongs nowhere.
    pub(crate) fn push_span(&mut self, mut span: Span<'a>) {
        if span.trace_id.is_empty() || span.span_id.is_empty() {
            return self.pass_over("spans without ids");
        }
        if span.end.is_some_and(|end| end < span.start) {
            self.pass_over("ends of spans before their starts");
        }
        if span.parent.as_ref() == Some(&span.span_id) {
            span.parent = None;
        }
        if let Some(bundle) = self.traces.get_mut(&span.trace_id) {
            bundle.spans.push(span);
        } else {
            let id = span.trace_id.clone();
            self.traces.insert(id, Bundle { spans: vec![span], logs: Vec::new() });
        }
    }

    /// A log record, in any order. One without a trace id belongs nowhere.
    pub(crate) fn push_log(&mut self, log: LogRecord<'a>) {
        if log.trace_id.is_empty() {
            return self.pass_over("log records of no trace");
        }
        if !log.record.name.starts_with("gen_ai.") {
            return self.pass_over("log records that are no events of a conversation");
        }
        self.traces.entry(log.trace_id.clone()).or_default().logs.push(log);
    }

    fn pass_over(&mut self, reason: &'static str) {
        *self.passed_over.entry(reason).or_default() += 1;
    }

    fn fault(&mut self, fault: Fault) {
        if self.faults.len() < MOST_FAULTS { self.faults.push(fault) } else { self.more_faults += 1 }
    }

    /// Reads one item; what is wrong with its shape costs it alone.
    fn contained(
        &mut self,
        json: &mut Json<'a>,
        read: &mut dyn FnMut(&mut Json<'a>, &mut Self) -> Read<()>,
    ) -> Read<()> {
        json.space();
        let mut own = json.clone();
        match read(&mut own, self) {
            Ok(()) => {
                *json = own;
                Ok(())
            }
            Err(fault) if fault.is_sound_json() => {
                self.fault(fault);
                json.skip()
            }
            Err(fault) => Err(fault),
        }
    }

    /// Takes the spans and log records of a document.
    fn take(&mut self, document: &Document<'a>) -> Read<()> {
        match document {
            Document::Object(members) => self.take_object(members),
            Document::List(_) | Document::Lines(_) => {
                let items = document.items();
                for item in items {
                    if item.kind() == Kind::Object {
                        self.take_item(*item)?;
                    } else {
                        self.pass_over("items that are no object");
                    }
                }
                Ok(())
            }
        }
    }

    fn take_item(&mut self, item: Raw<'a>) -> Read<()> {
        let members = Members::of(&mut item.json());
        match self.take_object(&members) {
            Err(fault) if fault.is_sound_json() => {
                self.fault(fault);
                Ok(())
            }
            other => other,
        }
    }

    fn take_object(&mut self, members: &Members<'a>) -> Read<()> {
        let Some(shape) = shape(members) else {
            self.pass_over("objects that are no spans");
            return Ok(());
        };
        match shape {
            Shape::Otlp(_) => {
                for (key, value) in members.iter() {
                    if is_resources(key.as_bytes()) {
                        otlp_json::resources(&mut value.json(), self)?;
                    }
                }
                Ok(())
            }
            Shape::Within(key) => match members.get(key) {
                Some(inner) => self.take_object(&Members::of(&mut inner.json())),
                None => Ok(()),
            },
            Shape::Jaeger => match members.get("data") {
                Some(data) => relatives::jaeger(&mut data.json(), self),
                None => Ok(()),
            },
            Shape::Nested => {
                let trace = members.name("trace_id").and_then(|id| model::id(&id));
                match members.get("spans") {
                    Some(spans) => relatives::nested(trace.as_deref(), &mut spans.json(), self),
                    None => Ok(()),
                }
            }
            Shape::Row => match members.whole() {
                Some(object) => relatives::row(&mut object.json(), None, None, self),
                None => Ok(()),
            },
        }
    }

    /// Says what was passed over and what was wrong.
    fn account(&mut self, runs: &mut Runs<'_>) {
        for (reason, count) in std::mem::take(&mut self.passed_over) {
            runs.pass_over(reason, count);
        }
        for fault in self.faults.drain(..) {
            runs.fail_at(fault);
        }
        runs.pass_over("further faults", std::mem::take(&mut self.more_faults));
    }

    /// Gives the runs of the agents of all traces, in the order in which the traces began.
    pub(super) fn give(self, runs: &mut Runs<'_>) {
        let text_rule = runs.options.text_errors;
        let mut traces: Vec<Bundle<'_>> = self.traces.into_values().collect();
        // The map's order, by trace id, decides between traces of one start.
        traces.sort_by_cached_key(Bundle::start);
        for bundle in traces {
            let agents = runs_of_trace(bundle.spans, bundle.logs, text_rule);
            if agents.is_empty() {
                runs.pass_over("traces without a span of an agent, a model or a tool", 1);
            }
            for run in &agents {
                let mut assembler = Assembler::default();
                assembler.begin(true);
                run.put(&mut assembler);
                let routing = Routing::Unknown("spans tell no expected route".into());
                runs.give(&mut assembler, Ending::new(run.metadata(), None), &routing);
            }
        }
    }
}

impl Bundle<'_> {
    fn start(&self) -> u64 {
        let span = self.spans.iter().map(|span| span.start).min();
        span.or_else(|| self.logs.iter().map(|log| log.time).min()).unwrap_or_default()
    }
}

/// The runs of the agents of one trace, from its spans and log records in whatever order they came, duplicates
/// included. This is all that a live assembler needs: what it holds of a trace, as often as it wants to know.
pub(crate) fn runs_of_trace(
    mut spans: Vec<Span<'_>>,
    mut logs: Vec<LogRecord<'_>>,
    text_rule: bool,
) -> Vec<AgentRun> {
    model::in_order(&mut spans);
    model::records_in_order(&mut logs);
    assemble::runs(&spans, &logs, text_rule)
}

fn is_resources(key: &[u8]) -> bool {
    matches!(key, b"resourceSpans" | b"resource_spans" | b"resourceLogs" | b"resource_logs" | b"batches")
}

/// Reads what there is of an input that is cut off or otherwise damaged, up to the damage. `None`: it holds no spans.
fn take_damaged<'a>(bytes: &'a [u8], into: &mut SpanCollection<'a>) -> Option<Fault> {
    let mut json = Json::new(bytes);
    let mut found = false;
    // Documents may stand one behind the other.
    while json.peek_byte() == Some(b'{') {
        let start = json.clone();
        if let Ok(whole) = json.raw() {
            let members = Members::of(&mut whole.json());
            found |= shape(&members).is_some();
            if let Err(fault) = into.take_object(&members) {
                into.fault(fault);
            }
            continue;
        }
        json = start;
        let read = json.object(|key, value| {
            let is_list = value.kind()? == Kind::List;
            match key {
                _ if is_list && is_resources(key) => {
                    found = true;
                    otlp_json::resources(value, into)
                }
                b"data" if is_list => relatives::jaeger(value, into),
                b"spans" if is_list => relatives::nested(None, value, into),
                _ => value.skip(),
            }
        });
        found |= !into.traces.is_empty();
        return read.err().filter(|_| found);
    }
    let behind = json.offset();
    found.then(|| Fault::syntax(behind, "expected another object"))
}

/// Reads what there is of a damaged document; `false` where it holds no spans.
pub(super) fn read_damaged(bytes: &[u8], window: &Window<'_>, runs: &mut Runs<'_>) -> bool {
    let mut collection = SpanCollection::default();
    let Some(fault) = take_damaged(bytes, &mut collection) else { return false };
    runs.reading.format = Some(Format::OpenTelemetry);
    collection.account(runs);
    runs.fail_at(fault);
    runs.settle(window);
    collection.give(runs);
    true
}

/// Whether an input that is no JSON is a request of OTLP as protobuf; if so, reads it.
pub(super) fn read_protobuf(bytes: &[u8], runs: &mut Runs<'_>) -> bool {
    let mut collection = SpanCollection::default();
    match collection.add_protobuf(bytes) {
        None => return false,
        Some(Ok(())) => {
            runs.reading.format = Some(Format::OpenTelemetry);
            collection.account(runs);
            collection.give(runs);
        }
        Some(Err(error)) => {
            runs.reading.format = Some(Format::OpenTelemetry);
            runs.fail(error);
        }
    }
    true
}

impl SpanCollection<'_> {
    /// Takes a request of OTLP as protobuf. `None`: the bytes are none.
    #[cfg_attr(not(feature = "otlp"), expect(clippy::unused_self, reason = "the feature takes it"))]
    fn add_protobuf(&mut self, bytes: &[u8]) -> Option<crate::error::Result<()>> {
        if !protobuf::looks_like_request(bytes) {
            return None;
        }
        #[cfg(feature = "otlp")]
        return Some(otlp_proto::take(bytes, self));
        #[cfg(not(feature = "otlp"))]
        Some(Err(Error::new(
            ErrorKind::Format,
            "the input is OTLP as protobuf, which this build cannot read: enable the feature `otlp`",
        )))
    }
}

/// Several inputs of spans and log records, read as one source: the spans and records of a trace meet wherever they
/// lie.
///
/// ```
/// use tracelint::{ReadOptions, SpanJoin, TraceCollector};
///
/// let part = |id: &str, kind: &str, start: u64| format!(
///     r#"{{"resourceSpans": [{{"scopeSpans": [{{"spans": [{{"traceId": "0af7651916cd43dd8448eb211c80319c",
///     "spanId": "{id}", "name": "{kind} look", "startTimeUnixNano": "{start}", "endTimeUnixNano": "{}"}}]}}]}}]}}"#,
///     start + 5);
/// let (first, second) = (part("b7ad6b7169203331", "execute_tool", 10), part("b7ad6b7169203332", "execute_tool", 20));
/// let mut join = SpanJoin::new(ReadOptions::default());
/// assert!(join.add(second.as_bytes()).is_some());
/// assert!(join.add(first.as_bytes()).is_some());
/// assert!(join.add(b"[1, 2]").is_none());
/// let mut collector = TraceCollector::default();
/// let reading = join.finish(&mut collector);
/// assert_eq!((reading.runs, collector.traces[0].steps().len()), (1, 2));
/// ```
#[derive(Debug)]
pub struct SpanJoin<'a> {
    collection: SpanCollection<'a>,
    options: ReadOptions,
}

impl<'a> SpanJoin<'a> {
    /// A join without inputs.
    #[must_use]
    pub fn new(options: ReadOptions) -> Self {
        Self { collection: SpanCollection::default(), options }
    }

    /// Adds an input. `None`: it holds no spans and no log records, and nothing of it was taken; read it by itself.
    /// What is given back tells what was passed over and what was wrong; its runs are counted at the end.
    pub fn add(&mut self, bytes: &'a [u8]) -> Option<Reading> {
        let mut nowhere = crate::trace::TraceCollector::default();
        let mut runs = Runs::new(&self.options, &mut nowhere);
        if let Some(read) = self.collection.add_protobuf(bytes) {
            if let Err(error) = read {
                runs.fail(error);
            }
        } else {
            if simdutf8::basic::from_utf8(bytes).is_err() {
                return None;
            }
            let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
            let window = Window::over_slice(bytes);
            let parsed = Parsed::of(bytes, None);
            match recognise::claimed(&parsed, self.options.format) {
                Some(entry) if entry.format == Format::OpenTelemetry => {
                    runs.pass_over("lines that are no JSON", parsed.no_json);
                    runs.pass_over("lines that are no object", parsed.no_object);
                    if let Err(fault) = self.collection.take(&parsed.document) {
                        runs.fail_at(fault);
                    }
                }
                Some(_) => return None,
                None => runs.fail_at(take_damaged(bytes, &mut self.collection)?),
            }
            self.collection.account(&mut runs);
            runs.settle(&window);
        }
        self.collection.account(&mut runs);
        let mut reading = runs.into_reading();
        reading.format = Some(Format::OpenTelemetry);
        Some(reading)
    }

    /// Gives the runs of all inputs to a sink, in the order in which their traces began.
    pub fn finish(self, sink: &mut dyn StepSink) -> Reading {
        let mut runs = Runs::new(&self.options, sink);
        runs.reading.format = Some(Format::OpenTelemetry);
        self.collection.give(&mut runs);
        runs.into_reading()
    }
}
