//! Lists of runs.

use super::{Assembler, Fault, Header, Result, Stop, Walk, Window, reader_at};

/// The position of the walk within a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum At {
    First,
    /// Before an item, after a comma.
    Item,
    Behind,
}

impl Walk<'_, '_, '_> {
    /// Reads the runs of a list. With `closes`, a list that is not closed is an error.
    pub(super) fn items(
        &mut self,
        window: &mut Window<'_>,
        header: &Header,
        mut at: At,
        closes: bool,
    ) -> Result<Stop> {
        loop {
            let (done, stop) = self.items_here(window, header, &mut at, closes);
            window.consume(done);
            match stop {
                Stop::More => {
                    window.grow()?;
                }
                stop => return Ok(stop),
            }
        }
    }

    /// Like [`Walk::items`], for the bytes that are present. Also returns how many of them were read.
    fn items_here(
        &mut self,
        window: &Window<'_>,
        header: &Header,
        at: &mut At,
        closes: bool,
    ) -> (usize, Stop) {
        let bytes = window.unread();
        let mut json = reader_at(bytes, 0, 2);
        let mut assembler = Assembler::default();
        let mut done = 0;
        loop {
            let Some(byte) = json.peek_byte() else {
                if !window.is_whole() {
                    return (done, Stop::More);
                }
                if closes {
                    self.fail_at(window, Fault::end_at(json.offset()));
                }
                return (json.offset(), if closes { Stop::Lost } else { Stop::Done });
            };
            let start = json.offset();
            match (byte, *at) {
                (b']', _) => {
                    if *at == At::Item {
                        self.fail_run_at(window, Fault::syntax(start, "expected a value"));
                    }
                    return (start + 1, Stop::Done);
                }
                (b',', _) => {
                    if *at != At::Behind {
                        self.fail_run_at(window, Fault::syntax(start, "expected a value"));
                    }
                    json.advance();
                    *at = At::Item;
                }
                (_, At::Behind) => {
                    self.fail_at(window, Fault::syntax(start, "expected `,` or `]`"));
                    if matches!(byte, b'}' | b':') {
                        json.advance();
                    }
                    *at = At::First;
                }
                _ => {
                    if let Err(fault) = self.item(window, &mut json, header, &mut assembler) {
                        if fault.is_end() && !window.is_whole() {
                            return (done, Stop::More);
                        }
                        let mut unsound = reader_at(bytes, start, 2);
                        let end = unsound.skip_unsound().map(|()| unsound.offset());
                        if end.is_none() && !window.is_whole() {
                            return (done, Stop::More);
                        }
                        let text = bytes.get(start..end.unwrap_or(bytes.len())).unwrap_or_default();
                        self.read_lossy(window, fault, text, start, header);
                        assembler = Assembler::default();
                        let Some(end) = end else { return (bytes.len(), Stop::Lost) };
                        // An unmatched closing bracket is skipped by itself.
                        json = reader_at(bytes, end + usize::from(end == start), 2);
                    }
                    *at = At::Behind;
                }
            }
            done = json.offset();
        }
    }
}
