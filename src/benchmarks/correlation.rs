//! Correlation of correct reflection with avoided failures.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::evolution::{CaseAnswer, Evolution, EvolutionCase};
use super::read::Record;
use super::reflection::{Reflection, Stage};
use crate::stats::{ratio, two_proportions};

/// The reflection on a signal, and whether the failure under test was then avoided.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ReflectionRecord {
    /// The test case.
    pub case: String,
    /// The framework.
    pub framework: Option<String>,
    /// Class of the failure.
    pub class: String,
    /// Whether the failure was detected.
    pub detection: bool,
    /// Whether it was localized.
    pub localization: bool,
    /// Whether it was diagnosed.
    pub diagnosis: bool,
    /// Whether the failure was avoided; records with `None` are ignored.
    pub avoided: Option<bool>,
}

impl Record for ReflectionRecord {
    fn key(&self) -> String {
        match &self.framework {
            Some(framework) => format!("case `{}` of framework `{framework}`", self.case),
            None => format!("case `{}`", self.case),
        }
    }
}

/// Joins the reflection on signals with the cases that test them, one record per case with a scored signal.
///
/// `cases` must be those of `evolution`, in the same order. A level is true if the signal's episode passes
/// it, and all levels before it, in the funnel `table5`: detection, recall of at least 0.6, at least one
/// failure judged 1. Cases whose signal is missing or was not scored in that funnel have no record.
#[must_use]
pub fn reflection_records(
    reflection: &Reflection,
    cases: &[EvolutionCase],
    evolution: &Evolution,
) -> Vec<ReflectionRecord> {
    let stages: BTreeMap<&str, Stage> = reflection
        .episodes
        .iter()
        .filter_map(|episode| Some((episode.id.as_str(), *episode.funnel.get("table5")?)))
        .collect();
    let record = |(case, answer): (&EvolutionCase, &CaseAnswer)| {
        let stage = *stages.get(case.signal.as_deref()?)?;
        Some(ReflectionRecord {
            case: case.id.clone(),
            framework: case.framework.clone(),
            class: case.target.class().to_owned(),
            detection: stage > Stage::Detection,
            localization: stage > Stage::Localization,
            diagnosis: stage > Stage::Diagnosis,
            avoided: answer.avoided,
        })
    };
    cases.iter().zip(&evolution.cases).filter_map(record).collect()
}

/// The relation between reflection and avoidance for one class of failures.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Relation {
    /// Records with a defined outcome.
    pub records: u64,
    /// Records that passed each level, compared with all others.
    pub cumulative: RelationLevels,
    /// The same, but only among the records that passed the previous level.
    pub conditional: RelationLevels,
}

/// Avoidance by level of reflection: detection, localization, diagnosis.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RelationLevels {
    /// Detection.
    pub detection: GroupComparison,
    /// Localization.
    pub localization: GroupComparison,
    /// Diagnosis.
    pub diagnosis: GroupComparison,
}

/// Avoidance after correct and after wrong reflection.
///
/// The test assumes independent records. Frameworks share cases and signals, so `p` tends to be too small.
/// `z`, `p`, `stars` and `phi` are `None` if a group is empty, or if all or none of the failures were avoided.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct GroupComparison {
    /// Records with correct reflection.
    pub n_correct: u64,
    /// Records with wrong reflection.
    pub n_wrong: u64,
    /// Share of avoided failures after correct reflection.
    pub far_correct: Option<f64>,
    /// Share of avoided failures after wrong reflection.
    pub far_wrong: Option<f64>,
    /// The z statistic of the difference, with pooled variance.
    pub z: Option<f64>,
    /// The two-sided p-value under the null hypothesis of no difference.
    pub p: Option<f64>,
    /// `*` for p below 0.05, `**` below 0.01, `***` below 0.001, otherwise empty.
    pub stars: Option<&'static str>,
    /// Phi coefficient of correct reflection and avoidance.
    pub phi: Option<f64>,
}

/// Compares avoidance after correct and wrong reflection, for the classes `operation`, `strategy` and
/// `system`, and for `all` records.
///
/// ```
/// use serde_json::json;
/// use wrongturn::benchmarks::{ReflectionRecord, relate};
///
/// let record = |case: &str, seen: bool, avoided: bool| {
///     serde_json::from_value(json!({"case": case, "class": "strategy", "detection": seen,
///         "localization": seen, "diagnosis": seen, "avoided": avoided}))
/// };
/// let records: Vec<ReflectionRecord> =
///     vec![record("a", true, true)?, record("b", false, false)?];
/// let detection = &relate(&records)["all"].cumulative.detection;
/// assert_eq!((detection.far_correct, detection.far_wrong), (Some(1.0), Some(0.0)));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[must_use]
pub fn relate(records: &[ReflectionRecord]) -> BTreeMap<String, Relation> {
    let mut relations = BTreeMap::new();
    for class in ["operation", "strategy", "system", "all"] {
        let chosen = records.iter().filter(|record| class == "all" || record.class == class);
        let levels: Vec<(u8, bool)> = chosen.filter_map(leveled).collect();
        let cumulative = |level| GroupComparison::of(&levels, |own| Some(own >= level));
        let conditional =
            |level| GroupComparison::of(&levels, |own| (own + 1 >= level).then_some(own >= level));
        let relation = Relation {
            records: levels.len() as u64,
            cumulative: RelationLevels::of(cumulative),
            conditional: RelationLevels::of(conditional),
        };
        relations.insert(class.to_owned(), relation);
    }
    relations
}

/// Returns the number of levels passed in a row, and whether the failure was avoided.
fn leveled(record: &ReflectionRecord) -> Option<(u8, bool)> {
    let passed = [record.detection, record.localization, record.diagnosis];
    let level = passed.into_iter().take_while(|passed| *passed).map(u8::from).sum();
    Some((level, record.avoided?))
}

impl RelationLevels {
    fn of(level: impl Fn(u8) -> GroupComparison) -> Self {
        Self { detection: level(1), localization: level(2), diagnosis: level(3) }
    }
}

impl GroupComparison {
    /// Compares the records for whose level `right` is true with those for which it is false; drops the others.
    fn of(records: &[(u8, bool)], right: impl Fn(u8) -> Option<bool>) -> Self {
        let count = |group: bool, avoided: bool| {
            let holds = |(level, own): &&(u8, bool)| right(*level) == Some(group) && *own == avoided;
            records.iter().filter(holds).count() as u64
        };
        Self::of_counts(count(true, true), count(true, false), count(false, true), count(false, false))
    }

    /// Compares the two groups by their counts: `avoided` and `failed` after correct reflection, the other two
    /// after wrong reflection.
    #[must_use]
    pub fn of_counts(avoided: u64, failed: u64, wrong_avoided: u64, wrong_failed: u64) -> Self {
        let n_correct = avoided.saturating_add(failed);
        let n_wrong = wrong_avoided.saturating_add(wrong_failed);
        let test = two_proportions((avoided, failed), (wrong_avoided, wrong_failed));
        let stars = |p| match p {
            p if p < 0.001 => "***",
            p if p < 0.01 => "**",
            p if p < 0.05 => "*",
            _ => "",
        };
        Self {
            n_correct,
            n_wrong,
            far_correct: ratio(avoided, n_correct),
            far_wrong: ratio(wrong_avoided, n_wrong),
            z: test.map(|test| test.z),
            p: test.map(|test| test.p),
            stars: test.map(|test| stars(test.p)),
            phi: test.map(|test| test.phi),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(case: usize, flags: [bool; 3], avoided: Option<bool>) -> ReflectionRecord {
        let [detection, localization, diagnosis] = flags;
        let (case, class) = (case.to_string(), "operation".to_owned());
        ReflectionRecord { case, framework: None, class, detection, localization, diagnosis, avoided }
    }

    #[test]
    fn groups_are_cumulative_or_conditional() {
        let records = [
            record(0, [true, true, true], Some(true)),
            record(1, [true, true, false], Some(false)),
            record(2, [true, false, true], Some(true)),
            record(3, [false, true, true], Some(false)),
            record(4, [true, true, true], None),
        ];
        let relation = &relate(&records)["operation"];
        assert_eq!(relation.records, 4);
        let sizes = |levels: &RelationLevels| {
            [&levels.detection, &levels.localization, &levels.diagnosis]
                .map(|level| (level.n_correct, level.n_wrong))
        };
        assert_eq!(sizes(&relation.cumulative), [(3, 1), (2, 2), (1, 3)]);
        assert_eq!(sizes(&relation.conditional), [(3, 1), (2, 1), (1, 1)]);
        assert_eq!(relation.cumulative.diagnosis.far_wrong, Some(1.0 / 3.0));
        assert_eq!(relate(&records)["strategy"].records, 0);
    }

    /// The published counts: 3,310 records.
    #[test]
    fn the_published_table_follows_from_its_counts() {
        for (counts, percents, p, stars) in [
            ([1272, 3302, 2, 8], [0.385, 0.25], 0.4324, ""),
            ([258, 745, 1016, 2565], [0.346, 0.396], 0.0139, "*"),
            ([176, 363, 1098, 2947], [0.485, 0.373], 3.4e-5, "***"),
        ] {
            let [a, n1, c, n2] = counts;
            assert_eq!(n1 + n2, 3310);
            let found = GroupComparison::of_counts(a, n1 - a, c, n2 - c);
            assert!((found.far_correct.unwrap() - percents[0]).abs() < 0.0005);
            assert!((found.far_wrong.unwrap() - percents[1]).abs() < 0.0005);
            assert!((found.p.unwrap() / p - 1.0).abs() < 0.02, "{found:?}");
            assert_eq!(found.stars, Some(stars));
            // phi is z divided by the square root of n.
            let n: f64 = 3310.0;
            assert!((found.phi.unwrap() - found.z.unwrap() / n.sqrt()).abs() < 1e-12);
        }
    }

    #[test]
    fn without_two_groups_nothing_is_tested() {
        let found = GroupComparison::of_counts(6, 0, 0, 0);
        assert_eq!((found.far_correct, found.far_wrong), (Some(1.0), None));
        assert_eq!((found.z, found.p, found.stars, found.phi), (None, None, None, None));
    }
}
