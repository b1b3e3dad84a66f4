//! Builds runs message by message, and pairs answers that have no id with their calls.

use std::borrow::Cow;
use std::hash::Hash;

use crate::json::{Json, Kind, Raw};
use crate::read::PassedOver;
use crate::read::answers_without_id::InOrder;
use crate::read::call_outcome::Outcome;
use crate::read::document::Document;
use crate::read::members::Members;
use crate::read::runs::Runs;
use crate::read::signature::{Mark, SHOWN};
use crate::read::{common, wire, words};
use crate::trace::{Actor, Answer, Assembler, Call, CallNumber, Content, Metadata, TextCow, TextMap, Usage};

/// Returns true if `fits` holds for an object among the first [`SHOWN`] items or lines.
pub(super) fn any_of_first(items: &[Raw<'_>], fits: impl Fn(&Members<'_>) -> bool) -> bool {
    let mut objects = items.iter().take(SHOWN).filter(|item| item.kind() == Kind::Object);
    objects.any(|item| fits(&Members::of(&mut item.json())))
}

/// Returns the items of a document that is a list, or its lines. For an object, returns the items of the list
/// under the first of `keys` that holds one.
pub(super) fn elements<'a>(document: &Document<'a>, keys: &[&str]) -> Vec<Raw<'a>> {
    match document {
        Document::Object(members) => {
            let lists = keys.iter().filter_map(|key| members.get(key)?.items());
            lists.into_iter().next().unwrap_or_default()
        }
        document => document.items().to_vec(),
    }
}

/// Like [`elements`], but returns the members of each element. An element that is not an object has none.
pub(super) fn objects<'a>(document: &Document<'a>, keys: &[&str]) -> impl Iterator<Item = Members<'a>> {
    elements(document, keys).into_iter().map(Members::from)
}

/// Returns the objects that `mark` fits, and reports the rest as skipped for the reason `others`.
pub(super) fn fitting<'a>(
    mark: &Mark,
    objects: impl IntoIterator<Item = Members<'a>>,
    others: &'static str,
    runs: &mut Runs<'_>,
) -> Vec<Members<'a>> {
    let (known, unknown): (Vec<_>, Vec<_>) = objects.into_iter().partition(|object| mark.fits(object));
    runs.pass_over(others, unknown.len() as u64);
    known
}

/// Returns the members of an object, or no members if the value is not an object.
pub(super) fn members(value: Option<Raw<'_>>) -> Members<'_> {
    value.map(|value| Members::of(&mut value.json())).unwrap_or_default()
}

/// Returns the items of a list; none for any other value.
pub(super) fn items(value: Option<Raw<'_>>) -> Vec<Raw<'_>> {
    value.and_then(Raw::items).unwrap_or_default()
}

/// Returns the text as a JSON value, or `None` if it is not valid JSON.
pub(super) fn json(text: &str) -> Option<Raw<'_>> {
    Json::new(text.as_bytes()).is_sound().then(|| Raw::over(text.trim_ascii_start().as_bytes(), 0))
}

/// Returns an id: a non-empty string, or an integer as text.
pub(super) fn ident(value: Option<Raw<'_>>) -> Option<Cow<'_, str>> {
    value.and_then(common::ident)
}

/// Returns the text of a message: a string, text parts, or one text part. `None` if it is blank.
pub(super) fn text(value: Option<Raw<'_>>) -> Option<TextCow<'_>> {
    value.and_then(words::text)
}

/// A run that is read message by message.
#[derive(Default)]
pub(super) struct Recording<'a> {
    pub(super) metadata: Metadata,
    pub(super) reward: Option<f64>,
    pub(super) steps: Assembler<'a>,
    turn: u64,
    /// True if the turn consists of calls that have no answer yet.
    is_calling: bool,
    time: Option<u64>,
    usage: Option<Usage>,
    in_order: InOrder<'a>,
    passed_over: PassedOver,
}

impl<'a> Recording<'a> {
    pub(super) fn of_agent(agent: &str) -> Self {
        let metadata = Metadata { agent: Some(agent.into()), ..Metadata::default() };
        Self { metadata, ..Self::default() }
    }

    /// Counts elements as skipped, to be reported with the run.
    pub(super) fn pass_over(&mut self, reason: &'static str, count: u64) {
        if count > 0 {
            *self.passed_over.entry(reason.into()).or_default() += count;
        }
    }

    pub(super) fn turn(&mut self, time: Option<u64>) {
        self.at(self.turn + 1, time);
    }

    /// Sets the turn and the time of the entries that follow, and clears the token usage.
    pub(super) fn at(&mut self, turn: u64, time: Option<u64>) {
        (self.turn, self.time, self.usage, self.is_calling) = (turn, time, None, false);
    }

    /// Like [`Recording::turn`], for a call that is an entry of its own. Consecutive calls were issued
    /// together, so they share a turn.
    pub(super) fn turn_of_call(&mut self, time: Option<u64>) {
        self.at(if self.is_calling { self.turn } else { self.turn + 1 }, time);
        self.is_calling = true;
    }

    /// Sets the time of the entries that follow in the current turn.
    pub(super) fn time(&mut self, time: Option<u64>) {
        self.time = time;
    }

    /// Sets the token usage for the calls that follow in the current turn. If the turn has no call, its
    /// messages carry the first usage that was set.
    pub(super) fn set_usage(&mut self, usage: Option<Usage>) {
        self.usage = usage.filter(|usage| !usage.is_empty());
        self.steps.set_usage(self.turn, self.usage);
    }

    /// Sets the model, unless it is already set.
    pub(super) fn model(&mut self, model: Option<Cow<'_, str>>) {
        if self.metadata.model.is_none() {
            self.metadata.model = model.filter(|name| !name.is_empty()).as_deref().map(Into::into);
        }
    }

    /// Adds a message, unless it is blank.
    pub(super) fn say(&mut self, actor: Actor, text: Option<TextCow<'a>>) {
        if let Some(text) = text.filter(|text| !wire::is_blank(text.text())) {
            self.steps.message_at(actor, self.turn, text, self.time);
        }
    }

    pub(super) fn call(
        &mut self,
        id: Option<Cow<'a, str>>,
        name: Option<Cow<'a, str>>,
        arguments: Option<Raw<'a>>,
    ) -> CallNumber {
        let arguments = arguments.map_or(Content::Absent, common::arguments);
        self.add(Call::new(self.turn, id, name.unwrap_or_default()).with(arguments))
    }

    pub(super) fn call_text(
        &mut self,
        name: impl Into<Cow<'a, str>>,
        argument: &str,
        text: &str,
    ) -> CallNumber {
        let arguments = Content::Present(common::sole_text(argument, text));
        self.add(Call::new(self.turn, None, name).with(arguments))
    }

    /// Adds a call to the current turn. Its time and usage default to those of the turn.
    pub(super) fn add(&mut self, mut call: Call<'a>) -> CallNumber {
        (call.turn, call.time) = (self.turn, call.time.or(self.time));
        call.usage = call.usage.or_else(|| self.usage.map(Box::new));
        self.steps.call(call)
    }

    /// Returns a call for modification, unless it was already emitted.
    pub(super) fn call_mut(&mut self, call: CallNumber) -> Option<&mut Call<'a>> {
        self.steps.call_mut(call)
    }

    /// Sets the start of a call, and its duration if both times are known.
    pub(super) fn set_times(&mut self, call: CallNumber, start: Option<u64>, end: Option<u64>) {
        let Some(call) = self.steps.call_mut(call) else { return };
        call.time = start.or(call.time);
        let duration_ns = end.zip(start).and_then(|(end, start)| end.checked_sub(start));
        if duration_ns.is_some() {
            call.usage.get_or_insert_default().duration_ns = duration_ns;
        }
    }

    pub(super) fn answer_call(
        &mut self,
        call: CallNumber,
        observation: Option<TextCow<'a>>,
        outcome: Outcome,
    ) {
        self.is_calling = false;
        self.steps.answer_call(call, outcome.answer(observation.into()));
    }

    /// Adds an answer to the call with this id. An answer without an id stays unpaired.
    pub(super) fn answer_with(&mut self, id: Option<Cow<'a, str>>, answer: Answer<'a>) {
        self.is_calling = false;
        self.steps.answer(self.turn, id, answer);
    }

    /// Answers this call. Without a call, the answer stays unpaired.
    pub(super) fn answer_to(&mut self, call: Option<CallNumber>, answer: Answer<'a>) {
        self.is_calling = false;
        self.steps.answer_to(call, self.turn, None, answer);
    }

    /// Answers a call whose output was recorded only within the output of several calls. The last of these calls gets
    /// that text; the observation of this one is not recorded.
    pub(super) fn answer_without_text(&mut self, call: CallNumber, outcome: Outcome) {
        self.steps.answer_call(call, outcome.answer(Content::NotRecorded));
    }

    /// Answers the call with this id. Without an id, answers the oldest unanswered call of the tool `name`,
    /// or of any tool if `name` is `None`.
    pub(super) fn answer(
        &mut self,
        id: Option<Cow<'a, str>>,
        name: Option<&Cow<'a, str>>,
        observation: Option<TextCow<'a>>,
        outcome: Outcome,
    ) {
        self.is_calling = false;
        let answer = outcome.answer(observation.into());
        let call = if id.is_none() { self.oldest(name) } else { None };
        self.steps.answer_to(call, self.turn, id, answer);
    }

    /// Returns the oldest unanswered call of the tool `name`, or of any tool if `name` is `None`.
    pub(super) fn oldest(&mut self, name: Option<&Cow<'a, str>>) -> Option<CallNumber> {
        self.in_order.oldest(name, &mut self.steps)
    }

    /// From here on, pairs answers without an id only with later calls.
    pub(super) fn ignore_earlier_calls(&mut self) {
        self.in_order = InOrder::after(&self.steps);
    }

    /// Emits the complete steps, unless the run has no call yet.
    pub(super) fn hand_on(&mut self, runs: &mut Runs<'_>) {
        runs.hand_on(&mut self.steps, u64::MAX);
    }

    /// Like [`Recording::hand_on`], but emits only steps of earlier turns.
    pub(super) fn hand_on_before_turn(&mut self, runs: &mut Runs<'_>) {
        runs.hand_on(&mut self.steps, self.turn);
    }

    /// Emits the run and reports its skipped elements.
    pub(super) fn give(mut self, runs: &mut Runs<'_>) {
        self.passed_over.into_iter().for_each(|(reason, count)| runs.pass_over(reason, count));
        runs.give_unrouted(&mut self.steps, self.metadata, self.reward);
    }
}

/// A map that keeps its keys in insertion order.
pub(super) struct Ordered<K, V> {
    all: TextMap<K, (usize, V)>,
    first: Option<K>,
}

impl<K, V> Default for Ordered<K, V> {
    fn default() -> Self {
        Self { all: TextMap::default(), first: None }
    }
}

impl<K: Eq + Hash + Clone, V> Ordered<K, V> {
    /// Returns the value of a key, inserting it if absent.
    pub(super) fn get(&mut self, key: K, begin: impl FnOnce(&K) -> V) -> &mut V {
        let before = self.all.len();
        self.first.get_or_insert_with(|| key.clone());
        &mut self.all.entry(key).or_insert_with_key(|key| (before, begin(key))).1
    }

    pub(super) fn known(&mut self, key: &K) -> Option<&mut V> {
        self.all.get_mut(key).map(|(_, value)| value)
    }

    pub(super) fn first_mut(&mut self) -> Option<&mut V> {
        self.all.get_mut(self.first.as_ref()?).map(|(_, value)| value)
    }

    pub(super) fn into_values(self) -> impl Iterator<Item = V> {
        let mut all: Vec<_> = self.all.into_values().collect();
        all.sort_unstable_by_key(|(before, _)| *before);
        all.into_iter().map(|(_, value)| value)
    }
}

/// Runs by id, in the order in which they began.
#[derive(Default)]
pub(super) struct Recordings<'a> {
    agent: &'static str,
    runs: Ordered<Option<Cow<'a, str>>, Recording<'a>>,
}

impl<'a> Recordings<'a> {
    pub(super) fn of_agent(agent: &'static str) -> Self {
        Self { agent, runs: Ordered::default() }
    }

    /// Returns the run with this id, creating it if needed.
    pub(super) fn run(&mut self, id: Option<Cow<'a, str>>) -> &mut Recording<'a> {
        self.runs.get(id, |id| {
            let mut run = Recording::of_agent(self.agent);
            run.metadata.id = id.clone().map(Cow::into_owned);
            run
        })
    }

    pub(super) fn give(self, runs: &mut Runs<'_>) {
        self.runs.into_values().for_each(|run| run.give(runs));
    }
}
