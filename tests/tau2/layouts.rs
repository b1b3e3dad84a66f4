//! Layouts and Orders of keys.

use super::*;
#[test]
fn every_layout_gives_the_same_run() {
    let whole =
        one(&format!(r#"{{"timestamp": "2025", "info": {INFO}, "tasks": {TASKS}, "simulations": [{RUN}]}}"#));
    let metadata = whole.metadata();
    assert_eq!(metadata.id.as_deref(), Some("r"));
    assert_eq!(metadata.model.as_deref(), Some("gpt-4.1"));
    assert_eq!(metadata.domain.as_deref(), Some("retail"));
    assert_eq!(metadata.task.as_deref(), Some("t"));
    assert_eq!(metadata.trial, Some(2));
    assert_eq!(metadata.termination.as_deref(), Some("user_stop"));
    assert_eq!(whole.reward(), Some(0.5));
    assert_eq!(lines(&whole), ["0@0 user: hi"]);
    assert_eq!(whole.unpaired(), Unpaired::default());
    assert_eq!(whole.routing().route().unwrap().milestones().len(), 1);

    for text in [format!("[{RUN}]"), RUN.to_owned(), format!("[\n{RUN}\n]\n"), format!("\n {RUN}\r\n")] {
        let bare = one(&text);
        // What the run itself says is the same; model, domain and tasks were said elsewhere.
        let mut expected = metadata.clone();
        (expected.model, expected.domain) = (None, None);
        assert_eq!(bare.metadata(), &expected);
        assert_eq!((bare.reward(), lines(&bare)), (whole.reward(), lines(&whole)));
        assert!(matches!(bare.routing(), Routing::Unknown(_)));
    }
}

#[test]
fn runs_may_stand_one_in_a_line() {
    let run = |id: &str| format!(r#"{{"id": "{id}", "task_id": "t", "messages": []}}"#);
    let traces = clean(&format!("{}\n{}\r\n\n{}\n", run("a"), run("b"), run("c")));
    assert_eq!(ids(&traces), ["a", "b", "c"]);
    // A line that is no run costs itself alone.
    let (traces, errors) = read(format!("{}\n{{\"id\": \"b\", \"messages\": 7}}\n{}\n", run("a"), run("c")));
    assert_eq!(ids(&traces), ["a", "c"]);
    assert_eq!(places(&errors), [(ErrorKind::Shape, Some(1), 2, 25)]);
}

/// What is no run of one line, between lines that are.
#[test]
fn a_run_ends_with_its_line() {
    let run = |id: &str| format!(r#"{{"id": "{id}", "task_id": "t", "messages": []}}"#);
    let list = format!(r#"{{"simulations": [{}], "seed": 7}}"#, run("c"));
    for (between, expected, lines) in [
        (String::new(), &["a", "b", "z"][..], &[][..]),
        (format!(" \n{}\t\r", run("c")), &["a", "b", "c", "z"], &[]),
        (list.clone(), &["a", "b", "c", "z"], &[]),
        (list.replace("\"seed\"", "\"messages\""), &["a", "b", "c", "z"], &[3]),
        (list.replace("\"seed\": 7", "\"messages\": []"), &["a", "b", "c", "z"], &[3]),
        (run("c").replace("\"t\"", "\"t\", \"pad\": \"é\""), &["a", "b", "c", "z"], &[]),
        // A list of runs behind the messages of one is a member like any other.
        (format!("{}, {}", run("c").trim_end_matches('}'), &list[1..]), &["a", "b", "c", "z"], &[]),
        (run("c").replace(": []", ":\n[]"), &["a", "b", "z"], &[3, 4]),
        (run("c").replace("\"t\"", "{\"u\": [\n]}"), &["a", "b", "z"], &[3, 4]),
        (run("c").replace("\"t\"", "\"\n\""), &["a", "b", "z"], &[3, 4]),
        (run("c") + &run("d"), &["a", "b", "c", "z"], &[3]),
        (run("c") + " ]", &["a", "b", "c", "z"], &[3]),
        ("{\"id\": \"c\", \"messages\": [".to_owned(), &["a", "b", "z"], &[3]),
        ("\"c\"".to_owned(), &["a", "b", "z"], &[3]),
    ] {
        for end in ["", "\n"] {
            let text = format!("{}\n{}\n{between}\n{}{end}", run("a"), run("b"), run("z"));
            let (traces, errors) = read(&text);
            assert_eq!(ids(&traces), expected, "{text}");
            assert_eq!(places(&errors).iter().map(|error| error.2).collect::<Vec<_>>(), lines, "{text}");
        }
    }
}

/// The first run is longer than what is looked at first.
#[test]
fn lines_may_begin_with_blank_ones_and_an_unsound_run() {
    let run = |id: &str| format!(r#"{{"id": "{id}", "task_id": "t", "messages": []}}"#);
    let long = |member: &str| {
        let pad = "x".repeat(6_000);
        format!(r#"{{"id": "a", "messages": [], "termination_reason": "x", {member}, "pad": "{pad}"}}"#)
    };
    for blank in ["", "\n", " \r\n\n"] {
        let text = format!("{blank}{}\n{{\"id\":\n{}\n{}\n", long("\"z\": nul"), run("c"), run("d"));
        let (traces, errors) = read(&text);
        assert_eq!((ids(&traces), errors.len()), (vec!["c", "d"], 2), "{blank:?}: {errors:?}");
        // A list is no line, though its first line is closed by a bracket that is not its own.
        let text = format!("{blank}[{}}}\n,{}\n,{}\n]\n", long("\"z\": null"), run("c"), run("d"));
        let (traces, errors) = read(&text);
        assert_eq!(ids(&traces), ["a", "c", "d"], "{blank:?}: {errors:?}");
        assert!(!errors.is_empty(), "{blank:?}");
    }
}

#[test]
fn flat_keys_stand_in_for_info() {
    let flat = one(&format!(
        r#"{{"domain": "medical", "agent": "adaptive", "model": "opus", "total_tasks": 70, "pass_rate": 98.57,
            "simulations": [{RUN}]}}"#
    ));
    assert_eq!(flat.metadata().model.as_deref(), Some("opus"));
    assert_eq!(flat.metadata().domain.as_deref(), Some("medical"));
}

#[test]
fn what_the_file_does_not_say_of_its_runs_is_not_known() {
    for header in [
        "",
        r#""info": null,"#,
        r#""info": {},"#,
        r#""info": {"agent_info": null, "environment_info": null},"#,
        r#""info": {"agent_info": {}, "environment_info": {}},"#,
        r#""info": {"agent_info": {"llm": null}, "environment_info": {"domain_name": null}},"#,
    ] {
        let trace = one(&format!(r#"{{{header} "simulations": [{RUN}]}}"#));
        assert_eq!(trace.metadata().model, None, "{header}");
        assert_eq!(trace.metadata().domain, None, "{header}");
        assert_eq!(trace.reward(), Some(0.5));
    }
}

#[test]
fn no_simulations_are_a_file_without_runs() {
    assert_eq!(clean(&format!(r#"{{"info": {INFO}, "tasks": [], "simulations": []}}"#)).len(), 0);
    assert_eq!(clean(r#"{"simulations": [ ]}"#).len(), 0);
    // An empty list may be anything, and passes for nothing.
    for text in ["[]", " [\n] "] {
        assert_eq!(read_with(text.as_bytes(), &tau2()).1.len(), 0);
        assert_eq!(read_with(text.as_bytes(), &ReadOptions::default()).1[0].kind(), ErrorKind::Format);
    }
}

#[test]
fn the_keys_of_a_file_come_in_any_order() {
    let members = [
        r#""timestamp": "2025""#,
        &format!(r#""info": {INFO}"#),
        &format!(r#""tasks": {TASKS}"#),
        &format!(r#""simulations": [{RUN}, {{"id": "s", "task_id": "elsewhere", "messages": null}}]"#),
    ];
    let expected = clean(&object(&members, &[0, 1, 2, 3]));
    assert_eq!(expected.len(), 2);
    for order in orders(members.len()) {
        let text = object(&members, &order);
        // Also where the tasks stand behind the runs: a stream is read ahead as far as that.
        assert_eq!(clean(&text), expected, "{text}");
        let (streamed, _) = stream(Drip(text.as_bytes(), 1), &tau2());
        assert_eq!(streamed, expected, "{text}");
    }
}

#[test]
fn flat_keys_may_come_behind_the_runs() {
    let trace = one(&format!(r#"{{"simulations": [{RUN}], "model": "opus", "domain": "medical"}}"#));
    assert_eq!(trace.metadata().model.as_deref(), Some("opus"));
    assert_eq!(trace.metadata().domain.as_deref(), Some("medical"));
}

#[test]
fn the_keys_of_a_run_come_in_any_order() {
    let messages = r#""messages": [{"role": "assistant", "tool_calls": [{"id": "1", "name": "look"}]},
        {"role": "tool", "id": "1", "content": "a wall"}]"#;
    let members = [
        r#""id": "r""#,
        r#""task_id": "t""#,
        r#""trial": 1"#,
        r#""termination_reason": "agent_stop""#,
        r#""reward_info": {"reward": 1.0}"#,
        messages,
    ];
    let text =
        |order: &[usize]| format!(r#"{{"tasks": {TASKS}, "simulations": [{}]}}"#, object(&members, order));
    let expected = one(&text(&[0, 1, 2, 3, 4, 5]));
    assert_eq!(expected.metadata().task.as_deref(), Some("t"));
    let reached = RouteInefficiency::default().detect(&expected).measure("milestones_reached");
    assert_eq!(reached, Some(1.0));
    for order in orders(members.len()) {
        assert_eq!(one(&text(&order)), expected);
        assert_eq!(ids(&clean(&object(&members, &order))), ["r"]);
    }
}

#[test]
fn the_keys_of_a_message_come_in_any_order() {
    let call =
        [r#""id": "1""#, r#""name": "look""#, r#""arguments": {"a": 1}"#, r#""requestor": "assistant""#];
    let answer = [r#""role": "tool""#, r#""id": "1""#, r#""content": "a wall""#, r#""error": true"#];
    for order in orders(4) {
        let calls = format!(r#""tool_calls": [{}]"#, object(&call, &order));
        let ask = [r#""role": "assistant""#, r#""content": "I look""#, &calls, r#""turn_idx": 3"#];
        let trace = run_of(&format!("[{}, {}]", object(&ask, &order), object(&answer, &order)));
        assert_eq!(
            lines(&trace),
            ["0@0 agent: I look", r#"1@0 agent look({"a":1}) #1 -> Error by Flag: a wall"#]
        );
    }
}
