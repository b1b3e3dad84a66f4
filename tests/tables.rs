//! The tables of detectors in the README, the crate documentation and the guide are generated from the registry.
//!
//! `UPDATE_TABLES=1 cargo test --test tables` writes them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails where it panics")]

use std::fs;
use std::path::Path;

use wrongturn::{
    detect::{ALL, DetectorInfo, Preset},
    trace::Actors,
};

const FILES: [&str; 3] = ["README.md", "src/lib.rs", "src/guide/detectors.md"];
const BEGIN: &str = "<!-- detectors: begin -->";
const END: &str = "<!-- detectors: end -->";

/// Returns the lines between the markers, without the prefix of a comment.
fn table() -> Vec<String> {
    let row = |info: &DetectorInfo| {
        let DetectorInfo { id, summary, mode, .. } = info;
        let runs = if info.opt_in { "if named" } else { "by default" };
        let parameter = info.grid().unwrap_or_else(|| panic!("{id}: no grid")).parameter;
        let config = info.config(Preset::Default, Actors::Agent);
        let default = config.get(parameter).unwrap_or_else(|| panic!("{id}: no field `{parameter}`"));
        format!("| `{id}` | {summary} | `{mode}` | {runs} | `{parameter}` {default} |")
    };
    let head = ["", "| detector | finds | failure mode | runs | main parameter |", "|---|---|---|---|---|"];
    head.into_iter().map(str::to_owned).chain(ALL.iter().map(row)).chain([String::new()]).collect()
}

/// Returns the text of a file with the table that belongs between its markers.
fn with_table(file: &str, text: &str) -> String {
    let comment =
        if Path::new(file).extension().is_some_and(|extension| extension == "rs") { "//! " } else { "" };
    let (before, rest) = text.split_once(BEGIN).unwrap_or_else(|| panic!("{file}: no line `{BEGIN}`"));
    let (_, after) =
        rest.split_once(END).unwrap_or_else(|| panic!("{file}: no line `{END}` after `{BEGIN}`"));
    let lines = table().into_iter().map(|line| format!("{comment}{line}").trim_end().to_owned());
    let lines = lines.collect::<Vec<_>>().join("\n");
    format!("{before}{BEGIN}\n{lines}\n{comment}{END}{after}")
}

#[test]
fn tables_of_detectors_match_the_registry() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut stale = Vec::new();
    for file in FILES {
        let path = root.join(file);
        let text = fs::read_to_string(&path).unwrap();
        let generated = with_table(file, &text);
        if generated == text {
            continue;
        }
        if std::env::var_os("UPDATE_TABLES").is_some() {
            fs::write(&path, generated).unwrap();
        } else {
            stale.push(file);
        }
    }
    let files = stale.join(", ");
    assert!(stale.is_empty(), "stale tables in {files}: run UPDATE_TABLES=1 cargo test --test tables");
}
