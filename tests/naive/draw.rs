//! Draws small random runs and configurations with many coincidences.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use wrongturn::{
    Detector, Status,
    detect::{ALL, DetectorInfo, FeedbackBlindnessConfig, Preset, TransientRules, detector_info},
    trace::{Actor, Actors, Milestone, ReferenceAction, ReferenceRoute},
};

use super::run::{Call, Event, Run};

const NAMES: [&str; 4] = ["search", " Search", "book", "poll"];

/// Each line has one value of arguments in several spellings.
const ARGUMENTS: [&[Option<&str>]; 6] = [
    &[None, Some("{}")],
    &[Some(r#"{"a":1,"b":{"x":[1,2],"y":null}}"#), Some(r#"{"b":{"y":null,"x":[1.0,2]},"a":10e-1}"#)],
    &[Some(r#"{"a":1,"b":2}"#), Some(r#"{ "b": 2.0, "a": 1 }"#)],
    &[Some(r#"{"a":2}"#), Some(r#"{"\u0061":2e0}"#)],
    &[Some(r#"{"a":"1"}"#)],
    &[Some(r#""a: 1""#), Some(r#""\u0061: 1""#)],
];

const OBSERVATIONS: [Option<&str>; 8] = [
    None,
    Some("fine"),
    Some("not found"),
    Some("503"),
    Some("Upstream TIMEOUT"),
    Some("You cant do that"),
    Some("hold on: code 418"),
    Some("cost: 1,503"),
];

fn arguments() -> impl Strategy<Value = Option<String>> {
    prop_oneof![3 => Just(1), 1 => 0..ARGUMENTS.len()]
        .prop_flat_map(|at| select(ARGUMENTS[at]))
        .prop_map(|text| text.map(str::to_owned))
}

fn call() -> impl Strategy<Value = Call> {
    let name = prop_oneof![2 => Just(NAMES[0]), 1 => select(&NAMES[..])];
    let observation = prop_oneof![2 => select(&OBSERVATIONS[1..3]), 1 => select(&OBSERVATIONS[..])];
    let status =
        select(vec![Status::Ok, Status::Ok, Status::Error, Status::Error, Status::Error, Status::Unknown]);
    let error_type =
        prop_oneof![8 => Just(None), 1 => select(vec![Some("RateLimit"), Some("invalid"), Some("busy")])];
    let left_out = prop_oneof![12 => Just((false, false)), 1 => any::<(bool, bool)>()];
    (name, arguments(), observation, status, error_type, left_out).prop_map(
        |(name, arguments, observation, status, error_type, left_out)| Call {
            name,
            arguments,
            observation: observation.map(str::to_owned),
            status,
            error_type,
            left_out,
        },
    )
}

fn event() -> impl Strategy<Value = Event> {
    let skip = prop_oneof![6 => Just(0), 1 => 1..4_u64];
    let actor = prop_oneof![
        8 => Just(Actor::Agent),
        2 => Just(Actor::User),
        1 => select(vec![Actor::System, Actor::Environment]),
    ];
    let location = prop_oneof![6 => Just(None), 1 => select(vec![Some("hall"), Some("attic")])];
    let call =
        prop_oneof![3 => call().prop_map(Some), 3 => super::tools::call().prop_map(Some), 1 => Just(None)];
    let same_turn = proptest::bool::weighted(0.15);
    let text = select(vec!["as I was saying", super::malformed_call::REFUSAL, "Sorry, take the order #W7."]);
    (skip, same_turn, actor, location, call, text).prop_map(
        |(skip, same_turn, actor, location, call, text)| Event {
            skip,
            index: 0,
            turn: 0,
            same_turn,
            actor,
            location,
            progress: None,
            call,
            text,
        },
    )
}

/// Draws a repeated motif with disturbances, and more events after it.
fn events() -> impl Strategy<Value = Vec<Event>> {
    let disturbances = vec((any::<prop::sample::Index>(), event()), 0..5);
    (vec(event(), 1..4), 0..8_usize, disturbances, vec(event(), 0..8)).prop_map(
        |(motif, times, disturbances, rest)| {
            let mut events: Vec<Event> = std::iter::repeat_n(motif, times).flatten().chain(rest).collect();
            for (place, event) in disturbances {
                events.insert(place.index(events.len() + 1), event);
            }
            events
        },
    )
}

/// Draws a cumulative score that seldom changes and is not always recorded, or no score at all.
fn progress() -> impl Strategy<Value = Vec<Option<f64>>> {
    let change = prop_oneof![8 => Just(0.0), 2 => Just(1.0), 1 => Just(-1.0), 1 => Just(0.5)];
    let changes = vec((change, proptest::bool::weighted(0.8)), 40).prop_map(|changes| {
        let mut score = 0.0;
        let mut scores = Vec::new();
        for (change, told) in changes {
            score += change;
            scores.push(told.then_some(score));
        }
        scores
    });
    prop_oneof![1 => Just(vec![None; 40]), 1 => changes]
}

fn score_route() -> impl Strategy<Value = Vec<Milestone>> {
    let milestone = (0..4_u64, select(vec![0.5, 1.0, 2.0, 3.0]), option::of(Just("the gate")));
    vec(milestone, 0..5).prop_map(|milestones| {
        let mut reference_step = 0;
        let with_steps = milestones.into_iter().map(|(distance, score, label)| {
            reference_step += distance;
            let milestone = Milestone::score(reference_step, score);
            if let Some(label) = label { milestone.label(label) } else { milestone }
        });
        with_steps.collect()
    })
}

fn expected_action(actor: Actor) -> impl Strategy<Value = ReferenceAction> {
    let compared =
        select(vec![None, None, Some(vec![]), Some(vec!["a"]), Some(vec!["a", "b"]), Some(vec!["z"])]);
    (select(&NAMES[..]), arguments(), compared).prop_map(move |(name, arguments, compared)| {
        let arguments = arguments.and_then(|json| serde_json::from_str(&json).ok()).unwrap_or(Value::Null);
        let compared = compared.map(|names| names.into_iter().map(str::to_owned).collect());
        ReferenceAction::new(actor, name, &arguments, compared)
    })
}

/// Draws a route with the actions of several actors, whose reference steps are their positions.
fn shared_route() -> impl Strategy<Value = Vec<Milestone>> {
    let action = prop_oneof![2 => expected_action(Actor::Agent), 1 => expected_action(Actor::User)];
    vec(action, 0..6).prop_map(|actions| {
        (1..).zip(actions).map(|(position, action)| Milestone::action(position, action)).collect()
    })
}

/// Draws a route with the actions of one actor, at any reference steps.
fn lonely_route() -> impl Strategy<Value = Vec<Milestone>> {
    vec((0..4_u64, expected_action(Actor::Agent)), 0..5).prop_map(|actions| {
        let mut reference_step = 0;
        let with_steps = actions.into_iter().map(|(distance, action)| {
            reference_step += distance;
            Milestone::action(reference_step, action)
        });
        with_steps.collect()
    })
}

fn route() -> impl Strategy<Value = Option<ReferenceRoute>> {
    let milestones = prop_oneof![score_route(), shared_route(), lonely_route()];
    prop_oneof![
        8 => milestones.prop_map(|milestones| ReferenceRoute::new(milestones).ok()),
        1 => Just(None),
    ]
}

pub(crate) fn run() -> impl Strategy<Value = Run> {
    (events(), progress(), route()).prop_map(|(mut events, progress, route)| {
        for (event, progress) in events.iter_mut().zip(progress) {
            event.progress = progress;
        }
        Run::new(events, route)
    })
}

/// Returns values for the fields of a detector's configuration.
fn fields(detector: &str) -> Value {
    let exempt = json!([
        [], [], ["POLL "], ["poll", "book"], [{"tool": "search", "argument": "a", "values": ["1", null]}]
    ]);
    let other = json!({"error_types": ["BUSY"], "codes": [418], "phrases": ["Not Found"]});
    let transient = json!([null, TransientRules::default(), other]);
    let (wasted, share) = (json!([0.5, 1.5, 3.0, 5.0]), json!([0.0, 0.25, 0.5, 1.0]));
    match detector {
        "expected_action" => json!({"min_missed": [1, 2]}),
        "feedback_blindness" => json!({"max_failures": [2, 3, 4], "exempt": exempt,
            "transient": transient, "window": [1, 2, 3, 5],
            "patterns": [["NOT found", "fine", "503"], FeedbackBlindnessConfig::bench_trace().patterns]}),
        "loop" => json!({"min_repeats": [2, 3, 4, 5], "max_gap": [0, 1, 2, 3], "min_failures": [2, 3, 4, 5],
            "min_looks": [2, 3, 4], "exempt": exempt, "max_polls": [2, 3, 5], "transient": transient}),
        "malformed_call" => json!({"min_calls": [1, 2, 3], "objects_only": [true, false],
            "rejections": [["Not Found"], ["cant", "503"], []]}),
        "route_inefficiency" => json!({"ratio": [0.3, 1.0, 1.5, 2.0], "min_extra": [0, 1, 3, 5],
            "from_start": [true, false], "routes": ["run", "pairs", "pairs"], "min_wasted": wasted}),
        "tool_error_recovery" => {
            json!({"threshold": [0.25, 1.0 / 3.0, 0.5, 0.75, 1.0], "min_attempts": [2, 3, 4]})
        }
        "wasted_actions" => {
            json!({"min_wasted": wasted, "min_share": share, "min_stretch": wasted, "exempt": exempt,
                "transient": transient})
        }
        other => {
            let grid = detector_info(other).unwrap().grid().unwrap();
            json!({grid.parameter: grid.values})
        }
    }
}

/// Draws a configuration based on a preset, for any actors. Fields that are not drawn keep their values.
pub(crate) fn config(detector: &'static str, preset: Preset) -> impl Strategy<Value = Value> {
    let actors = select(vec![Actors::Agent, Actors::Agent, Actors::User, Actors::All, Actors::All]);
    (actors, vec(any::<prop::sample::Index>(), 8)).prop_map(move |(actors, drawn)| {
        let mut config = detector_info(detector).unwrap().config(preset, actors);
        for ((field, values), drawn) in fields(detector).as_object().unwrap().iter().zip(drawn) {
            let values = values.as_array().unwrap();
            if let Some(value) = values.get(drawn.index(values.len() + 1)) {
                config[field] = value.clone();
            }
        }
        config
    })
}

/// Draws a configuration for each detector. Returns the detectors in the order of the registry.
pub(crate) fn detectors() -> impl Strategy<Value = Vec<Arc<dyn Detector>>> {
    let presets = || select(vec![Preset::Default, Preset::Default, Preset::BenchTrace]);
    let build = |info: &'static DetectorInfo| {
        presets().prop_flat_map(move |preset| {
            config(info.id, preset)
                .prop_map(move |config| info.build(preset, Actors::Agent, &config).unwrap())
        })
    };
    ALL.iter().map(build).collect::<Vec<_>>()
}
