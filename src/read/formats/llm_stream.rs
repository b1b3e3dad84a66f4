//! Joins the server-sent events of a model response into one message.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::prelude::*;

/// An event of a stream of OpenAI's Responses API.
pub(super) const OF_RESPONSES: Mark = All(&[
    Says("type", &["response.*"]),
    HasOne(&["response", "item", "item_id", "output_index", "delta", "sequence_number"]),
]);

/// An event of a stream of OpenAI's Chat Completions API or of Anthropic's Messages API. Events of the Gemini API are
/// like whole responses.
pub(super) const EVENT: Mark = Any(&[
    All(&[Says("type", &["message_start"]), Is(Kind::Object, &["message"])]),
    All(&[Says("type", &["content_block_*"]), Has(&["index"])]),
    All(&[Says("type", &["message_delta"]), Has(&["delta"])]),
    All(&[Says("object", &["chat.completion.chunk"]), Is(Kind::List, &["choices"])]),
]);

/// An event that may be in any stream.
pub(super) const OTHER: Mark = Any(&[
    Says("type", &["message_stop", "ping", "keepalive"]),
    All(&[Says("type", &["error"]), HasOne(&["sequence_number", "error"])]),
]);

/// Returns the response in a stream of events, as JSON: a text, a list of its lines, or a list of events. `None` if
/// the value is not such a stream.
pub(super) fn response(value: Raw<'_>) -> Option<String> {
    let value = value.member("sse_lines").unwrap_or(value);
    let mut response = Response::default();
    for event in events(value) {
        response.add(&event);
    }
    response.message()
}

/// Returns the responses in streams of events, one stream after the other, as JSON. Values that are no events are
/// whole responses.
pub(super) fn responses<'a>(events: impl Iterator<Item = Members<'a>>) -> Vec<String> {
    let (mut responses, mut response) = (Vec::new(), Response::default());
    for members in events {
        let Some(whole) = members.whole() else { continue };
        let event: Value = serde_json::from_str(&whole.spelling()).unwrap_or_default();
        let is_chunk = event.get("candidates").is_some();
        if !is_chunk && ![OF_RESPONSES, EVENT, OTHER].iter().any(|mark| mark.fits(&members)) {
            responses.extend(std::mem::take(&mut response).message());
            responses.push(whole.spelling().into_owned());
            continue;
        }
        if response.is_before(&event) {
            responses.extend(std::mem::take(&mut response).message());
        }
        response.add(&event);
    }
    responses.extend(response.message());
    responses
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

/// Returns the id of a response in one of its chunks.
fn id(chunk: &Value) -> Option<&str> {
    ["/id", "/responseId"].iter().find_map(|key| at(chunk, key).as_str()).filter(|id| !id.is_empty())
}

/// Returns a block, with the input of its call as JSON.
fn with_input(mut block: Value) -> Value {
    let input = at(&block, "/input").as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    if let Some((input, block)) = input.zip(block.as_object_mut()) {
        block.insert("input".to_owned(), input);
    }
    block
}

fn append(text: &mut String, part: &Value) {
    text.push_str(part.as_str().unwrap_or_default());
}

#[derive(Default)]
struct Response {
    text: String,
    /// The id, name and arguments of calls, by index.
    calls: BTreeMap<u64, [String; 3]>,
    /// The items or blocks of a response, by index.
    items: BTreeMap<u64, Value>,
    /// The last state of a response of OpenAI's Responses API.
    whole: Value,
    /// The parts of a response of the Gemini API, and why it ended.
    parts: Vec<Value>,
    finish: Value,
    /// The id of a response that each of its chunks repeats.
    id: Option<String>,
    model: Value,
    usage: Map<String, Value>,
    error: Value,
}

impl Response {
    /// Returns true if an event belongs to the next response.
    fn is_before(&self, event: &Value) -> bool {
        let has_ended =
            || matches!(at(&self.whole, "/status").as_str(), Some("completed" | "incomplete" | "failed"));
        match (at(event, "/type").as_str(), id(event), &self.id) {
            (Some("response.created" | "message_start"), ..) => true,
            (Some(kind), ..) => kind.starts_with("response.") && has_ended(),
            (None, Some(id), Some(own)) => id != own,
            (None, ..) => self.finish.is_string(),
        }
    }

    fn add(&mut self, event: &Value) {
        match at(event, "/type").as_str() {
            Some("error") => self.error = event.get("error").unwrap_or(event).clone(),
            Some(kind) => self.add_item(kind, event),
            None if event.get("candidates").is_some() => self.add_contents(event),
            None => self.add_chunk(event),
        }
    }

    /// Adds an event of OpenAI's Responses API or of Anthropic's Messages API.
    fn add_item(&mut self, kind: &str, event: &Value) {
        let start = at(event, "/message");
        if start.is_object() {
            self.model = at(start, "/model").clone();
            self.add_usage(at(start, "/usage"));
        }
        // The event before the last one has the final count of output tokens.
        self.add_usage(at(event, "/usage"));
        if at(event, "/response").is_object() {
            self.whole = at(event, "/response").clone();
        } else if kind.starts_with("response.") && self.whole.is_null() {
            self.whole = json!({"object": "response"});
        }
        let index = ["/output_index", "/index"].iter().find_map(|key| at(event, key).as_u64());
        let next = || self.items.last_key_value().map_or(0, |(last, _)| last + 1);
        let is_whole = kind == "response.output_item.done";
        let Some(index) = index.or_else(|| is_whole.then(next)) else { return };
        let item = event.get("item").or_else(|| event.get("content_block")).filter(|item| item.is_object());
        if let Some(item) = item {
            self.items.insert(index, item.clone());
        }
        let parts = [
            ("text", at(event, "/delta/text")),
            ("input", at(event, "/delta/partial_json")),
            match kind {
                "response.output_text.delta" => ("content", at(event, "/delta")),
                "response.custom_tool_call_input.delta" => ("input", at(event, "/delta")),
                _ if kind.ends_with("_arguments.delta") => ("arguments", at(event, "/delta")),
                _ => ("", &Value::Null),
            },
        ];
        let item = self.items.entry(index).or_insert_with(|| json!({}));
        for (key, part) in parts.into_iter().filter(|(_, part)| part.is_string()) {
            match item.get_mut(key) {
                Some(Value::String(text)) => append(text, part),
                _ => drop(item.as_object_mut().map(|item| item.insert(key.to_owned(), part.clone()))),
            }
        }
    }

    /// Adds a chunk of OpenAI's Chat Completions API.
    fn add_chunk(&mut self, chunk: &Value) {
        self.id = id(chunk).map(str::to_owned).or(self.id.take());
        if at(chunk, "/model").is_string() {
            self.model = at(chunk, "/model").clone();
        }
        self.add_usage(at(chunk, "/usage"));
        let delta = at(chunk, "/choices/0/delta");
        append(&mut self.text, at(delta, "/content"));
        for part in at(delta, "/tool_calls").as_array().into_iter().flatten() {
            let parts = ["/id", "/function/name", "/function/arguments"].map(|path| at(part, path));
            let call = self.calls.entry(at(part, "/index").as_u64().unwrap_or_default()).or_default();
            call.iter_mut().zip(parts).for_each(|(text, part)| append(text, part));
        }
    }

    /// Adds a chunk of the Gemini API. Chunks of a text are joined.
    fn add_contents(&mut self, chunk: &Value) {
        self.id = id(chunk).map(str::to_owned).or(self.id.take());
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

    /// Returns the message in the form of its API; `None` if it is empty.
    fn message(self) -> Option<String> {
        let model = self.model;
        if !self.parts.is_empty() {
            let candidate =
                json!({"content": {"role": "model", "parts": self.parts}, "finishReason": self.finish});
            let response =
                json!({"candidates": [candidate], "modelVersion": model, "usageMetadata": self.usage});
            return Some(response.to_string());
        }
        let items = self.items.into_values().filter(|item| item.get("type").is_some());
        if let Value::Object(mut whole) = self.whole {
            let items: Vec<_> = items.collect();
            // A response that failed or was cut off may lack its output.
            if whole.get("output").and_then(Value::as_array).is_none_or(|output| output.len() < items.len()) {
                whole.insert("output".to_owned(), items.into());
            }
            whole.entry("object").or_insert_with(|| json!("response"));
            if !self.error.is_null() {
                whole.extend([("status".to_owned(), json!("failed")), ("error".to_owned(), self.error)]);
            }
            let says = |key| whole.get(key).is_some_and(|value| !value.is_null() && *value != json!([]));
            return (says("output") || says("error")).then(|| Value::Object(whole).to_string());
        }
        let blocks: Vec<Value> = items.map(with_input).collect();
        if self.text.is_empty() && self.calls.is_empty() && blocks.is_empty() && self.error.is_null() {
            return None;
        }
        let calls = self.calls.into_values().map(|[id, name, arguments]| {
            json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
        });
        let calls: Vec<_> = calls.collect();
        let content = if blocks.is_empty() { self.text.into() } else { Value::from(blocks) };
        let message = json!({"role": "assistant", "content": content, "tool_calls": calls, "model": model,
            "usage": self.usage, "error": self.error});
        Some(message.to_string())
    }
}
