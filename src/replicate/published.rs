//! The tables of the note: overall, by model, and by model and domain.

use std::collections::BTreeMap;

use serde::Serialize;

use super::group::{Direction, Group, ModelGroup, PairGroup};
use super::row::SimulationRow;
use crate::stats::grouped;

/// The tables of the note "Tool-error recovery replicates on tau2-bench" (Pisama, 2026-05-27), computed for any corpus:
/// overall, by model, and by model and domain.
///
/// [`SimulationRow`] has an example.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Replication {
    /// All runs.
    pub overall: Group,
    /// By model, sorted.
    pub by_model: Vec<ModelGroup>,
    /// By model and domain, sorted.
    pub by_model_domain: Vec<PairGroup>,
    /// The signs of the correlations over the pairs.
    pub direction: Direction,
}

impl Replication {
    /// Computes the tables as the note does: every run counts, and runs without a model or a domain form
    /// groups of their own.
    #[must_use]
    pub fn of(rows: &[SimulationRow]) -> Self {
        let all: Vec<&SimulationRow> = rows.iter().collect();
        let by_model = grouped(rows, |row| Some(row.model.as_deref()))
            .into_iter()
            .map(|(model, rows)| ModelGroup { model: model.map(str::to_owned), group: Group::of(&rows) })
            .collect();
        let by_model_domain: Vec<PairGroup> = by_pair(rows)
            .into_iter()
            .map(|((model, domain), rows)| PairGroup {
                model: model.map(str::to_owned),
                domain: domain.map(str::to_owned),
                group: Group::of(&rows),
            })
            .collect();
        Self::with(Group::of(&all), by_model, by_model_domain)
    }

    pub(super) fn with(overall: Group, by_model: Vec<ModelGroup>, by_model_domain: Vec<PairGroup>) -> Self {
        let direction = Direction::of(&by_model_domain);
        Self { overall, by_model, by_model_domain, direction }
    }

    /// Drops the groups of unknown models and domains, also from the counts of signs.
    pub(super) fn known(mut self) -> Self {
        self.by_model.retain(|group| group.model.is_some());
        self.by_model_domain.retain(|group| group.model.is_some() && group.domain.is_some());
        self.direction = Direction::of(&self.by_model_domain);
        self
    }
}

pub(super) type Pair<'r> = (Option<&'r str>, Option<&'r str>);

pub(super) fn by_pair(rows: &[SimulationRow]) -> BTreeMap<Pair<'_>, Vec<&SimulationRow>> {
    grouped(rows, |row| Some((row.model.as_deref(), row.domain.as_deref())))
}
