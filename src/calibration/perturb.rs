//! Changes to a trace that cannot change what is true of it.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::detectors::is_known_tool;
use crate::error::{Error, Result};
use crate::names::named;
use crate::stats::Rng;
use crate::trace::{
    Actor, Actors, Arguments, Content, Event, ExpectedAction, Metadata, Milestone, ReferenceRoute, StepInput,
    Target, Trace, TraceBuilder,
};

/// A change that leaves the right answer alone.
///
/// No detector reads a clock; but traces have times, and an axis of steps. Both are shifted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Perturbation {
    /// Every letter of every tool name, here and in the reference route, becomes another, one to one. The names that
    /// say something to a detector, such as `bash`, stay.
    RenamedTools,
    /// The same for the call ids.
    RenamedCallIds,
    /// The keys of all argument objects come in another order.
    ReorderedArguments,
    /// Messages that say nothing stand between turns. Not where milestones are scores: there every step counts.
    NeutralMessages,
    /// Step indices and turns begin later.
    ShiftedSteps,
    /// A turn whose calls all differ is taken apart: each of them comes in a turn of its own, as from an agent that
    /// makes one call after the other.
    SplitTurns,
    /// The trace, its agent and its parent are called differently.
    RenamedIds,
    /// All times are later by the same span.
    ShiftedTimes,
    /// Messages without text stand between turns, as where contents were not recorded. Not where
    /// milestones are scores.
    EmptyMessages,
}

impl Perturbation {
    /// Every perturbation.
    pub const ALL: [Self; 9] = [
        Self::RenamedTools,
        Self::RenamedCallIds,
        Self::ReorderedArguments,
        Self::NeutralMessages,
        Self::ShiftedSteps,
        Self::SplitTurns,
        Self::RenamedIds,
        Self::ShiftedTimes,
        Self::EmptyMessages,
    ];
}

named! {
    Perturbation, "perturbation" {
        RenamedTools => "renamed_tools",
        RenamedCallIds => "renamed_call_ids",
        ReorderedArguments => "reordered_arguments",
        NeutralMessages => "neutral_messages",
        ShiftedSteps => "shifted_steps",
        SplitTurns => "split_turns",
        RenamedIds => "renamed_ids",
        ShiftedTimes => "shifted_times",
        EmptyMessages => "empty_messages",
    }
}

const NEUTRAL: [&str; 4] = ["Okay.", "One moment, please.", "Thank you.", "Let me see."];

/// The trace under all of these perturbations. The same seed makes the same trace.
///
/// # Errors
/// [`ErrorKind::Trace`](crate::ErrorKind::Trace) where a step index or turn would need more than 64 bits; what is
/// changed stays valid otherwise.
pub fn perturb(trace: &Trace, perturbations: &[Perturbation], seed: u64) -> Result<Trace> {
    let on = |perturbation| perturbations.contains(&perturbation);
    // Each perturbation draws from its own source, so that it does the same alone and in company.
    let rng = |perturbation: Perturbation| Rng::new(seed ^ ((perturbation as u64 + 1) << 56));
    let tools = on(Perturbation::RenamedTools).then(|| Cipher::new(&mut rng(Perturbation::RenamedTools)));
    let ids = on(Perturbation::RenamedCallIds).then(|| Cipher::new(&mut rng(Perturbation::RenamedCallIds)));
    let mut order = on(Perturbation::ReorderedArguments).then(|| rng(Perturbation::ReorderedArguments));
    let by_score = trace.routing().route().is_some_and(scores);
    let mut neutral =
        (on(Perturbation::NeutralMessages) && !by_score).then(|| rng(Perturbation::NeutralMessages));
    let mut empty = (on(Perturbation::EmptyMessages) && !by_score).then(|| rng(Perturbation::EmptyMessages));
    let mut shift =
        if on(Perturbation::ShiftedSteps) { 1 + rng(Perturbation::ShiftedSteps).below(1000) } else { 0 };
    let later =
        if on(Perturbation::ShiftedTimes) { 1 + rng(Perturbation::ShiftedTimes).below(1 << 50) } else { 0 };
    let splits = if on(Perturbation::SplitTurns) { splits(trace) } else { BTreeSet::new() };

    let mut metadata = trace.metadata().clone();
    if on(Perturbation::RenamedIds) {
        rename_ids(&mut metadata, &Cipher::new(&mut rng(Perturbation::RenamedIds)));
    }
    let mut builder =
        Trace::builder().metadata(metadata).unpaired(trace.unpaired()).failures(trace.failures().to_vec());
    if let Some(reward) = trace.reward() {
        builder = builder.reward(reward);
    }
    if let Some(route) = trace.routing().route() {
        builder = builder.route(rename_route(route, tools.as_ref())?);
    }
    let mut turn = None;
    // How much later turns come than in the trace: by the shift, and by every turn that was taken apart.
    let mut apart = 0;
    for (place, step) in trace.steps().enumerate() {
        let between_turns = turn.is_some_and(|turn| turn != step.turn());
        for (rng, texts) in [(&mut neutral, &NEUTRAL[..]), (&mut empty, &[""][..])] {
            if let Some(rng) = rng.as_mut().filter(|_| between_turns)
                && rng.below(2) == 0
            {
                let (index, turn) = (moved(step.index(), shift)?, moved(moved(step.turn(), shift)?, apart)?);
                insert(&mut builder, rng, texts, index, turn)?;
                shift += 1;
            }
        }
        turn = Some(step.turn());
        apart += u64::from(splits.contains(&place));
        let (name, id, arguments);
        let mut event = step.event().clone();
        if let Event::Action(action) = &mut event {
            if let Some(cipher) = &tools {
                name = cipher.rename(action.name);
                action.name = &name;
            }
            if let (Some(cipher), Some(call_id)) = (&ids, action.call_id) {
                id = cipher.apply(call_id);
                action.call_id = Some(&id);
            }
            let given = action.arguments.as_ref().present().and_then(Arguments::json);
            if let (Some(rng), Some(given)) = (&mut order, given) {
                arguments = reorder(given, rng);
                action.arguments = Content::Present(Arguments::from_json(&arguments));
            }
        }
        builder.push(StepInput {
            index: Some(moved(step.index(), shift)?),
            turn: Some(moved(moved(step.turn(), shift)?, apart)?),
            actor: step.actor(),
            location: step.location(),
            progress: step.progress(),
            time: step.time().map(|time| time.saturating_add(later)),
            usage: step.usage().copied(),
            span: step.span(),
            event,
        })?;
    }
    builder.build()
}

/// The places of the steps that begin a turn where turns are taken apart: those that follow a step of their turn, if
/// no call of the turn is made twice.
fn splits(trace: &Trace) -> BTreeSet<usize> {
    let steps: Vec<_> = trace.steps().enumerate().collect();
    let mut splits = BTreeSet::new();
    for turn in steps.chunk_by(|(_, a), (_, b)| a.turn() == b.turn()) {
        let mut calls = BTreeSet::new();
        let differ = turn.iter().all(|(_, step)| match step.digested(Actors::All) {
            None => true,
            Some((_, digests)) => digests.call().is_some_and(|call| calls.insert((step.location(), call))),
        });
        if differ {
            splits.extend(turn.iter().skip(1).map(|(place, _)| *place));
        }
    }
    splits
}

fn rename_ids(metadata: &mut Metadata, cipher: &Cipher) {
    metadata.id = metadata.id.as_deref().map(|id| cipher.apply(id));
    metadata.parent = metadata.parent.as_deref().map(|parent| cipher.apply(parent));
    metadata.agent = metadata.agent.as_deref().map(|agent| cipher.apply(agent).into());
}

fn moved(index: u64, shift: u64) -> Result<u64> {
    let beyond =
        || Error::trace(format!("step {index} cannot be moved by {shift}: there are no more numbers"));
    index.checked_add(shift).ok_or_else(beyond)
}

fn scores(route: &ReferenceRoute) -> bool {
    route.milestones().iter().any(|milestone| matches!(milestone.target, Target::Score(_)))
}

fn insert(builder: &mut TraceBuilder, rng: &mut Rng, texts: &[&str], index: u64, turn: u64) -> Result<()> {
    let text = rng.pick(texts).copied().unwrap_or_default();
    let actor = rng.pick(&[Actor::Agent, Actor::User]).copied().unwrap_or(Actor::Agent);
    builder.push(StepInput::message(actor, text).at(index).turn(turn))
}

fn rename_route(route: &ReferenceRoute, cipher: Option<&Cipher>) -> Result<ReferenceRoute> {
    let milestones = route.milestones().iter().map(|milestone| match (&milestone.target, cipher) {
        (Target::Action(action), Some(cipher)) => {
            let renamed = ExpectedAction::from_json(
                action.actor(),
                &cipher.rename(action.name()),
                action.arguments(),
                action.compare().map(<[String]>::to_vec),
            );
            Milestone::action(milestone.reference_step, renamed)
        }
        _ => milestone.clone(),
    });
    ReferenceRoute::new(milestones.collect())
}

/// A substitution of letters without a fixed point, the same for both cases: equal names stay equal, different
/// ones different, also trimmed and without case.
struct Cipher([u8; 26]);

impl Cipher {
    fn new(rng: &mut Rng) -> Self {
        let mut cycle: Vec<u8> = (b'a'..=b'z').collect();
        rng.shuffle(&mut cycle);
        let mut table = [0; 26];
        for (from, to) in cycle.iter().zip(cycle.iter().cycle().skip(1)) {
            if let Some(slot) = table.get_mut(usize::from(from - b'a')) {
                *slot = *to;
            }
        }
        Self(table)
    }

    /// Another name for a tool; those that detectors know by name keep theirs.
    fn rename(&self, tool: &str) -> String {
        if is_known_tool(tool) { tool.to_owned() } else { self.apply(tool) }
    }

    fn apply(&self, text: &str) -> String {
        let letter = |c: char| {
            let lower = c.to_ascii_lowercase();
            let index = u32::from(lower).checked_sub(u32::from('a')).and_then(|i| usize::try_from(i).ok())?;
            let substitute = char::from(*self.0.get(index)?);
            Some(if c.is_ascii_uppercase() { substitute.to_ascii_uppercase() } else { substitute })
        };
        text.chars().map(|c| letter(c).unwrap_or(c)).collect()
    }
}

/// The same JSON with the keys of its objects in another order.
fn reorder(json: &str, rng: &mut Rng) -> String {
    let Ok(value) = serde_json::from_str::<Value>(json) else { return json.to_owned() };
    let mut text = String::new();
    write_reordered(&value, rng, &mut text);
    text
}

fn write_reordered(value: &Value, rng: &mut Rng, out: &mut String) {
    match value {
        Value::Object(entries) => {
            let mut entries: Vec<_> = entries.iter().collect();
            rng.shuffle(&mut entries);
            if let (Some((first, _)), 2..) = (entries.first(), entries.len())
                && entries.iter().all(|(key, _)| key >= first)
            {
                // Sorted keys are how arguments mostly come: that would be no change.
                entries.rotate_left(1);
            }
            out.push('{');
            for (i, (key, entry)) in entries.into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                out.push_str(&Value::String(key.clone()).to_string());
                out.push(':');
                write_reordered(entry, rng, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_reordered(item, rng, out);
            }
            out.push(']');
        }
        other => out.push_str(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Action, Status};
    use serde_json::json;

    fn trace() -> Trace {
        let arguments = json!({"a": 1, "b": {"c": [1, {"x": 1, "y": 2}], "d": 2}});
        let mut builder = Trace::builder();
        for (turn, name) in [(0, "Get Order"), (0, " get order"), (4, "find")] {
            let action = Action::new(name).arguments(&arguments).call_id("call_1").answered(Status::Ok, "x");
            builder.push(StepInput::action(Actor::Agent, action).turn(turn)).unwrap();
        }
        let expected = ExpectedAction::new(Actor::Agent, "find", &arguments, None);
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
        let texts = |seed| format!("{:?}", perturb(&original, &Perturbation::ALL, seed).unwrap());
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
        for name in ["bash", "BashOutput", "basher"] {
            builder.call(name, &json!({}), Status::Ok, "x").unwrap();
        }
        let renamed = perturb(&builder.build().unwrap(), &[Perturbation::RenamedTools], 1).unwrap();
        assert_eq!(names(&renamed)[..2], ["bash", "BashOutput"]);
        assert_ne!(names(&renamed)[2], "basher");
    }
}
