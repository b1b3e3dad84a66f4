//! Passing over values, sound or not.

use super::scan::{short_end, string_end};
use super::{Fault, Json, Raw, Read};

impl<'a> Json<'a> {
    /// Passes over a value, and gives it back for later.
    #[inline]
    pub(crate) fn raw(&mut self) -> Read<Raw<'a>> {
        self.space();
        let start = self.at;
        self.skip()?;
        Ok(self.raw_since(start))
    }

    /// As [`Json::raw`], but all of the value is checked.
    pub(crate) fn checked(&mut self) -> Read<Raw<'a>> {
        self.space();
        let start = self.at;
        self.check()?;
        Ok(self.raw_since(start))
    }

    /// Passes over a value, and checks all of it, also what stands inside of its strings.
    pub(crate) fn check(&mut self) -> Read<()> {
        self.pass_over::<true>()
    }

    /// Passes over a value.
    #[inline]
    pub(crate) fn skip(&mut self) -> Read<()> {
        // Most are short strings.
        if self.peek_byte() == Some(b'"')
            && let Some(close) = short_end::<false>(self.bytes, self.at + 1)
        {
            self.at = close + 1;
            return Ok(());
        }
        self.pass_over::<false>()
    }

    fn pass_over<const STRICT: bool>(&mut self) -> Read<()> {
        // One bit per open container: set for an object.
        let mut objects: u128 = 0;
        let outer = self.depth;
        loop {
            // A value.
            match self.peek_byte() {
                Some(b'"') => match short_end::<STRICT>(self.bytes, self.at + 1) {
                    Some(close) => self.at = close + 1,
                    None => self.skip_long_string::<STRICT>()?,
                },
                Some(b'{') => {
                    self.deeper()?;
                    if self.peek_byte() == Some(b'}') {
                        self.at += 1;
                        self.depth -= 1;
                    } else {
                        objects = objects << 1 | 1;
                        self.skip_key::<STRICT>()?;
                        continue;
                    }
                }
                Some(b'[') => {
                    self.deeper()?;
                    if self.peek_byte() == Some(b']') {
                        self.at += 1;
                        self.depth -= 1;
                    } else {
                        objects <<= 1;
                        continue;
                    }
                }
                Some(b'-' | b'0'..=b'9') => {
                    let start = self.at;
                    let (spelling, float) = self.number_extent()?;
                    if STRICT && is_beyond_double(spelling, float) {
                        return Err(Fault::syntax(start, "a number is too large"));
                    }
                }
                Some(b't') => self.literal(b"true")?,
                Some(b'f') => self.literal(b"false")?,
                Some(b'n') => self.literal(b"null")?,
                Some(_) => return Err(Fault::syntax(self.at, "expected a value")),
                None => return Err(Fault::end_at(self.at)),
            }
            // What is behind it.
            loop {
                if self.depth == outer {
                    return Ok(());
                }
                let in_object = objects & 1 == 1;
                match self.peek_byte() {
                    Some(b',') => {
                        self.at += 1;
                        if in_object {
                            self.skip_key::<STRICT>()?;
                        }
                        break;
                    }
                    Some(b'}') if in_object => {}
                    Some(b']') if !in_object => {}
                    Some(_) => {
                        let wanted = if in_object { "expected `,` or `}`" } else { "expected `,` or `]`" };
                        return Err(Fault::syntax(self.at, wanted));
                    }
                    None => return Err(Fault::end_at(self.at)),
                }
                self.at += 1;
                self.depth -= 1;
                objects >>= 1;
            }
        }
    }

    fn skip_long_string<const STRICT: bool>(&mut self) -> Read<()> {
        self.at = self.long_extent::<STRICT>(self.at + 1)?.close + 1;
        Ok(())
    }

    #[expect(clippy::inline_always, reason = "measured: a call for each key costs a tenth of the time")]
    #[inline(always)]
    fn skip_key<const STRICT: bool>(&mut self) -> Read<()> {
        if self.peek_byte() == Some(b'"')
            && let Some(close) = short_end::<STRICT>(self.bytes, self.at + 1)
            && self.bytes.get(close + 1) == Some(&b':')
        {
            self.at = close + 2;
            return Ok(());
        }
        self.skip_any_key::<STRICT>()
    }

    fn skip_any_key<const STRICT: bool>(&mut self) -> Read<()> {
        match self.peek_byte() {
            Some(b'"') => self.skip_long_string::<STRICT>()?,
            Some(_) => return Err(Fault::syntax(self.at, "expected a key")),
            None => return Err(Fault::end_at(self.at)),
        }
        match self.peek_byte() {
            Some(b':') => {
                self.at += 1;
                Ok(())
            }
            Some(_) => Err(Fault::syntax(self.at, "expected `:`")),
            None => Err(Fault::end_at(self.at)),
        }
    }

    /// Passes over a value, sound or not. `Err`: the text ends first, or the value is none that could be passed over.
    pub(crate) fn skip_any(&mut self) -> Read<()> {
        let start = self.clone();
        self.skip().or_else(|fault| {
            *self = start;
            let before = self.at;
            match self.skip_unsound() {
                Some(()) if !fault.is_end() && self.at > before => Ok(()),
                Some(()) => Err(fault),
                // With more of the text it could be passed over, whatever is wrong with it.
                None => Err(Fault::end_at(self.at)),
            }
        })
    }

    /// Passes over a value of which nothing is known but that it is unsound: to where its brackets are balanced, or,
    /// where it has none, to the next comma or closing bracket. `None`: the text ends first.
    pub(crate) fn skip_unsound(&mut self) -> Option<()> {
        let mut open = 0_u64;
        self.space();
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b'"' => match string_end::<false>(self.bytes, self.at + 1) {
                    Ok(extent) => self.at = extent.close,
                    Err(_) => return None,
                },
                b'{' | b'[' => open += 1,
                b'}' | b']' if open <= 1 => {
                    // A bracket that was not opened here is the enclosing list's.
                    self.at += usize::from(open == 1);
                    return Some(());
                }
                b'}' | b']' => open -= 1,
                b',' if open == 0 => return Some(()),
                _ => {}
            }
            self.at += 1;
        }
        None
    }
}

/// Whether a number is beyond a double. Few are spelled in a way that could be.
fn is_beyond_double(spelling: &[u8], float: bool) -> bool {
    (spelling.len() > 300 || float && spelling.iter().any(|byte| matches!(byte, b'e' | b'E')))
        && std::str::from_utf8(spelling)
            .ok()
            .and_then(|text| text.parse::<f64>().ok())
            .is_none_or(|value| !value.is_finite())
}
