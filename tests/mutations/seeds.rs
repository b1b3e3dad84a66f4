//! Reads the fixtures of all formats, from which mutations start.

use std::fs;

use serde_json::Value;
use wrongturn::read::Format;

/// A document and its format.
pub(crate) struct Seed {
    pub(crate) format: Format,
    pub(crate) text: Vec<u8>,
}

/// Returns every fixture. A fixture that is one JSON value is also returned indented and, if it is an object,
/// twice on two lines.
pub(crate) fn all() -> Vec<Seed> {
    let folders = fs::read_dir("tests/formats").unwrap().map(|entry| entry.unwrap().path());
    let mut folders: Vec<_> = folders.filter(|path| path.is_dir()).collect();
    folders.sort();
    let mut seeds = Vec::new();
    for folder in folders {
        let format: Format = folder.file_name().unwrap().to_str().unwrap().parse().unwrap();
        let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        for file in files.iter().filter(|file| file.extension().is_none_or(|extension| extension != "snap")) {
            let text = fs::read(file).unwrap();
            if let Ok(value) = serde_json::from_slice::<Value>(&text) {
                seeds.push(Seed { format, text: format!("{value:#}\n").into() });
                if value.is_object() {
                    seeds.push(Seed { format, text: format!("{value}\n{value}\n").into() });
                }
            }
            seeds.push(Seed { format, text });
        }
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
