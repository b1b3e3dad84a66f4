//! The findings, counts and near misses of goals at the end of a run.

use super::{End, Goal, GoalState, Goals};
use crate::detect::explanation::{Comparator, Condition, NearMiss};
use crate::detect::shared::{Does, after_colon};
use crate::detect::tool_error_recovery::finding;
use crate::detect::{Finding, OpenReason};

/// Open goals that together form one finding. `goal` is the latest of them.
struct Group<'g> {
    goal: &'g Goal,
    place: (u64, u64),
    failures: u64,
}

impl<'g> Group<'g> {
    fn add(&mut self, other: &Group<'g>) {
        let place = (self.place.0.min(other.place.0), self.place.1.max(other.place.1));
        let failures = self.failures + other.failures;
        let goal = if other.goal.place.1 >= self.goal.place.1 { other.goal } else { self.goal };
        *self = Self { goal, place, failures };
    }
}

impl Goals {
    /// Returns how many goals count, how many of them were reached, and how many are open. Look-ups count
    /// only if they are open.
    pub(in crate::detect::tool_error_recovery) fn counts(&self, end: End) -> (u64, u64, u64) {
        let (mut all, mut reached, mut open) = (0, 0, 0);
        for goal in &self.all {
            let is_open = self.open_reason(goal, end).is_some();
            let counts = goal.does != Does::Read || is_open;
            all += u64::from(counts);
            reached += u64::from(counts && goal.state == GoalState::Reached);
            open += u64::from(is_open);
        }
        (all, reached, open)
    }

    /// Returns the goals that are waiting but do not count as open.
    pub(in crate::detect::tool_error_recovery) fn near_misses(&self, end: End) -> Vec<NearMiss> {
        let waiting =
            self.all.iter().filter(|goal| goal.is_waiting() && self.open_reason(goal, end).is_none());
        let near = waiting.map(|goal| {
            // A look-up is in vain when one call has failed twice; any other goal is open after two tries.
            let tried = if goal.does == Does::Read { goal.most_repeated() } else { goal.turns() };
            let attempts = Condition::count("attempts", tried, Comparator::AtLeast, 2);
            NearMiss::new("open_goal", vec![attempts]).tool(&goal.program).at(goal.place)
        });
        near.collect()
    }

    /// Returns the findings on open goals. Failed look-ups with the same tool form one finding, as do the
    /// failures before a hand-over and those at the end of the run. `failing` is the step of the last failed check.
    pub(in crate::detect::tool_error_recovery) fn findings(
        &self,
        end: End,
        failing: Option<u64>,
    ) -> Vec<Finding> {
        let mut groups: Vec<(OpenReason, Group<'_>)> = Vec::new();
        for goal in &self.all {
            let Some(reason) = self.open_reason(goal, end) else { continue };
            let joins = |group: &&mut (OpenReason, Group<'_>)| {
                group.0 == reason
                    && match reason {
                        OpenReason::InVain => group.1.goal.program == goal.program,
                        OpenReason::HandedOver | OpenReason::EndsFailing => true,
                        _ => false,
                    }
            };
            let group = Group { goal, place: goal.place, failures: goal.failures };
            match groups.iter_mut().find(joins) {
                Some((_, other)) => other.add(&group),
                None => groups.push((reason, group)),
            }
        }
        // If a failed check or another open goal is among the last failures, its finding is more specific
        // than one about the end of the run.
        let ends_with = |(reason, group): &(OpenReason, Group<'_>)| {
            *reason != OpenReason::EndsFailing && self.tail.contains(&group.place.1)
        };
        if groups.iter().any(ends_with) || failing.is_some_and(|step| self.tail.contains(&step)) {
            groups.retain(|(reason, _)| *reason != OpenReason::EndsFailing);
        }
        groups.iter().map(|(reason, group)| self.finding(*reason, group)).collect()
    }

    fn finding(&self, reason: OpenReason, group: &Group<'_>) -> Finding {
        let most = group.goal.lines.iter().max_by_key(|said| said.times);
        let line = most.map(|said| after_colon(said.line())).unwrap_or_default();
        let shown = most.map(|said| said.shown.to_string()).unwrap_or_default();
        let named = most.filter(|_| !group.goal.is_shell).map(|said| said.shown.call.named());
        let (count, place) = match (reason, self.tail.first()) {
            (OpenReason::EndsFailing, Some(first)) => (self.tail.len() as u64, (*first, group.place.1)),
            _ => (group.failures, group.place),
        };
        // The lines are those of one goal, so they are counted only if it is the only one.
        let times = most.filter(|_| group.failures == group.goal.failures && !line.is_empty());
        let of = match times.map_or(count, |said| said.times) {
            times if times >= count => String::new(),
            1 => "; one of them".to_owned(),
            times => format!("; {times} of them"),
        };
        let message = match reason {
            OpenReason::NeverThrough if group.goal.went_before => {
                format!("{shown} went through before, then failed {count} times{of}{line}")
            }
            OpenReason::NeverThrough if group.goal.most_repeated() < count => {
                format!("{count} calls like {shown} failed, and none went through{of}{line}")
            }
            OpenReason::NeverThrough => {
                format!("{shown} failed {count} times and never went through{of}{line}")
            }
            OpenReason::InVain if group.goal.most_repeated() < count => {
                format!("{count} look-ups like {shown} failed{of}{line}")
            }
            OpenReason::InVain => format!("{shown} failed {count} times{line}"),
            OpenReason::HandedOver => {
                let step = self.handed_over.map_or(group.place.1, |(step, _)| step);
                let last = if count == 1 {
                    String::new()
                } else {
                    format!(", the last of {count} unresolved failures")
                };
                format!("{shown} failed{last}{line}; step {step} hands the run over to a human")
            }
            OpenReason::PassedOver => {
                format!("{shown} failed{line}; no later message mentions a failure")
            }
            _ => format!("the run ends with {count} failed calls, the last one {shown}{line}"),
        };
        finding(place, reason, named.unwrap_or(&group.goal.program), count, message)
    }
}
