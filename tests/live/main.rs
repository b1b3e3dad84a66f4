//! Tests traces assembled from calls and answers: any order of arrival gives the verdicts of call order, and
//! every piece is counted. `spans.rs` has the same for spans.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "helpers of tests say what they expect by failing"
)]

#[path = "../reading/mod.rs"]
mod reading;
mod spans;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;
use wrongturn::{
    Action, Metadata, Monitor, Status, TraceAssembler, Verdict, default_detectors,
    live::{AssemblerCounts, AssemblerOptions, CloseReason, ClosedTrace, LiveEvent, Reply, UpdateKind},
    trace::{Actor, StepInput, UnknownReason, Unpaired, Usage},
};

const SECOND: u64 = 1_000_000_000;

/// A call of a made-up run: tool, argument, whether it fails, and the seconds until its answer.
#[derive(Debug, Clone, Copy)]
struct Made {
    tool: u8,
    argument: u8,
    fails: bool,
    takes: u64,
}

fn made() -> impl Strategy<Value = Made> {
    (0_u8..3, 0_u8..3, any::<bool>(), 0_u64..4).prop_map(|(tool, argument, fails, takes)| Made {
        tool,
        argument,
        fails,
        takes,
    })
}

impl Made {
    fn name(self) -> &'static str {
        ["look", "book", "pay"][usize::from(self.tool)]
    }

    fn answer(self) -> (Status, String) {
        let status = if self.fails { Status::Error } else { Status::Ok };
        (status, format!("{} {}", self.name(), self.argument))
    }
}

fn assembler(options: AssemblerOptions) -> TraceAssembler {
    TraceAssembler::new(default_detectors(), options).unwrap()
}

fn drain(traces: &mut TraceAssembler) -> (Vec<LiveEvent>, Vec<ClosedTrace>) {
    let mut closed = Vec::new();
    let mut others = Vec::new();
    while let Some(event) = traces.next_event() {
        match event {
            LiveEvent::Closed(trace) => closed.push(*trace),
            other => others.push(other),
        }
    }
    (others, closed)
}

/// Returns the kind and the finding id of each update among events.
fn updates(events: &[LiveEvent]) -> Vec<(UpdateKind, String)> {
    let of = |event: &LiveEvent| match event {
        LiveEvent::Update { update, .. } => Some((update.kind, update.finding.id.clone())),
        _ => None,
    };
    events.iter().filter_map(of).collect()
}

/// Passes a piece of the run to the assembler: a call (`false`) or its answer (`true`).
fn hand_in(traces: &mut TraceAssembler, now: u64, run: &[Made], (number, is_answer): (usize, bool)) {
    let made = run[number];
    let id = format!("c{number}");
    let begun = number as u64 * SECOND;
    if is_answer {
        let (status, text) = made.answer();
        let reply = Reply::new(&id, status, text.as_str()).time(begun + made.takes * SECOND + 1);
        traces.answer(now, "t", &reply);
    } else {
        let action = Action::new(made.name()).call_id(&id).arguments(&json!({"a": made.argument}));
        traces.call(now, "t", &StepInput::action(Actor::Agent, action).time(begun)).unwrap();
    }
}

/// Passes a call and its answer.
fn hand_in_both(traces: &mut TraceAssembler, now: u64, run: &[Made], number: usize) {
    hand_in(traces, now, run, (number, false));
    hand_in(traces, now, run, (number, true));
}

/// Returns the verdicts on the same run as complete steps in order. Calls without an answer have an unknown
/// status.
fn in_order(run: &[Made], answered: &[bool]) -> Vec<(Cow<'static, str>, Verdict)> {
    let mut monitor = Monitor::new(&default_detectors()).unwrap();
    for ((number, made), answered) in (0_u64..).zip(run).zip(answered) {
        let (status, text) = made.answer();
        let action = Action::new(made.name()).arguments(&json!({"a": made.argument}));
        let (action, usage) = if *answered {
            let usage = Usage { duration_ns: Some(made.takes * SECOND + 1), ..Usage::default() };
            (action.answered(status, &text), usage)
        } else {
            (action.unknown(UnknownReason::Unanswered), Usage::default())
        };
        let step = StepInput::action(Actor::Agent, action).time(number * SECOND).usage(usage);
        monitor.observe(step).unwrap();
    }
    let no_route = "live traces do not record a reference route".into();
    let mut verdicts = monitor.finish();
    verdicts[2].1 = Verdict::NotApplicable { reason: no_route };
    verdicts
}

fn balanced(counts: AssemblerCounts) -> bool {
    let AssemblerCounts { received, judged, evicted, late, ignored, open, parked, .. } = counts;
    received == judged + evicted + late + ignored + open + parked
}

/// Checks that each finding of a run is opened once, then reported only while it stands, and at the end is in the
/// verdicts, merged or withdrawn.
fn assert_series(events: &[LiveEvent], closed: &[ClosedTrace]) {
    let mut live = BTreeSet::new();
    for event in events {
        let LiveEvent::Update { metadata, update, .. } = event else { continue };
        let id = (metadata.id.clone(), update.finding.id.clone());
        match update.kind {
            UpdateKind::Opened => assert!(live.insert(id), "{update:?}"),
            UpdateKind::Grown => assert!(live.contains(&id), "{update:?}"),
            UpdateKind::Merged | UpdateKind::Withdrawn => assert!(live.remove(&id), "{update:?}"),
            other => panic!("{other}"),
        }
    }
    let of_run = |closed: &ClosedTrace| {
        let findings = closed.verdicts.iter().flat_map(|(_, verdict)| verdict.findings());
        findings.map(|finding| (closed.metadata.id.clone(), finding.id.clone())).collect::<Vec<_>>()
    };
    let found: BTreeSet<_> = closed.iter().flat_map(of_run).collect();
    assert!(live.is_subset(&found), "{live:?} {found:?}");
}

/// An event between two pieces.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Between {
    Nothing,
    /// Enough time to judge again what is due.
    Settled,
    /// Enough time for the trace to be parked.
    Pause,
    /// The program ends without notice, and another one continues from the saved state.
    Crash,
}

fn between() -> impl Strategy<Value = Between> {
    prop_oneof![
        8 => Just(Between::Nothing),
        2 => Just(Between::Settled),
        1 => Just(Between::Pause),
        1 => Just(Between::Crash),
    ]
}

fn state(traces: &TraceAssembler) -> Vec<u8> {
    let mut state = Vec::new();
    traces.save(&mut state).unwrap();
    state
}

fn restarted(traces: &TraceAssembler, options: AssemblerOptions) -> TraceAssembler {
    let mut restarted = assembler(options);
    restarted.load(&mut state(traces).as_slice()).unwrap();
    assert_eq!(
        restarted.open_traces() + restarted.parked_traces(),
        traces.open_traces() + traces.parked_traces()
    );
    restarted
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 100, ..ProptestConfig::default() })]

    /// For any order of the pieces, and any pauses and crashes between them, the verdicts are those of the
    /// run in call order, and every finding that was reported is accounted for.
    #[test]
    fn any_order_ends_in_the_verdict_of_the_run(
        run in proptest::collection::vec(made(), 1..40),
        answered in proptest::collection::vec(prop_oneof![9 => Just(true), 1 => Just(false)], 40),
        delays in proptest::collection::vec(prop_oneof![5 => 0_u64..2, 1 => 0_u64..60], 80),
        happens in proptest::collection::vec(between(), 80),
    ) {
        let answered = &answered[..run.len()];
        let mut arrivals: Vec<(u64, (usize, bool))> = Vec::new();
        for (number, made) in run.iter().enumerate() {
            arrivals.push((number as u64 + delays[2 * number], (number, false)));
            if answered[number] {
                arrivals.push((number as u64 + made.takes + delays[2 * number + 1], (number, true)));
            }
        }
        arrivals.sort_by_key(|(time, (_, is_answer))| (*time, *is_answer));
        let mut traces = assembler(AssemblerOptions::default());
        let (mut told, mut now) = (Vec::new(), 1000 * SECOND);
        for ((_, piece), between) in arrivals.iter().zip(happens) {
            hand_in(&mut traces, now, &run, *piece);
            told.extend(drain(&mut traces).0);
            now += match between {
                Between::Settled => SECOND,
                Between::Pause => 700 * SECOND,
                Between::Nothing | Between::Crash => 0,
            };
            traces.advance(now);
            told.extend(drain(&mut traces).0);
            if between == Between::Pause {
                prop_assert_eq!((traces.open_traces(), traces.parked_traces()), (0, 1));
            }
            if between == Between::Crash {
                traces = restarted(&traces, AssemblerOptions::default());
            }
            prop_assert!(balanced(traces.counts()), "{:?}", traces.counts());
        }
        traces.close_all(now);
        let (rest, closed) = drain(&mut traces);
        told.extend(rest);
        prop_assert_eq!(&closed[0].verdicts, &in_order(&run, answered));
        let unanswered = answered.iter().filter(|answered| !**answered).count() as u64;
        prop_assert_eq!(closed[0].unpaired, Unpaired { calls: unanswered, messages: 0 });
        prop_assert_eq!((traces.counts().judged, traces.bytes()), (arrivals.len() as u64, 0));
        assert_series(&told, &closed);
    }

    /// If calls do not overlap, no finding is withdrawn.
    #[test]
    fn calls_that_do_not_overlap_are_never_judged_otherwise(
        run in proptest::collection::vec(made(), 1..40),
        happens in proptest::collection::vec(between(), 80),
    ) {
        let mut traces = assembler(AssemblerOptions::default());
        let (mut told, mut now) = (Vec::new(), 0);
        for (piece, between) in (0..run.len()).flat_map(|number| [(number, false), (number, true)]).zip(happens) {
            hand_in(&mut traces, now, &run, piece);
            now += if between == Between::Pause { 700 * SECOND } else { 0 };
            traces.advance(now);
            told.extend(drain(&mut traces).0);
            if between == Between::Crash {
                traces = restarted(&traces, AssemblerOptions::default());
            }
        }
        let kinds = updates(&told);
        prop_assert!(kinds.iter().all(|(kind, _)| *kind != UpdateKind::Withdrawn), "{:?}", kinds);
    }

    /// A stream that is split between two assemblers, whose states are then joined, ends as it does in one.
    #[test]
    fn two_halves_are_one(
        run in proptest::collection::vec(made(), 1..40),
        halves in proptest::collection::vec(any::<bool>(), 80),
    ) {
        let mut parts = [assembler(AssemblerOptions::default()), assembler(AssemblerOptions::default())];
        for (piece, half) in (0..run.len()).flat_map(|number| [(number, false), (number, true)]).zip(halves) {
            hand_in(&mut parts[usize::from(half)], piece.0 as u64 * SECOND, &run, piece);
        }
        let mut whole = assembler(AssemblerOptions::default());
        for part in &parts {
            whole.load(&mut state(part).as_slice()).unwrap();
        }
        prop_assert_eq!(whole.open_traces() + whole.parked_traces(), 1);
        whole.close_all(100 * SECOND);
        let (_, closed) = drain(&mut whole);
        prop_assert_eq!(&closed[0].verdicts, &in_order(&run, &vec![true; run.len()]));
        prop_assert_eq!(whole.counts().judged, 2 * run.len() as u64);
        prop_assert!(balanced(whole.counts()));
    }

    /// For any pieces, in any order and with any limits, every piece is accounted for.
    #[test]
    fn every_piece_is_counted(
        pieces in proptest::collection::vec((0_u8..7, 0_u8..4, 0_u8..5, 0_u64..50, 0_u64..50), 0..150),
        max_open in 1_usize..5,
        max_pieces in 1_usize..100,
        max_bytes in prop_oneof![Just(1_usize << 30), 1_usize..40_000],
    ) {
        let mut traces = assembler(AssemblerOptions {
            idle: Duration::from_secs(10),
            expire: Duration::from_secs(20),
            max_open,
            max_pieces,
            max_bytes,
            ..AssemblerOptions::default()
        });
        let mut sent = 0;
        for (kind, trace, id, now, time) in pieces {
            let (trace, id, now, time) = (trace.to_string(), id.to_string(), now * SECOND, time * SECOND);
            let action = Action::new("look").call_id(&id);
            let step = StepInput::action(Actor::Agent, action).time(time);
            sent += u64::from(kind < 4);
            match kind {
                0 => traces.step(now, &trace, &step).unwrap(),
                1 | 2 => traces.call(now, &trace, &step).unwrap(),
                3 => traces.answer(now, &trace, &Reply::new(&id, Status::Error, "no").time(time)),
                4 => traces.advance(now),
                5 => { traces.close(now, &trace); }
                _ => {
                    let metadata = Metadata::default();
                    traces.describe(now, &trace, metadata);
                }
            }
            prop_assert!(balanced(traces.counts()), "{:?}", traces.counts());
            prop_assert!(traces.open_traces() <= max_open && traces.bytes() <= max_bytes);
        }
        traces.close_all(100 * SECOND);
        let counts = traces.counts();
        prop_assert_eq!((counts.received, counts.open, counts.parked, traces.bytes()), (sent, 0, 0, 0));
        prop_assert!(balanced(counts));
        let (others, closed) = drain(&mut traces);
        prop_assert_eq!(closed.len() as u64, counts.traces_closed + counts.traces_evicted);
        let late = others.iter().filter(|event| matches!(event, LiveEvent::Late { .. })).count();
        prop_assert_eq!(late, traces.late().count());
        prop_assert_eq!(traces.late().map(|(_, count)| count).sum::<u64>(), counts.late);
    }
}

const SAME: Made = Made { tool: 0, argument: 0, fails: false, takes: 0 };

/// Equal calls are answered while a call runs in the background.
#[test]
fn an_open_call_holds_nothing_back() {
    let mut traces = assembler(AssemblerOptions::default());
    let background = Action::new("bg").call_id("bg");
    traces.call(0, "t", &StepInput::action(Actor::Agent, background)).unwrap();
    for number in 1..=30 {
        let (now, id) = (number * SECOND, number.to_string());
        let look = Action::new("look").call_id(&id);
        traces.call(now, "t", &StepInput::action(Actor::Agent, look)).unwrap();
        traces.answer(now + 1, "t", &Reply::new(&id, Status::Ok, "a wall"));
        if number == 3 {
            assert_eq!(updates(&drain(&mut traces).0), [(UpdateKind::Opened, "loop:3".to_owned())]);
        }
    }
    traces.answer(31 * SECOND, "t", &Reply::new("bg", Status::Ok, "done"));
    traces.advance(32 * SECOND);
    traces.close(33 * SECOND, "t");
    let (events, closed) = drain(&mut traces);
    assert!(updates(&events).iter().all(|(kind, _)| *kind == UpdateKind::Grown), "{events:?}");
    let found = &closed[0].verdicts[1].1.findings()[0];
    assert_eq!((found.id.as_str(), found.first, found.last, closed[0].steps), ("loop:3", 1, 30, 31));
}

#[test]
fn a_call_that_is_never_answered_is_part_of_the_run() {
    let mut traces = assembler(AssemblerOptions::default());
    traces.call(0, "t", &StepInput::action(Actor::Agent, Action::new("lost").call_id("x"))).unwrap();
    let look = Action::new("look").answered(Status::Ok, "a wall");
    traces.step(SECOND, "t", &StepInput::action(Actor::Agent, look)).unwrap();
    traces.answer(61 * SECOND, "t", &Reply::new("another", Status::Ok, "?"));
    assert_eq!((traces.waiting(), traces.peek("t").unwrap()[0].steps), (2, 1));
    traces.close(62 * SECOND, "t");
    let (_, closed) = drain(&mut traces);
    assert_eq!(closed[0].unpaired, Unpaired { calls: 1, messages: 1 });
    assert_eq!((closed[0].steps, closed[0].reason), (2, CloseReason::Requested));
}

/// Parallel calls that are answered out of order are judged again in call order once they have settled.
#[test]
fn calls_that_overlap_are_judged_in_call_order() {
    let mut traces = assembler(AssemblerOptions::default());
    let millisecond = SECOND / 1000;
    let run = [SAME; 4];
    for number in 0..4 {
        hand_in(&mut traces, 0, &run, (number, false));
    }
    for number in [3, 1, 2] {
        hand_in(&mut traces, millisecond, &run, (number, true));
    }
    assert!(traces.next_event().is_none());
    traces.advance(60 * millisecond);
    assert_eq!(updates(&drain(&mut traces).0), [(UpdateKind::Opened, "loop:3".to_owned())]);
    hand_in(&mut traces, SECOND, &run, (0, true));
    traces.close(2 * SECOND, "t");
    let (events, closed) = drain(&mut traces);
    assert_eq!(closed[0].verdicts, in_order(&run, &[true; 4]));
    assert_eq!(updates(&events), [(UpdateKind::Withdrawn, "loop:3".to_owned())]);
    assert_eq!(closed[0].verdicts[1].1.findings()[0].id, "loop:2");
}

/// A call is approved half an hour later, and the agent continues as before.
#[test]
fn a_pause_does_not_end_a_run() {
    let mut traces = assembler(AssemblerOptions::default());
    let run = [SAME; 9];
    let mut now = 0;
    for number in 0..2 {
        hand_in_both(&mut traces, now, &run, number);
        now += SECOND;
    }
    traces.advance(now + 1800 * SECOND);
    assert_eq!((traces.open_traces(), traces.parked_traces(), traces.counts().parked), (0, 1, 4));
    assert_eq!(drain(&mut traces).0, [LiveEvent::Parked { trace: "t".into() }]);
    assert_eq!(traces.peek("t").unwrap()[0].steps, 2);
    now += 1801 * SECOND;
    for number in 2..4 {
        hand_in_both(&mut traces, now, &run, number);
    }
    assert_eq!(updates(&drain(&mut traces).0), [(UpdateKind::Opened, "loop:2".to_owned())]);
    // Another pause, with an open finding.
    now += 1800 * SECOND;
    traces.advance(now);
    for number in 4..9 {
        hand_in_both(&mut traces, now, &run, number);
    }
    traces.close_all(now);
    let (events, closed) = drain(&mut traces);
    assert!(updates(&events).iter().all(|update| *update == (UpdateKind::Grown, "loop:2".to_owned())));
    assert_eq!((closed[0].verdicts[1].1.findings()[0].last, traces.counts().late), (8, 0));
    assert_eq!((traces.counts().traces_parked, traces.counts().traces_resumed), (2, 2));
}

#[test]
fn only_closed_and_evicted_traces_make_pieces_late() {
    let mut traces = assembler(AssemblerOptions {
        max_open: 2,
        expire: Duration::from_secs(3600),
        ..AssemblerOptions::default()
    });
    let hello = StepInput::message(Actor::User, "hello");
    for (now, trace) in [(0, "a"), (1, "b"), (2, "a"), (3, "c")] {
        traces.step(now * SECOND, trace, &hello).unwrap();
    }
    assert_eq!(drain(&mut traces).0, [LiveEvent::Parked { trace: "b".into() }]);
    traces.step(4 * SECOND, "b", &hello).unwrap();
    assert_eq!(drain(&mut traces).0, [LiveEvent::Parked { trace: "a".into() }]);
    assert!(traces.close(5 * SECOND, "b"));
    traces.step(6 * SECOND, "b", &hello).unwrap();
    traces.step(6 * SECOND, "b", &hello).unwrap();
    let (events, closed) = drain(&mut traces);
    assert_eq!((closed[0].steps, &events[..]), (2, &[LiveEvent::Late { trace: "b".into() }][..]));
    assert_eq!(traces.late().collect::<Vec<_>>(), [("b", 2)]);
    traces.advance(4000 * SECOND);
    let (_, closed) = drain(&mut traces);
    let ended: Vec<_> = closed.iter().map(|closed| (&*closed.trace, closed.reason)).collect();
    assert_eq!(ended, [("a", CloseReason::Expired), ("c", CloseReason::Expired)]);
    assert!(closed[0].reason.is_eviction());
}

/// Ids and metadata count as well, so long ones cannot fill the memory.
#[test]
fn ids_and_metadata_are_below_the_cap() {
    let mut traces = assembler(AssemblerOptions { max_bytes: 1 << 20, ..AssemblerOptions::default() });
    let long = "x".repeat(100_000);
    for number in 0..100 {
        let mut metadata = Metadata::default();
        metadata.task = Some(long.clone());
        traces.describe(number, &format!("{number}{long}"), metadata);
        assert!(traces.bytes() <= 1 << 20);
    }
    assert!(traces.open_traces() + traces.parked_traces() <= 10);
    // Few closed traces with long ids are remembered.
    let options = AssemblerOptions { remembered: 1000, ..AssemblerOptions::default() };
    let mut traces = assembler(options);
    for number in 0..100 {
        let id = format!("{number}{long}");
        traces.step(number, &id, &StepInput::message(Actor::User, "hello")).unwrap();
        traces.close(number, &id);
    }
    let state = state(&traces);
    assert!(state.len() < 100_000, "{}", state.len());
}

#[test]
fn a_state_of_another_version_or_a_part_of_one_is_an_error() {
    let mut traces = assembler(AssemblerOptions::default());
    hand_in(&mut traces, 0, &[SAME], (0, false));
    let text = String::from_utf8(state(&traces)).unwrap();
    let load = |text: &str| assembler(AssemblerOptions::default()).load(&mut text.as_bytes());
    load(&text).unwrap();
    let error = load(&text.replace("\"wrongturn_state\":2", "\"wrongturn_state\":3")).unwrap_err();
    assert_eq!(error.to_string(), "line 1 of the state: expected a state of version 2, got version 3");
    for end in [0, 5, text.len() - 1] {
        assert!(load(&text[..end]).unwrap_err().to_string().contains("ends early"));
    }
    assert!(load("{}\n").is_err());
    let error = load(&text.replace("\"pieces\":[[", "\"pieces\":[7,[")).unwrap_err().to_string();
    assert!(error.starts_with("line 2"), "{error}");
}

#[test]
fn what_breaks_a_rule_is_refused() {
    let mut traces = assembler(AssemblerOptions::default());
    let look = || StepInput::action(Actor::Agent, Action::new("look"));
    assert!(traces.call(0, "t", &look()).is_err(), "no id");
    assert!(traces.step(0, "t", &look().progress(f64::NAN)).is_err());
    assert_eq!((traces.counts(), traces.open_traces()), (AssemblerCounts::default(), 0));
}

#[test]
fn events_are_written_as_json() {
    let mut traces = assembler(AssemblerOptions::default());
    for number in 0..3 {
        hand_in_both(&mut traces, number as u64, &[SAME; 3], number);
    }
    traces.close_all(9);
    hand_in(&mut traces, 9, &[SAME], (0, false));
    let events: Vec<_> = std::iter::from_fn(|| traces.next_event()).map(|event| json!(event)).collect();
    let kinds: Vec<_> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["update", "closed", "late"]);
    assert_eq!(events[0]["update"]["finding"]["id"], "loop:2");
    assert_eq!(events[1]["verdicts"]["loop"]["detected"], true);
    assert_eq!(json!(traces.counts())["late"], 1);
}
