//! Tests order, threads, streams, and the texts of arguments.

#[cfg(unix)]
use std::borrow::Cow;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
#[cfg(unix)]
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// Writes copies of the bundled files, some of them damaged, and files of other formats.
pub(crate) fn mixed_corpus(folder: &Folder) {
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
    // In the bundled files, the tasks come before the runs, so the reasons do not differ either.
    let bundled = |options| dump(&scanner(options).collect(&[golden()]).unwrap());
    assert!(bundled(ScanOptions { whole_file_limit: 0, ..threads(2) }) == bundled(threads(2)));
}

/// Returns a run, many lines that are not runs, and another run.
fn lines_with_errors(errors: usize) -> String {
    format!("{}\n{}{}\n", run("first"), "7\n".repeat(errors), run("last"))
}

#[test]
fn errors_are_reported_before_the_file_ends() {
    let folder = Folder::new("errors-kept");
    let path = folder.write("lines.jsonl", lines_with_errors(5_000));
    let seen = Mutex::new(0);
    let mut before = Vec::new();
    scanner(threads(1))
        .scan_map(
            [path],
            |_| {},
            |record| (record.trace_id(), *seen.lock().unwrap()),
            |event| match event {
                ScanEvent::Error(_) => *seen.lock().unwrap() += 1,
                ScanEvent::Record(record) => before.push(record),
                _ => {}
            },
        )
        .unwrap();
    assert_eq!(*seen.lock().unwrap(), 5_000);
    // The last errors are still held when the last run is mapped, so they are reported after it.
    let [first, last] = &before[..] else { panic!("{before:?}") };
    assert_eq!(first, &("first".to_owned(), 0));
    assert!(last.0 == "last" && last.1 > 4_800, "{last:?}");
}

/// Returns the dump of a scan. Panics if the scan takes more than five minutes.
fn dump_in_time(paths: &[PathBuf], options: ScanOptions) -> String {
    let (done, ended) = mpsc::channel();
    let (paths, count) = (paths.to_vec(), options.threads);
    std::thread::spawn(move || done.send(dump(&scanner(options).collect(&paths).unwrap())));
    ended.recv_timeout(Duration::from_secs(300)).unwrap_or_else(|_| panic!("{count:?} threads do not end"))
}

/// The events of later files must not block the reader of the first.
#[test]
fn many_large_files_do_not_block_each_other() {
    let folder = Folder::new("crowded");
    let runs =
        |count| (0..count).fold(String::new(), |text, id: usize| text + &run(&format!("r{id}")) + "\n");
    let values = |runs: &str| runs.trim_end().replace('\n', ",\n");
    let paths = [
        folder.write("a.jsonl", lines_with_errors(6_000)),
        folder.write("b.jsonl", runs(3_000)),
        folder.write("c.json", format!("[{}]", values(&lines_with_errors(6_000)))),
        folder.write("d.json", format!(r#"{{"simulations": [{}]}}"#, values(&runs(3_000)))),
        folder.write("e.jsonl", lines_with_errors(6_000)),
    ];
    let one = dump(&scanner(threads(1)).collect(&paths).unwrap());
    assert_eq!(one.lines().count(), 5 + 3 * (2 + 6_000) + 2 * 3_000);
    for (count, whole_file_limit) in [(2, 0), (2, 100_000), (3, 0), (3, 100_000), (8, 0)] {
        let options = ScanOptions { whole_file_limit, piece_bytes: 2_000, ..threads(count) };
        assert!(dump_in_time(&paths, options) == one, "{count} threads");
    }
}

#[test]
fn a_panic_of_a_callback_reaches_the_caller() {
    let folder = Folder::new("panics");
    let lines: String = (0..3_000).map(|id| run(&format!("r{id}")) + "\n").collect();
    let paths: Vec<PathBuf> = (0..5).map(|file| folder.write(&format!("{file}.jsonl"), &lines)).collect();
    for (count, callback) in [(1, "map"), (2, "map"), (5, "map"), (1, "each"), (2, "each"), (5, "each")] {
        let (done, ended) = mpsc::channel();
        let paths = paths.clone();
        std::thread::spawn(move || {
            let options = ScanOptions { whole_file_limit: 0, piece_bytes: 10_000, ..threads(count) };
            let mut events = 0;
            let scan = || {
                scanner(options).scan_map(
                    &paths,
                    |_| {},
                    |record| assert!(callback != "map" || record.position != 777, "in map"),
                    |_| {
                        events += 1;
                        assert!(callback != "each" || events != 5_000, "in each");
                    },
                )
            };
            let panic = catch_unwind(AssertUnwindSafe(scan)).unwrap_err();
            done.send(panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap();
        });
        let said = ended.recv_timeout(Duration::from_secs(300)).unwrap();
        assert_eq!(said.unwrap(), format!("in {callback}"), "{count} threads");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn any_corpus_gives_the_same_at_any_number_of_threads(
        files in vec((0..4_u8, 0..400_usize, 0..400_usize), 1..9),
        count in 2..9_usize,
        piece_bytes in 1..30_000_usize,
        streamed in any::<bool>(),
        join in any::<bool>(),
    ) {
        let folder = Folder::new("any-corpus");
        let write = |(file, (framing, runs, errors)): (usize, &(u8, usize, usize))| {
            let items: Vec<String> = (0..*runs).map(|id| run(&format!("r{id}"))).collect();
            let faults = vec![String::from("7"); *errors];
            let (list, lines) = ([&faults[..], &items].concat(), [&items[..], &faults].concat().join("\n"));
            let text = match framing {
                0 => lines,
                1 => format!("[{}]", list.join(",")),
                2 => format!(r#"{{"simulations": [{}], "tasks": []}}"#, list.join(",")),
                _ => format!(r#"{{"resourceSpans": [{}]}}"#, faults.join(",")),
            };
            folder.write(&format!("{file}.json"), text)
        };
        let paths: Vec<PathBuf> = files.iter().enumerate().map(write).collect();
        let whole_file_limit = if streamed { 0 } else { 4 << 20 };
        let options = |count| ScanOptions { whole_file_limit, piece_bytes, join, ..threads(count) };
        let one = dump(&scanner(options(1)).collect(&paths).unwrap());
        prop_assert!(dump_in_time(&paths, options(count)) == one);
    }
}

/// A detector that counts the arguments whose texts are kept.
#[derive(Debug, Clone, Copy)]
struct Reader {
    reads: bool,
    count: u64,
}

impl Detector for Reader {
    fn id(&self) -> Cow<'static, str> {
        "reader".into()
    }

    fn mode(&self) -> FailureMode {
        FailureMode::new(FailureClass::System, "reader")
    }

    fn reads_argument_texts(&self) -> bool {
        self.reads
    }

    fn start(&self, _routing: &RouteStatus) -> Box<dyn Fold> {
        Box::new(*self)
    }
}

impl Fold for Reader {
    fn observe(&mut self, step: &Step<'_>) {
        let arguments = step.action_of(Actors::All).and_then(|action| action.arguments.as_ref().present());
        self.count += u64::from(arguments.is_some_and(|arguments| arguments.json().is_some()));
    }

    #[expect(clippy::cast_precision_loss, reason = "a handful")]
    fn verdict(&self) -> Verdict {
        let measures = [Measure { name: "texts", value: self.count as f64 }].into();
        Verdict::Judged(Judgement { measures, ..Judgement::default() })
    }
}

fn call_and_answer(arguments: &str) -> String {
    format!(
        r#"{{"role": "assistant", "tool_calls": [{{"id": "c", "name": "buy"{arguments}}}]}},
        {{"role": "tool", "id": "c", "content": "no", "error": true}}"#
    )
}

/// Keeping the texts does not change a verdict, even if arguments have only a digest of their text.
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
                // The second call repeats the first with another spelling of the arguments.
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

/// A detector that sleeps in one run.
#[cfg(unix)]
#[derive(Debug, Default)]
struct Slow {
    begun: AtomicU64,
    /// The number of runs that began while it slept.
    ahead: AtomicU64,
}

#[cfg(unix)]
impl Detector for Slow {
    fn id(&self) -> Cow<'static, str> {
        "slow".into()
    }

    fn mode(&self) -> FailureMode {
        FailureMode::new(FailureClass::System, "slow")
    }

    fn start(&self, _routing: &RouteStatus) -> Box<dyn Fold> {
        let before = self.begun.fetch_add(1, Ordering::Relaxed);
        if before == 100 {
            std::thread::sleep(Duration::from_secs(1));
            self.ahead.store(self.begun.load(Ordering::Relaxed) - before, Ordering::Relaxed);
        }
        Box::new(Reader { reads: false, count: 0 })
    }
}

/// Reading ahead is bounded, even if the pieces arrive one by one.
#[cfg(unix)]
#[test]
fn no_thread_runs_far_ahead_of_a_slow_one() {
    let folder = Folder::new("slow");
    let path = folder.path("pipe.jsonl");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    let end = path.clone();
    let writer = std::thread::spawn(move || {
        let mut pipe = fs::OpenOptions::new().write(true).open(end).unwrap();
        for piece in 0..1_200 {
            let lines: String = (0..50).map(|id| run(&format!("r{piece}-{id}")) + "\n").collect();
            pipe.write_all(lines.as_bytes()).unwrap();
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    let slow = Arc::new(Slow::default());
    let detector: Arc<dyn Detector> = Arc::clone(&slow) as Arc<dyn Detector>;
    let options = ScanOptions { piece_bytes: 40_000, ..threads(4) };
    Scanner::new(vec![detector], options).unwrap().scan([&path], |_| {}, |_| {}).unwrap();
    writer.join().unwrap();
    assert_eq!(slow.begun.load(Ordering::Relaxed), 60_000);
    let ahead = slow.ahead.load(Ordering::Relaxed);
    assert!(ahead < 15_000, "{ahead} runs ahead");
}
