//! State that survives the end of the program.

use std::fs;

use crate::support::{Collector, Dir, body, spans, trace_id, wait_for};

fn start(dir: &Dir, every: u64) -> Collector {
    let state = format!("state.dir='{}'", dir.path("state"));
    Collector::start(&[
        state,
        dir.sink(),
        format!("state.every_seconds={every}"),
        "traces.grace_ms=0".to_owned(),
    ])
}

fn loops(dir: &Dir, update: &str) -> Vec<String> {
    let events = dir.events();
    let found = events.iter().filter(|event| event.is("loop", update));
    found.map(|event| event.text("wrongturn.finding.id").to_owned()).collect()
}

#[test]
fn a_killed_collector_goes_on_from_its_last_save() {
    let dir = Dir::new("killed");
    let collector = start(&dir, 1);
    assert_eq!(collector.post(&body(&spans(1)[..5])).0, 200);
    wait_for("an alert", || (!loops(&dir, "opened").is_empty()).then_some(()));
    wait_for("a save", || {
        let text = fs::read_to_string(dir.path("state/state.jsonl")).ok()?;
        text.contains("\"reported\"").then_some(())
    });
    // Allow one more second, for a save after the alert.
    std::thread::sleep(std::time::Duration::from_millis(1200));
    collector.kill();
    let collector = start(&dir, 1);
    collector.wait("parked_traces", 1);
    assert_eq!(collector.count("spans_received_total"), 5);
    assert_eq!(collector.post(&body(&spans(1)[5..])).0, 200);
    collector.wait("traces_closed_total", 1);
    assert_eq!(collector.stop().0, 0);
    // The finding is not opened again, and ends under the same id.
    let opened = loops(&dir, "opened");
    assert_eq!((opened.len(), loops(&dir, "")), (1, opened));
}

#[test]
fn open_traces_outlive_sigterm_and_move_to_another_instance() {
    let (one, other) = (Dir::new("one"), Dir::new("other"));
    for (dir, part) in [(&one, 0..3), (&other, 3..5)] {
        let collector = start(dir, 600);
        assert_eq!(collector.post(&body(&spans(1)[part])).0, 200);
        collector.wait("spans_received_total", 2);
        assert_eq!(collector.stop().0, 0);
        assert!(loops(dir, "").is_empty(), "the trace is not closed");
    }
    fs::copy(one.path("state/state.jsonl"), other.path("state/from-one.jsonl")).unwrap();
    let collector = start(&other, 600);
    collector.wait("spans_received_total", 5);
    assert_eq!(collector.post(&body(&spans(1)[5..])).0, 200);
    collector.wait("traces_closed_total", 1);
    assert_eq!(collector.stop().0, 0);
    let events = other.events();
    let end = events.iter().find(|event| event.is("loop", "")).unwrap();
    assert_eq!((&*end.trace, end.text("gen_ai.evaluation.score.label")), (&*trace_id(1), "fail"));
    let left: Vec<_> =
        fs::read_dir(other.path("state")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["state.jsonl"]);
}

/// Traces whose spans alternate between two instances end as they do in one, once the states are joined.
#[test]
fn two_instances_with_a_split_stream_end_as_one() {
    let dirs = [Dir::new("even"), Dir::new("odd"), Dir::new("single")];
    let traces: Vec<_> = (1..=20).map(spans).collect();
    let last = traces[0].len() - 1;
    let send = |dir: &Dir, is_own: &dyn Fn(usize) -> bool| {
        let collector = start(dir, 600);
        for spans in &traces {
            for (_, span) in spans[..last].iter().enumerate().filter(|(number, _)| is_own(*number)) {
                assert_eq!(collector.post(&body(std::slice::from_ref(span))).0, 200);
            }
        }
        assert_eq!(collector.stop().0, 0);
    };
    send(&dirs[0], &|number| number % 2 == 0);
    send(&dirs[1], &|number| number % 2 == 1);
    send(&dirs[2], &|_| true);
    fs::copy(dirs[0].path("state/state.jsonl"), dirs[1].path("state/even.jsonl")).unwrap();
    let ends = |dir: &Dir| {
        let collector = start(dir, 600);
        let roots: Vec<_> = traces.iter().map(|spans| spans[last].clone()).collect();
        assert_eq!(collector.post(&body(&roots)).0, 200);
        collector.wait("traces_closed_total", 20);
        assert_eq!(collector.stop().0, 0);
        let mut ends: Vec<String> = dir
            .events()
            .iter()
            .filter(|event| event.text("wrongturn.update").is_empty())
            .map(|event| format!("{event:?}"))
            .collect();
        ends.sort();
        ends
    };
    let (merged, single) = (ends(&dirs[1]), ends(&dirs[2]));
    assert!(merged.len() >= 20, "{}", merged.len());
    assert_eq!(merged, single);
}

#[test]
fn a_state_that_cannot_be_read_is_an_error() {
    let dir = Dir::new("torn-state");
    fs::create_dir(dir.path("state")).unwrap();
    fs::write(dir.path("state/state.jsonl"), "{\"wrongturn_state\":1").unwrap();
    let output = crate::support::command(&[format!("state.dir='{}'", dir.path("state"))]).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(error.contains("state.jsonl: ") && error.contains("ends early"), "{error}");
}
