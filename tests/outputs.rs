//! What the examples write: whole or not at all, never over an input, and without a word too many where nobody reads.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests say what they expect by failing")]

mod programs;

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::{Output, Stdio};

use programs::{Folder, command};

fn run(name: &str, arguments: &[&Path]) -> Output {
    command(name).args(arguments).output().unwrap()
}

const RUN: &str = r#"{"simulations": [{"id": "a", "messages": []}]}"#;

#[test]
fn no_output_takes_the_place_of_an_input() {
    let folder = Folder::new("input");
    let input = folder.0.join("x.json");
    let flags = [
        ("check", "--out"),
        ("check", "--html"),
        ("convert", "--out"),
        ("replicate", "--out"),
        ("replicate", "--json"),
    ];
    for (name, flag) in flags {
        fs::write(&input, RUN).unwrap();
        let inside = folder.0.join("new.json");
        for (output, source) in [(&input, &input), (&inside, &folder.0)] {
            let ended = run(name, &[Path::new(flag), output, source]);
            assert_eq!(ended.status.code(), Some(2), "{name} {flag}");
            let told = String::from_utf8(ended.stderr).unwrap();
            assert!(told.contains("the output"), "{name}: {told}");
        }
        assert_eq!(fs::read_to_string(&input).unwrap(), RUN);
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1, "{name} left something behind");
    }
}

#[test]
fn two_outputs_are_two_files() {
    let folder = Folder::new("two");
    let (input, out) = (folder.0.join("x.json"), folder.0.join("out.jsonl"));
    fs::write(&input, RUN).unwrap();
    let twice = [Path::new("--out"), &out, Path::new("--json"), &out, &input];
    for (arguments, why) in [
        (&twice[..], "two outputs would be one file"),
        (&[Path::new("--out"), Path::new("-"), &input], "--output-format"),
    ] {
        let ended = run("check", arguments);
        let told = String::from_utf8(ended.stderr).unwrap();
        assert!(ended.status.code() == Some(2) && told.contains(why), "{told}");
    }
    let spaced = [Path::new("--detectors"), Path::new("loop, tool_error_recovery"), &input];
    assert_eq!(run("check", &spaced).status.code(), Some(0));
}

#[test]
fn an_output_is_there_whole_or_not_at_all() {
    let folder = Folder::new("whole");
    fs::create_dir(folder.0.join("in")).unwrap();
    let (good, bad) = (folder.0.join("in/good.json"), folder.0.join("in/bad.json"));
    fs::write(&good, RUN).unwrap();
    fs::write(&bad, "nothing").unwrap();
    let out = folder.0.join("out.jsonl");
    let ended = run("check", &[Path::new("--out"), &out, &good]);
    assert_eq!(ended.status.code(), Some(0));
    let first = fs::read_to_string(&out).unwrap();
    assert_eq!(first.lines().count(), 1);
    // Wrong usage leaves it as it was.
    let ended = run("check", &[Path::new("--out"), &out, Path::new("--detectors"), Path::new("none"), &good]);
    assert_eq!(ended.status.code(), Some(2));
    assert_eq!(fs::read_to_string(&out).unwrap(), first);
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/golden/tau2/scripted-quitter_retail.json");
    for name in ["convert", "check", "replicate"] {
        let mut child =
            command(name).arg(golden).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = [0; 1];
        if name == "convert" {
            child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
        }
        drop(child.stdout.take());
        let ended = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8(ended.stderr).unwrap(), "", "{name}");
        assert_eq!(ended.status.code(), Some(0), "{name}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_with_a_name() {
    let golden = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/golden/tau2"));
    let full = Path::new("/dev/full");
    let jsonl = Path::new("jsonl=/dev/full");
    for (name, full) in [("check", jsonl), ("convert", full), ("replicate", full)] {
        let ended = run(name, &[Path::new("--out"), full, golden]);
        let told = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(2), "{name}: {told}");
        assert!(told.contains("/dev/full") && told.contains("space"), "{name}: {told}");
    }
}

#[test]
fn results_come_first_and_errors_last() {
    let folder = Folder::new("order");
    let runs = folder.write("in/runs.json", RUN);
    let broken = folder.write("in/broken.json", r#"{"simulations": ["#);
    folder.write("in/notes.txt", "no input");
    let episode = r#"{"id": "a", "a": [], "b": []}"#;
    let lines = folder.write("lines.jsonl", &format!("{episode}\n{{\"id\": 7}}\n"));
    let inputs = folder.path("in");
    for (name, arguments, notes) in [
        ("check", vec![inputs.as_str()], 1),
        ("convert", vec![&inputs], 1),
        ("replicate", vec!["--resamples", "10", &inputs], 1),
        ("compare", vec!["--resamples", "10", &inputs, "golden/tau2/scripted-quitter_airline.json"], 1),
        ("show", vec![&inputs, "--format", "tau2"], 1),
        ("bench benchtrace", vec!["agree", &lines], 0),
        ("bench recovery", vec!["read", "golden/recovery/results.json", &broken], 0),
    ] {
        // Both into one pipe, as on a terminal.
        let (mut reader, writer) = std::io::pipe().unwrap();
        let mut child = programs::command(name)
            .args(&arguments)
            .stdin(Stdio::null())
            .stderr(writer.try_clone().unwrap())
            .stdout(writer)
            .spawn()
            .unwrap();
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(3), "{name}: {text}");
        let is_told = |line: &&str| line.starts_with("error: ") || line.starts_with("note: ");
        let told = text.lines().rev().take_while(is_told).count();
        assert_eq!(
            text.lines().filter(is_told).count(),
            told,
            "{name} tells something before its results: {text}"
        );
        assert_eq!(text.lines().filter(|line| line.starts_with("note: ")).count(), notes, "{name}: {text}");
        assert!(told > notes && text.lines().count() > told, "{name}: {text}");
        // Nothing draws a bar or a colour where there is no terminal.
        assert!(!text.contains('\u{1b}') && !text.contains('\r'), "{name}: {text}");
    }
    assert!(Path::new(&runs).is_file());
}
