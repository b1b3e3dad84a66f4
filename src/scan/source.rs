//! Which files there are, in which order.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::by_folder::ByFolder;
use super::companion::{Companion, Companions};
use super::composed::{self, Composed, Piece};
use super::open::{is_input, open, open_at, pass};
use super::record::{FileSummary, ScanEvent};
use crate::error::{Error, ErrorKind, Result};
use crate::read::{Format, Header, InputContext, ReadOptions, read_companion};

/// A file to read.
#[derive(Debug, Clone)]
pub(super) struct SourceFile {
    pub(super) path: Arc<Path>,
    /// In bytes; 0 where it is not known.
    pub(super) size: u64,
    /// Whether it can be opened again and gives the same.
    pub(super) is_regular: bool,
    pub(super) role: Role,
    /// Where it is composed of several files: those.
    pieces: Option<Arc<[Piece]>>,
    /// What may stand beside it.
    pub(super) companion: Option<Arc<Companion>>,
}

impl SourceFile {
    /// The bytes of the file from its start.
    pub(super) fn open(&self) -> Result<Box<dyn Read>> {
        match &self.pieces {
            Some(pieces) => Ok(Box::new(Composed::new(Arc::clone(pieces)))),
            None => open(&self.path),
        }
    }

    /// The bytes of the file from an offset on; `None` where it cannot be opened, or that would take long.
    pub(super) fn open_at(&self, offset: u64) -> Option<Box<dyn Read>> {
        match &self.pieces {
            Some(pieces) => pass(Box::new(Composed::new(Arc::clone(pieces))), offset),
            None => open_at(&self.path, offset),
        }
    }

    /// What its reader needs beside its bytes. `again` opens it once more, at an offset.
    pub(super) fn context<'b>(
        &'b self,
        again: &'b dyn Fn(u64) -> Option<Box<dyn Read>>,
        options: &ReadOptions,
        joins: bool,
    ) -> InputContext<'b> {
        InputContext {
            header: self.header(options),
            again: self.is_regular.then_some(again),
            format: matches!(self.role, Role::Header | Role::RunOf(_)).then_some(Format::Tau2),
            is_header: matches!(self.role, Role::Header),
            joins,
            is_recount: false,
        }
    }

    /// The header of the directory that it is a run of.
    pub(super) fn header(&self, options: &ReadOptions) -> Option<&Header> {
        match &self.role {
            Role::RunOf(shared) => Some(shared.get(options)),
            Role::Runs | Role::Header => None,
        }
    }
}

/// What a file is to the files beside it.
#[derive(Debug, Clone)]
pub(super) enum Role {
    /// It holds runs, and stands by itself.
    Runs,
    /// The `results.json` of a tau2 directory whose runs lie beside it.
    Header,
    /// A run of such a directory.
    RunOf(Arc<SharedHeader>),
}

/// The header of a tau2 directory, read once.
#[derive(Debug)]
pub(super) struct SharedHeader {
    path: PathBuf,
    header: OnceLock<Header>,
}

impl SharedHeader {
    /// The header. What cannot be read of it is reported where the file itself is read.
    fn get(&self, options: &ReadOptions) -> &Header {
        self.header
            .get_or_init(|| open(&self.path).map(|input| read_companion(input, options)).unwrap_or_default())
    }
}

/// What is known of a file before it is opened.
pub(super) struct FoundFile {
    /// As given.
    pub(super) path: PathBuf,
    pub(super) size: u64,
    pub(super) is_regular: bool,
    /// Where it is composed of several files: those.
    pub(super) pieces: Option<Arc<[Piece]>>,
}

/// What a path leads to.
#[derive(Clone, Copy)]
struct Target {
    is_directory: bool,
    is_file: bool,
    size: u64,
}

impl Target {
    fn of(metadata: &Metadata) -> Self {
        Self { is_directory: metadata.is_dir(), is_file: metadata.is_file(), size: metadata.len() }
    }
}

/// What a directory says of an entry that is no link, and so lies where it is found.
struct Entry {
    place: PathBuf,
    is_directory: bool,
    /// Looked up only where the name is that of an input.
    target: Option<io::Result<Target>>,
}

/// What is found on the way.
#[derive(Default)]
struct Found {
    files: Vec<FoundFile>,
    /// The places of those files, to read each once however it is spelled.
    places: HashSet<PathBuf>,
    /// The directories that they lie in, and those above.
    folders: HashSet<PathBuf>,
    /// Files of the directory that is visited whose names are none of inputs, by the endings of these.
    others: BTreeMap<String, u64>,
    errors: Vec<Error>,
}

/// How many endings of names are counted apart.
const MOST_ENDINGS: usize = 100;

/// What the given paths hold.
pub(super) struct Discovered {
    pub(super) files: Vec<SourceFile>,
    pub(super) unread: Unread,
}

/// What the given paths hold that is not read.
pub(super) struct Unread {
    /// What could not be reached.
    errors: Vec<Error>,
    /// Given directories with files that are not read, since their names are none of inputs, and how many these are by ending.
    directories: Vec<(PathBuf, BTreeMap<String, u64>)>,
}

impl Unread {
    /// The events that come behind those of all files.
    pub(super) fn into_events<T>(self) -> impl Iterator<Item = ScanEvent<T>> {
        let directories = self.directories.into_iter();
        let not_read = directories.map(|(path, endings)| ScanEvent::NotRead {
            directory: path.into(),
            files: endings.values().sum(),
            endings,
        });
        let unreachable = self.errors.into_iter().flat_map(|error| {
            let path: Arc<Path> = error.path().unwrap_or(Path::new("")).into();
            let summary = FileSummary::unreachable(Arc::clone(&path));
            [ScanEvent::Begin(path), ScanEvent::Error(error), ScanEvent::End(summary)]
        });
        not_read.chain(unreachable)
    }
}

/// The files of the given paths, sorted, each once; directories give the files whose names say that they are
/// inputs. `-` is standard input.
pub(super) fn discover(paths: impl IntoIterator<Item = PathBuf>) -> Discovered {
    let mut found = Found::default();
    let mut directories = Vec::new();
    let mut sorted: Vec<PathBuf> = paths.into_iter().collect();
    // Sorted, so that of two ways to a file it is always the same that is taken.
    sorted.sort();
    sorted.dedup();
    for path in sorted {
        if path.as_os_str() == "-" {
            found.files.push(FoundFile { path, size: 0, is_regular: false, pieces: None });
        } else {
            let before = found.files.len() + found.errors.len();
            found.visit(path.clone(), None, &mut BTreeSet::new(), true);
            if before == found.files.len() + found.errors.len()
                && path.is_dir()
                && !found.has_any_below(&path)
            {
                let what = "the directory holds no input (.json, .jsonl, .ndjson, .traj, .eval, or these with .gz or .zst)";
                found.errors.push(Error::new(ErrorKind::Empty, what).in_file(&path));
            }
            let others = std::mem::take(&mut found.others);
            if !others.is_empty() {
                directories.push((path, others));
            }
        }
    }
    // They are sorted already unless one given path lies inside another.
    found.files.sort_by(|one, other| one.path.cmp(&other.path));
    let mut headers = ByFolder::default();
    let mut companions = Companions::default();
    let files = composed::join(found.files)
        .into_iter()
        .map(|FoundFile { path, size, is_regular, pieces }| {
            let header = path.parent().and_then(|folder| headers.of(folder, || header_of_runs(folder)));
            let role = match header {
                Some(header) => Role::RunOf(header),
                None if is_header(&path) => Role::Header,
                None => Role::Runs,
            };
            let path: Arc<Path> = path.into();
            let may_have = is_regular && matches!(role, Role::Runs);
            let companion = may_have.then(|| companions.of(&path));
            SourceFile { path, size, is_regular, role, pieces, companion }
        })
        .collect();
    Discovered { files, unread: Unread { errors: found.errors, directories } }
}

impl Found {
    /// Finds the files of a path. What cannot be reached costs nothing else; a directory that links lead back to is
    /// visited once. `entry`: what the directory says that it lies in.
    fn visit(
        &mut self,
        path: PathBuf,
        entry: Option<Entry>,
        visited: &mut BTreeSet<PathBuf>,
        asked_for: bool,
    ) {
        let (place, target) = entry.map_or((None, None), |entry| (Some(entry.place), entry.target));
        let look = || fs::metadata(&path).map(|metadata| Target::of(&metadata));
        let target = match target.unwrap_or_else(look) {
            Ok(target) => target,
            Err(error) => return self.errors.push(Error::from(error).in_file(&path)),
        };
        let place = place.unwrap_or_else(|| fs::canonicalize(&path).unwrap_or_else(|_| path.clone()));
        if target.is_directory {
            if visited.insert(place.clone()) {
                self.enter(&path, &place, visited);
            }
        } else if !target.is_file && !asked_for {
            let what = "neither a file nor a directory; it is read only where it is named itself";
            self.errors.push(Error::new(ErrorKind::Io, what).in_file(&path));
        } else if self.is_new(place) {
            let size = if target.is_file { target.size } else { 0 };
            self.files.push(FoundFile { path, size, is_regular: target.is_file, pieces: None });
        }
    }

    /// Whether no file was found at this place before; now one was.
    fn is_new(&mut self, place: PathBuf) -> bool {
        for folder in place.ancestors().skip(1) {
            if self.folders.contains(folder) {
                break;
            }
            self.folders.insert(folder.to_path_buf());
        }
        self.places.insert(place)
    }

    fn enter(&mut self, path: &Path, place: &Path, visited: &mut BTreeSet<PathBuf>) {
        let entries = match fs::read_dir(path) {
            Ok(entries) => entries,
            Err(error) => return self.errors.push(Error::from(error).in_file(path)),
        };
        let mut inner = Vec::new();
        for entry in entries {
            match entry {
                Ok(entry) => {
                    let name = entry.file_name();
                    let kind = entry.file_type().ok().filter(|kind| !kind.is_symlink());
                    let entry = kind.map(|kind| Entry {
                        place: place.join(&name),
                        is_directory: kind.is_dir(),
                        target: is_input(Path::new(&name)).then(|| Ok(Target::of(&entry.metadata()?))),
                    });
                    inner.push((name, entry));
                }
                Err(error) => self.errors.push(Error::from(error).in_file(path)),
            }
        }
        inner.sort_unstable_by(|(one, _), (other, _): &(OsString, _)| one.cmp(other));
        for (name, entry) in inner {
            let path = path.join(&name);
            let is_directory = entry.as_ref().map(|entry| entry.is_directory);
            if is_input(Path::new(&name)) || is_directory.unwrap_or_else(|| path.is_dir()) {
                self.visit(path, entry, visited, false);
            } else {
                self.count_other(&path);
            }
        }
    }

    fn count_other(&mut self, path: &Path) {
        let is_plain =
            |ending: &&str| ending.len() <= 12 && ending.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let ending = path.extension().and_then(OsStr::to_str).filter(is_plain).unwrap_or_default().to_owned();
        let is_one_more = self.others.len() >= MOST_ENDINGS && !self.others.contains_key(&ending);
        *self.others.entry(if is_one_more { String::new() } else { ending }).or_default() += 1;
    }

    /// Whether files of a directory were found before, by another way.
    fn has_any_below(&self, path: &Path) -> bool {
        self.folders.contains(&fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf()))
    }
}

/// The `results.json` of the directory whose runs lie in this one.
fn header_of_runs(folder: &Path) -> Option<Arc<SharedHeader>> {
    let path = (folder.file_name()? == "simulations").then(|| folder.with_file_name("results.json"))?;
    path.is_file().then(|| Arc::new(SharedHeader { path, header: OnceLock::new() }))
}

fn is_header(path: &Path) -> bool {
    path.file_name() == Some(OsStr::new("results.json")) && path.with_file_name("simulations").is_dir()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_twice_is_read_once() {
        let paths = ["-", "Cargo.toml", "-", "./Cargo.toml", "src/../Cargo.toml"].map(PathBuf::from);
        let found = discover(paths);
        let files: Vec<&str> = found.files.iter().filter_map(|file| file.path.to_str()).collect();
        assert_eq!(files, ["./Cargo.toml", "-"]);
        assert!(found.unread.errors.is_empty());
    }
}
