//! Tests fingerprints, and large files in pieces.

use super::*;
/// Returns the fingerprint of a run with these messages, also as JSON. Checks that a scan and the trace give the
/// same one.
fn fingerprint(messages: &str) -> (Fingerprint, Value) {
    let text = format!(r#"{{"id": "r", "reward_info": null, "messages": {messages}}}"#);
    let file = scan_text("r.json", &text);
    let scanned = file.traces[0].fingerprint.clone().unwrap();
    let (traces, _) = read_traces(text.as_bytes(), &ReadOptions::default());
    assert_eq!(scanned, Fingerprint::of(&traces[0]));
    let value = serde_json::to_value(&scanned).unwrap();
    (scanned, value)
}

#[test]
fn a_fingerprint_counts_transitions_between_events() {
    let (_, value) = fingerprint(
        r#"[
        {"role": "system", "content": "You are an agent."},
        {"role": "assistant", "content": "Hi!"},
        {"role": "user", "content": "My phone is off."},
        {"role": "assistant", "content": "", "tool_calls": null},
        {"role": "assistant", "content": "Let me see.", "tool_calls": [
            {"id": "1", "name": "get_line"}, {"id": "2", "name": "get_line"}]},
        {"role": "tool", "id": "1", "content": "active"},
        {"role": "tool", "id": "2", "content": "Error: no"},
        {"role": "tool", "id": "lost", "content": "an answer that nobody asked for"},
        {"role": "user", "content": null, "tool_calls": [{"id": "3", "name": "get_line"}, {"id": "4", "name": "agent"}]},
        {"role": "tool", "id": "3", "content": "off"},
        {"role": "system", "content": "Be brief."},
        {"role": "assistant", "content": null, "tool_calls": [{"id": "5", "name": "user"}]},
        {"role": "user", "content": "Thanks"},
        {"role": "assistant", "content": "Bye"},
        {"role": "user", "content": "Bye"}]"#,
    );
    assert_eq!(
        value,
        json!({
            "agent": {"user": 2, "tool:get_line": 1},
            "tool:get_line": {"tool:get_line": 1, "user-tool:get_line": 1},
            "tool:user": {"user": 1},
            "user": {"agent": 2},
            "user-tool:agent": {"tool:user": 1},
            "user-tool:get_line": {"user-tool:agent": 1},
        })
    );
}

#[test]
fn less_than_two_events_have_no_transition() {
    for messages in
        ["null", "[]", r#"[{"role": "user", "content": "hi"}]"#, r#"[{"role": "system", "content": "a"}]"#]
    {
        let (fingerprint, value) = fingerprint(messages);
        assert!(fingerprint.is_empty());
        assert_eq!(value, json!({}));
    }
}

#[test]
fn fingerprints_merge_and_compare() {
    let talk = r#"[{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}]"#;
    let act =
        r#"[{"role": "assistant", "tool_calls": [{"id": "1", "name": "x\""}, {"id": "2", "name": "y"}]}]"#;
    let (talk, act) = (fingerprint(talk).0, fingerprint(act).0);
    assert!(talk.distance(&talk).unwrap().abs() < 1e-12);
    assert!((talk.distance(&act).unwrap() - 1.0).abs() < 1e-12, "nothing in common");

    let mut both = talk.clone();
    both.merge(&act);
    both.merge(&talk);
    assert_eq!(
        serde_json::to_value(&both).unwrap(),
        json!({"agent": {"user": 2}, "user": {"agent": 2}, "tool:x\"": {"tool:y": 1}})
    );
    let mut other_way = act.clone();
    other_way.merge(&talk);
    other_way.merge(&talk);
    assert_eq!(other_way, both);
    // p = (1/2, 1/2, 0), q = (2/5, 2/5, 1/5), m = (9/20, 9/20, 1/10).
    let expected =
        (0.5 * f64::log2(0.5 / 0.45) + 0.5 * (0.8 * f64::log2(0.4 / 0.45) + 0.2 * f64::log2(2.0))).sqrt();
    assert!((talk.distance(&both).unwrap() - expected).abs() < 1e-12);
    assert!((both.distance(&talk).unwrap() - expected).abs() < 1e-12);

    let empty = Fingerprint::default();
    for (left, right) in [(&talk, &empty), (&empty, &talk), (&empty, &empty)] {
        assert_eq!(left.distance(right).unwrap_err().kind(), ErrorKind::Statistics);
    }
    let dot = both.to_dot();
    assert!(dot.starts_with("digraph"), "{dot}");
    for edge in ["\"agent\" -> \"user\" [label=2]", "\"tool:x\\\"\" -> \"tool:y\" [label=1]"] {
        assert!(dot.contains(edge), "{dot}");
    }
}

#[test]
fn the_merged_fingerprint_of_a_corpus_is_the_same_in_any_order() {
    let files = scan(&[golden()]);
    let prints: Vec<&Fingerprint> = files
        .iter()
        .flat_map(|file| &file.traces)
        .map(|record| record.fingerprint.as_ref().unwrap())
        .collect();
    let merged = |prints: &mut dyn Iterator<Item = &&Fingerprint>| {
        prints.fold(Fingerprint::default(), |mut sum, print| {
            sum.merge(print);
            sum
        })
    };
    let forward = merged(&mut prints.iter());
    assert_eq!(merged(&mut prints.iter().rev()), forward);
    let total: u64 = prints.iter().flat_map(|print| print.edges()).map(|(_, _, count)| count).sum();
    assert_eq!(forward.edges().map(|(_, _, count)| count).sum::<u64>(), total);
}

/// Returns a file of some hundred kilobytes, after `damage` has changed its runs and header.
fn large_file(damage: impl Fn(&mut Vec<String>, &mut String)) -> String {
    let first: Value = serde_json::from_slice(&fs::read(&golden_files()[1]).unwrap()).unwrap();
    let mut runs: Vec<String> = Vec::new();
    while runs.iter().map(String::len).sum::<usize>() < 400_000 {
        runs.extend(first["simulations"].as_array().unwrap().iter().map(|run| format!("{run:#}")));
    }
    let mut header = format!("\"info\": {}, \"tasks\": {}", first["info"], first["tasks"]);
    damage(&mut runs, &mut header);
    format!("{{{header},\n\"simulations\": [\n{}\n]}}", runs.join(",\n"))
}

#[test]
fn a_large_file_gives_the_same_records_at_any_number_of_threads() {
    let folder = Folder::new("large");
    let sound = large_file(|_, _| {});
    let tail = sound.find(",\n\"simulations\"").unwrap();
    let late = format!("{{{},{}", &sound[tail + 1..sound.len() - 1], &sound[1..tail]) + "}";
    let cases = [
        ("sound", sound.clone()),
        ("late header", late),
        ("list", list_of(&sound)),
        ("lines", lines_of(&sound)),
        (
            "a damaged run",
            large_file(|runs, _| runs[7] = runs[7].replace("\"messages\"", "\"messages\": 3, \"m\"")),
        ),
        (
            "a run of no JSON",
            large_file(|runs, _| runs[7] = runs[7].replacen(": [", ": [[", 1).replacen(']', "]]", 1)),
        ),
        ("bad bytes in a header", large_file(|_, header| header.push_str(", \"tasks\": 7"))),
        ("truncated", sound[..sound.len() - 900].to_owned()),
        ("two values", format!("{sound}\n{{\"id\": \"last\", \"messages\": []}}")),
    ];
    // Only files of many megabytes are cut into pieces by default.
    let in_pieces = ScanOptions { whole_file_limit: 0, piece_bytes: 30_000, ..threads(3) };
    for (name, text) in cases {
        let path = folder.write("large.json", text);
        let one = scanner(threads(1)).collect(std::slice::from_ref(&path)).unwrap();
        assert!(one[0].traces.len() > 7, "{name}");
        let three = scanner(in_pieces.clone()).collect(std::slice::from_ref(&path)).unwrap();
        assert_eq!(dump(&one), dump(&three), "{name}");
    }
}

/// Returns the runs of a file as a bare list.
fn list_of(file: &str) -> String {
    let start = file.find("\"simulations\": ").unwrap() + "\"simulations\": ".len();
    file[start..file.len() - 1].to_owned()
}

/// Returns the runs of a file, one on each line.
fn lines_of(file: &str) -> String {
    let runs: Vec<Value> = serde_json::from_str(&list_of(file)).unwrap();
    runs.iter().fold(String::new(), |mut lines, run| {
        writeln!(lines, "{run}").unwrap();
        lines
    })
}

#[test]
fn damaged_files_in_pieces_give_the_same_as_whole_ones() {
    let folder = Folder::new("pieces");
    let run = |id: usize| {
        format!(
            r#"{{"id": "r{id}", "task_id": "t", "reward_info": {{"reward": 1}}, "messages": [
            {{"role": "assistant", "tool_calls": [{{"id": "c", "name": "look", "arguments": {{"at": {id}}}}}]}},
            {{"role": "tool", "id": "c", "content": "a \\"wall\\" of é"}}]}}"#
        )
    };
    let runs: Vec<String> = (0..60).map(run).collect();
    let list = runs.join(",\n");
    let flat: Vec<String> = runs.iter().map(|run| run.replace('\n', " ")).collect();
    let mut files = vec![
        format!("{{\"model\": \"m\", \"simulations\": [{list}], \"domain\": \"d\"}}"),
        format!("[{list}]"),
        flat.join("\n"),
        format!(
            "{}\r\n\n  {}\n{{\"model\": \"x\", \"simulations\": [{}]}}\n{}",
            flat[0],
            flat[1],
            flat[2],
            flat[3..].join("\n")
        ),
        runs.join("\n"),
    ];
    for file in files.clone() {
        let middle = file.len() / 2;
        let middle = (middle..file.len()).find(|&at| file.is_char_boundary(at)).unwrap();
        let (before, behind) = file.split_at(middle);
        for fault in ["]", "}", "\"", ",,", "{", "\n", "\\", "7 7", "[[[", "nul"] {
            files.push(format!("{before}{fault}{behind}"));
        }
        files.push(before.to_owned());
    }
    for (number, text) in files.iter().enumerate() {
        let path = folder.write("file.json", text);
        let paths = std::slice::from_ref(&path);
        let slice = scanner(threads(1)).scan_slice(&path, text.as_bytes());
        let expected = dump(&[slice]);
        let streamed = ScanOptions { whole_file_limit: 0, ..threads(1) };
        assert_eq!(dump(&scanner(streamed).collect(paths).unwrap()), expected, "stream of file {number}");
        for (count, piece_bytes) in [(2, 1), (3, 300), (8, 2_000)] {
            let options = ScanOptions { whole_file_limit: 0, piece_bytes, ..threads(count) };
            assert_eq!(
                dump(&scanner(options).collect(paths).unwrap()),
                expected,
                "file {number}, {count} threads, pieces of {piece_bytes}: {text}"
            );
        }
    }
}
