//! Writes events as lines of OTLP/JSON to a file or to standard output.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write};
use std::path::Path;

use wrongturn::export::{EvaluationEvent, otlp_json};

use super::NotSent;
use crate::Failure;

/// Writes each batch of events as one line.
pub(crate) struct Lines {
    to: Box<dyn Write + Send>,
    /// True if the last line is incomplete, because of a crash or a full disk.
    is_torn: bool,
}

impl Lines {
    pub(crate) fn stdout() -> Self {
        Self { to: Box::new(io::stdout()), is_torn: false }
    }

    pub(crate) fn append(path: &Path) -> Result<Self, Failure> {
        let place = |error: io::Error| format!("{}: {error}", path.display());
        let file = File::options().create(true).append(true).open(path).map_err(place)?;
        // A sink that cannot be read back, such as a pipe, has no last line.
        let is_torn = File::open(path).is_ok_and(|mut written| {
            let mut last = [b'\n'];
            let is_file = written.metadata().is_ok_and(|metadata| metadata.is_file());
            is_file
                && written.seek(SeekFrom::End(-1)).is_ok()
                && written.read_exact(&mut last).is_ok()
                && last != [b'\n']
        });
        Ok(Self { to: Box::new(file), is_torn })
    }

    pub(crate) fn write(&mut self, events: &[EvaluationEvent]) -> Result<(), NotSent> {
        let mut line = otlp_json(events);
        line.push('\n');
        if self.is_torn {
            line.insert(0, '\n');
        }
        self.is_torn = true;
        self.to.write_all(line.as_bytes()).and_then(|()| self.to.flush()).map_err(NotSent::now)?;
        self.is_torn = false;
        Ok(())
    }
}
