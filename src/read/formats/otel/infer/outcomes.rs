//! The answer and status of each action.

use super::answers::Wanted;
use super::calls::Action;
use super::prelude::*;
use super::status::{self, Verdict};
use crate::trace::{TextCow, UnknownReason};

/// Returns the call of an action if its answer must be found outside its spans. `None` if they hold the
/// result, or if the call has no id.
pub(crate) fn wanted<'s>(
    requests: &[Request<'s>],
    action: &Action<'s>,
    number: (usize, usize),
) -> Option<Wanted<'s>> {
    let is_held = action.result.as_ref().is_some_and(|result| result.text.is_recorded())
        || status::exception_message(&action.views).is_some();
    let id = action.id.clone().filter(|_| !is_held)?;
    let asked = action.call.and_then(|(request, _)| requests.get(request)).map(|request| request.start);
    let began = action.views.first().map(|span| span.start);
    Some(Wanted { id, time: began.or(asked).unwrap_or_default(), action: number })
}

/// Finds the outcomes of the actions of a trace.
pub(crate) struct Outcomes<'t, 's> {
    tree: &'t Tree<'s>,
    /// The number of model spans that began within each failed step, which is a chain span with an error status.
    requests: HashMap<At, usize>,
    text_rule: bool,
}

impl<'t, 's> Outcomes<'t, 's> {
    pub(crate) fn new(tree: &'t Tree<'s>, text_rule: bool) -> Self {
        Self { tree, requests: requests_of_failed_steps(tree), text_rule }
    }

    /// Returns the answer to an action of a run with these requests, or `None` if it was not answered.
    pub(crate) fn of(
        &self,
        requests: &[Request<'s>],
        action: &mut Action<'s>,
        reply: Option<Reply<'s>>,
    ) -> Option<Answer<'static>> {
        let (outcome, verdict) = match action.result.take() {
            Some(result) => self.of_span(action, result, reply),
            None => self.of_call(requests, action, reply)?,
        };
        Some(Answer { observation: outcome.text.map(TextCow::into_made), ..verdict })
    }

    /// Returns the outcome of an action that a span shows.
    fn of_span(
        &self,
        action: &Action<'s>,
        mut result: Outcome<'s>,
        reply: Option<Reply<'s>>,
    ) -> (Outcome<'s>, Verdict) {
        let views = &action.views;
        if !result.text.is_recorded() {
            let seen = reply.map(Outcome::from).filter(|seen| seen.text.is_recorded());
            if let Some(message) = status::exception_message(views) {
                result.text = text_of(message).text;
            } else if let Some(seen) = seen {
                result = seen;
            } else if let Some(message) = status::status_message(views) {
                result.text = text_of(message).text;
            }
        }
        let verdict = match views.first() {
            // An agent's span repeats the errors of its tools, so only its own status and end count.
            Some(span) if action.is_agent && span.status == Code::Error => status::refused(),
            Some(span) if action.is_agent && span.end.is_none() => status::unknown(UnknownReason::Unanswered),
            _ if action.is_agent => status::of_answer(&result, self.text_rule),
            _ => status::of_tool(views, &result, self.text_rule),
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
        if let Some(outcome) = reply.map(Outcome::from) {
            let verdict = if refused.is_some() {
                status::refused()
            } else {
                status::of_answer(&outcome, self.text_rule)
            };
            return Some((outcome, verdict));
        }
        let outcome = match refused {
            Some(why) if why.is_empty() => Outcome::NOT_RECORDED,
            Some(why) => Outcome { text: Content::Present(why.into()), ..Outcome::default() },
            None => self.failed_step(request)?,
        };
        Some((outcome, status::refused()))
    }

    /// If the step that encloses a request failed, encloses no other request, and the request has one call, returns
    /// the error of the step as the outcome of that call.
    fn failed_step(&self, request: &Request<'s>) -> Option<Outcome<'s>> {
        if request.calls.len() != 1 {
            return None;
        }
        let own: BTreeSet<At> = request.spans.iter().copied().collect();
        let outermost = request.spans.iter().copied().min_by_key(|at| self.tree.ancestors(*at).count())?;
        let step = self.tree.ancestors(outermost).find(|at| !own.contains(at))?;
        if !is_failed_step(self.tree, step) {
            return None;
        }
        let models = own.iter().filter(|at| self.tree.kind(**at) == Kind::Model);
        let asked = models.filter(|at| failed_steps(self.tree, **at).any(|around| around == step)).count();
        if self.requests.get(&step).is_some_and(|all| *all > asked) {
            return None;
        }
        let views = [self.tree.span(step)?];
        let message = status::status_message(&views).or_else(|| status::exception_message(&views));
        Some(message.map_or(Outcome::NOT_RECORDED, text_of))
    }
}

fn text_of(message: &str) -> Outcome<'_> {
    results::outcome(Content::Present(Data::Text(Cow::Borrowed(message))))
}

fn is_failed_step(tree: &Tree<'_>, at: At) -> bool {
    tree.kind(at) == Kind::Chain && tree.span(at).is_some_and(|span| span.status == Code::Error)
}

/// Counts the model spans that began within each failed step.
fn requests_of_failed_steps(tree: &Tree<'_>) -> HashMap<At, usize> {
    let mut counts = HashMap::new();
    if (0..tree.spans.len()).any(|at| is_failed_step(tree, at)) {
        for step in tree.of_kind(Kind::Model).flat_map(|at| failed_steps(tree, at)) {
            *counts.entry(step).or_default() += 1;
        }
    }
    counts
}

/// Returns the failed steps around a span within which it began. Spans are sorted by start, so their indexes can be
/// compared.
fn failed_steps(tree: &Tree<'_>, at: At) -> impl Iterator<Item = At> {
    tree.ancestors(at).filter(move |step| {
        let end = tree.span(*step).and_then(|step| step.end).unwrap_or(u64::MAX);
        is_failed_step(tree, *step) && at >= *step && tree.span(at).is_some_and(|span| span.start <= end)
    })
}
