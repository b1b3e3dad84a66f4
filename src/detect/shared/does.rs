//! Classifies calls by effect: read, write, run, or take a note.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::phrases::Hints;
use super::shell::{Command, last_part};
use crate::trace::TextMap;

/// The effect of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Does {
    /// Looks at something and leaves it as it is.
    Read,
    /// Changes something.
    Write,
    /// Runs something with unknown effects.
    Run,
    /// Records a plan or a thought.
    Note,
}

type Table = LazyLock<TextMap<&'static str, Does>>;

/// Words in the names of tools. The first one decides, except that a word for notes always wins.
static TOOL_WORDS: Table = LazyLock::new(|| {
    table(&[
        (Does::Note, "memory note notes plan task think thought todo todos"),
        (
            Does::Read,
            "browse calculate cat check count describe examine fetch find get glob go goto grep health info inspect list \
             log look lookup ls lsp monitor open ping poll preview print query read scroll search show state status \
             test verify view wait",
        ),
        (
            Does::Write,
            "add apply applypatch book cancel change commit connect create delete disable disconnect drop edit enable exchange \
             fill grant insert install modify move patch pay post push put reboot remove rename replace reset return \
             revoke save send set submit take toggle transfer update upload write",
        ),
    ])
});

/// The word lists that contain a word of a command line, one bit for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Meaning(u16);

impl Meaning {
    /// A program that reads.
    const READS: Self = Self(1);
    /// A program that changes something. A program in neither list runs something.
    const WRITES: Self = Self(1 << 1);
    /// A program that only prepares for others.
    pub(crate) const SCENE: Self = Self(1 << 2);
    /// A program that shortens its input from a pipe.
    pub(crate) const FILTER: Self = Self(1 << 3);
    /// A program whose subcommand says what it does.
    const SUBCOMMANDED: Self = Self(1 << 4);
    /// A subcommand of git that reads.
    const GIT_READS: Self = Self(1 << 5);
    const INSTALLER: Self = Self(1 << 6);
    /// A subcommand of installers that changes something.
    const INSTALLS: Self = Self(1 << 7);
    /// A subcommand of installers that reads.
    const LISTS: Self = Self(1 << 8);
    /// A program, script or subcommand that checks code.
    const CHECKS: Self = Self(1 << 9);
    /// A check of form alone, such as a linter.
    const CHECKS_FORM: Self = Self(1 << 10);
    /// A program that runs a script or code that it is given.
    pub(crate) const INTERPRETER: Self = Self(1 << 11);
    /// A word that may accompany a check word in the name of a checking tool.
    const NEAR_CHECK: Self = Self(1 << 12);
    /// A program or tool that fails, or answers nothing, if it finds nothing.
    const SEARCHES: Self = Self(1 << 13);
    /// Returns the lists that contain a word.
    pub(crate) fn of(word: &str) -> Self {
        LEXICON.meaning(word)
    }

    pub(crate) fn is(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

const LISTS: [(Meaning, &str); 14] = [
    (
        Meaning::READS,
        "[ ag awk basename cat cmp command cut date df diff dirname du echo egrep env fd fgrep file find free grep head \
         id jq less ls lsof more nl od printenv printf ps pwd readlink realpath rg sed sleep sort ss stat tail test tr \
         tree type uname uniq wc whereis which whoami xxd",
    ),
    (
        Meaning::WRITES,
        "apply_patch applypatch chmod chown cp dd install kill killall ln mkdir mv patch pkill rm rsync scp service systemctl tar \
         tee touch truncate unzip useradd",
    ),
    (
        Meaning::SCENE,
        ". : alias case cd declare done esac eval exit export fi for local popd pushd readonly set shopt source true ulimit \
         unset wait",
    ),
    (Meaning::FILTER, "cat head less more tail"),
    (
        Meaning::SUBCOMMANDED,
        "apt apt-get cargo conda docker dotnet gh git go kubectl make mise mvn npm opam pip pnpm poetry service \
         systemctl uv yarn",
    ),
    (
        Meaning::GIT_READS,
        "blame branch cat-file describe diff grep log ls-files ls-remote remote rev-parse show status tag",
    ),
    (
        Meaning::INSTALLER,
        "apk apt apt-get brew cargo conda dnf gem go mamba npm opam pip pnpm poetry rustup uv yarn yum",
    ),
    (Meaning::INSTALLS, "add ci get i install remove sync uninstall update upgrade"),
    (Meaning::LISTS, "freeze list search show"),
    (
        Meaning::CHECKS,
        "build cc check clang clippy cmake cobc compile compileall ctest django doctest eslint flake8 g++ gcc jest \
         javac karma lint make mocha mypy nose nosetests nox phpunit py_compile pyright pytest rspec ruff runtests \
         rustc spec test tests tox tsc typecheck unittest verify vet vitest",
    ),
    (
        Meaning::CHECKS_FORM,
        "bandit black clippy compileall eslint flake8 hadolint isort lint mypy phpstan prettier py_compile pylint \
         pyright rubocop ruff shellcheck tsc typecheck yamllint",
    ),
    (
        Meaning::INTERPRETER,
        "bash bun java julia lua node perl php python python3 ruby Rscript sh ts-node tsx",
    ),
    (Meaning::NEAR_CHECK, "all code exec execute project run script suite unit"),
    (Meaning::SEARCHES, "[ ag cmp command diff egrep fd fgrep find glob grep ls pgrep rg test type which"),
];

/// All words of the lists, and the lengths of words by first byte, which rule out most other words without a look-up.
struct Lexicon {
    words: TextMap<&'static str, Meaning>,
    lengths: Vec<u16>,
}

static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| {
    let mut lexicon = Lexicon { words: TextMap::default(), lengths: vec![0; 256] };
    for (meaning, words) in LISTS {
        for word in words.split_ascii_whitespace() {
            lexicon.words.entry(word).or_default().0 |= meaning.0;
            let first = word.bytes().next().map_or(0, usize::from);
            if let Some(lengths) = lexicon.lengths.get_mut(first) {
                *lengths |= 1 << word.len();
            }
        }
    }
    lexicon
});

impl Lexicon {
    fn meaning(&self, word: &str) -> Meaning {
        let lengths = word.bytes().next().and_then(|first| self.lengths.get(usize::from(first)));
        let may_hold = lengths.is_some_and(|lengths| word.len() < 16 && lengths >> word.len() & 1 != 0);
        if may_hold { self.words.get(word).copied().unwrap_or_default() } else { Meaning::default() }
    }
}

/// Code that writes files, in a script given on the command line.
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

fn table(lists: &[(Does, &'static str)]) -> TextMap<&'static str, Does> {
    lists.iter().flat_map(|(does, words)| words.split_whitespace().map(|word| (word, *does))).collect()
}

impl Does {
    /// Classifies a tool by the words of its name: `get_order` reads, `editFile` writes, `bash` runs.
    pub(crate) fn of_tool(name: &str) -> Self {
        let mut first = None;
        for word in words(name) {
            match TOOL_WORDS.get(&*lower(word)) {
                Some(Self::Note) => return Self::Note,
                found => first = first.or(found.copied()),
            }
        }
        first.unwrap_or(Self::Run)
    }

    /// Classifies a simple command. `tool` is the tool that runs it, which may itself be the program.
    pub(crate) fn of_command(command: &Command<'_>, meaning: Meaning, tool: &str) -> Self {
        if command.writes.is_some() {
            return Self::Write;
        }
        let program = command.program;
        let subcommand = || command.subcommand().unwrap_or_default();
        let edits = |word: &str| word.starts_with("-i") || word.starts_with("--in-place");
        match program {
            "" => return Self::Read,
            "sed" if command.arguments().any(edits) => return Self::Write,
            "git" if Meaning::of(subcommand()).is(Meaning::GIT_READS) => return Self::Read,
            "git" => return Self::Write,
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
        if program == tool {
            return match Self::of_tool(subcommand()) {
                Self::Run => Self::of_tool(tool),
                does => does,
            };
        }
        if meaning.is(Meaning::READS) {
            Self::Read
        } else if meaning.is(Meaning::WRITES) || writes_files(command) {
            Self::Write
        } else {
            Self::Run
        }
    }
}

/// Returns true if a script on the command line opens files for writing.
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
    if command.heredoc.is_empty() { command.arguments().any(writes) } else { writes(command.heredoc) }
}

/// Writes the program of a simple command as rules name it, with the subcommand if that decides what it does: `pytest`,
/// `python -m unittest`, `git commit`, `npm test`.
pub(crate) fn write_program(command: &Command<'_>, meaning: Meaning, tool: &str, out: &mut String) {
    let name = command.program;
    let mut rest = command.arguments();
    if name.starts_with("python") || name.starts_with("pypy") {
        out.push_str("python");
        if let (Some(_), Some(module)) = (rest.find(|word| *word == "-m"), rest.next()) {
            out.push_str(" -m ");
            out.push_str(module);
        }
        return;
    }
    out.push_str(name);
    let is_own = |sub: &&str| name == tool && Does::of_tool(sub) != Does::Run;
    let Some(subcommand) =
        command.subcommand().filter(|sub| meaning.is(Meaning::SUBCOMMANDED) || is_own(sub))
    else {
        return;
    };
    let mut add = |word: &str| {
        out.push(' ');
        out.push_str(word);
    };
    if matches!(subcommand, "run" | "run-script") && matches!(name, "npm" | "pnpm" | "yarn") {
        add("run");
        rest.skip_while(|word| *word != subcommand).nth(1).into_iter().for_each(add);
    } else {
        add(subcommand);
    }
}

/// The kind of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Check {
    /// Code given on the command line.
    Snippet,
    /// A script.
    Script,
    /// The form of the code: a linter, a type checker.
    Form,
    /// Tests or a build.
    Tests,
}

impl Check {
    /// Returns the kind of check of a simple command that runs something, and the base name of the script that it runs.
    pub(crate) fn of_command(command: &Command<'_>, meaning: Meaning) -> (Option<Self>, Option<String>) {
        let mut options = command.arguments().take(3);
        let is_interpreter =
            meaning.is(Meaning::INTERPRETER) && !options.clone().any(|option| option == "-m");
        if is_interpreter
            && (!command.heredoc.is_empty() || options.any(|option| matches!(option, "-c" | "-e" | "-p")))
        {
            return (Some(Self::Snippet), None);
        }
        let words = || command.words().take(7).filter(|word| !word.starts_with('-'));
        let is_local = |path: &str| ["./", "../", "/"].iter().any(|start| path.starts_with(start));
        let is_system =
            |path: &str| ["/usr/", "/bin/", "/sbin/", "/opt/"].iter().any(|start| path.starts_with(start));
        let script = words()
            .nth(1)
            .filter(|_| is_interpreter)
            .or_else(|| Some(command.path()).filter(|path| is_local(path) && !is_system(path)));
        let script = script.map(|script| last_part(script).to_lowercase());
        let mut said = Meaning::default();
        let mut hear = |word: &str| said.0 |= Meaning::of(&lower(word)).0;
        if script.as_deref().is_none_or(|script| matches!(script, "manage.py" | "setup.py")) {
            let words = words().filter(|word| word.len() < 80);
            words.flat_map(|word| last_part(word).split([' ', ':', '.', '-'])).for_each(&mut hear);
        }
        script.as_deref().and_then(|script| script.split('.').next()).into_iter().for_each(&mut hear);
        let check = if said.is(Meaning::CHECKS_FORM) {
            Some(Self::Form)
        } else if said.is(Meaning::CHECKS) {
            Some(Self::Tests)
        } else {
            script.as_ref().map(|_| Self::Script)
        };
        (check, script)
    }

    /// Returns the kind of check if the name of a tool says that it checks: `run_tests`, `lint`.
    pub(crate) fn of_tool(name: &str) -> Option<Self> {
        const CHECKS: [&str; 8] =
            ["build", "check", "compile", "lint", "pytest", "test", "tests", "typecheck"];
        let is_check = |word: &str| CHECKS.contains(&&*lower(word));
        let only =
            words(name).all(|word| is_check(word) || Meaning::of(&lower(word)).is(Meaning::NEAR_CHECK));
        (only && words(name).any(is_check)).then_some(Self::Tests)
    }
}

/// Returns the base name of the file that a simple command writes: `?` if it is not named, `None` if none is written.
pub(crate) fn written_file(command: &Command<'_>) -> Option<String> {
    let base = |path: &str| last_part(path).to_lowercase();
    if let Some(file) = command.writes {
        return Some(base(file));
    }
    let unnamed = || "?".to_owned();
    match command.program {
        "sed" | "tee" => command.arguments().rfind(|word| !word.starts_with('-')).map(base),
        "patch" | "apply_patch" | "applypatch" => {
            Some(patched_file(command.heredoc).map_or_else(unnamed, base))
        }
        "git" if command.subcommand() == Some("apply") => Some(unnamed()),
        program if program.starts_with("python") => {
            let code = match command.heredoc {
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

/// Returns what the commands of a normalized text install: packages without versions, files and folders, or the
/// installer if none is named.
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

/// Returns true if this subcommand of a program installs something.
pub(crate) fn installs(program: &str, subcommand: &str) -> bool {
    Meaning::of(program).is(Meaning::INSTALLER) && Meaning::of(subcommand).is(Meaning::INSTALLS)
}

/// Returns true if a program or tool looks for something that may not be there.
pub(crate) fn is_search(program: &str) -> bool {
    Meaning::of(program.strip_prefix("git ").unwrap_or(program)).is(Meaning::SEARCHES)
}

/// Returns a word in lower case.
pub(crate) fn lower(word: &str) -> Cow<'_, str> {
    let is_lower = word.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase());
    if is_lower { Cow::Borrowed(word) } else { Cow::Owned(word.to_lowercase()) }
}

/// Returns the words of a name: cut at camel-case borders and at everything that is not a letter or digit.
pub(crate) fn words(name: &str) -> impl Iterator<Item = &str> {
    let mut rest = name;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
        let bytes = rest.as_bytes();
        let ends = |pair: &[u8]| match pair {
            [before, here] => {
                !here.is_ascii_alphanumeric() || here.is_ascii_uppercase() && !before.is_ascii_uppercase()
            }
            _ => true,
        };
        let length = bytes.windows(2).position(ends).map_or(bytes.len(), |at| at + 1);
        let (word, after) = rest.split_at_checked(length)?;
        rest = after;
        (!word.is_empty()).then_some(word)
    })
}
