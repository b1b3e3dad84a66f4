//! Joins the server-sent events of a model response into one message.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::prelude::*;

/// Returns the response in a stream of events, as JSON: a text, a list of its lines, or a list of events. `None` if
/// the value is not such a stream.
pub(super) fn response(value: Raw<'_>) -> Option<String> {
    let value = value.member("sse_lines").unwrap_or(value);
    let mut response = Response::default();
    for event in events(value) {
        match at(&event, "/type").as_str() {
            // The last event of OpenAI's Responses API contains the whole response.
            Some("response.completed") => return Some(at(&event, "/response").to_string()),
            Some(_) => response.add(&event),
            None if event.get("candidates").is_some() => response.add_contents(&event),
            None => response.add_chunk(&event),
        }
    }
    response.message()
}

/// Returns the members of an object for which llama-stack records its class as well.
pub(super) fn without_class(value: Raw<'_>) -> Raw<'_> {
    let members = value.member("__type__").and_then(|_| value.member("__data__"));
    members.filter(|members| members.kind() == Kind::Object).unwrap_or(value)
}

fn events(value: Raw<'_>) -> Vec<Value> {
    let event = |line: &str| serde_json::from_str(line.strip_prefix("data:")?).ok();
    if let Some(items) = value.items() {
        let event = |item: Raw<'_>| match item.string() {
            Some(line) => event(&line),
            None => serde_json::from_str(&without_class(item).spelling()).ok(),
        };
        return items.into_iter().filter_map(event).collect();
    }
    let text = value.string().unwrap_or_default();
    let is_stream = ["event:", "data:"].iter().any(|start| text.trim_start().starts_with(start));
    if is_stream {
        return text.lines().filter_map(event).collect();
    }
    // Gemini streams a list unless events are asked for.
    serde_json::from_str(&text).unwrap_or_default()
}

fn at<'v>(event: &'v Value, path: &str) -> &'v Value {
    event.pointer(path).unwrap_or(&Value::Null)
}

fn append(text: &mut String, part: &Value) {
    text.push_str(part.as_str().unwrap_or_default());
}

#[derive(Default)]
struct Response {
    text: String,
    /// The id, name and arguments of calls, by index.
    calls: BTreeMap<u64, [String; 3]>,
    /// The parts of a response of the Gemini API, and why it ended.
    parts: Vec<Value>,
    finish: Value,
    model: Value,
    usage: Map<String, Value>,
}

impl Response {
    /// Adds an event of Anthropic's Messages API.
    fn add(&mut self, event: &Value) {
        let start = at(event, "/message");
        if start.is_object() {
            self.model = at(start, "/model").clone();
            self.add_usage(at(start, "/usage"));
        }
        // The event before the last one has the final count of output tokens.
        self.add_usage(at(event, "/usage"));
        append(&mut self.text, at(event, "/delta/text"));
        let (block, input) = (at(event, "/content_block"), at(event, "/delta/partial_json"));
        if input.is_string() || at(block, "/type").as_str() == Some("tool_use") {
            self.call(at(event, "/index"), [at(block, "/id"), at(block, "/name"), input]);
        }
    }

    /// Adds a chunk of OpenAI's Chat Completions API.
    fn add_chunk(&mut self, chunk: &Value) {
        if at(chunk, "/model").is_string() {
            self.model = at(chunk, "/model").clone();
        }
        self.add_usage(at(chunk, "/usage"));
        let delta = at(chunk, "/choices/0/delta");
        append(&mut self.text, at(delta, "/content"));
        for part in at(delta, "/tool_calls").as_array().into_iter().flatten() {
            let parts = ["/id", "/function/name", "/function/arguments"].map(|path| at(part, path));
            self.call(at(part, "/index"), parts);
        }
    }

    /// Adds a chunk of the Gemini API. Chunks of a text are joined.
    fn add_contents(&mut self, chunk: &Value) {
        self.model = at(chunk, "/modelVersion").clone();
        self.add_usage(at(chunk, "/usageMetadata"));
        self.finish = at(chunk, "/candidates/0/finishReason").clone();
        for part in at(chunk, "/candidates/0/content/parts").as_array().into_iter().flatten() {
            let is_same = |last: &&mut Value| last.get("thought") == part.get("thought");
            let last = self.parts.last_mut().filter(is_same).and_then(|last| last.get_mut("text"));
            match (last, part.get("text")) {
                (Some(Value::String(text)), Some(more)) => append(text, more),
                _ => self.parts.push(part.clone()),
            }
        }
    }

    /// Replaces earlier counts with those of an event, except null ones.
    fn add_usage(&mut self, usage: &Value) {
        let counts = usage.as_object().into_iter().flatten().filter(|(_, count)| !count.is_null());
        self.usage.extend(counts.map(|(key, count)| (key.clone(), count.clone())));
    }

    fn call(&mut self, index: &Value, parts: [&Value; 3]) {
        let call = self.calls.entry(index.as_u64().unwrap_or_default()).or_default();
        call.iter_mut().zip(parts).for_each(|(text, part)| append(text, part));
    }

    /// Returns the message in the form of the Gemini API or OpenAI's Chat Completions API; `None` if it is empty.
    fn message(self) -> Option<String> {
        if !self.parts.is_empty() {
            let candidate =
                json!({"content": {"role": "model", "parts": self.parts}, "finishReason": self.finish});
            let response = json!({"candidates": [candidate], "modelVersion": self.model,
                "usageMetadata": self.usage});
            return Some(response.to_string());
        }
        if self.text.is_empty() && self.calls.is_empty() {
            return None;
        }
        let calls = self.calls.into_values().map(|[id, name, arguments]| {
            json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
        });
        let calls: Vec<_> = calls.collect();
        let message = json!({"role": "assistant", "content": self.text, "tool_calls": calls,
            "model": self.model, "usage": self.usage});
        Some(message.to_string())
    }
}
