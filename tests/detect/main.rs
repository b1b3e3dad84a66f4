//! Tests the rules on the fixtures `<rule>/*.md`, against one snapshot for each file. README.md describes how
//! to write fixtures.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails where it panics")]

mod fixture;
#[path = "../reading/mod.rs"]
mod reading;
mod run;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use reading::fixtures::entries;
use serde_json::{Value, json};
use wrongturn::{
    Confidence, Finding, Monitor, Trace, Verdict,
    detect::{DetectorInfo, detector_info},
    trace::Actors,
};

#[test]
fn verdicts_are_as_pinned() {
    let mut failed = Vec::new();
    for folder in entries(Path::new("tests/detect")).into_iter().filter(|path| path.is_dir()) {
        let id = folder.file_name().unwrap().to_str().unwrap();
        let info = detector_info(id).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        for path in entries(&folder) {
            // A failure in one file does not stop the check of the others.
            if catch_unwind(AssertUnwindSafe(|| check(info, &path))).is_err() {
                failed.push(path.display().to_string());
            }
        }
    }
    assert!(failed.is_empty(), "fixtures that fail: {}", failed.join(", "));
}

/// Compares the verdicts on the cases of a file with its snapshot. Checks that a snapshot has a fixture.
fn check(info: &DetectorInfo, path: &Path) {
    let shown = path.display();
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("md") => {}
        Some("snap") => return assert!(path.with_extension("md").exists(), "{shown} has no fixture"),
        _ => return,
    }
    let text = fs::read_to_string(path).unwrap();
    let cases = fixture::parse(&text).unwrap_or_else(|(line, message)| panic!("{shown}:{line}: {message}"));
    let verdict =
        |case: &fixture::Case| describe(info, &judge(info, case, &format!("{shown}:{}", case.line)));
    let verdicts = cases.iter().map(|case| format!("## {}\n{}", case.title, verdict(case)));
    let verdicts = verdicts.collect::<Vec<_>>().join("\n\n");
    insta::with_settings!({snapshot_path => info.id, prepend_module_to_snapshot => false, omit_expression => true}, {
        insta::assert_snapshot!(path.file_stem().unwrap().to_str().unwrap(), verdicts);
    });
}

/// Returns the verdict on a case. Checks that it is the same over the whole trace, step by step, and on a
/// trace read back from JSON.
fn judge(info: &DetectorInfo, case: &fixture::Case, place: &str) -> Verdict {
    let detector = info.build(case.preset, Actors::Agent, &Value::Object(case.config.clone()));
    let detector = detector.unwrap_or_else(|error| panic!("{place}: {error}"));
    let trace = case.trace.as_ref().unwrap();
    let verdict = detector.detect(trace);
    let mut monitor = Monitor::new(std::slice::from_ref(&detector)).unwrap().with_routing(trace.routing());
    trace.steps().for_each(|step| monitor.observe_step(&step));
    let online = monitor.finish().pop().map(|(_, verdict)| verdict);
    assert_eq!(online.as_ref(), Some(&verdict), "{place}: another verdict step by step");
    let read: Trace = serde_json::from_str(&serde_json::to_string(trace).unwrap()).unwrap();
    assert_eq!(detector.detect(&read), verdict, "{place}: another verdict on the run read back from JSON");
    let json = serde_json::to_value(&verdict).unwrap();
    let read: Verdict = serde_json::from_value(json.clone()).unwrap();
    assert_eq!(read.findings(), verdict.findings(), "{place}: other findings when read back");
    assert_eq!(serde_json::to_value(&read).unwrap(), json, "{place}: another verdict when read back");
    verdict
}

/// Describes a verdict for a snapshot.
fn describe(info: &DetectorInfo, verdict: &Verdict) -> String {
    let judgement = match verdict {
        Verdict::NotApplicable { reason } => return format!("not applicable: {reason}"),
        Verdict::Judged(judgement) => judgement,
    };
    let clean = if judgement.findings.is_empty() { "clean" } else { "not detected" };
    let head = (!judgement.detected).then(|| clean.to_owned());
    let score = judgement.score.map(|score| format!("score {score}"));
    let findings = judgement.findings.iter().map(|finding| describe_finding(info, finding));
    head.into_iter().chain(score).chain(findings).collect::<Vec<_>>().join("\n")
}

/// Describes a finding: steps, mode if it is not that of the rule, and message; then the evidence and any
/// other members.
fn describe_finding(info: &DetectorInfo, finding: &Finding) -> String {
    let Finding { first, last, message, evidence, .. } = finding;
    let mode = if finding.mode == info.mode { String::new() } else { format!("{}: ", finding.mode) };
    let mut rest = serde_json::to_value(finding).unwrap();
    for shown in ["id", "mode", "where", "message", "evidence"] {
        rest.as_object_mut().unwrap().remove(shown);
    }
    if finding.confidence == Confidence::Certain {
        rest.as_object_mut().unwrap().remove("confidence");
    }
    let rest = if rest == json!({}) { String::new() } else { format!("\n  {rest}") };
    format!("{first}-{last} {mode}{message}\n  {}{rest}", serde_json::to_string(evidence).unwrap())
}

#[test]
fn malformed_fixtures_are_reported_with_their_line() {
    let wrong = [
        ("# t\npreset: best\n", 2),
        ("# t\n## a\nno run\n", 3),
        ("## a\n```run\nlook -> ok: x\n", 2),
        ("## a\n```run\nlook -> ok: x\n\nlook {a} -> ok: x\n```\n", 5),
        ("## a\n```run\nlook -> fine\n```\n", 3),
        ("## a\n```run\n[on fire] look -> ok\n```\n", 3),
        ("## a\n```route\n1: score high\n```\n", 3),
        ("## a\n```run\nlook -> ok\n```\n## a\n```run\nlook -> ok\n```\n", 5),
    ];
    for (text, line) in wrong {
        assert_eq!(fixture::parse(text).map_err(|(line, _)| line).err(), Some(line), "{text}");
    }
}
