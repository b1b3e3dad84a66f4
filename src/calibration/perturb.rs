//! Changes to a trace that cannot change what is true of it.

use serde_json::Value;

use crate::detectors::is_known_tool;
use crate::error::{Error, Result};
use crate::names::named;
use crate::stats::Rng;
use crate::trace::{
    Actor, Arguments, Content, Event, ExpectedAction, Milestone, ReferenceRoute, StepInput, Target, Trace,
    TraceBuilder,
};

/// A change that leaves the right answer alone.
///
/// The trace model has no clock; its time axis is the step index. So that is what is shifted.
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
}

impl Perturbation {
    /// Every perturbation.
    pub const ALL: [Self; 5] = [
        Self::RenamedTools,
        Self::RenamedCallIds,
        Self::ReorderedArguments,
        Self::NeutralMessages,
        Self::ShiftedSteps,
    ];
}

named! {
    Perturbation, "perturbation" {
        RenamedTools => "renamed_tools",
        RenamedCallIds => "renamed_call_ids",
        ReorderedArguments => "reordered_arguments",
        NeutralMessages => "neutral_messages",
        ShiftedSteps => "shifted_steps",
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
    let mut shift =
        if on(Perturbation::ShiftedSteps) { 1 + rng(Perturbation::ShiftedSteps).below(1000) } else { 0 };

    let mut builder = Trace::builder()
        .metadata(trace.metadata().clone())
        .unpaired(trace.unpaired())
        .failures(trace.failures().to_vec());
    if let Some(reward) = trace.reward() {
        builder = builder.reward(reward);
    }
    if let Some(route) = trace.routing().route() {
        builder = builder.route(rename_route(route, tools.as_ref())?);
    }
    let mut turn = None;
    for step in trace.steps() {
        let between_turns = turn.is_some_and(|turn| turn != step.turn());
        if let Some(rng) = neutral.as_mut().filter(|_| between_turns)
            && rng.below(2) == 0
        {
            insert(&mut builder, rng, moved(step.index(), shift)?, moved(step.turn(), shift)?)?;
            shift += 1;
        }
        turn = Some(step.turn());
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
            turn: Some(moved(step.turn(), shift)?),
            actor: step.actor(),
            location: step.location(),
            progress: step.progress(),
            time: step.time(),
            usage: step.usage().copied(),
            span: step.span(),
            event,
        })?;
    }
    builder.build()
}

fn moved(index: u64, shift: u64) -> Result<u64> {
    let beyond =
        || Error::trace(format!("step {index} cannot be moved by {shift}: there are no more numbers"));
    index.checked_add(shift).ok_or_else(beyond)
}

fn scores(route: &ReferenceRoute) -> bool {
    route.milestones().iter().any(|milestone| matches!(milestone.target, Target::Score(_)))
}

fn insert(builder: &mut TraceBuilder, rng: &mut Rng, index: u64, turn: u64) -> Result<()> {
    let text = rng.pick(&NEUTRAL).copied().unwrap_or("Okay.");
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
