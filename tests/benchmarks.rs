//! Tests the evaluations of `BenchTrace` through the public interface: worked examples, ends of the scale,
//! and properties.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::float_cmp,
    reason = "tests say what they expect by failing, and ends of a scale are exact"
)]

use std::fmt::Write as _;

use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use wrongturn::benchmarks::{
    AnnotatedEpisode, Definition, EvolutionCase, EvolutionScorer, Figure, GoldEpisode, ModeEpisode,
    ModeRules, Prediction, ReflectOptions, Reflection, Stage, agree, detect_modes, evolve, gold_of_trace,
    predict, read_lines, reflect,
};
use wrongturn::{ReadOptions, default_detectors, read::Format, read_traces};

fn of<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

// ---- Reflection

/// Returns three episodes of two tasks. The last one was won.
fn gold() -> Vec<GoldEpisode> {
    of(json!([
        {"id": "a", "task": "t", "failures": [
            {"type": "strategy/loop", "where": [0, 9], "diagnosis": "the door stays shut"},
            {"type": "system/format", "where": [12, 12], "diagnosis": "an empty command"}]},
        {"id": "b", "task": "u", "failures": [
            {"type": "strategy/loop", "where": [3, 5], "diagnosis": "rings and rings"}]},
        {"id": "c", "task": "u", "failures": []},
    ]))
}

fn perfect(gold: &[GoldEpisode]) -> Vec<Prediction> {
    gold.iter()
        .map(|episode| {
            let diagnoses: Vec<Value> = episode
                .failures
                .iter()
                .enumerate()
                .map(|(place, failure)| {
                    json!({"failure": place, "mode": failure.mode, "description": failure.diagnosis, "judge": 1})
                })
                .collect();
            let ranges: Vec<[i64; 2]> = episode.failures.iter().map(|failure| failure.range.into()).collect();
            of(json!({"episode": episode.id, "detection": episode.answer(), "ranges": ranges, "diagnoses": diagnoses}))
        })
        .collect()
}

fn figures(reflection: &Reflection) -> [Option<f64>; 6] {
    std::array::from_fn(|at| reflection.all.figure(Figure::VARIANTS[at]))
}

fn with(definition: Definition) -> ReflectOptions {
    ReflectOptions { definition, ..ReflectOptions::default() }
}

#[test]
fn perfect_predictions_score_one() {
    let gold = gold();
    let reflection = reflect(&gold, &perfect(&gold), &ReflectOptions::default());
    assert_eq!(figures(&reflection), [Some(1.0); 6]);
    assert_eq!(reflection.all.funnel["figure2"].pass_rate, Some(1.0));
    // This funnel fails the episode that was won, which has no failure to localize or diagnose.
    assert_eq!(reflection.all.funnel["table5"].pass, 2);
    for task in reflection.tasks.values() {
        assert!(Figure::VARIANTS.iter().all(|figure| task.figure(*figure) == Some(1.0)));
    }
    for (_, interval) in reflection.intervals(None, 200, 7) {
        assert_eq!(interval.map(<[f64; 2]>::from), Some([1.0, 1.0]));
    }
    // The published code counts only `yes` as correct, even for the episode that was won.
    assert_eq!(
        reflect(&gold, &perfect(&gold), &with(Definition::Code)).all.figure(Figure::DetectionAccuracy),
        Some(2.0 / 3.0)
    );
}

#[test]
fn empty_predictions_score_nothing() {
    let gold = gold();
    let reflection = reflect(&gold, &[], &ReflectOptions::default());
    assert_eq!(figures(&reflection), [Some(0.0); 6]);
    assert_eq!((reflection.all.without_prediction, reflection.all.unanswered_items), (3, 3));
    assert_eq!((reflection.all.similarity_answered, reflection.all.episodes_without_ranges), (None, 2));
    assert_eq!(reflection.all.funnel["figure2"].detection, 3);
    // The published code excludes unanswered failures from the judge's mean.
    assert_eq!(reflect(&gold, &[], &with(Definition::Code)).all.figure(Figure::Judge), None);
    // Without episodes, no figure is defined.
    let nothing = reflect(&[], &perfect(&gold), &ReflectOptions::default());
    assert_eq!((figures(&nothing), nothing.unknown_predictions.len()), ([None; 6], 3));
    assert_eq!(nothing.macro_average[&Figure::Recall], None);
}

#[test]
fn ranges_are_scored_as_the_worked_examples_say() {
    let one = |range: Value| -> Vec<GoldEpisode> {
        of(json!([{"id": "a", "task": "t", "failures": [{"type": "m", "where": range, "diagnosis": "x"}]}]))
    };
    let said = |ranges: Value| -> Vec<Prediction> {
        of(json!([{"episode": "a", "detection": "yes", "ranges": ranges, "diagnoses":
            [{"failure": 0, "mode": "m", "description": "y", "judge": 1}]}]))
    };
    let (options, located) = (ReflectOptions::default(), [Figure::Similarity, Figure::Recall]);
    let found = reflect(&one(json!([0, 9])), &said(json!([[0, 5]])), &options);
    assert_eq!(located.map(|one| found.all.figure(one)), [Some(0.6), Some(0.6)]);
    assert!(found.episodes[0].funnel.values().all(|stage| *stage == Stage::Pass));
    let found = reflect(&one(json!([5, 9])), &said(json!([[9, 5], [5, 9]])), &options);
    assert_eq!(located.map(|one| found.all.figure(one)), [Some(0.5), Some(1.0)]);
    let found = reflect(&one(json!([5, 9])), &said(json!([[0, 0], [1, 1], [2, 2], [5, 9]])), &options);
    let localization = found.episodes[0].localization.unwrap();
    assert_eq!((localization.recall, localization.ranges, localization.ignored_ranges), (0.0, 3, 1));
    assert_eq!(found.episodes[0].funnel["cascade"], Stage::Localization);
}

#[test]
fn bad_predictions_are_told_with_their_lines() {
    let mut lines = read_lines::<Prediction>(include_bytes!("benchmarks/bad-predictions.jsonl"));
    lines.check_against(&gold());
    let errors = lines.errors.iter().map(|error| format!("{:?}: {error}\n", error.kind()));
    insta::assert_snapshot!("bad_predictions", errors.collect::<String>());
    let reflection = reflect(&gold(), &lines.into_records(), &ReflectOptions::default());
    assert_eq!(reflection.unknown_predictions, ["elsewhere"]);
    assert_eq!(reflection.all.without_prediction, 2);
}

#[test]
fn detectors_predict_like_a_model() {
    let obs = "You can't go that way.";
    let mut steps: Vec<Value> =
        (0..8).map(|step| json!({"step": step, "obs": obs, "action": "north"})).collect();
    steps[0]["obs"] = json!("** Kitchen **");
    let file = json!({"version": "1.0", "game": "g", "episodes": [
        {"id": "e", "task_type": "jericho", "snapshot": {"trajectory": steps}, "failure_instances": {
            "core_failure": [{"type": "strategy/loop", "where": [0, 7], "diagnosis": "north"}],
            "marginal_failure": [{"type": "system/format", "where": [1, 1]}]}},
        {"snapshot": {"trajectory": []}}]});
    let options = ReadOptions { format: Some(Format::BenchTrace), ..ReadOptions::default() };
    let (traces, reading) = read_traces(file.to_string().as_bytes(), &options);
    assert!(reading.errors.is_empty());
    assert_eq!(gold_of_trace(&traces[1]), None);
    let gold = gold_of_trace(&traces[0]).unwrap();
    assert_eq!((gold.failures.len(), gold.task.as_str(), gold.subtask.as_deref()), (1, "jericho", Some("g")));
    let prediction = predict(&traces[0], &gold, &default_detectors());
    let reflection = reflect(&[gold], &[prediction], &ReflectOptions::default());
    assert_eq!(reflection.all.figure(Figure::DetectionAccuracy), Some(1.0));
    assert!(reflection.all.figure(Figure::Recall).unwrap() > 0.5, "{:?}", reflection.all);
    assert_eq!(reflection.all.judged_items, 0);
}

// ---- Evolution

fn case(id: usize, mode: &str, range: [i64; 2], post: &[u8], timing: &str) -> Value {
    let step = |step: usize, obs: String| json!({"step": step, "obs": obs, "action": "look"});
    let original: Vec<Value> = (0..20).map(|place| step(place, format!("o{place}"))).collect();
    let post: Vec<Value> =
        post.iter().enumerate().map(|(place, seen)| step(place, format!("o{seen}"))).collect();
    json!({"id": id.to_string(), "task": "jericho", "target": {"type": mode, "where": range},
        "truncation": range[0] - 1, "original": original, "post": post,
        "original_obs": timing, "post_obs": timing})
}

fn far(cases: &[Value]) -> Option<f64> {
    far_by(cases, EvolutionScorer::Paper)
}

fn far_by(cases: &[Value], scorer: EvolutionScorer) -> Option<f64> {
    let cases: Vec<EvolutionCase> = cases.iter().cloned().map(of).collect();
    evolve(&cases, scorer).all.far
}

/// Removing a step that sees part of a strategy's region can bring other such steps closer together.
/// Replacing it by a step that sees something else never makes a run worse.
#[test]
fn taking_a_step_out_of_a_window_can_bring_others_into_it() {
    let with = [1, 3, 30, 3, 31, 5];
    let without = [1, 30, 3, 31, 5];
    assert_eq!(far(&[case(0, "strategy/loop", [1, 5], &with, "before")]), Some(1.0));
    assert_eq!(far(&[case(0, "strategy/loop", [1, 5], &without, "before")]), Some(0.0));
}

proptest! {
    #[test]
    fn avoidance_never_falls_when_a_failing_step_goes(
        runs in proptest::collection::vec(
            (1..6_i64, 0..4_i64, proptest::collection::vec(0..9_u8, 2..14), any::<bool>()), 1..6),
        pick: prop::sample::Index,
    ) {
        let mode = |strategy: bool| if strategy { "strategy/loop" } else { "operation/decision_error" };
        let build = |runs: &[(i64, i64, Vec<u8>, bool)]| -> Vec<Value> {
            let of_run = |(place, (first, more, post, strategy)): (usize, &(i64, i64, Vec<u8>, bool))| {
                case(place, mode(*strategy), [*first, first + more], post, "after")
            };
            runs.iter().enumerate().map(of_run).collect()
        };
        let before = far(&build(&runs)).unwrap();
        let chosen = pick.index(runs.len());
        let (first, more, post, strategy) = runs[chosen].clone();
        let failing = |seen: u8| (first..=first + more).contains(&i64::from(seen));
        for place in (0..post.len()).filter(|place| failing(post[*place])) {
            let mut better = runs.clone();
            if strategy {
                better[chosen].2[place] = 99;
            } else {
                better[chosen].2.remove(place);
            }
            prop_assert!(far(&build(&better)).unwrap() >= before);
        }
    }

    /// The same holds for the code's rule for strategies, as long as no case is excluded because it never
    /// visits the region.
    #[test]
    fn avoidance_by_the_code_never_falls_when_something_else_is_seen(
        runs in proptest::collection::vec((0..9_i64, 0..4_i64, proptest::collection::vec(0..20_u8, 2..14)), 1..6),
        pick: prop::sample::Index,
    ) {
        let build = |runs: &[(i64, i64, Vec<u8>)]| -> Vec<Value> {
            let of_run = |(place, (first, more, post)): (usize, &(i64, i64, Vec<u8>))| {
                let mut case = case(place, "strategy/loop", [*first, first + more], post, "before");
                case["task"] = json!("babyai");
                case
            };
            runs.iter().enumerate().map(of_run).collect()
        };
        let before = far_by(&build(&runs), EvolutionScorer::Code).unwrap();
        let chosen = pick.index(runs.len());
        for place in 0..runs[chosen].2.len() {
            let mut better = runs.clone();
            better[chosen].2[place] = 99;
            prop_assert!(far_by(&build(&better), EvolutionScorer::Code).unwrap() >= before);
        }
    }

    #[test]
    fn repeats_are_none_exactly_where_the_failure_was_avoided(
        first in 1..6_i64, more in 0..6_i64, post in proptest::collection::vec(0..12_u8, 1..20), strategy: bool,
    ) {
        let mode = if strategy { "strategy/loop" } else { "system/format" };
        let case: EvolutionCase = of(case(0, mode, [first, first + more], &post, "before"));
        let answer = case.answer(EvolutionScorer::Paper);
        prop_assert_eq!(answer.avoided.unwrap(), answer.repeats.unwrap() == 0);
    }
}

#[test]
fn cases_without_an_answer_are_counted_by_reason_and_still_scored() {
    let mut unknown = case(0, "unknown", [1, 2], &[1], "before");
    unknown["score"] = json!(5);
    unknown["score_max"] = json!(10);
    let mut no_max = case(1, "strategy/loop", [1, 2], &[9], "before");
    no_max["score"] = json!(5);
    no_max["score_max"] = json!(0);
    let empty = case(2, "strategy/loop", [1, 2], &[], "before");
    let cases: Vec<EvolutionCase> = [unknown, no_max, empty].into_iter().map(of).collect();
    let found = evolve(&cases, EvolutionScorer::Paper);
    assert_eq!(
        (found.all.cases, found.all.included, found.all.far, found.all.score),
        (3, 1, Some(1.0), Some(0.5))
    );
    let told = serde_json::to_value(&found).unwrap();
    assert_eq!(told["all"]["excluded"], json!({"no_post_steps": 1, "unknown_class": 1}));
    assert_eq!(told["by_class"]["unknown"]["far"], Value::Null);
    let missing = br#"{"id": "x", "task": "t", "target": {"type": "a/b", "where": [1, 1]}, "original": [], "post": []}"#;
    let error = &read_lines::<EvolutionCase>(missing).errors[0];
    assert!(error.to_string().contains("`truncation`"), "{error}");
}

/// Table 3 gives, for each framework, the mean over the six cells of the first two distances, not over all
/// nine.
#[test]
fn frameworks_have_a_mean_over_near_cells() {
    let mut cases = Vec::new();
    for (proximity, distance, returns) in
        [(1, 1, [false, false]), (1, 5, [true, false]), (2, 10, [true, true])]
    {
        for again in returns {
            let mut case =
                case(cases.len(), "strategy/loop", [3, 3], if again { &[3] } else { &[9] }, "before");
            case["proximity"] = json!(proximity);
            case["distance"] = json!(distance);
            case["framework"] = json!("f");
            cases.push(of::<EvolutionCase>(case));
        }
    }
    let found = evolve(&cases, EvolutionScorer::Paper);
    let framework = &found.by_framework["f"];
    assert_eq!((framework.cell_mean, framework.cell_mean_d1_d5), (Some(0.5), Some(0.75)));
    let cells: Vec<String> = framework.cells.keys().map(ToString::to_string).collect();
    assert_eq!(cells, ["T1/D1", "T1/D5", "T2/D10"]);
    // The same seed gives the same intervals, and the cases of one signal are drawn together.
    let intervals = |seed| found.intervals(&cases, |_| true, 300, seed);
    assert_eq!(intervals(5), intervals(5));
    let mut tied = cases.clone();
    for case in &mut tied {
        case.signal = Some("s".to_owned());
    }
    let together = evolve(&tied, EvolutionScorer::Paper).intervals(&tied, |_| true, 300, 5);
    assert_eq!(together.far.map(<[f64; 2]>::from), Some([0.5, 0.5]));
}

#[test]
fn the_code_excludes_what_the_paper_answers() {
    let short = |task: &str| -> EvolutionCase {
        let mut case = case(0, "strategy/loop", [1, 3], &[1, 2, 3], "before");
        case["original"].as_array_mut().unwrap().truncate(8);
        case["task"] = json!(task);
        of(case)
    };
    let told = |task: &str, scorer| {
        let answer = short(task).answer(scorer);
        (answer.avoided, answer.excluded.map(|why| why.to_string()))
    };
    assert_eq!(told("jericho", EvolutionScorer::Paper), (Some(false), None));
    assert_eq!(told("jericho", EvolutionScorer::Code), (None, Some("region_not_visited".to_owned())));
    assert_eq!(told("babyai", EvolutionScorer::Code), (Some(true), None));
    assert_eq!(told("jericho", EvolutionScorer::Cosine), (Some(false), None));
}

// ---- Agreement

#[test]
fn an_annotator_agrees_with_himself() {
    let failures = json!([
        {"type": "a/b", "where": [0, 4], "tier": "core"}, {"type": "a/c", "where": [2, 9], "tier": "marginal"}]);
    let episodes: Vec<AnnotatedEpisode> = of(json!([{"id": "e", "a": failures, "b": failures}]));
    for definition in [Definition::Paper, Definition::Code] {
        let found = agree(&episodes, definition);
        assert_eq!(
            (found.all.f1, found.all.mode_kappa, found.tier_jaccard),
            (Some(1.0), Some(1.0), Some(1.0))
        );
        assert_eq!(found.episodes[0].all.pairs, [(0, 0), (1, 1)]);
    }
}

// ---- Failure modes

/// Pins the verdicts of all rules on `benchmarks/modes.jsonl`, the worked examples and episodes that lack an input.
#[test]
fn failure_modes_are_as_pinned() {
    let mut text = String::new();
    for episode in read_lines::<ModeEpisode>(include_bytes!("benchmarks/modes.jsonl")).into_records() {
        writeln!(text, "## {}", episode.id).unwrap();
        for rules in [ModeRules::Paper, ModeRules::Code, ModeRules::Dataset] {
            writeln!(text, "{rules}").unwrap();
            if let Err(why) = episode.check_for(rules) {
                writeln!(text, "  refused: {why}").unwrap();
            }
            let report = serde_json::to_value(detect_modes(&episode, rules)).unwrap();
            for (mode, verdict) in report.as_object().unwrap().iter().filter(|(mode, _)| *mode != "id") {
                let shown = verdict.get("not_applicable").or(verdict.get("findings")).unwrap();
                writeln!(text, "  {mode}: {shown}").unwrap();
            }
        }
    }
    insta::assert_snapshot!("failure_modes", text);
}
