//! Does recovering from tool errors track reward better than making few of them does?
//!
//! [`Replication`] has the tables of the note "Tool-error recovery replicates on tau2-bench" (Pisama, 2026-05-27) for
//! any corpus: per group of runs the Pearson correlations of recovery rate, error count and call count with the reward.
//! [`ReplicationAnalysis`] adds intervals and tests, because runs of one task are alike, runs may be recorded twice,
//! and some of many pairs of model and domain look strong by chance.
//!
//! A [`ReplicationState`] holds the runs of a part of a corpus and merges with those of other parts. Beyond its limit
//! it keeps sums instead of runs, from which [`SummedReplication`] is computed.

mod analysis;
mod association;
mod clusters;
mod contrast;
mod default_rule;
mod duplicates;
mod group;
mod grouped;
mod pass_k;
mod published;
mod regression;
mod relation;
mod row;
mod signals;
mod significance;
mod state;
mod summed;
mod sums;

pub use analysis::{
    Associations, ModelAssociations, PairAssociations, PooledRelation, ReplicationAnalysis,
    ReplicationOptions, WithinRelation,
};
pub use association::{Association, ClusteredInterval};
pub use clusters::ClusterBy;
pub use contrast::{Better, Contrast, WithinContrast};
pub use default_rule::{DefaultMeasures, DefaultRecovery};
pub use duplicates::{Duplicate, mark_duplicates};
pub use group::{Coefficient, Direction, Group, ModelGroup, PairGroup, SignCount};
pub use grouped::{GroupBy, GroupedReplication, NamedGroup};
pub use pass_k::{PassK, pass_k_by_pair};
pub use published::Replication;
pub use regression::{MeasureEffect, RewardModel, RewardRegression};
pub use relation::Relation;
pub use row::SimulationRow;
pub use signals::Signal;
pub use significance::SignificanceChange;
pub use state::ReplicationState;
pub use summed::{SummedAssociation, SummedPair, SummedReplication};

#[cfg(test)]
mod tests;
