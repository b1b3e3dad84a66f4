//! The steps of an agent's run: messages and actions, turn by turn.

use std::borrow::Cow;

use super::answers;
use super::arguments;
use super::assemble::{Draft, TraceContext};
use super::calls::{self, Action};
use super::message::{Block, Role};
use super::model::Span;
use super::request::Request;
use super::run::{SpanAction, SpanEventStep, SpanStep};
use super::status::Verdict;
use super::unwrap::Outcome;
use crate::read::common;
use crate::trace::{Actor, Answer, Content, TextCow, Usage};

impl<'s> TraceContext<'_, 's> {
    pub(super) fn steps(&self, draft: &Draft<'_, 's>) -> Vec<SpanStep> {
        let requests = draft.requests;
        let agents = self.agents.get(draft.owner).map(Vec::as_slice).unwrap_or_default();
        let mut actions = calls::actions(self.tree, requests, draft.tools, agents);
        let outcomes = self.outcomes(requests, &mut actions);
        // Unrecorded requests have turns as well.
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
                let usage = Usage::default();
                steps.push(SpanStep { turn: 0, time: time(first.start), span: None, usage, event });
            }
        }
        let mut unsaid = requests.iter().enumerate().peekable();
        for (action, outcome) in actions.into_iter().zip(outcomes) {
            // Texts up to the turn of the action come before it. The last text of a request that encloses its actions
            // comes after them.
            while let Some((number, request)) = unsaid.next_if(|(number, _)| {
                *number < action.turn || *number == action.turn && last_turn_of(*number) == turn_of(*number)
            }) {
                self.say(turn_of(number), last_turn_of(number), request, &mut steps);
            }
            let turn = turn_of(action.turn) + action.unseen;
            steps.push(self.step(requests, action, turn, outcome));
        }
        for (number, request) in unsaid {
            self.say(turn_of(number), last_turn_of(number), request, &mut steps);
        }
        steps
    }

    /// Returns the texts of a request's output, which belong to the last of its turns.
    fn say(&self, first: usize, last: usize, request: &Request<'s>, steps: &mut Vec<SpanStep>) {
        // Its tokens are counted in the first turn.
        let usage = if first == last { request.usage } else { Usage::default() };
        let span = request.spans.first().and_then(|at| self.tree.span(*at)).and_then(Span::own_id);
        for text in &request.texts {
            let text = text.trim();
            if !text.is_empty() {
                let event = SpanEventStep::Message(Actor::Agent, text.to_owned());
                steps.push(SpanStep { turn: last as u64, time: time(request.start), span, usage, event });
            }
        }
    }

    /// Returns the user's last text before the first request.
    fn user_texts(&self, request: &Request<'s>) -> Vec<String> {
        if !request.input.is_empty() {
            return last_said_by_user(std::iter::once(request.input.clone()));
        }
        let spans = request.spans.iter().filter_map(|at| Some((*at, self.tree.span(*at)?)));
        last_said_by_user(spans.flat_map(|(at, span)| answers::inputs(span, at, self.records)))
    }

    fn step(
        &self,
        requests: &[Request<'s>],
        action: Action<'s>,
        turn: usize,
        outcome: Option<(Outcome<'s>, Verdict)>,
    ) -> SpanStep {
        let span = action.views.first().copied();
        let request = action.call.map_or(action.turn, |(request, _)| request);
        let request = requests.get(request);
        let began =
            span.map(|span| span.start).or(request.map(|request| request.end.unwrap_or(request.start)));
        let shown = span.or_else(|| self.tree.span(*request?.spans.first()?)).and_then(Span::own_id);
        // The tokens of an unrecorded request are unknown, or part of the sum of an enclosing one.
        let tokens = request.filter(|_| action.unseen == 0).map(|request| request.usage).unwrap_or_default();
        let step = |usage, event| SpanStep {
            turn: turn as u64,
            time: began.and_then(time),
            span: shown,
            usage,
            event,
        };
        if let Some(text) = self.own_words(&action, span) {
            return step(tokens, SpanEventStep::Message(Actor::Agent, text));
        }
        let usage = Usage { duration_ns: span.and_then(Span::duration), ..tokens };
        let answer = outcome.map(|(outcome, verdict)| Answer {
            observation: outcome.text.map(TextCow::into_made),
            status: verdict.status,
            provenance: verdict.provenance,
            reason: verdict.reason,
            error_type: verdict.error_type.map(Into::into),
        });
        let action = SpanAction {
            id: action.id.map(Cow::into_owned),
            name: action.name.into_owned(),
            arguments: action.arguments.map(Cow::into_owned),
            answer,
        };
        step(usage, SpanEventStep::Action(Box::new(action)))
    }

    /// Returns the text of a framework's own call: a final answer, or a hand-off to another agent. `None` for an
    /// action.
    fn own_words(&self, action: &Action<'s>, span: Option<&Span<'_>>) -> Option<String> {
        let name = &*action.name;
        let hands_over = ["transfer_to_", "handoff_to_", "handoff to "]
            .iter()
            .filter_map(|prefix| name.strip_prefix(prefix))
            .any(|agent| self.names.contains_key(agent));
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
            || name.starts_with("final_result") && action.views.is_empty() && self.is_pydantic;
        if !is_own {
            return None;
        }
        Some(match &action.arguments {
            Content::Present(arguments) if name == "final_answer" => {
                arguments::only_value(arguments).map_or_else(|| arguments.to_string(), Cow::into_owned)
            }
            Content::Present(arguments) if arguments != "{}" => format!("{name} {arguments}"),
            _ => name.to_owned(),
        })
    }
}

/// Returns the user's texts in the first of these inputs that has any. Texts before an answer of the agent belong to an
/// earlier trace.
fn last_said_by_user<'s>(inputs: impl Iterator<Item = Vec<Block<'s>>>) -> Vec<String> {
    for input in inputs {
        let mut texts: Vec<Cow<'s, str>> = Vec::new();
        for block in input {
            match block {
                Block::Text(Role::User, text) if texts.last() != Some(&text) && !common::is_blank(&text) => {
                    texts.push(text);
                }
                Block::Text(Role::Agent, _) | Block::Call(_) => texts.clear(),
                _ => {}
            }
        }
        if !texts.is_empty() {
            return texts.into_iter().map(Cow::into_owned).collect();
        }
    }
    Vec::new()
}

fn time(time: u64) -> Option<u64> {
    (time != 0).then_some(time)
}
