//! `BenchTrace` episodes: layouts, the two alignments, locations, progress, routes, labels, and what damage costs.
//!
//! Everything is read as a slice and as a stream, with the format told and found. The ways must agree.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests say what they expect by failing"
)]

mod reading;

use proptest::prelude::*;
use proptest::sample::Index;
use reading::{Drip, stream, told};
use wrongturn::{
    Error, ErrorKind, Location, ReadOptions, Step, Trace,
    read::{Alignment, Format},
    read_traces,
    trace::{Actor, Event, LabelledFailure, Milestone, Routing},
};

fn options(format: Option<Format>, alignment: Option<Alignment>) -> ReadOptions {
    ReadOptions { format, alignment, ..ReadOptions::default() }
}

/// Reads a text with this alignment in every way.
#[track_caller]
fn read_aligned(text: &str, alignment: Option<Alignment>) -> (Vec<Trace>, Vec<Error>) {
    let found = options(None, alignment);
    let with_format = options(Some(Format::BenchTrace), alignment);
    let (traces, reading) = read_traces(text.as_bytes(), &found);
    assert_eq!(reading.format, Some(Format::BenchTrace));
    assert_eq!(reading.runs, traces.len() as u64);
    for (way, (others, other)) in [
        ("format told", read_traces(text.as_bytes(), &with_format)),
        ("stream", stream(text.as_bytes(), &found)),
        ("drip", stream(Drip(text.as_bytes(), 1), &with_format)),
    ] {
        assert_eq!(others, traces, "the traces, {way}");
        assert_eq!(told(&other.errors), told(&reading.errors), "the errors, {way}");
    }
    (traces, reading.errors)
}

#[track_caller]
fn read(text: &str) -> (Vec<Trace>, Vec<Error>) {
    read_aligned(text, None)
}

/// The episode of a text that holds one, without errors.
#[track_caller]
fn one(text: &str) -> Trace {
    let (traces, errors) = read(text);
    assert_eq!(told(&errors), Vec::<String>::new());
    assert_eq!(traces.len(), 1);
    traces.into_iter().next().unwrap()
}

/// The episode with this trajectory.
#[track_caller]
fn trajectory(entries: &str, alignment: Option<Alignment>) -> Trace {
    let text = format!(r#"{{"id": "e", "snapshot": {{"trajectory": [{entries}]}}}}"#);
    let (traces, errors) = read_aligned(&text, alignment);
    assert_eq!(told(&errors), Vec::<String>::new());
    traces.into_iter().next().unwrap()
}

/// A step in one line: `index@turn text` or `index@turn action -> status: observation`.
fn line(step: &Step<'_>) -> String {
    let place = format!("{}@{}", step.index(), step.turn());
    match step.event() {
        Event::Message(text) => {
            assert_eq!(step.actor(), Actor::Environment);
            format!("{place} {:?}", text.to_str())
        }
        Event::Action(action) => {
            assert_eq!(step.actor(), Actor::Agent);
            assert!(action.arguments.is_absent() && action.call_id.is_none() && action.error_type.is_none());
            let observation = action.observation.present().map(|text| text.to_str().into_owned());
            format!(
                "{place} {} -> {:?} by {:?}: {observation:?}",
                action.name, action.status, action.provenance
            )
        }
    }
}

fn lines(trace: &Trace) -> Vec<String> {
    trace.steps().map(|step| line(&step)).collect()
}

fn locations(trace: &Trace) -> Vec<Option<String>> {
    trace.steps().map(|step| step.location().map(str::to_owned)).collect()
}

fn progress(trace: &Trace) -> Vec<Option<f64>> {
    trace.steps().map(|step| step.progress()).collect()
}

const EPISODE: &str = r#"{"id": "zork1-s0", "game": "zork1", "model": "gpt-4o", "task_type": "quest",
    "framework": "react", "won": false, "correct": null, "subtask_progress": [1, {"of": 3}],
    "snapshot": {"final_score": 35, "max_score": 350, "n_steps": 2, "seed": {"a": []}, "trajectory": [
        {"step": 0, "obs": "West of House\nA mailbox.", "action": "open mailbox", "inv": [], "subtask_idx": 0},
        {"step": 1, "obs": "A leaflet.", "action": "take leaflet", "reward": 5, "note": null}]},
    "failure_instances": {"core_failure": [], "marginal_failure": [], "comment": "none"}}"#;

// ---- Layouts -----------------------------------------------------------------------------------------------------

#[test]
fn every_layout_gives_the_same_episode() {
    let expected = one(EPISODE);
    let metadata = expected.metadata();
    assert_eq!(metadata.id.as_deref(), Some("zork1-s0"));
    assert_eq!(metadata.model.as_deref(), Some("gpt-4o"));
    assert_eq!(metadata.domain.as_deref(), Some("zork1"));
    assert_eq!(expected.reward(), Some(0.1));
    assert_eq!(
        lines(&expected),
        [
            r#"0@0 open mailbox -> Ok by None: Some("A leaflet.")"#,
            "1@1 take leaflet -> Unknown by None: None"
        ]
    );
    for text in [
        format!("[{EPISODE}]"),
        format!("\n[\n{EPISODE}\n]\n"),
        format!(r#"{{"episodes": [{EPISODE}]}}"#),
        format!(r#"{{"version": 2, "game": "zork1", "n_episodes": 1, "episodes": [{EPISODE}]}}"#),
        format!(
            r#"{{"episodes": [{EPISODE}], "created_at": "2026", "n_episodes": null, "version": "1.0", "game": "other"}}"#
        ),
        format!("\u{feff}{EPISODE}\n"),
    ] {
        assert_eq!(one(&text), expected, "{text}");
    }
}

#[test]
fn a_file_of_no_episodes_is_no_error() {
    for text in [r#"{"version": 1, "game": "zork1", "n_episodes": 0, "episodes": []}"#, r#"{"episodes": []}"#]
    {
        let (traces, errors) = read(text);
        assert_eq!((traces.len(), errors.len()), (0, 0));
    }
}

#[test]
fn an_episode_without_a_game_has_that_of_the_file() {
    let plain = r#"{"id": "e", "snapshot": {"trajectory": []}}"#;
    let own = r#"{"id": "f", "game": "own", "snapshot": {"trajectory": []}}"#;
    for text in [
        format!(r#"{{"version": 1, "game": "babyai", "episodes": [{plain}, {own}]}}"#),
        format!(r#"{{"episodes": [{plain}, {own}], "game": "babyai"}}"#),
    ] {
        let (traces, errors) = read(&text);
        assert_eq!(errors.len(), 0);
        let domains: Vec<_> = traces.iter().map(|trace| trace.metadata().domain.as_deref()).collect();
        assert_eq!(domains, [Some("babyai"), Some("own")], "{text}");
    }
    assert_eq!(one(plain).metadata().domain, None);
}

#[test]
fn little_is_needed() {
    let bare = one(r#"[{"snapshot": {"trajectory": []}}]"#);
    assert_eq!(bare.metadata().id, None);
    assert_eq!((bare.reward(), bare.steps().count(), bare.failures().len()), (None, 0, 0));
    let nulls = one(r#"{"id": null, "game": null, "model": null, "task_type": null, "milestones": null,
            "failure_instances": null, "snapshot": {"final_score": null, "max_score": null, "trajectory": [
                {"step": null, "obs": null, "action": null, "location": null, "reward": null, "cum_score": null,
                 "progress": null},
                {"action": "look"}]}}"#);
    assert_eq!(lines(&nulls), [r#"0@0 """#, "1@1 look -> Unknown by None: None"]);
    assert_eq!(one(r#"{"id": 17, "snapshot": {"trajectory": []}}"#).metadata().id.as_deref(), Some("17"));
}

#[test]
fn keys_come_in_any_order() {
    let expected = one(EPISODE);
    let shuffled = one(r#"{"failure_instances": {"marginal_failure": [], "core_failure": []},
            "snapshot": {"trajectory": [
                {"action": "open mailbox", "obs": "West of House\nA mailbox.", "step": 0},
                {"reward": 5.0, "action": "take leaflet", "obs": "A leaflet.", "step": 1}],
                "max_score": 350, "final_score": 35},
            "task_type": "quest", "model": "gpt-4o", "game": "zork1", "id": "zork1-s0"}"#);
    assert_eq!(shuffled, expected);
}

// ---- Alignment ---------------------------------------------------------------------------------------------------

const STARTS_WITH_ACTION: &str = r#"{"step": 0, "obs": "a hall", "action": "go north"},
    {"step": 1, "obs": "a kitchen", "action": "take knife"}, {"step": 2, "obs": "taken", "action": "go south"}"#;

const STARTS_WITHOUT: &str = r#"{"step": 0, "obs": "a hall", "action": null},
    {"step": 1, "obs": "a kitchen", "action": "go north"}, {"step": 2, "obs": "taken", "action": "take knife"}"#;

#[test]
fn before_the_feedback_is_what_the_next_entry_saw() {
    let expected = [
        r#"0@0 go north -> Ok by None: Some("a kitchen")"#,
        r#"1@1 take knife -> Ok by None: Some("taken")"#,
        "2@2 go south -> Unknown by None: None",
    ];
    assert_eq!(lines(&trajectory(STARTS_WITH_ACTION, Some(Alignment::Before))), expected);
    // The first entry has an action: so it is.
    assert_eq!(lines(&trajectory(STARTS_WITH_ACTION, None)), expected);
    assert_eq!(
        lines(&trajectory(STARTS_WITHOUT, Some(Alignment::Before))),
        [
            r#"0@0 "a hall""#,
            r#"1@1 go north -> Ok by None: Some("taken")"#,
            "2@2 take knife -> Unknown by None: None"
        ]
    );
}

#[test]
fn after_the_feedback_is_the_entrys_own() {
    let expected = [
        r#"0@0 "a hall""#,
        r#"1@1 go north -> Ok by None: Some("a kitchen")"#,
        r#"2@2 take knife -> Ok by None: Some("taken")"#,
    ];
    assert_eq!(lines(&trajectory(STARTS_WITHOUT, Some(Alignment::After))), expected);
    // The first entry has no action: so it is.
    assert_eq!(lines(&trajectory(STARTS_WITHOUT, None)), expected);
    assert_eq!(
        lines(&trajectory(STARTS_WITH_ACTION, Some(Alignment::After))),
        [
            r#"0@0 go north -> Ok by None: Some("a hall")"#,
            r#"1@1 take knife -> Ok by None: Some("a kitchen")"#,
            r#"2@2 go south -> Ok by None: Some("taken")"#,
        ]
    );
}

#[test]
fn each_episode_tells_its_own_alignment() {
    let episode = |entries: &str| format!(r#"{{"snapshot": {{"trajectory": [{entries}]}}}}"#);
    let (traces, errors) = read(&format!("[{}, {}]", episode(STARTS_WITH_ACTION), episode(STARTS_WITHOUT)));
    assert_eq!(errors.len(), 0);
    assert_eq!(lines(&traces[0])[0], r#"0@0 go north -> Ok by None: Some("a kitchen")"#);
    assert_eq!(lines(&traces[1])[1], r#"1@1 go north -> Ok by None: Some("a kitchen")"#);
}

#[test]
fn no_action_is_null_missing_or_blank() {
    for first in [r#""action": null,"#, "", r#""action": "","#, r#""action": "  ","#] {
        let entries = format!(
            r#"{{{first} "step": 0, "obs": "a hall"}}, {{"step": 1, "obs": "a wall", "action": "look"}}"#
        );
        assert_eq!(
            lines(&trajectory(&entries, None)),
            [r#"0@0 "a hall""#, r#"1@1 look -> Ok by None: Some("a wall")"#],
            "{first}"
        );
    }
}

// ---- Steps -------------------------------------------------------------------------------------------------------

#[test]
fn steps_have_the_numbers_of_their_entries() {
    let trace = trajectory(
        r#"{"step": 3, "action": "a"}, {"step": 4, "action": "b"}, {"step": 90, "action": "c"}"#,
        None,
    );
    let indices: Vec<u64> = trace.steps().map(|step| step.index()).collect();
    assert_eq!(indices, [3, 4, 90]);
    // Without numbers they are counted.
    let trace = trajectory(r#"{"action": "a"}, {"action": "b"}, {"action": "c"}"#, None);
    let indices: Vec<u64> = trace.steps().map(|step| step.index()).collect();
    assert_eq!(indices, [0, 1, 2]);
}

#[test]
fn steps_that_do_not_increase_cost_their_episode_alone() {
    let episode = |id: &str, steps: [u64; 3]| {
        let entries = steps.map(|step| format!(r#"{{"step": {step}, "action": "look"}}"#));
        format!("{{\"id\": \"{id}\",\n\"snapshot\": {{\"trajectory\": [\n{}]}}}}", entries.join(",\n"))
    };
    for wrong in [[0, 1, 1], [0, 2, 1], [5, 5, 6], [3, 0, 4], [1, u64::MAX, 0], [0, u64::MAX, u64::MAX]] {
        let text = format!(
            "{{\"episodes\": [\n{},\n{},\n{}]}}",
            episode("a", [0, 1, 2]),
            episode("b", wrong),
            episode("c", [7, 8, 9])
        );
        let (traces, errors) = read(&text);
        let ids: Vec<_> = traces.iter().map(|trace| trace.metadata().id.as_deref().unwrap()).collect();
        assert_eq!(ids, ["a", "c"], "{wrong:?}");
        assert_eq!(errors.len(), 1, "{wrong:?}");
        assert_eq!((errors[0].kind(), errors[0].run()), (ErrorKind::Trace, Some(1)), "{}", errors[0]);
        let line = errors[0].location().unwrap().line;
        assert!((7..=11).contains(&line), "in the lines of its episode: {}", errors[0]);
        assert!(errors[0].message().starts_with("step "), "{}", errors[0]);
    }
}

// ---- Locations ---------------------------------------------------------------------------------------------------

#[test]
fn a_location_is_the_entrys_own_or_the_header_of_what_was_seen() {
    let seen = |rest: &str| format!(r#"{{"action": "look", {rest}}}"#);
    for (entry, expected) in [
        (seen(r#""obs": "You see a table.", "location": "kitchen""#), Some("kitchen")),
        // The own field goes before any header.
        (seen(r#""obs": "** Cellar **\nDark.", "location": "kitchen""#), Some("kitchen")),
        (seen(r#""obs": "** Cellar **\nDark.", "location": null"#), Some("Cellar")),
        (seen(r#""obs": "You walk on.\n\n** Living Room **\nA sofa.""#), Some("Living Room")),
        (seen(r#""obs": "<<Boiler Room>>\nHot.""#), Some("Boiler Room")),
        (seen(r#""obs": "  << Boiler Room >>  \r\nHot.""#), Some("Boiler Room")),
        (seen(r#""obs": "West of House\nYou are standing in an open field.""#), Some("West of House")),
        (seen(r#""obs": "You go west.\nEdge of the Forest\nTrees.""#), Some("Edge of the Forest")),
        (seen(r#""obs": "You can't go that way.""#), None),
        (seen(r#""obs": "You see a table.\nIt is red.""#), None),
        (seen(r#""obs": """#), None),
        (seen(r#""obs": null"#), None),
        (seen(r#""inv": ["Lamp"]"#), None),
    ] {
        let trace = trajectory(&entry, Some(Alignment::Before));
        assert_eq!(locations(&trace), [expected.map(str::to_owned)], "{entry}");
    }
}

#[test]
fn no_location_is_carried_forward() {
    let trace = trajectory(
        r#"{"obs": "** Cellar **", "action": "wait"}, {"obs": "Time passes.", "action": "wait"},
            {"obs": "Time passes.", "action": "wait", "location": "Attic"}, {"obs": "Time passes.", "action": "wait"}"#,
        Some(Alignment::Before),
    );
    let expected = [Some("Cellar"), None, Some("Attic"), None].map(|place| place.map(str::to_owned));
    assert_eq!(locations(&trace), expected);
}

// ---- Progress, reward, route, labels -----------------------------------------------------------------------------

#[test]
fn progress_is_the_score_else_the_progress_else_the_sum_of_rewards() {
    for (entries, expected) in [
        (r#"{"action": "a", "cum_score": 5, "progress": 0.1, "reward": 1}"#, vec![Some(5.0)]),
        (r#"{"action": "a", "progress": 0.1, "reward": 1}"#, vec![Some(0.1)]),
        (r#"{"action": "a", "cum_score": null, "progress": null, "reward": 1}"#, vec![Some(1.0)]),
        (r#"{"action": "a"}"#, vec![None]),
        (
            r#"{"action": "a", "reward": 1}, {"action": "b", "reward": 0}, {"action": "c", "reward": -0.5},
                {"action": "d", "reward": 2.25}"#,
            vec![Some(1.0), Some(1.0), Some(0.5), Some(2.75)],
        ),
        (
            // Whatever an entry has; the rewards add up meanwhile.
            r#"{"action": "a", "reward": 1}, {"action": "b", "reward": 2, "cum_score": 50},
                {"action": "c", "reward": 4, "progress": 0.5}, {"action": "d", "reward": 8}"#,
            vec![Some(1.0), Some(50.0), Some(0.5), Some(15.0)],
        ),
        (r#"{"obs": "hall", "cum_score": 0}, {"action": "a", "cum_score": 9}"#, vec![Some(0.0), Some(9.0)]),
    ] {
        assert_eq!(progress(&trajectory(entries, None)), expected, "{entries}");
    }
}

#[test]
fn the_reward_is_the_final_score_by_the_largest() {
    for (scores, expected) in [
        (r#""final_score": 46, "max_score": 100,"#, Some(0.46)),
        (r#""final_score": 0, "max_score": 350,"#, Some(0.0)),
        (r#""final_score": -10, "max_score": 350,"#, Some(-10.0 / 350.0)),
        (r#""final_score": 1.0, "max_score": 1,"#, Some(1.0)),
        (r#""final_score": 3, "max_score": 0,"#, None),
        (r#""final_score": 3,"#, None),
        (r#""max_score": 3,"#, None),
        (r#""final_score": null, "max_score": 3,"#, None),
        ("", None),
    ] {
        let trace = one(&format!(r#"{{"snapshot": {{{scores} "trajectory": []}}}}"#));
        assert_eq!(trace.reward(), expected, "{scores}");
    }
}

#[test]
fn milestones_are_the_reference_route() {
    let trace = one(r#"{"id": "e", "milestones": [
            {"walkthrough_step": 2, "action": "go to kitchen", "score_before": 0, "score_after": 9, "delta": 9,
             "observation_after": "You move to the kitchen."},
            {"walkthrough_step": 4, "score_after": 11.5}, {"walkthrough_step": 4, "score_after": 12, "action": null}],
            "snapshot": {"trajectory": []}}"#);
    assert_eq!(
        trace.routing().route().unwrap().milestones(),
        [
            Milestone::score(2, 9.0).label("go to kitchen"),
            Milestone::score(4, 11.5),
            Milestone::score(4, 12.0)
        ]
    );
    for none in ["", r#""milestones": null,"#] {
        let trace = one(&format!(r#"{{{none} "snapshot": {{"trajectory": []}}}}"#));
        assert!(matches!(trace.routing(), Routing::Unknown(_)), "{none}");
    }
}

#[test]
fn a_route_that_goes_back_costs_its_episode_alone() {
    let (traces, errors) = read(&format!(
        r#"[{EPISODE}, {{"milestones": [{{"walkthrough_step": 4, "score_after": 1}},
            {{"walkthrough_step": 3, "score_after": 2}}], "snapshot": {{"trajectory": []}}}}, {EPISODE}]"#
    ));
    assert_eq!((traces.len(), errors.len()), (2, 1));
    assert_eq!((errors[0].kind(), errors[0].run()), (ErrorKind::Trace, Some(1)));
    assert!(errors[0].location().is_some());
}

#[test]
fn the_labels_stay_with_the_trace() {
    let trace = one(r#"{"id": "e", "snapshot": {"trajectory": []}, "failure_instances": {
            "core_failure": [
                {"type": "strategy/loop", "where": [3, 9], "diagnosis": "goes in circles", "confidence": 0.9},
                {"type": "operation/feedback_blindness", "where": [5, 5]}],
            "marginal_failure": [{"type": "system/format", "where": null}, {"type": "strategy/loop"}]}}"#);
    let label = |mode: &str, range, core, diagnosis: Option<&str>| LabelledFailure {
        mode: mode.to_owned(),
        range,
        core,
        diagnosis: diagnosis.map(str::to_owned),
    };
    assert_eq!(
        trace.failures(),
        [
            label("strategy/loop", Some((3, 9)), true, Some("goes in circles")),
            label("operation/feedback_blindness", Some((5, 5)), true, None),
            label("system/format", None, false, None),
            label("strategy/loop", None, false, None),
        ]
    );
    // One group may be missing or null.
    for groups in [
        r#""core_failure": [{"type": "a/b"}]"#,
        r#""core_failure": [{"type": "a/b"}], "marginal_failure": null"#,
    ] {
        let trace =
            one(&format!(r#"{{"snapshot": {{"trajectory": []}}, "failure_instances": {{{groups}}}}}"#));
        assert_eq!(trace.failures(), [label("a/b", None, true, None)]);
    }
}

#[test]
fn texts_are_decoded_and_half_surrogate_pairs_cost_nothing() {
    let trace = trajectory(
        r#"{"obs": "\u002a\u002a Caf\u00e9 **\nred", "action": "say \"hi\""}, {"obs": "\ud800 \ud83d\ude00", "action": "x"}"#,
        None,
    );
    assert_eq!(locations(&trace)[0].as_deref(), Some("Caf\u{e9}"));
    assert_eq!(lines(&trace)[0], "0@0 say \"hi\" -> Ok by None: Some(\"\u{fffd} \u{1f600}\")");
}

// ---- Damage ------------------------------------------------------------------------------------------------------

#[test]
fn a_wrong_type_costs_its_episode_alone() {
    for wrong in [
        r#""snapshot": 7"#,
        r#""snapshot": null"#,
        r#""snapshot": {"trajectory": null}"#,
        r#""snapshot": {}"#,
        r#""game": "zork""#,
        r#""snapshot": {"trajectory": [7]}"#,
        r#""snapshot": {"trajectory": [{"step": -1}]}"#,
        r#""snapshot": {"trajectory": [{"step": "0"}]}"#,
        r#""snapshot": {"trajectory": [{"obs": ["a"]}]}"#,
        r#""snapshot": {"trajectory": [{"action": {"do": 1}}]}"#,
        r#""snapshot": {"trajectory": [{"cum_score": "9"}]}"#,
        r#""snapshot": {"trajectory": [{"location": 4}]}"#,
        r#""snapshot": {"trajectory": [], "final_score": "46"}"#,
        r#""snapshot": {"trajectory": []}, "milestones": [{"score_after": 1}]"#,
        r#""snapshot": {"trajectory": []}, "milestones": {}"#,
        r#""snapshot": {"trajectory": []}, "failure_instances": "none""#,
        r#""snapshot": {"trajectory": []}, "failure_instances": {"core_failure": [{"where": [1, 2]}]}"#,
        r#""snapshot": {"trajectory": []}, "failure_instances": {"core_failure": [{"type": "a", "where": 1}]}"#,
    ] {
        let text = format!("{{\"game\": \"g\", \"episodes\": [\n{EPISODE},\n{{{wrong}}}, {EPISODE}\n]}}");
        let (traces, errors) = read(&text);
        assert_eq!(traces, [one(EPISODE), one(EPISODE)], "{wrong}");
        assert_eq!(errors.len(), 1, "{wrong}: {errors:?}");
        assert_eq!(
            (errors[0].kind(), errors[0].run()),
            (ErrorKind::Shape, Some(1)),
            "{wrong}: {}",
            errors[0]
        );
        let line = 2 + EPISODE.lines().count() as u64;
        assert_eq!(errors[0].location().map(|at| at.line), Some(line), "{wrong}: {}", errors[0]);
    }
}

#[test]
fn a_list_is_no_object_by_position() {
    for wrong in [
        r#"{"snapshot": [46, 100, []]}"#,
        r#"{"snapshot": {"trajectory": [[0, "a hall", "look"]]}}"#,
        r#"{"snapshot": {"trajectory": []}, "failure_instances": []}"#,
        r#"{"snapshot": {"trajectory": []}, "failure_instances": {"core_failure": [["strategy/loop", [1, 2]]]}}"#,
        r#"{"snapshot": {"trajectory": []}, "milestones": [[2, 9]]}"#,
        r#"["e", "zork1", "gpt-4o", null, {"trajectory": []}]"#,
    ] {
        let (traces, errors) = read(&format!("{{\"episodes\": [{EPISODE}, {wrong}, {EPISODE}]}}"));
        assert_eq!((traces.len(), errors.len()), (2, 1), "{wrong}");
        assert_eq!(
            (errors[0].kind(), errors[0].run()),
            (ErrorKind::Shape, Some(1)),
            "{wrong}: {}",
            errors[0]
        );
    }
}

#[test]
fn errors_have_their_line_and_column() {
    let text = r#"[
  {
    "id": "a",
    "snapshot": {
      "trajectory": [
        {
          "step": 0,
          "obs": "é",
          "action": "look", "reward": "much"
        }
      ]
    }
  },
  {"id": "b", "snapshot": {"trajectory": []}}, {"id": "é", "snapshot": {"trajectory": 7}}
]"#;
    let (traces, errors) = read(text);
    assert_eq!(traces.len(), 1);
    let places: Vec<_> =
        errors.iter().map(|error| (error.kind(), error.run(), error.location().unwrap())).collect();
    assert_eq!(
        places,
        [
            (ErrorKind::Shape, Some(0), Location { line: 9, column: 39 }),
            (ErrorKind::Shape, Some(2), Location { line: 14, column: 88 }),
        ]
    );
}

#[test]
fn a_truncated_file_keeps_its_complete_episodes() {
    let text = format!("{{\"game\": \"zork1\", \"episodes\": [{EPISODE},\n{EPISODE}]}}");
    let ends = [text.find("}},\n{").unwrap() + 2, text.len() - 2];
    let told_format = options(Some(Format::BenchTrace), None);
    for cut in 1..text.len() {
        let complete = ends.iter().filter(|end| **end <= cut).count();
        let (traces, reading) = read_traces(&text.as_bytes()[..cut], &told_format);
        let (streamed, other) = stream(&text.as_bytes()[..cut], &told_format);
        assert_eq!(traces.len(), complete, "cut at {cut}");
        assert_eq!(streamed, traces, "cut at {cut}");
        assert_eq!(told(&other.errors), told(&reading.errors), "cut at {cut}");
        assert_eq!(reading.errors.last().map(Error::kind), Some(ErrorKind::Truncated), "cut at {cut}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_files_are_read_alike_and_without_panic(
        damages in prop::collection::vec((any::<Index>(), 0..20_usize, prop::collection::vec(any::<u8>(), 0..4)), 1..4),
    ) {
        let text = format!("{{\"game\": \"zork1\", \"episodes\": [{EPISODE},\n{EPISODE}]}}");
        let mut bytes = text.into_bytes();
        for (at, removed, inserted) in damages {
            let at = at.index(bytes.len());
            bytes.splice(at..(at + removed).min(bytes.len()), inserted);
            bytes.push(b'\n');
        }
        for alignment in [None, Some(Alignment::Before), Some(Alignment::After)] {
            for format in [None, Some(Format::BenchTrace)] {
                let options = options(format, alignment);
                let (traces, reading) = read_traces(&bytes, &options);
                let (others, other) = stream(&bytes[..], &options);
                prop_assert_eq!(others, traces);
                prop_assert_eq!(told(&other.errors), told(&reading.errors));
            }
        }
    }
}
