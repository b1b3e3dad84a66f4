//! The answer and status of each action.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::assemble::TraceContext;
use super::calls::Action;
use super::classify::Kind;
use super::data::Data;
use super::message::Reply;
use super::model::Code;
use super::request::Request;
use super::status::{self, Verdict};
use super::tree::{At, Tree};
use super::unwrap::{self, Outcome};
use crate::trace::Content;

impl<'s> TraceContext<'_, 's> {
    /// Returns the answer and status of each action.
    pub(super) fn outcomes(
        &self,
        requests: &[Request<'s>],
        actions: &mut [Action<'s>],
    ) -> Vec<Option<(Outcome<'s>, Verdict)>> {
        // Answers are searched only if no span holds the result.
        let mut wanted = Vec::new();
        let mut wanting = Vec::new();
        for (number, action) in actions.iter().enumerate() {
            let is_held = action.result.as_ref().is_some_and(|result| result.text.is_recorded())
                || status::exception_message(&action.views).is_some();
            if let Some(id) = action.id.clone().filter(|_| !is_held) {
                let asked =
                    action.call.and_then(|(request, _)| requests.get(request)).map(|request| request.start);
                let began = action.views.first().map(|span| span.start);
                wanted.push((id, began.or(asked).unwrap_or_default()));
                wanting.push(number);
            }
        }
        let mut replies: BTreeMap<usize, Reply<'s>> = BTreeMap::new();
        for (number, reply) in wanting.into_iter().zip(self.sources.find(self.tree, self.records, &wanted)) {
            replies.extend(reply.map(|reply| (number, reply)));
        }
        let mut outcomes = Vec::with_capacity(actions.len());
        for (number, action) in actions.iter_mut().enumerate() {
            let reply = replies.remove(&number);
            outcomes.push(match action.result.take() {
                Some(result) => Some(self.of_span(action, result, reply)),
                None => self.of_call(requests, action, reply),
            });
        }
        outcomes
    }

    /// Returns the outcome of an action that a span shows.
    fn of_span(
        &self,
        action: &Action<'s>,
        mut result: Outcome<'s>,
        reply: Option<Reply<'s>>,
    ) -> (Outcome<'s>, Verdict) {
        let views = &action.views;
        let said = |text| unwrap::outcome(Content::Present(Data::Text(Cow::Borrowed(text)))).text;
        let seen = reply.map(|reply| {
            let mut outcome = unwrap::outcome(reply.content);
            outcome.is_error |= reply.is_error;
            outcome
        });
        if !result.text.is_recorded() {
            if let Some(message) = status::exception_message(views) {
                result.text = said(message);
            } else if let Some(seen) = seen.filter(|seen| seen.text.is_recorded()) {
                result = seen;
            } else if let Some(message) = status::status_message(views) {
                result.text = said(message);
            }
        }
        let verdict = if action.is_agent {
            // An agent's span repeats the records of its tools, except for its own end.
            match views.first() {
                Some(span) if span.status == Code::Error => Verdict::refused(),
                Some(span) if span.end.is_none() => Verdict::unanswered(),
                _ => status::of_answer(&result, self.text_rule),
            }
        } else {
            status::of_tool(views, &result, self.text_rule)
        };
        (result, verdict)
    }

    /// Returns the outcome of a call that no span shows, or `None` if it was not answered.
    fn of_call(
        &self,
        requests: &[Request<'s>],
        action: &Action<'s>,
        reply: Option<Reply<'s>>,
    ) -> Option<(Outcome<'s>, Verdict)> {
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
            let text = if why.is_empty() { Content::NotRecorded } else { Content::Present(why.into()) };
            return Some((Outcome { text, ..Outcome::default() }, Verdict::refused()));
        }
        let message = self.failed_step(request)?;
        Some((unwrap::outcome(message.map(|text| Data::Text(Cow::Borrowed(text)))), Verdict::refused()))
    }

    /// Returns the outcome from the step around the only request within it, if the step failed on that request's only
    /// call.
    fn failed_step(&self, request: &Request<'s>) -> Option<Content<&'s str>> {
        if request.calls.len() != 1 {
            return None;
        }
        let own: BTreeSet<At> = request.spans.iter().copied().collect();
        let outermost = request.spans.iter().copied().min_by_key(|at| self.tree.ancestors(*at).count())?;
        let step = self.tree.ancestors(outermost).find(|at| !own.contains(at))?;
        let span = self.tree.span(step)?;
        if self.tree.kind(step) != Kind::Chain || span.status != Code::Error {
            return None;
        }
        let asked = own.iter().filter(|at| is_request_within(self.tree, **at, step)).count();
        let failed = self.failed_steps.get_or_init(|| requests_of_failed_steps(self.tree));
        if failed.get(&step).is_some_and(|all| *all > asked) {
            return None;
        }
        let message = status::status_message(&[span]).or_else(|| status::exception_message(&[span]));
        Some(message.map_or(Content::NotRecorded, Content::Present))
    }
}

/// Counts the model spans that began within each failed step.
fn requests_of_failed_steps(tree: &Tree<'_, '_>) -> HashMap<At, usize> {
    let mut counts = HashMap::new();
    for at in tree.of_kind(Kind::Model) {
        for step in tree.ancestors(at) {
            if tree.kind(step) == Kind::Chain
                && tree.span(step).is_some_and(|span| span.status == Code::Error)
                && began_within(tree, at, step)
            {
                *counts.entry(step).or_default() += 1;
            }
        }
    }
    counts
}

/// Returns true if a span is a model's that lies below a step and began within it.
fn is_request_within(tree: &Tree<'_, '_>, at: At, step: At) -> bool {
    tree.kind(at) == Kind::Model
        && began_within(tree, at, step)
        && tree.ancestors(at).any(|around| around == step)
}

/// Spans are in the order of their starts.
fn began_within(tree: &Tree<'_, '_>, at: At, step: At) -> bool {
    let end = tree.span(step).and_then(|step| step.end).unwrap_or(u64::MAX);
    at >= step && tree.span(at).is_some_and(|span| span.start <= end)
}

#[cfg(test)]
mod tests {
    use super::super::model::Span;
    use super::*;

    #[test]
    fn failed_steps_hold_the_requests_that_began_within_them() {
        let span = |id: &'static str, parent: &'static str, start, status| Span {
            span_id: id.into(),
            parent: Some(parent.into()),
            start,
            end: Some(start + 10),
            status,
            ..Span::default()
        };
        let model = |id, parent, start| {
            span(id, parent, start, Code::Unset).with_attributes(&[("openinference.span.kind", "LLM")])
        };
        let spans = [
            span("outer", "", 0, Code::Error),
            span("inner", "outer", 1, Code::Error),
            span("fine", "inner", 2, Code::Unset),
            model("a", "fine", 3),
            model("b", "inner", 4),
            model("c", "outer", 5),
            model("late", "outer", 11),
            model("elsewhere", "", 12),
        ];
        let tree = Tree::new(&spans);
        let counts = requests_of_failed_steps(&tree);
        assert_eq!((counts.len(), counts[&0], counts[&1]), (2, 3, 2));
        let within = |at: At| is_request_within(&tree, at, 1);
        assert_eq!((0..spans.len()).filter(|at| within(*at)).collect::<Vec<_>>(), [3, 4]);
    }
}
