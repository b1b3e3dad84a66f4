//! Requests to models. Each appears once, however many spans and records show it.

use std::collections::btree_map::Entry;

use super::prelude::*;
use super::request::Refused;

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
    for (owner, requests) in &mut requests {
        requests.sort_by_key(|request| request.start);
        join_same_response(requests);
        let tools = tools.get(owner).into_iter().flatten();
        let began: Vec<u64> = tools.filter_map(|at| Some(tree.span(*at)?.start)).collect();
        join_without_output(&began, requests);
    }
    requests
}

/// Returns the requests of these model spans, which must be sorted. The spans nested in one are merged with it, unless
/// several of its branches have output: then the outer span is not a request, and each branch is merged on its own.
fn of_spans<'s>(
    tree: &Tree<'s>,
    refused: &mut Refused<'s>,
    records: &Records<'s>,
    models: &[At],
) -> Vec<Request<'s>> {
    // For each outermost model span: itself and the model spans below it, with their depth and branch.
    let mut nested: BTreeMap<At, Vec<(usize, At, At)>> = BTreeMap::new();
    for at in models {
        let around = tree.ancestors(*at).filter(|outer| models.binary_search(outer).is_ok());
        let path: Vec<At> = std::iter::once(*at).chain(around).collect();
        let depth = path.len() - 1;
        let branch = path.get(depth.saturating_sub(1)).copied().unwrap_or(*at);
        nested.entry(path.last().copied().unwrap_or(*at)).or_default().push((depth, *at, branch));
    }
    let mut requests = Vec::with_capacity(models.len());
    for mut members in nested.into_values() {
        members.sort_unstable();
        let read: Vec<(usize, At, Request<'s>)> = members
            .into_iter()
            .filter_map(|(depth, at, branch)| {
                Some((depth, branch, request::of_span(tree, refused, records, at, tree.span(at)?)))
            })
            .collect();
        let with_output = read.iter().filter(|(depth, _, request)| *depth > 0 && request.has_output);
        let several = with_output.map(|(_, branch, _)| branch).collect::<BTreeSet<_>>().len() > 1;
        let mut merged: BTreeMap<At, Request<'s>> = BTreeMap::new();
        for (_, branch, request) in read.into_iter().filter(|(depth, ..)| !several || *depth > 0) {
            match merged.entry(if several { branch } else { 0 }) {
                Entry::Vacant(slot) => {
                    slot.insert(request);
                }
                Entry::Occupied(mut first) => first.get_mut().take_in(request),
            }
        }
        requests.extend(merged.into_values());
    }
    requests
}

/// Merges requests with the same response id.
fn join_same_response(requests: &mut Vec<Request<'_>>) {
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    let mut kept: Vec<Request<'_>> = Vec::with_capacity(requests.len());
    for request in requests.drain(..) {
        let number = kept.len();
        let twin = request.response.map_or(number, |response| *first.entry(response).or_insert(number));
        match kept.get_mut(twin) {
            Some(twin) => twin.take_in(request),
            None => kept.push(request),
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
