//! The keys that tools use for the parts of an event.

use super::prelude::*;

/// Keys of objects that hold the rest of an event.
pub(super) const INNER: [&str; 17] = [
    "message", "payload", "event", "data", "item", "raw_item", "rawItem", "msg", "update", "content",
    "function", "part", "kind", "state", "response", "result", "outcome",
];

/// Keys whose objects are calls, whatever they contain.
pub(super) const CALL_KEYS: [&str; 4] = ["toolUse", "functionCall", "function_call", "tool_call"];
/// The same, for results.
pub(super) const RESULT_KEYS: [&str; 4] =
    ["toolResult", "functionResponse", "function_response", "tool_result"];

pub(super) const LISTS_OF_CALLS: [&str; 3] = ["tool_calls", "toolCalls", "tool_uses"];
pub(super) const NAMES: [&str; 6] = ["name", "tool_name", "toolName", "tool", "function", "tool_type"];
pub(super) const NAMES_OF_STEPS: [&str; 7] =
    ["tool", "tool_name", "toolName", "action_type", "action_taken", "action", "name"];
pub(super) const ARGUMENTS: [&str; 11] = [
    "arguments",
    "args",
    "input",
    "parameters",
    "params",
    "tool_input",
    "toolInput",
    "rawInput",
    "action_input",
    "tool_args",
    "action_args",
];
pub(super) const OUTPUTS: [&str; 12] = [
    "output",
    "result",
    "content",
    "response",
    "tool_output",
    "toolOutput",
    "tool_response",
    "value",
    "observation",
    "toolResult",
    "text",
    "result_preview",
];
/// Keys of the output of a step, in order of precedence: `observation` may be what the agent saw before it
/// acted.
pub(super) const OUTPUTS_OF_STEPS: [&str; 10] = [
    "next_observation",
    "next_obs",
    "observation",
    "tool_output",
    "toolOutput",
    "tool_response",
    "tool_result",
    "result",
    "result_preview",
    "output",
];
/// Keys of the error of a call.
pub(super) const ERRORS: [&str; 3] = ["error", "error_message", "error_type"];
/// Keys of an answer that is in the object of its call.
pub(super) const ANSWERS: [&str; 10] = [
    "output",
    "result",
    "response",
    "tool_output",
    "toolOutput",
    "tool_response",
    "observation",
    "toolResult",
    "result_preview",
    "error",
];
pub(super) const CALL_IDS: [&str; 8] =
    ["tool_call_id", "toolCallId", "tool_use_id", "toolUseId", "call_id", "callId", "callID", "tool_id"];
pub(super) const SESSIONS: [&str; 4] = ["sessionId", "session_id", "conversation_id", "thread_id"];
/// Keys of the task that an event belongs to. They tell runs apart only if all events have one.
pub(super) const TASKS: [&str; 4] = ["task_id", "episode_id", "mission_id", "ticket_id"];

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
