//! tau2-bench results: every layout and every oddity that real files show, each by a small text and the trace that
//! comes of it; and, by property tests, whatever else a file may hold.
//!
//! All texts are read in five ways: as a slice and as a stream, in large portions and byte by byte, with the format
//! told and found. The ways must agree.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests say what they expect by failing"
)]

use std::fmt::Write as _;
use std::io::{self, Read};
use std::ops::Range;

use proptest::prelude::*;
use proptest::sample::Index;
use tracelint::{
    Arguments, Detector, Error, ErrorKind, Event, ExpectedAction, Format, Location, Metadata, ReadOptions,
    Reading, RouteInefficiency, Routing, Step, Target, Trace, TraceCollector, Unpaired, Verdict, read_stream,
    read_traces,
};

/// Gives one byte at a time.
struct Drip<'a>(&'a [u8]);

impl Read for Drip<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&mut self.0).take(1).read(buffer)
    }
}

fn tau2() -> ReadOptions {
    ReadOptions { format: Some(Format::Tau2), ..ReadOptions::default() }
}

fn stream(input: impl Read, options: &ReadOptions) -> (Vec<Trace>, Reading) {
    let mut collector = TraceCollector::default();
    let reading = read_stream(input, options, &mut collector);
    (collector.traces, reading)
}

fn told(errors: &[Error]) -> Vec<String> {
    errors.iter().map(|error| format!("{:?}: {error}", error.kind())).collect()
}

/// Traces in their native form, which does not tell why there is no route: a stream may have handed its runs on
/// before it was told any tasks, a file knows that there are none.
fn native(traces: &[Trace]) -> String {
    serde_json::to_string(traces).unwrap()
}

/// Reads a text with these options as slice and as stream, which must agree.
#[track_caller]
fn read_with(bytes: &[u8], options: &ReadOptions) -> (Vec<Trace>, Vec<Error>) {
    let (traces, reading) = read_traces(bytes, options);
    assert_eq!(reading.runs, traces.len() as u64);
    for (way, (others, other)) in [("stream", stream(bytes, options)), ("drip", stream(Drip(bytes), options))]
    {
        assert_eq!(native(&others), native(&traces), "the traces of the {way}");
        assert_eq!(told(&other.errors), told(&reading.errors), "the errors of the {way}");
        assert_eq!((other.format, other.runs), (reading.format, reading.runs), "{way}");
    }
    (traces, reading.errors)
}

/// Reads a text with its format found and told, which must agree.
#[track_caller]
fn read(text: impl AsRef<[u8]>) -> (Vec<Trace>, Vec<Error>) {
    let found = read_with(text.as_ref(), &ReadOptions::default());
    let with_format = read_with(text.as_ref(), &tau2());
    assert_eq!(with_format.0, found.0, "the traces with the format told");
    assert_eq!(told(&with_format.1), told(&found.1), "the errors with the format told");
    found
}

/// The runs of a text without errors.
#[track_caller]
fn clean(text: &str) -> Vec<Trace> {
    let (traces, errors) = read(text);
    assert_eq!(told(&errors), Vec::<String>::new());
    traces
}

/// The run of a text that holds one.
#[track_caller]
fn one(text: &str) -> Trace {
    let traces = clean(text);
    assert_eq!(traces.len(), 1);
    traces.into_iter().next().unwrap()
}

/// The run with these messages.
#[track_caller]
fn run_of(messages: &str) -> Trace {
    one(&format!(r#"{{"id": "r", "reward_info": null, "messages": {messages}}}"#))
}

/// A step in one line: `index@turn actor: text`, or `index@turn actor name(arguments) #id -> status by provenance:
/// observation`.
fn line(step: &Step<'_>) -> String {
    let mut line = format!("{}@{} {:?}", step.index(), step.turn(), step.actor()).to_lowercase();
    match step.event() {
        Event::Message(text) => write!(line, ": {}", text.to_str()),
        Event::Action(action) => {
            let arguments =
                action.arguments.as_ref().present().and_then(Arguments::canonical).unwrap_or_default();
            let id = action.call_id.map_or_else(|| "none".to_owned(), |id| format!("#{id}"));
            let (status, provenance) = (action.status, action.provenance);
            let observation =
                action.observation.present().map_or_else(String::new, |text| format!(": {}", text.to_str()));
            write!(line, " {}({arguments}) {id} -> {status:?} by {provenance:?}{observation}", action.name)
        }
    }
    .unwrap();
    line
}

fn lines(trace: &Trace) -> Vec<String> {
    trace.steps().map(|step| line(&step)).collect()
}

/// The status of every action, with its provenance.
fn statuses(trace: &Trace) -> Vec<String> {
    trace
        .steps()
        .filter_map(|step| match step.event() {
            Event::Action(action) => Some(format!("{:?} by {:?}", action.status, action.provenance)),
            Event::Message(_) => None,
        })
        .collect()
}

fn unpaired(calls: u64, messages: u64) -> Unpaired {
    Unpaired { calls, messages }
}

fn ids(traces: &[Trace]) -> Vec<&str> {
    traces.iter().map(|trace| trace.metadata().id.as_deref().unwrap_or("?")).collect()
}

/// Kind, run, line and column of each error.
fn places(errors: &[Error]) -> Vec<(ErrorKind, Option<u64>, u64, u64)> {
    errors
        .iter()
        .map(|error| {
            let Location { line, column } = error.location().unwrap();
            (error.kind(), error.run(), line, column)
        })
        .collect()
}

/// Every order of the numbers below `n`.
fn orders(n: usize) -> Vec<Vec<usize>> {
    let Some(last) = n.checked_sub(1) else { return vec![Vec::new()] };
    orders(last)
        .into_iter()
        .flat_map(|order| {
            (0..n).map(move |at| {
                let mut longer = order.clone();
                longer.insert(at, last);
                longer
            })
        })
        .collect()
}

/// An object with these members in this order.
fn object(members: &[&str], order: &[usize]) -> String {
    let members: Vec<&str> = order.iter().map(|&at| members[at]).collect();
    format!("{{{}}}", members.join(", "))
}

const RUN: &str = r#"{"id": "r", "task_id": "t", "trial": 2, "termination_reason": "user_stop",
    "reward_info": {"reward": 0.5, "db_check": null}, "timestamp": "2025-01-01", "duration": 1.5, "seed": 300,
    "messages": [{"role": "user", "content": "hi", "turn_idx": 0}]}"#;

const INFO: &str = r#"{"git_commit": "x", "agent_info": {"implementation": "llm_agent", "llm": "gpt-4.1"},
    "user_info": {"llm": "other"}, "environment_info": {"domain_name": "retail", "policy": "…"}}"#;

const TASKS: &str = r#"[{"id": "t", "evaluation_criteria": {"actions": [{"action_id": "t_0", "requestor": "assistant",
    "name": "look", "arguments": {}, "compare_args": null}], "nl_assertions": []}}]"#;

// ---- Layouts -----------------------------------------------------------------------------------------------------

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

// ---- Orders of keys ----------------------------------------------------------------------------------------------

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
        let (streamed, _) = stream(Drip(text.as_bytes()), &tau2());
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

// ---- Steps, turns, actors ----------------------------------------------------------------------------------------

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

// ---- Status ------------------------------------------------------------------------------------------------------

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

// ---- Pairing -----------------------------------------------------------------------------------------------------

/// Messages from a short spelling: `+id name` is a message with one call, `-id text` an answer, `* text` a user's
/// text. What has no id has the empty one.
fn script(steps: &str) -> String {
    let messages: Vec<String> = steps
        .split(';')
        .map(|step| {
            let (head, rest) = step.trim_start().split_once(' ').unwrap();
            let id = &head[1..];
            match &head[..1] {
                "+" => format!(
                    r#"{{"role": "assistant", "tool_calls": [{{"id": "{id}", "name": "{rest}", "arguments": {{}}}}]}}"#
                ),
                "-" => format!(r#"{{"role": "tool", "id": "{id}", "content": "{rest}"}}"#),
                _ => format!(r#"{{"role": "user", "content": "{rest}"}}"#),
            }
        })
        .collect();
    format!("[{}]", messages.join(", "))
}

#[test]
fn answers_find_their_calls() {
    let cases: [(&str, &[&str], Unpaired); 12] = [
        (
            // An id that comes again, once the first call is answered.
            "+a look; -a one; +a take; -a two",
            &["0@0 agent look({}) #a -> Ok by None: one", "1@2 agent take({}) #a -> Ok by None: two"],
            unpaired(0, 0),
        ),
        (
            // While it is not: the oldest call that waits is answered first.
            "+a look; +a take; +a drop; -a one; -a two",
            &[
                "0@0 agent look({}) #a -> Ok by None: one",
                "1@1 agent take({}) #a -> Ok by None: two",
                "2@2 agent drop({}) #a -> Unknown by None",
            ],
            unpaired(1, 0),
        ),
        (
            // Ids do not mix.
            "+a look; +b take; +a drop; -b one; -a two; -a three",
            &[
                "0@0 agent look({}) #a -> Ok by None: two",
                "1@1 agent take({}) #b -> Ok by None: one",
                "2@2 agent drop({}) #a -> Ok by None: three",
            ],
            unpaired(0, 0),
        ),
        (
            // An empty id is an id.
            "+ look; + take; - one; - two; +a drop; -a three",
            &[
                "0@0 agent look({}) # -> Ok by None: one",
                "1@1 agent take({}) # -> Ok by None: two",
                "2@4 agent drop({}) #a -> Ok by None: three",
            ],
            unpaired(0, 0),
        ),
        (
            // An answer listed before its call.
            "-a early; +a look; * thanks",
            &["0@1 agent look({}) #a -> Ok by None: early", "1@2 user: thanks"],
            unpaired(0, 0),
        ),
        (
            // It pairs in a second pass: an answer behind its call goes first.
            "-a early; +a look; +a take; -a late",
            &["0@1 agent look({}) #a -> Ok by None: late", "1@2 agent take({}) #a -> Ok by None: early"],
            unpaired(0, 0),
        ),
        (
            // Several early answers: first in, first out.
            "-a one; -a two; +a look; * hm; +a take",
            &[
                "0@2 agent look({}) #a -> Ok by None: one",
                "1@3 user: hm",
                "2@4 agent take({}) #a -> Ok by None: two",
            ],
            unpaired(0, 0),
        ),
        (
            // An answer that no call belongs to is a step of its own.
            "* hi; -x lost; +a look; -a one",
            &["0@0 user: hi", "1@1 environment: lost", "2@2 agent look({}) #a -> Ok by None: one"],
            unpaired(0, 1),
        ),
        (
            "+a look; -a one; -a again; * bye",
            &["0@0 agent look({}) #a -> Ok by None: one", "1@2 environment: again", "2@3 user: bye"],
            unpaired(0, 1),
        ),
        (
            // Also without a text.
            "-x ; +y look; * bye",
            &["0@0 environment: ", "1@1 agent look({}) #y -> Unknown by None", "2@2 user: bye"],
            unpaired(1, 1),
        ),
        (
            // The answer behind the call goes first, so that the early one stays without, at its own place.
            "-x lost; -a early; * hi; +a look; -a again",
            &[
                "0@0 environment: lost",
                "1@1 environment: early",
                "2@2 user: hi",
                "3@3 agent look({}) #a -> Ok by None: again",
            ],
            unpaired(0, 2),
        ),
        (
            // What found its call late leaves no gap among the steps.
            "* hi; -a early; -x lost; +a look; * bye",
            &[
                "0@0 user: hi",
                "1@2 environment: lost",
                "2@3 agent look({}) #a -> Ok by None: early",
                "3@4 user: bye",
            ],
            unpaired(0, 1),
        ),
    ];
    for (steps, expected, counts) in cases {
        let trace = run_of(&script(steps));
        assert_eq!(trace.unpaired(), counts, "{steps}");
        assert_eq!(lines(&trace), expected, "{steps}");
    }
}

#[test]
fn calls_and_answers_without_an_id_share_the_empty_one() {
    let trace = run_of(
        r#"[{"role": "assistant", "tool_calls": [{"name": "look"}, {"id": null, "name": "take"},
                {"id": "", "name": "drop"}, {"id": 7, "name": "wait"}]},
            {"role": "tool", "content": "one"}, {"role": "tool", "id": "7", "content": "seven"},
            {"role": "tool", "id": "", "content": "two"}, {"role": "tool", "id": null, "content": "three"}]"#,
    );
    assert_eq!(
        lines(&trace),
        [
            "0@0 agent look() # -> Ok by None: one",
            "1@0 agent take() # -> Ok by None: two",
            "2@0 agent drop() # -> Ok by None: three",
            "3@0 agent wait() #7 -> Ok by None: seven",
        ]
    );
    assert_eq!(trace.unpaired(), Unpaired::default());
}

#[test]
fn grouped_answers_are_flattened() {
    let trace = run_of(
        r#"[{"role": "assistant", "tool_calls": [{"id": "a", "name": "look"}, {"id": "b", "name": "take"}]},
            {"role": "tool", "tool_messages": [
                {"id": "b", "role": "tool", "content": "taken", "requestor": "assistant", "error": false},
                {"id": "a", "role": "tool", "content": "Error: dark"},
                {"id": "c", "role": "tool", "content": "lost"}]},
            {"role": "tool", "tool_messages": []},
            {"role": "tool", "tool_messages": null, "id": "d", "content": "alone"}]"#,
    );
    assert_eq!(
        lines(&trace),
        [
            "0@0 agent look() #a -> Error by Text: Error: dark",
            "1@0 agent take() #b -> Ok by Flag: taken",
            "2@1 environment: lost",
            "3@3 environment: alone",
        ]
    );
    assert_eq!(trace.unpaired(), unpaired(0, 2));
}

#[test]
fn a_thousand_calls_of_one_id_pair_in_order() {
    let message = |i: usize| {
        format!(
            r#"{{"role": "assistant", "tool_calls": [{{"id": "", "name": "n{i}"}}]}}, {{"role": "user", "content": "x"}}"#
        )
    };
    let answer = |i: usize| format!(r#"{{"role": "tool", "id": "", "content": "{i}"}}"#);
    let messages: Vec<String> = (0..1000).map(message).chain((0..999).map(answer)).collect();
    let trace = run_of(&format!("[{}]", messages.join(",")));
    for (i, step) in trace.steps().step_by(2).enumerate().take(999) {
        assert_eq!(line(&step), format!("{}@{} agent n{i}() # -> Ok by None: {i}", 2 * i, 2 * i));
    }
    assert_eq!(trace.unpaired(), unpaired(1, 0));
}

// ---- What may be missing -----------------------------------------------------------------------------------------

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

// ---- Reference routes --------------------------------------------------------------------------------------------

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
    let milestones: Vec<(u64, &ExpectedAction)> = route
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
    let everybody = tracelint::RouteInefficiencyConfig {
        actors: tracelint::Actors::All,
        ..tracelint::RouteInefficiencyConfig::default()
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

// ---- Damage ------------------------------------------------------------------------------------------------------

/// Where the second run of the following file is.
const SECOND_LINE: u64 = 5;

/// A file of three runs, the second of which has this member.
fn with_member(member: &str) -> String {
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

#[test]
fn a_role_of_a_wrong_type_is_json_of_a_wrong_shape() {
    for member in [
        r#""messages": [{"role": null}]"#,
        r#""messages": [{"role": 7}]"#,
        r#""messages": [{"role": ["user"]}]"#,
        r#""messages": [{"role": "assistant", "tool_calls": [{"name": "look", "requestor": 3}]}]"#,
    ] {
        let (traces, errors) = read(with_member(member));
        assert_eq!(ids(&traces), ["a", "c"], "{member}");
        assert_eq!((errors.len(), errors[0].run()), (1, Some(1)), "{member}");
        assert_eq!(errors[0].kind(), ErrorKind::Shape, "{member}: {}", errors[0]);
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
        let (traces, errors) = read(with_member(member));
        assert_eq!(ids(&traces), ["a", "c"], "{member}");
        assert_eq!((errors.len(), errors[0].run()), (1, Some(1)), "{member}");
        assert_eq!(errors[0].kind(), ErrorKind::Shape, "{member}: {}", errors[0]);
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
fn three_runs(open: &str, close: &str) -> (String, [Range<usize>; 3]) {
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

// ---- Spellings ---------------------------------------------------------------------------------------------------

#[test]
fn escaped_names_are_the_names_that_they_spell() {
    let trace =
        one(r#"{"simulation\u0073": [{"i\u0064": "r\u00e9", "tas\u006b_id": "\u0074", "mess\u0061ges": [
            {"rol\u0065": "\u0061ssistant", "tool_calls": [
                {"id": "\u0061", "name": "get\u005forder \"now\"", "arguments": {"\u006by": "\u0076"}}]},
            {"role": "tool", "id": "a", "content": "caf\u00e9 \ud83d\ude00\n"}]}]}"#);
    assert_eq!(trace.metadata().id.as_deref(), Some("r\u{e9}"));
    assert_eq!(trace.metadata().task.as_deref(), Some("t"));
    assert_eq!(
        lines(&trace),
        ["0@0 agent get_order \"now\"({\"ky\":\"v\"}) #a -> Ok by None: caf\u{e9} \u{1f600}\n"]
    );
}

#[test]
fn half_a_surrogate_pair_costs_nothing_in_a_text() {
    let trace = run_of(
        r#"[{"role": "user", "content": "\ud800 broken", "turn": "\udfff", "\u0061": {"\u0062": "\ud83d"}},
            {"role": "assistant", "tool_calls": [
                {"id": "a", "name": "search", "arguments": {"query": "\ud83d"}}]},
            {"role": "tool", "id": "a", "content": "\udc00\ud800\u0041"}]"#,
    );
    assert_eq!(trace.unpaired(), Unpaired::default());
    let texts: Vec<String> = trace
        .steps()
        .map(|step| match step.event() {
            Event::Message(text) => text.to_str().into_owned(),
            Event::Action(action) => action.observation.present().unwrap().to_str().into_owned(),
        })
        .collect();
    assert_eq!(texts, ["\u{fffd} broken", "\u{fffd}\u{fffd}A"]);
}

#[test]
fn half_a_surrogate_pair_in_a_name_costs_no_other_run() {
    for member in [
        r#""messages": [], "task_id": "\ud800""#,
        r#""messages": [{"role": "assistant", "tool_calls": [{"id": "\ud800", "name": "look"}]}]"#,
        r#""messages": [{"role": "assistant", "tool_calls": [{"id": "a", "name": "\udc00"}]}]"#,
        r#""messages": [], "termination_reason": "\ud83d""#,
        r#""messages": [], "\ud83d": 1"#,
    ] {
        let (traces, errors) = read(with_member(member));
        let others: Vec<&str> = ids(&traces).into_iter().filter(|id| *id != "b").collect();
        assert_eq!(others, ["a", "c"], "{member}");
        assert!(errors.iter().all(|error| error.run() == Some(1)), "{member}: {errors:?}");
    }
}

#[test]
fn depth_is_no_danger() {
    const DEPTH: usize = 50_000;
    let deep = format!("{}{}", "[".repeat(DEPTH), "]".repeat(DEPTH));
    let objects = format!("{}1{}", r#"{"a": "#.repeat(DEPTH), "}".repeat(DEPTH));
    for value in [&deep, &objects] {
        // Nested deeper than 128 is no JSON, whether somebody looks at it or not, and costs its run alone.
        for member in [
            format!(r#""messages": [], "unknown": {value}"#),
            format!(r#""messages": [{{"role": "user", "content": "hi", "raw_data": {value}}}]"#),
            format!(
                r#""messages": [{{"role": "assistant", "tool_calls": [{{"name": "n", "arguments": {value}}}]}}]"#
            ),
            format!(r#""messages": {value}"#),
            format!(r#""messages": [{{"role": "user", "content": {value}}}]"#),
        ] {
            let (traces, reading) = read_traces(with_member(&member).as_bytes(), &ReadOptions::default());
            assert_eq!(ids(&traces), ["a", "c"]);
            assert_eq!(reading.errors.len(), 1);
        }
        for text in
            [value.clone(), value[..DEPTH].to_owned(), format!(r#"{{"info": {value}, "simulations": []}}"#)]
        {
            for options in [ReadOptions::default(), tau2()] {
                let (traces, errors) = read_with(text.as_bytes(), &options);
                assert_eq!(traces.len(), 0);
                assert!(errors.iter().all(|error| error.run().is_none_or(|run| run == 0)));
            }
        }
    }
}

// ---- Streams -----------------------------------------------------------------------------------------------------

/// Gives some bytes, then fails.
struct Failing<'a>(&'a [u8]);

impl Read for Failing<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.0.is_empty() {
            return Err(io::Error::other("the disk is gone"));
        }
        self.0.read(buffer)
    }
}

#[test]
fn a_stream_that_fails_keeps_what_came_before() {
    let (text, places) = three_runs("[", "]");
    let whole = clean(&text);
    let mut collector = TraceCollector::default();
    let reading = read_stream(Failing(&text.as_bytes()[..places[1].end + 5]), &tau2(), &mut collector);
    assert_eq!(reading.errors.len(), 1);
    assert_eq!(reading.errors[0].kind(), ErrorKind::Io);
    // What was read in the same portion as the failure may be lost; what is there is right.
    assert_eq!(collector.traces[..], whole[..collector.traces.len()]);
}

#[test]
fn a_stream_larger_than_its_portions_is_read_whole() {
    let text = "x".repeat(900);
    let runs: Vec<String> = (0..1500)
        .map(|i| {
            format!(
                r#"{{"id": "{i}", "task_id": "t", "messages": [{{"role": "user", "content": "{text}"}}]}}"#
            )
        })
        .collect();
    let mut file = format!(r#"{{"info": {INFO}, "tasks": {TASKS}, "simulations": ["#);
    file.push_str(&runs.join(",\n"));
    file.push_str("]}");
    let traces = clean(&file);
    assert_eq!(traces.len(), 1500);
    assert_eq!(traces[1499].metadata().id.as_deref(), Some("1499"));
    let damaged = file.replace(r#"{"id": "1200","#, r#"{"id": [],"#);
    let (traces, errors) = read(&damaged);
    assert_eq!(traces.len(), 1499);
    assert_eq!(places(&errors)[0].1, Some(1200));
    let header = file.find("[{\"id\": \"0\"").map(|start| file[..start].lines().count() as u64).unwrap();
    assert_eq!(errors[0].location().map(|at| at.line), Some(header + 1200));
}

#[test]
fn the_bundled_files_read_alike_as_slice_and_stream() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/golden/tau2");
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let bytes = std::fs::read(&path).unwrap();
            let (traces, reading) = read_traces(&bytes, &ReadOptions::default());
            let (streamed, other) = stream(&bytes[..], &ReadOptions::default());
            assert_eq!(streamed, traces, "{}", path.display());
            assert_eq!((reading.errors.len(), other.errors.len()), (0, 0));
            assert!(traces.iter().all(|trace| trace.routing().route().is_some()));
            files += 1;
        }
    }
    assert_eq!(files, 9);
}

// ---- Properties --------------------------------------------------------------------------------------------------

const CASES: u32 = 200;

fn config() -> ProptestConfig {
    ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() }
}

fn formats() -> [ReadOptions; 4] {
    [None, Some(Format::Tau2), Some(Format::BenchTrace), Some(Format::Native)]
        .map(|format| ReadOptions { format, ..ReadOptions::default() })
}

/// Bytes, mostly of the kind that JSON is made of.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        any::<u8>(),
        prop::sample::select(b"{}[]\",:\\ \n-0123truefalsn.eE\xef\xbb\xbf".to_vec()),
    ];
    prop::collection::vec(byte, 0..6)
}

/// A change to a text: what lies at a place is replaced by other bytes.
#[derive(Debug, Clone)]
struct Damage {
    at: Index,
    removed: usize,
    inserted: Vec<u8>,
}

impl Damage {
    /// Changes the bytes between two places.
    fn apply(&self, text: &mut Vec<u8>, from: usize, to: usize) {
        let at = from + self.at.index(to - from);
        text.splice(at..(at + self.removed).min(to), self.inserted.iter().copied());
    }
}

fn damaged(text: &str, damages: &[Damage]) -> Vec<u8> {
    let mut text = text.as_bytes().to_vec();
    for damage in damages {
        text.push(b' ');
        let end = text.len();
        damage.apply(&mut text, 0, end);
    }
    text
}

fn damage() -> impl Strategy<Value = Damage> {
    let removed = prop_oneof![0..3_usize, 0..60_usize];
    (any::<Index>(), removed, bytes()).prop_map(|(at, removed, inserted)| Damage { at, removed, inserted })
}

/// What opens and closes a file of runs. In the last one the header comes behind.
fn layouts() -> [(String, String); 4] {
    [
        (format!("{{\"info\": {INFO}, \"tasks\": {TASKS},\n\"simulations\": ["), "]}".to_owned()),
        ("[".to_owned(), "]".to_owned()),
        (
            "{\"model\": \"m\", \"domain\": \"d\", \"simulations\": [".to_owned(),
            "], \"passed\": 1}".to_owned(),
        ),
        ("{\"simulations\": [".to_owned(), format!("], \"info\": {INFO}}}")),
    ]
}

/// Errors whose place is none of the text: lines and columns count from 1, and the place just behind a line, or
/// behind the last one, is the furthest.
fn astray<'e>(errors: &'e [Error], text: &[u8]) -> Vec<&'e Error> {
    let lengths: Vec<u64> = text.split(|byte| *byte == b'\n').map(|line| line.len() as u64).collect();
    let exists = |at: Location| {
        let line = usize::try_from(at.line).unwrap().checked_sub(1).and_then(|line| lengths.get(line));
        at.column >= 1 && line.is_some_and(|length| at.column <= length + 1)
    };
    errors.iter().filter(|error| error.location().is_some_and(|at| !exists(at))).collect()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn errors_lie_within_the_text(
        layout in 0..4_usize,
        damages in prop::collection::vec(damage(), 1..4),
    ) {
        let (open, close) = &layouts()[layout];
        let text = damaged(&three_runs(open, close).0, &damages);
        for options in formats() {
            let reading = read_traces(&text, &options).1;
            prop_assert!(astray(&reading.errors, &text).is_empty(), "{:?}", reading.errors);
        }
    }

    #[test]
    fn arbitrary_bytes_are_read_alike_and_without_panic(
        input in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..300),
            prop::collection::vec(bytes(), 0..60).prop_map(|parts| parts.concat()),
            prop::collection::vec(prop::sample::select(vec![
                "{", "}", "[", "]", ",", ":", "\n", "7", "null", "\"simulations\"", "\"messages\"", "\"episodes\"",
                "\"snapshot\"", "\"trajectory\"", "\"steps\"", "\"version\"", "\"traces\"", "\"info\"", "\"tasks\"",
                "\"id\"", "\"role\"", "\"user\"", "{\"role\": \"user\", \"content\": \"hi\"}", "\"text\"",
                "{\"simulations\": [", "{\"messages\": []}", "{\"episodes\": [", "{\"traces\": [",
                "{\"snapshot\": {\"trajectory\": []}}", "{\"version\": 1, \"steps\": []}",
            ]), 0..30).prop_map(|parts| parts.concat().into_bytes()),
        ],
    ) {
        for options in formats() {
            let (traces, reading) = read_traces(&input, &options);
            for (others, other) in [stream(&input[..], &options), stream(Drip(&input), &options)] {
                prop_assert_eq!(native(&others), native(&traces));
                prop_assert_eq!(told(&other.errors), told(&reading.errors));
            }
        }
    }

    #[test]
    fn damaged_files_are_read_alike_and_without_panic(
        layout in 0..4_usize,
        damages in prop::collection::vec(damage(), 1..4),
    ) {
        let (open, close) = &layouts()[layout];
        let text = damaged(&three_runs(open, close).0, &damages);
        for options in formats() {
            let (traces, reading) = read_traces(&text, &options);
            let (others, other) = stream(Drip(&text), &options);
            prop_assert_eq!(native(&others), native(&traces));
            prop_assert_eq!(told(&other.errors), told(&reading.errors));
        }
    }

    #[test]
    fn damage_within_a_run_costs_none_before(
        layout in 0..4_usize,
        victim in 0..3_usize,
        damages in prop::collection::vec(damage(), 1..4),
    ) {
        let (open, close) = &layouts()[layout];
        let (text, places) = three_runs(open, close);
        let whole = read_traces(text.as_bytes(), &tau2()).0;
        let mut damaged = text.clone().into_bytes();
        let Range { start, mut end } = places[victim].clone();
        for damage in damages {
            // The brackets of the run stay.
            let before = damaged.len();
            if end > start + 2 {
                damage.apply(&mut damaged, start + 1, end - 1);
            }
            end = end + damaged.len() - before;
        }
        // From a damaged first run of a bare list the format cannot always be told.
        let found = if victim > 0 || layout != 1 { Some(ReadOptions::default()) } else { None };
        for options in found.into_iter().chain([tau2()]) {
            let (traces, reading) = read_traces(&damaged, &options);
            let (streamed, _) = stream(&damaged[..], &options);
            prop_assert!(traces.len() >= victim);
            for (trace, intact) in traces.iter().zip(&whole).take(victim) {
                prop_assert_eq!(lines(trace), lines(intact));
                prop_assert_eq!((trace.reward(), &trace.metadata().id), (intact.reward(), &intact.metadata().id));
            }
            prop_assert_eq!(native(&streamed), native(&traces));
            let earliest = reading.errors.iter().filter_map(Error::run).min();
            prop_assert!(earliest.is_none_or(|run| run >= victim as u64), "{:?}", reading.errors);
        }
    }

    #[test]
    fn damage_that_leaves_brackets_and_strings_costs_its_run_at_most(
        layout in 0..4_usize,
        victim in 0..3_usize,
        changes in prop::collection::vec((any::<Index>(), any::<u8>()), 1..6),
    ) {
        let (open, close) = &layouts()[layout];
        let (text, places) = three_runs(open, close);
        let whole = read_traces(text.as_bytes(), &tau2()).0;
        let mut damaged = text.into_bytes();
        for (at, byte) in changes {
            let structural = |byte: u8| b"{}[]\"\\".contains(&byte);
            let Range { start, end } = places[victim].clone();
            let place = start + at.index(end - start);
            if !structural(damaged[place]) && !structural(byte) && damaged[place - 1] != b'\\' {
                damaged[place] = byte;
            }
        }
        let (traces, reading) = read_traces(&damaged, &tau2());
        let (streamed, _) = stream(&damaged[..], &tau2());
        prop_assert_eq!(native(&streamed), native(&traces));
        prop_assert!(reading.errors.len() <= 1, "{:?}", reading.errors);
        prop_assert_eq!(traces.len() + reading.errors.len(), 3);
        prop_assert!(reading.errors.iter().all(|error| error.run() == Some(victim as u64)), "{:?}", reading.errors);
        for (i, intact) in whole.iter().enumerate().filter(|(i, _)| *i != victim) {
            let place = if reading.errors.is_empty() || i < victim { i } else { i - 1 };
            prop_assert_eq!(&traces[place], intact);
        }
    }
}

/// The header behind the runs holds for them, whatever litter comes behind it.
#[test]
fn a_header_behind_the_runs_holds_where_litter_follows() {
    let (open, close) = &layouts()[3];
    let options = ReadOptions::default();
    for litter in ["}", "{", "[", "7"] {
        let text = three_runs(open, close).0 + litter;
        let (traces, reading) = read_traces(text.as_bytes(), &options);
        let (others, other) = stream(text.as_bytes(), &options);
        assert!(
            traces.len() == 3
                && traces.iter().all(|trace| trace.metadata().model.as_deref() == Some("gpt-4.1"))
        );
        assert_eq!(native(&others), native(&traces));
        assert_eq!(told(&other.errors), told(&reading.errors));
        assert_eq!(reading.errors.len(), 1, "{litter}");
    }
}

/// What was once taken for runs of tau2 without an action.
#[test]
fn runs_of_other_kinds_do_not_pass_for_runs_without_actions() {
    // tau-bench v1, by the format told wrongly: an error that names the key.
    let other = r#"[{"task_id": 1, "reward": 1.0, "info": {}, "traj": [{"role": "user", "content": "hi"}]}]"#;
    let (traces, errors) = read_with(other.as_bytes(), &tau2());
    assert_eq!((traces.len(), errors.len(), errors[0].run()), (0, 1, Some(0)));
    assert!(errors[0].message().contains("`traj`"), "{}", errors[0]);
    // Of voice runs, whose events are ticks, nothing is known.
    let voice = r#"{"simulations": [{"id": "v", "reward_info": {"reward": 1.0}, "messages": [], "ticks": [{}]}, {"id": "w", "termination_reason": "user_stop", "ticks": []}]}"#;
    let (traces, errors) = read(voice);
    assert_eq!((ids(&traces), errors.len()), (vec!["w"], 1));
    assert!(errors[0].message().contains("`ticks`"), "{}", errors[0]);
    // A task alone claims nothing, and neither does what is said of runs.
    for text in [r#"[{"task_id": 1}]"#, r#"{"task_id": 1}"#, r#"{"info": {}}"#] {
        let (traces, errors) = read_with(text.as_bytes(), &ReadOptions::default());
        assert_eq!((traces.len(), errors.len(), errors[0].kind()), (0, 1, ErrorKind::Format), "{text}");
    }
    let (traces, errors) = read(r#"{"simulations": [{"task_id": 1}]}"#);
    assert_eq!((traces.len(), errors.len()), (0, 1));
}

/// Each value of a file has a header of its own.
#[test]
fn the_header_of_one_line_is_not_that_of_another() {
    let text = "{\"model\":\"A\",\"simulations\":[]}\n{\"simulations\":[{\"id\":\"b\",\"messages\":[]}]}\n\
                {\"simulations\":[{\"id\":\"c\",\"messages\":[]}],\"model\":\"C\"}\n\
                {\"simulations\":[{\"id\":\"d\",\"messages\":[]}],\"model\":\"D\"}";
    let traces = clean(text);
    let models: Vec<_> = traces.iter().map(|trace| trace.metadata().model.as_deref()).collect();
    assert_eq!((ids(&traces), models), (vec!["b", "c", "d"], vec![None, Some("C"), Some("D")]));
}

#[test]
fn faults_around_the_runs_are_told_and_cost_no_run() {
    let run = |id: &str| format!(r#"{{"id": "{id}", "messages": []}}"#);
    let (a, b, c) = (run("a"), run("b"), run("c"));
    // A missing item costs itself.
    let (traces, errors) = read(format!("[{a},,{b},{c}]"));
    assert_eq!((ids(&traces), errors.len(), errors[0].run()), (vec!["a", "b", "c"], 1, Some(1)));
    let (traces, errors) = read(format!("[{a} {b},{c}]"));
    assert_eq!((ids(&traces), errors.len(), errors[0].run()), (vec!["a", "b", "c"], 1, None));
    let (traces, errors) = read(format!("[{a},{b},{c},]"));
    assert_eq!((ids(&traces), errors.len()), (vec!["a", "b", "c"], 1));
    // What is passed over must be JSON as well.
    let (traces, errors) = read_with(
        format!(r#"{{"timestamp": 12abc, "info": null, "simulations": [{a}], "x": truely}}"#).as_bytes(),
        &tau2(),
    );
    assert_eq!(ids(&traces), ["a"]);
    assert_eq!(errors.iter().filter(|error| error.kind() == ErrorKind::Syntax).count(), 2, "{errors:?}");
    let (_, errors) = read_with(br#"{"pad": "x", "simulations": ],"info": null}"#, &tau2());
    assert_eq!(errors[0].kind(), ErrorKind::Syntax);
}

/// Many small lines behind one whose header comes late cost no more than their number.
#[test]
fn late_headers_of_many_lines_cost_linear_time() {
    let line = r#"{"simulations":[{"id":"x","messages":[]}],"model":"M"}"#;
    let text = format!("{line}\n").repeat(30_000);
    let (traces, errors) = read_with(text.as_bytes(), &tau2());
    assert_eq!((traces.len(), errors.len()), (30_000, 0));
    assert!(traces.iter().all(|trace| trace.metadata().model.as_deref() == Some("M")));
}

#[test]
fn an_error_echoes_little_of_the_input() {
    let name = "\u{7}x".repeat(5_000);
    let quoted = serde_json::to_string(&name).unwrap();
    let (_, errors) =
        read(format!(r#"[{{"id": "a", "messages": [{{"role": {quoted}}}]}}, {{"messages": []}}]"#));
    let message = errors[0].to_string();
    assert!(message.chars().count() < 1_500 && !message.contains('\u{7}'), "{message}");
}
