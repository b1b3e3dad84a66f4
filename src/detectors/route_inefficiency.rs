//! `route_inefficiency`: far more steps than the reference route needs.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde::{Deserialize, Serialize};

use super::config::Configured;
use super::detector::{Detector, Fold};
use super::finding::{Evidence, FailureClass, FailureMode, Finding, Judgement, Measure, Verdict};
use super::route_progress::{Pair, Tracker};
use crate::error::{Error, Result};
use crate::trace::{Actors, Routing, Step};

/// Configuration of [`RouteInefficiency`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RouteInefficiencyConfig {
    /// Whose actions count, where the milestones are actions.
    pub actors: Actors,
    /// How many times the reference distance is too far; above 0, finite.
    pub ratio: f64,
    /// How many steps more than the reference distance there must be.
    pub min_extra: u64,
    /// Whether the start of the trace is a milestone of its own, where the milestones are actions.
    pub from_start: bool,
}

impl Default for RouteInefficiencyConfig {
    fn default() -> Self {
        Self { actors: Actors::Agent, ratio: 2.0, min_extra: 5, from_start: true }
    }
}

impl RouteInefficiencyConfig {
    /// The published rule of the `BenchTrace` benchmark: the ratio alone.
    #[must_use]
    pub fn bench_trace() -> Self {
        Self { min_extra: 0, ..Self::default() }
    }
}

#[doc = include_str!("docs/route_inefficiency.md")]
#[derive(Debug, Clone, Default)]
pub struct RouteInefficiency {
    config: RouteInefficiencyConfig,
}

impl RouteInefficiency {
    /// The detector with this configuration.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) where the ratio is not above 0 and finite.
    pub fn new(config: RouteInefficiencyConfig) -> Result<Self> {
        if !(config.ratio > 0.0 && config.ratio.is_finite()) {
            return Err(Error::config("ratio", format!("{} is not above 0 and finite", config.ratio)));
        }
        Ok(Self { config })
    }
}

impl Configured for RouteInefficiency {
    type Config = RouteInefficiencyConfig;
    const ID: &'static str = "route_inefficiency";
    const CLASS: FailureClass = FailureClass::Strategy;
    const SUMMARY: &'static str = "far more steps than the reference route needs";
    const DOCS: &'static str = include_str!("docs/route_inefficiency.md");

    fn bench_trace() -> Self::Config {
        Self::Config::bench_trace()
    }

    fn with_actors(config: Self::Config, actors: Actors) -> Self::Config {
        Self::Config { actors, ..config }
    }

    fn build(config: Self::Config) -> Result<Self> {
        Self::new(config)
    }
}

/// A milestone as the evidence names it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MilestoneEvidence {
    /// The step at which the reference reaches it.
    pub reference_step: u64,
    /// What is done there: an action, or `start`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// The score with which it is reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
}

/// Evidence of `route_inefficiency`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RouteInefficiencyEvidence {
    /// Steps that the agent took between the two milestones, or to the end of the trace.
    pub steps: u64,
    /// Steps that the reference takes.
    pub reference_steps: u64,
    /// `steps / reference_steps`.
    pub ratio: f64,
    /// Whether the second milestone was reached.
    pub reached: bool,
    /// The milestone at which the range begins.
    pub from: MilestoneEvidence,
    /// The milestone at which it ends, or should have.
    pub to: MilestoneEvidence,
}

impl Detector for RouteInefficiency {
    fn id(&self) -> &'static str {
        Self::ID
    }

    fn mode(&self) -> FailureMode {
        Self::MODE
    }

    /// Only where a route compares single arguments, and then the readers keep the texts.
    fn reads_argument_texts(&self) -> bool {
        false
    }

    fn start(&self, routing: &Routing) -> Box<dyn Fold> {
        let mut state = State {
            config: self.config.clone(),
            tracker: Tracker::default(),
            not_applicable: None,
            due: BinaryHeap::new(),
            over: Vec::new(),
            certain: Vec::new(),
        };
        state.restart(routing);
        Box::new(state)
    }
}

#[derive(Debug)]
struct State {
    config: RouteInefficiencyConfig,
    tracker: Tracker,
    /// Why there is nothing to say of the trace.
    not_applicable: Option<Cow<'static, str>>,
    /// When pairs become findings if their ends are not reached before: units, and places in the list of pairs.
    due: BinaryHeap<Reverse<(u64, usize)>>,
    /// Scratch: the pairs whose time is over.
    over: Vec<usize>,
    certain: Vec<Finding>,
}

impl Fold for State {
    fn observe(&mut self, step: &Step<'_>) {
        if self.not_applicable.is_some() {
            return;
        }
        let Some(now) = self.tracker.observe(step) else { return };
        let pair = |place: usize| self.tracker.pairs().get(place).copied();
        for place in self.tracker.begun() {
            let Some(pair) = pair(place) else { continue };
            if let Some(start) = self.tracker.start_of(pair) {
                let due = start.saturating_add(too_far(&self.config, pair.distance));
                self.due.push(Reverse((due, place)));
            }
        }
        self.over.clear();
        while let Some(&Reverse((due, place))) = self.due.peek()
            && due <= now
        {
            self.due.pop();
            self.over.push(place);
        }
        self.over.sort_unstable();
        let pairs = self.over.iter().filter_map(|&place| pair(place));
        self.certain.extend(pairs.filter_map(|pair| finding(&self.config, &self.tracker, pair)));
    }

    /// A finding when its range is over, or has become too long already.
    fn certain(&self) -> &[Finding] {
        &self.certain
    }

    fn finish(&mut self) -> Verdict {
        if let Some(reason) = self.not_applicable.clone() {
            return Verdict::NotApplicable { reason };
        }
        let tracker = &self.tracker;
        let pairs = || tracker.pairs().iter().copied();
        let findings: Vec<Finding> =
            pairs().filter_map(|pair| finding(&self.config, tracker, pair)).collect();
        let extra = |pair: Pair| tracker.measure(pair).map(|reach| reach.steps.saturating_sub(pair.distance));
        let extra = pairs().filter_map(extra).sum();
        Verdict::Judged(Judgement {
            detected: !findings.is_empty(),
            score: None,
            measures: vec![
                Measure::count("detours", findings.len() as u64),
                Measure::count("extra_steps", extra),
                Measure::count("milestones_reached", tracker.reached()),
            ],
            findings,
        })
    }

    fn restart(&mut self, routing: &Routing) -> bool {
        let RouteInefficiencyConfig { actors, from_start, .. } = self.config;
        self.not_applicable = match routing {
            Routing::Unknown(reason) => Some(reason.clone()),
            Routing::Known(route) => self.tracker.begin(route, actors, from_start).err().map(Cow::Borrowed),
        };
        self.due.clear();
        self.certain.clear();
        true
    }
}

/// The smallest number of steps that makes a finding of a pair with this reference distance.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "saturates"
)]
fn too_far(config: &RouteInefficiencyConfig, distance: u64) -> u64 {
    let by_ratio = ((config.ratio * distance as f64).floor() as u64).saturating_add(1);
    by_ratio.max(distance.saturating_add(config.min_extra))
}

#[expect(clippy::cast_precision_loss, reason = "steps are far below 2^53")]
fn finding(config: &RouteInefficiencyConfig, tracker: &Tracker, pair: Pair) -> Option<Finding> {
    let reach = tracker.measure(pair)?;
    let (steps, distance) = (reach.steps, pair.distance);
    if steps < too_far(config, distance) {
        return None;
    }
    let (from, to) = tracker.describe(pair);
    let end = if reach.reached { "to the next milestone" } else { "without reaching the next milestone" };
    Some(Finding {
        detector: RouteInefficiency::ID,
        mode: RouteInefficiency::MODE,
        first: reach.first_step,
        last: reach.last_step,
        message: format!("{steps} steps {end}, where the reference takes {distance}"),
        evidence: Evidence::RouteInefficiency(RouteInefficiencyEvidence {
            steps,
            reference_steps: distance,
            ratio: steps as f64 / distance as f64,
            reached: reach.reached,
            from,
            to,
        }),
    })
}
