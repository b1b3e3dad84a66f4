//! Renders a calibration for CI: the gate and the comparison with a baseline, also as test suites.

use super::calibration::calibration_document;
use super::cell::Cell;
use super::document::Document;
use super::junit::TestSuite;
use super::table::Table;
use crate::calibrate::{BaselineComparison, CalibrationReport, DetectorReport, GateOutcome, Tier, TierGate};

/// Maximum number of entries that are named per kind of change.
const NAMED: usize = 10;

/// Renders a gate and comparisons with an earlier calibration as text. Either may be missing.
#[must_use]
pub fn render_gate(
    report: &CalibrationReport,
    gate: Option<Tier>,
    compared: &[BaselineComparison],
) -> String {
    let mut text = String::new();
    if let Some(gate) = gate {
        text += &format!("\ngate {gate}\n");
        for detector in &report.detectors {
            text += &format!("  {}: {}\n", detector.detector, outcome(report, detector, gate));
        }
    }
    for comparison in compared {
        text += &format!("\n{} against the baseline: {}\n", comparison.detector, difference(comparison));
        for (what, entries) in changes(comparison) {
            text += &format!("  {what}: {}\n", named(entries));
        }
    }
    text
}

fn outcome(report: &CalibrationReport, detector: &DetectorReport, gate: Tier) -> String {
    let outcome = detector.outcome();
    let lacks = report.gate(gate).filter(|_| outcome == GateOutcome::Failed).map(|gate| detector.lacks(gate));
    match lacks.filter(|lacks| !lacks.is_empty()) {
        Some(lacks) => format!("{outcome}: {}", lacks.join(", ")),
        None => outcome.to_string(),
    }
}

fn difference(comparison: &BaselineComparison) -> String {
    let BaselineComparison { entries, mended, broken, p, regression, .. } = comparison;
    let verdict = if *regression { "a regression" } else { "no regression" };
    format!(
        "{} mended, {} broken of {entries} entries, exact McNemar p = {p:.4}: {verdict}",
        mended.len(),
        broken.len()
    )
}

fn changes(comparison: &BaselineComparison) -> impl Iterator<Item = (&'static str, &[String])> {
    let BaselineComparison { mended, broken, added, removed, relabelled, .. } = comparison;
    let kinds: [(_, &[String]); 5] = [
        ("broken", broken),
        ("mended", mended),
        ("relabelled", relabelled),
        ("new", added),
        ("gone", removed),
    ];
    kinds.into_iter().filter(|(_, entries)| !entries.is_empty())
}

fn named(entries: &[String]) -> String {
    let more = entries.len().saturating_sub(NAMED);
    let named = entries.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    if more == 0 { named } else { format!("{named} and {more} more") }
}

pub(super) fn thresholds(gate: &TierGate) -> String {
    let precision =
        if gate.precision > 0.0 { format!(", precision ≥ {:.2}", gate.precision) } else { String::new() };
    format!("{}: F1 ≥ {:.2}{precision}, n ≥ {}", gate.tier, gate.f1, gate.n)
}

/// Returns a calibration as test suites, one for each detector, for JUnit XML.
///
/// A suite has cases for the gate, the baseline and every entry. With `require`, an untested detector fails
/// the gate; otherwise its gate is skipped. A wrongly judged entry fails if the gate fails; otherwise it is
/// skipped with the reason.
#[must_use]
pub fn calibration_suites(
    report: &CalibrationReport,
    gate: Option<Tier>,
    require: bool,
    compared: &[BaselineComparison],
) -> Vec<TestSuite> {
    let suite = |detector: &DetectorReport| {
        let id = &detector.detector;
        let mut suite = TestSuite::new(id);
        let mut has_failed = false;
        if let Some(gate) = gate {
            let (name, why) = (format!("gate {gate}"), outcome(report, detector, gate));
            match detector.outcome() {
                GateOutcome::Passed => suite.case(id, &name, &[]),
                GateOutcome::Untested if !require => suite.skipped(id, &name, &why),
                _ => {
                    has_failed = true;
                    suite.case(id, &name, &[(None, &why, "")]);
                }
            }
        }
        for one in compared.iter().filter(|one| one.detector == *id) {
            let failures = [(None, &*difference(one), "")];
            suite.case(id, "baseline", if one.regression { &failures } else { &[] });
        }
        for verdict in &detector.verdicts {
            match detector.wrong.iter().find(|wrong| wrong.entry == verdict.entry) {
                None => suite.case(id, &verdict.entry, &[]),
                Some(wrong) => {
                    let why = format!("label {}: {} Detector: {}", wrong.label, wrong.reason, wrong.saw);
                    if has_failed {
                        suite.case(id, &verdict.entry, &[(None, &why, "")]);
                    } else {
                        suite.skipped(id, &verdict.entry, &why);
                    }
                }
            }
        }
        suite
    };
    report.detectors.iter().map(suite).collect()
}

/// Returns a calibration as a document for the summary of a CI job: gate, baseline, tables and wrong
/// verdicts.
#[must_use]
pub fn gate_document(
    report: &CalibrationReport,
    gate: Option<Tier>,
    compared: &[BaselineComparison],
) -> Document {
    let mut document = calibration_document(report, &[]);
    document.section("Gate");
    if let Some(gate) = gate {
        let table = Table::of("gate", format!("Gate: {gate}"), &report.detectors)
            .column("detector", |detector| Cell::text(&detector.detector))
            .column("outcome", |detector| Cell::text(outcome(report, detector, gate)));
        document.table(table.table());
    }
    for comparison in compared {
        let difference = difference(comparison);
        document.paragraph(format!("{} against the baseline: {difference}.", comparison.detector));
        for (kind, entries) in changes(comparison) {
            document.paragraph(format!("{kind}: {}", named(entries)));
        }
    }
    document
}
