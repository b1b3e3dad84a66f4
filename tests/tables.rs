//! The tables of detectors and formats in the README, the crate documentation and the guide are generated.
//!
//! `UPDATE_TABLES=1 cargo test --test tables` writes them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails where it panics")]

use std::fs;
use std::path::Path;

use wrongturn::{
    detect::{ALL, DetectorInfo, Preset},
    read::Format,
    trace::Actors,
};

/// Makes the lines of a table.
type Lines = fn() -> Vec<String>;

/// Each file with the name of a table in it.
const TABLES: [(&str, &str, Lines); 5] = [
    ("README.md", "detectors", detectors),
    ("src/lib.rs", "detectors", detectors),
    ("src/guide/detectors.md", "detectors", detectors),
    ("README.md", "formats", format_names),
    ("src/guide/formats.md", "formats", formats),
];

fn detectors() -> Vec<String> {
    let row = |info: &DetectorInfo| {
        let DetectorInfo { id, summary, mode, .. } = info;
        let runs = if info.opt_in { "if named" } else { "by default" };
        let parameter = info.grid().unwrap_or_else(|| panic!("{id}: no grid")).parameter;
        let config = info.config(Preset::Default, Actors::Agent);
        let default = config.get(parameter).unwrap_or_else(|| panic!("{id}: no field `{parameter}`"));
        format!("| `{id}` | {summary} | `{mode}` | {runs} | `{parameter}` {default} |")
    };
    let head = ["| detector | finds | failure mode | runs | main parameter |", "|---|---|---|---|---|"];
    head.into_iter().map(str::to_owned).chain(ALL.iter().map(row)).collect()
}

/// The names of all formats, in lines of at most 120 characters.
fn format_names() -> Vec<String> {
    let mut lines = vec![format!("{} formats are recognised:", Format::VARIANTS.len())];
    for (index, format) in Format::VARIANTS.iter().enumerate() {
        let end = if index + 1 == Format::VARIANTS.len() { '.' } else { ',' };
        let word = format!("`{}`{end}", format.name());
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= 120 => *line += &format!(" {word}"),
            _ => lines.push(word),
        }
    }
    lines
}

fn formats() -> Vec<String> {
    let row = |format: &Format| format!("| `{}` | {} |", format.name(), format.about());
    let head = ["| format | contents |", "|---|---|"];
    head.into_iter().map(str::to_owned).chain(Format::VARIANTS.iter().map(row)).collect()
}

/// Replaces the lines between the markers of a table.
fn with_table(file: &str, text: &str, name: &str, lines: Vec<String>) -> String {
    let (begin, end) = (format!("<!-- {name}: begin -->"), format!("<!-- {name}: end -->"));
    let comment =
        if Path::new(file).extension().is_some_and(|extension| extension == "rs") { "//! " } else { "" };
    let (before, rest) = text.split_once(&begin).unwrap_or_else(|| panic!("{file}: no line `{begin}`"));
    let (_, after) = rest.split_once(&end).unwrap_or_else(|| panic!("{file}: no line `{end}`"));
    let lines = [vec![String::new()], lines, vec![String::new()]].concat();
    let lines = lines.into_iter().map(|line| format!("{comment}{line}").trim_end().to_owned());
    let lines = lines.collect::<Vec<_>>().join("\n");
    format!("{before}{begin}\n{lines}\n{comment}{end}{after}")
}

#[test]
fn generated_tables_are_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut stale = Vec::new();
    for (file, name, lines) in TABLES {
        let path = root.join(file);
        let text = fs::read_to_string(&path).unwrap();
        let generated = with_table(file, &text, name, lines());
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
