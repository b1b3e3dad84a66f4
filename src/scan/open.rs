//! Opens files and decompresses them by the ending of their names.

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

/// Endings of input files in a directory, compressed or not.
const ENDINGS: [&str; 5] = ["json", "jsonl", "ndjson", "traj", "eval"];

/// The compression of a file, by the ending of its name.
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

/// Returns true if a directory's file of this name is an input.
pub(super) fn is_input(path: &Path) -> bool {
    let ending = |path: &Path| {
        path.extension().and_then(OsStr::to_str).is_some_and(|ending| ENDINGS.contains(&ending))
    };
    match Compression::of(path) {
        Compression::None => ending(path),
        _ => path.file_stem().is_some_and(|stem| ending(Path::new(stem))),
    }
}

/// Opens the bytes of a file.
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
            "the file is compressed, and this build has no feature `compression`",
        )),
    }
}

/// The limit of decompression to reach an offset.
const MOST_PASSED: u64 = 8 << 20;

/// Opens the bytes of a file at an offset, or returns `None` if that fails or would take long.
pub(super) fn open_at(path: &Path, offset: u64) -> Option<Box<dyn Read>> {
    if Compression::of(path) == Compression::None {
        let mut file = File::open(path).ok()?;
        file.seek(SeekFrom::Start(offset)).ok()?;
        return Some(Box::new(file));
    }
    pass(open(path).ok()?, offset)
}

/// Reads up to an offset, or returns `None` if that fails or would take long.
pub(super) fn pass(mut input: Box<dyn Read>, offset: u64) -> Option<Box<dyn Read>> {
    if offset > MOST_PASSED {
        return None;
    }
    std::io::copy(&mut input.by_ref().take(offset), &mut std::io::sink()).ok()?;
    Some(input)
}
