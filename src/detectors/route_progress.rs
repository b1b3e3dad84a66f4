//! Which milestones of a reference route a run has reached, and when.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::route_inefficiency::MilestoneEvidence;
use crate::trace::{Actor, Actors, Digest, Digests, ExpectedAction, Milestone, ReferenceRoute, Step, Target};

/// Two consecutive milestones.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair {
    /// Positions in the list of marks; the end comes right after.
    start: usize,
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

/// A point of the run in the unit of the route: the source's step, or the number of the action.
#[derive(Debug, Clone, Copy)]
struct Point {
    unit: u64,
    step: u64,
}

/// A milestone, or the virtual start, and where the run reached it.
#[derive(Debug, Clone, Copy)]
struct Mark {
    /// Position in the route; `None` is the virtual start.
    milestone: Option<usize>,
    reference_step: u64,
    reached: Option<Point>,
}

/// Follows a run along its reference route, and after it the next run along another.
#[derive(Debug, Default)]
pub(super) struct Tracker {
    route: Option<Arc<ReferenceRoute>>,
    /// Which of the two rules is that of the route.
    by_score: bool,
    scores: ScoreRule,
    actions: ActionRule,
    pairs: Vec<Pair>,
    marks: Vec<Mark>,
    last: Option<Point>,
    virtual_start: bool,
    /// Scratch: the marks that a step reaches.
    reached: Vec<usize>,
}

#[derive(Debug, Default)]
struct ScoreRule {
    /// Scores in ascending order, with their marks.
    ascending: Vec<(f64, usize)>,
    /// How many have been reached.
    reached: usize,
}

/// Whose action it is, and the digest of what it does.
type Key = (Digest, Actor);

#[derive(Debug, Default)]
struct ActionRule {
    chosen: Vec<Actor>,
    actions: u64,
    /// Marks by the digest of all that decides them; sorted.
    marks: Vec<(Key, usize)>,
    /// By name, which arguments decide where not all of them do.
    compared: BTreeSet<(Key, Vec<String>)>,
}

impl Tracker {
    /// Starts anew at the beginning of a route. `Err`: why the route does not apply.
    pub(super) fn begin(
        &mut self,
        route: &Arc<ReferenceRoute>,
        actors: Actors,
        from_start: bool,
    ) -> Result<(), &'static str> {
        self.clear();
        let milestones = route.milestones();
        let Some(first) = milestones.first() else {
            return Err("the reference route has no milestones");
        };
        self.by_score = matches!(first.target, Target::Score(_));
        self.virtual_start = from_start && !self.by_score;
        if self.virtual_start {
            let reached = Some(Point { unit: 0, step: 0 });
            self.marks.push(Mark { milestone: None, reference_step: 0, reached });
        }
        let mut dropped: Vec<u64> = Vec::new();
        for (position, milestone) in milestones.iter().enumerate() {
            match &milestone.target {
                Target::Action(action) if !actors.include(action.actor()) => {
                    dropped.push(milestone.reference_step);
                    continue;
                }
                Target::Action(action) => self.actions.expect(action, self.marks.len()),
                Target::Score(score) => self.scores.ascending.push((*score, self.marks.len())),
            }
            // The rest is numbered anew: steps that fall away before it count no more.
            let before = dropped.partition_point(|step| *step < milestone.reference_step) as u64;
            let reference_step = milestone.reference_step.saturating_sub(before);
            self.marks.push(Mark { milestone: Some(position), reference_step, reached: None });
        }
        if self.marks.len() == usize::from(self.virtual_start) {
            return Err("the reference route has no milestones of the chosen actors");
        }
        let distance = |pair: &[Mark]| match pair {
            [from, to] => to.reference_step.saturating_sub(from.reference_step),
            _ => 0,
        };
        let pairs = self.marks.windows(2).map(distance).enumerate();
        let pairs = pairs.map(|(start, distance)| Pair { start, distance });
        self.pairs.extend(pairs.filter(|pair| pair.distance > 0));
        self.scores.ascending.sort_by(|a, b| a.0.total_cmp(&b.0));
        self.actions.marks.sort_unstable();
        self.route = Some(Arc::clone(route));
        Ok(())
    }

    fn clear(&mut self) {
        let Self { route, scores, actions, pairs, marks, last, .. } = self;
        *route = None;
        scores.ascending.clear();
        scores.reached = 0;
        actions.chosen.clear();
        actions.actions = 0;
        actions.marks.clear();
        actions.compared.clear();
        pairs.clear();
        marks.clear();
        *last = None;
    }

    pub(super) fn pairs(&self) -> &[Pair] {
        &self.pairs
    }

    /// Takes a step, and gives back its unit; `None` where it does not count.
    pub(super) fn observe(&mut self, step: &Step<'_>) -> Option<u64> {
        self.reached.clear();
        self.route.as_ref()?;
        let unit = if self.by_score {
            self.scores.observe(step, &mut self.reached);
            step.index()
        } else {
            self.actions.observe(step, &self.marks, &mut self.reached)?
        };
        let point = Point { unit, step: step.index() };
        if self.last.is_none()
            && self.virtual_start
            && let Some(start) = self.marks.first_mut()
        {
            start.reached = Some(Point { unit: 0, step: step.index() });
            self.reached.push(0);
        }
        self.last = Some(point);
        for &mark in &self.reached {
            if let Some(mark) = self.marks.get_mut(mark) {
                mark.reached.get_or_insert(point);
            }
        }
        Some(unit)
    }

    /// The places, in the list of pairs, of those that begin at a mark which the last step reached.
    pub(super) fn begun(&self) -> impl Iterator<Item = usize> {
        let place = |start| self.pairs.binary_search_by_key(start, |pair| pair.start).ok();
        self.reached.iter().filter_map(place)
    }

    fn point(&self, mark: usize) -> Option<Point> {
        self.marks.get(mark)?.reached
    }

    /// How far the run went in a pair so far; `None` where the pair does not count.
    pub(super) fn measure(&self, pair: Pair) -> Option<Reach> {
        let start = self.point(pair.start)?;
        let (end, reached) = match self.point(pair.start + 1) {
            Some(end) => (end, true),
            None => (self.last?, false),
        };
        let steps = end.unit.checked_sub(start.unit).filter(|steps| *steps > 0)?;
        Some(Reach { steps, reached, first_step: start.step, last_step: end.step })
    }

    /// The unit at which the pair began.
    pub(super) fn start_of(&self, pair: Pair) -> Option<u64> {
        self.point(pair.start).map(|start| start.unit)
    }

    /// How many milestones were reached.
    pub(super) fn reached(&self) -> u64 {
        self.marks.iter().filter(|mark| mark.milestone.is_some() && mark.reached.is_some()).count() as u64
    }

    /// The milestones of a pair, for the evidence.
    pub(super) fn describe(&self, pair: Pair) -> (MilestoneEvidence, MilestoneEvidence) {
        (self.describe_mark(pair.start), self.describe_mark(pair.start + 1))
    }

    fn describe_mark(&self, mark: usize) -> MilestoneEvidence {
        let mark = self.marks.get(mark);
        let milestone = mark.and_then(|mark| self.route.as_ref()?.milestones().get(mark.milestone?));
        let (action, score) = match milestone {
            None => (Some("start".to_owned()), None),
            Some(Milestone { target: Target::Score(score), label, .. }) => (label.clone(), Some(*score)),
            Some(Milestone { target: Target::Action(action), label, .. }) => {
                (Some(label.clone().unwrap_or_else(|| action.name().to_owned())), None)
            }
        };
        MilestoneEvidence { reference_step: mark.map_or(0, |mark| mark.reference_step), action, score }
    }
}

/// The marks of a key in a sorted list.
fn marks_of(sorted: &[(Key, usize)], key: Key) -> impl Iterator<Item = usize> {
    let start = sorted.partition_point(|(other, _)| *other < key);
    sorted.iter().skip(start).take_while(move |(other, _)| *other == key).map(|(_, mark)| *mark)
}

impl ScoreRule {
    fn observe(&mut self, step: &Step<'_>, reached: &mut Vec<usize>) {
        let Some(progress) = step.progress() else { return };
        while let Some((_, mark)) = self.ascending.get(self.reached).filter(|(score, _)| progress >= *score) {
            reached.push(*mark);
            self.reached += 1;
        }
    }
}

impl ActionRule {
    fn expect(&mut self, action: &ExpectedAction, mark: usize) {
        let actor = action.actor();
        if !self.chosen.contains(&actor) {
            self.chosen.push(actor);
        }
        let name = action.name_digest();
        let decisive = match action.compare() {
            None => name.and(action.digest()),
            Some([]) => name,
            Some(compared) => {
                let mut compared = compared.to_vec();
                compared.sort_unstable();
                compared.dedup();
                let decisive = with_members(name, &compared, |member| action.member(member));
                self.compared.insert(((name, actor), compared));
                decisive
            }
        };
        self.marks.push(((decisive, actor), mark));
    }

    /// The number of the action; `None` where the step does not count.
    fn observe(&mut self, step: &Step<'_>, marks: &[Mark], reached: &mut Vec<usize>) -> Option<u64> {
        if !self.chosen.contains(&step.actor()) {
            return None;
        }
        let (action, Digests { name, arguments, .. }) = step.digested(Actors::All)?;
        self.actions += 1;
        // All marks of one key are reached at once: where the first is not open, none is.
        let open = |mark: &usize| marks.get(*mark).is_some_and(|mark| mark.reached.is_none());
        let open_marks = |decisive| marks_of(&self.marks, (decisive, step.actor())).take_while(open);
        let whole = arguments.map(|arguments| open_marks(name.and(arguments)));
        reached.extend(whole.into_iter().flatten().chain(open_marks(name)));
        let key = (name, step.actor());
        let compared = self.compared.range((key, Vec::new())..).take_while(|(other, _)| *other == key);
        for (_, members) in compared {
            let given = |member: &str| action.arguments.as_ref().present()?.member(member);
            reached.extend(open_marks(with_members(name, members, given)));
        }
        Some(self.actions)
    }
}

/// The digest of a name with some of the arguments, each of which may be missing.
fn with_members(name: Digest, members: &[String], given: impl Fn(&str) -> Option<Digest>) -> Digest {
    members.iter().fold(name, |digest, member| {
        digest.and(Digest::of_text(member)).and(given(member).unwrap_or(Digest::NONE))
    })
}
