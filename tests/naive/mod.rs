//! The definitions of the detectors, stated once more without any regard for speed: no fold, no
//! digest, no state, every question asked anew of the whole run. Where the page leaves a choice, a comment says which.

pub(crate) mod draw;
mod expected_action;
mod feedback_blindness;
mod looping;
mod malformed_call;
mod novelty;
mod route_inefficiency;
mod run;
mod tool_error_recovery;
mod transient;
mod wasted_actions;

pub(crate) use expected_action::expected_action;
pub(crate) use feedback_blindness::feedback_blindness;
pub(crate) use looping::looping;
pub(crate) use malformed_call::malformed_call;
pub(crate) use route_inefficiency::route_inefficiency;
pub(crate) use run::{Run, error};
pub(crate) use tool_error_recovery::tool_error_recovery;
pub(crate) use transient::is_transient;
pub(crate) use wasted_actions::wasted_actions;

use serde_json::Value;
use wrongturn::{Evidence, Finding, Verdict};

/// What a detector ought to say.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expected {
    NotApplicable,
    Judged { detected: bool, score: Option<f64>, findings: Vec<(u64, u64, Evidence)> },
}

impl Expected {
    /// Findings stand in the order of their places.
    fn of(mut findings: Vec<(u64, u64, Evidence)>) -> Self {
        findings.sort_by_key(|(first, last, _)| (*first, *last));
        Self::Judged { detected: !findings.is_empty(), score: None, findings }
    }

    pub(crate) fn findings(&self) -> &[(u64, u64, Evidence)] {
        match self {
            Self::Judged { findings, .. } => findings,
            Self::NotApplicable => &[],
        }
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

/// With names folded: of several spellings of one key the evidence may hold any.
pub(crate) fn place_and_facts(finding: &Finding) -> (u64, u64, Evidence) {
    let mut evidence = finding.evidence.clone();
    if let Evidence::Loop(evidence) = &mut evidence {
        evidence.action = novelty::folded(&evidence.action);
    }
    (finding.first, finding.last, evidence)
}

/// What the definition of a detector says under a configuration in JSON.
pub(crate) fn expected(detector: &str, config: Value, run: &Run) -> serde_json::Result<Expected> {
    Ok(match detector {
        "tool_error_recovery" => tool_error_recovery(run, &serde_json::from_value(config)?),
        "loop" => looping(run, &serde_json::from_value(config)?),
        "feedback_blindness" => feedback_blindness(run, &serde_json::from_value(config)?),
        "route_inefficiency" => route_inefficiency(run, &serde_json::from_value(config)?),
        "malformed_call" => malformed_call(run, &serde_json::from_value(config)?),
        "expected_action" => expected_action(run, &serde_json::from_value(config)?),
        "wasted_actions" => wasted_actions(run, &serde_json::from_value(config)?),
        other => return Err(serde::de::Error::custom(format!("no naive statement of {other}"))),
    })
}
