//! Tests what `wrongturn check` reads: files of any format, sessions and traces in several files, and
//! standard input.

use serde_json::{Value, json};
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use crate::reading::spans::{request, span};
use crate::support::{EPISODES, Folder, GOOD, command, ends};

#[test]
fn check_names_and_counts_foreign_files() {
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
    let expected = "Ids shared by several runs: 1. Of the later runs with these ids, 1 repeat an earlier one and 2 differ";
    assert!(told.contains(expected), "{told}");
    let (told, _) = ends("check", &["--verbose", &folder.path("a.jsonl"), &folder.path("e.jsonl")], 0);
    assert!(!told.contains("Ids shared"), "{told}");
}

#[test]
fn spans_and_logs_of_several_files_are_one_source() {
    let folder = Folder::new("join");
    let trace = "0af7651916cd43dd8448eb211c80319c";
    let span = |id: u64, attributes: Value| span(trace, id, 0, (100 * id, 100 * id + 50), &attributes);
    let (mut spans, mut records) = (Vec::new(), Vec::new());
    for call in 0..5_u64 {
        let id = format!("c{call}");
        spans.push(span(2 * call + 1, json!({"gen_ai.operation.name": "chat"})));
        let called = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look",
            "gen_ai.tool.call.id": id, "gen_ai.tool.call.result": "a wall"});
        spans.push(span(2 * call + 2, called));
        let body =
            json!({"message": {"tool_calls": [{"id": id, "function": {"name": "look", "arguments": "{}"}}]}});
        records.push(json!({"traceId": trace, "spanId": format!("{:016x}", 2 * call + 1),
            "eventName": "gen_ai.choice", "body": {"stringValue": body.to_string()}}));
    }
    let logs = json!([{"scopeLogs": [{"logRecords": records}]}]);
    let whole =
        json!({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}], "resourceLogs": logs}).to_string();
    let whole = folder.write("spans-1.json", &whole);
    let judged = |inputs: &[&str], more: &[&str]| {
        let [rows, html, events] =
            ["rows.jsonl", "page.html", "events.otlp.jsonl"].map(|name| folder.path(name));
        let outputs = ["--out", &rows, "--html", &html, "--output", &events];
        let (told, _) = ends("check", &[&outputs, more, inputs].concat(), 0);
        let bytes = ["rows.jsonl", "page.html", "events.otlp.jsonl"].map(|name| folder.bytes(name));
        // The table, without the line of each input.
        let table = told.split_once("\n\n").map_or(told.clone(), |(_, table)| table.to_owned());
        (table, bytes)
    };
    let alone = judged(&[&whole], &[]);
    assert!(String::from_utf8_lossy(&alone.1[1]).contains("look({})"));
    assert_eq!(judged(&[&whole], &["--join"]), alone);
    // The first part has the same name, so only the content can differ.
    let first = folder.write("spans-1.json", &request(&spans[..3]));
    let second = folder.write("spans-2.json", &request(&spans[3..]));
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

#[test]
fn check_finds_the_format_in_the_content() {
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
fn check_takes_an_alignment() {
    let folder = Folder::new("alignment");
    // With one alignment, "open" is rejected before the second "open"; with the other, it is not.
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
fn check_reads_standard_input() {
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
