//! Commands that rebuild the state of a failed trial.

use serde::Serialize;
use serde_json::{Map, Number, Value};

use super::trajectory::{Recorded, Reply, Trajectory, written_commands};
use crate::error::Result;
use crate::names::named;

/// The default timeout of a command that the model wrote as JSON, in seconds.
const WRITTEN_TIMEOUT: u32 = 120;
/// The default duration of a call, in seconds.
const CALL_DURATION: f64 = 1.0;

named! {
    /// Which commands [`replay_commands`] lists.
    #[derive(Default)]
    #[non_exhaustive]
    pub enum ReplayMode: "mode" {
        /// Those that the public code lists, plus shell commands without keystrokes, but none from steps copied
        /// from an earlier run. Durations in messages set timeouts.
        #[default]
        Default = "default",
        /// Exactly those that the public code lists, which ignores durations in messages.
        Code = "code",
    }
}

named! {
    /// Where a trial records a command.
    #[non_exhaustive]
    pub enum Via: "via" {
        /// In the keystrokes of a call.
        Keystrokes = "keystrokes",
        /// In a message that is JSON.
        Message = "message",
        /// In the command of a call to a shell.
        Command = "command",
        /// In a reply of Terminus v1.
        Response = "response",
    }
}

/// The commands of a trial, for replay.
///
/// A replay is approximate: it repeats reads and commands that failed or timed out, and it loses the timing.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Replay {
    /// Version of this format: `replay/1`.
    pub schema: &'static str,
    /// Number of replies of the model.
    pub interactions: u64,
    /// The commands, in order.
    pub commands: Vec<ReplayCommand>,
}

/// A command to type again.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ReplayCommand {
    /// The number of the step or episode in the source, or else its position, counted from 0.
    pub step: i64,
    /// Position in the step, counted from 0.
    pub call: usize,
    /// The keystrokes.
    pub keystrokes: String,
    /// The keystrokes without trailing line ends; `None` if nothing is left or they begin with a control key.
    pub command: Option<String>,
    /// True if the keystrokes begin with a control key, such as `C-c`.
    pub control: bool,
    /// Seconds to wait.
    pub timeout_s: Number,
    /// Where the trial records it.
    pub via: Via,
    /// True if this is a command and the next keystrokes begin with a control key: without a terminal, skip both.
    pub interrupted: bool,
}

impl ReplayCommand {
    fn new(step: i64, call: usize, keystrokes: String, timeout_s: Number, via: Via) -> Self {
        let line = keystrokes.trim_end_matches('\n').trim_end_matches('\r');
        let control = line.starts_with("C-");
        let command = (!line.is_empty() && !control).then(|| line.to_owned());
        Self { step, call, command, control, keystrokes, timeout_s, via, interrupted: false }
    }
}

/// Lists the commands that rebuild the state of a trial.
///
/// The file is an ATIF trajectory, or the replies of Terminus v1 (`{"responses": [{"episode", "text"}]}`).
///
/// ```
/// use wrongturn::benchmarks::{ReplayMode, replay_commands};
///
/// let trajectory = br#"{"steps": [{"step_id": 1, "source": "agent", "tool_calls": [
///     {"arguments": {"keystrokes": "make\n", "duration": 2.5}},
///     {"arguments": {"keystrokes": "C-c"}}]}]}"#;
/// let replay = replay_commands(trajectory, ReplayMode::Default)?;
/// assert_eq!(replay.commands[0].command.as_deref(), Some("make"));
/// assert!(replay.commands[0].interrupted && replay.commands[1].control);
/// # Ok::<(), wrongturn::Error>(())
/// ```
///
/// # Errors
/// If the file is not JSON, has neither form, or has a field of the wrong type.
pub fn replay_commands(file: &[u8], mode: ReplayMode) -> Result<Replay> {
    let mut replay = match Recorded::read(file)? {
        Recorded::Replies(replies) => of_replies(&replies),
        Recorded::Trajectory(trajectory) => of_trajectory(&trajectory, mode),
    };
    let next_is_control: Vec<bool> =
        replay.commands.iter().skip(1).map(|next| next.keystrokes.trim().starts_with("C-")).collect();
    for (command, next_is_control) in replay.commands.iter_mut().zip(next_is_control) {
        command.interrupted = command.command.is_some() && next_is_control;
    }
    Ok(replay)
}

fn of_trajectory(trajectory: &Trajectory, mode: ReplayMode) -> Replay {
    let own = mode == ReplayMode::Default;
    let interactions = trajectory.steps.iter().filter(|step| step.is_interaction()).count() as u64;
    let mut commands = Vec::new();
    for (place, step) in (0..).zip(&trajectory.steps) {
        let by_model = matches!(step.source.as_deref(), Some("agent" | "assistant"));
        if !by_model || (own && step.is_copied_context) {
            continue;
        }
        let number = step.step_id.unwrap_or(place);
        if step.tool_calls.is_empty() {
            let timeout = |command: &Value| match command.get("duration").and_then(Value::as_f64) {
                Some(duration) if own => waiting(duration),
                _ => WRITTEN_TIMEOUT.into(),
            };
            commands.extend(of_text(number, step.message(), Via::Message, timeout));
        } else {
            let calls = step.tool_calls.iter().enumerate();
            commands.extend(calls.filter_map(|(call, wire)| of_call(number, call, &wire.arguments, own)));
        }
    }
    Replay { schema: "replay/1", interactions, commands }
}

fn of_replies(replies: &[Reply]) -> Replay {
    let commands = replies
        .iter()
        .flat_map(|reply| of_text(reply.episode, &reply.text, Via::Response, |_| WRITTEN_TIMEOUT.into()));
    Replay { schema: "replay/1", interactions: replies.len() as u64, commands: commands.collect() }
}

/// Returns the commands that a model wrote as JSON; `timeout` gives the timeout of those that have none.
fn of_text(step: i64, text: &str, via: Via, timeout: impl Fn(&Value) -> Number) -> Vec<ReplayCommand> {
    let written = written_commands(text).into_iter().enumerate();
    written
        .filter_map(|(call, command)| {
            let wait = command.get("timeout_sec").and_then(Value::as_number).cloned();
            let wait = wait.unwrap_or_else(|| timeout(&command));
            let keystrokes =
                command.get("keystrokes").and_then(Value::as_str).filter(|keys| !keys.is_empty())?;
            Some(ReplayCommand::new(step, call, keystrokes.to_owned(), wait, via))
        })
        .collect()
}

/// Returns the command of a call: its keystrokes, else its shell command line, which the public code ignores.
fn of_call(step: i64, call: usize, arguments: &Map<String, Value>, own: bool) -> Option<ReplayCommand> {
    let keystrokes = arguments.get("keystrokes").and_then(Value::as_str).filter(|keys| !keys.is_empty());
    if let Some(keystrokes) = keystrokes {
        let duration = arguments.get("duration").and_then(Value::as_f64).unwrap_or(CALL_DURATION);
        let (keystrokes, timeout) = (keystrokes.to_owned(), waiting(duration));
        return Some(ReplayCommand::new(step, call, keystrokes, timeout, Via::Keystrokes));
    }
    if !own {
        return None;
    }
    let mut line = ["command", "cmd"].into_iter().find_map(|key| shell_line(arguments.get(key)?))?;
    if !line.ends_with('\n') {
        line.push('\n');
    }
    Some(ReplayCommand::new(step, call, line, waiting(CALL_DURATION), Via::Command))
}

fn shell_line(argument: &Value) -> Option<String> {
    let line = match argument {
        Value::String(line) => line.clone(),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().map(Value::as_str).collect::<Option<_>>()?;
            match words.as_slice() {
                [shell, "-c" | "-lc", script] if is_shell(shell) => (*script).to_owned(),
                words => words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
            }
        }
        _ => return None,
    };
    (!line.is_empty()).then_some(line)
}

fn is_shell(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    matches!(name, "sh" | "bash" | "zsh" | "dash")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\"'\"'"))
    }
}

/// Returns the timeout for a duration in seconds: ten times as long, truncated, plus five seconds.
#[expect(clippy::cast_possible_truncation, reason = "a duration beyond the range saturates")]
fn waiting(duration: f64) -> Number {
    ((10.0 * duration).trunc() as i64).saturating_add(5).into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn commands(steps: &Value, mode: ReplayMode) -> Vec<(i64, usize, Option<String>, String)> {
        let file = json!({"steps": steps}).to_string();
        let replay = replay_commands(file.as_bytes(), mode).unwrap();
        let shown = |command: ReplayCommand| {
            (command.step, command.call, command.command, command.timeout_s.to_string())
        };
        replay.commands.into_iter().map(shown).collect()
    }

    #[test]
    fn shells_without_keystrokes_are_read_beyond_the_code() {
        let step = json!([{"source": "agent", "tool_calls": [
            {"arguments": {"command": "pytest -q"}},
            {"arguments": {"cmd": ["/bin/bash", "-lc", "cd x && make"]}},
            {"arguments": {"command": ["echo", "it's", "a b", ""]}},
            {"arguments": {"command": ["bash", "-x", "run"]}},
            {"arguments": {"command": [1]}},
            {"arguments": {"command": 7, "cmd": "ls"}},
            {"arguments": "ls"},
            {}]}]);
        let lines: Vec<(usize, String)> = commands(&step, ReplayMode::Default)
            .into_iter()
            .map(|(_, call, line, _)| (call, line.unwrap()))
            .collect();
        let expected = [
            (0, "pytest -q"),
            (1, "cd x && make"),
            (2, "echo 'it'\"'\"'s' 'a b' ''"),
            (3, "bash -x run"),
            (5, "ls"),
        ];
        assert_eq!(lines, expected.map(|(call, line)| (call, line.to_owned())));
        assert_eq!(commands(&step, ReplayMode::Code), []);
    }

    #[test]
    fn copied_steps_and_durations_differ_between_the_modes() {
        let message = r#"{"commands": [{"keystrokes": "a\n", "duration": 1.25}, {"keystrokes": "b\r\n", "timeout_sec": 7.5}]}"#;
        let steps = json!([
            {"source": "user", "message": message},
            {"step_id": 5, "source": "agent", "message": message, "is_copied_context": true},
            {"source": "assistant", "message": message}]);
        let line = |step, call, line: &str, wait: &str| (step, call, Some(line.to_owned()), wait.to_owned());
        assert_eq!(commands(&steps, ReplayMode::Default), [line(2, 0, "a", "17"), line(2, 1, "b", "7.5")]);
        assert_eq!(
            commands(&steps, ReplayMode::Code),
            [line(5, 0, "a", "120"), line(5, 1, "b", "7.5"), line(2, 0, "a", "120"), line(2, 1, "b", "7.5")]
        );
    }

    #[test]
    fn interactions_are_replies_of_the_model() {
        let steps = json!([
            {"source": "agent", "message": "out", "observation": {"results": [{"content": "out"}]}},
            {"source": "agent", "message": "", "observation": {"results": [{"content": ""}]}},
            {"source": "agent", "message": "x", "extra": {"openclaw_role": "toolResult"}},
            {"source": "agent", "message": "x", "is_copied_context": true},
            {"source": "agent", "message": "out", "tool_calls": [{}, {}], "observation": {"results": [{"content": "out"}]}},
            {"source": "system", "message": "x"}]);
        let file = json!({"steps": steps}).to_string();
        assert_eq!(replay_commands(file.as_bytes(), ReplayMode::Default).unwrap().interactions, 2);
    }

    #[test]
    fn other_files_are_refused() {
        for file in ["{}", "[]", "{", r#"{"responses": 7}"#, r#"{"steps": [7]}"#] {
            replay_commands(file.as_bytes(), ReplayMode::Default).unwrap_err();
        }
        let extreme = json!([{"source": "agent", "tool_calls": [
            {"arguments": {"keystrokes": "x", "duration": 1e300}}, {"arguments": {"keystrokes": "x", "duration": -0.55}}]}]);
        let waits: Vec<String> =
            commands(&extreme, ReplayMode::Code).into_iter().map(|command| command.3).collect();
        assert_eq!(waits, [i64::MAX.to_string(), "0".to_owned()]);
    }
}
