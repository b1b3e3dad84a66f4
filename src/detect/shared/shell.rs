//! Command lines: which simple commands a line holds, and their words. Nothing is expanded.
//!
//! Unlike the `shlex` family, which yields words only, this module splits a line at `;`, `|`, `&` and line ends, and
//! keeps here-documents and redirections out of the words. Any text is accepted.

use std::borrow::Cow;

use super::shell_prefix::{before_program, installer, is_assignment, valued_options};

/// One simple command.
#[derive(Debug, Default)]
pub(crate) struct Command<'l> {
    /// The program as it was spelled, including any directory.
    pub(crate) path: Cow<'l, str>,
    /// The assignments in front of it: `JDK=21`.
    pub(crate) assigned: Vec<Cow<'l, str>>,
    /// The program and the words after it, unquoted. Assignments, keywords and wrappers (`sudo`, `timeout 5`) in front
    /// are dropped. Empty if the command has no program, as in `>file` or `JDK=21`.
    words: Vec<Cow<'l, str>>,
    /// The file that its output or standard error goes to, unless that is `/dev/null`.
    pub(crate) writes: Option<Cow<'l, str>>,
    /// The text of its here-document.
    pub(crate) heredoc: Cow<'l, str>,
    /// Whether it reads what the command before it prints.
    pub(crate) piped: bool,
    /// Whether it runs even if the command before it failed.
    pub(crate) apart: bool,
    dropped: Dropped,
}

/// The output streams of a command that go to `/dev/null`.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Dropped {
    #[default]
    Nothing,
    Output,
    Complaints,
}

impl Command<'_> {
    /// Returns the program, without its directory; empty if the command has none, as in `>file` or `JDK=21`.
    pub(crate) fn program(&self) -> &str {
        self.words.first().map_or("", |word| word)
    }

    /// Returns the program and the words after it.
    pub(crate) fn words(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(|word| &**word)
    }

    /// Returns the words after the program.
    pub(crate) fn arguments(&self) -> impl DoubleEndedIterator<Item = &str> + Clone {
        self.words.iter().skip(1).map(|word| &**word)
    }

    /// Returns the first word after the program that is neither an option nor the value of one (`git -C dir status`).
    pub(crate) fn subcommand(&self) -> Option<&str> {
        let (mut words, valued) = (self.arguments(), valued_options(self.program()));
        while let Some(word) = words.next() {
            if valued.contains(&word) {
                words.next();
            } else if !word.starts_with(['-', '+']) {
                return Some(word);
            }
        }
        None
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Returns true if its standard error goes to `/dev/null`.
    pub(crate) fn is_silenced(&self) -> bool {
        self.dropped == Dropped::Complaints
    }
}

/// Returns the program that a path names. A whole command in quotes is returned as it is.
fn program_at<'l>(path: &Cow<'l, str>) -> Cow<'l, str> {
    if path.contains(['|', ';', '(', '"', '\'', '\n']) {
        return path.clone();
    }
    match path {
        Cow::Borrowed(path) => Cow::Borrowed(program_of_path(path)),
        Cow::Owned(path) => Cow::Owned(program_of_path(path).to_owned()),
    }
}

fn program_of_path(path: &str) -> &str {
    let program = last_part(path);
    installer(program.strip_suffix(".exe").unwrap_or(program))
}

/// Calls `visit` with the simple commands of a line. If its only command is `bash -c '…'`, the commands
/// inside take its place.
///
/// `cd /repo && FOO=1 pytest -q | tee log` holds `cd /repo`, `pytest -q` and the piped `tee log`.
pub(crate) fn commands<T>(line: &str, visit: impl FnOnce(&[Command<'_>]) -> T) -> T {
    let found = Lexer::new(line).read();
    match given_line(&found) {
        Some(inner) => visit(&Lexer::new(inner).read()),
        None => visit(&found),
    }
}

/// Returns the line inside a line whose only command is `bash -c '…'`.
pub(super) fn line_inside(line: &str) -> Option<String> {
    given_line(&Lexer::new(line).read()).map(str::to_owned)
}

fn given_line<'c>(found: &'c [Command<'_>]) -> Option<&'c str> {
    let [command] = found else { return None };
    let is_shell = matches!(command.program(), "bash" | "sh" | "zsh" | "dash" | "ash");
    // `bash --norc -lc '…'`
    let is_option = |word: &str| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
    command.arguments().skip_while(|word| !is_option(word)).nth(1).filter(|_| is_shell)
}

/// Returns the last part of a path.
pub(crate) fn last_part(path: &str) -> &str {
    let path = path.trim_end_matches(['/', '\\']);
    let slash = path.bytes().rposition(|byte| matches!(byte, b'/' | b'\\'));
    slash.and_then(|at| path.get(at + 1..)).unwrap_or(path)
}

/// Splits a line into commands, advancing from one special character to the next.
#[derive(Default)]
struct Lexer<'l> {
    rest: &'l str,
    commands: Vec<Command<'l>>,
    current: Command<'l>,
    word: Option<Word<'l>>,
    /// The role of the next word.
    next_word: NextWord,
    /// True if the next word names the destination of standard error.
    complaints: bool,
    /// Here-documents whose text begins at the next line: for each, the index of its command and the line that ends
    /// it.
    awaited: Vec<(usize, Cow<'l, str>)>,
    /// Whether the next command runs even if the one before failed.
    apart: bool,
}

/// A word that is being read.
enum Word<'l> {
    /// A slice of the line that begins with the word, and the length of the word in bytes.
    Spelled(&'l str, usize),
    Made(String),
}

#[derive(Default, Clone, Copy, PartialEq)]
enum NextWord {
    #[default]
    Plain,
    Written,
    Ignored,
    Heredoc,
}

impl<'l> Lexer<'l> {
    fn new(line: &'l str) -> Self {
        Self { rest: line, ..Self::default() }
    }

    fn read(mut self) -> Vec<Command<'l>> {
        while let Some(first) = self.rest.bytes().next() {
            if !is_special(first) {
                let plain = self.rest.bytes().position(is_special).unwrap_or(self.rest.len());
                self.push(plain);
                continue;
            }
            let c = self.rest.chars().next().unwrap_or_default();
            let after = self.after(c.len_utf8());
            match c {
                '@' if self.word.is_none() && self.here_string() => {}
                '\\' => self.escaped(),
                '\'' | '"' | '`' => self.quoted(first),
                '$' if after.starts_with('(') => self.substitution(),
                '#' if self.word.is_none() => {
                    self.rest =
                        self.after(memchr::memchr(b'\n', self.rest.as_bytes()).unwrap_or(self.rest.len()));
                }
                '\n' => {
                    self.end_command(false);
                    self.apart = true;
                    self.rest = after;
                    self.heredocs();
                }
                '<' | '>' => self.redirection(),
                '&' if after.starts_with('>') => {
                    self.rest = after;
                    self.redirection();
                    self.complaints = true;
                }
                ';' | '|' | '&' => {
                    self.end_command(c == '|' && !after.starts_with('|'));
                    self.apart |= !(c == '&' && after.starts_with('&'));
                    self.rest = after.trim_start_matches([';', '|', '&']);
                }
                _ if matches!(c, '(' | ')') || c.is_whitespace() => {
                    self.end_word();
                    self.rest = after;
                }
                _ => self.push(c.len_utf8()),
            }
        }
        self.end_command(false);
        self.commands
    }

    /// Returns the rest after its first `bytes` bytes.
    fn after(&self, bytes: usize) -> &'l str {
        self.rest.get(bytes..).unwrap_or_default()
    }

    /// Moves the first `bytes` bytes of the rest to the word.
    fn push(&mut self, bytes: usize) {
        let piece = self.rest.get(..bytes).unwrap_or_default();
        match &mut self.word {
            None => self.word = Some(Word::Spelled(self.rest, bytes)),
            Some(Word::Spelled(text, length)) if *length == 0 => (*text, *length) = (self.rest, bytes),
            // The piece directly follows the word on the line, so the slice grows.
            Some(Word::Spelled(text, length)) if text.len() - *length == self.rest.len() => *length += bytes,
            Some(Word::Spelled(text, length)) => {
                let made = text.get(..*length).unwrap_or_default().to_owned() + piece;
                self.word = Some(Word::Made(made));
            }
            Some(Word::Made(made)) => made.push_str(piece),
        }
        self.rest = self.after(bytes);
    }

    /// Reads the character after a backslash. Before an ASCII letter, a digit or a full stop, as in a Windows path, keeps
    /// the backslash.
    fn escaped(&mut self) {
        if self.after(1).starts_with(|c: char| c.is_ascii_alphanumeric() || c == '.') {
            return self.push(1);
        }
        self.rest = self.after(1);
        match self.rest.chars().next() {
            None => {}
            Some('\n') => self.rest = self.after(1),
            Some(c) => self.push(c.len_utf8()),
        }
    }

    fn quoted(&mut self, quote: u8) {
        self.rest = self.after(1);
        self.word.get_or_insert(Word::Spelled(self.rest, 0));
        while !self.rest.is_empty() {
            let found = match quote {
                b'\'' => memchr::memchr(quote, self.rest.as_bytes()),
                _ => memchr::memchr2(quote, b'\\', self.rest.as_bytes()),
            };
            let at = found.unwrap_or(self.rest.len());
            if at > 0 {
                self.push(at);
            }
            match self.rest.as_bytes() {
                [b'\\', b'"' | b'\\' | b'$' | b'`' | b'\n', ..] if quote != b'\'' => self.escaped(),
                [byte, ..] if *byte == quote => {
                    self.rest = self.after(1);
                    return;
                }
                [] => {}
                _ => self.push(1),
            }
        }
    }

    /// Reads a PowerShell here-string: the text between `@'` or `@"` at the end of a line and `'@` or `"@` at the start
    /// of a later one. Returns false if there is none.
    fn here_string(&mut self) -> bool {
        let Some(quote) = self.after(1).chars().next().filter(|c| matches!(c, '\'' | '"')) else {
            return false;
        };
        let text = self.after(2).trim_start_matches(['\r', ' ']);
        let Some(text) = text.strip_prefix('\n') else { return false };
        let end = format!("\n{quote}@");
        let Some(length) = text.find(&end) else { return false };
        self.rest = text;
        self.push(length);
        self.rest = self.after(end.len());
        true
    }

    /// Adds a `$(…)` to the word unchanged: the commands in it are not read.
    fn substitution(&mut self) {
        let mut depth = 0_usize;
        let end = self.rest.find(|c| {
            depth = if c == '(' { depth + 1 } else { depth - usize::from(c == ')' && depth > 0) };
            c == ')' && depth == 0
        });
        self.push(end.map_or(self.rest.len(), |end| end + 1));
    }

    /// Reads the operator of `>file`, `2>&1`, `<<END` and the like.
    fn redirection(&mut self) {
        // A number directly before the operator names the stream, as in `2>`. It is not a word.
        let is_stream = |word: &Word<'_>| word.as_str().bytes().all(|byte| byte.is_ascii_digit());
        let stream = self.word.take_if(|word| is_stream(word));
        self.end_word();
        let after = self.rest.trim_start_matches(['<', '>', '&', '|', '-']);
        let operator = self.rest.strip_suffix(after).unwrap_or_default();
        self.next_word = match operator {
            "<<" | "<<-" => NextWord::Heredoc,
            ">" | ">>" | ">|" => NextWord::Written,
            _ => NextWord::Ignored,
        };
        self.complaints = stream.is_some_and(|stream| stream.as_str() == "2");
        self.rest = after;
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        let word = match word {
            Word::Spelled(text, length) => Cow::Borrowed(text.get(..length).unwrap_or_default()),
            Word::Made(made) => Cow::Owned(made),
        };
        let next_word = std::mem::take(&mut self.next_word);
        if next_word != NextWord::Plain {
            let dropped = &mut self.current.dropped;
            *dropped = match &*word {
                "/dev/null" if !self.complaints => Dropped::Output.max(*dropped),
                "/dev/null" => Dropped::Complaints,
                "1" if self.complaints && *dropped == Dropped::Output => Dropped::Complaints,
                _ => *dropped,
            };
        }
        match next_word {
            NextWord::Plain => self.current.words.push(word),
            NextWord::Written if word != "/dev/null" => self.current.writes = Some(word),
            NextWord::Heredoc => self.awaited.push((self.commands.len(), word)),
            NextWord::Written | NextWord::Ignored => {}
        }
    }

    fn end_command(&mut self, pipe: bool) {
        self.end_word();
        self.next_word = NextWord::Plain;
        if self.current.is_empty() && self.current.writes.is_none() {
            self.current.piped |= pipe;
            return;
        }
        let mut command = std::mem::replace(&mut self.current, Command { piped: pipe, ..Command::default() });
        let before = command.words.drain(..before_program(&command.words));
        command.assigned = before.filter(|word| is_assignment(word)).collect();
        if let Some(first) = command.words.first_mut() {
            let program = program_at(first);
            command.path = std::mem::replace(first, program);
        }
        command.apart = std::mem::take(&mut self.apart) && !self.commands.is_empty();
        self.commands.push(command);
    }

    /// Reads the texts of the here-documents that begin at this line.
    fn heredocs(&mut self) {
        for (number, end) in std::mem::take(&mut self.awaited) {
            let (text, mut length) = (self.rest, 0);
            while !self.rest.is_empty() {
                let (line, after) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
                self.rest = after;
                if line.trim() == end {
                    break;
                }
                length = text.len() - after.len();
            }
            let text = text.get(..length).unwrap_or_default();
            if let Some(command) = self.commands.get_mut(number) {
                if command.heredoc.is_empty() {
                    command.heredoc = Cow::Borrowed(text);
                } else {
                    command.heredoc.to_mut().push_str(text);
                }
            }
        }
    }
}

impl Word<'_> {
    fn as_str(&self) -> &str {
        match self {
            Self::Spelled(text, length) => text.get(..*length).unwrap_or_default(),
            Self::Made(made) => made,
        }
    }
}

/// Returns true if a byte may end a word or begin something other than plain text. Every non-ASCII byte counts,
/// because Unicode white space takes several bytes.
#[inline]
fn is_special(byte: u8) -> bool {
    matches!(
        byte,
        b'\t'..=b'\r' | b' ' | b'@' | b'\\' | b'\'' | b'"' | b'`' | b'$' | b'#' | b'<' | b'>' | b'&' | b';' | b'|' | b'(' | b')' | 128..
    )
}
