//! Output that is whole or not there.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use super::Failure;

/// The files that this process has begun, whole or not.
static BEGUN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A file that is there whole or not at all: it is written beside its place, and takes it when it is complete.
pub(crate) struct Output {
    path: PathBuf,
    temporary: PathBuf,
    file: Option<BufWriter<File>>,
}

impl Output {
    /// Begins a file. It must not be one of the inputs, nor lie in one.
    pub(crate) fn create(path: &Path, inputs: &[PathBuf]) -> Result<Self, Failure> {
        let place = |error: io::Error| format!("{}: {error}", path.display());
        if path == Path::new("-") {
            return Err("`-` is no file: an output here is one, or /dev/stdout".into());
        }
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
            _ => PathBuf::from("."),
        };
        let real = fs::canonicalize(&folder).map_err(place)?;
        let name = path.file_name().ok_or_else(|| format!("{}: not the name of a file", path.display()))?;
        let target = fs::canonicalize(path).unwrap_or_else(|_| real.join(name));
        for input in inputs {
            if let Ok(input_place) = fs::canonicalize(input)
                && target.starts_with(&input_place)
            {
                let how = if target == input_place { "is" } else { "lies in" };
                return Err(
                    format!("{}: the output {how} the input {}", path.display(), input.display()).into()
                );
            }
        }
        // Devices and pipes take what they are given at once.
        if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
            let file = File::options().write(true).open(path).map_err(place)?;
            return Ok(Self {
                path: path.to_path_buf(),
                temporary: PathBuf::new(),
                file: Some(BufWriter::new(file)),
            });
        }
        if !BEGUN.lock().unwrap_or_else(PoisonError::into_inner).insert(target) {
            return Err(format!("{}: two outputs would be one file", path.display()).into());
        }
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}.part", std::process::id()));
        let temporary = folder.join(hidden);
        let file = File::create(&temporary).map_err(place)?;
        Ok(Self { path: path.to_path_buf(), temporary, file: Some(BufWriter::with_capacity(1 << 17, file)) })
    }

    /// Puts the file in its place.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.flush()?;
        self.file = None;
        if !self.temporary.as_os_str().is_empty() {
            fs::rename(&self.temporary, &self.path)
                .map_err(|error| format!("{}: {error}", self.path.display()))?;
            self.temporary = PathBuf::new();
        }
        Ok(())
    }

    fn named(&self, error: &io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("{}: {error}", self.path.display()))
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.as_mut().map_or(Ok(0), |file| file.write(bytes));
        written.map_err(|error| self.named(&error))
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.file.as_mut().map_or(Ok(()), Write::flush);
        flushed.map_err(|error| self.named(&error))
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if !self.temporary.as_os_str().is_empty() {
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// Whether a path stands for standard output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Writes a value as indented JSON.
pub(crate) fn write_json(path: &Path, inputs: &[PathBuf], value: &impl Serialize) -> Result<(), Failure> {
    if is_stdout(path) {
        return super::print(&format!("{}\n", serde_json::to_string_pretty(value)?));
    }
    let mut out = Output::create(path, inputs)?;
    serde_json::to_writer_pretty(&mut out, value)?;
    writeln!(out)?;
    out.finish()
}
