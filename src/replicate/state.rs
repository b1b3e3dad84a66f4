//! Keeps the runs of a replication, or sums over them, in a form that can be merged.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::default_rule::DefaultMeasures;
use super::row::SimulationRow;
use super::sums::GroupSums;
use crate::detect::recovery_rate;
use crate::trace::{Digest, Distinct};

/// The runs of a replication over one part of a corpus. States of several parts can be merged.
///
/// Up to a limit, a state keeps every run, and all figures can be computed. Beyond the limit, it keeps only sums by
/// model, domain and task; [`SummedReplication`](super::SummedReplication) is computed from these. The state
/// does not depend on how the runs were divided or on the order in which they were added.
///
/// ```
/// use wrongturn::{Scanner, default_detectors, replicate::{ReplicationState, SimulationRow}, scan::ScanOptions};
///
/// let scanner = Scanner::new(default_detectors(), ScanOptions::default())?;
/// let rows = |file: &str| {
///     let bytes = br#"{"simulations": [
///         {"id": "a", "messages": [], "reward_info": {"reward": 1.0}}]}"#;
///     let scanned = scanner.scan_slice(file.as_ref(), bytes);
///     scanned.traces.iter().filter_map(SimulationRow::of).collect::<Vec<_>>()
/// };
/// let (mut one, mut other) = (ReplicationState::new(1000), ReplicationState::new(1000));
/// one.extend(rows("b.json"));
/// other.extend(rows("a.json"));
/// one.merge(&other);
/// assert_eq!(one.rows().unwrap()[0].file, "a.json");
/// # Ok::<(), wrongturn::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ReplicationState {
    /// Maximum number of runs to keep. If there are more, sums replace them.
    most_rows: u64,
    runs: u64,
    form: Form,
}

#[derive(Debug, Clone)]
enum Form {
    Rows(Vec<SimulationRow>),
    Sums(Box<Sums>),
}

/// The sums kept beyond the limit.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Sums {
    /// The smallest digests of the runs' contents, which suffice to count or estimate distinct contents.
    pub(super) contents: Distinct,
    pub(super) groups: BTreeMap<TaskOfPair, GroupSums>,
}

/// A model, a domain and a task; `None` for an unknown one.
pub(super) type TaskOfPair = (Option<Arc<str>>, Option<Arc<str>>, Option<String>);

impl Sums {
    fn add(&mut self, row: &SimulationRow) {
        if let Some(digest) = row.digest {
            self.contents.add(digest);
        }
        let key = (row.model.clone(), row.domain.clone(), row.task.clone());
        self.groups.entry(key).or_default().merge(&GroupSums::of(row));
    }

    fn merge(&mut self, other: &Self) {
        self.contents.merge(&other.contents);
        for (key, sums) in &other.groups {
            match self.groups.get_mut(key) {
                Some(own) => own.merge(sums),
                None => drop(self.groups.insert(key.clone(), sums.clone())),
            }
        }
    }
}

impl ReplicationState {
    /// Creates an empty state that keeps up to `most_rows` runs, or sums if there are more.
    #[must_use]
    pub fn new(most_rows: u64) -> Self {
        Self { most_rows, runs: 0, form: Form::Rows(Vec::new()) }
    }

    /// Returns the number of runs added.
    #[must_use]
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// Adds the runs of another state. From then on, the smaller of the two limits applies.
    pub fn merge(&mut self, other: &Self) {
        self.most_rows = self.most_rows.min(other.most_rows);
        match &other.form {
            Form::Rows(rows) => self.extend(rows.iter().cloned()),
            Form::Sums(others) => {
                self.runs = self.runs.saturating_add(other.runs);
                self.sum_up();
                if let Form::Sums(sums) = &mut self.form {
                    sums.merge(others);
                }
            }
        }
        self.settle();
    }

    /// Returns the runs in scan order, or `None` if the state keeps sums.
    pub fn rows(&mut self) -> Option<&[SimulationRow]> {
        match &mut self.form {
            Form::Rows(rows) => {
                if !rows.is_sorted_by(|one, next| one.order(next).is_le()) {
                    rows.sort_by(SimulationRow::order);
                }
                Some(rows)
            }
            Form::Sums(_) => None,
        }
    }

    pub(super) fn sums(&self) -> Option<&Sums> {
        match &self.form {
            Form::Rows(_) => None,
            Form::Sums(sums) => Some(sums),
        }
    }

    fn sum_up(&mut self) {
        if let Form::Rows(rows) = &self.form {
            let mut sums = Sums::default();
            for row in rows {
                sums.add(row);
            }
            self.form = Form::Sums(Box::new(sums));
        }
    }

    fn settle(&mut self) {
        if self.runs > self.most_rows {
            self.sum_up();
        }
    }
}

impl Extend<SimulationRow> for ReplicationState {
    /// Adds runs, in any order.
    fn extend<I: IntoIterator<Item = SimulationRow>>(&mut self, rows: I) {
        for row in rows {
            self.runs = self.runs.saturating_add(1);
            match &mut self.form {
                Form::Rows(rows) => rows.push(row),
                Form::Sums(sums) => sums.add(&row),
            }
            self.settle();
        }
    }
}

impl PartialEq for ReplicationState {
    fn eq(&self, other: &Self) -> bool {
        let same = match (&self.form, &other.form) {
            (Form::Rows(one), Form::Rows(two)) => sorted(one) == sorted(two),
            (Form::Sums(one), Form::Sums(two)) => one == two,
            _ => false,
        };
        same && (self.most_rows, self.runs) == (other.most_rows, other.runs)
    }
}

fn sorted(rows: &[SimulationRow]) -> Vec<&SimulationRow> {
    let mut rows: Vec<&SimulationRow> = rows.iter().collect();
    rows.sort_by(|one, other| one.order(other));
    rows
}

/// The state in JSON: rows by file, as lists; or the sketch of contents, and sums by model, domain and task.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Written<'s> {
    Rows(Vec<(Cow<'s, str>, Vec<WrittenRow<'s>>)>),
    Sums(Distinct, Vec<WrittenGroup<'s>>),
}

/// Model, domain, task, sums.
type WrittenGroup<'s> = (Option<Arc<str>>, Option<Arc<str>>, Option<Cow<'s, str>>, Cow<'s, GroupSums>);

/// Position, id, model, domain, task, trial; reward; calls, errors, recovered, the default rule's values for
/// `recovered`, `goals` and `reached`, whether detected; agent, digest, termination.
#[derive(Serialize, Deserialize)]
struct WrittenRow<'s>(Who<'s>, Option<f64>, Counts, Rest<'s>);
type Counts = (u64, u64, u64, Option<(u64, u64, u64)>, bool);
type Who<'s> =
    (u64, Option<Cow<'s, str>>, Option<Arc<str>>, Option<Arc<str>>, Option<Cow<'s, str>>, Option<u64>);
type Rest<'s> = (Option<Arc<str>>, Option<Digest>, Option<Cow<'s, str>>);

impl<'s> WrittenRow<'s> {
    fn of(row: &'s SimulationRow) -> Self {
        let text = |text: &'s Option<String>| text.as_deref().map(Cow::Borrowed);
        let default_rule = row.default_rule.map(|rule| (rule.recovered, rule.goals, rule.reached));
        Self(
            (row.position, text(&row.id), row.model.clone(), row.domain.clone(), text(&row.task), row.trial),
            row.reward,
            (row.tool_calls, row.errors, row.recovered, default_rule, row.detected),
            (row.agent.clone(), row.digest, text(&row.termination)),
        )
    }

    fn read(self, file: &str, names: &mut Names) -> SimulationRow {
        let Self(who, reward, counts, (agent, digest, termination)) = self;
        let (position, id, model, domain, task, trial) = who;
        let (tool_calls, errors, recovered, default_rule, detected) = counts;
        let default_rule = default_rule.map(|(recovered, goals, reached)| DefaultMeasures {
            recovered,
            recovery_rate: recovery_rate(recovered, errors),
            goals,
            reached,
            goal_recovery: recovery_rate(reached, goals),
        });
        SimulationRow {
            file: file.to_owned(),
            position,
            id: id.map(Cow::into_owned),
            model: names.shared(model),
            domain: names.shared(domain),
            task: task.map(Cow::into_owned),
            trial,
            reward,
            tool_calls,
            errors,
            recovered,
            recovery_rate: recovery_rate(recovered, errors),
            detected,
            agent: names.shared(agent),
            default_rule,
            digest,
            termination: termination.map(Cow::into_owned),
            ..SimulationRow::default()
        }
    }
}

/// Interns names that many runs share.
#[derive(Default)]
struct Names(BTreeSet<Arc<str>>);

impl Names {
    fn shared(&mut self, name: Option<Arc<str>>) -> Option<Arc<str>> {
        let name = name?;
        if let Some(known) = self.0.get(&name) {
            return Some(Arc::clone(known));
        }
        self.0.insert(Arc::clone(&name));
        Some(name)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenState<'s> {
    most_rows: u64,
    runs: u64,
    kept: Written<'s>,
}

impl Serialize for ReplicationState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let kept = match &self.form {
            Form::Rows(rows) => {
                let mut files: Vec<(Cow<'_, str>, Vec<WrittenRow<'_>>)> = Vec::new();
                for row in sorted(rows) {
                    match files.last_mut() {
                        Some((file, rows)) if *file == row.file => rows.push(WrittenRow::of(row)),
                        _ => files.push((Cow::Borrowed(&row.file), vec![WrittenRow::of(row)])),
                    }
                }
                Written::Rows(files)
            }
            Form::Sums(sums) => {
                let groups = sums.groups.iter().map(|((model, domain, task), sums)| {
                    let task = task.as_deref().map(Cow::Borrowed);
                    (model.clone(), domain.clone(), task, Cow::Borrowed(sums))
                });
                Written::Sums(sums.contents.clone(), groups.collect())
            }
        };
        WrittenState { most_rows: self.most_rows, runs: self.runs, kept }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ReplicationState {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let WrittenState { most_rows, runs, kept } = WrittenState::deserialize(deserializer)?;
        let mut state = Self::new(most_rows);
        let mut names = Names::default();
        match kept {
            Written::Rows(files) => {
                for (file, rows) in files {
                    state.extend(rows.into_iter().map(|row| row.read(&file, &mut names)));
                }
            }
            Written::Sums(contents, groups) => {
                let mut sums = Sums { contents, groups: BTreeMap::new() };
                for (model, domain, task, more) in groups {
                    let key = (names.shared(model), names.shared(domain), task.map(Cow::into_owned));
                    sums.groups.entry(key).or_default().merge(&more);
                }
                // Only a state with more runs than the limit holds sums, so a lower count is raised.
                state.runs = runs.max(most_rows.saturating_add(1));
                state.form = Form::Sums(Box::new(sums));
            }
        }
        Ok(state)
    }
}
