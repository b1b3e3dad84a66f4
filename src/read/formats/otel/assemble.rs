//! Builds the runs of agents from the spans and log records of one trace.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::answers::Sources;
use super::callers::Callers;
use super::classify::{self, Kind};
use super::logs::{self, Records};
use super::model::{LogRecord, Span};
use super::request::Request;
use super::requests;
use super::run::AgentRun;
use super::tree::{At, Owner, Tree};

/// Attributes that identify conversations.
const CONVERSATION: &[&str] = &["gen_ai.conversation.id", "session.id", "gcp.vertex.agent.session_id"];

/// Returns the runs of the agents of one trace. Spans are in the order of their starts, records in the order of their
/// times. Empty if there is no span of an agent, a model or a tool, and no record of a request.
pub(crate) fn runs(spans: &[Span<'_>], logs: &[LogRecord<'_>], text_rule: bool) -> Vec<AgentRun> {
    of_tree(&Tree::new(spans), logs, text_rule)
}

/// Like [`runs`], for the settled part of an open trace: anything below a missing span is a run of its own, and a last
/// turn with an unanswered call is left out.
pub(crate) fn runs_so_far(spans: &[Span<'_>], logs: &[LogRecord<'_>], text_rule: bool) -> Vec<AgentRun> {
    let mut runs = of_tree(&Tree::open(spans), logs, text_rule);
    for run in &mut runs {
        run.leave_out_waiting();
    }
    runs
}

/// Returns true if a trace without a root span is over: spans whose parents are missing have ended, and some of them
/// are of agents, or have a parent in another process.
pub(crate) fn are_whole_below(spans: &[Span<'_>]) -> bool {
    let ids: HashSet<&str> = spans.iter().map(|span| &*span.span_id).collect();
    let tops = || spans.iter().filter(|span| !ids.contains(span.parent.as_deref().unwrap_or_default()));
    tops().all(|span| span.end.is_some())
        && tops().any(|span| span.is_parent_remote || classify::kind(span) == Kind::Agent)
}

fn of_tree<'s>(tree: &Tree<'s, 's>, log_records: &'s [LogRecord<'_>], text_rule: bool) -> Vec<AgentRun> {
    let records = logs::records(tree, log_records);
    let mut tools: BTreeMap<Owner, Vec<At>> = BTreeMap::new();
    for at in tree.tools() {
        tools.entry(tree.owner(at)).or_default().push(at);
    }
    let of_agents = requests::requests(tree, &records, &tools);
    let mut owners: BTreeSet<Owner> = of_agents.keys().chain(tools.keys()).cloned().collect();
    if owners.is_empty() {
        // An agent was there and did nothing.
        owners.extend(tree.of_kind(Kind::Agent).next().map(|at| Owner::Agent(tree.outermost_agent(at))));
    }
    let none = (Vec::new(), Vec::new());
    let sources = Sources::new(tree, of_agents.values().flatten());
    let mut names: BTreeMap<&str, Option<At>> = BTreeMap::new();
    for at in tree.of_kind(Kind::Agent) {
        if let Some(name) = tree.span(at).and_then(classify::agent_name) {
            names.entry(name).or_insert(Some(at));
        }
    }
    for owner in &owners {
        if let Owner::Named(_, name) = owner {
            names.entry(name).or_default();
        }
    }
    let mut drafts: Vec<Draft<'_, 's>> = Vec::with_capacity(owners.len());
    for owner in &owners {
        let requests = of_agents.get(owner).unwrap_or(&none.0);
        let tools = tools.get(owner).unwrap_or(&none.1);
        let first = requests.iter().map(|request| request.start);
        let first = first.chain(tools.iter().filter_map(|at| Some(tree.span(*at)?.start))).min();
        drafts.push(Draft { owner, requests, tools, start: first.unwrap_or_default() });
    }
    drafts.sort_by(|a, b| a.start.cmp(&b.start).then_with(|| a.owner.cmp(b.owner)));
    let mut agents: BTreeMap<Owner, Vec<At>> = BTreeMap::new();
    for at in tree.of_kind(Kind::Agent).filter(|at| tree.outermost_agent(*at) == *at) {
        let own = Owner::Agent(at);
        if let Some(caller) = tree.owner_around(&own).filter(|caller| *caller != own) {
            agents.entry(caller).or_default().push(at);
        }
    }
    let has_conversation = tree.spans.iter().any(|span| span.attributes.first_name(CONVERSATION).is_some());
    let trace_id = tree.spans.first().map(|span| &*span.trace_id);
    let trace_id = trace_id.or_else(|| Some(&*log_records.first()?.trace_id)).unwrap_or_default();
    let trace = TraceContext {
        tree,
        trace_id,
        records: &records,
        sources: &sources,
        names: &names,
        agents: &agents,
        text_rule,
        has_conversation,
        is_pydantic: tree.spans.iter().any(|span| span.scope == "pydantic-ai"),
        failed_steps: OnceCell::new(),
    };
    trace.runs(&drafts)
}

/// Facts about an agent's run before it is built.
pub(super) struct Draft<'r, 's> {
    pub(super) owner: &'r Owner,
    pub(super) requests: &'r [Request<'s>],
    pub(super) tools: &'r [At],
    pub(super) start: u64,
}

/// The inputs for the runs of a trace.
pub(super) struct TraceContext<'t, 's> {
    pub(super) tree: &'t Tree<'s, 's>,
    trace_id: &'t str,
    pub(super) records: &'t Records<'s>,
    pub(super) sources: &'t Sources<'t, 's>,
    /// Names of agents, each with the first agent span of that name.
    pub(super) names: &'t BTreeMap<&'t str, Option<At>>,
    /// The outermost agent spans that each owner calls.
    pub(super) agents: &'t BTreeMap<Owner, Vec<At>>,
    pub(super) text_rule: bool,
    /// True if any span names a conversation.
    has_conversation: bool,
    /// True if any span is of Pydantic AI.
    pub(super) is_pydantic: bool,
    /// Number of requests in each failed step, computed on demand.
    pub(super) failed_steps: OnceCell<HashMap<At, usize>>,
}

impl<'s> TraceContext<'_, 's> {
    fn runs(&self, drafts: &[Draft<'_, 's>]) -> Vec<AgentRun> {
        let mut ids: Vec<String> = Vec::with_capacity(drafts.len());
        let mut runs: Vec<AgentRun> = Vec::with_capacity(drafts.len());
        // An agent that calls another may do nothing itself before.
        let mut finder = Callers::new(self.tree, drafts.iter().map(|draft| draft.owner));
        let callers: Vec<Option<usize>> = drafts.iter().map(|draft| finder.caller(draft.owner)).collect();
        let trace_id = self.trace_id;
        let main = callers.iter().position(Option::is_none).unwrap_or_default();
        for (number, draft) in drafts.iter().enumerate() {
            ids.push(if number == main {
                trace_id.to_owned()
            } else {
                format!("{trace_id}/{}", self.key(draft))
            });
        }
        let first_name = drafts.get(main).and_then(|draft| self.name(draft));
        for (number, draft) in drafts.iter().enumerate() {
            let name = self.name(draft);
            let parent = match callers.get(number).copied().flatten() {
                Some(caller) => ids.get(caller).cloned(),
                // The second agent of a hand-off.
                None if number != main && name != first_name => ids.get(main).cloned(),
                None => None,
            };
            let own = self.own_span(draft);
            runs.push(AgentRun {
                id: ids.get(number).cloned().unwrap_or_default(),
                span: own.and_then(|at| Some(self.tree.span(at)?.span_id.to_string())),
                agent: name,
                parent,
                model: draft.requests.iter().find_map(|request| request.model).map(str::to_owned),
                conversation: self.conversation(draft, own),
                resource: own
                    .and_then(|at| self.tree.span(at)?.resource.clone())
                    .or_else(|| self.tree.spans.first()?.resource.clone()),
                steps: self.steps(draft),
            });
        }
        runs
    }

    /// Returns the span that identifies an agent.
    fn own_span(&self, draft: &Draft<'_, 's>) -> Option<At> {
        match draft.owner {
            Owner::Agent(at) => return Some(*at),
            Owner::Tool(tool) => return Some(*tool),
            Owner::Named(_, name) => {
                if let Some(at) = self.names.get(&**name).copied().flatten() {
                    return Some(at);
                }
            }
            Owner::Trace | Owner::Below(_) => {}
        }
        let requests = draft.requests.iter().filter_map(|request| request.spans.first().copied());
        requests.chain(draft.tools.iter().copied()).min()
    }

    fn key(&self, draft: &Draft<'_, 's>) -> String {
        match draft.owner {
            Owner::Named(None, name) => name.clone(),
            Owner::Named(Some(at), _) | Owner::Tool(at) | Owner::Agent(at) => {
                self.tree.span(*at).map(|span| span.span_id.to_string()).unwrap_or_default()
            }
            Owner::Below(id) => id.clone(),
            Owner::Trace => "trace".to_owned(),
        }
    }

    fn name(&self, draft: &Draft<'_, 's>) -> Option<String> {
        match draft.owner {
            Owner::Agent(at) => classify::agent_name(self.tree.span(*at)?).map(str::to_owned),
            Owner::Named(_, name) => Some(name.clone()),
            Owner::Tool(_) | Owner::Trace | Owner::Below(_) => {
                let spans = draft.requests.iter().flat_map(|request| request.spans.iter());
                spans.chain(draft.tools).find_map(|at| {
                    Some(self.tree.span(*at)?.attributes.name("gen_ai.agent.name")?.to_owned())
                })
            }
        }
    }

    fn conversation(&self, draft: &Draft<'_, 's>, own: Option<At>) -> Option<String> {
        if !self.has_conversation {
            return None;
        }
        let spans = draft.requests.iter().flat_map(|request| request.spans.iter().copied());
        let all = own.into_iter().chain(spans).chain(draft.tools.iter().copied());
        let named = |at: At| Some(self.tree.span(at)?.attributes.first_name(CONVERSATION)?.to_owned());
        all.into_iter().find_map(|at| named(at).or_else(|| self.tree.ancestors(at).find_map(named)))
    }
}
