//! The normal form of a call: what it does, to what, and a key by which equal calls are found.

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use super::does::{Check, Does, Meaning, is_search, lower, patched_file, words, write_program, written_file};
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
    own: Option<Stored>,
    commands: Vec<Stored>,
    /// The texts of the parts.
    names: Names,
    target: Option<Place>,
    /// The normal text of a command line, in lower case: its commands without wrappers, setup and trailing filters.
    /// Empty for other calls, whose arguments are compared by digest.
    pub(crate) text: String,
    /// Equal for calls that do the same: tool, place and normal text or arguments. `None` if the arguments were not
    /// recorded.
    pub(crate) key: Option<Digest>,
}

/// One simple command of a command line, or a whole call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part<'c> {
    /// Its place on the line.
    pub(crate) place: usize,
    pub(crate) does: Does,
    pub(crate) program: &'c str,
    /// The beginning of the command, for messages; the program if it is not a command line.
    pub(crate) shown: &'c str,
    /// The file that it writes, by its base name; `?` if that is not known.
    pub(crate) file: Option<&'c str>,
    /// The script that it runs, by its base name.
    pub(crate) script: Option<&'c str>,
    /// The kind of check, if it is one.
    pub(crate) check: Option<Check>,
    /// Whether it runs even if the part before it failed.
    pub(crate) apart: bool,
    /// Whether its complaints are thrown away.
    pub(crate) silenced: bool,
}

/// A part, with its texts by their places.
#[derive(Debug, Clone, Copy)]
struct Stored {
    place: usize,
    does: Does,
    /// `None` is the program of the call.
    program: Option<Place>,
    shown: Option<Place>,
    file: Option<Place>,
    script: Option<Place>,
    check: Option<Check>,
    apart: bool,
    silenced: bool,
}

/// Short texts in one allocation.
#[derive(Debug, Clone, Default)]
struct Names(String);

#[derive(Debug, Clone, Copy)]
struct Place {
    start: u32,
    end: u32,
}

impl Names {
    /// Adds what `write` writes.
    fn add(&mut self, write: impl FnOnce(&mut String)) -> Place {
        let start = self.end();
        write(&mut self.0);
        Place { start, end: self.end() }
    }

    fn get(&self, place: Place) -> &str {
        self.0.get(place.start as usize..place.end as usize).unwrap_or_default()
    }

    fn end(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }
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

/// Words of tools that hand over to a human, by themselves and next to `transfer`.
const HANDOVER: [&str; 3] = ["escalate", "handoff", "handover"];
const HUMAN: [&str; 7] = ["human", "agent", "agents", "representative", "operator", "support", "specialist"];

/// Words that make up the name of a shell: one of the first list, or one of each of the others, and nothing else.
const SHELLS: [&str; 7] = ["bash", "powershell", "pwsh", "sh", "shell", "terminal", "zsh"];
const RUN: [&str; 3] = ["exec", "execute", "run"];
const LINE: [&str; 5] = ["cmd", "command", "commands", "in", "local"];

fn is_shell(name: &str) -> bool {
    let all =
        |lists: &[&[&str]]| words(name).all(|word| lists.iter().any(|list| list.contains(&&*lower(word))));
    let any = |list: &[&str]| words(name).any(|word| list.contains(&&*lower(word)));
    all(&[&SHELLS, &RUN, &LINE]) && (any(&SHELLS) || any(&RUN) && any(&LINE))
}

fn hands_over(name: &str) -> bool {
    let has = |list: &[&str]| words(name).any(|word| list.contains(&&*lower(word)));
    has(&HANDOVER) || has(&["transfer"]) && has(&HUMAN)
}

impl<'c> Part<'c> {
    /// Returns the name of the program, without its subcommand.
    pub(crate) fn name(&self) -> &'c str {
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
        let mut names = Names::default();
        let file = file.map(|file| names.add(|names| names.push_str(&file)));
        Self {
            does,
            is_shell: false,
            is_strict: false,
            program,
            own: Some(Stored {
                place: 0,
                does,
                program: None,
                shown: None,
                file,
                script: None,
                check: tool.check,
                apart: false,
                silenced: false,
            }),
            commands: Vec::new(),
            target: target.map(|target| names.add(|names| names.push_str(target))),
            names,
            text: String::new(),
            key: arguments.map(|arguments| with_place(digests.folded_name.and(arguments))),
        }
    }

    /// Returns its simple commands, in order; the call itself if it is not a command line.
    pub(crate) fn parts(&self) -> impl DoubleEndedIterator<Item = Part<'_>> {
        let text = |place: Place| self.names.get(place);
        self.own.iter().chain(&self.commands).map(move |part| Part {
            place: part.place,
            does: part.does,
            program: part.program.map_or(&*self.program, text),
            shown: part.shown.map_or(&*self.program, text),
            file: part.file.map(text),
            script: part.script.map(text),
            check: part.check,
            apart: part.apart,
            silenced: part.silenced,
        })
    }

    /// Returns the file, path or address that it is about.
    pub(crate) fn target(&self) -> Option<&str> {
        self.target.map(|target| self.names.get(target))
    }

    /// Classifies a command line: it writes if any of its commands writes, otherwise it runs if any runs.
    fn of_line(line: &str, tool: &str) -> Self {
        shell::commands(line, |commands| {
            let first = commands.iter().next();
            let is_own = first.is_some_and(|first| first.program == tool)
                && !Meaning::of(tool).is(Meaning::INTERPRETER);
            let mut names = Names(String::with_capacity(64));
            let (mut parts, mut text) = (Vec::with_capacity(4), String::with_capacity(line.len()));
            let (mut target, mut apart) = (None, false);
            // Of a tool that is called like a program: what follows its first line is text.
            let mut told = commands.iter().take(if is_own { 1 } else { usize::MAX });
            for command in told.clone() {
                let meaning = Meaning::of(command.program);
                apart |= command.apart;
                if !tells(&command, meaning) {
                    continue;
                }
                let does = Does::of_command(&command, meaning, tool);
                let (check, script) =
                    if does == Does::Run { Check::of_command(&command, meaning) } else { (None, None) };
                let file = match does {
                    Does::Write if is_own => own_file(&command),
                    Does::Write => written_file(&command),
                    _ => None,
                };
                let mut add = |name: String| names.add(|names| names.push_str(&name));
                let (script, file) = (script.map(&mut add), file.map(&mut add));
                let program = Some(names.add(|names| write_program(&command, meaning, tool, names)));
                let start = text.len();
                append(&mut text, &command);
                let added = text.get(start..).unwrap_or_default();
                let added = first_chars(added.strip_prefix(SEPARATOR).unwrap_or(added), 60);
                let shown = Some(names.add(|names| names.push_str(added)));
                let (apart, silenced) = (std::mem::take(&mut apart), command.silenced);
                parts.push(Stored {
                    place: parts.len(),
                    does,
                    program,
                    shown,
                    file,
                    script,
                    check,
                    apart,
                    silenced,
                });
                target = target
                    .or_else(|| target_of(&command).map(|target| names.add(|names| names.push_str(target))));
            }
            if parts.is_empty() || is_own {
                text.clear();
                append_words(&mut text, line);
            }
            text.make_ascii_lowercase();
            // A line is named after what it checks, else after what it runs, writes or reads.
            let first = |wanted: &dyn Fn(&Stored) -> bool| {
                let programs = parts.iter().filter(|part| wanted(part)).filter_map(|part| part.program);
                programs.map(|program| names.get(program)).find(|program| !program.is_empty())
            };
            let main = first(&|part| part.check.is_some()).or_else(|| {
                [Does::Run, Does::Write, Does::Read]
                    .into_iter()
                    .find_map(|does| first(&|part| part.does == does))
            });
            let program = main.unwrap_or(tool).into();
            let does_any = |does: Does| parts.iter().any(|part| part.does == does);
            Self {
                does: [Does::Write, Does::Run].into_iter().find(|does| does_any(*does)).unwrap_or(Does::Read),
                is_shell: true,
                is_strict: !line.trim_end().ends_with('&') && !told.any(|command| command.apart),
                program,
                own: None,
                commands: parts,
                names,
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
        self.parts().next_back().map_or("", |part| part.program)
    }

    /// Returns the parts that decide the status of a command line, last first: those that `&&` joins to the last one.
    fn deciding(&self) -> impl Iterator<Item = Part<'_>> {
        let mut is_over = false;
        self.parts().rev().take_while(move |part| !std::mem::replace(&mut is_over, part.apart))
    }

    /// Returns true if a failure without a word may be an answer: a part that decides the status tests or searches, and
    /// no other fails in silence. What runs or writes complains, unless its complaints are thrown away.
    pub(crate) fn may_say_no(&self) -> bool {
        let looks = |part: &Part<'_>| is_search(part.program) || part.does == Does::Read && part.silenced;
        let last_reads = self.parts().next_back().is_some_and(|last| last.does == Does::Read);
        (last_reads || self.deciding().any(|part| looks(&part)))
            && !self.deciding().any(|part| part.silenced && !looks(&part))
    }

    /// Returns the part that failed, if that is known: the one that the line names, or the first that fails in silence.
    pub(crate) fn failed_part(&self, line: &str) -> Option<Part<'_>> {
        let named = line.split_once(": ").map_or("", |(name, _)| name);
        let is_silent = |part: &Part<'_>| line.is_empty() && (part.silenced || part.does == Does::Run);
        let named = self.parts().find(|part| !named.is_empty() && part.name() == named);
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
    let written = command.writes.into_iter().flat_map(|file| [">", file]);
    for part in command.words().chain(written).chain([command.heredoc]) {
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
    const EDITS: [&str; 7] = ["edit", "write", "patch", "replace", "insert", "append", "create"];
    let edits = |word: &str| EDITS.contains(&&*lower(word));
    let unnamed = command.words().take(2).flat_map(words).any(edits).then(|| "?".to_owned());
    target_of(command).map(|path| last_part(path).to_lowercase()).or(unnamed)
}

/// Returns the file that a command is about: the one it writes, else its first word that looks like a path.
fn target_of<'c>(command: &Command<'c>) -> Option<&'c str> {
    command.writes.or_else(|| command.arguments().find(|word| is_path(word)))
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

/// Words of arguments that name what a call is not about.
#[rustfmt::skip]
const ASIDES_OF_TARGETS: [&str; 9] = ["user", "customer", "account", "payment", "card", "method", "pay", "session", "timeout"];

/// Words with which the name of an argument ends that names what a call is about.
const ID_WORDS: [&str; 7] = ["id", "number", "code", "key", "email", "url", "path"];

/// Returns the identifiers among the arguments of a structured call, in lower case.
pub(crate) fn identifiers(action: &Action<'_>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    each_text(action, |name, value| {
        let is_aside = || words(name).any(|word| ASIDES_OF_TARGETS.contains(&&*lower(word)));
        let is_id = || words(name).last().is_some_and(|word| ID_WORDS.contains(&&*lower(word)));
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
fn each_text(action: &Action<'_>, mut visit: impl FnMut(&str, &str)) {
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
