//! The words before the program of a command: assignments, keywords, and programs that run another one; and the options
//! before a subcommand.

use std::borrow::Cow;

use super::shell::last_part;

/// Programs that run the command after them.
struct Wrapper {
    names: &'static [&'static str],
    /// The subcommand that must follow, word by word.
    subcommand: &'static [&'static str],
    /// Options that take a value.
    valued: &'static [&'static str],
    /// Number of words after the options that belong to the wrapper, such as the time limit of `timeout`.
    words: usize,
}

const VALUED: &[&str] = &["-u", "-g", "-k", "-n", "-s", "-C", "--signal", "--kill-after"];

const IN_CONTAINER: &[&str] = &["-e", "-u", "-w", "--env", "--index", "--user", "--workdir"];

const OF_CONTAINER: &[&str] = &[
    "-e",
    "-p",
    "-u",
    "-v",
    "-w",
    "--entrypoint",
    "--env",
    "--mount",
    "--name",
    "--network",
    "--platform",
    "--user",
];

#[rustfmt::skip]
const WRAPPERS: [Wrapper; 12] = [
    Wrapper {
        names: &["builtin", "command", "doas", "env", "exec", "ionice", "nice", "nohup", "setsid", "stdbuf", "sudo",
            "xvfb-run"],
        subcommand: &[], valued: VALUED, words: 0,
    },
    Wrapper { names: &["time"], subcommand: &[], valued: &["-f", "-o", "--format", "--output"], words: 0 },
    Wrapper { names: &["cmd", "cmd.exe"], subcommand: &["/c"], valued: &[], words: 0 },
    Wrapper { names: &["timeout"], subcommand: &[], valued: VALUED, words: 1 },
    Wrapper {
        names: &["xargs"], subcommand: &[], valued: &["-a", "-d", "-E", "-I", "-L", "-n", "-P", "-s"], words: 0,
    },
    // In a container: `docker compose exec -T app pytest`.
    Wrapper { names: &["docker", "podman"], subcommand: &["exec"], valued: IN_CONTAINER, words: 1 },
    Wrapper { names: &["docker", "podman"], subcommand: &["compose", "exec"], valued: IN_CONTAINER, words: 1 },
    Wrapper { names: &["docker", "podman"], subcommand: &["run"], valued: OF_CONTAINER, words: 1 },
    Wrapper { names: &["docker-compose"], subcommand: &["exec"], valued: IN_CONTAINER, words: 1 },
    // In its environment: `uv run pytest`.
    Wrapper {
        names: &["hatch", "pdm", "pipenv", "poetry", "uv"], subcommand: &["run"],
        valued: &["-p", "--python", "--with", "--extra", "--group", "--env-file", "--project"], words: 0,
    },
    Wrapper { names: &["bunx", "npx"], subcommand: &[], valued: &["-p", "--package"], words: 0 },
    Wrapper { names: &["bundle", "pnpm"], subcommand: &["exec"], valued: &[], words: 0 },
];

const KEYWORDS: [&str; 10] = ["!", "{", "}", "if", "then", "elif", "else", "while", "until", "do"];

/// Returns how many words precede the program.
pub(super) fn before_program(words: &[Cow<'_, str>]) -> usize {
    let mut at = 0;
    while let [word, after @ ..] = words.get(at..).unwrap_or_default() {
        let name = last_part(word);
        let [next, second] = [0, 1].map(|place| after.get(place).map_or("", |word| word));
        at += if is_assignment(word) || KEYWORDS.contains(&&**word) || (name, next) == ("uv", "pip") {
            1
        } else if name.starts_with("python") && next == "-m" && installer(second) == "pip" {
            2
        } else if let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.fits(name, after)) {
            // `docker run -d postgres` names no program.
            let program = 1 + wrapper.own_words(after);
            if wrapper.words > 0 && after.get(program - 1).is_none_or(|word| word.starts_with('-')) {
                break;
            }
            program
        } else {
            break;
        };
    }
    at.min(words.len())
}

impl Wrapper {
    fn fits(&self, name: &str, after: &[Cow<'_, str>]) -> bool {
        let words = after.iter().map(|word| &**word);
        // `command -v git` looks up a program and runs none.
        self.names.contains(&name)
            && words.take(self.subcommand.len()).eq(self.subcommand.iter().copied())
            && !(name == "command" && after.first().is_some_and(|next| next.starts_with('-')))
    }

    /// Returns how many of the words after its name belong to the wrapper.
    fn own_words(&self, words: &[Cow<'_, str>]) -> usize {
        let mut own = self.subcommand.len();
        while let Some(option) = words.get(own).filter(|word| word.starts_with('-')) {
            own += 1 + usize::from(self.valued.contains(&&**option));
        }
        own + self.words
    }
}

pub(super) fn is_assignment(word: &str) -> bool {
    let Some(equals) = memchr::memchr(b'=', word.as_bytes()) else { return false };
    let name = word.get(..equals).unwrap_or_default();
    let name = name.strip_suffix('+').unwrap_or(name);
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Returns `pip` for any of its spellings, else the program as it is.
pub(super) fn installer(program: &str) -> &str {
    let version = program.strip_prefix("pip").unwrap_or("-");
    if version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') { "pip" } else { program }
}

/// Returns the options that a program takes before its subcommand, each with a value in the next word.
pub(super) fn valued_options(program: &str) -> &'static [&'static str] {
    match program {
        "docker" => &["-H", "--host", "--context"],
        "gh" => &["-R", "--repo"],
        "git" => &["-C", "-c", "--git-dir", "--work-tree"],
        "go" | "make" | "mvn" | "poetry" => &["-C", "-f", "--directory"],
        "kubectl" => &["-n", "--context", "--kubeconfig", "--namespace"],
        "npm" => &["-C", "-w", "--prefix", "--workspace"],
        "pnpm" => &["-C", "-F", "--dir", "--filter"],
        "uv" => &["--directory", "--project"],
        "yarn" => &["--cwd"],
        _ => &[],
    }
}
