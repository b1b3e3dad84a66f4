//! The steps of an agent's run: messages and actions, turn by turn.

use std::borrow::Cow;

use super::infer::calls::Action;
use super::infer::message::Reply;
use super::infer::only_value;
use super::infer::request::{self, Request};
use super::model::{Attr, Span};
use super::{Draft, TraceContext};
use crate::read::{common, words};
use crate::trace::{Actor, Answer, Assembler, Call, Content, Usage};

impl<'s> TraceContext<'_, 's> {
    /// Returns the steps of a run from its requests and actions. `replies` holds, for each action, the
    /// answer that was found outside its spans.
    pub(super) fn steps(
        &self,
        draft: &Draft<'_, 's>,
        actions: Vec<Action<'s>>,
        replies: Vec<Option<Reply<'s>>>,
    ) -> Assembler<'static> {
        let requests = draft.requests;
        // The first and last turns of each request. They differ if unrecorded requests follow, each with its own turn.
        let mut turns = vec![(0, 0); requests.len().max(1)];
        for action in &actions {
            if let Some((_, unseen)) = turns.get_mut(action.turn) {
                *unseen = action.unseen.max(*unseen);
            }
        }
        let mut next = 0;
        for (first, last) in &mut turns {
            (*first, *last) = (next, next + *last);
            next = *last + 1;
        }
        let turns_of = |request: usize| turns.get(request).copied().unwrap_or((request, request));
        let mut steps = Assembler::default();
        let mut asked = self.asked(draft, &actions).into_iter().enumerate().peekable();
        let mut hear = |last: usize, steps: &mut Assembler<'static>| {
            while let Some((number, (time, texts))) = asked.next_if(|(number, _)| *number <= last) {
                for text in texts {
                    let turn = turns_of(number).0 as u64;
                    steps.message_at(Actor::User, turn, text.into_owned(), recorded(time));
                }
            }
        };
        hear(0, &mut steps);
        let is_last_acting = actions.last().is_some_and(|action| action.turn + 1 == turns.len());
        let mut unsaid = requests.iter().enumerate().peekable();
        for (mut action, reply) in actions.into_iter().zip(replies) {
            let (first, last) = turns_of(action.turn);
            // The texts of earlier requests come before the action, and so do those of its own request. If that has
            // several turns, its texts belong to the last one and come after its actions.
            let is_before = |(number, _): &(usize, _)| *number < action.turn + usize::from(first == last);
            while let Some((number, request)) = unsaid.next_if(is_before) {
                hear(number, &mut steps);
                Self::say(turns_of(number), request, &mut steps);
            }
            hear(action.turn, &mut steps);
            let turn = first + action.unseen;
            let answer = self.outcomes.of(requests, &mut action, reply);
            self.add(requests, action, turn as u64, answer, &mut steps);
        }
        for (number, request) in unsaid {
            hear(number, &mut steps);
            Self::say(turns_of(number), request, &mut steps);
        }
        let is_answer_known = requests.last().is_some_and(|last| last.has_output || last.spans.is_empty());
        if let Some((at, span)) = self.agent_span(draft).filter(|_| !is_answer_known) {
            let turn = (next - usize::from(!is_last_acting)) as u64;
            for text in request::texts_of_agent(span, at, self.records) {
                steps.message_at(Actor::Agent, turn, text.into_owned(), span.end);
            }
        }
        steps
    }

    /// Adds the texts of a request's output, which belong to the last of its turns. If it has several turns,
    /// its tokens belong to the actions of the first.
    fn say((first, last): (usize, usize), request: &Request<'s>, steps: &mut Assembler<'static>) {
        for text in request.texts.iter().map(|text| text.trim()).filter(|text| !text.is_empty()) {
            steps.message_at(Actor::Agent, last as u64, text.to_owned(), recorded(request.start));
            steps.set_usage(last as u64, Some(request.usage).filter(|_| first == last));
        }
    }

    /// Adds an action with its answer, or only a message if the action ends or hands over the run.
    fn add(
        &self,
        requests: &[Request<'s>],
        action: Action<'s>,
        turn: u64,
        answer: Option<Answer<'static>>,
        steps: &mut Assembler<'static>,
    ) {
        let span = action.views.first().copied();
        let request = requests.get(action.call.map_or(action.turn, |(request, _)| request));
        let began =
            span.map(|span| span.start).or(request.map(|request| request.end.unwrap_or(request.start)));
        let shown = span.or_else(|| self.tree.span(*request?.spans.first()?)).and_then(Span::own_id);
        // The tokens of an unrecorded request are unknown, or part of the sum of an enclosing one.
        let usage = request.filter(|_| action.unseen == 0).map(|request| request.usage).unwrap_or_default();
        let time = began.and_then(recorded);
        if let Some(text) = self.own_words(&action, span) {
            steps.message_at(Actor::Agent, turn, text, time);
            return steps.set_usage(turn, Some(usage));
        }
        let usage = Usage { duration_ns: span.and_then(Span::duration), ..usage };
        let id = action.id.map(|id| Cow::Owned(id.into_owned()));
        let call = steps.call(Call {
            time,
            span: shown,
            usage: (!usage.is_empty()).then(|| Box::new(usage)),
            arguments: match action.arguments {
                Content::Present(text) => common::arguments_of_text(Cow::Owned(text.into_owned())),
                Content::Absent => Content::Absent,
                Content::NotRecorded => Content::NotRecorded,
            },
            ..Call::new(turn, id, action.name.into_owned())
        });
        if let Some(answer) = answer {
            steps.answer_call(call, answer);
        }
    }

    /// If the call only ends or hands over the run (a final answer, or a hand-off to another agent), returns it as
    /// the text of a message. `None` for any other action.
    fn own_words(&self, action: &Action<'s>, span: Option<&Span<'_>>) -> Option<String> {
        let name = &*action.name;
        let prefixes = ["transfer_to_", "handoff_to_", "handoff to "];
        let mut agents = prefixes.iter().filter_map(|prefix| name.strip_prefix(prefix));
        let is_output = |text: &str| text.starts_with("running output function");
        let is_own = matches!(
            name,
            "transfer_to_agent" | "handoff_to_agent" | "handoff" | "final_answer" | "set_model_response"
        ) || name.starts_with("handoff to ")
            || agents.any(|agent| {
                self.names.contains_key(agent)
                    || self.names.keys().any(|name| words::snake_case(name) == agent)
            })
            || span.is_some_and(|span| {
                is_output(&span.name) || span.attributes.name(Attr::LogfireMessage).is_some_and(is_output)
            })
            || name.starts_with("final_result") && action.views.is_empty() && self.is_pydantic;
        if !is_own {
            return None;
        }
        Some(match &action.arguments {
            Content::Present(arguments) if name == "final_answer" => {
                only_value(arguments).map_or_else(|| arguments.to_string(), Cow::into_owned)
            }
            Content::Present(arguments) if arguments != "{}" => format!("{name} {arguments}"),
            _ => name.to_owned(),
        })
    }
}

/// Returns a time, or `None` for `0`, which means that it was not recorded.
pub(super) fn recorded(time: u64) -> Option<u64> {
    (time != 0).then_some(time)
}
