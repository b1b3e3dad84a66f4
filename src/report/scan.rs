//! Renders a scan as a document, and its summary as text.

use std::collections::{BTreeMap, BTreeSet};

use super::cell::{Cell, counted, name};
use super::chart::{Bar, BarChart, Chart, IntervalRow, Plot};
use super::document::{Detail, Document};
use super::files::{unread, unread_table};
use super::table::Table;
use crate::merge::{CostPart, Counts, DetectorOfModel, Files, RunStrip, ScanSummary};
use crate::stats::{Interval, float, ratio, wilson};

impl CostPart {
    fn share(self) -> Cell {
        Cell::ratio(self.inside, self.all)
    }
}

impl Counts {
    fn share(self) -> Option<f64> {
        ratio(self.detected, self.applicable)
    }

    fn interval(self) -> Option<Interval> {
        wilson(self.detected, self.applicable, 0.95).ok()
    }

    fn cells(self) -> [Cell; 5] {
        [
            Cell::Count(self.traces),
            Cell::Count(self.applicable),
            Cell::Count(self.detected),
            Cell::of(self.share(), Cell::Share),
            Cell::of(self.interval(), Cell::ShareInterval),
        ]
    }
}

/// A model, if known, and its counts.
type OfModel<'s> = (Option<&'s str>, Counts);

const COUNTS: &str =
    "traces=runs # + | applicable=judged # | detected=flagged # | rate # | rate_ci95=95% CI ~";

impl ScanSummary {
    /// Renders the counts as text that fits 80 columns, with a table by model if there are several models.
    #[must_use]
    pub fn render(&self) -> String {
        let mut document = Document::new("");
        document.tables_of(self.tables());
        if let Some(sentence) = self.repeats().sentence() {
            document.paragraph(sentence);
        }
        document.text(Detail::Short)
    }

    /// Returns the detectors with the counts of each model. Models are sorted by the lower end of the
    /// interval, then by flagged runs, then by judged runs (all descending), then by name.
    fn by_detector(&self) -> BTreeMap<&str, Vec<OfModel<'_>>> {
        let mut detectors: BTreeMap<&str, Vec<OfModel<'_>>> = BTreeMap::new();
        for ((detector, model), counts) in &self.counts {
            detectors.entry(detector).or_default().push((model.as_deref(), *counts));
        }
        for models in detectors.values_mut() {
            // The sort is stable: equal models stay sorted by name.
            models.sort_by(|(_, one), (_, other)| {
                let low = |counts: &Counts| counts.interval().map_or(-1.0, |interval| interval.low);
                let by_rate = low(other).total_cmp(&low(one));
                by_rate.then(other.detected.cmp(&one.detected)).then(other.applicable.cmp(&one.applicable))
            });
        }
        detectors
    }

    /// Returns the counts as tables: by detector, the recorded cost of findings, and by detector and model if
    /// there are several models.
    #[must_use]
    pub fn tables(&self) -> Vec<Table> {
        let further = [cost_table(&self.totals()), self.table_by_model()];
        std::iter::once(self.detector_table()).chain(further.into_iter().flatten()).collect()
    }

    fn detector_table(&self) -> Table {
        Table::of("detectors", "Runs that each detector flags", self.totals())
            .column("detector", |(detector, _)| Cell::text(*detector))
            .columns(COUNTS, |(_, counts)| counts.cells())
            .noted(
                "judged: runs to which the detector applies, including those without an action. 95% CI: Wilson, as if runs were \
                 independent.",
            )
    }

    fn table_by_model(&self) -> Option<Table> {
        let models: BTreeSet<_> = self.counts.keys().map(|(_, model)| model).collect();
        let rows = self.by_detector().into_iter().flat_map(|(detector, models)| {
            models.into_iter().map(move |(model, counts)| (detector, model, counts))
        });
        let title = "By model, sorted within each detector by the lower end of the interval";
        let table = Table::of("detectors_by_model", title, rows)
            .column("detector", |(detector, ..)| Cell::text(*detector))
            .column("model", |(_, model, _)| Cell::text(name(*model)))
            .columns(COUNTS, |(.., counts)| counts.cells());
        (models.len() > 1).then(|| table.grouped())
    }
}

/// Returns the steps, time and tokens inside the findings of each detector, or `None` if no run records time
/// or tokens.
fn cost_table(totals: &BTreeMap<&str, Counts>) -> Option<Table> {
    let known = |counts: &Counts| counts.duration_ns.is_known() || counts.tokens.is_known();
    totals.values().any(known).then_some(())?;
    let table = Table::of("costs", "Cost: steps, time and tokens inside findings", totals)
        .column("detector", |(detector, _)| Cell::text(**detector))
        .column("steps #", |(_, counts)| Cell::Count(counts.steps.inside))
        .column("steps_share=share #", |(_, counts)| counts.steps.share())
        .column("seconds #", |(_, Counts { duration_ns, .. })| {
            let seconds = duration_ns.is_known().then(|| float(duration_ns.inside) / 1e9);
            Cell::real(seconds, 0)
        })
        .column("seconds_share=share #", |(_, counts)| counts.duration_ns.share())
        .column("tokens #", |(_, Counts { tokens, .. })| {
            Cell::of(tokens.is_known().then_some(tokens.inside), Cell::Count)
        })
        .column("tokens_share=share #", |(_, counts)| counts.tokens.share())
        .table();
    Some(table.noted(
        "Counts only runs to which the detector applies and, for time and tokens, only runs that record them. A step \
         inside several findings of one detector counts once.",
    ))
}

/// Maximum number of models in a chart.
const DRAWN: usize = 15;

/// Returns a scan as a document: flagged runs, detectors, costs, and files that were not read completely.
#[must_use]
pub fn scan_document(summary: &ScanSummary, flagged: Vec<RunStrip>, files: &Files) -> Document {
    let mut document = Document::new("Failures found by the detectors");
    document.lead(format!(
        "Flagged by at least one detector: {} of {} runs.",
        summary.flagged(),
        summary.runs()
    ));
    let unread = unread(files);
    if unread > 0 {
        let files = counted(unread, "file");
        document.warning(format!("Not read completely: {files}; see the last table."));
    }
    if !flagged.is_empty() {
        let more = summary.flagged().saturating_sub(flagged.len() as u64);
        document.section("Flagged runs");
        if more > 0 {
            document
                .paragraph(format!("Only the worst {} are drawn; {more} more are not shown.", flagged.len()));
        }
        document.strips(flagged);
    }
    document.section("Detectors");
    if let Some(sentence) = summary.repeats().sentence() {
        document.paragraph(sentence);
    }
    document.table(summary.detector_table()).charts_of(charts(summary)).tables_of(summary.table_by_model());
    let costs = cost_table(&summary.totals());
    document.section("Costs").charts_of(cost_charts(summary)).tables_of(costs);
    if unread > 0 {
        document.section("Not read").table(unread_table(files));
    }
    document
}

fn charts(summary: &ScanSummary) -> Vec<Chart> {
    let detectors = summary.by_detector();
    let single = detectors.values().all(|models| models.len() < 2);
    if single {
        let rows = detectors.iter().flat_map(|(detector, models)| {
            models.iter().filter_map(|(_, counts)| row((*detector).to_owned(), *counts))
        });
        return vec![Chart::shares("Runs in which a detector fires", CAPTION, AXIS, rows)];
    }
    let of_detector = |(detector, models): (&&str, &Vec<OfModel<'_>>)| {
        let named = |model: Option<&str>| model.unwrap_or("model not named").to_owned();
        let mut rows: Vec<IntervalRow> =
            models.iter().filter_map(|(model, counts)| row(named(*model), *counts)).collect();
        let all = rows.len();
        rows.truncate(DRAWN);
        let caption = if all > DRAWN {
            format!(
                "{CAPTION} Only the {DRAWN} of {all} models with the highest lower ends of the interval; the table lists \
                 all of them."
            )
        } else {
            CAPTION.to_owned()
        };
        Chart::shares(format!("{detector}: runs in which it fires"), caption, AXIS, rows)
    };
    detectors.iter().map(of_detector).collect()
}

const AXIS: &str = "share of runs";

const CAPTION: &str = "Shares of the runs to which the detector applies.";

fn row(label: String, counts: Counts) -> Option<IntervalRow> {
    let note = format!("{} of {}", counts.detected, counts.applicable);
    (counts.applicable > 0).then(|| IntervalRow::new(label, note, counts.share(), counts.interval()))
}

const BARS: usize = 20;

/// Returns charts of the cost of failures in steps, time and tokens, with the largest shares first.
fn cost_charts(summary: &ScanSummary) -> Vec<Chart> {
    type Part = fn(&Counts) -> CostPart;
    let kinds: [(&str, Part); 3] = [
        ("steps", |counts| counts.steps),
        ("time", |counts| counts.duration_ns),
        ("tokens", |counts| counts.tokens),
    ];
    let chart = |(kind, part): (&str, Part)| {
        let bars = summary.counts.iter().filter_map(|(of, counts)| bar(of, part(counts), kind));
        let mut bars: Vec<Bar> = bars.collect();
        let all = bars.len();
        bars.sort_by(|one, other| other.share.total_cmp(&one.share));
        bars.truncate(BARS);
        let most = if all > BARS { format!(" The largest {BARS} of {all}.") } else { String::new() };
        let caption = format!("Share of {kind} inside findings, by detector and model.{most}");
        let bars = BarChart { axis: format!("share of {kind}"), bars };
        Chart::new(format!("Cost of failures: {kind}"), caption, Plot::Bars(bars))
    };
    kinds.map(chart).into()
}

fn bar((detector, model): &DetectorOfModel, cost: CostPart, kind: &str) -> Option<Bar> {
    let CostPart { inside, all, .. } = cost;
    let share = ratio(inside, all).filter(|_| cost.is_known())?.min(1.0);
    let seconds = |ns: u64| float(ns) / 1e9;
    let note = if kind == "time" {
        format!("{:.1}%, {:.0} s of {:.0} s", 100.0 * share, seconds(inside), seconds(all))
    } else {
        format!("{:.1}%, {inside} of {all}", 100.0 * share)
    };
    let model = model.as_deref().unwrap_or("model not named");
    Some(Bar { label: format!("{detector}: {model}"), share, note })
}
