//! Reorders the keys of JSON objects.

use serde_json::Value;

use crate::stats::Rng;

/// Returns the same JSON with its keys in another order; text that is not JSON stays as it is.
pub(super) fn reordered(json: &str, rng: &mut Rng) -> String {
    serde_json::from_str(json).map_or_else(|_| json.to_owned(), |value| text(&value, rng))
}

fn text(value: &Value, rng: &mut Rng) -> String {
    match value {
        Value::Object(entries) => {
            let mut entries: Vec<_> = entries.iter().collect();
            rng.shuffle(&mut entries);
            if let (Some((first, _)), 2..) = (entries.first(), entries.len())
                && entries.iter().all(|(key, _)| key >= first)
            {
                // Keys are usually sorted already, so the smallest must not stay first.
                entries.rotate_left(1);
            }
            let member = |(key, entry): (&String, &Value)| {
                format!("{}:{}", Value::from(key.as_str()), text(entry, rng))
            };
            format!("{{{}}}", entries.into_iter().map(member).collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| text(item, rng)).collect();
            format!("[{}]", items.join(","))
        }
        other => other.to_string(),
    }
}
