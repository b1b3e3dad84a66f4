//! Every command in the README and in the guides works as written. (Their Rust snippets are doctests.)
//!
//! Commands run in a directory of their own, beside the bundled data. What stands for a reader's own files
//! (`path/to/…`) is bundled data there.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests say what they expect by failing"
)]

mod programs;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;
use tracelint::{Status, Trace, default_detectors};

use programs::program;

/// What stands for a reader's own files, and the bundled files that take its place.
const OWN: &[(&str, &str)] = &[
    ("path/to/tau2-bench/data/tau2/results/final", "golden/tau2"),
    ("path/to/results", "golden/tau2"),
    ("path/to/runs", "golden/tau2"),
    ("path/to/before", "golden/tau2/scripted-quitter_airline.json"),
    ("path/to/after", "golden/tau2/scripted-persistent_airline.json"),
];

/// Arguments that only take long, and what is tried instead.
const SHORTER: &[(&str, &str)] =
    &[("--rounds 15 --min-mb 200", "--rounds 1"), ("--samples 4000", "--samples 10 --resamples 50")];

/// Commands that are no examples, or none of this build: what they begin with, and what tries them instead.
const ELSEWHERE: &[(&str, &str)] = &[
    ("cargo test", "it is what runs this"),
    ("cargo bench", "benches are compiled by the gate"),
    ("cargo doc", "the gate"),
    ("cargo install --path . --example scan", "the gate"),
    ("cargo run --release --features collector,otlp --example collector", "tests/collector.rs"),
];

/// The directory of this package.
fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn pages() -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> = fs::read_dir(package().join("src/guide"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    pages.sort();
    pages.insert(0, package().join("README.md"));
    pages
}

/// The commands of a page: the lines of its blocks of shell, and what its text gives between backticks.
fn commands(page: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut block: Option<&str> = None;
    for line in page.lines() {
        if let Some(language) = line.strip_prefix("```") {
            block = block.is_none().then_some(language);
        } else if block == Some("sh") && !line.trim().is_empty() {
            commands.push(line.to_owned());
        } else if block.is_none() {
            commands.extend(
                line.split('`')
                    .skip(1)
                    .step_by(2)
                    .filter(|text| text.starts_with("cargo "))
                    .map(str::to_owned),
            );
        }
    }
    commands
}

/// The words of a command, as a shell splits them.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for letter in line.chars() {
        match (letter, quote) {
            (_, Some(open)) if letter == open => quote = None,
            ('"' | '\'', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (' ', None) => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

#[test]
fn commands_work_as_they_are_written() {
    let folder = std::env::temp_dir().join(format!("tracelint-commands-{}", std::process::id()));
    let mut failures = Vec::new();
    let mut ran = 0;
    for page in pages() {
        // Each page from the start: a reader may begin with any.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("target")).unwrap();
        symlink(package().join("golden"), folder.join("golden")).unwrap();
        symlink(package().join("examples"), folder.join("examples")).unwrap();
        for line in commands(&fs::read_to_string(&page).unwrap()) {
            if ELSEWHERE.iter().any(|(known, _)| line.starts_with(known)) {
                continue;
            }
            let mut tried = line.clone();
            for (from, to) in OWN.iter().chain(SHORTER) {
                tried = tried.replace(from, to);
            }
            let example = ["cargo run --release --example ", "cargo run --example "]
                .iter()
                .find_map(|start| tried.strip_prefix(start));
            let words = words(example.unwrap_or_else(|| panic!("{}: what tries `{line}`?", page.display())));
            let (name, arguments) = words.split_first().unwrap();
            let arguments = arguments.strip_prefix(&["--".to_owned()]).unwrap_or(arguments);
            let output = Command::new(program(name))
                .args(arguments)
                .current_dir(&folder)
                .env("CARGO_MANIFEST_DIR", package())
                .stdin(Stdio::null())
                .output()
                .unwrap();
            ran += 1;
            if !output.status.success() {
                let said = String::from_utf8_lossy(&output.stderr);
                failures.push(format!("{}: {line}\n{}\n{said}", page.display(), output.status));
            }
        }
    }
    fs::remove_dir_all(&folder).unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    assert!(ran > 20, "{ran}");
}

#[test]
fn the_pages_link_to_what_is_there() {
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link) {
            if link.starts_with("https://") {
                continue;
            }
            let target = page.parent().unwrap().join(link.split('#').next().unwrap());
            assert!(target.exists(), "{}: {link}", page.display());
        }
    }
    let readme = fs::read_to_string(package().join("README.md")).unwrap();
    assert!(readme.lines().count() <= 200);
}

#[test]
fn the_readme_shows_what_its_program_prints() {
    let mut run = Trace::builder();
    for _ in 0..2 {
        run.call("get_order", &json!({"id": "17"}), Status::Error, "Error: order not found").unwrap();
    }
    let run = run.build().unwrap();
    let mut printed = String::new();
    for detector in default_detectors() {
        for finding in detector.detect(&run).findings() {
            printed += &format!(
                "steps {}-{}: {} ({})\n",
                finding.first, finding.last, finding.message, finding.mode
            );
        }
    }
    let readme = fs::read_to_string(package().join("README.md")).unwrap();
    let shown = readme.split_once("```text\n").unwrap().1.split_once("```").unwrap().0;
    assert_eq!(shown, printed);
}
