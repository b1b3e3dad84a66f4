//! Classifies calls by effect: read, write, run, or take a note.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::call::{Call, Part};
use super::lexicon::{Meaning, lower};
use super::phrase_search::Hints;
use super::shell::{Command, last_part};

/// The effect of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Does {
    /// Looks at something and leaves it as it is.
    Read,
    /// Changes something.
    Write,
    /// Runs something with unknown effects.
    #[default]
    Run,
    /// Records a plan or a thought.
    Note,
}

/// Functions that write, copy, move or remove files or make folders, as an inline script calls them.
const WRITING_CODE: [&str; 8] = [
    "write_text(",
    ".writelines(",
    "shutil.copy",
    "shutil.move",
    "os.remove(",
    "os.rename(",
    "os.makedirs(",
    "writeFileSync",
];

/// Finds candidates for [`WRITING_CODE`] and for calls of `open`.
static CODE: LazyLock<Hints> = LazyLock::new(|| Hints::new(WRITING_CODE.into_iter().chain(["open("])));

impl Does {
    /// Classifies a tool by the words of its name: `get_order` reads, `editFile` writes, `bash` runs.
    pub(crate) fn of_tool(name: &str) -> Self {
        if Meaning::of_words(name).any(|word| word.is(Meaning::NOTES)) {
            return Self::Note;
        }
        match Meaning::of_words(name)
            .find(|word| word.is(Meaning::LOOKS.or(Meaning::CHANGES).or(Meaning::MOVES)))
        {
            Some(word) if word.is(Meaning::LOOKS) => Self::Read,
            Some(_) => Self::Write,
            None => Self::Run,
        }
    }

    /// Classifies a simple command. `tool` is the tool that runs it, which may itself be the program.
    pub(crate) fn of_command(command: &Command<'_>, meaning: Meaning, tool: &str) -> Self {
        if command.writes.is_some() {
            return Self::Write;
        }
        let program = command.program();
        let subcommand = || command.subcommand().unwrap_or_default();
        let edits = |word: &str| word.starts_with("-i") || word.starts_with("--in-place");
        match program {
            "" => return Self::Read,
            "sed" if command.arguments().any(edits) => return Self::Write,
            "git" if Meaning::of(subcommand()).is(Meaning::GIT_READS) => return Self::Read,
            "git" => return Self::Write,
            "curl" if command.arguments().any(sends) || saves(command) => return Self::Write,
            _ => {}
        }
        if meaning.is(Meaning::INSTALLER) {
            let subcommand = Meaning::of(subcommand());
            if subcommand.is(Meaning::INSTALLS) {
                return Self::Write;
            }
            if subcommand.is(Meaning::LISTS) {
                return Self::Read;
            }
        }
        // `docker compose logs web`
        let inspects = |word: &str| Meaning::of(word).is(Meaning::INSPECTS);
        if meaning.is(Meaning::MANAGES)
            && (inspects(subcommand()) || subcommand() == "compose" && command.arguments().any(inspects))
        {
            return Self::Read;
        }
        if program == tool {
            return match Self::of_tool(subcommand()) {
                Self::Run => Self::of_tool(tool),
                does => does,
            };
        }
        let alters = || command.arguments().take(3).any(|word| Meaning::of(word).is(Meaning::ALTERS));
        // `gh issue close 7`
        let says_more =
            Meaning::CHECKS.or(Meaning::CHECKS_BUILD).or(Meaning::INSTALLER).or(Meaning::INTERPRETER);
        let changes = || {
            let is_plain = |word: &&str| word.bytes().all(|byte| byte.is_ascii_lowercase());
            let mut verbs = command.arguments().take(2).take_while(is_plain);
            let may_name_verb = !meaning.is(says_more) && !command.path.contains('/');
            let checks = |word: &str| Meaning::of(word).is(Meaning::CHECKS.or(Meaning::CHECKS_BUILD));
            may_name_verb
                && !command.arguments().any(checks)
                && verbs.any(|word| Meaning::of(word).is(Meaning::CHANGES))
        };
        if meaning.is(Meaning::READS) {
            Self::Read
        } else if meaning.is(Meaning::WRITES)
            || alters()
            || changes()
            || changes_database(command)
            || writes_files(command)
        {
            Self::Write
        } else {
            Self::Run
        }
    }
}

/// Returns true if an argument makes `curl` send data or request a change.
fn sends(argument: &str) -> bool {
    let method = argument.strip_prefix("-X").unwrap_or(argument);
    matches!(method, "DELETE" | "PATCH" | "POST" | "PUT")
        || matches!(argument, "-d" | "-F" | "-T" | "--form" | "--json" | "--upload-file")
        || argument.starts_with("--data")
}

/// Returns true if `curl` saves what it fetches.
fn saves(command: &Command<'_>) -> bool {
    let mut arguments = command.arguments();
    let names_file = |file: Option<&str>| file.is_some_and(|file| !matches!(file, "-" | "/dev/null"));
    while let Some(argument) = arguments.next() {
        if matches!(argument, "-O" | "--remote-name")
            || matches!(argument, "-o" | "--output") && names_file(arguments.next())
        {
            return true;
        }
    }
    false
}

/// Returns true if a database client is given a statement that changes data.
fn changes_database(command: &Command<'_>) -> bool {
    // `clickhouse-client` is looked up as `clickhouse`.
    let name = command.program().split('-').next().unwrap_or_default();
    let changes = |given: &str| {
        let mut statements = given.split(';').filter_map(|statement| statement.split_whitespace().next());
        statements.any(|verb| Meaning::of(&lower(verb)).is(Meaning::STATEMENTS))
    };
    let is_changed = || {
        changes(&command.heredoc) || command.arguments().any(|given| given.contains(' ') && changes(given))
    };
    Meaning::of(name).is(Meaning::DATABASE) && is_changed()
}

/// Returns true if an inline script (an argument or a heredoc) writes, copies, moves or removes files.
fn writes_files(command: &Command<'_>) -> bool {
    let writes = |code: &str| {
        code.len() >= 8
            && CODE.occur_in(code.as_bytes())
            && (WRITING_CODE.iter().any(|call| code.contains(call))
                || code.match_indices("open(").any(|(at, _)| {
                    let given = code.get(at..).and_then(|rest| rest.split(')').next()).unwrap_or_default();
                    ["'w", "\"w", "'a", "\"a", "'x", "\"x"].iter().any(|mode| given.contains(mode))
                }))
    };
    if command.heredoc.is_empty() { command.arguments().any(writes) } else { writes(&command.heredoc) }
}

/// Returns the subcommand, if the program is one that takes subcommands. A file that an interpreter runs is not a
/// subcommand (`bun app.ts`).
pub(super) fn subcommand_of<'c>(command: &'c Command<'_>, meaning: Meaning) -> Option<&'c str> {
    let runs_file = |word: &&str| meaning.is(Meaning::INTERPRETER) && word.contains(['.', '/']);
    command.subcommand().filter(|word| meaning.is(Meaning::SUBCOMMANDED) && !runs_file(word))
}

/// Maximum length of a program's name, in bytes. Longer words are not names.
const LONGEST: usize = 60;

/// Returns the program of a simple command in the form that rules use, with the subcommand if that decides what
/// the command does: `pytest`, `python -m unittest`, `git commit`, `npm test`.
pub(crate) fn program_of<'c>(command: &'c Command<'_>, meaning: Meaning, tool: &str) -> Cow<'c, str> {
    let name = command.program();
    // In a line that does not parse, the first word may be anything.
    if name.len() > LONGEST || name.contains(char::is_whitespace) {
        return "".into();
    }
    let mut rest = command.arguments();
    if name.starts_with("python") || name.starts_with("pypy") {
        return match (rest.find(|word| *word == "-m"), rest.next()) {
            (Some(_), Some(module)) => format!("python -m {module}").into(),
            _ => "python".into(),
        };
    }
    let is_own = |sub: &&str| name == tool && Does::of_tool(sub) != Does::Run;
    let Some(subcommand) = subcommand_of(command, meaning).or_else(|| command.subcommand().filter(is_own))
    else {
        return name.into();
    };
    let script = || rest.skip_while(|word| *word != subcommand).nth(1);
    match subcommand {
        "run" | "run-script" if matches!(name, "bun" | "npm" | "pnpm" | "yarn") => match script() {
            Some(script) => format!("{name} run {script}").into(),
            None => format!("{name} run").into(),
        },
        subcommand => format!("{name} {subcommand}").into(),
    }
}

/// Returns the base name of the file that a simple command writes, in lower case: `?` if the command does not
/// name it, `None` if the command is not known to write one.
pub(crate) fn written_file(command: &Command<'_>) -> Option<String> {
    let base = |path: &str| last_part(path).to_lowercase();
    if let Some(file) = &command.writes {
        return Some(base(file));
    }
    let unnamed = || "?".to_owned();
    match command.program() {
        "sed" | "tee" => command.arguments().rfind(|word| !word.starts_with('-')).map(base),
        "patch" | "apply_patch" | "applypatch" => {
            Some(patched_file(&command.heredoc).map_or_else(unnamed, base))
        }
        "git" if command.subcommand() == Some("apply") => Some(unnamed()),
        program if program.starts_with("python") => {
            let code = match &*command.heredoc {
                "" => Cow::Owned(command.words().collect::<Vec<_>>().join(" ")),
                text => Cow::Borrowed(text),
            };
            let file =
                code.split(['\'', '"']).skip(1).step_by(2).find(|text| super::call::is_path(text)).map(base);
            Some(file.unwrap_or_else(unnamed))
        }
        _ => None,
    }
}

/// Returns the first file that a patch names.
pub(crate) fn patched_file(patch: &str) -> Option<&str> {
    const HEADERS: [&str; 4] = ["*** Update File: ", "*** Add File: ", "*** Delete File: ", "+++ b/"];
    patch.lines().find_map(|line| HEADERS.iter().find_map(|header| line.strip_prefix(header))).map(str::trim)
}

/// Returns what the commands in a normalized text install: names of packages (without versions), files and
/// folders. For a command that names none, returns the installer.
pub(crate) fn installed(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for command in text.split(" ; ") {
        let mut words = command.split(' ').filter(|word| !word.starts_with('-'));
        let (program, subcommand) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        if !installs(program, subcommand) {
            continue;
        }
        let before = found.len();
        found.extend(words.filter_map(|word| {
            let end = word.char_indices().skip(1).find(|(_, c)| "<>=!~[@;".contains(*c));
            let name = word.get(..end.map_or(word.len(), |(at, _)| at))?.trim_matches(['\'', '"', '\\']);
            (!name.is_empty()).then(|| name.replace('_', "-"))
        }));
        if found.len() == before {
            found.insert(program.to_owned());
        }
    }
    found
}

/// Returns what a call installs, as [`installed`] does. Empty if the call removes something or is a dry run.
pub(crate) fn newly_installed(call: &Call) -> BTreeSet<String> {
    let removes = || ["uninstall", "remove", "--dry-run"].iter().any(|word| call.text.contains(word));
    if call.parts.iter().any(Part::installs) && !removes() { installed(&call.text) } else { BTreeSet::new() }
}

/// Returns true if this subcommand of a program installs something.
pub(crate) fn installs(program: &str, subcommand: &str) -> bool {
    Meaning::of(program).is(Meaning::INSTALLER) && Meaning::of(subcommand).is(Meaning::INSTALLS)
}

/// Returns true if a program or tool looks for something that may not be there.
pub(crate) fn is_search(program: &str) -> bool {
    Meaning::of(program.strip_prefix("git ").unwrap_or(program)).is(Meaning::SEARCHES)
}
