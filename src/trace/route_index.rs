//! Lookup tables for a reference route, built once and shared by all runs that have the route.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use super::action::{Action, Arguments, Digests};
use super::digest::{Digest, Members};
use super::route::{Milestone, ReferenceAction, Target};
use super::step::{Actor, Actors};

/// A digest of the compared parts of an action, and its actor.
type Key = (Digest, Actor);

/// The milestones of the chosen actors, indexed by the scores or actions that reach them.
#[derive(Debug, Default)]
pub(crate) struct RouteIndex {
    /// True if milestones are scores, false if they are actions.
    pub(crate) by_score: bool,
    /// The milestones, in the order of the route.
    pub(crate) marks: Vec<Mark>,
    /// Scores in ascending order, with the indices of their marks.
    pub(crate) ascending: Vec<(f64, usize)>,
    /// The actors whose actions are milestones.
    actors: Vec<Actor>,
    /// The keys that reach marks, with the indices of those marks, sorted.
    keys: Vec<(Key, usize)>,
    /// The sets of arguments that milestones compare, by name and actor.
    compared: BTreeSet<(Key, Vec<String>)>,
}

/// A milestone of the chosen actors.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    /// Position in the route.
    pub(crate) milestone: usize,
    /// Reference step, less the milestones of other actors before it.
    pub(crate) reference_step: u64,
}

impl RouteIndex {
    fn new(milestones: &[Milestone], actors: Actors) -> Self {
        let mut index = Self {
            by_score: matches!(milestones.first(), Some(Milestone { target: Target::Score(_), .. })),
            ..Self::default()
        };
        let mut dropped: Vec<u64> = Vec::new();
        for (position, milestone) in milestones.iter().enumerate() {
            match &milestone.target {
                Target::Action(action) if !actors.include(action.actor()) => {
                    dropped.push(milestone.reference_step);
                    continue;
                }
                Target::Action(action) => index.expect(action),
                Target::Score(score) => index.ascending.push((*score, index.marks.len())),
            }
            // Reference steps do not count dropped milestones at earlier steps.
            let before = dropped.partition_point(|step| *step < milestone.reference_step) as u64;
            let reference_step = milestone.reference_step.saturating_sub(before);
            index.marks.push(Mark { milestone: position, reference_step });
        }
        index.ascending.sort_by(|a, b| a.0.total_cmp(&b.0));
        index.keys.sort_unstable();
        index
    }

    fn expect(&mut self, action: &ReferenceAction) {
        let actor = action.actor();
        if !self.actors.contains(&actor) {
            self.actors.push(actor);
        }
        let name = action.name_digest();
        let decisive = match action.compare() {
            None => name.and(action.digest()),
            Some([]) => name,
            Some(compared) => {
                let mut compared = compared.to_vec();
                compared.sort_unstable();
                compared.dedup();
                let decisive = with_members(name, &compared, &Members::of(action.arguments()));
                self.compared.insert(((name, actor), compared));
                decisive
            }
        };
        self.keys.push(((decisive, actor), self.marks.len()));
    }

    /// Returns true if a milestone expects an action of this actor.
    pub(crate) fn counts(&self, actor: Actor) -> bool {
        self.actors.contains(&actor)
    }

    /// Collects the open marks that an action reaches. All marks of one key are reached at once, so if the
    /// first is not open, none is.
    pub(crate) fn reach(
        &self,
        actor: Actor,
        action: &Action<'_>,
        digests: &Digests,
        open: impl Fn(usize) -> bool,
        reached: &mut Vec<usize>,
    ) {
        let mut of_key = |decisive: Digest| {
            let start = self.keys.partition_point(|(other, _)| *other < (decisive, actor));
            let marks = self.keys.iter().skip(start).take_while(|(other, _)| *other == (decisive, actor));
            reached.extend(marks.map(|(_, mark)| *mark).take_while(|mark| open(*mark)));
        };
        let name = digests.name;
        if let Some(call) = digests.exact_call() {
            of_key(call);
        }
        of_key(name);
        let key = (name, actor);
        let mut given = None;
        for (_, members) in self.compared.range((key, Vec::new())..).take_while(|(other, _)| *other == key) {
            // Reads the arguments once for all milestones.
            let given = given.get_or_insert_with(|| {
                let json = action.arguments.as_ref().present().and_then(Arguments::json);
                json.map(Members::of).unwrap_or_default()
            });
            // Content that was not recorded equals nothing.
            if digests.arguments.is_some() {
                of_key(with_members(name, members, given));
            }
        }
    }
}

/// Combines the digest of a name with those of some arguments. A missing argument counts as [`Digest::NONE`].
fn with_members(name: Digest, members: &[String], given: &Members) -> Digest {
    members.iter().fold(name, |digest, member| {
        digest.and(Digest::of_text(member)).and(given.get(member).unwrap_or(Digest::NONE))
    })
}

/// The indexes of one route, each built on first use. They derive from the milestones, so equality ignores
/// them.
#[derive(Debug, Default, Clone)]
pub(super) struct Indices {
    agent: OnceLock<Arc<RouteIndex>>,
    user: OnceLock<Arc<RouteIndex>>,
    all: OnceLock<Arc<RouteIndex>>,
}

impl Indices {
    pub(super) fn get(&self, milestones: &[Milestone], actors: Actors) -> &Arc<RouteIndex> {
        let slot = match actors {
            Actors::Agent => &self.agent,
            Actors::User => &self.user,
            Actors::All => &self.all,
        };
        slot.get_or_init(|| Arc::new(RouteIndex::new(milestones, actors)))
    }
}

impl PartialEq for Indices {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}
