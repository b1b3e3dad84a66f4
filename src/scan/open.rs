//! Opens files, decompresses those whose names end in `.gz`, `.zst` or `.zstd`, and decodes UTF-16.

use std::ffi::OsStr;
use std::fs::File;
#[cfg(feature = "compression")]
use std::io::BufReader;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use crate::error::Result;
#[cfg(not(feature = "compression"))]
use crate::error::{Error, ErrorKind};
#[cfg(feature = "compression")]
use crate::read::Frames;

/// The file extensions of inputs, not counting `.gz`, `.zst` or `.zstd`.
const ENDINGS: [&str; 5] = ["json", "jsonl", "ndjson", "traj", "eval"];

/// The compression of a file, by its extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compression {
    None,
    Gzip,
    Zstd,
}

impl Compression {
    pub(super) fn of(path: &Path) -> Self {
        let is = |ending: &str| path.extension().is_some_and(|own| own.eq_ignore_ascii_case(ending));
        if is("gz") {
            Self::Gzip
        } else if is("zst") || is("zstd") {
            Self::Zstd
        } else {
            Self::None
        }
    }
}

/// Parts of the file names under which OpenClaw keeps reset or deleted sessions:
/// `a.jsonl.reset.2026-03-09T07-41-35.557Z`.
const KEPT: [&str; 2] = [".jsonl.reset.", ".jsonl.deleted."];

/// Returns true if the scan of a directory reads a file with this name. Names that begin with `._` are excluded: macOS
/// archives contain such files for resource forks.
///
/// ```
/// use wrongturn::scan::is_input;
///
/// assert!(is_input("runs/a.jsonl.gz".as_ref()) && is_input("runs/session.jsonl.zstd".as_ref()));
/// assert!(!is_input("runs/findings.sarif".as_ref()));
/// ```
#[must_use]
pub fn is_input(path: &Path) -> bool {
    let ending = |path: &Path| {
        path.extension().is_some_and(|own| ENDINGS.iter().any(|ending| own.eq_ignore_ascii_case(ending)))
    };
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let is_kept = KEPT.iter().any(|part| name.contains(part));
    let is_fork = name.starts_with("._");
    match Compression::of(path) {
        _ if is_fork => false,
        Compression::None => is_kept || ending(path),
        _ => path.file_stem().is_some_and(|stem| ending(Path::new(stem))),
    }
}

/// Opens a file for reading, and decompresses or decodes it. `-` is standard input, which is read unchanged.
pub(super) fn open(path: &Path) -> Result<Box<dyn Read>> {
    if path.as_os_str() == "-" {
        return Ok(Box::new(std::io::stdin()));
    }
    let file = File::open(path)?;
    match Compression::of(path) {
        Compression::None => plain(file),
        #[cfg(feature = "compression")]
        Compression::Gzip => {
            Ok(Box::new(flate2::read::MultiGzDecoder::new(BufReader::with_capacity(1 << 16, file))))
        }
        #[cfg(feature = "compression")]
        Compression::Zstd => Ok(Box::new(Frames::new(BufReader::with_capacity(1 << 16, file)))),
        #[cfg(not(feature = "compression"))]
        _ => Err(Error::new(
            ErrorKind::Format,
            "the file is compressed, but this build lacks the feature `compression`",
        )),
    }
}

/// Returns a reader of an uncompressed file. UTF-16 is decoded if the feature `compression` is enabled.
fn plain(file: File) -> Result<Box<dyn Read>> {
    #[cfg(feature = "compression")]
    if is_utf16(&file)? {
        return Ok(Box::new(encoding_rs_io::DecodeReaderBytes::new(file)));
    }
    Ok(Box::new(file))
}

/// Returns true if a file begins with a UTF-16 byte order mark. Returns false for a pipe, without reading from it.
fn is_utf16(mut file: &File) -> Result<bool> {
    if !file.metadata()?.is_file() {
        return Ok(false);
    }
    let mut mark = Vec::with_capacity(2);
    file.take(2).read_to_end(&mut mark)?;
    file.rewind()?;
    Ok(matches!(*mark, [0xff, 0xfe] | [0xfe, 0xff]))
}

/// The maximum number of bytes to read and discard to reach an offset.
const MOST_PASSED: u64 = 8 << 20;

/// Opens a file at an offset in its decompressed and decoded bytes. Returns `None` if that fails, or if the file is
/// compressed or UTF-16 and the offset exceeds [`MOST_PASSED`].
pub(super) fn open_at(path: &Path, offset: u64) -> Option<Box<dyn Read>> {
    if Compression::of(path) == Compression::None {
        let mut file = File::open(path).ok()?;
        if !is_utf16(&file).ok()? {
            file.seek(SeekFrom::Start(offset)).ok()?;
            return Some(Box::new(file));
        }
    }
    pass(open(path).ok()?, offset)
}

/// Skips the first `offset` bytes. Returns `None` if that fails or the offset exceeds [`MOST_PASSED`].
pub(super) fn pass(mut input: Box<dyn Read>, offset: u64) -> Option<Box<dyn Read>> {
    if offset > MOST_PASSED {
        return None;
    }
    std::io::copy(&mut input.by_ref().take(offset), &mut std::io::sink()).ok()?;
    Some(input)
}
