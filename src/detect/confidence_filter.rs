//! Filters findings by confidence.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Confidence, Detector, Explanation, FailureMode, Finding, Fold, NearMiss, Verdict};
use crate::trace::{RouteStatus, Step, Trace};

/// Wraps detectors to report only findings of at least this confidence, as [`Verdict::with_min_confidence`] does.
/// [`Detector::explain`] still explains the verdict on all findings.
///
/// ```
/// use serde_json::json;
/// use wrongturn::{Confidence, Status, Trace, default_detectors, detect::with_min_confidence};
///
/// let mut run = Trace::builder();
/// for order in ["1", "2", "3", "4"] {
///     run.call("get_order", &json!({"id": order}), Status::Error, "no such order")?;
/// }
/// let run = run.build()?;
/// let fires = |least| {
///     let detectors = with_min_confidence(default_detectors(), least);
///     detectors.iter().any(|detector| detector.detect(&run).detected() == Some(true))
/// };
/// assert!(fires(Confidence::Likely));
/// // The calls differ, so the loop is only likely.
/// assert!(!fires(Confidence::Certain));
/// # Ok::<(), wrongturn::Error>(())
/// ```
#[must_use]
pub fn with_min_confidence(detectors: Vec<Arc<dyn Detector>>, least: Confidence) -> Vec<Arc<dyn Detector>> {
    if least == Confidence::Likely {
        return detectors;
    }
    let confident = |detector| Arc::new(FilteredDetector { detector, least }) as Arc<dyn Detector>;
    detectors.into_iter().map(confident).collect()
}

#[derive(Debug)]
struct FilteredDetector {
    detector: Arc<dyn Detector>,
    least: Confidence,
}

impl Detector for FilteredDetector {
    fn id(&self) -> Cow<'static, str> {
        self.detector.id()
    }

    fn mode(&self) -> FailureMode {
        self.detector.mode()
    }

    fn reads_argument_texts(&self) -> bool {
        self.detector.reads_argument_texts()
    }

    fn start(&self, routing: &RouteStatus) -> Box<dyn Fold> {
        Box::new(FilteredFold {
            fold: self.detector.start(routing),
            least: self.least,
            taken: 0,
            confirmed: Vec::new(),
        })
    }

    fn explain(&self, trace: &Trace) -> Explanation {
        self.detector.explain(trace)
    }
}

#[derive(Debug)]
struct FilteredFold {
    fold: Box<dyn Fold>,
    least: Confidence,
    /// Number of confirmed findings of `fold` that have been filtered.
    taken: usize,
    confirmed: Vec<Finding>,
}

impl Fold for FilteredFold {
    fn observe(&mut self, step: &Step<'_>) {
        self.fold.observe(step);
        let all = self.fold.confirmed();
        let new = all.iter().skip(self.taken).filter(|finding| finding.confidence >= self.least);
        self.confirmed.extend(new.cloned());
        self.taken = all.len();
    }

    fn confirmed(&self) -> &[Finding] {
        &self.confirmed
    }

    fn verdict(&self) -> Verdict {
        self.fold.verdict().with_min_confidence(self.least)
    }

    fn near_misses(&self) -> Vec<NearMiss> {
        self.fold.near_misses()
    }

    fn memory(&self) -> usize {
        self.fold.memory().saturating_add(self.confirmed.capacity() * size_of::<Finding>())
    }
}
