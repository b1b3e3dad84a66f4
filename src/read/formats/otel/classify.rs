//! Classifies spans: a tool, a model, an agent, or another.

use std::borrow::Cow;

use super::data::Data;
use super::model::Span;

/// The kinds of spans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Tool,
    Model,
    Agent,
    /// A step, a node, a workflow, a transport: any other span.
    Chain,
}

/// The tool that a framework makes up for the merged answer of several.
const MERGED: &str = "(merged tools)";

/// Classifies by attributes, in order, and by the span's name if no attribute decides.
pub(super) fn kind(span: &Span<'_>) -> Kind {
    let attributes = &span.attributes;
    let tool = attributes.name("gen_ai.tool.name");
    if tool == Some(MERGED) || span.name == "execute_tool (merged)" {
        return Kind::Chain;
    }
    if let Some(operation) = attributes.name("gen_ai.operation.name")
        && let Some(kind) = of_operation(operation)
    {
        return kind;
    }
    if let Some(kind) = attributes.name("openinference.span.kind") {
        return match kind {
            _ if kind.eq_ignore_ascii_case("TOOL") => Kind::Tool,
            _ if kind.eq_ignore_ascii_case("LLM") => Kind::Model,
            _ if !kind.eq_ignore_ascii_case("AGENT") => Kind::Chain,
            // A tool with "agent" in its name.
            _ if attributes.name("tool.name").is_some() => Kind::Tool,
            _ => Kind::Agent,
        };
    }
    if let Some(kind) = attributes.name("traceloop.span.kind") {
        return match kind {
            "tool" => Kind::Tool,
            "agent" => Kind::Agent,
            "llm" => Kind::Model,
            _ => Kind::Chain,
        };
    }
    // Some tracers write no kind, but name the span after the tool.
    if tool.is_some() || span.name.starts_with("tool.") && attributes.name("tool.name").is_some() {
        return Kind::Tool;
    }
    if attributes.name("gen_ai.completion.0.role").is_some()
        || attributes.get("gcp.vertex.agent.llm_response").is_some()
    {
        return Kind::Model;
    }
    of_name(&span.name).unwrap_or(Kind::Chain)
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

fn of_name(name: &str) -> Option<Kind> {
    let words =
        |prefix: &str| name.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
    Some(
        if name == "running tool" || name.starts_with("running tool:") || name.starts_with("execute_tool ") {
            Kind::Tool
        } else if words("agent run") || words("invoke_agent") || name.starts_with("agent_run [") {
            Kind::Agent
        } else if name == "call_llm" {
            Kind::Model
        } else {
            return None;
        },
    )
}

/// Returns the name of a tool span's tool.
pub(super) fn tool_name<'s>(span: &'s Span<'_>) -> &'s str {
    if let Some(name) = span.attributes.first_name(&["gen_ai.tool.name", "tool.name"]) {
        return name;
    }
    if span.attributes.name("traceloop.span.kind").is_some_and(|kind| kind == "tool")
        && let Some(name) = span.attributes.name("traceloop.entity.name")
    {
        return name;
    }
    let name = &*span.name;
    let name =
        name.strip_prefix("execute_tool ").or_else(|| name.strip_prefix("running tool: ")).unwrap_or(name);
    name.strip_suffix(".run").filter(|name| !name.is_empty()).unwrap_or(name)
}

/// Returns the name of an agent span's agent.
pub(super) fn agent_name<'s>(span: &'s Span<'_>) -> Option<&'s str> {
    let named = ["gen_ai.agent.name", "agent.name", "graph.node.id", "agent_name"];
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

/// Returns the name of the agent that LangGraph runs a span for. Its instrumentation leaves agent spans without
/// children.
pub(super) fn graph_agent<'s>(span: &'s Span<'_>) -> Option<Cow<'s, str>> {
    if let Some(name) = span.attributes.name("traceloop.association.properties.lc_agent_name") {
        return Some(Cow::Borrowed(name));
    }
    metadata(span, "lc_agent_name")
}

/// Returns true if a span is LangGraph's tool node.
pub(super) fn is_tools_node(span: &Span<'_>) -> bool {
    span.name == "tools"
        || span.name == "execute_task tools"
        || span
            .attributes
            .name("traceloop.association.properties.langgraph_node")
            .is_some_and(|node| node == "tools")
}

fn metadata<'s>(span: &'s Span<'_>, key: &str) -> Option<Cow<'s, str>> {
    let value = span.attributes.get("metadata")?;
    let text = value.as_str()?;
    if !text.contains(key) {
        return None;
    }
    match serde_json::from_str::<Data<'_>>(text).ok()?.as_object()?.get(key)? {
        Data::Text(name) if !name.is_empty() => Some(name.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(name: &'static str, attributes: &[(&'static str, &'static str)]) -> Span<'static> {
        Span { name: name.into(), ..Span::default() }.with_attributes(attributes)
    }

    #[test]
    fn attributes_decide_kinds_before_names() {
        for (span, expected) in [
            (span("x", &[("gen_ai.operation.name", "execute_tool")]), Kind::Tool),
            (
                span("x", &[("gen_ai.operation.name", "chat"), ("openinference.span.kind", "CHAIN")]),
                Kind::Model,
            ),
            (span("x", &[("gen_ai.operation.name", "generate_content")]), Kind::Model),
            (span("invoke_agent a", &[("gen_ai.operation.name", "create_agent")]), Kind::Chain),
            (span("x", &[("gen_ai.operation.name", "odd"), ("openinference.span.kind", "LLM")]), Kind::Model),
            (span("x", &[("openinference.span.kind", "AGENT")]), Kind::Agent),
            (span("x", &[("openinference.span.kind", "AGENT"), ("tool.name", "ask_agent")]), Kind::Tool),
            (span("x", &[("openinference.span.kind", "tool")]), Kind::Tool),
            (span("execute_tool x", &[("openinference.span.kind", "CHAIN")]), Kind::Chain),
            (span("x", &[("traceloop.span.kind", "tool")]), Kind::Tool),
            (span("x", &[("gen_ai.tool.name", "x")]), Kind::Tool),
            (span("x", &[("gen_ai.completion.0.role", "assistant")]), Kind::Model),
            (span("running tool", &[]), Kind::Tool),
            (span("running tools", &[]), Kind::Chain),
            (span("execute_tool x", &[]), Kind::Tool),
            (span("agent run", &[]), Kind::Agent),
            (span("agent_run [x]", &[]), Kind::Agent),
            (span("invoke_agent x", &[]), Kind::Agent),
            (span("call_llm", &[]), Kind::Model),
            (span("GET /", &[]), Kind::Chain),
            (
                span(
                    "execute_tool (merged)",
                    &[("gen_ai.operation.name", "execute_tool"), ("gen_ai.tool.name", "(merged tools)")],
                ),
                Kind::Chain,
            ),
        ] {
            assert_eq!(kind(&span), expected, "{span:?}");
        }
    }

    #[test]
    fn names_of_tools_and_agents() {
        assert_eq!(tool_name(&span("SimpleTool", &[("tool.name", "look")])), "look");
        assert_eq!(tool_name(&span("execute_tool look", &[])), "look");
        assert_eq!(tool_name(&span("look.run", &[])), "look");
        assert_eq!(tool_name(&span("handoff to b", &[])), "handoff to b");
        assert_eq!(agent_name(&span("main.run", &[])), Some("main"));
        assert_eq!(agent_name(&span("agent_run [b]", &[])), Some("b"));
        assert_eq!(agent_name(&span("agent run", &[("agent_name", "c")])), Some("c"));
        assert_eq!(agent_name(&span("agent run", &[])), None);
        assert_eq!(
            graph_agent(&span("x", &[("metadata", r#"{"lc_agent_name": "d"}"#)])).as_deref(),
            Some("d")
        );
    }
}
