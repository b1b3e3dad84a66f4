//! The one walk over an input whose runs are records of their own: values, the objects that hold lists of runs, the
//! lists, the lines. The same over a slice, a stream, and the pieces of either.

use std::borrow::Cow;
use std::sync::Arc;

use super::runs::{Header, Runs};
use super::sample::Framing;
use super::window::{Place, Window};
use super::{ReadOptions, RecordReader};
use crate::error::{Error, ErrorKind, Result};
use crate::json::{Fault, Json, Read};
use crate::trace::Assembler;

/// How far a stream is read ahead for what stands behind its runs.
const LOOK_AHEAD: usize = 8 << 20;

/// How much of an object is looked at to see whether it is a run or holds runs.
const CLASSIFIED: usize = 1 << 20;

/// How many records a piece of an input has at most, or nearly so.
const PIECE_RECORDS: usize = 1024;

/// A part of an input that can be read by itself.
#[derive(Debug)]
pub(crate) struct Piece {
    /// The format of its runs; `None` where each line is a document of its own.
    format: Option<super::Format>,
    bytes: Vec<u8>,
    place: Place,
    kind: PieceKind,
}

#[derive(Debug)]
enum PieceKind {
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

/// What an object turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Run,
    Holder,
}

/// A member of the object around the runs.
enum Member {
    /// The runs, whose value begins at this offset.
    Runs(usize),
    /// Any other, which ends at this offset.
    Other(usize),
}

/// Where the walk is within a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// Before the first item.
    First,
    /// Before an item, behind a comma.
    Item,
    /// Behind an item.
    Behind,
}

/// Why a part of the walk stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// More of the input is needed.
    More,
    /// It is over.
    Done,
    /// The rest of the input cannot be told apart.
    Lost,
}

/// The walk over one input.
pub(super) struct Walk<'w, 's, 'p> {
    pub(super) runs: &'w mut Runs<'s>,
    pub(super) reader: &'static RecordReader,
    /// What stands beside the input instead of in it.
    pub(super) companion: Option<&'w Header>,
    /// Where pieces go, if somebody else reads them.
    pub(super) pieces: Option<&'w mut (dyn Pieces + 'p)>,
    /// Whether only what stands beside the runs is wanted: the last header that was read.
    pub(super) header_only: Option<Header>,
    /// Whether an object that holds no list of runs is sound all the same, because they lie elsewhere.
    pub(super) may_hold_none: bool,
    /// Opens the input again from its start, where that can be done.
    pub(super) again: Option<&'w dyn Fn() -> Option<Box<dyn std::io::Read>>>,
}

impl Walk<'_, '_, '_> {
    /// Walks over the whole input.
    pub(super) fn input(&mut self, window: &mut Window<'_>, framing: Framing) {
        let walked = match framing {
            Framing::Lines => self.lines(window),
            Framing::Values => self.values(window),
        };
        if let Err(error) = walked {
            self.runs.fail(error);
        }
    }

    /// Reads a piece that was cut from an input.
    pub(super) fn piece(&mut self, piece: &Piece) {
        let mut window = Window::over_part(&piece.bytes, piece.place);
        let walked = match &piece.kind {
            PieceKind::Lines => self.lines(&mut window),
            PieceKind::Items { header, first, unclosed } => {
                let at = if *first { At::First } else { At::Item };
                self.items(&mut window, header, at, *unclosed).map(|_| ())
            }
        };
        if let Err(error) = walked {
            self.runs.fail(error);
        }
    }

    fn fail_at(&mut self, window: &Window<'_>, fault: Fault) {
        let location = window.place(fault.at()).location();
        self.runs.fail(fault.into_error().at(location));
    }

    fn fail_run_at(&mut self, window: &Window<'_>, fault: Fault) {
        let location = window.place(fault.at()).location();
        let error = fault.into_error();
        self.runs.fail_run(if error.location().is_some() { error } else { error.at(location) });
    }

    /// The first byte behind white space, which is passed over; `None` at the end.
    fn next_byte(window: &mut Window<'_>) -> Result<Option<u8>> {
        loop {
            let mut json = Json::new(window.unread());
            let byte = json.peek_byte();
            let space = json.offset();
            window.consume(space);
            match byte {
                Some(byte) => return Ok(Some(byte)),
                None if !window.grow()? => return Ok(None),
                None => {}
            }
        }
    }

    /// Values one behind the other.
    fn values(&mut self, window: &mut Window<'_>) -> Result<()> {
        let mut values = 0_u64;
        let mut lost = false;
        while let Some(byte) = Self::next_byte(window)? {
            if lost {
                return Ok(());
            }
            let line = (values > 0).then(|| window.place(0).location().line);
            let stop = match byte {
                b'{' => self.object(window)?,
                b'[' => {
                    window.consume(1);
                    let header = Arc::new(self.companion.cloned().unwrap_or_default());
                    self.list(window, &header)?
                }
                _ => self.litter(window)?,
            };
            lost = stop == Stop::Lost;
            values += 1;
            // Behind a value that fills a line, the others are likely to do so as well.
            if !lost && self.fills_line(window, line)? {
                return self.lines(window);
            }
        }
        Ok(())
    }

    /// Whether the value that has just been read, which began in this line, or in the first, ended with its line,
    /// and something follows.
    fn fills_line(&self, window: &mut Window<'_>, line: Option<u64>) -> Result<bool> {
        let blank = |bytes: &[u8]| bytes.iter().all(u8::is_ascii_whitespace);
        loop {
            let unread = window.unread();
            if let Some(end) = memchr::memchr(b'\n', unread) {
                let over = unread.get(..end).is_some_and(blank);
                return Ok(over && window.place(0).location().line == line.unwrap_or(1));
            }
            if !blank(unread) || !window.grow()? {
                return Ok(false);
            }
        }
    }

    /// Something that is neither an object nor a list: an error that costs its line.
    fn litter(&mut self, window: &mut Window<'_>) -> Result<Stop> {
        let mut json = Json::new(window.unread());
        let fault = match json.kind() {
            Ok(kind) => Fault::shape(0, format!("expected {}, found {}", self.reader.what, kind.name())),
            Err(fault) => fault,
        };
        self.fail_at(window, fault);
        loop {
            match memchr::memchr(b'\n', window.unread()) {
                Some(end) => {
                    window.consume(end);
                    return Ok(Stop::Done);
                }
                None => {
                    let all = window.unread().len();
                    window.consume(all);
                    if !window.grow()? {
                        return Ok(Stop::Done);
                    }
                }
            }
        }
    }

    /// What the object that begins here is; `None`: what is there does not tell.
    fn classify(&self, json: &mut Json<'_>) -> Option<Class> {
        let mut class = None;
        let mut beside = false;
        let walked = json.object(|key, value| {
            if key == self.reader.list.as_bytes() {
                class = Some(Class::Holder);
            } else if self.reader.run_keys.iter().any(|known| key == known.as_bytes()) {
                class = Some(Class::Run);
            } else {
                beside |= self.reader.header_keys.iter().any(|known| key == known.as_bytes());
                return value.skip();
            }
            // Enough is known.
            Err(Fault::shape(0, ""))
        });
        match (class, walked) {
            (Some(class), _) => Some(class),
            (None, Err(fault)) if fault.is_end() => None,
            (None, _) => Some(if beside { Class::Holder } else { Class::Run }),
        }
    }

    fn object(&mut self, window: &mut Window<'_>) -> Result<Stop> {
        let class = loop {
            match self.classify(&mut Json::new(window.unread())) {
                Some(class) => break class,
                None if window.unread().len() < CLASSIFIED && window.grow()? => {}
                None => break if self.reader.list.is_empty() { Class::Run } else { self.guess(window) },
            }
        };
        match class {
            Class::Holder => self.holder(window),
            Class::Run => self.single(window),
        }
    }

    /// What an object is of which only a part is known, which ends before anything decisive.
    fn guess(&self, window: &Window<'_>) -> Class {
        let mut json = Json::new(window.unread());
        let mut beside = false;
        let _ = json.object(|key, value| {
            beside |= self.reader.header_keys.iter().any(|known| key == known.as_bytes());
            value.skip()
        });
        if beside || !window.is_whole() { Class::Holder } else { Class::Run }
    }

    /// A run that is no item of a list.
    fn single(&mut self, window: &mut Window<'_>) -> Result<Stop> {
        let header = self.companion.cloned().unwrap_or_default();
        loop {
            let bytes = window.unread();
            let mut json = Json::new(bytes);
            let read = self.item(&mut json, &header, &mut Assembler::default());
            let (end, fault) = match read {
                Ok(()) => (Some(json.offset()), None),
                Err(fault) => {
                    let mut unsound = Json::new(bytes);
                    (unsound.skip_unsound().map(|()| unsound.offset()), Some(fault))
                }
            };
            if end.is_none() && !window.is_whole() {
                window.grow()?;
                continue;
            }
            if let Some(fault) = fault {
                let text = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
                if let Some(fault) = self.mend(fault, text, 0, &header) {
                    self.fail_run_at(window, fault);
                }
            }
            let all = window.unread().len();
            window.consume(end.unwrap_or(all));
            return Ok(if end.is_some() { Stop::Done } else { Stop::Lost });
        }
    }

    /// An object that holds a list of runs.
    fn holder(&mut self, window: &mut Window<'_>) -> Result<Stop> {
        let mut header = self.companion.cloned().unwrap_or_default();
        let mut listed = false;
        let mut behind = false;
        let place = window.place(0);
        window.consume(1);
        loop {
            let Some(byte) = Self::next_byte(window)? else {
                self.fail_at(window, Fault::end_at(0));
                return Ok(Stop::Lost);
            };
            match byte {
                b'}' => {
                    window.consume(1);
                    break;
                }
                b',' if behind => {
                    window.consume(1);
                    behind = false;
                    continue;
                }
                b'"' if !behind => {}
                _ => {
                    let wanted = if behind { "expected `,` or `}`" } else { "expected a key" };
                    self.fail_at(window, Fault::syntax(0, wanted));
                    return self.leave_object(window);
                }
            }
            match self.member(window, &mut header, listed) {
                Ok(Member::Other(end)) => window.consume(end),
                Ok(Member::Runs(value)) => {
                    window.consume(value);
                    listed = true;
                    if self.held_runs(window, &mut header)? == Stop::Lost {
                        return Ok(Stop::Lost);
                    }
                }
                Err((fault, _)) if fault.is_end() && window.grow()? => continue,
                Err((fault, true)) => {
                    // The rest of the object goes on behind the value.
                    if !self.pass_over_member(window, fault)? {
                        return Ok(Stop::Lost);
                    }
                }
                Err((fault, false)) => {
                    let lost = fault.is_end();
                    self.fail_at(window, fault);
                    return if lost { Ok(Stop::Lost) } else { self.leave_object(window) };
                }
            }
            behind = true;
        }
        if self.header_only.is_some() {
            self.header_only = Some(header);
        } else if !listed && !self.may_hold_none {
            let what = format!("the object holds no `{}`", self.reader.list);
            self.runs.fail(Error::shape(what).at(place.location()));
        }
        Ok(Stop::Done)
    }

    /// Reads a member of the object around the runs, up to its value where that is the list of them. What is wrong
    /// is wrong with its key, or (`true`) with its value.
    fn member(
        &self,
        window: &Window<'_>,
        header: &mut Header,
        listed: bool,
    ) -> std::result::Result<Member, (Fault, bool)> {
        let mut json = Json::starting_at(window.unread(), 0, 1);
        let key = json.key().map_err(|fault| (fault, false))?;
        if !listed && *key == *self.reader.list.as_bytes() {
            return Ok(Member::Runs(json.offset()));
        }
        let read = (self.reader.header)(&key, &mut json, self.runs.options, header);
        read.map(|()| Member::Other(json.offset())).map_err(|fault| (fault, true))
    }

    /// Reads the list of runs that is the value of a member, or whatever stands there instead.
    fn held_runs(&mut self, window: &mut Window<'_>, header: &mut Header) -> Result<Stop> {
        match self.runs_follow(window)? {
            Some(true) => {}
            Some(false) => return Ok(Stop::Done),
            None => return Ok(Stop::Lost),
        }
        if self.header_only.is_none() && !(self.reader.is_complete)(header) {
            self.look_ahead(window, header)?;
        }
        window.consume(1);
        self.list(window, &Arc::new(header.clone()))
    }

    /// Reports what is wrong with the member that begins here, and passes over it. `false`: it has no end.
    fn pass_over_member(&mut self, window: &mut Window<'_>, fault: Fault) -> Result<bool> {
        self.fail_at(window, fault);
        loop {
            let mut json = Json::starting_at(window.unread(), 0, 1);
            let end = json.key().ok().and_then(|_| json.skip_unsound()).map(|()| json.offset());
            match end {
                Some(end) => {
                    window.consume(end);
                    return Ok(true);
                }
                None if !window.grow()? => {
                    let all = window.unread().len();
                    window.consume(all);
                    return Ok(false);
                }
                None => {}
            }
        }
    }

    /// Passes over the rest of an object whose members cannot be told apart any more.
    fn leave_object(&mut self, window: &mut Window<'_>) -> Result<Stop> {
        loop {
            let bytes = window.unread();
            // As if it had just begun.
            let mut json = Json::starting_at(bytes, 0, 1);
            let mut end = None;
            while json.skip_unsound().is_some() {
                match json.peek_byte() {
                    Some(b'}' | b']') => {
                        end = Some(json.offset() + 1);
                        break;
                    }
                    Some(_) => json.advance(),
                    None => break,
                }
            }
            match end {
                Some(end) => {
                    window.consume(end);
                    return Ok(Stop::Done);
                }
                None if !window.grow()? => {
                    let all = window.unread().len();
                    window.consume(all);
                    return Ok(Stop::Lost);
                }
                None => {}
            }
        }
    }

    /// Whether a list of runs comes next, and its first byte is there. Anything else is an error, and passed over.
    fn runs_follow(&mut self, window: &mut Window<'_>) -> Result<Option<bool>> {
        if Self::next_byte(window)? == Some(b'[') {
            return Ok(Some(true));
        }
        loop {
            let mut json = Json::starting_at(window.unread(), 0, 1);
            let fault = match json.list(|_| Ok(())) {
                Ok(()) => return Ok(Some(false)),
                Err(fault) if fault.is_end() && window.grow()? => continue,
                Err(fault) => fault,
            };
            let lost = fault.is_end();
            self.fail_at(window, fault);
            if lost {
                return Ok(None);
            }
            let mut json = Json::starting_at(window.unread(), 0, 1);
            let _ = json.skip_unsound();
            let end = json.offset();
            window.consume(end);
            return Ok(Some(false));
        }
    }

    /// Reads what the object says behind the list that begins here, as far as that can be known now.
    fn look_ahead(&mut self, window: &mut Window<'_>, header: &mut Header) -> Result<()> {
        if let Some(again) = self.again
            && !window.is_whole()
            && let Some(input) = again()
        {
            let options = self.runs.options;
            if let Some(found) =
                read_header(&mut Window::over_stream(input, usize::MAX), self.reader, options)
            {
                *header = found;
            }
            return Ok(());
        }
        loop {
            let mut json = Json::starting_at(window.unread(), 0, 1);
            let passed = json.clone();
            let passed = json.skip().is_ok() || {
                json = passed;
                json.skip_unsound().is_some()
            };
            if passed {
                let mut ahead = header.clone();
                let read = self.members_behind(&mut json, &mut ahead);
                if read.is_ok() || window.is_whole() {
                    *header = ahead;
                    return Ok(());
                }
            } else if window.is_whole() {
                return Ok(());
            }
            if window.unread().len() >= LOOK_AHEAD {
                header.cut_off = true;
                return Ok(());
            }
            window.grow()?;
        }
    }

    /// Reads the members of an object from behind a value on. What is wrong with them is found when they are reached.
    fn members_behind(&self, json: &mut Json<'_>, header: &mut Header) -> Read<()> {
        loop {
            match json.peek_byte() {
                Some(b',') => json.advance(),
                Some(_) => return Ok(()),
                None => return Err(Fault::end_at(json.offset())),
            }
            let key = json.key()?;
            json.space();
            let start = json.clone();
            if let Err(fault) = (self.reader.header)(&key, json, self.runs.options, header) {
                if fault.is_end() {
                    return Err(fault);
                }
                *json = start;
                if json.skip_unsound().is_none() {
                    return Ok(());
                }
            }
        }
    }

    fn list(&mut self, window: &mut Window<'_>, header: &Arc<Header>) -> Result<Stop> {
        if self.header_only.is_some() || self.pieces.is_none() {
            return self.items(window, header, At::First, true);
        }
        self.cut_items(window, header)
    }

    /// Reads one run where it stands.
    #[inline]
    fn item<'a>(&mut self, json: &mut Json<'a>, header: &Header, assembler: &mut Assembler<'a>) -> Read<()> {
        if self.header_only.is_some() {
            json.skip()
        } else {
            self.runs.read(self.reader.run, json, header, assembler)
        }
    }

    /// Reads a run once more, with U+FFFD for what is no UTF-8, if that is what was wrong with it. Gives back what is
    /// wrong with it otherwise.
    fn mend(&mut self, fault: Fault, text: &[u8], start: usize, header: &Header) -> Option<Fault> {
        if !fault.is_encoding() {
            return Some(fault);
        }
        let text = String::from_utf8_lossy(text);
        let mut json = Json::new(text.as_bytes());
        let read = self.item(&mut json, header, &mut Assembler::default());
        self.runs.pass_over("runs with bytes that are no UTF-8, read as U+FFFD", u64::from(read.is_ok()));
        // Its places are those of the mended text.
        read.err().map(|fault| Fault::other(start, fault.into_error()))
    }

    /// Reads the runs of a list. `closes`: a list that is not closed is an error.
    fn items(&mut self, window: &mut Window<'_>, header: &Header, mut at: At, closes: bool) -> Result<Stop> {
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

    /// The same, of what is there.
    fn items_here(
        &mut self,
        window: &Window<'_>,
        header: &Header,
        at: &mut At,
        closes: bool,
    ) -> (usize, Stop) {
        let bytes = window.unread();
        let mut json = Json::starting_at(bytes, 0, 2);
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
                    if let Err(fault) = self.item(&mut json, header, &mut assembler) {
                        let mut unsound = Json::starting_at(bytes, start, 2);
                        let end = unsound.skip_unsound().map(|()| unsound.offset());
                        if end.is_none() && !window.is_whole() {
                            return (done, Stop::More);
                        }
                        let text = bytes.get(start..end.unwrap_or(bytes.len())).unwrap_or_default();
                        if let Some(fault) = self.mend(fault, text, start, header) {
                            self.fail_run_at(window, fault);
                        }
                        assembler = Assembler::default();
                        let Some(end) = end else { return (bytes.len(), Stop::Lost) };
                        // What closes nothing is passed over by itself.
                        json = Json::starting_at(bytes, end + usize::from(end == start), 2);
                    }
                    *at = At::Behind;
                }
            }
            done = json.offset();
        }
    }

    /// Cuts the items of a list into pieces.
    fn cut_items(&mut self, window: &mut Window<'_>, header: &Arc<Header>) -> Result<Stop> {
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

    fn hand_over(&mut self, piece: Piece) {
        if let Some(pieces) = &mut self.pieces {
            pieces.piece(piece, self.runs.restart_positions());
        }
    }

    /// One value in each line.
    fn lines(&mut self, window: &mut Window<'_>) -> Result<()> {
        if self.pieces.is_some() && self.header_only.is_none() {
            let format = self.runs.reading.format;
            let size = self.pieces.as_ref().map_or(usize::MAX, |pieces| pieces.bytes());
            return cut_lines(window, format, size, |piece| self.hand_over(piece));
        }
        let header = self.companion.cloned().unwrap_or_default();
        // How much of what is unread is known to have no end of a line.
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
                let mut json = Json::starting_at(line, done, 0);
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

/// Cuts an input into pieces of whole lines.
pub(super) fn cut_lines(
    window: &mut Window<'_>,
    format: Option<super::Format>,
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
    pub(super) fn format(&self) -> Option<super::Format> {
        self.format
    }

    /// The bytes, and the place of the first.
    pub(super) fn lines(&self) -> (&[u8], Place) {
        (&self.bytes, self.place)
    }
}

/// Reads what an input says beside its runs.
pub(super) fn read_header(
    window: &mut Window<'_>,
    reader: &'static RecordReader,
    options: &ReadOptions,
) -> Option<Header> {
    let mut nowhere = crate::trace::TraceCollector::default();
    let mut runs = Runs::new(options, &mut nowhere);
    let mut walk = Walk {
        runs: &mut runs,
        reader,
        companion: None,
        pieces: None,
        header_only: Some(Header::default()),
        may_hold_none: true,
        again: None,
    };
    let _ = Walk::next_byte(window).ok()?.filter(|byte| *byte == b'{')?;
    walk.holder(window).ok()?;
    walk.header_only
}

/// An error about an input that is of no use as it is.
pub(super) fn unusable(what: impl Into<Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::Format, what.into())
}
