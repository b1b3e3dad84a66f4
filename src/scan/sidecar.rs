//! Sidecar files of runs: the reward, the task and the exception of a trial.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::read::{ReadSummary, trial_reward};
use crate::trace::RunSummary;

/// Maximum size of a sidecar file, in bytes. Results of trials are small: a larger file is something else and ignored.
const MOST_BYTES: u64 = 4 << 20;

/// The sidecar files of a corpus, read once per directory.
#[derive(Debug, Default)]
pub(super) struct Companions(HashMap<PathBuf, Arc<Companion>>);

impl Companions {
    pub(super) fn of(&mut self, run: &Arc<Path>) -> Arc<Companion> {
        let new = || Arc::new(Companion::of(Arc::clone(run)));
        // A file that may itself be a sidecar gets a lookup of its own, which excludes that file.
        match run.parent().filter(|_| !trial_reward::is_place(run)) {
            Some(folder) => Arc::clone(self.0.entry(folder.to_path_buf()).or_insert_with(new)),
            None => new(),
        }
    }
}

/// The sidecar files of the runs in a directory, read when a run first lacks a value.
#[derive(Debug)]
pub(super) struct Companion {
    run: Arc<Path>,
    found: OnceLock<Option<trial_reward::Outside>>,
}

impl Companion {
    pub(super) fn of(run: Arc<Path>) -> Self {
        Self { run, found: OnceLock::new() }
    }

    /// Fills in the reward, task and termination if the run does not record them.
    pub(super) fn complete(&self, ending: &mut RunSummary) {
        let metadata = &ending.metadata;
        if ending.reward.is_some() && metadata.task.is_some() && metadata.termination.is_some() {
            return;
        }
        if let Some(outside) = self.found.get_or_init(|| find(&self.run)) {
            outside.complete(ending);
        }
    }
}

fn find(run: &Path) -> Option<trial_reward::Outside> {
    trial_reward::places(run).iter().find_map(|place| read(place))
}

fn read(place: &Path) -> Option<trial_reward::Outside> {
    let name = place.file_name()?.to_str()?;
    // Checked before opening, which would block on a pipe until it has a writer.
    let metadata = fs::metadata(place).ok()?;
    (metadata.is_file() && metadata.len() <= MOST_BYTES).then_some(())?;
    let mut bytes = Vec::new();
    File::open(place).ok()?.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    trial_reward::read(name, &bytes)
}

/// Files without runs that coding agents keep next to their sessions: the name, or the end of the name if it begins
/// with a dot, and keys at the start of the file.
const NOTES: [(&str, &[&str]); 8] = [
    (".meta.json", &["agentType"]),
    ("sessions-index.json", &["entries", "sessionId", "fullPath"]),
    ("sessions.json", &["sessionId", "updatedAt"]),
    ("session_index.jsonl", &["thread_name", "updated_at"]),
    ("history.jsonl", &["display", "project"]),
    ("history.jsonl", &["session_id", "ts", "text"]),
    // Those of Harbor's jobs and trials.
    ("result.json", &["n_total_trials", "stats"]),
    ("config.json", &["task", "trial_name", "trials_dir"]),
];

/// Keys of runs. A file that has one of them is read, whatever its name.
const OF_RUNS: [&str; 6] = ["events", "message", "messages", "role", "steps", "tool"];

/// Returns the summary of a file that is known to hold no run: the result of a trial, or an index or note that a coding
/// agent keeps next to its sessions. `None` for any other file.
pub(super) fn without_run(path: &Path) -> Option<ReadSummary> {
    let name = path.file_name()?.to_str()?;
    let what = if name == trial_reward::RESULT && read(path).is_some() {
        "results of trials, which give the rewards of the runs next to them"
    } else {
        let fits = |(known, _): &&(&str, _)| {
            if known.starts_with('.') { name.ends_with(known) } else { name == *known }
        };
        let mut notes = NOTES.iter().filter(fits).peekable();
        notes.peek().filter(|_| path.is_file())?;
        let mut head = Vec::new();
        File::open(path).ok()?.take(4_096).read_to_end(&mut head).ok()?;
        let has = |key: &&str| memchr::memmem::find(&head, format!("\"{key}\"").as_bytes()).is_some();
        notes.find(|(_, keys)| keys.iter().all(has) && !OF_RUNS.iter().any(has))?;
        "indexes and notes next to sessions"
    };
    let mut reading = ReadSummary::default();
    reading.counts.passed_over = [(what.into(), 1)].into();
    Some(reading)
}
