//! `wrongturn guard`, a hook that warns coding agents about loops, and `wrongturn watch`, for growing
//! sessions.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read, Seek, SeekFrom, Write};
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
use crate::common::output::{self, at, create_folder, is_stdout};
use crate::common::{self, FAILED, Failure, UNREAD, Unread, terminal};

/// Warns a coding agent that loops, as a hook of Claude Code, Codex or Gemini CLI.
#[derive(Parser)]
#[command(after_help = common::notes_with(
    "the JSON of a hook on standard input, and the session file that it names.",
    "the answer to the hook, or with --install the settings, on standard output.",
    "Exit status: 0; 1 usage error, or a file cannot be read. Status 1 lets the call pass. A session of unknown format \
     and a damaged state are only reported on stderr.",
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
    "a line per finding, as it is confirmed: id, steps, message, after the run if the session has several. Findings \
     that only the end of a run confirms, such as those of tool_error_recovery, are left to `check`.",
    "Exit status: 0 when the session has ended; 1 at the first finding with --fail-fast; 2 usage error; 3 if the session \
     could not be read in full.",
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
        writeln!(io::stderr(), "Merge these settings into {path}.")?;
        return Ok(0);
    }
    let mut guard = Guard::new(with_min_confidence(default_detectors(), arguments.surety.min_confidence))?;
    if let Some(after) = arguments.block_after {
        guard = guard.block_after(after);
    }
    // Agents treat exit status 2 as a block, so errors exit with 1.
    answer(&guard, arguments.state.as_deref()).or_else(|error| {
        common::note(&format!("error: {error}"));
        Ok(FAILED)
    })
}

/// Reads a hook from standard input, updates the state of its session, and prints the answer, if any.
fn answer(guard: &Guard, states: Option<&Path>) -> Result<u8, Failure> {
    let mut json = Vec::new();
    io::stdin().lock().read_to_end(&mut json)?;
    if json.trim_ascii().is_empty() {
        return Err("no hook on standard input; coding agents call this command: see `guard --help`".into());
    }
    let hook = Hook::read(&json)?;
    let (path, mut file) = state_file(states, hook.session())?;
    let mut saved = Vec::new();
    file.read_to_end(&mut saved).map_err(at(&path))?;
    // The state is empty at the first call, or if an earlier call ended before it wrote one.
    let read = if saved.is_empty() { Ok(GuardState::default()) } else { GuardState::read(&saved) };
    let mut state = read.unwrap_or_else(|error| {
        common::note(&format!("warning: {}: the state is replaced: {error}", path.display()));
        GuardState::default()
    });
    let mut text = Vec::new();
    if let Some(session) = hook.transcript().map(Path::new) {
        read_session(session, &mut state, &mut text).map_err(at(session))?;
    }
    let advice = guard.advise(&mut state, &hook, &text);
    if let (Some(session), Some(error)) = (hook.transcript(), state.error()) {
        common::note(&format!("warning: {session}: {error}"));
    }
    let saved = serde_json::to_vec(&state)?;
    file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(&saved)).map_err(at(&path))?;
    if let Some(answer) = hook.answer(&advice) {
        common::print(&format!("{answer}\n"))?;
    }
    Ok(0)
}

/// Reads a session file from the offset of its state to the end, if the file exists. Starts with a new state if the
/// file is shorter than the offset.
fn read_session(path: &Path, state: &mut GuardState, text: &mut Vec<u8>) -> io::Result<()> {
    let mut file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        file => file?,
    };
    if file.metadata()?.len() < state.offset() {
        *state = GuardState::default();
    }
    file.seek(SeekFrom::Start(state.offset()))?;
    file.read_to_end(text)?;
    Ok(())
}

/// Returns the state file of a session, locked until it is closed: agents may call hooks for parallel tools
/// at the same time.
fn state_file(states: Option<&Path>, session: &str) -> Result<(PathBuf, File), Failure> {
    let folder = states.map_or_else(|| std::env::temp_dir().join("wrongturn-guard"), Path::to_path_buf);
    create_folder(&folder)?;
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let mut name: String = session.chars().take(100).map(plain).collect();
    if name != session {
        let mut hasher = DefaultHasher::new();
        session.hash(&mut hasher);
        name += &format!("-{:016x}", hasher.finish());
    }
    let path = folder.join(format!("{name}.json"));
    let file = File::options().read(true).write(true).create(true).truncate(false).open(&path);
    let file = file.and_then(|file| file.lock().map(|()| file)).map_err(at(&path))?;
    Ok((path, file))
}

/// Prints the findings of a session as they are confirmed.
pub(crate) fn watch(arguments: &Watch) -> Result<u8, Failure> {
    let guard = Guard::new(with_min_confidence(default_detectors(), arguments.surety.min_confidence))?;
    let session = &arguments.session;
    let mut state = match &arguments.state {
        Some(path) if path.exists() => output::parse(path, |saved| GuardState::read(saved.as_bytes()))?,
        _ => GuardState::default(),
    };
    let unread = |error: io::Error| Unread(at(session)(error));
    let is_file = !is_stdout(session);
    let mut input: Box<dyn Read> = match File::open(session) {
        _ if !is_file => Box::new(io::stdin()),
        file => Box::new(file.map_err(unread)?),
    };
    // The session from the offset of the state on, a buffer, and that offset.
    let (mut text, mut part, mut start) = (Vec::new(), vec![0; 1 << 16], state.offset());
    io::copy(&mut input.by_ref().take(start), &mut io::sink()).map_err(unread)?;
    let (mut silent, mut is_new, mut told) = (Duration::ZERO, false, None::<String>);
    loop {
        let count = input.read(&mut part).map_err(unread)?;
        text.extend_from_slice(part.get(..count).unwrap_or_default());
        is_new |= count > 0;
        let is_whole_line = text.last() == Some(&b'\n');
        if is_new && (count == 0 || is_whole_line) {
            let findings = guard.watch(&mut state, &text);
            if let Some(path) = &arguments.state {
                fs::write(path, serde_json::to_vec(&state)?).map_err(at(path))?;
            }
            for (run, finding) in findings {
                common::print(&line(run.as_deref(), &finding))?;
                if arguments.fail_fast {
                    return Ok(FAILED);
                }
            }
            let gone = usize::try_from(state.offset() - start)?;
            text.drain(..gone);
            (start, is_new, silent) = (state.offset(), false, Duration::ZERO);
        }
        if count == 0 {
            if let Some(error) = state.error().filter(|error| told.as_deref() != Some(error)) {
                common::note(&format!("error: {}: {error}", session.display()));
                told = Some(error.to_owned());
            }
            let is_over = arguments.idle > 0 && silent >= Duration::from_secs(arguments.idle);
            if !is_file || is_over {
                return Ok(if told.is_some() { UNREAD } else { 0 });
            }
            std::thread::sleep(NAP);
            silent += NAP;
        }
    }
}

/// Returns a finding as text, after the id of its run if that is given.
fn line(run: Option<&str>, finding: &Finding) -> String {
    let run = run.map_or_else(String::new, |run| format!("run {}: ", terminal::name(run)));
    let text = format!("{run}{} ({}): {}", finding.id, finding.steps(), finding.message);
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
        // Timeouts of Gemini CLI are in milliseconds, those of the other agents in seconds.
        Agent::GeminiCli => {
            let events = ["BeforeTool", "AfterTool", "AfterAgent"];
            ("~/.gemini/settings.json", json!({"hooks": hooks(&events, 10_000)}))
        }
    }
}
