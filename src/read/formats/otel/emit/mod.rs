//! Builds the runs of the agents in a trace from its spans and log records.

mod asked;
mod cli_log;
mod run;
mod steps;

use std::collections::{BTreeMap, BTreeSet, HashSet};

pub(crate) use run::{AgentRun, RESOURCE_LABEL, SPAN_LABEL};

use super::infer::answers;
use super::infer::calls::{self, Action};
use super::infer::events::{self, Records};
use super::infer::kinds::{self, Kind};
use super::infer::outcomes::{self, Outcomes};
use super::infer::request::{self, Request};
use super::infer::requests;
use super::infer::tree::{At, Owner, Tree};
use super::model::cli_log::own_traces;
use super::model::{Attr, Bundle, Collection, LogRecord, Span, put_in_order};
use super::{infer, model};
use crate::read::runs::Runs;
use crate::trace::{Metadata, RouteStatus, RunSummary};

/// Attributes that identify conversations.
const CONVERSATION: &[Attr] =
    &[Attr::ConversationId, Attr::SessionId, Attr::AdkSession, Attr::AiSession, Attr::MonocleSession];

impl Collection<'_> {
    /// Reports skipped parts and errors, and emits the agent runs of all traces, in the order in which the traces
    /// began. If several inputs are joined, sets the spans aside instead.
    pub(super) fn give(mut self, runs: &mut Runs<'_>) {
        self.account(runs);
        if runs.joins {
            return runs.set_aside(self.into());
        }
        let text_rule = runs.options.text_errors;
        let mut traces: Vec<Bundle<'_>> = self.traces.into_values().collect();
        // Traces with the same start are ordered by trace id. Sessions in log records come last, because those whose
        // spans were read are skipped.
        traces.sort_by_cached_key(|bundle| (own_traces(&bundle.logs).next().is_some(), bundle.start()));
        let mut known: HashSet<String> = HashSet::new();
        for Bundle { spans, logs } in traces {
            if own_traces(&logs).any(|trace| known.contains(trace)) {
                runs.pass_over("sessions in log records that were already read as spans", 1);
                continue;
            }
            let trace = spans.first().map(|span| span.trace_id.to_string());
            let agents = runs_of_trace(spans, logs, text_rule);
            known.extend(trace.filter(|_| !agents.is_empty()));
            if agents.is_empty() {
                runs.pass_over("traces without agent, model or tool spans", 1);
            }
            for mut run in agents {
                runs.leave_out(run.said);
                let routing = RouteStatus::Unknown("spans do not record a reference route".into());
                runs.give(&mut run.steps, RunSummary::new(run.metadata, None), &routing);
            }
        }
    }
}

/// Returns the agent runs of one trace. Its spans and log records may be in any order and repeated. Returns no run if
/// the trace has neither an agent, model or tool span nor a log record that shows a request.
pub(crate) fn runs_of_trace(
    mut spans: Vec<Span<'_>>,
    mut logs: Vec<LogRecord<'_>>,
    text_rule: bool,
) -> Vec<AgentRun> {
    put_in_order(&mut spans, &mut logs);
    runs(&Tree::new(&spans, false), &logs, text_rule)
}

/// Like [`runs_of_trace`], for the settled part of an open trace. Callers must pass spans and log records in order.
/// Spans below a missing span form a separate run. A run's last turn is omitted while one of its calls is unanswered.
pub(crate) fn runs_so_far(spans: &[Span<'_>], logs: &[LogRecord<'_>], text_rule: bool) -> Vec<AgentRun> {
    let mut runs = runs(&Tree::new(spans, true), logs, text_rule);
    runs.iter_mut().for_each(AgentRun::drop_unanswered_turn);
    runs
}

/// Facts that the runs of a trace share.
struct TraceContext<'t, 's> {
    tree: &'t Tree<'s>,
    records: &'t Records<'s>,
    /// The first agent span of each name; `None` for names without a span.
    names: BTreeMap<&'t str, Option<At>>,
    outcomes: Outcomes<'t, 's>,
    has_conversation: bool,
    is_pydantic: bool,
}

/// An agent's run before it is built.
struct Draft<'t, 's> {
    owner: &'t Owner,
    requests: &'t [Request<'s>],
    tools: &'t [At],
    start: u64,
}

fn runs<'s>(tree: &Tree<'s>, logs: &'s [LogRecord<'_>], text_rule: bool) -> Vec<AgentRun> {
    if tree.spans.is_empty()
        && let Some(run) = cli_log::run(logs)
    {
        return vec![run];
    }
    let records = events::records(tree, logs);
    let mut tools: BTreeMap<Owner, Vec<At>> = BTreeMap::new();
    for at in tree.tools() {
        tools.entry(tree.owner(at)).or_default().push(at);
    }
    let requests = requests::requests(tree, &records, &tools);
    let idle = tree.of_kind(Kind::Agent).next().map(|at| Owner::Agent(tree.outermost_agent(at)));
    let mut owners: BTreeSet<&Owner> = requests.keys().chain(tools.keys()).collect();
    if owners.is_empty() {
        // If there are only agents that did nothing, the first of them still has a run.
        owners.extend(&idle);
    }
    let mut names: BTreeMap<&str, Option<At>> = BTreeMap::new();
    let mut agents: BTreeMap<Owner, Vec<At>> = BTreeMap::new();
    for at in tree.of_kind(Kind::Agent) {
        if let Some(name) = tree.span(at).and_then(kinds::agent_name) {
            names.entry(name).or_insert(Some(at));
        }
        let own = Owner::Agent(at);
        if tree.outermost_agent(at) == at
            && let Some(caller) = tree.owner_around(&own).filter(|caller| *caller != own)
        {
            agents.entry(caller).or_default().push(at);
        }
    }
    let mut drafts: Vec<Draft<'_, 's>> = Vec::with_capacity(owners.len());
    for owner in owners {
        if let Owner::Named(_, name) = owner {
            names.entry(name).or_default();
        }
        let requests = requests.get(owner).map(Vec::as_slice).unwrap_or_default();
        let tools = tools.get(owner).map(Vec::as_slice).unwrap_or_default();
        let starts = tools.iter().filter_map(|at| Some(tree.span(*at)?.start));
        let start = requests.iter().map(|request| request.start).chain(starts).min();
        drafts.push(Draft { owner, requests, tools, start: start.unwrap_or_default() });
    }
    drafts.sort_by_key(|draft| (draft.start, draft.owner));
    let mut actions: Vec<Vec<Action<'s>>> = Vec::with_capacity(drafts.len());
    let mut wanted = Vec::new();
    for (run, draft) in drafts.iter().enumerate() {
        let agents = agents.get(draft.owner).map(Vec::as_slice).unwrap_or_default();
        let own = calls::actions(tree, draft.requests, draft.tools, agents);
        let numbered = own.iter().enumerate();
        wanted.extend(numbered.filter_map(|(n, action)| outcomes::wanted(draft.requests, action, (run, n))));
        actions.push(own);
    }
    let mut replies = answers::find(tree, &records, requests.values().flatten(), wanted);
    let trace = TraceContext {
        tree,
        records: &records,
        names,
        outcomes: Outcomes::new(tree, text_rule),
        has_conversation: tree.spans.iter().any(|span| span.attributes.first_name(CONVERSATION).is_some()),
        is_pydantic: tree.spans.iter().any(|span| span.scope == "pydantic-ai"),
    };
    let trace_id = tree.spans.first().map(|span| &*span.trace_id);
    let ids = trace.ids(&drafts, trace_id.or_else(|| Some(&*logs.first()?.trace_id)).unwrap_or_default());
    let mut runs = Vec::with_capacity(drafts.len());
    for (number, ((draft, actions), (id, parent))) in drafts.iter().zip(actions).zip(ids).enumerate() {
        let count = actions.len() as u64;
        let replies = (0..actions.len()).map(|action| replies.remove(&(number, action))).collect();
        let steps = trace.steps(draft, actions, replies);
        let said = count.saturating_sub(steps.actions());
        let metadata = Metadata { id: Some(id.clone()), parent, ..trace.metadata(draft) };
        runs.push(AgentRun { id, metadata, steps, said });
    }
    runs
}

impl<'s> TraceContext<'_, 's> {
    /// Returns the id of each run, and that of its caller, if it has one.
    fn ids(&self, drafts: &[Draft<'_, 's>], trace_id: &str) -> Vec<(String, Option<String>)> {
        // The main run is not always the first: an agent may call another before it does anything else.
        let callers = self.tree.callers(&drafts.iter().map(|draft| draft.owner).collect::<Vec<_>>());
        let main = callers.iter().position(Option::is_none).unwrap_or_default();
        let id_of = |number: usize| match drafts.get(number).map(|draft| draft.owner) {
            Some(Owner::Named(None, key) | Owner::Below(key)) if number != main => {
                format!("{trace_id}/{key}")
            }
            Some(Owner::Named(Some(at), _) | Owner::Tool(at) | Owner::Agent(at)) if number != main => {
                format!("{trace_id}/{}", self.tree.span(*at).map(|span| &*span.span_id).unwrap_or_default())
            }
            Some(Owner::Trace) if number != main => format!("{trace_id}/trace"),
            _ => trace_id.to_owned(),
        };
        let first_name = drafts.get(main).and_then(|draft| self.name(draft));
        let runs = drafts.iter().zip(callers).enumerate().map(|(number, (draft, caller))| {
            // An agent that has no caller, and not the main agent's name, took over from the main agent.
            let took_over = number != main && self.name(draft) != first_name;
            (id_of(number), caller.or(took_over.then_some(main)).map(id_of))
        });
        runs.collect()
    }

    /// Returns the metadata of a run other than its ids.
    fn metadata(&self, draft: &Draft<'_, 's>) -> Metadata {
        let own = self.own_span(draft).and_then(|at| self.tree.span(at));
        let sender = own.and_then(|span| span.resource.as_ref());
        let sender = sender.or_else(|| self.tree.spans.first()?.resource.as_ref()).into_iter();
        let labels = sender.flat_map(|attributes| attributes.iter());
        let labels = labels.map(|(key, value)| (format!("{RESOURCE_LABEL}{key}"), value.clone()));
        let own_id = own.map(|span| (SPAN_LABEL.to_owned(), span.span_id.to_string()));
        let conversation = self.conversation(draft).map(|id| ("conversation".to_owned(), id.to_owned()));
        let models = draft.requests.iter().filter_map(|request| request.model);
        let of_agent = self.agent_span(draft).and_then(|(_, span)| request::model(&span.attributes));
        // Tools may run below a span that names the model and records no messages.
        let around = || {
            let is_same_run = |at: &At| matches!(self.tree.kind(*at), Kind::Model | Kind::Chain);
            let mut around = self.tree.ancestors(self.own_span(draft)?).take_while(is_same_run);
            around.find_map(|at| request::model(&self.tree.span(at)?.attributes))
        };
        Metadata {
            agent: self.name(draft).map(Into::into),
            model: models.chain(of_agent).next().or_else(around).map(Into::into),
            labels: labels.chain(own_id).chain(conversation).collect(),
            ..Metadata::default()
        }
    }

    /// Returns the spans of an agent's requests and tools.
    fn spans<'d>(draft: &'d Draft<'_, 's>) -> impl Iterator<Item = At> + use<'d, 's> {
        draft.requests.iter().flat_map(|request| &request.spans).chain(draft.tools).copied()
    }

    /// Returns the agent span of a run, if the run has one.
    fn agent_span(&self, draft: &Draft<'_, 's>) -> Option<(At, &'s Span<'s>)> {
        let Owner::Agent(at) = draft.owner else { return None };
        self.tree.span(*at).map(|span| (*at, span))
    }

    /// Returns the span that identifies a run: its agent's, or that of the tool call that started it, or else the
    /// earliest of its requests and tools.
    fn own_span(&self, draft: &Draft<'_, 's>) -> Option<At> {
        let named = match draft.owner {
            Owner::Agent(at) | Owner::Tool(at) => Some(*at),
            Owner::Named(_, name) => self.names.get(&**name).copied().flatten(),
            Owner::Trace | Owner::Below(_) => None,
        };
        let requests = draft.requests.iter().filter_map(|request| request.spans.first());
        named.or_else(|| requests.chain(draft.tools).min().copied())
    }

    fn name<'d>(&self, draft: &Draft<'d, 's>) -> Option<&'d str>
    where
        's: 'd,
    {
        let of = |at: At| self.tree.span(at)?.attributes.name(Attr::GenAiAgentName);
        match draft.owner {
            Owner::Agent(at) => kinds::agent_name(self.tree.span(*at)?),
            Owner::Named(_, name) => Some(&**name),
            Owner::Tool(_) | Owner::Trace | Owner::Below(_) => Self::spans(draft).find_map(of),
        }
    }

    fn conversation(&self, draft: &Draft<'_, 's>) -> Option<&'s str> {
        if !self.has_conversation {
            return None;
        }
        let named = |at: At| self.tree.span(at)?.attributes.first_name(CONVERSATION);
        let mut all = self.own_span(draft).into_iter().chain(Self::spans(draft));
        all.find_map(|at| named(at).or_else(|| self.tree.ancestors(at).find_map(named)))
    }
}
