//! The normal form of a call: what it does, to what, and a key by which equal calls are found.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use super::does::{Check, Does, is_interpreter, patched_file, program, written_file};
use super::phrases::Hints;
use super::shell::{self, Command, last_part};
use crate::json::{Json, Kind, Raw};
use crate::trace::{Action, Arguments, Digest, DigestMap, Digests, Members, Step, first_chars, fold_name};

/// What rules know of one call.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) does: Does,
    /// Whether it is a command line.
    pub(crate) is_shell: bool,
    /// Whether it is a command line that fails if any of its commands fails: they are joined by `&&` alone.
    pub(crate) is_strict: bool,
    /// What it runs, as messages name it: the main program of a command line (`pytest`, `git commit`), else the folded
    /// name of the tool, with its subcommand (`str_replace_editor view`).
    pub(crate) program: Arc<str>,
    /// Its simple commands, in order; the call itself if it is not a command line.
    first: Option<Part>,
    more: Vec<Part>,
    /// The file, path or address that it is about.
    pub(crate) target: Option<String>,
    /// The normal text of a command line: its commands without wrappers, scene setting and trailing filters. The
    /// arguments of any other call are told apart by their digest alone.
    pub(crate) text: String,
    /// Equal for calls that do the same: tool, place and normal text or arguments. `None` if the arguments were not
    /// recorded.
    pub(crate) key: Option<Digest>,
    /// The command line as it was given, white space collapsed.
    pub(crate) line: Option<Digest>,
    /// Tells calls apart that differ in their time limits only.
    pub(crate) limits: Option<Digest>,
}

/// One simple command of a command line, or a whole call.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) does: Does,
    pub(crate) program: Arc<str>,
    /// The beginning of the command, for messages.
    pub(crate) shown: Arc<str>,
    /// The file that it writes, by its base name; `?` if that is not known.
    pub(crate) file: Option<String>,
    /// The script that it runs, by its base name.
    pub(crate) script: Option<String>,
    /// What it checks, if it runs something.
    pub(crate) check: Option<Check>,
}

/// Arguments that hold a command line, in the order in which they are looked for.
const COMMAND_LINES: [&str; 6] = ["command", "cmd", "keystrokes", "script", "command_line", "commandline"];
/// Arguments that name a file or an address.
#[rustfmt::skip]
const TARGETS: [&str; 11] = ["file_path", "path", "filepath", "filename", "file", "notebook_path", "absolute_path",
    "target_file", "relative_path", "uri", "url"];
/// Arguments that say how a call is made, and not what it does.
#[rustfmt::skip]
const ASIDE: [&str; 17] = ["description", "explanation", "thought", "reason", "comment", "note", "notes", "security_risk", "is_background",
    "run_in_background", "timeout", "timeout_ms", "max_output_tokens", "yield_time_ms", "yieldms", "tty", "login"];
const LIMITS: [&str; 3] = ["timeout", "timeout_ms", "yield_time_ms"];

/// The names of all these, and the beginning of a patch, to pass over most arguments at once.
static NAMES: LazyLock<Hints> = LazyLock::new(|| {
    let names = COMMAND_LINES.iter().chain(&TARGETS).chain(&ASIDE).map(|name| format!("\"{name}\""));
    let names: Vec<String> = names.chain(["\"*** ".to_owned()]).collect();
    Hints::new(names.iter().map(String::as_str))
});

/// Programs that only set the scene for others.
#[rustfmt::skip]
const SCENE: [&str; 23] = [".", ":", "alias", "case", "cd", "declare", "done", "esac", "eval", "export", "fi", "for",
    "local", "popd", "pushd", "readonly", "set", "shopt", "source", "true", "ulimit", "unset", "wait"];
/// Programs that shorten what they are piped.
const FILTERS: [&str; 5] = ["cat", "head", "less", "more", "tail"];

/// What the name of a tool says, found once for each name.
#[derive(Debug, Clone)]
pub(crate) struct Tool {
    /// The name, trimmed.
    pub(crate) name: Arc<str>,
    /// The name, trimmed and lower-cased.
    folded: Arc<str>,
    does: Does,
    check: Option<Check>,
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

fn hands_over(name: &str) -> bool {
    let words: Vec<String> = super::does::words(name).collect();
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    has(&HANDOVER) || has(&["transfer"]) && has(&HUMAN)
}

impl Part {
    /// The name of the program, without its subcommand.
    pub(crate) fn name(&self) -> &str {
        self.program.split(' ').next().unwrap_or_default()
    }
}

impl Call {
    pub(crate) fn of(step: &Step<'_>, action: &Action<'_>, digests: &Digests, tool: &Tool) -> Self {
        let json = action.arguments.as_ref().present().and_then(Arguments::json);
        let given = json.filter(|json| Given::says_something(json)).map(Given::of).unwrap_or_default();
        let with_place = |key: Digest| step.location().map_or(key, |place| key.and(Digest::of_text(place)));
        if let Some(line) = &given.line {
            let mut call = Self::of_line(line, &tool.folded);
            call.key = digests.arguments.map(|_| with_place(Digest::of_text(&call.text)));
            call.limits = given.limits;
            call.line = Some(Digest::of_text(&line.split_whitespace().collect::<Vec<_>>().join(" ")));
            return call;
        }
        let (does, program) = match &given.subcommand {
            Some(subcommand) => (Does::of_tool(subcommand), format!("{} {subcommand}", tool.folded).into()),
            None => (tool.does, Arc::clone(&tool.folded)),
        };
        let patch = given.patch.as_deref().and_then(patched_file).map(str::to_owned);
        let target = patch.or(given.target.map(Cow::into_owned));
        let is_file = |path: &&str| does == Does::Write && !path.contains("://");
        let part = Part {
            does,
            program: Arc::clone(&program),
            shown: Arc::clone(&program),
            file: target.as_deref().filter(is_file).map(|path| last_part(path).to_lowercase()),
            script: None,
            check: tool.check,
        };
        let arguments = given.without_asides.or(digests.arguments);
        Self {
            does,
            is_shell: false,
            is_strict: false,
            program,
            first: Some(part),
            more: Vec::new(),
            target,
            text: String::new(),
            key: arguments.map(|arguments| with_place(digests.folded_name.and(arguments))),
            line: None,
            limits: given.limits,
        }
    }

    /// Its simple commands, in order; the call itself if it is not a command line.
    pub(crate) fn parts(&self) -> impl DoubleEndedIterator<Item = &Part> {
        self.first.iter().chain(&self.more)
    }

    /// What a command line does: it writes if any of its commands writes, else runs if any runs.
    fn of_line(line: &str, tool: &str) -> Self {
        let mut commands = shell::commands(line);
        let is_own = commands.first().is_some_and(|first| first.program() == tool) && !is_interpreter(tool);
        if is_own {
            // A tool that is called like a program: what follows its first line is text.
            commands.truncate(1);
        }
        let (mut parts, mut text, mut target) = (Vec::new(), String::new(), None);
        for command in &commands {
            let is_filter = command.piped && FILTERS.contains(&command.program());
            let sets_the_scene = SCENE.contains(&command.program()) || command.words.is_empty();
            if command.writes.is_none() && (is_filter || sets_the_scene) {
                continue;
            }
            let does = Does::of_command(command, tool);
            let (check, script) = if does == Does::Run { Check::of_command(command) } else { (None, None) };
            let start = text.len();
            append(&mut text, command);
            let added = text.get(start..).unwrap_or_default();
            parts.push(Part {
                does,
                program: program(command, tool).into(),
                shown: first_chars(added.strip_prefix(SEPARATOR).unwrap_or(added), 60).into(),
                file: match does {
                    Does::Write if is_own => own_file(command),
                    Does::Write => written_file(command),
                    _ => None,
                },
                script,
                check,
            });
            target = target.or_else(|| target_of(command));
        }
        if parts.is_empty() || is_own {
            text = line.split_whitespace().collect::<Vec<_>>().join(" ");
        }
        text.make_ascii_lowercase();
        // A line is named after what it checks, else after what it runs, writes or reads.
        let first = |wanted: &dyn Fn(&&Part) -> bool| {
            parts.iter().filter(|part| !part.program.is_empty()).find(wanted)
        };
        let main = first(&|part| part.check.is_some()).or_else(|| {
            [Does::Run, Does::Write, Does::Read].into_iter().find_map(|does| first(&|part| part.does == does))
        });
        let does_any = |does: Does| parts.iter().any(|part| part.does == does);
        Self {
            does: [Does::Write, Does::Run].into_iter().find(|does| does_any(*does)).unwrap_or(Does::Read),
            is_shell: true,
            is_strict: !line.trim_end().ends_with('&') && !commands.iter().any(|command| command.apart),
            program: main.map_or_else(|| tool.into(), |part| Arc::clone(&part.program)),
            first: None,
            more: parts,
            target,
            text,
            key: None,
            line: None,
            limits: None,
        }
    }

    /// The names of the files in its text.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.text.split_whitespace().filter(|word| is_path(word)).map(last_part)
    }

    /// The program of the last simple command: the one whose status a command line ends with.
    pub(crate) fn last_program(&self) -> &str {
        self.parts().next_back().map_or("", |part| &part.program)
    }
}

/// What separates the simple commands of a normal text.
const SEPARATOR: &str = " ; ";

/// Adds a simple command to a normal text: its words, its redirection and its here-document, blanks collapsed.
fn append(text: &mut String, command: &Command) {
    text.push_str(if text.is_empty() { "" } else { SEPARATOR });
    let written = command.writes.iter().flat_map(|file| [">", &**file]);
    let words = command.words.iter().map(|word| &**word).chain(written).chain([&*command.heredoc]);
    for (number, part) in words.flat_map(str::split_whitespace).enumerate() {
        text.push_str(if number == 0 { "" } else { " " });
        text.push_str(part);
    }
}

/// The file that a tool changes which is called like a program: `edit 3:4`, `str_replace_editor create a.py`.
fn own_file(command: &Command) -> Option<String> {
    let words = || command.words.iter().take(2).flat_map(|word| super::does::words(word));
    let edits = words()
        .any(|word| "edit write patch replace insert append create".split(' ').any(|edit| edit == word));
    let unnamed = edits.then(|| "?".to_owned());
    target_of(command).map(|path| last_part(&path).to_lowercase()).or(unnamed)
}

/// The file that a command is about: the one it writes, else its first word that looks like a path.
fn target_of(command: &Command) -> Option<String> {
    command.writes.as_deref().or_else(|| command.arguments().find(|word| is_path(word))).map(str::to_owned)
}

/// Whether a word looks like a file or an absolute path: `src/lib.rs`, `/etc`, `setup.py`.
pub(crate) fn is_path(word: &str) -> bool {
    let plain = word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_./@+-~".contains(&byte));
    let ending = word.rsplit_once('.').map_or("", |(_, ending)| ending);
    let has_ending = (1..=6).contains(&ending.len()) && ending.starts_with(|c: char| c.is_ascii_alphabetic());
    let has_folder = ["/", "./", "../", "~/"].iter().any(|start| word.starts_with(start));
    plain && (has_ending && !ending.contains('/') || has_folder && word.len() > 2)
}

/// What the arguments of a call say.
#[derive(Debug, Default)]
struct Given<'a> {
    line: Option<Cow<'a, str>>,
    subcommand: Option<String>,
    target: Option<Cow<'a, str>>,
    /// A text that begins like a patch.
    patch: Option<Cow<'a, str>>,
    /// The digest of all other arguments, if some say only how the call is made.
    without_asides: Option<Digest>,
    limits: Option<Digest>,
}

impl<'a> Given<'a> {
    /// Whether arguments hold a text or any of the names that are looked for.
    fn says_something(json: &str) -> bool {
        json.starts_with('"') || NAMES.occur_in(json.as_bytes())
    }

    fn of(json: &'a str) -> Self {
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
        let (mut asides, mut listed, mut patch) = (false, None, None);
        let read = reader.members(|key, value| {
            let name = std::str::from_utf8(&key).unwrap_or_default();
            asides |= ASIDE.contains(&name);
            let slot = |names: &[&str]| names.iter().position(|known| *known == name);
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
                    None => {}
                }
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
        given.line =
            lines.into_iter().flatten().next().filter(|line| !about_a_file && !line.trim().is_empty());
        given.target = targets.into_iter().flatten().next().or(listed);
        given.patch = patch;
        if asides {
            let members = Members::of(json);
            given.without_asides = Some(members.without(&ASIDE));
            given.limits = LIMITS.iter().find_map(|name| members.get(name));
        }
        given
    }
}

/// A command line as an argument holds it: a text, or a list of words such as `["bash", "-lc", "make"]`.
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

/// What a structured call is about: the identifiers among its arguments, in lower case.
pub(crate) fn identifiers(action: &Action<'_>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    each_text(action, |name, value| {
        let words: Vec<String> = super::does::words(name).collect();
        let is_aside = words.iter().any(|word| ASIDES_OF_TARGETS.contains(&word.as_str()));
        let is_id = words.last().is_some_and(|word| {
            matches!(word.as_str(), "id" | "number" | "code" | "key" | "email" | "url" | "path")
        });
        let is_marked = value.contains(|c: char| c.is_ascii_digit() || "#@/_.-".contains(c));
        if !is_aside
            && (is_id || is_marked)
            && (3..=200).contains(&value.len())
            && !value.contains(char::is_whitespace)
        {
            found.insert(value.trim_matches('#').to_lowercase());
        }
    });
    found
}

/// Whether one of the arguments is a value with a digit that stands in a text, without case.
pub(crate) fn names_value(action: &Action<'_>, text: &[u8]) -> bool {
    let (mut names, text) = (false, String::from_utf8_lossy(text).to_lowercase());
    each_text(action, |_, value| {
        let value = value.trim_start_matches('#').to_lowercase();
        names |= value.len() >= 3 && value.contains(|c: char| c.is_ascii_digit()) && text.contains(&value);
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
