//! The normal form of a call: what it does, to what, and a key by which equal calls are found.

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use super::does::{Check, Does, is_search, patched_file, program_of, written_file};
use super::lexicon::{Meaning, words};
use super::phrases::Hints;
use super::shell::{self, Command, last_part};
use crate::json::{Json, Kind, Raw};
use crate::trace::{Action, Arguments, Digest, DigestMap, Digests, Members, Step, first_chars, fold_name};

/// The normal form of a call.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) does: Does,
    /// Whether it is a command line.
    pub(crate) is_shell: bool,
    /// Whether it is a command line that fails if any of its commands fails: they are joined by `&&` alone.
    pub(crate) is_strict: bool,
    /// The program as messages name it: the main program of a command line (`pytest`, `git commit`), otherwise the
    /// folded name of the tool with its subcommand (`str_replace_editor view`).
    pub(crate) program: Arc<str>,
    /// Its simple commands, in order; the call itself if it is not a command line.
    pub(crate) parts: Vec<Part>,
    /// The file, path or address that it is about.
    pub(crate) target: Option<String>,
    /// The normal text of a command line, in lower case: its commands without wrappers, setup and trailing filters.
    /// Empty for other calls, whose arguments are compared by digest.
    pub(crate) text: String,
    /// Equal for calls that do the same: tool, place and normal text or arguments. `None` if the arguments were not
    /// recorded.
    pub(crate) key: Option<Digest>,
}

/// One simple command of a command line, or a whole call.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    /// Its place on the line.
    pub(crate) place: usize,
    pub(crate) does: Does,
    pub(crate) program: Arc<str>,
    /// The beginning of the command, for messages; empty if it is not a command line.
    pub(crate) shown: Box<str>,
    /// The file that it writes, by its base name; `?` if that is not known.
    pub(crate) file: Option<String>,
    /// The script that it runs, by its base name.
    pub(crate) script: Option<String>,
    /// The kind of check, if it is one.
    pub(crate) check: Option<Check>,
    /// Whether it runs even if the part before it failed.
    pub(crate) apart: bool,
    /// Whether its complaints are thrown away.
    pub(crate) silenced: bool,
}

/// Arguments that hold a command line, in the order in which they are looked for. All names of arguments are compared
/// without case, `_` and `-`.
const COMMAND_LINES: [&str; 5] = ["command", "cmd", "keystrokes", "script", "commandline"];
/// Arguments that name a file or an address.
#[rustfmt::skip]
const TARGETS: [&str; 10] = ["filepath", "path", "filename", "file", "notebookpath", "absolutepath", "targetfile",
    "relativepath", "uri", "url"];
/// Arguments that say how a call is made, and not what it does.
#[rustfmt::skip]
const ASIDE: [&str; 17] = ["description", "explanation", "thought", "reason", "comment", "note", "notes", "securityrisk", "isbackground",
    "runinbackground", "timeout", "timeoutms", "maxoutputtokens", "yieldtimems", "yieldms", "tty", "login"];

/// How all these names end in any spelling, and the beginning of a patch, to pass over most arguments at once.
static NAMES: LazyLock<Hints> = LazyLock::new(|| {
    const ENDINGS: &str = "ommand cmd Cmd eystrokes cript ine ath ilename ile_name ileName ile-name ile uri Uri url Url \
        escription xplanation hought eason omment ote otes isk ackground imeout ms Ms okens tty Tty ogin";
    let endings = ENDINGS.split(' ').flat_map(|ending| [ending.to_owned(), ending.to_uppercase()]);
    let mut names: Vec<String> = endings.map(|ending| ending + "\"").collect();
    names.sort();
    names.dedup();
    Hints::new(names.iter().map(String::as_str).chain(["\"*** "]))
});

/// Returns the name of an argument in lower case, without `_` and `-`.
fn folded(name: &str) -> Cow<'_, str> {
    if name.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return Cow::Borrowed(name);
    }
    Cow::Owned(name.chars().filter(|c| !matches!(c, '_' | '-')).map(|c| c.to_ascii_lowercase()).collect())
}

/// The facts that follow from the name of a tool, computed once for each name.
#[derive(Debug, Clone)]
pub(crate) struct Tool {
    /// The name, trimmed.
    pub(crate) name: Arc<str>,
    /// The name, trimmed and lower-cased.
    folded: Arc<str>,
    does: Does,
    check: Option<Check>,
    /// Whether it is called like a shell: `bash`, `run_command`.
    is_shell: bool,
    /// Whether it hands over to a human: `transfer_to_human_agents`, `escalate`.
    pub(crate) hands_over: bool,
}

thread_local! {
    static TOOLS: RefCell<DigestMap<Tool>> = RefCell::default();
}

impl Tool {
    /// How many names are remembered.
    const MOST: usize = 256;

    pub(crate) fn of(name: &str, digest: Digest) -> Self {
        TOOLS.with_borrow_mut(|tools| {
            if let Some(known) = tools.get(&digest) {
                return known.clone();
            }
            let folded = fold_name(name);
            let tool = Self {
                name: name.trim().into(),
                does: Does::of_tool(name),
                check: Check::of_tool(name),
                is_shell: is_shell(name),
                hands_over: hands_over(name),
                folded: folded.into(),
            };
            if tools.len() >= Self::MOST {
                tools.clear();
            }
            tools.insert(digest, tool.clone());
            tool
        })
    }
}

/// Returns true if a name is made up of the words of a shell, or of words that run and words of command lines.
fn is_shell(name: &str) -> bool {
    let mut all = Meaning::of_words(name);
    let any = Meaning::of_any(words(name));
    all.all(|word| word.is(Meaning::SHELL.or(Meaning::RUN).or(Meaning::LINE)))
        && (any.is(Meaning::SHELL) || any.is(Meaning::RUN) && any.is(Meaning::LINE))
}

fn hands_over(name: &str) -> bool {
    let any = Meaning::of_any(words(name));
    any.is(Meaning::HANDOVER) || any.is(Meaning::TRANSFER) && any.is(Meaning::HUMAN)
}

impl Part {
    /// Returns the name of the program, without its subcommand.
    pub(crate) fn name(&self) -> &str {
        self.program.split(' ').next().unwrap_or_default()
    }
}

impl Call {
    pub(crate) fn of(step: &Step<'_>, action: &Action<'_>, digests: &Digests, tool: &Tool) -> Self {
        let given = Given::by(action, tool);
        let with_place = |key: Digest| step.location().map_or(key, |place| key.and(Digest::of_text(place)));
        if let Some(line) = &given.line {
            let mut call = Self::of_line(line, &tool.folded);
            call.key = digests.arguments.map(|_| with_place(Digest::of_text(&call.text)));
            return call;
        }
        let (does, program) = match &given.subcommand {
            Some(subcommand) => (Does::of_tool(subcommand), format!("{} {subcommand}", tool.folded).into()),
            None => (tool.does, Arc::clone(&tool.folded)),
        };
        let target = given.patch.as_deref().and_then(patched_file).or(given.target.as_deref());
        let is_file = |path: &&str| does == Does::Write && !path.contains("://");
        let file = target.filter(is_file).map(|path| last_part(path).to_lowercase());
        let arguments = given.without_asides.or(digests.arguments);
        let part = Part {
            place: 0,
            does,
            program: Arc::clone(&program),
            shown: "".into(),
            file,
            script: None,
            check: tool.check,
            apart: false,
            silenced: false,
        };
        Self {
            does,
            is_shell: false,
            is_strict: false,
            program,
            parts: vec![part],
            target: target.map(str::to_owned),
            text: String::new(),
            key: arguments.map(|arguments| with_place(digests.folded_name.and(arguments))),
        }
    }

    /// Classifies a command line: it writes if any of its commands writes, otherwise it runs if any runs.
    pub(crate) fn of_line(line: &str, tool: &str) -> Self {
        shell::commands(line, |commands| {
            let first = commands.first();
            let is_own = first.is_some_and(|first| first.program() == tool)
                && !Meaning::of(tool).is(Meaning::INTERPRETER);
            // Of a tool that is called like a program: what follows its first line is text.
            let told = if is_own { first.map(std::slice::from_ref).unwrap_or_default() } else { commands };
            let (mut parts, mut text) = (Vec::with_capacity(4), String::with_capacity(line.len()));
            let (mut target, mut apart) = (None, false);
            for command in told {
                let meaning = Meaning::of(command.program());
                apart |= command.apart;
                if !tells(command, meaning) {
                    continue;
                }
                let does = Does::of_command(command, meaning, tool);
                let (check, script) =
                    if does == Does::Run { Check::of_command(command, meaning) } else { (None, None) };
                let file = match does {
                    Does::Write if is_own => own_file(command),
                    Does::Write => written_file(command),
                    _ => None,
                };
                let start = text.len();
                append(&mut text, command);
                let added = text.get(start..).unwrap_or_default();
                let added = added.strip_prefix(SEPARATOR).unwrap_or(added);
                parts.push(Part {
                    place: parts.len(),
                    does,
                    program: program_of(command, meaning, tool).into(),
                    shown: first_chars(added, 60).into(),
                    file,
                    script,
                    check,
                    apart: std::mem::take(&mut apart),
                    silenced: command.is_silenced(),
                });
                target = target.or_else(|| target_of(command).map(str::to_owned));
            }
            if parts.is_empty() || is_own {
                text.clear();
                append_words(&mut text, line);
            }
            text.make_ascii_lowercase();
            // A line is named after what it checks, else after what it runs, writes or reads.
            let first = |wanted: &dyn Fn(&Part) -> bool| {
                parts.iter().find(|part| wanted(part) && !part.program.is_empty())
            };
            let main = first(&|part| part.check.is_some()).or_else(|| {
                [Does::Run, Does::Write, Does::Read]
                    .into_iter()
                    .find_map(|does| first(&|part| part.does == does))
            });
            let does_any = |does: Does| parts.iter().any(|part| part.does == does);
            Self {
                does: [Does::Write, Does::Run].into_iter().find(|does| does_any(*does)).unwrap_or(Does::Read),
                is_shell: true,
                is_strict: !line.trim_end().ends_with('&') && !told.iter().any(|command| command.apart),
                program: main.map_or_else(|| tool.into(), |part| Arc::clone(&part.program)),
                parts,
                target,
                text,
                key: None,
            }
        })
    }

    /// Returns the digest of the command line of an action as it was given, white space collapsed.
    pub(crate) fn line(action: &Action<'_>, tool: &Tool) -> Option<Digest> {
        let mut text = String::new();
        append_words(&mut text, Given::by(action, tool).line.as_deref()?);
        Some(Digest::of_text(&text))
    }

    /// Returns the program of the last simple command: the one whose status a command line ends with.
    pub(crate) fn last_program(&self) -> &str {
        self.parts.last().map_or("", |part| &part.program)
    }

    /// Returns the parts that decide the status of a command line, last first: those that `&&` joins to the last one.
    fn deciding(&self) -> impl Iterator<Item = &Part> {
        let mut is_over = false;
        self.parts.iter().rev().take_while(move |part| !std::mem::replace(&mut is_over, part.apart))
    }

    /// Returns true if a failure without a word may be an answer: a part that decides the status tests or searches, and
    /// no other fails in silence. What runs or writes complains, unless its complaints are thrown away.
    pub(crate) fn may_say_no(&self) -> bool {
        let looks = |part: &Part| is_search(&part.program) || part.does == Does::Read && part.silenced;
        let last_reads = self.parts.last().is_some_and(|last| last.does == Does::Read);
        (last_reads || self.deciding().any(looks))
            && !self.deciding().any(|part| part.silenced && !looks(part))
    }

    /// Returns true if the parts that decide the status only look or stop a process. What stands before them on the line
    /// has no say in it.
    pub(crate) fn ends_asking(&self) -> bool {
        let asks = |part: &Part| {
            is_search(&part.program) || matches!(part.name(), "fuser" | "kill" | "killall" | "pkill")
        };
        !self.parts.is_empty() && self.deciding().all(asks)
    }

    /// Returns the part that failed, if that is known: the one that the line names, or the first that fails in silence.
    pub(crate) fn failed_part(&self, line: &str) -> Option<&Part> {
        // `javac: no source files`, `/bin/bash: line 3: javac: command not found`
        let blames = |part: &Part| line.rsplit(": ").skip(1).any(|name| name == part.name());
        let is_silent = |part: &&Part| line.is_empty() && (part.silenced || part.does == Does::Run);
        let named = self.parts.iter().find(|part| blames(part));
        named.or_else(|| self.deciding().filter(is_silent).last()).filter(|_| self.is_shell)
    }
}

/// Returns true if a simple command says what a line does: it is not a filter at its end, and does not only set the
/// scene.
fn tells(command: &Command<'_>, meaning: Meaning) -> bool {
    let is_aside =
        command.is_empty() || meaning.is(Meaning::SCENE) || command.piped && meaning.is(Meaning::FILTER);
    command.writes.is_some() || !is_aside
}

/// The separator between the simple commands of a normal text.
const SEPARATOR: &str = " ; ";

/// Adds a simple command to a normal text: its words, its redirection and its here-document, blanks collapsed.
fn append(text: &mut String, command: &Command<'_>) {
    text.push_str(if text.is_empty() { "" } else { SEPARATOR });
    let written = command.writes.as_deref().into_iter().flat_map(|file| [">", file]);
    for part in command.words().chain(written).chain([&*command.heredoc]) {
        append_words(text, part);
    }
}

/// Adds the words of a text, a blank before each but the first of a command.
fn append_words(text: &mut String, words: &str) {
    let mut add = |word: &str| {
        if !matches!(text.as_bytes().last(), None | Some(b' ')) {
            text.push(' ');
        }
        text.push_str(word);
    };
    // Most are one word.
    if !words.is_empty() && words.bytes().all(|byte| byte.is_ascii_graphic()) {
        add(words);
    } else {
        words.split_whitespace().for_each(add);
    }
}

/// Returns the file that a tool changes which is called like a program: `edit 3:4`, `str_replace_editor create a.py`.
fn own_file(command: &Command<'_>) -> Option<String> {
    let edits = Meaning::of_any(command.words().take(2).flat_map(words)).is(Meaning::EDIT);
    let unnamed = edits.then(|| "?".to_owned());
    target_of(command).map(|path| last_part(path).to_lowercase()).or(unnamed)
}

/// Returns the file that a command is about: the one it writes, else its first word that looks like a path.
fn target_of<'c>(command: &'c Command<'_>) -> Option<&'c str> {
    command.writes.as_deref().or_else(|| command.arguments().find(|word| is_path(word)))
}

/// Returns true if a word looks like a file or an absolute path: `src/lib.rs`, `/etc`, `setup.py`.
pub(crate) fn is_path(word: &str) -> bool {
    let plain = word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_./@+-~".contains(&byte));
    let ending = word.rsplit_once('.').map_or("", |(_, ending)| ending);
    let has_ending = (1..=6).contains(&ending.len()) && ending.starts_with(|c: char| c.is_ascii_alphabetic());
    let has_folder = ["/", "./", "../", "~/"].iter().any(|start| word.starts_with(start));
    plain && (has_ending && !ending.contains('/') || has_folder && word.len() > 2)
}

/// The arguments of a call that rules know by name.
#[derive(Debug, Default)]
struct Given<'a> {
    line: Option<Cow<'a, str>>,
    subcommand: Option<String>,
    target: Option<Cow<'a, str>>,
    /// A text that begins like a patch.
    patch: Option<Cow<'a, str>>,
    /// The digest of all other arguments, if some say only how the call is made.
    without_asides: Option<Digest>,
}

impl<'a> Given<'a> {
    /// Reads the known arguments of an action.
    fn by(action: &'a Action<'_>, tool: &Tool) -> Self {
        let json = action.arguments.as_ref().present().and_then(Arguments::json);
        let says_something =
            |json: &&str| tool.is_shell || json.starts_with('"') || NAMES.occur_in(json.as_bytes());
        json.filter(says_something).map(|json| Self::of(json, tool.is_shell)).unwrap_or_default()
    }

    fn of(json: &'a str, to_shell: bool) -> Self {
        let mut given = Self::default();
        let mut reader = Json::new(json.as_bytes());
        if matches!(reader.kind(), Ok(Kind::String)) {
            // A text in braces is an object in the spelling of another language.
            given.line =
                reader.string().ok().filter(|line| !line.trim().is_empty() && !line.starts_with(['{', '[']));
            return given;
        }
        let (mut lines, mut targets) =
            ([const { None }; COMMAND_LINES.len()], [const { None }; TARGETS.len()]);
        let (mut asides, mut texts, mut listed, mut patch) = (Vec::new(), Vec::new(), None, None);
        let read = reader.members(|key, value| {
            let spelled = String::from_utf8_lossy(&key);
            let name = folded(&spelled);
            let slot = |names: &[&str]| names.iter().position(|known| **known == *name);
            let is_aside = ASIDE.contains(&&*name);
            if let Some(slot) = slot(&COMMAND_LINES).and_then(|at| lines.get_mut(at)) {
                *slot = command_line(value.checked()?);
            } else if let Some(slot) = slot(&TARGETS).and_then(|at| targets.get_mut(at)) {
                *slot = value.checked()?.string();
            } else {
                let value = value.checked()?;
                match value.items().and_then(|items| items.first().copied()) {
                    // `changes: [{"path": …}]`
                    Some(item) => listed = listed.take().or_else(|| item.member("path")?.string()),
                    None if value.bytes().starts_with(b"\"*** ") => patch = value.string(),
                    None if to_shell && !is_aside && !name.ends_with("id") => texts.extend(value.string()),
                    None => {}
                }
            }
            if is_aside {
                asides.push(spelled.into_owned());
            }
            Ok(())
        });
        if read.is_err() {
            return Self::default();
        }
        let is_word =
            |text: &&Cow<'_, str>| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        given.subcommand =
            lines.first().and_then(Option::as_ref).filter(is_word).map(|word| word.to_lowercase());
        let about_a_file = targets.iter().any(Option::is_some);
        // The only text that a shell is given is a command line, whatever it is called.
        let only = texts.pop().filter(|_| texts.is_empty());
        let line = lines.into_iter().flatten().next().or(only);
        given.line = line.filter(|line| !about_a_file && !line.trim().is_empty());
        given.target = targets.into_iter().flatten().next().or(listed);
        given.patch = patch;
        if !asides.is_empty() {
            let asides: Vec<&str> = asides.iter().map(String::as_str).collect();
            given.without_asides = Some(Members::of(json).without(&asides));
        }
        given
    }
}

/// Returns a command line as an argument holds it: a text, or a list of words such as `["bash", "-lc", "make"]`.
fn command_line(value: Raw<'_>) -> Option<Cow<'_, str>> {
    let Some(items) = value.items() else { return value.string() };
    let words: Vec<Cow<'_, str>> = items.into_iter().map(Raw::string).collect::<Option<_>>()?;
    match words.as_slice() {
        [_, option, line] if option.starts_with('-') && option.ends_with('c') => Some(line.clone()),
        words => Some(Cow::Owned(words.join(" "))),
    }
}

/// Returns the identifiers among the arguments of a structured call, in lower case.
pub(crate) fn identifiers(action: &Action<'_>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    each_text(action, |name, value| {
        let is_aside = || Meaning::of_any(words(name)).is(Meaning::ASIDE);
        let is_id = || Meaning::of_words(name).last().is_some_and(|word| word.is(Meaning::ID));
        let is_marked =
            |byte: u8| byte.is_ascii_digit() || matches!(byte, b'#' | b'@' | b'/' | b'_' | b'.' | b'-');
        if (3..=200).contains(&value.len())
            && !value.contains(char::is_whitespace)
            && (value.bytes().any(is_marked) || is_id())
            && !is_aside()
        {
            found.insert(value.trim_matches('#').to_lowercase());
        }
    });
    found
}

/// Returns true if the text contains a value with a digit from the arguments, ignoring case.
pub(crate) fn names_value(action: &Action<'_>, text: &[u8]) -> bool {
    let (mut names, lower) = (false, OnceCell::new());
    each_text(action, |_, value| {
        let value = value.trim_start_matches('#');
        if !names && value.len() >= 3 && value.bytes().any(|byte| byte.is_ascii_digit()) {
            let text = lower.get_or_init(|| String::from_utf8_lossy(text).to_lowercase());
            names = text.contains(&*value.to_lowercase());
        }
    });
    names
}

/// Calls `visit` with the name and value of each text among the arguments, and in lists among them.
pub(crate) fn each_text(action: &Action<'_>, mut visit: impl FnMut(&str, &str)) {
    let Some(json) = action.arguments.as_ref().present().and_then(Arguments::json) else { return };
    let _ = Json::new(json.as_bytes()).members(|key, value| {
        let (name, value) = (String::from_utf8_lossy(&key), value.checked()?);
        match value.items() {
            Some(items) => items.into_iter().filter_map(Raw::string).for_each(|text| visit(&name, &text)),
            None => value.string().iter().for_each(|text| visit(&name, text)),
        }
        Ok(())
    });
}
