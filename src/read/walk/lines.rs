//! Reads inputs with one value per line.

use super::{Assembler, Class, Fault, Header, Json, Result, Walk, Window, cut_lines, reader_at};

impl Walk<'_, '_, '_> {
    /// Reads an input with one value in each line, or cuts it into pieces.
    pub(super) fn lines(&mut self, window: &mut Window<'_>) -> Result<()> {
        if let Some(pieces) = self.pieces.as_deref_mut()
            && self.header_only.is_none()
        {
            let format = self.runs.reading.format;
            return cut_lines(window, format, pieces, || self.runs.restart_positions());
        }
        let header = self.companion.cloned().unwrap_or_default();
        // Number of unread bytes that are known to hold no line end.
        let mut searched = 0;
        loop {
            let whole = window.is_whole();
            let bytes = window.unread();
            let mut assembler = Assembler::default();
            let mut done = 0;
            loop {
                let rest = bytes.get(done + searched..).unwrap_or_default();
                let end = match memchr::memchr(b'\n', rest) {
                    Some(end) => done + searched + end,
                    None if whole => bytes.len(),
                    None => break,
                };
                let line = bytes.get(..end).unwrap_or_default();
                let mut json = reader_at(line, done, 0);
                if json.peek_byte().is_some() {
                    self.line(window, line, json, &header, &mut assembler);
                }
                done = end + 1;
                searched = 0;
                if done > bytes.len() {
                    break;
                }
            }
            searched = bytes.len().saturating_sub(done);
            window.consume(done);
            if whole || (!window.grow()? && window.unread().is_empty()) {
                return Ok(());
            }
        }
    }

    /// Reads the value of one line. `json` is at its start; `line` holds the unread bytes up to its end.
    fn line<'a>(
        &mut self,
        window: &Window<'_>,
        line: &'a [u8],
        mut json: Json<'a>,
        header: &Header,
        assembler: &mut Assembler<'a>,
    ) {
        let start = json.offset();
        if json.peek_byte() == Some(b'{') && self.classify(&mut json.clone()) != Some(Class::Holder) {
            let read = self.item(window, &mut json, header, assembler);
            if let Err(fault) = read {
                let text = line.get(start..).unwrap_or_default();
                if let Some(fault) = self.read_lossy(window, fault, text, start, header) {
                    self.fail_run_at(window, fault);
                }
                *assembler = Assembler::default();
            } else if json.peek_byte().is_some() {
                self.fail_at(window, Fault::syntax(json.offset(), "expected the end of the line"));
            }
            return;
        }
        let place = window.place(start);
        let mut part = Window::over_part(line.get(start..).unwrap_or_default(), place);
        if let Err(error) = self.values(&mut part) {
            self.runs.fail(error);
        }
    }
}
