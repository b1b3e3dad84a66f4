//! Which runs belong together.

use std::collections::BTreeMap;

use super::row::SimulationRow;
use crate::names::named;

/// What makes runs depend on each other, so that they are resampled together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[non_exhaustive]
pub enum ClusterBy {
    /// The task within its domain; a run that names no domain or no task stands for itself.
    #[default]
    Task,
    /// The file.
    File,
    /// The pair of model and domain.
    ModelDomain,
    /// Nothing: runs are independent.
    None,
}

named! { ClusterBy, "cluster" { Task => "task", File => "file", ModelDomain => "model-domain", None => "none" } }

impl ClusterBy {
    /// What one cluster is called, in the plural.
    #[must_use]
    pub fn plural(self) -> &'static str {
        match self {
            Self::Task => "tasks",
            Self::File => "files",
            Self::ModelDomain => "pairs of model and domain",
            Self::None => "runs",
        }
    }

    /// What is resampled.
    pub(super) fn unit(self) -> &'static str {
        match self {
            Self::None => "run",
            named => named.name(),
        }
    }

    /// Whether a run names what would put it together with others.
    pub(super) fn is_named(self, row: &SimulationRow) -> bool {
        match self {
            Self::Task => row.domain.is_some() && row.task.is_some(),
            Self::File | Self::ModelDomain | Self::None => true,
        }
    }

    /// The cluster of each run, numbered from 0 in the order of names.
    pub(super) fn number(self, rows: &[&SimulationRow]) -> Vec<usize> {
        numbered(rows.iter().enumerate().map(|(place, row)| match (self, &row.domain, &row.task) {
            (Self::Task, Some(domain), Some(task)) => Key::Named(Some(domain), Some(task)),
            (Self::Task | Self::None, ..) => Key::Alone(place),
            (Self::File, ..) => Key::Named(Some(&row.file), None),
            (Self::ModelDomain, domain, _) => Key::Named(row.model.as_deref(), domain.as_deref()),
        }))
    }
}

/// Strata inside of which rewards may be permuted: the runs of one cluster in one model and domain, and, in each
/// model and domain, the runs that are alone in theirs.
pub(super) fn strata(rows: &[&SimulationRow], cluster: &[usize]) -> Vec<usize> {
    let pair = |row: &&SimulationRow| (row.model.clone(), row.domain.clone());
    let keys: Vec<_> = rows.iter().map(pair).zip(cluster).collect();
    let mut sizes = BTreeMap::new();
    for key in &keys {
        *sizes.entry(key).or_insert(0_usize) += 1;
    }
    let together = |key| sizes.get(key).is_some_and(|size| *size > 1);
    numbered(keys.iter().map(|key| (&key.0, together(key).then_some(key.1))))
}

/// The groups of model and domain, numbered.
pub(super) fn pairs(rows: &[&SimulationRow]) -> Vec<usize> {
    ClusterBy::ModelDomain.number(rows)
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key<'r> {
    Named(Option<&'r str>, Option<&'r str>),
    Alone(usize),
}

fn numbered<K: Ord>(keys: impl Iterator<Item = K>) -> Vec<usize> {
    let keys: Vec<K> = keys.collect();
    let mut numbers: BTreeMap<&K, usize> = keys.iter().map(|key| (key, 0)).collect();
    for (number, slot) in numbers.values_mut().enumerate() {
        *slot = number;
    }
    keys.iter().map(|key| numbers.get(key).copied().unwrap_or(0)).collect()
}
