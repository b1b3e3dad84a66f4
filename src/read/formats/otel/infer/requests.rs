//! Requests to models. Each appears once, however many spans and records show it.

use std::collections::{BTreeMap, BTreeSet};

use super::events::Records;
use super::kinds::Kind;
use super::request::{self, Refused, Request};
use super::tree::{At, Owner, Tree};

/// Returns the requests of every agent, in order. `tools` holds the tool spans of each agent.
pub(crate) fn requests<'s>(
    tree: &Tree<'s>,
    records: &Records<'s>,
    tools: &BTreeMap<Owner, Vec<At>>,
) -> BTreeMap<Owner, Vec<Request<'s>>> {
    let mut of_owner: BTreeMap<Owner, Vec<At>> = BTreeMap::new();
    for at in tree.of_kind(Kind::Model) {
        of_owner.entry(tree.owner(at)).or_default().push(at);
    }
    let mut requests: BTreeMap<Owner, Vec<Request<'s>>> = BTreeMap::new();
    let mut refused = Refused::default();
    for (owner, models) in of_owner {
        requests.insert(owner, of_spans(tree, &mut refused, records, &models));
    }
    for (at, events) in records {
        if at.is_some_and(|at| matches!(tree.kind(at), Kind::Model | Kind::Tool)) {
            continue;
        }
        let owner = match at {
            None => Owner::Trace,
            Some(at) if tree.kind(*at) == Kind::Agent => Owner::Agent(tree.outermost_agent(*at)),
            Some(at) => tree.owner(*at),
        };
        requests.entry(owner).or_default().extend(request::of_records(*at, events));
    }
    let with_models: BTreeSet<At> = tree
        .of_kind(Kind::Model)
        .flat_map(|at| tree.ancestors(at))
        .filter(|at| tree.kind(*at) == Kind::Agent)
        .collect();
    for at in tree.of_kind(Kind::Agent).filter(|at| !with_models.contains(at)) {
        let owner = Owner::Agent(tree.outermost_agent(at));
        if let Some(span) = tree.span(at).filter(|_| !requests.contains_key(&owner)) {
            let made = request::of_agent(at, span);
            if !made.is_empty() {
                requests.insert(owner, made);
            }
        }
    }
    drop_repeated(&mut requests);
    for (owner, requests) in &mut requests {
        requests.sort_by_key(|request| request.start);
        join_same_response(requests);
        let tools = tools.get(owner).into_iter().flatten();
        let began: Vec<u64> = tools.filter_map(|at| Some(tree.span(*at)?.start)).collect();
        join_without_output(&began, requests);
    }
    requests
}

/// Returns the requests of these model spans, which must be sorted.
fn of_spans<'s>(
    tree: &Tree<'s>,
    refused: &mut Refused<'s>,
    records: &Records<'s>,
    models: &[At],
) -> Vec<Request<'s>> {
    let around = |at: At| tree.ancestors(at).find(|outer| models.binary_search(outer).is_ok());
    let depth = |at: At| std::iter::successors(around(at), |at| around(*at)).count();
    // The innermost spans come first. The requests in the spans below one are complete when it is reached.
    let mut ordered: Vec<(usize, At)> = models.iter().map(|at| (depth(*at), *at)).collect();
    ordered.sort_by_key(|(depth, at)| (std::cmp::Reverse(*depth), *at));
    let is_in_loop = |at| tree.ancestors(at).find(|outer| tree.kind(*outer) != Kind::Chain);
    let loops: BTreeSet<At> = tree.tools().filter_map(is_in_loop).collect();
    let mut below: BTreeMap<Option<At>, Vec<Vec<Request<'s>>>> = BTreeMap::new();
    for (_, at) in ordered {
        let Some(span) = tree.span(at) else { continue };
        let branches = below.remove(&Some(at)).unwrap_or_default();
        let outer = request::of_span(tree, refused, records, at, span);
        below.entry(around(at)).or_default().push(merged(outer, branches, loops.contains(&at)));
    }
    below.remove(&None).into_iter().flatten().flatten().collect()
}

/// Drops requests outside all agents that an agent's request at that time shows: a second instrument recorded them.
fn drop_repeated(requests: &mut BTreeMap<Owner, Vec<Request<'_>>>) {
    /// Maximum number of requests at one time to compare with.
    const AT_ONCE: usize = 8;
    let Some(mut outside) = requests.remove(&Owner::Trace) else { return };
    let mut inside: Vec<&Request<'_>> = requests.values().flatten().collect();
    inside.sort_by_key(|request| request.start);
    outside.retain(|request| {
        let before = inside.partition_point(|other| other.start <= request.start);
        !inside.iter().take(before).rev().take(AT_ONCE).any(|other| other.shows(request))
    });
    if !outside.is_empty() {
        requests.insert(Owner::Trace, outside);
    }
}

/// Merges a span with the requests below it, by branch. If they are the steps of a loop, the outer span is not a
/// request: its output is that of the last step.
fn merged<'s>(mut outer: Request<'s>, branches: Vec<Vec<Request<'s>>>, runs_tools: bool) -> Vec<Request<'s>> {
    let has_output = |branch: &&Vec<Request<'_>>| branch.iter().any(|inner| inner.has_output);
    let is_loop = branches.iter().any(|branch| branch.len() > 1)
        || branches.iter().filter(has_output).count() > 1
        || runs_tools && branches.len() > 1;
    let mut inner: Vec<Request<'s>> = branches.into_iter().flatten().collect();
    if is_loop {
        inner.sort_by_key(|request| request.start);
        if let Some(last) = inner.last_mut().filter(|last| !last.has_content() && outer.has_content()) {
            (last.calls, last.texts, last.has_output) = (outer.calls, outer.texts, true);
        }
        return inner;
    }
    for inner in inner {
        outer.take_in(inner);
    }
    vec![outer]
}

/// Merges requests with the same response id that overlap. Some services write the id of a whole run there.
fn join_same_response(requests: &mut Vec<Request<'_>>) {
    let mut latest: BTreeMap<&str, usize> = BTreeMap::new();
    let mut kept: Vec<Request<'_>> = Vec::with_capacity(requests.len());
    for request in requests.drain(..) {
        let twin = request.response.and_then(|response| kept.get_mut(*latest.get(response)?));
        if let Some(twin) = twin.filter(|twin| twin.end.is_none_or(|end| request.start <= end)) {
            twin.take_in(request);
        } else {
            latest.extend(request.response.map(|response| (response, kept.len())));
            kept.push(request);
        }
    }
    *requests = kept;
}

/// Merges a span without output into a sibling with output that shows the same request: they overlap, or no
/// tool ran between them. `tools` are the start times of tools, in order.
fn join_without_output(tools: &[u64], requests: &mut Vec<Request<'_>>) {
    if requests.iter().all(|request| request.has_output) || !requests.iter().any(|request| request.has_output)
    {
        return;
    }
    let ran_between = |from: u64, to: u64| {
        let at = tools.partition_point(|start| *start < from);
        tools.get(at).is_some_and(|start| *start < to)
    };
    let mut kept: Vec<Request<'_>> = Vec::with_capacity(requests.len());
    for request in requests.drain(..) {
        let same = |other: &Request<'_>| {
            !request.spans.is_empty()
                && !other.spans.is_empty()
                && request.has_output != other.has_output
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
