//! Sidecar files of a Harbor trial: `result.json` and `verifier/reward.txt`.
//!
//! ```text
//! <trial>/result.json            {"task_name", "trial_name", "verifier_result": {"rewards": {"reward"}}, "exception_info"}
//! <trial>/verifier/reward.txt    1.0
//! <trial>/agent/trajectory.json  the run
//! ```

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use super::members::Members;
use crate::json::Json;
use crate::trace::RunSummary;

/// Facts from sidecar files of a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Outside {
    /// Always finite.
    pub(crate) reward: Option<f64>,
    pub(crate) task: Option<String>,
    /// The type of the exception that ended the trial. There may still be a reward.
    pub(crate) exception: Option<String>,
}

/// The file that records the reward, the task and the exception.
pub(crate) const RESULT: &str = "result.json";

/// The file that records only the reward.
pub(crate) const REWARD: &str = "reward.txt";

/// Returns the candidate paths of sidecar files for a run at this path: in its directory and, if that is called
/// `agent` or is directly inside such a directory, in the one above `agent`. Callers try them in this order and use the first
/// that [`read`] accepts.
pub(crate) fn places(run: &Path) -> Vec<PathBuf> {
    let Some(folder) = run.parent() else { return Vec::new() };
    let is_of_agent = |folder: &&Path| folder.file_name().is_some_and(|name| name == "agent");
    let trial = folder.ancestors().take(2).find(is_of_agent).and_then(Path::parent);
    let folders = [Some(folder), trial].into_iter().flatten();
    let files =
        |folder: &Path| [folder.join(RESULT), folder.join("verifier").join(REWARD), folder.join(REWARD)];
    let places = folders.flat_map(files);
    places.filter(|place| place != run).collect()
}

/// Returns true if a path has the name of a sidecar file.
pub(crate) fn is_place(run: &Path) -> bool {
    run.file_name().is_some_and(|name| name == RESULT || name == REWARD)
}

/// Parses a sidecar file. Returns `None` if the name is unknown, the content is invalid, or it does not belong to a
/// trial.
pub(crate) fn read(name: &str, bytes: &[u8]) -> Option<Outside> {
    match name {
        RESULT => result(bytes),
        REWARD => Some(Outside { reward: Some(reward(bytes)?), ..Outside::default() }),
        _ => None,
    }
}

fn reward(bytes: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(bytes).ok()?.trim();
    text.parse().ok().filter(|reward: &f64| reward.is_finite())
}

/// Parses the `result.json` of a trial. Returns `None` for that of a whole job, which has no `trial_name`.
fn result(bytes: &[u8]) -> Option<Outside> {
    let mut json = Json::new(bytes);
    let members = Members::checked(&mut json).filter(|_| json.peek_byte().is_none())?;
    let is_result = ["verifier_result", "exception_info"].iter().any(|key| members.has(key));
    let is_trial = is_result && members.name("trial_name").is_some();
    let task = members.name("task_name").filter(|_| is_trial)?;
    Some(Outside {
        reward: members.object("verifier_result").object("rewards").number("reward"),
        task: Some(task.into_owned()),
        exception: members.object("exception_info").name("exception_type").map(Cow::into_owned),
    })
}

impl Outside {
    /// Fills in what the run does not record. The reward and the exception belong to the whole trial, so runs of
    /// sub-agents do not get them.
    pub(crate) fn complete(&self, ending: &mut RunSummary) {
        if ending.metadata.parent.is_none() {
            ending.reward = ending.reward.or(self.reward);
            let termination = &mut ending.metadata.termination;
            *termination = termination.take().or_else(|| self.exception.clone());
        }
        let task = &mut ending.metadata.task;
        *task = task.take().or_else(|| self.task.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::unnecessary_wraps, reason = "matches the return type of `read`")]
    fn outside(reward: Option<f64>, task: &str, exception: Option<&str>) -> Option<Outside> {
        Some(Outside { reward, task: Some(task.to_owned()), exception: exception.map(str::to_owned) })
    }

    #[test]
    fn results_of_trials() {
        for (json, expected) in [
            (
                r#"{"id": "1", "task_name": "t", "trial_name": "t__a", "verifier_result": {"rewards": {"reward": 1.0}}, "exception_info": null}"#,
                outside(Some(1.0), "t", None),
            ),
            (
                r#"{"exception_info": {"exception_type": "AgentTimeoutError", "exception_message": "m"}, "verifier_result": {"rewards": {"reward": 0.25, "other": 1}}, "trial_name": "t__a", "task_name": "t"}"#,
                outside(Some(0.25), "t", Some("AgentTimeoutError")),
            ),
            (
                r#"{"task_name": "t", "trial_name": "t__a", "verifier_result": null, "exception_info": {"exception_type": "E"}}"#,
                outside(None, "t", Some("E")),
            ),
            (
                r#"{"task_name": "t", "trial_name": "t__a", "verifier_result": {"rewards": {"reward": "1"}}}"#,
                outside(None, "t", None),
            ),
            (
                r#"{"task_name": "t", "trial_name": "t__a", "verifier_result": {"rewards": null}}"#,
                outside(None, "t", None),
            ),
            // A job, another program, an empty task, a truncated file, trailing data, not an object, an empty file.
            (r#"{"id": "1", "stats": {"n_trials": 2}, "exception_info": null}"#, None),
            (r#"{"task_name": "t", "trial_name": "t__a"}"#, None),
            (r#"{"task_name": "", "trial_name": "t__a", "verifier_result": null}"#, None),
            (r#"{"task_name": "t", "trial_name": "t__a", "verifier_result": {"#, None),
            (r#"{"task_name": "t", "trial_name": "t__a", "verifier_result": null} {}"#, None),
            ("[]", None),
            ("", None),
        ] {
            assert_eq!(read(RESULT, json.as_bytes()), expected, "{json}");
        }
    }

    #[test]
    fn rewards_alone() {
        for (text, expected) in [
            ("1.0\n", Some(1.0)),
            (" 0", Some(0.0)),
            ("-0.5\r\n", Some(-0.5)),
            ("1e-3", Some(0.001)),
            ("nan", None),
            ("inf", None),
            ("1e999", None),
            ("1 0", None),
            ("passed", None),
            ("", None),
        ] {
            let reward = read(REWARD, text.as_bytes()).and_then(|outside| outside.reward);
            assert_eq!(reward, expected, "{text:?}");
        }
        assert_eq!(read(REWARD, b"\xff1"), None);
        assert_eq!(read("other.txt", b"1"), None);
    }
}
