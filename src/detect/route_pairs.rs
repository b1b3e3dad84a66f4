//! Compares a run with its route pair by pair: by the steps from one milestone to the next.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::route_progress::{Pair, Reach, Tracker};
use super::{
    Comparator, Condition, FINDING_BYTES, Finding, Measure, NearMiss, PairEvidence, RouteInefficiency,
    RouteInefficiencyConfig, RouteInefficiencyEvidence,
};

/// The limits on the steps between two milestones.
#[derive(Debug, Clone, Copy)]
struct Limits {
    ratio: f64,
    min_extra: u64,
}

/// Finds detours between consecutive milestones.
#[derive(Debug)]
pub(super) struct Pairs {
    limits: Limits,
    /// For each pair that has begun, its deadline in the unit of the route and the index of the milestone at its
    /// end. A pair that has not ended by its deadline becomes a finding.
    due: BinaryHeap<Reverse<(u64, usize)>>,
    /// Scratch: the pairs past their deadline.
    over: Vec<usize>,
    pub(super) confirmed: Vec<Finding>,
}

impl Pairs {
    pub(super) fn new(config: &RouteInefficiencyConfig) -> Self {
        let limits = Limits { ratio: config.ratio, min_extra: config.min_extra };
        Self { limits, due: BinaryHeap::new(), over: Vec::new(), confirmed: Vec::new() }
    }

    pub(super) fn memory(&self) -> usize {
        self.due.capacity() * size_of::<Reverse<(u64, usize)>>() + self.confirmed.capacity() * FINDING_BYTES
    }

    /// Adds the pairs that begin with the tracker's last step, and confirms the findings of all pairs whose
    /// deadline has passed. `now` is the position of that step in the unit of the route.
    pub(super) fn observe(&mut self, tracker: &Tracker, now: u64) {
        for &end in tracker.begun() {
            let Some(pair) = tracker.pair(end) else { continue };
            if let Some(start) = tracker.start_of(pair) {
                let due = start.saturating_add(self.limits.too_far(pair.distance));
                self.due.push(Reverse((due, end)));
            }
        }
        self.over.clear();
        while let Some(&Reverse((due, end))) = self.due.peek()
            && due <= now
        {
            self.due.pop();
            self.over.push(end);
        }
        self.over.sort_unstable();
        let pairs = self.over.iter().filter_map(|&end| tracker.pair(end));
        self.confirmed.extend(pairs.filter_map(|pair| self.limits.finding(tracker, pair)));
    }

    /// Returns a near miss for each pair that has begun, those with the most steps relative to the reference
    /// distance first.
    #[expect(clippy::cast_precision_loss, reason = "steps are far below 2^53")]
    pub(super) fn near_misses(&self, tracker: &Tracker) -> Vec<NearMiss> {
        let Limits { ratio: most, min_extra } = self.limits;
        let ways = tracker.open_pairs().filter_map(|pair| Some((tracker.measure(pair)?, pair.distance)));
        let mut ways: Vec<_> =
            ways.map(|(reach, distance)| (reach.steps as f64 / distance as f64, reach, distance)).collect();
        ways.sort_by(|(a, ..), (b, ..)| b.total_cmp(a));
        let near = |(ratio, reach, distance): (f64, Reach, u64)| {
            let extra = reach.steps.saturating_sub(distance);
            let conditions = vec![
                Condition::measure("ratio", ratio, Comparator::Above, most),
                Condition::count("extra_steps", extra, Comparator::AtLeast, min_extra),
            ];
            NearMiss::new("detour", conditions).at((reach.first_step, reach.last_step))
        };
        ways.into_iter().map(near).collect()
    }

    /// Returns the findings at the end of the run, and the total number of steps beyond the reference in all pairs.
    pub(super) fn finish(&self, tracker: &Tracker) -> (Vec<Finding>, Measure) {
        let findings = tracker.open_pairs().filter_map(|pair| self.limits.finding(tracker, pair)).collect();
        let extra = tracker.open_pairs().fold(0_u64, |sum, pair| {
            let steps = tracker.measure(pair).map_or(0, |reach| reach.steps);
            sum.saturating_add(steps.saturating_sub(pair.distance))
        });
        (findings, Measure::count("extra_steps", extra))
    }
}

impl Limits {
    /// Returns the smallest number of steps that exceeds the limits for this reference distance.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "saturates"
    )]
    fn too_far(self, distance: u64) -> u64 {
        let by_ratio = ((self.ratio * distance as f64).floor() as u64).saturating_add(1);
        by_ratio.max(distance.saturating_add(self.min_extra))
    }

    #[expect(clippy::cast_precision_loss, reason = "steps are far below 2^53")]
    fn finding(self, tracker: &Tracker, pair: Pair) -> Option<Finding> {
        let reach = tracker.measure(pair)?;
        let (steps, distance) = (reach.steps, pair.distance);
        if steps < self.too_far(distance) {
            return None;
        }
        let (from, to) = tracker.describe(pair);
        let end = if reach.reached { "to the next milestone" } else { "without reaching the next milestone" };
        let message = format!("{steps} steps {end}, where the reference takes {distance}");
        let evidence = PairEvidence {
            steps,
            reference_steps: distance,
            ratio: steps as f64 / distance as f64,
            reached: reach.reached,
            from,
            to,
        };
        let evidence = RouteInefficiencyEvidence::Pair(evidence);
        let place = (reach.first_step, reach.last_step);
        let finding = RouteInefficiency::finding(place, message, evidence);
        Some(finding.with_id(format_args!("milestone-{}", pair.end)))
    }
}
