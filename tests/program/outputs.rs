//! Tests the outputs of the program: complete or absent, never in place of an input, and quiet if the pipe is
//! closed.

use std::fs;
use std::io::Read as _;
use std::process::{Command, Stdio};

use crate::support::{Folder, command, ends, told};

const RUN: &str = r#"{"simulations": [{"id": "a", "messages": []}]}"#;

#[test]
fn no_output_takes_the_place_of_an_input() {
    let folder = Folder::new("input");
    let (input, inside) = (folder.path("x.json"), folder.path("new.json"));
    for (name, flag) in [
        ("check", "--out"),
        ("check", "--html"),
        ("convert", "--out"),
        ("replicate", "--out"),
        ("replicate", "--json"),
    ] {
        folder.write("x.json", RUN);
        for (output, source) in [(&input, &input), (&inside, &folder.path(""))] {
            let (_, error) = ends(name, &[flag, output, source], 2);
            assert!(error.contains("the output"), "{name}: {error}");
        }
        assert_eq!(folder.text("x.json"), RUN);
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1, "{name} left something behind");
    }
    ends("check", &["--out", &folder.path("no-input.sarif"), &folder.path("")], 0);
}

#[test]
fn no_output_replaces_a_file_that_the_inputs_lead_to() {
    let folder = Folder::new("leads");
    let run = r#"{"version": 1, "id": "r", "steps": [{"name": "x", "status": "ok"}]}"#;
    folder.write("tau2/results.json", r#"{"info": {"agent_info": {"llm": "m"}}, "tasks": []}"#);
    folder.write("tau2/simulations/a.json", r#"{"id": "a", "task_id": "1", "messages": []}"#);
    folder.write("trial/result.json", r#"{"reward": 1}"#);
    folder.write("trial/agent/run.json", run);
    folder.write("runs/a.json", run);
    folder.write("settings.json", "{}");
    folder.write("real/b.json", run);
    folder.write("linked/a.json", run);
    std::os::unix::fs::symlink(folder.path("real/b.json"), folder.path("linked/b.json")).unwrap();
    folder.write("golden.jsonl", "");
    folder.write("earlier.json", "{}");
    fs::create_dir(folder.0.join("states")).unwrap();
    ends("check", &[&folder.path("runs"), "--partial", &folder.path("states/p.json"), "--no-report"], 0);
    folder.write("list.txt", &(folder.path("states/p.json") + "\n"));
    let label = "runs/a.json --run r --detector loop --no --difficulty easy --description x --out";
    for (command, arguments, file) in [
        ("check", "tau2/simulations --json", "tau2/results.json"),
        ("check", "trial/agent/run.json --json", "trial/result.json"),
        ("check", "linked --json", "real/b.json"),
        ("check", "runs --config settings.json --json", "settings.json"),
        ("check", "runs --baseline earlier.json --json", "earlier.json"),
        ("calibrate", "--golden golden.jsonl --junit", "golden.jsonl"),
        ("merge", "--list list.txt --json", "list.txt"),
        ("merge", "states --json", "states/p.json"),
        ("merge", "states/p.json --html", "runs/a.json"),
        ("label", label, "runs/a.json"),
    ] {
        let before = folder.text(file);
        let arguments = arguments
            .split(' ')
            .chain([file])
            .map(|word| if folder.0.join(word).exists() { folder.path(word) } else { word.to_owned() });
        let arguments: Vec<String> = arguments.collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let (status, _, error) = told(command, &arguments);
        assert_eq!(folder.text(file), before, "{command} {arguments:?}");
        assert_ne!(status, 0, "{command} {arguments:?}: {error}");
    }
    // Standard input may be a file.
    let input = fs::File::open(folder.path("runs/a.json")).unwrap();
    let ended =
        command("check").args(["-", "--json", &folder.path("runs/a.json")]).stdin(input).output().unwrap();
    assert_eq!(ended.status.code(), Some(2));
    assert_eq!(folder.text("runs/a.json"), run);
    assert!(folder.left_over().is_empty(), "{:?}", folder.left_over());
}

#[test]
fn an_unfinished_output_follows_no_link_and_goes_with_a_signal() {
    let folder = Folder::new("signal");
    folder.write("victim", "keep");
    let mut child = command("check")
        .args(["-", "--output", &folder.path("out.jsonl")])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // The input stays open, so the program waits for more.
    let input = child.stdin.take();
    let part = folder.0.join(format!(".out.jsonl.{}.part", child.id()));
    while !part.exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    drop(input);
    assert!(!part.exists() && !folder.0.join("out.jsonl").exists());
}

#[test]
fn pipes_are_read_once() {
    let folder = Folder::new("pipe");
    let step = r#"{"name": "look", "arguments": {"q": 1}, "status": "ok", "observation": "same"}"#;
    let steps = [step; 6].join(",");
    let runs =
        ["r0", "r1", "r2"].map(|id| format!("{{\"version\": 1, \"id\": \"{id}\", \"steps\": [{steps}]}}\n"));
    let runs = runs.concat();
    let pipe = folder.path("runs.jsonl");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let feed = || {
        let (pipe, runs) = (pipe.clone(), runs.clone());
        std::thread::spawn(move || fs::write(pipe, runs))
    };
    let feeding = feed();
    let (text, _) = ends("check", &[&pipe, "--html", &folder.path("page.html")], 0);
    feeding.join().unwrap().unwrap();
    assert!(text.contains("3 of 3 runs flagged"), "{text}");
    assert!(folder.text("page.html").contains("r0"));
    for path in [pipe.as_str(), "-"] {
        let (_, error) =
            ends("label", &["--detector", "loop", "--out", &folder.path("s.jsonl"), "--sample", path], 2);
        assert!(error.contains("can be read twice"), "{error}");
    }
    // A state may name a file that has become a pipe.
    let file = folder.write("file.jsonl", &runs);
    ends("check", &[&file, "--partial", &folder.path("p.json"), "--no-report"], 0);
    fs::remove_file(&file).unwrap();
    fs::rename(&pipe, &file).unwrap();
    ends("merge", &[&folder.path("p.json"), "--html", &folder.path("merged.html")], 0);
    // The state may also name a file that has been replaced. Its content is not shown.
    fs::remove_file(&file).unwrap();
    folder.write("file.jsonl", &runs.replace("same", "secret"));
    ends("merge", &[&folder.path("p.json"), "--html", &folder.path("other.html")], 0);
    assert!(!folder.text("other.html").contains("secret"));
}

#[test]
fn equal_runs_are_drawn_once() {
    let folder = Folder::new("equal");
    for id in ["a", "b"] {
        folder.write(
            &format!("in/{id}.json"),
            &format!(
                "{{\"version\": 1, \"id\": \"{id}\", \"steps\": [{{\"name\": \"x\", \"status\": \"ok\"}}]}}"
            ),
        );
    }
    let (sheet, filled) = (folder.path("sheet.jsonl"), folder.path("filled.jsonl"));
    ends("label", &["--sample", &folder.path("in"), "--detector", "loop", "--n", "2", "--out", &sheet], 0);
    let rows = folder.lines("sheet.jsonl");
    assert_eq!(rows.len(), 1);
    let row = folder.text("sheet.jsonl").replace("\"label\":null", "\"label\":false");
    let row = row.replace("\"difficulty\":null", "\"difficulty\":\"easy\"");
    folder.write("filled.jsonl", &row.replace("\"description\":null", "\"description\":\"d\""));
    ends("label", &["--filled", &filled, "--out", &folder.path("golden.jsonl")], 0);
    assert_eq!(folder.lines("golden.jsonl").len(), 1);
    // A page next to the sheet is kept as well.
    folder.write("other.html", "keep");
    let out = folder.path("other.jsonl");
    ends("label", &["--sample", &folder.path("in"), "--detector", "loop", "--out", &out], 2);
    assert_eq!(folder.text("other.html"), "keep");
}

#[test]
fn names_that_are_not_utf8_stay_apart() {
    use std::os::unix::ffi::OsStrExt as _;
    let folder = Folder::new("names");
    for name in [b"a\xff.json", b"a\xfe.json"] {
        let path = folder.0.join(std::ffi::OsStr::from_bytes(name));
        fs::write(path, r#"{"version": 1, "steps": [{"name": "x", "status": "ok"}]}"#).unwrap();
    }
    let input = &folder.path("");
    let (text, _) = ends("check", &["--json", "-", "--partial", &folder.path("../names.json"), input], 0);
    let (merged, _) = ends("merge", &["--json", "-", &folder.path("../names.json")], 0);
    fs::remove_file(folder.path("../names.json")).unwrap();
    assert_eq!(text, merged);
    for name in ["a\\\\xff.json", "a\\\\xfe.json"] {
        assert!(text.contains(name), "{text}");
    }
    // Parts are named by their paths.
    let other = Folder::new("parts");
    let parts = [b"a\xff.json", b"a\xfe.json"].map(|name| {
        let part = other.path(&format!("{}.json", name[1]));
        let path = folder.0.join(std::ffi::OsStr::from_bytes(name));
        let ended = command("check").arg(path).args(["--no-report", "--partial", &part]).output().unwrap();
        assert!(ended.status.success());
        part
    });
    assert_eq!(ends("merge", &["--json", "-", &parts[0], &parts[1]], 0).0, text);
}

#[test]
fn two_outputs_are_two_files() {
    let folder = Folder::new("two");
    let (input, out) = (folder.write("x.json", RUN), folder.path("out.jsonl"));
    for (arguments, why) in [
        (&["--out", &out, "--json", &out, &input][..], "two outputs share this path"),
        (&["--out", "-", &input], "--output-format"),
        (&["--out", "csv=-", "--json", "-", &input], "two outputs share standard output"),
    ] {
        let (_, error) = ends("check", arguments, 2);
        assert!(error.contains(why), "{error}");
    }
    ends("check", &["--detectors", "loop, tool_error_recovery", &input], 0);
}

#[test]
fn wrong_usage_leaves_the_output_unchanged() {
    let folder = Folder::new("whole");
    let (input, out) = (folder.write("in/good.json", RUN), folder.path("out.jsonl"));
    ends("check", &["--out", &out, &input], 0);
    let first = folder.lines("out.jsonl");
    assert_eq!(first.len(), 1);
    ends("check", &["--out", &out, "--detectors", "none", &input], 2);
    ends("check", &["--out", &out, "--allow-unread", "nothere"], 3);
    assert_eq!(folder.lines("out.jsonl"), first);
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let golden = "golden/tau2/scripted-quitter_retail.json";
    for (name, status) in [("convert", 0), ("check", 0), ("check --fail-on any", 1), ("replicate", 0)] {
        let mut child =
            command(name).arg(golden).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = [0; 1];
        if name == "convert" {
            child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
        }
        drop(child.stdout.take());
        let ended = child.wait_with_output().unwrap();
        assert_eq!(ended.stderr.is_empty(), status == 0, "{name}");
        assert_eq!(ended.status.code(), Some(status), "{name}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_with_a_name() {
    for (name, full) in [("check", "jsonl=/dev/full"), ("convert", "/dev/full"), ("replicate", "/dev/full")] {
        let (_, error) = ends(name, &["--out", full, "golden/tau2"], 2);
        assert!(error.contains("/dev/full") && error.contains("space"), "{name}: {error}");
    }
}

#[test]
fn results_come_first_and_errors_last() {
    let folder = Folder::new("order");
    folder.write("in/runs.json", RUN);
    let broken = folder.write("in/broken.json", r#"{"simulations": ["#);
    folder.write("in/notes.txt", "no input");
    let episode = r#"{"id": "a", "a": [], "b": []}"#;
    let lines = folder.write("lines.jsonl", &format!("{episode}\n{{\"id\": 7}}\n"));
    let inputs = folder.path("in");
    let quitter = "golden/tau2/scripted-quitter_airline.json";
    folder.write("tasks/runs.json", &std::fs::read_to_string(quitter).unwrap());
    folder.write("tasks/broken.json", r#"{"simulations": ["#);
    folder.write("tasks/notes.txt", "no input");
    let tasks = folder.path("tasks");
    for (name, arguments, notes) in [
        ("check", vec![inputs.as_str()], 1),
        ("convert", vec![&inputs], 1),
        ("replicate", vec!["--resamples", "100", &inputs], 1),
        ("compare", vec!["--resamples", "100", &tasks, quitter], 1),
        ("show", vec![&inputs, "--format", "tau2"], 1),
        ("bench benchtrace", vec!["agree", &lines], 0),
        ("bench recovery", vec!["read", "golden/recovery/results.json", &broken], 0),
    ] {
        // Both outputs go to one pipe, as on a terminal.
        let (mut reader, writer) = std::io::pipe().unwrap();
        let mut child = crate::support::command(name)
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
        // Without a terminal, there are no bars and colours.
        assert!(!text.contains('\u{1b}') && !text.contains('\r'), "{name}: {text}");
    }
}
