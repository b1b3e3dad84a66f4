//! Tests that HTML reports are well-formed, self-contained, and safe with hostile text.

#![cfg(feature = "statistics")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "helpers of tests say what they expect by failing"
)]

mod reading;

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use reading::folder::Folder;
use serde_json::json;
use wrongturn::stats::Resampling;
use wrongturn::{
    Confidence, Loop, Metadata, Scanner, Status, Trace,
    calibrate::{CalibrationOptions, GoldenSet, calibrate},
    compare::{ComparedRun, Comparison, FingerprintGroups, GroupedFingerprint},
    default_detectors,
    fingerprint::Fingerprint,
    merge::{Files, RunStrip, ScanSummary, StripFinding, StripStep},
    report::{Document, calibration_document, comparison_document, fingerprint_document, scan_document},
    scan::ScanOptions,
    trace::Actor,
};

const HOSTILE: &str = "</script></style></title><img src=x onerror=alert(1)><svg onload=alert(2)>\" onmouseover='alert(3)' \
                       javascript:alert(4) ]]>--><!-- \u{0}\u{1b}[31m\u{202e} &lt;b&gt; {{7*7}}";

fn step(index: u64) -> StripStep {
    let actors = [Actor::Agent, Actor::User, Actor::System, Actor::Environment];
    let speaks = index.is_multiple_of(3);
    StripStep {
        index,
        actor: actors[usize::try_from(index / 3).unwrap() % 4],
        tool: (!speaks).then(|| HOSTILE.to_owned()),
        status: (!speaks).then(|| [Status::Ok, Status::Error][usize::from(index % 3 == 1)]),
        raw: format!("{HOSTILE}\n{}", "x".repeat(5_000)),
    }
}

fn strip(steps: u64) -> RunStrip {
    let finding = |first, last| StripFinding {
        detector: HOSTILE.to_owned(),
        first,
        last,
        confidence: Confidence::Likely,
        message: HOSTILE.repeat(20),
        evidence: HOSTILE.repeat(100),
    };
    RunStrip {
        title: HOSTILE.to_owned(),
        steps: (0..steps).map(step).collect(),
        findings: vec![finding(2, 6), finding(5, 9), finding(1, u64::MAX)],
    }
}

fn hostile_comparison() -> Comparison {
    let run = |task: u32, reward| ComparedRun {
        domain: None,
        task: Some(format!("{HOSTILE}{task}")),
        trial: None,
        reward: Some(reward),
        infrastructure_error: false,
        detected: vec![(HOSTILE.to_owned(), Some(reward > 0.5))],
        measures: vec![("errors", reward)],
        fingerprint: None,
    };
    let runs = |shift: u32| (0..12).map(|task| run(task, f64::from((task + shift) % 2))).collect::<Vec<_>>();
    let options = Resampling::default();
    Comparison::of((HOSTILE, &runs(0)), ("other", &runs(1)), &options).unwrap()
}

/// Returns a report with every kind of part, and hostile text in every place for text.
fn hostile_report() -> String {
    let mut report = Document::new(HOSTILE);
    report.lead(HOSTILE).section(HOSTILE).paragraph(HOSTILE).warning(HOSTILE);
    let mut metadata = Metadata::default();
    metadata.model = Some(HOSTILE.into());
    let mut run = Trace::builder().metadata(metadata);
    for _ in 0..4 {
        run.call(HOSTILE, &json!({"at": HOSTILE}), Status::Ok, HOSTILE).unwrap();
    }
    let run = run.build().unwrap();
    let scanner = Scanner::new(vec![Arc::new(Loop::default())], ScanOptions::default()).unwrap();
    let mut summary = ScanSummary::default();
    let file = serde_json::to_vec(&run).unwrap();
    summary.add(&scanner.scan_slice("a.json".as_ref(), &file).traces[0]);
    let fingerprint = Fingerprint::of(&run);
    let groups = ["one", "two"].map(|group| {
        let group = format!("{HOSTILE}{group}");
        GroupedFingerprint { group, task: None, fingerprint: fingerprint.clone() }
    });
    let groups = FingerprintGroups::of(&groups, &Resampling::default());
    for document in [
        comparison_document(&hostile_comparison()),
        scan_document(&summary, Vec::new(), &Files::default()),
        fingerprint_document(&groups, HOSTILE),
    ] {
        report.charts_of(document.charts().cloned());
    }
    for title in ["less", "Cost of failures", "transitions", "what follows"] {
        assert!(report.charts().any(|chart| chart.title().contains(title)), "{title}");
    }
    report.section("Runs").strips(vec![strip(30), strip(3)]);
    report.html()
}

/// The tags that reports use.
const TAGS: &str = "html head meta link title style body header nav main footer h1 h2 h3 p a div table caption \
    thead tbody tr th td figure figcaption svg desc line text circle polygon path rect ol li \
    details summary pre strong i article";

/// The attributes that reports use.
const ATTRIBUTES: &str = "lang charset name content http-equiv rel href id class role fill-opacity tabindex aria-label aria-hidden aria-labelledby \
    scope colspan viewBox font-family font-size font-weight fill stroke stroke-width stroke-dasharray x y x1 x2 y1 y2 cx cy r d points transform text-anchor width height title xmlns";

fn among(name: &str, list: &str) -> bool {
    list.split_whitespace().any(|one| one == name)
}

/// Checks that tags nest, and that tags and attributes are among those that reports use. Returns the text,
/// with each element on a line.
fn well_formed(html: &str) -> String {
    let mut open: Vec<String> = Vec::new();
    let mut text = String::new();
    let mut rest = html.strip_prefix("<!DOCTYPE html>").unwrap_or(html);
    while let Some(start) = rest.find('<') {
        if open.last().is_none_or(|tag| tag != "style") && !rest[..start].trim().is_empty() {
            text += rest[..start].trim();
            text.push('\n');
        }
        let end = start + rest[start..].find('>').unwrap();
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name));
            continue;
        }
        let (name, mut attributes) = tag.split_once(' ').unwrap_or((tag.trim_end_matches('/'), ""));
        assert!(among(name, TAGS), "a tag <{tag}>");
        if !tag.ends_with('/') && !["meta", "link"].contains(&name) {
            open.push(name.to_owned());
        }
        attributes = attributes.trim_end_matches('/');
        while let Some((attribute, value)) = attributes.split_once("=\"") {
            assert!(among(attribute.trim(), ATTRIBUTES), "an attribute {attribute} in <{tag}>");
            let (value, others) = value.split_once('"').unwrap();
            if attribute.trim() == "href" {
                assert!(value.starts_with('#') || value == "data:,", "a link to {value}");
            }
            attributes = others;
        }
        assert_eq!(attributes.trim(), "", "<{tag}>");
    }
    assert!(open.is_empty(), "{open:?} are not closed");
    text + rest
}

/// Checks that a page is well-formed and loads nothing. Returns its text.
fn text_of(html: &str) -> String {
    let text = well_formed(html);
    for part in ["<script", "http://", "https://", "url(", "@import"] {
        assert!(!html.replace("xmlns=\"http://www.w3.org/2000/svg\"", "").contains(part), "{part}");
    }
    assert!(!text.contains(['\u{202e}', '\u{0}', '\u{1b}']));
    text.replace(env!("CARGO_PKG_VERSION"), "VERSION")
}

#[test]
fn hostile_text_is_escaped_everywhere() {
    let html = hostile_report();
    text_of(&html);
    let escaped = "&lt;/script&gt;&lt;/style&gt;&lt;/title&gt;&lt;img src=x onerror=alert(1)&gt;";
    assert!(html.contains(escaped) && html.contains("&amp;lt;b&amp;gt;"));
}

#[test]
fn at_most_fifty_runs_are_drawn() {
    let runs = (0..60).map(|_| strip(2_000)).collect();
    let html = scan_document(&ScanSummary::default(), runs, &Files::default()).html();
    text_of(&html);
    assert!(html.len() < 5_000_000, "{} bytes", html.len());
    assert!(html.contains("Further runs, not drawn: 10.") && html.contains("Further steps, not drawn: "));
    // The table links to each run, and each run links back to the table.
    for (link, count) in [("<article", 50), ("href=\"#run-", 50), ("href=\"#runs\"", 50)] {
        assert_eq!(html.matches(link).count(), count, "{link}");
    }
}

#[test]
fn a_scan_page_shows_known_costs_and_the_worst_run_first() {
    let tame = |title: &str, findings: usize| {
        let mut run = strip(14);
        for step in &mut run.steps {
            step.tool = step.tool.as_ref().map(|_| "look".to_owned());
            step.raw = format!("step {} as recorded", step.index);
        }
        run.findings.truncate(findings);
        for finding in &mut run.findings {
            (finding.detector, finding.message) = ("loop".to_owned(), "repeats `look`".to_owned());
            finding.evidence = "{\"repeat_count\": 5}".to_owned();
        }
        RunStrip { title: title.to_owned(), ..run }
    };
    let mut run = Trace::builder();
    for _ in 0..4 {
        run.call("look", &json!({"at": "wall"}), Status::Ok, "a wall").unwrap();
    }
    let run = serde_json::to_vec(&run.build().unwrap()).unwrap();
    let scanner = Scanner::new(vec![Arc::new(Loop::default())], ScanOptions::default()).unwrap();
    let mut summary = ScanSummary::default();
    summary.add(&scanner.scan_slice("a.json".as_ref(), &run).traces[0]);
    let runs = vec![tame("calm", 1), tame("worst", 3)];
    let html = scan_document(&summary, runs, &Files::default()).html();
    insta::assert_snapshot!("scan_page", text_of(&html));
}

#[test]
fn a_calibration_page_has_the_tables_of_the_report() {
    let line = r#"{"id": "a", "detector": "loop", "difficulty": "easy", "label": true, "description": "stuck",
        "source": "test", "trace": {"version": 1, "steps": [{"name": "look", "status": "ok"}]}}"#;
    let line = line.replace('\n', " ");
    let set = GoldenSet::parse(&[(&PathBuf::from("test"), &line)], &["loop"]).unwrap();
    let report = calibrate(&set, &default_detectors(), &CalibrationOptions::default());
    insta::assert_snapshot!("calibration_page", text_of(&calibration_document(&report, &[]).html()));
}

#[test]
fn a_comparison_page_escapes_tasks_and_detectors() {
    text_of(&comparison_document(&hostile_comparison()).html());
}

/// In Chromium, if installed, a page logs nothing to the console and runs no script.
#[test]
fn chromium_logs_nothing() {
    let found = ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok_and(|run| run.status.success()));
    let Some(browser) = found else {
        eprintln!("no Chromium here: the page was checked without a browser");
        return;
    };
    let folder = Folder::new("html");
    let page = folder.write("report.html", hostile_report());
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"])
        .args(["--disable-component-update", "--disable-sync", "--enable-logging=stderr", "--dump-dom"])
        .arg(format!("--user-data-dir={}", folder.path("profile").display()))
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    let (dom, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let said: Vec<&str> = err.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert!(said.is_empty(), "{said:#?}");
    assert!(dom.contains("&lt;img src=x onerror=alert(1)&gt;"), "the page was not read: {err}");
    assert!(!dom.contains("<img") && !dom.contains("<script"));
}
