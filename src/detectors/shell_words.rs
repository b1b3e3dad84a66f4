//! The words of a command line, as far as they tell which commands it holds.

/// A part of a command line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A word, without its quotes.
    Word(String),
    /// The end of a command.
    End,
}

/// Takes a command line apart, as far as its words and commands go: nothing is expanded.
pub(super) struct Lexer<'l> {
    rest: &'l str,
}

impl<'l> Lexer<'l> {
    pub(super) fn new(line: &'l str) -> Self {
        Self { rest: line }
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn take(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.rest = self.rest.get(next.len_utf8()..).unwrap_or_default();
        Some(next)
    }

    /// The next part; `None` at the end of the line.
    pub(super) fn token(&mut self) -> Option<Token> {
        loop {
            match self.peek()? {
                ' ' | '\t' | '\r' => {
                    self.take();
                }
                // A line that goes on.
                '\\' if self.rest.starts_with("\\\n") => {
                    self.take();
                    self.take();
                }
                '#' => {
                    let line = self.rest.find('\n').unwrap_or(self.rest.len());
                    self.rest = self.rest.get(line..).unwrap_or_default();
                }
                '\n' | ';' | '|' | '&' | '(' | ')' => {
                    let first = self.take();
                    if first == Some('&') && self.peek() == Some('>') {
                        self.redirection();
                        continue;
                    }
                    return Some(Token::End);
                }
                '<' | '>' => self.redirection(),
                _ => {
                    let word = self.word();
                    // The number of what is redirected belongs to no command.
                    if matches!(self.peek(), Some('<' | '>'))
                        && word.bytes().all(|byte| byte.is_ascii_digit())
                    {
                        continue;
                    }
                    return Some(Token::Word(word));
                }
            }
        }
    }

    /// Passes over a redirection and its target.
    fn redirection(&mut self) {
        while matches!(self.peek(), Some('<' | '>' | '&' | '|' | '-')) {
            self.take();
        }
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.take();
        }
        if !matches!(self.peek(), None | Some('\n' | ';' | '|' | '&' | '(' | ')')) {
            self.word();
        }
    }

    fn word(&mut self) -> String {
        let mut word = String::new();
        while let Some(next) = self.peek() {
            match next {
                ' ' | '\t' | '\r' | '\n' | ';' | '|' | '&' | '(' | ')' | '<' | '>' => break,
                '\'' | '"' | '`' => {
                    self.take();
                    self.quoted(next, &mut word);
                }
                '\\' => {
                    self.take();
                    // A line that goes on.
                    word.extend(self.take().filter(|escaped| *escaped != '\n'));
                }
                '$' if self.rest.starts_with("$(") => self.substitution(&mut word),
                '$' => word.extend(self.take()),
                _ => self.plain(is_special, &mut word),
            }
        }
        word
    }

    /// Takes what comes before a character that is looked at more closely.
    fn plain(&mut self, is_special: fn(u8) -> bool, word: &mut String) {
        let end = self.rest.bytes().position(is_special).unwrap_or(self.rest.len());
        let (plain, rest) = self.rest.split_at(end);
        word.push_str(plain);
        self.rest = rest;
    }

    fn quoted(&mut self, quote: char, word: &mut String) {
        loop {
            self.plain(|byte| matches!(byte, b'\'' | b'"' | b'`' | b'\\'), word);
            let Some(next) = self.take() else { return };
            match next {
                _ if next == quote => return,
                '\\' if quote != '\'' => match self.take() {
                    Some(escaped @ ('"' | '\\' | '$' | '`')) => word.push(escaped),
                    Some('\n') | None => {}
                    Some(other) => word.extend(['\\', other]),
                },
                _ => word.push(next),
            }
        }
    }

    /// A `$(…)` stays as it is.
    fn substitution(&mut self, word: &mut String) {
        let mut depth = 0_usize;
        while let Some(next) = self.take() {
            word.push(next);
            match next {
                '(' => depth += 1,
                ')' if depth <= 1 => return,
                ')' => depth -= 1,
                _ => {}
            }
        }
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
