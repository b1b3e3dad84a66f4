//! Text that Codex writes into results: headers with exit codes, and texts with fixed prefixes. Runs in several
//! formats contain it.

use super::prelude::*;

/// Number of characters of the first line that are searched for the state of a script.
const HEAD: usize = 64;

/// The beginning of a result, or of the line after its header, if the user interrupted the call.
const ABORTED: &str = "aborted by user";

/// Number of lines at the start that are searched for the end of a header.
const HEADER_LINES: usize = 10;

/// The outcome in the text of a result, and the text without the parts that Codex wrote. `None` stands for
/// the whole text.
type CodexText<'a> = (Outcome, Option<TextCow<'a>>);

/// Reads the text of a result, or returns `None` if no rule applies.
pub(super) fn read<'a>(words: &TextCow<'a>) -> Option<CodexText<'a>> {
    match words {
        TextCow::Borrowed(text) if text.is_plainly_spelled() => read_text(*text),
        words => {
            let text = words.text().to_str();
            let (outcome, observation) = read_text(Text::from(&*text))?;
            Some((outcome, observation.map(TextCow::into_made)))
        }
    }
}

/// Returns the outcome in the text of a result, if a rule applies, and the text without the parts that Codex
/// wrote.
pub(super) fn split(words: TextCow<'_>) -> (Option<Outcome>, TextCow<'_>) {
    match read(&words) {
        Some((outcome, observation)) => (Some(outcome), observation.unwrap_or(words)),
        None => (None, words),
    }
}

/// Like [`read`], for a plainly spelled text.
fn read_text(text: Text<'_>) -> Option<CodexText<'_>> {
    Some(match text.spelling().first()? {
        b'{' => {
            let (outcome, output) = enclosed(&text.to_str())?;
            (outcome, Some(output.into()))
        }
        b'[' if text.starts_with(REPR) => {
            let head = text.head(REPR_HEAD);
            let script = head.strip_prefix(REPR)?;
            (script_outcome(script), repr_output(text, &head).map(TextCow::from))
        }
        b'C' | b'W' | b'P' | b'E' | b'S' if HEADERS.iter().any(|start| text.starts_with(start)) => {
            let (outcome, output) = header(text);
            match output.filter(|_| text.starts_with("Script completed")).and_then(of_command) {
                Some((outcome, output)) => (outcome, Some(output.into())),
                None => (outcome, output.map(TextCow::from)),
            }
        }
        b'a' if text.starts_with(ABORTED) => {
            (Outcome::unknown(UnknownReason::Interrupted, Provenance::Text), None)
        }
        b'a' | b'e' | b'p' | b'u' if is_rejected(text) => {
            (Outcome::unknown(UnknownReason::Refused, Provenance::Text), None)
        }
        b'f' if text.starts_with("failed in sandbox ") => {
            sandboxed(&text.to_str()).unwrap_or((Outcome::error(Provenance::Text), None))
        }
        _ if is_failure(text.spelling()) => (Outcome::error(Provenance::Text), None),
        _ => return None,
    })
}

/// Reads `{"output": …, "metadata": {"exit_code": …}}`, `{"exit_code": …, "output": …}`, or, for a command
/// that is still running, `{"chunk_id": …, "session_id": …, "output": …}`.
fn enclosed(text: &str) -> Option<(Outcome, String)> {
    let mut json = Json::new(text.as_bytes());
    let members = Members::of(&mut json);
    let is_all = members.whole().is_some() && json.peek_byte().is_none();
    let code = members.object("metadata").get("exit_code").or_else(|| members.get("exit_code"));
    let outcome = match code {
        _ if !is_all => return None,
        Some(code) => Outcome::exit_code(is_failure_code(code)?),
        None if members.has("chunk_id") && members.has("session_id") => {
            Outcome::unknown(UnknownReason::Running, Provenance::Text)
        }
        None => return None,
    };
    Some((outcome, members.get("output")?.string()?.into_owned()))
}

/// Reads the output of a script that is the result of one command.
fn of_command(output: Text<'_>) -> Option<(Outcome, String)> {
    let text = output.to_str();
    let text = text.trim_start();
    if text.starts_with('{') && text.contains("\"chunk_id\"") { enclosed(text) } else { None }
}

/// Returns the outcome of a command, from a part of a script's output that is the result of that command.
pub(super) fn command_result(part: Text<'_>) -> Option<Outcome> {
    of_command(part).map(|(outcome, _)| outcome)
}

/// The prefix of a list of parts written as a Python `repr`.
const REPR: &str = "[{'type': 'input_text', 'text': 'Script ";

/// The text between the header and the output in such a list.
const REPR_OUTPUT: &str = r"\nOutput:\n'}";

/// The header of such a list is shorter than this number of characters.
const REPR_HEADER: usize = 200;

/// Number of characters of such a list that are read.
const REPR_HEAD: usize = REPR_HEADER + REPR_OUTPUT.len() + 1;

fn repr_output<'a>(text: Text<'a>, head: &str) -> Option<Text<'a>> {
    let (before, rest) = head.split_once(REPR_OUTPUT)?;
    let header = before.chars().count();
    let after = header + REPR_OUTPUT.len() + if rest.starts_with(", ") { 2 } else { 0 };
    (header < REPR_HEADER).then(|| text.skip_chars(after))
}

/// Returns the outcome of a script, from the text after `Script `.
fn script_outcome(script: &str) -> Outcome {
    if script.starts_with("failed") {
        Outcome::error(Provenance::Text)
    } else if script.starts_with("running with cell ID ") {
        Outcome::unknown(UnknownReason::Running, Provenance::Text)
    } else {
        Outcome::ok(Provenance::Text)
    }
}

/// Prefixes of the first line of a header.
const HEADERS: [&str; 9] = [
    "Command: ",
    "Chunk ID: ",
    "Wall time: ",
    "Process exited with code ",
    "Process running with session ID ",
    "Exit code: ",
    "Script completed",
    "Script failed",
    "Script running with cell ID ",
];

/// Returns the outcome that a header states, and the output after it. Without a line `Output:`, the header is
/// the first line.
fn header(text: Text<'_>) -> (Outcome, Option<Text<'_>>) {
    let mut lines = [Text::from(""); HEADER_LINES];
    let (mut count, mut output) = (0, None);
    let mut rest = Some(text);
    while let (Some(place), Some(text)) = (lines.get_mut(count), rest) {
        let (line, after) = text.split_line();
        if line.starts_with("Output:") && line.to_str() == "Output:" {
            output = Some(after.unwrap_or("".into()));
            break;
        }
        (*place, rest) = (line, after);
        count += 1;
    }
    let was_aborted = output.is_none() && lines.iter().take(count).any(|line| line.to_str() == ABORTED);
    let lines = lines.get(..if output.is_none() { 1 } else { count }).unwrap_or_default();
    let is_running = |line: &Text<'_>| line.starts_with("Process running with session ID ");
    let script = lines.first().map(|line| line.head(HEAD));
    let outcome = if let Some(failed) = lines.iter().find_map(exit_line) {
        Outcome::exit_code(failed)
    } else if was_aborted {
        Outcome::unknown(UnknownReason::Interrupted, Provenance::Text)
    } else if lines.iter().any(is_running) {
        Outcome::unknown(UnknownReason::Running, Provenance::Text)
    } else if let Some(script) = script.as_deref().and_then(|line| line.strip_prefix("Script ")) {
        script_outcome(script)
    } else {
        Outcome::UNMARKED
    };
    (outcome, output)
}

/// Prefixes of a line with an exit code.
const EXIT: [&str; 2] = ["Process exited with code ", "Exit code: "];

/// Returns whether the exit code of a line is not 0; `None` if the line has none.
fn exit_line(line: &Text<'_>) -> Option<bool> {
    let start = EXIT.into_iter().find(|start| line.starts_with(start))?;
    words::exit_line(&line.to_str(), start)
}

/// Reads `failed in sandbox LinuxSeccomp with execution error: sandbox denied exec error, exit code: 1, stdout: …,
/// stderr: …`, which builds of 2025 wrote for any command that failed in a sandbox.
fn sandboxed(text: &str) -> Option<CodexText<'static>> {
    let (_, denied) = text.split_once(": sandbox denied exec error, ")?;
    let (code, output) = denied.split_once(", stdout: ")?;
    let failed = words::exit_line(code, "exit code: ")?;
    let (printed, errors) = output.rsplit_once(", stderr: ")?;
    let between = if printed.is_empty() || printed.ends_with('\n') { "" } else { "\n" };
    Some((Outcome::exit_code(failed), Some([printed, between, errors].concat().into())))
}

/// Prefixes of the results of calls that the user or a policy refused.
const REJECTED: [&str; 5] = [
    "patch rejected by user",
    "exec command rejected by user",
    "approval policy is ",
    "user rejected MCP tool call",
    "user cancelled MCP tool call",
];

/// Returns true if a result says that its call was refused. Some say first what was refused.
fn is_rejected(text: Text<'_>) -> bool {
    let ends = |start: &str, refusal: &str| text.starts_with(start) && text.to_str().contains(refusal);
    REJECTED.iter().any(|start| text.starts_with(start))
        || ends("patch rejected: ", "rejected by user")
        || ends("exec_command failed for ", "{ message: \"Rejected(")
}

/// Prefixes of failures to apply a patch passed to the shell tool.
const PATCH_FAILURES: [&str; 4] = [
    "error: Failed to find context ",
    "error: Failed to find expected lines in ",
    "error: invalid hunk at line ",
    "error: invalid patch: ",
];

/// Prefixes of other failures, except those with a tool's name.
const FAILURES: [&str; 5] = [
    "apply_patch verification failed",
    "failed to parse function arguments",
    "unsupported call",
    "execution error",
    "failed in sandbox",
];

/// Returns true if a spelling without escapes begins like a failure message of Codex.
fn is_failure(text: &[u8]) -> bool {
    let tool = text.iter().take_while(|byte| matches!(byte, b'a'..=b'z' | b'_')).count();
    let behind = text.get(tool..).unwrap_or_default();
    let by_tool = if tool > 0 { behind.strip_prefix(b" failed") } else { None };
    let ends = |rest: &[u8]| rest.is_empty() || rest.starts_with(b":") || rest.starts_with(b" for ");
    FAILURES.iter().filter_map(|start| text.strip_prefix(start.as_bytes())).chain(by_tool).any(ends)
        || PATCH_FAILURES.iter().any(|start| text.starts_with(start.as_bytes()))
}
