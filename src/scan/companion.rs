//! What stands beside a file of runs, in files of their own: the reward and the task of a trial.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use super::by_folder::ByFolder;
use crate::read::{Reading, reward};
use crate::trace::Ending;

/// Results of trials are small; a larger file is none.
const MOST_BYTES: u64 = 4 << 20;

/// What stands beside the files of a corpus: once for all files of a directory.
#[derive(Debug, Default)]
pub(super) struct Companions(ByFolder<Arc<Companion>>);

impl Companions {
    pub(super) fn of(&mut self, run: &Arc<Path>) -> Arc<Companion> {
        let new = || Arc::new(Companion::of(Arc::clone(run)));
        // What may itself be what stands beside others has others beside it.
        match run.parent().filter(|_| !reward::is_place(run)) {
            Some(folder) => self.0.of(folder, new),
            None => new(),
        }
    }
}

/// What stands beside the runs of a file, looked for when a run leaves some of it out.
#[derive(Debug)]
pub(super) struct Companion {
    run: Arc<Path>,
    found: OnceLock<Option<reward::Outside>>,
}

impl Companion {
    pub(super) fn of(run: Arc<Path>) -> Self {
        Self { run, found: OnceLock::new() }
    }

    /// Adds what the run itself leaves out.
    pub(super) fn complete(&self, ending: &mut Ending) {
        let metadata = &ending.metadata;
        if ending.reward.is_some() && metadata.task.is_some() && metadata.termination.is_some() {
            return;
        }
        if let Some(outside) = self.found.get_or_init(|| find(&self.run)) {
            outside.complete(ending);
        }
    }
}

fn find(run: &Path) -> Option<reward::Outside> {
    reward::places(run).iter().find_map(|place| read(place))
}

fn read(place: &Path) -> Option<reward::Outside> {
    let name = place.file_name()?.to_str()?;
    // Asked before it is opened: a pipe would wait for somebody to write.
    let metadata = fs::metadata(place).ok()?;
    (metadata.is_file() && metadata.len() <= MOST_BYTES).then_some(())?;
    let mut bytes = Vec::new();
    File::open(place).ok()?.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    reward::read(name, &bytes)
}

/// What became of a file that is the result of a trial, and holds no run itself; `None` where it is none.
pub(super) fn result_of_trial(path: &Path) -> Option<Reading> {
    (path.file_name()?.to_str()? == reward::RESULT).then(|| read(path)).flatten()?;
    let passed_over = [("results of trials, which tell the rewards of runs beside them".into(), 1)];
    Some(Reading { passed_over: passed_over.into(), ..Reading::default() })
}
