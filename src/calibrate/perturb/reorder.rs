//! Reorders the keys of JSON objects.

use serde_json::Value;

use crate::stats::Rng;

/// Returns the same JSON with its keys in another order; text that is not JSON stays as it is.
pub(super) fn reordered(json: &str, rng: &mut Rng) -> String {
    let Ok(value) = serde_json::from_str::<Value>(json) else { return json.to_owned() };
    let mut text = String::new();
    write_reordered(&value, rng, &mut text);
    text
}

fn write_reordered(value: &Value, rng: &mut Rng, out: &mut String) {
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
            out.push('{');
            for (i, (key, entry)) in entries.into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                out.push_str(&Value::String(key.clone()).to_string());
                out.push(':');
                write_reordered(entry, rng, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_reordered(item, rng, out);
            }
            out.push(']');
        }
        other => out.push_str(&other.to_string()),
    }
}
