//! `wrongturn guard`, a hook that warns coding agents about loops, and `wrongturn watch`, for growing
//! sessions.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Parser, ValueEnum};
use serde_json::{Value, json};
use wrongturn::{
    Finding, default_detectors,
    detect::{Confidence, with_min_confidence},
    live::{Guard, GuardState, Hook},
};

use crate::common::arguments::Surety;
use crate::common::{self, FAILED, Failure, output::at};

/// Warns a coding agent that loops, as a hook of Claude Code, Codex or Gemini CLI.
#[derive(Parser)]
#[command(after_help = common::notes_with(
    "the JSON of a hook on standard input, and the session file that it names.",
    "the answer to the hook, or with --install the settings, on standard output.",
    "Exit status: 0; 1 usage error, or the hook or its state cannot be read. Status 1 lets the call pass.",
    "wrongturn guard --install claude-code",
))]
pub(crate) struct Arguments {
    /// Print the settings that install `wrongturn guard`, found on the PATH, as a hook (claude-code, codex, gemini-cli)
    #[arg(long, value_name = "AGENT", hide_possible_values = true)]
    install: Option<Agent>,
    /// Block a call that repeats an earlier one and would extend a reported finding, once this many actions have
    /// followed the warning
    #[arg(long, value_name = "N")]
    block_after: Option<u64>,
    #[command(flatten)]
    surety: Surety,
    /// Where the states of sessions are kept [default: wrongturn-guard in the directory for temporary files]
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
}

/// Prints the findings of a session while it grows.
#[derive(Parser)]
#[command(after_help = common::notes_with(
    "a session file, or a session on standard input. One in a format with an event per line is read while it grows.",
    "a line per finding, as it is confirmed: id, steps, message. Findings that only the end of a run confirms, \
     such as those of tool_error_recovery, are left to `check`.",
    "Exit status: 0 when the session has ended; 1 at the first finding with --fail-fast; 2 usage error.",
    "wrongturn watch golden/tau2/scripted-quitter_telecom.json --idle 1",
))]
pub(crate) struct Watch {
    /// A file that grows; `-` is standard input
    session: PathBuf,
    #[command(flatten)]
    surety: Surety,
    /// Stop at the first finding
    #[arg(long)]
    fail_fast: bool,
    /// Stop if the file has not grown for this many seconds; 0: never
    #[arg(long, default_value_t = 0, value_name = "SECONDS")]
    idle: u64,
    /// Continue where an earlier watch stopped, and save the state in this file
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
}

#[derive(ValueEnum, Clone, Copy)]
enum Agent {
    ClaudeCode,
    Codex,
    GeminiCli,
}

/// The interval at which a growing file is read.
const NAP: Duration = Duration::from_millis(50);

pub(crate) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    if let Some(agent) = arguments.install {
        let mut command = "wrongturn guard".to_owned();
        if let Some(after) = arguments.block_after {
            command += &format!(" --block-after {after}");
        }
        if arguments.surety.min_confidence != Confidence::Likely {
            command += &format!(" --min-confidence {}", arguments.surety.min_confidence);
        }
        if let Some(folder) = &arguments.state {
            command += &format!(" --state \"{}\"", folder.display());
        }
        let (path, settings) = settings(agent, &command);
        common::print(&format!("{settings:#}\n"))?;
        writeln!(std::io::stderr(), "Merge these settings into {path}.")?;
        return Ok(0);
    }
    let mut guard = Guard::new(with_min_confidence(default_detectors(), arguments.surety.min_confidence))?;
    if let Some(after) = arguments.block_after {
        guard = guard.block_after(after);
    }
    // Agents treat exit status 2 as a block, so errors exit with 1.
    answer(&guard, arguments.state.as_deref()).or_else(|error| {
        let _ = writeln!(std::io::stderr(), "error: {error}");
        Ok(FAILED)
    })
}

/// Reads a hook from standard input, updates the state of its session, and prints the answer, if any.
fn answer(guard: &Guard, states: Option<&Path>) -> Result<u8, Failure> {
    let mut json = Vec::new();
    std::io::stdin().lock().read_to_end(&mut json)?;
    if json.trim_ascii().is_empty() {
        return Err("no hook on standard input; coding agents call this command: see `guard --help`".into());
    }
    let hook = Hook::read(&json)?;
    let mut file = state_file(states, hook.session())?;
    let mut saved = Vec::new();
    file.read_to_end(&mut saved)?;
    // A state that cannot be read, such as one of another version, is replaced.
    let mut state = GuardState::read(&saved).unwrap_or_default();
    let mut session = hook.transcript().and_then(|path| File::open(path).ok());
    let length = session.as_ref().map_or(Ok(0), |file| file.metadata().map(|data| data.len()))?;
    if length < state.offset() {
        state = GuardState::default();
    }
    let mut text = Vec::new();
    if let Some(session) = &mut session {
        session.seek(SeekFrom::Start(state.offset()))?;
        session.read_to_end(&mut text)?;
    }
    let advice = guard.advise(&mut state, &hook, &text);
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(&serde_json::to_vec(&state)?)?;
    if let Some(answer) = hook.answer(&advice) {
        common::print(&format!("{answer}\n"))?;
    }
    Ok(0)
}

/// Returns the state file of a session, locked until it is closed: agents may call hooks for parallel tools
/// at the same time.
fn state_file(states: Option<&Path>, session: &str) -> Result<File, Failure> {
    let folder = states.map_or_else(|| std::env::temp_dir().join("wrongturn-guard"), Path::to_path_buf);
    fs::create_dir_all(&folder)?;
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let mut name: String = session.chars().take(100).map(plain).collect();
    if name != session {
        let mut hasher = DefaultHasher::new();
        session.hash(&mut hasher);
        name += &format!("-{:016x}", hasher.finish());
    }
    let path = folder.join(format!("{name}.json"));
    let file = File::options().read(true).write(true).create(true).truncate(false).open(path)?;
    file.lock()?;
    Ok(file)
}

/// Prints the findings of a session as they are confirmed.
pub(crate) fn watch(arguments: &Watch) -> Result<u8, Failure> {
    let guard = Guard::new(with_min_confidence(default_detectors(), arguments.surety.min_confidence))?;
    let session = &arguments.session;
    let mut state = match arguments.state.as_deref().map(fs::read) {
        Some(Ok(saved)) => GuardState::read(&saved)?,
        _ => GuardState::default(),
    };
    let mut input: Box<dyn Read> = match session.to_str() {
        Some("-") => Box::new(std::io::stdin()),
        _ => Box::new(File::open(session).map_err(at(session))?),
    };
    let is_file = session.to_str() != Some("-");
    // The text that is not judged yet, a buffer, and the position of the text in the session.
    let (mut text, mut part, mut start) = (Vec::new(), vec![0; 1 << 16], state.offset());
    std::io::copy(&mut input.by_ref().take(start), &mut std::io::sink())?;
    let (mut silent, mut is_new) = (Duration::ZERO, false);
    loop {
        let count = input.read(&mut part)?;
        text.extend_from_slice(part.get(..count).unwrap_or_default());
        is_new |= count > 0;
        let is_whole_line = text.last() == Some(&b'\n');
        if is_new && (count == 0 || is_whole_line) {
            let findings = guard.watch(&mut state, &text);
            if let Some(path) = &arguments.state {
                fs::write(path, serde_json::to_vec(&state)?)?;
            }
            for finding in findings {
                common::print(&line(&finding))?;
                if arguments.fail_fast {
                    return Ok(FAILED);
                }
            }
            let gone = usize::try_from(state.offset() - start)?;
            text.drain(..gone);
            (start, is_new, silent) = (state.offset(), false, Duration::ZERO);
        }
        if count == 0 {
            let is_over = arguments.idle > 0 && silent >= Duration::from_secs(arguments.idle);
            if !is_file || is_over {
                return Ok(0);
            }
            std::thread::sleep(NAP);
            silent += NAP;
        }
    }
}

fn line(finding: &Finding) -> String {
    let Finding { id, first, last, message, .. } = finding;
    let text = format!("{id} (steps {first}-{last}): {message}");
    common::wrapped(&text, common::width(), 2) + "\n"
}

/// Returns the path of an agent's settings file, and the settings that run `command` as a hook.
fn settings(agent: Agent, command: &str) -> (&'static str, Value) {
    let hook =
        |timeout: u64| json!([{"hooks": [{"type": "command", "command": command, "timeout": timeout}]}]);
    let hooks = |events: &[&str], timeout| -> Value {
        events
            .iter()
            .map(|event| ((*event).to_owned(), hook(timeout)))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    match agent {
        Agent::ClaudeCode => {
            let events = ["PreToolUse", "PostToolUse", "PostToolUseFailure", "Stop", "SubagentStop"];
            ("~/.claude/settings.json", json!({"hooks": hooks(&events, 10)}))
        }
        Agent::Codex => {
            ("~/.codex/hooks.json", json!({"hooks": hooks(&["PreToolUse", "PostToolUse", "Stop"], 10)}))
        }
        // Its timeouts are in milliseconds, those of the other agents in seconds.
        Agent::GeminiCli => {
            let events = ["BeforeTool", "AfterTool", "AfterAgent"];
            ("~/.gemini/settings.json", json!({"hooks": hooks(&events, 10_000)}))
        }
    }
}
