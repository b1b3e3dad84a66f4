//! One action for each call, shown by a model's output, a tool span or both.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::arguments;
use super::classify::{self, Kind};
use super::model::Span;
use super::places::{Place, first_free, latest};
use super::request::Request;
use super::tree::{self, At, Tree};
use super::unwrap::{self, Outcome};
use crate::trace::{Arguments, Content, Digest};

/// A call and its sources.
#[derive(Debug, Clone)]
pub(super) struct Action<'s> {
    /// The request that asked for it, and the index in the output; `None` if no output shows it.
    pub(super) call: Option<Place>,
    /// The tool spans that show it, innermost first, or the span of the agent that ran for it.
    pub(super) views: Vec<&'s Span<'s>>,
    /// True if the span is an agent's.
    pub(super) is_agent: bool,
    /// The result in its spans, if any.
    pub(super) result: Option<Outcome<'s>>,
    pub(super) id: Option<Cow<'s, str>>,
    pub(super) name: Cow<'s, str>,
    pub(super) arguments: Content<Cow<'s, str>>,
    /// The request that asked for it, or the one before it.
    pub(super) turn: usize,
    /// Number of unrecorded requests between that request and this action.
    pub(super) unseen: usize,
    /// The sort key: time of its group, index in the group.
    order: (u64, usize, usize, u64),
}

/// A tool span that waits for its call.
struct Tool<'s> {
    at: At,
    views: Vec<&'s Span<'s>>,
    start: u64,
    id: Option<Cow<'s, str>>,
    name: &'s str,
    arguments: Content<Cow<'s, str>>,
    result: Outcome<'s>,
}

/// Returns the actions of one agent, in order.
pub(super) fn actions<'s>(
    tree: &Tree<'s, 's>,
    requests: &[Request<'s>],
    tools: &[At],
    agents: &[At],
) -> Vec<Action<'s>> {
    let tools: Vec<Tool<'s>> = tools.iter().filter_map(|at| tool(tree, *at)).collect();
    let pairs = pair(requests, &tools);
    let mut open: BTreeSet<Place> = requests
        .iter()
        .enumerate()
        .flat_map(|(number, request)| (0..request.calls.len()).map(move |place| (number, place)))
        .collect();
    for call in pairs.values() {
        open.remove(call);
    }
    let agents = pair_agents(tree, agents, requests, &open);
    let turns =
        if pairs.len() < tools.len() { turns_without_requests(tree, requests, &tools) } else { Vec::new() };
    let mut actions = Vec::new();
    for (position, tool) in tools.into_iter().enumerate() {
        let call = pairs.get(&position).copied();
        let (turn, unseen) = match call {
            Some((request, _)) => (request, 0),
            None => turns.get(position).copied().unwrap_or_default(),
        };
        let model = call.and_then(|(request, place)| requests.get(request)?.calls.get(place));
        actions.push(Action {
            call,
            views: tool.views,
            is_agent: false,
            result: Some(tool.result),
            id: tool.id.or_else(|| model?.id.clone()),
            name: Cow::Borrowed(tool.name),
            arguments: arguments(tool.arguments, model.map(|model| &model.arguments)),
            turn,
            unseen,
            order: (tool.start, 0, 0, tool.start),
        });
    }
    for (request, place) in open {
        let Some(model) = requests.get(request).and_then(|request| request.calls.get(place)) else {
            continue;
        };
        let agent = agents.get(&(request, place)).and_then(|at| tree.span(*at));
        let start = agent.map(|span| span.start);
        actions.push(Action {
            call: Some((request, place)),
            views: agent.into_iter().collect(),
            is_agent: agent.is_some(),
            result: agent.map(unwrap::result),
            id: model.id.clone(),
            name: model.name.clone(),
            arguments: model.arguments.clone(),
            turn: request,
            unseen: 0,
            order: (start.unwrap_or(u64::MAX), 0, 0, start.unwrap_or(u64::MAX)),
        });
    }
    put_in_order(requests, &mut actions);
    actions
}

/// Groups of one output keep the model's order, at the time when the first of them began.
fn put_in_order(requests: &[Request<'_>], actions: &mut [Action<'_>]) {
    let mut begun: BTreeMap<usize, u64> = BTreeMap::new();
    for action in actions.iter() {
        if let Some((request, _)) = action.call
            && let Some(span) = action.views.first()
        {
            let first = begun.entry(request).or_insert(span.start);
            *first = span.start.min(*first);
        }
    }
    // A request whose calls no span shows is placed at its start or, if it encloses tools, at its end. A request that
    // only messages show follows the one before it.
    let mut starts: Vec<u64> =
        actions.iter().filter_map(|action| Some(action.views.first()?.start)).collect();
    starts.sort_unstable();
    let mut last = 0;
    for (number, request) in requests.iter().enumerate() {
        let inside = starts.partition_point(|start| *start <= request.start);
        let end = request.end.filter(|_| !request.spans.is_empty());
        let own = match (starts.get(inside), end) {
            (Some(start), Some(end)) if *start < end => end,
            _ => request.start,
        };
        let shown = if request.spans.is_empty() { own.max(last) } else { own };
        last = *begun.entry(number).or_insert(shown);
    }
    for action in actions.iter_mut() {
        let start = action.order.3;
        action.order = match action.call {
            Some((request, place)) => (begun.get(&request).copied().unwrap_or(start), request, place, 0),
            None => (start, usize::MAX, 0, start),
        };
    }
    actions.sort_by_key(|action| action.order);
}

fn tool<'s>(tree: &Tree<'s, 's>, at: At) -> Option<Tool<'s>> {
    let positions = tree.views(at);
    let views: Vec<&Span<'_>> = positions.iter().filter_map(|at| tree.span(*at)).collect();
    let span = views.first()?;
    let name = views
        .iter()
        .find(|span| span.attributes.first_name(&["gen_ai.tool.name", "tool.name"]).is_some())
        .map_or_else(|| classify::tool_name(span), |span| classify::tool_name(span));
    let (mut result, mut wrapped): (Option<Outcome<'_>>, _) = (None, None);
    for view in &views {
        let outcome = unwrap::result(view);
        wrapped = wrapped.or_else(|| outcome.id.clone());
        result = result.filter(|first| first.text.is_recorded()).or(Some(outcome));
    }
    let id = views.iter().find_map(|span| tree::call_id(span)).map(Cow::Borrowed);
    let id = id.or_else(|| views.iter().find_map(|span| arguments::id_in_wrapper(span))).or(wrapped).or_else(
        || {
            let outermost = positions.last().copied()?;
            let mut around = tree.ancestors(outermost).take_while(|at| tree.kind(*at) == Kind::Chain).take(3);
            around.find_map(|at| tree.calls_around.id(tree, at, name))
        },
    );
    let arguments = views
        .iter()
        .map(|span| arguments::arguments(span))
        .find(Content::is_recorded)
        .unwrap_or(Content::NotRecorded);
    Some(Tool { at, start: span.start, views, id, name, arguments, result: result? })
}

/// Calls by the properties of a span's call other than an id.
#[derive(Default)]
struct Places<'r> {
    names: BTreeMap<&'r str, BTreeSet<Place>>,
    contents: BTreeMap<(&'r str, Digest), BTreeSet<Place>>,
}

impl<'r> Places<'r> {
    /// Returns the calls of requests; with `bare`, only those without an id.
    fn of(requests: &'r [Request<'_>], bare: bool) -> Self {
        let mut places = Self::default();
        for (number, request) in requests.iter().enumerate() {
            for (place, call) in request.calls.iter().enumerate() {
                let at = (number, place);
                if bare && call.id.is_some() {
                    continue;
                }
                places.names.entry(&call.name).or_default().insert(at);
                for digest in digests(&call.arguments) {
                    places.contents.entry((&call.name, digest)).or_default().insert(at);
                }
            }
        }
        places
    }
}

/// Returns the call that each tool span shows, by the span's index: by id, else by name and arguments, else by name
/// within the request before it. Of several, the one requested last.
fn pair(requests: &[Request<'_>], tools: &[Tool<'_>]) -> BTreeMap<usize, Place> {
    let mut ids: BTreeMap<&str, BTreeSet<Place>> = BTreeMap::new();
    for (number, request) in requests.iter().enumerate() {
        for (place, call) in request.calls.iter().enumerate() {
            if let Some(id) = &call.id {
                ids.entry(id).or_default().insert((number, place));
            }
        }
    }
    let mut taken: BTreeSet<Place> = BTreeSet::new();
    let mut pairs = BTreeMap::new();
    for (position, tool) in tools.iter().enumerate() {
        if let Some(id) = &tool.id
            && let Some(at) =
                ids.get_mut(&**id).and_then(|places| latest(requests, places, &taken, tool.start))
        {
            taken.insert(at);
            pairs.insert(position, at);
        }
    }
    if pairs.len() == tools.len() {
        return pairs;
    }
    let mut all = Places::of(requests, false);
    // A span with an id shows no call of another id.
    let mut bare = Places::of(requests, true);
    for (position, tool) in tools.iter().enumerate() {
        if pairs.contains_key(&position) {
            continue;
        }
        let places = if tool.id.is_some() { &mut bare } else { &mut all };
        let same = digests(&tool.arguments).into_iter().find_map(|digest| {
            let places = places.contents.get_mut(&(tool.name, digest))?;
            latest(requests, places, &taken, tool.start)
        });
        let at = same.or_else(|| {
            let before = requests.partition_point(|request| request.start <= tool.start).checked_sub(1)?;
            first_free(places.names.get_mut(tool.name)?, (before, 0), (before, usize::MAX), &taken)
        });
        if let Some(at) = at {
            taken.insert(at);
            pairs.insert(position, at);
        }
    }
    pairs
}

/// Returns the digests by which arguments of a call and of a span can be equal: of all arguments and, for a tool of one
/// parameter, of its bare value.
fn digests(arguments: &Content<Cow<'_, str>>) -> Vec<Digest> {
    let Content::Present(text) = arguments else { return Vec::new() };
    let mut digests = Vec::new();
    if arguments::is_structured(text) {
        digests.push(Arguments::from_json(text).digest());
        digests.extend(arguments::only_value(text).map(|value| Digest::of_text(&value)));
    } else {
        digests.push(Digest::of_text(text));
    }
    digests
}

/// Returns the span's arguments, unless the model's text is not JSON or has content that the span leaves out.
fn arguments<'s>(
    span: Content<Cow<'s, str>>,
    model: Option<&Content<Cow<'s, str>>>,
) -> Content<Cow<'s, str>> {
    let Some(model) = model else { return span };
    match (&span, model) {
        (_, Content::Present(text)) if arguments::is_broken(text) => model.clone(),
        (Content::Present(own), Content::Present(text))
            if !arguments::is_structured(own) && arguments::is_structured(text) =>
        {
            model.clone()
        }
        (Content::Present(_), _) => span,
        (_, Content::Present(_)) => model.clone(),
        (Content::Absent, _) => span,
        _ => model.clone(),
    }
}

/// Returns the spans of sub-agents that run for calls without tool spans.
fn pair_agents(
    tree: &Tree<'_, '_>,
    agents: &[At],
    requests: &[Request<'_>],
    open: &BTreeSet<Place>,
) -> BTreeMap<Place, At> {
    let mut pairs = BTreeMap::new();
    if open.is_empty() {
        return pairs;
    }
    let mut taken = BTreeSet::new();
    let mut named: BTreeMap<&str, BTreeSet<Place>> = BTreeMap::new();
    for at in open {
        if let Some(call) = requests.get(at.0).and_then(|request| request.calls.get(at.1)) {
            named.entry(&*call.name).or_default().insert(*at);
        }
    }
    for at in agents.iter().copied() {
        let Some(span) = tree.span(at) else { continue };
        let Some(name) = classify::agent_name(span) else { continue };
        if let Some(call) =
            named.get_mut(name).and_then(|places| latest(requests, places, &taken, span.start))
        {
            taken.insert(call);
            pairs.insert(call, at);
        }
    }
    pairs
}

/// Returns the turns of tool spans that no output shows: the turn of the request before each. Without a request, or if
/// a model span encloses tools that its last output does not name, overlapping siblings share a turn.
fn turns_without_requests(
    tree: &Tree<'_, '_>,
    requests: &[Request<'_>],
    tools: &[Tool<'_>],
) -> Vec<(usize, usize)> {
    let mut turns = Vec::with_capacity(tools.len());
    let (mut last, mut unseen, mut end, mut parent) = (None, 0, 0, None);
    // The spans of the request before a tool, shared by many tools.
    let mut spans: Vec<At> = Vec::new();
    for tool in tools {
        let before = requests.partition_point(|request| request.start <= tool.start).saturating_sub(1);
        let request = requests.get(before);
        if last != Some(before) {
            spans = request.map(|request| request.spans.clone()).unwrap_or_default();
            spans.sort_unstable();
        }
        let outermost = tree.views(tool.at).last().copied().unwrap_or(tool.at);
        let around = tree.parent(outermost);
        let is_seen =
            request.is_some() && !tree.ancestors(outermost).any(|at| spans.binary_search(&at).is_ok());
        if last != Some(before) || is_seen {
            (unseen, end) = (0, 0);
        } else if tool.start >= end || around != parent {
            (unseen, end) = (unseen + 1, 0);
        }
        (last, parent) = (Some(before), around);
        end = end.max(tree.span(tool.at).and_then(|span| span.end).unwrap_or(tool.start));
        turns.push((before, unseen));
    }
    turns
}
