//! Joins the server-sent events of a model response into one message.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// Returns the response in a stream of events, as JSON. `None` if the text is not such a stream.
pub(super) fn response(text: &str) -> Option<String> {
    let is_stream = ["event:", "data:"].iter().any(|start| text.trim_start().starts_with(start));
    let mut response = Response::default();
    for data in text.lines().filter(|_| is_stream).filter_map(|line| line.strip_prefix("data:")) {
        let Ok(event) = serde_json::from_str(data) else { continue };
        match at(&event, "/type").as_str() {
            // The last event of OpenAI's Responses API contains the whole response.
            Some("response.completed") => return Some(at(&event, "/response").to_string()),
            Some(_) => response.add(&event),
            None => response.add_chunk(&event),
        }
    }
    response.message()
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

    /// Replaces earlier counts with those of an event, except null ones.
    fn add_usage(&mut self, usage: &Value) {
        let counts = usage.as_object().into_iter().flatten().filter(|(_, count)| !count.is_null());
        self.usage.extend(counts.map(|(key, count)| (key.clone(), count.clone())));
    }

    fn call(&mut self, index: &Value, parts: [&Value; 3]) {
        let call = self.calls.entry(index.as_u64().unwrap_or_default()).or_default();
        call.iter_mut().zip(parts).for_each(|(text, part)| append(text, part));
    }

    /// Returns the message in the form of OpenAI's Chat Completions API; `None` if it is empty.
    fn message(self) -> Option<String> {
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
