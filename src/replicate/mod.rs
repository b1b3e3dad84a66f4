//! Tests whether recovery from tool errors predicts reward better than a low number of errors does.
//!
//! [`Replication`] has the tables of the note "Tool-error recovery replicates on tau2-bench" (Pisama,
//! 2026-05-27) for any corpus: for each group of runs, the Pearson correlations of recovery rate, error count
//! and call count with the reward. [`ReplicationAnalysis`] adds intervals and tests, because runs of one task
//! are alike, and because some of many pairs of model and domain look strong by chance. By default it
//! counts a run that was recorded twice only once.
//!
//! A [`ReplicationState`] holds the runs of one part of a corpus and can be merged with the states of other
//! parts. Beyond a limit it keeps sums instead of runs; [`SummedReplication`] is computed from these.

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
