//! Every file in `examples/` is run as a program. `cargo test` has built them by the time this runs.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests say what they expect by failing"
)]

mod programs;

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use programs::{Folder, command, ends, example, run};
use serde_json::{Value, json};
use wrongturn::default_detectors;

/// The examples that teach the library.
const TAUGHT: [&str; 6] = ["calibrate", "check_folder", "monitor", "own_detector", "replicate_tau2", "spans"];

// ---- Helpers -----------------------------------------------------------------------------------------------------

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
    for name in TAUGHT {
        let output = Command::new(example(name)).output().unwrap();
        assert!(output.status.success(), "{name}");
        let out = String::from_utf8(output.stdout).unwrap();
        insta::assert_snapshot!(
            format!("example_{name}"),
            out.lines().take(12).collect::<Vec<_>>().join("\n")
        );
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
        .collect();
    assert_eq!(found, TAUGHT.map(str::to_owned).into());
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
        // A file without runs is read.
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
        &["--threads", "two", &good],
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
        &["--threads", "0", &good],
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

// ---- replicate_tau2 ----------------------------------------------------------------------------------------------

#[test]
fn the_replication_writes_its_rows_and_its_summary() {
    let folder = Folder::new("summary");
    let (sims, summary) = (folder.path("sims.jsonl"), folder.path("summary.json"));
    let good = folder.write("good.json", GOOD);
    let partly = folder.write("partly.json", PARTLY);
    ends("replicate", &["--out", &sims, "--json", &summary, &partly, &good], 3);
    let rows = folder.lines("sims.jsonl");
    assert_eq!(
        rows[0],
        json!({
            "file": good, "id": "r", "model": "m", "domain": "d", "task": "t", "trial": 1, "reward": 1.0,
            "tool_calls": 2, "errors": 1, "recovered": 1, "recovery_rate": 1.0, "detected": false,
            "recovered_by_program": 1, "recovery_rate_by_program": 1.0, "goals": 0, "reached": 0,
            "goal_recovery": 1.0, "duplicate_of": null
        })
    );
    let ids: Vec<&Value> = rows.iter().map(|row| &row["id"]).collect();
    assert_eq!(ids, ["r", "a", "c"]);
    assert!(rows.iter().all(|row| keys(row) == keys(&rows[0])));

    let summary = folder.json("summary.json");
    assert_eq!(
        keys(&summary),
        BTreeSet::from([
            "overall",
            "by_model",
            "by_model_domain",
            "alone",
            "contrasts",
            "direction",
            "inputs",
            "config",
            "unknown",
            "duplicates",
            "cluster",
            "min_n",
            "resamples",
            "seed",
            "associations",
            "within",
            "pooled",
            "signals",
            "changes"
        ])
    );
    let published = folder.path("published.json");
    ends("replicate", &["--as-published", "--json", &published, &partly, &good], 3);
    assert_eq!(
        keys(&folder.json("published.json")),
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
    assert!(why.contains(":3:25: run 1: "), "{why}");
}

#[test]
fn the_replication_takes_actors_threshold_and_pass_k() {
    let folder = Folder::new("options");
    let (sims, summary) = (folder.path("sims.jsonl"), folder.path("summary.json"));
    let good = folder.write("good.json", GOOD);
    for (actors, calls, errors, recovered, detected) in
        [("all", 2, 1, 1, false), ("agent", 1, 1, 0, true), ("user", 1, 0, 0, false)]
    {
        ends("replicate", &["--actors", actors, "--out", &sims, "--json", &summary, &good], 0);
        let row = &folder.lines("sims.jsonl")[0];
        let found = [&row["tool_calls"], &row["errors"], &row["recovered"], &row["detected"]];
        assert_eq!(found, [&json!(calls), &json!(errors), &json!(recovered), &json!(detected)], "{actors}");
        assert_eq!(folder.json("summary.json")["config"]["actors"], actors);
    }
    let flagged = |threshold: &str| {
        let arguments = ["--threshold", threshold, "--out", &sims, "--json", &summary];
        ends("replicate", &arguments, 0);
        folder.lines("sims.jsonl").iter().filter(|row| row["detected"] == true).count()
    };
    let (low, high) = (flagged("0.1"), flagged("1.0"));
    assert!(low < high, "{low} {high}");
    assert_eq!(folder.json("summary.json")["config"]["threshold"], 1.0);
    assert_eq!(folder.json("summary.json")["pass_k"], Value::Null);

    let (plain, _) = ends("replicate", &[], 0);
    let (with_pass_k, _) = ends("replicate", &["--pass-k", "--json", &summary], 0);
    assert!(!plain.contains("pass^") && with_pass_k.contains("pass^1"), "{with_pass_k}");
    let groups = folder.json("summary.json")["pass_k"].as_array().unwrap().clone();
    assert_eq!(groups.len(), 9);
    assert!(groups.iter().all(|group| group["pass"].as_array().unwrap().len() == 4));
}

#[test]
fn the_replication_reads_the_bundled_files_by_default() {
    let folder = Folder::new("bundled");
    let (first, second) = (folder.path("first.json"), folder.path("second.json"));
    let (out, _) = ends("replicate", &["--json", &first], 0);
    let (named, _) = ends("replicate", &["--json", &second, "golden/tau2"], 0);
    assert_eq!(out, named);
    let (first, second) = (folder.json("first.json"), folder.json("second.json"));
    for key in ["overall", "by_model", "by_model_domain", "direction", "config"] {
        assert_eq!(first[key], second[key]);
    }
    assert_eq!(first["inputs"].as_array().unwrap().len(), 9);
    assert_eq!(first["overall"]["sims"], 408);
    assert_eq!(first["duplicates"].as_array().unwrap().len(), 0);
    let (full, _) = ends("replicate", &["--full"], 0);
    let (published, _) = ends("replicate", &["--as-published"], 0);
    let (pass_k, _) = ends("replicate", &["--as-published", "--pass-k"], 0);
    assert!(pass_k.starts_with(&published), "{pass_k}");
    for (name, text) in [("replicate", &out), ("replicate_full", &full), ("replicate_as_published", &pass_k)]
    {
        assert!(text.lines().all(|line| line == line.trim_end()), "no line ends in blanks");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "no line is wider than a terminal");
        insta::assert_snapshot!(name, text);
    }
}

#[test]
fn the_guide_quotes_what_is_printed_and_the_readme_shows_what_is_drawn() {
    let folder = Folder::new("readme");
    let svg = folder.path("f.svg");
    let (out, _) = ends("replicate", &["--chart", &svg], 0);
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let guide = fs::read_to_string("src/guide/statistics.md").unwrap();
    let quoted: Vec<&str> = guide.lines().filter_map(|line| line.strip_prefix("> ")).collect();
    assert!(words(&out).contains(&words(&quoted.join(" "))), "{quoted:?}");
    assert_eq!(fs::read_to_string(&svg).unwrap(), fs::read_to_string("src/guide/recovery.svg").unwrap());
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
    // Nothing of a page or a table depends on the number of threads.
    ends("replicate", &["--html", &html, "--threads", "1"], 0);
    let one = read(&html);
    ends("replicate", &["--html", &html, "--threads", "3"], 0);
    assert_eq!(read(&html), one);
}

#[test]
fn a_comparison_takes_two_sides() {
    let folder = Folder::new("compare");
    let summary = folder.path("summary.json");
    let quitter = "golden/tau2/scripted-quitter_airline.json";
    let careless = "golden/tau2/scripted-careless_airline.json";
    ends("compare", &["--json", &summary, "--resamples", "100", quitter, careless], 0);
    let found = folder.json("summary.json");
    assert_eq!(
        (&found["tasks"], &found["first"]["counted"], &found["second"]["counted"]),
        (&json!(10), &json!(40), &json!(40))
    );
    assert_eq!(found["first"]["label"], quitter);
    let compared = |arguments: &[&str]| ends("compare", &[&["--resamples", "100"], arguments].concat(), 0).0;
    let mut text = compared(&[quitter, quitter]);
    text += &compared(&[quitter, "golden/tau2/scripted-quitter_retail.json"]);
    let all = "golden/tau2";
    text +=
        &compared(&[all, all, "--first-model", "scripted-quitter", "--second-model", "scripted-persistent"]);
    insta::assert_snapshot!("compare", text);
    for wrong in [&[quitter][..], &["--resamples", "0"], &[quitter, "nowhere.json", "third.json"]] {
        ends("compare", wrong, 2);
    }
    let foreign = folder.write("foreign.json", r#"{"name": "no run", "version": 3}"#);
    let mut errors = ends("compare", &[&foreign, &foreign], 3).1;
    errors += &ends("compare", &["--resamples", "100", quitter, "nowhere.json"], 3).1;
    let (out, error) = ends("compare", &[all, quitter, "--first-model", "gpt-9"], 2);
    assert_eq!(out, "");
    insta::assert_snapshot!("compare_errors", folder.masked(&(errors + &error)));
}

// ---- scan --------------------------------------------------------------------------------------------------------

const RECORD: [&str; 7] = ["trace", "position", "file", "model", "domain", "reward", "verdicts"];

#[test]
fn the_scan_writes_a_record_per_run() {
    let folder = Folder::new("records");
    let out = folder.path("out.jsonl");
    let good = folder.write("good.json", GOOD);
    let partly = folder.write("partly.json", PARTLY);
    let (table, _) = ends("check", &["--verbose", "--out", &out, &partly, &good], 3);
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
    let detectors: Vec<_> = default_detectors().iter().map(|detector| detector.id()).collect();
    for record in &records {
        assert_eq!(keys(record), BTreeSet::from(RECORD));
        assert_eq!(keys(&record["verdicts"]), detectors.iter().map(|id| &**id).collect::<BTreeSet<_>>());
    }
    // One look-up in vain leaves no goal open.
    assert_eq!(records[0]["verdicts"]["tool_error_recovery"]["detected"], false);
    for told in detectors.iter().map(|id| &**id).chain(["judged", "flagged", "rate", "95% CI", "tau2"]) {
        assert!(table.contains(told), "{told}: {table}");
    }
}

/// Runs of a shell in which a test fails and only something else succeeds later, or the test itself.
fn shell_runs() -> String {
    let call = |command: &str, status: &str| json!({"name": "bash", "arguments": {"command": command}, "status": status});
    let run = |number: usize, agent: &str, task: &str, reward: f64, last: &str| {
        json!({"version": 1, "id": number.to_string(), "agent": agent, "task": task, "domain": "d", "model": "m",
            "reward": reward, "steps": [call("cd /x && pytest -q", "error"), call(last, "ok"),
                {"actor": "user", "text": format!("run {number}")}]})
    };
    let mut text = String::new();
    for number in 0..12 {
        let (reward, last) = if number % 3 == 0 { (1.0, "pytest -q tests") } else { (0.0, "ls") };
        let agent = if number < 6 { "terminus" } else { "codex" };
        text += &format!("{}\n", run(number, agent, ["t1", "t2"][number % 2], reward, last));
    }
    text
}

#[test]
fn the_replication_groups_runs_of_any_format() {
    let folder = Folder::new("groups");
    let path = folder.write("runs.jsonl", &shell_runs());
    let (sims, summary) = (folder.path("sims.jsonl"), folder.path("summary.json"));
    let arguments =
        ["--group-by", "agent,domain,task", "--resamples", "50", "--out", &sims, "--json", &summary, &path];
    let (told, _) = ends("replicate", &arguments, 0);
    assert!(told.contains("By agent, domain, task") && told.contains("by program, with errors"), "{told}");
    assert!(told.lines().all(|line| line.chars().count() <= 80), "{told}");
    let grouped = folder.json("summary.json")["grouped"].clone();
    assert_eq!(grouped["by"], json!(["agent", "domain", "task"]));
    let groups = grouped["groups"].as_array().unwrap();
    let names: Vec<_> = groups.iter().map(|group| group["names"].clone()).collect();
    let expected =
        [["codex", "d", "t1"], ["codex", "d", "t2"], ["terminus", "d", "t1"], ["terminus", "d", "t2"]];
    assert_eq!(names, expected.map(|names| json!(names)));
    for group in groups {
        let counts =
            ["sims", "errors", "recovered", "recovered_by_program"].map(|key| group[key].as_u64().unwrap());
        assert_eq!(counts, [3, 3, 3, 1], "{group}");
        assert_eq!(group["r_recovery_by_program_reward_errors_only"]["r"], 1.0);
        // By tool alone, whatever succeeds recovers: nothing varies.
        assert!(group["r_recovery_reward_errors_only"]["undefined"].is_string());
    }
    let row = &folder.lines("sims.jsonl")[1];
    assert_eq!(
        (&row["agent"], &row["recovered"], &row["recovered_by_program"]),
        (&json!("terminus"), &json!(1), &json!(0))
    );
    assert_eq!((&row["recovery_rate"], &row["recovery_rate_by_program"]), (&json!(1.0), &json!(0.0)));

    // Without the flag other formats are not read, and no row or table has more than it had.
    ends("replicate", &[&path], 3);
    let plain = |more: &[&str]| {
        let first = ["--resamples", "50", "--out", &sims];
        let (told, _) = ends("replicate", &[&first, more, &["golden/tau2"]].concat(), 0);
        (told, folder.lines("sims.jsonl"))
    };
    let ((without, bare), (with, rows)) = (plain(&[]), plain(&["--group-by", "model"]));
    assert!(!without.contains("by program") && with.contains("By model\n"), "{with}");
    assert_eq!(bare, rows);
    for row in &rows {
        // The tools of tau2 are not shells.
        assert_eq!(row["recovered"], row["recovered_by_program"]);
    }
    ends("replicate", &["--group-by", "colour", &path], 2);
    ends("replicate", &["--as-published", "--group-by", "task", &path], 2);
}

#[test]
fn runs_recorded_twice_are_kept_dropped_or_listed() {
    let folder = Folder::new("duplicates");
    let (copy, other) = (folder.write("copy.json", GOOD), folder.write("good.json", GOOD));
    let renamed = folder.write("other.json", &GOOD.replace("\"t\"", "\"u\""));
    let (rows, summary) = (folder.path("rows.csv"), folder.path("summary.json"));
    for (how, runs, listed) in [("keep", 3, false), ("drop", 2, false), ("list", 2, true)] {
        let arguments = ["--duplicates", how, "--out", &rows, "--json", &summary, &copy, &other, &renamed];
        let (out, _) = ends("replicate", &arguments, 0);
        assert_eq!(folder.json("summary.json")["overall"]["sims"], runs, "{how}");
        assert_eq!(out.contains("the copies that are left out"), listed, "{out}");
        // Each row names the run of which it is a copy.
        let text = folder.text("rows.csv");
        let copies = text.lines().filter(|line| line.contains(&format!(",{copy}#r,"))).count();
        assert_eq!((text.lines().count(), copies), (4, 1), "{text}");
    }
}

#[test]
fn goal_recovery_stands_next_to_the_published_rate() {
    let folder = Folder::new("goals");
    let (runs, json) = (folder.path("runs.jsonl"), folder.path("one.json"));
    let (out, _) = ends("replicate", &["--out", &runs, "--json", &json, "--resamples", "200"], 0);
    let rows = folder.lines("runs.jsonl");
    assert!(rows.iter().any(|row| row["goal_recovery"] != row["recovery_rate"]));
    for row in &rows {
        let [goals, reached] = ["goals", "reached"].map(|key| row[key].as_f64().unwrap());
        assert_eq!(row["goal_recovery"], if goals > 0.0 { reached / goals } else { 1.0 }, "{row}");
    }
    let summary = folder.json("one.json");
    let contrast = &summary["contrasts"][2];
    assert_eq!((&contrast["measure"], &contrast["runs"]), (&json!("goal_recovery_reward"), &json!(408)));
    let [difference, r, against] =
        [&contrast["difference"], &contrast["r"]["r"], &contrast["r_against"]["r"]]
            .map(|r| r.as_f64().unwrap());
    assert!((difference - (r - against)).abs() < 1e-12 && contrast["clustered"][0]["widened"].is_array());
    assert!(out.contains("goals reached, with errors"), "{out}");
}

#[test]
fn likely_findings_can_be_left_out_everywhere() {
    let golden = "golden/wasted_actions.jsonl";
    for (name, arguments) in [
        ("compare", &["--resamples", "50"][..]),
        ("calibrate", &["--trials", "1", "--detectors", "wasted_actions", "--golden", golden, "--sweep"]),
        ("check", &["golden/tau2"]),
    ] {
        let with = |least| ends(name, &[arguments, &["--min-confidence", least]].concat(), 0).0;
        assert_eq!(with("likely"), ends(name, arguments, 0).0);
        assert_ne!(with("certain"), with("likely"), "{name}");
        ends(name, &[arguments, &["--min-confidence", "sure"]].concat(), 2);
    }
}

#[test]
fn the_scan_names_and_counts_foreign_files() {
    let folder = Folder::new("foreign");
    folder.write("a.json", GOOD);
    folder.write("b.json", r#"{"name": "x", "version": "1.0.0"}"#);
    folder.write("c.json", r#"{"compilerOptions": {}}"#);
    folder.write("d.json", r#"{"simulations": ["#);
    let output = command("check").current_dir(&folder.0).args(["--verbose", "."]).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    insta::assert_snapshot!("foreign_files", text);
}

#[test]
fn at_most_20_errors_are_printed_and_the_rest_are_counted() {
    let folder = Folder::new("many_errors");
    for number in 0..23 {
        folder.write(&format!("{number:02}.json"), "{\"name\": 1}");
    }
    let (_, err) = ends("check", &[&folder.path("")], 3);
    assert_eq!(err.matches("of no known format").count(), 20, "{err}");
    assert_eq!(err.lines().nth(20), Some("error: 3 more errors"), "{err}");
}

#[test]
fn the_page_of_a_scan_lists_what_was_not_read_and_the_worst_model_first() {
    let folder = Folder::new("page");
    // Of 20 models, each with one run more, number 7 alone loops, and so does one of the runs of number 19.
    let look = r#"{"name": "look", "arguments": {}, "status": "ok", "observation": "a wall"}"#;
    let run = |model: usize, looks: usize| {
        format!(r#"{{"version": 1, "model": "m{model:02}", "steps": [{}]}}"#, vec![look; looks].join(", "))
    };
    let mut runs = String::new();
    for model in 0..20 {
        for number in 0..=model {
            let loops = model == 7 || (model == 19 && number == 0);
            runs += &(run(model, if loops { 6 } else { 1 }) + "\n");
        }
    }
    folder.write("runs/runs.jsonl", &runs);
    let cut = folder.write("runs/cut.json", r#"{"simulations": [{"id": "a", "messages": []}, {"id": "b", "#);
    let foreign = folder.write("runs/foreign.json", r#"{"name": "<x>", "version": 3}"#);
    let page = folder.path("page.html");
    let (_, err) = ends("check", &["--detectors", "loop", "--html", &page, &folder.path("runs")], 3);
    assert_eq!(err.lines().count(), 2, "{err}");
    let html = folder.text("page.html");
    assert!(html.contains("2 files could not be read completely"), "{html}");
    let unread = html.split_once(">Files that could not be read whole<").unwrap().1;
    let rows: Vec<&str> = unread.split("<tr>").skip(2).collect();
    assert_eq!(rows.len(), 2, "{unread}");
    let starts = |row: &str, path: &str, runs: u64, reason: &str| {
        assert!(row.contains(path) && row.contains(&format!(">{runs}<")) && row.contains(reason), "{row}");
    };
    starts(rows[0], &cut, 1, ">1:");
    starts(rows[1], &foreign, 0, ">1:1: the input is of no known format: it is an object with the keys");
    assert!(!rows[1].contains("wants"), "{}", rows[1]);
    let figure =
        html.split_once("loop: runs in which it fires").unwrap().1.split_once("</figure>").unwrap().0;
    let place = |model: &str| figure.find(&format!(">{model}<"));
    assert!(place("m07") < place("m19") && place("m19") < place("m18"), "{figure}");
    assert!(place("m07").is_some() && place("m00").is_none(), "{figure}");
    // The run of the file that was cut names no model.
    assert!(figure.contains("The first 15 of 21 models"), "{figure}");
    // A corpus that was read in full has no such section.
    let (_, err) = ends("check", &["--html", &page, &folder.path("runs/runs.jsonl")], 0);
    assert_eq!(err, "");
    assert!(!folder.text("page.html").contains("read whole"));
}

#[test]
fn a_scan_writes_its_tables_as_a_merge_does() {
    let folder = Folder::new("tables_again");
    let path = |name: &str| folder.path(name);
    let (json, markdown, csv) = (path("a.json"), path("a.md"), path("csv"));
    let files = ["--json", &json, "--markdown", &markdown, "--csv", &csv, "golden/tau2"];
    ends("check", &files, 0);
    assert_eq!(folder.json("a.json")["runs"], 408);
    insta::assert_snapshot!("check_tables.md", folder.text("a.md"));
    insta::assert_snapshot!("check_detectors.csv", folder.text("csv/detectors.csv"));
    // JSON takes the place of the tables where it goes to standard output.
    let (out, _) = ends("check", &["--json", "-", "golden/tau2"], 0);
    assert_eq!(serde_json::from_str::<Value>(&out).unwrap(), folder.json("a.json"));
    // The earlier names of flags are still understood.
    let (summary, sims) = (path("b.json"), path("b.jsonl"));
    let quitter = "golden/tau2/scripted-quitter_airline.json";
    ends("replicate", &["--summary", &summary, "--sims", &sims, "--resamples", "50", quitter], 0);
    assert_eq!(
        (folder.json("b.json")["overall"]["sims"].clone(), folder.lines("b.jsonl").len()),
        (json!(40), 40)
    );
}

#[test]
fn a_session_in_several_files_is_read_from_each_and_counted() {
    let folder = Folder::new("sessions");
    let line = |number: usize| {
        let content =
            json!([{"type": "tool_use", "id": number.to_string(), "name": "look", "input": {"at": number}}]);
        json!({"type": "assistant", "sessionId": "s", "uuid": number.to_string(),
            "message": {"id": number.to_string(), "role": "assistant", "content": content}})
        .to_string()
    };
    let lines = |count: usize| (0..count).map(line).collect::<Vec<_>>().join("\n");
    for (name, count) in [("a", 2), ("b", 3), ("c", 3), ("d", 5)] {
        folder.write(&format!("{name}.jsonl"), &lines(count));
    }
    folder.write("e.jsonl", &lines(4).replace("\"s\"", "\"another\""));
    let out = format!("{}.jsonl", folder.path("").trim_end_matches('/'));
    let (told, _) = ends("check", &["--verbose", "--out", &out, &folder.path("")], 0);
    let records = fs::read_to_string(&out).unwrap();
    fs::remove_file(&out).unwrap();
    let ids: Vec<Value> =
        records.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["trace"].clone()).collect();
    assert_eq!(ids, ["s", "s", "s", "s", "another"]);
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    let expected =
        "Ids that several runs have: 1. Beside the first run of each, 1 repeat one of its runs and 2 differ";
    assert!(told.contains(expected), "{told}");
    let (told, _) = ends("check", &["--verbose", &folder.path("a.jsonl"), &folder.path("e.jsonl")], 0);
    assert!(!told.contains("Ids that"), "{told}");
}

#[test]
fn the_scan_lists_detectors_with_all_defaults() {
    let listed = |arguments: &[&str]| -> Value {
        serde_json::from_str(&ends("detectors", &[&["--json"], arguments].concat(), 0).0).unwrap()
    };
    let defaults = listed(&[]);
    let of = |listed: &Value, id: &str| {
        let found = listed.as_array().unwrap().iter().find(|entry| entry["id"] == id).unwrap();
        assert!(
            found["summary"].as_str().unwrap().contains(' ') && found["mode"].as_str().unwrap().contains('/')
        );
        found["config"].clone()
    };
    let opt_in = |entry: &&Value| entry["opt_in"] == true;
    let chosen: Vec<&Value> =
        defaults.as_array().unwrap().iter().filter(opt_in).map(|entry| &entry["id"]).collect();
    let opt_in: Vec<&str> =
        wrongturn::detect::ALL.iter().filter(|info| info.opt_in).map(|info| info.id).collect();
    assert_eq!(chosen, opt_in);
    assert_eq!(defaults.as_array().unwrap().len(), default_detectors().len() + chosen.len());
    for id in ["feedback_blindness", "loop", "wasted_actions"] {
        let polls = of(&defaults, id)["exempt"].clone();
        assert_eq!(
            polls[0],
            json!({"tool": "write_stdin", "argument": "chars", "values": [null, ""]}),
            "{id}"
        );
        assert!(polls.as_array().unwrap().contains(&json!("BashOutput")), "{id}");
    }
    assert_eq!(of(&defaults, "tool_error_recovery")["by_program"], true);
    let preset = listed(&["--preset", "bench-trace", "--actors", "all"]);
    assert_eq!(of(&preset, "loop")["actors"], "all");
    assert_eq!(of(&preset, "loop")["exempt"], json!([]));
}

/// An opt-in detector runs where it is named, on the command line or in the configuration, and else does not.
#[test]
fn opt_in_detectors_run_where_they_are_asked_for() {
    let folder = Folder::new("opt-in");
    let run = json!({"version": 1, "id": "r", "steps": [
        {"name": "get", "arguments": "{\"a\": ", "observation": "cut off", "status": "error"},
        {"name": "get", "arguments": {"a": 1}, "observation": "unknown tool: get", "status": "error"}],
        "route": {"kind": "actions", "milestones": [{"reference_step": 1, "name": "put", "arguments": {"a": 1}}]}});
    let input = folder.write("r.jsonl", &run.to_string());
    let out = folder.path("out.jsonl");
    let verdicts = |arguments: &[&str]| -> Value {
        ends("check", &[&[&*input, "--out", &out], arguments].concat(), 0);
        folder.lines("out.jsonl")[0]["verdicts"].clone()
    };
    let defaults: BTreeSet<_> = default_detectors().iter().map(|detector| detector.id()).collect();
    assert_eq!(keys(&verdicts(&[])), defaults.iter().map(|id| &**id).collect());
    let asked = verdicts(&["--detectors", "malformed_call,expected_action"]);
    assert_eq!(keys(&asked), BTreeSet::from(["expected_action", "malformed_call"]));
    let reasons: Vec<&Value> = asked["malformed_call"]["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| &f["evidence"]["reason"])
        .collect();
    assert_eq!(reasons, ["arguments_not_json", "rejected_before_running"]);
    assert_eq!(
        asked["expected_action"]["findings"][0]["evidence"],
        json!({"kind": "never_called", "expected": 0, "name": "put"})
    );
    let config = folder.write("config.json", r#"{"malformed_call": {"rejections": ["no such"]}}"#);
    let configured = verdicts(&["--config", &config]);
    assert_eq!(configured.as_object().unwrap().len(), defaults.len() + 1);
    assert_eq!(configured["malformed_call"]["findings"].as_array().unwrap().len(), 1);
    // Named detectors are all there are, whatever is configured.
    assert_eq!(keys(&verdicts(&["--config", &config, "--detectors", "loop"])), BTreeSet::from(["loop"]));
}

/// A run of five equal calls, each with a response of 2 s, 100 tokens in and 10 out, and one without findings.
fn costly(model: &str) -> String {
    let call = |turn: u64, name: &str| {
        json!({"name": name, "arguments": {}, "observation": "<b>dark</b>", "status": "ok", "turn": turn,
            "usage": {"duration_ns": 2_000_000_000_u64, "input_tokens": 100, "output_tokens": 10}})
    };
    let looping: Vec<Value> = (0..5).map(|turn| call(turn, "look")).collect();
    let varied: Vec<Value> =
        (0..).zip(["a", "b", "c", "d", "e"]).map(|(turn, name)| call(turn, name)).collect();
    let run = |id: &str, steps: Vec<Value>| json!({"version": 1, "id": id, "model": model, "steps": steps});
    format!("{}\n{}\n", run("calm", varied), run("looping", looping))
}

#[test]
fn the_scan_says_what_failures_cost() {
    let folder = Folder::new("costs");
    let (path, page) = (folder.write("runs.jsonl", &costly("m")), folder.path("report.html"));
    let (told, _) =
        ends("check", &["--verbose", "--detectors", "loop,tool_error_recovery", "--html", &page, &path], 0);
    let row = |detector: &str| -> Vec<String> {
        let costs = told.split_once("Cost: what lies inside of findings").unwrap().1;
        let line = costs.lines().find(|line| line.trim_start().starts_with(detector)).unwrap();
        line.split_whitespace().skip(1).map(str::to_owned).collect()
    };
    assert_eq!(row("loop"), ["5", "50.0%", "10", "50.0%", "550", "50.0%"]);
    assert_eq!(row("tool_error_recovery"), ["0", "0.0%", "0", "0.0%", "0", "0.0%"]);
    let html = String::from_utf8(folder.bytes("report.html")).unwrap();
    assert!(html.contains("1 of 2 runs are flagged"), "{html}");
    assert!(html.contains("Cost of failures: tokens") && html.contains("50.0%, 550 of 1100"));
    // The steps of the run are there, read once more, as text.
    assert_eq!(html.matches("step 4: agent, look, succeeded").count(), 2, "{html}");
    assert!(html.contains("look({})\n→ ok: &lt;b&gt;dark&lt;/b&gt;") && !html.contains("<b>"));
    assert!(!html.contains("calm"));
    // Without times and tokens the table is missing.
    let (plain, _) = ends("check", &["--verbose", "golden/tau2/scripted-quitter_airline.json"], 0);
    assert!(!plain.contains("lies inside of findings"), "{plain}");
}

#[test]
fn the_steps_drawn_are_those_of_the_flagged_runs() {
    let folder = Folder::new("drawn");
    // Runs that cannot be read have positions as well; files of one name lie in several folders.
    let run = |id: &str, call: &str| {
        let message = |step: usize| {
            json!([{"role": "assistant", "tool_calls": [{"id": step.to_string(), "name": call}]},
                {"role": "tool", "id": step.to_string(), "content": format!("answer to {call}")}])
        };
        let messages: Vec<Value> =
            (0..5).flat_map(|step| message(step).as_array().unwrap().clone()).collect();
        json!({"id": id, "messages": messages})
    };
    for (name, call) in [("a", "first"), ("b", "second")] {
        fs::create_dir(folder.path(name)).unwrap();
        let runs = json!({"simulations": [7, run("x", call), {"id": "lost", "messages": 3}, run("y", call)]});
        folder.write(&format!("{name}/runs.json"), &runs.to_string());
    }
    let page = format!("{}.html", folder.path("").trim_end_matches('/'));
    let whole = folder.path("");
    ends("check", &["--detectors", "loop", "--html", &page, &whole], 3);
    let html = fs::read_to_string(&page).unwrap();
    fs::remove_file(&page).unwrap();
    let articles: Vec<&str> = html.split("<article").skip(1).collect();
    assert_eq!(articles.len(), 4);
    for (article, (run, folder, call)) in articles.iter().zip([
        ("x", "a", "first"),
        ("y", "a", "first"),
        ("x", "b", "second"),
        ("y", "b", "second"),
    ]) {
        assert!(article.contains(&format!("{run}, in")) && article.contains(&format!("/{folder}/runs.json")));
        assert_eq!(article.matches(&format!("→ ok: answer to {call}")).count(), 5, "{article}");
    }
}

#[test]
fn a_calibration_can_be_a_page() {
    let folder = Folder::new("calibration");
    ends("calibrate", &["--html", &folder.path("c.html")], 0);
    let html = String::from_utf8(folder.bytes("c.html")).unwrap();
    assert!(html.contains("F1 against always firing") && html.contains("wasted_actions over "), "{html}");
}

#[test]
fn the_scan_takes_detectors_actors_presets_and_configurations() {
    let folder = Folder::new("choices");
    let out = folder.path("out.jsonl");
    let good = folder.write("good.json", GOOD);
    let verdicts = |arguments: &[&str], path: &str| {
        ends("check", &[arguments, &["--out", &out, path]].concat(), 0);
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
            let (table, _) = ends("check", &[&["--verbose"], choice, &[&*path]].concat(), 0);
            assert!(table.contains(&format!("/any.json: {format}, 1 run\n")), "{table}");
        }
        let wrong = if format == "native" { "tau2" } else { "native" };
        ends("check", &["--format", wrong, &path], 3);
    }
}

#[test]
fn the_scan_takes_an_alignment() {
    let folder = Folder::new("alignment");
    // The alignments differ: one rejects "open" before the second "open", the other never.
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
        ends("check", &arguments, 0);
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
    ends("check", &["--fingerprints", "--out", &named, path.to_str().unwrap()], 0);
    let mut child = command("check")
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

// ---- calibrate ---------------------------------------------------------------------------------------------------

#[test]
fn the_calibration_is_the_same_bytes_every_time() {
    let folder = Folder::new("calibration_again");
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
        assert_eq!(detectors.len(), default_detectors().len());
        let all = detectors.iter().all(|detector| detector["pass_k"]["pass"] == 1);
        assert_eq!(output.status.code(), Some(i32::from(!all)), "{gate}");
        passed.push(all);
    }
    assert!(passed.windows(2).all(|pair| pair[0] >= pair[1]), "a higher gate is harder: {passed:?}");
    // One entry is below every gate.
    let entry = r#"{"id": "x", "detector": "loop", "difficulty": "easy", "label": false, "description": "one call",
        "source": "made up", "tags": [], "trace": {"version": 1, "steps": [{"name": "look"}]}}"#;
    fs::create_dir(folder.path("one")).unwrap();
    folder.write("one/loop.jsonl", &format!("{}\n", entry.replace('\n', " ")));
    let (_, err) = ends("calibrate", &["--golden", &folder.path("one"), "--gate", "beta"], 1);
    assert!(err.contains("loop"), "{err}");
}

#[test]
fn wrong_usage_of_the_calibration_ends_with_2_and_unread_entries_with_3() {
    let folder = Folder::new("calibration-usage");
    fs::create_dir(folder.path("empty")).unwrap();
    fs::create_dir(folder.path("broken")).unwrap();
    let broken = folder.write("broken/loop.jsonl", "\n{\"id\": 7}\n");
    for (arguments, status) in [
        (["--nonsense", ""], 2),
        (["--gate", "perfect"], 2),
        (["--trials", "0"], 2),
        (["--threads", "0"], 2),
        (["--golden", &folder.path("missing")], 3),
        (["--golden", &folder.path("empty")], 3),
        (["--golden", &folder.path("broken")], 3),
        (["--json", &folder.path("no/such/folder.json")], 2),
    ] {
        let (_, err) = ends("calibrate", &arguments, status);
        assert_ne!(err, "", "{arguments:?}");
    }
    let (_, err) = ends("calibrate", &["--golden", &folder.path("broken")], 3);
    assert!(err.contains(&format!("{broken}:2:")), "{err}");
}

// ---- Threads -----------------------------------------------------------------------------------------------------

#[test]
fn the_number_of_threads_changes_no_byte() {
    let folder = Folder::new("threads");
    let partly = folder.write("partly.json", PARTLY);
    let outputs = |threads: &str| {
        let [sims, summary, out] = ["sims.jsonl", "summary.json", "out.jsonl"].map(|name| folder.path(name));
        let replicate =
            ["--threads", threads, "--pass-k", "--out", &sims, "--json", &summary, "golden/tau2", &partly];
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

#[test]
fn spans_and_logs_of_several_files_are_one_source() {
    let folder = Folder::new("join");
    let trace = "0af7651916cd43dd8448eb211c80319c";
    let span = |id: u64, kind: &str, more: &[(&str, &str)]| {
        let text = |(key, value): &(&str, &str)| json!({"key": key, "value": {"stringValue": value}});
        let attributes: Vec<Value> = [("gen_ai.operation.name", kind)].iter().chain(more).map(text).collect();
        json!({"traceId": trace, "spanId": format!("{id:016x}"), "name": "x", "attributes": attributes,
            "startTimeUnixNano": (100 * id).to_string(), "endTimeUnixNano": (100 * id + 50).to_string()})
    };
    let (mut spans, mut records) = (Vec::new(), Vec::new());
    for call in 0..5_u64 {
        let id = format!("c{call}");
        spans.push(span(2 * call + 1, "chat", &[]));
        spans.push(span(
            2 * call + 2,
            "execute_tool",
            &[
                ("gen_ai.tool.name", "look"),
                ("gen_ai.tool.call.id", &id),
                ("gen_ai.tool.call.result", "a wall"),
            ],
        ));
        let body =
            json!({"message": {"tool_calls": [{"id": id, "function": {"name": "look", "arguments": "{}"}}]}});
        records.push(json!({"traceId": trace, "spanId": format!("{:016x}", 2 * call + 1),
            "eventName": "gen_ai.choice", "body": {"stringValue": body.to_string()}}));
    }
    let resource = |spans: &[Value]| json!({"scopeSpans": [{"spans": spans}]});
    let logs = json!([{"scopeLogs": [{"logRecords": records}]}]);
    let whole = json!({"resourceSpans": [resource(&spans)], "resourceLogs": logs}).to_string();
    let whole = folder.write("spans-1.json", &whole);
    let judged = |inputs: &[&str], more: &[&str]| {
        let [rows, html, events] =
            ["rows.jsonl", "page.html", "events.otlp.jsonl"].map(|name| folder.path(name));
        let outputs = ["--out", &rows, "--html", &html, "--output", &events];
        let (told, _) = ends("check", &[&outputs, more, inputs].concat(), 0);
        let bytes = ["rows.jsonl", "page.html", "events.otlp.jsonl"].map(|name| folder.bytes(name));
        // Without the line of each input.
        let table = told.split_once("\n\n").map_or(told.clone(), |(_, table)| table.to_owned());
        (table, bytes)
    };
    let alone = judged(&[&whole], &[]);
    assert!(String::from_utf8_lossy(&alone.1[1]).contains("look({})"));
    assert_eq!(judged(&[&whole], &["--join"]), alone);
    // The first part has the same name, so only its content can differ.
    let first = folder.write("spans-1.json", &json!({"resourceSpans": [resource(&spans[..3])]}).to_string());
    let second = folder.write("spans-2.json", &json!({"resourceSpans": [resource(&spans[3..])]}).to_string());
    let logs = folder.write("spans-3.logs.json", &json!({"resourceLogs": logs}).to_string());
    for order in [[&first, &second, &logs], [&logs, &second, &first]] {
        let order = order.map(String::as_str);
        assert_eq!(judged(&order, &["--join"]), alone);
        let traces = folder.path("traces.jsonl");
        ends("convert", &[&["--join", "--out", &traces], &order[..]].concat(), 0);
        let traces = folder.lines("traces.jsonl");
        assert_eq!((traces.len(), traces[0]["steps"].as_array().unwrap().len()), (1, 5));
    }
}

/// The hook of an agent, as a program: a state file for each session, one warning, a watched session that ends at once.
#[test]
fn guard_answers_hooks_and_watches_sessions() {
    let folder = Folder::new("guard");
    let line = |number: usize, kind: &str, content: Value| {
        json!({"type": kind, "uuid": format!("u{number}"), "sessionId": "s", "message": {"role": kind, "content": content}})
            .to_string()
    };
    let mut session = line(0, "user", json!("make the tests pass")) + "\n";
    let mut said = Vec::new();
    for number in 0..5 {
        let id = format!("toolu_{number}");
        let call = json!([{"type": "tool_use", "id": id, "name": "Bash", "input": {"command": "pytest"}}]);
        let result =
            json!([{"type": "tool_result", "tool_use_id": id, "content": "1 failed", "is_error": true}]);
        session += &format!("{}\n", line(2 * number + 1, "assistant", call));
        session += &format!("{}\n", line(2 * number + 2, "user", result));
        let transcript = folder.write("session.jsonl", &session);
        let hook = json!({"hook_event_name": "PostToolUseFailure", "session_id": "s/1", "transcript_path": transcript,
            "tool_name": "Bash", "tool_input": {"command": "pytest"}, "tool_use_id": id, "error": "1 failed"});
        let mut child = command("guard")
            .args(["--state", &folder.path("states")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), hook.to_string().as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        let answer = String::from_utf8(output.stdout).unwrap();
        said.push(answer.contains("additionalContext") && answer.contains("[loop:"));
    }
    assert_eq!(said, [false, false, true, false, false]);
    assert!(fs::metadata(Path::new(&folder.path("states")).join("s_1.json")).is_ok());
    let (found, _) = ends("watch", &[&folder.path("session.jsonl"), "--fail-fast"], 1);
    assert_eq!(found.lines().filter(|line| !line.starts_with(' ')).count(), 1, "{found}");
    // A later watch continues, and reports nothing twice.
    let watch = [&folder.path("session.jsonl"), "--idle", "1", "--state", &folder.path("state.json")];
    let (found, _) = ends("watch", &watch, 0);
    assert!(found.contains("loop:"), "{found}");
    assert_eq!(ends("watch", &watch, 0).0, "");
}
