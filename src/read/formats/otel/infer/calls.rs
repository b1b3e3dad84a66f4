//! One action for each call, shown by a model's output, a tool span or both.

use super::arguments;
use super::open_calls::{By, OpenCalls, Place};
use super::prelude::*;

/// A call, with the request and the spans that show it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Action<'s> {
    /// The request whose output shows it, and its index there; `None` if no output shows it.
    pub(crate) call: Option<Place>,
    /// The tool spans that show it, innermost first, or the span of the agent that ran for it.
    pub(crate) views: Vec<&'s Span<'s>>,
    /// True if the span is an agent's.
    pub(crate) is_agent: bool,
    /// The result in its spans, if any.
    pub(crate) result: Option<Outcome<'s>>,
    pub(crate) id: Option<Cow<'s, str>>,
    pub(crate) name: Cow<'s, str>,
    pub(crate) arguments: Content<Cow<'s, str>>,
    /// The index of the request whose output shows it, or else of the one before it.
    pub(crate) turn: usize,
    /// Number of unrecorded requests between that request and this action.
    pub(crate) unseen: usize,
}

impl<'s> Action<'s> {
    /// Returns the start of its span, if it has one.
    pub(crate) fn start(&self) -> Option<u64> {
        Some(self.views.first()?.start)
    }

    /// Makes the action of a call from its innermost tool span and the other spans that record it.
    fn of_tool(tree: &Tree<'s>, at: At) -> Option<Self> {
        let positions = tree.views(at);
        let views: Vec<&Span<'_>> = positions.iter().filter_map(|at| tree.span(*at)).collect();
        let is_named = |span: &&&Span<'_>| span.attributes.first_name(kinds::TOOL_NAMES).is_some();
        let name = kinds::tool_name(views.iter().find(is_named).or(views.first())?);
        let (mut result, mut wrapped): (Option<Outcome<'_>>, _) = (None, None);
        for view in &views {
            let outcome = results::result(view);
            wrapped = wrapped.or_else(|| outcome.id.clone());
            result = result.filter(|first| first.text.is_recorded()).or(Some(outcome));
        }
        let around = || {
            let outermost = positions.last().copied()?;
            let mut around = tree.ancestors(outermost).take_while(|at| tree.kind(*at) == Kind::Chain).take(3);
            around.find_map(|at| tree.calls_around.id(tree, at, name))
        };
        let id = views.iter().find_map(|span| tree::call_id(span)).map(Cow::Borrowed);
        let id = id.or_else(|| views.iter().find_map(|span| arguments::id_in_wrapper(span)));
        let mut arguments = views.iter().map(|span| arguments::arguments(span));
        Some(Self {
            id: id.or(wrapped).or_else(around),
            name: Cow::Borrowed(name),
            arguments: arguments.find(Content::is_recorded).unwrap_or(Content::NotRecorded),
            views,
            result,
            ..Self::default()
        })
    }

    /// Makes the action of a call without a tool span. `agent` is the span of the agent that ran for it, if any.
    fn of_call(place: Place, call: &ModelCall<'s>, agent: Option<&'s Span<'s>>) -> Self {
        Self {
            call: Some(place),
            views: agent.into_iter().collect(),
            is_agent: agent.is_some(),
            result: agent.map(results::result),
            id: call.id.clone(),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
            turn: place.0,
            ..Self::default()
        }
    }

    /// Completes the action of a tool span with its call in a model's output.
    fn add_call(&mut self, place: Place, call: &ModelCall<'s>) {
        (self.call, self.turn) = (Some(place), place.0);
        self.id = self.id.take().or_else(|| call.id.clone());
        // Keep the span's arguments, unless the model's are not JSON (the malformed call must show), only the
        // model's were recorded, or only the model's are structured.
        let is_better = match (&self.arguments, &call.arguments) {
            (_, Content::Present(asked)) if arguments::is_broken(asked) => true,
            (Content::Present(own), Content::Present(asked)) => {
                !arguments::is_structured(own) && arguments::is_structured(asked)
            }
            (Content::Present(_), _) => false,
            (Content::Absent, asked) => asked.is_present(),
            (Content::NotRecorded, _) => true,
        };
        if is_better {
            self.arguments.clone_from(&call.arguments);
        }
    }
}

/// Returns the calls in the outputs of requests, in order, with their places.
fn calls<'r, 's>(requests: &'r [Request<'s>]) -> impl Iterator<Item = (Place, &'r ModelCall<'s>)> {
    requests.iter().enumerate().flat_map(|(number, request)| {
        request.calls.iter().enumerate().map(move |(index, call)| ((number, index), call))
    })
}

/// Returns the actions of one agent, in order.
pub(crate) fn actions<'s>(
    tree: &Tree<'s>,
    requests: &[Request<'s>],
    tools: &[At],
    agents: &[At],
) -> Vec<Action<'s>> {
    let mut actions: Vec<Action<'s>> = tools.iter().filter_map(|at| Action::of_tool(tree, *at)).collect();
    pair(requests, &mut actions);
    if actions.iter().any(|action| action.call.is_none()) {
        set_turns_without_requests(tree, requests, &mut actions);
    }
    let paired: BTreeSet<Place> = actions.iter().filter_map(|action| action.call).collect();
    let open: Vec<_> = calls(requests).filter(|(place, _)| !paired.contains(place)).collect();
    let agents = pair_agents(tree, agents, requests, &open);
    actions.extend(open.into_iter().map(|(place, call)| {
        let agent = agents.get(&place).and_then(|at| tree.span(*at));
        Action::of_call(place, call, agent)
    }));
    put_in_order(requests, &mut actions);
    actions
}

/// Sorts actions by time. The calls of one output keep the model's order, at the time when the first of them
/// began.
fn put_in_order(requests: &[Request<'_>], actions: &mut [Action<'_>]) {
    let mut begun: BTreeMap<usize, u64> = BTreeMap::new();
    for action in actions.iter() {
        if let (Some((request, _)), Some(start)) = (action.call, action.start()) {
            let first = begun.entry(request).or_insert(start);
            *first = start.min(*first);
        }
    }
    // A request whose calls no span shows is placed at its start or, if it encloses tools, at its end. A
    // request that only messages show follows the one before it.
    let mut starts: Vec<u64> = actions.iter().filter_map(Action::start).collect();
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
    actions.sort_by_key(|action| {
        let start = action.start().unwrap_or(u64::MAX);
        match action.call {
            Some((request, index)) => (begun.get(&request).copied().unwrap_or(start), request, index, 0),
            None => (start, usize::MAX, 0, start),
        }
    });
}

/// Finds the call that each tool span shows: by id, else by name and arguments, else by name alone. A match by id, or
/// by name and arguments, may be in any request, preferably the last one before the span. A match by name alone must be
/// in the last request before the span.
fn pair<'s>(requests: &[Request<'s>], tools: &mut [Action<'s>]) {
    let mut open = OpenCalls::new(requests);
    for (place, call) in calls(requests) {
        if let Some(id) = &call.id {
            open.add(By::Id(id), place);
        }
    }
    let mut places: Vec<Option<Place>> = Vec::with_capacity(tools.len());
    for tool in tools.iter() {
        let start = tool.start().unwrap_or_default();
        places.push(tool.id.as_ref().and_then(|id| open.take_latest(&By::Id(id), start)));
    }
    if places.contains(&None) {
        for (place, call) in calls(requests) {
            let digests = digests(&call.arguments);
            // A span with an id does not show a call with another id, and equal ids are already paired.
            for with_id in [false, true].into_iter().filter(|with_id| !with_id || call.id.is_none()) {
                open.add(By::Name(with_id, &call.name), place);
                for digest in &digests {
                    open.add(By::Content(with_id, &call.name, *digest), place);
                }
            }
        }
    }
    for (tool, place) in tools.iter().zip(&mut places).filter(|(_, place)| place.is_none()) {
        let (with_id, start) = (tool.id.is_some(), tool.start().unwrap_or_default());
        let mut same = digests(&tool.arguments).into_iter();
        let same = same.find_map(|same| open.take_latest(&By::Content(with_id, &tool.name, same), start));
        *place = same.or_else(|| {
            let before = requests.partition_point(|request| request.start <= start).checked_sub(1)?;
            open.take_first(&By::Name(with_id, &tool.name), (before, 0), (before, usize::MAX))
        });
    }
    for (tool, place) in tools.iter_mut().zip(places) {
        if let Some((request, index)) = place
            && let Some(call) = requests.get(request).and_then(|request| request.calls.get(index))
        {
            tool.add_call((request, index), call);
        }
    }
}

/// Returns the digests under which the arguments of a call and of a span can match: that of all arguments and, if
/// there is only one, that of its bare value.
fn digests(arguments: &Content<Cow<'_, str>>) -> Vec<Digest> {
    let Content::Present(text) = arguments else { return Vec::new() };
    if !arguments::is_structured(text) {
        return vec![Digest::of_text(text)];
    }
    let bare = arguments::only_value(text).map(|value| Digest::of_text(&value));
    std::iter::once(Arguments::from_json(text).digest()).chain(bare).collect()
}

/// Returns the spans of sub-agents that ran for calls without tool spans, keyed by the place of the call.
fn pair_agents(
    tree: &Tree<'_>,
    agents: &[At],
    requests: &[Request<'_>],
    calls: &[(Place, &ModelCall<'_>)],
) -> BTreeMap<Place, At> {
    let mut open = OpenCalls::new(requests);
    for (place, call) in calls {
        open.add(By::Name(false, &call.name), *place);
    }
    let of = |at: &At| {
        let span = tree.span(*at)?;
        Some((open.take_latest(&By::Name(false, kinds::agent_name(span)?), span.start)?, *at))
    };
    agents.iter().filter_map(of).collect()
}

/// Sets the turns of tool spans whose calls no output shows: each gets the turn of the request before it. Without
/// a request, or if a model span encloses tools that its last output does not name, overlapping siblings share a
/// turn, and any later span counts as the start of another, unrecorded request.
fn set_turns_without_requests(tree: &Tree<'_>, requests: &[Request<'_>], tools: &mut [Action<'_>]) {
    let (mut last, mut unseen, mut end, mut parent) = (None, 0, 0, None);
    // The spans of the request before a tool. Many tools share it, so its spans are sorted only once.
    let mut spans: Vec<At> = Vec::new();
    for tool in tools {
        let start = tool.start().unwrap_or_default();
        let before = requests.partition_point(|request| request.start <= start).saturating_sub(1);
        let request = requests.get(before);
        if last != Some(before) {
            spans = request.map(|request| request.spans.clone()).unwrap_or_default();
            spans.sort_unstable();
        }
        let outermost = tool.views.last().and_then(|span| tree.position(&span.span_id));
        let around = outermost.and_then(|at| tree.parent(at));
        let is_within = |at: At| tree.ancestors(at).any(|at| spans.binary_search(&at).is_ok());
        let is_seen = request.is_some() && !outermost.is_some_and(is_within);
        if last != Some(before) || is_seen {
            (unseen, end) = (0, 0);
        } else if start >= end || around != parent {
            (unseen, end) = (unseen + 1, 0);
        }
        (last, parent) = (Some(before), around);
        end = end.max(tool.views.first().and_then(|span| span.end).unwrap_or(start));
        if tool.call.is_none() {
            (tool.turn, tool.unseen) = (before, unseen);
        }
    }
}
