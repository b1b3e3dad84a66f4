//! Lines of runs.

use super::{Assembler, Class, Fault, Header, Json, MayEnd, Result, Walk, Window, cut_lines, reader_at};

impl Walk<'_, '_, '_> {
    /// One value in each line.
    pub(super) fn lines(&mut self, window: &mut Window<'_>) -> Result<()> {
        if let Some(pieces) = self.pieces.as_deref_mut()
            && self.header_only.is_none()
        {
            let format = self.runs.reading.format;
            return cut_lines(window, format, pieces, || self.runs.restart_positions());
        }
        let header = self.companion.cloned().unwrap_or_default();
        // How much of what is unread is known to have no end of a line.
        let mut searched = 0;
        // Behind a line that is not, each is looked for before it is read, which takes linear time whatever they hold.
        let mut all_sound = self.header_only.is_none();
        loop {
            let whole = window.is_whole();
            let bytes = window.unread();
            let mut assembler = Assembler::default();
            let mut done = 0;
            if all_sound {
                let last = memchr::memrchr(b'\n', bytes.get(searched..).unwrap_or_default());
                let over = if whole { bytes.len() } else { last.map_or(0, |last| searched + last) };
                let complete = bytes.get(..over).unwrap_or_default();
                done = self.sound_lines(complete, &header, &mut assembler);
                all_sound = done == over;
                searched = if done > 0 { 0 } else { searched };
            }
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

    /// Reads runs where they stand, without looking for the ends of their lines first, which takes a pass of its own.
    /// Returns how far: to the end, or to the first line that is anything but one sound run.
    fn sound_lines<'a>(&mut self, text: &'a [u8], header: &Header, assembler: &mut Assembler<'a>) -> usize {
        let mut json = reader_at(text, 0, 0);
        loop {
            match json.peek_byte() {
                None => return text.len(),
                Some(b'{')
                    if self.reader.refuses_holders
                        || self.classify(&mut json.clone()) != Some(Class::Holder) => {}
                Some(_) => return json.offset(),
            }
            let start = json.offset();
            if self.runs.read(self.reader.run, &mut json, header, assembler, MayEnd::WithLine).is_err() {
                *assembler = Assembler::default();
                return start;
            }
        }
    }

    /// The value of one line, which begins where `json` is and ends with `line`.
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
            let read = self.item(&mut json, header, assembler);
            if let Err(fault) = read {
                let text = line.get(start..).unwrap_or_default();
                if let Some(fault) = self.mend(fault, text, start, header) {
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
