//! Parts of an input that can be read independently, and how an input is cut into them.

use std::sync::Arc;

use super::items::At;
use super::{Header, Place, Result, Stop, Walk, Window, reader_at};
use crate::read::Format;

/// The approximate maximum number of records in a piece.
const PIECE_RECORDS: usize = 1024;

/// A part of an input that can be read independently.
#[derive(Debug)]
pub(crate) struct Piece {
    /// The format of its runs; `None` if each line is a document of its own.
    pub(in crate::read) format: Option<Format>,
    pub(crate) bytes: Vec<u8>,
    pub(in crate::read) place: Place,
    pub(super) kind: PieceKind,
}

#[derive(Debug)]
pub(super) enum PieceKind {
    Lines,
    /// Items of a list, with the commas after them. The list continues in the next piece, unless this one
    /// closes it. If `unclosed`, the input ends before the list does.
    Items {
        header: Arc<Header>,
        first: bool,
        unclosed: bool,
        list: Option<&'static str>,
    },
}

/// Receives the pieces of an input, in order, when the runs in them are read elsewhere.
pub(crate) trait Pieces {
    /// Returns the intended size of a piece, in bytes. A piece with a larger line or item is larger.
    fn bytes(&self) -> usize;

    /// Returns memory for the bytes of the next piece.
    fn buffer(&mut self) -> Vec<u8>;

    /// Takes the next piece. `positions` is the number of runs, readable or not, that went to the sink since the
    /// previous piece; later runs are numbered from 0 again.
    fn piece(&mut self, piece: Piece, positions: u64);
}

impl Walk<'_, '_, '_> {
    /// Cuts the items of a list into pieces.
    pub(super) fn cut_items(&mut self, window: &mut Window<'_>, header: &Arc<Header>) -> Result<Stop> {
        let size = self.pieces.as_ref().map_or(usize::MAX, |pieces| pieces.bytes());
        let mut first = true;
        let mut cut = |walk: &mut Self, window: &mut Window<'_>, end: usize, unclosed: bool| {
            let Some(pieces) = walk.pieces.as_deref_mut() else { return };
            let kind = PieceKind::Items { header: Arc::clone(header), first, unclosed, list: walk.list };
            first = false;
            let piece = Piece::cut(window, end, walk.runs.reading.format, kind, pieces);
            pieces.piece(piece, walk.runs.restart_positions());
        };
        let mut uncut = Uncut { seen: 0, records: 0, at: At::First };
        loop {
            match uncut.look(window, size) {
                Stop::Done => {
                    cut(self, window, uncut.seen, false);
                    return Ok(Stop::Done);
                }
                Stop::Lost => {
                    let all = window.unread().len();
                    cut(self, window, all, true);
                    return Ok(Stop::Lost);
                }
                // A list is cut only after a comma.
                Stop::More if uncut.at == At::Item && uncut.is_full(size) => {
                    cut(self, window, uncut.seen, false);
                    (uncut.seen, uncut.records) = (0, 0);
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
}

/// The part of a list that was scanned since the last cut.
struct Uncut {
    seen: usize,
    records: usize,
    at: At,
}

impl Uncut {
    fn is_full(&self, size: usize) -> bool {
        self.seen >= size || self.records >= PIECE_RECORDS
    }

    /// Continues scanning until the list closes, a piece of this size is full, or the available input ends.
    fn look(&mut self, window: &Window<'_>, size: usize) -> Stop {
        let at_end = if window.is_whole() { Stop::Lost } else { Stop::More };
        let mut json = reader_at(window.unread(), self.seen, 2);
        loop {
            let Some(byte) = json.peek_byte() else { return at_end };
            let start = json.offset();
            match (byte, self.at) {
                (b']', _) => {
                    self.seen = start + 1;
                    return Stop::Done;
                }
                (b',', _) => {
                    json.advance();
                    self.at = At::Item;
                    self.seen = json.offset();
                    if self.is_full(size) {
                        return Stop::More;
                    }
                    continue;
                }
                (b'}' | b':', At::Behind) => {
                    json.advance();
                    self.at = At::First;
                }
                (_, At::Behind) => self.at = At::First,
                _ => {
                    if json.skip().is_err() {
                        json = reader_at(window.unread(), start, 2);
                        if json.skip_unsound().is_none() {
                            return at_end;
                        }
                        if json.offset() == start {
                            json.advance();
                        }
                    }
                    self.records += 1;
                    self.at = At::Behind;
                }
            }
            self.seen = json.offset();
        }
    }
}

/// Cuts an input into pieces of whole lines.
pub(in crate::read) fn cut_lines(
    window: &mut Window<'_>,
    format: Option<Format>,
    pieces: &mut (dyn Pieces + '_),
    mut positions: impl FnMut() -> u64,
) -> Result<()> {
    let size = pieces.bytes().max(1);
    // The last line end that a piece of these bytes may have, and the number of its lines.
    let last = |bytes: &[u8]| memchr::memchr_iter(b'\n', bytes).zip(1..=PIECE_RECORDS).last();
    loop {
        // Short lines make small pieces, so many pieces may be cut before more is read.
        let known = window.unread();
        if last(known.get(..size).unwrap_or(known)).is_none_or(|(_, lines)| lines < PIECE_RECORDS) {
            window.fill(size)?;
        }
        let bytes = window.unread();
        // A line that is longer than a piece is a piece of its own.
        let beyond = || Some(size + memchr::memchr(b'\n', bytes.get(size..)?)?);
        let end = match last(bytes.get(..size).unwrap_or(bytes)).map(|(end, _)| end).or_else(beyond) {
            Some(end) => end + 1,
            None if window.is_whole() => bytes.len(),
            None => {
                window.grow()?;
                continue;
            }
        };
        if end == 0 {
            return Ok(());
        }
        let piece = Piece::cut(window, end, format, PieceKind::Lines, pieces);
        pieces.piece(piece, positions());
    }
}

impl Piece {
    /// Takes a piece out of an input, up to this end.
    fn cut(
        window: &mut Window<'_>,
        end: usize,
        format: Option<Format>,
        kind: PieceKind,
        pieces: &mut (dyn Pieces + '_),
    ) -> Self {
        let place = window.place(0);
        let after = window.place(end);
        Self { format, bytes: window.take(end, after, pieces.buffer()), place, kind }
    }
}
