//! Tests the requirements for every detector of the registry.

use serde_json::{Value, json};
use wrongturn::{
    Action, Detector, ErrorKind, ExpectedAction, Finding, Loop, MalformedCall, Registry, Status, Trace,
    default_detectors,
    detect::{ALL, DetectorInfo, Evidence, Preset, detector_info},
    trace::{Actor, Actors, Milestone, ReferenceAction, ReferenceRoute, StepInput},
};

/// Sums of these steps do not fit into a `u64`.
#[test]
fn milestones_at_the_end_of_all_numbers_do_not_overflow() {
    for preset in [Preset::Default, Preset::BenchTrace] {
        let milestones = [(0, 0.0), (1, 1.0), (2, 9.0), (u64::MAX, 9.0), (u64::MAX, 8.0)];
        let milestones = milestones.map(|(step, score)| Milestone::score(step, score));
        let mut builder = Trace::builder().route(ReferenceRoute::new(milestones.to_vec()).unwrap());
        for (step, progress) in [(0, 0.0), (1, 1.0), (u64::MAX - 1, 2.0), (u64::MAX, 2.0)] {
            let action = Action::new("look").answered(Status::Ok, "x");
            let step = StepInput::action(Actor::Agent, action).at(step).turn(step);
            builder.push(step.progress(progress)).unwrap();
        }
        let trace = builder.build().unwrap();
        for info in ALL {
            let detector = info.build(preset, Actors::All, &Value::Null).unwrap();
            let _ = detector.detect(&trace);
        }
    }
}

#[test]
fn the_registry_is_sorted_documented_and_consistent() {
    assert!(ALL.windows(2).all(|pair| pair[0].id < pair[1].id), "the list is not sorted by name");
    let by_default: Vec<_> = default_detectors().iter().map(|detector| detector.id()).collect();
    for info in ALL {
        let (id, default) = (info.id, info.default_detector());
        assert_eq!((id, &info.mode), (&*default.id(), &default.mode()), "{id}: id or mode differ");
        assert_eq!(info.opt_in, !by_default.iter().any(|default| default == id), "{id}: is it opt-in?");
        // An opt-in detector may use the name of a benchmark's taxonomy; the default ones use their ids.
        assert!(info.opt_in || info.mode.name == id, "{id}: the failure mode is named differently");
        let snake = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
        assert!(id.bytes().all(snake), "{id}: the id is not in snake_case");
        assert!(!info.summary.is_empty() && !info.summary.ends_with('.'), "{id}: the summary");
        let page = std::fs::read_to_string(format!("src/detect/docs/{id}.md")).unwrap_or_default();
        assert_eq!(page, info.docs, "{id}: no page src/detect/docs/{id}.md, or another one");
        for section in ["## Example", "## Limits", "## Source", "// Passes", "// Fails", "Measures:"] {
            assert!(info.docs.contains(section), "{id}: its page lacks {section}");
        }
        let grid = info.grid().unwrap();
        for value in grid.values {
            let fields = Value::Object([(grid.parameter.to_owned(), value)].into_iter().collect());
            info.build(Preset::Default, Actors::Agent, &fields).unwrap();
        }
        for preset in Preset::VARIANTS {
            let built = info.build(*preset, Actors::All, &Value::Null).unwrap();
            assert_eq!(built.id(), id);
            assert_eq!(info.config(*preset, Actors::All)["actors"], "all", "{id}: actors are not set");
            // Every field of a configuration is written and read back.
            info.build(*preset, Actors::Agent, &info.config(*preset, Actors::All)).unwrap();
        }
    }
}

#[test]
fn a_configuration_error_names_the_field() {
    let cases = [
        ("loop", r#"{"min_repeat": 3}"#, "min_repeat"),
        ("loop", r#"{"min_repeats": 1}"#, "min_repeats"),
        ("loop", r#"{"min_failures": "three"}"#, "min_failures"),
        ("loop", r#"{"definition": "spiral"}"#, "definition"),
        ("loop", r#"{"max_polls": 1}"#, "max_polls"),
        ("loop", r#"{"exempt": [{"argument": "x"}]}"#, "exempt"),
        ("loop", "[]", "must be a JSON object"),
        ("expected_action", r#"{"min_missed": 0}"#, "min_missed"),
        ("feedback_blindness", r#"{"window": 0}"#, "window"),
        ("feedback_blindness", r#"{"patterns": [""]}"#, "patterns"),
        ("feedback_blindness", r#"{"max_failures": 1}"#, "max_failures"),
        ("feedback_blindness", r#"{"transient": {"code": []}}"#, "transient"),
        ("malformed_call", r#"{"min_calls": 0}"#, "min_calls"),
        ("malformed_call", r#"{"rejections": [" "]}"#, "rejections"),
        ("route_inefficiency", r#"{"ratio": 0}"#, "ratio"),
        ("route_inefficiency", r#"{"min_extra": -1}"#, "min_extra"),
        ("route_inefficiency", r#"{"routes": "none"}"#, "routes"),
        ("tool_error_recovery", r#"{"threshold": 0.0}"#, "threshold"),
        ("tool_error_recovery", r#"{"threshold": 1.01}"#, "threshold"),
        ("tool_error_recovery", r#"{"actors": "everyone"}"#, "actors"),
        ("tool_error_recovery", r#"{"subtools": ["bash"]}"#, "subtools"),
        ("wasted_actions", r#"{"min_wasted": 0}"#, "min_wasted"),
        ("wasted_actions", r#"{"min_share": -1}"#, "min_share"),
    ];
    for (id, overrides, named) in cases {
        let overrides = serde_json::from_str(overrides).unwrap();
        let error = detector_info(id).unwrap().build(Preset::Default, Actors::Agent, &overrides).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(error.to_string().starts_with(id) && error.to_string().contains(named), "{error}");
    }
}

#[test]
fn messages_quote_little() {
    let long = json!({"text": "long ".repeat(99)});
    let name = "name".repeat(40);
    let mut run = Trace::builder();
    let (ok, failed) = (Status::Ok, Status::Error);
    run.call(&name, &long["text"], ok, "").unwrap();
    run.call(&name, &long, failed, &format!("unknown tool {name} {name}")).unwrap();
    let action = |name: &str| ReferenceAction::new(Actor::Agent, name, &long, None);
    let other = format!("{name}x");
    let milestones = [(0, &name), (1, &other)];
    let milestones = milestones.map(|(step, name)| Milestone::action(step, action(name)));
    let route = ReferenceRoute::new(milestones.to_vec()).unwrap();
    let trace = run.route(route).build().unwrap();
    for detector in [&MalformedCall::default() as &dyn Detector, &ExpectedAction::default()] {
        let verdict = detector.detect(&trace);
        assert_eq!(verdict.findings().len(), 2, "{verdict:?}");
        for finding in verdict.findings() {
            assert!(finding.message.chars().count() < 200, "{}", finding.message);
        }
    }
}

#[test]
fn a_registry_takes_no_id_twice_and_knows_its_names() {
    let mut registry = Registry::default();
    let error = registry.add(DetectorInfo::of::<Loop>()).unwrap_err();
    assert!(error.to_string().contains("`loop` already"), "{error}");
    let error = registry.build(&["spiral"], Preset::Default, Actors::Agent, &Value::Null).unwrap_err();
    assert!(
        error.to_string().starts_with("unknown detector `spiral`; expected one of expected_action, "),
        "{error}"
    );
    let mut registry = Registry::empty();
    registry.add(DetectorInfo::of::<Loop>()).unwrap();
    assert_eq!(registry.entries().iter().map(|info| info.id).collect::<Vec<_>>(), ["loop"]);
}

#[test]
fn evidence_is_read_as_what_its_detector_says() {
    let facts = json!({"wasted": 7.5, "actions": 9, "reasons": {"failed_again": 7}, "by_tool": []});
    let read = |detector: &str| {
        let finding = json!({"id": format!("{detector}:1"), "mode": "strategy/wasted_actions", "where": [0, 1],
            "message": "9 actions", "evidence": facts});
        serde_json::from_value::<Finding>(finding).unwrap().evidence
    };
    assert!(matches!(read("wasted_actions"), Evidence::WastedActions(_)));
    assert_eq!(read("loop"), Evidence::Other(facts.clone()));
    assert_eq!(read("somebody_elses"), Evidence::Other(facts.clone()));
}
