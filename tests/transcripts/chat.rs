//! Messages of `OpenAI`'s chat and of Anthropic's models.

use wrongturn::read::Format;

use super::{actions, costs, known, lines, one, read, said, unpaired};

#[test]
fn calls_in_every_mark_up() {
    let chat = r#"[
        {"role": "developer", "content": "rules"},
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url"}, "b", {"text": "c"}]},
        {"role": "assistant", "content": "thinking"},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "1", "function": {"name": "f", "arguments": "{\"b\": 1.0, \"a\": null}"}},
            {"id": "2", "type": "custom", "custom": {"name": "g", "input": "ls"}},
            {"id": "3", "name": "h", "arguments": {"x": []}},
            {"id": "4", "name": "h", "args": "7"},
            {"id": "5", "function": {"arguments": " \n"}},
            {"id": "6", "function": {"name": "f", "arguments": "{broken"}},
            {"id": "7", "function": {"name": "f"}},
            {"id": "8", "function": {"name": "f", "arguments": null}},
            {"id": 9, "function": {"name": "f", "arguments": "{\"line\": \"a\\nb\"}"}},
            {"id": "none of these"}, 7
        ]},
        {"role": "assistant", "content": "", "function_call": {"name": "old", "arguments": "{}"}},
        {"role": "assistant", "content": [{"type": "text", "text": " "}, {"type": "tool_use", "id": "t", "name": "u", "input": {"k": 2}}]},
        {"role": "exit", "content": "diff", "extra": {"exit_status": "Submitted"}}
    ]"#;
    let trace =
        one(Format::AnthropicMessages, chat.replace("\"a\nb\"", "\\\"a\\nb\\\"").replace("\\\\\"", "\\\""));
    assert_eq!(
        lines(&trace),
        [
            "0 system: rules",
            "1 user: a\nb\nc",
            "2 agent: thinking",
            r#"2 f({"a":null,"b":1}) unknown/none/unanswered #1"#,
            r#"2 g({"input":"ls"}) unknown/none/unanswered #2"#,
            r#"2 h({"x":[]}) unknown/none/unanswered #3"#,
            "2 h(7) unknown/none/unanswered #4",
            "2 ({}) unknown/none/unanswered #5",
            r#"2 f("{broken") unknown/none/unanswered #6"#,
            "2 f() unknown/none/unanswered #7",
            "2 f() unknown/none/unanswered #8",
            r#"2 f({"line":"a\nb"}) unknown/none/unanswered #9"#,
            "2 old({}) unknown/none/unanswered",
            r#"2 u({"k":2}) unknown/none/unanswered #t"#,
        ]
    );
    assert_eq!((unpaired(&trace), known(&trace).as_str()), ((11, 0), "- - - - - - - Submitted"));
}

#[test]
fn arguments_with_raw_line_feeds_are_no_json() {
    let chat = r#"[{"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{\"a\": \"x\ny\"}"}}]}]"#;
    let trace = one(Format::OpenAiChat, chat);
    assert_eq!(actions(&trace), [r#"0 f("{\"a\": \"x\ny\"}") unknown/none/unanswered #1"#]);
}

#[test]
fn results_find_their_calls_by_id_or_name() {
    let call = |id: &str, name: &str| {
        format!(
            r#"{{"role": "assistant", "tool_calls": [{{"id": {id}, "function": {{"name": "{name}"}}}}]}}"#
        )
    };
    let old = |name: &str| {
        format!(r#"{{"role": "assistant", "content": null, "function_call": {{"name": "{name}"}}}}"#)
    };
    let tool = |rest: &str| format!(r#"{{"role": "tool", {rest}}}"#);
    for (elements, expected, left) in [
        // Ids repeat: the oldest that is unanswered.
        (
            vec![
                call("\"a\"", "f"),
                call("\"a\"", "g"),
                tool(r#""tool_call_id": "a", "content": "1""#),
                tool(r#""tool_call_id": "a", "content": "2""#),
            ],
            vec!["0 f() ok/none #a = 1", "0 g() ok/none #a = 2"],
            (0, 0),
        ),
        // Before its call, and without one.
        (
            vec![
                tool(r#""tool_call_id": "a", "content": "early""#),
                call("\"a\"", "f"),
                tool(r#""tool_call_id": "b", "content": "lost""#),
            ],
            vec!["1 f() ok/none #a = early"],
            (0, 1),
        ),
        // An integer is an id, an empty text is none.
        (
            vec![
                call("7", "f"),
                call("\"\"", "g"),
                tool(r#""tool_call_id": 7, "content": "1""#),
                tool(r#""tool_call_id": "", "content": "2""#),
            ],
            vec!["0 f() ok/none #7 = 1", "0 g() ok/none = 2"],
            (0, 0),
        ),
        // By name: the oldest without an id, whatever id the message has.
        (
            vec![
                call("\"a\"", "f"),
                old("f"),
                old("g"),
                old("f"),
                r#"{"role": "function", "name": "f", "tool_call_id": "a", "content": "1"}"#.to_owned(),
                tool(r#""content": "2""#),
                tool(r#""content": "3", "name": "g""#),
                tool(r#""content": "4", "name": "f""#),
            ],
            vec![
                "0 f() unknown/none/unanswered #a",
                "0 f() ok/none = 1",
                "0 g() ok/none = 2",
                "0 f() ok/none = 4",
            ],
            (1, 1),
        ),
        // Nothing without an id comes before its call.
        (vec![tool(r#""content": "1""#), old("f")], vec!["1 f() unknown/none/unanswered"], (1, 1)),
    ] {
        let trace = one(Format::OpenAiChat, format!("[{}]", elements.join(",")));
        assert_eq!(
            (actions(&trace), unpaired(&trace)),
            (expected.into_iter().map(str::to_owned).collect(), left)
        );
    }
}

#[test]
fn a_turn_is_a_run_of_messages_of_the_model() {
    let assistant = |id: &str| {
        format!(r#"{{"role": "assistant", "tool_calls": [{{"id": "{id}", "function": {{"name": "f"}}}}]}}"#)
    };
    let chat = [
        assistant("1"),
        assistant("2"),
        r#"{"role": "tool", "tool_call_id": "1", "content": null}"#.to_owned(),
        assistant("3"),
        r#"{"role": "user", "content": ""}"#.to_owned(),
        assistant("4"),
    ];
    let trace = one(Format::OpenAiChat, format!("[{}]", chat.join(",")));
    let turns: Vec<u64> = trace.steps().map(|step| step.turn()).collect();
    assert_eq!(turns, [0, 0, 3, 5]);
    assert_eq!(actions(&trace)[0], "0 f() ok/none #1");
}

#[test]
fn blocks_of_results() {
    let chat = r#"{"model": "m", "system": "s", "messages": [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [
            {"type": "text", "text": "x"}, {"type": "text", "text": "y"},
            {"type": "tool_use", "id": "a", "name": "f", "input": {}},
            {"type": "tool_use", "id": "b", "name": "f", "input": {}},
            {"type": "tool_use", "id": "", "name": "g", "input": {}},
            {"type": "tool_result", "tool_use_id": "a", "content": "no result of the model"}]},
        {"role": "system", "content": [
            {"type": "tool_result", "tool_use_id": "b", "content": [{"type": "text", "text": "1"}, {"type": "image", "n": 2.0}]},
            {"type": "tool_result", "tool_use_id": "q", "content": "lost"},
            {"type": "text", "text": "stop"},
            {"type": "tool_result", "content": "no id", "is_error": false}]},
        {"role": "tool", "tool_call_id": "a", "content": [{"type": "tool_result", "tool_use_id": "b"}, {"type": "text", "text": "t"}]}
    ]}"#;
    let trace = one(Format::AnthropicMessages, chat);
    assert_eq!(
        lines(&trace),
        [
            "0 user: go",
            "1 agent: x\ny",
            "1 f({}) ok/none #a = {\"tool_use_id\":\"b\",\"type\":\"tool_result\"}\nt",
            "1 f({}) ok/none #b = 1\n{\"n\":2,\"type\":\"image\"}",
            "1 g({}) ok/flag = no id",
            "2 system: stop",
            "2 environment: lost",
        ]
    );
    assert_eq!((unpaired(&trace), known(&trace).as_str()), ((0, 1), "- - m - - - - -"));
}

#[test]
fn what_the_object_around_messages_tells() {
    let messages = r#""messages": [{"role": "user", "content": "a"}]"#;
    for (keys, expected) in [
        ("", "- - - - - - - -"),
        (r#""id": "i", "conversation_id": "c", "session_id": "s", "trace_id": 7,"#, "7 - - - - - - -"),
        (r#""id": "i", "conversation_id": "c", "session_id": "s", "trace_id": "","#, "s - - - - - - -"),
        (r#""id": "i", "conversation_id": "c", "session_id": null,"#, "c - - - - - - -"),
        (r#""id": 12345678901234567890,"#, "12345678901234567890 - - - - - - -"),
        (r#""task_id": 7, "instance_id": "i","#, "- - - - - 7 - -"),
        (r#""task_id": "", "instance_id": "i","#, "- - - - - i - -"),
        (r#""model": "m", "agent": "a", "reward": 0.5,"#, "- - m a - - 0.5 -"),
        (r#""model": {"name": "m"}, "agent": {}, "reward": "1","#, "- - - - - - - -"),
        (
            r#""info": {"config": {"model": {"model_name": "n"}}, "exit_status": "X"}, "trajectory_format": "mini-swe-agent-1.1","#,
            "- - n mini-swe-agent - - - X",
        ),
        (r#""agent": "own", "trajectory_format": "mini-swe-agent-2","#, "- - - own - - - -"),
        (r#""object": "response", "status": "completed","#, "- - - - - - - completed"),
        (r#""status": "completed","#, "- - - - - - - -"),
    ] {
        let trace = one(Format::OpenAiChat, format!("{{{keys} {messages}}}"));
        assert_eq!(known(&trace), expected, "{keys}");
    }
}

#[test]
fn one_conversation_per_line_and_one_message_per_line() {
    let each = concat!(
        "not JSON\n",
        r#"{"session_id": "l1", "messages": [{"role": "user", "content": "a"}]}"#,
        "\n\n",
        r#"{"other": 1}"#,
        "\r\n[1]\n",
        r#"{"session_id": "l2", "messages": [{"role": "user", "content": "b"}]}"#,
        "\n",
        r#"{"session_id": "l3", "messages": [{"role"#,
    );
    let (traces, reading) = read(each);
    let ids: Vec<_> = traces.iter().map(|trace| trace.metadata().id.clone().unwrap()).collect();
    assert_eq!((ids, reading.format), (vec!["l1".to_owned(), "l2".to_owned()], Some(Format::OpenAiChat)));
    let passed: Vec<_> = reading.passed_over.iter().map(|(why, count)| (&**why, *count)).collect();
    assert_eq!(
        passed,
        [("lines of no known format", 1), ("lines that are no JSON", 2), ("lines that are no object", 1)]
    );

    let together = "{\"role\": \"user\", \"content\": \"a\"}\nstderr\n{\"role\": \"assistant\", \"content\": \"b\"}\n{\"ro";
    let (traces, reading) = read(together);
    assert_eq!(lines(&traces[0]), ["0 user: a", "1 agent: b"]);
    assert_eq!(reading.passed_over.get("lines that are no JSON"), Some(&2));

    // A single line, and one that is no message among many.
    let trace = one(Format::OpenAiChat, r#"{"role": "user", "content": "a"}"#);
    assert_eq!(lines(&trace), ["0 user: a"]);
    let (traces, reading) = read("{\"role\": \"user\", \"content\": \"a\"}\n{\"role\": \"user\"}\n");
    assert!(traces.is_empty() && reading.errors.len() == 1, "{reading:?}");
}

#[test]
fn an_element_that_is_none_is_found_wherever_it_stands() {
    let message = r#"{"role": "user", "content": "a"}"#;
    for place in [0, 63, 64, 65, 200] {
        for wrong in [
            r#"{"role": "user"}"#,
            "7",
            r#"{"content": "a"}"#,
            r#"{"role": "user", "content": "a", "parts": []}"#,
        ] {
            let mut elements = vec![message; 201];
            elements[place] = wrong;
            let list = format!("[{}]", elements.join(","));
            for input in [list.clone(), format!("{{\"messages\": {list}}}"), elements.join("\n")] {
                let (traces, reading) = read(&input);
                // A line that is no object is no element.
                if wrong == "7" && !input.contains('[') {
                    assert_eq!((traces.len(), reading.errors.len()), (1, 0));
                } else {
                    assert!(traces.is_empty(), "{wrong} at {place}");
                    assert_eq!(reading.errors[0].kind(), wrongturn::ErrorKind::Format, "{wrong} at {place}");
                }
            }
        }
        // One item makes items of all.
        let mut elements = vec![message; 201];
        elements[place] = r#"{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}"#;
        let trace = one(Format::OpenAiResponses, format!("[{}]", elements.join(",")));
        assert_eq!(actions(&trace), ["0 f({}) unknown/none/unanswered #c"]);
    }
}

#[test]
fn tokens_and_times_are_those_of_the_response() {
    let chat = r#"[
        {"role": "assistant", "content": "a", "usage": {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}, "timestamp": "2026-01-01T00:00:00Z"},
        {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f"}}], "timestamp": 1767225601.5},
        {"role": "tool", "tool_call_id": "1", "content": "x"},
        {"role": "assistant", "tool_calls": [{"id": "2", "function": {"name": "f"}}],
         "extra": {"timestamp": 1767225602, "response": {"usage": {"prompt_tokens": 10, "completion_tokens": 3}}}},
        {"role": "tool", "tool_call_id": "2", "content": "x"},
        {"role": "assistant", "tool_calls": [{"id": "3", "function": {"name": "f"}}]}
    ]"#;
    let trace = one(Format::OpenAiChat, chat);
    let start = 1_767_225_600_000_000_000;
    assert_eq!(
        costs(&trace),
        [
            [Some(9), Some(2), Some(4), None, Some(start + 1_500_000_000)],
            [Some(10), Some(3), None, None, Some(start + 2_000_000_000)],
            [None; 5],
        ]
    );
    assert_eq!(trace.steps().next().unwrap().time(), Some(start));
}

#[test]
fn messages_bear_the_tokens_of_responses_without_calls() {
    let chat = r#"[
        {"role": "user", "content": "go", "usage": {"prompt_tokens": 1}},
        {"role": "assistant", "content": "a", "usage": {"prompt_tokens": 9, "completion_tokens": 2}},
        {"role": "user", "content": "no"},
        {"role": "assistant", "content": "b", "extra": {"response": {"usage": {"prompt_tokens": 10}}}},
        {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f"}}]},
        {"role": "tool", "tool_call_id": "1", "content": "x"},
        {"role": "assistant", "content": "c",
         "usage": {"prompt_tokens": 11, "prompt_tokens_details": {"cached_tokens": 4}}},
        {"role": "user", "content": "on"},
        {"role": "assistant", "content": "d"}
    ]"#;
    let trace = one(Format::OpenAiChat, chat);
    assert_eq!(said(&trace), [(1, [Some(9), None, Some(2)]), (6, [Some(11), Some(4), None])]);
    assert_eq!(costs(&trace), [[Some(10), None, None, None, None]]);
}
