//! Traces put together from pieces: any order within the window gives what order gives, and nothing is lost uncounted.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "helpers of tests say what they expect by failing"
)]

use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;
use wrongturn::{
    Action, Actor, AssemblerCounts, AssemblerOptions, CloseReason, ClosedTrace, LiveEvent, Monitor,
    ReadOptions, Reply, SpanBatch, Status, StepInput, TraceAssembler, UpdateKind, Verdict, default_detectors,
    read_traces,
};

const SECOND: u64 = 1_000_000_000;

/// A call of a made-up run: tool, argument, whether it fails, and after how many seconds the answer comes.
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

fn options() -> AssemblerOptions {
    AssemblerOptions { reorder: Duration::from_secs(30), ..AssemblerOptions::default() }
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

/// Hands in the pieces of one trace in this order, a second apart; each piece is a call (`false`) or its answer.
fn hand_in(traces: &mut TraceAssembler, run: &[Made], order: &[(usize, bool)]) {
    for (arrival, &(number, is_answer)) in (0_u64..).zip(order) {
        let made = run[number];
        let (now, id) = (1000 * SECOND + arrival * SECOND, format!("c{number}"));
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
}

/// The same run as complete steps in order.
fn in_order(run: &[Made]) -> Vec<(&'static str, Verdict)> {
    let mut monitor = Monitor::new(&default_detectors(), &None.into()).unwrap();
    for (number, made) in (0_u64..).zip(run) {
        let (status, text) = made.answer();
        let action = Action::new(made.name()).arguments(&json!({"a": made.argument})).answered(status, &text);
        let usage = wrongturn::Usage { duration_ns: Some(made.takes * SECOND + 1), ..Default::default() };
        let step = StepInput::action(Actor::Agent, action).time(number * SECOND).usage(usage);
        monitor.observe(step).unwrap();
    }
    let no_route = "a live trace tells no expected route".into();
    let mut verdicts = monitor.finish();
    verdicts[2].1 = Verdict::NotApplicable { reason: no_route };
    verdicts
}

fn balanced(counts: AssemblerCounts) -> bool {
    counts.received == counts.judged + counts.evicted + counts.late + counts.ignored + counts.open
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 200, ..ProptestConfig::default() })]

    /// Pieces that come at most 30 s late (here: in blocks of 30 pieces, a second apart) give the verdicts of order.
    #[test]
    fn any_order_within_the_window_is_order(
        run in proptest::collection::vec(made(), 0..40),
        seeds in proptest::collection::vec(any::<u64>(), 80),
    ) {
        let mut pieces: Vec<(usize, bool)> =
            (0..run.len()).flat_map(|number| [(number, false), (number, true)]).collect();
        pieces.sort_by_key(|&(number, is_answer)| {
            number as u64 * SECOND + u64::from(is_answer) * (run[number].takes * SECOND + 1)
        });
        for block in pieces.chunks_mut(30) {
            let mut keyed: Vec<_> = block.iter().copied().zip(&seeds).collect();
            keyed.sort_by_key(|(_, seed)| **seed);
            for (slot, (piece, _)) in block.iter_mut().zip(keyed) {
                *slot = piece;
            }
        }
        let mut traces = assembler(options());
        hand_in(&mut traces, &run, &pieces);
        traces.close_all(2000 * SECOND);
        let (told, closed) = drain(&mut traces);
        if run.is_empty() {
            prop_assert!(closed.is_empty());
            return Ok(());
        }
        prop_assert_eq!(&closed[0].verdicts, &in_order(&run));
        prop_assert_eq!(closed[0].unpaired, wrongturn::Unpaired::default());
        prop_assert_eq!(traces.counts().out_of_order, 0);
        prop_assert!(balanced(traces.counts()));
        // What was opened is in the verdicts, by name.
        for event in told {
            let LiveEvent::Update { update, .. } = event else { panic!("{event:?}") };
            let findings = closed[0].verdicts.iter().flat_map(|(_, verdict)| verdict.findings());
            let mut named = findings.filter(|finding| {
                finding.id == update.finding.id || finding.merged.contains(&update.finding.id)
            });
            prop_assert!(named.next().is_some(), "{:?}", update);
        }
    }

    /// Whatever comes, in whatever order and with whatever caps: every piece is accounted for.
    #[test]
    fn every_piece_is_counted(
        pieces in proptest::collection::vec((0_u8..6, 0_u8..4, 0_u8..5, 0_u64..50, 0_u64..50), 0..150),
        max_open in 1_usize..5,
        max_held in 1_usize..10,
        max_bytes in prop_oneof![Just(1_usize << 30), 1_usize..40_000],
    ) {
        let mut traces = assembler(AssemblerOptions {
            reorder: Duration::from_secs(5),
            idle: Duration::from_secs(20),
            max_open,
            max_held,
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
                _ => { traces.close(now, &trace); }
            }
            prop_assert!(balanced(traces.counts()), "{:?}", traces.counts());
            prop_assert!(traces.open_traces() <= max_open && traces.bytes() <= max_bytes);
        }
        traces.close_all(100 * SECOND);
        let counts = traces.counts();
        prop_assert_eq!((counts.received, counts.open, traces.bytes(), traces.held()), (sent, 0, 0, 0));
        prop_assert!(balanced(counts));
        let (others, closed) = drain(&mut traces);
        prop_assert_eq!(closed.len() as u64, counts.traces_closed + counts.traces_evicted);
        let late = others.iter().filter(|event| matches!(event, LiveEvent::Late { .. })).count();
        prop_assert_eq!(late, traces.late().count());
        prop_assert_eq!(traces.late().map(|(_, count)| count).sum::<u64>(), counts.late);
    }
}

#[test]
fn a_finding_is_told_while_the_trace_is_open() {
    let mut traces = assembler(AssemblerOptions { reorder: Duration::ZERO, ..AssemblerOptions::default() });
    let run = [Made { tool: 0, argument: 0, fails: false, takes: 0 }; 6];
    let order: Vec<_> = (0..run.len()).flat_map(|number| [(number, false), (number, true)]).collect();
    hand_in(&mut traces, &run, &order);
    let (told, _) = drain(&mut traces);
    let told = told.iter().filter_map(|event| match event {
        LiveEvent::Update { update, .. } => Some((update.kind, update.finding.id.as_str())),
        _ => None,
    });
    let told: Vec<_> = told.collect();
    assert_eq!(told, [(UpdateKind::Opened, "loop:2"), (UpdateKind::Grown, "loop:2")]);
    assert_eq!(traces.open_traces(), 1);
}

#[test]
fn a_call_that_is_never_answered_holds_the_others_back_only_for_a_while() {
    let mut traces = assembler(AssemblerOptions {
        reorder: Duration::ZERO,
        answer: Duration::from_secs(60),
        ..AssemblerOptions::default()
    });
    let lost = StepInput::action(Actor::Agent, Action::new("lost").call_id("x"));
    traces.call(0, "t", &lost).unwrap();
    for _ in 0..4 {
        let look = Action::new("look").answered(Status::Ok, "a wall");
        traces.step(SECOND, "t", &StepInput::action(Actor::Agent, look)).unwrap();
    }
    assert!(traces.next_event().is_none());
    traces.advance(60 * SECOND);
    assert!(matches!(traces.next_event(), Some(LiveEvent::Update { .. })));
    traces.answer(61 * SECOND, "t", &Reply::new("x", Status::Ok, "found"));
    traces.answer(61 * SECOND, "t", &Reply::new("nobody's", Status::Ok, "?"));
    assert_eq!(traces.counts().late_answers, 1);
    traces.close(62 * SECOND, "t");
    let (_, closed) = drain(&mut traces);
    assert_eq!((closed[0].unpaired.calls, closed[0].unpaired.messages), (1, 1));
    assert_eq!((closed[0].steps, closed[0].reason), (5, CloseReason::Requested));
}

#[test]
fn traces_end_when_they_are_silent_or_evicted_and_what_is_late_is_named() {
    let mut traces = assembler(AssemblerOptions { max_open: 2, ..AssemblerOptions::default() });
    let hello = StepInput::message(Actor::User, "hello");
    for (now, trace) in [(0, "a"), (1, "b"), (2, "a"), (3, "c")] {
        traces.step(now * SECOND, trace, &hello).unwrap();
    }
    let (_, closed) = drain(&mut traces);
    assert_eq!((&*closed[0].trace, closed[0].reason), ("b", CloseReason::TooManyOpen));
    assert!(closed[0].reason.is_eviction());
    traces.step(4 * SECOND, "b", &hello).unwrap();
    traces.step(5 * SECOND, "b", &hello).unwrap();
    assert_eq!(traces.next_event(), Some(LiveEvent::Late { trace: "b".into() }));
    assert_eq!((traces.next_event(), traces.late().collect::<Vec<_>>()), (None, vec![("b", 2)]));
    traces.advance(603 * SECOND);
    let (_, closed) = drain(&mut traces);
    let ended: Vec<_> = closed.iter().map(|closed| (&*closed.trace, closed.reason)).collect();
    assert_eq!(ended, [("a", CloseReason::Idle), ("c", CloseReason::Idle)]);
}

#[test]
fn what_breaks_a_rule_is_refused() {
    let mut traces = assembler(AssemblerOptions::default());
    let look = || StepInput::action(Actor::Agent, Action::new("look"));
    assert!(traces.call(0, "t", &look()).is_err(), "no id");
    assert!(traces.step(0, "t", &look().progress(f64::NAN)).is_err());
    assert_eq!((traces.counts(), traces.open_traces()), (AssemblerCounts::default(), 0));
}

// ---- Spans ---------------------------------------------------------------------------------------------------------

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

/// The spans of a run that calls one tool again and again: the agent's, and one of each call.
fn spans(calls: u64) -> Vec<serde_json::Value> {
    let span = |id: u64, parent: &str, name: &str, start: u64, end: u64, attributes: serde_json::Value| {
        json!({"traceId": TRACE, "spanId": format!("{id:016x}"), "parentSpanId": parent, "name": name,
            "startTimeUnixNano": start.to_string(), "endTimeUnixNano": end.to_string(), "attributes": attributes})
    };
    let text = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
    let mut spans: Vec<_> = (0..calls)
        .map(|number| {
            let attributes = json!([
                text("gen_ai.operation.name", "execute_tool"),
                text("gen_ai.tool.name", "look"),
                text("gen_ai.tool.call.arguments", "{\"at\": \"wall\"}"),
                text("gen_ai.tool.call.result", "a wall"),
            ]);
            let start = 10 + number * 10;
            span(number + 2, "0000000000000001", "execute_tool look", start, start + 5, attributes)
        })
        .collect();
    let agent = json!([text("gen_ai.operation.name", "invoke_agent"), text("gen_ai.agent.name", "clerk")]);
    spans.push(span(1, "", "invoke_agent clerk", 1, 10 + calls * 10, agent));
    spans
}

fn body(spans: &[serde_json::Value]) -> String {
    json!({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).to_string()
}

fn send(traces: &mut TraceAssembler, now: u64, spans: &[serde_json::Value]) {
    let (batch, reading) = SpanBatch::read(body(spans).as_bytes(), &ReadOptions::default()).unwrap();
    assert!(reading.errors.is_empty());
    traces.spans(now, batch);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 40, ..ProptestConfig::default() })]

    /// Spans shuffled, split over bodies and sent twice are judged as the file in order is.
    #[test]
    fn spans_in_any_order_are_one_trace(
        calls in 1_u64..12,
        seeds in proptest::collection::vec(any::<u64>(), 40),
        split in 1_usize..5,
    ) {
        let whole = spans(calls);
        let (read, _) = read_traces(body(&whole).as_bytes(), &ReadOptions::default());
        let mut shuffled: Vec<_> = whole.iter().chain(whole.iter().take(3)).cloned().zip(seeds).collect();
        shuffled.sort_by_key(|(_, seed)| *seed);
        let shuffled: Vec<_> = shuffled.into_iter().map(|(span, _)| span).collect();
        let mut traces = assembler(AssemblerOptions::default());
        for part in shuffled.chunks(split) {
            send(&mut traces, SECOND, part);
        }
        prop_assert!(traces.next_event().is_none());
        traces.advance(11 * SECOND);
        let (_, closed) = drain(&mut traces);
        prop_assert_eq!(closed.len(), 1);
        prop_assert_eq!((closed[0].reason, &*closed[0].trace), (CloseReason::Ended, TRACE));
        prop_assert_eq!(&closed[0].metadata, read[0].metadata());
        let judged: Vec<_> = default_detectors().iter().map(|detector| detector.detect(&read[0])).collect();
        for ((id, live), filed) in closed[0].verdicts.iter().zip(judged) {
            prop_assert!(*id == "route_inefficiency" || *live == filed, "{}: {:?} {:?}", id, live, filed);
        }
        prop_assert_eq!(closed[0].verdicts[1].1.detected(), Some(calls >= 3));
        if calls >= 3 {
            let last = closed[0].verdicts[1].1.findings()[0].span.unwrap();
            prop_assert_eq!(last.to_string(), format!("{:016x}", calls + 1));
        }
        prop_assert!(balanced(traces.counts()));
    }
}

#[test]
fn late_spans_are_counted_and_too_many_evict() {
    let mut traces = assembler(AssemblerOptions { max_spans: 5, ..AssemblerOptions::default() });
    let whole = spans(8);
    send(&mut traces, SECOND, &whole);
    let (others, closed) = drain(&mut traces);
    assert_eq!(closed[0].reason, CloseReason::TooManySpans);
    assert_eq!((closed[0].steps, others), (6, vec![LiveEvent::Late { trace: TRACE.into() }]));
    let counts = traces.counts();
    assert_eq!((counts.received, counts.evicted, counts.late), (9, 6, 3));
}

#[test]
fn spans_of_no_agent_are_ignored_by_count() {
    let mut traces = assembler(AssemblerOptions::default());
    let other = json!({"traceId": TRACE, "spanId": "00000000000000ff", "name": "GET /", "startTimeUnixNano": "1",
        "endTimeUnixNano": "2"});
    send(&mut traces, 0, &[other]);
    traces.close_all(SECOND);
    assert!(traces.next_event().is_none());
    assert_eq!(traces.counts().ignored, 1);
}
