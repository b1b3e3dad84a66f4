//! What a call does: it reads, changes something, runs something, or only notes something down.

use std::sync::LazyLock;

use super::shell::{Command, last_part};
use crate::trace::{TextMap, TextSet};

/// A set of words, written as one text.
struct Words(LazyLock<TextSet<&'static str>>);

impl Words {
    const fn new(fill: fn() -> TextSet<&'static str>) -> Self {
        Self(LazyLock::new(fill))
    }

    fn has(&self, word: &str) -> bool {
        self.0.contains(word)
    }
}

macro_rules! words {
    ($words:literal) => {
        Words::new(|| $words.split_ascii_whitespace().collect())
    };
}

/// What a call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Does {
    /// Looks at something and leaves it as it is.
    Read,
    /// Changes something.
    Write,
    /// Runs something that may do anything.
    Run,
    /// Keeps a plan or a thought.
    Note,
}

type Table = LazyLock<TextMap<&'static str, Does>>;

/// Words in the names of tools. A word for notes decides wherever it stands; of the others, the first one.
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

/// Programs of command lines; those in neither list run something.
static PROGRAMS: Table = LazyLock::new(|| {
    table(&[
        (
            Does::Read,
            "[ ag awk basename cat cmp command cut date df diff dirname du echo egrep env fd fgrep file find free \
             grep head id jq less ls lsof more nl od printenv printf ps pwd readlink realpath rg sed sleep sort ss \
             stat tail test tr tree type uname uniq wc whereis which whoami xxd",
        ),
        (
            Does::Write,
            "apply_patch applypatch chmod chown cp dd install kill killall ln mkdir mv patch pkill rm rsync scp service \
             systemctl tar tee touch truncate unzip useradd",
        ),
    ])
});

/// Programs that say what they do by their subcommand.
static SUBCOMMANDED: Words = words!(
    "apt apt-get cargo conda docker dotnet gh git go kubectl make mise mvn npm opam pip pnpm \
                            poetry service systemctl uv yarn"
);
static GIT_READS: Words = words!(
    "blame branch cat-file describe diff grep log ls-files ls-remote remote rev-parse show status tag"
);
static INSTALLERS: Words =
    words!("apk apt apt-get brew cargo conda dnf gem go mamba npm opam pip pnpm poetry rustup uv yarn yum");
static INSTALLS: Words = words!("add ci get i install remove sync uninstall update upgrade");
static LISTS: Words = words!("freeze list search show");

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

/// Words of programs, scripts and subcommands that check something; those of the second list look at the form alone.
static CHECKS: Words = words!(
    "build cc check clang clippy cmake cobc compile compileall ctest django doctest eslint flake8 g++ \
                      gcc jest javac karma lint make mocha mypy nose nosetests nox phpunit py_compile pyright pytest \
                      rspec ruff runtests rustc spec test tests tox tsc typecheck unittest verify vet vitest"
);
static FORM_CHECKS: Words =
    words!("clippy compileall eslint flake8 lint mypy py_compile pyright ruff tsc typecheck");
/// Programs that run a script or code that they are given.
static INTERPRETERS: Words =
    words!("bash bun java julia lua node perl php python python3 ruby Rscript sh ts-node tsx");
/// Words beside which the name of a tool that checks holds no others.
static CHECK_TOOL_WORDS: Words = words!("all code exec execute project run script suite unit");

/// Programs and tools that say "nothing found" by failing, or by an empty answer.
static SEARCHES: Words =
    words!("[ ag cmp command diff egrep fd fgrep find glob grep ls pgrep rg test type which");

fn table(lists: &[(Does, &'static str)]) -> TextMap<&'static str, Does> {
    lists.iter().flat_map(|(does, words)| words.split_whitespace().map(|word| (word, *does))).collect()
}

impl Does {
    /// What a tool does, by the words of its name: `get_order` reads, `editFile` writes, `bash` runs.
    pub(crate) fn of_tool(name: &str) -> Self {
        let mut first = None;
        for word in words(name) {
            match TOOL_WORDS.get(word.as_str()) {
                Some(Self::Note) => return Self::Note,
                found => first = first.or(found.copied()),
            }
        }
        first.unwrap_or(Self::Run)
    }

    /// What a simple command does. `tool` is the tool that it was given to, which may itself be called like a program.
    pub(crate) fn of_command(command: &Command, tool: &str) -> Self {
        let (program, subcommand) = (command.program(), command.subcommand().unwrap_or_default());
        if command.writes.is_some() {
            return Self::Write;
        }
        match program {
            "" => Self::Read,
            "sed"
                if command
                    .arguments()
                    .any(|word| word.starts_with("-i") || word.starts_with("--in-place")) =>
            {
                Self::Write
            }
            "git" if GIT_READS.has(subcommand) => Self::Read,
            "git" => Self::Write,
            _ if INSTALLERS.has(program) && INSTALLS.has(subcommand) => Self::Write,
            _ if INSTALLERS.has(program) && LISTS.has(subcommand) => Self::Read,
            _ if program == tool => match Self::of_tool(subcommand) {
                Self::Run => Self::of_tool(tool),
                does => does,
            },
            _ => match PROGRAMS.get(program) {
                Some(does) => *does,
                None if writes_files(command) => Self::Write,
                None => Self::Run,
            },
        }
    }
}

/// Whether a script on the command line opens files for writing.
fn writes_files(command: &Command) -> bool {
    let writes = |code: &str| {
        WRITING_CODE.iter().any(|call| code.contains(call))
            || code.match_indices("open(").any(|(at, _)| {
                let given = code.get(at..).and_then(|rest| rest.split(')').next()).unwrap_or_default();
                ["'w", "\"w", "'a", "\"a", "'x", "\"x"].iter().any(|mode| given.contains(mode))
            })
    };
    if command.heredoc.is_empty() { command.arguments().any(writes) } else { writes(&command.heredoc) }
}

/// The program of a simple command as rules name it, with its subcommand where that says what is done: `pytest`,
/// `python -m unittest`, `git commit`, `npm test`.
pub(crate) fn program(command: &Command, tool: &str) -> String {
    let name = command.program();
    let mut rest = command.arguments();
    if name.starts_with("python") || name.starts_with("pypy") {
        return match (rest.find(|word| *word == "-m"), rest.next()) {
            (Some(_), Some(module)) => format!("python -m {module}"),
            _ => "python".to_owned(),
        };
    }
    let name = if name == "pip3" { "pip" } else { name };
    let is_own = |sub: &&str| name == tool && Does::of_tool(sub) != Does::Run;
    match command.subcommand().filter(|sub| SUBCOMMANDED.has(name) || is_own(sub)) {
        Some(sub @ ("run" | "run-script")) if matches!(name, "npm" | "pnpm" | "yarn") => {
            let script = rest.skip_while(|word| *word != sub).nth(1);
            script.map_or_else(|| format!("{name} run"), |script| format!("{name} run {script}"))
        }
        Some(subcommand) => format!("{name} {subcommand}"),
        None => name.to_owned(),
    }
}

/// What a call checks by running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Check {
    /// Code given on the command line.
    Snippet,
    /// A script.
    Script,
    /// The form of the code: a linter, a type checker.
    Form,
    /// What the code does: tests, a build.
    Tests,
}

impl Check {
    /// What a simple command that runs something checks, and the script that it runs, by its base name.
    pub(crate) fn of_command(command: &Command) -> (Option<Self>, Option<String>) {
        let words: Vec<&str> =
            command.words.iter().take(7).map(String::as_str).filter(|w| !w.starts_with('-')).collect();
        let is_interpreter = INTERPRETERS.has(command.program());
        let options: Vec<&str> = command.arguments().take(3).collect();
        let is_module = options.contains(&"-m");
        if is_interpreter
            && !is_module
            && (!command.heredoc.is_empty() || options.iter().any(|o| matches!(*o, "-c" | "-e" | "-p")))
        {
            return (Some(Self::Snippet), None);
        }
        let is_local = |path: &str| ["./", "../", "/"].iter().any(|start| path.starts_with(start));
        let is_system =
            |path: &str| ["/usr/", "/bin/", "/sbin/", "/opt/"].iter().any(|start| path.starts_with(start));
        let script = match words.get(1) {
            Some(script) if is_interpreter && !is_module => Some(*script),
            _ if is_local(&command.path) && !is_system(&command.path) => Some(command.path.as_str()),
            _ => None,
        };
        let script = script.map(|script| last_part(script).to_lowercase());
        let is_task = matches!(script.as_deref(), Some("manage.py" | "setup.py"));
        let stem = script.as_deref().and_then(|script| script.split('.').next()).unwrap_or_default();
        let words = words.into_iter().filter(|word| word.len() < 80 && (script.is_none() || is_task));
        let parts = words.flat_map(|word| last_part(word).split([' ', ':', '.', '-'])).map(str::to_lowercase);
        let named: Vec<String> = parts.chain([stem.to_owned()]).filter(|word| CHECKS.has(word)).collect();
        let check = match named.as_slice() {
            [] => script.as_ref().map(|_| Self::Script),
            named if named.iter().any(|word| FORM_CHECKS.has(word)) => Some(Self::Form),
            _ => Some(Self::Tests),
        };
        (check, script)
    }

    /// Whether a tool checks something by its name: `run_tests`, `lint`.
    pub(crate) fn of_tool(name: &str) -> Option<Self> {
        let is_check = |word: &String| {
            matches!(
                word.as_str(),
                "build" | "check" | "compile" | "lint" | "pytest" | "test" | "tests" | "typecheck"
            )
        };
        let all: Vec<String> = words(name).collect();
        let only = all.iter().all(|word| is_check(word) || CHECK_TOOL_WORDS.has(word));
        (only && all.iter().any(is_check)).then_some(Self::Tests)
    }
}

/// The file that a simple command writes, by its base name; `?` if it writes one that is not named, `None` if none.
pub(crate) fn written_file(command: &Command) -> Option<String> {
    let base = |path: &str| last_part(path).to_lowercase();
    if let Some(file) = &command.writes {
        return Some(base(file));
    }
    let last = || command.arguments().filter(|word| !word.starts_with('-')).last();
    match command.program() {
        "sed" | "tee" => last().map(base),
        "patch" | "apply_patch" | "applypatch" => {
            Some(patched_file(&command.heredoc).map_or_else(|| "?".to_owned(), base))
        }
        "git" if command.subcommand() == Some("apply") => Some("?".to_owned()),
        program if program.starts_with("python") => {
            let code =
                if command.heredoc.is_empty() { command.words.join(" ") } else { command.heredoc.clone() };
            let file =
                code.split(['\'', '"']).skip(1).step_by(2).find(|text| super::call::is_path(text)).map(base);
            Some(file.unwrap_or_else(|| "?".to_owned()))
        }
        _ => None,
    }
}

/// The first file that a patch names.
pub(crate) fn patched_file(patch: &str) -> Option<&str> {
    const HEADERS: [&str; 4] = ["*** Update File: ", "*** Add File: ", "*** Delete File: ", "+++ b/"];
    patch.lines().find_map(|line| HEADERS.iter().find_map(|header| line.strip_prefix(header))).map(str::trim)
}

/// Whether a program is one of the system's, which does not run what is worked on.
pub(crate) fn is_system(program: &str) -> bool {
    let (name, subcommand) = program.split_once(' ').unwrap_or((program, ""));
    PROGRAMS.contains_key(name)
        || matches!(name, "curl" | "docker" | "gh" | "git" | "kubectl" | "ssh" | "wget")
        || INSTALLERS.has(name) && INSTALLS.has(subcommand)
}

/// Whether a program runs a script or code that it is given.
pub(crate) fn is_interpreter(program: &str) -> bool {
    INTERPRETERS.has(program)
}

/// Whether a program or tool looks for something that may not be there.
pub(crate) fn is_search(program: &str) -> bool {
    SEARCHES.has(program.strip_prefix("git ").unwrap_or(program))
}

/// The words of a name, in lower case: cut at camel-case borders and at everything that is not a letter or digit.
pub(crate) fn words(name: &str) -> impl Iterator<Item = String> {
    name.split(|c: char| !c.is_ascii_alphanumeric()).flat_map(|part| {
        let mut cuts = vec![0];
        let bytes = part.as_bytes();
        cuts.extend((1..bytes.len()).filter(|&at| {
            let [before, here] = [at - 1, at].map(|at| bytes.get(at).copied().unwrap_or_default());
            here.is_ascii_uppercase() && !before.is_ascii_uppercase()
        }));
        cuts.push(bytes.len());
        let word = |ends: &[usize]| match ends {
            [start, end] => part.get(*start..*end).unwrap_or_default().to_ascii_lowercase(),
            _ => String::new(),
        };
        cuts.windows(2).map(word).filter(|word| !word.is_empty()).collect::<Vec<_>>()
    })
}
