//! Tests which files a scan of directories finds.

use super::*;
#[test]
fn directories_give_their_json_files_sorted() {
    let folder = Folder::new("discovery");
    for name in ["m.json", "a/z.json", "a/b/c/deep.json", "a/k.json", "z/a.json", "B.JSON"] {
        folder.write(name, run(name));
    }
    for other in ["notes.txt", "runs.csv", "a/json", "a/old.json.bak", "UPPER.MD"] {
        folder.write(other, "not a run");
    }
    fs::create_dir(folder.path("empty")).unwrap();
    let expected = ["B.JSON", "a/b/c/deep.json", "a/k.json", "a/z.json", "m.json", "z/a.json"];
    for count in [1, 2, 8] {
        let files = scanner(threads(count)).collect(std::slice::from_ref(&folder.0)).unwrap();
        assert_eq!(names(&files, &folder), expected);
        assert_eq!(ids(&files), expected);
        assert!(files.iter().all(|file| file.errors.is_empty()));
    }
    // Overlapping paths in any order give each file once.
    let paths = [
        folder.path("z"),
        folder.path("m.json"),
        folder.path("a"),
        folder.path("a/k.json"),
        folder.path("z/a.json"),
    ];
    assert_eq!(
        names(&scan(&paths), &folder),
        ["a/b/c/deep.json", "a/k.json", "a/z.json", "m.json", "z/a.json"]
    );
    // A file that is given directly may have any name.
    let named = folder.write("runs.txt", run("named"));
    assert_eq!(ids(&scan(&[named])), ["named"]);
    // A directory without JSON files is an error.
    let files = scan(&[folder.path("empty")]);
    assert_eq!((files.len(), files[0].errors[0].kind()), (1, ErrorKind::Empty));
    assert_eq!(scan(&[]).len(), 0);
    // Files that are skipped because of their names are counted for each directory that was given.
    let mut not_read = Vec::new();
    let paths = [folder.0.clone(), folder.path("a"), folder.path("runs.txt")];
    let each = |event: ScanEvent| {
        if let ScanEvent::NotRead { directory, files, endings } = event {
            assert_eq!(files, endings.values().sum::<u64>());
            not_read.push((directory.to_path_buf(), endings));
        }
    };
    scanner(threads(2)).scan(&paths, |_| {}, each).unwrap();
    let endings = |counts: &[(&str, u64)]| {
        counts.iter().map(|(ending, files)| ((*ending).to_owned(), *files)).collect()
    };
    let all: BTreeMap<String, u64> = endings(&[("", 1), ("MD", 1), ("bak", 1), ("csv", 1), ("txt", 2)]);
    assert_eq!(not_read, [(folder.0.clone(), all), (folder.path("a"), endings(&[("", 1), ("bak", 1)]))]);
}

/// Some formats use a directory with a file for each event, message or part.
#[test]
fn a_run_in_many_files_is_read_as_one() {
    let folder = Folder::new("composed");
    let action = r#"{"id": 2, "timestamp": "2026-01-01T00:00:00", "source": "agent", "action": "run",
        "args": {"command": "ls"}}"#;
    let observation = r#"{"id": 10, "timestamp": "2026-01-01T00:00:01", "source": "agent", "observation": "run",
        "content": "a", "cause": 2, "extras": {}}"#;
    folder.write("v0/events/10.json", observation);
    folder.write("v0/events/2.json", action);
    folder.write("v0/event_cache/0-25.json", format!("[{action}, {observation}]"));
    folder.write("v1/base_state.json", r#"{"id": "conversation", "agent": {"llm": {"model": "m"}}}"#);
    folder.write(
        "v1/events/event-00000-b.json",
        r#"{"id": "b", "kind": "ActionEvent", "source": "agent", "thought": [], "action": {"kind": "A"},
            "tool_name": "look", "tool_call_id": "c"}"#,
    );
    folder.write(
        "v1/events/event-00001-a.json",
        r#"{"id": "a", "kind": "AgentErrorEvent", "source": "agent", "tool_name": "look", "tool_call_id": "c", "error": "no"}"#,
    );
    for (id, role) in [("msg_1", "user"), ("msg_2", "assistant")] {
        let message = format!(r#"{{"id": "{id}", "role": "{role}"}}"#);
        folder.write(&format!("storage/message/ses_1/{id}.json"), message);
    }
    folder.write("storage/session/global/ses_1.json", r#"{"id": "ses_1", "title": "t"}"#);
    folder.write("storage/part/msg_1/prt_1.json", r#"{"type": "text", "text": "look"}"#);
    folder.write("storage/part/msg_2/prt_2.json", r#"{"type": "text", "text": "I look"}"#);
    folder.write(
        "storage/part/msg_2/prt_3.json",
        r#"{"type": "tool", "tool": "look", "callID": "c", "state": {"status": "error", "error": "no"}}"#,
    );
    for (place, line) in include_str!("../formats/strands/messages.jsonl").lines().enumerate() {
        let message = || format!("messages/message_{}", 7 + place);
        let name = ["../../session", "agent"].get(place).map_or_else(message, ToString::to_string);
        folder.write(&format!("session_s/agents/agent_a/{name}.json"), line);
    }
    for options in [threads(1), threads(2), ScanOptions { whole_file_limit: 0, ..threads(2) }] {
        let files = scanner(options).collect(std::slice::from_ref(&folder.0)).unwrap();
        let paths = names(&files, &folder);
        assert_eq!(paths[1..], ["storage/session/global/ses_1.json", "v0/events", "v1/events"]);
        let found: Vec<_> = files
            .iter()
            .map(|file| {
                assert!(file.errors.is_empty(), "{:?}", file.errors);
                let record = &file.traces[0];
                (file.format, file.traces.len(), record.trace_id(), record.actions, record.unpaired)
            })
            .collect();
        let expected = [
            (Format::Strands, "s/clerk"),
            (Format::OpenCode, "ses_1"),
            (Format::OpenHands, "events#0"),
            (Format::OpenHandsSdk, "conversation"),
        ]
        .map(|(format, id)| (Some(format), 1, id.to_owned(), 1, wrongturn::trace::Unpaired::default()));
        assert_eq!(found, expected);
        assert_eq!(files[3].traces[0].metadata.model.as_deref(), Some("m"));
    }
    // A single event is read as a file.
    let files = scan(&[folder.path("v0/events/2.json")]);
    assert_eq!((names(&files, &folder), files[0].traces[0].actions), (vec!["v0/events/2.json".into()], 1));
}

/// Writes a tau2 directory with the header and the tasks in `results.json`.
pub(crate) fn split_results(folder: &Folder) {
    folder.write(
        "split/results.json",
        r#"{"timestamp": "2026", "info": {"agent_info": {"llm": "gpt-4.1"}, "environment_info": {"domain_name": "retail"}},
            "tasks": [{"id": "t", "evaluation_criteria": {"actions": [{"name": "look", "arguments": {}}]}}]}"#,
    );
    for id in ["b", "a", "c"] {
        folder.write(
            &format!("split/simulations/{id}.json"),
            format!(
                r#"{{"id": "{id}", "task_id": "t", "reward_info": {{"reward": 1.0}}, "messages": [
                    {{"role": "assistant", "tool_calls": [{{"id": "1", "name": "look", "arguments": {{}}}}]}},
                    {{"role": "tool", "id": "1", "content": "a wall", "error": false}}]}}"#
            ),
        );
    }
}

/// Checks ids, metadata and routes of the runs of [`split_results`].
fn assert_split_runs(files: &[FileScan], expected: &[&str]) {
    let records: Vec<_> = files.iter().flat_map(|file| &file.traces).collect();
    let ids: Vec<String> = records.iter().map(|record| record.trace_id()).collect();
    assert_eq!(ids, expected);
    for record in records {
        assert_eq!(record.position, 0);
        assert_eq!(record.metadata.model.as_deref(), Some("gpt-4.1"));
        assert_eq!(record.metadata.domain.as_deref(), Some("retail"));
        let route = record.verdict("route_inefficiency").unwrap();
        assert_eq!(route.measure("milestones_reached"), Some(1.0));
    }
}

#[test]
fn the_runs_of_a_tau2_directory_have_the_header_of_its_results_file() {
    let folder = Folder::new("split");
    split_results(&folder);
    let streamed = ScanOptions { whole_file_limit: 0, ..threads(2) };
    for options in [threads(1), threads(2), threads(8), streamed] {
        let files = scanner(options).collect(std::slice::from_ref(&folder.0)).unwrap();
        assert_eq!(
            names(&files, &folder),
            [
                "split/results.json",
                "split/simulations/a.json",
                "split/simulations/b.json",
                "split/simulations/c.json"
            ]
        );
        assert!(files.iter().all(|file| file.errors.is_empty() && file.format == Some(Format::Tau2)));
        assert_eq!(files[0].traces.len(), 0);
        assert_split_runs(&files, &["a", "b", "c"]);
    }
    // So do runs whose folder or file is given directly.
    assert_split_runs(&scan(&[folder.path("split/simulations")]), &["a", "b", "c"]);
    assert_split_runs(&scan(&[folder.path("split/simulations/b.json")]), &["b"]);
}

#[test]
fn a_bad_results_file_loses_no_run() {
    let folder = Folder::new("split-bad");
    split_results(&folder);
    let header = folder.write("split/results.json", "{\"info\": 7,\n\"tasks\": [}");
    folder.write("split/simulations/b.json", "{\"id\": \"b\",\n\"messages\": 7}");
    let files = scan(std::slice::from_ref(&folder.0));
    assert_eq!(ids(&files), ["a", "c"]);
    let errors: Vec<_> = files.iter().flat_map(|file| &file.errors).collect();
    assert!(errors.iter().any(|error| error.path() == Some(&header) && error.location().is_some()));
    let of_b: Vec<_> = errors.iter().filter(|error| error.path() != Some(&header)).collect();
    assert_eq!(of_b.len(), 1);
    assert_eq!(of_b[0].path(), Some(&*folder.path("split/simulations/b.json")));
    assert_eq!(of_b[0].location(), Some(Location { line: 2, column: 13 }));
}

#[test]
fn runs_without_a_results_file_are_read() {
    let folder = Folder::new("simulations");
    folder.write("simulations/a.json", run("a"));
    let files = scan(std::slice::from_ref(&folder.0));
    assert_eq!(ids(&files), ["a"]);
    assert_eq!((files[0].errors.len(), &files[0].traces[0].metadata.model), (0, &None));
}

#[test]
fn a_sub_agent_with_a_file_of_its_own_is_read_once() {
    let folder = Folder::new("sub-agent");
    let session = folder.write("s.jsonl", include_str!("../formats/claude-code/agent-progress.jsonl"));
    let own = r#"{"type": "user", "sessionId": "s", "agentId": "a7", "isSidechain": true, "message": {"content": "look"}}"#;
    folder.write("s/subagents/agent-a7.jsonl", own);
    assert_eq!(ids(&scan(&[session])), ["s", "s/a7"]);
    let all = scan(std::slice::from_ref(&folder.0));
    assert!(ids(&all) == ["s/a7", "s"] && all.iter().all(|file| file.errors.is_empty()), "{:?}", dump(&all));
}
