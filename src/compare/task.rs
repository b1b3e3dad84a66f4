//! Names tasks in the same way across formats, so runs in different formats can be paired.

use crate::scan::TraceRecord;

/// Returns the task of a run. An instance of SWE-bench is named by its id without a prefix such as
/// `princeton/`. A run without a task gets the id in its domain, or else in its file name.
pub(super) fn task_of(record: &TraceRecord) -> Option<String> {
    let metadata = &record.metadata;
    let stem =
        || record.file.file_stem()?.to_str().map(|stem| stem.trim_end_matches(".traj")).and_then(instance);
    match metadata.task.as_deref() {
        Some(task) => Some(instance(task).unwrap_or(task).to_owned()),
        None => metadata.domain.as_deref().and_then(instance).or_else(stem).map(str::to_owned),
    }
}

/// Returns the id `owner__repository-number` at the end of a text, without a prefix that ends in `_`, `/` or
/// `:`.
fn instance(text: &str) -> Option<&str> {
    let (before, after) = text.rsplit_once("__")?;
    let (repository, number) = after.rsplit_once('-')?;
    let is_name = |text: &str| {
        !text.is_empty()
            && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter))
    };
    let owner = before.rsplit(['_', '/', ':']).next().unwrap_or_default();
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let start = before.len() - owner.len();
    (is_name(owner) && is_name(repository) && is_number).then(|| text.get(start..)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_are_found_at_the_end() {
        let id = Some("scikit-learn__scikit-learn-13124");
        for text in [
            "scikit-learn__scikit-learn-13124",
            "9f_scikit-learn__scikit-learn-13124",
            "a/b:scikit-learn__scikit-learn-13124",
        ] {
            assert_eq!(instance(text), id, "{text}");
        }
        for text in ["swe_main", "a__b", "a__b-1__part", "__b-1", "a__-1", "a__b-1c"] {
            assert_eq!(instance(text), None, "{text}");
        }
    }
}
