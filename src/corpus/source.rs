//! Which files there are, in which order.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::companion::{Companion, Companions};
use super::open::{is_input, open};
use super::record::{FileSummary, ScanEvent};
use crate::error::{Error, ErrorKind};
use crate::input::{Beside, Format, Header, ReadOptions, read_companion};

/// A file to read.
#[derive(Debug, Clone)]
pub(super) struct SourceFile {
    pub(super) path: Arc<Path>,
    /// In bytes; 0 where it is not known.
    pub(super) size: u64,
    /// Whether it can be opened again and gives the same.
    pub(super) is_regular: bool,
    pub(super) role: Role,
    /// What may stand beside it.
    pub(super) companion: Option<Arc<Companion>>,
}

impl SourceFile {
    /// What its reader needs beside its bytes. `again` opens it once more, at an offset.
    pub(super) fn beside<'b>(
        &'b self,
        again: &'b dyn Fn(u64) -> Option<Box<dyn Read>>,
        options: &ReadOptions,
        joins: bool,
    ) -> Beside<'b> {
        Beside {
            header: self.header(options),
            again: self.is_regular.then_some(again),
            format: matches!(self.role, Role::Header | Role::RunOf(_)).then_some(Format::Tau2),
            is_header: matches!(self.role, Role::Header),
            joins,
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
struct FoundFile {
    size: u64,
    is_regular: bool,
}

/// What is found on the way.
#[derive(Default)]
struct Found {
    /// By the path as given.
    files: BTreeMap<PathBuf, FoundFile>,
    /// The places of those files, to read each once however it is spelled.
    places: BTreeSet<PathBuf>,
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
    for path in sorted {
        if path.as_os_str() == "-" {
            found.files.insert(path, FoundFile { size: 0, is_regular: false });
        } else {
            let before = found.files.len() + found.errors.len();
            found.visit(&path, None, &mut BTreeSet::new(), true);
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
    let mut headers: BTreeMap<PathBuf, Arc<SharedHeader>> = BTreeMap::new();
    let mut companions = Companions::default();
    let files = found
        .files
        .into_iter()
        .map(|(path, FoundFile { size, is_regular })| {
            let role = match header_of(&path) {
                Some(header) => Role::RunOf(Arc::clone(
                    headers
                        .entry(header.clone())
                        .or_insert_with(|| Arc::new(SharedHeader { path: header, header: OnceLock::new() })),
                )),
                None if is_header(&path) => Role::Header,
                None => Role::Runs,
            };
            let path: Arc<Path> = path.into();
            let may_have = is_regular && matches!(role, Role::Runs);
            let companion = may_have.then(|| companions.of(&path));
            SourceFile { path, size, is_regular, role, companion }
        })
        .collect();
    Discovered { files, unread: Unread { errors: found.errors, directories } }
}

impl Found {
    /// Finds the files of a path. What cannot be reached costs nothing else; a directory that links lead back to is
    /// visited once. `place`: where the path leads, if that is known.
    fn visit(
        &mut self,
        path: &Path,
        place: Option<PathBuf>,
        visited: &mut BTreeSet<PathBuf>,
        asked_for: bool,
    ) {
        let metadata = match fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(error) => return self.errors.push(Error::from(error).in_file(path)),
        };
        let place = place.unwrap_or_else(|| fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf()));
        if metadata.is_dir() {
            if visited.insert(place.clone()) {
                self.enter(path, &place, visited);
            }
        } else if !metadata.is_file() && !asked_for {
            let what = "neither a file nor a directory; it is read only where it is named itself";
            self.errors.push(Error::new(ErrorKind::Io, what).in_file(path));
        } else if self.places.insert(place) {
            let is_regular = metadata.is_file();
            let size = if is_regular { metadata.len() } else { 0 };
            self.files.insert(path.to_path_buf(), FoundFile { size, is_regular });
        }
    }

    fn enter(&mut self, path: &Path, place: &Path, visited: &mut BTreeSet<PathBuf>) {
        let entries = match fs::read_dir(path) {
            Ok(entries) => entries,
            Err(error) => return self.errors.push(Error::from(error).in_file(path)),
        };
        let mut inner = Vec::new();
        for entry in entries {
            match entry {
                // What is no link lies where it is found.
                Ok(entry) => {
                    let is_link = entry.file_type().map_or(true, |kind| kind.is_symlink());
                    inner.push((entry.path(), (!is_link).then(|| place.join(entry.file_name()))));
                }
                Err(error) => self.errors.push(Error::from(error).in_file(path)),
            }
        }
        inner.sort();
        for (entry, place) in inner {
            if is_input(&entry) || entry.is_dir() {
                self.visit(&entry, place, visited, false);
            } else {
                self.count_other(&entry);
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
        let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        self.places.range(place.clone()..).next().is_some_and(|file| file.starts_with(&place))
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
