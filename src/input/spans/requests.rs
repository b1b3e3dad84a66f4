//! What models were asked and what they gave back: one request each, however many spans and records show it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use super::attributes::Value;
use super::classify::Kind;
use super::logs::{self, TellsOf, Told};
use super::message::{Block, ModelCall, Role, blocks, blocks_of_flattened, unflatten};
use super::model::{LogRecord, Span};
use super::python;
use super::tree::{At, Owner, Tree};
use crate::trace::Usage;

/// A request to a model, with what came back.
#[derive(Debug, Clone, Default)]
pub(super) struct Request {
    pub(super) start: u64,
    pub(super) end: Option<u64>,
    /// The spans that show it, the telling one first. None where records alone tell of it.
    pub(super) spans: Vec<At>,
    /// The span that it lies below, or that its records belong to.
    parent: Option<At>,
    /// Whether its output was recorded, be it without content.
    told: bool,
    pub(super) calls: Vec<ModelCall>,
    pub(super) texts: Vec<String>,
    /// Where records alone tell of it: what was put in.
    pub(super) input: Vec<Block>,
    pub(super) usage: Usage,
    pub(super) model: Option<String>,
    response: Option<String>,
}

/// The records of the spans of a trace; `None` is for those of spans that are not there.
pub(super) type Records = BTreeMap<Option<At>, Vec<Told>>;

/// What log records and events of spans tell, by span.
pub(super) fn records(tree: &Tree<'_, '_>, logs: &[LogRecord<'_>]) -> Records {
    let mut records = Records::new();
    for log in logs.iter().filter(|log| !tree.is_awaited(&log.span_id)) {
        let told = logs::of_record(&log.record, log.time);
        if !told.is_empty() {
            records.entry(tree.position(&log.span_id)).or_default().extend(told);
        }
    }
    for (at, span) in tree.spans.iter().enumerate() {
        if tree.kind(at) != Kind::Model || records.contains_key(&Some(at)) {
            continue;
        }
        let told = logs::of_span(span);
        if !told.is_empty() {
            records.insert(Some(at), told);
        }
    }
    for told in records.values_mut() {
        // Answers without ids belong to the calls before them, which are records of their own.
        let lengths: Vec<usize> = told.iter().map(|told| told.blocks.len()).collect();
        let mut all: Vec<Block> = told.iter_mut().flat_map(|told| told.blocks.drain(..)).collect();
        logs::pair_by_order(&mut all);
        let mut all = all.into_iter();
        for (told, length) in told.iter_mut().zip(lengths) {
            told.blocks.extend(all.by_ref().take(length));
        }
    }
    records
}

/// The requests of every agent, in order.
pub(super) fn requests(tree: &Tree<'_, '_>, records: &Records) -> BTreeMap<Owner, Vec<Request>> {
    let mut of_owner: BTreeMap<Owner, Vec<At>> = BTreeMap::new();
    for at in tree.of_kind(Kind::Model) {
        of_owner.entry(tree.owner(at)).or_default().push(at);
    }
    let mut requests: BTreeMap<Owner, Vec<Request>> = BTreeMap::new();
    for (owner, models) in of_owner {
        requests.insert(owner, of_spans(tree, records, &models));
    }
    for (at, told) in records {
        if at.is_some_and(|at| matches!(tree.kind(at), Kind::Model | Kind::Tool)) {
            continue;
        }
        let owner = match at {
            None => Owner::Trace,
            Some(at) if tree.kind(*at) == Kind::Agent => Owner::Agent(tree.outermost_agent(*at)),
            Some(at) => tree.owner(*at),
        };
        requests.entry(owner).or_default().extend(of_records(*at, told));
    }
    let with_models: BTreeSet<At> = tree
        .of_kind(Kind::Model)
        .flat_map(|at| tree.ancestors(at))
        .filter(|at| tree.kind(*at) == Kind::Agent)
        .collect();
    for at in tree.of_kind(Kind::Agent).filter(|at| !with_models.contains(at)) {
        let owner = Owner::Agent(tree.outermost_agent(at));
        if let Some(span) = tree.span(at).filter(|_| !requests.contains_key(&owner)) {
            let made = of_agent(at, span);
            if !made.is_empty() {
                requests.insert(owner, made);
            }
        }
    }
    let mut tools: BTreeMap<Owner, Vec<u64>> = BTreeMap::new();
    for at in tree.tools() {
        tools.entry(tree.owner(at)).or_default().extend(tree.span(at).map(|span| span.start));
    }
    for (owner, requests) in &mut requests {
        requests.sort_by_key(|request| request.start);
        join_same_response(requests);
        join_untold(tools.get(owner).map(Vec::as_slice).unwrap_or_default(), requests);
    }
    requests
}

/// The requests that model spans show. Those that lie in one another are one.
fn of_spans(tree: &Tree<'_, '_>, records: &Records, models: &[At]) -> Vec<Request> {
    let all: BTreeSet<At> = models.iter().copied().collect();
    let mut below: BTreeMap<At, Vec<At>> = BTreeMap::new();
    let mut parents: BTreeMap<At, At> = BTreeMap::new();
    for at in models {
        if let Some(outer) = tree.ancestors(*at).find(|outer| all.contains(outer)) {
            below.entry(outer).or_default().push(*at);
            parents.insert(*at, outer);
        }
    }
    let read: BTreeMap<At, Request> =
        models.iter().filter_map(|at| Some((*at, of_span(tree, records, *at, tree.span(*at)?)))).collect();
    // Everything below a span, with it.
    let whole = |root: At| {
        let mut found = vec![root];
        let mut next = 0;
        while let Some(at) = found.get(next) {
            found.extend(below.get(at).into_iter().flatten());
            next += 1;
        }
        found
    };
    let join = |members: Vec<At>| {
        let members = members.into_iter().filter_map(|at| read.get(&at).cloned());
        members.reduce(|mut first, second| {
            first.take_in(second);
            first
        })
    };
    let mut requests = Vec::new();
    for at in models.iter().filter(|at| !parents.contains_key(at)) {
        let branches: Vec<Vec<At>> = below.get(at).into_iter().flatten().map(|at| whole(*at)).collect();
        let telling =
            |branch: &&Vec<At>| branch.iter().any(|at| read.get(at).is_some_and(|request| request.told));
        if branches.iter().filter(telling).count() > 1 {
            // A span around several requests is none.
            requests.extend(branches.into_iter().filter_map(join));
        } else {
            requests.extend(join(whole(*at)));
        }
    }
    requests
}

impl Request {
    /// Another span shows the same request.
    fn take_in(&mut self, other: Request) {
        let better = !self.has_content() && (other.has_content() || !self.told && other.told);
        if better {
            self.calls = other.calls;
            self.texts = other.texts;
            self.spans.splice(0..0, other.spans);
        } else {
            self.spans.extend(other.spans);
        }
        self.told |= other.told;
        self.start = self.start.min(other.start);
        self.end = self.end.max(other.end);
        if self.input.is_empty() {
            self.input = other.input;
        }
        let usage = &mut self.usage;
        usage.input_tokens = usage.input_tokens.or(other.usage.input_tokens);
        usage.output_tokens = usage.output_tokens.or(other.usage.output_tokens);
        usage.cached_tokens = usage.cached_tokens.or(other.usage.cached_tokens);
        self.model = self.model.take().or(other.model);
        self.response = self.response.take().or(other.response);
    }

    fn has_content(&self) -> bool {
        !self.calls.is_empty() || !self.texts.is_empty()
    }

    /// Takes the output apart into what was said and what was called.
    fn set_output(&mut self, output: Vec<Block>) {
        for block in output {
            match block {
                Block::Text(Role::Agent | Role::Unknown, text) => {
                    // Instrumentation may tell the same text in two ways.
                    if self.texts.last() != Some(&text) {
                        self.texts.push(text);
                    }
                }
                Block::Call(call) => {
                    let twin = |other: &ModelCall| call.id.is_some() && *other == call;
                    if !self.calls.iter().any(twin) {
                        self.calls.push(call);
                    }
                }
                Block::Text(..) | Block::Reply(_) | Block::Turn => {}
            }
        }
    }
}

fn of_span(tree: &Tree<'_, '_>, records: &Records, at: At, span: &Span<'_>) -> Request {
    let attributes = &span.attributes;
    let name = |keys: &[&str]| attributes.first_name(keys).map(std::borrow::Cow::into_owned);
    let mut request = Request {
        start: span.start,
        end: span.end,
        spans: vec![at],
        parent: tree.parent(at),
        usage: Usage {
            duration_ns: None,
            input_tokens: attributes.first_count(&[
                "gen_ai.usage.input_tokens",
                "gen_ai.usage.prompt_tokens",
                "llm.token_count.prompt",
            ]),
            output_tokens: attributes.first_count(&[
                "gen_ai.usage.output_tokens",
                "gen_ai.usage.completion_tokens",
                "llm.token_count.completion",
            ]),
            cached_tokens: attributes.first_count(&[
                "gen_ai.usage.cache_read.input_tokens",
                "gen_ai.usage.cache_read_input_tokens",
                "llm.token_count.prompt_details.cache_read",
            ]),
        },
        model: name(&["gen_ai.response.model", "gen_ai.request.model", "llm.model_name"]),
        response: name(&["gen_ai.response.id"]),
        ..Request::default()
    };
    let own = records.get(&Some(at)).map(Vec::as_slice).unwrap_or_default();
    let sources: [&dyn Fn() -> Option<Vec<Block>>; 6] = [
        &|| Some(blocks(&attributes.get("gen_ai.output.messages")?.to_json(), Role::Agent)),
        &|| flattened(span, "llm.output_messages."),
        &|| {
            let mut output = own.iter().filter(|told| told.kind == TellsOf::Output).peekable();
            output.peek()?;
            Some(output.flat_map(|told| told.blocks.clone()).collect())
        },
        &|| flattened(span, "gen_ai.completion."),
        &|| Some(blocks(&attributes.get("gcp.vertex.agent.llm_response")?.to_json(), Role::Agent)),
        // What holds other voices as well is no output, but a history.
        &|| {
            let output = blocks(&attributes.get("output.value")?.to_json(), Role::Agent);
            let other =
                |block: &Block| matches!(block, Block::Reply(_) | Block::Text(Role::User | Role::System, _));
            (!output.iter().any(other)).then_some(output)
        },
    ];
    let mut said = None;
    for source in sources {
        let Some(output) = source() else { continue };
        request.told = true;
        if output.iter().any(|block| matches!(block, Block::Call(_))) {
            said = Some(output);
            break;
        }
        if said.is_none() && output.iter().any(|block| matches!(block, Block::Text(..))) {
            said = Some(output);
        }
    }
    request.set_output(said.unwrap_or_default());
    if !request.has_content() {
        request.calls = refused_around(tree, at);
    }
    request
}

/// Attributes of one prefix, as the messages that they are.
pub(super) fn flattened(span: &Span<'_>, prefix: &str) -> Option<Vec<Block>> {
    let entries = span
        .attributes
        .iter()
        .filter_map(|(key, value)| Some((key.strip_prefix(prefix)?, flat_value(value))));
    let value = unflatten(entries)?;
    let role =
        if prefix.contains("output") || prefix.contains("completion") { Role::Agent } else { Role::Unknown };
    Some(blocks_of_flattened(&value, role))
}

/// Texts are texts here, whatever they hold; only what was no text is structured.
fn flat_value(value: &Value<'_>) -> Json {
    match value {
        Value::Text(words) => Json::String(words.text().to_str().into_owned()),
        other => other.to_json(),
    }
}

/// Calls that the framework took for none, as the node around a model span tells them.
fn refused_around(tree: &Tree<'_, '_>, at: At) -> Vec<ModelCall> {
    let around = tree.ancestors(at).take_while(|outer| tree.kind(*outer) == Kind::Chain).take(2);
    for span in around.filter_map(|outer| tree.span(outer)) {
        let output =
            span.attributes.first_of(&["output.value", "gen_ai.task.output", "traceloop.entity.output"]);
        let Some(text) = output.and_then(Value::as_str).filter(|text| text.contains("invalid_tool_calls"))
        else {
            continue;
        };
        let Some(value) = super::attributes::json_of_text(&text) else { continue };
        let calls = blocks(&value, Role::Agent).into_iter().filter_map(|block| match block {
            Block::Call(call) if call.refused.is_some() => Some(call),
            _ => None,
        });
        return calls.collect();
    }
    Vec::new()
}

/// Requests that records alone tell of: one for each output, however many choices it has.
fn of_records(at: Option<At>, told: &[Told]) -> Vec<Request> {
    let mut requests: Vec<Request> = Vec::new();
    let mut input: Vec<Block> = Vec::new();
    let mut in_output = false;
    for event in told {
        match event.kind {
            TellsOf::Input => {
                in_output = false;
                input.extend(event.blocks.iter().cloned());
            }
            TellsOf::Output => {
                if !in_output {
                    requests.push(Request {
                        start: event.time,
                        end: Some(event.time),
                        parent: at,
                        told: true,
                        input: std::mem::take(&mut input),
                        ..Request::default()
                    });
                }
                in_output = true;
                if let Some(request) = requests.last_mut() {
                    request.set_output(event.blocks.clone());
                }
            }
        }
    }
    if !input.is_empty() && !requests.is_empty() {
        // What came last is no output, but may answer.
        requests.push(Request {
            start: told.last().map_or(0, |told| told.time),
            input,
            parent: at,
            ..Request::default()
        });
    }
    requests
}

/// The requests of an agent without model spans, as its output repeats their messages.
fn of_agent(at: At, span: &Span<'_>) -> Vec<Request> {
    let messages = match span.attributes.get("output.value").map(Value::to_json) {
        Some(Json::Object(mut output)) => output.remove("messages"),
        Some(Json::String(text)) if text.contains("tool_calls") => python::list_behind(&text, "messages"),
        _ => None,
    };
    let Some(messages) = messages else { return Vec::new() };
    let mut parts = blocks(&messages, Role::Unknown);
    if !parts.iter().any(|block| matches!(block, Block::Call(_))) {
        return Vec::new();
    }
    logs::pair_by_order(&mut parts);
    let mut requests: Vec<Request> = Vec::new();
    let mut input = Vec::new();
    let mut open = false;
    for block in parts {
        match block {
            Block::Turn => open = false,
            Block::Call(_) | Block::Text(Role::Agent, _) => {
                if !open {
                    requests.push(Request {
                        start: span.start,
                        end: Some(span.start),
                        parent: Some(at),
                        told: true,
                        input: std::mem::take(&mut input),
                        ..Request::default()
                    });
                    open = true;
                }
                if let Some(request) = requests.last_mut() {
                    request.set_output(vec![block]);
                }
            }
            other => {
                open = false;
                input.push(other);
            }
        }
    }
    if !input.is_empty() {
        requests.push(Request { start: span.start, input, parent: Some(at), ..Request::default() });
    }
    requests
}

/// Requests with the same id of their response are one.
fn join_same_response(requests: &mut Vec<Request>) {
    let mut first: BTreeMap<String, usize> = BTreeMap::new();
    let mut kept: Vec<Request> = Vec::with_capacity(requests.len());
    for request in requests.drain(..) {
        match request.response.clone() {
            Some(response) => {
                if let Some(twin) = first.get(&response).and_then(|at| kept.get_mut(*at)) {
                    twin.take_in(request);
                } else {
                    first.insert(response, kept.len());
                    kept.push(request);
                }
            }
            None => kept.push(request),
        }
    }
    *requests = kept;
}

/// A span without output beside one that has it shows the same request: they overlap, or no tool ran between them.
/// `tools`: when tools began, in order.
fn join_untold(tools: &[u64], requests: &mut Vec<Request>) {
    if requests.iter().all(|request| request.told) || !requests.iter().any(|request| request.told) {
        return;
    }
    let ran_between = |from: u64, to: u64| {
        let at = tools.partition_point(|start| *start < from);
        tools.get(at).is_some_and(|start| *start < to)
    };
    let mut kept: Vec<Request> = Vec::with_capacity(requests.len());
    for request in requests.drain(..) {
        let same = |other: &Request| {
            !request.spans.is_empty()
                && !other.spans.is_empty()
                && request.told != other.told
                && request.parent == other.parent
                && (other.end.is_some_and(|end| end >= request.start)
                    || !ran_between(other.start, request.start))
        };
        match kept.last_mut() {
            Some(last) if same(last) => last.take_in(request),
            _ => kept.push(request),
        }
    }
    *requests = kept;
}
