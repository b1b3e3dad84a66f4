//! The names of the attributes that are kept. Decoding drops all others.

use std::borrow::Cow;
use std::sync::LazyLock;

use crate::json::{Escapes, JsonString};
use crate::trace::TextMap;

/// Declares a variant of `Attr` for each name.
macro_rules! names {
    ($($name:ident = $text:literal,)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub(crate) enum Attr { $($name,)* }

        impl Attr {
            const ALL: &[Self] = &[$(Self::$name,)*];

            pub(crate) const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

names! {
    AdkArguments = "gcp.vertex.agent.tool_call_args",
    AdkRequest = "gcp.vertex.agent.llm_request",
    AdkResponse = "gcp.vertex.agent.llm_response",
    AdkResult = "gcp.vertex.agent.tool_response",
    AdkSession = "gcp.vertex.agent.session_id",
    AgentName = "agent_name",
    AiCachedTokens = "ai.usage.cachedInputTokens",
    AiFunction = "ai.telemetry.functionId",
    AiModel = "ai.model.id",
    AiObject = "ai.response.object",
    AiOperation = "ai.operationId",
    AnyAgentArguments = "gen_ai.tool.args",
    AnyAgentOutput = "gen_ai.output",
    AiPrompt = "ai.prompt.messages",
    AiSession = "ai.telemetry.metadata.sessionId",
    AiText = "ai.response.text",
    AiToolArguments = "ai.toolCall.args",
    AiToolCalls = "ai.response.toolCalls",
    AiToolId = "ai.toolCall.id",
    AiToolName = "ai.toolCall.name",
    AiToolResult = "ai.toolCall.result",
    CliArguments = "arguments",
    CliCallId = "call_id",
    CliDecision = "decision",
    CliDecisionType = "decision_type",
    CliDuration = "duration_ms",
    CliError = "error",
    CliFunction = "function_name",
    CliFunctionArguments = "function_args",
    CliInput = "tool_input",
    CliModel = "model",
    CliOutput = "output",
    CliParameters = "tool_parameters",
    CliPrompt = "prompt",
    CliStatus = "status",
    CliSuccess = "success",
    CliTool = "tool_name",
    CliToolUse = "tool_use_id",
    CodexConversation = "conversation.id",
    Content = "content",
    ConversationId = "gen_ai.conversation.id",
    EntityInput = "traceloop.entity.input",
    EntityName = "traceloop.entity.name",
    EntityOutput = "traceloop.entity.output",
    ErrorType = "error.type",
    EventName = "event.name",
    Events = "events",
    ExceptionMessage = "exception.message",
    ExceptionType = "exception.type",
    GenAiAgentName = "gen_ai.agent.name",
    GenAiInput = "gen_ai.input.messages",
    GenAiOutput = "gen_ai.output.messages",
    GenAiToolName = "gen_ai.tool.name",
    GraphNode = "graph.node.id",
    Id = "id",
    InputValue = "input.value",
    LangGraphAgent = "traceloop.association.properties.lc_agent_name",
    LangGraphNode = "traceloop.association.properties.langgraph_node",
    LlmCachedTokens = "llm.token_count.prompt_details.cache_read",
    LlmInputTokens = "llm.token_count.prompt",
    LlmModel = "llm.model_name",
    LlmOutputTokens = "llm.token_count.completion",
    LogfireMessage = "logfire.msg",
    Message = "message",
    Metadata = "metadata",
    MonocleInput = "input",
    MonocleKind = "span.type",
    MonocleModel = "entity.2.type",
    MonocleName = "entity.1.name",
    MonocleOutput = "response",
    MonocleSession = "scope.agentic.session",
    OpenInferenceAgent = "agent.name",
    OpenInferenceKind = "openinference.span.kind",
    Operation = "gen_ai.operation.name",
    OperationName = "operation.name",
    OutputValue = "output.value",
    PlainName = "name",
    RequestModel = "gen_ai.request.model",
    ResponseId = "gen_ai.response.id",
    ResponseModel = "gen_ai.response.model",
    Role = "role",
    SessionId = "session.id",
    TaskInput = "gen_ai.task.input",
    TaskOutput = "gen_ai.task.output",
    TaskStatus = "gen_ai.task.status",
    ToolArguments = "tool_arguments",
    ToolCallArguments = "gen_ai.tool.call.arguments",
    ToolCallId = "gen_ai.tool.call.id",
    ToolCallIdOfGemini = "gen_ai.tool.call_id",
    ToolCallIdOfMessage = "tool_call_id",
    ToolCallResult = "gen_ai.tool.call.result",
    ToolExecutionStatus = "tool.execution.status",
    ToolId = "tool.id",
    ToolInput = "tool.input",
    ToolInputOfCall = "tool.arguments",
    ToolName = "tool.name",
    ToolOutput = "tool.output",
    ToolParameters = "tool.parameters",
    ToolResponse = "tool_response",
    ToolResult = "tool.result",
    ToolStatus = "gen_ai.tool.status",
    TraceloopKind = "traceloop.span.kind",
    UsageCached = "gen_ai.usage.cache_read.input_tokens",
    UsageCachedOld = "gen_ai.usage.cache_read_input_tokens",
    UsageCompletion = "gen_ai.usage.completion_tokens",
    UsageInput = "gen_ai.usage.input_tokens",
    UsageOutput = "gen_ai.usage.output_tokens",
    UsagePrompt = "gen_ai.usage.prompt_tokens",
}

/// The prefix of the attributes over which messages are spread, such as `llm.output_messages.0.message.content`.
pub(crate) type Spread = &'static str;

pub(crate) const COMPLETION: Spread = "gen_ai.completion.";
pub(crate) const INPUT_MESSAGES: Spread = "llm.input_messages.";
pub(crate) const OUTPUT_MESSAGES: Spread = "llm.output_messages.";
pub(crate) const PROMPT: Spread = "gen_ai.prompt.";

/// The key of a kept attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Key<'a> {
    Known(Attr),
    /// The full name of a part of a [`Spread`]. If one attribute holds all the messages, the name is the prefix.
    Part(Cow<'a, str>),
}

impl<'a> Key<'a> {
    /// Returns the key of a name, or `None` if attributes with this name are dropped. Those are most of a span:
    /// definitions of tools, and bookkeeping of frameworks.
    pub(crate) fn of(name: Cow<'a, str>) -> Option<Self> {
        if let Some(known) = Attr::find(name.as_bytes()) {
            return Some(Self::Known(known));
        }
        let prefix = prefix_of(name.as_bytes())?;
        Some(Self::Part(if name.len() < prefix.len() { Cow::Borrowed(prefix) } else { name }))
    }

    /// Like [`Self::of`], for a name as JSON spells it.
    pub(crate) fn of_spelling(name: JsonString<'a>) -> Option<Self> {
        if name.escapes() != Escapes::None {
            return Self::of(name.decode());
        }
        let known = Attr::find(name.inner()).map(Self::Known);
        known.or_else(|| prefix_of(name.inner()).and_then(|_| Self::of(name.decode())))
    }

    pub(crate) fn as_str(&self) -> &str {
        match self {
            Self::Known(name) => name.as_str(),
            Self::Part(name) => name,
        }
    }

    pub(crate) fn into_owned(self) -> Key<'static> {
        match self {
            Self::Known(name) => Key::Known(name),
            Self::Part(name) => Key::Part(Cow::Owned(name.into_owned())),
        }
    }
}

/// Returns the prefix of the spread that an attribute with this name is a part of, or all of.
fn prefix_of(name: &[u8]) -> Option<Spread> {
    [COMPLETION, INPUT_MESSAGES, OUTPUT_MESSAGES, PROMPT].into_iter().find(|prefix| {
        let prefix = prefix.as_bytes();
        name.starts_with(prefix) || prefix.strip_suffix(b".") == Some(name)
    })
}

/// Each name needs a bit of its own in a set of names.
const _: () = assert!(Attr::ALL.len() <= u128::BITS as usize);

impl Attr {
    fn find(name: &[u8]) -> Option<Self> {
        static NAMES: LazyLock<TextMap<&[u8], Attr>> =
            LazyLock::new(|| Attr::ALL.iter().map(|name| (name.as_str().as_bytes(), *name)).collect());
        NAMES.get(name).copied()
    }

    /// Returns the bit of the name in a set of names.
    pub(crate) const fn bit(self) -> u128 {
        1 << self as u8
    }
}
