//! Reads inputs and writes outputs. No output replaces an input, and files are written atomically.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use serde::Serialize;
use wrongturn::scan::{input_places, is_input};

use super::{Failure, Unread, is_closed_pipe, json_line, terminal};

struct Known {
    /// The inputs as named. [`Known::check`] moves those in `new` here, and adds their files to `places`.
    inputs: Vec<PathBuf>,
    new: Vec<PathBuf>,
    /// The real paths of all files in the inputs.
    places: BTreeSet<PathBuf>,
    /// The real paths of the outputs; `-` is standard output.
    outputs: BTreeSet<PathBuf>,
    temporary: BTreeSet<PathBuf>,
    keeps_existing: bool,
}

static KNOWN: Mutex<Known> = Mutex::new(Known {
    inputs: Vec::new(),
    new: Vec::new(),
    places: BTreeSet::new(),
    outputs: BTreeSet::new(),
    temporary: BTreeSet::new(),
    keeps_existing: false,
});

fn known() -> MutexGuard<'static, Known> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Known {
    /// Registers an output. Returns an error if it would replace an input or another output.
    fn check(&mut self, path: &Path, place: &Path) -> Result<(), Failure> {
        let new = std::mem::take(&mut self.new);
        self.places.extend(input_places(&new));
        self.inputs.extend(new);
        let name = path.display();
        for input in &self.inputs {
            let Some(real) = real(input) else { continue };
            if real == place {
                return Err(format!("{name}: the output is the input {}", input.display()).into());
            }
            if is_input(place) && place.starts_with(real) {
                let input = input.display();
                return Err(format!(
                    "{name}: a later scan of {input} would read the output; choose another directory"
                )
                .into());
            }
        }
        if self.places.contains(place) {
            return Err(format!("{name}: the output is also an input file").into());
        }
        if !self.outputs.insert(place.to_path_buf()) {
            return Err(format!("{name}: two outputs share this path").into());
        }
        Ok(())
    }
}

/// Resolves a path to its real path, and `-` to that of standard input; `None` if the file does not exist.
fn real(path: &Path) -> Option<PathBuf> {
    fs::canonicalize(if is_stdout(path) { Path::new("/dev/stdin") } else { path }).ok()
}

/// Registers inputs, so no later output replaces them. A directory protects its files, and takes no output that a
/// later scan of it would read.
pub(crate) fn protect<P: AsRef<Path>>(inputs: impl IntoIterator<Item = P>) -> Result<(), Failure> {
    let mut known = known();
    for input in inputs {
        let input = input.as_ref();
        if real(input).is_some_and(|place| known.outputs.contains(&place)) {
            return Err(format!("{}: the input is also an output", input.display()).into());
        }
        known.new.push(input.to_path_buf());
    }
    Ok(())
}

/// Returns a function for `map_err` that puts a path before an error.
pub(crate) fn at<E: Display>(path: &Path) -> impl Fn(E) -> String {
    move |error| format!("{}: {error}", path.display())
}

pub(crate) fn create_folder(path: &Path) -> Result<(), Failure> {
    if path.exists() && !path.is_dir() {
        return Err(format!("{}: expected a directory, found a file", path.display()).into());
    }
    Ok(fs::create_dir_all(path).map_err(at(path))?)
}

/// Reads an input; `-` is standard input. If that fails, the program exits with the status for unread inputs.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    protect([path])?;
    let mut bytes = Vec::new();
    let read = if is_stdout(path) {
        io::stdin().read_to_end(&mut bytes)
    } else {
        File::open(path).and_then(|mut file| file.read_to_end(&mut bytes))
    };
    read.map_err(|error| Unread(at(path)(error)))?;
    Ok(bytes)
}

/// Reads a text input, such as settings. Unlike with [`read`], a failure counts as a usage error.
pub(crate) fn read_text(path: &Path) -> Result<String, Failure> {
    protect([path])?;
    Ok(fs::read_to_string(path).map_err(at(path))?)
}

/// Reads a text input as [`read_text`] does, and parses it.
pub(crate) fn parse<T, E: Display>(
    path: &Path,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<T, Failure> {
    Ok(parse(&read_text(path)?).map_err(at(path))?)
}

/// An output. A file is written atomically: to a temporary file next to it, which replaces it once complete.
pub(crate) struct Output {
    path: PathBuf,
    target: Target,
}

enum Target {
    File {
        /// The path with links resolved.
        place: PathBuf,
        temporary: PathBuf,
        file: BufWriter<File>,
    },
    /// A device or a pipe, which is written directly.
    Device(BufWriter<File>),
    Standard(BufWriter<io::Stdout>),
    Closed,
}

impl Output {
    /// Creates an output; `-` is standard output. A file must not be an input, lie in one, or be another
    /// output.
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        let output = |target| Ok(Self { path: path.to_path_buf(), target });
        if is_stdout(path) || path == Path::new("/dev/stdout") {
            if !known().outputs.insert(PathBuf::from("-")) {
                return Err(format!("{}: two outputs share standard output", path.display()).into());
            }
            return output(Target::Standard(BufWriter::with_capacity(1 << 16, io::stdout())));
        }
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let name = path.file_name().ok_or_else(|| format!("{}: not the name of a file", path.display()))?;
        let folder = fs::canonicalize(folder).map_err(at(path))?;
        let place = fs::canonicalize(path).unwrap_or_else(|_| folder.join(name));
        // Next to the target of a link, because a rename cannot move it to another file system.
        let folder = place.parent().unwrap_or(&folder);
        let mut known = known();
        known.check(path, &place)?;
        if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
            let file = File::options().write(true).open(path).map_err(at(path))?;
            return output(Target::Device(BufWriter::new(file)));
        }
        remove_temporaries_on_signals();
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(place.file_name().unwrap_or(name));
        hidden.push(format!(".{}.part", process::id()));
        let temporary = folder.join(hidden);
        let file = File::create_new(&temporary).map_err(at(path))?;
        known.temporary.insert(temporary.clone());
        output(Target::File { place, temporary, file: BufWriter::with_capacity(1 << 17, file) })
    }

    /// Flushes the output, and moves a temporary file to its path, unless [`keep_existing`] forbids it.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.flush()?;
        if let Target::File { place, temporary, .. } = &self.target
            && !(known().keeps_existing && place.exists())
        {
            fs::rename(temporary, place).map_err(|error| self.named(&error))?;
            known().temporary.remove(temporary);
        }
        Ok(())
    }

    /// Returns true if the output is a pipe that its reader has closed. Further output is dropped.
    pub(crate) fn is_closed(&self) -> bool {
        matches!(self.target, Target::Closed)
    }

    /// Names the output in an error, and ignores the error if the reader has closed the pipe.
    fn done<T>(&mut self, done: io::Result<T>, ignored: T) -> io::Result<T> {
        match done {
            Err(error) if !matches!(self.target, Target::File { .. }) && is_closed_pipe(&error) => {
                self.target = Target::Closed;
                Ok(ignored)
            }
            done => done.map_err(|error| self.named(&error)),
        }
    }

    fn named(&self, error: &io::Error) -> io::Error {
        match self.target {
            Target::Standard(_) => error.kind().into(),
            _ => io::Error::new(error.kind(), at(&self.path)(error)),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = match &mut self.target {
            Target::File { file, .. } | Target::Device(file) => file.write(bytes),
            Target::Standard(out) if out.get_ref().is_terminal() => out
                .write_all(terminal::printable(&String::from_utf8_lossy(bytes)).as_bytes())
                .map(|()| bytes.len()),
            Target::Standard(out) => out.write(bytes),
            Target::Closed => Ok(bytes.len()),
        };
        self.done(written, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = match &mut self.target {
            Target::File { file, .. } | Target::Device(file) => file.flush(),
            Target::Standard(out) => out.flush(),
            Target::Closed => Ok(()),
        };
        self.done(flushed, ())
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Target::File { temporary, .. } = &self.target
            && known().temporary.remove(temporary)
        {
            let _ = fs::remove_file(temporary);
        }
    }
}

/// Removes temporary files if a signal ends the program.
fn remove_temporaries_on_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let _ = ctrlc::set_handler(|| {
            for temporary in &known().temporary {
                let _ = fs::remove_file(temporary);
            }
            process::exit(130);
        });
    });
}

/// Leaves files as they are from now on: outputs still create files, but replace none.
pub(crate) fn keep_existing() {
    known().keeps_existing = true;
}

pub(crate) fn has_stdout() -> bool {
    known().outputs.contains(Path::new("-"))
}

/// Returns true if a path is `-`: standard output or standard input.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

pub(crate) fn write_text(path: &Path, text: &str) -> Result<(), Failure> {
    let mut out = Output::create(path)?;
    out.write_all(text.as_bytes())?;
    out.finish()
}

pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> Result<(), Failure> {
    write_text(path, &super::json_text(value)?)
}

pub(crate) fn write_jsonl<T: Serialize>(path: &Path, values: &[T]) -> Result<(), Failure> {
    let mut out = Output::create(path)?;
    for value in values {
        out.write_all(json_line(value)?.as_bytes())?;
    }
    out.finish()
}
