//! Sessions with an event on each line: each line is added to those before it, and a step is emitted as soon
//! as it is complete, while the session still grows.

use std::cell::OnceCell;
use std::marker::PhantomData;

use super::Format;
use super::document::{Document, tagged};
use super::format::Reader;
use super::framing::{damage, lines};
use super::lossy::LossyUtf8;
use super::members::Members;
use super::runs::Runs;
use super::signature::Look;
use super::window::Window;
use crate::error::{Error, Result};
use crate::json::{Fault, Kind, Raw, SkipIndex};

pub(super) trait Session<'a> {
    /// Adds the next line, and emits steps that no later line can change.
    fn add(&mut self, line: &Members<'a>, runs: &mut Runs<'_>);

    fn end(self: Box<Self>, runs: &mut Runs<'_>);
}

pub(super) struct SessionReader {
    /// Makes an empty [`Session`]. The argument only binds the lifetime.
    pub(super) open: for<'a> fn(PhantomData<&'a [u8]>) -> Box<dyn Session<'a> + 'a>,
    /// The key of the list of lines in an object; empty if the format has no such object.
    pub(super) list: &'static str,
}

/// Reads a document: its lines, or the list of them in an object.
pub(super) fn read_document(reader: &SessionReader, document: &Document<'_>, runs: &mut Runs<'_>) {
    let mut session = (reader.open)(PhantomData);
    let list = match document {
        Document::Object(object) if object.is(reader.list, Kind::List) => object.list(reader.list),
        Document::Object(object) => {
            session.add(object, runs);
            Vec::new()
        }
        document => document.items().to_vec(),
    };
    for line in list.into_iter().filter(|line| line.kind() == Kind::Object) {
        if !add(&mut *session, line, runs) {
            runs.pass_over(NOT_JSON, 1);
        }
    }
    session.end(runs);
}

const NOT_JSON: &str = "lines that are not JSON";

/// Adds an object, or returns false if it is invalid.
fn add<'a>(session: &mut (dyn Session<'a> + 'a), object: Raw<'a>, runs: &mut Runs<'_>) -> bool {
    let line = Members::checked(&mut object.json());
    if let Some(line) = &line {
        session.add(line, runs);
    }
    line.is_some()
}

/// An input is read as a session only if a format claims one of this many first lines.
const ASKED: usize = 16;

/// Finds the session format of lines: the one that claims the first line that any format claims.
#[derive(Debug, Default)]
pub(super) struct Finder {
    /// The number of bytes that were checked.
    bytes: usize,
    /// The number of lines that were checked.
    lines: usize,
}

pub(super) enum Found {
    /// The lines are a session of this format.
    Session(Format),
    Other,
    /// More lines are needed.
    More,
}

impl Finder {
    /// Checks further lines of an input that begins with `bytes`. If `whole`, `bytes` is the entire input.
    pub(super) fn look(&mut self, bytes: &[u8], whole: bool, wanted: Option<Format>) -> Found {
        for line in lines(bytes, whole, self.bytes) {
            let is_sound = line.json().is_sound();
            match line.kind() {
                Kind::Object if is_sound => match claimed_by(&Members::from(line), wanted) {
                    Found::More => {}
                    found => return found,
                },
                // A list, or a document that does not end with its line.
                Kind::Object | Kind::List => return Found::Other,
                _ => {}
            }
            self.lines += 1;
            if self.lines == ASKED {
                return Found::Other;
            }
        }
        self.bytes = memchr::memrchr(b'\n', bytes).map_or(0, |last| last + 1);
        if whole { Found::Other } else { Found::More }
    }
}

/// Returns the session format that claims a line. A line that another format also claims does not belong
/// to a session.
fn claimed_by(line: &Members<'_>, wanted: Option<Format>) -> Found {
    let one = std::slice::from_ref(line);
    let document = Document::Object(line.clone());
    let mut claiming = Format::VARIANTS.iter().copied().filter(|format| {
        wanted.is_none_or(|wanted| wanted == *format)
            && !matches!(format.reader(), Reader::Generic(_) | Reader::Last(_))
            && (format.claims(&Look::Lines(one), None) || format.claims(&Look::of(line), Some(&document)))
    });
    match (claiming.next(), claiming.next()) {
        (None, _) => Found::More,
        (Some(format), None)
            if matches!(format.reader(), Reader::Session(_)) && format.claims(&Look::Lines(one), None) =>
        {
            Found::Session(format)
        }
        _ => Found::Other,
    }
}

/// Reads the lines of a session as they arrive.
pub(super) fn read(
    window: &mut Window<'_>,
    format: Format,
    reader: &SessionReader,
    runs: &mut Runs<'_>,
) -> Result<()> {
    runs.named = Some(format);
    let tally = runs.tally();
    let all = window.slice();
    let first = Chunk::default();
    let mut last = &first;
    let mut session = (reader.open)(PhantomData);
    let (mut held, mut is_lossy, mut read) = (0, false, Ok(()));
    // The damage of the last line, which may still be growing.
    let mut damaged: Option<Error> = None;
    loop {
        let whole = window.is_whole();
        let bytes = window.unread();
        let end = if whole { bytes.len() } else { memchr::memrchr(b'\n', bytes).map_or(0, |last| last + 1) };
        if end > 0 {
            held += end;
            let copied =
                if all.is_some() { Vec::new() } else { bytes.get(..end).unwrap_or_default().to_vec() };
            last = last.then(copied);
            let bytes = all.unwrap_or(&last.bytes);
            last.index.get_or_init(|| SkipIndex::of_length(bytes.len()));
            let unfinished = memchr::memrchr(b'\n', bytes).map_or(0, |last| last + 1);
            for line in lines(bytes, true, 0) {
                let is_cut = line.offset() >= unfinished;
                if let Some(error) = damaged.take() {
                    runs.fail(error);
                }
                let (fault, has_offset) = if simdutf8::basic::from_utf8(line.bytes()).is_ok() {
                    if runs.options.places {
                        runs.places.add_line(line.bytes(), window.place(line.offset()).location().line);
                    }
                    (add_line(&mut *session, line.with_index(last.index.get()), is_cut, runs), true)
                } else {
                    is_lossy = true;
                    runs.pass_over("lines with bytes that are not UTF-8, read as U+FFFD", 1);
                    last = last.then(LossyUtf8::of(line.bytes()).text.into_bytes());
                    (add_line(&mut *session, Raw::over(&last.bytes, 0), is_cut, runs), false)
                };
                damaged = fault.map(|fault| {
                    let at = if has_offset { fault.at() } else { line.offset() };
                    fault.into_error().at(window.place(at).location())
                });
            }
            window.consume(end);
        }
        if held > runs.options.most_held && all.is_none() {
            read = Err(window.too_large());
            break;
        }
        match window.grow_once() {
            Ok(false) if whole => break,
            Ok(_) => {}
            Err(error) => {
                read = Err(error);
                break;
            }
        }
    }
    runs.pass_over(NOT_JSON, u64::from(damaged.is_some()));
    session.end(runs);
    runs.places.clear();
    if let Some(format) = runs.named.take() {
        runs.is_of(format);
    }
    if !is_lossy && tally.is_suspicious(held, runs) {
        match all {
            Some(all) => tally.report(all, runs),
            None => tally.report(&first.concat(), runs),
        }
    }
    read
}

/// Adds a line; `is_cut` if no line feed ends it, as the session may still be growing. Returns the fault of a
/// damaged line.
fn add_line<'a>(
    session: &mut (dyn Session<'a> + 'a),
    line: Raw<'a>,
    is_cut: bool,
    runs: &mut Runs<'_>,
) -> Option<Fault> {
    let is_added = line.json().is_sound() && {
        let object = Some(line).filter(|line| line.kind() == Kind::Object).or_else(|| tagged(line));
        let Some(object) = object else {
            runs.pass_over("lines that are not objects", 1);
            return None;
        };
        add(session, object, runs)
    };
    let fault = if is_added || is_cut { None } else { damage(line) };
    if !is_added && fault.is_none() {
        runs.pass_over(if is_cut { "incomplete last lines" } else { NOT_JSON }, 1);
    }
    fault
}

/// A part of the input in memory, linked to the next part. Parts do not move, so sessions can borrow from them.
#[derive(Debug, Default)]
struct Chunk {
    bytes: Vec<u8>,
    index: OnceCell<SkipIndex>,
    next: OnceCell<Box<Chunk>>,
}

impl Chunk {
    fn concat(&self) -> Vec<u8> {
        let mut all = Vec::new();
        let mut chunk = Some(self);
        while let Some(Self { bytes, next, .. }) = chunk {
            all.extend_from_slice(bytes);
            chunk = next.get().map(|next| &**next);
        }
        all
    }

    fn then(&self, bytes: Vec<u8>) -> &Self {
        self.next.get_or_init(|| Box::new(Self { bytes, index: OnceCell::new(), next: OnceCell::new() }))
    }
}

impl Drop for Chunk {
    /// Drops the parts in a loop: there may be too many for recursion.
    fn drop(&mut self) {
        let mut next = self.next.take();
        while let Some(mut chunk) = next {
            next = chunk.next.take();
        }
    }
}
