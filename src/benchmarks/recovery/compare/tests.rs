use serde_json::json;

use super::*;

fn trial(model: &str, context: &str, task: usize, resolved: bool) -> ComparedTrial {
    let name = format!("{model}-{context}-{task}");
    let trial = json!({"model": model, "context": context, "task": format!("t{task:02}"), "trial": name,
        "resolved": resolved});
    serde_json::from_value(trial).unwrap()
}

/// Trials of 89 tasks; the first `count` are solved.
fn solved(model: &str, context: &str, count: usize) -> Vec<ComparedTrial> {
    (0..89).map(|task| trial(model, context, task, task < count)).collect()
}

/// Each published percentage corresponds to exactly one count of solved tasks out of 89.
#[test]
fn the_published_figure_follows_from_its_counts() {
    for (percent, count) in [(34.8, 31), (27.0, 24), (23.6, 21), (12.4, 11)] {
        let rounds =
            |solved: u32| ((f64::from(solved) / 89.0 * 1000.0).round() / 10.0 - percent).abs() < 1e-9;
        let counts: Vec<u32> = (0..=89).filter(|solved| rounds(*solved)).collect();
        assert_eq!(counts, [count]);
    }
    let mut trials = solved("m", "fresh", 31);
    let contexts = [("env", 24, 22.58), ("env+summary", 21, 32.26), ("env+full", 11, 64.52)];
    for (context, count, _) in contexts {
        trials.extend(solved("m", context, count));
    }
    let found = compare(&trials, 1);
    for (context, count, percent) in contexts {
        let paired = found.contexts[context].models["m"].paired.unwrap();
        assert_eq!((paired.fresh.resolved, paired.recovery.resolved), (31, count as u64));
        let drop = paired.relative_drop.value.unwrap() * 100.0;
        assert!((drop - percent).abs() < 0.005, "{drop}");
        assert_eq!(paired.mcnemar.fresh_only_resolved, 31 - count as u64);
    }
}

/// From 28.3% to 13.1%, however rounded, the drop is 53.45% to 53.97%, not the printed 51.8%.
#[test]
fn the_published_drop_does_not_follow_from_the_published_means() {
    let from_rounded = relative_drop(0.283, 0.131).unwrap();
    assert!((from_rounded - 0.537_102_473).abs() < 1e-9);
    let least = relative_drop(0.2825, 0.1315).unwrap();
    let most = relative_drop(0.2835, 0.1305).unwrap();
    assert!((least - 0.534_513_274).abs() < 1e-9 && (most - 0.539_682_540).abs() < 1e-9);
    assert!(!(least..=most).contains(&0.518));
    // Six models on 89 tasks: 151 and 70 of 534 are the counts that round to both means.
    let fresh = [40, 30, 28, 25, 20, 8];
    let recovery = [12, 20, 14, 10, 8, 6];
    assert_eq!((fresh.iter().sum::<usize>(), recovery.iter().sum::<usize>()), (151, 70));
    let mut trials = Vec::new();
    for (model, (fresh, recovery)) in fresh.into_iter().zip(recovery).enumerate() {
        trials.extend(solved(&format!("m{model}"), "fresh", fresh));
        trials.extend(solved(&format!("m{model}"), "env", recovery));
    }
    let context = &compare(&trials, 1).contexts["env"];
    assert!((context.relative_drop_of_means.unwrap() - 0.536_423_841).abs() < 1e-9);
    let drops = [28.0 / 40.0, 10.0 / 30.0, 14.0 / 28.0, 15.0 / 25.0, 12.0 / 20.0, 2.0 / 8.0];
    let of_drops = drops.iter().sum::<f64>() / 6.0;
    assert!((context.mean_of_relative_drops.unwrap() - of_drops).abs() < 1e-12);
    assert!((of_drops - context.relative_drop_of_means.unwrap()).abs() > 0.03);
}

#[test]
fn ranks_and_pairs_tell_who_changes_places() {
    let mut trials = Vec::new();
    for (model, fresh, recovery) in [("a", 30, 10), ("b", 20, 20), ("c", 20, 5)] {
        trials.extend(solved(model, "fresh", fresh));
        trials.extend(solved(model, "env", recovery));
    }
    trials.extend(solved("d", "fresh", 1));
    let context = &compare(&trials, 1).contexts["env"];
    let ranks: Vec<(usize, usize)> =
        context.ranks.values().map(|ranks| (ranks.fresh, ranks.recovery)).collect();
    assert_eq!(ranks, [(1, 2), (2, 1), (2, 3)]);
    assert_eq!(context.discordant_pairs, 1);
    assert_eq!(context.kendall_tau_b, Some(0.0));
    assert_eq!(context.models["d"].not_applicable, Some("no task in both conditions"));
    assert_eq!(context.models["d"].fresh_only.len(), 89);
}

#[test]
fn unscored_trials_are_counted_and_not_resolved() {
    let mut trials =
        vec![trial("m", "fresh", 0, true), trial("m", "env", 0, true), trial("m", "env", 1, true)];
    trials[0].scored = Some(false);
    let found = compare(&trials, 0).contexts["env"].models["m"].clone();
    assert_eq!(found.recovery_only, ["t01"]);
    let paired = found.paired.unwrap();
    assert_eq!((paired.fresh.unscored, paired.fresh.rate, paired.relative_drop.value), (1, 0.0, None));
    assert_eq!((paired.relative_drop.resamples_left_out, paired.mcnemar.p), (2_000, Some(1.0)));
}

#[test]
fn failed_trials_of_different_models_are_apart() {
    let mut trials = vec![trial("m", "fresh", 0, true), trial("m", "env", 0, true)];
    for (source, resolved) in [("a", true), ("b", false)] {
        let source = Some(source.to_owned());
        trials.push(ComparedTrial { source, declared_done: Some(true), ..trial("m", "env", 0, resolved) });
    }
    let found = compare(&trials, 1);
    let recovery = |context: &str| found.contexts[context].models["m"].paired.unwrap().recovery;
    assert_eq!(found.contexts.keys().collect::<Vec<_>>(), ["env", "env after a", "env after b"]);
    let resolved = ["env after a", "env after b"].map(|context| recovery(context).resolved);
    assert_eq!(resolved, [1, 0]);
    let premature = found.contexts.keys().map(|context| recovery(context).premature);
    assert_eq!(premature.collect::<Vec<_>>(), [None, Some(0), Some(1)]);
}
