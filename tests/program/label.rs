//! Tests `wrongturn label`.

use serde_json::{Value, json};
use std::fs;
use std::path::Path;

use crate::support::{Folder, ends, entry, two_looks};

/// Labels a run of two looks.
#[track_caller]
fn label(file: &str, out: &str, more: &[&str], status: i32) -> (String, String) {
    let sentence = "Two looks at the same wall are no loop yet.";
    let common = [file, "--run", "walls", "--detector", "loop", "--description", sentence, "--out", out];
    ends("label", &[&common, more].concat(), status)
}

#[test]
fn label_writes_an_entry_or_nothing() {
    let folder = Folder::new("label");
    let file = folder.write("run.json", &two_looks());
    let out = folder.path("loop.jsonl");
    let given = |more: &[&str], status| label(&file, &out, more, status);
    let mut errors = String::new();
    for wrong in [
        &["--yes", "--where", "8-14", "--difficulty", "hard"][..],
        &["--no", "--where", "11-13", "--difficulty", "hard"],
        &["--yes", "--difficulty", "brutal"],
        &["--yes"],
        &["--difficulty", "hard"],
    ] {
        errors += &given(wrong, 2).1;
        assert!(!Path::new(&out).exists());
    }
    insta::assert_snapshot!("label_errors", folder.masked(&errors));
    given(&["--yes", "--where", "11-13", "--difficulty", "hard", "--tags", "walls,looks"], 0);
    let entries = folder.lines("loop.jsonl");
    assert_eq!(
        (entries.len(), &entries[0]["where"], &entries[0]["source"]),
        (1, &json!([11, 13]), &json!("native"))
    );
    // Ids and rewards are removed. Messages stay, because detectors read them.
    let keys = |entry: &Value| entry["trace"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(
        (keys(&entries[0]), &entries[0]["trace"]["steps"][0]["text"]),
        (vec!["steps".to_owned(), "version".to_owned()], &json!("Find the door."))
    );
    let (_, err) = given(&["--no", "--difficulty", "easy", "--id", "other"], 2);
    assert!(err.contains("its trace is that of entry"), "{err}");
    assert_eq!(folder.lines("loop.jsonl"), entries);
    ends("calibrate", &["--golden", &out, "--detectors", "loop"], 0);
}

#[test]
fn a_reference_is_refused_once_its_run_changes() {
    let folder = Folder::new("reference");
    fs::create_dir(folder.path("sets")).unwrap();
    let file = folder.write("runs/run.json", &two_looks());
    label(&file, &folder.path("sets/loop.jsonl"), &["--no", "--difficulty", "easy", "--reference"], 0);
    let entry = &folder.lines("sets/loop.jsonl")[0];
    assert_eq!(entry["reference"]["file"], "../runs/run.json");
    assert!(entry.get("trace").is_none());
    let golden = ["--golden", &folder.path("sets"), "--detectors", "loop"];
    ends("calibrate", &golden, 0);
    folder.write("runs/run.json", &two_looks().replace("a wall", "a door"));
    let (_, changed) = ends("calibrate", &golden, 3);
    fs::remove_file(&file).unwrap();
    let (_, missing) = ends("calibrate", &golden, 3);
    insta::assert_snapshot!("reference_errors", folder.masked(&format!("{changed}{missing}")));
}

#[test]
fn a_sheet_is_blind_and_becomes_entries() {
    let folder = Folder::new("sheet");
    let sheet = folder.path("sheet.jsonl");
    let draw = ["--sample", "golden/tau2", "--detector", "loop", "--n", "12", "--seed", "1", "--out", &sheet];
    ends("label", &draw, 0);
    let (text, page) = (folder.text("sheet.jsonl"), folder.text("sheet.html"));
    ends("label", &draw, 2);
    assert_eq!(text, folder.text("sheet.jsonl"), "an existing sheet may hold labels");
    for file in [&sheet, &folder.path("sheet.html")] {
        fs::remove_file(file).unwrap();
    }
    ends("label", &draw, 0);
    assert_eq!(text, folder.text("sheet.jsonl"), "the same draw");
    let mut rows = folder.lines("sheet.jsonl");
    assert_eq!(rows.len(), 12);
    for hidden in ["\"reward\"", "\"verdicts\"", "\"detected\"", "scripted-quitter\"", "\"failures\""] {
        assert!(!text.contains(hidden), "{hidden}");
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
    ends("calibrate", &["--golden", &out, "--detectors", "loop"], 0);

    // The second reader labels two runs fewer and one more failure: 7 of 8 agree, 1/2 by chance.
    rows[5]["label"] = json!(true);
    rows[9]["label"] = Value::Null;
    rows[0]["label"] = Value::Null;
    let second = write("second.jsonl", &rows);
    let (agreement, _) = ends("label", &[&first, "--second", &second], 0);
    insta::assert_snapshot!("label_agreement", folder.masked(&agreement));
}

#[test]
fn wrong_cells_of_a_sheet_are_errors_with_their_place() {
    let folder = Folder::new("cells");
    let sheet = folder.path("sheet.jsonl");
    ends("label", &["--sample", "golden/tau2", "--detector", "loop", "--n", "3", "--out", &sheet], 0);
    let drawn = folder.lines("sheet.jsonl");
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
    let wrong: &[&[(&str, Value)]] = &[
        &[("where", json!("4-1"))],
        &[("where", json!([4, 1]))],
        &[("where", json!("1 to 4"))],
        &[("where", json!("+1-4"))],
        &[("where", json!("1-4-6"))],
        &[("where", json!(""))],
        &[("where", json!(3))],
        &[("where", json!([1.5, 2]))],
        &[("where", json!("0-999"))],
        &[("label", json!(false)), ("where", json!([1, 2]))],
        &[("label", json!("yes"))],
        &[("difficulty", json!("brutal"))],
        &[("difficulty", Value::Null)],
        &[("description", json!(" "))],
        &[("detector", json!("lop"))],
        &[("lable", json!(true))],
        &[("n", json!(0))],
    ];
    let out = folder.path("mine.jsonl");
    let mut errors = String::new();
    for cells in wrong {
        let filled = with(cells);
        let (_, alone) = ends("label", &["--filled", &filled, "--out", &out], 2);
        assert_eq!(ends("label", &[&first, "--second", &filled], 2).1, alone);
        assert!(!Path::new(&out).exists());
        errors += &alone;
    }
    insta::assert_snapshot!("sheet_errors", folder.masked(&errors));
    for (cell, found) in
        [(json!("1-2"), json!([1, 2])), (json!([1, 2]), json!([1, 2])), (json!("2"), json!([2, 2]))]
    {
        let filled = with(&[("where", cell)]);
        ends("label", &["--filled", &filled, "--out", &out], 0);
        assert_eq!(folder.lines("mine.jsonl")[1]["where"], found);
        fs::remove_file(&out).unwrap();
        ends("label", &[&first, "--second", &filled], 0);
    }
    let other = with(&[("digest", json!("0".repeat(32)))]);
    let (_, err) = ends("label", &[&first, "--second", &other], 2);
    assert!(err.contains("run 1: the run is not the one that the first reader read"), "{err}");
}

#[test]
fn an_output_that_is_the_input_is_refused() {
    let folder = Folder::new("over");
    let golden = folder.write("loop.jsonl", &entry(0, true, 4));
    let (_, err) = ends("calibrate", &["--golden", &golden, "--json", &golden], 2);
    assert_eq!(folder.lines("loop.jsonl").len(), 1);
    assert!(err.contains("the output is the input"), "{err}");
}
