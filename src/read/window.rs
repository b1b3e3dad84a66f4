//! The bytes of an input that are in memory: all of a slice, or the needed part of a stream.

use std::cell::Cell;
use std::fmt;
use std::io::Read;

use super::lossy::LossyUtf8;
use super::place::Place;
use crate::error::{Error, ErrorKind, Result};

/// Size of the first read of a stream.
const FIRST_PORTION: usize = 64 << 10;

/// Minimum size of later reads. With smaller reads, more runs would lie across two reads and be parsed twice.
const PORTION: usize = 256 << 10;

/// Number of bytes by which the buffer grows at a time, and to which it shrinks after a large value.
const LARGEST_PORTION: usize = 1 << 20;

/// A view of an input that can grow.
pub(crate) struct Window<'s> {
    bytes: Bytes<'s>,
    /// The offset of the first unread byte among those that are held.
    start: usize,
    /// Number of bytes dropped before those that are held.
    given_up: u64,
    ended: bool,
    /// The error that ended the input early.
    fault: Option<Error>,
    /// The maximum number of bytes to hold.
    limit: usize,
    /// The position of the first byte that is held.
    origin: Place,
    /// An offset and its position: lines were last counted up to here.
    counted: Cell<(usize, Place)>,
}

enum Bytes<'s> {
    Slice(&'s [u8]),
    /// Text, and the bytes it was made from. Positions refer to the bytes.
    Lossy(&'s LossyUtf8, &'s [u8]),
    Stream(Stream<'s>),
}

/// A stream, and the part of it that is held.
struct Stream<'s> {
    input: Box<dyn Read + 's>,
    /// May be longer than the part that is held: memory that was zeroed once need not be zeroed again.
    buffer: Vec<u8>,
    held: usize,
}

impl Stream<'_> {
    fn held(&self) -> &[u8] {
        self.buffer.get(..self.held).unwrap_or_default()
    }

    /// Drops this many bytes at the front.
    fn give_up(&mut self, count: usize) {
        let count = count.min(self.held);
        self.buffer.copy_within(count..self.held, 0);
        self.held -= count;
    }

    /// Takes out the bytes between these two offsets; those after them move into the given memory, and those
    /// before them are dropped.
    fn take(&mut self, start: usize, end: usize, mut memory: Vec<u8>) -> Vec<u8> {
        let rest = self.held().get(end..).unwrap_or_default();
        let length = rest.len();
        if memory.len() < length {
            memory.resize(length, 0);
        }
        memory.get_mut(..length).unwrap_or_default().copy_from_slice(rest);
        self.held = length;
        let mut taken = std::mem::replace(&mut self.buffer, memory);
        taken.truncate(end);
        taken.drain(..start);
        taken
    }

    /// Reads `portion` more bytes, or all that are left; with `once`, only what a single read returns. Returns
    /// whether the input has ended, and the error if it was cut short.
    fn read(&mut self, portion: usize, once: bool) -> (bool, std::io::Result<()>) {
        let (before, wanted) = (self.held, self.held + portion);
        if before == 0 && self.buffer.capacity() > 4 * LARGEST_PORTION.max(portion) {
            // Frees the memory of a large value that is no longer needed.
            self.buffer.truncate(LARGEST_PORTION);
            self.buffer.shrink_to(LARGEST_PORTION);
        }
        self.buffer.reserve_exact(wanted.saturating_sub(self.buffer.len()));
        while self.held < wanted {
            if self.held == self.buffer.len() {
                self.buffer.resize(wanted.min(self.held + LARGEST_PORTION), 0);
            }
            let end = wanted.min(self.buffer.len());
            let room = self.buffer.get_mut(self.held..end).unwrap_or_default();
            match self.input.read(room) {
                Ok(0) => return (true, Ok(())),
                Ok(count) => self.held += count.min(room.len()),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return (true, Err(error)),
            }
            if once && self.held > before {
                break;
            }
        }
        (false, Ok(()))
    }
}

impl fmt::Debug for Window<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Window")
            .field("held", &self.held().len())
            .field("start", &self.start)
            .finish_non_exhaustive()
    }
}

impl<'s> Window<'s> {
    /// Makes a window over an input that is in memory as a whole.
    pub(crate) fn over_slice(bytes: &'s [u8]) -> Self {
        Self::over_part(bytes, Place::START)
    }

    /// Makes a window over a part of an input that begins at this position.
    pub(crate) fn over_part(bytes: &'s [u8], origin: Place) -> Self {
        Self::whole(Bytes::Slice(bytes), origin)
    }

    /// Makes a window over a part of an input that is not UTF-8, converted to text. The part begins at this position.
    pub(super) fn over_lossy(lossy: &'s LossyUtf8, original: &'s [u8], origin: Place) -> Self {
        Self::whole(Bytes::Lossy(lossy, original), origin)
    }

    fn whole(bytes: Bytes<'s>, origin: Place) -> Self {
        Self {
            bytes,
            start: 0,
            given_up: 0,
            ended: true,
            fault: None,
            limit: usize::MAX,
            origin,
            counted: Cell::new((0, origin)),
        }
    }

    /// Makes a window over a stream, which is read as needed. Holds at most `limit` bytes.
    pub(crate) fn over_stream(input: impl Read + 's, limit: usize) -> Self {
        let stream = Stream { input: Box::new(input), buffer: Vec::new(), held: 0 };
        Self { ended: false, limit, ..Self::whole(Bytes::Stream(stream), Place::START) }
    }

    fn held(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Slice(bytes) => bytes,
            Bytes::Lossy(lossy, _) => lossy.text.as_bytes(),
            Bytes::Stream(stream) => stream.held(),
        }
    }

    /// Returns the original bytes between two offsets of those that are held.
    fn original(&self, from: usize, to: usize) -> &[u8] {
        match &self.bytes {
            Bytes::Lossy(lossy, original) => original.get(lossy.original(from)..lossy.original(to)),
            _ => self.held().get(from..to),
        }
        .unwrap_or_default()
    }

    pub(crate) fn unread(&self) -> &[u8] {
        self.held().get(self.start..).unwrap_or_default()
    }

    /// Returns the number of bytes of the input before the unread ones.
    pub(crate) fn offset(&self) -> u64 {
        self.given_up + self.start as u64
    }

    /// Returns true if the input ends with the bytes that are held.
    pub(crate) fn is_whole(&self) -> bool {
        self.ended
    }

    pub(crate) fn consume(&mut self, count: usize) {
        self.start = self.start.saturating_add(count).min(self.held().len());
    }

    /// Skips a UTF-8 byte order mark.
    pub(super) fn skip_byte_order_mark(&mut self) {
        if self.unread().starts_with(b"\xef\xbb\xbf") {
            self.consume(3);
        }
    }

    /// Returns the position of an offset in the unread bytes.
    pub(crate) fn place(&self, at: usize) -> Place {
        let target = (self.start + at).min(self.held().len());
        let (from, place) = self.counted.get();
        // A position before the last one is counted from the first byte that is held. This happens only within one
        // value.
        let (from, place) = if target < from { (0, self.origin) } else { (from, place) };
        let place = place.after(self.original(from, target));
        if target >= self.counted.get().0 {
            self.counted.set((target, place));
        }
        place
    }

    /// Takes out this many bytes, which then count as read. `behind` is the position after them. The bytes
    /// after them may move into the given memory.
    pub(crate) fn take(&mut self, count: usize, behind: Place, mut memory: Vec<u8>) -> Vec<u8> {
        let (start, end) = (self.start, (self.start + count).min(self.held().len()));
        match &mut self.bytes {
            // Copies the smaller part.
            Bytes::Stream(stream) if stream.held - end <= end - start => {
                let taken = stream.take(start, end, memory);
                self.begin_again(end, behind);
                taken
            }
            _ => {
                memory.clear();
                memory.extend_from_slice(self.held().get(start..end).unwrap_or_default());
                self.start = end;
                self.counted.set((end, behind));
                memory
            }
        }
    }

    /// Counts dropped bytes. The rest begins at this position, and is unread.
    fn begin_again(&mut self, given_up: usize, place: Place) {
        self.given_up += given_up as u64;
        self.start = 0;
        self.origin = place;
        self.counted.set((0, place));
    }

    /// Reads until this many bytes are unread, or the input ends.
    pub(crate) fn fill(&mut self, count: usize) -> Result<()> {
        while self.unread().len() < count && self.grow_by(count - self.unread().len(), false)? {}
        Ok(())
    }

    /// Like [`Window::fill`], but does not wait for full portions.
    pub(super) fn fill_once(&mut self, count: usize) -> Result<()> {
        while self.unread().len() < count && self.grow_once()? {}
        Ok(())
    }

    /// Doubles the number of unread bytes, reading at least one portion. Returns false if there are no more.
    ///
    /// An input that cannot be read any further ends there: the bytes before are kept, and [`Window::take_fault`]
    /// returns the error.
    ///
    /// # Errors
    /// If the limit is reached. The input then counts as ended.
    pub(crate) fn grow(&mut self) -> Result<bool> {
        let unread = self.unread().len();
        let least = if self.given_up == 0 && self.held().is_empty() { FIRST_PORTION } else { PORTION };
        self.grow_by(unread.max(least), false)
    }

    /// Reads what a single read returns. Returns false at the end of the input.
    ///
    /// # Errors
    /// As [`Window::grow`].
    pub(crate) fn grow_once(&mut self) -> Result<bool> {
        self.grow_by(FIRST_PORTION, true)
    }

    /// Returns all unread bytes, if the input is a slice.
    pub(super) fn slice(&self) -> Option<&'s [u8]> {
        match self.bytes {
            Bytes::Slice(bytes) => bytes.get(self.start..),
            _ => None,
        }
    }

    /// Returns the error for a value larger than the bytes that may be held.
    pub(super) fn too_large(&self) -> Error {
        let what = format!("a single value exceeds the limit of {} MiB", self.limit >> 20);
        Error::new(ErrorKind::TooLarge, what).at(self.place(0).location())
    }

    /// Returns true if there may be more input, and room for it.
    pub(crate) fn may_grow(&self) -> bool {
        !self.ended && self.unread().len() < self.limit
    }

    fn grow_by(&mut self, portion: usize, once: bool) -> Result<bool> {
        if self.ended {
            return Ok(false);
        }
        let unread = self.unread().len();
        if unread >= self.limit {
            self.ended = true;
            return Err(self.too_large());
        }
        // Drops the bytes that have been consumed.
        let place = self.place(0);
        let given_up = self.start;
        self.begin_again(given_up, place);
        let portion = portion.min(self.limit.saturating_sub(unread).max(1));
        let Bytes::Stream(stream) = &mut self.bytes else { return Ok(false) };
        stream.give_up(given_up);
        let before = stream.held;
        let (ended, result) = stream.read(portion, once);
        let read = stream.held - before;
        self.ended = ended;
        if let Err(error) = result {
            let end = self.place(self.unread().len());
            self.fault = Some(Error::from(error).at(end.location()));
        }
        Ok(read > 0)
    }

    /// Returns the error that ended the input early, once.
    pub(crate) fn take_fault(&mut self) -> Option<Error> {
        self.fault.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Location;

    #[test]
    fn places_in_what_was_mended_are_those_of_the_bytes() {
        let bytes = b"a\xffb\n\xe2\x82cd\xfe\n\xffe";
        let lossy = LossyUtf8::of(bytes);
        let origin = Place::START.after(b"\n\n\n\n\n\nab");
        let window = Window::over_lossy(&lossy, bytes, origin);
        for at in (0..=lossy.text.len()).rev().chain(0..=lossy.text.len()) {
            let expected = origin.after(bytes.get(..lossy.original(at)).unwrap());
            assert_eq!(window.place(at), expected, "{at}");
        }
        let behind = window.place(lossy.text.len()).location();
        assert_eq!(behind, Location { line: 9, column: 3 });
    }
}
