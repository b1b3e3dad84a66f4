//! Renders a calibration for CI: the gate, the comparison with a baseline, JUnit XML and Markdown.

use super::calibration::calibration_document;
use super::cell::Cell;
use super::markup::xml_text;
use super::table::Table;
use crate::calibrate::{BaselineComparison, CalibrationReport, DetectorReport, GateOutcome, Tier, TierGate};

/// The most entries of one kind that are named.
const NAMED: usize = 10;

/// Renders a gate and a comparison with an earlier calibration as text. Either may be missing.
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

/// Returns the changed entries by kind of change.
fn changes(comparison: &BaselineComparison) -> impl Iterator<Item = (&'static str, &[String])> {
    let BaselineComparison { mended, broken, added, removed, relabelled, .. } = comparison;
    let kinds: [(_, &[String]); 5] = [
        ("broken", broken),
        ("mended", mended),
        ("label is another", relabelled),
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

/// Returns a tier's gate in words.
pub(super) fn thresholds(gate: &TierGate) -> String {
    let precision =
        if gate.precision > 0.0 { format!(", precision ≥ {:.2}", gate.precision) } else { String::new() };
    format!("{}: F1 ≥ {:.2}{precision}, n ≥ {}", gate.tier, gate.f1, gate.n)
}

/// Returns a calibration as JUnit XML, for CI.
///
/// Each detector is a suite with cases for the gate, the baseline and every entry. A wrongly judged entry fails if the
/// gate fails; otherwise it is skipped with the reason.
#[must_use]
pub fn junit(
    report: &CalibrationReport,
    gate: Option<Tier>,
    require: bool,
    compared: &[BaselineComparison],
) -> String {
    let mut suites = String::new();
    let (mut tests, mut failures, mut skipped) = (0, 0, 0);
    for detector in &report.detectors {
        let mut suite =
            Suite { name: &detector.detector, cases: String::new(), tests: 0, failures: 0, skipped: 0 };
        let mut failed = false;
        if let Some(gate) = gate {
            let outcome = outcome(report, detector, gate);
            let verdict = match detector.outcome() {
                GateOutcome::Passed => Case::Passed,
                GateOutcome::Untested if !require => Case::Skipped(&outcome),
                _ => Case::Failed(&outcome),
            };
            failed = matches!(verdict, Case::Failed(_));
            suite.case(&format!("gate {gate}"), &verdict);
        }
        for comparison in compared.iter().filter(|comparison| comparison.detector == detector.detector) {
            let sentence = difference(comparison);
            let case = if comparison.regression { Case::Failed(&sentence) } else { Case::Passed };
            suite.case("baseline", &case);
        }
        for verdict in &detector.verdicts {
            let wrong = detector.wrong.iter().find(|wrong| wrong.entry == verdict.entry);
            let reason =
                wrong.map(|wrong| format!("label {}: {} Detector: {}", wrong.label, wrong.reason, wrong.saw));
            suite.case(
                &verdict.entry,
                &match &reason {
                    None => Case::Passed,
                    Some(reason) if failed => Case::Failed(reason),
                    Some(reason) => Case::Skipped(reason),
                },
            );
        }
        tests += suite.tests;
        failures += suite.failures;
        skipped += suite.skipped;
        suites += &suite.render();
    }
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"calibration\" tests=\"{tests}\" failures=\"{failures}\" skipped=\"{skipped}\">\n{suites}</testsuites>\n"
    )
}

enum Case<'t> {
    Passed,
    Skipped(&'t str),
    Failed(&'t str),
}

struct Suite<'n> {
    name: &'n str,
    cases: String,
    tests: u64,
    failures: u64,
    skipped: u64,
}

impl Suite<'_> {
    fn case(&mut self, name: &str, case: &Case<'_>) {
        self.tests += 1;
        let head = format!("    <testcase classname=\"{}\" name=\"{}\"", xml_text(self.name), xml_text(name));
        self.cases += &match case {
            Case::Passed => format!("{head}/>\n"),
            Case::Skipped(why) => {
                self.skipped += 1;
                format!("{head}><skipped message=\"{}\"/></testcase>\n", xml_text(why))
            }
            Case::Failed(why) => {
                self.failures += 1;
                format!("{head}><failure message=\"{}\"/></testcase>\n", xml_text(why))
            }
        };
    }

    fn render(&self) -> String {
        let Self { name, cases, tests, failures, skipped } = self;
        let name = xml_text(name);
        format!(
            "  <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\" skipped=\"{skipped}\">\n{cases}  </testsuite>\n"
        )
    }
}

/// Returns a calibration as Markdown for the summary of a CI job: gate, baseline, tables and wrong verdicts.
#[must_use]
pub fn calibration_markdown(
    report: &CalibrationReport,
    gate: Option<Tier>,
    compared: &[BaselineComparison],
) -> String {
    let mut document = calibration_document(report, &[]);
    document.section("Gate");
    if let Some(gate) = gate {
        let mut table = Table::new("gate", format!("Gate: {gate}"), &["detector | outcome"]);
        for detector in &report.detectors {
            table.row([Cell::text(&detector.detector), Cell::text(outcome(report, detector, gate))]);
        }
        document.table(table);
    }
    for comparison in compared {
        document.paragraph(format!(
            "{} against the baseline: {}.",
            comparison.detector,
            difference(comparison)
        ));
        for (kind, entries) in changes(comparison) {
            document.paragraph(format!("{kind}: {}", named(entries)));
        }
    }
    document.markdown()
}
