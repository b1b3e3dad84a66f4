//! The words that the rules know, in lists: words of tool names, of argument names, and of command lines.

use std::borrow::Cow;
use std::sync::LazyLock;

use crate::trace::TextMap;

/// The lists that contain a word, one bit for each list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Meaning(u64);

/// Declares the lists. Words must be shorter than 16 bytes: `Lexicon::lengths` has one bit for each length.
macro_rules! lists {
    ($($(#[$docs:meta])+ $name:ident: $words:literal;)+) => {
        #[expect(clippy::upper_case_acronyms, reason = "the names of the constants")]
        #[expect(non_camel_case_types, reason = "the names of the constants")]
        enum Bit { $($name),+ }

        impl Meaning {
            $($(#[$docs])+ pub(crate) const $name: Self = Self(1 << Bit::$name as u64);)+
        }

        const LISTS: &[(Meaning, &str)] = &[$((Meaning::$name, $words)),+];
    };
}

lists! {
    /// In the name of a tool: it records a plan or a thought, wherever the word stands.
    NOTES: "intent memory note notes plan task think thought todo todos";
    /// In the name of a tool: it looks at something. If the name has words of this list and the next two, the
    /// first of them decides.
    LOOKS: "browse calculate cat check count describe examine fetch find get glob go goto grep health info inspect list \
        log look lookup ls lsp monitor open ping poll preview print query read scroll search show state status test \
        verify view wait";
    /// In the name of a tool: it changes something.
    CHANGES: "add apply applypatch book cancel change commit connect create delete disable disconnect drop edit \
        enable exchange fill grant insert install modify move patch pay post push put reboot remove rename replace \
        reset return revoke save send set submit take toggle transfer update upload write";
    /// In the name of a tool: it moves to another page, place or directory, which changes what later calls find.
    MOVES: "cd chdir click drag hover press scroll swipe tap";
    /// In the name of a tool: it hands over to a human.
    HANDOVER: "escalate handoff handover";
    /// In the name of a tool: it hands over to a human if the name also has a word of the next list.
    TRANSFER: "transfer";
    /// In the name of a tool: the word refers to a human.
    HUMAN: "human agent agents representative operator support specialist";
    /// In the name of a tool: it is a shell.
    SHELL: "bash powershell pwsh sh shell terminal zsh";
    /// In the name of a tool: it runs something.
    RUN: "exec execute interpreter repl run";
    /// In the name of a tool: it is given a command line.
    LINE: "cmd command commands in local";
    /// In the name of a tool: it runs Python code.
    PYTHON: "ipython jupyter python python3";
    /// In the name of a tool: it runs JavaScript code.
    JAVASCRIPT: "javascript js nodejs";
    /// In the name of a tool: it runs code, if the name also has a word for running.
    CODE: "code interpreter repl";
    /// In the name of a tool: it checks something.
    CHECK: "build check compile lint pytest test tests typecheck";
    /// In the name of a tool: the word may accompany a word of the previous list.
    NEAR_CHECK: "all code exec execute project run script suite unit";
    /// In the name of a tool or program: it may find nothing.
    FIND: "find glob grep search";
    /// In the name of a tool: it edits a file.
    EDIT: "append create edit insert patch replace write";
    /// At the end of the name of an argument: its value identifies what a call is about.
    ID: "code email id key number path url";
    /// In the name of an argument: it identifies something other than the target of the call, such as the user.
    ASIDE: "account card customer method pay payment session timeout user";
    /// A program that reads.
    READS: "Get-ChildItem Get-Command Get-Content Get-Item Measure-Object Select-String Sort-Object Test-Path Where-Object [ ag awk basename cat cmp command cut date df diff dirname du echo egrep env fd fgrep file find free grep head \
        id jq less ls lsof more nl od pgrep pidof printenv printf ps pwd readlink realpath rg sed sleep sort ss stat tail \
        test tr tree type uname uniq wc whereis which whoami xxd";
    /// A program that changes something. A program in neither this nor the previous list runs something.
    WRITES: "Add-Content Copy-Item Move-Item New-Item Out-File Remove-Item Set-Content Stop-Process apply_patch applypatch chmod chown cp dd install kill killall ln mkdir mv patch pkill rm rsync scp service \
        systemctl tar taskkill tee touch truncate unzip useradd";
    /// A subcommand that changes what later commands find.
    ALTERS: "clean codegen down generate init migrate reset restart seed start stop typegen up";
    /// A program that only prepares for other commands.
    SCENE: ". : alias break case cd continue declare done esac eval exit export fi for local popd pushd readonly set shopt source true \
        ulimit unset wait";
    /// The name of a database client, up to the first `-`.
    DATABASE: "clickhouse duckdb mariadb mysql psql sqlite3";
    /// The first word of a statement that changes a database.
    STATEMENTS: "alter create delete drop insert merge replace truncate update upsert";
    /// A shell builtin that changes what later commands find.
    SETS: ". export source unset";
    /// A program that shortens its input from a pipe.
    FILTER: "Format-List Format-Table Out-Null Out-String Select-Object cat head less more tail";
    /// A program whose subcommand says what it does.
    SUBCOMMANDED: "apt apt-get bun cargo conda deno docker dotnet gh git go kubectl make mise mvn npm opam pip pnpm poetry service \
        systemctl uv yarn";
    /// A subcommand of git that reads.
    GIT_READS: "blame branch cat-file describe diff grep log ls-files ls-remote remote rev-parse show status tag";
    /// A program that installs packages.
    INSTALLER: "apk apt apt-get brew bun cargo conda dnf gem go mamba npm opam pip pnpm poetry rustup uv yarn yum";
    /// A subcommand of installers that changes something.
    INSTALLS: "add ci get i install remove sync uninstall update upgrade";
    /// A subcommand of installers that reads.
    LISTS: "freeze list search show";
    /// A program that manages services or containers.
    MANAGES: "docker kubectl nerdctl podman systemctl";
    /// A subcommand of programs in the previous list that reads.
    INSPECTS: "describe get images inspect is-active logs ls port ps status top";
    /// A program, script or subcommand that checks code.
    CHECKS: "check clippy compileall ctest django doctest eslint flake8 jest karma lint mocha mypy nose \
        nosetests nox pest phpunit py_compile pyright pytest rspec ruff runtests spec test tests tox tsc \
        typecheck unittest verify vet vitest";
    /// A build, unless another word says what it checks.
    CHECKS_BUILD: "build cc clang cmake cobc compile g++ gcc javac make rustc";
    /// A check of form alone, such as a linter.
    CHECKS_FORM: "bandit black clippy compileall eslint flake8 hadolint isort lint mypy phpstan prettier py_compile \
        pylint pyright rubocop ruff shellcheck tsc typecheck yamllint";
    /// A check of form that finds code that cannot run.
    CHECKS_TYPES: "clippy compileall mypy phpstan py_compile pyright tsc typecheck vue-tsc";
    /// A program that runs a script or code that it is given.
    INTERPRETER: "bash bun java julia lua node perl php python python3 ruby Rscript sh ts-node tsx";
    /// A program or tool that fails, or answers nothing, if it finds nothing.
    SEARCHES: "Select-String Test-Path [ ag cmp command diff egrep fd fgrep find glob grep ls pgrep pidof rg test type which";
}

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

impl Meaning {
    /// Returns the lists that contain a word as it is spelled.
    pub(crate) fn of(word: &str) -> Self {
        let lengths = word.bytes().next().and_then(|first| LEXICON.lengths.get(usize::from(first)));
        let may_hold = lengths.is_some_and(|lengths| word.len() < 16 && lengths >> word.len() & 1 != 0);
        if may_hold { LEXICON.words.get(word).copied().unwrap_or_default() } else { Self::default() }
    }

    /// Returns, for each word of a name, the lists that contain it, ignoring case.
    pub(crate) fn of_words(name: &str) -> impl Iterator<Item = Self> {
        words(name).map(|word| Self::of(&lower(word)))
    }

    /// Returns the lists that contain at least one of these words, ignoring case.
    pub(crate) fn of_any<W: AsRef<str>>(words: impl IntoIterator<Item = W>) -> Self {
        Self(words.into_iter().fold(0, |all, word| all | Self::of(&lower(word.as_ref())).0))
    }

    /// Returns true if any of the lists in `other` contains the word.
    pub(crate) fn is(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(crate) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Returns a word in lower case.
pub(crate) fn lower(word: &str) -> Cow<'_, str> {
    let is_lower = word.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase());
    if is_lower { Cow::Borrowed(word) } else { Cow::Owned(word.to_lowercase()) }
}

/// Returns the words of a name: split at camel-case boundaries and at everything that is not a letter or digit.
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
