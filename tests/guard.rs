//! Tests the guard as agents use it: with hooks before and after each call, and a session file that is
//! written with a delay.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test helpers panic on unexpected input")]

use std::collections::BTreeMap;
use std::fmt::Write as _;

use proptest::prelude::*;
use serde_json::{Value, json};
use wrongturn::{
    Finding, Monitor, ReadOptions, Trace, default_detectors,
    live::{Advice, Guard, GuardState, Hook},
    read_traces,
    trace::{Event, UnknownReason},
};

/// A call of an agent: the command, its answer, and whether that is an error.
type Made = (&'static str, &'static str, bool);

const SAME: Made = ("pytest -q", "1 failed: test_total", true);

/// Adds a line to a session of Claude Code.
fn push(lines: &mut Vec<String>, role: &str, content: &Value) {
    let line = json!({"type": role, "uuid": format!("u{}", lines.len()), "sessionId": "s",
        "timestamp": "2026-11-20T10:00:00.000Z", "message": {"role": role, "content": content}});
    lines.push(line.to_string());
}

/// Adds a call and its answer to a session.
fn push_call(
    lines: &mut Vec<String>,
    number: usize,
    tool: &str,
    input: &Value,
    (answer, fails): (&str, bool),
) {
    push(lines, "assistant", &json!([{"type": "tool_use", "id": id(number), "name": tool, "input": input}]));
    let result =
        json!([{"type": "tool_result", "tool_use_id": id(number), "content": answer, "is_error": fails}]);
    push(lines, "user", &result);
}

/// Returns the lines of a session in which an agent makes these calls.
fn claude_code(calls: &[Made]) -> Vec<String> {
    let mut lines = Vec::new();
    push(&mut lines, "user", &json!("make the tests pass"));
    for (number, (command, answer, fails)) in calls.iter().enumerate() {
        push_call(&mut lines, number, "Bash", &json!({"command": command}), (answer, *fails));
    }
    lines
}

fn id(number: usize) -> String {
    format!("toolu_{number}")
}

fn hook(event: &str, number: usize, (command, answer, fails): Made) -> Hook {
    let mut hook = json!({"hook_event_name": event, "session_id": "s", "transcript_path": "/none", "cwd": "/",
        "tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": id(number)});
    match (event, fails) {
        ("PostToolUse", _) => {
            hook["tool_response"] = json!({"stdout": answer, "stderr": "", "interrupted": false});
        }
        ("PostToolUseFailure", _) => hook["error"] = json!(answer),
        _ => {}
    }
    Hook::read(hook.to_string().as_bytes()).unwrap()
}

/// An agent whose session file is `lag` lines behind the hooks.
struct Agent {
    guard: Guard,
    state: GuardState,
    lines: Vec<String>,
    lag: usize,
    /// The position of the call, the event and the answer of each hook that had an answer.
    answers: Vec<(usize, &'static str, Value)>,
}

impl Agent {
    fn new(guard: Guard, calls: &[Made], lag: usize) -> Self {
        Self { guard, state: GuardState::default(), lines: claude_code(calls), lag, answers: Vec::new() }
    }

    fn ask(&mut self, event: &'static str, number: usize, call: Made, written: usize) -> bool {
        let mut text = String::new();
        for line in &self.lines[..written.saturating_sub(self.lag)] {
            writeln!(text, "{line}").unwrap();
        }
        // Between two hooks, the state is in a file.
        self.state = GuardState::read(&serde_json::to_vec(&self.state).unwrap()).unwrap();
        let start = usize::try_from(self.state.offset()).unwrap();
        let hook = hook(event, number, call);
        let advice = self.guard.advise(&mut self.state, &hook, &text.as_bytes()[start..]);
        let is_blocked = matches!(advice, Advice::Block(_));
        if let Some(answer) = hook.answer(&advice) {
            self.answers.push((number, event, answer));
        }
        is_blocked
    }

    fn answers_with(&self, text: &str) -> Vec<&(usize, &'static str, Value)> {
        self.answers.iter().filter(|(_, _, answer)| answer.to_string().contains(text)).collect()
    }

    /// Makes all calls.
    fn run(&mut self, calls: &[Made]) {
        self.run_from(0, calls);
    }

    /// Makes the calls from number `first` on. The agent made those before it without the guard.
    fn run_from(&mut self, first: usize, calls: &[Made]) {
        for (number, call) in calls.iter().enumerate().skip(first) {
            if self.ask("PreToolUse", number, *call, 2 * number + 2) {
                continue;
            }
            let after = if call.2 { "PostToolUseFailure" } else { "PostToolUse" };
            self.ask(after, number, *call, 2 * number + 3);
        }
    }
}

fn guard() -> Guard {
    Guard::new(default_detectors()).unwrap()
}

#[test]
fn a_loop_is_reported_once_at_the_call_that_confirms_it() {
    let calls = [("ls", "src tests", false), ("cat a", "a", false), SAME, SAME, SAME, SAME, SAME, SAME];
    for lag in 0..4 {
        let mut agent = Agent::new(guard(), &calls, lag);
        agent.run(&calls);
        let loops = agent.answers_with("[loop:");
        assert_eq!(loops.len(), 1, "lag {lag}: {:?}", agent.answers);
        let (number, event, answer) = loops[0];
        assert_eq!((*number, *event), (4, "PostToolUseFailure"), "lag {lag}");
        let said = answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
        assert!(said.contains("pytest") && said.contains("3 times"), "{said}");
        // Each other finding is reported once as well.
        let mut all: Vec<String> = agent.answers.iter().map(|(_, _, answer)| answer.to_string()).collect();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), agent.answers.len());
    }
}

/// Returns a golden entry as the lines of a session.
fn session_of(entry: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    for (number, step) in entry["trace"]["steps"].as_array().unwrap().iter().enumerate() {
        let Some(tool) = step["name"].as_str() else {
            let role = if step["actor"] == "agent" { "assistant" } else { "user" };
            push(&mut lines, role, &json!([{"type": "text", "text": step["text"]}]));
            continue;
        };
        let input = if step["arguments"].is_object() { step["arguments"].clone() } else { json!({}) };
        let answer = step["observation"].as_str().unwrap_or_default();
        push_call(&mut lines, number, tool, &input, (answer, step["status"] == "error"));
    }
    lines
}

/// Returns the hooks that Claude Code runs for a line. `calls` holds the calls so far.
fn hooks_of(line: &str, calls: &mut BTreeMap<String, (Value, Value)>) -> Vec<Hook> {
    let line: Value = serde_json::from_str(line).unwrap_or_default();
    let mut hooks = Vec::new();
    for part in line["message"]["content"].as_array().into_iter().flatten() {
        let mut hook = json!({"session_id": "s"});
        let id = match part["type"].as_str() {
            Some("tool_use") => {
                let id = part["id"].as_str().unwrap_or_default().to_owned();
                calls.insert(id.clone(), (part["name"].clone(), part["input"].clone()));
                hook["hook_event_name"] = json!("PreToolUse");
                id
            }
            Some("tool_result") => {
                let content = &part["content"];
                let (event, field) = if part["is_error"] == true {
                    ("PostToolUseFailure", "error")
                } else {
                    ("PostToolUse", "tool_response")
                };
                hook["hook_event_name"] = json!(event);
                hook[field] = content.clone();
                part["tool_use_id"].as_str().unwrap_or_default().to_owned()
            }
            _ => continue,
        };
        let Some((name, input)) = calls.get(&id) else { continue };
        (hook["tool_name"], hook["tool_input"]) = (name.clone(), input.clone());
        hook["tool_use_id"] = json!(id);
        hooks.push(Hook::read(hook.to_string().as_bytes()).unwrap());
    }
    hooks
}

/// Returns the findings that reach the latest answered call of the first run.
fn open_findings(session: &str) -> Vec<Finding> {
    let (runs, _) = read_traces(session.as_bytes(), &ReadOptions::default());
    let mut monitor = Monitor::new(&default_detectors()).unwrap();
    for step in runs.first().into_iter().flat_map(Trace::steps) {
        let is_open =
            matches!(step.event(), Event::Action(action) if action.reason == Some(UnknownReason::Unanswered));
        if !is_open {
            monitor.observe_step(&step);
        }
    }
    monitor.open_findings()
}

/// Runs the hooks of a session as it grows, and checks that exactly new findings are reported. Returns their number.
fn follow_session(name: &str, lines: &[String]) -> usize {
    let (guard, mut state, mut calls) = (guard(), GuardState::default(), BTreeMap::new());
    let (mut session, mut warned) = (String::new(), Vec::<Finding>::new());
    for (number, line) in lines.iter().enumerate() {
        writeln!(session, "{line}").unwrap();
        for hook in hooks_of(line, &mut calls) {
            let start = usize::try_from(state.offset()).unwrap();
            let advice = guard.advise(&mut state, &hook, &session.as_bytes()[start..]);
            let open = open_findings(&session);
            // The same failure may have another id, or may have grown.
            let is_same = |one: &Finding, other: &Finding| {
                one.detector == other.detector && one.first <= other.last && other.first <= one.last
            };
            let is_known = |finding: &&Finding| warned.iter().any(|known| is_same(known, finding));
            let new: Vec<&Finding> = open.iter().filter(|finding| !is_known(finding)).collect();
            assert_eq!(advice.findings().is_empty(), new.is_empty(), "{name}, line {number}: {new:?}");
            for known in &mut warned {
                let grown = open.iter().filter(|finding| is_same(known, finding));
                known.last = grown.map(|finding| finding.last).fold(known.last, u64::max);
            }
            warned.extend(advice.findings().iter().cloned());
        }
    }
    warned.len()
}

/// A warning comes once, at the line that confirms the finding, in sessions made of the golden entries of `loop` and
/// in those of the directory that `WRONGTURN_TRANSCRIPTS` names.
#[test]
fn growing_sessions_warn_at_the_line_that_confirms_a_finding() {
    let golden = include_str!("../golden/loop.jsonl");
    let mut warnings = 0;
    for entry in golden.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        warnings += follow_session(entry["id"].as_str().unwrap(), &session_of(&entry));
    }
    assert!(warnings > 40, "{warnings}");
    let Some(directory) = std::env::var_os("WRONGTURN_TRANSCRIPTS") else { return };
    for file in std::fs::read_dir(directory).unwrap() {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        follow_session(&path.display().to_string(), &lines);
    }
}

#[test]
fn an_agent_that_makes_progress_is_not_warned() {
    let calls = [
        ("cargo test", "error[E0308]: mismatched types in a.rs", true),
        ("cat a.rs", "fn a() -> u8 { 1u16 }", false),
        ("sed -i s/u16/u8/ a.rs", "", false),
        ("cargo test", "ok. 4 passed", false),
    ];
    let mut agent = Agent::new(guard().block_after(1), &calls, 1);
    agent.run(&calls);
    assert_eq!(agent.answers, []);
}

#[test]
fn calls_repeated_after_the_warning_are_blocked_and_not_counted() {
    let calls = [SAME; 12];
    let mut agent = Agent::new(guard().block_after(2), &calls, 0);
    // In the session, a blocked call has the answer of a refused one.
    for number in 5..12 {
        agent.lines[2 * number + 2] = agent.lines[2 * number + 2].replace(SAME.1, "The call was not run");
    }
    agent.run(&calls);
    let blocked = agent.answers_with("deny");
    assert_eq!(blocked.iter().map(|(number, ..)| *number).collect::<Vec<_>>(), [5, 6, 7, 8, 9, 10, 11]);
    let reasons: Vec<&Value> = blocked
        .iter()
        .map(|(_, _, answer)| &answer["hookSpecificOutput"]["permissionDecisionReason"])
        .collect();
    // A reason names the steps that ran, even after several blocked calls.
    assert!(reasons.iter().all(|reason| *reason == reasons[0]), "{reasons:?}");
    assert_eq!(blocked[0].2["hookSpecificOutput"]["permissionDecision"], "deny");
    // Another approach is not blocked.
    assert!(!agent.ask("PreToolUse", 20, ("cat test_total.py", "", false), agent.lines.len()));
}

/// Long sessions are read from near their end. Steps keep their numbers, and findings are not reported again.
#[test]
fn long_sessions_are_read_from_near_their_end() {
    let long: &'static str = "x".repeat(40_000).leak();
    let mut calls: Vec<Made> = Vec::new();
    for number in 0..100 {
        let command: &'static str = format!("cat file_{number}").leak();
        let answer: &'static str = format!("{number} {long}").leak();
        calls.push((command, answer, false));
    }
    calls.extend([SAME; 4]);
    let mut agent = Agent::new(guard(), &calls, 0);
    agent.run_from(97, &calls);
    assert!(agent.state.offset() > 1 << 20, "{}", agent.state.offset());
    let loops = agent.answers_with("[loop:");
    // The session has one message, then a step for each call.
    assert_eq!((loops.len(), loops[0].0), (1, 102));
    assert!(loops[0].2.to_string().contains("steps 101-103"), "{}", loops[0].2);
}

#[test]
fn gemini_cli_gets_answers_in_its_own_format() {
    let (guard, mut state) = (guard().block_after(1), GuardState::default());
    let mut answers = Vec::new();
    for number in 0..5 {
        for event in ["BeforeTool", "AfterTool"] {
            let mut hook = json!({"hook_event_name": event, "session_id": "g", "transcript_path": "/none",
                "tool_name": "run_shell_command", "tool_input": {"command": "make"}});
            if event == "AfterTool" {
                hook["tool_response"] =
                    json!({"llmContent": "no rule to make target", "error": {"message": "2"}});
            }
            let hook = Hook::read(hook.to_string().as_bytes()).unwrap();
            let answer = hook.answer(&guard.advise(&mut state, &hook, b""));
            let is_denied = answer.as_ref().is_some_and(|answer| answer["decision"] == "deny");
            answers.extend(answer.map(|answer| (number, event, answer)));
            if is_denied {
                break;
            }
        }
    }
    let warned = answers.iter().find(|(_, event, _)| *event == "AfterTool").unwrap();
    assert!(warned.2["hookSpecificOutput"]["additionalContext"].is_string());
    let denied = answers.iter().find(|(_, event, _)| *event == "BeforeTool").unwrap();
    assert!(denied.2["reason"].as_str().unwrap().starts_with("wrongturn: "), "{denied:?}");
}

#[test]
fn the_stop_hook_reports_remaining_findings_once() {
    let not_found = |command| (command, "not found", true);
    let calls = [
        not_found("fetch a"),
        not_found("fetch b"),
        not_found("make"),
        ("ls", "src", false),
        not_found("make"),
        not_found("fetch c"),
    ];
    let mut agent = Agent::new(guard(), &calls, 0);
    agent.run(&calls);
    agent.answers.clear();
    agent.ask("Stop", 9, SAME, agent.lines.len());
    agent.ask("Stop", 9, SAME, agent.lines.len());
    assert_eq!(agent.answers.len(), 1, "{:?}", agent.answers);
    let said = agent.answers[0].2["systemMessage"].as_str().unwrap();
    assert!(said.contains("`Bash: fetch c` failed") && said.contains("; 5 of 6 actions"), "{said}");
}

#[test]
fn a_watched_session_reports_each_finding_once() {
    let calls = [("ls", "src", false), SAME, SAME, SAME, SAME, SAME];
    let (guard, mut state) = (guard(), GuardState::default());
    let (mut text, mut found) = (String::new(), Vec::new());
    for (number, line) in claude_code(&calls).iter().enumerate() {
        // An incomplete line is not read.
        text += &line[..line.len() / 2];
        assert_eq!(guard.watch(&mut state, text.as_bytes()), []);
        text += &line[line.len() / 2..];
        text.push('\n');
        found.extend(guard.watch(&mut state, text.as_bytes()).into_iter().map(|new| (number, new.1)));
    }
    let loops: Vec<_> = found.iter().filter(|(_, finding)| finding.detector == "loop").collect();
    assert_eq!(loops.len(), 1, "{found:?}");
    assert_eq!((loops[0].0, loops[0].1.last), (8, 4));
}

#[test]
fn invalid_hooks_and_states_are_errors() {
    for json in ["", "[]", "{}", r#"{"hook_event_name": "Stop"}"#] {
        assert!(Hook::read(json.as_bytes()).is_err(), "{json}");
    }
    assert!(GuardState::read(b"{}").is_err());
    let state = serde_json::to_string(&GuardState::default()).unwrap();
    let error = GuardState::read(state.replace("\"version\":1", "\"version\":7").as_bytes()).unwrap_err();
    assert!(error.to_string().contains("expected version 1, got version 7"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 60, ..ProptestConfig::default() })]

    /// With any delay of the session file, no finding is reported twice.
    #[test]
    fn nothing_is_said_twice(
        picks in proptest::collection::vec(0_usize..4, 1..25),
        lag in 0_usize..5,
    ) {
        const CALLS: [Made; 4] = [SAME, ("ls", "src", false), ("cat a", "no such file", true), ("make", "built", false)];
        let calls: Vec<Made> = picks.iter().map(|pick| CALLS[*pick]).collect();
        let mut agent = Agent::new(guard(), &calls, lag);
        agent.run(&calls);
        let ids: Vec<String> = agent
            .answers
            .iter()
            .map(|(_, _, answer)| answer.to_string().rsplit('[').next().unwrap().to_owned())
            .collect();
        let mut once = ids.clone();
        once.sort();
        once.dedup();
        prop_assert_eq!(once.len(), ids.len(), "{:?}", ids);
    }
}
