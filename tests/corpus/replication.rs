//! Tests replication and pass^k.

use super::*;
/// The figures of one run, counted from its JSON alone.
#[derive(Debug, Clone, PartialEq)]
struct Counted {
    model: String,
    domain: String,
    reward: Option<f64>,
    calls: u64,
    errors: u64,
    recovered: u64,
}

fn count(file: &Value, run: &Value, actors: Actors) -> Counted {
    struct Call<'v> {
        id: &'v str,
        tool: &'v str,
        user: bool,
        ok: Option<bool>,
    }
    let mut calls: Vec<Call<'_>> = Vec::new();
    for message in run["messages"].as_array().unwrap() {
        let role = message["role"].as_str().unwrap();
        if role == "tool" {
            let id = message["id"].as_str().unwrap();
            let failed = message["error"] == json!(true)
                || message["content"].as_str().is_some_and(|text| text.starts_with("Error"));
            let call = calls.iter_mut().find(|call| call.id == id && call.ok.is_none()).unwrap();
            call.ok = Some(!failed);
            continue;
        }
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            calls.push(Call {
                id: call["id"].as_str().unwrap(),
                tool: call["name"].as_str().unwrap(),
                user: call["requestor"].as_str().unwrap_or(role) == "user",
                ok: None,
            });
        }
    }
    calls.retain(|call| match actors {
        Actors::All => true,
        Actors::Agent => !call.user,
        Actors::User => call.user,
    });
    let recovered = |at: usize| {
        calls[at + 1..].iter().any(|later| later.tool == calls[at].tool && later.ok == Some(true))
    };
    let errors: Vec<usize> = (0..calls.len()).filter(|&at| calls[at].ok == Some(false)).collect();
    Counted {
        model: file["info"]["agent_info"]["llm"].as_str().unwrap().to_owned(),
        domain: file["info"]["environment_info"]["domain_name"].as_str().unwrap().to_owned(),
        reward: run["reward_info"]["reward"].as_f64(),
        calls: calls.len() as u64,
        errors: errors.len() as u64,
        recovered: errors.iter().filter(|&&at| recovered(at)).count() as u64,
    }
}

fn counted(actors: Actors) -> Vec<Counted> {
    let mut runs = Vec::new();
    for path in golden_files() {
        let file: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        runs.extend(file["simulations"].as_array().unwrap().iter().map(|run| count(&file, run, actors)));
    }
    runs
}

fn rows(actors: Actors) -> Vec<SimulationRow> {
    let config = ToolErrorRecoveryConfig { actors, ..ToolErrorRecoveryConfig::default() };
    let detectors: Vec<Arc<dyn Detector>> = vec![Arc::new(ToolErrorRecovery::new(config).unwrap())];
    let read = ReadOptions { routes: false, ..ReadOptions::default() };
    let scanner = Scanner::new(detectors, ScanOptions { read, ..ScanOptions::default() }).unwrap();
    let files = scanner.collect(&[golden()]).unwrap();
    files.iter().flat_map(|file| &file.traces).map(|record| SimulationRow::of(record).unwrap()).collect()
}

/// Computes Pearson's r by its definition.
#[expect(clippy::cast_precision_loss, reason = "there are some hundred pairs")]
fn correlation(pairs: &[(f64, f64)]) -> f64 {
    let n = pairs.len() as f64;
    let mean = |side: fn(&(f64, f64)) -> f64| pairs.iter().map(side).sum::<f64>() / n;
    let (x, y) = (mean(|pair| pair.0), mean(|pair| pair.1));
    let sum = |of: &dyn Fn(f64, f64) -> f64| pairs.iter().map(|pair| of(pair.0 - x, pair.1 - y)).sum::<f64>();
    sum(&|a, b| a * b) / (sum(&|a, _| a * a) * sum(&|_, b| b * b)).sqrt()
}

#[expect(clippy::cast_precision_loss, reason = "counts of some hundred runs")]
fn assert_group(group: &Value, runs: &[&Counted], of: &str) {
    let total = |of: fn(&Counted) -> u64| runs.iter().map(|run| of(run)).sum::<u64>();
    let rewarded: Vec<(&Counted, f64)> = runs.iter().filter_map(|run| Some((*run, run.reward?))).collect();
    let failing: Vec<(&Counted, f64)> = rewarded.iter().filter(|(run, _)| run.errors > 0).copied().collect();
    assert_eq!(group["sims"], json!(runs.len()), "{of}");
    assert_eq!(group["sims_with_reward"], json!(rewarded.len()), "{of}");
    assert_eq!(group["sims_with_errors"], json!(runs.iter().filter(|run| run.errors > 0).count()), "{of}");
    assert_eq!(group["errors"], json!(total(|run| run.errors)), "{of}");
    assert_eq!(group["recovered"], json!(total(|run| run.recovered)), "{of}");
    assert_eq!(group["tool_calls"], json!(total(|run| run.calls)), "{of}");
    let rate = |run: &Counted| if run.errors == 0 { 1.0 } else { run.recovered as f64 / run.errors as f64 };
    let means = [("mean_reward", &rewarded), ("mean_reward_with_errors", &failing)];
    for (key, runs) in means {
        let mean = runs.iter().map(|(_, reward)| reward).sum::<f64>() / runs.len() as f64;
        assert!((group[key].as_f64().unwrap() - mean).abs() < 1e-12, "{of} {key}: {} {mean}", group[key]);
    }
    let pairs = |runs: &[(&Counted, f64)], measure: &dyn Fn(&Counted) -> f64| -> Vec<(f64, f64)> {
        runs.iter().map(|(run, reward)| (measure(run), *reward)).collect()
    };
    for (key, pairs) in [
        ("r_recovery_reward", pairs(&rewarded, &rate)),
        ("r_recovery_reward_errors_only", pairs(&failing, &rate)),
        ("r_error_count_reward", pairs(&rewarded, &|run| run.errors as f64)),
        ("r_tool_calls_reward", pairs(&rewarded, &|run| run.calls as f64)),
    ] {
        let r = correlation(&pairs);
        if r.is_nan() || pairs.len() < 3 {
            assert!(group[key]["undefined"].is_string(), "{of} {key}: {}", group[key]);
            continue;
        }
        assert_eq!(group[key]["n"], json!(pairs.len()), "{of} {key}");
        assert!((group[key]["r"].as_f64().unwrap() - r).abs() < 1e-12, "{of} {key}: {} {r}", group[key]);
    }
}

const GROUP: [&str; 12] = [
    "sims",
    "sims_with_reward",
    "sims_with_errors",
    "errors",
    "recovered",
    "tool_calls",
    "mean_reward",
    "mean_reward_with_errors",
    "r_recovery_reward",
    "r_recovery_reward_errors_only",
    "r_error_count_reward",
    "r_tool_calls_reward",
];

#[test]
fn groups_of_the_replication_match_an_independent_count() {
    for actors in [Actors::All, Actors::Agent, Actors::User] {
        let expected = counted(actors);
        assert_eq!(expected.len(), 408);
        let replication = serde_json::to_value(Replication::of(&rows(actors))).unwrap();
        assert_group(&replication["overall"], &expected.iter().collect::<Vec<_>>(), "overall");

        let mut models: BTreeMap<&str, Vec<&Counted>> = BTreeMap::new();
        let mut pairs: BTreeMap<(&str, &str), Vec<&Counted>> = BTreeMap::new();
        for run in &expected {
            models.entry(&run.model).or_default().push(run);
            pairs.entry((&run.model, &run.domain)).or_default().push(run);
        }
        let by_model = replication["by_model"].as_array().unwrap();
        assert_eq!((by_model.len(), models.len()), (3, 3));
        for (group, (model, runs)) in by_model.iter().zip(models) {
            assert_eq!(group["model"], model);
            if runs.iter().any(|run| run.errors > 0) {
                assert_group(group, &runs, model);
            }
        }
        let by_pair = replication["by_model_domain"].as_array().unwrap();
        assert_eq!((by_pair.len(), pairs.len()), (9, 9));
        for (group, ((model, domain), runs)) in by_pair.iter().zip(pairs) {
            assert_eq!((&group["model"], &group["domain"]), (&json!(model), &json!(domain)));
            if runs.iter().any(|run| run.errors > 0) {
                assert_group(group, &runs, &format!("{model} {domain}"));
            }
        }
    }
}

#[test]
fn rows_of_the_replication_match_an_independent_count() {
    for actors in [Actors::All, Actors::Agent, Actors::User] {
        for (row, expected) in rows(actors).iter().zip(counted(actors)) {
            let found = Counted {
                model: row.model.as_deref().unwrap().to_owned(),
                domain: row.domain.as_deref().unwrap().to_owned(),
                reward: row.reward,
                calls: row.tool_calls,
                errors: row.errors,
                recovered: row.recovered,
            };
            assert_eq!(found, expected, "{:?}", row.id);
        }
    }
}

#[test]
fn the_replication_in_json_has_the_documented_keys() {
    let replication = serde_json::to_value(Replication::of(&rows(Actors::All))).unwrap();
    assert_eq!(keys(&replication), BTreeSet::from(["overall", "by_model", "by_model_domain", "direction"]));
    let group = BTreeSet::from(GROUP);
    assert_eq!(keys(&replication["overall"]), group);
    let with = |more: &[&'static str]| -> BTreeSet<&str> {
        group.iter().copied().chain(more.iter().copied()).collect()
    };
    for model in replication["by_model"].as_array().unwrap() {
        assert_eq!(keys(model), with(&["model"]));
    }
    for pair in replication["by_model_domain"].as_array().unwrap() {
        assert_eq!(keys(pair), with(&["model", "domain"]));
    }
    let r = &replication["overall"]["r_recovery_reward"];
    assert_eq!(keys(r), BTreeSet::from(["r", "n", "p", "ci95"]));
    let interval = r["ci95"].as_array().unwrap();
    assert_eq!(interval.len(), 2);
    let (low, high, r) =
        (interval[0].as_f64().unwrap(), interval[1].as_f64().unwrap(), r["r"].as_f64().unwrap());
    assert!(-1.0 <= low && low < r && r < high && high <= 1.0);

    let direction = &replication["direction"];
    let pairs = replication["by_model_domain"].as_array().unwrap();
    assert_eq!(direction["pairs"], json!(pairs.len()));
    for (key, r, sign) in [
        ("recovery_positive", "r_recovery_reward", 1.0),
        ("recovery_errors_only_positive", "r_recovery_reward_errors_only", 1.0),
        ("error_count_negative", "r_error_count_reward", -1.0),
    ] {
        let defined: Vec<f64> = pairs.iter().filter_map(|pair| pair[r]["r"].as_f64()).collect();
        let signed = defined.iter().filter(|r| **r * sign > 0.0).count();
        assert_eq!(direction[key], json!({"count": signed, "defined": defined.len()}), "{key}");
    }
}

/// Returns the rows of a text.
fn rows_of(text: &str) -> Vec<SimulationRow> {
    let file = scan_text("runs.json", text);
    assert!(file.errors.is_empty(), "{:?}", file.errors);
    file.traces.iter().map(|record| SimulationRow::of(record).unwrap()).collect()
}

/// Returns a run whose tool first fails and then succeeds, each this many times.
fn outcome(reward: &str, failures: usize, successes: usize) -> String {
    let call = |answer: &str| {
        format!(
            r#"{{"role": "assistant", "tool_calls": [{{"id": "", "name": "look"}}]}}, {{"role": "tool", "id": "", "content": "{answer}"}}"#
        )
    };
    let messages: Vec<String> =
        (0..failures).map(|_| call("Error: dark")).chain((0..successes).map(|_| call("a wall"))).collect();
    format!(
        r#"{{"task_id": "t", "reward_info": {{"reward": {reward}}}, "messages": [{}]}}"#,
        messages.join(", ")
    )
}

#[test]
fn a_run_without_a_reward_is_counted_but_not_correlated() {
    let rows = rows_of(&format!(
        "[{}, {}, {}, {}]",
        outcome("1.0", 0, 1),
        outcome("0.0", 2, 0),
        outcome("null", 3, 1),
        outcome("0.5", 1, 1)
    ));
    let group = serde_json::to_value(Replication::of(&rows)).unwrap()["overall"].clone();
    assert_eq!(
        [&group["sims"], &group["sims_with_reward"], &group["sims_with_errors"], &group["errors"]],
        [&json!(4), &json!(3), &json!(3), &json!(6)]
    );
    assert_eq!([&group["recovered"], &group["tool_calls"]], [&json!(4), &json!(9)]);
    assert_eq!([&group["mean_reward"], &group["mean_reward_with_errors"]], [&json!(0.5), &json!(0.25)]);
    // An interval needs more than three pairs.
    let r = &group["r_error_count_reward"];
    assert_eq!((r["n"].as_u64(), &r["ci95"]), (Some(3), &json!([null, null])));
    assert!((r["r"].as_f64().unwrap() + 1.0).abs() < 1e-12);
    // A correlation needs more than two.
    let why = &group["r_recovery_reward_errors_only"];
    assert_eq!(keys(why), BTreeSet::from(["undefined"]));
    assert!(why["undefined"].is_string());
}

#[test]
fn a_replication_of_no_runs_is_undefined() {
    let group = serde_json::to_value(Replication::of(&[])).unwrap()["overall"].clone();
    assert_eq!(keys(&group), BTreeSet::from(GROUP));
    assert_eq!((&group["sims"], &group["mean_reward"]), (&json!(0), &Value::Null));
    assert!(group["r_recovery_reward"]["undefined"].is_string());
}

fn trial(task: &str, reward: &str, ending: &str) -> String {
    format!(
        r#"{{"task_id": {task}, "reward_info": {reward}, "termination_reason": "{ending}", "messages": []}}"#
    )
}

fn pass_k(runs: &[String]) -> PassK {
    let text = format!(r#"{{"model": "m", "domain": "d", "simulations": [{}]}}"#, runs.join(", "));
    let mut groups = pass_k_by_pair(&rows_of(&text));
    assert_eq!(groups.len(), 1);
    let group = groups.pop().unwrap();
    assert_eq!((group.model.as_deref(), group.domain.as_deref()), (Some("m"), Some("d")));
    group
}

fn assert_close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{found:?}");
    assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}, not {expected:?}");
}

const WON: &str = r#"{"reward": 1.0}"#;
const LOST: &str = r#"{"reward": 0.0}"#;

#[test]
fn pass_k_is_the_mean_over_tasks_up_to_the_fewest_trials() {
    let mut runs = Vec::new();
    // The tasks succeed in three of four, two of three, and four of four trials.
    for (task, rewards) in
        [("\"a\"", vec![WON, WON, LOST, WON]), ("2", vec![WON, LOST, WON]), ("\"c\"", vec![WON; 4])]
    {
        runs.extend(rewards.into_iter().map(|reward| trial(task, reward, "user_stop")));
    }
    let group = pass_k(&runs);
    assert_eq!((group.tasks, group.runs, group.infrastructure_errors, group.without_task), (3, 11, 0, 0));
    let first = (3.0 / 4.0 + 2.0 / 3.0 + 1.0) / 3.0;
    let second = (3.0 / 6.0 + 1.0 / 3.0 + 1.0) / 3.0;
    let third = (1.0 / 4.0 + 0.0 + 1.0) / 3.0;
    assert_close(&group.pass, &[first, second, third]);
}

#[test]
fn pass_k_leaves_out_infrastructure_errors_and_runs_without_task() {
    let group = pass_k(&[
        trial("\"a\"", WON, "agent_stop"),
        trial("\"a\"", WON, "infrastructure_error"),
        trial("\"a\"", LOST, "infrastructure_error"),
        // A run without a reward is a failure.
        trial("\"a\"", "null", "timeout"),
        trial("\"a\"", "{}", "max_steps"),
        trial("\"a\"", r#"{"reward": null}"#, "agent_error"),
        trial("null", WON, "user_stop"),
        trial("null", LOST, "user_stop"),
        // This run has no task and an infrastructure error, and counts only as the latter.
        trial("null", WON, "infrastructure_error"),
    ]);
    assert_eq!((group.tasks, group.runs), (1, 4));
    assert_eq!((group.infrastructure_errors, group.without_task), (3, 2));
    assert_close(&group.pass, &[0.25, 0.0, 0.0, 0.0]);
}

#[test]
fn a_success_is_a_reward_within_a_millionth_of_one() {
    for (reward, expected) in [
        (r#"{"reward": 1}"#, 1.0),
        (r#"{"reward": 0.9999995}"#, 1.0),
        (r#"{"reward": 1.0000005}"#, 1.0),
        (r#"{"reward": 0.99999}"#, 0.0),
        (r#"{"reward": 1.00001}"#, 0.0),
        (r#"{"reward": 2}"#, 0.0),
        (r#"{"reward": -1}"#, 0.0),
    ] {
        assert_close(&pass_k(&[trial("\"a\"", reward, "user_stop")]).pass, &[expected]);
    }
}

#[test]
fn pass_k_without_runs_is_empty() {
    let group = pass_k(&[trial("null", WON, "user_stop"), trial("\"a\"", WON, "infrastructure_error")]);
    assert_eq!((group.tasks, group.runs, group.pass.len()), (0, 0, 0));
}

#[test]
fn pass_k_is_grouped_by_model_and_domain() {
    let groups = pass_k_by_pair(&rows(Actors::All));
    let names: Vec<(&str, &str)> = groups
        .iter()
        .map(|group| (group.model.as_deref().unwrap(), group.domain.as_deref().unwrap()))
        .collect();
    assert!(names.is_sorted());
    assert_eq!(names.len(), 9);
    let expected = counted(Actors::All);
    for group in &groups {
        // There are four trials of every task, and pass^1 is the rate of success.
        assert_eq!(group.runs, 4 * group.tasks);
        assert_eq!(group.pass.len(), 4);
        assert!(group.pass.windows(2).all(|pair| pair[1] <= pair[0]));
        let runs: Vec<&Counted> = expected
            .iter()
            .filter(|run| {
                Some(&run.model) == group.model.as_ref() && Some(&run.domain) == group.domain.as_ref()
            })
            .collect();
        assert_eq!(runs.len() as u64, group.runs);
        let won =
            runs.iter().filter(|run| run.reward.is_some_and(|reward| (reward - 1.0).abs() <= 1e-6)).count();
        let share = f64::from(u32::try_from(won).unwrap()) / f64::from(u32::try_from(runs.len()).unwrap());
        assert!((group.pass[0] - share).abs() < 1e-12);
    }
}
