//! Tracks each call that a reference expects.

use std::collections::BTreeSet;

use crate::json::Json;
use crate::trace::{Actor, Digest, DigestMap, Members, ReferenceAction, empty, map_bytes};

/// A call that is expected.
#[derive(Debug)]
pub(crate) struct Expectation {
    /// The digest of the tool and its caller. A matching call has the same digest.
    pub(crate) tool: Digest,
    /// The arguments that must be equal, in order. If the reference does not give one of them, its value is `None`, and
    /// no call matches.
    pub(crate) compared: Vec<(String, Option<Digest>)>,
}

/// Why an expected call does not count as made.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Missed<S> {
    /// It was made and failed every time, first at this step.
    Rejected(S),
    /// The tool was called with other arguments, first at this step. That call differs in these arguments.
    Arguments(S, Vec<String>),
    /// The tool was never called.
    NeverCalled,
}

/// A fold over calls; `S` is the step of a call. The cost per call grows with the number of different lists of
/// compared arguments for its tool, not with the number of expected calls.
#[derive(Debug, Default)]
pub(crate) struct ExpectedCalls<S> {
    /// For each expected call, its tool, the index of its form, and the expected values.
    expected: Vec<(Digest, usize, Vec<Option<Digest>>)>,
    tools: DigestMap<Tool<S>>,
}

#[derive(Debug)]
struct Tool<S> {
    forms: Vec<Form<S>>,
    /// The step of its first call.
    first: Option<S>,
    /// Whether the arguments of any call were not recorded. That call may have been an expected one, so expected calls
    /// that compare arguments are then never reported as missed.
    in_doubt: bool,
}

/// Expected calls of one tool that compare the same arguments.
#[derive(Debug)]
struct Form<S> {
    names: Vec<String>,
    /// The values of these arguments in the first call of the tool.
    first: Vec<Option<Digest>>,
    /// The outcome of each expected call, keyed by its joined values.
    fates: DigestMap<Fate<S>>,
}

#[derive(Debug)]
enum Fate<S> {
    Open,
    /// It failed every time, first at this step.
    Rejected(S),
    Met,
}

impl Expectation {
    /// Creates the expectation of a reference action, with the arguments that it compares, by default all of
    /// them.
    pub(crate) fn of(action: &ReferenceAction) -> Self {
        let given = Members::of(action.arguments());
        let names = action.compare().map_or_else(|| member_names(action.arguments()), <[String]>::to_vec);
        let compared = names.into_iter().map(|name| {
            let value = given.get(&name);
            (name, value)
        });
        Self { tool: tool_of(action.actor(), action.name_digest()), compared: compared.collect() }
    }
}

impl<S: Copy> ExpectedCalls<S> {
    /// Starts over with these expected calls.
    pub(crate) fn begin(&mut self, expected: impl IntoIterator<Item = Expectation>) {
        self.expected.clear();
        empty(&mut self.tools);
        for Expectation { tool, compared } in expected {
            let (names, values): (Vec<_>, Vec<_>) = compared.into_iter().unzip();
            let new = || Tool { forms: Vec::new(), first: None, in_doubt: false };
            let forms = &mut self.tools.entry(tool).or_insert_with(new).forms;
            let place = forms.iter().position(|form| form.names == names).unwrap_or(forms.len());
            if place == forms.len() {
                forms.push(Form { names, first: Vec::new(), fates: DigestMap::default() });
            }
            if let Some((form, key)) = forms.get_mut(place).zip(joined(values.iter().copied())) {
                form.fates.insert(key, Fate::Open);
            }
            self.expected.push((tool, place, values));
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.expected.len()
    }

    pub(crate) fn memory(&self) -> usize {
        let forms = self.tools.values().flat_map(|tool| &tool.forms);
        let form = |form: &Form<S>| size_of::<Form<S>>() + 64 * form.names.len() + map_bytes(&form.fates);
        let values = self.expected.iter().map(|(_, _, values)| 64 + 24 * values.len()).sum::<usize>();
        map_bytes(&self.tools) + forms.map(form).sum::<usize>() + values
    }

    /// Observes the next call. `given` returns a look-up of its arguments, or `None` if they were not recorded. It is
    /// called only if the tool is expected.
    pub(crate) fn observe<G: Fn(&str) -> Option<Digest>>(
        &mut self,
        tool: Digest,
        step: S,
        failed: bool,
        given: impl FnOnce() -> Option<G>,
    ) {
        let Some(tool) = self.tools.get_mut(&tool) else { return };
        let given = given();
        tool.in_doubt |= given.is_none();
        let value = |name: &String| given.as_ref().and_then(|given| given(name));
        for form in &mut tool.forms {
            if tool.first.is_none() {
                form.first = form.names.iter().map(value).collect();
            }
            let key = joined(form.names.iter().map(value));
            match key.and_then(|key| form.fates.get_mut(&key)) {
                Some(fate) if !failed => *fate = Fate::Met,
                Some(fate @ Fate::Open) => *fate = Fate::Rejected(step),
                _ => {}
            }
        }
        tool.first.get_or_insert(step);
    }

    /// Returns the expected calls that were missed, with their indices. Calls that compare arguments are skipped if the
    /// arguments of any call of their tool were not recorded.
    pub(crate) fn missed(&self) -> impl Iterator<Item = (usize, Missed<S>)> {
        self.expected.iter().enumerate().filter_map(|(place, (tool, form, values))| {
            let tool = self.tools.get(tool)?;
            let form = tool.forms.get(*form)?;
            let fate = joined(values.iter().copied()).and_then(|key| form.fates.get(&key));
            let missed = match (fate, tool.first) {
                _ if tool.in_doubt && !values.is_empty() => return None,
                (Some(Fate::Met), _) => return None,
                (Some(Fate::Rejected(step)), _) => Missed::Rejected(*step),
                (_, Some(step)) => Missed::Arguments(step, form.differing(values)),
                (_, None) => Missed::NeverCalled,
            };
            Some((place, missed))
        })
    }
}

impl<S> Form<S> {
    /// Returns the arguments that differ from these values in the first call of the tool.
    fn differing(&self, values: &[Option<Digest>]) -> Vec<String> {
        let pairs = self.names.iter().zip(self.first.iter().zip(values));
        let differing = pairs.filter(|(_, (given, wanted))| wanted.is_none() || given != wanted);
        differing.map(|(name, _)| name.clone()).collect()
    }
}

/// Joins digests into one; `None` if one is missing.
fn joined(mut values: impl Iterator<Item = Option<Digest>>) -> Option<Digest> {
    values.try_fold(Digest::NONE, |joined, value| Some(joined.and(value?)))
}

/// Returns the digest of a tool and its caller.
pub(crate) fn tool_of(actor: Actor, name: Digest) -> Digest {
    Digest::of_text(actor.name()).and(name)
}

/// Returns the names in a JSON object, each once, in the order of the text; none if it is not a valid object.
fn member_names(json: &str) -> Vec<String> {
    let (mut names, mut seen) = (Vec::new(), BTreeSet::new());
    let read = Json::new(json.as_bytes()).object(|key, value| {
        let name = String::from_utf8_lossy(key).into_owned();
        if seen.insert(name.clone()) {
            names.push(name);
        }
        value.skip()
    });
    if read.is_ok() { names } else { Vec::new() }
}
