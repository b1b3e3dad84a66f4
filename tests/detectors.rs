//! The detectors against `docs/design.md`: a naive statement of each definition on drawn runs, and a table of the
//! sharp edges, spelled out by hand. Both in one pass over a whole trace and step by step.

#![allow(
    clippy::indexing_slicing,
    reason = "a naive statement says `actions[i]`; a wrong one fails its test"
)]

mod naive;

use naive::cases;
use naive::draw;
use naive::{Expected, Run, place_and_facts};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use tracelint::{
    Action, Actors, Detector, DetectorInfo, ErrorKind, Evidence, FeedbackBlindness, FeedbackBlindnessConfig,
    Finding, Loop, LoopConfig, LoopDefinition, Monitor, RouteInefficiency, RouteInefficiencyConfig, Status,
    ToolErrorRecovery, ToolErrorRecoveryConfig, Trace, TransientRules, Verdict, default_detectors,
    detector_info,
};

/// One configuration of every detector.
#[derive(Debug, Clone)]
struct Configs {
    blindness: FeedbackBlindnessConfig,
    looping: LoopConfig,
    route: RouteInefficiencyConfig,
    recovery: ToolErrorRecoveryConfig,
}

const BLINDNESS: usize = 0;
const LOOP: usize = 1;
const ROUTE: usize = 2;
const RECOVERY: usize = 3;

impl Configs {
    fn detectors(&self) -> tracelint::Result<Vec<Box<dyn Detector>>> {
        Ok(vec![
            Box::new(FeedbackBlindness::new(self.blindness.clone())?),
            Box::new(Loop::new(self.looping.clone())?),
            Box::new(RouteInefficiency::new(self.route.clone())?),
            Box::new(ToolErrorRecovery::new(self.recovery.clone())?),
        ])
    }

    /// What the definitions say of a run, in the order of the detectors.
    fn expected(&self, run: &Run) -> Vec<Expected> {
        vec![
            naive::feedback_blindness(run, &self.blindness),
            naive::looping(run, &self.looping),
            naive::route_inefficiency(run, &self.route),
            naive::tool_error_recovery(run, &self.recovery),
        ]
    }
}

fn configs() -> impl Strategy<Value = Configs> {
    let looping = prop_oneof![2 => draw::loop_config(LoopDefinition::Stuck), 1 => draw::loop_config(LoopDefinition::Repeat)];
    (draw::feedback_config(), looping, draw::route_config(), draw::recovery_config())
        .prop_map(|(blindness, looping, route, recovery)| Configs { blindness, looping, route, recovery })
}

fn detect(detectors: &[Box<dyn Detector>], trace: &Trace) -> Vec<Verdict> {
    detectors.iter().map(|detector| detector.detect(trace)).collect()
}

/// What was told while a run went on: after each step, in the order of the detectors.
type Told = Vec<Vec<Finding>>;

/// Feeds a run step by step.
fn follow(detectors: &[Box<dyn Detector>], run: &Run) -> tracelint::Result<(Vec<Told>, Vec<Verdict>)> {
    let mut monitor = Monitor::new(detectors, &run.route.clone().into());
    let mut told: Told = vec![Vec::new(); detectors.len()];
    let mut after_each = Vec::new();
    for event in &run.events {
        monitor.observe(event.input())?;
        for finding in monitor.new_findings() {
            let of = detectors.iter().position(|detector| detector.id() == finding.detector);
            told[of.unwrap_or_default()].push(finding.clone());
        }
        after_each.push(told.clone());
    }
    Ok((after_each, monitor.finish().into_iter().map(|(_, verdict)| verdict).collect()))
}

fn places(findings: &[Finding]) -> Vec<(u64, u64, Evidence)> {
    findings.iter().map(place_and_facts).collect()
}

/// The two milestones that a finding lies between.
fn ends(evidence: &Evidence) -> Option<String> {
    match evidence {
        Evidence::RouteInefficiency(evidence) => Some(format!("{:?} {:?}", evidence.from, evidence.to)),
        _ => None,
    }
}

fn sorted_ends<'a>(evidence: impl Iterator<Item = &'a Evidence>) -> Vec<Option<String>> {
    let mut ends: Vec<_> = evidence.map(ends).collect();
    ends.sort();
    ends
}

/// Whether a loop's action is spelled as some call of the run, trimmed.
fn is_named_as_called(run: &Run, finding: &Finding) -> bool {
    let Evidence::Loop(evidence) = &finding.evidence else { return false };
    let mut calls = run.events.iter().filter_map(|event| event.call.as_ref());
    calls.any(|call| call.name.trim() == evidence.action)
}

/// The same value with the keys of every object in falling order, and numbers as floats.
fn respelled(value: &Value) -> String {
    match value {
        Value::Object(entries) => {
            let mut entries: Vec<_> = entries.iter().collect();
            entries.sort_by(|left, right| right.0.cmp(left.0));
            let entries: Vec<_> = entries
                .into_iter()
                .map(|(key, value)| format!("{} : {}", Value::String(key.clone()), respelled(value)))
                .collect();
            format!("{{ {} }}", entries.join(", "))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(respelled).collect::<Vec<_>>().join(","))
        }
        Value::Number(number) => {
            number.as_f64().map_or_else(|| number.to_string(), |number| format!("{number:?}"))
        }
        other => other.to_string(),
    }
}

fn with_other_spelling(run: &Run) -> Run {
    let mut other = run.clone();
    for call in other.events.iter_mut().filter_map(|event| event.call.as_mut()) {
        call.arguments = call.arguments.as_deref().map(|json| {
            serde_json::from_str::<Value>(json).map_or_else(|_| json.to_owned(), |value| respelled(&value))
        });
    }
    other
}

fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn tool_error_recovery_is_as_defined(run in draw::run(), config in draw::recovery_config()) {
        let expected = naive::tool_error_recovery(&run, &config);
        let verdict = ToolErrorRecovery::new(config).unwrap().detect(&run.trace().unwrap());
        prop_assert_eq!(Expected::from(&verdict), expected);
    }

    #[test]
    fn stuck_is_as_defined(run in draw::run(), config in draw::loop_config(LoopDefinition::Stuck)) {
        let expected = naive::looping(&run, &config);
        let verdict = Loop::new(config).unwrap().detect(&run.trace().unwrap());
        prop_assert_eq!(Expected::from(&verdict), expected);
        prop_assert!(verdict.findings().iter().all(|finding| is_named_as_called(&run, finding)));
    }

    #[test]
    fn repeat_is_as_defined(run in draw::run(), config in draw::loop_config(LoopDefinition::Repeat)) {
        let expected = naive::looping(&run, &config);
        let verdict = Loop::new(config).unwrap().detect(&run.trace().unwrap());
        prop_assert_eq!(Expected::from(&verdict), expected);
        prop_assert!(verdict.findings().iter().all(|finding| is_named_as_called(&run, finding)));
    }

    #[test]
    fn feedback_blindness_is_as_defined(run in draw::run(), config in draw::feedback_config()) {
        let expected = naive::feedback_blindness(&run, &config);
        let verdict = FeedbackBlindness::new(config).unwrap().detect(&run.trace().unwrap());
        prop_assert_eq!(Expected::from(&verdict), expected);
    }

    #[test]
    fn route_inefficiency_is_as_defined(run in draw::run(), config in draw::route_config()) {
        let expected = naive::route_inefficiency(&run, &config);
        let verdict = RouteInefficiency::new(config).unwrap().detect(&run.trace().unwrap());
        prop_assert_eq!(Expected::from(&verdict), expected);
    }

    #[test]
    fn transient_failures_are_as_defined(text in "[5.,]{0,3}(503|429|Timed out)[5.,]{0,3}( 500)?", skip in 290..305_usize) {
        for text in [text.clone(), format!("{}{text}", "é".repeat(skip))] {
            let call = naive::error("tool", None, &text).call.unwrap();
            let action = Action::new("tool").answered(Status::Error, &text);
            let rules = TransientRules::default();
            prop_assert_eq!(rules.matches(&action), naive::is_transient(&call, &rules), "{:?}", text);
        }
    }

    #[test]
    fn online_the_verdicts_are_the_same(run in draw::run(), configs in configs()) {
        let detectors = configs.detectors().unwrap();
        let (_, verdicts) = follow(&detectors, &run).unwrap();
        prop_assert_eq!(verdicts, detect(&detectors, &run.trace().unwrap()));
    }

    #[test]
    fn online_nothing_is_told_that_the_verdict_takes_back(run in draw::run(), configs in configs()) {
        let detectors = configs.detectors().unwrap();
        let (after_each, verdicts) = follow(&detectors, &run).unwrap();
        let Some(told) = after_each.last() else { return Ok(()) };
        prop_assert_eq!(&told[BLINDNESS][..], verdicts[BLINDNESS].findings());
        prop_assert!(told[RECOVERY].is_empty());
        let within = |one: &Finding, other: &Finding| other.first <= one.first && one.last <= other.last;
        let (told_loops, loops) = (&told[LOOP], verdicts[LOOP].findings());
        prop_assert!(told_loops.iter().all(|one| loops.iter().any(|other| within(one, other))));
        prop_assert!(loops.iter().all(|one| told_loops.iter().any(|other| within(other, one))));
        let of = |findings: &[Finding]| sorted_ends(findings.iter().map(|finding| &finding.evidence));
        prop_assert_eq!(of(&told[ROUTE]), of(verdicts[ROUTE].findings()));
    }

    #[test]
    fn online_what_is_certain_is_told_at_once(run in draw::run(), configs in configs()) {
        let detectors = configs.detectors().unwrap();
        let (after_each, _) = follow(&detectors, &run).unwrap();
        for (position, told) in after_each.iter().enumerate() {
            let so_far = configs.expected(&run.before(position + 1));
            prop_assert_eq!(places(&told[BLINDNESS]), so_far[BLINDNESS].findings());
            prop_assert_eq!(told[LOOP].is_empty(), so_far[LOOP].findings().is_empty());
            prop_assert_eq!(
                sorted_ends(told[ROUTE].iter().map(|finding| &finding.evidence)),
                sorted_ends(so_far[ROUTE].findings().iter().map(|(_, _, evidence)| evidence))
            );
        }
    }

    #[test]
    fn a_fold_that_is_used_again_is_as_new(
        before in draw::run(),
        is_over: bool,
        run in draw::run(),
        configs in configs(),
    ) {
        let (before, trace) = (before.trace().unwrap(), run.trace().unwrap());
        for detector in configs.detectors().unwrap() {
            let mut fold = detector.start(before.routing());
            before.steps().for_each(|step| fold.observe(&step));
            if is_over {
                let _ = fold.finish();
            }
            if !fold.restart(trace.routing()) {
                continue;
            }
            prop_assert!(fold.certain().is_empty());
            let mut fresh = detector.start(trace.routing());
            for step in trace.steps() {
                fold.observe(&step);
                fresh.observe(&step);
                prop_assert_eq!(fold.certain(), fresh.certain());
            }
            prop_assert_eq!(fold.finish(), fresh.finish());
        }
    }

    #[test]
    fn the_spelling_of_arguments_does_not_matter(run in draw::run(), configs in configs()) {
        let detectors = configs.detectors().unwrap();
        let verdicts = detect(&detectors, &run.trace().unwrap());
        let other = with_other_spelling(&run);
        prop_assert_eq!(&detect(&detectors, &other.trace().unwrap()), &verdicts);
        prop_assert_eq!(follow(&detectors, &other).unwrap().1, verdicts);
    }

    #[test]
    fn native_json_keeps_everything(run in draw::run(), configs in configs()) {
        let detectors = configs.detectors().unwrap();
        let trace = run.trace().unwrap();
        let read: Trace = serde_json::from_str(&serde_json::to_string(&trace).unwrap()).unwrap();
        prop_assert_eq!(&read, &trace);
        prop_assert_eq!(detect(&detectors, &read), detect(&detectors, &trace));
    }
}

/// Properties that hold of empty verdicts prove little.
#[test]
fn the_runs_drawn_are_neither_all_sound_nor_all_faulty() {
    let mut runner = TestRunner::deterministic();
    let mut detected = [0; 4];
    for _ in 0..400 {
        let (run, configs) = (draw::run(), configs()).new_tree(&mut runner).unwrap().current();
        for (count, expected) in detected.iter_mut().zip(configs.expected(&run)) {
            *count += u32::from(!expected.findings().is_empty());
        }
    }
    assert!(detected.iter().all(|count| (40..360).contains(count)), "{detected:?}");
}

/// The verdict as JSON without what is for readers only: the message, the reason.
fn bare(mut verdict: Value) -> Value {
    if let Some(reason) = verdict.get_mut("not_applicable") {
        *reason = Value::Bool(reason.as_str().is_some_and(|reason| !reason.is_empty()));
    }
    for finding in verdict.get_mut("findings").and_then(Value::as_array_mut).into_iter().flatten() {
        let message = finding.as_object_mut().and_then(|finding| finding.remove("message"));
        assert!(message.is_some_and(|message| message.as_str().is_some_and(|message| !message.is_empty())));
    }
    verdict
}

fn as_json(detector: &DetectorInfo, expected: &Expected) -> Value {
    match expected {
        Expected::NotApplicable => json!({"not_applicable": true}),
        Expected::Judged { detected, score, findings } => {
            let finding = |(first, last, evidence): &(u64, u64, Evidence)| json!({"mode": detector.mode, "where": [first, last], "evidence": evidence});
            let findings: Vec<Value> = findings.iter().map(finding).collect();
            match score {
                Some(score) => json!({"detected": detected, "score": score, "findings": findings}),
                None => json!({"detected": detected, "findings": findings}),
            }
        }
    }
}

/// The names in a verdict as the naive statements give them.
fn folded(mut verdict: Value) -> Value {
    for finding in verdict.get_mut("findings").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(action) = finding.pointer_mut("/evidence/action")
            && let Some(name) = action.as_str()
        {
            *action = Value::String(name.to_lowercase());
        }
    }
    verdict
}

/// Every case by the naive statement, over the whole trace, read back from JSON, and step by step.
#[test]
fn the_sharp_edges_are_as_spelled_out() {
    let mut wrong = Vec::new();
    for case in cases::all() {
        let info = detector_info(case.detector).unwrap();
        let detectors = [info.build(case.preset, Actors::Agent, &case.config).unwrap()];
        let mut config = info.config(case.preset, Actors::Agent);
        config.as_object_mut().unwrap().extend(case.config.as_object().cloned().unwrap_or_default());
        let naive = naive::expected(case.detector, config, &case.run).unwrap();
        let trace = case.run.trace().unwrap();
        let read: Trace = serde_json::from_str(&serde_json::to_string(&trace).unwrap()).unwrap();
        let (_, online) = follow(&detectors, &case.run).unwrap();
        let verdict = |verdict: &Verdict| bare(serde_json::to_value(verdict).unwrap());
        let ways = [
            ("naive", as_json(info, &naive), folded(case.verdict.clone())),
            ("batch", verdict(&detectors[0].detect(&trace)), case.verdict.clone()),
            ("read back", verdict(&detectors[0].detect(&read)), case.verdict.clone()),
            ("online", verdict(&online[0]), case.verdict.clone()),
        ];
        for (way, is, should) in ways.into_iter().filter(|(_, is, should)| is != should) {
            wrong.push(format!("{}, {}, {way}:\n  {is}\nshould be\n  {should}", case.detector, case.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_step_that_is_refused_is_left_out() {
    let detectors = default_detectors();
    let mut monitor = Monitor::new(&detectors, &None.into());
    let fail = naive::error("book", None, "sold out");
    monitor.observe(fail.input().at(7)).unwrap();
    for refused in [fail.input().at(7), fail.input().at(3), fail.input().at(8).progress(f64::NAN)] {
        assert_eq!(monitor.observe(refused).unwrap_err().kind(), ErrorKind::Trace);
        assert_eq!(monitor.new_findings().count(), 0);
    }
    monitor.observe(fail.input().at(8)).unwrap();
    let told: Vec<_> = monitor.new_findings().map(|finding| (finding.detector, finding.first)).collect();
    assert_eq!(told, [("feedback_blindness", 8)]);
    assert_eq!(monitor.new_findings().count(), 0, "nothing is told twice");
    let verdicts = monitor.finish();
    let detected: Vec<_> = verdicts.iter().map(|(id, verdict)| (*id, verdict.detected())).collect();
    let expected = [
        ("feedback_blindness", Some(true)),
        ("loop", Some(false)),
        ("route_inefficiency", None),
        ("tool_error_recovery", Some(true)),
    ];
    assert_eq!(detected, expected);
}
