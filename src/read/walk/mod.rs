//! The walk over an input whose runs are separate JSON values: single runs, objects that hold lists of runs, lists of
//! runs, and lines. It is the same for a slice, a stream, and the pieces of either.

mod holder;
mod items;
mod lines;
mod pieces;

use std::ops::ControlFlow::{Break, Continue};
use std::sync::Arc;

pub(super) use holder::read_header;
use items::At;
use pieces::PieceKind;
pub(super) use pieces::cut_lines;
pub(crate) use pieces::{Piece, Pieces};

use super::framing::Framing;
use super::header::Header;
use super::lossy::LossyUtf8;
use super::place::Place;
use super::place::RunStart;
use super::runs::Runs;
use super::window::Window;
use super::{ReadOptions, RecordReader};
use crate::error::{Error, Result};
use crate::json::{Fault, Json, Read};
use crate::trace::Assembler;

/// Number of bytes of an object that are checked first to see whether it is a run or holds runs.
const CLASSIFIED: usize = 1 << 20;

/// Whether an object is a run or holds a list of runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Run,
    Holder,
}

/// The reason why a part of the walk stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// More of the input is needed.
    More,
    /// The part is over.
    Done,
    /// The rest of the input cannot be separated into values.
    Lost,
}

/// Makes a reader at an offset, inside this many open lists and objects. A skipped list or object may make up most
/// of a file, so only its end is searched for.
fn reader_at(bytes: &[u8], at: usize, depth: u32) -> Json<'_> {
    Json::starting_at(bytes, at, depth).skimming()
}

/// Returns the first fault of a value: the given fault, or a fault in the structure if that comes first.
fn first_fault(fault: Fault, text: &[u8], start: usize) -> Fault {
    match Json::new(text).skip() {
        Err(first) if !first.is_end() && start + first.at() < fault.at() => {
            Fault::other(start + first.at(), first.into_error())
        }
        _ => fault,
    }
}

pub(super) struct Walk<'w, 's, 'p> {
    pub(super) runs: &'w mut Runs<'s>,
    pub(super) reader: &'static RecordReader,
    /// The header, if it is in another file.
    pub(super) companion: Option<&'w Header>,
    /// The receiver of pieces, if the runs are read elsewhere.
    pub(super) pieces: Option<&'w mut (dyn Pieces + 'p)>,
    /// The last header that was read, if only headers are wanted.
    pub(super) header_only: Option<Header>,
    /// True if an object without a list of runs is valid, because its runs are elsewhere.
    pub(super) may_hold_none: bool,
    /// The key of the list that is being read; empty if it has none, `None` if no list is read or its place is not
    /// known.
    pub(super) list: Option<&'static str>,
    /// Opens the input again at an offset, if possible.
    pub(super) again: Option<&'w dyn Fn(u64) -> Option<Box<dyn std::io::Read>>>,
}

impl<'w, 's> Walk<'w, 's, '_> {
    /// Creates a walk over an input without context.
    pub(super) fn new(runs: &'w mut Runs<'s>, reader: &'static RecordReader) -> Self {
        Self {
            runs,
            reader,
            companion: None,
            pieces: None,
            header_only: None,
            may_hold_none: false,
            list: None,
            again: None,
        }
    }

    /// Makes a walk that reads only headers.
    fn for_header(runs: &'w mut Runs<'s>, reader: &'static RecordReader) -> Self {
        Self { header_only: Some(Header::default()), may_hold_none: true, ..Self::new(runs, reader) }
    }
}

impl Walk<'_, '_, '_> {
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
            PieceKind::Items { header, first, unclosed, list } => {
                self.list = *list;
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

    /// Skips white space and returns the byte after it, which stays unread; `None` at the end.
    fn next_byte(window: &mut Window<'_>) -> Result<Option<u8>> {
        loop {
            let mut json = reader_at(window.unread(), 0, 0);
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

    fn values(&mut self, window: &mut Window<'_>) -> Result<()> {
        let (mut lost, mut is_first) = (false, true);
        while let Some(byte) = Self::next_byte(window)? {
            if lost {
                return Ok(());
            }
            let line = window.place(0).location().line;
            // Only in the first document is the position of a run its index in the list.
            self.list = None;
            let stop = match byte {
                b'{' => {
                    self.list = is_first.then_some(self.reader.list);
                    self.object(window)?
                }
                b'[' => {
                    window.consume(1);
                    let header = Arc::new(self.companion.cloned().unwrap_or_default());
                    self.list = is_first.then_some("");
                    self.read_list(window, &header)?
                }
                _ => self.skip_invalid(window)?,
            };
            (lost, is_first) = (stop == Stop::Lost, false);
            // If a value fills a line, the others probably do so as well, and the rest is read as lines.
            if !lost && Self::fills_line(window, line)? {
                return self.lines(window);
            }
        }
        Ok(())
    }

    /// Returns true if the value that was just read began on this line and is the last thing on it.
    fn fills_line(window: &mut Window<'_>, line: u64) -> Result<bool> {
        loop {
            let is_over = |byte: &u8| *byte == b'\n' || !byte.is_ascii_whitespace();
            let over = window.unread().iter().copied().find(is_over);
            match over {
                Some(b'\n') => return Ok(window.place(0).location().line == line),
                Some(_) => return Ok(false),
                None if !window.grow()? => return Ok(false),
                None => {}
            }
        }
    }

    /// Reports a value that is neither an object nor a list, and skips the rest of its line.
    fn skip_invalid(&mut self, window: &mut Window<'_>) -> Result<Stop> {
        let mut json = reader_at(window.unread(), 0, 0);
        let fault = match json.kind() {
            Ok(kind) => Fault::shape(0, format!("expected {}, found {}", self.reader.what, kind.name())),
            Err(fault) => fault,
        };
        self.fail_at(window, fault);
        loop {
            if let Some(end) = memchr::memchr(b'\n', window.unread()) {
                window.consume(end);
                return Ok(Stop::Done);
            }
            let all = window.unread().len();
            window.consume(all);
            if !window.grow()? {
                return Ok(Stop::Done);
            }
        }
    }

    /// Classifies the object that begins here. If the known part of it is not enough to decide, the error is the class
    /// if nothing follows: the format has lists of runs, and a key belongs next to one.
    fn classify(&self, json: &mut Json<'_>) -> std::result::Result<Class, Class> {
        let mut class = None;
        let mut beside = false;
        let walked = json.object_until(|key, value| {
            // `list` is empty for formats without such a list, but an object may have an empty key.
            if key == self.reader.list.as_bytes() && !key.is_empty() {
                class = Some(Class::Holder);
            } else if self.reader.is_run_key(key) {
                class = Some(Class::Run);
            } else {
                beside |= self.reader.is_header_key(key);
                return value.skip_any().map(Continue);
            }
            Ok(Break(()))
        });
        let by_header = |holds: bool| if holds { Class::Holder } else { Class::Run };
        match (class, walked) {
            (Some(class), _) => Ok(class),
            (None, Err(fault)) if fault.is_end() => Err(by_header(beside && !self.reader.list.is_empty())),
            (None, _) => Ok(by_header(beside)),
        }
    }

    fn object(&mut self, window: &mut Window<'_>) -> Result<Stop> {
        match self.class_of(window)? {
            Class::Holder => self.holder(window),
            Class::Run => self.single(window),
        }
    }

    /// Classifies the object that begins here, reading as much of it as needed.
    fn class_of(&self, window: &mut Window<'_>) -> Result<Class> {
        loop {
            let known = window.unread();
            let beginning = known.get(..CLASSIFIED).unwrap_or(known);
            let mut found = self.classify(&mut reader_at(beginning, 0, 0));
            if known.len() > CLASSIFIED {
                if found == Err(Class::Holder) {
                    return Ok(Class::Holder);
                }
                found = found.or_else(|_| self.classify(&mut reader_at(known, 0, 0)));
            }
            match found {
                Ok(class) => return Ok(class),
                Err(class) if !window.grow()? => return Ok(class),
                Err(_) => {}
            }
        }
    }

    /// Reads a run that is not an item of a list.
    fn single(&mut self, window: &mut Window<'_>) -> Result<Stop> {
        self.list = None;
        let header = self.companion.cloned().unwrap_or_default();
        loop {
            let bytes = window.unread();
            let mut json = reader_at(bytes, 0, 0);
            let read = self.item(window, &mut json, &header, &mut Assembler::default());
            let (end, fault) = match read {
                Ok(()) => (Some(json.offset()), None),
                Err(fault) => {
                    let mut unsound = reader_at(bytes, 0, 0);
                    (unsound.skip_unsound().map(|()| unsound.offset()), Some(fault))
                }
            };
            if end.is_none() && !window.is_whole() {
                window.grow()?;
                continue;
            }
            if let Some(fault) = fault {
                let text = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
                self.read_lossy(window, fault, text, 0, &header);
            }
            let all = window.unread().len();
            window.consume(end.unwrap_or(all));
            return Ok(if end.is_some() { Stop::Done } else { Stop::Lost });
        }
    }

    fn read_list(&mut self, window: &mut Window<'_>, header: &Arc<Header>) -> Result<Stop> {
        if self.header_only.is_some() || self.pieces.is_none() {
            return self.items(window, header, At::First, true);
        }
        self.cut_items(window, header)
    }

    /// Reads one run in place, or skips it if only headers are wanted.
    #[inline]
    fn item<'a>(
        &mut self,
        window: &Window<'_>,
        json: &mut Json<'a>,
        header: &Header,
        assembler: &mut Assembler<'a>,
    ) -> Read<()> {
        if self.header_only.is_some() {
            json.skip()
        } else {
            if self.runs.options.places {
                json.space();
                self.runs.start = Some(RunStart { place: window.place(json.offset()), list: self.list });
            }
            self.runs.read(self.reader.run, json, header, assembler)
        }
    }

    /// Reads a run again with U+FFFD in place of invalid UTF-8, if its fault was invalid UTF-8. Reports any fault that
    /// remains.
    fn read_lossy(&mut self, window: &Window<'_>, fault: Fault, text: &[u8], start: usize, header: &Header) {
        if !fault.is_encoding() {
            return self.fail_run_at(window, first_fault(fault, text, start));
        }
        let lossy = LossyUtf8::of(text);
        let mut json = reader_at(lossy.text.as_bytes(), 0, 0);
        let read = self.item(window, &mut json, header, &mut Assembler::default());
        self.runs.pass_over("runs with bytes that are not UTF-8, read as U+FFFD", u64::from(read.is_ok()));
        if let Err(fault) = read {
            let at = start + lossy.original(fault.at());
            self.fail_run_at(window, Fault::other(at, fault.into_error()));
        }
    }
}
