//! Computes the replication over chosen groups, with recovery by program alongside the published rule.

use rayon::prelude::*;
use serde::Serialize;

use super::analysis::{ReplicationOptions, counted_runs};
use super::association::Association;
use super::group::{Coefficient, Group};
use super::relation::Relation;
use super::row::SimulationRow;
use crate::error::Result;
use crate::names::named;
use crate::stats::grouped;

named! {
    /// A key by which the runs of a replication can be grouped.
    #[derive(PartialOrd, Ord)]
    #[non_exhaustive]
    pub enum GroupBy: "group" {
        /// The agent.
        Agent = "agent",
        /// The model.
        Model = "model",
        /// The domain.
        Domain = "domain",
        /// The task.
        Task = "task",
    }
}

impl GroupBy {
    fn of(self, row: &SimulationRow) -> Option<&str> {
        match self {
            Self::Agent => row.agent.as_deref(),
            Self::Model => row.model.as_deref(),
            Self::Domain => row.domain.as_deref(),
            Self::Task => row.task.as_deref(),
        }
    }
}

/// The figures of the runs that share an agent, model, domain or task.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct NamedGroup {
    /// The value of each key, in the order of the keys; null if unknown.
    pub names: Vec<Option<String>>,
    /// The figures of the published rule.
    #[serde(flatten)]
    pub group: Group,
    /// Errors recovered, by program; 0 if [`DefaultRecovery`](super::DefaultRecovery) was not among the
    /// detectors.
    pub recovered_by_program: u64,
    /// The correlation of recovery rate by program with reward, over all runs with a reward.
    pub r_recovery_by_program_reward: Coefficient,
    /// The correlation of recovery rate by program with reward, over runs with errors only.
    pub r_recovery_by_program_reward_errors_only: Coefficient,
}

/// The replication over chosen groups, such as agents or tasks.
///
/// [`SimulationRow`] has an example of how to read the runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct GroupedReplication {
    /// The keys of the groups.
    pub by: Vec<GroupBy>,
    /// The association of recovery, by both rules, with the reward, over all runs that count.
    pub overall: Vec<Association>,
    /// The groups, sorted by their names. Without keys, one group holds all runs.
    pub groups: Vec<NamedGroup>,
}

const RELATIONS: [Relation; 4] = [
    Relation::Recovery,
    Relation::RecoveryByProgram,
    Relation::RecoveryWithErrors,
    Relation::RecoveryByProgramWithErrors,
];

impl GroupedReplication {
    /// Creates the replication over the groups of these runs. Copies of runs are treated as in
    /// [`ReplicationAnalysis::of`](super::ReplicationAnalysis::of).
    ///
    /// # Errors
    /// [`ErrorKind::Statistics`](crate::ErrorKind::Statistics) if the options are out of range.
    pub fn of(rows: &[SimulationRow], by: &[GroupBy], options: &ReplicationOptions) -> Result<Self> {
        let kept = counted_runs(rows, options).0;
        let rows: Vec<&SimulationRow> = kept.iter().collect();
        let names = |row| Some(by.iter().map(|by| by.of(row)).collect::<Vec<_>>());
        let groups = grouped(rows.iter().copied(), names);
        let overall = RELATIONS
            .par_iter()
            .map(|relation| Association::of(*relation, &rows, &[options.cluster], &options.resampling))
            .collect::<Result<Vec<_>>>()?;
        let groups = groups.into_iter().map(|(names, rows)| NamedGroup::of(&names, &rows)).collect();
        Ok(Self { by: by.to_vec(), overall, groups })
    }
}

impl NamedGroup {
    fn of(names: &[Option<&str>], rows: &[&SimulationRow]) -> Self {
        Self {
            names: names.iter().map(|name| name.map(str::to_owned)).collect(),
            group: Group::of(rows),
            recovered_by_program: rows
                .iter()
                .filter_map(|row| row.default_rule)
                .map(|rule| rule.recovered)
                .sum(),
            r_recovery_by_program_reward: Relation::RecoveryByProgram.r(rows),
            r_recovery_by_program_reward_errors_only: Relation::RecoveryByProgramWithErrors.r(rows),
        }
    }
}
