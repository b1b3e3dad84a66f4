//! The tables of detectors in README, crate documentation and guide are those of the registry.
//!
//! `UPDATE_TABLES=1 cargo test --test tables` writes them anew.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests say what they expect by failing"
)]

use std::path::Path;

use wrongturn::{ALL, Actors, DetectorInfo, Preset};

const FILES: [&str; 3] = ["README.md", "src/lib.rs", "src/guide/detectors.md"];
const BEGIN: &str = "<!-- detectors: begin -->";
const END: &str = "<!-- detectors: end -->";

/// One row a detector: its name, what it finds, when it runs, and its main parameter.
fn table() -> String {
    let mut table = "| detector | finds | runs | main parameter |\n|---|---|---|---|\n".to_owned();
    for info in ALL {
        let DetectorInfo { id, summary, .. } = info;
        let runs = if info.opt_in { "if named" } else { "by default" };
        let grid = info.grid().unwrap();
        let default = &info.config(Preset::Default, Actors::Agent)[grid.parameter];
        table += &format!("| `{id}` | {summary} | {runs} | `{}` {default} |\n", grid.parameter);
    }
    table
}

#[test]
fn tables_of_detectors_are_those_of_the_registry() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for file in FILES {
        let path = root.join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        let prefix = if file == "src/lib.rs" { "//! " } else { "" };
        let (before, rest) = text.split_once(BEGIN).unwrap_or_else(|| panic!("{file} lacks {BEGIN}"));
        let (old, after) = rest.split_once(END).unwrap_or_else(|| panic!("{file} lacks {END}"));
        let lines: Vec<String> = table().lines().map(|line| format!("{prefix}{line}")).collect();
        let blank = prefix.trim_end();
        let new = format!("\n{blank}\n{}\n{blank}\n{prefix}", lines.join("\n"));
        if std::env::var_os("UPDATE_TABLES").is_some() {
            std::fs::write(&path, format!("{before}{BEGIN}{new}{END}{after}")).unwrap();
        } else {
            assert_eq!(old, new, "{file}: run UPDATE_TABLES=1 cargo test --test tables");
        }
    }
}
