//! Reads inputs with one value per line.

use super::{Assembler, Class, Fault, Header, Result, Walk, Window, cut_lines};
use crate::json::Raw;
use crate::read::framing::complete_lines;

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
        loop {
            let whole = window.is_whole();
            let mut assembler = Assembler::default();
            let (all, end) = complete_lines(window);
            for line in all {
                self.line(window, line, &header, &mut assembler);
            }
            window.consume(end);
            if !window.grow()? && whole {
                return Ok(());
            }
        }
    }

    /// Reads the value of one line.
    fn line<'a>(
        &mut self,
        window: &Window<'_>,
        line: Raw<'a>,
        header: &Header,
        assembler: &mut Assembler<'a>,
    ) {
        let (start, text) = (line.offset(), line.bytes());
        let mut json = line.json().skimming();
        if json.peek_byte() == Some(b'{') && self.classify(&mut json.clone()) != Ok(Class::Holder) {
            let read = self.item(window, &mut json, header, assembler);
            if let Err(fault) = read {
                self.read_lossy(window, fault, text, start, header);
                *assembler = Assembler::default();
            } else if json.peek_byte().is_some() {
                self.fail_at(window, Fault::syntax(json.offset(), "expected the end of the line"));
            }
            return;
        }
        let place = window.place(start);
        let mut part = Window::over_part(text, place);
        if let Err(error) = self.values(&mut part) {
            self.runs.fail(error);
        }
    }
}
