//! Event logs of the OpenHands Agent SDK (V1): actions and observations that share a `tool_call_id`.

use super::openhands_sdk_conversation::Conversation;
use super::prelude::*;

pub(in crate::read) const FORMAT: Definition = Definition {
    about: "event logs of the OpenHands Agent SDK: a list, lines, or one event",
    signature: &[Shape::Items(EVENT)],
    reader: Reader::Document(read),
};

/// An event. The first versions wrote its class with the module.
pub(super) const EVENT: Mark = All(&[
    Is(Kind::String, &["id", "source"]),
    Says(
        "kind",
        &[
            "*ActionEvent",
            "*ObservationEvent",
            "*AgentErrorEvent",
            "*UserRejectObservation",
            "*MessageEvent",
            "*SystemPromptEvent",
            "*ACPToolCallEvent",
            "*Condensation",
            "*CondensationRequest",
            "*CondensationSummaryEvent",
            "*ConversationErrorEvent",
            "*ConversationStateUpdateEvent",
            "*HookExecutionEvent",
            "*InterruptEvent",
            "*LLMCompletionLogEvent",
            "*PauseEvent",
            "*ResumeTranscriptEvent",
            "*StreamingDeltaEvent",
            "*TokenEvent",
        ],
    ),
]);

/// Returns the name of a class without its module.
pub(super) fn short(kind: &str) -> &str {
    kind.rsplit('.').next().unwrap_or(kind)
}

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    let mut conversation = Conversation::new();
    document.items().iter().for_each(|event| conversation.read(*event));
    conversation.end(runs, Metadata::default(), None);
}

/// Returns the arguments of an action: its members without the class name, or the `data` of an MCP tool.
pub(super) fn arguments_of(action: Raw<'_>) -> Content<Arguments<'_>> {
    if let Some(data) = action.member("data").filter(|data| data.kind() == Kind::Object) {
        return common::arguments(data);
    }
    common::arguments_without(action, |key| key == b"kind")
}

/// Returns the answer in an observation.
pub(super) fn answer_of(observation: Raw<'_>) -> Answer<'_> {
    let members = Members::from(observation);
    let present = |key: &str| members.present(key);
    let full = |key: &str| {
        let value = present(key).filter(|value| value.kind() != Kind::Bool)?;
        words::result(value).filter(|text| !wire::is_blank(text.text()))
    };
    // The first versions had `output` and `error` for `content` and `is_error`.
    let error = present("error").and_then(Raw::string).filter(|error| !error.trim().is_empty());
    let text: Option<TextCow<'_>> = ["content", "output", "error", "message"]
        .into_iter()
        .find_map(full)
        .or_else(|| match present("content") {
            Some(content) => words::result(content),
            None if present("output").is_some() => Some("".into()),
            None => words::result(observation),
        });
    let metadata = present("metadata").and_then(|metadata| metadata.member("exit_code"));
    let exit_code = present("exit_code").or(metadata);
    let flag = present("is_error").or_else(|| present("error")).and_then(Raw::boolean);
    let outcome = match (flag, exit_code) {
        (Some(true), _) => Outcome::flag(true),
        _ if error.is_some() => Outcome::flag(true),
        (_, Some(code)) if code.integer() == Some(-1) => {
            Outcome::unknown(UnknownReason::Running, Provenance::ExitCode)
        }
        (_, Some(code)) if is_failure_code(code).is_some() => {
            Outcome::exit_code(is_failure_code(code) == Some(true))
        }
        (Some(false), _) => Outcome::flag(false),
        _ => Outcome::UNMARKED,
    };
    outcome.answer(text.into())
}
