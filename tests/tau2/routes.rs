//! Tests the reference routes of tasks, and which calls reach their milestones.

use super::*;

/// Returns the number of milestones that a run with this call reaches.
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
        // Without `compare_args`, or with null, all arguments must be equal, in any order and spelling.
        ("", r#"{"a": 1, "b": {"c": 2, "d": "x"}}"#, 1.0),
        (r#", "compare_args": null"#, r#"{"b": {"d": "\u0078", "c": 2.0}, "a": 1.0}"#, 1.0),
        (r#", "compare_args": null"#, r#"{"a": 1, "b": {"c": 2, "d": "y"}}"#, 0.0),
        (r#", "compare_args": null"#, r#"{"a": 1}"#, 0.0),
        (r#", "compare_args": null"#, r#"{"a": 1, "b": {"c": 2, "d": "x"}, "e": null}"#, 0.0),
        // `[]` compares only the name.
        (r#", "compare_args": []"#, "{}", 1.0),
        (r#", "compare_args": []"#, "null", 1.0),
        (r#", "compare_args": []"#, r#"{"a": "other"}"#, 1.0),
        // A list compares the arguments that it names.
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
fn a_run_that_was_checked_for_other_actions_has_no_route() {
    let read = |checked: &str| {
        one(&format!(
            r#"{{"tasks": [{{"id": "t", "evaluation_criteria": {{"actions": [{{"action_id": "7_0", "name": "look"}}]}}}}],
                "simulations": [{{"id": "r", "task_id": "t",
                    "reward_info": {{"reward": 1, "action_checks": {checked}}}, "messages": []}}]}}"#
        ))
    };
    for checked in ["null", "[]", r#"[{"action": {"action_id": "7_0"}}]"#] {
        assert!(read(checked).routing().route().is_some(), "{checked}");
    }
    let other = read(r#"[{"action": {"action_id": "2_0"}}]"#);
    let reason = "the run was checked against actions other than those of task t";
    assert_eq!(*other.routing(), wrongturn::trace::RouteStatus::Unknown(reason.into()));
}

#[test]
fn tasks_are_not_read_if_routes_are_off() {
    let text = format!(r#"{{"tasks": "no list", "simulations": [{RUN}]}}"#);
    let (traces, errors) = read_with(text.as_bytes(), &ReadOptions { routes: false, ..tau2() });
    assert_eq!((traces.len(), errors.len()), (1, 0));
    assert!(traces[0].routing().route().is_none());
}

/// Returns the records and errors of a scan.
fn scan(scanner: &Scanner, file: &str) -> String {
    let scan = scanner.scan_slice("run.json".as_ref(), file.as_bytes());
    format!("{} {:?}", serde_json::to_string(&scan.traces).unwrap(), scan.errors)
}

#[test]
fn a_scanner_reads_tasks_as_a_fresh_one_does() {
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
        format!("[{look}, {{]"),
        format!("[{look}, {{}}]"),
        format!("[{look}"),
        // Too long to be cached.
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
                let of_one = scan(&one, &file);
                assert_eq!(of_one, scan(&scanner(), &file), "{start}");
                different.insert(of_one);
            }
        }
    }
    assert!(different.len() > 5, "{different:?}");
}
