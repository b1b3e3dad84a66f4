//! Tests `wrongturn show`.

use serde_json::Value;
use serde_json::json;

use crate::support::{Folder, ends, two_looks};

/// A bundled file with several runs.
const RUNS: &str = "golden/tau2/scripted-quitter_airline.json";

#[test]
fn show_prints_steps_findings_and_counterfactuals() {
    let folder = Folder::new("show");
    let file = folder.write("run.json", &two_looks());
    let (out, _) = ends("show", &[&file, "--width", "70", "--explain", "loop"], 0);
    insta::assert_snapshot!("show_explain", folder.masked(&out));
    let config = folder.write("config.json", r#"{"loop": {"min_repeats": 3}}"#);
    let (out, _) = ends("show", &[&file, "--config", &config], 0);
    insta::assert_snapshot!("show_finding", folder.masked(&out));
    let (out, _) = ends("show", &[&file, "--full", "12"], 0);
    insta::assert_snapshot!("show_full_step", folder.masked(&out));
    let (out, _) = ends("show", &[&file, "--json"], 0);
    let native: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&native["version"], &native["steps"][1]["step"]), (&json!(1), &json!(11)));
    let mut errors = String::new();
    for wrong in [&["--full", "9"], &["--run", "x"], &["--explain", "x"]] {
        errors += &ends("show", &[&[&*file], &wrong[..]].concat(), 2).1;
    }
    errors += &ends("show", &["no/file"], 3).1;
    insta::assert_snapshot!("show_errors", folder.masked(&errors));
}

#[test]
fn show_lists_many_runs_and_prefers_an_id_to_a_position() {
    let (out, _) = ends("show", &[RUNS], 0);
    assert!(out.lines().count() > 10 && out.ends_with("Choose one with --run.\n"), "{out}");
    let (first, _) = ends("show", &[RUNS, "--run", "#0"], 0);
    assert_eq!(first, ends("show", &[RUNS, "--run", "0"], 0).0);
    // An id takes precedence over a position, but must be unique. Runs without an id are named as in `check`.
    let folder = Folder::new("named");
    let run =
        |id: &str, tool: &str| format!("{{\"version\": 1, {id}\"steps\": [{{\"name\": \"{tool}\"}}]}}\n");
    let text = run("", "first") + &run("\"id\": \"0\", ", "second");
    let runs = folder.write("runs.jsonl", &text);
    let found = |name: &str| ends("show", &[&runs, "--native", "--run", name], 0).0.contains("first");
    assert_eq!(["0", "#0", "1", "runs#0"].map(found), [false, true, false, true]);
    folder.write("runs.jsonl", &(text + &run("\"id\": \"0\", ", "third")));
    assert_eq!(
        ends("show", &[&runs, "--run", "0"], 2).1,
        "error: several runs have the id `0`; name one by `#` and its position\n"
    );
}

#[test]
fn runs_of_a_directory_are_listed_by_file() {
    let folder = Folder::new("show-directory");
    for name in ["a.jsonl", "b.jsonl"] {
        folder.write(name, &two_looks());
    }
    let (out, _) = ends("show", &[&folder.path("")], 0);
    // The name of a file, then its run.
    let [first, _, second, ..] = out.lines().collect::<Vec<_>>()[..] else { panic!("{out}") };
    assert!(first.ends_with("a.jsonl") && second.ends_with("b.jsonl"), "{out}");
}
