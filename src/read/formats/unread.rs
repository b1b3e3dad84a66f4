//! Formats that are recognised but not read. The error for such an input names the format.

use super::prelude::*;
use crate::error::{Error, ErrorKind};

/// JSON formats, each with the marks of an object: the document, one of its items, or one of its lines.
const OF_JSON: [(&str, Mark); 20] = [
    ("agent-eval-harness trials", Has(&["trials", "passRate", "passAtK"])),
    ("AgentRx labels", Has(&["trajectory_id", "failure_summary", "failures"])),
    ("Aider analytics", Has(&["event", "properties", "user_id", "time"])),
    ("Aider benchmark result", Has(&["testdir", "testcase", "edit_format", "tests_outcomes"])),
    ("AndroidControl episode", Has(&["episode_id", "goal", "accessibility_trees", "step_instructions"])),
    ("asciinema recording", Has(&["version", "width", "height"])),
    ("ChatGPT export", Has(&["mapping", "current_node", "create_time"])),
    ("Cursor chat without bubbles", Has(&["composerId", "fullConversationHeadersOnly"])),
    ("DSPy trajectory", In("trajectory", &Has(&["tool_name_0", "tool_args_0", "observation_0"]))),
    ("HAL upload, which is encrypted", Has(&["encrypted_data", "salt"])),
    ("Langfuse ChatML", Values(&In("output", &Has(&["success", "data"])))),
    ("LangGraph checkpoint", Has(&["channel_versions", "versions_seen", "channel_values"])),
    ("OpenAI chat completion", Says("object", &["chat.completion*"])),
    ("n8n execution", Has(&["workflowData", "mode", "startedAt"])),
    ("OpenAI Assistants thread", All(&[Has(&["thread_id"]), Says("object", &["thread.*"])])),
    ("promptfoo result", Has(&["evalId", "results", "config"])),
    ("Semantic Kernel chat history", Has(&["Role", "Items"])),
    ("Semantic Kernel chat history", Has(&["role", "items"])),
    ("spans without ids", Has(&["start_time_unix_nano", "end_time_unix_nano", "attributes"])),
    ("Weave call", Has(&["op_name", "trace_id", "inputs"])),
];

/// Text formats, each with the beginning of the text and a part of its first line.
const OF_TEXT: [(&str, &str, &str); 6] = [
    ("Aider history", "\n# aider chat started at ", ""),
    ("Aider history", "# aider chat started at ", ""),
    ("Gemini CLI debug log", "[", "Z] [DEBUG] "),
    ("text log of Codex", "OpenAI Codex v", ""),
    ("text log of Codex", "Reading additional input from stdin...\nOpenAI Codex v", ""),
    ("text log of Codex", "[", "] OpenAI Codex v"),
];

/// Makes the error for an input of this format.
pub(in crate::read) fn error(name: &str) -> Error {
    Error::new(ErrorKind::Format, format!("{name}: this format is known but not supported"))
}

/// Returns the name of a document's format, if it is known but not read.
pub(in crate::read) fn of_document(document: &Document<'_>) -> Option<&'static str> {
    let shown = signature::shown(document);
    let look = Look::at(document, &shown);
    let known = OF_JSON.iter().find(|(_, mark)| look.objects().iter().any(|object| mark.fits(object)));
    known.map(|(name, _)| *name)
}

/// Returns the name of a text's format, if it is known but not read.
pub(in crate::read) fn of_text(text: &[u8]) -> Option<&'static str> {
    let line = text.trim_ascii_start().split(|byte| *byte == b'\n').next().unwrap_or_default();
    let fits = |(_, begins, holds): &&(&str, &str, &str)| {
        text.starts_with(begins.as_bytes()) && memchr::memmem::find(line, holds.as_bytes()).is_some()
    };
    OF_TEXT.iter().find(fits).map(|(name, ..)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::{ReadOptions, read_traces};

    /// Returns members that meet a mark.
    fn members(mark: &Mark) -> Vec<String> {
        match mark {
            Has(keys) => keys.iter().map(|key| format!("{key:?}: null")).collect(),
            Says(key, patterns) => vec![format!("{key:?}: {:?}", patterns.concat())],
            All(marks) => marks.iter().flat_map(members).collect(),
            Values(mark) => vec![format!("\"any\": {{{}}}", members(mark).join(", "))],
            In(key, mark) => vec![format!("{key:?}: {{{}}}", members(mark).join(", "))],
            other => unreachable!("a mark without an example: {other}"),
        }
    }

    #[test]
    fn the_error_names_the_format() {
        for (name, mark) in &OF_JSON {
            let object = format!("{{{}}}", members(mark).join(", "));
            for input in [format!("[{object}]"), format!("{{\"other\": 1}}\n{object}\n{object}\n"), object] {
                let (traces, reading) = read_traces(input.as_bytes(), &ReadOptions::default());
                assert!(traces.is_empty(), "{input}");
                let errors: Vec<_> =
                    reading.errors.iter().map(|error| (error.kind(), error.message())).collect();
                assert_eq!(
                    errors,
                    [(ErrorKind::Format, format!("{name}: this format is known but not supported"))],
                    "{input}"
                );
            }
        }
        for (name, begins, holds) in OF_TEXT {
            let input = format!("{begins}2026-01-02 10:00:00{holds}\n\n#### hello\n");
            let (_, reading) = read_traces(input.as_bytes(), &ReadOptions::default());
            assert_eq!(
                reading.errors.first().map(Error::message),
                Some(format!("{name}: this format is known but not supported"))
            );
        }
    }

    #[test]
    fn one_missing_mark_is_another_format() {
        for (_, mark) in &OF_JSON {
            let members = members(mark);
            let fewer = members.get(1..).unwrap_or_default();
            let object = format!("{{{}}}", fewer.join(", "));
            let (_, reading) = read_traces(object.as_bytes(), &ReadOptions::default());
            let error = reading.errors.first().map(Error::message).unwrap_or_default();
            assert!(!error.contains("is known but not supported"), "{object}: {error}");
        }
    }

    #[test]
    fn the_guide_names_every_format() {
        let guide = include_str!("../../guide/formats.md");
        let names = OF_JSON.iter().map(|(name, _)| *name).chain(OF_TEXT.iter().map(|(name, ..)| *name));
        for name in names {
            assert!(guide.contains(name), "{name} is missing in the guide");
        }
    }
}
