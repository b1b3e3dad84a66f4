//! Inputs of the subcommands of `bench`: files with one record per line.

use std::path::{Path, PathBuf};

use wrongturn::benchmarks::{Lines, Record, read_lines};

use super::inputs::Faults;
use super::{Failure, Unread, output};

/// Reads a file that holds one record per line.
pub(crate) fn lines<T: Record>(path: &Path) -> Result<Lines<T>, Failure> {
    Ok(read_lines(&output::read(path)?))
}

/// Returns the valid records of the given file, or of the bundled one if none is given.
pub(crate) fn records<T: Record>(
    path: Option<&PathBuf>,
    bundled: &str,
    faults: &mut Faults,
) -> Result<Vec<T>, Failure> {
    let path = input(path, bundled)?;
    valid(&path, lines(&path)?, faults)
}

/// Returns the valid records, and adds errors in the others to `faults`. Fails if no record is valid.
pub(crate) fn valid<T>(path: &Path, mut lines: Lines<T>, faults: &mut Faults) -> Result<Vec<T>, Failure> {
    faults.of(path, std::mem::take(&mut lines.errors));
    if lines.lines.is_empty() {
        return Err(Unread::no("record", path));
    }
    Ok(lines.into_records())
}

/// Returns the given path, or that of the bundled file.
pub(crate) fn input(path: Option<&PathBuf>, bundled: &str) -> Result<PathBuf, Failure> {
    path.map_or_else(|| golden(bundled), |path| Ok(path.clone()))
}

/// Returns the path of a bundled file, in the source tree that the program was built from. Fails if it is gone.
pub(crate) fn golden(name: &str) -> Result<PathBuf, Failure> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/golden")).join(name);
    if path.exists() {
        return Ok(path);
    }
    let what = "the bundled data is in the repository, not in the program; pass the files to read";
    Err(Unread(output::at(&path)(what)).into())
}
