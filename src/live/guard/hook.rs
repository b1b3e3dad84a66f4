//! The hook protocols of coding agents: input and answer.
//!
//! Claude Code and Codex speak one protocol (`PreToolUse`, `PostToolUse`, `PostToolUseFailure`, `Stop`,
//! `SubagentStop`), Gemini CLI another (`BeforeTool`, `AfterTool`, `AfterAgent`).

use serde_json::{Value, json};

use super::Advice;
use super::state::HookCall;
use crate::error::{Error, Result};
use crate::trace::Status;

/// When a hook runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Moment {
    BeforeCall,
    AfterCall,
    AtEnd,
    Other,
}

/// The input that an agent passes to a hook: the session file, and the tool call if there is one.
///
/// ```
/// use wrongturn::live::Hook;
///
/// let hook = Hook::read(br#"{"hook_event_name": "PreToolUse", "session_id": "s", "transcript_path": "s.jsonl",
///     "tool_name": "Bash", "tool_input": {"command": "pytest"}, "tool_use_id": "toolu_1"}"#)?;
/// assert_eq!((hook.session(), hook.transcript()), ("s", Some("s.jsonl")));
/// # Ok::<(), wrongturn::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Hook {
    pub(super) moment: Moment,
    event: String,
    session: String,
    transcript: Option<String>,
    pub(super) call: Option<HookCall>,
}

impl Hook {
    /// Parses the JSON that an agent writes to the standard input of a hook. Events other than tool calls and
    /// ends of turns are accepted but never answered.
    ///
    /// # Errors
    /// [`ErrorKind::Trace`](crate::ErrorKind::Trace) if the input is not an object with the strings
    /// `hook_event_name` and `session_id`.
    pub fn read(json: &[u8]) -> Result<Self> {
        let value: Value = serde_json::from_slice(json)
            .map_err(|error| Error::trace(format!("expected the JSON input of a hook: {error}")))?;
        let text = |name: &str| value.get(name)?.as_str().map(str::to_owned);
        let required = |name: &str| {
            text(name).ok_or_else(|| {
                Error::trace(format!("expected the string `{name}` in the JSON input of a hook"))
            })
        };
        let event = required("hook_event_name")?;
        let moment = match event.as_str() {
            "PreToolUse" | "BeforeTool" => Moment::BeforeCall,
            "PostToolUse" | "PostToolUseFailure" | "AfterTool" => Moment::AfterCall,
            "Stop" | "SubagentStop" | "AfterAgent" => Moment::AtEnd,
            _ => Moment::Other,
        };
        // Only Codex sends `turn_id`; it runs the hook after a call whether or not the call failed.
        let (answer, status) = answer(&value, value.get("turn_id").is_some());
        let call = text("tool_name").map(|tool| HookCall {
            id: text("tool_use_id"),
            tool,
            input: value.get("tool_input").unwrap_or(&Value::Null).to_string(),
            text: answer,
            status,
        });
        // A sub-agent has its own session file.
        let transcript = text("agent_transcript_path").or_else(|| text("transcript_path"));
        Ok(Self { moment, session: required("session_id")?, event, transcript, call })
    }

    /// Returns the id of the session.
    #[must_use]
    pub fn session(&self) -> &str {
        &self.session
    }

    /// Returns the path of the session file, if the agent gave one.
    #[must_use]
    pub fn transcript(&self) -> Option<&str> {
        self.transcript.as_deref()
    }

    /// Returns true if a warning at this hook reaches the model.
    pub(super) fn can_warn(&self) -> bool {
        self.moment == Moment::AfterCall || self.event == "PreToolUse"
    }

    /// Returns the answer to print on standard output, or `None` if nothing is to be printed.
    #[must_use]
    pub fn answer(&self, advice: &Advice) -> Option<Value> {
        let text = advice.text()?;
        let event = &self.event;
        Some(match (advice, self.moment) {
            (Advice::Block(_), _) if event == "PreToolUse" => json!({"hookSpecificOutput": {
                "hookEventName": event,
                "permissionDecision": "deny",
                "permissionDecisionReason": text,
            }}),
            (Advice::Block(_), _) => json!({"decision": "deny", "reason": text}),
            (_, Moment::AtEnd) => json!({"systemMessage": text}),
            _ => json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}),
        })
    }
}

/// Returns the text and status of a tool's answer, in the format of any supported agent.
fn answer(hook: &Value, of_codex: bool) -> (String, Status) {
    if let Some(error) = hook.get("error").filter(|error| !error.is_null()) {
        return (text_of(error), Status::Error);
    }
    let response = hook.get("tool_response").unwrap_or(&Value::Null);
    let is = |name: &str, value: bool| response.get(name) == Some(&json!(value));
    let failed =
        is("is_error", true) || is("success", false) || response.get("error").is_some_and(|e| !e.is_null());
    let status = match (failed, of_codex) {
        (true, _) => Status::Error,
        (false, true) => Status::Unknown,
        (false, false) => Status::Ok,
    };
    (text_of(response), status)
}

fn text_of(response: &Value) -> String {
    let part = |name: &str| response.get(name).and_then(Value::as_str);
    match response {
        Value::String(text) => text.clone(),
        // The output of a shell command.
        Value::Object(_) if part("stdout").is_some() => {
            let parts =
                [part("stdout"), part("stderr")].into_iter().flatten().filter(|text| !text.is_empty());
            parts.collect::<Vec<_>>().join("\n")
        }
        Value::Object(fields) => {
            match fields.get("llmContent").or(fields.get("text")).or(fields.get("content")) {
                Some(inner) => text_of(inner),
                None => response.to_string(),
            }
        }
        Value::Array(items) => items.iter().map(text_of).collect::<Vec<_>>().join("\n"),
        Value::Null => String::new(),
        _ => response.to_string(),
    }
}
