//! What may be missing and Reference routes.

use super::*;
#[test]
fn runs_that_lack_something_are_kept() {
    for (run, reward, task, trial) in [
        (r#"{"id": "r", "messages": null, "reward_info": {"reward": 1}}"#, Some(1.0), None, None),
        (r#"{"id": "r", "messages": [], "reward_info": {"reward": 0}}"#, Some(0.0), None, None),
        (r#"{"id": "r", "reward_info": {"reward": 0.25}}"#, Some(0.25), None, None),
        (r#"{"id": "r", "reward_info": null, "messages": []}"#, None, None, None),
        (r#"{"id": "r", "reward_info": {}, "messages": []}"#, None, None, None),
        (r#"{"id": "r", "reward_info": {"reward": null}, "messages": []}"#, None, None, None),
        (r#"{"id": "r", "messages": [], "task_id": null, "trial": null}"#, None, None, None),
        (r#"{"id": "r", "messages": [], "task_id": "7", "trial": 0}"#, None, Some("7"), Some(0)),
        (r#"{"id": "r", "messages": [], "task_id": 7}"#, None, Some("7"), None),
        (r#"{"id": "r", "task_id": 0, "messages": null, "trial": 3}"#, None, Some("0"), Some(3)),
        (r#"{"id": "r", "task_id": "", "termination_reason": null}"#, None, Some(""), None),
    ] {
        for text in [run.to_owned(), format!("[{run}]"), format!(r#"{{"simulations": [{run}]}}"#)] {
            let trace = one(&text);
            assert_eq!(trace.steps().count(), 0, "{text}");
            assert_eq!(trace.reward(), reward, "{text}");
            assert_eq!(trace.metadata().task.as_deref(), task, "{text}");
            assert_eq!(trace.metadata().trial, trial, "{text}");
            assert_eq!(trace.metadata().termination, None, "{text}");
        }
    }
    let nameless = one(r#"[{"task_id": null, "messages": []}]"#);
    assert_eq!(nameless.metadata(), &Metadata::default());
}

#[test]
fn every_reason_to_end_is_kept_as_text() {
    for reason in [
        "user_stop",
        "agent_stop",
        "max_steps",
        "timeout",
        "too_many_errors",
        "agent_error",
        "user_error",
        "infrastructure_error",
        "context_window_exceeded",
        "unexpected_error",
        "abducted by aliens",
        "",
    ] {
        let trace =
            one(&format!(r#"{{"simulations": [{{"termination_reason": "{reason}", "messages": []}}]}}"#));
        assert_eq!(trace.metadata().termination.as_deref(), Some(reason));
    }
}

#[test]
fn rewards_are_what_the_file_says_to_the_last_bit() {
    let spellings: [(&str, f64); 5] = [
        ("0.1", 0.1),
        ("1", 1.0),
        ("-2.5e-3", -0.0025),
        ("0.30000000000000004", 0.1 + 0.2),
        ("5e-324", 5e-324),
    ];
    for (spelling, reward) in spellings {
        let trace = one(&format!(r#"[{{"messages": [], "reward_info": {{"reward": {spelling}}}}}]"#));
        assert_eq!(trace.reward().map(f64::to_bits), Some(reward.to_bits()), "{spelling}");
    }
}

#[test]
fn the_expected_actions_of_the_task_are_the_route() {
    let trace = one(r#"{
        "tasks": [
            {"id": "other", "evaluation_criteria": null},
            {"id": 7, "evaluation_criteria": {"actions": [
                {"action_id": "a", "requestor": "assistant", "name": "get", "arguments": {"b": 1, "a": [2]}},
                {"action_id": "b", "requestor": "user", "name": "toggle", "arguments": {}, "compare_args": []},
                {"action_id": "c", "name": "put", "arguments": {"x": 1}, "compare_args": ["x"]}]}}],
        "simulations": [{"id": "r", "task_id": "7", "messages": []}]}"#);
    let route = trace.routing().route().unwrap();
    let milestones: Vec<(u64, &ReferenceAction)> = route
        .milestones()
        .iter()
        .map(|milestone| match &milestone.target {
            Target::Action(action) => (milestone.reference_step, action),
            Target::Score(_) => panic!("tau2 knows no scores"),
        })
        .collect();
    let described: Vec<String> = milestones
        .iter()
        .map(|(step, action)| format!("{step} {:?} {} {:?}", action.actor(), action.name(), action.compare()))
        .collect();
    assert_eq!(described, [r"1 Agent get None", r"2 User toggle Some([])", r#"3 Agent put Some(["x"])"#]);
    assert_eq!(milestones[0].1.digest(), Arguments::from_json(r#"{"a": [2.0], "b": 1}"#).digest());
}

/// How many milestones the run of a file reaches.
#[track_caller]
fn reached(expected: &str, call: &str) -> f64 {
    let trace = one(&format!(
        r#"{{"tasks": [{{"id": "t", "evaluation_criteria": {{"actions": [{expected}]}}}}],
            "simulations": [{{"id": "r", "task_id": "t", "messages": [
                {{"role": "assistant", "tool_calls": [{call}]}}]}}]}}"#
    ));
    let everybody = wrongturn::detect::RouteInefficiencyConfig {
        actors: wrongturn::trace::Actors::All,
        ..wrongturn::detect::RouteInefficiencyConfig::default()
    };
    RouteInefficiency::new(everybody).unwrap().detect(&trace).measure("milestones_reached").unwrap()
}

#[test]
fn a_milestone_compares_the_arguments_that_it_names() {
    let call = |arguments: &str| format!(r#"{{"id": "1", "name": "put", "arguments": {arguments}}}"#);
    for (compared, given, expected) in [
        // Without compare_args, or with null, all arguments are equal, whatever their order and spelling.
        ("", r#"{"a": 1, "b": {"c": 2, "d": "x"}}"#, 1.0),
        (r#", "compare_args": null"#, r#"{"b": {"d": "\u0078", "c": 2.0}, "a": 1.0}"#, 1.0),
        (r#", "compare_args": null"#, r#"{"a": 1, "b": {"c": 2, "d": "y"}}"#, 0.0),
        (r#", "compare_args": null"#, r#"{"a": 1}"#, 0.0),
        (r#", "compare_args": null"#, r#"{"a": 1, "b": {"c": 2, "d": "x"}, "e": null}"#, 0.0),
        // [] compares the name alone.
        (r#", "compare_args": []"#, "{}", 1.0),
        (r#", "compare_args": []"#, "null", 1.0),
        (r#", "compare_args": []"#, r#"{"a": "other"}"#, 1.0),
        // A list compares those.
        (r#", "compare_args": ["a"]"#, r#"{"a": 1, "b": "other"}"#, 1.0),
        (r#", "compare_args": ["a"]"#, r#"{"a": 1}"#, 1.0),
        (r#", "compare_args": ["a"]"#, r#"{"a": 2, "b": {"c": 2, "d": "x"}}"#, 0.0),
        (r#", "compare_args": ["a"]"#, r#"{"b": {"c": 2, "d": "x"}}"#, 0.0),
        (r#", "compare_args": ["b", "a"]"#, r#"{"a": 1, "b": {"d": "x", "c": 2}}"#, 1.0),
        (r#", "compare_args": ["b", "a"]"#, r#"{"a": 1, "b": {"d": "x", "c": 3}}"#, 0.0),
    ] {
        let milestone =
            format!(r#"{{"name": "put", "arguments": {{"a": 1, "b": {{"c": 2, "d": "x"}}}}{compared}}}"#);
        assert_eq!(reached(&milestone, &call(given)).to_bits(), f64::to_bits(expected), "{compared} {given}");
    }
}

#[test]
fn a_milestone_wants_its_requestor_and_its_name() {
    let milestone = |requestor: &str| format!(r#"{{"name": "put", "arguments": {{}}{requestor}}}"#);
    let user = milestone(r#", "requestor": "user""#);
    for (milestone, call, expected) in [
        (&user, r#"{"id": "1", "name": "put", "arguments": {}, "requestor": "user"}"#, 1),
        (&user, r#"{"id": "1", "name": "put", "arguments": {}, "requestor": "assistant"}"#, 0),
        (&user, r#"{"id": "1", "name": "put", "arguments": {}}"#, 0),
        (&milestone(""), r#"{"id": "1", "name": "put", "arguments": {}}"#, 1),
        (&milestone(r#", "requestor": null"#), r#"{"id": "1", "name": "put"}"#, 1),
        (&milestone(r#", "requestor": "assistant""#), r#"{"id": "1", "name": "Put", "arguments": {}}"#, 0),
    ] {
        assert_eq!(reached(milestone, call).to_bits(), f64::from(expected).to_bits(), "{milestone} {call}");
    }
}

#[test]
fn where_there_is_no_route_the_verdict_says_why() {
    let run = |task: &str| format!(r#"{{"id": "r", {task} "messages": []}}"#);
    for (tasks, task, why) in [
        (r#""tasks": [{"id": "u"}],"#, r#""task_id": "t","#, "task t is not in the file"),
        (r#""tasks": [],"#, r#""task_id": 7,"#, "task 7 is not in the file"),
        (TASKS_KEY, r#""task_id": null,"#, "names no task"),
        (TASKS_KEY, "", "names no task"),
        ("", r#""task_id": "t","#, "no tasks"),
        (r#""tasks": null,"#, r#""task_id": "t","#, "no tasks"),
        (r#""tasks": [{"id": "t"}],"#, r#""task_id": "t","#, "no milestones"),
        (r#""tasks": [{"id": "t", "evaluation_criteria": null}],"#, r#""task_id": "t","#, "no milestones"),
        (
            r#""tasks": [{"id": "t", "evaluation_criteria": {"actions": null}}],"#,
            r#""task_id": "t","#,
            "no milestones",
        ),
        (
            r#""tasks": [{"id": "t", "evaluation_criteria": {"actions": []}}],"#,
            r#""task_id": "t","#,
            "no milestones",
        ),
    ] {
        let trace = one(&format!(r#"{{{tasks} "simulations": [{}]}}"#, run(task)));
        match RouteInefficiency::default().detect(&trace) {
            Verdict::NotApplicable { reason } => assert!(reason.contains(why), "{reason}, not {why}"),
            Verdict::Judged(_) => panic!("{tasks} {task}"),
        }
    }
}

const TASKS_KEY: &str = r#""tasks": [{"id": "t", "evaluation_criteria": {"actions": [{"name": "look"}]}}],"#;

#[test]
fn routes_are_left_alone_where_nobody_asks_for_them() {
    let text = format!(r#"{{"tasks": "no list", "simulations": [{RUN}]}}"#);
    let (traces, errors) = read_with(text.as_bytes(), &ReadOptions { routes: false, ..tau2() });
    assert_eq!((traces.len(), errors.len()), (1, 0));
    assert!(traces[0].routing().route().is_none());
}

/// What a scan says of a file.
fn said(scanner: &Scanner, file: &str) -> String {
    let scan = scanner.scan_slice("run.json".as_ref(), file.as_bytes());
    format!("{} {:?}", serde_json::to_string(&scan.traces).unwrap(), scan.errors)
}

#[test]
fn lists_of_tasks_are_read_alike_whatever_files_had_before() {
    let expected = |name: &str| {
        format!(
            r#"{{"id": "t", "evaluation_criteria": {{"actions": [{{"name": "{name}", "arguments": {{"a": 1}}}}]}}}}"#
        )
    };
    let (look, book) = (expected("look"), expected("book"));
    let long = |name: &str| format!(r#"[{}, {{"id": "{}"}}]"#, expected(name), "x".repeat(3 << 20));
    let lists = [
        format!("[{look}]"),
        format!("[{book}]"),
        format!("[{look}, {book}]"),
        format!(" [ {look}\n]"),
        "[]".to_owned(),
        "null".to_owned(),
        r#""[]""#.to_owned(),
        // Damaged, beside one that is not.
        format!("[{look}, {{]"),
        format!("[{look}, {{}}]"),
        format!("[{look}"),
        // So many bytes are not kept.
        long("look"),
        long("book"),
        format!("[{look}]"),
    ];
    let run = r#"{"id": "r", "task_id": "t", "messages": [
        {"role": "assistant", "tool_calls": [{"id": "1", "name": "book", "arguments": {"a": 1}}]},
        {"role": "tool", "id": "1", "content": "done"}]}"#;
    let scanner = || Scanner::new(default_detectors(), ScanOptions::default()).unwrap();
    let one = scanner();
    let mut different = BTreeSet::new();
    for _ in 0..2 {
        for tasks in &lists {
            for file in [
                format!(r#"{{"tasks": {tasks}, "simulations": [{run}]}}"#),
                format!(r#"{{"simulations": [{run}], "tasks": {tasks}}}"#),
                format!(r#"{{"tasks": {tasks}, "simulations": [{run}], "tasks": [{book}]}}"#),
            ] {
                let start = file.get(..200).unwrap_or(&file);
                let of_one = said(&one, &file);
                assert_eq!(of_one, said(&scanner(), &file), "{start}");
                different.insert(of_one);
            }
        }
    }
    assert!(different.len() > 5, "{different:?}");
}
