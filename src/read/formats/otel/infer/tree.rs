//! The tree of one trace: parents, calls that two spans show, and the agent run of each span.

use std::collections::{BTreeMap, HashMap};

use super::arguments::CallsAround;
use super::kinds::{self, Kind};
use super::model::{Attr, Span};

/// The index of a span in its trace.
pub(crate) type At = usize;

/// Limit of enclosing spans that are searched.
const MOST_AROUND: usize = 1000;

/// The spans of one trace, in the order of their starts.
pub(crate) struct Tree<'s> {
    pub(crate) spans: &'s [Span<'s>],
    kinds: Vec<Kind>,
    parents: Vec<Option<At>>,
    positions: HashMap<&'s str, At>,
    /// For a tool span, the innermost one that shows the same call; for other spans, themselves.
    calls: Vec<At>,
    /// Calls in spans around tool spans.
    pub(crate) calls_around: CallsAround<'s>,
    /// For an agent span, the outermost one of its name, see [`Self::outermost_agent`]; for other spans, themselves.
    outermost: Vec<At>,
    /// True if missing parents may still arrive.
    is_open: bool,
}

/// The owner of a span.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Owner {
    /// The trace, outside any agent span.
    Trace,
    /// The agent of this span, the outermost of its name.
    Agent(At),
    /// An agent below this tool span without a span of its own.
    Tool(At),
    /// The agent that the framework names, below this tool span.
    Named(Option<At>, String),
    /// The owner of a span that has not arrived yet.
    Below(String),
}

impl<'s> Tree<'s> {
    /// Builds the tree of a trace. While it is open, missing spans may still arrive, and until then it is unknown
    /// whether the parts below two of them belong to the same run.
    pub(crate) fn new(spans: &'s [Span<'s>], is_open: bool) -> Self {
        let positions: HashMap<&str, At> =
            spans.iter().enumerate().map(|(at, span)| (&*span.span_id, at)).collect();
        let parents = spans.iter().map(|span| positions.get(span.parent.as_deref()?).copied()).collect();
        let kinds = spans.iter().map(kinds::kind).collect();
        let own: Vec<At> = (0..spans.len()).collect();
        let mut tree = Self {
            spans,
            kinds,
            parents,
            positions,
            calls: own.clone(),
            outermost: own,
            calls_around: CallsAround::default(),
            is_open,
        };
        tree.cut_circles();
        tree.merge_calls();
        tree.find_outermost_agents();
        tree
    }

    pub(crate) fn span(&self, at: At) -> Option<&'s Span<'s>> {
        self.spans.get(at)
    }

    pub(crate) fn kind(&self, at: At) -> Kind {
        self.kinds.get(at).copied().unwrap_or(Kind::Chain)
    }

    pub(crate) fn position(&self, span_id: &str) -> Option<At> {
        self.positions.get(span_id).copied()
    }

    pub(crate) fn parent(&self, at: At) -> Option<At> {
        self.parents.get(at).copied().flatten()
    }

    /// Returns the spans around a span, innermost first.
    pub(crate) fn ancestors(&self, at: At) -> impl Iterator<Item = At> {
        std::iter::successors(self.parent(at), |at| self.parent(*at)).take(MOST_AROUND)
    }

    /// Returns true if a record of this span must wait for it.
    pub(crate) fn is_awaited(&self, span_id: &str) -> bool {
        self.is_open && !span_id.is_empty() && !self.positions.contains_key(span_id)
    }

    /// Returns the spans of a kind, in order.
    pub(crate) fn of_kind(&self, kind: Kind) -> impl Iterator<Item = At> {
        self.kinds.iter().enumerate().filter(move |(_, other)| **other == kind).map(|(at, _)| at)
    }

    /// Returns the tool spans that are innermost for their calls.
    pub(crate) fn tools(&self) -> impl Iterator<Item = At> {
        self.of_kind(Kind::Tool).filter(|at| self.call_of(*at) == *at)
    }

    /// Returns the innermost tool span of the call that a tool span shows.
    pub(crate) fn call_of(&self, at: At) -> At {
        self.calls.get(at).copied().unwrap_or(at)
    }

    /// Returns the tool spans that show the call of an innermost one, innermost first.
    pub(crate) fn views(&self, call: At) -> Vec<At> {
        let shows = |at: &At| self.kind(*at) == Kind::Chain || self.call_of(*at) == call;
        let around = self.ancestors(call).take_while(shows).filter(|at| self.kind(*at) == Kind::Tool);
        std::iter::once(call).chain(around).collect()
    }

    /// Drops parents that form a cycle. Visits each span once.
    fn cut_circles(&mut self) {
        // For each span, where the walk began that visited it.
        let mut seen = vec![None; self.parents.len()];
        for start in 0..self.parents.len() {
            let (mut last, mut next) = (start, Some(start));
            while let Some(at) = next
                && let Some(mark) = seen.get_mut(at)
            {
                if *mark == Some(start)
                    && let Some(parent) = self.parents.get_mut(last)
                {
                    *parent = None;
                }
                if mark.is_some() {
                    break;
                }
                *mark = Some(start);
                (last, next) = (at, self.parent(at));
            }
        }
    }

    /// Finds tool spans that show the same call as one below them.
    fn merge_calls(&mut self) {
        let mut inner: BTreeMap<At, Vec<At>> = BTreeMap::new();
        for at in self.of_kind(Kind::Tool) {
            let around = self.ancestors(at).find(|at| self.kind(*at) != Kind::Chain);
            if let Some(outer) = around.filter(|outer| self.shows_call_of(*outer, at)) {
                inner.entry(outer).or_default().push(at);
            }
        }
        for (outer, inner) in inner {
            if let ([inner], Some(call)) = (&inner[..], self.calls.get_mut(outer)) {
                *call = *inner;
            }
        }
        // Spans around a merged span follow it. Each edge is taken once.
        for at in 0..self.calls.len() {
            let mut path = Vec::new();
            let mut call = at;
            while self.call_of(call) != call {
                path.push(call);
                call = self.call_of(call);
            }
            for at in path {
                if let Some(slot) = self.calls.get_mut(at) {
                    *slot = call;
                }
            }
        }
    }

    fn shows_call_of(&self, outer: At, inner: At) -> bool {
        if self.kind(outer) != Kind::Tool {
            return false;
        }
        let (Some(outer), Some(inner)) = (self.span(outer), self.span(inner)) else { return false };
        let (outside, inside) = (kinds::tool_name(outer), kinds::tool_name(inner));
        let same_name =
            outside == inside || outside.strip_suffix(inside).is_some_and(|prefix| prefix.ends_with('.'));
        same_name
            && match (call_id(outer), call_id(inner)) {
                (Some(outer), Some(inner)) => outer == inner,
                _ => true,
            }
    }

    /// Returns true if a span around another shows the same call.
    fn is_view(&self, outer: At, at: At) -> bool {
        self.kind(at) == Kind::Tool && self.call_of(outer) == self.call_of(at)
    }

    /// Returns the owner of a model or tool span.
    pub(crate) fn owner(&self, at: At) -> Owner {
        if let Some(name) = self.span(at).and_then(kinds::graph_agent) {
            let mut tools = self.ancestors(at).filter(|outer| self.kind(*outer) == Kind::Tool);
            let tool = tools.find(|outer| !self.is_view(*outer, at)).map(|outer| self.call_of(outer));
            return Owner::Named(tool, name.into_owned());
        }
        self.owner_above(at)
    }

    /// Returns the owner of what the spans around a span belong to, unless they show the same call.
    fn owner_above(&self, at: At) -> Owner {
        let mut top = at;
        for outer in self.ancestors(at) {
            match self.kind(outer) {
                Kind::Tool if !self.is_view(outer, at) => return Owner::Tool(self.call_of(outer)),
                Kind::Agent => return Owner::Agent(self.outermost_agent(outer)),
                _ => top = outer,
            }
        }
        let parent = self.span(top).and_then(|span| span.parent.as_deref());
        match parent.filter(|parent| self.is_awaited(parent)) {
            Some(parent) => Owner::Below(parent.to_owned()),
            None => Owner::Trace,
        }
    }

    /// Returns the owner of the first span of an owner's run, or `None` if nothing encloses it.
    pub(crate) fn owner_around(&self, owner: &Owner) -> Option<Owner> {
        match owner {
            // The calling agent owns the call.
            Owner::Agent(at) => Some(match self.owner_above(*at) {
                Owner::Tool(tool) => self.owner(tool),
                owner => owner,
            }),
            Owner::Tool(tool) | Owner::Named(Some(tool), _) => Some(self.owner(*tool)),
            Owner::Trace | Owner::Named(None, _) | Owner::Below(_) => None,
        }
    }

    /// Returns for each of these owners the index of the one that called it: the nearest around it.
    pub(crate) fn callers(&self, owners: &[&Owner]) -> Vec<Option<usize>> {
        let numbers: BTreeMap<&Owner, usize> =
            owners.iter().enumerate().map(|(number, owner)| (*owner, number)).collect();
        let mut known: BTreeMap<Owner, Option<usize>> = BTreeMap::new();
        let mut callers = Vec::with_capacity(owners.len());
        for (number, owner) in owners.iter().enumerate() {
            let mut path = Vec::new();
            let mut next = self.owner_around(owner);
            let mut found = None;
            while let Some(outer) = next {
                found = numbers.get(&outer).copied().or_else(|| known.get(&outer).copied().flatten());
                if found.is_some() || known.contains_key(&outer) {
                    break;
                }
                next = self.owner_around(&outer);
                // A cycle leads nowhere.
                known.insert(outer.clone(), None);
                path.push(outer);
            }
            known.extend(path.into_iter().map(|owner| (owner, found)));
            callers.push(found.filter(|caller| *caller != number));
        }
        callers
    }

    /// Returns the outermost of nested agent spans of one name without a tool span between them.
    pub(crate) fn outermost_agent(&self, at: At) -> At {
        self.outermost.get(at).copied().unwrap_or(at)
    }

    fn find_outermost_agents(&mut self) {
        let name = |at: At| self.span(at).filter(|_| self.kind(at) == Kind::Agent).map(kinds::agent_name);
        let names: Vec<Option<Option<&str>>> = (0..self.spans.len()).map(name).collect();
        for (at, name) in names.iter().enumerate().filter(|(_, name)| name.is_some()) {
            let within = self.ancestors(at).take_while(|outer| self.kind(*outer) != Kind::Tool);
            let last = within.filter(|outer| names.get(*outer) == Some(name)).last();
            if let (Some(last), Some(slot)) = (last, self.outermost.get_mut(at)) {
                *slot = last;
            }
        }
    }
}

/// Returns the call id that a tool span has itself, unless it is a placeholder.
pub(crate) fn call_id<'s>(span: &'s Span<'_>) -> Option<&'s str> {
    let id = span.attributes.first_name(&[Attr::ToolCallId, Attr::ToolId])?;
    (!id.starts_with('<')).then_some(id)
}
