//! Which files there are, in which order.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::io::{self, Read};
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
    /// As given.
    path: PathBuf,
    size: u64,
    is_regular: bool,
}

/// The headers of tau2 directories, each once for all its runs.
#[derive(Default)]
struct Headers {
    all: BTreeMap<PathBuf, Arc<SharedHeader>>,
    /// The directory that was asked for last, and its header.
    folder: PathBuf,
    header: Option<Arc<SharedHeader>>,
}

impl Headers {
    /// The `results.json` that `<dir>/simulations/<id>.json` belongs to, where there is one.
    fn of(&mut self, run: &Path) -> Option<Arc<SharedHeader>> {
        let folder = run.parent()?;
        if folder != self.folder {
            self.folder = folder.to_path_buf();
            let runs = folder.file_name().filter(|name| *name == "simulations");
            let path = runs.map(|_| folder.with_file_name("results.json")).filter(|path| path.is_file());
            self.header = path.map(|path| {
                let new = || Arc::new(SharedHeader { path: path.clone(), header: OnceLock::new() });
                Arc::clone(self.all.entry(path.clone()).or_insert_with(new))
            });
        }
        self.header.clone()
    }
}

/// What is at the end of a path.
#[derive(Clone, Copy)]
struct Kind {
    is_directory: bool,
    is_file: bool,
    size: u64,
}

impl Kind {
    fn of(metadata: &Metadata) -> Self {
        Self { is_directory: metadata.is_dir(), is_file: metadata.is_file(), size: metadata.len() }
    }
}

/// What a directory says of an entry that is no link, and so lies where it is found.
struct Entry {
    place: PathBuf,
    /// Of inputs.
    kind: Option<io::Result<Kind>>,
    is_directory: bool,
}

/// What is found on the way.
#[derive(Default)]
struct Found {
    files: Vec<FoundFile>,
    /// The places of those files, to read each once however it is spelled.
    places: HashSet<PathBuf>,
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
            found.files.push(FoundFile { path, size: 0, is_regular: false });
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
    // So they are, but where one of the paths lies in another.
    found.files.sort_by(|one, other| one.path.cmp(&other.path));
    let mut headers = Headers::default();
    let mut companions = Companions::default();
    let files = found
        .files
        .into_iter()
        .map(|FoundFile { path, size, is_regular }| {
            let role = match headers.of(&path) {
                Some(header) => Role::RunOf(header),
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
    /// visited once. `entry`: what the directory says that it lies in.
    fn visit(
        &mut self,
        path: PathBuf,
        entry: Option<Entry>,
        visited: &mut BTreeSet<PathBuf>,
        asked_for: bool,
    ) {
        let (place, kind) = entry.map_or((None, None), |entry| (Some(entry.place), entry.kind));
        let kind = match kind.unwrap_or_else(|| fs::metadata(&path).map(|metadata| Kind::of(&metadata))) {
            Ok(kind) => kind,
            Err(error) => return self.errors.push(Error::from(error).in_file(&path)),
        };
        let place = place.unwrap_or_else(|| fs::canonicalize(&path).unwrap_or_else(|_| path.clone()));
        if kind.is_directory {
            if visited.insert(place.clone()) {
                self.enter(&path, &place, visited);
            }
        } else if !kind.is_file && !asked_for {
            let what = "neither a file nor a directory; it is read only where it is named itself";
            self.errors.push(Error::new(ErrorKind::Io, what).in_file(&path));
        } else if self.places.insert(place) {
            let size = if kind.is_file { kind.size } else { 0 };
            self.files.push(FoundFile { path, size, is_regular: kind.is_file });
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
                Ok(entry) => {
                    let name = entry.file_name();
                    let kind = entry.file_type().ok().filter(|kind| !kind.is_symlink());
                    let entry = kind.map(|kind| Entry {
                        place: place.join(&name),
                        kind: is_input(Path::new(&name)).then(|| Ok(Kind::of(&entry.metadata()?))),
                        is_directory: kind.is_dir(),
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
        let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        self.places.iter().any(|file| file.starts_with(&place))
    }
}

fn is_header(path: &Path) -> bool {
    path.file_name() == Some(OsStr::new("results.json")) && path.with_file_name("simulations").is_dir()
}
