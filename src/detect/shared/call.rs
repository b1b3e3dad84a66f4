//! The normal form of a call: what it does, to what, and a key by which equal calls are found.

use std::ops::Range;
use std::sync::Arc;

use super::arguments::Given;
use super::does::{installs, patched_file, program_of, written_file};
use super::quote::shown;
use super::shell::{self, Command, last_part};
use super::{Check, Does, Meaning, Tool, words};
use crate::trace::{Action, Arguments, Digest, Digests, Step};

/// The normal form of a call.
#[derive(Debug, Clone, Default)]
pub(crate) struct Call {
    pub(crate) does: Does,
    pub(crate) is_shell: bool,
    /// Whether it is a command line that fails if any of its commands fails: they are joined by `&&` alone.
    pub(crate) is_strict: bool,
    /// The program as messages name it: the main program of a command line (`pytest`, `git commit`), otherwise the
    /// folded name of the tool with its subcommand (`str_replace_editor view`).
    pub(crate) program: Arc<str>,
    /// Its simple commands, in order, without setup and trailing filters; the call itself if it is not a
    /// command line.
    pub(crate) parts: Vec<Part>,
    /// The file, path or address that it is about.
    pub(crate) target: Option<String>,
    /// The normal text of a command line, in lower case: its commands without wrappers, setup and trailing filters.
    /// Empty for other calls, whose arguments are compared by digest.
    pub(crate) text: String,
    /// Equal for calls that do the same thing. It is made of the location and, for a command line, the directory,
    /// requested permissions and normal text, otherwise the tool and arguments. `None` if the arguments were not
    /// recorded.
    pub(crate) key: Option<Digest>,
    /// The digest of the variables that are set for its commands: `JDK=21 make`.
    pub(crate) assigned: Digest,
}

/// One simple command of a command line, or a whole call.
#[derive(Debug, Clone, Default)]
pub(crate) struct Part {
    /// Its index among the parts of the call, counted from 0.
    pub(crate) place: usize,
    pub(crate) does: Does,
    pub(crate) program: Arc<str>,
    /// The beginning of the command, for messages only; empty if it is not a command line.
    pub(crate) shown: Box<str>,
    /// The range of the command in [`Call::text`].
    text: Range<usize>,
    /// The file that it writes, by its base name; `?` if that is not known.
    pub(crate) file: Option<String>,
    /// The script that it runs, by its base name.
    pub(crate) script: Option<String>,
    /// The kind of check, if it is one.
    pub(crate) check: Option<Check>,
    /// Whether it runs even if the part before it failed.
    pub(crate) apart: bool,
    /// Whether another part reads what it prints, so its own status is lost.
    pub(crate) feeds: bool,
    /// Whether its standard error is thrown away.
    pub(crate) silenced: bool,
    pub(crate) undo: Undo,
}

/// Whether a command reverts changes or restores them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Undo {
    #[default]
    No,
    /// `git stash`, `git checkout a.py`
    Reverts,
    /// `git stash pop`
    Restores,
}

impl Undo {
    fn of(program: &str, command: &Command<'_>) -> Self {
        let mut words = command.words().skip(2);
        let takes_back = match program {
            "git checkout" | "git restore" => words.any(|word| word == "." || word.contains(['/', '.'])),
            "git stash" => match words.next() {
                Some("pop" | "apply") => return Self::Restores,
                next => next.is_none_or(|word| word == "push" || word.starts_with('-')),
            },
            _ => false,
        };
        if takes_back { Self::Reverts } else { Self::No }
    }
}

impl Part {
    /// Returns true if it only prepares for other commands on the line.
    pub(crate) fn prepares(&self) -> bool {
        matches!(&*self.program, "chmod" | "cp" | "git add" | "ln" | "mkdir" | "mv" | "rm" | "touch")
    }

    /// Returns true if it installs something.
    pub(crate) fn installs(&self) -> bool {
        self.program.split_once(' ').is_some_and(|(program, subcommand)| installs(program, subcommand))
    }

    /// Returns the name of the program, without its subcommand.
    pub(crate) fn name(&self) -> &str {
        self.program.split(' ').next().unwrap_or_default()
    }
}

impl Call {
    pub(crate) fn of(step: &Step<'_>, action: &Action<'_>, digests: &Digests, tool: &Tool) -> Self {
        let given = Given::of_call(action, tool);
        let with_place = |key: Digest| step.location().map_or(key, |place| key.and(Digest::of_text(place)));
        if let Some(line) = &given.line {
            let (call, entered) = Self::of_line(line, &tool.folded);
            let there = given.place.as_deref().map_or(Digest::NONE, Digest::of_text);
            let there = given.rights.map_or(there, |rights| there.and(rights));
            let same = |_| with_place(Digest::of_text(&call.text).and(there).and(entered));
            return Self { key: digests.arguments.map(same), ..call };
        }
        let (does, program) = match &given.subcommand {
            Some(subcommand) => {
                let does = Some(Does::of_tool(subcommand)).filter(|does| *does != Does::Run);
                (does.unwrap_or(tool.does), format!("{} {subcommand}", tool.folded).into())
            }
            None => (tool.does, Arc::clone(&tool.folded)),
        };
        let target = given.patch.as_deref().and_then(patched_file).or(given.target.as_deref());
        let is_file = |path: &&str| does == Does::Write && !path.contains("://") && !path.contains('\n');
        let file = target.filter(is_file).map(|path| last_part(path).to_lowercase());
        // An empty call of a shell stands for a command that was left out of the record.
        let is_left_out =
            tool.is_shell && action.arguments.as_ref().present().and_then(Arguments::json) == Some("{}");
        let arguments = given.without_asides.or(digests.arguments).filter(|_| !is_left_out);
        let part = Part { does, program: Arc::clone(&program), file, check: tool.check, ..Part::default() };
        let key = arguments.map(|arguments| with_place(digests.folded_name.and(arguments)));
        Self { does, program, parts: vec![part], target: target.map(str::to_owned), key, ..Self::default() }
    }

    /// Classifies a command line: it writes if any of its commands writes, otherwise it runs if any runs, otherwise it
    /// reads. A line that only sets variables writes. The call has no key yet; also returns the digest of the directory
    /// that the line enters, for the key.
    pub(crate) fn of_line(line: &str, tool: &str) -> (Self, Digest) {
        shell::commands(line, |commands| {
            let first = commands.first();
            let is_own = first.is_some_and(|first| first.program() == tool)
                && !Meaning::of(tool).is(Meaning::INTERPRETER);
            // If the line begins with the name of its tool, the rest of the line is text, not commands.
            let told = if is_own { first.map(std::slice::from_ref).unwrap_or_default() } else { commands };
            let mut parts: Vec<Part> = Vec::with_capacity(4);
            let mut text = String::with_capacity(line.len());
            let (mut target, mut apart) = (None, false);
            let (mut assigned, mut entered) = (Digest::NONE, Digest::NONE);
            for (at, command) in told.iter().enumerate() {
                let meaning = Meaning::of(command.program());
                apart |= command.apart;
                // `cd src` alone changes what later commands do.
                let is_all = at + 1 == told.len() && parts.is_empty() && command.program() == "cd";
                if !is_all && !tells(command, meaning) {
                    // `export PATH=… && make` is not `make`.
                    if meaning.is(Meaning::SETS) {
                        append(&mut text, command);
                    }
                    if matches!(command.program(), "cd" | "pushd") && parts.is_empty() {
                        let place = command.arguments().next().map(|place| place.trim_end_matches('/'));
                        entered = place.map_or(Digest::NONE, Digest::of_text);
                    }
                    continue;
                }
                let does = if is_all { Does::Write } else { Does::of_command(command, meaning, tool) };
                let (check, script) =
                    if does == Does::Run { Check::of_command(command, meaning) } else { (None, None) };
                let file = match does {
                    Does::Write if is_own => own_file(command),
                    Does::Write if !is_all => written_file(command),
                    _ => None,
                };
                assigned = command.assigned.iter().fold(assigned, |all, one| all.and(Digest::of_text(one)));
                let start = text.len() + if text.is_empty() { 0 } else { SEPARATOR.len() };
                append(&mut text, command);
                if let Some(before) = parts.last_mut().filter(|_| command.piped) {
                    before.feeds = true;
                }
                let program = program_of(command, meaning, tool);
                let undo = Undo::of(&program, command);
                parts.push(Part {
                    place: parts.len(),
                    does,
                    program: program.into(),
                    shown: shown(command),
                    text: start..text.len(),
                    undo,
                    file,
                    script,
                    check,
                    apart: std::mem::take(&mut apart),
                    feeds: false,
                    silenced: command.is_silenced(),
                });
                target = target.or_else(|| target_of(command).map(str::to_owned));
            }
            if parts.is_empty() || is_own {
                text.clear();
                append_words(&mut text, line);
                for part in &mut parts {
                    part.text = 0..text.len();
                }
            }
            text.make_ascii_lowercase();
            let does_any = |does: Does| parts.iter().any(|part| part.does == does);
            // `export JAVA_HOME=/opt/java` alone changes what later commands do.
            let sets = |command: &Command<'_>| Meaning::of(command.program()).is(Meaning::SETS);
            let is_setting = parts.is_empty() && told.iter().any(sets);
            let otherwise = if is_setting { Does::Write } else { Does::Read };
            let call = Self {
                does: [Does::Write, Does::Run].into_iter().find(|does| does_any(*does)).unwrap_or(otherwise),
                is_shell: true,
                is_strict: !line.trim_end().ends_with('&') && !told.iter().any(|command| command.apart),
                program: main_part(&parts).map_or_else(|| tool.into(), |part| Arc::clone(&part.program)),
                parts,
                target,
                text,
                key: None,
                assigned,
            };
            (call, entered)
        })
    }

    /// Returns the digest of the command line of an action as it was given, white space collapsed, with its time limit
    /// and the permissions it asks for.
    pub(crate) fn line(action: &Action<'_>, tool: &Tool) -> Option<Digest> {
        let (mut text, given) = (String::new(), Given::of_call(action, tool));
        append_words(&mut text, given.line.as_deref()?);
        let line = Digest::of_text(&text);
        Some([given.limit, given.rights].into_iter().flatten().fold(line, Digest::and))
    }

    /// Returns the normal text of one of its commands; empty if it is not a command line.
    pub(crate) fn text_of(&self, part: &Part) -> &str {
        self.text.get(part.text.clone()).unwrap_or_default()
    }

    /// Returns the program of the last simple command, whose status is that of the command line.
    pub(crate) fn last_program(&self) -> &str {
        self.parts.last().map_or("", |part| &part.program)
    }
}

/// Returns the part after which a command line is named: the first that checks something, else one that runs, writes or
/// reads something.
fn main_part(parts: &[Part]) -> Option<&Part> {
    let first =
        |wanted: &dyn Fn(&Part) -> bool| parts.iter().find(|part| wanted(part) && !part.program.is_empty());
    let does = |does: Does| first(&|part| part.does == does);
    first(&|part| part.check.is_some())
        .or_else(|| does(Does::Run))
        .or_else(|| first(&|part| part.does == Does::Write && !part.prepares()))
        .or_else(|| does(Does::Write))
        .or_else(|| does(Does::Read))
}

/// Returns true if a simple command says what a line does: it neither filters the output of others nor only
/// prepares for them.
fn tells(command: &Command<'_>, meaning: Meaning) -> bool {
    // `$gh = "C:\bin\gh.exe"` in PowerShell.
    let is_assignment = command.program().starts_with('$') && command.arguments().next() == Some("=");
    let is_aside = is_assignment
        || command.is_empty()
        || meaning.is(Meaning::SCENE)
        || command.piped && meaning.is(Meaning::FILTER);
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
    // Fast path: most texts are one word.
    if !words.is_empty() && words.bytes().all(|byte| byte.is_ascii_graphic()) {
        add(words);
    } else {
        words.split_whitespace().for_each(add);
    }
}

/// Returns the file that a command changes if it names its own tool: `edit 3:4`, `str_replace_editor create a.py`.
fn own_file(command: &Command<'_>) -> Option<String> {
    let edits = Meaning::of_any(command.words().take(2).flat_map(words)).is(Meaning::EDIT);
    let unnamed = edits.then(|| "?".to_owned());
    target_of(command).map(|path| last_part(path).to_lowercase()).or(unnamed)
}

/// Returns the file that a command is about: the one it writes, else its first argument that looks like a path.
fn target_of<'c>(command: &'c Command<'_>) -> Option<&'c str> {
    command.writes.as_deref().or_else(|| command.arguments().find(|word| is_path(word)))
}

/// Returns true if a word looks like a file, or like a path from `/`, `./`, `../` or `~/`: `src/lib.rs`, `/etc`.
pub(crate) fn is_path(word: &str) -> bool {
    let plain = word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_./@+-~".contains(&byte));
    let ending = word.rsplit_once('.').map_or("", |(_, ending)| ending);
    let has_ending = (1..=6).contains(&ending.len()) && ending.starts_with(|c: char| c.is_ascii_alphabetic());
    let has_folder = ["/", "./", "../", "~/"].iter().any(|start| word.starts_with(start));
    plain && (has_ending && !ending.contains('/') || has_folder && word.len() > 2)
}
