//! Which files there are, in which order.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::error::Error;
use crate::input::{Companion, ReadOptions, read_companion};

/// A file to read.
#[derive(Debug, Clone)]
pub(super) struct SourceFile {
    pub(super) path: PathBuf,
    /// In bytes; 0 where it is not known.
    pub(super) size: u64,
    pub(super) role: Role,
}

#[derive(Debug, Clone)]
pub(super) enum Role {
    Runs,
    /// The `results.json` of a tau2 directory whose runs lie beside it.
    Header,
    /// A run of such a directory.
    RunOf(Arc<Shared>),
}

/// The header of a tau2 directory, read once.
#[derive(Debug)]
pub(super) struct Shared {
    path: PathBuf,
    companion: OnceLock<Companion>,
}

impl Shared {
    /// What cannot be read is reported where the file itself is read.
    pub(super) fn get(&self, options: &ReadOptions) -> &Companion {
        self.companion.get_or_init(|| {
            fs::read(&self.path).map(|bytes| read_companion(&bytes, options).0).unwrap_or_default()
        })
    }
}

/// The files of the given paths, sorted, each once; directories give their `*.json` files. `-` is standard input.
pub(super) fn discover(paths: &[PathBuf]) -> (Vec<SourceFile>, Vec<Error>) {
    let mut found = BTreeMap::new();
    let mut errors = Vec::new();
    for path in paths {
        if path.as_os_str() == "-" {
            found.insert(path.clone(), 0);
        } else {
            visit(path, &mut found, &mut BTreeSet::new(), &mut errors);
        }
    }
    let mut headers: BTreeMap<PathBuf, Arc<Shared>> = BTreeMap::new();
    let files = found
        .into_iter()
        .map(|(path, size)| {
            let role = match header_of(&path) {
                Some(header) => Role::RunOf(Arc::clone(
                    headers
                        .entry(header.clone())
                        .or_insert_with(|| Arc::new(Shared { path: header, companion: OnceLock::new() })),
                )),
                None if is_header(&path) => Role::Header,
                None => Role::Runs,
            };
            SourceFile { path, size, role }
        })
        .collect();
    (files, errors)
}

/// Finds the files of a path. What cannot be reached costs nothing else; a directory that links lead back to is
/// visited once.
fn visit(
    path: &Path,
    found: &mut BTreeMap<PathBuf, u64>,
    visited: &mut BTreeSet<PathBuf>,
    errors: &mut Vec<Error>,
) {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) => return errors.push(Error::from(error).in_file(path)),
    };
    if !metadata.is_dir() {
        found.insert(path.to_path_buf(), if metadata.is_file() { metadata.len() } else { 0 });
        return;
    }
    if !visited.insert(fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf())) {
        return;
    }
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) => return errors.push(Error::from(error).in_file(path)),
    };
    // Sorted, so that of two ways to a directory it is always the same that is taken.
    let mut inner = Vec::new();
    for entry in entries {
        match entry {
            Ok(entry) => inner.push(entry.path()),
            Err(error) => errors.push(Error::from(error).in_file(path)),
        }
    }
    inner.sort();
    for entry in inner {
        if entry.is_dir() || entry.extension() == Some(OsStr::new("json")) {
            visit(&entry, found, visited, errors);
        }
    }
}

/// The `results.json` that `<dir>/simulations/<id>.json` belongs to, where there is one.
fn header_of(path: &Path) -> Option<PathBuf> {
    let folder = path.parent()?;
    let header = (folder.file_name()? == "simulations").then(|| folder.with_file_name("results.json"))?;
    header.is_file().then_some(header)
}

fn is_header(path: &Path) -> bool {
    path.file_name() == Some(OsStr::new("results.json")) && path.with_file_name("simulations").is_dir()
}
