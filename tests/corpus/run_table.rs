//! Tests tables of metadata.

use std::sync::Arc;

use wrongturn::{
    Scanner,
    scan::{RunTable, ScanOptions, TraceRecord},
};

/// Scans native runs with a table. Returns the records, and the numbers of rows and runs without a match.
fn completed(table: RunTable, path: &str, runs: &str) -> (Vec<TraceRecord>, u64, u64) {
    let table = Arc::new(table);
    let options = ScanOptions { run_table: Some(Arc::clone(&table)), ..ScanOptions::default() };
    let file = Scanner::new(Vec::new(), options).unwrap().scan_slice(path.as_ref(), runs.as_bytes());
    assert!(file.errors.is_empty(), "{:?}", file.errors);
    (file.traces, table.unmatched_rows(), table.unmatched_runs())
}

fn run(metadata: &str) -> String {
    let comma = if metadata.is_empty() { "" } else { ", " };
    format!("{{\"version\": 1, {metadata}{comma}\"reward\": 0.5, \"steps\": []}}\n")
}

#[test]
fn rows_match_files_ids_or_tasks() {
    let csv = "run,file,task,trial,model,domain,reward,seed,note\r\n\
        ,x/a.jsonl,,,m-file,,,,\"one, \"\"two\"\"\"\r\n\
        ,y/a.jsonl,,,m-other,,,,\r\n\
        r1,,t-new,,m-run,shop,1,7,\r\n\
        ,,t1,2,m-task,bank,0,,\n\
        ,,t1,3,m-trial,,,,\n";
    let runs = [run(r#""id": "r1""#), run(r#""task": "t1", "trial": 2, "model": "own""#), run("")].concat();
    let (records, rows, runs) = completed(RunTable::from_csv(csv).unwrap(), "runs/x/a.jsonl", &runs);
    let model = |place: usize| records[place].metadata.model.as_deref();
    assert_eq!([model(0), model(1), model(2)], [Some("m-file"), Some("own"), Some("m-file")]);
    let metadata = &records[0].metadata;
    assert_eq!((metadata.task.as_deref(), metadata.domain.as_deref()), (Some("t-new"), Some("shop")));
    assert_eq!((metadata.labels["seed"].as_str(), metadata.labels["note"].as_str()), ("7", "one, \"two\""));
    // The table does not replace a recorded reward.
    assert_eq!(records[0].reward, Some(0.5));
    assert_eq!(records[1].metadata.domain.as_deref(), Some("bank"));
    assert_eq!((rows, runs), (2, 0));
}

#[test]
fn rows_may_override_and_models_have_aliases() {
    let lines = r#"{"run": "r1", "model": "gpt-x-2025", "reward": true, "trial": 4, "extra": {"a": 1}}

        {"run": "r9", "reward": null}"#;
    let table = RunTable::from_jsonl(lines).unwrap().overriding(true).with_alias("gpt-x-2025", "gpt-x");
    let runs = [run(r#""id": "r1", "model": "own""#), run(r#""id": "r2", "model": "gpt-x-2025""#)].concat();
    let (records, rows, runs) = completed(table, "a.jsonl", &runs);
    let known: Vec<_> = records.iter().map(|one| (one.metadata.model.as_deref(), one.reward)).collect();
    assert_eq!(known, [(Some("gpt-x"), Some(1.0)), (Some("gpt-x"), Some(0.5))]);
    assert_eq!(
        (records[0].metadata.trial, records[0].metadata.labels["extra"].as_str()),
        (Some(4), r#"{"a":1}"#)
    );
    assert_eq!((rows, runs), (1, 1));
}

#[test]
fn the_first_of_several_rows_sets_labels_too() {
    let lines =
        "{\"run\": \"r1\", \"team\": \"red\"}\n{\"run\": \"r1\", \"team\": \"blue\", \"model\": \"m\"}";
    let run = run(r#""id": "r1", "labels": {"team": "own"}"#);
    for (overrides, team) in [(true, "red"), (false, "own")] {
        let table = RunTable::from_jsonl(lines).unwrap().overriding(overrides);
        let (records, ..) = completed(table, "a.jsonl", &run);
        let known = &records[0].metadata;
        assert_eq!((known.labels["team"].as_str(), known.model.as_deref()), (team, Some("m")));
    }
}

#[test]
fn a_wrong_table_is_an_error_with_its_line() {
    for (csv, expected) in [
        ("run,reward\nr1,good\n", "line 2: expected a number for `reward`, got `good`"),
        ("run,reward\nr1,nan\n", "line 2: expected a number for `reward`, got `nan`"),
        ("run,trial\nr1,1\nr2,-1\n", "line 3: expected a whole number for `trial`, got `-1`"),
        ("run,model\n,m\n", "line 2: expected `file`, `run` or `task`"),
        ("run,model\n\"a\nb\",m\nc\n", "line 4: expected 2 cells, got 1"),
    ] {
        assert_eq!(RunTable::from_csv(csv).unwrap_err().to_string(), expected, "{csv}");
    }
    let error = RunTable::from_jsonl("\n[]").unwrap_err().to_string();
    assert!(error.starts_with("line 2: expected an object: "), "{error}");
}
