//! Tests properties of several subcommands: exit statuses, wrong usage, errors, threads and streams.

use std::fs;

use crate::support::{Folder, GOOD, PARTLY, ends};

const EMPTY: &str = r#"{"info": null, "tasks": [], "simulations": []}"#;

#[test]
fn the_status_says_how_much_was_read() {
    let folder = Folder::new("status");
    let good = folder.write("good.json", GOOD);
    let empty = folder.write("empty.json", EMPTY);
    let partly = folder.write("partly.json", PARTLY);
    let truncated = folder.write("truncated.json", &GOOD[..GOOD.len() - 40]);
    let garbage = folder.write("garbage.json", "hello");
    let nothing = folder.write("nothing.json", "");
    let missing = folder.path("missing.json");
    let cases: [(&[&String], i32); 12] = [
        (&[&good], 0),
        // A file without runs counts as read.
        (&[&empty], 0),
        (&[&good, &empty], 0),
        (&[&partly], 3),
        (&[&good, &truncated], 3),
        (&[&garbage, &good], 3),
        (&[&empty, &nothing], 3),
        (&[&missing, &good], 3),
        (&[&garbage], 3),
        (&[&nothing], 3),
        (&[&missing], 3),
        (&[&garbage, &nothing, &missing], 3),
    ];
    for (paths, status) in cases {
        let paths: Vec<&str> = paths.iter().map(|path| path.as_str()).collect();
        for name in ["replicate", "check"] {
            let (_, err) = ends(name, &paths, status);
            assert_eq!(err.is_empty(), status == 0, "{name} {paths:?}: {err}");
        }
    }
    // Unread input is reported with path and place.
    for name in ["replicate", "check"] {
        let (_, err) = ends(name, &[&good, &partly, &truncated, &missing], 3);
        insta::assert_snapshot!("unread", folder.masked(&err));
    }
}

#[test]
fn wrong_usage_ends_with_2() {
    let folder = Folder::new("usage");
    let good = folder.write("good.json", GOOD);
    let nowhere = folder.path("no/such/folder/out.json");
    for arguments in [
        &["--nonsense"][..],
        &["--actors", "robots", &good],
        &["--threads", "0", &good],
        &["--resamples", "1", &good],
        &["--threshold", "0", &good],
        &["--threshold", "1.5", &good],
        &["--threshold", "NaN", &good],
        &["--threshold", "half", &good],
        &["--out", &nowhere, &good],
        &["--json", &nowhere, &good],
        &["--out"],
    ] {
        let (_, err) = ends("replicate", arguments, 2);
        assert_ne!(err, "", "{arguments:?}");
    }
    let config = |name: &str, text: &str| folder.write(&format!("{name}.json"), text);
    for arguments in [
        &[][..],
        &["--nonsense", &good],
        &["--format", "yaml", &good],
        &["--alignment", "beside", &good],
        &["--actors", "robots", &good],
        &["--preset", "mine", &good],
        &["--fail-on", "malformed_call", &good],
        &["--detectors", "lop", &good],
        &["--out", &nowhere, &good],
        &["--config", &nowhere, &good],
        &["--config", &config("broken", "{"), &good],
        &["--config", &config("list", "[]"), &good],
        &["--config", &config("unknown", r#"{"lop": {}}"#), &good],
        &["--config", &config("range", r#"{"loop": {"min_repeats": 0}}"#), &good],
    ] {
        let (_, err) = ends("check", arguments, 2);
        assert_ne!(err, "", "{arguments:?}");
    }
    // A wrong field is named.
    let (_, err) = ends("check", &["--config", &config("field", r#"{"loop": {"repeats": 3}}"#), &good], 2);
    insta::assert_snapshot!("wrong_field", folder.masked(&err));
}

#[test]
fn at_most_20_errors_are_printed_and_the_rest_are_counted() {
    let folder = Folder::new("many_errors");
    for number in 0..23 {
        folder.write(&format!("{number:02}.json"), "{\"name\": 1}");
    }
    let (_, err) = ends("check", &[&folder.path("")], 3);
    assert_eq!(err.matches("unknown input format").count(), 20, "{err}");
    assert_eq!(err.lines().nth(20), Some("error: 3 more errors"), "{err}");
}

#[test]
fn likely_findings_can_be_left_out_everywhere() {
    let golden = "golden/wasted_actions.jsonl";
    for (name, arguments) in [
        ("compare", &["--resamples", "100"][..]),
        ("calibrate", &["--trials", "1", "--detectors", "wasted_actions", "--golden", golden, "--sweep"]),
        ("check", &["golden/tau2"]),
    ] {
        let with = |least| ends(name, &[arguments, &["--min-confidence", least]].concat(), 0).0;
        let likely = with("likely");
        assert_eq!(likely, ends(name, arguments, 0).0);
        assert_ne!(likely, with("certain"), "{name}");
        ends(name, &[arguments, &["--min-confidence", "sure"]].concat(), 2);
    }
}

#[test]
fn tables_and_pages_go_where_they_are_asked_for() {
    let folder = Folder::new("tables");
    let [markdown, latex, html, sims, svg] =
        ["t.md", "t.tex", "r.html", "runs.csv", "f.svg"].map(|name| folder.path(name));
    let csv = folder.path("csv");
    let mut arguments = vec!["--csv", &csv, "--markdown", &markdown, "--latex", &latex, "--html", &html];
    let plain = arguments.clone();
    arguments.extend(["--out", &sims, "--chart", &svg, "--resamples", "100"]);
    ends("replicate", &arguments, 0);
    let read = |path: &str| fs::read_to_string(path).unwrap();
    assert!(read(&format!("{csv}/by_model.csv")).starts_with("model,runs,runs_with_errors,mean_reward,"));
    assert_eq!(read(&sims).lines().count(), 409);
    let first = |path: &str| read(path).lines().take(25).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!("replicate.md", first(&markdown));
    insta::assert_snapshot!("replicate.tex", first(&latex));
    let page = read(&html);
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
    assert!(read(&svg).starts_with("<svg xmlns="));
    ends("compare", &plain, 0);
    assert!(read(&format!("{csv}/tasks.csv")).starts_with("domain,task,first_successes,"));
    // Neither pages nor tables depend on the number of threads.
    ends("replicate", &["--html", &html, "--threads", "1", "--resamples", "100"], 0);
    let one = read(&html);
    ends("replicate", &["--html", &html, "--threads", "3", "--resamples", "100"], 0);
    assert_eq!(read(&html), one);
}

#[test]
fn the_number_of_threads_changes_no_byte() {
    let folder = Folder::new("threads");
    let partly = folder.write("partly.json", PARTLY);
    let outputs = |threads: &str| {
        let [sims, summary, out] = ["sims.jsonl", "summary.json", "out.jsonl"].map(|name| folder.path(name));
        let args = ["--threads", threads, "--pass-k", "--resamples=100", "--out", &sims, "--json", &summary];
        let replicate = [&args[..], &["golden/tau2", &partly]].concat();
        let scan = ["--threads", threads, "--fingerprints", "--out", &out, "golden/tau2", &partly];
        let told = [ends("replicate", &replicate, 3), ends("check", &scan, 3)];
        (told, ["sims.jsonl", "summary.json", "out.jsonl"].map(|name| folder.bytes(name)))
    };
    let one = outputs("1");
    assert!(one.1.iter().all(|bytes| bytes.len() > 1000));
    assert!(outputs("2") == one, "two threads");
    assert!(outputs("8") == one, "eight threads");
}

#[test]
fn streaming_changes_no_byte() {
    let folder = Folder::new("streaming");
    let [whole, streamed] = ["whole.jsonl", "streamed.jsonl"].map(|name| folder.path(name));
    ends("check", &["--out", &whole, "golden/tau2"], 0);
    ends("check", &["--stream-above", "0", "--out", &streamed, "golden/tau2"], 0);
    assert!(folder.bytes("whole.jsonl") == folder.bytes("streamed.jsonl"));
}
