//! Tests every file in `examples/` as a program. `cargo test` builds them before this runs.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::example;

/// The examples of the library.
const TAUGHT: [&str; 6] = ["calibrate", "check_folder", "monitor", "own_detector", "replicate_tau2", "spans"];

#[test]
fn every_example_succeeds() {
    for name in TAUGHT {
        let output = Command::new(example(name)).output().unwrap();
        assert!(output.status.success(), "{name}");
        let out = String::from_utf8(output.stdout).unwrap();
        insta::assert_snapshot!(
            format!("example_{name}"),
            out.lines().take(12).collect::<Vec<_>>().join("\n")
        );
    }
}

#[test]
fn no_example_is_left_out() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let found: BTreeSet<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension().is_some_and(|extension| extension == "rs") || path.join("main.rs").is_file()
        })
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    assert_eq!(found, TAUGHT.map(str::to_owned).into());
}
