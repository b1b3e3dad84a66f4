//! The summary of a scan.

use std::collections::{BTreeMap, BTreeSet};

use super::cell::{Cell, name};
use super::table::{Kind, TEXT_WIDTH, Table};
use super::wrap::wrapped;
#[cfg(feature = "html")]
use crate::merge::DetectorOfModel;
use crate::merge::{CostPart, Counts, ScanSummary};
use crate::stats::{Interval, float, ratio, wilson};

impl CostPart {
    fn share(self) -> Cell {
        Cell::of(ratio(self.inside, self.all), Cell::Share)
    }
}

impl Counts {
    pub(super) fn share(self) -> Option<f64> {
        ratio(self.detected, self.applicable)
    }

    pub(super) fn interval(self) -> Option<Interval> {
        wilson(self.detected, self.applicable, 0.95).ok()
    }

    /// Traces, applicable, detected, rate, its interval.
    fn cells(self) -> [Cell; 5] {
        [
            Cell::Count(self.traces),
            Cell::Count(self.applicable),
            Cell::Count(self.detected),
            Cell::of(self.share(), Cell::Share),
            Cell::of(self.interval(), |i| Cell::Interval(i, 3)),
        ]
    }
}

/// A model, where it is named, and its counts.
pub(super) type OfModel<'s> = (Option<&'s str>, Counts);

const COUNTS: [(&str, &str, Kind); 5] = [
    ("traces", "traces", Kind::Number),
    ("applicable", "applicable", Kind::Number),
    ("detected", "detected", Kind::Number),
    ("rate", "rate", Kind::Number),
    ("rate_ci95", "95% interval", Kind::Interval),
];

impl ScanSummary {
    /// What the findings of each detector cost in the runs of each model, of the runs to which it applies.
    #[cfg(feature = "html")]
    #[must_use]
    pub fn costs(&self) -> Vec<super::html::FailureCost> {
        let pair = |part: CostPart| part.is_known().then_some((part.inside, part.all));
        let cost = |((detector, model), counts): (&DetectorOfModel, &Counts)| super::html::FailureCost {
            detector: detector.to_string(),
            model: model.as_deref().map(str::to_owned),
            steps: pair(counts.steps),
            duration_ns: pair(counts.duration_ns),
            tokens: pair(counts.tokens),
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

    /// The detectors with the counts of each model, those first in which the detector fires most surely: by the lower
    /// end of the interval, then by how many runs that are, then by name.
    pub(super) fn by_detector(&self) -> BTreeMap<&str, Vec<OfModel<'_>>> {
        let mut detectors: BTreeMap<&str, Vec<OfModel<'_>>> = BTreeMap::new();
        for ((detector, model), counts) in &self.counts {
            detectors.entry(detector).or_default().push((model.as_deref(), *counts));
        }
        for models in detectors.values_mut() {
            // Stable: those that are equal stay in the order of their names.
            models.sort_by(|(_, one), (_, other)| {
                let low = |counts: &Counts| counts.interval().map_or(-1.0, |interval| interval.low);
                let by_rate = low(other).total_cmp(&low(one));
                by_rate.then(other.detected.cmp(&one.detected)).then(other.applicable.cmp(&one.applicable))
            });
        }
        detectors
    }

    /// The counts as tables: by detector, what findings cost where sources record that, and by detector and model where
    /// there are several models.
    #[must_use]
    pub fn tables(&self) -> Vec<Table> {
        let totals = self.totals();
        let mut columns = vec![("detector", "detector", Kind::Text)];
        columns.extend(COUNTS);
        let mut table = Table::new("detectors", "Detectors", &columns);
        for (detector, counts) in &totals {
            let mut row = vec![Cell::text(*detector)];
            row.extend(counts.cells());
            table.row(row);
        }
        let mut tables = vec![table];
        tables.extend(cost_table(&totals));
        let models: BTreeSet<_> = self.counts.keys().map(|(_, model)| model).collect();
        if models.len() > 1 {
            columns.insert(1, ("model", "model", Kind::Text));
            let mut table = Table::new("detectors_by_model", "Detectors by model", &columns).grouped();
            for (detector, models) in self.by_detector() {
                for (model, counts) in models {
                    let mut row = vec![Cell::text(detector), Cell::text(name(model))];
                    row.extend(counts.cells());
                    table.row(row);
                }
            }
            table.note(
                "Models by the lower ends of their intervals; of those that are equal, the most runs first.",
            );
            tables.push(table);
        }
        tables
    }

    /// The counts by detector, over all models.
    fn totals(&self) -> BTreeMap<&str, Counts> {
        let mut totals: BTreeMap<&str, Counts> = BTreeMap::new();
        for ((detector, _), counts) in &self.counts {
            totals.entry(detector).or_default().add(*counts);
        }
        totals
    }
}

/// What lies inside of the findings of each detector, where time or tokens are known.
fn cost_table(totals: &BTreeMap<&str, Counts>) -> Option<Table> {
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
        let seconds = duration_ns.is_known().then(|| float(duration_ns.inside) / 1e9);
        table.row([
            Cell::text(*detector),
            Cell::Count(steps.inside),
            steps.share(),
            Cell::of(seconds, |seconds| Cell::Real(seconds, 0)),
            duration_ns.share(),
            Cell::of(tokens.is_known().then_some(tokens.inside), Cell::Count),
            tokens.share(),
        ]);
    }
    table.note(
            "Of the runs to which a detector applies; time and tokens of those that record them. A step inside of \
             several findings of a detector counts once.",
        );
    Some(table)
}
