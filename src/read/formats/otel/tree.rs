//! The tree of one trace: parents, calls that two spans show, and the agent run of each span.

use std::collections::{BTreeMap, HashMap};

use super::arguments::CallsAround;
use super::classify::{self, Kind};
use super::model::Span;

/// The index of a span in its trace.
pub(super) type At = usize;

/// Limit of enclosing spans that are searched.
pub(super) const MOST_AROUND: usize = 1000;

/// The spans of one trace, in the order of their starts.
pub(super) struct Tree<'s, 'a> {
    pub(super) spans: &'s [Span<'a>],
    pub(super) kinds: Vec<Kind>,
    parents: Vec<Option<At>>,
    positions: HashMap<&'s str, At>,
    /// For a tool span, the innermost one that shows the same call; for other spans, themselves.
    calls: Vec<At>,
    /// Calls in spans around tool spans.
    pub(super) calls_around: CallsAround<'s>,
    /// For an agent span, the outermost one of its name, see [`Self::outermost_agent`]; for other spans, themselves.
    outermost: Vec<At>,
    /// True if missing parents may still arrive.
    is_open: bool,
}

/// The owner of a span.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Owner {
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

impl<'s, 'a> Tree<'s, 'a> {
    /// Builds the tree of a trace that is over: missing spans are lost.
    pub(super) fn new(spans: &'s [Span<'a>]) -> Self {
        Self::of(spans, false)
    }

    /// Builds the tree of an open trace: missing spans may still arrive, and until then it is unknown whether the parts
    /// below two of them belong to the same run.
    pub(super) fn open(spans: &'s [Span<'a>]) -> Self {
        Self::of(spans, true)
    }

    fn of(spans: &'s [Span<'a>], is_open: bool) -> Self {
        let positions: HashMap<&str, At> =
            spans.iter().enumerate().map(|(at, span)| (&*span.span_id, at)).collect();
        let parents = spans.iter().map(|span| positions.get(span.parent.as_deref()?).copied()).collect();
        let kinds = spans.iter().map(classify::kind).collect();
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

    pub(super) fn span(&self, at: At) -> Option<&'s Span<'a>> {
        self.spans.get(at)
    }

    pub(super) fn kind(&self, at: At) -> Kind {
        self.kinds.get(at).copied().unwrap_or(Kind::Chain)
    }

    pub(super) fn position(&self, span_id: &str) -> Option<At> {
        self.positions.get(span_id).copied()
    }

    pub(super) fn parent(&self, at: At) -> Option<At> {
        self.parents.get(at).copied().flatten()
    }

    /// Returns the spans around a span, innermost first.
    pub(super) fn ancestors(&self, at: At) -> impl Iterator<Item = At> {
        std::iter::successors(self.parent(at), |at| self.parent(*at)).take(MOST_AROUND)
    }

    /// Returns true if a record of this span must wait for it.
    pub(super) fn is_awaited(&self, span_id: &str) -> bool {
        self.is_open && !span_id.is_empty() && !self.positions.contains_key(span_id)
    }

    /// Returns the owner of a span without an enclosing tool or agent.
    fn owner_at_top(&self, at: At) -> Owner {
        let top = self.ancestors(at).last().unwrap_or(at);
        let parent = self.span(top).and_then(|span| span.parent.as_deref());
        match parent.filter(|parent| self.is_awaited(parent)) {
            Some(parent) => Owner::Below(parent.to_owned()),
            None => Owner::Trace,
        }
    }

    /// Returns the spans of a kind, in order.
    pub(super) fn of_kind(&self, kind: Kind) -> impl Iterator<Item = At> {
        self.kinds.iter().enumerate().filter(move |(_, other)| **other == kind).map(|(at, _)| at)
    }

    /// Returns the tool spans that are innermost for their calls.
    pub(super) fn tools(&self) -> impl Iterator<Item = At> {
        self.of_kind(Kind::Tool).filter(|at| self.call_of(*at) == *at)
    }

    /// Returns the innermost tool span of the call that a tool span shows.
    pub(super) fn call_of(&self, at: At) -> At {
        self.calls.get(at).copied().unwrap_or(at)
    }

    /// Returns the tool spans that show the call of an innermost one, innermost first.
    pub(super) fn views(&self, call: At) -> Vec<At> {
        let shows = |at: &At| self.kind(*at) == Kind::Chain || self.call_of(*at) == call;
        let around = self.ancestors(call).take_while(shows).filter(|at| self.kind(*at) == Kind::Tool);
        std::iter::once(call).chain(around).collect()
    }

    /// Drops parents that form a cycle. Visits each span once.
    fn cut_circles(&mut self) {
        // 0: not visited, 1: on the current path, 2: known to end.
        let mut seen = vec![0_u8; self.parents.len()];
        let mut path = Vec::new();
        for start in 0..self.parents.len() {
            let mut next = Some(start);
            while let Some(at) = next {
                match seen.get_mut(at) {
                    Some(mark @ 0) => *mark = 1,
                    Some(1) => {
                        if let Some(parent) = path.last().and_then(|last: &At| self.parents.get_mut(*last)) {
                            *parent = None;
                        }
                        break;
                    }
                    _ => break,
                }
                path.push(at);
                next = self.parent(at);
            }
            for at in path.drain(..) {
                if let Some(mark) = seen.get_mut(at) {
                    *mark = 2;
                }
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
        let (outside, inside) = (classify::tool_name(outer), classify::tool_name(inner));
        let same_name =
            outside == inside || outside.strip_suffix(inside).is_some_and(|prefix| prefix.ends_with('.'));
        same_name
            && match (call_id(outer), call_id(inner)) {
                (Some(outer), Some(inner)) => outer == inner,
                _ => true,
            }
    }

    /// Returns the tool span that a span lies below, other than those of its own call.
    fn tool_around(&self, at: At) -> Option<At> {
        let own = self.call_of(at);
        let around = self.ancestors(at).find(|outer| {
            self.kind(*outer) == Kind::Tool && !(self.kind(at) == Kind::Tool && self.call_of(*outer) == own)
        });
        around.map(|outer| self.call_of(outer))
    }

    /// Returns the owner of a model or tool span.
    pub(super) fn owner(&self, at: At) -> Owner {
        if let Some(name) = self.span(at).and_then(classify::graph_agent) {
            return Owner::Named(self.tool_around(at), name.into_owned());
        }
        let own = self.call_of(at);
        for outer in self.ancestors(at) {
            match self.kind(outer) {
                Kind::Tool if self.kind(at) == Kind::Tool && self.call_of(outer) == own => {}
                Kind::Tool => return Owner::Tool(self.call_of(outer)),
                Kind::Agent => return Owner::Agent(self.outermost_agent(outer)),
                Kind::Model | Kind::Chain => {}
            }
        }
        self.owner_at_top(at)
    }

    /// Returns the outermost of nested agent spans of one name without a tool span between them.
    pub(super) fn outermost_agent(&self, at: At) -> At {
        self.outermost.get(at).copied().unwrap_or(at)
    }

    fn find_outermost_agents(&mut self) {
        // Names are interned; 0 means no agent.
        let mut numbers: HashMap<Option<&str>, usize> = HashMap::new();
        let mut names = vec![0; self.spans.len()];
        for (at, name) in names.iter_mut().enumerate() {
            if self.kind(at) == Kind::Agent {
                let next = numbers.len() + 1;
                *name = *numbers.entry(self.span(at).and_then(classify::agent_name)).or_insert(next);
            }
        }
        for (at, name) in names.iter().enumerate().filter(|(_, name)| **name != 0) {
            let within = self.ancestors(at).take_while(|outer| self.kind(*outer) != Kind::Tool);
            let last = within.filter(|outer| names.get(*outer) == Some(name)).last();
            if let (Some(last), Some(slot)) = (last, self.outermost.get_mut(at)) {
                *slot = last;
            }
        }
    }

    /// Returns the owner of the first span of an owner's run, or `None` if nothing encloses it.
    pub(super) fn owner_around(&self, owner: &Owner) -> Option<Owner> {
        match owner {
            Owner::Agent(at) => Some(self.owner_around_agent(*at)),
            Owner::Tool(tool) | Owner::Named(Some(tool), _) => Some(self.owner(*tool)),
            Owner::Trace | Owner::Named(None, _) | Owner::Below(_) => None,
        }
    }

    fn owner_around_agent(&self, at: At) -> Owner {
        for outer in self.ancestors(at) {
            match self.kind(outer) {
                // The calling agent owns the call.
                Kind::Tool => return self.owner(self.call_of(outer)),
                Kind::Agent => return Owner::Agent(self.outermost_agent(outer)),
                Kind::Model | Kind::Chain => {}
            }
        }
        self.owner_at_top(at)
    }
}

/// Returns the call id that a tool span has itself, unless it is a placeholder.
pub(super) fn call_id<'s>(span: &'s Span<'_>) -> Option<&'s str> {
    let id = span.attributes.first_name(&["gen_ai.tool.call.id", "tool.id"])?;
    (!id.starts_with('<')).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(
        id: &str,
        parent: &str,
        name: &'static str,
        attributes: &[(&'static str, &'static str)],
    ) -> Span<'static> {
        let span = Span {
            span_id: id.to_owned().into(),
            parent: (!parent.is_empty()).then(|| parent.to_owned().into()),
            name: name.into(),
            ..Span::default()
        };
        span.with_attributes(attributes)
    }

    const AGENT: (&str, &str) = ("openinference.span.kind", "AGENT");
    const TOOL: (&str, &str) = ("openinference.span.kind", "TOOL");
    const LLM: (&str, &str) = ("openinference.span.kind", "LLM");

    #[test]
    fn circles_have_an_end() {
        let spans = [
            span("a", "c", "", &[]),
            span("b", "a", "", &[]),
            span("c", "b", "", &[]),
            span("d", "d", "", &[]),
        ];
        let tree = Tree::new(&spans);
        for at in 0..4 {
            assert!(tree.ancestors(at).count() < 3);
        }
    }

    #[test]
    fn two_spans_of_one_call_are_one() {
        let spans = [
            span("a", "", "main.look", &[TOOL, ("tool.name", "look")]),
            span("b", "a", "wrap", &[]),
            span("c", "b", "execute_tool look", &[TOOL, ("gen_ai.tool.call.id", "1")]),
            span("d", "c", "execute_tool look", &[TOOL, ("gen_ai.tool.call.id", "2")]),
        ];
        let tree = Tree::new(&spans);
        assert_eq!(tree.tools().collect::<Vec<_>>(), [2, 3]);
        assert_eq!(tree.views(2), [2, 0]);
        assert_eq!(tree.owner(2), Owner::Trace);
        assert_eq!(tree.owner(3), Owner::Tool(2));
    }

    #[test]
    fn many_views_are_found_in_one_pass() {
        let many = 100_000;
        let spans: Vec<Span<'_>> = (0..many)
            .map(|number| {
                let parent = if number % 2 == 0 { String::new() } else { (number - 1).to_string() };
                span(&number.to_string(), &parent, "look", &[TOOL])
            })
            .collect();
        let tree = Tree::new(&spans);
        assert_eq!(tree.tools().count(), many / 2);
        assert_eq!(tree.views(many - 1), [many - 1, many - 2]);
        // All nested ones are one call.
        let nested: Vec<Span<'_>> = (0..many)
            .map(|number| {
                let parent = number.checked_sub(1).map(|parent| parent.to_string()).unwrap_or_default();
                span(&number.to_string(), &parent, "look", &[TOOL])
            })
            .collect();
        let tree = Tree::new(&nested);
        assert_eq!(tree.tools().collect::<Vec<_>>(), [many - 1]);
        assert_eq!(tree.views(many - 1).len(), MOST_AROUND + 1);
    }

    #[test]
    fn runs_belong_to_their_agents() {
        let spans = [
            span("a", "", "main", &[AGENT]),
            span("b", "a", "main", &[AGENT]),
            span("c", "b", "ask", &[TOOL]),
            span("d", "c", "helper", &[AGENT]),
            span("e", "d", "x", &[LLM]),
            span("f", "b", "other", &[AGENT]),
            span("g", "f", "x", &[LLM]),
        ];
        let tree = Tree::new(&spans);
        assert_eq!(tree.owner(2), Owner::Agent(0));
        assert_eq!(tree.owner(4), Owner::Agent(3));
        assert_eq!(tree.owner_around(&Owner::Agent(3)), Some(Owner::Agent(0)));
        assert_eq!(tree.owner_around(&Owner::Agent(5)), Some(Owner::Agent(0)));
        assert_eq!(tree.owner_around(&Owner::Agent(0)), Some(Owner::Trace));
        assert_eq!(tree.owner_around(&Owner::Trace), None);
    }
}
