//! Answers that no tool span holds, found by call id in later inputs and outputs.

use std::collections::btree_map::Entry;

use super::prelude::*;

/// The index of a run, and of an action in it.
pub(crate) type ActionNumber = (usize, usize);

/// A call whose answer is not in its spans.
pub(crate) struct Wanted<'s> {
    pub(crate) id: Cow<'s, str>,
    /// When it was made. Answers are only looked for from this time on.
    pub(crate) time: u64,
    pub(crate) action: ActionNumber,
}

/// An input or output that may contain answers.
enum Source<'r, 's> {
    /// The input of a model.
    Input(At),
    /// The output of a node or an agent.
    Output(&'s Value<'s>),
    /// The input of a request that no span shows.
    Records(&'r [Block<'s>]),
}

/// Returns the inputs and outputs that may contain answers, by time.
fn sources<'r, 's>(
    tree: &Tree<'s>,
    requests: impl Iterator<Item = &'r Request<'s>>,
) -> Vec<(u64, Source<'r, 's>)> {
    let mut sources = Vec::new();
    for (at, span) in tree.spans.iter().enumerate() {
        match tree.kind(at) {
            Kind::Model => sources.push((span.start, Source::Input(at))),
            Kind::Chain | Kind::Agent => {
                let output =
                    output(span).map(|value| (span.end.unwrap_or(span.start), Source::Output(value)));
                sources.extend(output);
            }
            Kind::Tool => {}
        }
    }
    let requests = requests.filter(|request| !request.input.is_empty());
    sources.extend(requests.map(|request| (request.start, Source::Records(&request.input))));
    sources.sort_by_key(|(time, _)| *time);
    sources
}

/// Finds answers. Each source is read at most once, and only if calls are waiting for answers at its time.
pub(crate) fn find<'r, 's: 'r>(
    tree: &Tree<'s>,
    records: &Records<'s>,
    requests: impl Iterator<Item = &'r Request<'s>>,
    mut wanted: Vec<Wanted<'s>>,
) -> BTreeMap<ActionNumber, Reply<'s>> {
    let mut found = BTreeMap::new();
    if wanted.is_empty() {
        return found;
    }
    wanted.sort_by_key(|call| call.time);
    let mut next = wanted.into_iter().peekable();
    // The waiting calls by id and run.
    let mut waiting: BTreeMap<Cow<'s, str>, BTreeMap<usize, Vec<usize>>> = BTreeMap::new();
    for (time, source) in sources(tree, requests) {
        while let Some(Wanted { id, action: (run, action), .. }) = next.next_if(|call| call.time <= time) {
            waiting.entry(id).or_default().entry(run).or_default().push(action);
        }
        if waiting.is_empty() {
            continue;
        }
        for (id, reply) in source.replies(tree, records, |id| waiting.contains_key(id)) {
            let Entry::Occupied(mut calls) = waiting.entry(id) else { continue };
            calls.get_mut().retain(|run, actions| {
                // If several waiting calls of a run share an id, the answer belongs to the last one.
                found.extend(actions.pop().map(|action| ((*run, action), reply.clone())));
                !actions.is_empty()
            });
            if calls.get().is_empty() {
                calls.remove();
            }
        }
    }
    found
}

fn output<'s, 'a>(span: &'s Span<'a>) -> Option<&'s Value<'a>> {
    let names =
        [Attr::OutputValue, Attr::ToolOutput, Attr::TaskOutput, Attr::EntityOutput, Attr::GenAiOutput];
    span.attributes.first_of(&names)
}

impl<'s> Source<'_, 's> {
    /// Returns the replies to calls with wanted ids, the last one for each id.
    fn replies(
        &self,
        tree: &Tree<'s>,
        records: &Records<'s>,
        is_wanted: impl Fn(&str) -> bool,
    ) -> BTreeMap<Cow<'s, str>, Reply<'s>> {
        let blocks = match self {
            Self::Records(blocks) => blocks.to_vec(),
            Self::Input(at) => match tree.span(*at) {
                Some(span) => inputs(span, *at, records).flatten().collect(),
                None => Vec::new(),
            },
            Self::Output(value) => structured(value),
        };
        let mut replies: BTreeMap<_, Reply<'s>> = BTreeMap::new();
        for block in blocks {
            let Block::Reply(reply) = block else { continue };
            let Some(id) = reply.id.clone().filter(|id| is_wanted(id)) else { continue };
            match replies.get_mut(&id) {
                // The same answer in another dialect, which may add only the error flag.
                Some(twin) if twin.content == reply.content || !reply.content.is_present() => {
                    twin.is_error |= reply.is_error;
                }
                _ => {
                    replies.insert(id, reply);
                }
            }
        }
        replies
    }
}

/// Returns the parts of a value, or none if it is plain text.
fn structured<'s>(value: &'s Value<'_>) -> Vec<Block<'s>> {
    let value = value.to_data();
    let is_structured = match &value {
        Data::List(_) | Data::Object(_) => true,
        Data::Text(text) => text.contains("ToolCallResult("),
        _ => false,
    };
    let mut parts = if is_structured { blocks(value, Role::Unknown) } else { Vec::new() };
    pair_by_order(&mut parts);
    parts
}

/// Returns the prompt that LlamaIndex records among the arguments of a completion.
fn prompt_of_completion<'s>(span: &Span<'_>, value: &'s Value<'_>) -> Vec<Block<'s>> {
    match value.to_data() {
        Data::Object(mut input) if kinds::kind(span) == Kind::Model => match input.remove("prompt") {
            Some(Data::Text(text)) => prompt(text),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// Reads the input of a model or an agent in each dialect that its span has, lazily.
pub(crate) fn inputs<'s>(
    span: &'s Span<'_>,
    at: At,
    records: &Records<'s>,
) -> impl Iterator<Item = Vec<Block<'s>>> {
    let attribute = |name| span.attributes.get(name).map(structured);
    let said = |name| {
        let value = span.attributes.get(name)?;
        Some(match value.to_data() {
            Data::Text(text) if !["ToolCall(", "ToolCallResult("].iter().any(|call| text.contains(call)) => {
                prompt(text)
            }
            _ => {
                let parts = structured(value);
                if parts.is_empty() { prompt_of_completion(span, value) } else { parts }
            }
        })
    };
    let inputs = (0..7).filter_map(move |dialect| match dialect {
        0 => said(Attr::GenAiInput),
        1 => spread(&span.attributes, INPUT_MESSAGES),
        2 => events::said(records, at, span, Direction::Input),
        3 => spread(&span.attributes, PROMPT),
        4 => attribute(Attr::AdkRequest),
        5 => attribute(Attr::AiPrompt),
        _ => said(Attr::InputValue),
    });
    inputs.filter(|parts: &Vec<Block<'s>>| !parts.is_empty()).map(|mut parts| {
        pair_by_order(&mut parts);
        parts
    })
}
