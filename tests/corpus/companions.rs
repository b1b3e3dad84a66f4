//! Tests sidecar files: rewards, tasks and exceptions of trials.

use super::*;

/// A trajectory without a reward, with a sub-agent.
const TRAJECTORY: &str = r#"{"schema_version": "ATIF-v1.5", "session_id": "s", "agent": {"name": "a", "version": "1"}, "steps": [
    {"step_id": 1, "source": "agent", "message": "m", "tool_calls": [
        {"tool_call_id": "1", "function_name": "look", "arguments": {}}]}],
    "subagent_trajectories": [{"schema_version": "ATIF-v1.5", "session_id": "sub", "agent": {"name": "b", "version": "1"},
        "steps": [{"step_id": 1, "source": "agent", "message": "done"}]}]}"#;

fn result(reward: &str, exception: &str) -> String {
    format!(
        r#"{{"id": "1", "task_name": "fix", "trial_name": "fix__a", "exception_info": {exception},
            "verifier_result": {{"rewards": {{"reward": {reward}}}}}}}"#
    )
}

type Trial = (String, Option<f64>, Option<String>, Option<String>);

fn trials(files: &[FileScan]) -> Vec<Trial> {
    let of = |record: &wrongturn::scan::TraceRecord| {
        let metadata = &record.metadata;
        (record.trace_id(), record.reward, metadata.task.clone(), metadata.termination.clone())
    };
    files.iter().flat_map(|file| &file.traces).map(of).collect()
}

fn run_of(id: &str, reward: Option<f64>, task: Option<&str>, termination: Option<&str>) -> Trial {
    (id.to_owned(), reward, task.map(str::to_owned), termination.map(str::to_owned))
}

/// Reads the same runs as traces.
fn trials_of_traces(folder: &Folder) -> Vec<Trial> {
    let mut all = Vec::new();
    wrongturn::scan::read_files([&folder.0], &ReadOptions::default(), |event| {
        match event {
            ScanEvent::Record(trace) => {
                let metadata = trace.metadata();
                let id = metadata.id.clone().unwrap();
                all.push((id, trace.reward(), metadata.task.clone(), metadata.termination.clone()));
            }
            ScanEvent::Error(error) => panic!("{error}"),
            _ => {}
        }
        Ok::<(), wrongturn::Error>(())
    })
    .unwrap();
    all
}

#[test]
fn a_trial_gives_its_trajectory_reward_task_and_exception() {
    let folder = Folder::new("trials");
    folder.write("job/a/result.json", result("0.25", "null"));
    folder.write("job/a/agent/sessions/trajectory.json", TRAJECTORY);
    folder.write("job/b/result.json", result("1.0", r#"{"exception_type": "AgentTimeoutError"}"#));
    folder.write("job/b/trajectory.json", TRAJECTORY);
    folder.write("job/c/verifier/reward.txt", "0\n");
    folder.write("job/c/agent/trajectory.json", TRAJECTORY);
    folder.write("job/d/reward.txt", "passed");
    folder.write("job/d/trajectory.json", TRAJECTORY);
    // The parent directory counts only for `agent`.
    folder.write("job/e/reward.txt", "1");
    folder.write("job/e/other/trajectory.json", TRAJECTORY);
    let expected = [
        run_of("s", Some(0.25), Some("fix"), None),
        run_of("sub", None, Some("fix"), None),
        run_of("s", Some(1.0), Some("fix"), Some("AgentTimeoutError")),
        run_of("sub", None, Some("fix"), None),
        run_of("s", Some(0.0), None, None),
        run_of("sub", None, None, None),
        run_of("s", None, None, None),
        run_of("sub", None, None, None),
        run_of("s", None, None, None),
        run_of("sub", None, None, None),
    ];
    for count in [1, 2, 8] {
        let files = scanner(threads(count)).collect([&folder.0]).unwrap();
        assert!(files.iter().all(|file| file.errors.is_empty()), "{files:#?}");
        assert_eq!(trials(&files), expected, "{count} threads");
        let companions: Vec<_> = files.iter().filter(|file| file.path.ends_with("result.json")).collect();
        assert_eq!(companions.len(), 2);
        for file in companions {
            assert_eq!((file.format, file.summary.counts.runs, file.summary.counts.errors), (None, 0, 0));
            assert_eq!(file.summary.counts.passed_over.values().sum::<u64>(), 1);
        }
    }
    assert_eq!(trials_of_traces(&folder), expected);
    let options = ScanOptions { whole_file_limit: 0, piece_bytes: 1, ..threads(2) };
    assert_eq!(trials(&scanner(options).collect([&folder.0]).unwrap()), expected);
}

#[test]
fn what_a_run_records_itself_overrides_its_sidecar_files() {
    let folder = Folder::new("own-reward");
    folder.write("result.json", result("1.0", "null"));
    folder.write(
        "run.json",
        r#"{"version": 1, "id": "own", "task": "own task", "reward": 0.5, "termination": "end", "steps": []}"#,
    );
    folder.write("tau.json", format!("{{\"simulations\": [{}]}}", run("tau").replace("1.0", "0.75")));
    let expected =
        [run_of("own", Some(0.5), Some("own task"), Some("end")), run_of("tau", Some(0.75), Some("t"), None)];
    assert_eq!(trials(&scan(&[folder.path("")])), expected);
    assert_eq!(trials_of_traces(&folder), expected);
}

#[test]
fn a_result_file_that_is_a_run_is_read_and_a_foreign_one_is_an_error() {
    let folder = Folder::new("results");
    folder.write("a/result.json", TRAJECTORY);
    folder.write("b/result.json", r#"{"id": "1", "stats": {"n_trials": 2}}"#);
    folder.write("c/result.json", &result("1.0", "null")[..40]);
    folder.write("d/result.json", r#"{"id": "1", "n_total_trials": 2, "stats": {"n_trials": 2}}"#);
    folder.write("e/config.json", r#"{"task": {}, "trial_name": "t", "trials_dir": "d"}"#);
    let files = scan(&[folder.path("")]);
    assert_eq!(ids(&files), ["s", "sub"]);
    let kinds = |file: &FileScan| file.errors.iter().map(wrongturn::Error::kind).collect::<Vec<_>>();
    let expected = [vec![], vec![ErrorKind::Format], vec![ErrorKind::Truncated], vec![], vec![]];
    assert_eq!(files.iter().map(kinds).collect::<Vec<_>>(), expected);
}

#[test]
fn correlation_with_reward_works_on_trials() {
    let folder = Folder::new("trial-rewards");
    for (trial, reward) in [("a", "1.0"), ("b", "0.0")] {
        folder.write(&format!("{trial}/result.json"), result(reward, "null"));
        folder.write(&format!("{trial}/agent/trajectory.json"), TRAJECTORY);
    }
    let files = scan(&[folder.path("")]);
    let rows: Vec<SimulationRow> =
        files.iter().flat_map(|file| &file.traces).filter_map(SimulationRow::of).collect();
    let group = Replication::of(&rows).overall;
    assert_eq!((group.sims, group.sims_with_reward, group.mean_reward), (4, 2, Some(0.5)));
}

#[cfg(unix)]
#[test]
fn a_pipe_next_to_a_run_is_not_read() {
    let folder = Folder::new("pipe-beside");
    folder.write("trajectory.json", TRAJECTORY);
    for name in ["reward.txt", "result.json"] {
        assert!(std::process::Command::new("mkfifo").arg(folder.path(name)).status().unwrap().success());
    }
    let files = scan(&[folder.path("trajectory.json")]);
    assert_eq!(trials(&files), [run_of("s", None, None, None), run_of("sub", None, None, None)]);
}
