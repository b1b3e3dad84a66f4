//! Reads the fixtures of all formats.

use std::fs;
use std::path::{Path, PathBuf};

use wrongturn::read::Format;

/// Returns the entries of a directory, sorted.
pub(crate) fn entries(directory: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// Returns the format, path and bytes of each fixture. Checks that each snapshot has a fixture.
pub(crate) fn fixtures() -> Vec<(Format, PathBuf, Vec<u8>)> {
    let mut fixtures = Vec::new();
    for folder in entries(Path::new("tests/formats")).into_iter().filter(|path| path.is_dir()) {
        let name = folder.file_name().unwrap().to_str().unwrap();
        let format = name.parse().unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        for path in entries(&folder).into_iter().filter(|path| path.is_file()) {
            if path.extension().is_some_and(|extension| extension == "snap") {
                assert!(path.with_extension("").exists(), "{} has no fixture", path.display());
            } else {
                let bytes = fs::read(&path).unwrap();
                fixtures.push((format, path, bytes));
            }
        }
    }
    fixtures
}
