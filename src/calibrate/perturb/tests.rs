use super::*;
use crate::trace::{Action, LabelledFailure, Status};
use serde_json::json;

fn trace() -> Trace {
    let arguments = json!({"a": 1, "b": {"c": [1, {"x": 1, "y": 2}], "d": 2}});
    let mut builder = Trace::builder();
    for (turn, name) in [(0, "Zorble Frob"), (0, " zorble frob"), (4, "quux")] {
        let action = Action::new(name).arguments(&arguments).call_id("call_1").answered(Status::Ok, "x");
        builder.push(StepInput::action(Actor::Agent, action).turn(turn)).unwrap();
    }
    let expected = ReferenceAction::new(Actor::Agent, "quux", &arguments, None);
    builder.route(ReferenceRoute::new(vec![Milestone::action(1, expected)]).unwrap()).build().unwrap()
}

fn names(trace: &Trace) -> Vec<String> {
    trace
        .steps()
        .filter_map(|step| match step.event() {
            Event::Action(action) => Some(action.name.to_owned()),
            Event::Message(_) => None,
        })
        .collect()
}

fn first_action(trace: &Trace) -> (String, String) {
    let step = trace.steps().find(|step| matches!(step.event(), Event::Action(_))).unwrap();
    let Event::Action(action) = step.event() else { unreachable!() };
    (
        action.call_id.unwrap().to_owned(),
        action.arguments.as_ref().present().unwrap().json().unwrap().to_owned(),
    )
}

#[test]
fn every_perturbation_changes_the_trace_and_only_its_own_part() {
    let original = trace();
    for seed in 0..50 {
        let renamed = perturb(&original, &[Perturbation::RenamedTools], seed).unwrap();
        for (new, old) in names(&renamed).iter().zip(names(&original)) {
            assert_ne!(*new, old);
        }
        let folded: Vec<String> = names(&renamed).iter().map(|name| name.trim().to_lowercase()).collect();
        assert!(folded[0] == folded[1] && folded[1] != folded[2]);
        let Target::Action(expected) = &renamed.routing().route().unwrap().milestones()[0].target else {
            unreachable!()
        };
        assert_eq!(expected.name(), names(&renamed)[2]);

        let ids = perturb(&original, &[Perturbation::RenamedCallIds], seed).unwrap();
        assert_ne!(first_action(&ids).0, "call_1");
        assert_eq!(names(&ids), names(&original));

        let reordered = perturb(&original, &[Perturbation::ReorderedArguments], seed).unwrap();
        assert_ne!(first_action(&reordered).1, first_action(&original).1);
        assert_eq!(reordered, original, "equal in canonical form");

        let shifted = perturb(&original, &[Perturbation::ShiftedSteps], seed).unwrap();
        assert!(shifted.steps().next().unwrap().index() > 0);
    }
    let grown = (0..20).filter(|seed| {
        let neutral = perturb(&original, &[Perturbation::NeutralMessages], *seed).unwrap();
        assert!(matches!(neutral.steps().nth(1).unwrap().event(), Event::Action(_)), "within a turn");
        neutral.steps().len() > original.steps().len()
    });
    assert!((5..15).contains(&grown.count()));
}

#[test]
fn the_same_seed_makes_the_same_trace() {
    let original = trace();
    let texts = |seed| format!("{:?}", perturb(&original, Perturbation::VARIANTS, seed).unwrap());
    assert_eq!(texts(7), texts(7));
    assert_ne!(texts(7), texts(8));
}

#[test]
fn where_there_are_no_more_numbers_nothing_is_moved() {
    let mut builder = Trace::builder();
    let action = Action::new("find").answered(Status::Ok, "x");
    builder.push(StepInput::action(Actor::Agent, action).at(u64::MAX)).unwrap();
    let last = builder.build().unwrap();
    for seed in 0..5 {
        assert!(perturb(&last, &[Perturbation::ShiftedSteps], seed).is_err());
        assert!(perturb(&last, &[Perturbation::RenamedTools], seed).is_ok());
    }
}

#[test]
fn turns_of_different_calls_are_taken_apart() {
    let mut builder = Trace::builder();
    for (turn, name) in [(0, "a"), (0, "b"), (0, "c"), (3, "a"), (3, "A"), (4, "d")] {
        let action = Action::new(name).arguments(&json!({})).answered(Status::Ok, "x");
        builder.push(StepInput::action(Actor::Agent, action).turn(turn)).unwrap();
    }
    let split = perturb(&builder.build().unwrap(), &[Perturbation::SplitTurns], 1).unwrap();
    let turns: Vec<u64> = split.steps().map(|step| step.turn()).collect();
    assert_eq!(turns, [0, 1, 2, 5, 5, 6], "a turn that makes one call twice stays together");
}

#[test]
fn ids_times_and_silence_come_from_outside() {
    let json = json!({"version": 1, "id": "run 7", "agent": "planner", "model": "m", "steps": [
        {"name": "a", "time": 5}, {"name": "b", "time": 9}, {"name": "c", "time": u64::MAX}, {"name": "d"}]});
    let original: Trace = serde_json::from_value(json).unwrap();
    let under = |one, seed| perturb(&original, &[one], seed).unwrap();
    let renamed = under(Perturbation::RenamedIds, 1);
    assert_ne!(renamed.metadata().id, original.metadata().id);
    assert_ne!(renamed.metadata().agent, original.metadata().agent);
    assert_eq!(renamed.metadata().model, original.metadata().model);
    let times: Vec<Option<u64>> =
        under(Perturbation::ShiftedTimes, 1).steps().map(|step| step.time()).collect();
    assert_eq!(times[1].unwrap() - times[0].unwrap(), 4);
    assert!(times[0].unwrap() > 5 && times[2] == Some(u64::MAX) && times[3].is_none());
    let silent = (0..20).flat_map(|seed| {
        let trace = under(Perturbation::EmptyMessages, seed);
        assert_eq!(trace.steps().filter(|step| step.action_of(Actors::All).is_some()).count(), 4);
        trace.steps().len() - 4..3
    });
    assert!(silent.count() > 5, "not between all turns");
}

#[test]
fn names_that_mean_something_are_kept() {
    let mut builder = Trace::builder();
    for name in ["get_order", "BashOutput", "basher"] {
        builder.call(name, &json!({}), Status::Ok, "x").unwrap();
    }
    let renamed = perturb(&builder.build().unwrap(), &[Perturbation::RenamedTools], 1).unwrap();
    assert_eq!(names(&renamed)[..2], ["get_order", "BashOutput"]);
    assert_ne!(names(&renamed)[2], "basher");
}

#[test]
fn labels_of_failures_move_with_their_steps() {
    let label = LabelledFailure { mode: "loop".into(), range: Some((1, 2)), core: false, diagnosis: None };
    let mut builder = Trace::builder().failures(vec![label]);
    for turn in 0..4 {
        let name = format!("tool_{turn}");
        let action = Action::new(&name).answered(Status::Ok, "x");
        builder.push(StepInput::action(Actor::Agent, action).turn(turn)).unwrap();
    }
    let original = builder.build().unwrap();
    for seed in 0..20 {
        let moved =
            perturb(&original, &[Perturbation::ShiftedSteps, Perturbation::EmptyMessages], seed).unwrap();
        let actions: Vec<u64> = moved
            .steps()
            .filter(|step| matches!(step.event(), Event::Action(_)))
            .map(|step| step.index())
            .collect();
        assert_eq!(moved.failures()[0].range, Some((actions[1], actions[2])));
    }
}
