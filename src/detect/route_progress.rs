//! Tracks which milestones of a reference route a run has reached, and when.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::route_inefficiency::MilestoneEvidence;
use crate::trace::{Actors, Milestone, ReferenceRoute, RouteIndex, Step, Target};

/// Two consecutive milestones, by the index of the second in [`RouteIndex::marks`]. The first is the mark before it, or
/// the start of the run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair {
    pub(super) end: usize,
    /// Reference steps between them, above 0.
    pub(super) distance: u64,
}

/// How far a run went between the milestones of a pair.
#[derive(Debug)]
pub(super) struct Reach {
    pub(super) steps: u64,
    pub(super) reached: bool,
    pub(super) first_step: u64,
    pub(super) last_step: u64,
}

/// A point in the run. `unit` counts in the unit of the route: the source's step index, or the number of actions
/// so far.
#[derive(Debug, Clone, Copy)]
struct Point {
    unit: u64,
    step: u64,
}

/// Follows a run along its reference route. Memory grows with the milestones reached, not with all milestones.
#[derive(Debug, Default)]
pub(super) struct Tracker {
    route: Option<(Arc<ReferenceRoute>, Arc<RouteIndex>)>,
    /// Whether the start of the run counts as a milestone.
    virtual_start: bool,
    start: Option<Point>,
    /// Where each mark was reached, by its index.
    reached: BTreeMap<usize, Point>,
    /// The number of scores reached.
    scores: usize,
    actions: u64,
    last: Option<Point>,
    /// The ends of the pairs that begin with the last step.
    begun: Vec<usize>,
    /// Scratch: the marks that a step reaches.
    fresh: Vec<usize>,
}

impl Tracker {
    /// Creates a tracker at the start of a route. `Err` is the reason why the route does not apply.
    pub(super) fn new(
        route: &Arc<ReferenceRoute>,
        actors: Actors,
        from_start: bool,
    ) -> Result<Self, &'static str> {
        if route.milestones().is_empty() {
            return Err("the reference route has no milestones");
        }
        let index = route.index(actors);
        if index.marks.is_empty() {
            return Err("the reference route has no milestones of the chosen actors");
        }
        let virtual_start = from_start && !index.by_score;
        Ok(Self { route: Some((Arc::clone(route), Arc::clone(index))), virtual_start, ..Self::default() })
    }

    /// Returns an estimate of the bytes held, without the shared route.
    pub(super) fn memory(&self) -> usize {
        self.reached.len() * 2 * size_of::<(usize, Point)>()
            + (self.begun.capacity() + self.fresh.capacity()) * size_of::<usize>()
    }

    /// Returns true if the milestones are scores.
    pub(super) fn by_score(&self) -> bool {
        self.route.as_ref().is_some_and(|(_, index)| index.by_score)
    }

    pub(super) fn acted(&self) -> bool {
        self.actions > 0
    }

    pub(super) fn milestones(&self) -> u64 {
        self.route.as_ref().map_or(0, |(_, index)| index.marks.len() as u64)
    }

    pub(super) fn reached(&self) -> u64 {
        self.reached.len() as u64
    }

    /// Processes a step and returns its position in the unit of the route; `None` if the step does not count.
    pub(super) fn observe(&mut self, step: &Step<'_>) -> Option<u64> {
        self.begun.clear();
        self.fresh.clear();
        let (_, index) = self.route.as_ref()?;
        let unit = if index.by_score {
            let progress = step.progress();
            while let Some((score, mark)) = index.ascending.get(self.scores)
                && progress.is_some_and(|progress| progress >= *score)
            {
                self.fresh.push(*mark);
                self.scores += 1;
            }
            step.index()
        } else {
            if !index.counts(step.actor()) {
                return None;
            }
            let (action, digests) = step.digested(Actors::All)?;
            self.actions += 1;
            let open = |mark: usize| !self.reached.contains_key(&mark);
            index.reach(step.actor(), action, &digests, open, &mut self.fresh);
            self.actions
        };
        let point = Point { unit, step: step.index() };
        if self.virtual_start && self.last.is_none() {
            self.start = Some(Point { unit: 0, step: step.index() });
            self.begun.push(0);
        }
        self.last = Some(point);
        for mark in self.fresh.drain(..) {
            self.reached.entry(mark).or_insert(point);
            self.begun.push(mark + 1);
        }
        Some(unit)
    }

    /// Returns the pair that ends at this mark; `None` if the mark does not exist, or if the reference takes no step
    /// from the mark before to this one.
    pub(super) fn pair(&self, end: usize) -> Option<Pair> {
        let (_, index) = self.route.as_ref()?;
        let before = match end.checked_sub(1) {
            Some(start) => index.marks.get(start)?.reference_step,
            None => 0,
        };
        let distance = index.marks.get(end)?.reference_step.saturating_sub(before);
        (distance > 0).then_some(Pair { end, distance })
    }

    /// Returns the ends of the pairs that begin at a mark reached by the last step.
    pub(super) fn begun(&self) -> &[usize] {
        &self.begun
    }

    /// Returns the pairs whose first milestone was reached, in the order of the route.
    pub(super) fn open_pairs(&self) -> impl Iterator<Item = Pair> {
        let start = self.start.map(|_| 0);
        start.into_iter().chain(self.reached.keys().map(|mark| mark + 1)).filter_map(|end| self.pair(end))
    }

    fn start_point(&self, pair: Pair) -> Option<Point> {
        match pair.end.checked_sub(1) {
            Some(mark) => self.reached.get(&mark).copied(),
            None => self.start,
        }
    }

    /// Returns how many steps the run has taken in a pair so far; `None` if it has not reached the first milestone,
    /// has taken no step since, or reached the second no later than the first.
    pub(super) fn measure(&self, pair: Pair) -> Option<Reach> {
        let start = self.start_point(pair)?;
        let (end, reached) = match self.reached.get(&pair.end) {
            Some(end) => (*end, true),
            None => (self.last?, false),
        };
        let steps = end.unit.checked_sub(start.unit).filter(|steps| *steps > 0)?;
        Some(Reach { steps, reached, first_step: start.step, last_step: end.step })
    }

    /// Returns the unit at which a pair began.
    pub(super) fn start_of(&self, pair: Pair) -> Option<u64> {
        self.start_point(pair).map(|start| start.unit)
    }

    /// Returns the milestones of a pair, for the evidence.
    pub(super) fn describe(&self, pair: Pair) -> (MilestoneEvidence, MilestoneEvidence) {
        (self.describe_mark(pair.end.checked_sub(1)), self.describe_mark(Some(pair.end)))
    }

    /// Returns the name of the first milestone that was not reached, and how many more were not; `None` if all were
    /// reached or the first has no name.
    pub(super) fn missed(&self) -> Option<(String, u64)> {
        let marks = 0..self.route.as_ref().map_or(0, |(_, index)| index.marks.len());
        let mut missed = marks.filter(|mark| !self.reached.contains_key(mark));
        let first = self.describe_mark(Some(missed.next()?)).action?;
        Some((first, missed.count() as u64))
    }

    fn describe_mark(&self, mark: Option<usize>) -> MilestoneEvidence {
        let known = mark.and_then(|mark| {
            let (route, index) = self.route.as_ref()?;
            let mark = index.marks.get(mark)?;
            Some((mark.reference_step, route.milestones().get(mark.milestone)?))
        });
        let Some((reference_step, milestone)) = known else {
            return MilestoneEvidence { reference_step: 0, action: Some("start".to_owned()), score: None };
        };
        let (action, score) = match milestone {
            Milestone { target: Target::Score(score), label, .. } => (label.clone(), Some(*score)),
            Milestone { target: Target::Action(action), label, .. } => {
                (Some(label.clone().unwrap_or_else(|| action.name().to_owned())), None)
            }
        };
        MilestoneEvidence { reference_step, action, score }
    }
}
