//! Sharp edges of section 3.4.

use serde_json::{Value, json};
use wrongturn::{Actor, Milestone, Preset, ReferenceAction, ReferenceRoute};

use super::super::run::{Event, Run, error, ok, say, unanswered};
use super::{A, AB, B, BA, Case, finds, novel, passes};

pub(super) fn cases() -> Vec<Case> {
    [scores(), starts_and_ends(), equal_actions(), several_milestones(), whole_runs()].concat()
}

fn on_route(
    name: &'static str,
    route: impl Into<Option<Vec<Milestone>>>,
    events: Vec<Event>,
    verdict: Value,
) -> Case {
    let route = route.into().and_then(|milestones| ReferenceRoute::new(milestones).ok());
    let run = Run::new(events, route);
    let config = json!({"routes": "pairs"});
    Case { name, detector: "route_inefficiency", preset: Preset::Default, config, run, verdict }
}

/// With the default rule for expected actions.
fn whole(name: &'static str, route: Vec<Milestone>, events: Vec<Event>, verdict: Value) -> Case {
    on_route(name, route, events, verdict).with(json!({"routes": "run"}))
}

fn not_applicable() -> Value {
    json!({"not_applicable": true})
}

fn detours<const N: usize>(findings: [(u64, u64, Value); N]) -> Value {
    finds("strategy/route_inefficiency", findings)
}

fn scores() -> Vec<Case> {
    let look = |score| ok("look", None, "x").scored(score);
    let route = |points: &[(u64, f64)]| -> Vec<Milestone> {
        points.iter().map(|&(step, score)| Milestone::score(step, score)).collect()
    };
    let far = |steps: u64, distance: u64, ratio: f64, reached, (from, to): ((u64, f64), (u64, f64))| {
        json!({"steps": steps, "reference_steps": distance, "ratio": ratio, "reached": reached,
            "from": {"reference_step": from.0, "score": from.1}, "to": {"reference_step": to.0, "score": to.1}})
    };
    let (one, two) = ((2, 1.0), (5, 2.0));
    let ends = (one, two);
    vec![
        on_route("no route", None::<Vec<Milestone>>, vec![look(1.0)], not_applicable()),
        on_route("a route without milestones", vec![], vec![look(1.0)], not_applicable()),
        on_route("there is no virtual start", route(&[one]), vec![look(0.0), look(0.0).after(90)], passes()),
        on_route("nothing was done", route(&[one, two]), vec![], passes()),
        on_route(
            "steps are counted as the source numbers them",
            route(&[one, two]),
            vec![look(0.0), look(1.0).after(3), look(2.0).after(7)],
            detours([(4, 12, far(8, 3, 8.0 / 3.0, true, ends))]),
        ),
        on_route(
            "a score is reached by any higher one",
            route(&[one, two]),
            vec![look(1.5), look(7.0).after(8)],
            detours([(0, 9, far(9, 3, 3.0, true, ends))]),
        ),
        on_route(
            "twice as far is not more than twice",
            route(&[(0, 1.0), (6, 2.0)]),
            vec![look(1.0), look(2.0).after(11)],
            passes(),
        ),
        on_route(
            "four more are not five more",
            route(&[(0, 1.0), (1, 2.0)]),
            vec![look(1.0), look(2.0).after(4)],
            passes(),
        ),
        on_route(
            "five more are",
            route(&[(0, 1.0), (1, 2.0)]),
            vec![look(1.0), look(2.0).after(5)],
            detours([(0, 6, far(6, 1, 6.0, true, ((0, 1.0), (1, 2.0))))]),
        ),
        on_route(
            "four more are, by the published rule",
            route(&[(0, 1.0), (1, 2.0)]),
            vec![look(1.0), look(2.0).after(2)],
            detours([(0, 3, far(3, 1, 3.0, true, ((0, 1.0), (1, 2.0))))]),
        )
        .bench_trace(),
        on_route(
            "never reached: up to the last step, which may be a message",
            route(&[one, two]),
            vec![look(1.0), look(0.0), say(Actor::User).after(6)],
            detours([(0, 8, far(8, 3, 8.0 / 3.0, false, ends))]),
        ),
        on_route(
            "the first never reached: nothing to measure from",
            route(&[(1, 5.0), (2, 6.0)]),
            vec![look(0.0), look(1.0).after(50)],
            passes(),
        ),
        on_route(
            "two at once are no steps apart",
            route(&[one, two, (6, 3.0)]),
            vec![look(2.0), look(2.0).after(8)],
            detours([(0, 9, far(9, 1, 9.0, false, (two, (6, 3.0))))]),
        ),
        on_route(
            "out of order",
            route(&[(1, 5.0), (2, 1.0)]),
            vec![look(1.0), look(5.0).after(50)],
            passes(),
        ),
        on_route(
            "no reference distance, no finding",
            route(&[(2, 1.0), (2, 2.0)]),
            vec![look(1.0), look(2.0).after(50)],
            passes(),
        ),
    ]
}

/// A milestone of one reference step after `from`, and a detour on the way to it.
fn far(steps: u32, reached: bool, from: (u64, &str), to: (u64, &str)) -> Value {
    json!({"steps": steps, "reference_steps": 1, "ratio": f64::from(steps), "reached": reached,
        "from": {"reference_step": from.0, "action": from.1}, "to": {"reference_step": to.0, "action": to.1}})
}

const START: (u64, &str) = (0, "start");

fn detour(first: u64, last: u64, evidence: Value) -> Value {
    detours([(first, last, evidence)])
}

fn route(actions: Vec<ReferenceAction>) -> Vec<Milestone> {
    (1..).zip(actions).map(|(step, action)| Milestone::action(step, action)).collect()
}

/// The agent is expected to buy with these arguments, of which these are compared.
fn buy_with(arguments: &Value, compare: Option<&[&str]>) -> ReferenceAction {
    let compare = compare.map(|names| names.iter().map(ToString::to_string).collect());
    ReferenceAction::new(Actor::Agent, "buy", arguments, compare)
}

fn buy() -> ReferenceAction {
    buy_with(&json!({"a": 1}), None)
}

fn pay() -> ReferenceAction {
    ReferenceAction::new(Actor::Agent, "pay", &json!({}), None)
}

fn press() -> ReferenceAction {
    ReferenceAction::new(Actor::User, "press", &json!({}), None)
}

fn bought() -> Event {
    ok("buy", A, "x")
}

fn paid() -> Event {
    ok("pay", None, "x")
}

fn pressed() -> Event {
    ok("press", None, "x").by(Actor::User)
}

fn starts_and_ends() -> Vec<Case> {
    let looks = novel(6);
    vec![
        on_route(
            "the start is a milestone at 0, its range begins with the first action",
            route(vec![buy()]),
            [vec![say(Actor::User).after(2)], looks.clone(), vec![bought()]].concat(),
            detour(3, 9, far(7, true, START, (1, "buy"))),
        ),
        on_route("unless it is none", route(vec![buy()]), [looks.clone(), vec![bought()]].concat(), passes())
            .with(json!({"from_start": false})),
        on_route(
            "never reached: up to the last action",
            route(vec![buy()]),
            [looks.clone(), vec![say(Actor::Agent)]].concat(),
            detour(0, 5, far(6, false, START, (1, "buy"))),
        ),
        on_route("nothing was done", route(vec![buy()]), vec![say(Actor::User)], passes()),
        on_route(
            "any status reaches a milestone",
            route(vec![buy(), pay()]),
            [vec![error("buy", A, "no")], looks.clone(), vec![unanswered("pay", None)]].concat(),
            detour(0, 7, far(7, true, (1, "buy"), (2, "pay"))),
        ),
    ]
}

fn equal_actions() -> Vec<Case> {
    let looks = novel(6);
    vec![
        on_route(
            "other arguments do not",
            route(vec![buy()]),
            [looks.clone(), vec![ok("buy", B, "x")]].concat(),
            detour(0, 6, far(7, false, START, (1, "buy"))),
        ),
        on_route(
            "nor do other actors",
            route(vec![buy(), press()]),
            [vec![bought().by(Actor::User)], looks.clone()].concat(),
            detour(0, 6, far(7, false, START, (1, "buy"))),
        )
        .with(json!({"actors": "all"})),
        on_route(
            "other spellings do",
            route(vec![buy_with(&json!({"b": {"c": 2, "d": 3}, "a": 1.0}), None)]),
            [vec![ok("buy", BA, "x")], looks.clone()].concat(),
            passes(),
        ),
        on_route(
            "only the arguments that are compared",
            route(vec![buy_with(&json!({"a": 1, "b": 2}), Some(&["a", "z"]))]),
            [vec![ok("buy", AB, "x")], looks.clone()].concat(),
            passes(),
        ),
        on_route(
            "and those must be there",
            route(vec![buy_with(&json!({"a": 1, "b": 2}), Some(&["b"]))]),
            [looks.clone(), vec![bought()]].concat(),
            detour(0, 6, far(7, false, START, (1, "buy"))),
        ),
        on_route(
            "the name alone",
            route(vec![buy_with(&json!({"a": 9}), Some(&[]))]),
            [vec![bought()], looks.clone()].concat(),
            passes(),
        ),
    ]
}

fn several_milestones() -> Vec<Case> {
    let looks = novel(6);
    let ask = ReferenceAction::new(Actor::Agent, "ask", &json!({}), None);
    vec![
        on_route(
            "identical milestones share one action",
            route(vec![buy(), buy(), pay()]),
            [vec![bought()], looks.clone(), vec![bought(), paid()]].concat(),
            detour(0, 8, far(8, true, (2, "buy"), (3, "pay"))),
        ),
        on_route(
            "out of order",
            route(vec![buy(), pay()]),
            [vec![paid(), bought()], looks.clone()].concat(),
            passes(),
        ),
        on_route(
            "what was not reached is skipped over",
            route(vec![ask, buy(), pay()]),
            [vec![bought()], looks.clone(), vec![paid()]].concat(),
            detours([(0, 7, far(8, false, START, (1, "ask"))), (0, 7, far(7, true, (2, "buy"), (3, "pay")))]),
        ),
        on_route(
            "the milestones and actions of others are dropped, the rest renumbered",
            route(vec![press(), buy(), press(), pay()]),
            [vec![pressed(), bought()], vec![pressed(); 9], looks.clone(), vec![paid()]].concat(),
            detour(1, 17, far(7, true, (1, "buy"), (2, "pay"))),
        ),
        on_route(
            "the actions of those count whom the route names",
            route(vec![press(), pay()]),
            [looks.clone(), vec![pressed()]].concat(),
            passes(),
        )
        .with(json!({"actors": "user"})),
        on_route("all milestones are of others", route(vec![press()]), looks.clone(), not_applicable()),
        on_route(
            "those whom the route does not name are not counted",
            route(vec![press()]),
            [looks, vec![pressed()]].concat(),
            passes(),
        )
        .with(json!({"actors": "all"})),
    ]
}

fn whole_runs() -> Vec<Case> {
    let fails = |count: u64| vec![error("list", A, "no"); usize::try_from(count).unwrap_or(0)];
    let of = |actions: u64, reached: u64, wasted: u64| json!({"actions": actions, "milestones": 2, "milestones_reached": reached, "wasted": wasted});
    let two = || route(vec![buy(), pay()]);
    vec![
        whole(
            "many actions, seven of them wasted",
            two(),
            [vec![bought()], fails(7)].concat(),
            detour(1, 7, of(8, 1, 7)),
        ),
        whole("six wasted are not seven", two(), [novel(6), fails(6)].concat(), passes()),
        whole("detours without waste are none", two(), novel(30), passes()),
        whole(
            "not more than twice the milestones",
            route(vec![buy(); 4]),
            [vec![bought()], fails(7)].concat(),
            passes(),
        ),
        whole("the ratio is heeded", route(vec![buy(), pay()]), [novel(1), fails(7)].concat(), passes())
            .with(json!({"ratio": 4.0})),
        whole(
            "the thresholds of wasted actions too",
            two(),
            [novel(3), fails(2)].concat(),
            detour(3, 4, of(5, 0, 2)),
        )
        .with(json!({"min_wasted": 2})),
        whole(
            "the milestones and actions of others do not count",
            route(vec![press(), buy(), press(), pay()]),
            [vec![pressed(); 9], vec![bought(), paid()], fails(7)].concat(),
            detour(11, 17, of(9, 2, 7)),
        ),
        whole("all milestones are of others", route(vec![press()]), fails(9), not_applicable()),
        whole(
            "without arguments there is nothing to compare",
            two(),
            fails(9).into_iter().map(|event| event.left_out(true, false)).collect(),
            not_applicable(),
        ),
        on_route(
            "nor pair by pair",
            two(),
            fails(9).into_iter().map(|event| event.left_out(true, false)).collect(),
            not_applicable(),
        ),
    ]
}
