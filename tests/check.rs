//! `wrongturn check` and `wrongturn doctor`: what they print, the files they write, and the gate.

#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

mod programs;

use serde_json::{Value, json};

use programs::{Folder, command, ends, run};

/// A bundled file with flagged runs.
const RUNS: &str = "golden/tau2/scripted-careless_airline.json";

/// A run that repeats a call with the same answer, in the native form.
fn looping(id: &str, tool: &str, model: &str) -> String {
    let step = json!({"name": tool, "arguments": {"q": "x"}, "status": "ok", "observation": "nothing new"});
    let run = json!({"version": 1, "id": id, "model": model, "task": "t1", "steps": vec![step; 6]});
    format!("{run}\n")
}

#[test]
fn the_worst_runs_come_first() {
    let (text, _) = ends("check", &[RUNS, "--top", "3"], 0);
    insta::assert_snapshot!("check", text);
    let (text, _) = ends("check", &[RUNS, "--top", "0", "--group-by", "task", "--stats"], 0);
    insta::assert_snapshot!("check_stats", text);
    let (text, _) = ends("doctor", &[RUNS], 0);
    insta::assert_snapshot!("doctor", text);
}

#[test]
fn help_texts_are_as_pinned() {
    for name in ["check", "doctor", "show", "compare", "convert", "replicate", "calibrate", "label", "merge"]
    {
        let (help, _) = ends(name, &["--help"], 0);
        insta::assert_snapshot!(format!("help_{name}"), help);
    }
    let output = command("--help").output().unwrap();
    insta::assert_snapshot!("help", String::from_utf8(output.stdout).unwrap());
}

#[test]
fn every_format_of_output_is_as_pinned() {
    let folder = Folder::new("formats");
    let input = folder.write("runs.jsonl", &looping("r1", "look", "m"));
    let names = ["findings.csv", "runs.csv", "log.sarif", "junit.xml", "records.jsonl", "tables.md"];
    let mut arguments = vec![input.clone()];
    for name in names {
        arguments.extend(["--output".to_owned(), folder.path(name)]);
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (text, _) = ends("check", &arguments, 0);
    let masked = |text: &str| {
        let text = text.replace(&folder.path(""), "FOLDER/");
        text.replace(env!("CARGO_PKG_VERSION"), "VERSION")
    };
    insta::assert_snapshot!("output_text", masked(&text));
    for name in names {
        insta::assert_snapshot!(format!("output_{name}"), masked(&folder.text(name)));
    }
    let (text, _) = ends("check", &[&input, "--output-format", "github"], 0);
    insta::assert_snapshot!("output_github", masked(&text));
    let sarif: Value = serde_json::from_slice(&folder.bytes("log.sarif")).unwrap();
    assert_eq!(sarif["version"], "2.1.0");
    let (_, error) = ends("check", &[&input, "--output", &folder.path("findings")], 2);
    assert!(error.contains("expected a name that ends in"), "{error}");
}

#[test]
fn a_gate_fails_on_its_conditions_alone() {
    let folder = Folder::new("gate");
    let input = folder.write("runs.jsonl", &looping("r1", "look", "m"));
    ends("check", &[&input], 0);
    ends("check", &[&input, "--fail-on", "feedback_blindness"], 0);
    let (_, error) = ends("check", &[&input, "--fail-on", "loop>50%"], 1);
    assert!(error.contains("loop flags 1 of 1 runs, more than 50%"), "{error}");
    ends("check", &[&input, "--fail-on", "loop>1"], 0);
    let (_, error) = ends("check", &[&input, "--fail-on", "loops"], 2);
    assert!(error.contains("got `loops`"), "{error}");

    let baseline = folder.path("known.json");
    ends("check", &[&input, "--baseline", &baseline, "--update-baseline"], 0);
    let (text, _) = ends("check", &[&input, "--baseline", &baseline, "--fail-on", "any"], 0);
    assert!(text.contains("known findings are left out"), "{text}");
    // The same failure at other steps of the same task is known; another tool is not.
    let same = folder.write("same.jsonl", &looping("r2", "look", "m"));
    ends("check", &[&same, "--baseline", &baseline, "--fail-on", "any"], 0);
    let other = folder.write("other.jsonl", &looping("r2", "look", "m").replace("\"t1\"", "\"t2\""));
    ends("check", &[&other, "--baseline", &baseline, "--fail-on", "any"], 1);

    let broken = folder.write("broken.json", "{");
    ends("check", &[&input, &broken], 3);
    ends("check", &[&input, &broken, "--allow-unread"], 0);
    ends("check", &[&input, &broken, "--fail-on", "loop"], 1);
}

#[test]
fn settings_come_from_the_nearest_file() {
    let folder = Folder::new("settings");
    folder.write("runs/a.jsonl", &looping("r1", "look", "m"));
    let check = |settings: &str, status: i32| {
        folder.write("wrongturn.toml", settings);
        let output = command("check").current_dir(folder.0.join("runs")).arg("a.jsonl").output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(status), "{error}");
        error
    };
    check("", 0);
    check("fail-on = [\"loop\"]", 1);
    check("fail-on = [\"loop\"]\n[detectors.loop]\nmin_repeats = 9\nmin_looks = 9", 0);
    check("fail-on = [\"loop\"]\n[[ignore]]\ndetector = \"loop\"\nreason = \"polls\"", 0);
    let error = check("[[ignore]]\ndetector = \"malformed_call\"\nreason = \"a tool of ours\"", 0);
    assert!(error.contains("nothing to ignore for: a tool of ours"), "{error}");
    let error = check("fail_on = []", 2);
    assert!(error.contains("did you mean `fail-on`?"), "{error}");
}

#[test]
fn recorded_text_cannot_steer_the_terminal() {
    let folder = Folder::new("escape");
    let input = folder.write("runs.jsonl", &looping("r\u{1b}[2J", "lo\u{1b}]0;x\u{7}ok", "m\u{9b}31m"));
    for name in ["check", "doctor"] {
        let output = run(name, &[&input]);
        let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
        assert!(!text.chars().any(|letter| letter.is_control() && letter != '\n'), "{name}: {text:?}");
    }
    let csv = folder.path("findings.csv");
    let formula = folder.write("formula.jsonl", &looping("=HYPERLINK(1)", "look", "m"));
    ends("check", &[&formula, "--output", &csv], 0);
    assert!(folder.text("findings.csv").contains("\n'=HYPERLINK(1),"), "{}", folder.text("findings.csv"));
}

#[test]
fn an_error_message_has_a_bound() {
    let folder = Folder::new("long");
    let input =
        folder.write("runs.jsonl", &format!("{{\"version\": 1, \"status\": \"{}\"}}\n", "x".repeat(1 << 20)));
    let (_, error) = ends("check", &[&input, "--format", "native"], 3);
    assert!(error.lines().all(|line| line.chars().count() <= 1001), "{} bytes", error.len());
}

#[test]
fn an_error_of_the_guard_blocks_no_agent() {
    let output = run("guard", &["--no-such-flag"]);
    assert_eq!(output.status.code(), Some(1));
    let output = run("check", &["--no-such-flag"]);
    assert_eq!(output.status.code(), Some(2));
}
