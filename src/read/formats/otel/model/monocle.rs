//! Spans of Monocle, whose inputs and outputs are events: they get the attributes of `OpenInference`.

use super::attributes::Value;
use super::names::{Attr, Key};
use super::span::Span;

pub(super) fn rewrite(span: &mut Span<'_>) {
    let kind = match span.attributes.name(Attr::MonocleKind) {
        Some("agentic.tool.invocation") => "TOOL",
        Some("agentic.invocation") => "AGENT",
        Some("inference") => "LLM",
        Some("agentic.turn" | "agentic.delegation" | "workflow") => "CHAIN",
        _ => return,
    };
    let (attributes, own) = (&span.attributes, Attr::OpenInferenceKind);
    let name = if kind == "TOOL" { Attr::ToolName } else { Attr::OpenInferenceAgent };
    let mut known = vec![(own, Some(Value::text(kind))), (name, attributes.get(Attr::MonocleName).cloned())];
    // What a model reads and writes is a dictionary of Python. The spans of the agent and of its tools say the same.
    if kind != "LLM" {
        for event in &span.events {
            known.push(match &*event.name {
                "data.input" => (Attr::InputValue, event.attributes.get(Attr::MonocleInput).cloned()),
                "data.output" => (Attr::OutputValue, event.attributes.get(Attr::MonocleOutput).cloned()),
                _ => continue,
            });
        }
    }
    for (key, value) in known {
        if let Some(value) = value {
            span.attributes.push(Key::Known(key), value);
        }
    }
}
