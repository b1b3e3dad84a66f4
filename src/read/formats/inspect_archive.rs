//! Inspect archives (`.eval`): zip files with `header.json` (or, for an interrupted log,
//! `_journal/start.json`) and a file for each sample.

use rawzip::CompressionMethod;
use std::io::Read;

use super::inspect;
use super::prelude::*;
use crate::error::Result;
use crate::json::SkipIndex;
use crate::read::document::Parsed;
use crate::read::zstd::Frames;

/// Names of the header, in order of preference.
const HEADERS: [&str; 2] = ["header.json", "_journal/start.json"];

/// Reads the samples of an archive. A faulty sample is skipped and reported. Fails if the archive or its
/// header cannot be read.
pub(in crate::read) fn read(bytes: &[u8], runs: &mut Runs<'_>) -> Result<()> {
    let archive = rawzip::ZipArchive::from_slice(bytes).map_err(|error| broken(&error))?;
    let mut header = None;
    let mut samples = Vec::new();
    let mut entries = archive.entries();
    while let Some(entry) = entries.next_entry().map_err(|error| broken(&error))? {
        let name = String::from_utf8_lossy(entry.file_path().as_bytes()).into_owned();
        let place = Place {
            name,
            wayfinder: entry.wayfinder(),
            method: entry.compression_method(),
            size: entry.uncompressed_size_hint(),
        };
        if let Some(rank) = HEADERS.iter().position(|header| *header == place.name) {
            if header.as_ref().is_none_or(|(best, _)| rank <= *best) {
                header = Some((rank, place));
            }
        } else if is_sample(&place.name) {
            samples.push(place);
        }
    }
    let Some((_, header)) = header else {
        return Err(Error::new(
            ErrorKind::Format,
            "the zip archive is not an Inspect log: it has neither `header.json` nor `_journal/start.json`",
        ));
    };
    let most = runs.options.most_held;
    let mut left = bytes.len();
    let header = header.bytes(&archive, most, &mut left)?;
    let index = SkipIndex::of_length(header.len());
    let Document::Object(members) = Parsed::of(&header, Some(&index)).document else {
        return Err(Error::new(ErrorKind::Shape, "the header of the archive is not an object"));
    };
    if members.get("eval").is_none_or(|eval| eval.kind() != Kind::Object) {
        return Err(Error::new(ErrorKind::Shape, "the header of the archive has no object `eval`"));
    }
    runs.is_of(Format::Inspect);
    let eval = inspect::metadata(&members);
    for (position, place) in (0..).zip(samples) {
        let read =
            place.bytes(&archive, most, &mut left).and_then(|bytes| sample(&bytes, position, &eval, runs));
        if let Err(error) = read {
            runs.fail_run(Error::new(error.kind(), format!("`{}`: {}", place.name, error.message())));
        }
    }
    Ok(())
}

fn sample(bytes: &[u8], position: u64, eval: &Metadata, runs: &mut Runs<'_>) -> Result<()> {
    let text = String::from_utf8_lossy(bytes);
    let index = SkipIndex::of_length(text.len());
    let mut json = Json::with_index(text.as_bytes(), Some(&index));
    json.clone().check().map_err(Fault::into_error)?;
    let value = json.raw().map_err(Fault::into_error)?;
    inspect::sample(value, position, eval, runs).map_err(Fault::into_error)
}

/// Returns true if Inspect gives this name to a file with a sample.
fn is_sample(name: &str) -> bool {
    name.strip_prefix("samples/").is_some_and(|name| name.strip_suffix(".json").is_some())
}

fn broken(error: &rawzip::Error) -> Error {
    Error::new(ErrorKind::Syntax, format!("the zip archive is damaged: {error}"))
}

struct Place {
    name: String,
    wayfinder: rawzip::ZipArchiveEntryWayfinder,
    method: CompressionMethod,
    size: u64,
}

impl Place {
    /// Decompresses the file. Fails if the result has more than `most` bytes, or if the file needs more than the
    /// `left` bytes of the archive that no file has used yet: then files overlap.
    fn bytes(
        &self,
        archive: &rawzip::ZipSliceArchive<&[u8]>,
        most: usize,
        left: &mut usize,
    ) -> Result<Vec<u8>> {
        let entry = archive.get_entry(self.wayfinder).map_err(|error| broken(&error))?;
        let data = entry.data();
        let overlap = || Error::new(ErrorKind::Syntax, "the zip archive is damaged: its files overlap");
        *left = left.checked_sub(data.len()).ok_or_else(overlap)?;
        let read = |input: &mut dyn Read| {
            let guess = usize::try_from(self.size).unwrap_or(usize::MAX).min(data.len().saturating_mul(16));
            let mut bytes = Vec::with_capacity(guess.min(most));
            // One byte over the limit shows that the file is too large.
            let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
            entry.verifying_reader(input).take(limit).read_to_end(&mut bytes).map_err(Error::from)?;
            Ok(bytes)
        };
        let bytes = match self.method {
            CompressionMethod::STORE => read(&mut &*data),
            CompressionMethod::DEFLATE => read(&mut flate2::read::DeflateDecoder::new(data)),
            CompressionMethod::ZSTD => read(&mut Frames::new(data)),
            other => {
                let number = other.as_u16();
                Err(Error::new(
                    ErrorKind::Format,
                    format!("zip compression method {number} is not supported"),
                ))
            }
        }?;
        if bytes.len() > most {
            return Err(Error::new(
                ErrorKind::TooLarge,
                format!("it exceeds the limit of {} MiB", most >> 20),
            ));
        }
        Ok(bytes)
    }
}
