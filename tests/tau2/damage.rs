//! Damage.

use super::*;
/// Where the second run of the following file is.
const SECOND_LINE: u64 = 5;

/// A file of three runs, the second of which has this member.
pub(crate) fn with_member(member: &str) -> String {
    format!(
        r#"{{"info": {INFO}, "tasks": {TASKS}, "simulations": [
            {{"id": "a", "task_id": "t", "messages": []}},
            {{"id": "b", {member}}},
            {{"id": "c", "task_id": "t", "messages": []}}]}}"#
    )
}

#[test]
fn a_wrong_type_costs_its_run_alone() {
    let before = clean(&with_member(r#""messages": []"#));
    for member in [
        r#""messages": 7"#,
        r#""messages": "none""#,
        r#""messages": {"role": "user"}"#,
        r#""messages": [7]"#,
        r#""messages": [null]"#,
        r#""messages": [[]]"#,
        r#""messages": [{"content": "no role"}]"#,
        r#""messages": [{"role": "wizard"}]"#,
        r#""messages": [{"role": "user", "content": 7}]"#,
        r#""messages": [{"role": "user", "content": {"text": "hi"}}]"#,
        r#""messages": [{"role": "assistant", "tool_calls": {}}]"#,
        r#""messages": [{"role": "assistant", "tool_calls": [{"id": "1"}]}]"#,
        r#""messages": [{"role": "assistant", "tool_calls": [{"id": "1", "name": 7}]}]"#,
        r#""messages": [{"role": "assistant", "tool_calls": [{"id": [], "name": "look"}]}]"#,
        r#""messages": [{"role": "tool", "error": "yes"}]"#,
        r#""messages": [{"role": "tool", "content": true}]"#,
        r#""messages": [{"role": "tool", "tool_messages": 7}]"#,
        r#""messages": [{"role": "user", "content": "some steps"}], "trial": "first""#,
        r#""messages": [], "trial": 1.5"#,
        r#""messages": [], "trial": -1"#,
        r#""messages": [], "task_id": ["t"]"#,
        r#""messages": [], "task_id": true"#,
        r#""messages": [], "reward_info": "high""#,
        r#""messages": [], "reward_info": {"reward": "high"}"#,
        r#""messages": [], "reward_info": {"reward": true}"#,
        r#""messages": [], "termination_reason": 7"#,
    ] {
        let (traces, errors) = read(with_member(member));
        assert_eq!(ids(&traces), ["a", "c"], "{member}");
        assert_eq!(traces, [before[0].clone(), before[2].clone()], "{member}");
        let [error] = &errors[..] else { panic!("{member}: {errors:?}") };
        assert_eq!((error.kind(), error.run()), (ErrorKind::Shape, Some(1)), "{member}: {error}");
        assert_eq!(error.location().map(|at| at.line), Some(SECOND_LINE), "{member}: {error}");
        assert_eq!(error.path(), None);
        assert!(!error.message().contains(" line "), "the place stands apart: {error}");
    }
}

/// One fault, of the shape, which costs the second run and nothing else.
#[track_caller]
fn costs_the_second_run(member: &str) {
    let (traces, errors) = read(with_member(member));
    assert_eq!(ids(&traces), ["a", "c"], "{member}");
    assert_eq!((errors.len(), errors[0].run()), (1, Some(1)), "{member}");
    assert_eq!(errors[0].kind(), ErrorKind::Shape, "{member}: {}", errors[0]);
}

#[test]
fn a_role_of_a_wrong_type_is_json_of_a_wrong_shape() {
    for member in [
        r#""messages": [{"role": null}]"#,
        r#""messages": [{"role": 7}]"#,
        r#""messages": [{"role": ["user"]}]"#,
        r#""messages": [{"role": "assistant", "tool_calls": [{"name": "look", "requestor": 3}]}]"#,
    ] {
        costs_the_second_run(member);
    }
}

#[test]
fn a_list_is_no_object_by_position() {
    for member in [
        r#""messages": [], "reward_info": []"#,
        r#""messages": [], "reward_info": [1.0]"#,
        r#""messages": [["user", "hi"]]"#,
        r#""messages": [{"role": "assistant", "tool_calls": [["1", "look"]]}]"#,
        r#""messages": [{"role": "tool", "tool_messages": [["1", "a wall", true]]}]"#,
    ] {
        costs_the_second_run(member);
    }
    for header in
        [r#""info": []"#, r#""tasks": [["t"]]"#, r#""tasks": [{"id": "t", "evaluation_criteria": []}]"#]
    {
        let (traces, errors) = read(format!(r#"{{{header}, "simulations": [{RUN}]}}"#));
        assert_eq!((traces.len(), errors.len()), (1, 1), "{header}");
        assert_eq!((errors[0].kind(), errors[0].run()), (ErrorKind::Shape, None), "{header}");
    }
}

#[test]
fn what_is_no_run_costs_itself_alone() {
    for element in
        ["7", "null", "true", r#""a run""#, "[]", r#"[{"id": "x"}]"#, "{}", r#"{"what": "is this"}"#]
    {
        for (open, close) in [("[", "]"), (r#"{"simulations": ["#, "]}")] {
            let run = |id: &str| format!(r#"{{"id": "{id}", "messages": []}}"#);
            let (traces, errors) = read(format!("{open}{}, {element}, {}{close}", run("a"), run("c")));
            assert_eq!(ids(&traces), ["a", "c"], "{element}");
            assert_eq!(errors.len(), 1, "{element}: {errors:?}");
            assert_eq!((errors[0].kind(), errors[0].run()), (ErrorKind::Shape, Some(1)), "{element}");
        }
    }
}

const NO_RUNS: [&str; 6] = ["7", "null", "[]", "{}", r#"{"messages" []}"#, r#"{"id" "a", "messages": []}"#];

#[test]
fn a_first_run_that_is_none_costs_itself_alone() {
    for element in NO_RUNS {
        for text in [format!(r#"{{"simulations": [{element}, {RUN}]}}"#), format!("[{element}, {RUN}]")] {
            let (traces, errors) = read_with(text.as_bytes(), &tau2());
            assert_eq!((ids(&traces), errors.len()), (vec!["r"], 1), "{text}");
            assert_eq!(errors[0].run(), Some(0), "{text}");
        }
    }
}

#[test]
fn the_format_is_found_behind_a_first_run_that_is_none() {
    for element in NO_RUNS {
        for text in [format!(r#"{{"simulations": [{element}, {RUN}]}}"#), format!("[{element}, {RUN}]")] {
            let (traces, errors) = read_with(text.as_bytes(), &ReadOptions::default());
            assert_eq!((ids(&traces), errors.len()), (vec!["r"], 1), "{text}: {errors:?}");
            assert_eq!(errors[0].run(), Some(0), "{text}");
        }
    }
}

#[test]
fn broken_json_within_its_brackets_costs_its_run_alone() {
    for member in [
        // What Python's json module writes for numbers that JSON has not.
        r#""messages": [], "reward_info": {"reward": NaN}"#,
        r#""messages": [], "reward_info": {"reward": -Infinity}"#,
        r#""messages": [], "reward_info": {"reward": 1e999}"#,
        r#""messages": [], "trial": 01"#,
        r#""messages": [], "trial": "#,
        r#""messages": [,]"#,
        r#""messages" []"#,
        r#""messages": [], "#,
        r#""messages": [] "trial": 1"#,
        r#""messages": [{"role": "user", "content": "\q"}]"#,
        r#""messages": [{"role": "user", "content": "\ud8"}]"#,
        "\"messages\": [{\"role\": \"user\", \"content\": \"a\tb\"}]",
        r#""messages": [], "extra": nul"#,
    ] {
        let (traces, errors) = read(with_member(member));
        assert_eq!(ids(&traces), ["a", "c"], "{member}");
        assert_eq!(errors.len(), 1, "{member}: {errors:?}");
        assert_eq!(errors[0].run(), Some(1), "{member}");
        assert!(matches!(errors[0].kind(), ErrorKind::Syntax | ErrorKind::Truncated), "{}", errors[0]);
        assert_eq!(errors[0].location().map(|at| at.line), Some(SECOND_LINE), "{member}: {}", errors[0]);
    }
    // Bytes that are no UTF-8 are read as U+FFFD, and counted.
    let mut bytes = with_member(r#""messages": [{"role": "user", "content": "~"}]"#).into_bytes();
    let at = bytes.iter().position(|byte| *byte == b'~').unwrap();
    bytes[at] = 0xff;
    let (traces, errors) = read(&bytes);
    assert_eq!((ids(&traces), errors.len()), (vec!["a", "b", "c"], 0));
    assert_eq!(lines(&traces[1]), ["0@0 user: \u{fffd}"]);
    let counted = read_traces(&bytes, &tau2()).1.passed_over;
    assert_eq!(counted.into_values().collect::<Vec<_>>(), [1]);
}

const INDENTED: &str = r#"{
  "info": null,
  "simulations": [
    {
      "id": "a",
      "messages": []
    },
    {
      "id": "é",
      "trial": "first",
      "messages": []
    },
    {
      "id": "c",
      "messages": [
        {
          "role": "user",
          "content": "hi"
        },
        {
          "role": "assistant",
          "content": ["hello", "there"],
          "tool_calls": null
        }
      ]
    }, {"é": "é", "messages": 7},
    {
      "id": "e",
      "reward_info": {
        "reward": tru
      }
    },
    {
      "id": "f",
      "messages": null
    }
  ]
}
"#;

#[test]
fn errors_have_their_line_and_column() {
    let (traces, errors) = read(INDENTED);
    assert_eq!(ids(&traces), ["a", "f"]);
    // Columns count bytes, from 1; that of a wrong value is where it begins.
    assert_eq!(
        places(&errors)[..3],
        [
            (ErrorKind::Shape, Some(1), 10, 16),
            (ErrorKind::Shape, Some(2), 22, 22),
            (ErrorKind::Shape, Some(3), 26, 33),
        ]
    );
    assert_eq!(errors.len(), 4);
    assert_eq!(errors[0].to_string(), "run 1: line 10 column 16: expected a number, found a string");
    // Line ends of another system move no line.
    let (_, crlf) = read(INDENTED.replace('\n', "\r\n"));
    assert_eq!(places(&crlf)[..3], places(&errors)[..3]);
    // Without line ends everything is in the first line.
    let flat = INDENTED.replace('\n', " ").replace("\"first\"", "7.5");
    let (_, errors) = read(&flat);
    let place = flat.find("7.5").unwrap() + 1;
    assert_eq!(places(&errors)[0], (ErrorKind::Shape, Some(1), 1, place as u64));
}

#[test]
fn an_error_at_the_end_of_a_line_is_in_that_line() {
    let (_, errors) = read(INDENTED);
    let (kind, run, line, column) = places(&errors)[3];
    assert_eq!((kind, run, line), (ErrorKind::Syntax, Some(4), 30));
    assert!((19..=22).contains(&column), "{column}");
    // Columns count from 1, also at the start of a line.
    for text in ["[\n[]]", "[\n\n[], 7]", "{\"simulations\": [\n{\"messages\":\n{}}]}"] {
        let (_, errors) = read_with(text.as_bytes(), &tau2());
        let line = text.lines().count() as u64;
        assert_eq!(errors[0].location(), Some(Location { line, column: 1 }), "{text:?}");
    }
}

#[test]
fn an_error_in_what_the_file_says_of_its_runs_costs_no_run() {
    for (header, line, column) in [
        ("\"info\": \"none\"", 2, 9),
        ("\"info\": {\"agent_info\": {\"llm\": 7}}", 2, 32),
        ("\"tasks\": 7.25", 2, 10),
        ("\"tasks\": [\n{\"id\": \"t\", \"evaluation_criteria\": 7}]", 3, 36),
    ] {
        for text in [
            format!("{{\n{header},\n\"simulations\": [{RUN}, 7, {RUN}]}}"),
            format!(
                "{{\n{header}, \"domain\": \"d\", \"model\": \"m\",\n\"simulations\": [{RUN}, 7, {RUN}]}}"
            ),
        ] {
            let (traces, errors) = read(&text);
            assert_eq!(traces.len(), 2, "{text}");
            assert_eq!(places(&errors)[0], (ErrorKind::Shape, None, line, column), "{text}");
            assert_eq!((errors.len(), errors[1].run()), (2, Some(1)), "{text}");
        }
    }
}

#[test]
fn runs_that_are_no_list_are_an_error_of_the_file() {
    for runs in ["null", "7", "{}", r#""many""#] {
        let (traces, errors) = read(format!(r#"{{"info": {INFO}, "simulations": {runs}}}"#));
        assert_eq!(traces.len(), 0);
        assert_eq!((errors.len(), errors[0].kind(), errors[0].run()), (1, ErrorKind::Shape, None), "{runs}");
        assert!(errors[0].location().is_some());
    }
    // A file that says something of runs and has none.
    for text in [format!(r#"{{"info": {INFO}, "tasks": {TASKS}}}"#), r#"{"tasks": null}"#.to_owned()] {
        let (traces, errors) = read_with(text.as_bytes(), &tau2());
        assert_eq!(traces.len(), 0);
        assert_eq!((errors.len(), errors[0].kind(), errors[0].run()), (1, ErrorKind::Shape, None), "{text}");
    }
}

/// A file of three runs, with the places of the runs.
pub(crate) fn three_runs(open: &str, close: &str) -> (String, [Range<usize>; 3]) {
    let mut text = open.to_owned();
    let places = [0, 1, 2].map(|i| {
        if i > 0 {
            text.push_str(",\n  ");
        }
        let start = text.len();
        write!(
            text,
            r#"{{"id": "{i}", "task_id": "t", "reward_info": {{"reward": 1.0}}, "messages": [
    {{"role": "user", "content": "look"}},
    {{"role": "assistant", "content": null, "tool_calls": [{{"id": "c", "name": "look", "arguments": {{"at": {i}}}}}]}},
    {{"role": "tool", "id": "c", "content": "a \"wall\"", "error": false}}
  ], "trial": {i}}}"#
        )
        .unwrap();
        start..text.len()
    });
    text.push_str(close);
    (text, places)
}

#[test]
fn a_truncated_file_keeps_its_complete_runs() {
    let header = format!("{{\"info\": {INFO}, \"tasks\": {TASKS},\n\"simulations\": [");
    for (open, close) in [(&*header, "]}"), ("[", "]")] {
        let (text, places) = three_runs(open, close);
        let whole = clean(&text);
        assert_eq!(whole.len(), 3);
        for cut in 0..text.len() {
            let complete = places.iter().filter(|place| place.end <= cut).count();
            let (traces, _) = read_with(&text.as_bytes()[..cut], &ReadOptions::default());
            assert_eq!(traces, whole[..complete], "cut at {cut}");
            let (traces, errors) = read_with(&text.as_bytes()[..cut], &tau2());
            assert_eq!(traces, whole[..complete], "cut at {cut}");
            let kind = if cut == 0 { ErrorKind::Empty } else { ErrorKind::Truncated };
            let last = errors.last().unwrap();
            assert_eq!(last.kind(), kind, "cut at {cut}: {last}");
            // Within a run the error is that run's, and the only one.
            if places.get(complete).is_some_and(|place| place.start < cut) {
                assert_eq!((errors.len(), last.run()), (1, Some(complete as u64)), "cut at {cut}: {last}");
            }
        }
    }
}

#[test]
fn a_truncation_is_one_error() {
    for text in [
        "{",
        "{\"info\"",
        "{\"info\":",
        "{\"info\": {\"agent_info\"",
        "{\"info\": null,",
        "{\"simulations\"",
        "{\"simulations\":",
        "{\"simulations\": [",
        "{\"simulations\": [{\"id\": \"a\"",
        "{\"simulations\": [{\"id\": \"a\", \"messages\": []}",
        "{\"simulations\": [{\"id\": \"a\", \"messages\": []},",
        "{\"simulations\": []",
        "{\"simulations\": [],",
        "[",
        "[{\"id\": \"a\", \"messages\": [",
    ] {
        let (_, errors) = read_with(text.as_bytes(), &tau2());
        assert_eq!(errors.len(), 1, "{text}: {errors:?}");
        assert_eq!(errors[0].kind(), ErrorKind::Truncated, "{text}");
        let column = text.len() as u64 + 1;
        assert_eq!(errors[0].location(), Some(Location { line: 1, column }), "{text}");
    }
}

#[test]
fn a_truncated_line_costs_itself_alone() {
    let run = |id: &str| {
        format!(r#"{{"id": "{id}", "reward_info": null, "messages": [{{"role": "user", "content": "hi"}}]}}"#)
    };
    let text = format!("{}\n{}\n{}", run("a"), run("b"), run("c"));
    let (traces, errors) = read(&text[..text.len() - 9]);
    assert_eq!(ids(&traces), ["a", "b"]);
    assert_eq!((errors.len(), errors[0].kind(), errors[0].run()), (1, ErrorKind::Truncated, Some(2)));
    assert_eq!(errors[0].location().map(|at| at.line), Some(3));
}

#[test]
fn the_truncation_is_where_the_input_ends() {
    let text = "{\"simulations\": [\n{\"id\": \"a\", \"messages\": []},\n{\"id\": \"b\",\n \"mess";
    let (traces, errors) = read(text);
    assert_eq!(ids(&traces), ["a"]);
    assert_eq!(places(&errors), [(ErrorKind::Truncated, Some(1), 4, 7)]);
}

#[test]
fn garbage_behind_a_file_costs_no_run() {
    let (text, _) = three_runs("[", "]");
    let whole = clean(&text);
    for behind in ["]", "}", "garbage", ", {}", "7", "\u{0}", "\"", ",", "null"] {
        let (traces, errors) = read(format!("{text}\n{behind}"));
        assert_eq!(traces, whole, "{behind}");
        assert_eq!(errors.len(), 1, "{behind}: {errors:?}");
        let line = text.lines().count() as u64 + 1;
        assert_eq!(errors[0].location(), Some(Location { line, column: 1 }), "{behind}");
        assert_eq!(errors[0].run(), None, "{behind}");
    }
}

#[test]
fn what_is_no_result_is_a_located_error() {
    for (text, kind, line, column) in [
        ("7", ErrorKind::Format, 1, 1),
        ("\n \"a text\"", ErrorKind::Format, 2, 2),
        ("null", ErrorKind::Format, 1, 1),
        ("{}", ErrorKind::Format, 1, 1),
        (" {\"a\": {\"messages\": []}}", ErrorKind::Format, 1, 2),
        ("[[]]", ErrorKind::Format, 1, 1),
        ("hello", ErrorKind::Syntax, 1, 1),
        ("<html></html>", ErrorKind::Syntax, 1, 1),
        ("\n\n  PK\u{3}\u{4}", ErrorKind::Syntax, 3, 3),
    ] {
        let (traces, errors) = read_with(text.as_bytes(), &ReadOptions::default());
        assert_eq!(traces.len(), 0, "{text}");
        assert_eq!(places(&errors), [(kind, None, line, column)], "{text}: {errors:?}");
        // With the format told there is an error all the same.
        let (traces, errors) = read_with(text.as_bytes(), &tau2());
        assert_eq!(traces.len(), 0, "{text}");
        assert_eq!(errors.len(), 1, "{text}: {errors:?}");
    }
}

#[test]
fn an_empty_input_is_an_error_of_its_own() {
    for text in ["", " ", "\n\n\t\r\n", "\u{feff}", "\u{feff}\n"] {
        let (traces, errors) = read(text);
        assert_eq!((traces.len(), errors.len()), (0, 1), "{text:?}");
        assert_eq!((errors[0].kind(), errors[0].run()), (ErrorKind::Empty, None), "{text:?}");
    }
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_file() {
    for text in [format!("[{RUN}]"), RUN.to_owned(), format!(r#"{{"info": {INFO}, "simulations": [{RUN}]}}"#)]
    {
        assert_eq!(clean(&format!("\u{feff}{text}")), clean(&text));
    }
    let (traces, errors) = read(format!("\u{feff}{INDENTED}"));
    assert_eq!(ids(&traces), ["a", "f"]);
    assert_eq!(places(&errors)[..3], places(&read(INDENTED).1)[..3]);
}

#[test]
fn a_quote_lost_in_the_first_line_costs_that_line_alone() {
    let line = |id: usize| {
        format!(
            r#"{{"id": "{id}", "task_id": "t", "termination_reason": "x", "info": {{"note": "x"}}, "messages": [{{"role": "user", "content": "hi"}}]}}"#
        )
    };
    // More than any sample that is taken to recognise the format, but for the last.
    let text = (0..20_000).map(|id| line(id) + "\n").collect::<String>();
    for (sound, damaged) in
        [(r#""x""#, r#""x"#), (r#""x""#, r#"x""#), ("{\"note\"", "{note\""), ("}, ", ", ")]
    {
        let (start, rest) = text.split_at(text.find("\"info\"").unwrap());
        let text = start.to_owned() + &rest.replacen(sound, damaged, 1);
        let (traces, errors) = read_with(text.as_bytes(), &ReadOptions::default());
        assert!((19_999..=20_000).contains(&traces.len()), "{damaged}: {} runs", traces.len());
        let [error] = &errors[..] else { panic!("{damaged}: {errors:?}") };
        assert_eq!(error.location().unwrap().line, 1, "{damaged}: {error}");
    }
}

#[test]
fn what_stands_unsound_in_arguments_of_a_task_is_an_error() {
    for arguments in [r#"{"a": 1 2}"#, r#"{"a": [1, ]}"#, r#"{"a": "\x"}"#, "{'a': 1}"] {
        let tasks = format!(
            r#"[{{"id": "t", "evaluation_criteria": {{"actions": [{{"name": "look", "arguments": {arguments}}}]}}}}]"#
        );
        let text = format!(
            r#"{{"tasks": {tasks}, "simulations": [{{"id": "a", "task_id": "t", "messages": []}}]}}"#
        );
        let (traces, errors) = read(&text);
        assert!(!errors.is_empty() && ids(&traces) == ["a"], "{arguments}: {errors:?}");
    }
}

/// A document with a run in each line, in which something beside the runs is unsound.
#[test]
fn what_is_unsound_in_a_header_makes_a_document_no_lines() {
    let runs = (0..100).map(|id| format!(r#"{{"id": "{id}", "task_id": "t", "messages": []}}"#));
    let runs = runs.collect::<Vec<_>>().join("\n,");
    for note in [r#""a""#, "\"a\u{1}b\"", r#""a\qb""#, "1e999", "[1 2]", "[1}"] {
        let text =
            format!(r#"{{"info": {INFO}, "note": {note}, "tasks": {TASKS}, "simulations": [{runs}\n]}}"#);
        let (traces, _) = read_with(text.as_bytes(), &ReadOptions::default());
        assert_eq!(traces.len(), 100, "{note}");
        let all = traces.iter().all(|trace| trace.metadata().model.is_some());
        assert!(all, "{note}");
    }
}

#[test]
fn a_backslash_between_strings_costs_its_run_alone() {
    for damaged in [r#""x": [\"a", "b"]"#, r#""x": ["a"\"b"]"#, r#"\"x": {}"#, r#""x"\"y": {}"#] {
        let (traces, _) = read(with_member(&format!(r#"{damaged}, "messages": []"#)));
        assert!(ids(&traces).starts_with(&["a"]) && ids(&traces).ends_with(&["c"]), "{damaged}: {traces:?}");
    }
}

#[test]
fn a_bracket_lost_in_what_is_passed_over_is_where_the_structure_breaks() {
    let text = with_member("\n\"x\": [\"a\", \"messages\": []");
    let (traces, errors) = read(&text);
    assert_eq!(ids(&traces), ["a"]);
    assert_eq!(places(&errors)[0], (ErrorKind::Syntax, Some(1), 6, 22), "{errors:?}");
}
