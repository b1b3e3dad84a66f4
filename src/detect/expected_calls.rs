//! What became of each call that a reference expects.

use crate::trace::{Digest, DigestMap, empty, map_bytes};

/// A call that is expected.
#[derive(Debug)]
pub(crate) struct Expectation {
    /// What has to be equal before arguments are looked at: the tool, and whoever calls it.
    pub(crate) tool: Digest,
    /// The arguments that must be equal, in order, with what they must be; one that the reference does not give is
    /// never equal.
    pub(crate) compared: Vec<(String, Option<Digest>)>,
}

/// Why an expected call does not count as made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Missed<'e, S> {
    /// It was made, and failed every time; the first time at this step.
    Rejected(S),
    /// The tool was called with other arguments; first at this step, where these differ.
    Arguments(S, &'e [String]),
    /// The tool was never called.
    NeverCalled,
}

/// A fold over calls; `S` is the step of a call. A call costs as much as there are different lists of compared
/// arguments among the expected calls of its tool.
#[derive(Debug)]
pub(crate) struct ExpectedCalls<S> {
    expected: Vec<Expected<S>>,
    /// Places in the list of tools.
    ids: DigestMap<usize>,
    tools: Vec<Tool>,
    /// What became of calls: expected calls that are the same share one.
    fates: Vec<Fate<S>>,
    /// How many arguments are compared in all.
    compared: usize,
}

#[derive(Debug)]
struct Expected<S> {
    compared: Vec<(String, Option<Digest>)>,
    /// Place in the list of tools.
    tool: usize,
    /// Place in the list of fates; `None`: no call can be as expected.
    fate: Option<usize>,
    /// The first call of the tool, and the arguments in which it differs.
    first: Option<(S, Vec<String>)>,
}

#[derive(Debug, Default)]
struct Tool {
    /// The expected calls for which no call of the tool has come yet: places in the list.
    waiting: Vec<usize>,
    forms: Vec<Form>,
    /// There was a call whose arguments nobody knows: it may have been as expected.
    in_doubt: bool,
}

/// Expected calls of one tool that compare the same arguments.
#[derive(Debug)]
struct Form {
    compared: Vec<String>,
    /// By the digests of the arguments: places in the list of fates.
    fates: DigestMap<usize>,
}

#[derive(Debug)]
struct Fate<S> {
    /// A call as expected did not fail.
    met: bool,
    /// The first call as expected that failed.
    rejected: Option<S>,
}

impl<S> Default for ExpectedCalls<S> {
    fn default() -> Self {
        let (expected, ids, tools, fates) = (Vec::new(), DigestMap::default(), Vec::new(), Vec::new());
        Self { expected, ids, tools, fates, compared: 0 }
    }
}

impl<S: Copy> ExpectedCalls<S> {
    /// Begins anew, with these expected calls.
    pub(crate) fn begin(&mut self, expected: impl IntoIterator<Item = Expectation>) {
        self.expected.clear();
        empty(&mut self.ids);
        self.tools.clear();
        self.fates.clear();
        self.compared = 0;
        expected.into_iter().for_each(|call| self.expect(call));
    }

    fn expect(&mut self, Expectation { tool, compared }: Expectation) {
        let next = self.tools.len();
        let id = *self.ids.entry(tool).or_insert(next);
        if id == next {
            self.tools.push(Tool::default());
        }
        let Some(tool) = self.tools.get_mut(id) else { return };
        tool.waiting.push(self.expected.len());
        let fate = joined(compared.iter().map(|(_, value)| *value)).and_then(|values| {
            let next = self.fates.len();
            let fate = *tool.form(&compared)?.fates.entry(values).or_insert(next);
            if fate == next {
                self.fates.push(Fate { met: false, rejected: None });
            }
            Some(fate)
        });
        self.compared += compared.len();
        self.expected.push(Expected { compared, tool: id, fate, first: None });
    }

    /// How many calls are expected.
    pub(crate) fn len(&self) -> usize {
        self.expected.len()
    }

    /// About how many bytes are held.
    pub(crate) fn memory(&self) -> usize {
        map_bytes(&self.ids)
            + self.expected.capacity() * (size_of::<Expected<S>>() + size_of::<Tool>() + size_of::<Form>())
            + self.fates.capacity() * (size_of::<Fate<S>>() + 2 * size_of::<(Digest, usize)>())
            + self.compared * (size_of::<(String, Option<Digest>)>() + 32)
    }

    /// Takes the next call. `given` looks its arguments up, and is made only where the tool is expected; `None`: they
    /// are not known.
    pub(crate) fn observe<G: Fn(&str) -> Option<Digest>>(
        &mut self,
        tool: Digest,
        step: S,
        failed: bool,
        given: impl FnOnce() -> Option<G>,
    ) {
        let Some(tool) = self.ids.get(&tool).and_then(|id| self.tools.get_mut(*id)) else { return };
        let given = given();
        tool.in_doubt |= given.is_none();
        let value = |name: &str| given.as_ref().and_then(|given| given(name));
        for place in tool.waiting.drain(..) {
            let Some(expected) = self.expected.get_mut(place) else { continue };
            let differs =
                |(name, wanted): &&(String, Option<Digest>)| wanted.is_none() || value(name) != *wanted;
            let differing = expected.compared.iter().filter(differs).map(|(name, _)| name.clone());
            expected.first = Some((step, differing.collect()));
        }
        for form in &tool.forms {
            let found = joined(form.compared.iter().map(|name| value(name)));
            let fate = found.and_then(|values| form.fates.get(&values));
            if let Some(fate) = fate.and_then(|fate| self.fates.get_mut(*fate)) {
                fate.met |= !failed;
                fate.rejected = fate.rejected.or(Some(step));
            }
        }
    }

    /// The expected calls that were missed, by their places. Where a call of the tool may have been the one, nobody
    /// knows, and nothing is said.
    pub(crate) fn missed(&self) -> impl Iterator<Item = (usize, Missed<'_, S>)> {
        self.expected.iter().enumerate().filter_map(|(place, expected)| {
            let in_doubt = self.tools.get(expected.tool).is_some_and(|tool| tool.in_doubt);
            if in_doubt && !expected.compared.is_empty() {
                return None;
            }
            let fate = expected.fate.and_then(|fate| self.fates.get(fate));
            let missed = match (fate, &expected.first) {
                (Some(Fate { met: true, .. }), _) => return None,
                (Some(Fate { rejected: Some(step), .. }), _) => Missed::Rejected(*step),
                (_, Some((step, differing))) => Missed::Arguments(*step, differing),
                (_, None) => Missed::NeverCalled,
            };
            Some((place, missed))
        })
    }
}

impl Tool {
    /// The form that compares these arguments.
    fn form(&mut self, compared: &[(String, Option<Digest>)]) -> Option<&mut Form> {
        let same = |form: &Form| form.compared.iter().eq(compared.iter().map(|(name, _)| name));
        let place = self.forms.iter().position(same).unwrap_or(self.forms.len());
        if place == self.forms.len() {
            let compared = compared.iter().map(|(name, _)| name.clone()).collect();
            self.forms.push(Form { compared, fates: DigestMap::default() });
        }
        self.forms.get_mut(place)
    }
}

/// One digest of several; `None` where one is missing.
fn joined(mut values: impl Iterator<Item = Option<Digest>>) -> Option<Digest> {
    values.try_fold(Digest::NONE, |joined, value| Some(joined.and(value?)))
}
