//! Skips values, valid or not.

use super::container::{Unbalanced, container_end};
use super::scan::{Escapes, Extent, Unsound, long_string_end, medium_end, short_end, string_end};
use super::token::{behind_space, literal_end, number_end};
use super::{Fault, Json, MAX_DEPTH, Raw, Read, SkipIndex, Validation};

impl<'a> Json<'a> {
    /// Skips a value and returns it, to be read later.
    #[inline]
    pub(crate) fn raw(&mut self) -> Read<Raw<'a>> {
        self.space();
        let start = self.at;
        self.skip()?;
        Ok(self.raw_since(start))
    }

    /// Like [`Json::raw`], but checks the whole value.
    pub(crate) fn checked(&mut self) -> Read<Raw<'a>> {
        self.space();
        let start = self.at;
        self.check()?;
        Ok(self.raw_since(start))
    }

    /// Skips a value and checks all of it, including the contents of strings.
    pub(crate) fn check(&mut self) -> Read<()> {
        self.pass_over::<true>()
    }

    #[inline]
    pub(crate) fn skip(&mut self) -> Read<()> {
        match (self.peek_byte(), self.validation) {
            // Most values are short strings.
            (Some(b'"'), _) => {
                if let Some(close) = short_end::<false>(self.bytes, self.at + 1) {
                    self.at = close + 1;
                    return Ok(());
                }
            }
            (Some(b'{' | b'['), Validation::Extent) => return self.skim(),
            _ => {}
        }
        self.pass_over::<false>()
    }

    /// Skips a list or object and checks only that its brackets balance.
    fn skim(&mut self) -> Read<()> {
        self.at = match self.index.and_then(|index| index.container(self.at)) {
            Some(end) if end <= self.bytes.len() => end,
            _ => {
                let most = MAX_DEPTH.saturating_sub(self.depth);
                container_end(self.bytes, self.at, most).map_err(|unbalanced| match unbalanced {
                    Unbalanced::Open => Fault::end_at(self.bytes.len()),
                    Unbalanced::Deep(at) => Fault::too_deep(at),
                })?
            }
        };
        Ok(())
    }

    fn pass_over<const STRICT: bool>(&mut self) -> Read<()> {
        self.space();
        let text = Text { bytes: self.bytes, index: self.index };
        self.at = text.value::<STRICT>(self.at, self.depth)?;
        Ok(())
    }

    /// Skips a value, valid or not. Fails if the text ends first or no value follows.
    pub(crate) fn skip_any(&mut self) -> Read<()> {
        let start = self.clone();
        self.skip().or_else(|fault| {
            *self = start;
            self.space();
            let before = self.at;
            match self.skip_unsound() {
                Some(()) if !fault.is_end() && self.at > before => Ok(()),
                Some(()) => Err(fault),
                // More input may complete the value, valid or not.
                None => Err(Fault::end_at(self.at)),
            }
        })
    }

    /// Returns true if the rest of the text is exactly one valid value. The contents of strings are checked
    /// too.
    pub(crate) fn is_sound(&self) -> bool {
        let mut json = self.clone();
        json.check().is_ok() && json.peek_byte().is_none()
    }

    /// Skips a value that may be invalid: to where its brackets balance or, without brackets, to the next
    /// comma or closing bracket. Returns `None` if the text ends first.
    pub(crate) fn skip_unsound(&mut self) -> Option<()> {
        self.space();
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b'"' => self.at = string_end::<false>(self.bytes, self.at + 1).ok()?.close,
                b'{' | b'[' => {
                    self.at = container_end(self.bytes, self.at, u32::MAX).ok()?;
                    return Some(());
                }
                // A bracket that was not opened here closes the enclosing list or object, and so ends the value.
                b'}' | b']' | b',' => return Some(()),
                _ => {}
            }
            self.at += 1;
        }
        None
    }
}

/// A text in which values are skipped. The offset is a parameter, not a field, so it stays in a register,
/// which saves a third of the time.
#[derive(Clone, Copy)]
struct Text<'a> {
    bytes: &'a [u8],
    index: Option<&'a SkipIndex>,
}

impl Text<'_> {
    /// Returns the end of the value at an offset, inside `depth` open lists and objects.
    #[inline]
    fn value<const STRICT: bool>(self, at: usize, depth: u32) -> Read<usize> {
        match self.bytes.get(at) {
            Some(b'"') => match short_end::<STRICT>(self.bytes, at + 1) {
                Some(close) => Ok(close + 1),
                None => self.long_string::<STRICT>(at),
            },
            Some(b'{' | b'[') => self.container::<STRICT>(at, depth),
            Some(b'-' | b'0'..=b'9') => {
                let (end, float) = number_end(self.bytes, at)?;
                if STRICT && is_beyond_double(self.bytes.get(at..end).unwrap_or_default(), float) {
                    return Err(Fault::syntax(at, "the number does not fit a double"));
                }
                Ok(end)
            }
            Some(b't') => literal_end(self.bytes, at, b"true"),
            Some(b'f') => literal_end(self.bytes, at, b"false"),
            Some(b'n') => literal_end(self.bytes, at, b"null"),
            Some(_) => Err(Fault::syntax(at, "expected a value")),
            None => Err(Fault::end_at(at)),
        }
    }

    fn long_string<const STRICT: bool>(self, at: usize) -> Read<usize> {
        Ok(long_extent::<STRICT>(self.bytes, self.index, at + 1)?.close + 1)
    }

    fn container<const STRICT: bool>(self, start: usize, depth: u32) -> Read<usize> {
        // The index may cover a larger document, in which a value may extend past the end of this text.
        if let Some(end) = self.index.and_then(|index| index.container(start))
            && end <= self.bytes.len()
        {
            return Ok(end);
        }
        if depth >= MAX_DEPTH {
            return Err(Fault::too_deep(start));
        }
        let end = match self.bytes.get(start) {
            Some(b'{') => self.inside::<STRICT, true>(start + 1, depth + 1)?,
            _ => self.inside::<STRICT, false>(start + 1, depth + 1)?,
        };
        if STRICT && let Some(index) = self.index {
            index.set_container(start, end);
        }
        Ok(end)
    }

    /// Returns the end of a list, or of an object if `KEYS`, whose opening bracket has been consumed.
    fn inside<const STRICT: bool, const KEYS: bool>(self, at: usize, depth: u32) -> Read<usize> {
        let close = if KEYS { b'}' } else { b']' };
        let mut at = behind_space(self.bytes, at);
        if self.bytes.get(at) == Some(&close) {
            return Ok(at + 1);
        }
        loop {
            if KEYS {
                at = behind_space(self.bytes, self.key::<STRICT>(at)?);
            }
            at = behind_space(self.bytes, self.value::<STRICT>(at, depth)?);
            match self.bytes.get(at) {
                Some(b',') => at = behind_space(self.bytes, at + 1),
                Some(byte) if *byte == close => return Ok(at + 1),
                Some(_) if KEYS => return Err(Fault::syntax(at, "expected `,` or `}`")),
                Some(_) => return Err(Fault::syntax(at, "expected `,` or `]`")),
                None => return Err(Fault::end_at(at)),
            }
        }
    }

    /// Returns the offset after the colon of the key at an offset.
    #[inline]
    fn key<const STRICT: bool>(self, at: usize) -> Read<usize> {
        if self.bytes.get(at) == Some(&b'"')
            && let Some(close) = short_end::<STRICT>(self.bytes, at + 1)
            && self.bytes.get(close + 1) == Some(&b':')
        {
            return Ok(close + 2);
        }
        self.any_key::<STRICT>(at)
    }

    fn any_key<const STRICT: bool>(self, at: usize) -> Read<usize> {
        let end = match self.bytes.get(at) {
            Some(b'"') => self.long_string::<STRICT>(at)?,
            Some(_) => return Err(Fault::syntax(at, "expected a key")),
            None => return Err(Fault::end_at(at)),
        };
        let colon = behind_space(self.bytes, end);
        match self.bytes.get(colon) {
            Some(b':') => Ok(colon + 1),
            Some(_) => Err(Fault::syntax(colon, "expected `:`")),
            None => Err(Fault::end_at(colon)),
        }
    }
}

/// Returns the end of the string whose first byte is at `from`, which may be long or have escapes.
pub(super) fn long_extent<const STRICT: bool>(
    bytes: &[u8],
    index: Option<&SkipIndex>,
    from: usize,
) -> Read<Extent> {
    if let Some(close) = medium_end::<STRICT>(bytes, from) {
        return Ok(Extent { close, escapes: Escapes::None });
    }
    if let Some(extent) = index.and_then(|index| index.string(from)) {
        return Ok(extent);
    }
    let extent = long_string_end::<STRICT>(bytes, from).map_err(|unsound| match unsound {
        Unsound::Open => Fault::end_at(bytes.len()),
        Unsound::Control(at) => Fault::syntax(at, "a string contains a control character"),
        Unsound::Escape(at) => Fault::syntax(at, "invalid escape"),
    })?;
    if STRICT && let Some(index) = index {
        index.set_string(from, extent);
    }
    Ok(extent)
}

/// Returns true if a number is too large for a double. Only long numbers and those with an exponent can be, so
/// others are not parsed.
fn is_beyond_double(spelling: &[u8], float: bool) -> bool {
    (spelling.len() > 300 || float && spelling.iter().any(|byte| matches!(byte, b'e' | b'E')))
        && std::str::from_utf8(spelling)
            .ok()
            .and_then(|text| text.parse::<f64>().ok())
            .is_none_or(|value| !value.is_finite())
}
