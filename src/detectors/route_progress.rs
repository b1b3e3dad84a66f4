//! Which milestones of a reference route a run has reached, and when.

use super::route_inefficiency::MilestoneEvidence;
use crate::trace::{
    Actor, Actors, Digest, DigestMap, ExpectedAction, Milestone, ReferenceRoute, Step, Target,
};

/// Two consecutive milestones.
#[derive(Debug)]
pub(super) struct Pair {
    /// Positions in the list of marks.
    start: usize,
    end: usize,
    /// Reference steps between them, above 0.
    pub(super) distance: u64,
    pub(super) from: MilestoneEvidence,
    pub(super) to: MilestoneEvidence,
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

/// Follows a run along its reference route.
#[derive(Debug)]
pub(super) struct Tracker {
    rule: Rule,
    pairs: Vec<Pair>,
    /// Where each milestone was reached; the virtual start comes first where there is one.
    marks: Vec<Option<Point>>,
    last: Option<Point>,
    virtual_start: bool,
}

#[derive(Debug)]
enum Rule {
    /// Scores in ascending order, with their milestones; how many have been reached.
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
    /// Milestones by all that decides them, where names or whole arguments do.
    exact: DigestMap<Vec<usize>>,
    /// Milestones by name, where some of the arguments decide.
    partial: DigestMap<Vec<(usize, Vec<(String, Option<Digest>)>)>>,
}

impl Tracker {
    /// `Err`: why the route does not apply.
    pub(super) fn new(route: &ReferenceRoute, actors: Actors, from_start: bool) -> Result<Self, String> {
        if route.milestones().is_empty() {
            return Err("the reference route has no milestones".to_owned());
        }
        let mut dropped = 0;
        let mut kept = Vec::new();
        for milestone in route.milestones() {
            match &milestone.target {
                Target::Action(action) if !actors.include(action.actor()) => dropped += 1,
                // The rest is numbered anew.
                _ => kept.push((milestone.reference_step.saturating_sub(dropped), milestone)),
            }
        }
        let Some((_, first)) = kept.first() else {
            return Err("the reference route has no milestones of the chosen actors".to_owned());
        };
        let by_score = matches!(first.target, Target::Score(_));
        let virtual_start = from_start && !by_score;
        let offset = usize::from(virtual_start);
        let mut marks = vec![None; kept.len() + offset];
        let mut evidence: Vec<MilestoneEvidence> = Vec::with_capacity(marks.len());
        if virtual_start {
            marks.splice(..1, [Some(Point { unit: 0, step: 0 })]);
            evidence.push(MilestoneEvidence {
                reference_step: 0,
                action: Some("start".to_owned()),
                score: None,
            });
        }
        evidence.extend(kept.iter().map(|(reference_step, milestone)| describe(*reference_step, milestone)));
        let pairs = evidence
            .windows(2)
            .enumerate()
            .filter_map(|(start, pair)| {
                let [from, to] = pair else { return None };
                let distance = to.reference_step.saturating_sub(from.reference_step);
                (distance > 0).then(|| Pair {
                    start,
                    end: start + 1,
                    distance,
                    from: from.clone(),
                    to: to.clone(),
                })
            })
            .collect();
        let targets = kept.iter().enumerate().map(|(i, (_, milestone))| (i + offset, &milestone.target));
        let rule = if by_score { score_rule(targets) } else { action_rule(targets) };
        Ok(Self { rule, pairs, marks, last: None, virtual_start })
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
            Rule::Actions(rule) => rule.observe(step, &mut reached)?,
        };
        let point = Point { unit, step: step.index() };
        if self.last.is_none()
            && self.virtual_start
            && let Some(Some(start)) = self.marks.first_mut()
        {
            start.step = step.index();
        }
        self.last = Some(point);
        for &mark in &reached {
            if let Some(mark) = self.marks.get_mut(mark) {
                mark.get_or_insert(point);
            }
        }
        Some(Now { unit, reached_some: !reached.is_empty() })
    }

    fn mark(&self, position: usize) -> Option<Point> {
        self.marks.get(position).copied().flatten()
    }

    /// How far the run went in a pair so far; `None` where the pair does not count.
    pub(super) fn measure(&self, pair: &Pair) -> Option<Reach> {
        let start = self.mark(pair.start)?;
        let (end, reached) = match self.mark(pair.end) {
            Some(end) => (end, true),
            None => (self.last?, false),
        };
        let steps = end.unit.checked_sub(start.unit).filter(|steps| *steps > 0)?;
        Some(Reach { steps, reached, first_step: start.step, last_step: end.step })
    }

    /// The unit at which the pair began, where its end is still open.
    pub(super) fn waiting_since(&self, pair: &Pair) -> Option<u64> {
        if self.mark(pair.end).is_some() {
            return None;
        }
        self.mark(pair.start).map(|start| start.unit)
    }

    /// How many milestones were reached.
    pub(super) fn reached(&self) -> u64 {
        (self.marks.iter().flatten().count() - usize::from(self.virtual_start)) as u64
    }
}

fn describe(reference_step: u64, milestone: &Milestone) -> MilestoneEvidence {
    let score = match milestone.target {
        Target::Score(score) => Some(score),
        Target::Action(_) => None,
    };
    MilestoneEvidence { reference_step, action: milestone.label.clone(), score }
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
    let mut rule = ActionRule {
        chosen: Vec::new(),
        actions: 0,
        exact: DigestMap::default(),
        partial: DigestMap::default(),
    };
    for (mark, target) in targets {
        let Target::Action(action) = target else { continue };
        if !rule.chosen.contains(&action.actor()) {
            rule.chosen.push(action.actor());
        }
        rule.expect(mark, action);
    }
    Rule::Actions(rule)
}

fn name_key(actor: Actor, name: Digest) -> Digest {
    name.and(Digest::of_number(actor as u32))
}

impl ActionRule {
    fn expect(&mut self, mark: usize, action: &ExpectedAction) {
        let name = name_key(action.actor(), Digest::of_text(action.name()));
        match action.compare() {
            None => self.exact.entry(name.and(action.digest())).or_default().push(mark),
            Some([]) => self.exact.entry(name).or_default().push(mark),
            Some(compared) => {
                let members = compared.iter().map(|member| (member.clone(), action.member(member))).collect();
                self.partial.entry(name).or_default().push((mark, members));
            }
        }
    }

    /// The number of the action; `None` where the step does not count.
    fn observe(&mut self, step: &Step<'_>, reached: &mut Vec<usize>) -> Option<u64> {
        if !self.chosen.contains(&step.actor()) {
            return None;
        }
        let (action, digests) = step.digested(Actors::All)?;
        self.actions += 1;
        let name = name_key(step.actor(), digests.name);
        self.take(name.and(digests.arguments), reached);
        self.take(name, reached);
        if let Some(waiting) = self.partial.get_mut(&name) {
            waiting.retain(|(mark, members)| {
                let given = |member: &str| action.arguments.as_ref().and_then(|all| all.member(member));
                let equal = members.iter().all(|(member, expected)| given(member) == *expected);
                if equal {
                    reached.push(*mark);
                }
                !equal
            });
        }
        Some(self.actions)
    }

    fn take(&mut self, key: Digest, reached: &mut Vec<usize>) {
        if let Some(marks) = self.exact.remove(&key) {
            reached.extend(marks);
        }
    }
}
