//! Files that repeat others in their directory.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use super::open::{is_input, open};

/// Maximum size of a saved session or a log, in bytes, for the two to be compared.
const MOST_BYTES: u64 = 64 << 20;

/// Returns the files in a directory that repeat others: an OpenClaw trajectory or its session, checkpoints of OpenClaw,
/// Harbor's copies of its sessions, and Hermes' logs of sessions that it also saved as one file. `files` must be sorted
/// by name.
pub(super) fn repeated<T>(files: &[(OsString, T)], folder: &Path) -> BTreeSet<OsString> {
    let names = files.iter().filter_map(|(name, _)| name.to_str().filter(|name| is_input(Path::new(name))));
    let names: Vec<&str> = names.collect();
    let repeated = names.iter().filter_map(|name| {
        if let Some(session) = name.strip_suffix(".trajectory.jsonl") {
            return of_trajectory(name, &names, session, folder);
        }
        if let Some((session, _)) = name.split_once(".checkpoint.") {
            return is_checkpoint_of(name, &names, session, folder).then_some(*name);
        }
        if OF_HARBOR.contains(name) {
            return is_of_harbor(name, folder).then_some(*name);
        }
        let whole = format!("session_{}.json", name.strip_suffix(".jsonl")?);
        let is_known = names.binary_search(&whole.as_str()).is_ok();
        (is_known && is_whole(&folder.join(whole), &folder.join(name))).then_some(*name)
    });
    repeated.map(OsString::from).collect()
}

/// The session of OpenClaw that Harbor copies out of `openclaw-sessions`, and its conversion.
const OF_HARBOR: [&str; 2] = ["openclaw-session.jsonl", "trajectory.json"];

/// Returns true if a file is one of [`OF_HARBOR`] and repeats the session.
fn is_of_harbor(name: &str, folder: &Path) -> bool {
    let [session, _] = OF_HARBOR.map(|name| folder.join(name));
    let start = head(&session);
    let id = start.strip_prefix("{\"type\":\"session\"").and_then(|rest| rest.split_once("\"id\":\""));
    let Some((id, _)) = id.and_then(|(_, rest)| rest.split_once('"')) else { return false };
    if name == OF_HARBOR[0] {
        let whole = folder.join("openclaw-sessions").join(format!("{id}.jsonl"));
        return whole.is_file() && begins_with(&whole, &session) == Some(true);
    }
    head(&folder.join(name)).contains(&format!("\"session_id\": \"{id}\""))
        && has_call(&session) == Some(true)
}

/// Returns the names that begin with `start`. `names` must be sorted.
fn beginning<'n>(names: &[&'n str], start: &str) -> impl Iterator<Item = &'n str> {
    let first = names.partition_point(|name| *name < start);
    names.iter().skip(first).copied().take_while(move |name| name.starts_with(start))
}

/// Returns the file to leave out: the OpenClaw trajectory `name` or, if only the trajectory has calls, its session.
fn of_trajectory<'n>(name: &'n str, names: &[&'n str], session: &str, folder: &Path) -> Option<&'n str> {
    // A reset or deleted session has a suffix after `.jsonl`.
    let session = beginning(names, &format!("{session}.jsonl")).next()?;
    let [path, trajectory] = [session, name].map(|name| folder.join(name));
    if !is_trajectory(&trajectory) {
        return None;
    }
    let is_fuller = has_call(&path) == Some(false) && has_call(&trajectory) == Some(true);
    Some(if is_fuller { session } else { name })
}

/// Returns true if a checkpoint of an OpenClaw session is the beginning of the session, or of a later checkpoint.
fn is_checkpoint_of(name: &str, names: &[&str], session: &str, folder: &Path) -> bool {
    let path = folder.join(name);
    let Some(size) = size_of_file(&path) else { return false };
    beginning(names, session).filter(|other| *other != name).any(|other| {
        let other = folder.join(other);
        // Of two equal files, the one whose name comes last is kept.
        let is_longer = size_of_file(&other).is_some_and(|longer| (longer, &other) > (size, &path));
        is_longer && begins_with(&other, &path) == Some(true)
    })
}

/// Returns the size of a regular file.
fn size_of_file(path: &Path) -> Option<u64> {
    path.metadata().ok().filter(Metadata::is_file).map(|metadata| metadata.len())
}

/// Returns whether a file begins with all bytes of another.
fn begins_with(path: &Path, start: &Path) -> Option<bool> {
    let [mut file, mut start] = [path, start].map(|path| open(path).map(BufReader::new)).map(Result::ok);
    let (file, start) = (file.as_mut()?, start.as_mut()?);
    loop {
        let (given, wanted) = (file.fill_buf().ok()?, start.fill_buf().ok()?);
        let most = given.len().min(wanted.len());
        if wanted.is_empty() || most == 0 || given.get(..most) != wanted.get(..most) {
            return Some(wanted.is_empty());
        }
        file.consume(most);
        start.consume(most);
    }
}

/// Returns true if `whole` is a session that Hermes saved with at least all messages of `log`.
fn is_whole(whole: &Path, log: &Path) -> bool {
    let read = |path: &Path| {
        let mut bytes = Vec::new();
        let size = size_of_file(path).filter(|size| *size <= MOST_BYTES)?;
        File::open(path).ok()?.take(size).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    };
    let Some((whole, log)) = read(whole).zip(read(log)) else { return false };
    let lines = log.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count() as u64;
    let count = b"\"message_count\":";
    let saved = memchr::memmem::rfind(&whole, count).and_then(|at| whole.get(at + count.len()..));
    let saved = saved.and_then(|rest| rest.trim_ascii_start().split(|byte| !byte.is_ascii_digit()).next());
    let saved = saved.and_then(|digits| std::str::from_utf8(digits).ok()?.parse::<u64>().ok());
    let mark = b"\"session_meta\"";
    let is_log =
        memchr::memmem::find(&log, mark).is_some_and(|at| !log.iter().take(at).any(|byte| *byte == b'\n'));
    // The first line of the log is its header.
    is_log && saved.is_some_and(|saved| saved + 1 >= lines)
}

/// Returns whether a line of a file has a call or its result. `None` if the file cannot be read to its end.
fn has_call(path: &Path) -> Option<bool> {
    if !path.is_file() {
        return None;
    }
    let marks = ["\"toolCall", "\"tool_use"];
    for line in BufReader::new(open(path).ok()?).split(b'\n') {
        let line = line.ok()?;
        if marks.iter().any(|mark| memchr::memmem::find(&line, mark.as_bytes()).is_some()) {
            return Some(true);
        }
    }
    Some(false)
}

/// Returns true if a file is an OpenClaw trajectory, which duplicates the session next to it.
fn is_trajectory(path: &Path) -> bool {
    head(path).contains("openclaw-trajectory")
}

/// Returns the first bytes of a regular file; none if it cannot be read.
fn head(path: &Path) -> String {
    let mut head = Vec::new();
    if path.is_file() && File::open(path).and_then(|file| file.take(200).read_to_end(&mut head)).is_err() {
        head.clear();
    }
    String::from_utf8_lossy(&head).into_owned()
}
