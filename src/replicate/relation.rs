//! The measures that are correlated with the reward.

use super::group::Coefficient;
use super::row::SimulationRow;
use crate::names::named;
use crate::stats::{float, pearson};

named! {
    /// A measure of runs that is correlated with their reward.
    #[derive(PartialOrd, Ord)]
    #[non_exhaustive]
    pub enum Relation: "measure" {
        /// The recovery rate, over all runs. Runs without errors have rate 1.
        Recovery = "recovery_reward",
        /// The recovery rate, over runs with errors.
        RecoveryWithErrors = "recovery_reward_errors_only",
        /// As [`Relation::Recovery`], by program ([`DefaultRecovery`](super::DefaultRecovery)).
        RecoveryByProgram = "recovery_by_program_reward",
        /// As [`Relation::RecoveryWithErrors`], by program.
        RecoveryByProgramWithErrors = "recovery_by_program_reward_errors_only",
        /// The share of goals reached ([`DefaultRecovery`](super::DefaultRecovery)), over all runs.
        GoalRecovery = "goal_recovery_reward",
        /// The share of goals reached, over runs with errors.
        GoalRecoveryWithErrors = "goal_recovery_reward_errors_only",
        /// The number of errors.
        ErrorCount = "error_count_reward",
        /// The number of calls.
        CallCount = "tool_calls_reward",
    }
}

impl Relation {
    /// The measures of the published rule, in the order of the tables.
    pub const ALL: [Self; 4] = [Self::Recovery, Self::RecoveryWithErrors, Self::ErrorCount, Self::CallCount];

    /// The measures of the default rule that are reported with those of the published rule.
    pub const DEFAULT_RULE: [Self; 2] = [Self::GoalRecovery, Self::GoalRecoveryWithErrors];

    /// Returns the label in tables and charts.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Recovery => "recovery rate, all runs",
            Self::RecoveryWithErrors => "recovery rate, with errors",
            Self::RecoveryByProgram => "by program, all runs",
            Self::RecoveryByProgramWithErrors => "by program, with errors",
            Self::GoalRecovery => "goals reached, all runs",
            Self::GoalRecoveryWithErrors => "goals reached, with errors",
            Self::ErrorCount => "error count",
            Self::CallCount => "call count",
        }
    }

    /// Returns the sign that r should have: −1 for errors and calls, which should lower the reward, else 1.
    pub(super) fn expected_sign(self) -> f64 {
        if matches!(self, Self::ErrorCount | Self::CallCount) { -1.0 } else { 1.0 }
    }

    /// Returns true if the measure covers only runs with errors.
    #[must_use]
    pub fn is_of_errors(self) -> bool {
        matches!(
            self,
            Self::RecoveryWithErrors | Self::RecoveryByProgramWithErrors | Self::GoalRecoveryWithErrors
        )
    }

    /// Returns the measure and the reward of a run; `None` if either is unknown or the run does not count.
    pub(super) fn pair(self, row: &SimulationRow) -> Option<(f64, f64)> {
        let reward = row.reward.filter(|_| !self.is_of_errors() || row.errors > 0)?;
        let measure = match self {
            Self::Recovery | Self::RecoveryWithErrors => row.recovery_rate,
            Self::RecoveryByProgram | Self::RecoveryByProgramWithErrors => row.default_rule?.recovery_rate,
            Self::GoalRecovery | Self::GoalRecoveryWithErrors => row.default_rule?.goal_recovery,
            Self::ErrorCount => float(row.errors),
            Self::CallCount => float(row.tool_calls),
        };
        Some((measure, reward))
    }

    pub(super) fn r(self, rows: &[&SimulationRow]) -> Coefficient {
        let Columns { x, y, .. } = self.columns(rows);
        Coefficient(pearson(&x, &y))
    }

    /// Returns the runs that count, with their measure and their reward.
    pub(super) fn columns<'r>(self, rows: &[&'r SimulationRow]) -> Columns<'r> {
        let mut columns = Columns { rows: Vec::new(), x: Vec::new(), y: Vec::new() };
        for row in rows {
            if let Some((x, y)) = self.pair(row) {
                columns.rows.push(row);
                columns.x.push(x);
                columns.y.push(y);
            }
        }
        columns
    }
}

/// The runs that count for a relation, with their measures `x` and their rewards `y`.
#[derive(Debug)]
pub(super) struct Columns<'r> {
    pub(super) rows: Vec<&'r SimulationRow>,
    pub(super) x: Vec<f64>,
    pub(super) y: Vec<f64>,
}
