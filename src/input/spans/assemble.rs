//! From the spans and log records of one trace to the runs of its agents, and from those to steps.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::answers::{self, Sources};
use super::calls::{self, Action};
use super::classify::{self, Kind};
use super::message::{Block, Reply, Role};
use super::model::{LogRecord, Span};
use super::requests::{self, Records, Request};
use super::status::{self, Verdict};
use super::tree::{At, Owner, Tree};
use super::unwrap::{self, Outcome};
use crate::input::common;
use crate::trace::{Actor, Answer, Assembler, Call, Content, Metadata, Usage};

/// What conversations are known by.
const CONVERSATION: &[&str] = &["gen_ai.conversation.id", "session.id", "gcp.vertex.agent.session_id"];

/// The label of a run that names the span it is known by.
pub(crate) const SPAN_LABEL: &str = "span_id";

/// The run of one agent within a trace.
#[derive(Debug, Clone, Default)]
pub(crate) struct AgentRun {
    /// The trace id; of further agents of the trace, with what tells them apart.
    pub(crate) id: String,
    /// The span that the run is known by: the agent's, else the first of its spans.
    pub(crate) span: Option<String>,
    pub(crate) agent: Option<String>,
    /// The id of the run that called it.
    pub(crate) parent: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) conversation: Option<String>,
    pub(crate) steps: Vec<SpanStep>,
}

/// A step of a run, with the span that shows it.
#[derive(Debug, Clone)]
pub(crate) struct SpanStep {
    pub(crate) turn: u64,
    pub(crate) time: Option<u64>,
    pub(crate) span: Option<String>,
    pub(crate) event: SpanEventStep,
}

/// What happens in a step.
#[derive(Debug, Clone)]
pub(crate) enum SpanEventStep {
    Message(Actor, String),
    Action(Box<SpanAction>),
}

/// An action with its answer, if it has one.
#[derive(Debug, Clone)]
pub(crate) struct SpanAction {
    pub(crate) id: Option<String>,
    pub(crate) name: String,
    pub(crate) arguments: Content<String>,
    pub(crate) usage: Usage,
    pub(crate) answer: Option<Answer<'static>>,
}

/// The runs of the agents of one trace. The spans are in the order of their starts, the records in that of their
/// times. Empty where there is no span of an agent, a model or a tool, and no record of a request.
pub(crate) fn runs(spans: &[Span<'_>], logs: &[LogRecord<'_>], text_rule: bool) -> Vec<AgentRun> {
    let tree = Tree::new(spans);
    let records = requests::records(&tree, logs);
    let of_agents = requests::requests(&tree, &records);
    let mut tools: BTreeMap<Owner, Vec<At>> = BTreeMap::new();
    for at in tree.tools() {
        tools.entry(tree.owner(at)).or_default().push(at);
    }
    let mut owners: BTreeSet<Owner> = of_agents.keys().chain(tools.keys()).cloned().collect();
    if owners.is_empty() {
        // Somebody was there, and did nothing.
        owners.extend(tree.of_kind(Kind::Agent).next().map(|at| Owner::Agent(tree.outermost_agent(at))));
    }
    let none = (Vec::new(), Vec::new());
    let sources = Sources::new(&tree, of_agents.values().flatten());
    let names: BTreeSet<String> = tree
        .of_kind(Kind::Agent)
        .filter_map(|at| Some(classify::agent_name(tree.span(at)?)?.into_owned()))
        .chain(owners.iter().filter_map(|owner| match owner {
            Owner::Named(_, name) => Some(name.clone()),
            _ => None,
        }))
        .collect();
    let mut drafts: Vec<Draft<'_>> = Vec::with_capacity(owners.len());
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
        if let Some(caller) = tree.caller(&Owner::Agent(at), &|_| true) {
            agents.entry(caller).or_default().push(at);
        }
    }
    let trace = Whole {
        tree: &tree,
        records: &records,
        sources: &sources,
        names: &names,
        agents: &agents,
        text_rule,
    };
    trace.runs(&drafts)
}

/// What is known of an agent's run before it is put together.
struct Draft<'r> {
    owner: &'r Owner,
    requests: &'r [Request],
    tools: &'r [At],
    start: u64,
}

/// What is known of a whole trace.
struct Whole<'t, 's, 'a> {
    tree: &'t Tree<'s, 'a>,
    records: &'t Records,
    sources: &'t Sources<'t>,
    names: &'t BTreeSet<String>,
    /// The agents that each calls.
    agents: &'t BTreeMap<Owner, Vec<At>>,
    text_rule: bool,
}

impl Whole<'_, '_, '_> {
    fn runs(&self, drafts: &[Draft<'_>]) -> Vec<AgentRun> {
        let owners: BTreeSet<&Owner> = drafts.iter().map(|draft| draft.owner).collect();
        let exists = |owner: &Owner| owners.contains(owner);
        let mut ids: BTreeMap<&Owner, String> = BTreeMap::new();
        let mut runs: Vec<AgentRun> = Vec::with_capacity(drafts.len());
        // An agent that calls may do nothing of its own before.
        let mut callers: Vec<Option<Owner>> = Vec::with_capacity(drafts.len());
        for draft in drafts {
            callers.push(self.tree.caller(draft.owner, &exists));
        }
        let trace_id = self.tree.spans.first().map(|span| span.trace_id.clone()).unwrap_or_default();
        let main = callers.iter().position(Option::is_none).unwrap_or_default();
        for (number, draft) in drafts.iter().enumerate() {
            let id =
                if number == main { trace_id.clone() } else { format!("{trace_id}/{}", self.key(draft)) };
            ids.insert(draft.owner, id);
        }
        let first_name = drafts.get(main).and_then(|draft| self.name(draft));
        for (number, draft) in drafts.iter().enumerate() {
            let name = self.name(draft);
            let caller = callers.get(number).cloned().flatten();
            let parent = match &caller {
                Some(caller) => ids.get(caller).cloned(),
                // The second agent of a hand-off.
                None if number != main && name != first_name => {
                    drafts.get(main).and_then(|draft| ids.get(draft.owner)).cloned()
                }
                None => None,
            };
            let own = self.own_span(draft);
            runs.push(AgentRun {
                id: ids.get(draft.owner).cloned().unwrap_or_default(),
                span: own.and_then(|at| Some(self.tree.span(at)?.span_id.clone())),
                agent: name,
                parent,
                model: draft.requests.iter().find_map(|request| request.model.clone()),
                conversation: self.conversation(draft, own),
                steps: self.steps(draft),
            });
        }
        runs
    }

    /// The span that an agent is known by.
    fn own_span(&self, draft: &Draft<'_>) -> Option<At> {
        match draft.owner {
            Owner::Agent(at) => return Some(*at),
            Owner::Tool(tool) => return Some(*tool),
            Owner::Named(_, name) => {
                let named = self.tree.of_kind(Kind::Agent).find(|at| {
                    self.tree.span(*at).and_then(classify::agent_name).is_some_and(|other| other == *name)
                });
                if named.is_some() {
                    return named;
                }
            }
            Owner::Trace => {}
        }
        let requests = draft.requests.iter().filter_map(|request| request.spans.first().copied());
        requests.chain(draft.tools.iter().copied()).min()
    }

    fn key(&self, draft: &Draft<'_>) -> String {
        match draft.owner {
            Owner::Named(None, name) => name.clone(),
            Owner::Named(Some(at), _) | Owner::Tool(at) | Owner::Agent(at) => {
                self.tree.span(*at).map(|span| span.span_id.clone()).unwrap_or_default()
            }
            Owner::Trace => "trace".to_owned(),
        }
    }

    fn name(&self, draft: &Draft<'_>) -> Option<String> {
        match draft.owner {
            Owner::Agent(at) => classify::agent_name(self.tree.span(*at)?).map(Cow::into_owned),
            Owner::Named(_, name) => Some(name.clone()),
            Owner::Tool(_) | Owner::Trace => {
                let spans = draft.requests.iter().flat_map(|request| request.spans.iter());
                spans.chain(draft.tools).find_map(|at| {
                    Some(self.tree.span(*at)?.attributes.name("gen_ai.agent.name")?.into_owned())
                })
            }
        }
    }

    fn conversation(&self, draft: &Draft<'_>, own: Option<At>) -> Option<String> {
        let spans = draft.requests.iter().flat_map(|request| request.spans.iter().copied());
        let all = own.into_iter().chain(spans).chain(draft.tools.iter().copied());
        let told = |at: At| Some(self.tree.span(at)?.attributes.first_name(CONVERSATION)?.into_owned());
        all.into_iter().find_map(|at| told(at).or_else(|| self.tree.ancestors(at).find_map(told)))
    }

    fn steps(&self, draft: &Draft<'_>) -> Vec<SpanStep> {
        let requests = draft.requests;
        let agents = self.agents.get(draft.owner).map(Vec::as_slice).unwrap_or_default();
        let actions = calls::actions(self.tree, requests, draft.tools, agents);
        let outcomes = self.outcomes(requests, &actions);
        // The requests that nobody recorded have turns as well.
        let mut unseen = vec![0; requests.len().max(1)];
        for action in &actions {
            if let Some(most) = unseen.get_mut(action.turn) {
                *most = action.unseen.max(*most);
            }
        }
        let mut first_turns = Vec::with_capacity(unseen.len());
        let mut next = 0;
        for unseen in &unseen {
            first_turns.push(next);
            next += 1 + unseen;
        }
        let turn_of = |request: usize| first_turns.get(request).copied().unwrap_or(request);
        let last_turn_of =
            |request: usize| turn_of(request) + unseen.get(request).copied().unwrap_or_default();
        let mut steps = Vec::new();
        if let Some(first) = requests.first() {
            for text in self.user_texts(first) {
                let event = SpanEventStep::Message(Actor::User, text);
                steps.push(SpanStep { turn: 0, time: time(first.start), span: None, event });
            }
        }
        let mut unsaid = requests.iter().enumerate().peekable();
        for (action, outcome) in actions.iter().zip(outcomes) {
            // What was said up to the turn of the action comes before it; the last words of a request that encloses
            // its actions come behind them.
            while let Some((request, told)) = unsaid.next_if(|(request, _)| {
                *request < action.turn
                    || *request == action.turn && last_turn_of(*request) == turn_of(*request)
            }) {
                self.say(last_turn_of(request), told, &mut steps);
            }
            steps.push(self.step(requests, action, turn_of(action.turn) + action.unseen, outcome));
        }
        for (request, told) in unsaid {
            self.say(last_turn_of(request), told, &mut steps);
        }
        steps
    }

    /// The texts of a request's output.
    fn say(&self, turn: usize, request: &Request, steps: &mut Vec<SpanStep>) {
        let span = request.spans.first().and_then(|at| Some(self.tree.span(*at)?.span_id.clone()));
        for text in &request.texts {
            let text = text.trim();
            if !text.is_empty() {
                let event = SpanEventStep::Message(Actor::Agent, text.to_owned());
                steps.push(SpanStep {
                    turn: turn as u64,
                    time: time(request.start),
                    span: span.clone(),
                    event,
                });
            }
        }
    }

    /// What the user said last before the first request: what stands before an answer of the agent belongs to an
    /// earlier trace.
    fn user_texts(&self, request: &Request) -> Vec<String> {
        let inputs = if request.input.is_empty() {
            let spans = request.spans.iter().filter_map(|at| Some((*at, self.tree.span(*at)?)));
            spans.flat_map(|(at, span)| answers::inputs(span, at, self.records)).collect()
        } else {
            vec![request.input.clone()]
        };
        for input in inputs {
            let mut texts: Vec<String> = Vec::new();
            for block in input {
                match block {
                    Block::Text(Role::User, text)
                        if texts.last() != Some(&text) && !common::is_blank(&text) =>
                    {
                        texts.push(text);
                    }
                    Block::Text(Role::Agent, _) | Block::Call(_) => texts.clear(),
                    _ => {}
                }
            }
            if !texts.is_empty() {
                return texts;
            }
        }
        Vec::new()
    }

    /// What came back from each action, and how it ended.
    fn outcomes(&self, requests: &[Request], actions: &[Action]) -> Vec<Option<(Outcome, Verdict)>> {
        let views = |action: &Action| -> Vec<&Span<'_>> {
            let spans = match action.span {
                Some(at) if action.is_agent => vec![at],
                Some(at) => self.tree.views(at),
                None => Vec::new(),
            };
            spans.into_iter().filter_map(|at| self.tree.span(at)).collect()
        };
        let results: Vec<Option<Outcome>> = actions
            .iter()
            .map(|action| {
                let found = views(action).into_iter().map(unwrap::result);
                found.reduce(|first, second| if first.text.is_recorded() { first } else { second })
            })
            .collect();
        // Answers are looked for only where no span holds the result.
        let mut wanted = Vec::new();
        let mut wanting = Vec::new();
        for (number, (action, result)) in actions.iter().zip(&results).enumerate() {
            let told = result.as_ref().is_some_and(|result| result.text.is_recorded())
                || status::exception_message(&views(action)).is_some();
            if let Some(id) = action.id.clone().filter(|_| !told) {
                let asked =
                    action.call.and_then(|(request, _)| requests.get(request)).map(|request| request.start);
                let began = action.span.and_then(|at| Some(self.tree.span(at)?.start));
                wanted.push((id, began.or(asked).unwrap_or_default()));
                wanting.push(number);
            }
        }
        let mut replies: BTreeMap<usize, Reply> = BTreeMap::new();
        for (number, reply) in wanting.into_iter().zip(self.sources.find(self.tree, self.records, &wanted)) {
            replies.extend(reply.map(|reply| (number, reply)));
        }
        let mut outcomes = Vec::with_capacity(actions.len());
        for (number, (action, result)) in actions.iter().zip(results).enumerate() {
            let reply = replies.remove(&number);
            let views = views(action);
            outcomes.push(match result {
                Some(result) => Some(self.of_span(action, &views, result, reply)),
                None => self.of_call(requests, action, reply),
            });
        }
        outcomes
    }

    /// Of an action that a span shows.
    fn of_span(
        &self,
        action: &Action,
        views: &[&Span<'_>],
        mut result: Outcome,
        reply: Option<Reply>,
    ) -> (Outcome, Verdict) {
        let seen = reply.map(|reply| {
            let mut outcome = unwrap::outcome(reply.content);
            outcome.is_error |= reply.is_error;
            outcome
        });
        if !result.text.is_recorded() {
            if let Some(message) = status::exception_message(views) {
                result.text = unwrap::outcome(Content::Present(message.into())).text;
            } else if let Some(seen) = seen.filter(|seen| seen.text.is_recorded()) {
                result = seen;
            } else if let Some(message) = status::status_message(views) {
                result.text = unwrap::outcome(Content::Present(message.into())).text;
            }
        }
        let verdict = if action.is_agent {
            // What is recorded on an agent's span repeats what its tools did, but for its own end.
            match views.first() {
                Some(span) if span.status == super::model::Code::Error => Verdict::refused(),
                Some(span) if span.end.is_none() => Verdict::unanswered(),
                _ => status::of_answer(&result, self.text_rule),
            }
        } else {
            status::of_tool(views, &result, self.text_rule)
        };
        (result, verdict)
    }

    /// Of a call that no span shows. `None`: it was not answered.
    fn of_call(
        &self,
        requests: &[Request],
        action: &Action,
        reply: Option<Reply>,
    ) -> Option<(Outcome, Verdict)> {
        let (request, place) = action.call?;
        let request = requests.get(request)?;
        let refused = request.calls.get(place)?.refused.clone();
        if let Some(reply) = reply {
            let mut outcome = unwrap::outcome(reply.content);
            outcome.is_error |= reply.is_error;
            let verdict = if refused.is_some() {
                Verdict::refused()
            } else {
                status::of_answer(&outcome, self.text_rule)
            };
            return Some((outcome, verdict));
        }
        if let Some(why) = refused {
            let text = if why.is_empty() { Content::NotRecorded } else { Content::Present(why) };
            return Some((Outcome { text, ..Outcome::default() }, Verdict::refused()));
        }
        let message = self.failed_step(request)?;
        Some((unwrap::outcome(message.map(serde_json::Value::String)), Verdict::refused()))
    }

    /// What the step around the only request within it says, where it failed on the only call of that request.
    fn failed_step(&self, request: &Request) -> Option<Content<String>> {
        if request.calls.len() != 1 {
            return None;
        }
        let own: BTreeSet<At> = request.spans.iter().copied().collect();
        let outermost = request.spans.iter().copied().min_by_key(|at| self.tree.ancestors(*at).count())?;
        let step = self.tree.ancestors(outermost).find(|at| !own.contains(at))?;
        let span = self.tree.span(step)?;
        if self.tree.kind(step) != Kind::Chain || span.status != super::model::Code::Error {
            return None;
        }
        // Spans are in the order of their starts.
        let end = span.end.unwrap_or(u64::MAX);
        let within = (step..self.tree.spans.len())
            .take_while(|at| self.tree.span(*at).is_some_and(|other| other.start <= end))
            .filter(|at| self.tree.kind(*at) == Kind::Model && !own.contains(at));
        if within.into_iter().any(|at| self.tree.ancestors(at).any(|around| around == step)) {
            return None;
        }
        let message = status::status_message(&[span]).or_else(|| status::exception_message(&[span]));
        Some(message.map_or(Content::NotRecorded, Content::Present))
    }

    fn step(
        &self,
        requests: &[Request],
        action: &Action,
        turn: usize,
        outcome: Option<(Outcome, Verdict)>,
    ) -> SpanStep {
        let span = action.span.and_then(|at| self.tree.span(at));
        let request = action.call.map_or(action.turn, |(request, _)| request);
        let request = requests.get(request);
        let began =
            span.map(|span| span.start).or(request.map(|request| request.end.unwrap_or(request.start)));
        let shown = span.map(|span| span.span_id.clone()).or_else(|| {
            let at = request?.spans.first()?;
            Some(self.tree.span(*at)?.span_id.clone())
        });
        let step = |event| SpanStep { turn: turn as u64, time: began.and_then(time), span: shown, event };
        if let Some(text) = self.own_words(action, span) {
            return step(SpanEventStep::Message(Actor::Agent, text));
        }
        let usage = Usage {
            duration_ns: span.and_then(Span::duration),
            ..request.map(|request| request.usage).unwrap_or_default()
        };
        let answer = outcome.map(|(outcome, verdict)| Answer {
            observation: outcome.text.map(Into::into),
            status: verdict.status,
            provenance: verdict.provenance,
            reason: verdict.reason,
            error_type: verdict.error_type.map(Into::into),
        });
        step(SpanEventStep::Action(Box::new(SpanAction {
            id: action.id.clone(),
            name: action.name.clone(),
            arguments: action.arguments.clone(),
            usage,
            answer,
        })))
    }

    /// What a framework's own call says: a final answer, or a hand-off to another agent. `None`: it is an action.
    fn own_words(&self, action: &Action, span: Option<&Span<'_>>) -> Option<String> {
        let name = &*action.name;
        let hands_over = ["transfer_to_", "handoff_to_", "handoff to "]
            .iter()
            .filter_map(|prefix| name.strip_prefix(prefix))
            .any(|agent| self.names.contains(agent));
        let is_own = matches!(
            name,
            "transfer_to_agent" | "handoff_to_agent" | "handoff" | "final_answer" | "set_model_response"
        ) || name.starts_with("handoff to ")
            || hands_over
            || span.is_some_and(|span| {
                span.name.starts_with("running output function")
                    || span
                        .attributes
                        .name("logfire.msg")
                        .is_some_and(|message| message.starts_with("running output function"))
            })
            || name.starts_with("final_result") && self.is_pydantic(action);
        if !is_own {
            return None;
        }
        Some(match &action.arguments {
            Content::Present(arguments) if name == "final_answer" => {
                unwrap::only_value(arguments).unwrap_or_else(|| arguments.clone())
            }
            Content::Present(arguments) if arguments != "{}" => format!("{name} {arguments}"),
            _ => name.to_owned(),
        })
    }

    fn is_pydantic(&self, action: &Action) -> bool {
        action.span.is_none() && self.tree.spans.iter().any(|span| span.scope == "pydantic-ai")
    }
}

fn time(time: u64) -> Option<u64> {
    (time != 0).then_some(time)
}

impl AgentRun {
    /// What the run is known by.
    pub(crate) fn metadata(&self) -> Metadata {
        let mut metadata = Metadata {
            id: Some(self.id.clone()),
            agent: self.agent.as_deref().map(Into::into),
            parent: self.parent.clone(),
            model: self.model.as_deref().map(Into::into),
            ..Metadata::default()
        };
        if let Some(conversation) = &self.conversation {
            metadata.labels.insert("conversation".to_owned(), conversation.clone());
        }
        if let Some(span) = &self.span {
            metadata.labels.insert(SPAN_LABEL.to_owned(), span.clone());
        }
        metadata
    }

    /// Puts the steps of the run into an assembler that has begun.
    pub(crate) fn put<'r>(&'r self, into: &mut Assembler<'r>) {
        for step in &self.steps {
            match &step.event {
                SpanEventStep::Message(actor, text) => {
                    into.message_at(*actor, step.turn, &**text, step.time);
                }
                SpanEventStep::Action(action) => {
                    let mut call =
                        Call::new(step.turn, action.id.as_deref().map(Cow::Borrowed), &*action.name);
                    call.time = step.time;
                    call.span = step.span.as_deref().and_then(|span| span.parse().ok());
                    call.usage = (!action.usage.is_empty()).then(|| Box::new(action.usage));
                    call.arguments = match &action.arguments {
                        Content::Present(text) => common::arguments_of_text(Cow::Borrowed(text)),
                        Content::Absent => Content::Absent,
                        Content::NotRecorded => Content::NotRecorded,
                    };
                    let number = into.call(call);
                    if let Some(answer) = &action.answer {
                        into.answer_call(number, answer.clone());
                    }
                }
            }
        }
    }
}
