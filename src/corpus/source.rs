//! Which files there are, in which order.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::error::{Error, ErrorKind, Result};
use crate::input::{Companion, ReadOptions, read_companion};

/// Directories nested deeper are left out: a link may lead in circles.
const MAX_DEPTH: usize = 64;

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
        } else if let Err(error) = visit(path, 0, &mut found) {
            errors.push(error.in_file(path));
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

fn visit(path: &Path, depth: usize, found: &mut BTreeMap<PathBuf, u64>) -> Result<()> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_dir() {
        found.insert(path.to_path_buf(), if metadata.is_file() { metadata.len() } else { 0 });
        return Ok(());
    }
    if depth >= MAX_DEPTH {
        return Err(Error::new(ErrorKind::Io, "directories are nested too deeply"));
    }
    for entry in fs::read_dir(path)? {
        let entry = entry?.path();
        if entry.is_dir() || entry.extension() == Some(OsStr::new("json")) {
            visit(&entry, depth + 1, found).map_err(|error| error.in_file(&entry))?;
        }
    }
    Ok(())
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
