//! Finds runs that were recorded more than once.

use std::collections::BTreeMap;

use serde::Serialize;

use super::row::SimulationRow;

/// A run that was recorded more than once: the excluded copy, and the copy that counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Duplicate {
    /// The file of the excluded copy.
    pub file: String,
    /// Its id.
    pub id: Option<String>,
    /// The file of the copy that counts.
    pub of_file: String,
    /// The id of the copy that counts.
    pub of_id: Option<String>,
}

/// Marks copies of runs in [`SimulationRow::duplicate_of`] and returns them.
///
/// Two rows are one run if they have the same UUID as their id, or equal digests and tasks, and if they do not
/// conflict: agent, model, domain, task and trial are equal or absent on one side, and ids within one file do
/// not differ. The copy with the most metadata counts; if several have as much, the first of them.
///
/// ```
/// use wrongturn::{Scanner, default_detectors, replicate::{SimulationRow, mark_duplicates}, scan::ScanOptions};
///
/// let options = ScanOptions { digests: true, ..ScanOptions::default() };
/// let scanner = Scanner::new(default_detectors(), options)?;
/// let file = br#"{"simulations": [{"id": "a", "messages": [{"role": "user", "content": "hello"}]}]}"#;
/// let mut rows: Vec<SimulationRow> = ["one.json", "copy.json"]
///     .iter()
///     .flat_map(|name| scanner.scan_slice(name.as_ref(), file).traces)
///     .filter_map(|record| SimulationRow::of(&record))
///     .collect();
/// let duplicates = mark_duplicates(&mut rows);
/// assert_eq!(duplicates[0].file, "copy.json");
/// assert_eq!(rows[1].duplicate_of.as_deref(), Some("one.json#a"));
/// # Ok::<(), wrongturn::Error>(())
/// ```
pub fn mark_duplicates(rows: &mut [SimulationRow]) -> Vec<Duplicate> {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|place| std::cmp::Reverse(rows.get(*place).map(named)));
    let mut kept: BTreeMap<Key, Vec<usize>> = BTreeMap::new();
    let mut found = BTreeMap::new();
    for place in order {
        let Some(row) = rows.get(place) else { continue };
        let keys = Key::of(row);
        let known = keys.iter().flat_map(|key| kept.get(key).into_iter().flatten());
        let original = known.copied().find(|other| rows.get(*other).is_some_and(|other| is_same(other, row)));
        match original {
            Some(original) => drop(found.insert(place, original)),
            None => keys.into_iter().for_each(|key| kept.entry(key).or_default().push(place)),
        }
    }
    for row in &mut *rows {
        row.duplicate_of = None;
    }
    let mut duplicates = Vec::new();
    for (place, original) in found {
        let Ok([row, of]) = rows.get_disjoint_mut([place, original]) else { continue };
        row.duplicate_of = Some(of.name());
        duplicates.push(Duplicate {
            file: row.file.clone(),
            id: row.id.clone(),
            of_file: of.file.clone(),
            of_id: of.id.clone(),
        });
    }
    duplicates
}

/// A key that two rows of one run can share.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Uuid(String),
    Messages(crate::trace::Digest, Option<String>),
}

impl Key {
    fn of(row: &SimulationRow) -> Vec<Self> {
        let uuid = row.id.as_deref().filter(|id| is_uuid(id)).map(|id| Self::Uuid(id.to_ascii_lowercase()));
        let messages = row.digest.map(|digest| Self::Messages(digest, row.task.clone()));
        uuid.into_iter().chain(messages).collect()
    }
}

/// Returns the number of known facts in a row. The copy with the highest number counts.
fn named(row: &SimulationRow) -> usize {
    [
        row.model.is_some(),
        row.agent.is_some(),
        row.domain.is_some(),
        row.task.is_some(),
        row.trial.is_some(),
        row.reward.is_some(),
        row.id.is_some(),
        row.digest.is_some(),
    ]
    .into_iter()
    .filter(|named| *named)
    .count()
}

/// Returns true if two rows with a common [`Key`] are one run.
fn is_same(one: &SimulationRow, other: &SimulationRow) -> bool {
    fn agree<T: PartialEq>(one: Option<&T>, other: Option<&T>) -> bool {
        one.is_none() || other.is_none() || one == other
    }
    let ids = one.id.as_deref().zip(other.id.as_deref());
    let uuid = ids.is_some_and(|(one, other)| is_uuid(one) && one.eq_ignore_ascii_case(other));
    agree(one.trial.as_ref(), other.trial.as_ref())
        && agree(one.domain.as_ref(), other.domain.as_ref())
        && agree(one.task.as_ref(), other.task.as_ref())
        && agree(one.model.as_ref(), other.model.as_ref())
        && agree(one.agent.as_ref(), other.agent.as_ref())
        && (uuid || one.file != other.file || agree(one.id.as_ref(), other.id.as_ref()))
}

/// Returns true if an id is a UUID. Other ids may number the runs of a file, or name a task, so different runs can
/// share them.
fn is_uuid(id: &str) -> bool {
    id.bytes().filter(u8::is_ascii_hexdigit).count() == 32
        && id.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::super::tests::row;
    use super::*;
    use crate::trace::Digest;

    fn run(model: &str, task: u32) -> SimulationRow {
        SimulationRow { digest: Some(Digest::of_text("a")), ..row(model, task, true, 1.0) }
    }

    fn in_file(file: &str, row: SimulationRow) -> SimulationRow {
        SimulationRow { file: file.to_owned(), ..row }
    }

    /// Returns, for each row, the name of the copy that counts in its place, if there is one.
    fn copies(mut rows: Vec<SimulationRow>) -> Vec<Option<String>> {
        mark_duplicates(&mut rows);
        rows.into_iter().map(|row| row.duplicate_of).collect()
    }

    #[test]
    fn runs_of_other_tasks_agents_or_trials_are_not_copies() {
        let agent = |agent: &str| SimulationRow { agent: Some(agent.into()), ..run("m", 1) };
        let trial = |trial| SimulationRow { trial: Some(trial), ..run("m", 1) };
        let without_id = |task| SimulationRow { id: None, ..run("m", task) };
        for (one, other) in [
            (run("m", 1), run("m", 2)),
            (without_id(1), without_id(2)),
            (run("m", 1), run("n", 1)),
            (agent("a"), in_file("b.json", agent("b"))),
            (trial(0), in_file("b.json", trial(1))),
            (run("m", 1), SimulationRow { id: Some("again".into()), ..run("m", 1) }),
            (row("m", 1, true, 1.0), in_file("b.json", row("m", 1, true, 1.0))),
        ] {
            assert_eq!(copies(vec![one.clone(), other.clone()]), [None, None], "{one:?} {other:?}");
        }
    }

    #[test]
    fn uuids_are_compared_without_case() {
        let id = "0b5e7c1a-3f42-4d8e-9a6b-1c2d3e4f5a6b";
        let named = |id: String| SimulationRow { id: Some(id), digest: None, ..run("m", 1) };
        let copies = copies(vec![named(id.into()), in_file("b.json", named(id.to_uppercase()))]);
        assert_eq!(copies.iter().filter(|copy| copy.is_some()).count(), 1, "{copies:?}");
    }

    #[test]
    fn the_copy_that_names_most_counts() {
        let bare = SimulationRow { model: None, id: None, ..in_file("a.json", run("m", 1)) };
        let full = in_file("b.json", run("m", 1));
        assert_eq!(copies(vec![bare.clone(), full.clone()]), [Some("b.json#m-1".to_owned()), None]);
        // A copy without a model is assigned to one of two models that behaved alike; their own runs stay apart.
        let other = in_file("c.json", run("n", 1));
        assert_eq!(copies(vec![bare, full, other]), [Some("b.json#m-1".to_owned()), None, None]);
    }

    #[test]
    fn equal_uuids_are_one_run_whatever_was_kept_of_its_messages() {
        let id = Some("0f8fad5b-d9cb-469f-a165-70867728950e".to_owned());
        let one = SimulationRow { id: id.clone(), ..run("m", 1) };
        let stripped = SimulationRow { id: id.clone(), digest: None, ..in_file("b.json", run("m", 1)) };
        assert_eq!(copies(vec![stripped, one.clone()])[1], None);
        let other_task = SimulationRow { id, ..in_file("b.json", run("m", 2)) };
        assert_eq!(copies(vec![one, other_task]), [None, None]);
        let numbered = |file: &str, text: &str| SimulationRow {
            id: Some("0".to_owned()),
            digest: Some(Digest::of_text(text)),
            ..in_file(file, run("m", 1))
        };
        assert_eq!(copies(vec![numbered("a.json", "x"), numbered("b.json", "y")]), [None, None]);
    }
}
