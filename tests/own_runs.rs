//! The way from a recorded run to a gate: `show`, `label` and `calibrate`, run as programs.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests say what they expect by failing"
)]

mod programs;

use std::fs;
use std::path::Path;

use programs::{Folder, ends};
use serde_json::{Value, json};

const RUNS: &str = "golden/tau2/scripted-quitter_airline.json";

fn call(tool: &str, answer: &str, status: &str) -> Value {
    json!({"name": tool, "arguments": {"q": tool}, "observation": answer, "status": status})
}

/// Two looks at the same wall, with numbers of their own.
fn two_looks() -> String {
    let ask = json!({"actor": "user", "text": "Find the door.", "step": 10});
    let look = call("look", "a wall", "ok");
    let steps = [ask, call("map", "a page", "ok"), look.clone(), look];
    json!({"version": 1, "id": "walls", "reward": 0.0, "steps": steps}).to_string()
}

#[test]
fn a_run_is_shown_with_the_numbers_that_where_uses() {
    let folder = Folder::new("show");
    let file = folder.write("run.json", &two_looks());
    let (out, _) = ends("show", &[&file, "--width", "70", "--explain", "loop"], 0);
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines[0].starts_with("walls, reward 0"), "{out}");
    assert!(lines[2].trim_start().starts_with("10    0 user   Find the door."), "{out}");
    assert!(lines[5].trim_start().starts_with("13    3 agent  ok"), "{out}");
    assert!(out.contains("loop: not detected\n"), "{out}");
    assert!(out.contains("would be detected if step 13 were repeated once with the same answer"), "{out}");
    assert!(out.contains("would be detected with min_repeats 3"), "{out}");
    // A finding stands beside its steps.
    let config = folder.write("config.json", r#"{"loop": {"min_repeats": 3}}"#);
    let (out, _) = ends("show", &[&file, "--config", &config], 0);
    assert_eq!(out.lines().filter(|line| line.starts_with("a ")).count(), 3, "{out}");
    assert!(
        out.contains("a loop:13 (certain): `look {\"q\":\"look\"}` brought the same answer 2 times"),
        "{out}"
    );
    let (out, _) = ends("show", &[&file, "--full", "12"], 0);
    assert!(out.contains("\"q\": \"look\"") && out.contains("observation:\n  a wall"), "{out}");
    let (out, _) = ends("show", &[&file, "--json"], 0);
    let native: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&native["version"], &native["steps"][1]["step"]), (&json!(1), &json!(11)));
    // Of many runs one is chosen.
    let (out, _) = ends("show", &[RUNS], 0);
    assert!(out.lines().count() > 10 && out.contains("Choose one with --run."), "{out}");
    let (first, _) = ends("show", &[RUNS, "--run", "#0"], 0);
    assert_eq!(first, ends("show", &[RUNS, "--run", "0"], 0).0);
    for wrong in [&[&file, "--full", "9"][..], &[&file, "--run", "x"], &[&file, "--explain", "x"]] {
        let (_, err) = ends("show", wrong, 2);
        assert!(err.contains("error: "), "{err}");
    }
    let (_, err) = ends("show", &["no/file"], 3);
    assert!(err.contains("no/file"), "{err}");
}

#[test]
fn a_label_becomes_an_entry_or_nothing_is_written() {
    let folder = Folder::new("label");
    let file = folder.write("run.json", &two_looks());
    let out = folder.path("loop.jsonl");
    let sentence = "Two looks at the same wall are no loop yet.";
    let given = |more: &[&str], status| {
        let common =
            [&file, "--run", "walls", "--detector", "loop", "--description", sentence, "--out", &out];
        let arguments: Vec<&str> = common.iter().chain(more).copied().collect();
        ends("label", &arguments, status)
    };
    for (wrong, why) in [
        (&["--yes", "--where", "8-14", "--difficulty", "hard"][..], "outside the trace"),
        (&["--no", "--where", "11-13", "--difficulty", "hard"], "a place of what is no failure"),
        (&["--yes", "--difficulty", "brutal"], "brutal"),
        (&["--yes"], "--difficulty is missing"),
        (&["--difficulty", "hard"], "say --yes or --no"),
    ] {
        let (_, err) = given(wrong, 2);
        assert!(err.contains(why), "{err}");
        assert!(!Path::new(&out).exists());
    }
    given(&["--yes", "--where", "11-13", "--difficulty", "hard", "--tags", "walls,looks"], 0);
    let entries = folder.lines("loop.jsonl");
    assert_eq!(
        (entries.len(), &entries[0]["where"], &entries[0]["source"]),
        (1, &json!([11, 13]), &json!("native"))
    );
    let trace = entries[0]["trace"].to_string();
    assert!(
        !trace.contains("Find the door") && !trace.contains("walls") && !trace.contains("reward"),
        "{trace}"
    );
    // What reaches to a message keeps the messages; a number that is nobody's id is a place.
    let with_message = folder.path("with_message.jsonl");
    let wide = ["--yes", "--where", "10-13", "--difficulty", "hard", "--description", sentence];
    ends(
        "label",
        &[&[&file, "--run", "0", "--detector", "loop", "--out", &with_message], &wide[..]].concat(),
        0,
    );
    let kept = &folder.lines("with_message.jsonl")[0];
    assert!(
        kept["trace"].to_string().contains("Find the door") && kept["where"] == json!([10, 13]),
        "{kept}"
    );
    // The same run twice is no second entry; the file stays as it was.
    let (_, err) = given(&["--no", "--difficulty", "easy", "--id", "other"], 2);
    assert!(err.contains("its trace is that of entry"), "{err}");
    assert_eq!(folder.lines("loop.jsonl"), entries);
    ends("calibrate", &["--golden", &out, "--detectors", "loop"], 0);
}

#[test]
fn a_reference_holds_as_long_as_the_run_does() {
    let folder = Folder::new("reference");
    fs::create_dir(folder.path("runs")).unwrap();
    fs::create_dir(folder.path("sets")).unwrap();
    let file = folder.write("runs/run.json", &two_looks());
    let out = folder.path("sets/loop.jsonl");
    let arguments = [
        &file,
        "--run",
        "walls",
        "--detector",
        "loop",
        "--no",
        "--difficulty",
        "easy",
        "--reference",
        "--description",
        "Three looks are no loop yet.",
        "--out",
        &out,
    ];
    ends("label", &arguments, 0);
    let entry = &folder.lines("sets/loop.jsonl")[0];
    assert_eq!(entry["reference"]["file"], "../runs/run.json");
    assert!(entry.get("trace").is_none());
    let golden = ["--golden", &folder.path("sets"), "--detectors", "loop"];
    let (told, _) = ends("calibrate", &golden, 0);
    assert!(told.contains("loop"), "{told}");
    // A name or a place of the file are nothing to the label; what was done is.
    folder.write("runs/run.json", &two_looks().replace("a wall", "a door"));
    let (_, err) = ends("calibrate", &golden, 2);
    assert!(
        err.contains("loop.jsonl: line 1") && err.contains("the label was given to something else"),
        "{err}"
    );
    fs::remove_file(&file).unwrap();
    assert!(ends("calibrate", &golden, 2).1.contains("run.json"));
}

#[test]
fn a_sheet_is_blind_and_becomes_entries() {
    let folder = Folder::new("sheet");
    let sheet = folder.path("sheet.jsonl");
    let draw = ["--sample", "golden/tau2", "--detector", "loop", "--n", "12", "--seed", "1", "--out", &sheet];
    ends("label", &draw, 0);
    let (text, page) = (folder.text("sheet.jsonl"), folder.text("sheet.html"));
    // A sheet may hold labels by now.
    assert!(ends("label", &draw, 2).1.contains("there is a sheet already"));
    assert_eq!(text, folder.text("sheet.jsonl"));
    fs::remove_file(&sheet).unwrap();
    ends("label", &draw, 0);
    assert_eq!(text, folder.text("sheet.jsonl"), "the same draw");
    let mut rows = folder.lines("sheet.jsonl");
    assert_eq!(rows.len(), 12);
    for told in ["\"reward\"", "\"verdicts\"", "\"detected\"", "scripted-quitter\"", "\"failures\""] {
        assert!(!text.contains(told), "{told}");
    }
    assert!(page.contains("Run 11") && !page.contains("detected") && !page.contains("reward"));
    for (n, row) in rows.iter_mut().enumerate().take(10) {
        row["label"] = json!(n < 4);
        row["difficulty"] = json!("medium");
        row["description"] = json!(format!("What the reader thought of number {n}."));
    }
    let write = |name: &str, rows: &[Value]| {
        folder
            .write(name, &rows.iter().flat_map(|row| [row.to_string(), "\n".to_owned()]).collect::<String>())
    };
    let first = write("first.jsonl", &rows);
    let out = folder.path("mine.jsonl");
    ends("label", &["--filled", &first, "--out", &out], 0);
    assert_eq!(folder.lines("mine.jsonl").len(), 10);
    let (told, _) = ends("calibrate", &["--golden", &out, "--detectors", "loop"], 0);
    assert!(told.contains("10"), "{told}");

    // A second reader who sees one more failure, and two runs fewer: 7/8 alike, 1/2 by chance.
    rows[5]["label"] = json!(true);
    rows[9]["label"] = Value::Null;
    rows[0]["label"] = Value::Null;
    let second = write("second.jsonl", &rows);
    let (told, _) = ends("label", &[&first, "--second", &second], 0);
    assert!(told.contains("loop: 7 of 8 alike, Cohen's kappa 0.7500, 95% ["), "{told}");
    assert!(told.contains("read by one alone: 2 and 0") && told.contains("run 5\n  first false: "), "{told}");
}

#[test]
fn cells_of_a_sheet_hold_what_is_meant_or_are_told() {
    let folder = Folder::new("cells");
    let sheet = folder.path("sheet.jsonl");
    ends("label", &["--sample", "golden/tau2", "--detector", "loop", "--n", "3", "--out", &sheet], 0);
    let drawn = folder.lines("sheet.jsonl");
    let steps = drawn[1]["trace"]["steps"].as_array().unwrap().len();
    let with = |cells: &[(&str, Value)]| {
        let mut rows = drawn.clone();
        for (row, label) in rows.iter_mut().zip([false, true, false]) {
            row["label"] = json!(label);
            row["difficulty"] = json!("easy");
            row["description"] = json!("What the reader thought.");
        }
        for (name, cell) in cells {
            rows[1][*name] = cell.clone();
        }
        folder.write("filled.jsonl", &rows.iter().map(|row| row.to_string() + "\n").collect::<String>())
    };
    let sound = with(&[]);
    let first = folder.write("first.jsonl", &fs::read_to_string(&sound).unwrap());
    let span = "[first, last] or \"first-last\", the first not above the last, or null, found ";
    let wrong: &[(&[(&str, Value)], String)] = &[
        (&[("where", json!("4-1"))], format!("where: expected {span}\"4-1\"")),
        (&[("where", json!([4, 1]))], format!("where: expected {span}[4,1]")),
        (&[("where", json!("1 to 4"))], format!("where: expected {span}\"1 to 4\"")),
        (&[("where", json!("+1-4"))], format!("where: expected {span}\"+1-4\"")),
        (&[("where", json!("1-4-6"))], format!("where: expected {span}\"1-4-6\"")),
        (&[("where", json!(""))], format!("where: expected {span}\"\"")),
        (&[("where", json!(3))], format!("where: expected {span}3")),
        (&[("where", json!([1.5, 2]))], format!("where: expected {span}[1.5,2]")),
        (
            &[("where", json!("0-999"))],
            format!("where: expected steps of the run, which has 0-{}", steps - 1),
        ),
        (
            &[("label", json!(false)), ("where", json!([1, 2]))],
            "expected null where `label` is false".to_owned(),
        ),
        (&[("label", json!("yes"))], "label: expected true, false or null, found \"yes\"".to_owned()),
        (
            &[("difficulty", json!("brutal"))],
            "difficulty: expected easy, medium or hard, found \"brutal\"".to_owned(),
        ),
        (&[("difficulty", Value::Null)], "difficulty is missing".to_owned()),
        (&[("description", json!(" "))], "description: expected a sentence, found \" \"".to_owned()),
        (&[("detector", json!("lop"))], "detector: expected the id of a detector, found \"lop\"".to_owned()),
        (&[("lable", json!(true))], "unknown cell `lable`: expected n, detector, ".to_owned()),
        (&[("n", json!(0))], "run 0: labelled above".to_owned()),
    ];
    let out = folder.path("mine.jsonl");
    for (cells, says) in wrong {
        let filled = with(cells);
        // Both ways to use a sheet hold it to the same.
        for arguments in [&["--filled", &filled, "--out", &out][..], &[&first, "--second", &filled]] {
            let (_, err) = ends("label", arguments, 2);
            let place = format!("error: {filled}: line 2: run ");
            assert!(err.starts_with(&place) && err.contains(says.as_str()), "{cells:?}: {err}");
            assert!(!Path::new(&out).exists());
        }
    }
    // What is meant is taken in either spelling.
    for (cell, found) in
        [(json!("1-2"), json!([1, 2])), (json!([1, 2]), json!([1, 2])), (json!("2"), json!([2, 2]))]
    {
        let filled = with(&[("where", cell)]);
        ends("label", &["--filled", &filled, "--messages", "--out", &out], 0);
        assert_eq!(folder.lines("mine.jsonl")[1]["where"], found);
        fs::remove_file(&out).unwrap();
        ends("label", &[&first, "--second", &filled], 0);
    }
    // A row of another sheet is no second reading of the run.
    let other = with(&[("digest", json!("0".repeat(32)))]);
    let (_, err) = ends("label", &[&first, "--second", &other], 2);
    assert!(err.contains("run 1: the run is not the one that the first reader read"), "{err}");
}

fn entry(id: usize, label: bool, looks: usize) -> String {
    let mut steps: Vec<Value> = (0..looks).map(|_| call("look", "a wall", "ok")).collect();
    steps.push(call(&format!("door {id}"), "open", "ok"));
    let entry = json!({"id": format!("e{id:02}"), "detector": "loop", "difficulty": "easy", "label": label,
        "description": "made <up> & \"quoted\"", "source": "hand-written", "trace": {"version": 1, "domain": "walls", "steps": steps}});
    format!("{entry}\n")
}

#[test]
fn a_gate_judges_what_was_asked_for() {
    let folder = Folder::new("gate");
    let golden = folder.write(
        "loop.jsonl",
        &(0..20).map(|n| entry(n, n % 2 == 0, 1 + 4 * ((n + 1) % 2))).collect::<String>(),
    );
    // What has no entries is untested, and fails only where it is required.
    let (out, _) = ends("calibrate", &["--golden", &golden, "--gate", "beta"], 0);
    assert!(out.contains("loop: passed") && out.contains("wasted_actions: untested"), "{out}");
    let (_, err) = ends("calibrate", &["--golden", &golden, "--gate", "beta", "--require"], 1);
    assert!(err.contains("wasted_actions is untested") && !err.contains("loop"), "{err}");
    let asked = ["--golden", &golden, "--gate", "beta", "--require", "--detectors", "loop"];
    let (out, _) = ends("calibrate", &asked, 0);
    assert!(!out.contains("wasted_actions"), "{out}");
    assert!(out.contains("production: F1 ≥ 0.80, precision ≥ 0.70, n ≥ 30."), "{out}");
    let needs: Vec<&str> = out.lines().filter(|line| line.contains("would do")).collect();
    assert!(needs[0].contains("production") && needs[0].contains("10"), "ten more entries: {needs:?}");

    let (json, xml, markdown) =
        (folder.path("old.json"), folder.path("report.xml"), folder.path("report.md"));
    ends("calibrate", &[&asked[..], &["--json", &json]].concat(), 0);
    // Another configuration breaks every failure that was found.
    let config = folder.write("config.json", r#"{"loop": {"min_repeats": 7, "min_looks": 6}}"#);
    let changed = [
        &asked[..4],
        &[
            "--detectors",
            "loop",
            "--config",
            &config,
            "--baseline",
            &json,
            "--junit",
            &xml,
            "--markdown",
            &markdown,
        ],
    ]
    .concat();
    let (out, err) = ends("calibrate", &changed, 1);
    assert!(err.contains("loop is below beta") && err.contains("loop is worse than the baseline"), "{err}");
    // statsmodels' mcnemar([[10, 10], [0, 0]], exact=True): 0.001953125
    assert!(
        out.contains("0 mended, 10 broken of 20 entries, exact McNemar p = 0.0020: a regression"),
        "{out}"
    );
    assert!(out.contains("nothing; "), "{out}");
    let report = folder.text("report.xml");
    assert!(
        report.contains("<testsuite name=\"loop\" tests=\"22\" failures=\"12\" skipped=\"0\">"),
        "{report}"
    );
    assert!(report.contains("made &lt;up&gt; &amp; &quot;quoted&quot;"), "{report}");
    assert!(folder.text("report.md").contains("| loop | failed: F1 0.0000 of 0.65 |"));

    // Five that break are a chance; that is told, and passes.
    let few: String = (0..20)
        .map(|n| {
            entry(
                n,
                n % 2 == 0,
                if n % 2 == 1 {
                    1
                } else if n < 10 {
                    5
                } else {
                    7
                },
            )
        })
        .collect();
    let golden = folder.write("few.jsonl", &few);
    let fresh = ["--golden", &golden, "--detectors", "loop"];
    ends("calibrate", &[&fresh[..], &["--json", &json]].concat(), 0);
    let (out, _) = ends("calibrate", &[&fresh[..], &["--config", &config, "--baseline", &json]].concat(), 0);
    assert!(
        out.contains("0 mended, 5 broken of 20 entries, exact McNemar p = 0.0625: no regression"),
        "{out}"
    );
    assert!(out.contains("broken: e00, e02, e04, e06, e08"), "{out}");
    let old = folder.json("old.json");
    assert_eq!(old["detectors"][0]["verdicts"].as_array().unwrap().len(), 20);
    for wrong in [
        &["--detectors", "lop"][..],
        &["--config", "no/such/file.json"],
        &["--baseline", &config],
        &["--explain", "nobody"],
        &["--require"],
    ] {
        let (_, err) = ends("calibrate", &[&fresh[..2], wrong].concat(), 2);
        assert_ne!(err, "", "{wrong:?}");
    }
}

#[test]
fn an_entry_is_explained() {
    let (out, _) = ends("calibrate", &["--explain", "loop-022"], 0);
    assert!(out.contains("loop-022 (hard, label true, steps 2–9)"), "{out}");
    assert!(out.contains("loop: detected") && out.contains("would pass"), "{out}");
}

#[test]
fn what_is_written_over_is_not_what_is_read() {
    let folder = Folder::new("over");
    let golden = folder.write("loop.jsonl", &entry(0, true, 4));
    let (_, err) = ends("calibrate", &["--golden", &golden, "--json", &golden], 2);
    assert_eq!(folder.lines("loop.jsonl").len(), 1);
    assert!(err.contains("the output is the input"), "{err}");
}
