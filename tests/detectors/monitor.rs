//! Tests monitors: what they report and when, what they refuse, and how much memory they use.

use wrongturn::{
    Action, ErrorKind, Finding, Monitor, Status, Step, default_detectors,
    detect::detector_info,
    live::{Update, UpdateKind},
    trace::{Actor, Actors, StepInput, Usage},
};

use crate::custom::Custom;

fn sold_out<'a>() -> StepInput<'a> {
    StepInput::action(Actor::Agent, Action::new("book").answered(Status::Error, "sold out"))
}

/// Returns an action with this argument. The answer is always the same.
fn step(name: &str, argument: u32, status: Status) -> StepInput<'_> {
    let action = Action::new(name).arguments(&serde_json::json!(argument)).answered(status, "as before");
    StepInput::action(Actor::Agent, action)
}

/// A longer loop joins two loops, and keeps the id of the one reported first.
#[test]
fn loops_that_grow_together_are_merged_by_name() {
    let detectors = vec![detector_info("loop").unwrap().default_detector()];
    let mut monitor = Monitor::new(&detectors).unwrap();
    let mut told = Vec::new();
    for name in ["b", "b", "b", "b", "x", "c", "c", "c", "c", "b", "b"] {
        monitor.observe(step(name, 0, Status::Ok)).unwrap();
        told.extend(monitor.updates());
    }
    let end = monitor.conclude();
    let names = |updates: &[Update]| -> Vec<String> {
        let name = |update: &Update| {
            let into = update.into.as_ref().map_or(String::new(), |into| format!(" into {into}"));
            format!(
                "{} {} {}-{}{into}",
                update.kind, update.finding.id, update.finding.first, update.finding.last
            )
        };
        updates.iter().map(name).collect()
    };
    assert_eq!(names(&told), ["opened loop:2 0-2", "opened loop:7 5-7"]);
    assert_eq!(names(&end.updates), ["merged loop:7 5-7 into loop:2", "closed loop:2 0-10"]);
    assert_eq!(end.verdicts[0].1.findings()[0].merged, ["loop:7"]);
}

/// Growth is reported at doublings, so even a long loop has few updates.
#[test]
fn a_long_loop_is_told_now_and_then() {
    let detectors = vec![detector_info("loop").unwrap().default_detector()];
    let mut monitor = Monitor::new(&detectors).unwrap();
    let mut told = Vec::new();
    for _ in 0..1000 {
        monitor.observe(step("look", 0, Status::Ok)).unwrap();
        told.extend(monitor.updates().into_iter().map(|update| (update.kind, update.finding.last)));
    }
    let grown: Vec<u64> = (1..9).map(|power| 3 * (1 << power) - 1).collect();
    assert_eq!(told[0], (UpdateKind::Opened, 2));
    assert_eq!(told[1..].iter().map(|(_, last)| *last).collect::<Vec<_>>(), grown);
}

/// A detector that exceeds the limit judges the trace up to that point, and its verdict says so.
#[test]
fn a_cap_on_memory_stops_the_largest_and_says_so() {
    let detectors = default_detectors();
    let limit = 60_000;
    let mut monitor = Monitor::new(&detectors).unwrap().with_memory_limit(limit);
    for _ in 0..4 {
        monitor.observe(step("look", 0, Status::Ok)).unwrap();
    }
    for number in 0..20_000 {
        monitor.observe(step("book", number, Status::Error)).unwrap();
        assert!(monitor.memory() <= limit + 10_000, "{number}: {}", monitor.memory());
    }
    let verdicts = monitor.finish();
    let of = |id: &str| &verdicts.iter().find(|(other, _)| *other == id).unwrap().1;
    let looping = of("loop").judgement().unwrap();
    assert!(looping.detected && looping.stopped_at.is_some() && of("loop").is_stopped());
    let recovery = serde_json::to_value(of("tool_error_recovery")).unwrap();
    assert!(recovery["not_applicable"].as_str().unwrap().starts_with("stopped at step "), "{recovery}");
    assert!(of("tool_error_recovery").is_stopped() && !of("route_inefficiency").is_stopped());
}

#[test]
fn a_step_that_is_refused_is_left_out() {
    let detectors = default_detectors();
    let mut monitor = Monitor::new(&detectors).unwrap();
    monitor.observe(sold_out().at(7).turn(7)).unwrap();
    for refused in [sold_out().at(7), sold_out().at(3), sold_out().at(8).progress(f64::NAN)] {
        assert_eq!(monitor.observe(refused).unwrap_err().kind(), ErrorKind::Trace);
        assert_eq!(monitor.new_findings().count(), 0);
    }
    monitor.observe(sold_out().at(8).turn(8)).unwrap();
    let told: Vec<_> =
        monitor.new_findings().map(|finding| (finding.detector.into_owned(), finding.first)).collect();
    assert_eq!(told, [("feedback_blindness".to_owned(), 8)]);
    assert_eq!(monitor.new_findings().count(), 0, "nothing is told twice");
    let verdicts = monitor.finish();
    let detected: Vec<_> = verdicts.iter().map(|(id, verdict)| (&**id, verdict.detected())).collect();
    let expected = [
        ("feedback_blindness", Some(true)),
        ("loop", Some(false)),
        ("route_inefficiency", None),
        ("tool_error_recovery", Some(true)),
        ("wasted_actions", Some(false)),
    ];
    assert_eq!(detected, expected);
}

#[test]
fn two_detectors_of_one_name_are_refused() {
    let mut detectors = default_detectors();
    detectors.push(std::sync::Arc::clone(&detectors[1]));
    let error = Monitor::new(&detectors).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.to_string().contains("`loop`"), "{error}");
}

#[test]
fn a_trace_is_concluded_once_and_written_as_json() {
    let detectors = default_detectors();
    let mut monitor = Monitor::new(&detectors).unwrap();
    let mut ends = Vec::new();
    for _ in 0..2 {
        for turn in 0..5 {
            monitor.observe(sold_out().at(turn).turn(turn)).unwrap();
        }
        let end = monitor.conclude();
        let again = monitor.conclude();
        assert_eq!((&again.verdicts, again.updates.len()), (&end.verdicts, 0));
        ends.push(end);
        monitor.reopen(&None.into());
    }
    assert_eq!(ends[0], ends[1]);
    let json = serde_json::to_value(&ends[0]).unwrap();
    assert_eq!(json["verdicts"]["loop"]["detected"], true);
    let closed = &json["updates"][0];
    assert_eq!(closed["kind"], "closed");
    assert!(closed["finding"]["id"].is_string() && closed.get("into").is_none(), "{closed}");
}

/// Findings have the cost of their steps, and a reopened monitor has forgotten the previous trace.
#[test]
fn findings_carry_the_cost_of_their_steps() {
    let detectors = default_detectors();
    let mut monitor = Monitor::new(&detectors).unwrap();
    let mut verdicts = Vec::new();
    for _ in 0..2 {
        for turn in 0..5 {
            let usage = Usage { input_tokens: Some(100), duration_ns: Some(turn), ..Usage::default() };
            monitor.observe(sold_out().at(turn).turn(turn).usage(usage)).unwrap();
        }
        let told: Vec<Finding> = monitor.new_findings().collect();
        assert!(told.iter().all(|finding| finding.cost.is_some()));
        verdicts.push(monitor.conclude().verdicts);
        monitor.reopen(&None.into());
    }
    assert_eq!(verdicts[0], verdicts[1]);
    let of = |id: &str| verdicts[0].iter().find(|(other, _)| *other == id).unwrap().1.findings().to_vec();
    let [looping] = &of("loop")[..] else { panic!("one loop") };
    let cost = looping.cost.unwrap();
    assert_eq!(
        (cost.steps, cost.input_tokens, cost.output_tokens, cost.duration_ns),
        (5, Some(500), None, Some(10))
    );
    assert_eq!(looping.id, "loop:2");
    assert_eq!(looping.message, "`book` failed 5 times in the same way (steps 0-4): sold out");
    let json = serde_json::to_value(looping).unwrap();
    assert_eq!(json["cost"], serde_json::json!({"steps": 5, "duration_ns": 10, "input_tokens": 500}));
    let read: Finding = serde_json::from_value(json).unwrap();
    assert_eq!(&read, looping);
}

#[test]
fn a_detector_that_does_not_track_its_memory_is_charged_with_what_it_is_handed() {
    let keep = |answers: &mut Vec<String>, step: &Step<'_>| {
        let answer = step.action_of(Actors::All).and_then(|action| action.observation.present());
        answers.extend(answer.map(|text| text.to_str().into_owned()));
    };
    let detectors = Custom { id: "hoarder", state: Vec::new(), observe: keep, detected: |_| false }.alone();
    let mut monitor = Monitor::new(&detectors).unwrap().with_memory_limit(1 << 20);
    let answer = "x".repeat(100_000);
    for number in 0..20_u64 {
        let action = Action::new("read").answered(Status::Ok, &answer);
        monitor.observe(StepInput::action(Actor::Agent, action)).unwrap();
        let is_stopped = monitor.peek()[0].1.is_stopped();
        assert_eq!(is_stopped, number >= 10, "{number}");
    }
}

#[test]
fn monitors_are_shared_between_threads() {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<Monitor>();
    is_shared::<wrongturn::TraceAssembler>();
}
