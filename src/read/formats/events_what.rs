//! The keys under which most tools record the parts of events, and marks of steps, runs and definitions.

use super::prelude::*;

/// Keys of objects that hold the rest of an event.
pub(super) const INNER: [&str; 17] = [
    "message", "payload", "event", "data", "item", "raw_item", "rawItem", "msg", "update", "content",
    "function", "part", "kind", "state", "response", "result", "outcome",
];

/// Keys of the word that tells the kind of an event.
pub(super) const KINDS: [&str; 9] =
    ["hook_event_name", "type", "$type", "kind", "event", "event_type", "step_type", "role", "from"];

/// Keys whose objects are calls, whatever they contain.
pub(super) const CALL_KEYS: [&str; 4] = ["toolUse", "functionCall", "function_call", "tool_call"];
/// Like [`CALL_KEYS`], for results.
pub(super) const RESULT_KEYS: [&str; 4] =
    ["toolResult", "functionResponse", "function_response", "tool_result"];

pub(super) const LISTS_OF_CALLS: [&str; 5] =
    ["tool_calls", "toolCalls", "tool_uses", "tools_called", "toolExecutionRequests"];
/// Keys of lists of results in a message.
pub(super) const LISTS_OF_RESULTS: [&str; 2] = ["tool_results", "tool_returns"];
pub(super) const NAMES: [&str; 7] =
    ["name", "tool_name", "toolName", "tool", "function", "tool_type", "api_name"];
pub(super) const NAMES_OF_STEPS: [&str; 7] =
    ["tool", "tool_name", "toolName", "action_type", "action_taken", "action", "name"];
#[rustfmt::skip]
pub(super) const ARGUMENTS: [&str; 21] = [
    "arguments", "args", "input", "parameters", "params", "tool_input", "toolInput", "rawInput", "action_input",
    "tool_args", "tool_arguments", "action_args", "params_as_json", "input_args", "parsed_arguments",
    "input_data", "input_preview", "param_dict", "input_parameters", "inputParameters", "inputs",
];
#[rustfmt::skip]
pub(super) const OUTPUTS: [&str; 22] = [
    "output", "result", "tool_result", "content", "response", "tool_output", "toolOutput", "tool_response",
    "value", "observation", "toolResult", "text", "result_preview", "result_value", "content_blocks",
    "output_data", "output_preview", "outputs", "function_response", "functionResponse", "function_result",
    "result_summary",
];
/// Keys of the output of a step, in order of precedence: `observation` may be what the agent saw before it
/// acted.
#[rustfmt::skip]
pub(super) const OUTPUTS_OF_STEPS: [&str; 16] = [
    "next_observation", "next_obs", "observation", "tool_output", "toolOutput", "tool_response", "tool_result",
    "result", "result_preview", "result_summary", "output", "content_blocks", "output_data", "output_preview",
    "outputs", "response",
];
pub(super) const ERRORS: [&str; 5] = ["error", "error_message", "error_type", "exception", "tool_error"];
/// Keys of an answer that is in the object of its call.
#[rustfmt::skip]
pub(super) const ANSWERS: [&str; 20] = [
    "output", "result", "response", "tool_output", "toolOutput", "tool_response", "observation", "toolResult",
    "result_preview", "output_data", "output_preview", "error", "error_message", "exception", "outputs",
    "tool_result", "function_response", "functionResponse", "function_result", "result_summary",
];
/// A call with a summary of its answer.
pub(super) const SUMMARISED: Mark = All(&[Is(Kind::String, &["summary"]), Is(Kind::Bool, &["success"])]);
/// A scored run without calls, and without anything that may hold them.
pub(super) const SCORED: Mark = All(&[
    Is(Kind::List, &["tool_calls"]),
    Is(Kind::String, &["question", "answer"]),
    Is(Kind::Bool, &["passed"]),
    Test("no objects, and only empty lists", |run| {
        run.iter().all(|(_, value)| match value.kind() {
            Kind::Object => false,
            _ => value.items().is_none_or(|items| items.is_empty()),
        })
    }),
]);
/// A run that ended without calls: its question, an empty list of calls, and its answer or error.
pub(super) const UNCALLED_RUN: Mark = All(&[
    Is(Kind::String, &["question"]),
    HasOne(&["steps", "tool_calls"]),
    HasOne(&["final_answer", "answer"]),
    Has(&["error"]),
    Test("no calls, but an answer or an error", |run| {
        let holds_objects =
            |list: Vec<Raw<'_>>| list.iter().any(|item| matches!(item.kind(), Kind::Object | Kind::List));
        let is_empty =
            |key: &str| run.get(key).is_none_or(|list| list.items().is_some_and(|list| list.is_empty()));
        ["steps", "tool_calls"].into_iter().all(is_empty)
            && ["final_answer", "answer", "error"].iter().any(|key| run.present(key).is_some())
            && !run.iter().any(|(_, value)| value.items().is_some_and(holds_objects))
    }),
]);
/// A run with its calls, without their answers, and its last message.
pub(super) const CONCLUDED: Mark = All(&[
    Every("tool_calls", &All(&[Is(Kind::String, &["name"]), HasOne(&["input", "arguments", "args"])])),
    Any(&[Is(Kind::String, &["final_text"]), Is(Kind::String, &["final_response"])]),
]);
pub(super) const CALL_IDS: [&str; 8] =
    ["tool_call_id", "toolCallId", "tool_use_id", "toolUseId", "call_id", "callId", "callID", "tool_id"];
pub(super) const SESSIONS: [&str; 5] =
    ["sessionId", "session_id", "conversation_id", "thread_id", "query_id"];
/// Keys of the task that an event belongs to. They tell runs apart only if all events have one.
pub(super) const TASKS: [&str; 5] = ["task_id", "episode_id", "mission_id", "ticket_id", "runId"];
pub(super) const ASKED: [&str; 8] =
    ["prompt", "question", "query", "task", "instruction", "input", "user_task", "initial_obs"];
pub(super) const SAID: [&str; 12] = [
    "final_answer",
    "final_text",
    "final_response",
    "final_output",
    "final_message",
    "finalMessage",
    "prediction",
    "answer",
    "output",
    "response",
    "actual_output",
    "actualOutput",
];
/// Keys of texts in other objects: in hooks of Cline, in the end of a model's turn in the events of LangChain, and in a
/// model's step.
pub(super) const TEXTS_WITHIN: [(&str, &str); 4] =
    [("userPromptSubmit", "prompt"), ("turn", "outputText"), ("output", "content"), ("outputs", "text")];
/// Keys of the final message of an agent in the last of its steps.
pub(super) const FINISHED: [&str; 3] = ["finish", "final_answer", "final_response"];

/// A step without a type: a tool with its input or observation, or an action with its input or with what the
/// agent observed.
pub(super) const STEP: Mark = Any(&[
    UNCALLED,
    All(&[
        Any(&[
            Is(Kind::String, &["tool"]),
            Is(Kind::String, &["tool_name"]),
            Is(Kind::String, &["toolName"]),
        ]),
        HasOne(&[
            "args",
            "arguments",
            "input",
            "input_args",
            "parsed_arguments",
            "tool_input",
            "tool_args",
            "parameters",
            "params",
            "observation",
        ]),
    ]),
    All(&[
        Any(&[
            Is(Kind::String, &["action", "action_input"]),
            All(&[Is(Kind::String, &["action"]), Is(Kind::Object, &["arguments"]), Has(&["observation"])]),
            Is(Kind::String, &["action", "thought", "observation"]),
            Is(Kind::String, &["action_type", "observation"]),
            Is(Kind::String, &["action_taken", "next_observation"]),
            All(&[Is(Kind::String, &["action"]), Is(Kind::Object, &["action_input"])]),
            All(&[Is(Kind::String, &["action_type"]), HasOne(&["action_input", "action_args"])]),
            All(&[
                In("action", &HasOne(&["name", "tool", "tool_name"])),
                HasOne(&["observation", "next_obs"]),
            ]),
        ]),
        // Steps of SWE-agent, which are read only in its own documents.
        Not(&Has(&["response"])),
    ]),
]);

/// The schema of the arguments in the definition of a tool.
const SCHEMA: Mark = All(&[Says("type", &["object"]), Is(Kind::Object, &["properties"])]);

/// A definition of a tool, which is not a call.
const DEFINITION: Mark = Any(&[
    In("parameters", &SCHEMA),
    In("input_schema", &SCHEMA),
    In("inputSchema", &SCHEMA),
    Has(&["description", "parameters"]),
]);

/// The signature of a function in an interface or a documentation: it lists parameters, where a call has values.
const SIGNATURE: Mark = All(&[
    Any(&[Every("inputs", &PARAMETER), Every("params", &PARAMETER), Every("parameters", &PARAMETER)]),
    Not(&HasOne(&["output", "result", "observation", "tool_call_id", "call_id", "id"])),
]);
const PARAMETER: Mark = All(&[Has(&["name"]), Not(&Has(&["value"]))]);

/// Members of a call or its answer, which a definition of a tool does not have.
const USED: Mark = HasOne(&[
    "arguments",
    "args",
    "input",
    "params",
    "tool_input",
    "tool_args",
    "action_input",
    "output",
    "result",
    "tool_output",
    "tool_result",
    "observation",
    "error",
    "tool_call_id",
    "call_id",
]);

/// A task of tau-bench, which is not a run: its actions are the reference solution.
pub(super) const TASK: Mark = All(&[
    Has(&["instruction", "actions", "outputs"]),
    Not(&Holds("actions", &HasOne(&["observation", "result", "output"]))),
]);

/// An action in a log that is not read.
pub(super) const LOGGED: Mark = All(&[Is(Kind::String, &["action_type"]), Has(&["result"]), Not(&STEP)]);

/// Keys of the messages of a conversation.
pub(super) const TRANSCRIPTS: [&str; 5] =
    ["transcript", "conversation", "messages", "transcript_with_tool_calls", "transcript_object"];

/// Returns what the user asked, in the object around calls.
pub(super) fn asked<'a>(around: &Members<'a>) -> Option<TextCow<'a>> {
    let text = ASKED.iter().find_map(|key| around.get(key).and_then(words::text));
    let of_task = || around.message("task_description").or_else(|| around.object("task").message("prompt"));
    text.or_else(of_task).or_else(|| around.object("input").text("user"))
}

/// Returns the final message of the agent, in the object around calls.
pub(super) fn said<'a>(around: &Members<'a>) -> Option<TextCow<'a>> {
    let text = |of: &Members<'a>| SAID.iter().find_map(|key| of.get(key).and_then(words::text));
    let object = || around.get("final_answer").filter(|answer| answer.kind() == Kind::Object);
    text(around).or_else(|| text(&around.object("output"))).or_else(|| words::result(object()?))
}

/// Returns true if an object has a list of calls, one of them with its answer.
pub(super) fn holds_answers(object: &Members<'_>) -> bool {
    let is_answered = |call: &Members<'_>| {
        NAMES.iter().any(|key| call.name(key).is_some())
            && (ANSWERS.iter().any(|key| call.present(key).is_some()) || SUMMARISED.fits(call))
    };
    LISTS_OF_CALLS.iter().any(|key| object.objects(key).any(|call| is_answered(&call)))
}

/// Returns true if an object has a list of steps with answers. Calls deeper inside it are then copies.
pub(super) fn holds_steps(object: &Members<'_>) -> bool {
    let is_answered =
        |step: &Members<'_>| OUTPUTS_OF_STEPS.iter().any(|key| output_of_step(step, key).is_some());
    let has_steps = |key| object.objects(key).any(|step| STEP.fits(&step) && is_answered(&step));
    !holds_answers(object) && ["turns", "steps", "trajectory"].into_iter().any(has_steps)
}

/// Returns the output of a step under a key. A response that is text may be the words of the model.
pub(super) fn output_of_step<'a>(step: &Members<'a>, key: &str) -> Option<Raw<'a>> {
    let is_output = |value: &Raw<'_>| key != "response" || matches!(value.kind(), Kind::Object | Kind::List);
    step.present(key).filter(is_output)
}

/// Returns true if one of these objects has one of these words under a key.
pub(super) fn says(layers: &[Members<'_>], key: &str, words: &[&str]) -> bool {
    layers.iter().any(|layer| layer.name(key).is_some_and(|word| words.contains(&&*word)))
}

/// Returns true if an object is the last step of a run, with an answer in place of an action or of calls. An object
/// with a list of objects is a run, unless they are messages and its action is null.
pub(super) fn ends_run(step: &Members<'_>) -> bool {
    let calls = step.get("tool_calls").and_then(Raw::items);
    let has_no_action = step.is("action", Kind::Null);
    let is_object =
        |item: &Raw<'_>| item.kind() == Kind::Object && !(has_no_action && item.member("role").is_some());
    let holds_objects = |list: Raw<'_>| list.items().is_some_and(|items| items.iter().any(is_object));
    (step.name("thought").is_some() || calls.is_some_and(|calls| calls.is_empty()))
        && FINISHED.iter().any(|key| step.name(key).is_some())
        && !step.iter().any(|(_, value)| holds_objects(value))
}

/// A step of transformers' agents whose output has no call that could be made.
const UNCALLED: Mark = All(&[Is(Kind::String, &["llm_output"]), Has(&["error"])]);

/// A part of the message in a payload, which other events have too.
pub(super) const PART: Mark = All(&[
    Says("kind", &["system_message", "user_message"]),
    Says("role", &["system", "user"]),
    Is(Kind::String, &["content"]),
    In("payload", &Is(Kind::Object, &["message"])),
]);

/// The step of a model with the text that it wrote.
pub(super) const GENERATION: Mark =
    All(&[Says("type", &["llm"]), In("outputs", &Is(Kind::String, &["text"]))]);

/// Returns true if an object has the name of a tool and its arguments.
pub(super) fn is_named_call(object: &Members<'_>) -> bool {
    NAMES.iter().any(|key| object.name(key).is_some()) && ARGUMENTS.iter().any(|key| object.has(key))
}

/// Returns true if an event is the definition of a tool or of a function, itself or under `function`.
pub(super) fn is_definition(layers: &[Members<'_>], path: &[&str]) -> bool {
    let count = 1 + usize::from(path.first() == Some(&"function"));
    let any = |mark: Mark| layers.iter().take(count).any(|layer| mark.fits(layer));
    any(SIGNATURE) || any(DEFINITION) && !any(USED)
}
