//! `loop`: the same action again and again, without progress.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::config::Configured;
use super::detector::{Detector, Fold};
use super::finding::{Evidence, FailureClass, FailureMode, Finding, Judgement, Measure, Verdict};
use super::loop_segment::{Segment, Span};
use super::transient::{Matcher, TransientRules};
use crate::error::{Error, Result};
use crate::trace::{Actors, Digest, Routing, Step, fold_name};

/// What counts as a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoopDefinition {
    /// Repeated calls with the same answer, and repeated failures.
    Stuck,
    /// Any key that repeats, whatever the answer.
    Repeat,
}

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
    /// Tools that are meant to be called again and again; compared trimmed and without case.
    pub exempt: Vec<String>,
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
            exempt: Vec::new(),
            transient: Some(TransientRules::default()),
        }
    }
}

impl LoopConfig {
    /// The published rule of the `BenchTrace` benchmark: any action twice between two gains of progress.
    #[must_use]
    pub fn bench_trace() -> Self {
        Self { definition: LoopDefinition::Repeat, min_repeats: 2, transient: None, ..Self::default() }
    }
}

#[doc = include_str!("docs/loop.md")]
#[derive(Debug, Clone)]
pub struct Loop {
    config: LoopConfig,
    exempt: Arc<[Digest]>,
    transient: Option<Arc<Matcher>>,
}

impl Default for Loop {
    fn default() -> Self {
        Self::made_ready(LoopConfig::default())
    }
}

impl Loop {
    /// The detector with this configuration.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) where a minimum is below 2.
    pub fn new(config: LoopConfig) -> Result<Self> {
        for (field, minimum) in [("min_repeats", config.min_repeats), ("min_failures", config.min_failures)] {
            if minimum < 2 {
                return Err(Error::config(
                    field,
                    format!("{minimum} is no repetition; it must be at least 2"),
                ));
            }
        }
        if let Some(rules) = &config.transient {
            rules.validate("transient")?;
        }
        Ok(Self::made_ready(config))
    }

    fn made_ready(config: LoopConfig) -> Self {
        Self {
            exempt: config.exempt.iter().map(|name| Digest::of_text(&fold_name(name))).collect(),
            transient: config.transient.as_ref().map(|rules| Arc::new(Matcher::new(rules))),
            config,
        }
    }
}

impl Configured for Loop {
    type Config = LoopConfig;
    const ID: &'static str = "loop";
    const CLASS: FailureClass = FailureClass::Strategy;
    const SUMMARY: &'static str = "the same action again and again, without progress";
    const DOCS: &'static str = include_str!("docs/loop.md");

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

/// What repeats in a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LoopKind {
    /// One call, with the same answer each time.
    RepeatedCall,
    /// One tool, which fails each time.
    RepeatedFailure,
    /// Any key, whatever the answer.
    Repeat,
}

/// Evidence of `loop`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LoopEvidence {
    /// What repeats; of several parts, the kind of the earlier one.
    pub kind: LoopKind,
    /// Occurrences of the most repeated key within the range.
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

impl Detector for Loop {
    fn id(&self) -> &'static str {
        Self::ID
    }

    fn mode(&self) -> FailureMode {
        Self::MODE
    }

    fn reads_argument_texts(&self) -> bool {
        false
    }

    fn start(&self, _routing: &Routing) -> Box<dyn Fold> {
        Box::new(State {
            segment: Segment::new(&self.config),
            actors: self.config.actors,
            exempt: Arc::clone(&self.exempt),
            transient: self.transient.clone(),
            actions: 0,
            progress: None,
            certain: Vec::new(),
            findings: Vec::new(),
        })
    }
}

#[derive(Debug)]
struct State {
    actors: Actors,
    exempt: Arc<[Digest]>,
    transient: Option<Arc<Matcher>>,
    segment: Segment,
    actions: u64,
    progress: Option<f64>,
    /// As told online.
    certain: Vec<Finding>,
    /// Of the segments that are over.
    findings: Vec<Finding>,
}

impl Fold for State {
    fn observe(&mut self, step: &Step<'_>) {
        let Some((action, digests)) = step.digested(self.actors) else { return };
        self.actions += 1;
        let passed_over = self.exempt.contains(&digests.folded_name)
            || self.transient.as_ref().is_some_and(|rules| rules.matches(action));
        if passed_over {
            return;
        }
        if let Some(now) = step.progress() {
            if self.progress.is_some_and(|before| now > before) {
                self.close_segment();
            }
            self.progress = Some(now);
        }
        if let Some(span) = self.segment.observe(step, action, &digests) {
            self.certain.push(finding(self.segment.evidence(&span), &span));
        }
    }

    /// A finding as soon as its loop is made; the loop may go on.
    fn certain(&self) -> &[Finding] {
        &self.certain
    }

    fn finish(&mut self) -> Verdict {
        self.close_segment();
        let findings = std::mem::take(&mut self.findings);
        Verdict::Judged(Judgement {
            detected: !findings.is_empty(),
            score: None,
            measures: vec![
                Measure::count("actions", self.actions),
                Measure::count("loops", findings.len() as u64),
            ],
            findings,
        })
    }

    fn restart(&mut self, _routing: &Routing) -> bool {
        self.segment.clear();
        self.actions = 0;
        self.progress = None;
        self.certain.clear();
        self.findings.clear();
        true
    }
}

impl State {
    fn close_segment(&mut self) {
        let spans = self.segment.spans();
        let segment = &mut self.segment;
        self.findings.extend(spans.iter().map(|span| finding(segment.evidence(span), span)));
        segment.clear();
    }
}

fn finding(evidence: LoopEvidence, span: &Span) -> Finding {
    let LoopEvidence { kind, repeat_count, .. } = evidence;
    let what = match kind {
        LoopKind::RepeatedCall => "the same call with the same answer",
        LoopKind::RepeatedFailure => "the same tool failing",
        LoopKind::Repeat => "the same action without progress",
    };
    let most = super::quoted(&evidence.action);
    let message = format!("{what}, again and again; most often `{most}`, {repeat_count} times");
    Finding {
        detector: Loop::ID,
        mode: Loop::MODE,
        first: span.first_step,
        last: span.last_step,
        message,
        evidence: Evidence::Loop(evidence),
    }
}
