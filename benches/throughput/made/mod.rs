//! Writes random sessions in the formats of recorded sessions, transcripts and spans, with the overhead that
//! these have.

mod sessions;
mod transcripts;

use std::fmt::Write as _;

use crate::drawn::{Call, Event, Speaker, session};

/// The number of KB per format, which is more than a branch predictor remembers.
const IN_SUM: usize = 1000;

/// Returns files of about this many KB in each format, with their names. Sessions of one seed begin alike in
/// all formats.
pub(crate) fn files(kilobytes: usize) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for (name, write) in FORMATS {
        for seed in 0..IN_SUM.div_ceil(kilobytes.max(1)) {
            // A sample of half the size shows the overhead.
            let wanted = kilobytes * 1000;
            let sample = write(&session(seed as u64, wanted / 2)).len().max(1);
            let text = write(&session(seed as u64, wanted * (wanted / 2) / sample));
            files.push((format!("{seed}-{name}"), text.into_bytes()));
        }
    }
    files
}

type Write = fn(&[Event]) -> String;

const FORMATS: [(&str, Write); 16] = [
    ("atif.json", sessions::atif),
    ("codex-rollout.jsonl", sessions::codex_rollout),
    ("codex-exec.jsonl", sessions::codex_exec),
    ("claude-code.jsonl", sessions::claude_code),
    ("inspect.json", sessions::inspect),
    ("gemini-cli.json", sessions::gemini_cli),
    ("opencode.json", sessions::opencode),
    ("swe-agent.traj", sessions::swe_agent),
    ("openhands.json", sessions::openhands),
    ("mini-swe-agent-1.json", sessions::mini_swe_agent),
    ("openai-responses.json", transcripts::responses),
    ("openai-responses.jsonl", transcripts::responses_in_lines),
    ("anthropic-messages.json", transcripts::anthropic),
    ("openai-chat.json", transcripts::openai),
    ("tau-bench.json", transcripts::tau_bench),
    ("opentelemetry.json", transcripts::opentelemetry),
];

/// Returns a text as a JSON string.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Returns the arguments of a call as JSON.
fn arguments(call: &Call) -> String {
    format!(r#"{{"command":{}}}"#, quoted(&call.command))
}

fn id(number: usize) -> String {
    let spread = (number as u128 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    format!("{spread:032x}")
}

fn time(number: usize) -> String {
    format!("2026-07-01T{:02}:{:02}:{:02}.123Z", number / 3600 % 24, number / 60 % 60, number % 60)
}

/// Writes events in order. A text that `said` receives is a JSON string already.
fn written(
    events: &[Event],
    said: impl Fn(usize, Speaker, &str) -> String,
    called: impl Fn(usize, &Call) -> Vec<String>,
) -> Vec<String> {
    let each = |(number, event): (usize, &Event)| match event {
        Event::Said { by, text } => vec![said(number, *by, &quoted(text))],
        Event::Called(call) => called(number, call),
    };
    events.iter().enumerate().flat_map(each).collect()
}

fn lines(items: &[String]) -> String {
    items.iter().flat_map(|item| [item, "\n"]).collect()
}

/// Returns the same JSON, indented by this many spaces for each level.
fn indented(json: &str, spaces: usize) -> String {
    let (mut text, mut depth, mut in_string, mut is_escaped) = (String::new(), 0, false, false);
    let line =
        |text: &mut String, depth: usize| write!(text, "\n{:1$}", "", depth * spaces).unwrap_or_default();
    let mut before = ' ';
    for byte in json.chars() {
        if in_string {
            (in_string, is_escaped) = (is_escaped || byte != '"', byte == '\\' && !is_escaped);
            text.push(byte);
        } else {
            if matches!(byte, ']' | '}') {
                depth -= 1;
            }
            let is_empty = matches!((before, byte), ('[', ']') | ('{', '}'));
            if !is_empty && (matches!(before, '[' | '{' | ',') || matches!(byte, ']' | '}')) {
                line(&mut text, depth);
            }
            text.push(byte);
            match byte {
                '[' | '{' => depth += 1,
                ':' => text.push(' '),
                '"' => in_string = true,
                _ => {}
            }
        }
        before = byte;
    }
    text
}
