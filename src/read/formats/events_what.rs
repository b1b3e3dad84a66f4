//! Classifies the events of agents by type or role.

use super::prelude::*;

/// A step without a type: a tool with its input or observation, or an action with its input or with what the
/// agent observed.
pub(super) const STEP: Mark = Any(&[
    All(&[
        Any(&[
            Is(Kind::String, &["tool"]),
            Is(Kind::String, &["tool_name"]),
            Is(Kind::String, &["toolName"]),
        ]),
        Any(&[
            Has(&["args"]),
            Has(&["arguments"]),
            Has(&["input"]),
            Has(&["tool_input"]),
            Has(&["tool_args"]),
            Has(&["parameters"]),
            Has(&["params"]),
            Has(&["observation"]),
        ]),
    ]),
    All(&[
        Any(&[
            Is(Kind::String, &["action", "action_input"]),
            Is(Kind::String, &["action", "thought", "observation"]),
            Is(Kind::String, &["action_type", "observation"]),
            Is(Kind::String, &["action_taken", "next_observation"]),
            All(&[Is(Kind::String, &["action"]), Is(Kind::Object, &["action_input"])]),
            All(&[Is(Kind::String, &["action_type"]), Any(&[Has(&["action_input"]), Has(&["action_args"])])]),
            All(&[
                In("action", &Any(&[Has(&["name"]), Has(&["tool"])])),
                Any(&[Has(&["observation"]), Has(&["next_obs"])]),
            ]),
        ]),
        // Steps of SWE-agent, which are read only in its own documents.
        Not(&Has(&["response"])),
    ]),
]);

/// The kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::read) enum What {
    Message(Actor),
    Call,
    Result,
    /// A call or a result, depending on its members.
    Tool,
    /// A step of an agent: its thought, the call, and the answer.
    Step,
    /// A call with its result, in a log that records calls only once they are done.
    Done,
    /// The last step of an agent: its thought and its final message.
    Finish,
    /// The beginning of a run.
    Start,
}

impl What {
    /// Returns the kind of an event with this type or role.
    pub(super) fn of(word: &str) -> Option<Self> {
        let mut normal = String::with_capacity(word.len());
        let mut was_lower = false;
        for letter in word.chars() {
            if letter.is_ascii_uppercase() && was_lower {
                normal.push('_');
            }
            was_lower = letter.is_ascii_lowercase();
            normal.push(if letter.is_alphanumeric() { letter.to_ascii_lowercase() } else { '_' });
        }
        Some(match &*normal {
            "user" | "human" | "persona" | "user_prompt_submit" | "prompt_submit" => {
                Self::Message(Actor::User)
            }
            "assistant" | "ai" | "agent" | "model" | "gpt" | "bot" | "content_part" | "tool_calls" => {
                Self::Message(Actor::Agent)
            }
            "system" | "developer" => Self::Message(Actor::System),
            "agent_start" | "run_start" | "task_start" => Self::Start,
            "tool" | "function" | "mcp_tool" | "post_tool_use" | "post_tool_use_failure" => Self::Tool,
            "tool_call"
            | "tool_use"
            | "function_call"
            | "custom_tool_call"
            | "mcp_tool_call"
            | "mcp_tool_use"
            | "server_tool_use"
            | "tool_invocation"
            | "tool_call_invocation"
            | "pre_tool_use"
            | "tool_request"
            | "tool_start"
            | "tool_call_start"
            | "tool_call_started"
            | "tool_execution_start"
            | "tool_called"
            | "on_tool_start"
            | "backend_tool_call" => Self::Call,
            "tool_result"
            | "tool_response"
            | "tool_output"
            | "function_result"
            | "function_response"
            | "function_call_result"
            | "function_call_output"
            | "custom_tool_call_output"
            | "tool_call_result"
            | "tool_call_output"
            | "mcp_tool_result"
            | "tool_end"
            | "tool_call_end"
            | "tool_call_completed"
            | "tool_execution_end"
            | "tool_completed"
            | "tool_error"
            | "on_tool_end"
            | "on_tool_error"
            | "observation" => Self::Result,
            other if other.ends_with("_tool_result") => Self::Result,
            _ => return None,
        })
    }
}
