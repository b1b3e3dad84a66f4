//! Functions over the [`Tree`](tree::Tree) of one trace that find calls, answers and statuses.

pub(super) mod answers;
mod arguments;
pub(super) mod calls;
mod dialects;
mod dotted_names;
pub(super) mod events;
pub(super) mod kinds;
pub(super) mod message;
mod open_calls;
pub(super) mod outcomes;
mod prelude;
pub(super) mod python;
pub(super) mod request;
pub(super) mod requests;
mod results;
mod status;
pub(super) mod tree;

use std::collections::HashSet;

pub(super) use arguments::only_value;
use kinds::Kind;

use super::model;
use super::model::Span;

/// Returns true if a trace without a root span is over: all spans without a known parent have ended, and at
/// least one of them is an agent's or has a parent in another process.
pub(crate) fn are_whole_below(spans: &[Span<'_>]) -> bool {
    let ids: HashSet<&str> = spans.iter().map(|span| &*span.span_id).collect();
    let tops = || spans.iter().filter(|span| !ids.contains(span.parent.as_deref().unwrap_or_default()));
    tops().all(|span| span.end.is_some())
        && tops().any(|span| span.is_parent_remote || kinds::kind(span) == Kind::Agent)
}
