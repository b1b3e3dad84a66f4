//! Changes to a trace that cannot change what is true of it.

mod cipher;
mod reorder;

use std::collections::BTreeSet;

use cipher::Cipher;
use reorder::reordered;

use crate::error::{Error, Result};
use crate::names::named;
use crate::stats::Rng;
use crate::trace::{
    Actor, Actors, Arguments, Content, Event, Metadata, Milestone, ReferenceAction, ReferenceRoute, Step,
    StepInput, Target, Trace, TraceBuilder,
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

/// What a message that says nothing may say.
const NEUTRAL: [&str; 4] = ["Okay.", "One moment, please.", "Thank you.", "Let me see."];

/// Applies all of these perturbations to a trace. The same seed makes the same trace.
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
/// let perturbed = perturb(&run, &Perturbation::ALL, 7)?;
/// assert_ne!(perturbed, run);
/// let detected = |trace| Loop::default().detect(trace).detected();
/// assert_eq!(detected(&perturbed), detected(&run));
/// # Ok::<(), wrongturn::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Trace`](crate::ErrorKind::Trace) where a step index or turn would need more than 64 bits; what is
/// changed stays valid otherwise.
pub fn perturb(trace: &Trace, perturbations: &[Perturbation], seed: u64) -> Result<Trace> {
    let mut changes = Changes::of(trace, perturbations, seed);
    let mut builder = changes.begin(trace)?;
    let mut turn = None;
    for (place, step) in trace.steps().enumerate() {
        if turn.is_some_and(|turn| turn != step.turn()) {
            changes.between_turns(&step, &mut builder)?;
        }
        turn = Some(step.turn());
        changes.apart += u64::from(changes.splits.contains(&place));
        changes.push(&step, &mut builder)?;
    }
    builder.build()
}

/// What is changed, step by step. A perturbation that is not asked for is `None`, 0 or empty.
struct Changes {
    tools: Option<Cipher>,
    call_ids: Option<Cipher>,
    ids: Option<Cipher>,
    order: Option<Rng>,
    neutral: Option<Rng>,
    empty: Option<Rng>,
    /// How much later all times are.
    later: u64,
    /// The places of the steps that begin a turn of their own.
    splits: BTreeSet<usize>,
    /// How much greater step indices are than in the trace: by the first shift, and by every message put in between.
    shift: u64,
    /// How much greater turns are beside that: by every turn that was taken apart.
    apart: u64,
}

impl Changes {
    fn of(trace: &Trace, perturbations: &[Perturbation], seed: u64) -> Self {
        // Each perturbation draws from its own source, so that it does the same alone and in company.
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

    /// What a trace holds beside its steps.
    fn begin(&self, trace: &Trace) -> Result<TraceBuilder> {
        let mut metadata = trace.metadata().clone();
        if let Some(cipher) = &self.ids {
            rename_ids(&mut metadata, cipher);
        }
        let mut builder = Trace::builder()
            .metadata(metadata)
            .unpaired(trace.unpaired())
            .failures(trace.failures().to_vec());
        if let Some(reward) = trace.reward() {
            builder = builder.reward(reward);
        }
        if let Some(route) = trace.routing().route() {
            builder = builder.route(rename_route(route, self.tools.as_ref())?);
        }
        Ok(builder)
    }

    /// Puts messages before the first step of a turn, each kind every other time.
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

/// The index and the turn that a step has now.
fn place(step: &Step<'_>, shift: u64, apart: u64) -> Result<(u64, u64)> {
    Ok((moved(step.index(), shift)?, moved(moved(step.turn(), shift)?, apart)?))
}

fn moved(index: u64, shift: u64) -> Result<u64> {
    let beyond =
        || Error::trace(format!("step {index} cannot be moved by {shift}: there are no more numbers"));
    index.checked_add(shift).ok_or_else(beyond)
}

/// Whether milestones are reached by scores: then every step counts, and none may be added.
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
