//! Finds the files to read, in order.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::copies;
use super::directory_runs::{self, Composed, Piece};
use super::open::{is_input, open, open_at, pass};
use super::record::{FileSummary, ScanEvent};
use super::sidecar::{Companion, Companions};
use crate::error::{Error, ErrorKind, Result};
use crate::read::{Format, Header, InputContext, ReadOptions, read_companion, trial_reward};

/// A file to read.
#[derive(Debug, Clone)]
pub(super) struct SourceFile {
    pub(super) path: Arc<Path>,
    /// Size in bytes; 0 if unknown.
    pub(super) size: u64,
    /// True if opening it again yields the same bytes, which a pipe or device does not.
    pub(super) is_regular: bool,
    pub(super) role: Role,
    /// The pieces that it is composed of; `None` for a single file.
    pieces: Option<Arc<[Piece]>>,
    /// Its sidecar files.
    pub(super) companion: Option<Arc<Companion>>,
    /// The ids of the sub-agents of this session that have a file of their own.
    sub_agents: BTreeSet<String>,
}

impl SourceFile {
    /// Opens the file for reading, decompressed.
    pub(super) fn open(&self) -> Result<Box<dyn Read>> {
        match &self.pieces {
            Some(pieces) => Ok(Box::new(Composed::new(Arc::clone(pieces)))),
            None => open(&self.path),
        }
    }

    /// Opens the file at an offset in its decompressed bytes. Returns `None` if that fails or would take long.
    pub(super) fn open_at(&self, offset: u64) -> Option<Box<dyn Read>> {
        match &self.pieces {
            Some(pieces) => pass(Box::new(Composed::new(Arc::clone(pieces))), offset),
            None => open_at(&self.path, offset),
        }
    }

    /// Returns the context for its reader. `again` opens the file once more, at an offset.
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
            sub_agents: Some(&self.sub_agents),
        }
    }

    /// Returns the header of the file's tau2 directory, if the file is a run of such a directory.
    pub(super) fn header(&self, options: &ReadOptions) -> Option<&Header> {
        match &self.role {
            Role::RunOf(shared) => Some(shared.get(options)),
            Role::Runs | Role::Header => None,
        }
    }
}

/// The role of a file among its neighbours.
#[derive(Debug, Clone)]
pub(super) enum Role {
    /// A file of runs.
    Runs,
    /// The `results.json` of a tau2 directory whose runs are separate files.
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
    /// Returns the header, empty if it cannot be read. Errors are reported only if the file is itself an
    /// input.
    fn get(&self, options: &ReadOptions) -> &Header {
        self.header
            .get_or_init(|| open(&self.path).map(|input| read_companion(input, options)).unwrap_or_default())
    }
}

/// Facts about a file before it is opened.
#[derive(Debug, Clone)]
pub(super) struct FoundFile {
    /// The path, with links unresolved.
    pub(super) path: PathBuf,
    pub(super) size: u64,
    pub(super) is_regular: bool,
    /// The pieces that it is composed of; `None` for a single file.
    pub(super) pieces: Option<Arc<[Piece]>>,
}

/// A directory entry that is not a symbolic link.
struct Entry {
    /// Its path with links resolved.
    place: PathBuf,
    is_directory: bool,
    /// Its metadata, read only if it is named like an input.
    target: Option<io::Result<Metadata>>,
}

/// The state of a search.
#[derive(Default)]
struct Found {
    files: Vec<FoundFile>,
    /// The paths of those files with links resolved: a file is read once, however its path is spelled.
    places: HashSet<PathBuf>,
    /// The directories above those files, at all levels.
    folders: HashSet<PathBuf>,
    /// For the path being visited, the number of files below it that are not inputs, by extension.
    others: BTreeMap<String, u64>,
    errors: Vec<Error>,
}

/// The maximum number of extensions that are counted separately.
const MOST_ENDINGS: usize = 100;

/// The files found at the given paths, and those not read.
pub(super) struct Discovered {
    pub(super) files: Vec<SourceFile>,
    /// The paths of those files, and of the pieces of composed ones, with links resolved.
    places: HashSet<PathBuf>,
    pub(super) unread: Unread,
}

/// Paths and files that are not read.
pub(super) struct Unread {
    /// One error for each path that cannot be read and each given directory without inputs.
    errors: Vec<Error>,
    /// Given directories with files that are not inputs, and the number of those files by extension.
    directories: Vec<(PathBuf, BTreeMap<String, u64>)>,
}

impl Unread {
    /// Returns the events that come after all files.
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

/// Returns the paths of all files that a scan of these paths may read, with links resolved: the inputs, and the
/// tau2 headers and sidecar files next to them. Callers must not write to any of them.
pub fn input_places<I>(paths: I) -> BTreeSet<PathBuf>
where
    I: IntoIterator<Item: AsRef<Path>>,
{
    let paths = paths.into_iter().map(|path| path.as_ref().to_path_buf());
    let Discovered { files, mut places, .. } = discover(paths);
    // A set, to resolve each path once: files of one directory mostly share these paths.
    let next_to = files.iter().flat_map(|file| {
        let header = file.path.parent().and_then(Path::parent).map(|folder| folder.join("results.json"));
        trial_reward::places(&file.path).into_iter().chain(header)
    });
    let next_to: BTreeSet<PathBuf> = next_to.collect();
    places.extend(next_to.iter().filter_map(|path| fs::canonicalize(path).ok()));
    places.into_iter().collect()
}

/// Returns the files at the given paths, sorted, each once. For a directory, returns all files at any depth that
/// are named like inputs. `-` is standard input.
pub(super) fn discover(paths: impl IntoIterator<Item = PathBuf>) -> Discovered {
    let mut found = Found::default();
    let mut directories = Vec::new();
    let mut sorted: Vec<PathBuf> = paths.into_iter().collect();
    // Sorting makes the choice between two paths to one file independent of the order of the arguments.
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
                let what = "the directory holds no input (.json, .jsonl, .ndjson, .traj, .eval, or these with .gz, .zst or .zstd)";
                found.errors.push(Error::new(ErrorKind::Empty, what).in_file(&path));
            }
            let others = std::mem::take(&mut found.others);
            if !others.is_empty() {
                directories.push((path, others));
            }
        }
    }
    // Sorted already, unless one given path lies inside another.
    found.files.sort_by(|one, other| one.path.cmp(&other.path));
    let mut headers: HashMap<PathBuf, Option<Arc<SharedHeader>>> = HashMap::new();
    let mut companions = Companions::default();
    let mut sub_agents: BTreeMap<PathBuf, BTreeSet<String>> = BTreeMap::new();
    for (session, agent) in found.files.iter().filter_map(|file| sub_agent(&file.path)) {
        sub_agents.entry(session).or_default().insert(agent);
    }
    let files = directory_runs::join(found.files)
        .into_iter()
        .map(|FoundFile { path, size, is_regular, pieces }| {
            let header = path.parent().and_then(|folder| {
                headers.entry(folder.to_path_buf()).or_insert_with(|| header_of_runs(folder)).clone()
            });
            let role = match header {
                Some(header) => Role::RunOf(header),
                None if is_header(&path) => Role::Header,
                None => Role::Runs,
            };
            let sub_agents = sub_agents.remove(&path).unwrap_or_default();
            let path: Arc<Path> = path.into();
            let may_have = is_regular && matches!(role, Role::Runs);
            let companion = may_have.then(|| companions.of(&path));
            SourceFile { path, size, is_regular, role, pieces, companion, sub_agents }
        })
        .collect();
    Discovered { files, places: found.places, unread: Unread { errors: found.errors, directories } }
}

/// Returns the session file of Claude Code to which the file of a sub-agent belongs, and the id of the sub-agent.
fn sub_agent(path: &Path) -> Option<(PathBuf, String)> {
    let agent = path.file_name()?.to_str()?.strip_prefix("agent-")?.strip_suffix(".jsonl")?;
    let folder = path.parent().filter(|folder| folder.ends_with("subagents"))?;
    let mut session = folder.parent()?.as_os_str().to_owned();
    session.push(".jsonl");
    Some((session.into(), agent.to_owned()))
}

impl Found {
    /// Finds the files at a path. Records an error for a path that cannot be read. Visits a directory once,
    /// even if links lead back to it. `asked_for` is true for a path that was given, which may also be a pipe or
    /// a device.
    fn visit(
        &mut self,
        path: PathBuf,
        entry: Option<Entry>,
        visited: &mut BTreeSet<PathBuf>,
        asked_for: bool,
    ) {
        let (place, target) = entry.map_or((None, None), |entry| (Some(entry.place), entry.target));
        let target = match target.unwrap_or_else(|| fs::metadata(&path)) {
            Ok(target) => target,
            Err(error) => return self.errors.push(Error::from(error).in_file(&path)),
        };
        let place = place.unwrap_or_else(|| fs::canonicalize(&path).unwrap_or_else(|_| path.clone()));
        if target.is_dir() {
            if visited.insert(place.clone()) {
                self.enter(&path, &place, visited);
            }
        } else if !target.is_file() && !asked_for {
            let what = "expected a file or directory; pass the path of a pipe or device itself to read it";
            self.errors.push(Error::new(ErrorKind::Io, what).in_file(&path));
        } else if self.is_new(place) {
            let is_regular = target.is_file();
            let size = if is_regular { target.len() } else { 0 };
            self.files.push(FoundFile { path, size, is_regular, pieces: None });
        }
    }

    /// Records the file at this resolved path. Returns true if it was not found before.
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
                        target: is_input(Path::new(&name)).then(|| entry.metadata()),
                    });
                    inner.push((name, entry));
                }
                Err(error) => self.errors.push(Error::from(error).in_file(path)),
            }
        }
        inner.sort_unstable_by(|(one, _), (other, _): &(OsString, _)| one.cmp(other));
        let repeated = copies::repeated(&inner, path);
        for (name, entry) in inner {
            let path = path.join(&name);
            if repeated.contains(&name) {
                continue;
            }
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

    /// Returns true if files below a directory were found before, through other paths.
    fn has_any_below(&self, path: &Path) -> bool {
        self.folders.contains(&fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf()))
    }
}

/// Returns the header of a tau2 directory, `results.json`, if `folder` is the directory of its runs.
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
