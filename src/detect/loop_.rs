//! `loop`: the same action again and again, without progress.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Evidence;
use super::detector::Fold;
use super::finding::{FINDING_BYTES, FailureClass, Finding, Judgement, Verdict};
use super::loop_parts::Span;
use super::loop_polls::Polls;
use super::loop_segment::Segment;
use super::measures::Measure;
use super::passed_over::{Passed, PassedOver};
use super::polling::PollingCall;
use super::rule::{Grid, Rule};
use super::seen::Gains;
use super::transient::TransientRules;
use crate::error::{Error, Result};
use crate::names::named;
use crate::trace::{Actors, Routing, Step};

/// What counts as a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LoopDefinition {
    /// Repeated calls with the same answer, and repeated failures.
    Stuck,
    /// Any key that repeats, whatever the answer.
    Repeat,
}

named! { LoopDefinition, "definition" { Stuck => "stuck", Repeat => "repeat" } }

/// Configuration of [`Loop`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LoopConfig {
    /// Whose actions count.
    pub actors: Actors,
    /// What counts as a loop.
    pub definition: LoopDefinition,
    /// Occurrences of one key that make a loop; at least 2.
    pub min_repeats: u64,
    /// Novel actions that may lie between two occurrences of a chain (`stuck`).
    pub max_gap: u64,
    /// Failures of one tool that make a loop; at least 2 (`stuck`).
    pub min_failures: u64,
    /// Calls that are meant to be made again and again.
    pub exempt: Vec<PollingCall>,
    /// Equal answers in a row to one exempt call that are too many all the same; at least 2 (`stuck`).
    pub max_polls: u64,
    /// Failures that are passed over; `null` is none.
    pub transient: Option<TransientRules>,
}

impl Default for LoopConfig {
    fn default() -> Self {
        Self {
            actors: Actors::Agent,
            definition: LoopDefinition::Stuck,
            min_repeats: 4,
            max_gap: 3,
            min_failures: 3,
            exempt: PollingCall::known(),
            max_polls: 50,
            transient: Some(TransientRules::default()),
        }
    }
}

impl LoopConfig {
    /// The published rule of the `BenchTrace` benchmark: any action twice between two gains of progress.
    #[must_use]
    pub fn bench_trace() -> Self {
        Self {
            definition: LoopDefinition::Repeat,
            min_repeats: 2,
            exempt: Vec::new(),
            transient: None,
            ..Self::default()
        }
    }
}

#[doc = include_str!("docs/loop.md")]
#[derive(Debug, Clone)]
pub struct Loop {
    pub(super) config: LoopConfig,
    pub(super) passed_over: Arc<PassedOver>,
}

impl Default for Loop {
    fn default() -> Self {
        Self::from_checked(LoopConfig::default())
    }
}

impl Loop {
    /// The detector with this configuration.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) where a minimum is below 2, or an exempt tool has no name.
    pub fn new(config: LoopConfig) -> Result<Self> {
        let least_two = [
            ("min_repeats", config.min_repeats),
            ("min_failures", config.min_failures),
            ("max_polls", config.max_polls),
        ];
        for (field, minimum) in least_two {
            if minimum < 2 {
                return Err(Error::config(
                    field,
                    format!("{minimum} is no repetition; it must be at least 2"),
                ));
            }
        }
        PassedOver::validate(&config.exempt, config.transient.as_ref())?;
        Ok(Self::from_checked(config))
    }

    fn from_checked(config: LoopConfig) -> Self {
        Self { passed_over: Arc::new(PassedOver::new(&config.exempt, config.transient.as_ref())), config }
    }
}

impl Rule for Loop {
    type Config = LoopConfig;
    const ID: &'static str = "loop";
    const CLASS: FailureClass = FailureClass::Strategy;
    const SUMMARY: &'static str = "the same action again and again, without progress";
    const DOCS: &'static str = include_str!("docs/loop.md");

    fn bench_trace() -> LoopConfig {
        LoopConfig::bench_trace()
    }

    fn with_actors(config: LoopConfig, actors: Actors) -> LoopConfig {
        LoopConfig { actors, ..config }
    }

    fn configured(config: LoopConfig) -> Result<Self> {
        Self::new(config)
    }

    fn config(&self) -> &Self::Config {
        &self.config
    }

    fn fold(&self, _routing: &Routing) -> Box<dyn Fold> {
        Box::new(State {
            segment: Segment::new(&self.config),
            polls: Polls::new(self.config.max_polls),
            definition: self.config.definition,
            actors: self.config.actors,
            passed_over: Arc::clone(&self.passed_over),
            actions: 0,
            comparable: false,
            gains: Gains::default(),
            certain: Vec::new(),
            findings: Vec::new(),
        })
    }

    fn needs_argument_texts(&self) -> bool {
        self.passed_over.needs_texts()
    }

    fn grid() -> Option<Grid> {
        Some(Grid { parameter: "min_repeats", values: (2..=8).map(Into::into).collect() })
    }
}

/// What repeats in a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum LoopKind {
    /// One call, with the same answer each time.
    RepeatedCall,
    /// One tool, which fails each time.
    RepeatedFailure,
    /// Any key, whatever the answer.
    Repeat,
    /// One exempt call, with the same answer far too often.
    EndlessPolling,
}

named! {
    LoopKind, "kind of loop" {
        RepeatedCall => "repeated_call",
        RepeatedFailure => "repeated_failure",
        Repeat => "repeat",
        EndlessPolling => "endless_polling",
    }
}

/// Evidence of `loop`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopEvidence {
    /// What repeats; of several parts, the kind of the earlier one.
    pub kind: LoopKind,
    /// Occurrences of the most repeated key within the range. Those of one turn are one (`stuck`).
    pub repeat_count: u64,
    /// Keys with two or more occurrences within the range.
    pub repeating_keys: u64,
    /// Name of the most repeated action.
    pub action: String,
    /// Where the most repeated action happens.
    pub location: Option<String>,
    /// Length of the cycle in actions, where the range is nothing but one cycle, at least twice.
    pub period: Option<u64>,
}

#[derive(Debug)]
struct State {
    actors: Actors,
    definition: LoopDefinition,
    passed_over: Arc<PassedOver>,
    segment: Segment,
    polls: Polls,
    actions: u64,
    /// Whether an action has its arguments recorded.
    comparable: bool,
    gains: Gains,
    /// As reported online.
    certain: Vec<Finding>,
    /// Of the segments that are over.
    findings: Vec<Finding>,
}

impl Fold for State {
    fn observe(&mut self, step: &Step<'_>) {
        let Some((action, digests)) = step.digested(self.actors) else { return };
        self.actions += 1;
        self.comparable |= digests.arguments.is_some();
        match self.passed_over.reason(step, action, &digests) {
            Some(Passed::Exempt) if self.definition == LoopDefinition::Stuck => {
                self.certain.extend(self.polls.observe(step, action, &digests, self.actions));
                return;
            }
            Some(_) => return,
            None => {}
        }
        if self.gains.observe(step) {
            self.close_segment();
        }
        if let Some(span) = self.segment.observe(step, action, &digests) {
            self.certain.push(finding(&self.segment, &span));
        }
    }

    /// A finding as soon as its loop is made; the loop may go on.
    fn certain(&self) -> &[Finding] {
        &self.certain
    }

    fn verdict(&self) -> Verdict {
        if self.actions > 0 && !self.comparable {
            return super::incomparable();
        }
        let mut findings = self.findings.clone();
        findings.extend(self.open_findings());
        Verdict::Judged(Judgement {
            detected: !findings.is_empty(),
            measures: [
                Measure::count("actions", self.actions),
                Measure::count("loops", findings.len() as u64),
            ]
            .into(),
            findings,
            ..Judgement::default()
        })
    }

    fn memory(&self) -> usize {
        let findings = self.certain.capacity() + self.findings.capacity();
        self.segment.memory() + self.polls.memory() + findings * FINDING_BYTES
    }

    fn restart(&mut self, _routing: &Routing) -> bool {
        self.segment.clear();
        self.polls.clear();
        self.actions = 0;
        self.comparable = false;
        self.gains.clear();
        self.certain.clear();
        self.findings.clear();
        true
    }
}

impl State {
    /// The findings of the segment that is open.
    fn open_findings(&self) -> impl Iterator<Item = Finding> {
        let spans = self.segment.spans().into_iter();
        spans.map(|span| finding(&self.segment, &span)).chain(self.polls.findings())
    }

    fn close_segment(&mut self) {
        let findings: Vec<Finding> = self.open_findings().collect();
        self.findings.extend(findings);
        self.segment.clear();
        self.polls.clear();
    }
}

fn finding(segment: &Segment, span: &Span) -> Finding {
    let evidence = segment.evidence(span);
    let name = segment.name(span);
    let (name, count) = (super::quoted(name.unwrap_or(&evidence.action)), span.count);
    let message = match span.kind {
        LoopKind::RepeatedFailure => format!("`{name}` failed {count} times without a success in between"),
        LoopKind::Repeat => format!(
            "`{}` {} times without progress; actions that repeat: {}",
            super::quoted(&evidence.action),
            evidence.repeat_count,
            evidence.repeating_keys
        ),
        LoopKind::RepeatedCall | LoopKind::EndlessPolling => repeated(name, count),
    };
    let place = (span.first_step, span.last_step);
    let made = Finding::new(Loop::ID, Loop::MODE, place, message, Evidence::Loop(evidence));
    let merged = span.merged.iter().map(|step| Finding::id_of(Loop::ID, step)).collect();
    match span.reported {
        Some(step) => Finding { merged, ..made.identified_by(step) },
        None => made,
    }
}

/// What a message says of a call that is made again and again.
pub(super) fn repeated(name: &str, count: u64) -> String {
    format!("`{name}` called {count} times with the same arguments and the same answer")
}
