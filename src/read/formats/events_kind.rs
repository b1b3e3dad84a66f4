//! The kind of an event of an agent, by its type or role.

use super::events_what::{ARGUMENTS, CALL_IDS, KINDS, NAMES};
use super::prelude::*;

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
    Start,
}

impl What {
    /// Returns the kind of an event with this type or role.
    pub(in crate::read) fn of(word: &str) -> Option<Self> {
        Some(match &*words::snake_case(word) {
            "user"
            | "user_message"
            | "human"
            | "persona"
            | "user_prompt_submit"
            | "prompt_submit"
            | "before_submit_prompt" => Self::Message(Actor::User),
            "assistant"
            | "ai"
            | "agent"
            | "model"
            | "gpt"
            | "bot"
            | "content_part"
            | "tool_calls"
            | "final_answer"
            | "on_chat_model_end"
            | "on_llm_end"
            | "after_agent_response" => Self::Message(Actor::Agent),
            "system" | "developer" => Self::Message(Actor::System),
            "agent_start" | "run_start" | "task_start" | "planner_start" => Self::Start,
            "tool" | "function" | "mcp_tool" | "after_tool" | "post_tool_use" | "post_tool_use_failure" => {
                Self::Tool
            }
            "tool_call"
            | "tool_use"
            | "function_call"
            | "custom_tool_call"
            | "mcp_tool_call"
            | "mcp_tool_use"
            | "server_tool_use"
            | "tool_invocation"
            | "tool_call_invocation"
            | "before_tool"
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
            | "tool_execution_result"
            | "tool_completed"
            | "tool_error"
            | "tool_call_error"
            | "tool_failed"
            | "tool_call_failed"
            | "tool_finished"
            | "tool_call_finished"
            | "tool_success"
            | "tool_done"
            | "on_tool_end"
            | "on_tool_error"
            | "observation" => Self::Result,
            other if other.ends_with("_tool_result") => Self::Result,
            _ => return None,
        })
    }
}

/// Returns the kind of an event of a type that only texts have.
pub(super) fn of_text(event: &Members<'_>) -> Option<What> {
    let actor = KINDS.iter().find_map(|key| match &*words::snake_case(&event.name(key)?) {
        "assistant_message" | "agent_message" | "ai_message" | "assistant_text" => Some(Actor::Agent),
        "system_message" => Some(Actor::System),
        _ => None,
    });
    actor.map(What::Message)
}

/// Returns the kind of an event that Factory Droid prints at the end of a run: the final text, or an error.
pub(super) fn of_end(event: &Members<'_>) -> Option<What> {
    let is_of_call =
        || NAMES.iter().chain(&ARGUMENTS).chain(&CALL_IDS).chain(&["id"]).any(|key| event.has(key));
    match &*event.name("type")? {
        "completion" if event.is("finalText", Kind::String) => Some(What::Message(Actor::Agent)),
        "error" if event.is("message", Kind::String) && event.is("source", Kind::String) && !is_of_call() => {
            Some(What::Message(Actor::Environment))
        }
        _ => None,
    }
}
