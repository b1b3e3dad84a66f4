//! Whole corpora: which files are found, in which order results come, what damage costs, and what is made of the
//! runs: records, the replication, pass^k, fingerprints.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests say what they expect by failing"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tracelint::{
    Actors, Detector, ErrorKind, FailureClass, FailureMode, FileScan, Finding, Fingerprint, Fold, Format,
    Judgement, Location, Measure, PassK, ReadOptions, Replication, Routing, ScanEvent, ScanOptions, Scanner,
    SimulationRow, Step, ToolErrorRecovery, ToolErrorRecoveryConfig, Verdict, default_detectors,
    pass_k_by_pair, read_traces,
};

// ---- Helpers -----------------------------------------------------------------------------------------------------

/// A directory of its own, gone when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tracelint-corpus-{}-{test}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file, with the directories that it lies in.
    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/tau2")
}

/// The bundled files, sorted.
fn golden_files() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(golden())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    files.sort();
    assert_eq!(files.len(), 9);
    files
}

fn scanner(options: ScanOptions) -> Scanner {
    Scanner::new(default_detectors(), options).unwrap()
}

fn threads(count: usize) -> ScanOptions {
    ScanOptions { threads: Some(count), fingerprints: true, ..ScanOptions::default() }
}

fn scan(paths: &[PathBuf]) -> Vec<FileScan> {
    scanner(threads(2)).collect(paths).unwrap()
}

/// Everything that a scan says, line by line.
fn dump(files: &[FileScan]) -> String {
    let mut text = String::new();
    for file in files {
        writeln!(text, "{} {:?}", file.path.display(), file.format).unwrap();
        for record in &file.traces {
            let unpaired = record.unpaired;
            let record = serde_json::to_string(record).unwrap();
            writeln!(text, "  {record} {unpaired:?}").unwrap();
        }
        for error in &file.errors {
            writeln!(text, "  {:?} {error}", error.kind()).unwrap();
        }
    }
    text
}

/// As [`dump`], without the reasons for which there is no route: a stream hands its runs on before it can know that
/// the file has no tasks.
fn dump_without_reasons(files: &[FileScan]) -> String {
    let mut text = String::new();
    for file in files {
        for record in &file.traces {
            let mut value = serde_json::to_value(record).unwrap();
            if let Some(reason) = value.pointer_mut("/verdicts/route_inefficiency/not_applicable") {
                assert!(reason.is_string());
                *reason = Value::Null;
            }
            writeln!(text, "{value} {:?}", record.metadata).unwrap();
        }
        let errors: Vec<String> = file.errors.iter().map(ToString::to_string).collect();
        writeln!(text, "{} {:?} {errors:?}", file.path.display(), file.format).unwrap();
    }
    text
}

fn run(id: &str) -> String {
    format!(r#"{{"id": "{id}", "task_id": "t", "reward_info": {{"reward": 1.0}}, "messages": []}}"#)
}

/// The names of the files below a folder, as they came.
fn names(files: &[FileScan], folder: &Folder) -> Vec<String> {
    files
        .iter()
        .map(|file| file.path.strip_prefix(&folder.0).unwrap().display().to_string().replace('\\', "/"))
        .collect()
}

fn ids(files: &[FileScan]) -> Vec<String> {
    files.iter().flat_map(|file| &file.traces).map(tracelint::TraceRecord::trace_id).collect()
}

/// The scan of a text that is called `name`.
fn scan_text(name: &str, text: &str) -> FileScan {
    scanner(ScanOptions { fingerprints: true, ..ScanOptions::default() })
        .scan_slice(Path::new(name), text.as_bytes())
}

// ---- Discovery ---------------------------------------------------------------------------------------------------

#[test]
fn directories_give_their_json_files_in_sorted_order() {
    let folder = Folder::new("discovery");
    for name in ["m.json", "a/z.json", "a/b/c/deep.json", "a/k.json", "z/a.json", "b.json"] {
        folder.write(name, run(name));
    }
    for other in ["notes.txt", "runs.csv", "a/json", "a/old.json.bak", "UPPER.JSON"] {
        folder.write(other, "this is nobody's run");
    }
    fs::create_dir(folder.path("empty")).unwrap();
    let expected = ["a/b/c/deep.json", "a/k.json", "a/z.json", "b.json", "m.json", "z/a.json"];
    for count in [1, 2, 8] {
        let files = scanner(threads(count)).collect(std::slice::from_ref(&folder.0)).unwrap();
        assert_eq!(names(&files, &folder), expected);
        assert_eq!(ids(&files), expected);
        assert!(files.iter().all(|file| file.errors.is_empty()));
    }
    // Whatever the order in which paths are given, each file comes once, in its place.
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
    // A file that is named is read whatever its name.
    let named = folder.write("runs.txt", run("named"));
    assert_eq!(ids(&scan(&[named])), ["named"]);
    // A directory with nothing to read is an error that says so.
    let files = scan(&[folder.path("empty")]);
    assert_eq!((files.len(), files[0].errors[0].kind()), (1, ErrorKind::Empty));
    assert_eq!(scan(&[]).len(), 0);
}

/// A tau2 directory: what the runs have in common lies in `results.json`.
fn split_results(folder: &Folder) {
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

/// What there is to know of a run of [`split_results`].
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
fn the_runs_of_a_tau2_directory_know_what_lies_beside_them() {
    let folder = Folder::new("split");
    split_results(&folder);
    for count in [1, 2, 8] {
        let files = scanner(threads(count)).collect(std::slice::from_ref(&folder.0)).unwrap();
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
    // Also where the folder of runs, or one run, is named alone.
    assert_split_runs(&scan(&[folder.path("split/simulations")]), &["a", "b", "c"]);
    assert_split_runs(&scan(&[folder.path("split/simulations/b.json")]), &["b"]);
}

#[test]
fn the_runs_of_a_tau2_directory_may_be_streamed() {
    let folder = Folder::new("split-stream");
    split_results(&folder);
    let whole = scan(std::slice::from_ref(&folder.0));
    let streamed = scanner(ScanOptions { whole_file_limit: 0, ..threads(2) })
        .collect(std::slice::from_ref(&folder.0))
        .unwrap();
    assert_eq!(dump(&streamed), dump(&whole));
}

#[test]
fn a_bad_results_file_costs_no_run() {
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
fn runs_without_a_results_file_are_read_as_they_are() {
    let folder = Folder::new("simulations");
    folder.write("simulations/a.json", run("a"));
    let files = scan(std::slice::from_ref(&folder.0));
    assert_eq!(ids(&files), ["a"]);
    assert_eq!((files[0].errors.len(), &files[0].traces[0].metadata.model), (0, &None));
}

// ---- Order, threads, streams -------------------------------------------------------------------------------------

/// Copies of the bundled files among damaged ones and other formats.
fn mixed_corpus(folder: &Folder) {
    for (i, path) in golden_files().iter().enumerate() {
        let name = path.file_name().unwrap().to_str().unwrap();
        let bytes = fs::read(path).unwrap();
        match i % 3 {
            0 => folder.write(&format!("golden/{name}"), &bytes),
            1 => folder.write(&format!("truncated/{name}"), &bytes[..bytes.len() / 2 + i]),
            _ => {
                let text = String::from_utf8(bytes).unwrap();
                folder
                    .write(&format!("wrong/{name}"), text.replacen("\"reward\":1.0", "\"reward\":\"one\"", 3))
            }
        };
    }
    folder.write("a_first.json", format!("[{}, {}]", run("x"), run("y")));
    folder.write("empty.json", "");
    folder.write("garbage.json", "not a result\n");
    folder.write("nothing.json", r#"{"info": null, "tasks": [], "simulations": []}"#);
    folder.write("lines.json", format!("{}\n{{\"messages\": 3}}\n{}\n", run("l"), run("m")));
    folder
        .write("zz/flat.json", format!(r#"{{"model": "m", "domain": "d", "simulations": [{}]}}"#, run("f")));
    folder.write(
        "zz/episodes.json",
        r#"{"game": "zork1", "episodes": [{"id": "e", "snapshot": {"final_score": 1, "max_score": 2, "trajectory": [
            {"step": 0, "obs": "a", "action": "look"}, {"step": 1, "obs": "a", "action": "look"}]}},
            {"snapshot": {"trajectory": [{"step": 1}, {"step": 1}]}}]}"#,
    );
    folder.write(
        "zz/native.json",
        r#"{"version": 1, "id": "n", "reward": 0.5, "steps": [{"actor": "user", "text": "hi"}, {"name": "look"}]}"#,
    );
}

#[test]
fn results_are_the_same_bytes_at_any_number_of_threads() {
    let folder = Folder::new("threads");
    mixed_corpus(&folder);
    split_results(&folder);
    let paths = [folder.0.clone(), folder.path("missing.json")];
    let one = scanner(threads(1)).collect(&paths).unwrap();
    let expected = dump(&one);
    assert!(expected.lines().count() > 250, "{}", expected.lines().count());
    let found: Vec<&Path> = one.iter().filter(|file| file.format.is_some()).map(|file| &*file.path).collect();
    assert!(found.is_sorted(), "{found:?}");
    for file in &one {
        let positions: Vec<u64> = file.traces.iter().map(|record| record.position).collect();
        assert!(positions.windows(2).all(|pair| pair[0] < pair[1]), "{positions:?}");
        assert!(file.traces.iter().all(|record| record.file == file.path));
    }
    for count in [2, 8] {
        assert_eq!(dump(&scanner(threads(count)).collect(&paths).unwrap()), expected, "{count} threads");
    }
    let default = ScanOptions { threads: None, ..threads(1) };
    assert_eq!(dump(&scanner(default).collect(&paths).unwrap()), expected);
}

#[test]
fn streams_give_the_same_records_and_errors() {
    let folder = Folder::new("streams");
    mixed_corpus(&folder);
    let paths = std::slice::from_ref(&folder.0);
    let whole = scanner(threads(2)).collect(paths).unwrap();
    let streamed = scanner(ScanOptions { whole_file_limit: 0, ..threads(2) }).collect(paths).unwrap();
    assert_eq!(dump_without_reasons(&streamed), dump_without_reasons(&whole));
    // Where the tasks come before the runs, as in the bundled files, nothing differs at all.
    let bundled = |options| dump(&scanner(options).collect(&[golden()]).unwrap());
    assert!(bundled(ScanOptions { whole_file_limit: 0, ..threads(2) }) == bundled(threads(2)));
}

#[test]
fn a_file_in_memory_gives_what_the_file_gives() {
    let path = golden_files()[0].clone();
    let file = scan(std::slice::from_ref(&path));
    let slice = scanner(threads(1)).scan_slice(&path, &fs::read(&path).unwrap());
    assert_eq!(dump(&[slice]), dump(&file));
}

// ---- Texts of arguments ------------------------------------------------------------------------------------------

/// Counts the arguments that it can read.
#[derive(Debug, Clone, Copy)]
struct Reader {
    reads: bool,
    count: u64,
}

impl Detector for Reader {
    fn id(&self) -> &'static str {
        "reader"
    }

    fn mode(&self) -> FailureMode {
        FailureMode::new(FailureClass::System, "reader")
    }

    fn reads_argument_texts(&self) -> bool {
        self.reads
    }

    fn start(&self, _routing: &Routing) -> Box<dyn Fold> {
        Box::new(*self)
    }
}

impl Fold for Reader {
    fn observe(&mut self, step: &Step<'_>) {
        let arguments = step.action_of(Actors::All).and_then(|action| action.arguments.as_ref().present());
        self.count += u64::from(arguments.is_some_and(|arguments| arguments.json().is_some()));
    }

    fn certain(&self) -> &[Finding] {
        &[]
    }

    #[expect(clippy::cast_precision_loss, reason = "a handful")]
    fn verdict(&self) -> Verdict {
        let measures = vec![Measure { name: "texts", value: self.count as f64 }];
        Verdict::Judged(Judgement { measures, ..Judgement::default() })
    }
}

fn call_and_answer(arguments: &str) -> String {
    format!(
        r#"{{"role": "assistant", "tool_calls": [{{"id": "c", "name": "buy"{arguments}}}]}},
        {{"role": "tool", "id": "c", "content": "no", "error": true}}"#
    )
}

/// Whether texts are kept changes no verdict, also where the arguments have no digest but that of their text.
#[test]
fn the_texts_of_arguments_are_kept_only_for_detectors_that_read_them() {
    let deep = format!(r#", "arguments": {}1{}"#, "[".repeat(100), "]".repeat(100));
    let spellings = [
        [
            r#", "arguments": {"a": 1, "b": [2, {"c": "x"}]}"#,
            r#", "arguments": {"b": [2.0, {"c": "\u0078"}], "a": 1}"#,
        ],
        [r#", "arguments": null"#, ""],
        [r#", "arguments": "\ud800""#, r#", "arguments": "\ud800""#],
        [&deep, &deep],
    ];
    for compare in ["null", r#"["a"]"#] {
        let tasks = format!(
            r#"[{{"id": "t", "evaluation_criteria": {{"actions": [{{"name": "buy", "arguments": {{"a": 1, "b": 0}},
            "compare_args": {compare}}}]}}}}]"#
        );
        for [first, second] in &spellings {
            let messages = [first, second, first].map(|arguments| call_and_answer(arguments)).join(",");
            let run = |id: &str| format!(r#"{{"id": "{id}", "task_id": "t", "messages": [{messages}]}}"#);
            let text = format!(r#"{{"tasks": {tasks}, "simulations": [{}, {}]}}"#, run("one"), run("two"));
            let [without, with] = [false, true].map(|reads| {
                let mut detectors = default_detectors();
                detectors.push(Arc::new(Reader { reads, count: 0 }));
                Scanner::new(detectors, ScanOptions::default())
                    .unwrap()
                    .scan_slice("x.json".as_ref(), text.as_bytes())
            });
            assert!(without.errors.is_empty(), "{first}: {:?}", without.errors);
            for record in &without.traces {
                // The second call is the first one again, however it is spelled.
                let blind = record.verdict("feedback_blindness").unwrap().findings();
                assert_eq!(blind.iter().map(|finding| finding.first).collect::<Vec<_>>(), [1], "{first}");
            }
            assert_eq!(without.traces.len(), 2);
            assert_eq!(dump(&[without]), dump(&[with]), "{first} {compare}");
        }
    }
    let text = format!(
        r#"{{"simulations": [{{"id": "one", "messages": [{}]}}]}}"#,
        call_and_answer(spellings[0][0])
    );
    for (reads, texts) in [(false, 0.0), (true, 1.0)] {
        let scanner =
            Scanner::new(vec![Arc::new(Reader { reads, count: 0 })], ScanOptions::default()).unwrap();
        let file = scanner.scan_slice("x.json".as_ref(), text.as_bytes());
        let found = file.traces[0].verdict("reader").and_then(|verdict| verdict.measure("texts"));
        assert_eq!(found, Some(texts));
    }
}

// ---- Errors ------------------------------------------------------------------------------------------------------

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
    let expected = format!("{}: run 1: line 6 column 16: {}", path.display(), error.message());
    assert_eq!(error.to_string(), expected);
}

#[test]
fn one_bad_file_costs_no_other() {
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
fn a_link_that_leads_nowhere_costs_no_other_file() {
    let folder = Folder::new("dangling");
    let names: Vec<String> = (0..20).map(|i| format!("{i:02}.json")).collect();
    for name in &names {
        folder.write(name, run(name));
        folder.write(&format!("sub/{name}"), run(&format!("sub/{name}")));
    }
    let links = [folder.path("nowhere.json"), folder.path("sub/nowhere.json")];
    for link in &links {
        std::os::unix::fs::symlink("no such file", link).unwrap();
    }
    let files = scan(std::slice::from_ref(&folder.0));
    let mut expected = names.clone();
    expected.extend(names.iter().map(|name| format!("sub/{name}")));
    assert_eq!(ids(&files), expected);
    let mut failed: Vec<_> =
        files.iter().filter(|file| !file.errors.is_empty()).map(|file| file.path.to_path_buf()).collect();
    failed.sort();
    assert_eq!(failed, links);
}

#[cfg(unix)]
#[test]
fn a_link_that_leads_in_circles_costs_no_file() {
    let folder = Folder::new("circle");
    let names: Vec<String> = (0..20).map(|i| format!("{i:02}.json")).collect();
    for name in &names {
        folder.write(name, run(name));
    }
    std::os::unix::fs::symlink(".", folder.path("circle")).unwrap();
    let found: BTreeSet<String> = ids(&scan(std::slice::from_ref(&folder.0))).into_iter().collect();
    assert_eq!(found, names.into_iter().collect());
}

// ---- Progress ----------------------------------------------------------------------------------------------------

#[test]
fn progress_reaches_the_totals() {
    let folder = Folder::new("progress");
    mixed_corpus(&folder);
    for count in [1, 2, 8] {
        let told = Mutex::new(Vec::new());
        let (mut files, mut traces, mut bytes) = (0_u64, 0_u64, 0_u64);
        scanner(threads(count))
            .scan(
                std::slice::from_ref(&folder.0),
                |now| told.lock().unwrap().push(now),
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
        let told = told.into_inner().unwrap();
        assert!(!told.is_empty() && told.iter().all(|now| now.bytes_total == bytes));
        assert!(told.windows(2).all(|pair| {
            pair[0].bytes <= pair[1].bytes
                && pair[0].traces <= pair[1].traces
                && pair[0].files <= pair[1].files
        }));
        let last = *told.last().unwrap();
        assert_eq!((last.bytes, last.files, last.traces), (bytes, files, traces));
    }
}

// ---- Records -----------------------------------------------------------------------------------------------------

#[test]
fn a_record_in_json_is_what_the_page_says() {
    let detector: Vec<Arc<dyn Detector>> = vec![Arc::new(ToolErrorRecovery::default())];
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
                "id": "tool_error_recovery:1-1", "mode": "operation/tool_error_recovery", "where": [1, 1], "message": "0 of 1 tool errors recovered",
                "evidence": {"errors": [{"step": 1, "tool": "look", "recovered_by": null, "attempts": 0,
                    "changed_arguments": null, "abandoned": true}]}}]}},
            "fingerprint": {"user": {"tool:look": 1}}
        })
    );
}

#[test]
fn a_record_has_every_detector_and_a_fingerprint_only_where_asked() {
    let path = golden_files()[0].clone();
    for fingerprints in [false, true] {
        let scanner = scanner(ScanOptions { fingerprints, ..ScanOptions::default() });
        let files = scanner.collect(std::slice::from_ref(&path)).unwrap();
        for record in &files[0].traces {
            let value = serde_json::to_value(record).unwrap();
            let keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
            let mut expected = vec!["trace", "position", "file", "model", "domain", "reward", "verdicts"];
            if fingerprints {
                expected.push("fingerprint");
            }
            expected.sort_unstable();
            let mut sorted = keys;
            sorted.sort_unstable();
            assert_eq!(sorted, expected);
            let verdicts = value["verdicts"].as_object().unwrap();
            let detectors: Vec<&str> = verdicts.keys().map(String::as_str).collect();
            assert_eq!(
                detectors,
                ["feedback_blindness", "loop", "route_inefficiency", "tool_error_recovery", "wasted_actions"]
            );
            for verdict in verdicts.values() {
                assert!(verdict["detected"].is_boolean() && verdict["findings"].is_array(), "{verdict}");
            }
        }
    }
    let no_route = scan_text("x.json", &run("r"));
    let value = serde_json::to_value(&no_route.traces[0]).unwrap();
    let verdict = value["verdicts"]["route_inefficiency"].as_object().unwrap();
    assert!(verdict.len() == 1 && verdict["not_applicable"].is_string(), "{verdict:?}");
}

// ---- Replication -------------------------------------------------------------------------------------------------

/// What the replication is to find of one run, counted from its JSON alone.
#[derive(Debug, Clone, PartialEq)]
struct Counted {
    model: String,
    domain: String,
    reward: Option<f64>,
    calls: u64,
    errors: u64,
    recovered: u64,
}

fn count(file: &Value, run: &Value, actors: Actors) -> Counted {
    struct Call<'v> {
        id: &'v str,
        tool: &'v str,
        user: bool,
        ok: Option<bool>,
    }
    let mut calls: Vec<Call<'_>> = Vec::new();
    for message in run["messages"].as_array().unwrap() {
        let role = message["role"].as_str().unwrap();
        if role == "tool" {
            let id = message["id"].as_str().unwrap();
            let failed = message["error"] == json!(true)
                || message["content"].as_str().is_some_and(|text| text.starts_with("Error"));
            let call = calls.iter_mut().find(|call| call.id == id && call.ok.is_none()).unwrap();
            call.ok = Some(!failed);
            continue;
        }
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            calls.push(Call {
                id: call["id"].as_str().unwrap(),
                tool: call["name"].as_str().unwrap(),
                user: call["requestor"].as_str().unwrap_or(role) == "user",
                ok: None,
            });
        }
    }
    calls.retain(|call| match actors {
        Actors::All => true,
        Actors::Agent => !call.user,
        Actors::User => call.user,
    });
    let recovered = |at: usize| {
        calls[at + 1..].iter().any(|later| later.tool == calls[at].tool && later.ok == Some(true))
    };
    let errors: Vec<usize> = (0..calls.len()).filter(|&at| calls[at].ok == Some(false)).collect();
    Counted {
        model: file["info"]["agent_info"]["llm"].as_str().unwrap().to_owned(),
        domain: file["info"]["environment_info"]["domain_name"].as_str().unwrap().to_owned(),
        reward: run["reward_info"]["reward"].as_f64(),
        calls: calls.len() as u64,
        errors: errors.len() as u64,
        recovered: errors.iter().filter(|&&at| recovered(at)).count() as u64,
    }
}

fn counted(actors: Actors) -> Vec<Counted> {
    let mut runs = Vec::new();
    for path in golden_files() {
        let file: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        runs.extend(file["simulations"].as_array().unwrap().iter().map(|run| count(&file, run, actors)));
    }
    runs
}

fn rows(actors: Actors) -> Vec<SimulationRow> {
    let config = ToolErrorRecoveryConfig { actors, ..ToolErrorRecoveryConfig::default() };
    let detectors: Vec<Arc<dyn Detector>> = vec![Arc::new(ToolErrorRecovery::new(config).unwrap())];
    let read = ReadOptions { routes: false, ..ReadOptions::default() };
    let scanner = Scanner::new(detectors, ScanOptions { read, ..ScanOptions::default() }).unwrap();
    let files = scanner.collect(&[golden()]).unwrap();
    files.iter().flat_map(|file| &file.traces).map(|record| SimulationRow::of(record).unwrap()).collect()
}

/// Pearson's r, as the textbook has it.
#[expect(clippy::cast_precision_loss, reason = "there are some hundred pairs")]
fn correlation(pairs: &[(f64, f64)]) -> f64 {
    let n = pairs.len() as f64;
    let mean = |side: fn(&(f64, f64)) -> f64| pairs.iter().map(side).sum::<f64>() / n;
    let (x, y) = (mean(|pair| pair.0), mean(|pair| pair.1));
    let sum = |of: &dyn Fn(f64, f64) -> f64| pairs.iter().map(|pair| of(pair.0 - x, pair.1 - y)).sum::<f64>();
    sum(&|a, b| a * b) / (sum(&|a, _| a * a) * sum(&|_, b| b * b)).sqrt()
}

#[expect(clippy::cast_precision_loss, reason = "counts of some hundred runs")]
fn assert_group(group: &Value, runs: &[&Counted], of: &str) {
    let total = |of: fn(&Counted) -> u64| runs.iter().map(|run| of(run)).sum::<u64>();
    let rewarded: Vec<(&Counted, f64)> = runs.iter().filter_map(|run| Some((*run, run.reward?))).collect();
    let failing: Vec<(&Counted, f64)> = rewarded.iter().filter(|(run, _)| run.errors > 0).copied().collect();
    assert_eq!(group["sims"], json!(runs.len()), "{of}");
    assert_eq!(group["sims_with_reward"], json!(rewarded.len()), "{of}");
    assert_eq!(group["sims_with_errors"], json!(runs.iter().filter(|run| run.errors > 0).count()), "{of}");
    assert_eq!(group["errors"], json!(total(|run| run.errors)), "{of}");
    assert_eq!(group["recovered"], json!(total(|run| run.recovered)), "{of}");
    assert_eq!(group["tool_calls"], json!(total(|run| run.calls)), "{of}");
    let rate = |run: &Counted| if run.errors == 0 { 1.0 } else { run.recovered as f64 / run.errors as f64 };
    let means = [("mean_reward", &rewarded), ("mean_reward_with_errors", &failing)];
    for (key, runs) in means {
        let mean = runs.iter().map(|(_, reward)| reward).sum::<f64>() / runs.len() as f64;
        assert!((group[key].as_f64().unwrap() - mean).abs() < 1e-12, "{of} {key}: {} {mean}", group[key]);
    }
    let pairs = |runs: &[(&Counted, f64)], measure: &dyn Fn(&Counted) -> f64| -> Vec<(f64, f64)> {
        runs.iter().map(|(run, reward)| (measure(run), *reward)).collect()
    };
    for (key, pairs) in [
        ("r_recovery_reward", pairs(&rewarded, &rate)),
        ("r_recovery_reward_errors_only", pairs(&failing, &rate)),
        ("r_error_count_reward", pairs(&rewarded, &|run| run.errors as f64)),
        ("r_tool_calls_reward", pairs(&rewarded, &|run| run.calls as f64)),
    ] {
        let r = correlation(&pairs);
        if r.is_nan() || pairs.len() < 3 {
            assert!(group[key]["undefined"].is_string(), "{of} {key}: {}", group[key]);
            continue;
        }
        assert_eq!(group[key]["n"], json!(pairs.len()), "{of} {key}");
        assert!((group[key]["r"].as_f64().unwrap() - r).abs() < 1e-12, "{of} {key}: {} {r}", group[key]);
    }
}

const GROUP: [&str; 12] = [
    "sims",
    "sims_with_reward",
    "sims_with_errors",
    "errors",
    "recovered",
    "tool_calls",
    "mean_reward",
    "mean_reward_with_errors",
    "r_recovery_reward",
    "r_recovery_reward_errors_only",
    "r_error_count_reward",
    "r_tool_calls_reward",
];

fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn the_replication_counts_what_the_files_hold() {
    for actors in [Actors::All, Actors::Agent, Actors::User] {
        let expected = counted(actors);
        assert_eq!(expected.len(), 408);
        let replication = serde_json::to_value(Replication::of(&rows(actors))).unwrap();
        assert_group(&replication["overall"], &expected.iter().collect::<Vec<_>>(), "overall");

        let mut models: BTreeMap<&str, Vec<&Counted>> = BTreeMap::new();
        let mut pairs: BTreeMap<(&str, &str), Vec<&Counted>> = BTreeMap::new();
        for run in &expected {
            models.entry(&run.model).or_default().push(run);
            pairs.entry((&run.model, &run.domain)).or_default().push(run);
        }
        let by_model = replication["by_model"].as_array().unwrap();
        assert_eq!((by_model.len(), models.len()), (3, 3));
        for (group, (model, runs)) in by_model.iter().zip(models) {
            assert_eq!(group["model"], model);
            if runs.iter().any(|run| run.errors > 0) {
                assert_group(group, &runs, model);
            }
        }
        let by_pair = replication["by_model_domain"].as_array().unwrap();
        assert_eq!((by_pair.len(), pairs.len()), (9, 9));
        for (group, ((model, domain), runs)) in by_pair.iter().zip(pairs) {
            assert_eq!((&group["model"], &group["domain"]), (&json!(model), &json!(domain)));
            if runs.iter().any(|run| run.errors > 0) {
                assert_group(group, &runs, &format!("{model} {domain}"));
            }
        }
    }
}

#[test]
fn every_run_of_the_replication_is_counted_rightly() {
    for actors in [Actors::All, Actors::Agent, Actors::User] {
        for (row, expected) in rows(actors).iter().zip(counted(actors)) {
            let found = Counted {
                model: row.model.as_deref().unwrap().to_owned(),
                domain: row.domain.as_deref().unwrap().to_owned(),
                reward: row.reward,
                calls: row.tool_calls,
                errors: row.errors,
                recovered: row.recovered,
            };
            assert_eq!(found, expected, "{:?}", row.id);
        }
    }
}

#[test]
fn the_replication_in_json_has_the_keys_that_were_agreed() {
    let replication = serde_json::to_value(Replication::of(&rows(Actors::All))).unwrap();
    assert_eq!(keys(&replication), BTreeSet::from(["overall", "by_model", "by_model_domain", "direction"]));
    let group = BTreeSet::from(GROUP);
    assert_eq!(keys(&replication["overall"]), group);
    let with = |more: &[&'static str]| -> BTreeSet<&str> {
        group.iter().copied().chain(more.iter().copied()).collect()
    };
    for model in replication["by_model"].as_array().unwrap() {
        assert_eq!(keys(model), with(&["model"]));
    }
    for pair in replication["by_model_domain"].as_array().unwrap() {
        assert_eq!(keys(pair), with(&["model", "domain"]));
    }
    let r = &replication["overall"]["r_recovery_reward"];
    assert_eq!(keys(r), BTreeSet::from(["r", "n", "p", "ci95"]));
    let interval = r["ci95"].as_array().unwrap();
    assert_eq!(interval.len(), 2);
    let (low, high, r) =
        (interval[0].as_f64().unwrap(), interval[1].as_f64().unwrap(), r["r"].as_f64().unwrap());
    assert!(-1.0 <= low && low < r && r < high && high <= 1.0);

    let direction = &replication["direction"];
    let pairs = replication["by_model_domain"].as_array().unwrap();
    assert_eq!(direction["pairs"], json!(pairs.len()));
    for (key, r, sign) in [
        ("recovery_positive", "r_recovery_reward", 1.0),
        ("recovery_errors_only_positive", "r_recovery_reward_errors_only", 1.0),
        ("error_count_negative", "r_error_count_reward", -1.0),
    ] {
        let defined: Vec<f64> = pairs.iter().filter_map(|pair| pair[r]["r"].as_f64()).collect();
        let signed = defined.iter().filter(|r| **r * sign > 0.0).count();
        assert_eq!(direction[key], json!({"count": signed, "defined": defined.len()}), "{key}");
    }
}

/// The rows of a text.
fn rows_of(text: &str) -> Vec<SimulationRow> {
    let file = scan_text("runs.json", text);
    assert!(file.errors.is_empty(), "{:?}", file.errors);
    file.traces.iter().map(|record| SimulationRow::of(record).unwrap()).collect()
}

/// A run whose tool fails so often and succeeds so often thereafter.
fn outcome(reward: &str, failures: usize, successes: usize) -> String {
    let call = |answer: &str| {
        format!(
            r#"{{"role": "assistant", "tool_calls": [{{"id": "", "name": "look"}}]}}, {{"role": "tool", "id": "", "content": "{answer}"}}"#
        )
    };
    let messages: Vec<String> =
        (0..failures).map(|_| call("Error: dark")).chain((0..successes).map(|_| call("a wall"))).collect();
    format!(
        r#"{{"task_id": "t", "reward_info": {{"reward": {reward}}}, "messages": [{}]}}"#,
        messages.join(", ")
    )
}

#[test]
fn a_run_without_a_reward_is_counted_and_stays_out_of_the_correlations() {
    let rows = rows_of(&format!(
        "[{}, {}, {}, {}]",
        outcome("1.0", 0, 1),
        outcome("0.0", 2, 0),
        outcome("null", 3, 1),
        outcome("0.5", 1, 1)
    ));
    let group = serde_json::to_value(Replication::of(&rows)).unwrap()["overall"].clone();
    assert_eq!(
        [&group["sims"], &group["sims_with_reward"], &group["sims_with_errors"], &group["errors"]],
        [&json!(4), &json!(3), &json!(3), &json!(6)]
    );
    assert_eq!([&group["recovered"], &group["tool_calls"]], [&json!(4), &json!(9)]);
    assert_eq!([&group["mean_reward"], &group["mean_reward_with_errors"]], [&json!(0.5), &json!(0.25)]);
    // Three pairs have an r, and no interval.
    let r = &group["r_error_count_reward"];
    assert_eq!((r["n"].as_u64(), &r["ci95"]), (Some(3), &json!([null, null])));
    assert!((r["r"].as_f64().unwrap() + 1.0).abs() < 1e-12);
    // Two have none.
    let why = &group["r_recovery_reward_errors_only"];
    assert_eq!(keys(why), BTreeSet::from(["undefined"]));
    assert!(why["undefined"].is_string());
}

#[test]
fn a_replication_of_nothing_says_so() {
    let group = serde_json::to_value(Replication::of(&[])).unwrap()["overall"].clone();
    assert_eq!(keys(&group), BTreeSet::from(GROUP));
    assert_eq!((&group["sims"], &group["mean_reward"]), (&json!(0), &Value::Null));
    assert!(group["r_recovery_reward"]["undefined"].is_string());
}

#[test]
fn a_row_in_json_has_the_keys_that_were_agreed() {
    let rows = rows_of(&format!("[{}]", outcome("0.5", 2, 1)));
    assert_eq!(
        serde_json::to_value(&rows[0]).unwrap(),
        json!({
            "file": "runs.json", "id": null, "model": null, "domain": null, "task": "t", "trial": null, "reward": 0.5,
            "tool_calls": 3, "errors": 2, "recovered": 2, "recovery_rate": 1.0, "detected": false
        })
    );
}

// ---- pass^k ------------------------------------------------------------------------------------------------------

fn trial(task: &str, reward: &str, ending: &str) -> String {
    format!(
        r#"{{"task_id": {task}, "reward_info": {reward}, "termination_reason": "{ending}", "messages": []}}"#
    )
}

fn pass_k(runs: &[String]) -> PassK {
    let text = format!(r#"{{"model": "m", "domain": "d", "simulations": [{}]}}"#, runs.join(", "));
    let mut groups = pass_k_by_pair(&rows_of(&text));
    assert_eq!(groups.len(), 1);
    let group = groups.pop().unwrap();
    assert_eq!((group.model.as_deref(), group.domain.as_deref()), (Some("m"), Some("d")));
    group
}

fn assert_close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{found:?}");
    assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}, not {expected:?}");
}

const WON: &str = r#"{"reward": 1.0}"#;
const LOST: &str = r#"{"reward": 0.0}"#;

#[test]
fn pass_k_is_the_mean_over_tasks_up_to_the_fewest_trials() {
    let mut runs = Vec::new();
    // Three of four, two of three, four of four.
    for (task, rewards) in
        [("\"a\"", vec![WON, WON, LOST, WON]), ("2", vec![WON, LOST, WON]), ("\"c\"", vec![WON; 4])]
    {
        runs.extend(rewards.into_iter().map(|reward| trial(task, reward, "user_stop")));
    }
    let group = pass_k(&runs);
    assert_eq!((group.tasks, group.runs, group.infrastructure_errors, group.without_task), (3, 11, 0, 0));
    let first = (3.0 / 4.0 + 2.0 / 3.0 + 1.0) / 3.0;
    let second = (3.0 / 6.0 + 1.0 / 3.0 + 1.0) / 3.0;
    let third = (1.0 / 4.0 + 0.0 + 1.0) / 3.0;
    assert_close(&group.pass, &[first, second, third]);
}

#[test]
fn pass_k_leaves_out_what_says_nothing_of_the_agent() {
    let group = pass_k(&[
        trial("\"a\"", WON, "agent_stop"),
        trial("\"a\"", WON, "infrastructure_error"),
        trial("\"a\"", LOST, "infrastructure_error"),
        // A run without a reward is a failure, whatever ended it.
        trial("\"a\"", "null", "timeout"),
        trial("\"a\"", "{}", "max_steps"),
        trial("\"a\"", r#"{"reward": null}"#, "agent_error"),
        trial("null", WON, "user_stop"),
        trial("null", LOST, "user_stop"),
        // Without a task, and by the infrastructure: left out once.
        trial("null", WON, "infrastructure_error"),
    ]);
    assert_eq!((group.tasks, group.runs), (1, 4));
    assert_eq!((group.infrastructure_errors, group.without_task), (3, 2));
    assert_close(&group.pass, &[0.25, 0.0, 0.0, 0.0]);
}

#[test]
fn a_success_is_a_reward_within_a_millionth_of_one() {
    for (reward, expected) in [
        (r#"{"reward": 1}"#, 1.0),
        (r#"{"reward": 0.9999995}"#, 1.0),
        (r#"{"reward": 1.0000005}"#, 1.0),
        (r#"{"reward": 0.99999}"#, 0.0),
        (r#"{"reward": 1.00001}"#, 0.0),
        (r#"{"reward": 2}"#, 0.0),
        (r#"{"reward": -1}"#, 0.0),
    ] {
        assert_close(&pass_k(&[trial("\"a\"", reward, "user_stop")]).pass, &[expected]);
    }
}

#[test]
fn pass_k_of_no_runs_that_count_is_empty() {
    let group = pass_k(&[trial("null", WON, "user_stop"), trial("\"a\"", WON, "infrastructure_error")]);
    assert_eq!((group.tasks, group.runs, group.pass.len()), (0, 0, 0));
}

#[test]
fn pass_k_stands_by_model_and_domain() {
    let groups = pass_k_by_pair(&rows(Actors::All));
    let names: Vec<(&str, &str)> = groups
        .iter()
        .map(|group| (group.model.as_deref().unwrap(), group.domain.as_deref().unwrap()))
        .collect();
    assert!(names.is_sorted());
    assert_eq!(names.len(), 9);
    let expected = counted(Actors::All);
    for group in &groups {
        // Four trials of every task; pass^1 is the mean success.
        assert_eq!(group.runs, 4 * group.tasks);
        assert_eq!(group.pass.len(), 4);
        assert!(group.pass.windows(2).all(|pair| pair[1] <= pair[0]));
        let runs: Vec<&Counted> = expected
            .iter()
            .filter(|run| {
                Some(&run.model) == group.model.as_ref() && Some(&run.domain) == group.domain.as_ref()
            })
            .collect();
        assert_eq!(runs.len() as u64, group.runs);
        let won =
            runs.iter().filter(|run| run.reward.is_some_and(|reward| (reward - 1.0).abs() <= 1e-6)).count();
        let share = f64::from(u32::try_from(won).unwrap()) / f64::from(u32::try_from(runs.len()).unwrap());
        assert!((group.pass[0] - share).abs() < 1e-12);
    }
}

// ---- Fingerprints ------------------------------------------------------------------------------------------------

/// The fingerprint of a run with these messages, as JSON, from the scan and from the trace.
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
        r#"[{"role": "assistant", "tool_calls": [{"id": "1", "name": "x"}, {"id": "2", "name": "y"}]}]"#;
    let (talk, act) = (fingerprint(talk).0, fingerprint(act).0);
    assert!(talk.distance(&talk).unwrap().abs() < 1e-12);
    assert!((talk.distance(&act).unwrap() - 1.0).abs() < 1e-12, "nothing in common");

    let mut both = talk.clone();
    both.merge(&act);
    both.merge(&talk);
    assert_eq!(
        serde_json::to_value(&both).unwrap(),
        json!({"agent": {"user": 2}, "user": {"agent": 2}, "tool:x": {"tool:y": 1}})
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
    for edge in ["\"agent\" -> \"user\" [label=2]", "\"tool:x\" -> \"tool:y\" [label=1]"] {
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

/// A file that is large enough to be cut up, with what `damage` makes of its text.
fn large_file(damage: impl Fn(&mut Vec<String>, &mut String)) -> String {
    let first: Value = serde_json::from_slice(&fs::read(&golden_files()[1]).unwrap()).unwrap();
    let mut runs: Vec<String> = Vec::new();
    while runs.iter().map(String::len).sum::<usize>() < 5 << 20 {
        runs.extend(first["simulations"].as_array().unwrap().iter().map(|run| format!("{run:#}")));
    }
    let mut header = format!("\"info\": {}, \"tasks\": {}", first["info"], first["tasks"]);
    damage(&mut runs, &mut header);
    format!("{{{header},\n\"simulations\": [\n{}\n]}}", runs.join(",\n"))
}

#[test]
fn a_large_file_gives_the_same_bytes_whoever_reads_it() {
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
    for (name, text) in cases {
        assert!(text.len() > 4 << 20, "{name} is not large");
        let path = folder.write("large.json", text);
        let one = scanner(threads(1)).collect(std::slice::from_ref(&path)).unwrap();
        assert!(one[0].traces.len() > 100, "{name}");
        let three = scanner(threads(3)).collect(std::slice::from_ref(&path)).unwrap();
        assert_eq!(dump(&one), dump(&three), "{name}");
    }
}

/// The runs of a file as a bare list.
fn list_of(file: &str) -> String {
    let start = file.find("\"simulations\": ").unwrap() + "\"simulations\": ".len();
    file[start..file.len() - 1].to_owned()
}

/// Lines of the same runs.
fn lines_of(file: &str) -> String {
    let runs: Vec<Value> = serde_json::from_str(&list_of(file)).unwrap();
    runs.iter().map(|run| format!("{run}\n")).collect()
}

/// Every framing, with faults in it, in small pieces at any number of threads.
#[test]
fn pieces_give_what_the_whole_gives() {
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
        let middle = (middle..).find(|&at| file.is_char_boundary(at)).unwrap();
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
