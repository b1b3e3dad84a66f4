//! Divides runs into clusters of dependent runs.

use std::collections::{BTreeMap, BTreeSet};

use super::row::SimulationRow;
use crate::names::named;
use crate::trace::Digest;

named! {
    /// The unit of resampling: the runs of a cluster depend on each other and are drawn together.
    #[derive(PartialOrd, Ord, Default)]
    #[non_exhaustive]
    pub enum ClusterBy: "cluster" {
        /// The task and its domain. Without a domain, runs of one task are in one cluster if their files have the
        /// same set of tasks. A run without a task is a cluster of its own.
        #[default]
        Task = "task",
        /// The file.
        File = "file",
        /// The pair of model and domain, or the file if either is unknown.
        ModelDomain = "model-domain",
        /// Every run is a cluster of its own, which treats runs as independent.
        None = "none",
    }
}

impl ClusterBy {
    /// Returns false if the clusters are tasks and the run has none.
    pub(super) fn is_named(self, row: &SimulationRow) -> bool {
        match self {
            Self::Task => row.task.is_some(),
            Self::File | Self::ModelDomain | Self::None => true,
        }
    }

    /// Returns the cluster number of each run. Numbers start at 0 and follow the order of the keys.
    pub(super) fn number(self, rows: &[&SimulationRow]) -> Vec<usize> {
        numbered(rows.iter().enumerate().map(|(place, row)| {
            match (self, &row.domain, &row.task, &row.model) {
                (Self::Task, Some(domain), Some(task), _) => Key::Named(domain, task),
                (Self::Task, None, Some(task), _) => Key::OfTasks(row.tasks_of_file, task),
                (Self::ModelDomain, Some(domain), _, Some(model)) => Key::Named(model, domain),
                (Self::File | Self::ModelDomain, ..) => Key::File(&row.file),
                (Self::Task | Self::None, ..) => Key::Alone(place),
            }
        }))
    }
}

/// Returns the stratum number of each run. Rewards may be permuted within a stratum, which holds the runs of one
/// cluster, model and domain. A run that is alone there shares a stratum with the other such runs of its model and
/// domain.
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

/// Sets `tasks_of_file`, the digest of all tasks in the file, in each row.
pub(super) fn set_tasks_of_files(rows: &mut [SimulationRow]) {
    let mut tasks: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for row in &*rows {
        tasks.entry(&row.file).or_default().extend(row.task.as_deref());
    }
    let digest = |tasks: BTreeSet<&str>| {
        tasks.into_iter().fold(Digest::of_nothing(), |all, task| all.and(Digest::of_text(task)))
    };
    let digests: BTreeMap<String, Digest> =
        tasks.into_iter().map(|(file, tasks)| (file.to_owned(), digest(tasks))).collect();
    for row in rows {
        row.tasks_of_file = digests.get(&row.file).copied();
    }
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key<'r> {
    Named(&'r str, &'r str),
    OfTasks(Option<Digest>, &'r str),
    File(&'r str),
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

#[cfg(test)]
mod tests {
    use super::super::tests::row;
    use super::*;

    fn in_file(file: &str, row: SimulationRow) -> SimulationRow {
        SimulationRow { file: file.to_owned(), ..row }
    }

    fn clusters(by: ClusterBy, mut rows: Vec<SimulationRow>) -> Vec<usize> {
        set_tasks_of_files(&mut rows);
        by.number(&rows.iter().collect::<Vec<_>>())
    }

    #[test]
    fn tasks_of_unknown_domains_are_told_apart_by_the_tasks_of_their_files() {
        let unknown =
            |file: &str, task| in_file(file, SimulationRow { domain: None, ..row("m", task, true, 1.0) });
        let rows = vec![
            unknown("a", 1),
            unknown("a", 2),
            unknown("b", 2),
            unknown("b", 1),
            unknown("c", 1),
            SimulationRow { task: None, ..unknown("c", 1) },
            SimulationRow { task: None, ..unknown("c", 1) },
        ];
        let found = clusters(ClusterBy::Task, rows);
        assert_eq!((found[0], found[1]), (found[3], found[2]), "{found:?}");
        assert_eq!(found.iter().collect::<BTreeSet<_>>().len(), 5, "{found:?}");
    }

    #[test]
    fn runs_without_model_or_domain_cluster_by_file() {
        let bare = |file: &str| in_file(file, SimulationRow { model: None, ..row("m", 1, true, 1.0) });
        let pair = |file: &str| in_file(file, row("m", 1, true, 1.0));
        let found =
            clusters(ClusterBy::ModelDomain, vec![bare("a"), bare("a"), bare("b"), pair("a"), pair("b")]);
        assert!(found[0] == found[1] && found[0] != found[2] && found[3] == found[4], "{found:?}");
        assert_eq!(found.iter().collect::<BTreeSet<_>>().len(), 3, "{found:?}");
    }
}
