//! Tests `wrongturn replicate`.

use serde_json::{Value, json};
use std::fs;

use crate::support::{Folder, GOOD, PARTLY, ends, keys};

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
    let published = folder.path("published.json");
    ends("replicate", &["--as-published", "--json", &published, &partly, &good], 3);
    let published = folder.json("published.json");
    insta::assert_snapshot!(
        "summary_keys",
        format!("{:#?}\nas published {:#?}", keys(&summary), keys(&published))
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
        let arguments = ["--threshold", threshold, "--resamples", "100", "--out", &sims, "--json", &summary];
        ends("replicate", &arguments, 0);
        folder.lines("sims.jsonl").iter().filter(|row| row["detected"] == true).count()
    };
    let (low, high) = (flagged("0.1"), flagged("1.0"));
    assert!(low < high, "{low} {high}");
    assert_eq!(folder.json("summary.json")["config"]["threshold"], 1.0);
    assert_eq!(folder.json("summary.json")["pass_k"], Value::Null);
    let (plain, _) = ends("replicate", &["--resamples", "100"], 0);
    let (with_pass_k, _) = ends("replicate", &["--resamples", "100", "--pass-k", "--json", &summary], 0);
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

/// Skipped if `rsvg-convert` is not installed.
#[test]
fn the_chart_becomes_a_pdf_as_the_guide_says() {
    let folder = Folder::new("pdf");
    let (svg, pdf) = (folder.path("forest.svg"), folder.path("forest.pdf"));
    ends("replicate", &["--resamples", "100", "--chart", &svg], 0);
    let convert = std::process::Command::new("rsvg-convert").args(["-f", "pdf", "-o", &pdf, &svg]).output();
    let Ok(output) = convert else { return };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let written = fs::read(&pdf).unwrap();
    assert!(written.starts_with(b"%PDF-") && written.len() > 5_000, "{} bytes", written.len());
}

/// Returns runs of a shell in which a test fails and later succeeds, or only another command succeeds.
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
        ["--group-by", "agent,domain,task", "--resamples", "100", "--out", &sims, "--json", &summary, &path];
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
        // By tool alone, any success recovers the error, so the rate does not vary.
        assert!(group["r_recovery_reward_errors_only"]["undefined"].is_string());
    }
    let row = &folder.lines("sims.jsonl")[1];
    assert_eq!(
        (&row["agent"], &row["recovered"], &row["recovered_by_program"]),
        (&json!("terminus"), &json!(1), &json!(0))
    );
    assert_eq!((&row["recovery_rate"], &row["recovery_rate_by_program"]), (&json!(1.0), &json!(0.0)));

    // Without the flag, other formats are not read; the rows are the same, and no tables are added.
    ends("replicate", &[&path], 3);
    let plain = |more: &[&str]| {
        let first = ["--resamples", "100", "--out", &sims];
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
        // A row names the run that it copies.
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
