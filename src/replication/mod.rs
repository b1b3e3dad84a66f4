//! Does recovering from tool errors track reward better than making few of them does?
//!
//! [`Replication`] has the tables of the note "Tool-error recovery replicates on tau2-bench" (Pisama, 2026-05-27) for
//! any corpus: per group of runs the Pearson correlations of recovery rate, error count and call count with the reward.
//! [`Inference`] says how far they can be trusted: runs of one task are alike, runs may repeat one another, and among
//! many pairs of model and domain some look strong by chance.

mod clusters;
mod group;
mod inference;
mod pass_k;
mod published;
mod relation;
mod row;
mod signals;

pub use clusters::ClusterBy;
pub use group::{Coefficient, Direction, Group, ModelGroup, PairGroup, SignCount};
pub use inference::{
    Association, Associations, ClusteredInterval, Duplicate, Inference, InferenceOptions, ModelAssociations,
    PairAssociations, PooledRelation, VerdictChange, WithinRelation,
};
pub use pass_k::{PassK, pass_k_by_pair};
pub use published::Replication;
pub use relation::Relation;
pub use row::SimulationRow;
pub use signals::Signal;

#[cfg(test)]
mod tests;
