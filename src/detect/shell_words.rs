//! The words of a command line, as far as they say which commands it holds.

use std::borrow::Cow;

/// The words of one command of a line after the other, each read when it is asked for: nothing is expanded.
pub(super) struct Words<'l> {
    rest: &'l str,
    /// Whether the command is over.
    is_over: bool,
}

/// The words of the current command, without their quotes. A word that is spelled in one piece is not copied.
impl<'l> Iterator for Words<'l> {
    type Item = Cow<'l, str>;

    fn next(&mut self) -> Option<Cow<'l, str>> {
        while !self.is_over {
            match self.peek()? {
                b' ' | b'\t' | b'\r' => self.skip(1),
                // A line that goes on.
                b'\\' if self.rest.starts_with("\\\n") => self.skip(2),
                b'#' => {
                    let line = self.rest.find('\n').unwrap_or(self.rest.len());
                    self.skip(line);
                }
                b'&' if self.rest.starts_with("&>") => {
                    self.skip(1);
                    self.redirection();
                }
                b'\n' | b';' | b'|' | b'&' | b'(' | b')' => {
                    self.skip(1);
                    self.is_over = true;
                }
                b'<' | b'>' => self.redirection(),
                _ => {
                    let word = self.word();
                    // The number of what is redirected belongs to no command.
                    let is_redirected = matches!(self.peek(), Some(b'<' | b'>'));
                    if !(is_redirected && word.bytes().all(|byte| byte.is_ascii_digit())) {
                        return Some(word);
                    }
                }
            }
        }
        None
    }
}

impl<'l> Words<'l> {
    pub(super) fn new(line: &'l str) -> Self {
        Self { rest: line, is_over: false }
    }

    /// Goes on with the next command of the line; `false` where there is none.
    pub(super) fn next_command(&mut self) -> bool {
        while self.next().is_some() {}
        std::mem::take(&mut self.is_over)
    }

    /// Whether the line has been read to its end: what might stand behind it matters only then.
    pub(super) fn has_ended(&self) -> bool {
        self.rest.is_empty()
    }

    /// All that matters to a shell is ASCII.
    fn peek(&self) -> Option<u8> {
        self.rest.bytes().next()
    }

    fn skip(&mut self, bytes: usize) {
        self.take(bytes);
    }

    /// Takes so many bytes, which end between characters, or what is left.
    fn take(&mut self, bytes: usize) -> &'l str {
        let (taken, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }

    /// Takes what comes before the first byte like this.
    fn take_until(&mut self, is_end: impl Fn(u8) -> bool) -> &'l str {
        let end = self.rest.bytes().position(is_end).unwrap_or(self.rest.len());
        self.take(end)
    }

    fn take_char(&mut self) -> &'l str {
        let length = self.rest.chars().next().map_or(0, char::len_utf8);
        self.take(length)
    }

    /// Passes over a redirection and its target.
    fn redirection(&mut self) {
        self.take_until(|byte| !matches!(byte, b'<' | b'>' | b'&' | b'|' | b'-'));
        self.take_until(|byte| !matches!(byte, b' ' | b'\t'));
        if !matches!(self.peek(), None | Some(b'\n' | b';' | b'|' | b'&' | b'(' | b')')) {
            self.word();
        }
    }

    fn word(&mut self) -> Cow<'l, str> {
        let mut word = Cow::Borrowed("");
        loop {
            append(&mut word, self.take_until(is_special));
            match self.peek() {
                Some(quote @ (b'\'' | b'"' | b'`')) => {
                    self.skip(1);
                    self.quoted(quote, &mut word);
                }
                Some(b'\\') => {
                    self.skip(1);
                    // A line that goes on.
                    append(
                        &mut word,
                        Some(self.take_char()).filter(|next| *next != "\n").unwrap_or_default(),
                    );
                }
                Some(b'$') if self.rest.starts_with("$(") => append(&mut word, self.substitution()),
                Some(b'$') => append(&mut word, self.take(1)),
                _ => return word,
            }
        }
    }

    fn quoted(&mut self, quote: u8, word: &mut Cow<'l, str>) {
        let escapes = quote != b'\'';
        loop {
            append(word, self.take_until(|byte| byte == quote || byte == b'\\' && escapes));
            let ends = self.peek() != Some(b'\\');
            self.skip(1);
            if ends {
                return;
            }
            match self.peek() {
                Some(b'"' | b'\\' | b'$' | b'`') => append(word, self.take(1)),
                Some(b'\n') => self.skip(1),
                None => {}
                Some(_) => append(word, "\\"),
            }
        }
    }

    /// A `$(…)` stays as it is.
    fn substitution(&mut self) -> &'l str {
        let mut depth = 0_usize;
        let end = self.rest.bytes().position(|byte| {
            match byte {
                b'(' => depth += 1,
                b')' => depth = depth.saturating_sub(1),
                _ => return false,
            }
            depth == 0
        });
        self.take(end.map_or(self.rest.len(), |end| end + 1))
    }
}

fn append<'l>(word: &mut Cow<'l, str>, part: &'l str) {
    if word.is_empty() {
        *word = Cow::Borrowed(part);
    } else if !part.is_empty() {
        word.to_mut().push_str(part);
    }
}

/// Whether a byte within a word may mean more than itself.
fn is_special(byte: u8) -> bool {
    matches!(
        byte,
        b' ' | b'\t'
            | b'\r'
            | b'\n'
            | b';'
            | b'|'
            | b'&'
            | b'('
            | b')'
            | b'<'
            | b'>'
            | b'\''
            | b'"'
            | b'`'
            | b'\\'
            | b'$'
    )
}
