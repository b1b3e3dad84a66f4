//! The keys under which most tools record the parts of an event.

/// Keys of objects that hold the rest of an event.
pub(in crate::read) const INNER: [&str; 17] = [
    "message", "payload", "event", "data", "item", "raw_item", "rawItem", "msg", "update", "content",
    "function", "part", "kind", "state", "response", "result", "outcome",
];

/// Keys whose objects are calls, whatever they contain.
pub(in crate::read) const CALL_KEYS: [&str; 4] = ["toolUse", "functionCall", "function_call", "tool_call"];
/// Like [`CALL_KEYS`], for results.
pub(in crate::read) const RESULT_KEYS: [&str; 4] =
    ["toolResult", "functionResponse", "function_response", "tool_result"];

pub(in crate::read) const LISTS_OF_CALLS: [&str; 4] =
    ["tool_calls", "toolCalls", "tool_uses", "tools_called"];
/// Keys of lists of results in a message.
pub(in crate::read) const LISTS_OF_RESULTS: [&str; 1] = ["tool_results"];
pub(in crate::read) const NAMES: [&str; 6] =
    ["name", "tool_name", "toolName", "tool", "function", "tool_type"];
pub(in crate::read) const NAMES_OF_STEPS: [&str; 7] =
    ["tool", "tool_name", "toolName", "action_type", "action_taken", "action", "name"];
pub(in crate::read) const ARGUMENTS: [&str; 12] = [
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
    "params_as_json",
];
pub(in crate::read) const OUTPUTS: [&str; 13] = [
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
    "result_value",
];
/// Keys of the output of a step, in order of precedence: `observation` may be what the agent saw before it
/// acted.
pub(in crate::read) const OUTPUTS_OF_STEPS: [&str; 10] = [
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
pub(in crate::read) const ERRORS: [&str; 3] = ["error", "error_message", "error_type"];
/// Keys of an answer that is in the object of its call.
pub(in crate::read) const ANSWERS: [&str; 10] = [
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
pub(in crate::read) const CALL_IDS: [&str; 8] =
    ["tool_call_id", "toolCallId", "tool_use_id", "toolUseId", "call_id", "callId", "callID", "tool_id"];
pub(in crate::read) const SESSIONS: [&str; 4] = ["sessionId", "session_id", "conversation_id", "thread_id"];
/// Keys of the task that an event belongs to. They tell runs apart only if all events have one.
pub(in crate::read) const TASKS: [&str; 4] = ["task_id", "episode_id", "mission_id", "ticket_id"];
/// Keys of the task of a run.
pub(in crate::read) const ASKED: [&str; 6] = ["prompt", "question", "query", "task", "instruction", "input"];
/// Keys of the final message of a run.
pub(in crate::read) const SAID: [&str; 7] =
    ["final_answer", "final_text", "final_response", "final_output", "answer", "output", "response"];
/// Keys of the final message of an agent in the last of its steps.
pub(in crate::read) const FINISHED: [&str; 2] = ["finish", "final_answer"];
