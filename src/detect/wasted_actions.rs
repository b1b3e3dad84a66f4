//! `wasted_actions`: many of the actions failed, or asked for what was known.

use std::cmp::Reverse;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Evidence;
use super::detector::Fold;
use super::finding::{FailureClass, Finding, Judgement, Verdict};
use super::measures::Measure;
use super::passed_over::PassedOver;
use super::polling::PollingCall;
use super::rule::{Grid, Rule};
use super::seen::Seen;
use super::transient::TransientRules;
use crate::error::{Error, Result};
use crate::trace::{Action, Actors, DigestMap, Digests, Routing, Status, Step, empty, map_bytes};

/// How many tools the evidence names.
const NAMED_TOOLS: usize = 10;

/// Configuration of [`WastedActions`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WastedActionsConfig {
    /// Whose actions count.
    pub actors: Actors,
    /// Wasted actions that are too many; at least 1.
    pub min_wasted: u64,
    /// The share of all actions that they must have; in [0, 1].
    pub min_share: f64,
    /// Calls that are meant to be made again and again.
    pub exempt: Vec<PollingCall>,
    /// Failures that are passed over; `null` is none.
    pub transient: Option<TransientRules>,
}

impl Default for WastedActionsConfig {
    fn default() -> Self {
        Self {
            actors: Actors::Agent,
            min_wasted: 7,
            min_share: 0.15,
            exempt: PollingCall::known(),
            transient: Some(TransientRules::default()),
        }
    }
}

#[doc = include_str!("docs/wasted_actions.md")]
#[derive(Debug, Clone)]
pub struct WastedActions(pub(super) Arc<WasteRules>);

/// The configuration, made ready.
#[derive(Debug)]
pub(super) struct WasteRules {
    config: WastedActionsConfig,
    passed_over: PassedOver,
}

impl Default for WastedActions {
    fn default() -> Self {
        Self(Arc::new(WasteRules::from_checked(&WastedActionsConfig::default())))
    }
}

impl WastedActions {
    /// The detector with this configuration.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) where `min_wasted` is 0, `min_share` is not in [0, 1], or an
    /// exempt tool has no name.
    pub fn new(config: &WastedActionsConfig) -> Result<Self> {
        WasteRules::new(config).map(|rules| Self(Arc::new(rules)))
    }
}

impl WasteRules {
    pub(super) fn new(config: &WastedActionsConfig) -> Result<Self> {
        if config.min_wasted == 0 {
            return Err(Error::config(
                "min_wasted",
                "0 would find waste in every run; it must be at least 1",
            ));
        }
        if !(0.0..=1.0).contains(&config.min_share) {
            return Err(Error::config("min_share", format!("{} is not in [0, 1]", config.min_share)));
        }
        PassedOver::validate(&config.exempt, config.transient.as_ref())?;
        Ok(Self::from_checked(config))
    }

    pub(super) fn from_checked(config: &WastedActionsConfig) -> Self {
        Self {
            passed_over: PassedOver::new(&config.exempt, config.transient.as_ref()),
            config: config.clone(),
        }
    }
}

impl Rule for WastedActions {
    type Config = WastedActionsConfig;
    const ID: &'static str = "wasted_actions";
    const CLASS: FailureClass = FailureClass::Strategy;
    const SUMMARY: &'static str = "many actions failed, or asked for what was known";
    const DOCS: &'static str = include_str!("docs/wasted_actions.md");

    fn with_actors(config: WastedActionsConfig, actors: Actors) -> WastedActionsConfig {
        WastedActionsConfig { actors, ..config }
    }

    fn configured(config: WastedActionsConfig) -> Result<Self> {
        Self::new(&config)
    }

    fn config(&self) -> &Self::Config {
        &self.0.config
    }

    fn fold(&self, _routing: &Routing) -> Box<dyn Fold> {
        Box::new(State { waste: Waste::new(Arc::clone(&self.0)) })
    }

    fn needs_argument_texts(&self) -> bool {
        self.0.passed_over.needs_texts()
    }

    fn grid() -> Option<Grid> {
        Some(Grid { parameter: "min_wasted", values: (2..=14).map(Into::into).collect() })
    }
}

/// Evidence of `wasted_actions`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WastedActionsEvidence {
    /// Actions that failed.
    pub failed: u64,
    /// Actions that did not fail, but brought an answer that was known.
    pub repeated: u64,
    /// All actions.
    pub actions: u64,
    /// The tools with the most wasted actions, at most ten; of equal ones, the one that wasted first.
    pub by_tool: Vec<WastedTool>,
}

/// The wasted actions of one tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WastedTool {
    /// The tool.
    pub tool: String,
    /// Its actions that failed.
    pub failed: u64,
    /// Its actions that brought a known answer.
    pub repeated: u64,
}

/// Counts the wasted actions of a trace.
#[derive(Debug)]
pub(super) struct Waste {
    rules: Arc<WasteRules>,
    pub(super) actions: u64,
    /// Whether an action has its arguments recorded.
    pub(super) comparable: bool,
    /// With the turn of the first time.
    seen: Seen<u64>,
    failed: u64,
    repeated: u64,
    /// First and last wasted action.
    pub(super) place: Option<(u64, u64)>,
    /// Places in the list of tools.
    ids: DigestMap<usize>,
    tools: Vec<WastedTool>,
}

impl Waste {
    pub(super) fn new(rules: Arc<WasteRules>) -> Self {
        Self {
            rules,
            actions: 0,
            comparable: false,
            seen: Seen::default(),
            failed: 0,
            repeated: 0,
            place: None,
            ids: DigestMap::default(),
            tools: Vec::new(),
        }
    }

    pub(super) fn clear(&mut self) {
        self.actions = 0;
        self.comparable = false;
        self.seen.clear();
        (self.failed, self.repeated, self.place) = (0, 0, None);
        empty(&mut self.ids);
        self.tools.clear();
    }

    #[inline]
    pub(super) fn observe(&mut self, step: &Step<'_>) {
        let Some((action, digests)) = step.digested(self.rules.config.actors) else { return };
        self.actions += 1;
        self.comparable |= digests.arguments.is_some();
        if self.rules.passed_over.reason(step, action, &digests).is_some() {
            return;
        }
        // What another call of the turn was about to bring was not known yet.
        let known = self.seen.observe(step, &digests, step.turn()).is_some_and(|turn| turn != step.turn());
        if known || action.status == Status::Error {
            self.count(step, action, &digests);
        }
    }

    fn count(&mut self, step: &Step<'_>, action: &Action<'_>, digests: &Digests) {
        let next = self.tools.len();
        let id = *self.ids.entry(digests.name).or_insert(next);
        if id == next {
            self.tools.push(WastedTool { tool: action.name.to_owned(), failed: 0, repeated: 0 });
        }
        let failed = u64::from(action.status == Status::Error);
        if let Some(tool) = self.tools.get_mut(id) {
            tool.failed += failed;
            tool.repeated += 1 - failed;
        }
        self.failed += failed;
        self.repeated += 1 - failed;
        let first = self.place.map_or(step.index(), |(first, _)| first);
        self.place = Some((first, step.index()));
    }

    /// About how many bytes are held.
    pub(super) fn memory(&self) -> usize {
        self.seen.memory() + map_bytes(&self.ids) + self.tools.capacity() * (size_of::<WastedTool>() + 16)
    }

    pub(super) fn wasted(&self) -> u64 {
        self.failed + self.repeated
    }

    /// Whether so much is too much.
    #[expect(clippy::cast_precision_loss, reason = "counts of actions are far below 2^53")]
    pub(super) fn is_too_much(&self) -> bool {
        self.wasted() >= self.rules.config.min_wasted
            && self.wasted() as f64 >= self.rules.config.min_share * self.actions as f64
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of actions are far below 2^53")]
    fn score(&self) -> f64 {
        if self.actions == 0 { 1.0 } else { 1.0 - self.wasted() as f64 / self.actions as f64 }
    }

    fn evidence(&self) -> WastedActionsEvidence {
        let mut by_tool = self.tools.clone();
        by_tool.sort_by_key(|tool| Reverse(tool.failed + tool.repeated));
        by_tool.truncate(NAMED_TOOLS);
        WastedActionsEvidence { failed: self.failed, repeated: self.repeated, actions: self.actions, by_tool }
    }
}

#[derive(Debug)]
struct State {
    waste: Waste,
}

impl Fold for State {
    fn observe(&mut self, step: &Step<'_>) {
        self.waste.observe(step);
    }

    /// Nothing is certain before the end: the share may still fall.
    fn certain(&self) -> &[Finding] {
        &[]
    }

    fn verdict(&self) -> Verdict {
        let waste = &self.waste;
        if waste.actions > 0 && !waste.comparable {
            return super::incomparable();
        }
        let place = waste.place.filter(|_| waste.is_too_much());
        let findings: Vec<Finding> = place.map(|place| finding(waste, place)).into_iter().collect();
        Verdict::Judged(Judgement {
            detected: !findings.is_empty(),
            score: Some(waste.score()),
            findings,
            measures: [
                Measure::count("actions", waste.actions),
                Measure::count("failed", waste.failed),
                Measure::count("repeated", waste.repeated),
                Measure::count("wasted", waste.wasted()),
            ]
            .into(),
            ..Judgement::default()
        })
    }

    fn memory(&self) -> usize {
        self.waste.memory()
    }

    fn restart(&mut self, _routing: &Routing) -> bool {
        self.waste.clear();
        true
    }
}

fn finding(waste: &Waste, place: (u64, u64)) -> Finding {
    let evidence = waste.evidence();
    let message = format!(
        "{} of {} actions were wasted: {} failed, {} brought an answer that was known",
        waste.wasted(),
        waste.actions,
        waste.failed,
        waste.repeated
    );
    Finding::new(WastedActions::ID, WastedActions::MODE, place, message, Evidence::WastedActions(evidence))
}
