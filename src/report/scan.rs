//! The summary of a scan.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::table::{Table, name};
use crate::corpus::TraceRecord;

/// Counts, per detector and model, over the runs of a scan.
#[derive(Debug, Clone, Default)]
pub struct ScanSummary {
    counts: BTreeMap<(&'static str, Option<Arc<str>>), Counts>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    traces: u64,
    applicable: u64,
    detected: u64,
}

impl Counts {
    fn add(&mut self, other: Self) {
        self.traces += other.traces;
        self.applicable += other.applicable;
        self.detected += other.detected;
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of runs are far below 2^53")]
    fn rate(self) -> String {
        if self.applicable == 0 {
            return "–".to_owned();
        }
        format!("{:.1}%", 100.0 * self.detected as f64 / self.applicable as f64)
    }
}

impl ScanSummary {
    /// Counts a run.
    pub fn add(&mut self, record: &TraceRecord) {
        for (detector, verdict) in &record.verdicts {
            let detected = verdict.detected();
            self.counts.entry((detector, record.metadata.model.clone())).or_default().add(Counts {
                traces: 1,
                applicable: u64::from(detected.is_some()),
                detected: u64::from(detected == Some(true)),
            });
        }
    }

    /// Adds the counts of another part of the scan.
    pub fn merge(&mut self, other: &Self) {
        for (key, counts) in &other.counts {
            self.counts.entry(key.clone()).or_default().add(*counts);
        }
    }

    /// The counts as a table; by model too where there are several.
    #[must_use]
    pub fn render(&self) -> String {
        let mut totals: BTreeMap<&str, Counts> = BTreeMap::new();
        for ((detector, _), counts) in &self.counts {
            totals.entry(detector).or_default().add(*counts);
        }
        let mut table = Table::new(1, ["detector", "traces", "applicable", "detected", "rate"]);
        for (detector, counts) in totals {
            table.row([
                detector.to_owned(),
                counts.traces.to_string(),
                counts.applicable.to_string(),
                counts.detected.to_string(),
                counts.rate(),
            ]);
        }
        let mut text = table.render();
        let models: std::collections::BTreeSet<_> = self.counts.keys().map(|(_, model)| model).collect();
        if models.len() > 1 {
            let mut table = Table::new(2, ["detector", "model", "traces", "applicable", "detected", "rate"]);
            for ((detector, model), counts) in &self.counts {
                table.row([
                    (*detector).to_owned(),
                    name(model.as_deref()),
                    counts.traces.to_string(),
                    counts.applicable.to_string(),
                    counts.detected.to_string(),
                    counts.rate(),
                ]);
            }
            text += "\n";
            text += &table.render();
        }
        text
    }
}
