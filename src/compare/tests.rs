//! Compares sides whose differences are known.

use super::*;
use crate::fingerprint::Fingerprint;
use crate::trace::{Status, Trace};

fn run(task: u32, reward: f64, calls: &[&str]) -> ComparedRun {
    let mut trace = Trace::builder();
    for call in calls {
        trace.call(call, &serde_json::json!({}), Status::Ok, "done").unwrap();
    }
    ComparedRun {
        domain: Some("d".to_owned()),
        task: Some(task.to_string()),
        trial: Some(0),
        reward: Some(reward),
        infrastructure_error: false,
        detected: vec![("loop".to_owned(), Some(reward < 0.5)), ("route".to_owned(), None)],
        measures: vec![("errors", f64::from(task % 2)), ("tool_calls", f64::from(task))],
        fingerprint: Some(Fingerprint::of(&trace.build().unwrap())),
    }
}

fn compare(first: &[ComparedRun], second: &[ComparedRun]) -> Comparison {
    Comparison::of(("a", first), ("b", second), &Resampling::default()).unwrap()
}

#[test]
fn pairs_by_task_and_names_what_is_left_out() {
    let calls = ["look", "take", "look"];
    let mut first: Vec<ComparedRun> =
        (0..30).map(|task| run(task, f64::from(u8::from(task % 3 == 0)), &calls)).collect();
    let second: Vec<ComparedRun> = (0..30)
        .map(|task| run(task, f64::from(u8::from(task % 3 != 1)), &["push", "pull", "push"]))
        .collect();
    first.push(run(99, 1.0, &calls));
    first.push(ComparedRun { task: None, ..run(0, 1.0, &calls) });
    first.push(ComparedRun { infrastructure_error: true, ..run(0, 1.0, &calls) });
    let found = compare(&first, &second);
    assert_eq!((found.first.runs, found.first.counted, found.second.counted), (33, 30, 30));
    let left_out = (found.first.of_other_tasks, found.first.without_task, found.first.infrastructure_errors);
    assert_eq!(left_out, (1, 1, 1));
    let PairedOutcomes { both, first_only, second_only, neither, p } = found.paired;
    assert_eq!((both, first_only, second_only, neither), (10, 0, 10, 10));
    // statsmodels: mcnemar([[10, 0], [10, 10]], exact=True)
    assert!((p.unwrap() - 0.001_953_125).abs() < 1e-12);
    let success = found.success.unwrap();
    assert!((success.difference - 1.0 / 3.0).abs() < 1e-12);
    let interval = success.bootstrap.percentile.unwrap();
    assert!(interval.low > 0.1 && interval.high < 0.6, "{interval:?}");
    assert_eq!(found.differing.len(), 10);
    assert!(found.differing.iter().all(|task| task.flipped));
    assert_eq!(found.pass_k.len(), 1);
    assert!((found.pass_k[0].1 - 2.0 / 3.0).abs() < 1e-12);
    let [looping, route] = &found.detectors[..] else { panic!("{:?}", found.detectors) };
    assert_eq!((looping.first.detected, looping.second.detected), (20, 10));
    assert!((looping.difference.unwrap().difference + 1.0 / 3.0).abs() < 1e-12);
    assert_eq!((route.first.applicable, route.difference), (0, None));
    let fingerprints = found.fingerprints.unwrap();
    assert!((fingerprints.distance - 1.0).abs() < 1e-9 && fingerprints.p < 0.001, "{fingerprints:?}");
}

#[test]
fn a_side_does_not_differ_from_itself() {
    let runs: Vec<ComparedRun> = (0..20)
        .map(|task| {
            run(task, f64::from(task % 2), if task % 5 == 0 { &["a", "b"] } else { &["b", "a", "c"] })
        })
        .collect();
    let found = compare(&runs, &runs);
    assert!(found.success.unwrap().difference.abs() < 1e-15);
    assert!((found.paired.p.unwrap() - 1.0).abs() < 1e-12 && found.differing.is_empty());
    let fingerprints = found.fingerprints.unwrap();
    assert!(fingerprints.distance < 1e-6 && fingerprints.p > 0.5, "{fingerprints:?}");
}

#[test]
fn nothing_in_common() {
    let found = compare(&[run(1, 1.0, &["a", "b"])], &[run(2, 1.0, &["a", "b"])]);
    assert_eq!((found.tasks, found.paired.p, &found.success, &found.fingerprints), (0, None, &None, &None));
    assert!(
        !crate::report::comparison_document(&found)
            .text(crate::report::Detail::Full)
            .contains("paired by task")
    );
    assert_eq!(compare(&[], &[]).tasks, 0);
    let bad = Resampling { resamples: 0, ..Resampling::default() };
    assert!(Comparison::of(("a", &[]), ("b", &[]), &bad).is_err());
}

#[test]
fn measures_are_compared_over_the_runs_that_have_them() {
    let first: Vec<ComparedRun> = (0..10).map(|task| run(task, 1.0, &["look"])).collect();
    let second: Vec<ComparedRun> = (0..10)
        .map(|task| ComparedRun { measures: vec![("errors", 2.0)], ..run(task, 1.0, &["look"]) })
        .collect();
    // Only tasks in which both sides have the measure or a verdict count.
    let apart = |task, measures, detected| ComparedRun {
        measures,
        detected: vec![("loop".to_owned(), detected)],
        ..run(task, 1.0, &["look"])
    };
    let one_side =
        [apart(0, vec![("errors", 9.0)], Some(true)), apart(1, vec![("errors", 1.0)], Some(false))];
    let other = [apart(0, Vec::new(), None), apart(1, vec![("errors", 3.0)], Some(true))];
    let found = compare(&one_side, &other);
    assert_eq!((found.measures[0].runs, found.measures[0].difference.first), ((1, 1), 1.0));
    let DetectionRate { detected, applicable, .. } = found.detectors[0].first;
    assert_eq!((detected, applicable), (0, 1));
    let found = compare(&first, &second);
    let [errors] = &found.measures[..] else { panic!("{:?}", found.measures) };
    assert_eq!((errors.measure, errors.runs), ("errors", (10, 10)));
    assert!((errors.difference.difference - 1.5).abs() < 1e-12);
}

#[test]
fn tasks_match_across_formats_that_name_no_domain() {
    let without_domain = |task| ComparedRun { domain: None, ..run(task, 0.0, &["look"]) };
    let first: Vec<ComparedRun> = (0..8).map(|task| run(task, 1.0, &["look"])).collect();
    let second: Vec<ComparedRun> = (4..12).map(without_domain).collect();
    for found in [compare(&first, &second), compare(&second, &first)] {
        assert_eq!((found.tasks, found.differing[0].domain.as_deref()), (4, Some("d")));
    }
    // If a task name occurs in two domains, a run of that task without a domain matches neither.
    let other = ComparedRun { domain: Some("e".to_owned()), ..run(4, 1.0, &["look"]) };
    assert_eq!(compare(&[first, vec![other]].concat(), &second).tasks, 3);
}

#[test]
fn groups_are_exchanged_within_the_tasks_that_they_share() {
    let grouped = |group: &str, task: Option<u32>, calls: &[&str]| GroupedFingerprint {
        group: group.to_owned(),
        task: task.map(|task| task.to_string()),
        fingerprint: run(0, 1.0, calls).fingerprint.unwrap(),
    };
    let mut runs: Vec<GroupedFingerprint> = Vec::new();
    for task in 0..12 {
        runs.push(grouped("a", Some(task), &["look", "take"]));
        runs.push(grouped("b", Some(task), &["push", "pull"]));
        runs.push(grouped("c", None, &["look", "take"]));
    }
    runs.push(grouped("b", Some(99), &["look", "take"]));
    runs.push(grouped("silent", None, &["look"]));
    let found = FingerprintGroups::of(&runs, &Resampling::default());
    let counts: Vec<_> = found.groups.iter().map(|group| (group.name.as_str(), group.runs)).collect();
    assert_eq!(counts, [("a", 12), ("b", 13), ("c", 12), ("silent", 1)]);
    let of =
        |one: &str, other: &str| found.distances.iter().find(|pair| pair.groups == [one, other]).unwrap();
    let shared = of("a", "b");
    assert_eq!((shared.tasks, shared.distance > 0.999_999, shared.p.unwrap() < 0.001), (12, true, true));
    assert!(shared.by_chance.unwrap().high < 0.9);
    let apart = of("a", "c");
    assert_eq!((apart.tasks, apart.p, apart.by_chance), (0, None, None));
    assert!(apart.distance < 1e-6);
    assert_eq!(found.distances.len(), 3);
    assert!(FingerprintGroups::of(&[], &Resampling::default()).distances.is_empty());
}
