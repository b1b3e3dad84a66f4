//! The tree of one trace: parents, calls recorded by more than one span, and the agent run of each span.

use super::arguments::CallsAround;
use super::prelude::*;

/// The index of a span in its trace.
pub(crate) type At = usize;

/// Maximum number of enclosing spans to search.
const MOST_AROUND: usize = 1000;

/// The spans of one trace, in the order of their starts.
pub(crate) struct Tree<'s> {
    pub(crate) spans: &'s [Span<'s>],
    kinds: Vec<Kind>,
    parents: Vec<Option<At>>,
    positions: HashMap<&'s str, At>,
    /// For each tool span, the innermost tool span that records the same call. For each other span, its own index.
    calls: Vec<At>,
    /// Calls recorded in the spans that enclose tool spans.
    pub(crate) calls_around: CallsAround<'s>,
    /// For each agent span, the outermost span of the same agent; see [`Self::outermost_agent`]. For each
    /// other span, its own index.
    outermost: Vec<At>,
    /// True if missing parents may still arrive.
    is_open: bool,
}

/// The agent that a span belongs to, or the trace itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Owner {
    /// The trace, outside any agent span.
    Trace,
    /// The agent whose outermost span this is.
    Agent(At),
    /// An agent that was called by this tool span and has no span of its own.
    Tool(At),
    /// An agent that the framework names in an attribute, with the tool span that called it, if any.
    Named(Option<At>, String),
    /// Not yet known, because the parent span with this id is missing and may still arrive.
    Below(String),
}

impl<'s> Tree<'s> {
    /// Builds the tree of a trace. If the trace is open, missing spans may still arrive. Until then, subtrees with
    /// different missing parents may or may not belong to the same run.
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
        tree.find_wrappers();
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

    /// Returns the ancestors of a span, innermost first.
    pub(crate) fn ancestors(&self, at: At) -> impl Iterator<Item = At> {
        std::iter::successors(self.parent(at), |at| self.parent(*at)).take(MOST_AROUND)
    }

    /// Returns true if this span is missing but may still arrive. Log records that refer to it must wait.
    pub(crate) fn is_awaited(&self, span_id: &str) -> bool {
        self.is_open && !span_id.is_empty() && !self.positions.contains_key(span_id)
    }

    /// Returns the spans of a kind, in order.
    pub(crate) fn of_kind(&self, kind: Kind) -> impl Iterator<Item = At> {
        self.kinds.iter().enumerate().filter(move |(_, other)| **other == kind).map(|(at, _)| at)
    }

    pub(crate) fn tools(&self) -> impl Iterator<Item = At> {
        self.of_kind(Kind::Tool).filter(|at| self.call_of(*at) == *at)
    }

    /// Returns the innermost tool span that records the same call as this one.
    pub(crate) fn call_of(&self, at: At) -> At {
        self.calls.get(at).copied().unwrap_or(at)
    }

    /// Returns all tool spans that record a call, innermost first. `call` is the innermost one.
    pub(crate) fn views(&self, call: At) -> Vec<At> {
        let shows = |at: &At| self.kind(*at) == Kind::Chain || self.call_of(*at) == call;
        let around = self.ancestors(call).take_while(shows).filter(|at| self.kind(*at) == Kind::Tool);
        std::iter::once(call).chain(around).collect()
    }

    /// Breaks each cycle of parents by dropping one of its links. Visits each span once.
    fn cut_circles(&mut self) {
        // For each span, the start of the walk that visited it.
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

    /// Makes chains of the model spans that only wrap other model spans.
    fn find_wrappers(&mut self) {
        let models: BTreeSet<At> = self.of_kind(Kind::Model).collect();
        let may_wrap = |at: &At| self.span(*at).is_some_and(kinds::may_wrap_model);
        let outer: BTreeSet<At> = models.iter().copied().filter(may_wrap).collect();
        if outer.is_empty() {
            return;
        }
        let around = models.iter().flat_map(|at| self.ancestors(*at));
        let wrappers: BTreeSet<At> = around.filter(|at| outer.contains(at)).collect();
        for at in wrappers {
            if let Some(kind) = self.kinds.get_mut(at) {
                *kind = Kind::Chain;
            }
        }
    }

    /// Links each tool span to the one nested tool span that records the same call, if there is exactly one.
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
        // Follow chains of nested spans to the innermost one. Each edge is followed once.
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

    /// Returns true if two tool spans record the same call: the names are equal, or the outer one ends in `.` and the
    /// inner one, and the ids are equal if both spans have one.
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

    /// Returns true if the enclosing span `outer` records the same call as `at`.
    fn is_view(&self, outer: At, at: At) -> bool {
        self.kind(at) == Kind::Tool && self.call_of(outer) == self.call_of(at)
    }

    /// Returns the owner of a model or tool span: the agent that LangGraph names, or else that of the enclosing spans.
    pub(crate) fn owner(&self, at: At) -> Owner {
        if let Some(name) = self.span(at).and_then(kinds::graph_agent) {
            let mut tools = self.ancestors(at).filter(|outer| self.kind(*outer) == Kind::Tool);
            let tool = tools.find(|outer| !self.is_view(*outer, at)).map(|outer| self.call_of(outer));
            return Owner::Named(tool, name.into_owned());
        }
        self.owner_above(at)
    }

    /// Returns the owner implied by the spans that enclose this one; those that record the same call are skipped. The
    /// AI SDK emits no agent spans; a function named in its spans stands for the agent.
    fn owner_above(&self, at: At) -> Owner {
        let function = |at: At| self.span(at)?.attributes.name(Attr::AiFunction).map(str::to_owned);
        let (mut name, mut top) = (function(at), at);
        for outer in self.ancestors(at) {
            match self.kind(outer) {
                Kind::Tool if !self.is_view(outer, at) => {
                    let tool = self.call_of(outer);
                    return match name {
                        Some(name) => Owner::Named(Some(tool), name),
                        None => Owner::Tool(tool),
                    };
                }
                Kind::Agent => return Owner::Agent(self.outermost_agent(outer)),
                _ => top = outer,
            }
            name = name.or_else(|| function(outer));
        }
        if let Some(name) = name {
            return Owner::Named(None, name);
        }
        let parent = self.span(top).and_then(|span| span.parent.as_deref());
        match parent.filter(|parent| self.is_awaited(parent)) {
            Some(parent) => Owner::Below(parent.to_owned()),
            None => Owner::Trace,
        }
    }

    /// Returns the owner that encloses another one, or `None` if nothing encloses it.
    pub(crate) fn owner_around(&self, owner: &Owner) -> Option<Owner> {
        match owner {
            // An agent below a tool span is enclosed by the agent that made that call.
            Owner::Agent(at) => Some(match self.owner_above(*at) {
                Owner::Tool(tool) => self.owner(tool),
                owner => owner,
            }),
            Owner::Tool(tool) | Owner::Named(Some(tool), _) => Some(self.owner(*tool)),
            Owner::Trace | Owner::Named(None, _) | Owner::Below(_) => None,
        }
    }

    /// Returns, for each owner, the index of its caller: the nearest of `owners` that encloses it.
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
                // Owners in a cycle have no caller.
                known.insert(outer.clone(), None);
                path.push(outer);
            }
            known.extend(path.into_iter().map(|owner| (owner, found)));
            callers.push(found.filter(|caller| *caller != number));
        }
        callers
    }

    /// Returns the outermost agent span that has the same name and encloses this one, with no tool span in
    /// between.
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

/// Returns the call id in the attributes of a tool span, unless it is a placeholder.
pub(crate) fn call_id<'s>(span: &'s Span<'_>) -> Option<&'s str> {
    let id = span.attributes.first_name(&[
        Attr::ToolCallId,
        Attr::ToolCallIdOfGemini,
        Attr::ToolId,
        Attr::AiToolId,
    ])?;
    (!id.starts_with('<')).then_some(id)
}
