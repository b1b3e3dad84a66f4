//! Requests to models: one each, however many spans and records show it.

use std::collections::{BTreeMap, BTreeSet};

use super::classify::Kind;
use super::logs::Records;
use super::request::{self, Refused, Request};
use super::tree::{At, Owner, Tree};

/// Returns the requests of every agent, in order. `tools` are its tool spans.
pub(super) fn requests<'s>(
    tree: &Tree<'s, '_>,
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

/// Returns the requests of model spans, which come in order. Nested ones are merged.
fn of_spans<'s>(
    tree: &Tree<'s, '_>,
    refused: &mut Refused<'s>,
    records: &Records<'s>,
    models: &[At],
) -> Vec<Request<'s>> {
    let place = |at: At| models.binary_search(&at).ok();
    let mut read: Vec<Option<Request<'s>>> = models
        .iter()
        .map(|at| tree.span(*at).map(|span| request::of_span(tree, refused, records, *at, span)))
        .collect();
    // By index among the models, those directly below.
    let mut below: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut inner: BTreeSet<usize> = BTreeSet::new();
    for (number, at) in models.iter().enumerate() {
        if let Some(outer) = tree.ancestors(*at).find_map(place) {
            below.entry(outer).or_default().push(number);
            inner.insert(number);
        }
    }
    // Everything below a span, and the span.
    let whole = |root: usize| {
        let mut found = vec![root];
        let mut next = 0;
        while let Some(number) = found.get(next) {
            found.extend(below.get(number).into_iter().flatten());
            next += 1;
        }
        found
    };
    let mut requests = Vec::with_capacity(models.len());
    for number in (0..models.len()).filter(|number| !inner.contains(number)) {
        let Some(branches) = below.get(&number) else {
            requests.extend(read.get_mut(number).and_then(Option::take));
            continue;
        };
        let branches: Vec<Vec<usize>> = branches.iter().map(|number| whole(*number)).collect();
        let has_output = |number: &usize| {
            read.get(*number).and_then(Option::as_ref).is_some_and(|request| request.has_output)
        };
        // A span around several requests is not a request.
        let several = branches.iter().filter(|branch| branch.iter().any(has_output)).count() > 1;
        for members in if several { branches } else { vec![whole(number)] } {
            let members = members.into_iter().filter_map(|number| read.get_mut(number)?.take());
            requests.extend(members.reduce(|mut first, second| {
                first.take_in(second);
                first
            }));
        }
    }
    requests
}

/// Merges requests with the same response id.
fn join_same_response(requests: &mut Vec<Request<'_>>) {
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    let mut kept: Vec<Request<'_>> = Vec::with_capacity(requests.len());
    for request in requests.drain(..) {
        match request.response {
            Some(response) => {
                if let Some(twin) = first.get(response).and_then(|at| kept.get_mut(*at)) {
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

/// Merges a span without output into a sibling with output that shows the same request: they overlap, or no tool ran
/// between them. `tools` are the start times of tools, in order.
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
