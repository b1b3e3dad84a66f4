//! Parts of an input that can be read by themselves, and how an input is cut into them.

use std::sync::Arc;

use super::items::At;
use super::{Header, Json, Place, Result, Stop, Walk, Window};
use crate::input::Format;

/// How many records a piece of an input has at most, or nearly so.
const PIECE_RECORDS: usize = 1024;

/// A part of an input that can be read by itself.
#[derive(Debug)]
pub(crate) struct Piece {
    /// The format of its runs; `None` where each line is a document of its own.
    format: Option<Format>,
    pub(super) bytes: Vec<u8>,
    pub(super) place: Place,
    pub(super) kind: PieceKind,
}

#[derive(Debug)]
pub(super) enum PieceKind {
    /// Whole lines.
    Lines,
    /// Items of a list, with the commas behind them. The list goes on in the next piece, unless this one closes it.
    Items { header: Arc<Header>, first: bool, unclosed: bool },
}

/// Takes the pieces of an input, in order, instead of their runs.
pub(crate) trait Pieces {
    /// How large a piece should be, in bytes.
    fn bytes(&self) -> usize;

    /// Takes the next piece. So many positions were given to the runs between it and the piece before, which the
    /// sink has had; those behind it are numbered from 0 again.
    fn piece(&mut self, piece: Piece, positions: u64);
}

impl Walk<'_, '_, '_> {
    /// Cuts the items of a list into pieces.
    pub(super) fn cut_items(&mut self, window: &mut Window<'_>, header: &Arc<Header>) -> Result<Stop> {
        let size = self.pieces.as_ref().map_or(usize::MAX, |pieces| pieces.bytes());
        let mut first = true;
        let mut cut = |walk: &mut Self, window: &mut Window<'_>, end: usize, unclosed: bool| {
            let piece = Piece {
                format: walk.runs.reading.format,
                bytes: window.unread().get(..end).unwrap_or_default().to_vec(),
                place: window.place(0),
                kind: PieceKind::Items { header: Arc::clone(header), first, unclosed },
            };
            first = false;
            window.consume(end);
            walk.hand_over(piece);
        };
        // How far the first byte not yet cut off has been looked at, and how many items there were.
        let (mut seen, mut records, mut at) = (0, 0, At::First);
        loop {
            let mut json = Json::starting_at(window.unread(), seen, 2);
            let stop = loop {
                let Some(byte) = json.peek_byte() else {
                    break if window.is_whole() { Stop::Lost } else { Stop::More };
                };
                let start = json.offset();
                match (byte, at) {
                    (b']', _) => {
                        seen = start + 1;
                        break Stop::Done;
                    }
                    (b',', _) => {
                        json.advance();
                        at = At::Item;
                        seen = json.offset();
                        if seen >= size || records >= PIECE_RECORDS {
                            break Stop::More;
                        }
                        continue;
                    }
                    (b'}' | b':', At::Behind) => {
                        json.advance();
                        at = At::First;
                    }
                    (_, At::Behind) => at = At::First,
                    _ => {
                        if json.skip().is_err() {
                            json = Json::starting_at(window.unread(), start, 2);
                            if json.skip_unsound().is_none() {
                                break if window.is_whole() { Stop::Lost } else { Stop::More };
                            }
                            if json.offset() == start {
                                json.advance();
                            }
                        }
                        records += 1;
                        at = At::Behind;
                    }
                }
                seen = json.offset();
            };
            match stop {
                Stop::Done => {
                    cut(self, window, seen, false);
                    return Ok(Stop::Done);
                }
                Stop::Lost => {
                    let all = window.unread().len();
                    cut(self, window, all, true);
                    return Ok(Stop::Lost);
                }
                // Only a comma is a place to cut at.
                Stop::More if at == At::Item && (seen >= size || records >= PIECE_RECORDS) => {
                    cut(self, window, seen, false);
                    (seen, records) = (0, 0);
                }
                Stop::More => {
                    if let Err(error) = window.grow() {
                        let all = window.unread().len();
                        cut(self, window, all, false);
                        return Err(error);
                    }
                }
            }
        }
    }

    pub(super) fn hand_over(&mut self, piece: Piece) {
        if let Some(pieces) = &mut self.pieces {
            pieces.piece(piece, self.runs.restart_positions());
        }
    }
}

/// Cuts an input into pieces of whole lines.
pub(in crate::input) fn cut_lines(
    window: &mut Window<'_>,
    format: Option<Format>,
    size: usize,
    mut take: impl FnMut(Piece),
) -> Result<()> {
    let size = size.max(1);
    loop {
        let bytes = window.unread();
        let full = bytes.get(..size).and_then(|piece| memchr::memrchr(b'\n', piece));
        let end = match full {
            Some(end) => Some(end + 1),
            // A line that is longer than a piece is one.
            None if bytes.len() >= size => {
                memchr::memchr(b'\n', bytes.get(size..).unwrap_or_default()).map(|end| size + end + 1)
            }
            None => None,
        };
        let end = match end {
            Some(end) => end,
            None if window.is_whole() => bytes.len(),
            None => {
                window.grow()?;
                continue;
            }
        };
        if end == 0 {
            return Ok(());
        }
        let piece = bytes.get(..end).unwrap_or_default();
        // Tiny lines make small pieces.
        let end = memchr::memchr_iter(b'\n', piece).nth(PIECE_RECORDS).map_or(end, |last| last + 1);
        let bytes = piece.get(..end).unwrap_or_default().to_vec();
        let place = window.place(0);
        window.consume(end);
        take(Piece { format, bytes, place, kind: PieceKind::Lines });
    }
}

impl Piece {
    pub(in crate::input) fn format(&self) -> Option<Format> {
        self.format
    }

    /// The bytes, and the place of the first.
    pub(in crate::input) fn lines(&self) -> (&[u8], Place) {
        (&self.bytes, self.place)
    }
}
