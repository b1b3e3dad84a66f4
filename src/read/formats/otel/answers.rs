//! Answers that no tool span holds: taken from later model inputs by the ids of the calls.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::collections::BTreeMap;

use super::attributes::Value;
use super::classify::Kind;
use super::data::Data;
use super::dialects::blocks;
use super::flattened::flattened;
use super::logs::{self, Direction, Records, pair_by_order};
use super::message::{Block, Reply, Role};
use super::model::Span;
use super::request::Request;
use super::tree::{At, Tree};

/// Number of later places that are searched for the answer to a call.
const MOST_TRIED: usize = 64;

/// Kinds of places with answers.
enum Source<'r, 's> {
    /// The input of a model.
    Input(At),
    /// The output of a node or an agent.
    Output(At),
    /// The input of a request that only records show.
    Records(&'r [Block<'s>]),
}

/// The replies of one place, by the ids of their calls.
type Replies<'s> = BTreeMap<Cow<'s, str>, Reply<'s>>;

/// A place that may have answers.
struct Place<'r, 's> {
    time: u64,
    source: Source<'r, 's>,
    /// True once it was read. The run of the only agent of a trace reads each place once, and keeps nothing.
    was_read: Cell<bool>,
    /// All its replies, once it is read a second time.
    kept: OnceCell<Replies<'s>>,
}

/// Places that may have answers, by time.
pub(super) struct Sources<'r, 's>(Vec<Place<'r, 's>>);

impl<'r, 's> Sources<'r, 's> {
    pub(super) fn new(tree: &Tree<'s, '_>, requests: impl Iterator<Item = &'r Request<'s>>) -> Self {
        let mut sources = Vec::new();
        for (at, span) in tree.spans.iter().enumerate() {
            match tree.kind(at) {
                Kind::Model => sources.push((span.start, Source::Input(at))),
                Kind::Chain | Kind::Agent if output(span).is_some() => {
                    sources.push((span.end.unwrap_or(span.start), Source::Output(at)));
                }
                _ => {}
            }
        }
        for request in requests.filter(|request| !request.input.is_empty()) {
            sources.push((request.start, Source::Records(&request.input)));
        }
        sources.sort_by_key(|(time, _)| *time);
        let places = sources.into_iter().map(|(time, source)| Place {
            time,
            source,
            was_read: Cell::new(false),
            kept: OnceCell::new(),
        });
        Self(places.collect())
    }

    /// Finds the answers to calls made at these times. The last of repeated answers counts.
    pub(super) fn find(
        &self,
        tree: &Tree<'s, '_>,
        records: &Records<'s>,
        wanted: &[(Cow<'s, str>, u64)],
    ) -> Vec<Option<Reply<'s>>> {
        let mut found: Vec<Option<Reply<'s>>> = vec![None; wanted.len()];
        // The waiting calls by id, with the number of places searched.
        let mut waiting: BTreeMap<&str, Vec<(usize, usize)>> = BTreeMap::new();
        let mut order: Vec<usize> = (0..wanted.len()).collect();
        order.sort_by_key(|number| wanted.get(*number).map(|(_, time)| *time));
        let mut next = order.into_iter().peekable();
        let mut at = 0;
        loop {
            if waiting.is_empty() {
                // Nothing to search until the next call.
                let Some((_, next)) = next.peek().and_then(|number| wanted.get(*number)) else { break };
                at = at.max(self.0.partition_point(|place| place.time < *next));
            }
            let Some(place) = self.0.get(at) else { break };
            at += 1;
            while let Some(number) =
                next.next_if(|number| wanted.get(*number).is_some_and(|(_, asked)| *asked <= place.time))
            {
                if let Some((id, _)) = wanted.get(number) {
                    waiting.entry(id).or_default().push((number, 0));
                }
            }
            let mut replies = place.replies(tree, records, |id| waiting.contains_key(id));
            waiting.retain(|id, calls| {
                if let Some(reply) = replies.take(id) {
                    // Only the last call of an id can have been answered since.
                    if let Some((number, _)) = calls.pop()
                        && let Some(slot) = found.get_mut(number)
                    {
                        *slot = Some(reply);
                    }
                } else {
                    for (_, tried) in calls.iter_mut() {
                        *tried += 1;
                    }
                    calls.retain(|(_, tried)| *tried < MOST_TRIED);
                }
                !calls.is_empty()
            });
        }
        found
    }
}

fn output<'s, 'a>(span: &'s Span<'a>) -> Option<&'s Value<'a>> {
    span.attributes.first_of(&[
        "output.value",
        "tool.output",
        "gen_ai.task.output",
        "traceloop.entity.output",
        "gen_ai.output.messages",
    ])
}

/// The replies that were read for one call of [`Sources::find`], or for all.
enum Found<'p, 's> {
    Own(Replies<'s>),
    Kept(&'p Replies<'s>),
}

impl<'s> Found<'_, 's> {
    fn take(&mut self, id: &str) -> Option<Reply<'s>> {
        match self {
            Self::Own(replies) => replies.remove(id),
            Self::Kept(replies) => replies.get(id).cloned(),
        }
    }
}

impl<'s> Place<'_, 's> {
    /// Returns the replies to the calls of these ids, possibly with others. Reads a place at most twice.
    fn replies(
        &self,
        tree: &Tree<'s, '_>,
        records: &Records<'s>,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Found<'_, 's> {
        if self.was_read.replace(true) {
            Found::Kept(self.kept.get_or_init(|| self.source.replies_by_id(tree, records, |_| true)))
        } else {
            Found::Own(self.source.replies_by_id(tree, records, is_wanted))
        }
    }
}

impl<'s> Source<'_, 's> {
    /// Returns the replies to the calls of these ids, the last for each.
    fn replies_by_id(
        &self,
        tree: &Tree<'s, '_>,
        records: &Records<'s>,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Replies<'s> {
        let mut replies: Replies<'s> = BTreeMap::new();
        for reply in self.replies(tree, records) {
            let Some(id) = reply.id.clone().filter(|id| is_wanted(id)) else { continue };
            match replies.get_mut(&id) {
                // The same answer in two dialects, one with more content.
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

    fn replies(&self, tree: &Tree<'s, '_>, records: &Records<'s>) -> Vec<Reply<'s>> {
        let parts = match self {
            Self::Records(parts) => parts.to_vec(),
            Self::Input(at) => match tree.span(*at) {
                Some(span) => inputs(span, *at, records).flatten().collect(),
                None => Vec::new(),
            },
            Self::Output(at) => match tree.span(*at).and_then(output) {
                Some(value) => structured(value),
                None => Vec::new(),
            },
        };
        let replies = parts.into_iter().filter_map(|block| match block {
            Block::Reply(reply) => Some(reply),
            _ => None,
        });
        replies.collect()
    }
}

/// The parts of a value that is not plain text.
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

/// Reads a model's input in each of the dialects of its span, one after the other.
pub(super) fn inputs<'s>(
    span: &'s Span<'_>,
    at: At,
    records: &Records<'s>,
) -> impl Iterator<Item = Vec<Block<'s>>> {
    let attribute = |name: &str| span.attributes.get(name).map(structured);
    let inputs = (0..6).filter_map(move |dialect| match dialect {
        0 => attribute("gen_ai.input.messages"),
        1 => flattened(span, "llm.input_messages."),
        2 => logs::said(records, at, span, Direction::Input),
        3 => flattened(span, "gen_ai.prompt."),
        4 => attribute("gcp.vertex.agent.llm_request"),
        _ => attribute("input.value"),
    });
    inputs.filter(|parts: &Vec<Block<'s>>| !parts.is_empty()).map(|mut parts| {
        pair_by_order(&mut parts);
        parts
    })
}

#[cfg(test)]
mod tests {
    use super::super::model::LogRecord;
    use super::*;

    #[test]
    fn answers_are_the_same_however_often_they_are_looked_for() {
        let model = |start, id: &str, result: &str| {
            let messages = format!(
                r#"[{{"role": "tool", "parts": [{{"type": "tool_call_response", "id": "{id}", "result": "{result}"}}]}}]"#
            );
            Span { start, span_id: start.to_string().into(), ..Span::default() }
                .with_attributes(&[("openinference.span.kind", "LLM"), ("gen_ai.input.messages", &messages)])
        };
        let spans = [model(10, "a", "early"), model(20, "a", "late"), model(30, "b", "other")];
        let tree = Tree::new(&spans);
        let no_logs: [LogRecord<'_>; 0] = [];
        let records = logs::records(&tree, &no_logs);
        let sources = Sources::new(&tree, std::iter::empty());
        let find = |wanted: &[(&'static str, u64)]| {
            let wanted: Vec<_> = wanted.iter().map(|(id, time)| (Cow::Borrowed(*id), *time)).collect();
            let found = sources.find(&tree, &records, &wanted).into_iter();
            let text =
                |reply: Reply<'_>| reply.content.present().and_then(|data| Some(data.as_text()?.to_owned()));
            found.map(|reply| reply.and_then(text)).collect::<Vec<_>>()
        };
        for _ in 0..3 {
            let found = find(&[("b", 11), ("a", 15), ("a", 5), ("a", 25), ("z", 0)]);
            let found: Vec<_> = found.iter().map(Option::as_deref).collect();
            assert_eq!(found, [Some("other"), Some("late"), Some("early"), None, None]);
        }
        assert_eq!(find(&[]), []);
    }
}
