//! Reads the fixtures of all formats, from which mutations start.

use serde_json::Value;
use wrongturn::read::Format;

use crate::reading::fixtures::fixtures;

/// A document and its format.
pub(crate) struct Seed {
    pub(crate) format: Format,
    pub(crate) text: Vec<u8>,
}

/// Returns every fixture. A fixture that is one JSON value is also returned indented and, if it is an object,
/// twice on two lines.
pub(crate) fn all() -> Vec<Seed> {
    let mut seeds = Vec::new();
    for (format, _, text) in fixtures() {
        if let Ok(value) = serde_json::from_slice::<Value>(&text) {
            seeds.push(Seed { format, text: format!("{value:#}\n").into() });
            if value.is_object() {
                seeds.push(Seed { format, text: format!("{value}\n{value}\n").into() });
            }
        }
        seeds.push(Seed { format, text });
    }
    assert!(seeds.len() > 200, "{} seeds", seeds.len());
    #[cfg(feature = "inspect")]
    seeds.push(Seed { format: Format::Inspect, text: archive() });
    seeds
}

/// Returns an archive of Inspect whose files are not compressed.
#[cfg(feature = "inspect")]
fn archive() -> Vec<u8> {
    let sample = r#"{"id": 1, "epoch": 1, "messages": [{"role": "assistant", "content": "x", "tool_calls": [{"id": "a", "function": "bash", "arguments": {}}]}, {"role": "tool", "tool_call_id": "a", "content": "y"}]}"#;
    let files = [
        ("header.json", r#"{"version": 2, "eval": {"task": "t", "model": "m"}}"#),
        ("samples/1_epoch_1.json", sample),
        ("samples/2_epoch_1.json", r#"{"id": 2, "epoch": 1, "messages": []}"#),
    ];
    crate::reading::archive::archive(&files, 0)
}
