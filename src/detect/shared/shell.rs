//! Command lines: which simple commands a line holds, and their words. Nothing is expanded.
//!
//! No crate on the registry splits a line at `;`, `|`, `&&` and line ends and keeps here-documents and redirections
//! apart: the `shlex` family yields words only.

/// One simple command.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Command {
    /// The words, unquoted. Assignments, keywords and wrappers (`sudo`, `timeout 5`) in front are dropped, and the
    /// program comes first, without its folder. Empty if the command only redirects.
    pub(crate) words: Vec<String>,
    /// The program as it was spelled, with its folder.
    pub(crate) path: String,
    /// The file that its output goes to, unless that is `/dev/null`.
    pub(crate) writes: Option<String>,
    /// The text of its here-document.
    pub(crate) heredoc: String,
    /// Whether it reads what the command before it prints.
    pub(crate) piped: bool,
    /// Whether it runs even if the command before it failed.
    pub(crate) apart: bool,
}

impl Command {
    /// The program; empty if the command only redirects.
    pub(crate) fn program(&self) -> &str {
        self.words.first().map_or("", |word| word)
    }

    /// The words after the program.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = &str> {
        self.words.iter().skip(1).map(String::as_str)
    }

    /// The first word after the program that is not an option.
    pub(crate) fn subcommand(&self) -> Option<&str> {
        self.arguments().find(|word| !word.starts_with('-'))
    }
}

/// Returns the simple commands of a line. The commands of a lone `bash -c '…'` take its place.
///
/// `cd /repo && FOO=1 pytest -q | tee log` holds `cd /repo`, `pytest -q` and the piped `tee log`.
pub(crate) fn commands(line: &str) -> Vec<Command> {
    let found = Lexer::default().read(line);
    if let [only] = found.as_slice()
        && matches!(only.program(), "bash" | "sh" | "zsh" | "dash" | "ash")
        && let Some(inner) =
            only.arguments().skip_while(|word| !(word.starts_with('-') && word.ends_with('c'))).nth(1)
    {
        return Lexer::default().read(inner);
    }
    found
}

/// What may stand before a command, and how many words of its own follow its options.
const WRAPPERS: &str =
    "builtin command doas env exec ionice nice nohup setsid stdbuf sudo time timeout xvfb-run";
/// Options of wrappers that take a value.
const VALUED: &str = "-u -g -k -n -s -C --signal --kill-after";
const KEYWORDS: &str = "! { } if then elif else while until do";

/// Drops what stands before the program.
fn bare(mut words: Vec<String>) -> Vec<String> {
    let is_in = |list: &str, word: &str| list.split(' ').any(|listed| listed == word);
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let name = last_part(word);
        let next = words.get(at + 1).map_or("", String::as_str);
        if is_assignment(word) || is_in(KEYWORDS, word) {
            at += 1;
        } else if is_in(WRAPPERS, name) && !(name == "command" && next.starts_with('-')) {
            let positional = usize::from(name == "timeout");
            at += 1;
            while let Some(option) = words.get(at).filter(|word| word.starts_with('-')) {
                at += 1 + usize::from(is_in(VALUED, option));
            }
            at += positional;
        } else {
            break;
        }
    }
    words.drain(..at.min(words.len()));
    words
}

/// What comes after so many bytes.
fn after(text: &str, bytes: usize) -> &str {
    text.get(bytes..).unwrap_or_default()
}

fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let name = name.strip_suffix('+').unwrap_or(name);
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The last part of a path.
pub(crate) fn last_part(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    path.rsplit_once('/').map_or(path, |(_, last)| last)
}

/// Reads a line character by character.
#[derive(Default)]
struct Lexer {
    found: Vec<Command>,
    current: Command,
    word: Option<String>,
    /// What the next word is for.
    next_word: NextWord,
    /// Here-documents whose text follows the line: the number of their command, and the line that ends them.
    awaited: Vec<(usize, String)>,
    /// Whether the next command runs even if the one before failed.
    apart: bool,
}

#[derive(Default, Clone, Copy, PartialEq)]
enum NextWord {
    #[default]
    Plain,
    Written,
    Ignored,
    Heredoc,
}

impl Lexer {
    fn read(mut self, line: &str) -> Vec<Command> {
        let mut rest = line;
        while let Some(c) = rest.chars().next() {
            let behind = after(rest, c.len_utf8());
            rest = match c {
                '\\' => self.escaped(behind),
                '\'' | '"' | '`' => self.quoted(c, behind),
                '$' if behind.starts_with('(') => self.substitution(rest),
                '#' if self.word.is_none() => after(rest, rest.find('\n').unwrap_or(rest.len())),
                '\n' => {
                    self.end_command(false);
                    self.apart = true;
                    self.heredocs(behind)
                }
                '<' | '>' => self.redirection(rest),
                '&' if behind.starts_with('>') => self.redirection(behind),
                ';' | '|' | '&' => {
                    let after = behind.trim_start_matches([';', '|', '&']);
                    self.end_command(c == '|' && !behind.starts_with('|'));
                    self.apart |= !(c == '&' && behind.starts_with('&'));
                    after
                }
                '(' | ')' => {
                    self.end_word();
                    behind
                }
                _ if c.is_whitespace() => {
                    self.end_word();
                    behind
                }
                _ => {
                    self.word.get_or_insert_default().push(c);
                    behind
                }
            };
        }
        self.end_command(false);
        self.found
    }

    fn escaped<'l>(&mut self, rest: &'l str) -> &'l str {
        let Some(c) = rest.chars().next() else { return rest };
        if c != '\n' {
            self.word.get_or_insert_default().push(c);
        }
        after(rest, c.len_utf8())
    }

    fn quoted<'l>(&mut self, quote: char, mut rest: &'l str) -> &'l str {
        self.word.get_or_insert_default();
        while let Some(c) = rest.chars().next() {
            rest = after(rest, c.len_utf8());
            match c {
                _ if c == quote => return rest,
                '\\' if quote != '\'' && rest.starts_with(['"', '\\', '$', '`', '\n']) => {
                    rest = self.escaped(rest);
                }
                _ => self.word.get_or_insert_default().push(c),
            }
        }
        rest
    }

    /// Takes a `$(…)` as it is written.
    fn substitution<'l>(&mut self, rest: &'l str) -> &'l str {
        let mut depth = 0_usize;
        let end = rest.find(|c| {
            depth = if c == '(' { depth + 1 } else { depth - usize::from(c == ')' && depth > 0) };
            c == ')' && depth == 0
        });
        let (taken, behind) = rest.split_at(end.map_or(rest.len(), |end| end + 1));
        self.word.get_or_insert_default().push_str(taken);
        behind
    }

    /// Reads the operator of `>file`, `2>&1`, `<<END` and the like.
    fn redirection<'l>(&mut self, rest: &'l str) -> &'l str {
        // The number of a stream that is redirected is not a word.
        if self.word.as_ref().is_some_and(|word| word.bytes().all(|byte| byte.is_ascii_digit())) {
            self.word = None;
        }
        self.end_word();
        let behind = rest.trim_start_matches(['<', '>', '&', '|', '-']);
        let operator = rest.strip_suffix(behind).unwrap_or_default();
        self.next_word = match operator {
            "<<" | "<<-" => NextWord::Heredoc,
            ">" | ">>" | ">|" => NextWord::Written,
            _ => NextWord::Ignored,
        };
        behind
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        match std::mem::take(&mut self.next_word) {
            NextWord::Plain => self.current.words.push(word),
            NextWord::Written if word != "/dev/null" => self.current.writes = Some(word),
            NextWord::Heredoc => self.awaited.push((self.found.len(), word)),
            NextWord::Written | NextWord::Ignored => {}
        }
    }

    fn end_command(&mut self, pipe: bool) {
        self.end_word();
        self.next_word = NextWord::Plain;
        let mut command = std::mem::replace(&mut self.current, Command { piped: pipe, ..Command::default() });
        if command.words.is_empty() && command.writes.is_none() {
            self.current.piped |= command.piped;
            return;
        }
        command.apart = std::mem::take(&mut self.apart) && !self.found.is_empty();
        command.words = bare(command.words);
        if let Some(program) = command.words.first_mut() {
            command.path = std::mem::take(program);
            last_part(&command.path).clone_into(program);
        }
        self.found.push(command);
    }

    /// Takes the texts of the here-documents that begin at this line.
    fn heredocs<'l>(&mut self, mut rest: &'l str) -> &'l str {
        for (number, end) in std::mem::take(&mut self.awaited) {
            while !rest.is_empty() {
                let (line, behind) = rest.split_once('\n').unwrap_or((rest, ""));
                rest = behind;
                if line.trim() == end {
                    break;
                }
                if let Some(command) = self.found.get_mut(number) {
                    command.heredoc.push_str(line);
                    command.heredoc.push('\n');
                }
            }
        }
        rest
    }
}
