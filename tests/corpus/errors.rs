//! Tests errors, progress and records.

use super::*;

#[test]
fn errors_name_file_run_line_and_column() {
    let folder = Folder::new("located");
    let path = folder.write(
        "results.json",
        format!("{{\n  \"simulations\": [\n    {},\n    {{\n      \"id\": \"b\",\n      \"trial\": \"two\"\n    }}\n  ]\n}}", run("a")),
    );
    let files = scan(std::slice::from_ref(&folder.0));
    assert_eq!(ids(&files), ["a"]);
    let [error] = &files[0].errors[..] else { panic!("{:?}", files[0].errors) };
    assert_eq!((error.path(), error.run()), (Some(&*path), Some(1)));
    assert_eq!((error.kind(), error.location()), (ErrorKind::Shape, Some(Location { line: 6, column: 16 })));
    let expected = format!("{}:6:16: run 1: {}", path.display(), error.message());
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_bad_file_loses_no_other() {
    let folder = Folder::new("bad");
    let kinds = [
        ("b_empty.json", &b""[..], ErrorKind::Empty),
        ("c_blank.json", b" \n", ErrorKind::Empty),
        ("d_garbage.json", b"<html>", ErrorKind::Syntax),
        ("e_binary.json", b"\x00\xff\xfe", ErrorKind::Format),
        ("f_other.json", b"{\"a\": 1}", ErrorKind::Format),
        ("g_number.json", b"7", ErrorKind::Format),
        ("h_cut.json", b"{\"info\": {\"agent_in", ErrorKind::Truncated),
        ("i_cut.json", b"{\"simulations\": [{\"id\": \"z\", \"mess", ErrorKind::Truncated),
    ];
    for (name, content, _) in kinds {
        folder.write(name, content);
    }
    folder.write("a.json", run("a"));
    folder.write("z.json", run("z"));
    let missing = folder.path("missing.json");
    for count in [1, 2, 8] {
        let files = scanner(threads(count)).collect(&[missing.clone(), folder.0.clone()]).unwrap();
        assert_eq!(ids(&files), ["a", "z"]);
        assert_eq!(files.len(), kinds.len() + 3);
        for (name, _, kind) in kinds {
            let path = folder.path(name);
            let file = files.iter().find(|file| *file.path == *path).unwrap();
            let [error] = &file.errors[..] else { panic!("{name}: {:?}", file.errors) };
            assert_eq!((error.kind(), error.path()), (kind, Some(&*path)), "{name}: {error}");
        }
        let file = files.iter().find(|file| *file.path == *missing).unwrap();
        assert_eq!((file.format, file.traces.len(), file.errors.len()), (None, 0, 1));
        assert_eq!((file.errors[0].kind(), file.errors[0].path()), (ErrorKind::Io, Some(&*missing)));
    }
}

#[cfg(unix)]
#[test]
fn dangling_and_circular_links_lose_no_file() {
    let folder = Folder::new("links");
    let names: Vec<String> = (0..20).map(|i| format!("{i:02}.json")).collect();
    for name in &names {
        folder.write(name, run(name));
        folder.write(&format!("sub/{name}"), run(&format!("sub/{name}")));
    }
    let links = [folder.path("nowhere.json"), folder.path("sub/nowhere.json")];
    for link in &links {
        std::os::unix::fs::symlink("no such file", link).unwrap();
    }
    std::os::unix::fs::symlink(".", folder.path("circle")).unwrap();
    let files = scan(std::slice::from_ref(&folder.0));
    let mut expected = names.clone();
    expected.extend(names.iter().map(|name| format!("sub/{name}")));
    assert_eq!(ids(&files), expected);
    let mut failed: Vec<_> =
        files.iter().filter(|file| !file.errors.is_empty()).map(|file| file.path.to_path_buf()).collect();
    failed.sort();
    assert_eq!(failed, links);
}

#[test]
fn progress_reaches_the_totals() {
    let folder = Folder::new("progress");
    mixed_corpus(&folder);
    for count in [1, 2, 8] {
        let progress = Mutex::new(Vec::new());
        let (mut files, mut traces, mut bytes) = (0_u64, 0_u64, 0_u64);
        scanner(threads(count))
            .scan(
                std::slice::from_ref(&folder.0),
                |now| progress.lock().unwrap().push(now),
                |event| match event {
                    ScanEvent::Record(_) => traces += 1,
                    ScanEvent::End(summary) => {
                        files += 1;
                        bytes += fs::metadata(&summary.path).unwrap().len();
                    }
                    _ => {}
                },
            )
            .unwrap();
        let progress = progress.into_inner().unwrap();
        assert!(!progress.is_empty() && progress.iter().all(|now| now.bytes_total == bytes));
        assert!(progress.windows(2).all(|pair| {
            pair[0].bytes <= pair[1].bytes
                && pair[0].traces <= pair[1].traces
                && pair[0].files <= pair[1].files
        }));
        let last = *progress.last().unwrap();
        assert_eq!((last.bytes, last.files, last.traces), (bytes, files, traces));
    }
}

#[test]
fn a_record_in_json_has_the_documented_members() {
    let detector: Vec<Arc<dyn Detector>> = vec![Arc::new(
        ToolErrorRecovery::new(wrongturn::detect::ToolErrorRecoveryConfig::published()).unwrap(),
    )];
    let text = r#"{"model": "m", "domain": "d", "simulations": [
        {"id": "r", "reward_info": {"reward": 0.5}, "messages": []},
        {"task_id": 3, "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "tool_calls": [{"id": "1", "name": "look"}]},
            {"role": "tool", "id": "1", "content": "Error: dark"}]}]}"#;
    let scanner =
        Scanner::new(detector, ScanOptions { fingerprints: true, ..ScanOptions::default() }).unwrap();
    let file = scanner.scan_slice(Path::new("some/file.json"), text.as_bytes());
    assert_eq!(
        serde_json::to_string(&file.traces[0]).unwrap(),
        r#"{"trace":"r","position":0,"file":"some/file.json","model":"m","domain":"d","reward":0.5,"verdicts":{"tool_error_recovery":{"detected":false,"score":1.0,"findings":[]}},"fingerprint":{}}"#
    );
    assert_eq!(
        serde_json::to_value(&file.traces[1]).unwrap(),
        json!({
            "trace": "file#1", "position": 1, "file": "some/file.json", "model": "m", "domain": "d", "reward": null,
            "verdicts": {"tool_error_recovery": {"detected": true, "score": 0.0, "findings": [{
                "id": "tool_error_recovery:1", "mode": "operation/tool_error_recovery", "where": [1, 1], "tool": "look", "confidence": "certain",
                "message": "0 of 1 tool errors recovered",
                "evidence": {"errors": [{"step": 1, "tool": "look", "recovered_by": null, "attempts": 0,
                    "changed_arguments": null, "abandoned": true}]}}]}},
            "fingerprint": {"user": {"tool:look": 1}}
        })
    );
}

#[test]
fn a_record_has_every_detector_and_a_fingerprint_if_asked_for() {
    let path = golden_files()[0].clone();
    for fingerprints in [false, true] {
        let scanner = scanner(ScanOptions { fingerprints, ..ScanOptions::default() });
        let files = scanner.collect(std::slice::from_ref(&path)).unwrap();
        for record in &files[0].traces {
            let value = serde_json::to_value(record).unwrap();
            let mut expected =
                BTreeSet::from(["trace", "position", "file", "model", "domain", "reward", "verdicts"]);
            expected.extend(fingerprints.then_some("fingerprint"));
            assert_eq!(keys(&value), expected);
            let detectors =
                ["feedback_blindness", "loop", "route_inefficiency", "tool_error_recovery", "wasted_actions"];
            assert_eq!(keys(&value["verdicts"]), BTreeSet::from(detectors));
            for verdict in value["verdicts"].as_object().unwrap().values() {
                assert!(verdict["detected"].is_boolean() && verdict["findings"].is_array(), "{verdict}");
            }
            let read: wrongturn::scan::TraceRecord = serde_json::from_value(value.clone()).unwrap();
            assert_eq!(serde_json::to_value(&read).unwrap(), value);
            assert_eq!(read.fingerprint, record.fingerprint);
            for (detector, verdict) in &record.verdicts {
                assert_eq!(read.verdict(detector).unwrap().findings(), verdict.findings());
            }
        }
    }
    let no_route = scan_text("x.json", &run("r"));
    let value = serde_json::to_value(&no_route.traces[0]).unwrap();
    let verdict = value["verdicts"]["route_inefficiency"].as_object().unwrap();
    assert!(verdict.len() == 1 && verdict["not_applicable"].is_string(), "{verdict:?}");
}

#[test]
fn lines_without_one_sound_document_are_an_error() {
    let line = |id: &str, text: &str| {
        format!(
            r#"{{"schema_version": "ATIF-v1.4", "session_id": "{id}", "agent": {{"name": "a"}}, "steps": [{{"step_id": 1, "source": "user", "message": "{text}"}}]}}"#
        )
    };
    let unsound = format!("{}\u{1}", "x".repeat(700));
    let damaged = vec![line("a", &unsound); 40].join("\n");
    let number = format!("{}\n{{\"a\": 1}}\n", line("a", "x").replacen("[{", "[1e999, {", 1));
    let sound = format!("{damaged}\n{}\n", line("b", "y"));
    let folder = Folder::new("unsound");
    // The error of the archive is the only one.
    let packed = super::files::gzip(damaged.repeat(20).as_bytes());
    let cut = &packed[..packed.len() - 9];
    for (name, content, traces, expected, passed_over) in [
        ("a.jsonl", damaged.as_bytes(), 0, vec![ErrorKind::Format], 40),
        ("b.jsonl", number.as_bytes(), 0, vec![ErrorKind::Format], 2),
        ("c.jsonl", sound.as_bytes(), 1, Vec::new(), 40),
        ("d.jsonl.gz", cut, 0, vec![ErrorKind::Io], 800 - 19),
    ] {
        let path = folder.write(name, content);
        for (count, whole_file_limit) in [(1, 4 << 20), (1, 0), (2, 0), (3, 0), (8, 4 << 20)] {
            let options = ScanOptions { whole_file_limit, piece_bytes: 5_000, ..threads(count) };
            let files = scanner(options).collect(std::slice::from_ref(&path)).unwrap();
            let [file] = &files[..] else { panic!("{files:?}") };
            let kinds: Vec<ErrorKind> = file.errors.iter().map(wrongturn::Error::kind).collect();
            assert_eq!((file.traces.len(), &kinds), (traces, &expected), "{name}, {count} threads");
            assert_eq!(file.summary.counts.errors, file.errors.len() as u64);
            assert_eq!(
                file.summary.counts.passed_over.values().sum::<u64>(),
                passed_over,
                "{name}, {count} threads"
            );
        }
    }
}
