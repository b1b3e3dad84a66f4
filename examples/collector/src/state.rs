//! Saves the open and parked traces in a directory.

use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Write as _};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use wrongturn::TraceAssembler;

use crate::Failure;
use crate::metrics::Metrics;

const FILE: &str = "state.jsonl";

/// The directory of the saved state, and the time of the next save.
pub(crate) struct State {
    dir: PathBuf,
    every: Duration,
    due: Instant,
    /// States of other instances that have been loaded. The next save removes them.
    taken: Vec<PathBuf>,
}

impl State {
    /// Loads every state in the directory: that of this instance, and those copied from other instances.
    pub(crate) fn load(dir: PathBuf, every: Duration, traces: &mut TraceAssembler) -> Result<Self, Failure> {
        let place = |error: std::io::Error| format!("{}: {error}", dir.display());
        fs::create_dir_all(&dir).map_err(place)?;
        let mut files = Vec::new();
        for entry in fs::read_dir(&dir).map_err(place)? {
            let path = entry.map_err(place)?.path();
            if path.extension().is_some_and(|extension| extension == "jsonl") {
                files.push(path);
            }
        }
        files.sort();
        for path in &files {
            let fail = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
            let file = File::open(path).map_err(|error| fail(&error))?;
            traces.load(&mut BufReader::new(file)).map_err(|error| fail(&error))?;
            tracing::info!(file = %path.display(), traces = traces.parked_traces(), "state loaded");
        }
        files.retain(|path| !path.ends_with(FILE));
        Ok(Self { dir, every, due: Instant::now() + every, taken: files })
    }

    pub(crate) fn is_due(&self) -> bool {
        Instant::now() >= self.due
    }

    /// Saves the traces in place of the last state. The interval until the next save begins when this one
    /// ends.
    pub(crate) fn save(&mut self, traces: &TraceAssembler, metrics: &Metrics) {
        let began = Instant::now();
        match self.write(traces) {
            Ok(()) => metrics.saved(began.elapsed()),
            Err(error) => {
                metrics.not_saved();
                tracing::error!(dir = %self.dir.display(), %error, "the state cannot be saved");
            }
        }
        self.due = Instant::now() + self.every;
    }

    fn write(&mut self, traces: &TraceAssembler) -> Result<(), Failure> {
        let part = self.dir.join("state.part");
        let mut to = BufWriter::with_capacity(1 << 20, File::create(&part)?);
        traces.save(&mut to)?;
        to.flush()?;
        to.get_ref().sync_all()?;
        fs::rename(&part, self.dir.join(FILE))?;
        #[cfg(unix)]
        File::open(&self.dir)?.sync_all()?;
        for path in self.taken.drain(..) {
            fs::remove_file(path)?;
        }
        Ok(())
    }
}
