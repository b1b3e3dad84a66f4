//! SWE-agent trajectories (`.traj`). A step has a response, a command and its output, but neither a flag
//! nor an exit code, so only the text of the output can show a failure.

use super::chat_call::ToolCall;
use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[
        Shape::Object(All(&[
            // A part of a trajectory has `instance_id` instead of `history`.
            Any(&[Is(Kind::List, &["history"]), Is(Kind::String, &["instance_id"])]),
            Every("trajectory", &STEP),
        ])),
        Shape::Object(SAID),
    ],
    reader: Reader::Fallible(read),
};

/// A step: a command and its output.
const STEP: Mark = All(&[Is(Kind::String, &["action"]), Has(&["observation"])]);

/// A run of a data set in which trajectories are messages, and the model's commands are in fenced blocks.
const SAID: Mark =
    All(&[Is(Kind::String, &["instance_id"]), Every("trajectory", &Has(&["role", "text", "system_prompt"]))]);

fn read(document: &Document<'_>, runs: &mut Runs<'_>) -> Read<()> {
    let Document::Object(members) = document else { return Ok(()) };
    let mut run = Recording::default();
    run.metadata = metadata(members);
    if SAID.fits(members) {
        said(&members.list("trajectory"), &mut run);
        run.reward = members.flag("target").map(|is_resolved| f64::from(u8::from(is_resolved)));
        run.give(runs);
        return Ok(());
    }
    let history = history(members, runs);
    let said = history.iter().take_while(|message| !is_of_agent(message));
    for message in said.filter(|message| matches!(message.name("role").as_deref(), Some("system" | "user"))) {
        let role = message.name("role").unwrap_or_default();
        run.say(words::actor_of(&role), message.message("content"));
    }
    let written: Vec<_> = history.iter().filter_map(|message| Some((action(message)?, message))).collect();
    let mut written = &written[..];
    for (turn, item) in (0..).zip(members.list("trajectory")) {
        let members = Members::from(item);
        if !STEP.fits(&members) {
            return Err(words::unfit(item.offset(), "steps of SWE-agent"));
        }
        run.at(turn, None);
        // The history may also have actions that were not made.
        let action = action(&members);
        let place = written.iter().position(|(other, _)| Some(other) == action.as_ref());
        let message = place.and_then(|place| written.get(place)).map(|(_, message)| *message);
        written = place.and_then(|place| written.get(place + 1..)).unwrap_or(written);
        step(&members, message, &mut run);
    }
    run.give(runs);
    Ok(())
}

/// Returns the messages of the history, without those of demonstrations. Before SWE-agent 1.0, nothing tells them
/// apart, so none are read.
fn history<'a>(members: &Members<'a>, runs: &mut Runs<'_>) -> Vec<Members<'a>> {
    if !is_typed(members) {
        return Vec::new();
    }
    let is_demo = |message: &Members<'_>| message.flag("is_demo") == Some(true);
    let (demos, history): (Vec<_>, Vec<_>) = members.objects("history").partition(is_demo);
    runs.pass_over("messages of demonstrations", demos.len() as u64);
    // The requests in the steps repeat these calls.
    runs.leave_out(demos.iter().map(|message| ToolCall::all(message).len() as u64).sum());
    history
}

/// Returns true if SWE-agent 1.0 or later wrote the run. Its history marks the messages of demonstrations. It did not
/// always record its version, but has its configuration as JSON in a string.
fn is_typed(members: &Members<'_>) -> bool {
    let has_agent = |text: Cow<'_, str>| json(&text).is_some_and(|config| config.member("agent").is_some());
    members.object("info").has("swe_agent_version")
        || members.get("replay_config").and_then(Raw::string).is_some_and(has_agent)
}

/// Returns true if a message of the history is one of the agent.
fn is_of_agent(message: &Members<'_>) -> bool {
    message.name("role").as_deref() == Some("assistant")
}

/// Returns the action of a step or of its message in the history, unless it is blank.
fn action(members: &Members<'_>) -> Option<String> {
    let action = members.name("action")?;
    Some(common::trim(&action).to_owned()).filter(|action| !action.is_empty())
}

/// Returns the model in the configuration of a run, which may be JSON in a string.
fn model(members: &Members<'_>) -> Option<String> {
    let config = members.get("replay_config").filter(|_| is_typed(members))?;
    let text = config.string();
    let config = text.as_deref().and_then(json).unwrap_or(config);
    config.member("agent")?.member("model")?.member("name")?.string().map(Cow::into_owned)
}

fn metadata(members: &Members<'_>) -> Metadata {
    let (instance, environment) = (members.name("instance_id"), members.name("environment"));
    // Later versions record the instance as the environment.
    let is_instance = |name: &Cow<'_, str>| name.contains("__") || instance.as_ref() == Some(name);
    let (task, domain) = match environment.clone() {
        Some(name) if is_instance(&name) => (Some(name), None),
        other => (None, other),
    };
    Metadata {
        agent: Some("swe-agent".into()),
        model: members.name("model_name").map(Cow::into_owned).or_else(|| model(members)).map(Into::into),
        task: instance.or(task).map(Cow::into_owned),
        domain: domain.map(|domain| domain.as_ref().into()),
        termination: common::exit_status(members).map(Cow::into_owned),
        ..Metadata::default()
    }
}

fn said<'a>(messages: &[Raw<'a>], run: &mut Recording<'a>) {
    let mut asked: Option<(&str, CallNumber)> = None;
    for (turn, message) in (0..).zip(messages) {
        let message = Members::from(*message);
        let text = message.message("text").or_else(|| message.message("system_prompt"));
        let Some(text) = text else {
            run.pass_over("elements that are not messages", u64::from(!message.has("role")));
            continue;
        };
        let call = asked.take();
        run.at(turn, None);
        match (message.name("role").as_deref(), call) {
            (Some("ai"), _) => {
                let said = text.text().to_str().into_owned();
                run.say(Actor::Agent, Some(text));
                let command =
                    said.rsplit("```").nth(1).map(common::trim).filter(|_| said.matches("```").count() > 1);
                asked = command.filter(|command| !command.is_empty()).map(|command| ask(command, run));
            }
            (_, Some((tool, call))) => {
                let outcome = outcome(tool, "", text.text());
                run.answer_call(call, Some(text), outcome);
            }
            (Some("system"), None) => run.say(Actor::System, Some(text)),
            _ => run.say(Actor::User, Some(text)),
        }
    }
}

fn ask(command: &str, run: &mut Recording<'_>) -> (&'static str, CallNumber) {
    let tool = tool(command);
    (tool, run.call_text(tool, "command", command))
}

/// Adds a step. `written` is its message in the history, which may have the call as the model wrote it.
fn step<'a>(step: &Members<'a>, written: Option<&Members<'a>>, run: &mut Recording<'a>) {
    let action = step.get("action").and_then(Raw::string).unwrap_or_default();
    let command = common::trim(&action);
    let observation = step.result("observation");
    // The harness may also end a run in a step without an action.
    let ends = |text: &TextCow<'_>| text.text().starts_with("Exited");
    let is_exit = EXITS.contains(&command) || command.is_empty() && observation.as_ref().is_some_and(ends);
    let (response, thought) = (step.message("response"), step.message("thought"));
    let is_report =
        |text: &Option<TextCow<'_>>| text.as_ref().is_some_and(|text| text.text().starts_with("Exit"));
    if is_exit && response.is_some() && is_report(&thought) && !is_report(&response) {
        // The thought is the report of the harness on this response.
        run.say(Actor::Agent, response);
        run.say(Actor::Environment, thought);
    } else {
        run.say(if is_exit { Actor::Environment } else { Actor::Agent }, response.or(thought));
    }
    if command.is_empty() || is_exit {
        return;
    }
    let calls = written.map(ToolCall::all).unwrap_or_default();
    // A call of the shell may run a tool of SWE-agent, which is the first word of the command.
    let (tool, call) = match <[_; 1]>::try_from(calls) {
        Ok([ToolCall { call: Some(call), .. }]) => (tool(command), run.add(call)),
        _ => ask(command, run),
    };
    if let Some(duration) = step.get("execution_time").and_then(time::of_seconds)
        && let Some(call) = run.call_mut(call)
    {
        call.usage = Some(Box::new(Usage { duration_ns: Some(duration), ..Usage::default() }));
    }
    if let Some(observation) = observation {
        let outcome = outcome(tool, command, observation.text());
        run.answer_call(call, Some(observation), outcome);
    }
}

/// Commands with which SWE-agent ends a run. `exit_forfeit` is not one of them: the agent gives up with it.
const EXITS: [&str; 9] = [
    "exit_api",
    "exit_command",
    "exit_command_timeout",
    "exit_context",
    "exit_cost",
    "exit_environment",
    "exit_error",
    "exit_format",
    "exit_total_execution_time",
];

/// Commands that are tools of SWE-agent. Any other command is a shell command.
const TOOLS: [&str; 28] = [
    "str_replace_editor",
    "edit",
    "open",
    "goto",
    "scroll_up",
    "scroll_down",
    "create",
    "insert",
    "append",
    "search_dir",
    "search_file",
    "find_file",
    "submit",
    "set_cursors",
    "filemap",
    "view_image",
    "decompile",
    "disassemble",
    "connect_start",
    "connect_sendline",
    "connect_exec",
    "connect_stop",
    "debug_start",
    "debug_add_breakpoint",
    "debug_continue",
    "debug_step",
    "debug_exec",
    "debug_stop",
];

/// Returns the tool that a command calls: its first word if that is a tool, or else `bash`.
fn tool(command: &str) -> &'static str {
    let word = command.split(common::SPACE).next().unwrap_or_default();
    TOOLS.into_iter().find(|tool| *tool == word).unwrap_or("bash")
}

/// The beginning of a report, which may also follow the output.
const TIMED_OUT: &str = "EXECUTION TIMED OUT";
const TIMED_OUT_LATE: [&str; 2] = [
    "EXECUTION TIMED OUT BECAUSE THE COMMAND WAS RUNNING",
    "EXECUTION TIMED OUT BECAUSE NO OUTPUT WAS PRODUCED",
];

/// Beginnings of failures.
const FAILURES: [&str; 7] = [
    "No replacement was performed",
    "Your proposed edit has introduced new syntax error(s)",
    "Your proposed insertion has introduced new syntax error(s)",
    "Invalid `",
    TIMED_OUT,
    "EXECUTION FAILED OR COMMAND MALFORMED",
    TRACEBACK,
];

/// The line above the frames of an exception of Python.
const TRACEBACK: &str = "Traceback (most recent call last)";

/// The first line of a failure of SWE-agent's tools: its beginning and its end. Other programs may print such lines
/// and succeed.
const OF_TOOLS: [(&str, &str); 5] = [
    ("Usage: ", ""),
    ("Error: ", ""),
    ("No file open. Use the ", ""),
    ("File ", " not found"),
    ("Directory ", " not found"),
];

/// Prefixes of a shell's error line, and the complaints in it.
const SHELLS: [&str; 4] = ["bash: ", "sh: ", "/bin/bash: ", "/bin/sh: "];
const COMPLAINTS: [&str; 2] = ["command not found", "No such file or directory"];

fn outcome(tool: &str, command: &str, observation: Text<'_>) -> Outcome {
    /// Number of characters at the start or the end that show whether a text reports a failure.
    const HEAD: usize = 1000;
    let head = observation.head(HEAD);
    let end = observation.tail(HEAD);
    let is_late = end
        .trim_end()
        .rsplit('\n')
        .next()
        .is_some_and(|last| TIMED_OUT_LATE.iter().any(|start| last.starts_with(start)));
    let last = || command.rsplit([';', '\n']).next()?.rsplit("&&").next().map(str::trim);
    let is_of_python = || {
        tool == "bash"
            && last().is_some_and(|last| {
                last == "validate" || RUNS_PYTHON.iter().any(|word| last.starts_with(word))
            })
    };
    let has_raised = || is_of_python() && ends_with_exception(&observation.to_str());
    // A linter that broke down may have printed its exception first.
    let is_applied = tool != "bash" && end.contains("\nFile updated. Please review the changes");
    let has_failed = || is_failure(head.trim_start_matches(common::SPACE), tool) || has_raised();
    Outcome::by_text(is_late || !is_applied && has_failed())
}

/// Beginnings of commands that run a program in Python, as `validate` of `MLGym` does. Others may print the exception of
/// an earlier program.
const RUNS_PYTHON: [&str; 3] = ["python ", "python3 ", "torchrun "];

/// Returns true if a text ends with a printed exception: the frames are indented, and the last line names it. A line of
/// advice may follow below a line of dashes.
fn ends_with_exception(text: &str) -> bool {
    let text = text.trim_end();
    let advised = text.rsplit_once('\n').and_then(|(rest, _)| rest.rsplit_once('\n'));
    let advised = advised.filter(|(_, line)| line.starts_with("---") && line.trim_matches('-').is_empty());
    let text = advised.map_or(text, |(rest, _)| rest);
    let frames = text.rsplit_once(TRACEBACK).and_then(|(_, frames)| frames.strip_prefix(":\n"));
    let Some((frames, last)) = frames.and_then(|frames| frames.rsplit_once('\n')) else { return false };
    let name = last.split(": ").next().unwrap_or_default().trim_end_matches(':');
    let is_of_name = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '.');
    frames.lines().all(|line| line.starts_with(' ') || line.is_empty())
        && name.starts_with(|letter: char| letter.is_alphabetic() || letter == '_')
        && name.chars().all(is_of_name)
}

/// Returns true if the text of an answer reports that a call of this tool failed, in the words of SWE-agent or a shell.
pub(in crate::read) fn is_failure(text: &str, tool: &str) -> bool {
    let line = words::first_line(text);
    let end = line.trim_end().trim_end_matches('.');
    let is_line = |(start, last): &(&str, &str)| line.starts_with(start) && end.ends_with(last);
    FAILURES.iter().any(|start| text.starts_with(start))
        || is_not_run(text)
        || SHELLS.iter().any(|shell| line.starts_with(shell))
            && (line.contains(": syntax error ")
                || COMPLAINTS.iter().any(|end| line.trim_end().ends_with(end)))
        || tool != "bash" && OF_TOOLS.iter().any(is_line)
}

/// Returns true if SWE-agent reports that it did not run a command, or not to its end.
fn is_not_run(text: &str) -> bool {
    let line = words::first_line(text).trim_end().trim_end_matches('.');
    // The command may have several lines. The rest is one line.
    let limit =
        || text.strip_prefix("The command '")?.rsplit_once("' was cancelled because it took more than ");
    let is_late = |(_, limit): (&str, &str)| {
        let rest = limit.trim_start_matches(|mark: char| mark.is_ascii_digit() || mark == '.');
        rest.len() < limit.len() && rest.starts_with(" seconds") && !rest.trim_end().contains('\n')
    };
    text.starts_with("Your bash command contained syntax errors and was NOT executed")
        || line.starts_with("Operation '") && line.ends_with("' is not supported by this environment")
        || limit().is_some_and(is_late)
}

/// Returns true if a text is an answer in SWE-agent's own words.
pub(in crate::read) fn is_reply(text: &str) -> bool {
    text.starts_with("Your command ran successfully and did not produce any output.") || is_not_run(text)
}
