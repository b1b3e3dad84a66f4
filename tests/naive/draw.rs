//! Small runs and configurations in which chance meets itself often.

use std::sync::LazyLock;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;
use wrongturn::{
    Actor, Actors, ExpectedActionConfig, FeedbackBlindnessConfig, FeedbackKey, LoopConfig, LoopDefinition,
    MalformedCallConfig, Milestone, PollingCall, ReferenceAction, ReferenceRoute, Report,
    RouteInefficiencyConfig, Routes, Status, ToolErrorRecoveryConfig, TransientRules, WastedActionsConfig,
};

use super::run::{Call, Event, Run};

const NAMES: [&str; 4] = ["search", " Search", "book", "poll"];

/// Each line is one value of arguments, in several spellings.
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
    let call = prop_oneof![6 => call().prop_map(Some), 1 => Just(None)];
    let same_turn = proptest::bool::weighted(0.15);
    let text = select(vec!["as I was saying", super::malformed_call::REFUSAL]);
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

/// A motif over and over, disturbed in places, and something after it.
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

/// A cumulative score that seldom moves, and is not always told; or none at all.
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

/// With the actions of several actors, whose reference steps are their positions.
fn shared_route() -> impl Strategy<Value = Vec<Milestone>> {
    let action = prop_oneof![2 => expected_action(Actor::Agent), 1 => expected_action(Actor::User)];
    vec(action, 0..6).prop_map(|actions| {
        (1..).zip(actions).map(|(position, action)| Milestone::action(position, action)).collect()
    })
}

/// With the actions of one actor, at any reference steps.
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

fn actors() -> impl Strategy<Value = Actors> {
    prop_oneof![2 => Just(Actors::Agent), 1 => Just(Actors::User), 2 => Just(Actors::All)]
}

fn transient() -> impl Strategy<Value = Option<TransientRules>> {
    static OTHERS: LazyLock<TransientRules> = LazyLock::new(|| TransientRules {
        error_types: vec!["BUSY".to_owned()],
        codes: vec![418],
        phrases: vec!["Not Found".to_owned()],
    });
    select(vec![None, Some(TransientRules::default()), Some(OTHERS.clone())])
}

pub(crate) fn recovery_config() -> impl Strategy<Value = ToolErrorRecoveryConfig> {
    let threshold = select(vec![0.25, 1.0 / 3.0, 0.5, 0.75, 1.0]);
    (actors(), threshold).prop_map(|(actors, threshold)| ToolErrorRecoveryConfig {
        actors,
        threshold,
        ..ToolErrorRecoveryConfig::default()
    })
}

fn exempt() -> impl Strategy<Value = Vec<PollingCall>> {
    let with = |tool: &str| PollingCall::with(tool, "a", [Some("1"), None]);
    select(vec![
        vec![],
        vec![],
        vec![PollingCall::tool("POLL ")],
        vec![PollingCall::tool("poll"), PollingCall::tool("book")],
        vec![with("search")],
    ])
}

pub(crate) fn loop_config(definition: LoopDefinition) -> impl Strategy<Value = LoopConfig> {
    let preset = match definition {
        LoopDefinition::Stuck => LoopConfig::default(),
        LoopDefinition::Repeat => LoopConfig::bench_trace(),
    };
    let drawn = (actors(), 2..6_u64, 0..4_u64, 2..5_u64, exempt(), 2..6_u64, transient()).prop_map(
        move |(actors, min_repeats, max_gap, min_failures, exempt, max_polls, transient)| LoopConfig {
            actors,
            definition,
            min_repeats,
            max_gap,
            min_failures,
            exempt,
            max_polls,
            transient,
        },
    );
    prop_oneof![1 => Just(preset), 3 => drawn]
}

pub(crate) fn feedback_config() -> impl Strategy<Value = FeedbackBlindnessConfig> {
    let patterns = select(vec![
        vec![],
        FeedbackBlindnessConfig::bench_trace().patterns,
        vec!["NOT found".to_owned(), "fine".to_owned(), "503".to_owned()],
    ]);
    let report = select(vec![Report::First, Report::Every]);
    let key = select(vec![FeedbackKey::Call, FeedbackKey::Name]);
    let same_feedback = (any::<bool>(), 0..4_u64);
    let drawn = (
        actors(),
        option::of(1..6_u64),
        patterns,
        exempt(),
        transient(),
        same_feedback,
        any::<bool>(),
        report,
        key,
    )
        .prop_map(
            |(
                actors,
                window,
                patterns,
                exempt,
                transient,
                (same_feedback, max_gap),
                recovers,
                report,
                key,
            )| {
                FeedbackBlindnessConfig {
                    actors,
                    window,
                    patterns,
                    exempt,
                    transient,
                    same_feedback,
                    success_recovers: recovers,
                    max_gap,
                    report,
                    key,
                }
            },
        );
    prop_oneof![
        2 => Just(FeedbackBlindnessConfig::default()),
        1 => Just(FeedbackBlindnessConfig::bench_trace()),
        3 => drawn,
    ]
}

pub(crate) fn route_config() -> impl Strategy<Value = RouteInefficiencyConfig> {
    let ratio = select(vec![0.3, 1.0, 1.5, 2.0]);
    let routes = select(vec![Routes::Run, Routes::Pairs, Routes::Pairs]);
    (actors(), ratio, 0..6_u64, any::<bool>(), routes, waste()).prop_map(
        |(actors, ratio, min_extra, from_start, routes, (min_wasted, min_share))| RouteInefficiencyConfig {
            actors,
            ratio,
            min_extra,
            from_start,
            routes,
            min_wasted,
            min_share,
        },
    )
}

fn waste() -> impl Strategy<Value = (u64, f64)> {
    (1..8_u64, select(vec![0.0, 0.15, 0.5, 1.0]))
}

pub(crate) fn waste_config() -> impl Strategy<Value = WastedActionsConfig> {
    (actors(), waste(), exempt(), transient()).prop_map(
        |(actors, (min_wasted, min_share), exempt, transient)| WastedActionsConfig {
            actors,
            min_wasted,
            min_share,
            exempt,
            transient,
        },
    )
}

pub(crate) fn malformed_config() -> impl Strategy<Value = MalformedCallConfig> {
    let rejections = select(vec![vec!["Not Found"], vec!["cant", "503"], vec![]]);
    (actors(), 1..4_u64, any::<bool>(), rejections).prop_map(
        |(actors, min_calls, objects_only, rejections)| MalformedCallConfig {
            actors,
            min_calls,
            objects_only,
            rejections: rejections.into_iter().map(str::to_owned).collect(),
        },
    )
}

pub(crate) fn missed_config() -> impl Strategy<Value = ExpectedActionConfig> {
    (actors(), 1..3_u64).prop_map(|(actors, min_missed)| ExpectedActionConfig { actors, min_missed })
}
