//! What is correlated with the reward.

use std::fmt;

use serde::{Serialize, Serializer};

use super::row::SimulationRow;

/// A measure of a run that is held against its reward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Relation {
    /// The recovery rate, over all runs; those without errors enter with rate 1.
    Recovery,
    /// The recovery rate, over runs with errors.
    RecoveryWithErrors,
    /// The number of errors.
    ErrorCount,
    /// The number of calls.
    CallCount,
}

impl Relation {
    /// All of them, in the order of the tables.
    pub const ALL: [Self; 4] = [Self::Recovery, Self::RecoveryWithErrors, Self::ErrorCount, Self::CallCount];

    /// The name in JSON and CSV.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Recovery => "recovery_reward",
            Self::RecoveryWithErrors => "recovery_reward_errors_only",
            Self::ErrorCount => "error_count_reward",
            Self::CallCount => "tool_calls_reward",
        }
    }

    /// The runs that count, with their measure and their reward.
    #[expect(clippy::cast_precision_loss, reason = "counts of calls are far below 2^53")]
    pub(super) fn columns<'r>(self, rows: &[&'r SimulationRow]) -> Columns<'r> {
        let mut columns = Columns { rows: Vec::new(), x: Vec::new(), y: Vec::new() };
        for row in rows {
            let Some(reward) = row.reward else { continue };
            if self == Self::RecoveryWithErrors && row.errors == 0 {
                continue;
            }
            columns.rows.push(row);
            columns.y.push(reward);
            columns.x.push(match self {
                Self::Recovery | Self::RecoveryWithErrors => row.recovery_rate,
                Self::ErrorCount => row.errors as f64,
                Self::CallCount => row.tool_calls as f64,
            });
        }
        columns
    }
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Recovery => "recovery rate, all runs",
            Self::RecoveryWithErrors => "recovery rate, with errors",
            Self::ErrorCount => "error count",
            Self::CallCount => "call count",
        })
    }
}

impl Serialize for Relation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// The runs of a relation, with both columns.
#[derive(Debug)]
pub(super) struct Columns<'r> {
    pub(super) rows: Vec<&'r SimulationRow>,
    pub(super) x: Vec<f64>,
    pub(super) y: Vec<f64>,
}
