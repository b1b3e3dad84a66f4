//! The gate of a check: thresholds that fail it, and a baseline of known findings.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use wrongturn::{Finding, detect::detector_info, merge::ScanSummary, scan::TraceRecord};

use crate::common::Failure;
use crate::common::config;
use crate::common::findings::counted;
use crate::common::output;

/// A condition under which a check fails: `loop`, `loop>5`, `loop>5%`, or `any` for all detectors together.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FailOn {
    /// `None` stands for any detector.
    pub(super) detector: Option<&'static str>,
    limit: Limit,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Limit {
    /// Maximum number of flagged runs.
    Runs(u64),
    /// Maximum percentage of the applicable runs that are flagged.
    Percent(f64),
}

impl FromStr for FailOn {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, number) = text.split_once('>').unwrap_or((text, "0"));
        let number = number.trim();
        let limit = match number.strip_suffix('%').map(|percent| percent.trim().parse()) {
            Some(Ok(share)) if (0.0..=100.0).contains(&share) => Some(Limit::Percent(share)),
            Some(_) => None,
            None => number.parse().ok().map(Limit::Runs),
        };
        let limit =
            limit.ok_or_else(|| format!("expected a number of runs or a percentage, got `{number}`"))?;
        let detector = match name.trim() {
            "any" => None,
            id => Some(detector_info(id).map_err(|error| error.to_string())?.id),
        };
        Ok(Self { detector, limit })
    }
}

impl FailOn {
    /// Returns a message if the condition holds.
    #[expect(clippy::cast_precision_loss, reason = "a share of runs needs no more digits")]
    pub(crate) fn broken_by(&self, summary: &ScanSummary) -> Option<String> {
        let (name, (flagged, applicable)) = match self.detector {
            None => ("any detector", (summary.flagged(), summary.runs())),
            Some(id) => (id, summary.detectors().get(id).copied().unwrap_or_default()),
        };
        let (is_broken, most) = match self.limit {
            Limit::Runs(most) => (flagged > most, most.to_string()),
            Limit::Percent(most) => (flagged as f64 * 100.0 > most * applicable as f64, format!("{most}%")),
        };
        is_broken
            .then(|| format!("{name} flags {flagged} of {}, more than {most}", counted(applicable, "run")))
    }
}

/// The version of baselines. Version 1 has no domains.
const VERSION: u32 = 2;

/// Accepted findings, identified by domain and task (or run, if it has no task), detector and tool.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Baseline {
    version: u32,
    pub(super) findings: BTreeSet<Known>,
}

/// The identity of a known finding. Steps are not part of it, because they differ from run to run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Known {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    domain: String,
    task: String,
    detector: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    tool: String,
}

impl Known {
    fn of(record: &TraceRecord, finding: &Finding) -> Self {
        let domain = record.metadata.domain.clone().unwrap_or_default();
        let task = record.metadata.task.clone().unwrap_or_else(|| record.trace_id());
        let tool = finding.tool.clone().unwrap_or_default();
        Self { domain: domain.to_string(), task, detector: finding.detector.to_string(), tool }
    }
}

impl Baseline {
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let baseline: Self = output::parse(path, |text| serde_json::from_str(text))?;
        match baseline.version {
            VERSION => Ok(baseline),
            other => {
                let path = path.display();
                Err(format!(
                    "{path}: expected baseline version {VERSION}, got {other}; --update-baseline replaces it"
                )
                .into())
            }
        }
    }

    /// Returns an error if the file exists and is neither empty nor a baseline of any version.
    pub(crate) fn may_replace(path: &Path) -> Result<(), Failure> {
        let old = fs::read(path).unwrap_or_default();
        if old.trim_ascii().is_empty() || serde_json::from_slice::<Self>(&old).is_ok() {
            return Ok(());
        }
        Err(format!("{}: not a baseline, so it is not replaced; name another file", path.display()).into())
    }

    /// Removes the known findings of a run, and returns their number.
    pub(crate) fn remove_known(&self, record: &mut TraceRecord) -> u64 {
        config::remove(record, |record, finding| self.findings.contains(&Known::of(record, finding)))
    }

    /// Returns the findings of a run as entries of a baseline.
    pub(crate) fn known_of(record: &TraceRecord) -> Vec<Known> {
        record.findings().map(|finding| Known::of(record, finding)).collect()
    }

    pub(crate) fn write(&mut self, path: &Path) -> Result<(), Failure> {
        self.version = VERSION;
        output::write_json(path, self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_name_a_detector_and_a_limit() {
        let parsed = |text: &str| text.parse::<FailOn>();
        assert_eq!(parsed("loop"), Ok(FailOn { detector: Some("loop"), limit: Limit::Runs(0) }));
        assert_eq!(parsed("any>5%"), Ok(FailOn { detector: None, limit: Limit::Percent(5.0) }));
        assert_eq!(parsed("loop > 3"), Ok(FailOn { detector: Some("loop"), limit: Limit::Runs(3) }));
        assert_eq!(parsed("loops"), Err(detector_info("loops").unwrap_err().to_string()));
        assert!(parsed("loop>x").is_err() && parsed("loop>101%").is_err());
    }
}
