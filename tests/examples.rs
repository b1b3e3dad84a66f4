//! Every file in `examples/` is run as a program. `cargo test` has built them by the time this runs.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests say what they expect by failing"
)]

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

/// The examples: name, arguments with which it succeeds, what its output then holds. One line each.
const EXAMPLES: &[(&str, &[&str], &str)] = &[
    ("benchtrace", &["reflect"], "weighted by episodes"),
    ("calibrate", &[], "tool_error_recovery"),
    ("convert", &["golden/tau2/scripted-quitter_airline.json"], "\"version\":1"),
    ("embed", &[], "support-17: closed: loop: detected"),
    ("recovery", &["compare"], "Kendall's tau-b"),
    ("replicate_tau2", &[], "408 runs, 408 with a reward"),
    ("scan", &["golden/tau2"], "tool_error_recovery"),
    ("throughput", &["--rounds", "1", "golden/tau2/scripted-quitter_airline.json"], "\"ratio_1t\""),
];

// ---- Helpers -----------------------------------------------------------------------------------------------------

/// The program that cargo has built of an example, in `target/<profile>/examples`.
fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().and_then(Path::parent).unwrap();
    let program = profile.join("examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    assert!(
        program.is_file(),
        "{} is not built: run `cargo test`, or `cargo build --examples` before",
        program.display()
    );
    program
}

fn command(name: &str) -> Command {
    let mut command = Command::new(program(name));
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    command
}

fn run(name: &str, arguments: &[&str]) -> Output {
    command(name).args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// Runs an example, which must end with this status; gives what it wrote to stdout and stderr.
#[track_caller]
fn ends(name: &str, arguments: &[&str], status: i32) -> (String, String) {
    let output = run(name, arguments);
    let out = String::from_utf8(output.stdout).unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(status), "{name} {arguments:?}\n{out}\n{err}");
    (out, err)
}

/// A directory of its own, gone when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tracelint-examples-{}-{test}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// The path of a file in it, as an argument.
    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, content: &str) -> String {
        fs::write(self.0.join(name), content).unwrap();
        self.path(name)
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.0.join(name)).unwrap()
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&self.bytes(name)).unwrap()
    }

    /// The objects of a file of one object a line.
    fn lines(&self, name: &str) -> Vec<Value> {
        let text = String::from_utf8(self.bytes(name)).unwrap();
        assert!(text.is_empty() || text.ends_with('\n'));
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

const GOOD: &str = r#"{"info": {"agent_info": {"llm": "m"}, "environment_info": {"domain_name": "d"}}, "tasks": [],
    "simulations": [{"id": "r", "task_id": "t", "trial": 1, "reward_info": {"reward": 1.0}, "messages": [
        {"role": "assistant", "tool_calls": [{"id": "1", "name": "look"}]},
        {"role": "tool", "id": "1", "content": "Error: dark", "error": true},
        {"role": "user", "tool_calls": [{"id": "2", "name": "look"}]},
        {"role": "tool", "id": "2", "content": "light", "error": false}]}]}"#;

const EMPTY: &str = r#"{"info": null, "tasks": [], "simulations": []}"#;

/// One run of three is wrong.
const PARTLY: &str = "{\"simulations\": [\n{\"id\": \"a\", \"messages\": []},\n{\"id\": \"b\", \"messages\": 7},\n\
    {\"id\": \"c\", \"messages\": []}]}";

const EPISODES: &str = r#"{"version": 1, "game": "zork1", "episodes": [{"id": "e", "snapshot": {"final_score": 1,
    "max_score": 2, "trajectory": [
        {"step": 0, "obs": "** Hall **", "action": "look"}, {"step": 1, "obs": "** Hall **", "action": "look"},
        {"step": 2, "obs": "You can't go that way.", "action": "go up"}]}}]}"#;

// ---- All of them -------------------------------------------------------------------------------------------------

#[test]
fn every_example_succeeds() {
    for (name, arguments, says) in EXAMPLES {
        let (out, _) = ends(name, arguments, 0);
        assert!(out.contains(says), "{name}: {out}");
    }
}

#[test]
fn no_example_is_left_out() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let found: BTreeSet<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension().is_some_and(|extension| extension == "rs") || path.join("main.rs").is_file()
        })
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        // A feature of its own, and a test of its own: tests/collector.rs.
        .filter(|name| name != "collector")
        .collect();
    let listed: BTreeSet<String> = EXAMPLES.iter().map(|(name, ..)| (*name).to_owned()).collect();
    assert_eq!(listed, found, "the list at the head of this file");
    assert_eq!(listed.len(), EXAMPLES.len());
}

// ---- replicate_tau2 and scan: exit statuses ----------------------------------------------------------------------

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
        // A file of no runs is read.
        (&[&empty], 0),
        (&[&good, &empty], 0),
        (&[&partly], 2),
        (&[&good, &truncated], 2),
        (&[&garbage, &good], 2),
        (&[&empty, &nothing], 2),
        (&[&missing, &good], 2),
        (&[&garbage], 1),
        (&[&nothing], 1),
        (&[&missing], 1),
        (&[&garbage, &nothing, &missing], 1),
    ];
    for (paths, status) in cases {
        let paths: Vec<&str> = paths.iter().map(|path| path.as_str()).collect();
        for name in ["replicate_tau2", "scan"] {
            let (_, err) = ends(name, &paths, status);
            assert_eq!(err.is_empty(), status == 0, "{name} {paths:?}: {err}");
        }
    }
    // What was not read is told with path and place.
    for name in ["replicate_tau2", "scan"] {
        let (_, err) = ends(name, &[&good, &partly, &truncated, &missing], 2);
        assert!(err.contains(&format!("{partly}: run 1: line 3 column 25: ")), "{name}: {err}");
        assert!(err.contains(&format!("{truncated}: run 0: line ")), "{name}: {err}");
        assert!(err.contains(&missing), "{name}: {err}");
        assert!(!err.contains(&good), "{name}: {err}");
    }
}

#[test]
fn wrong_usage_ends_with_1() {
    let folder = Folder::new("usage");
    let good = folder.write("good.json", GOOD);
    let nowhere = folder.path("no/such/folder/out.json");
    for arguments in [
        &["--nonsense"][..],
        &["--actors", "robots", &good],
        &["--threads", "0", &good],
        &["--threads", "two", &good],
        &["--threshold", "0", &good],
        &["--threshold", "1.5", &good],
        &["--threshold", "NaN", &good],
        &["--threshold", "half", &good],
        &["--sims", &nowhere, &good],
        &["--summary", &nowhere, &good],
        &["--sims"],
    ] {
        let (_, err) = ends("replicate_tau2", arguments, 1);
        assert_ne!(err, "", "{arguments:?}");
    }
    let config = |name: &str, text: &str| folder.write(name, text);
    for arguments in [
        &[][..],
        &["--nonsense", &good],
        &["--format", "yaml", &good],
        &["--alignment", "beside", &good],
        &["--actors", "robots", &good],
        &["--preset", "mine", &good],
        &["--threads", "0", &good],
        &["--detectors", "lop", &good],
        &["--out", &nowhere, &good],
        &["--config", &nowhere, &good],
        &["--config", &config("broken", "{"), &good],
        &["--config", &config("list", "[]"), &good],
        &["--config", &config("unknown", r#"{"lop": {}}"#), &good],
        &["--config", &config("range", r#"{"loop": {"min_repeats": 0}}"#), &good],
    ] {
        let (_, err) = ends("scan", arguments, 1);
        assert_ne!(err, "", "{arguments:?}");
    }
    // A wrong field is named.
    let (_, err) = ends("scan", &["--config", &config("field", r#"{"loop": {"repeats": 3}}"#), &good], 1);
    assert!(err.contains("loop") && err.contains("repeats"), "{err}");
}

#[test]
fn help_is_no_error() {
    for (name, options) in [
        ("replicate_tau2", &["--actors", "--threshold", "--threads", "--sims", "--summary", "--pass-k"][..]),
        (
            "scan",
            &[
                "--format",
                "--alignment",
                "--detectors",
                "--actors",
                "--preset",
                "--config",
                "--fingerprints",
                "--threads",
                "--out",
            ],
        ),
    ] {
        let (out, _) = ends(name, &["--help"], 0);
        for option in options {
            assert!(out.contains(option), "{name} says nothing of {option}: {out}");
        }
    }
}

// ---- replicate_tau2 ----------------------------------------------------------------------------------------------

#[test]
fn the_replication_writes_its_rows_and_its_summary() {
    let folder = Folder::new("summary");
    let (sims, summary) = (folder.path("sims.jsonl"), folder.path("summary.json"));
    let good = folder.write("good.json", GOOD);
    let partly = folder.write("partly.json", PARTLY);
    ends("replicate_tau2", &["--sims", &sims, "--summary", &summary, &partly, &good], 2);
    let rows = folder.lines("sims.jsonl");
    assert_eq!(
        rows[0],
        json!({
            "file": good, "id": "r", "model": "m", "domain": "d", "task": "t", "trial": 1, "reward": 1.0,
            "tool_calls": 2, "errors": 1, "recovered": 1, "recovery_rate": 1.0, "detected": false
        })
    );
    let ids: Vec<&Value> = rows.iter().map(|row| &row["id"]).collect();
    assert_eq!(ids, ["r", "a", "c"]);
    assert!(rows.iter().all(|row| keys(row) == keys(&rows[0])));

    let summary = folder.json("summary.json");
    assert_eq!(
        keys(&summary),
        BTreeSet::from(["overall", "by_model", "by_model_domain", "direction", "inputs", "config"])
    );
    assert_eq!(summary["overall"]["sims"], 3);
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(summary["config"], json!({"actors": "all", "threshold": 0.5, "version": version}));
    let inputs = summary["inputs"].as_array().unwrap();
    let read: Vec<_> =
        inputs.iter().map(|input| (&input["file"], &input["runs_read"], &input["runs_skipped"])).collect();
    assert_eq!(read, [(&json!(good), &json!(1), &json!(0)), (&json!(partly), &json!(2), &json!(1))]);
    assert_eq!(inputs[0]["errors"], json!([]));
    let why = inputs[1]["errors"][0].as_str().unwrap();
    assert!(why.contains("run 1: line 3 column 25: "), "{why}");
}

#[test]
fn the_replication_takes_actors_threshold_and_pass_k() {
    let folder = Folder::new("options");
    let (sims, summary) = (folder.path("sims.jsonl"), folder.path("summary.json"));
    let good = folder.write("good.json", GOOD);
    for (actors, calls, errors, recovered, detected) in
        [("all", 2, 1, 1, false), ("agent", 1, 1, 0, true), ("user", 1, 0, 0, false)]
    {
        ends("replicate_tau2", &["--actors", actors, "--sims", &sims, "--summary", &summary, &good], 0);
        let row = &folder.lines("sims.jsonl")[0];
        let found = [&row["tool_calls"], &row["errors"], &row["recovered"], &row["detected"]];
        assert_eq!(found, [&json!(calls), &json!(errors), &json!(recovered), &json!(detected)], "{actors}");
        assert_eq!(folder.json("summary.json")["config"]["actors"], actors);
    }
    let flagged = |threshold: &str| {
        let arguments = ["--threshold", threshold, "--sims", &sims, "--summary", &summary];
        ends("replicate_tau2", &arguments, 0);
        folder.lines("sims.jsonl").iter().filter(|row| row["detected"] == true).count()
    };
    let (low, high) = (flagged("0.1"), flagged("1.0"));
    assert!(low < high, "{low} {high}");
    assert_eq!(folder.json("summary.json")["config"]["threshold"], 1.0);
    assert_eq!(folder.json("summary.json")["pass_k"], Value::Null);

    let (plain, _) = ends("replicate_tau2", &[], 0);
    let (with_pass_k, _) = ends("replicate_tau2", &["--pass-k", "--summary", &summary], 0);
    assert!(!plain.contains("pass^") && with_pass_k.contains("pass^1"), "{with_pass_k}");
    let groups = folder.json("summary.json")["pass_k"].as_array().unwrap().clone();
    assert_eq!(groups.len(), 9);
    assert!(groups.iter().all(|group| group["pass"].as_array().unwrap().len() == 4));
}

#[test]
fn the_replication_reads_the_bundled_files_by_default() {
    let folder = Folder::new("bundled");
    let (first, second) = (folder.path("first.json"), folder.path("second.json"));
    let (out, _) = ends("replicate_tau2", &["--summary", &first], 0);
    let (named, _) = ends("replicate_tau2", &["--summary", &second, "golden/tau2"], 0);
    assert_eq!(out, named);
    let (first, second) = (folder.json("first.json"), folder.json("second.json"));
    for key in ["overall", "by_model", "by_model_domain", "direction", "config"] {
        assert_eq!(first[key], second[key]);
    }
    assert_eq!(first["inputs"].as_array().unwrap().len(), 9);
    assert_eq!(first["overall"]["sims"], 408);
    for title in ["Overall", "By model", "Strongest signals", "Direction", "scripted-quitter/telecom"] {
        assert!(out.contains(title), "no {title}: {out}");
    }
    assert!(out.lines().all(|line| line == line.trim_end()), "no line ends in blanks");
}

// ---- scan --------------------------------------------------------------------------------------------------------

const RECORD: [&str; 7] = ["trace", "position", "file", "model", "domain", "reward", "verdicts"];

#[test]
fn the_scan_writes_a_record_per_run() {
    let folder = Folder::new("records");
    let out = folder.path("out.jsonl");
    let good = folder.write("good.json", GOOD);
    let partly = folder.write("partly.json", PARTLY);
    let (table, _) = ends("scan", &["--out", &out, &partly, &good], 2);
    let records = folder.lines("out.jsonl");
    let places: Vec<_> = records
        .iter()
        .map(|record| (record["file"].as_str().unwrap(), &record["trace"], &record["position"]))
        .collect();
    assert_eq!(
        places,
        [
            (&*good, &json!("r"), &json!(0)),
            (&*partly, &json!("a"), &json!(0)),
            (&*partly, &json!("c"), &json!(2))
        ]
    );
    let detectors: Vec<&str> = tracelint::ALL.iter().map(|info| info.id).collect();
    for record in &records {
        assert_eq!(keys(record), BTreeSet::from(RECORD));
        assert_eq!(keys(&record["verdicts"]), detectors.iter().copied().collect::<BTreeSet<_>>());
    }
    // By default the agent's calls count: the user's success is no recovery of its error.
    assert_eq!(records[0]["verdicts"]["tool_error_recovery"]["detected"], true);
    for told in detectors.iter().copied().chain(["traces", "applicable", "detected", "rate", "tau2"]) {
        assert!(table.contains(told), "{told}: {table}");
    }
}

#[test]
fn the_scan_takes_detectors_actors_presets_and_configurations() {
    let folder = Folder::new("choices");
    let out = folder.path("out.jsonl");
    let good = folder.write("good.json", GOOD);
    let verdicts = |arguments: &[&str], path: &str| {
        ends("scan", &[arguments, &["--out", &out, path]].concat(), 0);
        folder.lines("out.jsonl")[0].clone()
    };
    let record = verdicts(&["--detectors", "loop,tool_error_recovery", "--fingerprints"], &good);
    assert_eq!(keys(&record["verdicts"]), BTreeSet::from(["loop", "tool_error_recovery"]));
    assert_eq!(record["fingerprint"], json!({"tool:look": {"user-tool:look": 1}}));

    let record = verdicts(&["--actors", "all"], &good);
    assert_eq!(record["verdicts"]["tool_error_recovery"]["detected"], false);
    let record = verdicts(&["--actors", "user"], &good);
    assert_eq!(record["verdicts"]["tool_error_recovery"]["score"], 1.0);

    // Twice the same is a loop by the published rule, and by a configuration.
    let episodes = folder.write("episodes.json", EPISODES);
    let looping = |arguments: &[&str]| verdicts(arguments, &episodes)["verdicts"]["loop"]["detected"] == true;
    assert!(!looping(&[]));
    assert!(looping(&["--preset", "bench-trace"]));
    let repeat = r#"{"loop": {"definition": "repeat", "min_repeats": 2}}"#;
    assert!(looping(&["--config", &folder.write("repeat.json", repeat)]));
    let three = r#"{"loop": {"min_repeats": 3}}"#;
    assert!(!looping(&["--preset", "bench-trace", "--config", &folder.write("three.json", three)]));
}

#[test]
fn the_scan_finds_the_format_in_the_content() {
    let folder = Folder::new("formats");
    let native = r#"{"version": 1, "id": "n", "steps": [{"name": "look"}]}"#;
    for (format, text) in [("tau2", GOOD), ("benchtrace", EPISODES), ("native", native)] {
        let path = folder.write("any.json", text);
        for choice in [&[][..], &["--format", format]] {
            let (table, _) = ends("scan", &[choice, &[&*path]].concat(), 0);
            assert!(table.contains(&format!("{path}: {format}, 1 runs")), "{table}");
        }
        let wrong = if format == "native" { "tau2" } else { "native" };
        ends("scan", &["--format", wrong, &path], 1);
    }
}

#[test]
fn the_scan_takes_an_alignment() {
    let folder = Folder::new("alignment");
    // "open" is told off before the second "open" by one alignment, and never by the other.
    let path = folder.write(
        "episodes.json",
        r#"[{"snapshot": {"trajectory": [{"obs": "a door", "action": "open"}, {"obs": "not possible", "action": "wait"},
            {"obs": "time passes", "action": "open"}, {"obs": "a hall", "action": "wait"}]}}]"#,
    );
    for (alignment, detected) in
        [(&["--alignment", "before"][..], true), (&["--alignment", "after"], false), (&[], true)]
    {
        let out = folder.path("out.jsonl");
        let arguments = [alignment, &["--preset", "bench-trace", "--out", &out, &path]].concat();
        ends("scan", &arguments, 0);
        let record = &folder.lines("out.jsonl")[0];
        let findings = record["verdicts"]["feedback_blindness"]["findings"].as_array().unwrap();
        let of_open = findings.iter().any(|finding| finding["where"] == json!([2, 2]));
        assert_eq!(of_open, detected, "{alignment:?}: {findings:?}");
    }
}

#[test]
fn the_scan_reads_standard_input() {
    let folder = Folder::new("stdin");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/tau2/scripted-quitter_retail.json");
    let (piped, named) = (folder.path("piped.jsonl"), folder.path("named.jsonl"));
    ends("scan", &["--fingerprints", "--out", &named, path.to_str().unwrap()], 0);
    let mut child = command("scan")
        .args(["--fingerprints", "--out", &piped, "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&fs::read(&path).unwrap()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let (piped, named) = (folder.lines("piped.jsonl"), folder.lines("named.jsonl"));
    assert_eq!(piped.len(), 44);
    for (mut piped, mut named) in piped.into_iter().zip(named) {
        assert_eq!(piped["file"].take(), json!("-"));
        named["file"].take();
        assert_eq!(piped, named);
    }
}

// ---- calibrate, throughput ---------------------------------------------------------------------------------------

#[test]
fn the_calibration_is_the_same_bytes_every_time() {
    let folder = Folder::new("calibration");
    let json = folder.path("report.json");
    let report = |threads: &str| {
        let told = ends("calibrate", &["--threads", threads, "--json", &json], 0);
        (told, folder.bytes("report.json"))
    };
    let one = report("1");
    assert!(one.1.len() > 1000);
    assert!(report("1") == one, "again");
    assert!(report("2") == one, "two threads");
}

#[test]
fn the_gate_of_the_calibration_is_an_exit_status() {
    let folder = Folder::new("gate");
    let json = folder.path("report.json");
    let mut passed = Vec::new();
    for gate in ["experimental", "beta", "production"] {
        let output = run("calibrate", &["--gate", gate, "--json", &json]);
        let report = folder.json("report.json");
        let detectors = report["detectors"].as_array().unwrap();
        assert_eq!(detectors.len(), tracelint::ALL.len());
        let all = detectors.iter().all(|detector| detector["pass_k"]["pass"] == 1);
        assert_eq!(output.status.code(), Some(if all { 0 } else { 3 }), "{gate}");
        passed.push(all);
    }
    assert!(passed.windows(2).all(|pair| pair[0] >= pair[1]), "a higher gate is harder: {passed:?}");
    // One entry is no calibration: below every gate.
    let entry = r#"{"id": "x", "detector": "loop", "difficulty": "easy", "label": false, "description": "one call",
        "source": "made up", "tags": [], "trace": {"version": 1, "steps": [{"name": "look"}]}}"#;
    fs::create_dir(folder.path("one")).unwrap();
    folder.write("one/loop.jsonl", &format!("{}\n", entry.replace('\n', " ")));
    let (_, err) = ends("calibrate", &["--golden", &folder.path("one"), "--gate", "beta"], 3);
    assert!(err.contains("loop"), "{err}");
}

#[test]
fn wrong_usage_of_the_calibration_ends_with_1() {
    let folder = Folder::new("calibration-usage");
    fs::create_dir(folder.path("empty")).unwrap();
    fs::create_dir(folder.path("broken")).unwrap();
    let broken = folder.write("broken/loop.jsonl", "\n{\"id\": 7}\n");
    for arguments in [
        &["--nonsense"][..],
        &["--gate", "perfect"],
        &["--trials", "0"],
        &["--threads", "0"],
        &["--golden", &folder.path("missing")],
        &["--golden", &folder.path("empty")],
        &["--golden", &folder.path("broken")],
        &["--json", &folder.path("no/such/folder.json")],
    ] {
        let (_, err) = ends("calibrate", arguments, 1);
        assert_ne!(err, "", "{arguments:?}");
    }
    let (_, err) = ends("calibrate", &["--golden", &folder.path("broken")], 1);
    assert!(err.contains(&broken) && err.contains("line 2"), "{err}");
}

#[test]
fn the_throughput_ends_with_one_object() {
    let file = "golden/tau2/scripted-quitter_airline.json";
    let (out, _) = ends("throughput", &["--rounds", "2", "--min-mb", "1", file], 0);
    let figures: Value = serde_json::from_str(out.lines().last().unwrap()).unwrap();
    let expected = ["ratio_1t", "speedup_2t", "floor_speedup_2t", "mb_per_s_1t", "runs_per_s_1t", "peak_mib"];
    assert_eq!(keys(&figures), BTreeSet::from(expected));
    for (key, figure) in figures.as_object().unwrap() {
        let known = figure.as_f64().is_some_and(|figure| figure > 0.0);
        assert!(known || (key == "peak_mib" && figure.is_null()), "{key}: {figure}");
    }
    ends("throughput", &[], 1);
    ends("throughput", &["no/such/file.json"], 1);
}

// ---- Threads -----------------------------------------------------------------------------------------------------

#[test]
fn the_number_of_threads_changes_no_byte() {
    let folder = Folder::new("threads");
    let partly = folder.write("partly.json", PARTLY);
    let outputs = |threads: &str| {
        let [sims, summary, out] = ["sims.jsonl", "summary.json", "out.jsonl"].map(|name| folder.path(name));
        let replicate = [
            "--threads",
            threads,
            "--pass-k",
            "--sims",
            &sims,
            "--summary",
            &summary,
            "golden/tau2",
            &partly,
        ];
        let scan = ["--threads", threads, "--fingerprints", "--out", &out, "golden/tau2", &partly];
        let told = [ends("replicate_tau2", &replicate, 2), ends("scan", &scan, 2)];
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
    ends("scan", &["--out", &whole, "golden/tau2"], 0);
    ends("scan", &["--stream-above", "0", "--out", &streamed, "golden/tau2"], 0);
    assert!(folder.bytes("whole.jsonl") == folder.bytes("streamed.jsonl"));
}
