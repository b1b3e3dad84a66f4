//! Tests on rows whose results are known.

use super::*;
use crate::stats::Resampling;

/// Returns a run of a task with one error, recovered or not.
pub(super) fn row(model: &str, task: u32, recovered: bool, reward: f64) -> SimulationRow {
    SimulationRow {
        file: format!("{model}.json"),
        id: Some(format!("{model}-{task}")),
        model: Some(model.into()),
        domain: Some("d".into()),
        task: Some(task.to_string()),
        reward: Some(reward),
        tool_calls: 2 + u64::from(task % 5),
        errors: 1,
        recovered: u64::from(recovered),
        recovery_rate: f64::from(u8::from(recovered)),
        detected: !recovered,
        ..SimulationRow::default()
    }
}

/// Eight equal trials of each of 24 tasks: 192 runs with the information of 24.
fn repeated(model: &str) -> Vec<SimulationRow> {
    (0..24)
        .flat_map(|task| {
            let reward = f64::from(u8::from(if task % 3 == 0 { task % 2 == 0 } else { task % 4 < 2 }));
            (0..8).map(move |_| row(model, task, task % 2 == 0, reward))
        })
        .collect()
}

fn infer(rows: &[SimulationRow]) -> ReplicationAnalysis {
    ReplicationAnalysis::of(rows, &ReplicationOptions::default()).unwrap()
}

fn errors_only(inference: &ReplicationAnalysis) -> &Association {
    let found =
        inference.associations.overall.iter().find(|one| one.relation == Relation::RecoveryWithErrors);
    found.unwrap()
}

#[test]
fn what_only_repeats_is_not_significant() {
    let inference = infer(&repeated("m"));
    let one = errors_only(&inference);
    let fisher = one.pearson.0.as_ref().unwrap().ci95.unwrap();
    let interval = one.interval().unwrap();
    assert!(fisher.low > 0.0 && interval.low < 0.0, "{fisher:?} {interval:?}");
    assert_eq!(one.clustered[0].by, ClusterBy::Task);
    assert_eq!(one.clustered[0].bootstrap.clusters, 24);
    // One file is one cluster, which gives no interval.
    assert_eq!(one.clustered[1].interval(), None);
    assert!(inference.changes.iter().any(|change| change.relation == one.relation
        && change.scope == "all runs"
        && change.differing().unwrap().by == ClusterBy::Task));
    // Nothing varies within a task, so nothing can be permuted.
    assert_eq!((one.permutation, one.q), (None, None));

    let options = ReplicationOptions { cluster: ClusterBy::None, ..ReplicationOptions::default() };
    let naive = ReplicationAnalysis::of(&repeated("m"), &options).unwrap();
    assert!(errors_only(&naive).interval().unwrap().low > 0.0);
    assert!(errors_only(&naive).permutation.unwrap().p < 0.05);
}

#[test]
fn few_runs_are_not_ranked_however_strong() {
    let mut rows = repeated("many");
    rows.extend([row("few", 1, true, 1.0), row("few", 2, true, 1.0), row("few", 3, false, 0.0)]);
    let inference = infer(&rows);
    assert_eq!(inference.tables.by_model_domain[0].group.r_recovery_reward_errors_only.r(), Some(1.0));
    assert!(inference.signals.iter().all(|signal| signal.model == "many"));
    let options = ReplicationOptions { min_n: 3, ..ReplicationOptions::default() };
    let all = ReplicationAnalysis::of(&rows, &options).unwrap();
    // Ranked with a lower bound of 0, because three clusters give no interval.
    assert!(all.signals.iter().filter(|signal| signal.model == "few").all(|signal| signal.at_least == 0.0));
}

#[test]
fn signals_are_ranked_by_where_their_interval_begins() {
    let mut rows: Vec<SimulationRow> = (0..200)
        .map(|task| row("sure", task, task % 2 == 0, f64::from(u8::from(task % 5 != 0 && task % 2 == 0))))
        .collect();
    rows.extend(
        (0..24).map(|task| {
            row("bold", task, task % 2 == 0, f64::from(u8::from(task % 12 != 0 && task % 2 == 0)))
        }),
    );
    let inference = infer(&rows);
    let r = |model: &str| {
        let signal = inference.signals.iter().find(|signal| signal.model == model).unwrap();
        (signal.association.pearson.r().unwrap(), signal.at_least)
    };
    let (sure, bold) = (r("sure"), r("bold"));
    assert!(bold.0 > sure.0 && bold.1 < sure.1, "{sure:?} {bold:?}");
    assert_eq!(inference.signals[0].model, "sure");
    for signal in &inference.signals {
        assert!(signal.association.q >= signal.association.permutation.map(|test| test.p));
    }
}

#[test]
fn what_names_no_model_or_domain_forms_no_pair() {
    let mut rows = repeated("m");
    rows.push(SimulationRow { model: None, ..row("m", 1, true, 1.0) });
    rows.push(SimulationRow { domain: None, ..row("m", 1, true, 1.0) });
    let inference = infer(&rows);
    assert_eq!(inference.tables.overall.sims, 194);
    assert_eq!((inference.tables.by_model_domain.len(), inference.tables.direction.pairs), (1, 1));
    assert_eq!(inference.unknown.as_ref().unwrap().sims, 2);
    assert_eq!(Replication::of(&rows).by_model_domain.len(), 3);
    assert!(infer(&repeated("m")).unknown.is_none());
}

#[test]
fn neither_threads_nor_the_largest_rewards_show() {
    let mut rows = repeated("m");
    rows.extend(repeated("n").into_iter().skip(3));
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| serde_json::to_string(&infer(&rows)).unwrap())
    };
    let one = run(1);
    assert!((2..5).all(|threads| run(threads) == one));

    let huge = [row("m", 1, true, 1e308), row("m", 2, true, 1e308)];
    assert_eq!(Replication::of(&huge).overall.mean_reward, Some(1e308));
    assert_eq!(infer(&huge).tables.overall.mean_reward, Some(1e308));
}

#[test]
fn pooled_and_within_follow_the_pairs() {
    let mut rows = repeated("m");
    rows.extend(repeated("n"));
    let inference = infer(&rows);
    let of =
        |relation| inference.pooled.iter().find(|one: &&PooledRelation| one.relation == relation).unwrap();
    let effects = of(Relation::RecoveryWithErrors).effects.unwrap();
    let r = errors_only(&inference).pearson.r().unwrap();
    // Both pairs are alike, so the pooled correlation equals theirs.
    assert!((effects.r - r).abs() < 1e-12 && effects.i2 == 0.0, "{effects:?} {r}");
    let within = inference.within.iter().find(|one| one.relation == Relation::RecoveryWithErrors).unwrap();
    assert!((within.r.r().unwrap() - r).abs() < 1e-12);
    assert!(infer(&repeated("m")).pooled.iter().all(|one| one.effects.is_none()));
}

#[test]
fn options_out_of_range_are_refused() {
    let resampling = Resampling { resamples: 0, ..Resampling::default() };
    let error =
        ReplicationAnalysis::of(&[], &ReplicationOptions { resampling, ..ReplicationOptions::default() });
    assert_eq!(error.unwrap_err().kind(), crate::ErrorKind::Statistics);
    infer(&[]);
}

#[test]
fn runs_without_an_action_are_named() {
    let mut rows = repeated("m");
    let short = |found: &ReplicationAnalysis| {
        crate::report::replication_document(found, &crate::report::ReplicationView::default())
            .text(crate::report::Detail::Short)
    };
    assert!(!short(&infer(&rows)).contains("without a tool call"));
    for (number, row) in rows.iter_mut().take(5).enumerate() {
        (row.tool_calls, row.errors, row.recovered, row.recovery_rate) = (0, 0, 0, 1.0);
        row.model = (number > 0).then(|| if number < 4 { "m".into() } else { "n".into() });
    }
    let inference = infer(&rows);
    let sentence = "5 runs without a tool call (m: 3, n: 1, no model named: 1): counted with recovery rate 1 and no failed call.";
    let words = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(short(&inference)).contains(sentence));
    let mut state = ReplicationState::new(3);
    state.extend(rows);
    let summed = SummedReplication::of(&state, &ReplicationOptions::default()).unwrap().unwrap();
    assert!(
        words(crate::report::summed_document(&summed, false).text(crate::report::Detail::Short))
            .contains(sentence)
    );
    let json = serde_json::to_value(&inference).unwrap();
    assert_eq!(json["overall"].get("sims_without_calls"), None);
}

#[test]
fn the_test_within_pairs_has_its_own_r() {
    // Recovery correlates with reward within each model, but the model that recovers more is rewarded less.
    let rows: Vec<SimulationRow> = (0..80)
        .map(|task| {
            let weak = task % 2 == 0;
            let recovered = task % 10 < if weak { 8 } else { 2 };
            let reward = if weak { 0.1 } else { 0.8 } + if recovered { 0.1 } else { 0.0 };
            row(if weak { "weak" } else { "strong" }, task, recovered, reward)
        })
        .collect();
    let inference = infer(&rows);
    let one = errors_only(&inference);
    assert!(one.pearson.r().unwrap() < -0.3 && (one.within.r().unwrap() - 1.0).abs() < 1e-9);
    let document =
        crate::report::replication_document(&inference, &crate::report::ReplicationView::default());
    let table = document.tables().find(|table| table.name() == "tests").unwrap().csv().unwrap();
    let line = table.lines().find(|line| line.starts_with("\"recovery rate, with errors\"")).unwrap();
    assert!(line.split(',').nth(4).unwrap().parse::<f64>().unwrap() > 0.99, "{table}");
}
