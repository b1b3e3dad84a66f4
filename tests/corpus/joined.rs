//! Tests several files as one source of spans and log records.

use std::convert::Infallible;

use super::reading::spans::request;
use super::*;
use wrongturn::scan::{TraceRecord, read_joined};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const OTHER: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

fn span(trace: &str, id: u64, parent: u64, attributes: &Value) -> Value {
    reading::spans::span(trace, id, parent, (1000 * id, 1000 * id + 500), attributes)
}

/// Returns the spans and log records of a run with five equal calls. The calls are in log records, their
/// results in spans.
fn run(trace: &str, first: u64) -> (Vec<Value>, Vec<Value>) {
    let agent = json!({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "clerk"});
    let mut spans = vec![span(trace, first, 0, &agent)];
    let mut records = Vec::new();
    for call in 0..5 {
        let (model, tool, id) = (first + 1 + 2 * call, first + 2 + 2 * call, format!("c{call}"));
        spans.push(span(trace, model, first, &json!({"gen_ai.operation.name": "chat"})));
        let attributes = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look",
            "gen_ai.tool.call.id": id, "gen_ai.tool.call.result": "a wall"});
        spans.push(span(trace, tool, first, &attributes));
        let calls = json!([{"id": id, "function": {"name": "look", "arguments": "{\"at\": 1}"}}]);
        let body = json!({"index": 0, "message": {"role": "assistant", "tool_calls": calls}});
        records
            .push(json!({"traceId": trace, "spanId": format!("{model:016x}"), "eventName": "gen_ai.choice",
            "timeUnixNano": (1000 * model).to_string(), "body": {"stringValue": body.to_string()}}));
    }
    (spans, records)
}

fn logs_of(records: &[Value]) -> String {
    json!({"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}).to_string()
}

const TAU2: &str = r#"{"simulations": [{"id": "r", "messages": []}, {"id": "s", "messages": 7}]}"#;

/// Writes two runs whose spans and logs are spread over several files, and files of other kinds.
fn corpus(folder: &Folder) -> Vec<PathBuf> {
    let (spans, records) = run(TRACE, 100);
    let (others, logs) = run(OTHER, 1);
    let chat =
        json!({"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]});
    // After this many chats, each line is read in its own format.
    let mixed = format!("{}{}\n{chat}\n", format!("{chat}\n").repeat(64), logs_of(&logs));
    vec![
        folder.write("a.logs.json", logs_of(&records)),
        folder.write("b.json", request(&[&spans[..4], &others[..6]].concat())),
        folder.write("c.json", TAU2),
        folder.write("d.json", request(&[&spans[4..], &others[6..]].concat())),
        folder.write("e.jsonl", mixed),
        folder.write("f.json", r#"{"compilerOptions": {}}"#),
    ]
}

fn joining(threads: usize) -> Scanner {
    scanner(ScanOptions { join: true, digests: true, threads: Some(threads), ..ScanOptions::default() })
}

#[test]
fn spans_and_records_of_a_trace_are_joined_across_files() {
    let folder = Folder::new("joined");
    let paths = corpus(&folder);
    let files = joining(1).collect(&paths).unwrap();
    let found: Vec<(String, Vec<String>, usize)> = files
        .iter()
        .map(|file| {
            let name = file.path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, file.traces.iter().map(TraceRecord::trace_id).collect(), file.errors.len())
        })
        .collect();
    let row = |name: &str, traces: &[&str], errors| {
        (name.to_owned(), traces.iter().map(|trace| (*trace).to_owned()).collect::<Vec<_>>(), errors)
    };
    let chats: Vec<String> = (0..65).map(|number| format!("e#{number}")).collect();
    // Files without spans come first; a trace belongs to the first file with a part of it.
    let expected = [
        row("c.json", &["r"], 1),
        ("e.jsonl".to_owned(), chats, 0),
        row("f.json", &[], 1),
        row("a.logs.json", &[TRACE], 0),
        row("b.json", &[OTHER], 0),
        row("d.json", &[], 0),
        row("e.jsonl", &[], 0),
    ];
    assert_eq!(found, expected);
    assert_eq!(files[3].format, Some(Format::OpenTelemetry));

    // A single file with all spans and logs gives the same runs.
    let (spans, records) = run(TRACE, 100);
    let (others, logs) = run(OTHER, 1);
    let whole = json!({
        "resourceSpans": [{"scopeSpans": [{"spans": ([spans, others].concat())}]}],
        "resourceLogs": [{"scopeLogs": [{"logRecords": ([records, logs].concat())}]}],
    });
    let alone = folder.write("alone/whole.json", whole.to_string());
    let alone = scanner(ScanOptions { digests: true, ..ScanOptions::default() }).collect([alone]).unwrap();
    for (joined, plain) in [(&files[3], &alone[0].traces[1]), (&files[4], &alone[0].traces[0])] {
        let joined = &joined.traces[0];
        assert_eq!((joined.actions, &joined.metadata), (5, &plain.metadata));
        assert_eq!(
            (&joined.verdicts, &joined.cost, joined.digest),
            (&plain.verdicts, &plain.cost, plain.digest)
        );
        assert_eq!(joined.verdict("loop").unwrap().detected(), Some(true));
    }
    // Without the join, no span has the arguments of its call.
    let apart = scan(&paths);
    assert!(
        apart
            .iter()
            .flat_map(|file| &file.traces)
            .all(|record| { record.verdict("loop").unwrap().detected() != Some(true) })
    );
}

#[test]
fn order_and_threads_do_not_change_joined_runs() {
    let folder = Folder::new("joined-order");
    let mut paths = corpus(&folder);
    let expected = dump(&joining(1).collect(&paths).unwrap());
    for threads in [2, 8] {
        paths.reverse();
        assert_eq!(dump(&joining(threads).collect(&paths).unwrap()), expected);
        let options = ScanOptions {
            whole_file_limit: 0,
            piece_bytes: 64,
            threads: Some(threads),
            join: true,
            digests: true,
            ..ScanOptions::default()
        };
        assert_eq!(dump(&scanner(options).collect(&paths).unwrap()), expected);
    }
    let of_folder = dump(&joining(2).collect([&folder.0]).unwrap());
    assert_eq!(of_folder, expected);
}

#[test]
fn read_joined_gives_the_runs_that_a_joined_scan_gives() {
    let folder = Folder::new("joined-read");
    let paths = corpus(&folder);
    let mut read: Vec<String> = Vec::new();
    let mut of_file = Vec::new();
    read_joined(&paths, &ReadOptions::default(), |event| {
        match event {
            ScanEvent::Begin(path) => of_file = vec![path.display().to_string()],
            ScanEvent::Record(trace) => of_file.push(format!(
                "{} {}",
                trace.steps().len(),
                trace.metadata().agent.as_deref().unwrap_or("-")
            )),
            ScanEvent::Error(error) => of_file.push(error.to_string()),
            ScanEvent::End(summary) => {
                of_file.push(format!("{} runs, {} errors", summary.counts.runs, summary.counts.errors));
                read.append(&mut of_file);
            }
            _ => {}
        }
        Ok::<(), Infallible>(())
    })
    .unwrap();
    let mut scanned = Vec::new();
    for file in joining(2).collect(&paths).unwrap() {
        scanned.push(file.path.display().to_string());
        scanned.extend(file.errors.iter().map(ToString::to_string));
        scanned.push(format!("{} runs, {} errors", file.summary.counts.runs, file.summary.counts.errors));
    }
    let steps = |line: &&String| !line.starts_with(|c: char| c.is_ascii_digit()) || line.contains("runs");
    assert_eq!(read.iter().filter(steps).collect::<Vec<_>>(), scanned.iter().collect::<Vec<_>>());
    assert_eq!(read.iter().filter(|line| *line == "5 clerk").count(), 2, "{read:?}");
    // An error from the callback ends the scan.
    let mut begun = 0;
    let ended = read_joined(&paths, &ReadOptions::default(), |event| {
        begun += u32::from(matches!(event, ScanEvent::Begin(_)));
        if begun == 4 { Err("enough") } else { Ok(()) }
    });
    assert_eq!((ended, begun), (Err("enough"), 4));
}
