//! Steps, turns, actors and Status.

use super::*;
#[test]
fn steps_are_texts_and_calls_in_order() {
    let trace = run_of(
        r#"[
        {"role": "system", "content": "You are an agent."},
        {"role": "assistant", "content": "Hi!", "tool_calls": null},
        {"role": "user", "content": "My order?"},
        {"role": "assistant", "content": "One moment.", "tool_calls": [
            {"id": "a", "name": "get_user", "arguments": {"name": "Ann", "age": 7}, "requestor": "assistant"},
            {"id": "b", "name": "get_order", "arguments": {}}]},
        {"role": "tool", "id": "a", "content": "ann_7", "requestor": "assistant", "error": false},
        {"role": "tool", "id": "b", "content": "shipped", "requestor": "assistant", "error": false},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "name": "log", "arguments": null}]},
        {"role": "tool", "id": "c", "content": null, "error": false},
        {"role": "assistant", "content": "Shipped."}]"#,
    );
    // Turns are the places of the messages; a paired answer is no step of its own.
    assert_eq!(
        lines(&trace),
        [
            "0@0 system: You are an agent.",
            "1@1 agent: Hi!",
            "2@2 user: My order?",
            "3@3 agent: One moment.",
            r#"4@3 agent get_user({"age":7,"name":"Ann"}) #a -> Ok by Flag: ann_7"#,
            "5@3 agent get_order({}) #b -> Ok by Flag: shipped",
            "6@6 agent log() #c -> Ok by Flag",
            "7@8 agent: Shipped.",
        ]
    );
    assert_eq!(trace.unpaired(), Unpaired::default());
}

#[test]
fn twenty_calls_of_one_message_share_its_turn() {
    let calls: Vec<String> =
        (0..20).map(|i| format!(r#"{{"id": "c{i}", "name": "look", "arguments": {{"at": {i}}}}}"#)).collect();
    let answers: Vec<String> =
        (0..20).rev().map(|i| format!(r#"{{"role": "tool", "id": "c{i}", "content": "saw {i}"}}"#)).collect();
    let trace = run_of(&format!(
        r#"[{{"role": "user", "content": "go"}}, {{"role": "assistant", "content": null, "tool_calls": [{}]}}, {}]"#,
        calls.join(","),
        answers.join(",")
    ));
    let expected: Vec<String> = (0..20)
        .map(|i| format!(r#"{}@1 agent look({{"at":{i}}}) #c{i} -> Ok by None: saw {i}"#, i + 1))
        .collect();
    assert_eq!(lines(&trace)[1..], expected);
}

#[test]
fn a_message_without_text_is_no_step() {
    let trace = run_of(
        r#"[{"role": "user", "content": null}, {"role": "user", "content": ""}, {"role": "user"},
            {"role": "assistant", "content": null, "tool_calls": null}, {"role": "system", "content": ""},
            {"role": "assistant", "content": "", "tool_calls": []}, {"role": "user", "content": " "}]"#,
    );
    assert_eq!(lines(&trace), ["0@6 user:  "]);
}

#[test]
fn users_call_tools_too() {
    let trace = run_of(
        r#"[
        {"role": "user", "content": "I try", "tool_calls": [
            {"id": "u1", "name": "toggle_data", "arguments": {}, "requestor": "user"},
            {"id": "u2", "name": "check_status", "arguments": {}}]},
        {"role": "tool", "id": "u1", "content": "on", "requestor": "user", "error": false},
        {"role": "tool", "id": "u2", "content": "Error: no signal", "requestor": "user", "error": true},
        {"role": "assistant", "tool_calls": [
            {"id": "a1", "name": "get_line", "requestor": null},
            {"id": "a2", "name": "reset_phone", "requestor": "user"}]},
        {"role": "tool", "id": "a1", "content": "active"},
        {"role": "tool", "id": "a2", "content": "done", "requestor": "user"}]"#,
    );
    // A call without a requestor is its message's.
    assert_eq!(
        lines(&trace),
        [
            "0@0 user: I try",
            "1@0 user toggle_data({}) #u1 -> Ok by Flag: on",
            "2@0 user check_status({}) #u2 -> Error by Flag: Error: no signal",
            "3@3 agent get_line() #a1 -> Ok by None: active",
            "4@3 user reset_phone() #a2 -> Ok by None: done",
        ]
    );
}

#[test]
fn an_error_is_flagged_or_begins_with_error() {
    for (answer, expected) in [
        (r#""content": "fine", "error": false"#, "Ok by Flag"),
        (r#""content": "fine", "error": true"#, "Error by Flag"),
        (r#""content": "Error: no such user", "error": true"#, "Error by Flag"),
        // The text tells where the flag is missing, and against the flag.
        (r#""content": "Error: no such user", "error": false"#, "Error by Text"),
        (r#""content": "Error: no such user", "error": null"#, "Error by Text"),
        (r#""content": "Error: no such user""#, "Error by Text"),
        (r#""content": "Error""#, "Error by Text"),
        (r#""content": "Errors are shown below""#, "Error by Text"),
        (r#""content": "\u0045rror: spelled otherwise""#, "Error by Text"),
        (r#""content": "Error \"quoted\"""#, "Error by Text"),
        (r#""content": "error: no such user""#, "Ok by None"),
        (r#""content": " Error: no such user""#, "Ok by None"),
        (r#""content": "\nError: no such user""#, "Ok by None"),
        (r#""content": "No Error""#, "Ok by None"),
        (r#""content": "Erro""#, "Ok by None"),
        (r#""content": "fine""#, "Ok by None"),
        (r#""content": null"#, "Ok by None"),
        (r#""content": """#, "Ok by None"),
        (r#""requestor": "assistant""#, "Ok by None"),
        (r#""error": true"#, "Error by Flag"),
        (r#""content": null, "error": false"#, "Ok by Flag"),
    ] {
        let trace = run_of(&format!(
            r#"[{{"role": "assistant", "tool_calls": [{{"id": "1", "name": "look"}}]}},
                {{"role": "tool", "id": "1", {answer}}}]"#
        ));
        assert_eq!(statuses(&trace), [expected], "{answer}");
        assert_eq!(trace.unpaired(), Unpaired::default());
    }
}

#[test]
fn a_call_without_an_answer_has_no_known_status() {
    let trace = run_of(r#"[{"role": "assistant", "tool_calls": [{"id": "1", "name": "look"}]}]"#);
    assert_eq!(lines(&trace), ["0@0 agent look() #1 -> Unknown by None"]);
    assert_eq!(trace.unpaired(), unpaired(1, 0));
}
