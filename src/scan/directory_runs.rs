//! Directories that hold one run in many files: OpenHands writes a file for each event, Strands one for each message,
//! OpenCode one for each message and one for each part of a message. Such a run is read as one input that is composed
//! of its files.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::find_files::FoundFile;
use super::open::open;

/// A piece of a composed input.
#[derive(Debug)]
pub(super) enum Piece {
    Text(String),
    File(FoundFile),
}

/// The bytes of a composed input. Line ends within files become spaces, which puts each file on one line.
pub(super) struct Composed {
    pieces: Arc<[Piece]>,
    next: usize,
    current: Option<Box<dyn Read>>,
}

impl Composed {
    pub(super) fn new(pieces: Arc<[Piece]>) -> Self {
        Self { pieces, next: 0, current: None }
    }
}

impl Read for Composed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let is_file = match self.pieces.get(self.next) {
                None => return Ok(0),
                Some(piece) => matches!(piece, Piece::File(_)),
            };
            let current = match (&mut self.current, self.pieces.get(self.next)) {
                (Some(current), _) => current,
                (none, Some(Piece::Text(text))) => none.insert(Box::new(io::Cursor::new(text.clone()))),
                (none, Some(Piece::File(FoundFile { path, .. }))) => {
                    let named = |error| io::Error::other(format!("{}: {error}", path.display()));
                    none.insert(open(path).map_err(named)?)
                }
                (None, None) => return Ok(0),
            };
            let read = current.read(buffer)?;
            if read == 0 && !buffer.is_empty() {
                self.current = None;
                self.next += 1;
                continue;
            }
            if is_file {
                let bytes = buffer.iter_mut().take(read);
                bytes.filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
            }
            return Ok(read);
        }
    }
}

fn name(path: &Path) -> &str {
    path.file_name().and_then(OsStr::to_str).unwrap_or_default()
}

/// Returns the directory this many levels above a file.
fn above(path: &Path, levels: usize) -> &Path {
    path.ancestors().nth(levels).unwrap_or(Path::new(""))
}

/// Returns the number by which an event or message file is sorted: 40 for `events/40.json`, for
/// `events/event-00040-<id>.json`, and for `session_<id>/agents/agent_<id>/messages/message_40.json`.
fn number(path: &Path) -> Option<u64> {
    let stem = name(path).split('.').next()?;
    let digits = match name(above(path, 1)) {
        "events" => stem.strip_prefix("event-").map_or(Some(stem), |rest| rest.split('-').next()),
        "messages" => {
            let is_layout = name(above(path, 4)).starts_with("session_")
                && name(above(path, 3)) == "agents"
                && name(above(path, 2)).starts_with("agent_");
            let is_json = name(path).split('.').nth(1) == Some("json");
            stem.strip_prefix("message_").filter(|_| is_layout && is_json)
        }
        _ => None,
    };
    digits?.parse().ok()
}

/// Returns the files that describe the run whose events or messages are in a folder.
fn descriptions(folder: &Path) -> Vec<PathBuf> {
    match name(folder) {
        "messages" => vec![above(folder, 3).join("session.json"), above(folder, 1).join("agent.json")],
        _ => vec![above(folder, 1).join("base_state.json")],
    }
}

/// The role of a file in an OpenCode store, with the id of its session (for a part, of its message).
enum Stored {
    Session(String),
    Message(String),
    Part(String),
}

/// Returns the directory of a store and the role of the file in it.
fn stored(path: &Path) -> Option<(PathBuf, Stored)> {
    let stem = name(path).strip_suffix(".json")?;
    let [folder, two, three] = [1, 2, 3].map(|levels| name(above(path, levels)));
    let (levels, stored) = match stem.get(..4)? {
        "ses_" if two == "session" => (3, Stored::Session(stem.to_owned())),
        "msg_" if two == "message" => (3, Stored::Message(folder.to_owned())),
        // A copy of one session: its directory is named after the session.
        "msg_" if folder == "message" => (2, Stored::Message(two.to_owned())),
        "prt_" if two == "part" => (3, Stored::Part(folder.to_owned())),
        "prt_" if three == "part" => (4, Stored::Part(folder.to_owned())),
        _ => return None,
    };
    // Early versions keep all files under `session`.
    let root = above(path, levels);
    Some((if name(root) == "session" { above(root, 1) } else { root }.to_path_buf(), stored))
}

/// Combines the files of each composed run into one input and keeps all others. Returns inputs sorted by path.
pub(super) fn join(files: Vec<FoundFile>) -> Vec<FoundFile> {
    let mut rest: BTreeMap<PathBuf, FoundFile> = BTreeMap::new();
    let mut events: BTreeMap<PathBuf, Vec<(u64, FoundFile)>> = BTreeMap::new();
    let mut stores: BTreeMap<PathBuf, Store> = BTreeMap::new();
    for file in files {
        let number = number(&file.path).filter(|_| file.is_regular);
        match (number, stored(&file.path)) {
            (Some(number), _) => events.entry(above(&file.path, 1).into()).or_default().push((number, file)),
            (None, Some((root, kind))) => stores.entry(root).or_default().add(kind, file),
            (None, None) => drop(rest.insert(file.path.clone(), file)),
        }
    }
    let mut used = BTreeSet::new();
    for (folder, mut files) in events {
        files.sort_by(|(one, first), (other, second)| {
            one.cmp(other).then_with(|| first.path.cmp(&second.path))
        });
        let mut files: Vec<_> = files.into_iter().map(|(_, file)| file).collect();
        if files.len() > 1 {
            // The event cache holds pages of the same events, so it is not read.
            let cache = above(&folder, 1).join("event_cache");
            rest.retain(|path, _| above(path, 1) != cache);
            // Several agents may share the description of their session, so it is removed only at the end.
            let first: Vec<_> =
                descriptions(&folder).iter().filter_map(|path| rest.get(path).cloned()).collect();
            used.extend(first.iter().map(|file| file.path.clone()));
            files.splice(0..0, first);
            let lines = files.into_iter().flat_map(|file| [Piece::File(file), Piece::Text("\n".to_owned())]);
            rest.insert(folder.clone(), composed(folder, lines));
        } else {
            rest.extend(files.into_iter().map(|file| (file.path.clone(), file)));
        }
    }
    rest.retain(|path, _| !used.contains(path));
    for (root, store) in stores {
        let is_store = name(&root) == "storage" || !store.parts.is_empty();
        let files = if is_store { store.join() } else { store.files() };
        rest.extend(files.into_iter().map(|file| (file.path.clone(), file)));
    }
    rest.into_values().collect()
}

/// Makes one input from these pieces. Results name it by `path`.
fn composed(path: PathBuf, pieces: impl IntoIterator<Item = Piece>) -> FoundFile {
    let pieces: Arc<[Piece]> = pieces.into_iter().collect();
    let size = |piece: &Piece| if let Piece::File(file) = piece { file.size } else { 0 };
    FoundFile { path, size: pieces.iter().map(size).sum(), is_regular: true, pieces: Some(pieces) }
}

/// The files of an OpenCode store: sessions, messages by session, parts by message.
#[derive(Default)]
struct Store {
    sessions: BTreeMap<String, FoundFile>,
    messages: BTreeMap<String, Vec<FoundFile>>,
    parts: BTreeMap<String, Vec<FoundFile>>,
}

impl Store {
    fn add(&mut self, stored: Stored, file: FoundFile) {
        match stored {
            Stored::Session(id) => drop(self.sessions.insert(id, file)),
            Stored::Message(session) => self.messages.entry(session).or_default().push(file),
            Stored::Part(message) => self.parts.entry(message).or_default().push(file),
        }
    }

    /// Composes each session as OpenCode exports it. OpenCode's ids sort by time, so files sorted by path are in
    /// order. Sessions without messages and parts without a message stay files of their own.
    fn join(mut self) -> Vec<FoundFile> {
        let mut joined = Vec::new();
        for (id, messages) in std::mem::take(&mut self.messages) {
            let text = |text: &str| Piece::Text(text.to_owned());
            let (path, info) = if let Some(session) = self.sessions.remove(&id) {
                (session.path.clone(), Piece::File(session))
            } else {
                let folder = messages.first().map(|message| above(&message.path, 1).to_path_buf());
                (folder.unwrap_or_default(), Piece::Text(format!("{{\"id\": \"{id}\"}}")))
            };
            let mut all = vec![text("{\"info\": "), info, text(", \"messages\": [")];
            for (place, message) in messages.into_iter().enumerate() {
                let parts = name(&message.path).strip_suffix(".json").and_then(|id| self.parts.remove(id));
                all.push(text(if place == 0 { "{\"info\": " } else { ", {\"info\": " }));
                all.extend([Piece::File(message), text(", \"parts\": [")]);
                for (place, part) in parts.unwrap_or_default().into_iter().enumerate() {
                    all.extend((place > 0).then(|| text(", ")));
                    all.push(Piece::File(part));
                }
                all.push(text("]}"));
            }
            all.push(text("]}\n"));
            joined.push(composed(path, all));
        }
        joined.into_iter().chain(self.files()).collect()
    }

    /// Returns the files of the store, each as an input of its own.
    fn files(self) -> Vec<FoundFile> {
        let lists = self.messages.into_values().chain(self.parts.into_values());
        self.sessions.into_values().chain(lists.flatten()).collect()
    }
}
