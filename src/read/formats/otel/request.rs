//! A request to a model, from a model's span, from log records or from the output of an agent.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

use super::attributes::{Attributes, Value};
use super::classify::Kind;
use super::data::Data;
use super::dialects::blocks;
use super::flattened::flattened;
use super::logs::{self, ChatEvent, Direction, Records};
use super::message::{Block, ModelCall, Role};
use super::model::Span;
use super::python;
use super::tree::{At, Tree};
use crate::trace::Usage;

/// A request to a model, with its response.
#[derive(Debug, Clone, Default)]
pub(super) struct Request<'s> {
    pub(super) start: u64,
    pub(super) end: Option<u64>,
    /// The spans that show it; the output of the first one counts. Empty if only records show it.
    pub(super) spans: Vec<At>,
    /// The span that it lies below, or that its records belong to.
    pub(super) parent: Option<At>,
    /// True if its output was recorded, even without content.
    pub(super) has_output: bool,
    /// Shared by requests below one span that lists rejected calls.
    pub(super) calls: Rc<Vec<ModelCall<'s>>>,
    pub(super) texts: Vec<Cow<'s, str>>,
    /// Its input, if only records show it.
    pub(super) input: Vec<Block<'s>>,
    pub(super) usage: Usage,
    pub(super) model: Option<&'s str>,
    /// The id of the response.
    pub(super) response: Option<&'s str>,
}

impl<'s> Request<'s> {
    /// True if another span shows the same request.
    pub(super) fn take_in(&mut self, other: Self) {
        let better = !self.has_content() && (other.has_content() || !self.has_output && other.has_output);
        if better {
            self.calls = other.calls;
            self.texts = other.texts;
            self.spans.splice(0..0, other.spans);
        } else {
            self.spans.extend(other.spans);
        }
        self.has_output |= other.has_output;
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

    /// Splits an output into texts and calls, and adds them.
    fn set_output(&mut self, output: Vec<Block<'s>>, twins: &mut Twins) {
        let calls = Rc::make_mut(&mut self.calls);
        for block in output {
            match block {
                Block::Text(Role::Agent | Role::Unknown, text) => {
                    // Instrumentation may give the same text in two forms.
                    if self.texts.last() != Some(&text) {
                        self.texts.push(text);
                    }
                }
                Block::Call(call) => {
                    if !twins.has(calls, &call) {
                        calls.push(call);
                    }
                }
                Block::Text(..) | Block::Reply(_) | Block::Turn => {}
            }
        }
    }
}

/// Finds equal calls of one output. A few are compared pairwise; many are found by hashes of everything that makes two
/// equal.
#[derive(Default)]
struct Twins {
    places: HashMap<u64, Vec<usize>>,
    /// Number of calls that are hashed.
    known: usize,
}

impl Twins {
    /// Up to this number, calls are compared pairwise.
    const FEW: usize = 16;

    /// Returns true if the same call, with an id, is among these. The list only grows between calls of this function.
    fn has(&mut self, calls: &[ModelCall<'_>], call: &ModelCall<'_>) -> bool {
        if call.id.is_none() {
            return false;
        }
        if calls.len() < Self::FEW {
            return calls.contains(call);
        }
        for (place, known) in calls.iter().enumerate().skip(self.known) {
            self.places.entry(hash_of(known)).or_default().push(place);
        }
        self.known = calls.len();
        let places = self.places.get(&hash_of(call));
        places.is_some_and(|places| places.iter().any(|place| calls.get(*place) == Some(call)))
    }
}

fn hash_of(call: &ModelCall<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&call.id, &call.name, &call.arguments, &call.refused).hash(&mut hasher);
    hasher.finish()
}

/// Calls that frameworks rejected, as far as they were read: by the index of a span that may list them.
#[derive(Default)]
pub(super) struct Refused<'s>(BTreeMap<At, Option<Rc<Vec<ModelCall<'s>>>>>);

/// Makes the request that a model's span shows.
pub(super) fn of_span<'s>(
    tree: &Tree<'s, '_>,
    refused: &mut Refused<'s>,
    records: &Records<'s>,
    at: At,
    span: &'s Span<'_>,
) -> Request<'s> {
    let attributes = &span.attributes;
    let mut request = Request {
        start: span.start,
        end: span.end,
        spans: vec![at],
        parent: tree.parent(at),
        usage: usage(attributes),
        model: attributes.first_name(&["gen_ai.response.model", "gen_ai.request.model", "llm.model_name"]),
        response: attributes.name("gen_ai.response.id"),
        ..Request::default()
    };
    if let Some(output) = output(span, at, records) {
        request.has_output = true;
        request.set_output(output, &mut Twins::default());
    }
    if !request.has_content() {
        request.calls = refused.around(tree, at);
    }
    request
}

fn usage(attributes: &Attributes<'_>) -> Usage {
    Usage {
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
    }
}

/// Returns the output of a model's span, from the first dialect with calls, else from the first with text. `None` if
/// none was recorded.
fn output<'s>(span: &'s Span<'_>, at: At, records: &Records<'s>) -> Option<Vec<Block<'s>>> {
    let attributes = &span.attributes;
    let sources: [&dyn Fn() -> Option<Vec<Block<'s>>>; 6] = [
        &|| Some(blocks(attributes.get("gen_ai.output.messages")?.to_data(), Role::Agent)),
        &|| flattened(span, "llm.output_messages."),
        &|| logs::said(records, at, span, Direction::Output),
        &|| flattened(span, "gen_ai.completion."),
        &|| Some(blocks(attributes.get("gcp.vertex.agent.llm_response")?.to_data(), Role::Agent)),
        // Messages of other roles make it a history, not an output.
        &|| {
            let output = blocks(attributes.get("output.value")?.to_data(), Role::Agent);
            let other = |block: &Block<'_>| {
                matches!(block, Block::Reply(_) | Block::Text(Role::User | Role::System, _))
            };
            (!output.iter().any(other)).then_some(output)
        },
    ];
    let mut said = None;
    let mut is_recorded = false;
    for source in sources {
        let Some(output) = source() else { continue };
        is_recorded = true;
        if output.iter().any(|block| matches!(block, Block::Call(_))) {
            return Some(output);
        }
        if said.is_none() && output.iter().any(|block| matches!(block, Block::Text(..))) {
            said = Some(output);
        }
    }
    is_recorded.then(|| said.unwrap_or_default())
}

impl<'s> Refused<'s> {
    /// Returns the calls that the framework rejected, from the node around a model span.
    fn around(&mut self, tree: &Tree<'s, '_>, at: At) -> Rc<Vec<ModelCall<'s>>> {
        let mut around = tree.ancestors(at).take_while(|outer| tree.kind(*outer) == Kind::Chain).take(2);
        let found = around.find_map(|outer| {
            self.0.entry(outer).or_insert_with(|| refused_in(tree.span(outer)?).map(Rc::new)).clone()
        });
        found.unwrap_or_default()
    }
}

/// Returns the rejected calls that a span lists, or `None` if it does not list them.
fn refused_in<'s>(span: &'s Span<'_>) -> Option<Vec<ModelCall<'s>>> {
    let output =
        span.attributes.first_of(&["output.value", "gen_ai.task.output", "traceloop.entity.output"])?;
    let text = output.as_str().filter(|text| text.contains("invalid_tool_calls"))?;
    let value = Data::of_text(text)?;
    let calls = blocks(value, Role::Agent).into_iter().filter_map(|block| match block {
        Block::Call(call) if call.refused.is_some() => Some(call),
        _ => None,
    });
    Some(calls.collect())
}

/// Makes requests that only records show: one for each output, with all its choices.
pub(super) fn of_records<'s>(at: Option<At>, events: &[ChatEvent<'s>]) -> Vec<Request<'s>> {
    let mut requests: Vec<Request<'s>> = Vec::new();
    let mut input: Vec<Block<'s>> = Vec::new();
    let mut in_output = false;
    let mut twins = Twins::default();
    for event in events {
        match event.direction {
            Direction::Input => {
                in_output = false;
                input.extend(event.blocks.iter().cloned());
            }
            Direction::Output => {
                if !in_output {
                    requests.push(Request {
                        start: event.time,
                        end: Some(event.time),
                        parent: at,
                        has_output: true,
                        input: std::mem::take(&mut input),
                        ..Request::default()
                    });
                    twins = Twins::default();
                }
                in_output = true;
                if let Some(request) = requests.last_mut() {
                    request.set_output(event.blocks.clone(), &mut twins);
                }
            }
        }
    }
    if !input.is_empty() && !requests.is_empty() {
        // The last records are not an output, but may be answers.
        requests.push(Request {
            start: events.last().map_or(0, |event| event.time),
            input,
            parent: at,
            ..Request::default()
        });
    }
    requests
}

/// Makes the requests of an agent without model spans, from the messages in its output.
pub(super) fn of_agent<'s>(at: At, span: &'s Span<'_>) -> Vec<Request<'s>> {
    let messages = match span.attributes.get("output.value").map(Value::to_data) {
        Some(Data::Object(mut output)) => output.remove("messages"),
        Some(Data::Text(text)) if text.contains("tool_calls") => python::list_behind(&text, "messages"),
        _ => None,
    };
    let Some(messages) = messages else { return Vec::new() };
    let mut parts = blocks(messages, Role::Unknown);
    if !parts.iter().any(|block| matches!(block, Block::Call(_))) {
        return Vec::new();
    }
    logs::pair_by_order(&mut parts);
    let mut requests: Vec<Request<'s>> = Vec::new();
    let mut input = Vec::new();
    let mut open = false;
    let mut twins = Twins::default();
    for block in parts {
        match block {
            Block::Turn => open = false,
            Block::Call(_) | Block::Text(Role::Agent, _) => {
                if !open {
                    requests.push(Request {
                        start: span.start,
                        end: Some(span.start),
                        parent: Some(at),
                        has_output: true,
                        input: std::mem::take(&mut input),
                        ..Request::default()
                    });
                    twins = Twins::default();
                    open = true;
                }
                if let Some(request) = requests.last_mut() {
                    request.set_output(vec![block], &mut twins);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Content;

    #[test]
    fn twins_are_equal_in_all_and_have_ids() {
        let call = |id: Option<&'static str>, arguments: &'static str| {
            Block::Call(ModelCall {
                id: id.map(Cow::Borrowed),
                name: "f".into(),
                arguments: Content::Present(arguments.into()),
                refused: None,
            })
        };
        let mut request = Request::default();
        let mut twins = Twins::default();
        request.set_output(vec![call(None, "1"), call(None, "1"), call(Some("a"), "1")], &mut twins);
        request
            .set_output(vec![call(Some("a"), "1"), call(Some("a"), "2"), call(Some("b"), "1")], &mut twins);
        let ids: Vec<_> = request.calls.iter().map(|call| call.id.as_deref()).collect();
        assert_eq!(ids, [None, None, Some("a"), Some("a"), Some("b")]);
    }

    #[test]
    fn calls_are_the_same_however_many_there_are() {
        let call = |number: usize| ModelCall {
            id: (!number.is_multiple_of(7)).then(|| (number / 2).to_string().into()),
            name: "f".into(),
            arguments: Content::Present((number % 3).to_string().into()),
            refused: number.is_multiple_of(5).then(|| "no".into()),
        };
        for count in [1, 2, Twins::FEW - 1, Twins::FEW, Twins::FEW + 1, 60, 200] {
            let mut expected: Vec<ModelCall<'_>> = Vec::new();
            for call in (0..count).chain(0..count).map(call) {
                if call.id.is_none() || !expected.contains(&call) {
                    expected.push(call);
                }
            }
            let mut request = Request::default();
            let mut twins = Twins::default();
            for _ in 0..2 {
                request.set_output((0..count).map(|number| Block::Call(call(number))).collect(), &mut twins);
            }
            assert_eq!(*request.calls, expected, "{count} calls");
        }
    }

    #[test]
    fn refused_calls_are_read_once_for_all_below() {
        let chain = Span { span_id: "n".into(), ..Span::default() }.with_attributes(&[
            ("openinference.span.kind", "CHAIN"),
            (
                "output.value",
                r#"{"invalid_tool_calls": [{"id": "c", "name": "f", "args": "{", "error": "no"}]}"#,
            ),
        ]);
        let model = |id: &'static str| {
            Span { span_id: id.into(), parent: Some("n".into()), ..Span::default() }
                .with_attributes(&[("openinference.span.kind", "LLM")])
        };
        let spans = [chain, model("a"), model("b")];
        let tree = Tree::new(&spans);
        let mut refused = Refused::default();
        let [first, second] = [1, 2].map(|at| refused.around(&tree, at));
        assert_eq!(first.len(), 1);
        assert!(Rc::ptr_eq(&first, &second));
        assert!(refused.around(&tree, 0).is_empty());
    }
}
