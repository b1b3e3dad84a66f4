//! Spans of Monocle, whose inputs and outputs are events: they get the attributes of `OpenInference`.

use serde_json::json;

use super::attributes::Value;
use super::data::Data;
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
    let (input, output, read): (_, _, fn(&Value<'_>) -> Value<'static>) = if kind == "LLM" {
        (Attr::GenAiInput, Attr::GenAiOutput, messages)
    } else {
        (Attr::InputValue, Attr::OutputValue, |value| value.clone().into_owned())
    };
    let model = attributes.name(Attr::MonocleModel).and_then(|kind| kind.strip_prefix("model.llm."));
    let model = model.filter(|model| kind == "LLM" && *model != "unknown");
    known.push((Attr::LlmModel, model.map(|model| Value::text(model.to_owned()))));
    for event in &span.events {
        let (to, from) = match &*event.name {
            "data.input" => (input, Attr::MonocleInput),
            "data.output" => (output, Attr::MonocleOutput),
            _ => continue,
        };
        known.push((to, event.attributes.get(from).map(read)));
    }
    for (key, value) in known {
        if let Some(value) = value {
            span.attributes.push(Key::Known(key), value);
        }
    }
}

/// Returns the messages that a model reads or writes. The only key of a message is its role, or `tools` for calls.
fn messages(value: &Value<'_>) -> Value<'static> {
    let items = match value.to_data() {
        Data::List(items) => items,
        message => vec![message],
    };
    let message = |item: Data<'_>| {
        let (role, said) = item.parsed().into_object().filter(|only| only.len() == 1)?.into_iter().next()?;
        Some(match &*role {
            "tools" => json!({"role": "assistant", "tool_calls": said}),
            _ => json!({"role": role, "content": said}),
        })
    };
    let messages: Vec<_> = items.into_iter().filter_map(message).collect();
    if messages.is_empty() { Value::NULL } else { Value::text(json!(messages).to_string()) }
}
