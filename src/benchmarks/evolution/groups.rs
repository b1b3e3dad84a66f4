//! Figures for groups of cases.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Serialize, Serializer};

use super::{CaseAnswer, Evolution, EvolutionCase, Exclusion};
use crate::stats::{Interval, float, grouped, mean, ratio, ratio_bootstrap, wilson};

pub(super) type Row<'c> = (&'c EvolutionCase, &'c CaseAnswer);

/// Failure avoidance, repeats and score over a group of test cases.
///
/// The mean of zero values is `None`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct EvolutionGroup {
    /// Number of cases.
    pub cases: u64,
    /// Cases for which avoidance is defined.
    pub included: u64,
    /// Number of cases for which avoidance is undefined, by reason.
    pub excluded: BTreeMap<Exclusion, u64>,
    /// Failure avoidance: share of the included cases whose failure was avoided.
    pub far: Option<f64>,
    /// Failure repeats: mean number of recurrences. Only the paper's rule counts them.
    pub frc: Option<f64>,
    /// Mean share of the maximum score, over the cases that have both scores.
    pub score: Option<f64>,
}

/// The figures of one framework: over all its cases, and by proximity and distance.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FrameworkGroup {
    /// Over all its cases.
    pub all: EvolutionGroup,
    /// By proximity and distance.
    pub cells: BTreeMap<Cell, EvolutionGroup>,
    /// Mean avoidance over the cells in which it is defined.
    pub cell_mean: Option<f64>,
    /// The same over the cells of distance 1 or 5.
    pub cell_mean_d1_d5: Option<f64>,
}

/// A combination of a signal's proximity and distance, written `T1/D5`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cell {
    /// The proximity.
    pub proximity: u8,
    /// The distance.
    pub distance: u64,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "T{}/D{}", self.proximity, self.distance)
    }
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The 95% intervals of failure avoidance and repeats; see [`Evolution::intervals`].
///
/// Each is `None` if no case has a result for it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct EvolutionIntervals {
    /// Wilson interval of avoidance, which assumes independent cases.
    pub far_wilson: Option<Interval>,
    /// Bootstrap interval of avoidance; cases that share a signal are drawn together.
    pub far: Option<Interval>,
    /// The same for repeats.
    pub frc: Option<Interval>,
}

impl EvolutionGroup {
    pub(super) fn of(rows: &[Row<'_>]) -> Self {
        let mut excluded = BTreeMap::new();
        for why in rows.iter().filter_map(|(_, answer)| answer.excluded) {
            *excluded.entry(why).or_default() += 1;
        }
        let answered = || rows.iter().filter_map(|(_, answer)| answer.avoided);
        let included = answered().count() as u64;
        Self {
            cases: rows.len() as u64,
            included,
            excluded,
            far: ratio(answered().filter(|avoided| *avoided).count() as u64, included),
            frc: mean(rows.iter().filter_map(|(_, answer)| answer.repeats).map(float)),
            score: mean(rows.iter().filter_map(|(case, _)| case.relative_score())),
        }
    }
}

/// The avoidance and the repeats of cases that are drawn together, each as a sum and a count.
type Shares = [(f64, f64); 2];

/// Groups the cases by `key` and returns the figures of each group; cases without a key are ignored.
pub(super) fn by<K: Ord>(
    rows: &[Row<'_>],
    key: impl Fn(&EvolutionCase) -> Option<K>,
) -> BTreeMap<K, EvolutionGroup> {
    let groups = grouped(rows.iter().copied(), |(case, _)| key(case));
    groups.into_iter().map(|(key, rows)| (key, EvolutionGroup::of(&rows))).collect()
}

pub(super) fn by_framework(rows: &[Row<'_>]) -> BTreeMap<String, FrameworkGroup> {
    let frameworks = grouped(rows.iter().copied(), |(case, _)| case.framework.as_deref());
    let figures = |rows: &[Row<'_>]| {
        let cells = by(rows, |case| Some(Cell { proximity: case.proximity?, distance: case.distance? }));
        let near = |cell: &Cell| cell.distance == 1 || cell.distance == 5;
        FrameworkGroup {
            all: EvolutionGroup::of(rows),
            cell_mean: mean(cells.values().filter_map(|group| group.far)),
            cell_mean_d1_d5: mean(
                cells.iter().filter(|(cell, _)| near(cell)).filter_map(|(_, group)| group.far),
            ),
            cells,
        }
    };
    frameworks.into_iter().map(|(framework, rows)| (framework.to_owned(), figures(&rows))).collect()
}

/// A framework, a task and a model: a row of the published table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[non_exhaustive]
pub struct EvolutionSetting {
    /// The framework.
    pub framework: Option<String>,
    /// The environment.
    pub task: String,
    /// The model.
    pub model: Option<String>,
}

impl Evolution {
    /// Returns the figures by framework, task and model. `cases` must be those that were evaluated, in the
    /// same order.
    #[must_use]
    pub fn by_setting(&self, cases: &[EvolutionCase]) -> BTreeMap<EvolutionSetting, EvolutionGroup> {
        let rows: Vec<Row<'_>> = cases.iter().zip(&self.cases).collect();
        by(&rows, |EvolutionCase { framework, task, model, .. }| {
            Some(EvolutionSetting { framework: framework.clone(), task: task.clone(), model: model.clone() })
        })
    }

    /// Returns the 95% intervals for the cases that `chosen` accepts.
    ///
    /// `cases` must be those that were evaluated, in the same order. Cases that share a signal are drawn
    /// together. The same seed gives the same intervals.
    ///
    /// ```
    /// use wrongturn::benchmarks::{EvolutionCase, EvolutionScorer, evolve};
    ///
    /// let cases: Vec<EvolutionCase> = Vec::new();
    /// let evolution = evolve(&cases, EvolutionScorer::Paper);
    /// let intervals = evolution.intervals(&cases, |case| case.task == "jericho", 2000, 7);
    /// assert_eq!(intervals.far, None, "no cases");
    /// ```
    #[must_use]
    pub fn intervals(
        &self,
        cases: &[EvolutionCase],
        chosen: impl Fn(&EvolutionCase) -> bool,
        resamples: u32,
        seed: u64,
    ) -> EvolutionIntervals {
        let mut clusters: BTreeMap<(bool, &str), Shares> = BTreeMap::new();
        let (mut avoided, mut included) = (0, 0);
        for (case, answer) in cases.iter().zip(&self.cases).filter(|(case, _)| chosen(case)) {
            let Some(was_avoided) = answer.avoided else { continue };
            included += 1;
            avoided += u64::from(was_avoided);
            let cluster = case.signal.as_deref().map_or((false, case.id.as_str()), |signal| (true, signal));
            let [avoidance, recurrence] = clusters.entry(cluster).or_default();
            *avoidance = (avoidance.0 + f64::from(u8::from(was_avoided)), avoidance.1 + 1.0);
            if let Some(repeats) = answer.repeats {
                *recurrence = (recurrence.0 + float(repeats), recurrence.1 + 1.0);
            }
        }
        let bootstrap = |which: fn(&Shares) -> (f64, f64)| {
            ratio_bootstrap(&clusters.values().map(which).collect::<Vec<_>>(), resamples, seed)
        };
        EvolutionIntervals {
            far_wilson: wilson(avoided, included, 0.95).ok(),
            far: bootstrap(|[avoidance, _]| *avoidance),
            frc: bootstrap(|[_, recurrence]| *recurrence),
        }
    }
}
