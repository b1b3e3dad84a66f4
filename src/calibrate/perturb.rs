//! Perturbations of traces that must not change a verdict.

mod cipher;
mod reorder;

use std::collections::{BTreeMap, BTreeSet};

use cipher::Cipher;
use reorder::reordered;

use crate::error::{Error, Result};
use crate::names::named;
use crate::stats::Rng;
use crate::trace::{
    Actor, Actors, Arguments, Content, Event, Metadata, Milestone, ReferenceAction, ReferenceRoute, Step,
    StepInput, Target, Trace, TraceBuilder,
};

named! {
    /// A change to a trace that must not change a verdict.
    #[derive(PartialOrd, Ord)]
    #[non_exhaustive]
    pub enum Perturbation: "perturbation" {
        /// Replaces the ASCII letters of tool names, one to one, including in the reference route. Names that
        /// detectors know, such as `bash`, are kept.
        RenamedTools = "renamed_tools",
        /// Replaces the ASCII letters of call ids, one to one.
        RenamedCallIds = "renamed_call_ids",
        /// Reorders the keys of all argument objects.
        ReorderedArguments = "reordered_arguments",
        /// Inserts meaningless messages between turns, except in traces with a score as a milestone: their distances
        /// are counted in steps, which a message would change.
        NeutralMessages = "neutral_messages",
        /// Shifts the indices of steps and turns, and the ranges of labelled failures with them.
        ShiftedSteps = "shifted_steps",
        /// Splits each turn into one turn per step, if the turn's calls all differ and all have recorded arguments.
        SplitTurns = "split_turns",
        /// Replaces the ASCII letters in the ids of the trace and its parent, and in the agent's name.
        RenamedIds = "renamed_ids",
        /// Moves all times later by the same amount.
        ShiftedTimes = "shifted_times",
        /// Inserts empty messages between turns, with the same exception as [`Perturbation::NeutralMessages`].
        EmptyMessages = "empty_messages",
    }
}

/// The texts of [`Perturbation::NeutralMessages`].
const NEUTRAL: [&str; 4] = ["Okay.", "One moment, please.", "Thank you.", "Let me see."];

/// Applies perturbations to a trace. The same seed gives the same trace.
///
/// ```
/// use serde_json::json;
/// use wrongturn::{Detector, Loop, Status, Trace, calibrate::{Perturbation, perturb}};
///
/// let mut run = Trace::builder();
/// for _ in 0..4 {
///     run.call("look", &json!({"at": "wall"}), Status::Ok, "a wall")?;
/// }
/// let run = run.build()?;
/// let perturbed = perturb(&run, Perturbation::VARIANTS, 7)?;
/// assert_ne!(perturbed, run);
/// let detected = |trace| Loop::default().detect(trace).detected();
/// assert_eq!(detected(&perturbed), detected(&run));
/// # Ok::<(), wrongturn::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Trace`](crate::ErrorKind::Trace) if a step index or turn would exceed 64 bits.
pub fn perturb(trace: &Trace, perturbations: &[Perturbation], seed: u64) -> Result<Trace> {
    let mut changes = Changes::of(trace, perturbations, seed);
    let mut builder = changes.begin(trace)?;
    let (mut turn, mut shifts) = (None, BTreeMap::new());
    for (place, step) in trace.steps().enumerate() {
        if turn.is_some_and(|turn| turn != step.turn()) {
            changes.between_turns(&step, &mut builder)?;
        }
        turn = Some(step.turn());
        changes.apart += u64::from(changes.splits.contains(&place));
        changes.push(&step, &mut builder)?;
        shifts.insert(step.index(), changes.shift);
    }
    // Labelled failures refer to steps by index, so their ranges shift with the steps.
    let shift =
        |step: u64| step.saturating_add(shifts.range(step..).next().map_or(changes.shift, |(_, by)| *by));
    let mut failures = trace.failures().to_vec();
    for range in failures.iter_mut().filter_map(|failure| failure.range.as_mut()) {
        *range = (shift(range.0), shift(range.1));
    }
    builder.failures(failures).build()
}

/// The state of all perturbations. One that is not chosen is `None`, 0 or empty.
struct Changes {
    tools: Option<Cipher>,
    call_ids: Option<Cipher>,
    ids: Option<Cipher>,
    order: Option<Rng>,
    neutral: Option<Rng>,
    empty: Option<Rng>,
    /// The shift of times.
    later: u64,
    /// Positions of the steps that begin a turn of their own.
    splits: BTreeSet<usize>,
    /// The shift of steps and turns: the first shift plus one for each inserted message.
    shift: u64,
    /// The additional shift of turns: one for each split.
    apart: u64,
}

impl Changes {
    fn of(trace: &Trace, perturbations: &[Perturbation], seed: u64) -> Self {
        // Each perturbation has its own random source, so it does the same alone and in combination.
        let rng = |one: Perturbation| {
            perturbations.contains(&one).then(|| Rng::new(seed ^ ((one as u64 + 1) << 56)))
        };
        let cipher = |one| rng(one).map(|mut rng| Cipher::new(&mut rng));
        let shift = |one, most| rng(one).map_or(0, |mut rng| 1 + rng.below(most));
        let messages_count = trace.routing().route().is_some_and(has_scores);
        Self {
            tools: cipher(Perturbation::RenamedTools),
            call_ids: cipher(Perturbation::RenamedCallIds),
            ids: cipher(Perturbation::RenamedIds),
            order: rng(Perturbation::ReorderedArguments),
            neutral: rng(Perturbation::NeutralMessages).filter(|_| !messages_count),
            empty: rng(Perturbation::EmptyMessages).filter(|_| !messages_count),
            later: shift(Perturbation::ShiftedTimes, 1 << 50),
            splits: rng(Perturbation::SplitTurns).map(|_| splits(trace)).unwrap_or_default(),
            shift: shift(Perturbation::ShiftedSteps, 1000),
            apart: 0,
        }
    }

    /// Begins the perturbed trace with everything but its steps.
    fn begin(&self, trace: &Trace) -> Result<TraceBuilder> {
        let mut metadata = trace.metadata().clone();
        if let Some(cipher) = &self.ids {
            rename_ids(&mut metadata, cipher);
        }
        let mut builder = Trace::builder().metadata(metadata).unpaired(trace.unpaired());
        if let Some(reward) = trace.reward() {
            builder = builder.reward(reward);
        }
        if let Some(route) = trace.routing().route() {
            builder = builder.route(rename_route(route, self.tools.as_ref())?);
        }
        Ok(builder)
    }

    /// Inserts messages before the first step of a turn, each kind with a probability of one half.
    fn between_turns(&mut self, step: &Step<'_>, builder: &mut TraceBuilder) -> Result<()> {
        for (rng, texts) in [(&mut self.neutral, &NEUTRAL[..]), (&mut self.empty, &[""][..])] {
            if let Some(rng) = rng
                && rng.below(2) == 0
            {
                let (index, turn) = place(step, self.shift, self.apart)?;
                insert(builder, rng, texts, index, turn)?;
                self.shift += 1;
            }
        }
        Ok(())
    }

    fn push(&mut self, step: &Step<'_>, builder: &mut TraceBuilder) -> Result<()> {
        let (index, turn) = place(step, self.shift, self.apart)?;
        let (name, id, arguments);
        let mut event = step.event().clone();
        if let Event::Action(action) = &mut event {
            if let Some(cipher) = &self.tools {
                name = cipher.rename(action.name);
                action.name = &name;
            }
            if let (Some(cipher), Some(call_id)) = (&self.call_ids, action.call_id) {
                id = cipher.apply(call_id);
                action.call_id = Some(&id);
            }
            let given = action.arguments.as_ref().present().and_then(Arguments::json);
            if let (Some(rng), Some(given)) = (&mut self.order, given) {
                arguments = reordered(given, rng);
                action.arguments = Content::Present(Arguments::from_json(&arguments));
            }
        }
        builder.push(StepInput {
            index: Some(index),
            turn: Some(turn),
            actor: step.actor(),
            location: step.location(),
            progress: step.progress(),
            time: step.time().map(|time| time.saturating_add(self.later)),
            usage: step.usage().copied(),
            span: step.span(),
            event,
        })
    }
}

/// Returns the positions of steps that begin a turn of their own when turns are split: all but the first of their
/// turn, if the turn repeats no call and all its calls have recorded arguments.
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

/// Returns the shifted index and turn of a step.
fn place(step: &Step<'_>, shift: u64, apart: u64) -> Result<(u64, u64)> {
    Ok((moved(step.index(), shift)?, moved(moved(step.turn(), shift)?, apart)?))
}

fn moved(index: u64, shift: u64) -> Result<u64> {
    let beyond = || {
        Error::trace(format!(
            "step or turn {index} cannot be shifted by {shift}: the number would exceed 64 bits"
        ))
    };
    index.checked_add(shift).ok_or_else(beyond)
}

/// Returns true if a milestone is a score. Distances are then counted in steps, so no step may be added.
fn has_scores(route: &ReferenceRoute) -> bool {
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
            let renamed = ReferenceAction::from_json(
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

#[cfg(test)]
mod tests;
