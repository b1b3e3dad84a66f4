//! LangSmith runs: as its SDKs send them (`post` and then `patch`), and exported runs and trees of runs.

use super::langchain;
use super::otel::observed::{self, Observed, sole, sole_text};
use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Each(Any(&[RUN, Holds("post", &RUN), Holds("runs", &RUN)]))],
    reader: Reader::Fallible(read),
};

/// A run, but not a patch, which has no inputs.
const RUN: Mark = All(&[
    Is(Kind::String, &["id", "run_type"]),
    Has(&["inputs"]),
    HasOne(&["trace_id", "dotted_order", "start_time", "child_runs"]),
]);

/// Keys of lists of runs in the objects that hold them.
const LISTS: [&str; 3] = ["post", "patch", "runs"];

fn read(document: &Document<'_>, runs: &mut Runs<'_>) -> Read<()> {
    let mut records = Records::default();
    document.each().for_each(|object| records.take(&object));
    runs.pass_over("items that are not runs", records.others);
    let records: Vec<_> = records.by_id.into_values().collect();
    let traces = traces(&records);
    let parents: TextSet<_> = records.iter().filter_map(Record::parent).collect();
    let mut counts: TextMap<_, usize> = TextMap::default();
    for trace in &traces {
        *counts.entry(trace).or_default() += 1;
    }
    let starts = starts(&records);
    let mut spans = Vec::new();
    for ((record, trace), start) in records.iter().zip(&traces).zip(starts) {
        let is_alone = counts.get(trace) == Some(&1) && !parents.contains(&record.id);
        match is_alone.then(|| record.conversation(trace)).flatten() {
            Some(run) => run.give(runs),
            None => spans.push(record.span(trace.clone(), start)?),
        }
    }
    observed::give(spans.into_iter().map(Ok), runs)
}

/// Returns the trace id of each record: its own, or that of a run above it, or else the id of its root.
fn traces<'a>(records: &[Record<'a>]) -> Vec<Cow<'a, str>> {
    let by_id: TextMap<_, _> = records.iter().map(|record| (record.id.clone(), record)).collect();
    let mut known: TextMap<Cow<'a, str>, Cow<'a, str>> = TextMap::default();
    for record in records {
        let (mut last, mut path) = (record, Vec::new());
        let trace = loop {
            path.push(last.id.clone());
            if let Some(trace) = known.get(&last.id).cloned().or_else(|| last.trace()) {
                break trace;
            }
            let parent = last.parent();
            match parent.as_ref().and_then(|parent| by_id.get(parent)) {
                Some(above) if path.len() <= records.len() => last = above,
                _ => break parent.unwrap_or_else(|| last.id.clone()),
            }
        };
        known.extend(path.into_iter().map(|id| (id, trace.clone())));
    }
    records.iter().filter_map(|record| known.get(&record.id).cloned()).collect()
}

/// Returns the start of each record. A run that another one lists without a time starts a nanosecond after the run that
/// comes before it: the one that lists it, or the last one inside a run that is listed before it.
fn starts(records: &[Record<'_>]) -> Vec<Option<u64>> {
    let mut last: Option<u64> = None;
    let start = |record: &Record<'_>| {
        last = last.filter(|_| record.parent.is_some());
        let start = record.moment("start_time").or_else(|| Some(last?.saturating_add(1)));
        last = last.max(start);
        start
    };
    records.iter().map(start).collect()
}

#[derive(Default)]
struct Records<'a> {
    by_id: Ordered<Cow<'a, str>, Record<'a>>,
    others: u64,
}

impl<'a> Records<'a> {
    /// Adds a run, or the runs listed in an object.
    fn take(&mut self, members: &Members<'a>) {
        let mut held = LISTS.iter().filter_map(|key| members.get(key)).filter_map(Raw::items).peekable();
        if held.peek().is_some() && !members.is("run_type", Kind::String) {
            held.flatten().for_each(|run| self.add(&Members::from(run), None));
        } else {
            self.add(members, None);
        }
    }

    fn add(&mut self, members: &Members<'a>, parent: Option<&Cow<'a, str>>) {
        let ordered =
            || ids_in(&members.name("dotted_order")?).next_back().map(|id| Cow::Owned(id.to_owned()));
        let Some(id) = members.name("id").or_else(ordered) else {
            self.others += 1;
            return;
        };
        let record = self.by_id.get(id.clone(), |id| Record { id: id.clone(), ..Record::default() });
        record.parent = record.parent.take().or_else(|| parent.cloned());
        record.sent.push(members.clone());
        for child in members.objects("child_runs") {
            self.add(&child, Some(&id));
        }
    }
}

/// A run, which may be sent in several parts.
#[derive(Default)]
struct Record<'a> {
    id: Cow<'a, str>,
    /// The id of the run that lists it under `child_runs`.
    parent: Option<Cow<'a, str>>,
    /// Everything sent about it, in order.
    sent: Vec<Members<'a>>,
}

impl<'a> Record<'a> {
    /// Returns the last value of a key that is neither null nor `{}`.
    fn get(&self, key: &str) -> Option<Raw<'a>> {
        let is_something = |value: &Raw<'_>| value.kind() != Kind::Null && value.bytes() != b"{}";
        self.sent.iter().rev().filter_map(|members| members.get(key)).find(is_something)
    }

    fn name(&self, key: &str) -> Option<Cow<'a, str>> {
        self.get(key).and_then(common::name)
    }

    fn moment(&self, key: &str) -> Option<u64> {
        let at = self.get(key)?;
        time::of_string(at).or_else(|| time::of_milliseconds(at))
    }

    /// Returns the id of its trace, if it is recorded.
    fn trace(&self) -> Option<Cow<'a, str>> {
        let ordered = || ids_in(&self.name("dotted_order")?).next().map(|id| Cow::Owned(id.to_owned()));
        self.name("trace_id").or_else(ordered)
    }

    fn parent(&self) -> Option<Cow<'a, str>> {
        let ordered = || {
            let order = self.name("dotted_order")?;
            ids_in(&order).rev().nth(1).map(|id| Cow::Owned(id.to_owned()))
        };
        self.name("parent_run_id").or_else(|| self.parent.clone()).or_else(ordered)
    }

    fn listed_model(&self) -> Option<Cow<'a, str>> {
        let extra = Members::from(self.get("extra")?);
        let named = extra.object("metadata").name("ls_model_name");
        let asked = extra.object("invocation_params");
        named.or_else(|| asked.name("model")).or_else(|| asked.name("model_name"))
    }

    /// Returns the conversation in the outputs of a root, for use if its children were not exported. The user's
    /// messages may be only in its inputs.
    fn conversation(&self, trace: &str) -> Option<Recording<'a>> {
        let is_root = self.name("run_type")? == "chain" && self.name("parent_run_id").is_none();
        let messages = |key| self.get(key)?.member("messages").and_then(Raw::items);
        let outputs = messages("outputs").filter(|_| is_root)?;
        let is_whole = outputs.iter().any(|message| langchain::is_of_user(*message));
        let inputs = messages("inputs").filter(|_| !is_whole).unwrap_or_default();
        let mut run = langchain::conversation(inputs.into_iter().chain(outputs));
        run.model(self.listed_model());
        run.metadata.id = Some(trace.to_owned());
        run.metadata.agent = self.name("name").as_deref().map(Into::into);
        (!run.steps.entries().is_empty()).then_some(run)
    }

    /// Returns true if a run without a status has outputs and a null `error`.
    fn succeeded(&self) -> bool {
        let is_null = |members: &Members<'_>| members.is("error", Kind::Null);
        self.get("outputs").is_some() && self.sent.iter().any(is_null)
    }

    fn span(&self, trace: Cow<'a, str>, start: Option<u64>) -> Read<Observed<'a>> {
        let mut span = Observed::new(trace, self.id.clone(), self.parent());
        span.name(self.name("name").unwrap_or_default());
        span.set_times(start, self.moment("end_time"));
        let kind = self.name("run_type").unwrap_or_default();
        match (self.name("error"), self.name("status").as_deref()) {
            (Some(error), _) => span.ended(true, Some(error)),
            (None, Some("error")) => span.ended(true, None),
            (None, Some("success")) => span.ended(false, None),
            (None, None) if self.succeeded() => span.ended(false, None),
            _ => {}
        }
        span.kind(Some(kind.clone()));
        let extra = self.get("extra");
        let metadata = extra.and_then(|extra| extra.member("metadata"));
        span.value("metadata", metadata)?;
        let (inputs, outputs) = (self.get("inputs"), self.get("outputs"));
        let is_tool = kind == "tool";
        let said = |value, name| if is_tool { sole(value, name).unwrap_or(value) } else { sole_text(value) };
        span.value("input.value", inputs.map(|inputs| said(inputs, "input")))?;
        span.value("output.value", outputs.map(|outputs| said(outputs, "output")))?;
        if kind == "llm" {
            let model = outputs.and_then(|outputs| outputs.member("model")).and_then(common::name);
            let usage = outputs.and_then(|outputs| {
                let of = |key| outputs.member(key).and_then(tokens::usage);
                of("usage_metadata")
                    .or_else(|| of("usage"))
                    .or_else(|| outputs.member("llm_output")?.member("token_usage").and_then(tokens::usage))
            });
            let usage = usage.unwrap_or_default();
            span.used(model.or_else(|| self.listed_model()), usage.input_tokens, usage.output_tokens);
        }
        Ok(span)
    }
}

/// Returns the ids in a `dotted_order` such as `20240101T000000000000Z<id>.20240101T000000000001Z<id>`. The
/// first is that of the trace, and the last that of the run.
fn ids_in(order: &str) -> impl DoubleEndedIterator<Item = &str> {
    order.split('.').filter_map(|part| part.split_once('Z')).map(|(_, id)| id)
}
