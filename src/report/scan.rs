//! The summary of a scan.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::table::{Cell, Kind, TEXT_WIDTH, Table, name};
use crate::corpus::TraceRecord;
use crate::stats::wilson;

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
    fn share(self) -> Option<f64> {
        (self.applicable > 0).then(|| self.detected as f64 / self.applicable as f64)
    }

    /// Traces, applicable, detected, rate, its interval.
    fn cells(self) -> [Cell; 5] {
        [
            Cell::Count(self.traces),
            Cell::Count(self.applicable),
            Cell::Count(self.detected),
            Cell::of(self.share(), Cell::Share),
            Cell::of(wilson(self.detected, self.applicable, 0.95).ok(), |i| Cell::Interval(i, 3)),
        ]
    }
}

const COUNTS: [(&str, &str, Kind); 5] = [
    ("traces", "traces", Kind::Number),
    ("applicable", "applicable", Kind::Number),
    ("detected", "detected", Kind::Number),
    ("rate", "rate", Kind::Number),
    ("rate_ci95", "95% interval", Kind::Interval),
];

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

    /// The counts as text that fits 80 columns; by model too where there are several.
    #[must_use]
    pub fn render(&self) -> String {
        let tables: Vec<String> = self.tables().iter().map(|table| table.body(TEXT_WIDTH)).collect();
        tables.join("\n")
    }

    /// The rates as rows of a chart.
    #[cfg(feature = "html")]
    pub(super) fn interval_rows(&self) -> Vec<super::html::IntervalRow> {
        let row = |((detector, model), counts): (&(&'static str, Option<Arc<str>>), &Counts)| {
            super::html::IntervalRow {
                label: format!("{detector}: {}", model.as_deref().unwrap_or("model not named")),
                note: format!("{} of {}", counts.detected, counts.applicable),
                estimate: counts.share(),
                interval: wilson(counts.detected, counts.applicable, 0.95).ok(),
                other: None,
                baseline: None,
                pooled: false,
            }
        };
        self.counts.iter().filter(|(_, counts)| counts.applicable > 0).map(row).collect()
    }

    /// The counts as tables: by detector, and by detector and model where there are several models.
    #[must_use]
    pub fn tables(&self) -> Vec<Table> {
        let mut totals: BTreeMap<&str, Counts> = BTreeMap::new();
        for ((detector, _), counts) in &self.counts {
            totals.entry(detector).or_default().add(*counts);
        }
        let mut columns = vec![("detector", "detector", Kind::Text)];
        columns.extend(COUNTS);
        let mut table = Table::new("detectors", "Detectors", &columns);
        for (detector, counts) in totals {
            let mut row = vec![Cell::text(detector)];
            row.extend(counts.cells());
            table.row(row);
        }
        let mut tables = vec![table];
        let models: std::collections::BTreeSet<_> = self.counts.keys().map(|(_, model)| model).collect();
        if models.len() > 1 {
            columns.insert(1, ("model", "model", Kind::Text));
            let mut table = Table::new("detectors_by_model", "Detectors by model", &columns).grouped();
            for ((detector, model), counts) in &self.counts {
                let mut row = vec![Cell::text(*detector), Cell::text(name(model.as_deref()))];
                row.extend(counts.cells());
                table.row(row);
            }
            tables.push(table);
        }
        tables
    }
}
