//! The summary of a scan.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::cell::{Cell, name};
use super::repeats::{Ids, Repeats};
use super::table::{Kind, TEXT_WIDTH, Table};
use super::wrap::wrapped;
use crate::corpus::TraceRecord;
use crate::detectors::Cost;
use crate::stats::wilson;

/// Counts, per detector and model, over the runs of a scan, and what failures cost.
#[derive(Debug, Clone, Default)]
pub struct ScanSummary {
    runs: u64,
    flagged: u64,
    ids: Ids,
    counts: BTreeMap<(Cow<'static, str>, Option<Arc<str>>), Counts>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    traces: u64,
    applicable: u64,
    detected: u64,
    steps: Part,
    duration_ns: Part,
    tokens: Part,
}

/// How much of something lies inside of findings; of runs that tell it.
#[derive(Debug, Clone, Copy, Default)]
struct Part {
    inside: u64,
    all: u64,
}

impl Part {
    fn of(inside: Option<u64>, all: Option<u64>) -> Self {
        all.map_or(Self::default(), |all| Self { inside: inside.unwrap_or(0).min(all), all })
    }

    fn add(&mut self, other: Self) {
        self.inside = self.inside.saturating_add(other.inside);
        self.all = self.all.saturating_add(other.all);
    }

    fn is_known(self) -> bool {
        self.all > 0
    }

    #[expect(clippy::cast_precision_loss, reason = "a share, shown with one decimal")]
    fn share(self) -> Cell {
        Cell::of(self.is_known().then(|| self.inside as f64 / self.all as f64), Cell::Share)
    }
}

impl Counts {
    fn add(&mut self, other: Self) {
        self.traces += other.traces;
        self.applicable += other.applicable;
        self.detected += other.detected;
        self.steps.add(other.steps);
        self.duration_ns.add(other.duration_ns);
        self.tokens.add(other.tokens);
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
        self.runs += 1;
        self.ids.add(record);
        self.flagged +=
            u64::from(record.verdicts.iter().any(|(_, verdict)| verdict.detected() == Some(true)));
        for (detector, verdict) in &record.verdicts {
            let detected = verdict.detected();
            let inside = record.costs_inside.iter().find(|(id, _)| id == detector).map(|(_, cost)| *cost);
            let part = |of: fn(&Cost) -> Option<u64>| match detected {
                Some(_) => Part::of(inside.as_ref().and_then(of), of(&record.cost)),
                None => Part::default(),
            };
            self.counts.entry((detector.clone(), record.metadata.model.clone())).or_default().add(Counts {
                traces: 1,
                applicable: u64::from(detected.is_some()),
                detected: u64::from(detected == Some(true)),
                steps: part(|cost| Some(cost.steps)),
                duration_ns: part(|cost| cost.duration_ns),
                tokens: part(Cost::tokens),
            });
        }
    }

    /// Adds the counts of another part of the scan.
    pub fn merge(&mut self, other: &Self) {
        self.runs += other.runs;
        self.flagged += other.flagged;
        self.ids.merge(&other.ids);
        for (key, counts) in &other.counts {
            self.counts.entry(key.clone()).or_default().add(*counts);
        }
    }

    /// Runs.
    #[must_use]
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// Runs in which at least one detector fires.
    #[must_use]
    pub fn flagged(&self) -> u64 {
        self.flagged
    }

    /// Runs that have the id of another run, where the scan takes digests
    /// ([`ScanOptions::digests`](crate::ScanOptions)).
    #[must_use]
    pub fn repeats(&self) -> Repeats {
        self.ids.repeats()
    }

    /// What the findings of each detector cost in the runs of each model, of the runs to which it applies.
    #[cfg(feature = "html")]
    #[must_use]
    pub fn costs(&self) -> Vec<super::html::FailureCost> {
        let pair = |part: Part| part.is_known().then_some((part.inside, part.all));
        let cost = |((detector, model), counts): (&(Cow<'static, str>, Option<Arc<str>>), &Counts)| {
            super::html::FailureCost {
                detector: detector.to_string(),
                model: model.as_deref().map(str::to_owned),
                steps: pair(counts.steps),
                duration_ns: pair(counts.duration_ns),
                tokens: pair(counts.tokens),
            }
        };
        self.counts.iter().map(cost).collect()
    }

    /// The counts as text that fits 80 columns; by model too where there are several.
    #[must_use]
    pub fn render(&self) -> String {
        let mut parts: Vec<String> = self.tables().iter().map(|table| table.body(TEXT_WIDTH)).collect();
        if let Some(sentence) = self.repeats().sentence() {
            let lines = wrapped(&sentence, TEXT_WIDTH - 2);
            parts.push(lines.iter().flat_map(|line| ["  ", line, "\n"]).collect());
        }
        parts.join("\n")
    }

    /// The rates as rows of a chart.
    #[cfg(feature = "html")]
    pub(super) fn interval_rows(&self) -> Vec<super::html::IntervalRow> {
        let row = |((detector, model), counts): (&(Cow<'static, str>, Option<Arc<str>>), &Counts)| {
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

    /// The counts as tables: by detector, what findings cost where a source tells that, and by detector and model where
    /// there are several models.
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
        tables.extend(self.cost_table());
        let models: std::collections::BTreeSet<_> = self.counts.keys().map(|(_, model)| model).collect();
        if models.len() > 1 {
            columns.insert(1, ("model", "model", Kind::Text));
            let mut table = Table::new("detectors_by_model", "Detectors by model", &columns).grouped();
            for ((detector, model), counts) in &self.counts {
                let mut row = vec![Cell::text(detector.as_ref()), Cell::text(name(model.as_deref()))];
                row.extend(counts.cells());
                table.row(row);
            }
            tables.push(table);
        }
        tables
    }

    /// What lies inside of the findings of each detector.
    fn cost_table(&self) -> Option<Table> {
        let mut totals: BTreeMap<&str, Counts> = BTreeMap::new();
        for ((detector, _), counts) in &self.counts {
            totals.entry(detector).or_default().add(*counts);
        }
        let known = |counts: &Counts| counts.duration_ns.is_known() || counts.tokens.is_known();
        totals.values().any(known).then_some(())?;
        let columns = [
            ("detector", "cost of findings", Kind::Text),
            ("steps", "steps", Kind::Number),
            ("steps_share", "share", Kind::Number),
            ("seconds", "seconds", Kind::Number),
            ("seconds_share", "share", Kind::Number),
            ("tokens", "tokens", Kind::Number),
            ("tokens_share", "share", Kind::Number),
        ];
        let mut table = Table::new("costs", "What lies inside of findings", &columns);
        for (detector, counts) in totals {
            let Counts { steps, duration_ns, tokens, .. } = counts;
            #[expect(clippy::cast_precision_loss, reason = "seconds, shown whole")]
            let seconds = duration_ns.is_known().then(|| duration_ns.inside as f64 / 1e9);
            table.row([
                Cell::text(detector),
                Cell::Count(steps.inside),
                steps.share(),
                Cell::of(seconds, |seconds| Cell::Real(seconds, 0)),
                duration_ns.share(),
                Cell::of(tokens.is_known().then_some(tokens.inside), Cell::Count),
                tokens.share(),
            ]);
        }
        table.note(
            "Of the runs to which a detector applies; time and tokens of those that tell them. A step inside of \
             several findings of a detector counts once.",
        );
        Some(table)
    }
}
