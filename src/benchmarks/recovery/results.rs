//! Reads result files of Terminal-Bench v1 and of Harbor, distinguished by their shape.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::super::read::null_as_default;
use crate::error::{Error, Result};
use crate::names::named;
use crate::objects;

named! {
    /// The format of a result file.
    #[non_exhaustive]
    pub enum TrialFormat: "format" {
        /// Terminal-Bench v1, `results.json`.
        TerminalBenchV1 = "terminal_bench_v1",
        /// Harbor, the `result.json` of a trial.
        Harbor = "harbor",
    }
}

/// The result of one trial, whatever its format.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Trial {
    /// The format it was read from.
    pub format: TrialFormat,
    /// The task.
    pub task: String,
    /// Name of the trial.
    pub trial: Option<String>,
    /// The number of the attempt, if the trial's name has one and the format is Terminal-Bench v1.
    pub attempt: Option<u64>,
    /// Whether the task was solved: for Harbor, whether the reward is positive.
    pub resolved: bool,
    /// Whether the trial was scored.
    pub scored: bool,
    /// The reward, if the format has one.
    pub reward: Option<f64>,
    /// The failure mode in the source's words. It never overrides `resolved`.
    pub failure_mode: Option<String>,
    /// The failure mode, except `unset` and `none`; for Harbor, the type of the exception.
    pub error: Option<String>,
    /// Number of passed tests.
    pub tests_passed: Option<u64>,
    /// Number of tests.
    pub tests: Option<u64>,
    /// Input tokens.
    pub input_tokens: Option<u64>,
    /// Output tokens.
    pub output_tokens: Option<u64>,
    /// The first 8 hex digits of the instruction's SHA-256, if the file has the instruction.
    pub task_hash: Option<String>,
}

named! {
    /// The reason why a result file holds no trials.
    #[non_exhaustive]
    pub enum SkippedFile: "reason" {
        /// It is the summary of a job, whose trials are in separate files.
        HarborJobSummary = "harbor_job_summary",
        /// Its shape is unknown.
        Unknown = "unknown",
    }
}

/// The contents of a result file: trials, or the reason why there are none.
///
/// Serializes as `{"trials": […]}` or as `{"skipped": "<reason>"}`.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Results {
    /// Trials, in the order of the file.
    Trials {
        /// Trials that could be read.
        trials: Vec<Trial>,
        /// Errors of the others, each with its position in the file's list, counted from 0.
        #[serde(skip)]
        errors: Vec<Error>,
    },
    /// No trials.
    Skipped {
        /// The reason.
        #[serde(rename = "skipped")]
        why: SkippedFile,
    },
}

#[derive(Deserialize)]
struct V1Trial {
    task_id: String,
    trial_name: Option<String>,
    instruction: Option<String>,
    is_resolved: Option<bool>,
    failure_mode: Option<String>,
    parser_results: Option<BTreeMap<String, Value>>,
    total_input_tokens: Option<u64>,
    total_output_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct HarborTrial {
    task_name: String,
    trial_name: Option<String>,
    verifier_result: Option<VerifierResult>,
    exception_info: Option<ExceptionInfo>,
    #[serde(default, deserialize_with = "null_as_default")]
    agent_result: AgentResult,
}

#[derive(Deserialize)]
struct VerifierResult {
    rewards: Option<Rewards>,
}

#[derive(Deserialize)]
struct Rewards {
    #[serde(default)]
    reward: Value,
}

#[derive(Deserialize)]
struct ExceptionInfo {
    exception_type: Option<String>,
}

#[derive(Default, Deserialize)]
struct AgentResult {
    n_input_tokens: Option<u64>,
    n_output_tokens: Option<u64>,
}

/// Reads a result file of Terminal-Bench v1 or of Harbor. Files of other shapes are [`Results::Skipped`].
///
/// ```
/// use wrongturn::benchmarks::{Results, read_results};
///
/// let file = br#"{"task_name": "t", "trial_name": "t__x",
///     "verifier_result": {"rewards": {"reward": 1.0}}}"#;
/// let Results::Trials { trials, .. } = read_results(file)? else { panic!() };
/// assert!(trials[0].resolved && trials[0].scored);
/// # Ok::<(), wrongturn::Error>(())
/// ```
///
/// # Errors
/// If the file is not JSON, or is a single trial with an invalid field. Errors in the trials of a list are
/// returned in [`Results::Trials`].
pub fn read_results(file: &[u8]) -> Result<Results> {
    let value: Value = objects::from_slice(file)?;
    let has = |key: &str| value.get(key).is_some();
    if let (Some(list), true) = (value.get("results").and_then(Value::as_array), has("accuracy")) {
        let (mut trials, mut errors) = (Vec::new(), Vec::new());
        for (place, element) in (0..).zip(list) {
            match objects::from_value::<V1Trial>(element) {
                Ok(trial) => trials.push(trial.into()),
                Err(error) => errors.push(error.in_run(place)),
            }
        }
        return Ok(Results::Trials { trials, errors });
    }
    let why = match () {
        () if has("is_resolved") && has("task_id") => return alone::<V1Trial>(file),
        () if has("task_name") && has("verifier_result") => return alone::<HarborTrial>(file),
        () if has("n_total_trials") && has("stats") => SkippedFile::HarborJobSummary,
        () => SkippedFile::Unknown,
    };
    Ok(Results::Skipped { why })
}

fn alone<T: DeserializeOwned + Into<Trial>>(file: &[u8]) -> Result<Results> {
    let trial: T = objects::from_slice(file)?;
    Ok(Results::Trials { trials: vec![trial.into()], errors: Vec::new() })
}

impl Trial {
    /// Returns whether the agent declared the task done, that is, whether the trial ended without an error; `None`
    /// if the trial was not scored.
    #[must_use]
    pub fn declared_done(&self) -> Option<bool> {
        self.scored.then_some(self.error.is_none())
    }
}

impl From<V1Trial> for Trial {
    fn from(wire: V1Trial) -> Self {
        let passed = |tests: &BTreeMap<String, Value>| {
            tests.values().filter(|result| *result == "passed").count() as u64
        };
        Self {
            format: TrialFormat::TerminalBenchV1,
            attempt: wire.trial_name.as_deref().and_then(attempt),
            resolved: wire.is_resolved == Some(true),
            scored: wire.is_resolved.is_some(),
            reward: None,
            error: wire.failure_mode.clone().filter(|mode| mode != "unset" && mode != "none"),
            tests_passed: wire.parser_results.as_ref().map(passed),
            tests: wire.parser_results.as_ref().map(|tests| tests.len() as u64),
            task_hash: wire.instruction.as_deref().map(task_hash),
            task: wire.task_id,
            trial: wire.trial_name,
            failure_mode: wire.failure_mode,
            input_tokens: wire.total_input_tokens,
            output_tokens: wire.total_output_tokens,
        }
    }
}

impl From<HarborTrial> for Trial {
    fn from(wire: HarborTrial) -> Self {
        // `Value::as_f64` accepts numbers only: a boolean is not a reward.
        let reward = wire.verifier_result.and_then(|result| result.rewards?.reward.as_f64());
        Self {
            format: TrialFormat::Harbor,
            task: wire.task_name,
            trial: wire.trial_name,
            attempt: None,
            resolved: reward.is_some_and(|reward| reward > 0.0),
            scored: reward.is_some(),
            reward,
            failure_mode: None,
            error: wire.exception_info.and_then(|info| info.exception_type),
            tests_passed: None,
            tests: None,
            input_tokens: wire.agent_result.n_input_tokens,
            output_tokens: wire.agent_result.n_output_tokens,
            task_hash: None,
        }
    }
}

/// Returns the `i` of the first `.i-of-n` that is followed by a full stop or by the end of the name.
fn attempt(name: &str) -> Option<u64> {
    name.match_indices('.').find_map(|(at, _)| {
        let (number, after) = digits(name.get(at + 1..)?)?;
        let (_, end) = digits(after.strip_prefix("-of-")?)?;
        (end.is_empty() || end.starts_with('.')).then_some(number)
    })
}

/// Splits a text after the number at its start, if it has one.
fn digits(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, rest) = text.split_at_checked(end)?;
    Some((number.parse().ok()?, rest))
}

fn task_hash(instruction: &str) -> String {
    let digest = Sha256::digest(instruction.as_bytes());
    digest.iter().take(4).fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn trials(file: &str) -> (Vec<Trial>, Vec<Error>) {
        match read_results(file.as_bytes()).unwrap() {
            Results::Trials { trials, errors } => (trials, errors),
            Results::Skipped { why } => panic!("{why:?}"),
        }
    }

    #[test]
    fn attempts_are_told_by_names() {
        for (name, found) in [
            ("task.3-of-5.run", Some(3)),
            ("task.3-of-5", Some(3)),
            ("my.task.1-of-2x.12-of-20.r", Some(12)),
            ("task.3-of-", None),
            ("task-3-of-5", None),
            ("", None),
        ] {
            assert_eq!(attempt(name), found, "{name}");
        }
    }

    /// `sha256sum` of the empty text and of `abc`.
    #[test]
    fn tasks_are_known_by_their_instruction() {
        assert_eq!((task_hash(""), task_hash("abc")), ("e3b0c442".to_owned(), "ba7816bf".to_owned()));
    }

    #[test]
    fn a_failure_mode_does_not_override_the_result() {
        let file = r#"{"accuracy": 0.5, "results": [
            {"task_id": "t", "is_resolved": true, "failure_mode": "agent_timeout", "parser_results": {"a": "passed", "b": "failed"}},
            {"task_id": "t", "is_resolved": null, "failure_mode": "unset"},
            {"task_id": "t", "is_resolved": "yes"},
            {"is_resolved": true},
            7]}"#;
        let (trials, errors) = trials(file);
        let [first, second] = trials.as_slice() else { panic!("{trials:?}") };
        assert!(first.resolved && first.scored && first.error.as_deref() == Some("agent_timeout"));
        assert_eq!((first.tests_passed, first.tests, second.tests), (Some(1), Some(2), None));
        assert!(!second.resolved && !second.scored && second.error.is_none());
        assert_eq!(
            errors.iter().map(|error| (error.run(), error.kind())).collect::<Vec<_>>(),
            [(Some(2), ErrorKind::Shape), (Some(3), ErrorKind::Shape), (Some(4), ErrorKind::Shape),]
        );
    }

    #[test]
    fn rewards_may_be_missing_at_every_level() {
        for (result, reward, resolved) in [
            ("null", None, false),
            ("{}", None, false),
            (r#"{"rewards": null}"#, None, false),
            (r#"{"rewards": {}}"#, None, false),
            (r#"{"rewards": {"reward": null}}"#, None, false),
            (r#"{"rewards": {"reward": true}}"#, None, false),
            (r#"{"rewards": {"reward": "1"}}"#, None, false),
            (r#"{"rewards": {"reward": 0}}"#, Some(0.0), false),
            (r#"{"rewards": {"reward": -1}}"#, Some(-1.0), false),
            (r#"{"rewards": {"reward": 0.4}}"#, Some(0.4), true),
        ] {
            let (found, _) = trials(&format!(
                r#"{{"task_name": "t", "verifier_result": {result}, "exception_info": {{"exception_type": "E"}}}}"#
            ));
            let [trial] = found.as_slice() else { panic!("{found:?}") };
            assert_eq!(
                (trial.reward, trial.resolved, trial.scored),
                (reward, resolved, reward.is_some()),
                "{result}"
            );
            assert_eq!(trial.error.as_deref(), Some("E"));
        }
    }

    #[test]
    fn other_files_are_skipped_with_a_reason_and_broken_ones_are_errors() {
        for (file, reason) in [
            (r#"{"n_total_trials": 1, "stats": {}}"#, "harbor_job_summary"),
            (r#"{"results": []}"#, "unknown"),
            ("[]", "unknown"),
            ("1", "unknown"),
        ] {
            let found = serde_json::to_value(read_results(file.as_bytes()).unwrap()).unwrap();
            assert_eq!(found["skipped"], reason);
        }
        assert_eq!(read_results(b"{").unwrap_err().kind(), ErrorKind::Truncated);
        let wrong = read_results(b"{\"is_resolved\": true,\n\"task_id\": 7}").unwrap_err();
        assert_eq!((wrong.kind(), wrong.location().unwrap().line), (ErrorKind::Shape, 2));
    }
}
