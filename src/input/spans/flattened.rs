//! Messages that are spread over attributes with dotted names, such as `llm.output_messages.0.message.content`.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::attributes::Value;
use super::dialects::blocks_of_flattened;
use super::message::{Block, Role};
use super::model::Span;

/// Attributes of one prefix, as the messages that they are.
pub(super) fn flattened(span: &Span<'_>, prefix: &str) -> Option<Vec<Block>> {
    let entries = span
        .attributes
        .iter()
        .filter_map(|(key, value)| Some((key.strip_prefix(prefix)?, flat_value(value))));
    let value = unflatten(entries)?;
    let role =
        if prefix.contains("output") || prefix.contains("completion") { Role::Agent } else { Role::Unknown };
    Some(blocks_of_flattened(&value, role))
}

/// Texts are texts here, whatever they hold; only what was no text is structured.
fn flat_value(value: &Value<'_>) -> Json {
    match value {
        Value::Text(words) => Json::String(words.text().to_str().into_owned()),
        other => other.to_json(),
    }
}

/// Dotted names with numbers in them as the lists and objects that they stand for. Numbers count, not their order as
/// text.
fn unflatten<'v>(entries: impl Iterator<Item = (&'v str, Json)>) -> Option<Json> {
    #[derive(Default)]
    struct Node {
        value: Option<Json>,
        members: BTreeMap<(Option<u64>, String), Node>,
    }
    impl Node {
        fn into_json(self) -> Json {
            if self.members.is_empty() {
                return self.value.unwrap_or(Json::Null);
            }
            if self.members.keys().all(|(number, _)| number.is_some()) {
                return Json::Array(self.members.into_values().map(Node::into_json).collect());
            }
            Json::Object(self.members.into_iter().map(|((_, key), node)| (key, node.into_json())).collect())
        }
    }
    let mut root = Node::default();
    for (key, value) in entries {
        let mut node = &mut root;
        for part in key.split('.').take(24).filter(|part| !part.is_empty()) {
            node = node.members.entry((part.parse().ok(), part.to_owned())).or_default();
        }
        node.value = Some(value);
    }
    (root.value.is_some() || !root.members.is_empty()).then(|| root.into_json())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn flattened_names_are_sorted_by_number() {
        let entries = (0..12).rev().map(|n| (format!("{n}.message.content"), json!(n))).collect::<Vec<_>>();
        let value = unflatten(entries.iter().map(|(key, value)| (key.as_str(), value.clone()))).unwrap();
        assert_eq!(value[10]["message"]["content"], json!(10));
        assert_eq!(unflatten(std::iter::empty()), None);
        let whole = unflatten(std::iter::once(("", json!([1])))).unwrap();
        assert_eq!(whole, json!([1]));
    }
}
