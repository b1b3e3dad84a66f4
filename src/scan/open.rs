//! Opens files, and decompresses those whose names end in `.gz` or `.zst`.

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

/// The file extensions of inputs, not counting `.gz` or `.zst`.
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
        match path.extension().and_then(OsStr::to_str) {
            Some("gz") => Self::Gzip,
            Some("zst") => Self::Zstd,
            _ => Self::None,
        }
    }
}

/// Returns true if a scan of a directory reads a file of this name.
pub(super) fn is_input(path: &Path) -> bool {
    let ending = |path: &Path| {
        path.extension().and_then(OsStr::to_str).is_some_and(|ending| ENDINGS.contains(&ending))
    };
    match Compression::of(path) {
        Compression::None => ending(path),
        _ => path.file_stem().is_some_and(|stem| ending(Path::new(stem))),
    }
}

/// Opens a file for reading and decompresses it. `-` is standard input, which is not decompressed.
pub(super) fn open(path: &Path) -> Result<Box<dyn Read>> {
    if path.as_os_str() == "-" {
        return Ok(Box::new(std::io::stdin()));
    }
    let file = File::open(path)?;
    match Compression::of(path) {
        Compression::None => Ok(Box::new(file)),
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

/// The greatest offset, in bytes, to which input is read and discarded.
const MOST_PASSED: u64 = 8 << 20;

/// Opens a file at an offset in its decompressed bytes. Returns `None` if that fails, or if a compressed file
/// would have to be read beyond [`MOST_PASSED`].
pub(super) fn open_at(path: &Path, offset: u64) -> Option<Box<dyn Read>> {
    if Compression::of(path) == Compression::None {
        let mut file = File::open(path).ok()?;
        file.seek(SeekFrom::Start(offset)).ok()?;
        return Some(Box::new(file));
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
