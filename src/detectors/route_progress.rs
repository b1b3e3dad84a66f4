//! Which milestones of a reference route a run has reached, and when.

use std::sync::Arc;

use super::route_inefficiency::MilestoneEvidence;
use crate::trace::{
    Action, Actor, Actors, Digest, Digests, ExpectedAction, Milestone, ReferenceRoute, Step, Target,
};

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

/// What a step did to the tracker.
#[derive(Debug)]
pub(super) struct Now {
    pub(super) unit: u64,
    pub(super) reached_some: bool,
}

/// A milestone, or the virtual start, and where the run reached it.
#[derive(Debug, Clone, Copy)]
struct Mark {
    /// Position in the route; `None` is the virtual start.
    milestone: Option<usize>,
    reference_step: u64,
    reached: Option<Point>,
}

/// Follows a run along its reference route.
#[derive(Debug)]
pub(super) struct Tracker {
    route: Arc<ReferenceRoute>,
    rule: Rule,
    pairs: Vec<Pair>,
    marks: Vec<Mark>,
    last: Option<Point>,
    virtual_start: bool,
}

#[derive(Debug)]
enum Rule {
    /// Scores in ascending order, with their marks; how many have been reached.
    Scores {
        ascending: Vec<(f64, usize)>,
        reached: usize,
    },
    Actions(ActionRule),
}

#[derive(Debug)]
struct ActionRule {
    chosen: Vec<Actor>,
    actions: u64,
    /// Marks by the digest of all that decides them, where names or whole arguments do; sorted.
    exact: Vec<(Digest, usize)>,
    /// Marks by name, where some of the arguments decide; sorted.
    partial: Vec<(Digest, usize)>,
}

impl Tracker {
    /// `Err`: why the route does not apply.
    pub(super) fn new(route: &Arc<ReferenceRoute>, actors: Actors, from_start: bool) -> Result<Self, String> {
        let milestones = route.milestones();
        let Some(first) = milestones.first() else {
            return Err("the reference route has no milestones".to_owned());
        };
        let by_score = matches!(first.target, Target::Score(_));
        let virtual_start = from_start && !by_score;
        let mut marks = Vec::with_capacity(milestones.len() + 1);
        if virtual_start {
            marks.push(Mark {
                milestone: None,
                reference_step: 0,
                reached: Some(Point { unit: 0, step: 0 }),
            });
        }
        let mut dropped: Vec<u64> = Vec::new();
        for (position, milestone) in milestones.iter().enumerate() {
            match &milestone.target {
                Target::Action(action) if !actors.include(action.actor()) => {
                    dropped.push(milestone.reference_step);
                }
                // The rest is numbered anew: steps that fall away before it count no more.
                _ => {
                    let before = dropped.partition_point(|step| *step < milestone.reference_step) as u64;
                    let reference_step = milestone.reference_step.saturating_sub(before);
                    marks.push(Mark { milestone: Some(position), reference_step, reached: None });
                }
            }
        }
        if marks.len() == usize::from(virtual_start) {
            return Err("the reference route has no milestones of the chosen actors".to_owned());
        }
        let distance = |pair: &[Mark]| match pair {
            [from, to] => to.reference_step.saturating_sub(from.reference_step),
            _ => 0,
        };
        let pairs = marks
            .windows(2)
            .enumerate()
            .map(|(start, pair)| Pair { start, distance: distance(pair) })
            .filter(|pair| pair.distance > 0)
            .collect();
        let targets = marks.iter().enumerate().filter_map(|(mark, Mark { milestone, .. })| {
            Some((mark, &milestones.get((*milestone)?)?.target))
        });
        let rule = if by_score { score_rule(targets) } else { action_rule(targets) };
        Ok(Self { route: Arc::clone(route), rule, pairs, marks, last: None, virtual_start })
    }

    pub(super) fn pairs(&self) -> &[Pair] {
        &self.pairs
    }

    /// Takes a step; `None` where it does not count.
    pub(super) fn observe(&mut self, step: &Step<'_>) -> Option<Now> {
        let mut reached = Vec::new();
        let unit = match &mut self.rule {
            Rule::Scores { ascending, reached: done } => {
                if let Some(progress) = step.progress() {
                    while let Some((_, mark)) = ascending.get(*done).filter(|(score, _)| progress >= *score) {
                        reached.push(*mark);
                        *done += 1;
                    }
                }
                step.index()
            }
            Rule::Actions(rule) => rule.observe(step, &self.route, &self.marks, &mut reached)?,
        };
        let point = Point { unit, step: step.index() };
        if self.last.is_none()
            && self.virtual_start
            && let Some(start) = self.marks.first_mut()
        {
            start.reached = Some(Point { unit: 0, step: step.index() });
        }
        self.last = Some(point);
        for &mark in &reached {
            if let Some(mark) = self.marks.get_mut(mark) {
                mark.reached.get_or_insert(point);
            }
        }
        Some(Now { unit, reached_some: !reached.is_empty() })
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

    /// The unit at which the pair began, where its end is still open.
    pub(super) fn waiting_since(&self, pair: Pair) -> Option<u64> {
        if self.point(pair.start + 1).is_some() {
            return None;
        }
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
        let milestone = mark.and_then(|mark| self.route.milestones().get(mark.milestone?));
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

fn score_rule<'r>(targets: impl Iterator<Item = (usize, &'r Target)>) -> Rule {
    let mut ascending: Vec<(f64, usize)> = targets
        .filter_map(|(mark, target)| match target {
            Target::Score(score) => Some((*score, mark)),
            Target::Action(_) => None,
        })
        .collect();
    ascending.sort_by(|a, b| a.0.total_cmp(&b.0));
    Rule::Scores { ascending, reached: 0 }
}

fn action_rule<'r>(targets: impl Iterator<Item = (usize, &'r Target)>) -> Rule {
    let mut rule = ActionRule { chosen: Vec::new(), actions: 0, exact: Vec::new(), partial: Vec::new() };
    for (mark, target) in targets {
        let Target::Action(action) = target else { continue };
        if !rule.chosen.contains(&action.actor()) {
            rule.chosen.push(action.actor());
        }
        let name = action.name_digest();
        match action.compare() {
            None => rule.exact.push((name.and(action.digest()), mark)),
            Some([]) => rule.exact.push((name, mark)),
            Some(_) => rule.partial.push((name, mark)),
        }
    }
    rule.exact.sort_unstable();
    rule.partial.sort_unstable();
    Rule::Actions(rule)
}

/// The marks of a key in a sorted list.
fn marks_of(sorted: &[(Digest, usize)], key: Digest) -> impl Iterator<Item = usize> {
    let start = sorted.partition_point(|(other, _)| *other < key);
    sorted.iter().skip(start).take_while(move |(other, _)| *other == key).map(|(_, mark)| *mark)
}

impl ActionRule {
    /// The number of the action; `None` where the step does not count.
    fn observe(
        &mut self,
        step: &Step<'_>,
        route: &ReferenceRoute,
        marks: &[Mark],
        reached: &mut Vec<usize>,
    ) -> Option<u64> {
        if !self.chosen.contains(&step.actor()) {
            return None;
        }
        let (action, Digests { name, arguments, .. }) = step.digested(Actors::All)?;
        self.actions += 1;
        let expected = |mark: usize| match &route.milestones().get(marks.get(mark)?.milestone?)?.target {
            Target::Action(expected) => Some(expected),
            Target::Score(_) => None,
        };
        let open = |mark: &usize| {
            marks.get(*mark).is_some_and(|mark| mark.reached.is_none())
                && expected(*mark).is_some_and(|expected| expected.actor() == step.actor())
        };
        let exact = marks_of(&self.exact, name.and(arguments)).chain(marks_of(&self.exact, name));
        reached.extend(exact.filter(open));
        let partial = marks_of(&self.partial, name).filter(open);
        reached
            .extend(partial.filter(|mark| expected(*mark).is_some_and(|expected| agree(action, expected))));
        Some(self.actions)
    }
}

/// Whether the arguments that count are equal: given alike, or missing on both sides.
fn agree(action: &Action<'_>, expected: &ExpectedAction) -> bool {
    let given = |name: &str| action.arguments.as_ref().and_then(|arguments| arguments.member(name));
    expected.compare().unwrap_or_default().iter().all(|name| given(name) == expected.member(name))
}
