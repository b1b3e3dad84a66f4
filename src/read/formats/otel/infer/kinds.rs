//! Classifies spans by what they record: a tool, a model, an agent, or anything else.

use super::prelude::*;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Tool,
    Model,
    Agent,
    /// A step, a node, a workflow, a transport: any other span.
    Chain,
}

/// ADK's tool name in a span that merges the answers of several tools. The calls have spans of their own.
const MERGED: &str = "(merged tools)";

/// Attributes with the name of a tool.
pub(crate) const TOOL_NAMES: &[Attr] = &[Attr::GenAiToolName, Attr::ToolName, Attr::AiToolName];

/// Classifies a span by its attributes, most reliable first, or by its name if no attribute decides.
pub(crate) fn kind(span: &Span<'_>) -> Kind {
    let attributes = &span.attributes;
    let tool = attributes.name(Attr::GenAiToolName);
    if tool == Some(MERGED) || span.name == MERGED || span.name == "execute_tool (merged)" {
        return Kind::Chain;
    }
    if let Some(operation) = attributes.name(Attr::Operation)
        && let Some(kind) = of_operation(operation)
    {
        return kind;
    }
    if let Some(kind) = attributes.name(Attr::OpenInferenceKind) {
        return match kind.to_ascii_uppercase().as_str() {
            "TOOL" => Kind::Tool,
            "LLM" => Kind::Model,
            // Some instrumentations record a tool as an agent if its name contains "agent".
            "AGENT" if attributes.name(Attr::ToolName).is_some() => Kind::Tool,
            // An iteration of LangGraph's prebuilt agent. The agent itself is the enclosing graph.
            "AGENT"
                if span.name == "agent" && metadata(span, "langgraph_node").as_deref() == Some("agent") =>
            {
                Kind::Chain
            }
            "AGENT" => Kind::Agent,
            _ => Kind::Chain,
        };
    }
    if let Some(kind) = attributes.name(Attr::TraceloopKind) {
        return match kind {
            "tool" => Kind::Tool,
            "agent" => Kind::Agent,
            "llm" => Kind::Model,
            _ => Kind::Chain,
        };
    }
    // Wrappers of the AI SDK may leave out the id of the operation. A function may follow its name.
    let named =
        || attributes.name(Attr::OperationName)?.split(' ').next().filter(|name| name.starts_with("ai."));
    if let Some(operation) = attributes.name(Attr::AiOperation).or_else(named) {
        return of_ai_operation(operation);
    }
    // Some tracers record no kind, only the name of the tool.
    if tool.or_else(|| attributes.name(Attr::AiToolName)).is_some()
        || span.name.starts_with("tool.") && attributes.name(Attr::ToolName).is_some()
        || span.name.starts_with("tool:") && attributes.get(Attr::ToolInputOfCall).is_some()
    {
        return Kind::Tool;
    }
    let mut completion = attributes.spread(COMPLETION);
    if completion.any(|(part, _)| part == "0.role") || attributes.get(Attr::AdkResponse).is_some() {
        return Kind::Model;
    }
    // Pydantic AI names the run of an agent after it.
    if span.name.strip_suffix(" run").is_some_and(|name| attributes.name(Attr::GenAiAgentName) == Some(name))
    {
        return Kind::Agent;
    }
    let other = || if shows_request(span) { Kind::Model } else { Kind::Chain };
    of_name(&span.name).unwrap_or_else(other)
}

/// Returns true if a span names a model and holds messages or an output.
fn shows_request(span: &Span<'_>) -> bool {
    let attributes = &span.attributes;
    let is_completion = || attributes.get(Attr::LlmModel).and(attributes.get(Attr::OutputValue)).is_some();
    request::model(attributes).is_some() && (holds_messages(span) || is_completion())
}

fn holds_messages(span: &Span<'_>) -> bool {
    let attributes = &span.attributes;
    let mut parts = attributes.spread(PROMPT).chain(attributes.spread(COMPLETION));
    let is_output = |name: &str| matches!(name, "gen_ai.choice" | "gen_ai.content.completion");
    attributes.first_of(&[Attr::GenAiInput, Attr::GenAiOutput]).is_some()
        || parts.next().is_some()
        || span.events.iter().any(|event| is_output(&event.name))
}

/// Returns true if a model span has no kind and no messages. If it holds a model span, it is a wrapper.
pub(crate) fn may_wrap_model(span: &Span<'_>) -> bool {
    let kinds = [Attr::Operation, Attr::OpenInferenceKind, Attr::TraceloopKind];
    span.attributes.get(Attr::LlmModel).is_some()
        && span.attributes.first_of(&kinds).is_none()
        && !holds_messages(span)
}

fn of_operation(operation: &str) -> Option<Kind> {
    Some(match operation {
        "execute_tool" => Kind::Tool,
        "chat" | "text_completion" | "generate_content" | "call_llm" => Kind::Model,
        "invoke_agent" => Kind::Agent,
        "create_agent" | "invoke_workflow" | "invoke_swarm" | "execute_task" | "embeddings" => Kind::Chain,
        _ => return None,
    })
}

/// Classifies an AI SDK span. A `generateText` span is a chain: it encloses the tool spans and a model span for each
/// step.
fn of_ai_operation(operation: &str) -> Kind {
    match operation.rsplit('.').next() {
        Some("toolCall") => Kind::Tool,
        Some("doGenerate" | "doStream") => Kind::Model,
        _ => Kind::Chain,
    }
}

fn of_name(name: &str) -> Option<Kind> {
    let begins =
        |word: &str| name.strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
    Some(match name {
        "call_llm" => Kind::Model,
        "running tool" => Kind::Tool,
        _ if name.starts_with("running tool:") || name.starts_with("execute_tool ") => Kind::Tool,
        _ if begins("agent run") || begins("invoke_agent") || name.starts_with("agent_run [") => Kind::Agent,
        _ => return None,
    })
}

pub(crate) fn tool_name<'s>(span: &'s Span<'_>) -> &'s str {
    if let Some(name) = span.attributes.first_name(TOOL_NAMES) {
        return name;
    }
    if span.attributes.name(Attr::TraceloopKind) == Some("tool")
        && let Some(name) = span.attributes.name(Attr::EntityName)
    {
        return name;
    }
    let name = &*span.name;
    let name =
        name.strip_prefix("execute_tool ").or_else(|| name.strip_prefix("running tool: ")).unwrap_or(name);
    name.strip_suffix(".run").filter(|name| !name.is_empty()).unwrap_or(name)
}

pub(crate) fn agent_name<'s>(span: &'s Span<'_>) -> Option<&'s str> {
    let named = [Attr::GenAiAgentName, Attr::OpenInferenceAgent, Attr::GraphNode, Attr::AgentName];
    if let Some(name) = span.attributes.first_name(&named) {
        return Some(name);
    }
    let name = &*span.name;
    let name = name
        .strip_prefix("invoke_agent ")
        .or_else(|| name.strip_prefix("agent_run [").and_then(|rest| rest.strip_suffix(']')))
        .unwrap_or(name);
    let name = [".run", "._execute_core", ".execute_task"]
        .iter()
        .find_map(|method| name.strip_suffix(method))
        .unwrap_or(name);
    (!matches!(name, "" | "agent run" | "invoke_agent")).then_some(name)
}

/// Returns the name of the agent for which LangGraph runs a span. Only this name links the two, since LangGraph's
/// instrumentation does not nest spans in agent spans.
pub(crate) fn graph_agent<'s>(span: &'s Span<'_>) -> Option<Cow<'s, str>> {
    if let Some(name) = span.attributes.name(Attr::LangGraphAgent) {
        return Some(Cow::Borrowed(name));
    }
    metadata(span, "lc_agent_name")
}

/// Returns true if a span is LangGraph's tool node.
pub(crate) fn is_tools_node(span: &Span<'_>) -> bool {
    span.name == "tools"
        || span.name == "execute_task tools"
        || span.attributes.name(Attr::LangGraphNode) == Some("tools")
}

fn metadata<'s>(span: &'s Span<'_>, key: &str) -> Option<Cow<'s, str>> {
    let value = span.attributes.get(Attr::Metadata)?;
    if value.as_str().is_some_and(|text| !text.contains(key)) {
        return None;
    }
    match value.to_data() {
        Data::Object(mut members) => match members.remove(key)? {
            Data::Text(name) if !name.is_empty() => Some(name),
            _ => None,
        },
        _ => None,
    }
}
