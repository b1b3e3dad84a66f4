//! Messages spread over attributes with dotted names, such as `llm.output_messages.0.message.content`.

use std::borrow::Cow;

use super::data::Data;
use super::dialects::blocks_of_flattened;
use super::message::{Block, Role};
use super::model::Span;

/// Rebuilds messages from attributes of one prefix. Texts stay texts.
pub(super) fn flattened<'s>(span: &'s Span<'_>, prefix: &str) -> Option<Vec<Block<'s>>> {
    let entries = span.attributes.iter();
    let value = unflatten(
        entries.filter_map(|(key, value)| Some((key.strip_prefix(prefix)?, value.to_plain_data()))),
    )?;
    let role =
        if prefix.contains("output") || prefix.contains("completion") { Role::Agent } else { Role::Unknown };
    Some(blocks_of_flattened(value, role))
}

/// Limit of parts of a name.
const MAX_DEPTH: usize = 24;

/// A part of a dotted name, possibly a number.
type Part<'s> = (Option<u64>, &'s str);

/// The value or members under a part of a name.
#[derive(Default)]
struct Node<'s> {
    value: Option<Data<'s>>,
    /// In input order. Names with the same part mostly follow one another.
    members: Vec<(Part<'s>, Node<'s>)>,
}

impl<'s> Node<'s> {
    /// Inserts a value under the parts of its name.
    fn put(&mut self, mut name: impl Iterator<Item = Part<'s>>, value: Data<'s>) {
        let Some(part) = name.next() else {
            self.value = Some(value);
            return;
        };
        if self.members.last().is_none_or(|(last, _)| *last != part) {
            self.members.push((part, Self::default()));
        }
        if let Some((_, node)) = self.members.last_mut() {
            node.put(name, value);
        }
    }

    fn into_data(mut self) -> Data<'s> {
        if self.members.is_empty() {
            return self.value.unwrap_or_default();
        }
        self.members.sort_by_key(|(part, _)| *part);
        self.members.dedup_by(|(later, more), (part, node)| {
            let again = later == part;
            if again {
                node.value = more.value.take().or(node.value.take());
                node.members.append(&mut more.members);
            }
            again
        });
        if self.members.iter().all(|((number, _), _)| number.is_some()) {
            return Data::List(self.members.into_iter().map(|(_, node)| node.into_data()).collect());
        }
        let members = self.members.into_iter();
        Data::Object(members.map(|((_, key), node)| (Cow::Borrowed(key), node.into_data())).collect())
    }
}

/// Turns dotted names with numbers into lists and objects, in numeric order.
fn unflatten<'s>(entries: impl Iterator<Item = (&'s str, Data<'s>)>) -> Option<Data<'s>> {
    let mut root = Node::default();
    for (key, value) in entries {
        let parts = key.split('.').take(MAX_DEPTH).filter(|part| !part.is_empty());
        root.put(parts.map(|part| (part.parse().ok(), part)), value);
    }
    (root.value.is_some() || !root.members.is_empty()).then(|| root.into_data())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn flattened_names_are_sorted_by_number() {
        let entries = (0..12).rev().map(|n| (format!("{n}.message.content"), json!(n))).collect::<Vec<_>>();
        let value = unflatten(entries.iter().map(|(key, value)| (key.as_str(), value.into()))).unwrap();
        assert_eq!(Value::from(&value)[10]["message"]["content"], json!(10));
        assert_eq!(unflatten(std::iter::empty()), None);
        let whole = unflatten(std::iter::once(("", Data::from(&json!([1]))))).unwrap();
        assert_eq!(whole, Data::from(&json!([1])));
    }

    #[test]
    fn what_comes_apart_is_put_together() {
        let entries =
            [("0.b", 1), ("1.a", 2), ("0.a", 3), ("x", 4), ("0.b", 5), ("0.b.c", 6), ("00", 7), ("0..a", 8)];
        let value = unflatten(entries.iter().map(|(key, value)| (*key, Data::from(&json!(value))))).unwrap();
        assert_eq!(
            Value::from(&value),
            json!({"0": {"a": 8, "b": {"c": 6}}, "00": 7, "1": {"a": 2}, "x": 4})
        );
    }
}
