//! Zstandard files (RFC 8878): any number of frames, with or without a checksum, and skippable frames among
//! them.

use std::io::{self, BufRead, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// The decompressed bytes of all frames of a source.
pub(crate) struct Frames<R> {
    source: R,
    decoder: FrameDecoder,
    in_frame: bool,
}

impl<R: BufRead> Frames<R> {
    pub(crate) fn new(source: R) -> Self {
        Self { source, decoder: FrameDecoder::new(), in_frame: false }
    }

    /// Begins the next frame that is not skippable, or returns false at the end of the source.
    fn begin(&mut self) -> io::Result<bool> {
        while !self.source.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.source) {
                Ok(()) => {
                    self.in_frame = true;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let length = u64::from(length);
                    if io::copy(&mut self.source.by_ref().take(length), &mut io::sink())? < length {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(damaged(&error)),
            }
        }
        Ok(false)
    }

    fn end(&mut self) -> io::Result<()> {
        self.in_frame = false;
        match (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum()) {
            (Some(stored), Some(computed)) if stored != computed => {
                Err(damaged(&"the checksum of a frame does not match"))
            }
            _ => Ok(()),
        }
    }
}

fn damaged(what: &dyn std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the zstd data is damaged: {what}"))
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        while self.in_frame || self.begin()? {
            while !self.decoder.is_finished() && self.decoder.can_collect() < into.len() {
                let wanted = BlockDecodingStrategy::UptoBytes(into.len() - self.decoder.can_collect());
                self.decoder.decode_blocks(&mut self.source, wanted).map_err(|error| damaged(&error))?;
            }
            match self.decoder.read(into)? {
                0 => self.end()?,
                count => return Ok(count),
            }
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    fn frame(text: &[u8]) -> Vec<u8> {
        compress_to_vec(text, CompressionLevel::Fastest)
    }

    fn read(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        Frames::new(bytes).read_to_end(&mut all).map(|_| all)
    }

    #[test]
    fn frames_follow_one_another_and_some_are_skipped() {
        let long = b"a line of many\n".repeat(40_000);
        let skipped = [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"any"].concat();
        let bytes = [frame(b"one "), skipped.clone(), frame(b""), frame(&long), skipped].concat();
        assert_eq!(read(&bytes).unwrap(), [&b"one "[..], &long].concat());
        assert_eq!(read(b"").unwrap(), b"");
    }

    #[test]
    fn what_is_cut_or_changed_is_an_error() {
        let text = b"some words, and some others".repeat(30);
        let whole = frame(&text);
        for cut in 1..whole.len() {
            assert!(read(&whole[..cut]).is_err(), "cut at {cut}");
        }
        let mut changed = whole.clone();
        let last = changed.len() - 1;
        changed[last] ^= 1;
        assert!(read(&changed).unwrap_err().to_string().contains("checksum"));
        assert!(read(&[whole, b"more".to_vec()].concat()).is_err());
        assert!(read(&[0x50, 0x2a, 0x4d, 0x18, 30, 0, 0, 0, 1]).is_err());
    }
}
