//! Naive statements of the published rules and of those that compare with a reference. They ignore speed:
//! there are no folds and no digests, and each question is answered from the whole run. The default rules
//! have cases in `tests/detect` instead.

pub(crate) mod draw;
mod expected_action;
mod feedback_blindness;
mod looping;
pub(crate) mod malformed_call;
mod route_inefficiency;
mod run;
mod tool_error_recovery;
mod tools;

pub(crate) use expected_action::expected_action;
pub(crate) use feedback_blindness::feedback_blindness;
pub(crate) use looping::looping;
pub(crate) use malformed_call::malformed_call;
pub(crate) use route_inefficiency::route_inefficiency;
pub(crate) use run::{Run, error};
pub(crate) use tool_error_recovery::tool_error_recovery;

use wrongturn::{Finding, Verdict, detect::Evidence};

/// The verdict that a rule should give.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expected {
    NotApplicable,
    Judged { detected: bool, score: Option<f64>, findings: Vec<(u64, u64, Evidence)> },
}

impl Expected {
    /// Creates a verdict without a score. Sorts the findings by their steps.
    fn of(mut findings: Vec<(u64, u64, Evidence)>) -> Self {
        findings.sort_by_key(|(first, last, _)| (*first, *last));
        Self::Judged { detected: !findings.is_empty(), score: None, findings }
    }
}

impl From<&Verdict> for Expected {
    fn from(verdict: &Verdict) -> Self {
        match verdict {
            Verdict::NotApplicable { .. } => Self::NotApplicable,
            Verdict::Judged(judgement) => Self::Judged {
                detected: judgement.detected,
                score: judgement.score,
                findings: judgement.findings.iter().map(place_and_facts).collect(),
            },
        }
    }
}

/// Returns the steps and evidence of a finding. Folds names, because the evidence may have any spelling of a
/// key.
fn place_and_facts(finding: &Finding) -> (u64, u64, Evidence) {
    let mut evidence = finding.evidence.clone();
    if let Evidence::Loop(evidence) = &mut evidence {
        evidence.action = looping::folded(&evidence.action);
    }
    (finding.first, finding.last, evidence)
}
