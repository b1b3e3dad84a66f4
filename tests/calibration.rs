//! Tests calibration: bundled sets, custom detectors and gates, order, threads, and perturbations.

#![allow(clippy::unwrap_used, reason = "tests say what they expect by unwrapping it")]

mod custom;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use custom::Custom;
use wrongturn::stats::{Confusion, Outcome, f1_bootstrap, wilson};
use wrongturn::{
    Confidence, Detector, Step,
    calibrate::{
        CalibrationOptions, Difficulty, GoldenSet, Perturbation, TIER_GATES, Tier, TierGate, calibrate,
        sweep, tier,
    },
    default_detectors,
    detect::ALL,
    trace::Actors,
};

fn known() -> Vec<&'static str> {
    ALL.iter().map(|info| info.id).collect()
}

fn golden() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/golden"))
}

fn bundled() -> GoldenSet {
    GoldenSet::load(&[golden()], &known()).unwrap()
}

#[test]
fn the_bundled_sets_are_large_balanced_and_hard_enough() {
    let set = bundled();
    for info in ALL {
        let entries: Vec<_> = set.of(info.id).collect();
        let at_least = match info.id {
            _ if info.opt_in => 10,
            "tool_error_recovery" => 20,
            _ => 30,
        };
        assert!(entries.len() >= at_least, "{}: {} entries", info.id, entries.len());
        let count = |test: &dyn Fn(&&wrongturn::calibrate::GoldenEntry) -> bool| {
            entries.iter().copied().filter(|e| test(e)).count()
        };
        let positives = count(&|entry| entry.label);
        assert!(
            10 * positives >= 4 * entries.len() && 10 * positives <= 6 * entries.len(),
            "{} is lopsided",
            info.id
        );
        for difficulty in [Difficulty::Easy, Difficulty::Medium, Difficulty::Hard] {
            assert!(count(&|entry| entry.difficulty == difficulty) > 0);
        }
        assert!(3 * count(&|entry| entry.difficulty == Difficulty::Hard) >= entries.len());
        assert_eq!(
            count(&|entry| entry.description.split_whitespace().count() < 5),
            0,
            "{}: reasons",
            info.id
        );
    }
}

#[test]
fn a_confusion_gives_precision_recall_f1_and_tier() {
    let confusion = Confusion { tp: 9, fp: 0, fn_: 1, tn: 10 };
    assert_eq!((confusion.precision(), confusion.recall()), (Some(1.0), Some(0.9)));
    assert!((confusion.f1().unwrap() - 0.947_368_421_052_631_6).abs() < 1e-15);
    assert_eq!(tier(&confusion, &TIER_GATES), Tier::Beta);
    let confusion = Confusion { tp: 8, fp: 4, fn_: 0, tn: 2 };
    assert_eq!((confusion.precision(), confusion.recall()), (Some(8.0 / 12.0), Some(1.0)));
    // scipy.stats.binomtest(9, 10).proportion_ci(method="wilson")
    let recall = wilson(9, 10, 0.95).unwrap();
    assert!((recall.low - 0.595_849_973_204_761_5).abs() < 1e-12, "{recall:?}");
    assert!((recall.high - 0.982_123_786_904_927_1).abs() < 1e-12, "{recall:?}");
}

#[test]
fn the_bootstrap_agrees_with_scipy() {
    let outcome = |label, predicted| Outcome { label, predicted };
    let mut outcomes = vec![outcome(true, true); 9];
    outcomes.push(outcome(true, false));
    outcomes.extend(vec![outcome(false, false); 10]);
    // scipy.stats.bootstrap((labels, predictions), f1, paired=True, method="percentile", n_resamples=100000)
    let interval = f1_bootstrap(&outcomes, 2000, 0).interval.unwrap();
    assert!((interval.low - 0.8).abs() <= 0.02 && (interval.high - 1.0).abs() <= 0.02, "{interval:?}");
}

#[test]
fn file_order_and_threads_change_no_figure() {
    let report = |set: &GoldenSet, threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let options = CalibrationOptions { trials: 2, ..CalibrationOptions::default() };
        let report = pool.install(|| calibrate(set, &default_detectors(), &options));
        serde_json::to_string(&report).unwrap()
    };
    let expected = report(&bundled(), 1);
    assert_eq!(expected, report(&bundled(), 2));
    let shuffled: Vec<(PathBuf, String)> = known()
        .into_iter()
        .map(|id| {
            let path = golden().join(format!("{id}.jsonl"));
            let text = std::fs::read_to_string(&path).unwrap();
            let mut lines: Vec<&str> = text.lines().collect();
            let middle = lines.len() / 3;
            lines.rotate_left(middle);
            lines.reverse();
            (path, lines.join("\n"))
        })
        .collect();
    let files: Vec<(&Path, &str)> =
        shuffled.iter().rev().map(|(path, text)| (path.as_path(), text.as_str())).collect();
    assert_eq!(expected, report(&GoldenSet::parse(&files, &known()).unwrap(), 2));
}

/// Flags runs that call the tool `explode`, or every run.
fn by_name(always: bool) -> Vec<Arc<dyn Detector>> {
    let observe = |fired: &mut bool, step: &Step<'_>| {
        *fired |= step.action_of(Actors::All).is_some_and(|action| action.name == "explode");
    };
    Custom { id: "by_name", state: always, observe, detected: |fired| *fired }.alone()
}

/// Returns a set with an entry for each of these tools. An entry is positive if its tool is `explode`.
fn set_of<'t>(tools: impl IntoIterator<Item = &'t str>) -> GoldenSet {
    let lines: Vec<String> = (0..)
        .zip(tools)
        .map(|(n, tool)| {
            format!(
                r#"{{"id":"t{n:02}","detector":"by_name","difficulty":"easy","label":{},"description":"d","source":"s","trace":{{"version":1,"steps":[{{"name":"{tool}","arguments":{{"n":{n}}},"status":"ok"}}]}}}}"#,
                tool == "explode"
            )
        })
        .collect();
    GoldenSet::parse(&[(Path::new("toy.jsonl"), &lines.join("\n"))], &["by_name"]).unwrap()
}

fn toy_set(entries: usize) -> GoldenSet {
    set_of(["explode", "tick"].into_iter().cycle().take(entries))
}

#[test]
fn a_detector_that_keys_on_a_name_fails_pass_k() {
    let detectors = by_name(false);
    let report = calibrate(&toy_set(30), &detectors, &CalibrationOptions::default());
    let by_name = &report.detectors[0];
    assert_eq!((by_name.figures.f1, by_name.tier), (Some(1.0), Tier::Production));
    assert_eq!((by_name.pass_k.gate, by_name.pass_k.pass), (Some(Tier::Production), Some(0)));
    assert_eq!(by_name.pass_k.flips.len(), 45, "every positive, in each of three trials");
    for flip in &by_name.pass_k.flips {
        assert_eq!((flip.from, flip.to), (true, false));
        assert_eq!(flip.perturbations, [Perturbation::RenamedTools]);
        assert!((1..4).contains(&flip.trial));
    }
    let once = CalibrationOptions { trials: 1, ..CalibrationOptions::default() };
    assert_eq!(calibrate(&toy_set(30), &detectors, &once).detectors[0].pass_k.pass, Some(1));
}

fn assert_survive_perturbation(detectors: &[Arc<dyn Detector>]) {
    for seed in 0..3 {
        let options = CalibrationOptions { trials: 8, seed, ..CalibrationOptions::default() };
        for detector in calibrate(&bundled(), detectors, &options).detectors {
            assert_eq!(detector.pass_k.flips, [], "{}", detector.detector);
        }
    }
}

fn counts_waste(detector: &Arc<dyn Detector>) -> bool {
    ["route_inefficiency", "wasted_actions"].contains(&&*detector.id())
}

#[test]
fn the_bundled_detectors_survive_perturbation() {
    let detectors = default_detectors().into_iter().filter(|detector| !counts_waste(detector));
    assert_survive_perturbation(&detectors.collect::<Vec<_>>());
}

#[test]
fn detectors_of_waste_survive_perturbation() {
    let detectors = default_detectors().into_iter().filter(counts_waste);
    assert_survive_perturbation(&detectors.collect::<Vec<_>>());
}

#[test]
fn gates_may_be_given() {
    let detectors = by_name(false);
    let strict = TierGate { tier: Tier::Production, f1: 0.99, precision: 0.99, n: 31 };
    let options = CalibrationOptions { gates: vec![strict], trials: 1, ..CalibrationOptions::default() };
    let report = calibrate(&toy_set(30), &detectors, &options);
    assert_eq!(report.detectors[0].tier, Tier::Failing);
    assert_eq!(report.detectors[0].pass_k.pass, None, "trial 0 clears no gate");
    let asked = CalibrationOptions { gate: Some(Tier::Production), ..options };
    assert_eq!(calibrate(&toy_set(30), &detectors, &asked).detectors[0].pass_k.pass, Some(0));
    assert_eq!(calibrate(&toy_set(32), &detectors, &asked).detectors[0].pass_k.pass, Some(1));
}

#[test]
fn an_empty_set_is_untested_and_a_set_of_one_class_fails() {
    let detectors = by_name(false);
    let report = calibrate(&GoldenSet::default(), &detectors, &CalibrationOptions::default());
    let empty = &report.detectors[0];
    assert_eq!((empty.figures.f1, empty.tier, empty.unproven), (None, Tier::Untested, false));
    assert_eq!(empty.localization.recall, None);

    let negatives = set_of(["tick"; 9]);
    let report = calibrate(&negatives, &detectors, &CalibrationOptions::default());
    let figures = &report.detectors[0].figures;
    assert_eq!((figures.f1, figures.precision, figures.recall), (None, None, None));
    assert_eq!((figures.f1_ci95.interval, figures.f1_ci95.undefined), (None, 2000));
    assert_eq!(report.detectors[0].tier, Tier::Failing);
}

#[test]
fn always_firing_marks_a_tier_unproven() {
    // On 20 balanced entries, always firing has an F1 of 0.667, enough for beta.
    let detectors = by_name(true);
    let report = calibrate(&toy_set(20), &detectors, &CalibrationOptions::default());
    assert_eq!((report.detectors[0].tier, report.detectors[0].unproven), (Tier::Beta, true));
    assert_eq!(report.detectors[0].baselines.always_fire_f1, report.detectors[0].figures.f1);
}

#[test]
fn a_sweep_covers_the_main_parameter() {
    let set = bundled();
    let once = CalibrationOptions { trials: 1, ..CalibrationOptions::default() };
    for info in ALL {
        let sweep = sweep(&set, info, Confidence::Likely).unwrap();
        assert!(sweep.points.len() >= 5, "{}", info.id);
        let default = info.config(wrongturn::detect::Preset::Default, Actors::Agent)[sweep.parameter].clone();
        let point = sweep.points.iter().find(|point| point.value == default).unwrap();
        let report = calibrate(&set, &[info.default_detector()], &once);
        assert_eq!(point.confusion, report.detectors[0].figures.confusion, "{}", info.id);
    }
}
