//! The program in a command line: what a tool is whose name says no more than that it is a shell.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::shell_words::{Lexer, Token};
use crate::json::{Json, Kind, Raw};
use crate::trace::{Action, Arguments, Digest};

/// How many shells within shells are looked into.
const MAX_SHELLS: u8 = 4;

/// The shell tools of common agents, each with the argument that holds its command line.
#[must_use]
pub fn default_subtools() -> BTreeMap<String, String> {
    let tools = [
        ("Bash", "command"),
        ("bash", "command"),
        ("bash_command", "keystrokes"),
        ("command_execution", "command"),
        ("container.exec", "cmd"),
        ("exec", "command"),
        ("exec_command", "cmd"),
        ("execute_bash", "command"),
        ("execute_command", "command"),
        ("local_shell", "command"),
        ("run_command", "command"),
        ("run_shell_command", "command"),
        ("run_terminal_cmd", "command"),
        ("shell", "command"),
        ("shell_command", "command"),
        ("terminal", "command"),
    ];
    tools.into_iter().map(|(tool, argument)| (tool.to_owned(), argument.to_owned())).collect()
}

/// Shell tools, made ready.
#[derive(Debug)]
pub(super) struct Subtools {
    /// By the digest of the name.
    arguments: Vec<(Digest, String)>,
    needs_texts: bool,
}

impl Subtools {
    pub(super) fn new(tools: &BTreeMap<String, String>) -> Self {
        Self {
            // Where a reader keeps no texts, a list of one's own asks for them.
            needs_texts: !tools.is_empty() && *tools != default_subtools(),
            arguments: tools
                .iter()
                .map(|(tool, argument)| (Digest::of_text(tool), argument.clone()))
                .collect(),
        }
    }

    pub(super) fn needs_texts(&self) -> bool {
        self.needs_texts
    }

    /// The place in the list of the tool with this name.
    pub(super) fn command(&self, name: Digest) -> Option<usize> {
        self.arguments.iter().position(|(tool, _)| *tool == name)
    }

    /// The program that the action runs, where the tool is the one at this place of the list.
    pub(super) fn program(&self, command: usize, action: &Action<'_>) -> Option<String> {
        let (_, argument) = self.arguments.get(command)?;
        let json = action.arguments.as_ref().present().and_then(Arguments::json)?;
        match command_line(json, argument)? {
            Line::Text(line) => program(&line, MAX_SHELLS),
            Line::Words(words) => program_of(&words, MAX_SHELLS),
        }
    }
}

/// A command line as arguments hold it.
enum Line<'a> {
    Text(Cow<'a, str>),
    Words(Vec<String>),
}

/// The command line that is the argument of this name, or the only argument.
fn command_line<'a>(json: &'a str, argument: &str) -> Option<Line<'a>> {
    let (mut named, mut only, mut is_alone) = (None, None::<(Vec<u8>, Raw<'_>)>, true);
    let mut reader = Json::new(json.as_bytes());
    let read = reader.object(|key, value| {
        let value = value.checked()?;
        if key == argument.as_bytes() {
            named = Some(value);
        }
        is_alone &= only.as_ref().is_none_or(|(first, _)| *first == key);
        only = Some((key.to_vec(), value));
        Ok(())
    });
    if read.is_err() || reader.peek_byte().is_some() {
        return None;
    }
    let value = named.or(only.filter(|_| is_alone).map(|(_, value)| value))?;
    match value.kind() {
        Kind::String => value.string().map(Line::Text),
        Kind::List => {
            let words = value.items()?.into_iter().map(|word| word.string().map(Cow::into_owned));
            words.collect::<Option<_>>().map(Line::Words)
        }
        _ => None,
    }
}

/// The program of a command line: that of the first command that does more than set the scene.
fn program(line: &str, shells: u8) -> Option<String> {
    let mut words = Vec::new();
    let mut lexer = Lexer::new(line);
    loop {
        match lexer.token() {
            Some(Token::Word(word)) => words.push(word),
            Some(Token::End) => {
                if let Some(found) = program_of(&words, shells) {
                    return Some(found);
                }
                words.clear();
            }
            None => return program_of(&words, shells),
        }
    }
}

/// What may stand before a command: the name, its options that take a value, and how many words follow them.
const WRAPPERS: [(&str, &[&str], usize); 14] = [
    ("sudo", &["-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "-U"], 0),
    ("doas", &["-u", "-C"], 0),
    ("env", &["-u", "-C", "--unset", "--chdir"], 0),
    ("time", &["-f", "-o"], 0),
    ("timeout", &["-s", "-k", "--signal", "--kill-after"], 1),
    ("nohup", &[], 0),
    ("nice", &["-n"], 0),
    ("ionice", &["-c", "-n"], 0),
    ("stdbuf", &["-i", "-o", "-e"], 0),
    ("setsid", &[], 0),
    ("exec", &["-a"], 0),
    ("command", &[], 0),
    ("builtin", &[], 0),
    ("xvfb-run", &["-s", "-n", "-e"], 0),
];

/// Words of the shell's own that stand before a command.
const KEYWORDS: [&str; 11] = ["!", "{", "}", "if", "then", "elif", "else", "while", "until", "do", "fi"];

/// The program of one simple command; `None` where it only sets the scene.
fn program_of(words: &[String], shells: u8) -> Option<String> {
    let mut rest = words;
    loop {
        let (first, behind) = rest.split_first()?;
        let name = base_name(first);
        if KEYWORDS.contains(&first.as_str()) || is_assignment(first) {
            rest = behind;
        } else if let Some((_, valued, positional)) = WRAPPERS.iter().find(|(wrapper, ..)| *wrapper == name) {
            if name == "command" && behind.first().is_some_and(|word| word == "-v" || word == "-V") {
                return Some(name.to_owned());
            }
            rest = behind_options(behind, valued);
            let assignments = rest.iter().take_while(|word| is_assignment(word)).count();
            rest = rest.get(assignments + positional..)?;
        } else {
            break;
        }
    }
    let (first, arguments) = rest.split_first()?;
    let name = base_name(first);
    let sub = |valued: &[&str]| behind_options(arguments, valued).first().map(String::as_str);
    let found = match name {
        "cd" | "for" | "case" | "select" | "done" | "esac" | "" => return None,
        "export" | "declare" | "local" | "readonly" if arguments.iter().any(|word| is_assignment(word)) => {
            return None;
        }
        "bash" | "sh" | "zsh" | "dash" | "ash" => {
            let inline = arguments.iter().position(|word| word.starts_with('-') && word.ends_with('c'));
            match inline.and_then(|at| arguments.get(at + 1)).filter(|_| shells > 0) {
                Some(line) => return program(line, shells - 1),
                None => name.to_owned(),
            }
        }
        "git" => joined(name, sub(&["-C", "-c", "--git-dir", "--work-tree"])),
        "cargo" => {
            let behind =
                arguments.get(usize::from(arguments.first().is_some_and(|word| word.starts_with('+')))..);
            let valued = ["-C", "-Z", "--color", "--config"];
            joined(name, behind_options(behind.unwrap_or_default(), &valued).first().map(String::as_str))
        }
        "npm" | "pnpm" | "yarn" => {
            let behind = behind_options(arguments, &["--prefix", "-C", "-w", "--workspace"]);
            match behind.first().map(String::as_str) {
                Some(run @ ("run" | "run-script")) => {
                    let script =
                        behind_options(behind.get(1..).unwrap_or_default(), &["--prefix", "-w"]).first();
                    joined(&joined(name, Some(run)), script.map(String::as_str))
                }
                sub => joined(name, sub),
            }
        }
        _ if name.starts_with("python") || name.starts_with("pypy") => {
            let (mut at, valued) = (0, ["-W", "-X"]);
            while let Some(word) = arguments.get(at).filter(|word| word.starts_with('-') && *word != "-m") {
                at += if valued.contains(&word.as_str()) { 2 } else { 1 };
            }
            match arguments.get(at..) {
                Some([module, name_of_module, ..]) if module == "-m" => {
                    joined(&joined(name, Some("-m")), Some(name_of_module))
                }
                _ => name.to_owned(),
            }
        }
        _ => name.to_owned(),
    };
    Some(found)
}

fn joined(name: &str, sub: Option<&str>) -> String {
    sub.map_or_else(|| name.to_owned(), |sub| format!("{name} {sub}"))
}

/// The words behind the options at the front.
fn behind_options<'w>(mut words: &'w [String], valued: &[&str]) -> &'w [String] {
    while let Some((first, behind)) = words.split_first().filter(|(first, _)| first.starts_with('-')) {
        let skipped = usize::from(valued.contains(&first.as_str()));
        words = behind.get(skipped..).unwrap_or_default();
        if first == "--" {
            break;
        }
    }
    words
}

/// The last part of a path.
fn base_name(word: &str) -> &str {
    let path = word.trim_end_matches('/');
    path.rsplit_once('/').map_or(path, |(_, last)| last)
}

fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let name = name.strip_suffix('+').unwrap_or(name);
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    #[test]
    fn the_program_of_a_command_line() {
        for (line, expected) in [
            ("pytest", "pytest"),
            ("pytest -x tests/test_api.py::test_login", "pytest"),
            ("cd /repo && pytest -q", "pytest"),
            ("cd /repo; ls -la", "ls"),
            ("cd a\ncd b\nmake all", "make"),
            ("PYTHONPATH=. python manage.py migrate", "python"),
            ("DEBUG=1 LEVEL='a b' ./run.sh", "run.sh"),
            ("export A=1 && node index.js", "node"),
            ("sudo apt-get install -y jq", "apt-get"),
            ("sudo -u postgres psql -c 'select 1'", "psql"),
            ("sudo -E env PATH=/x make", "make"),
            ("env -i HOME=/tmp bash script.sh", "bash"),
            ("time -p go test ./...", "go"),
            ("timeout 30 pytest", "pytest"),
            ("timeout -k 5 -s KILL 10s ./server", "server"),
            ("nohup uvicorn app:app &", "uvicorn"),
            ("nice -n 10 make -j4", "make"),
            ("/usr/local/bin/python3 x.py", "python3"),
            ("./gradlew build", "gradlew"),
            ("python -m pytest tests", "python -m pytest"),
            ("python3.11 -u -W ignore -m http.server 80", "python3.11 -m http.server"),
            ("python -c 'import os; print(os.getcwd())'", "python"),
            ("npm run build -- --watch", "npm run build"),
            ("npm --prefix web run test", "npm run test"),
            ("npm ci", "npm ci"),
            ("cargo test --lib", "cargo test"),
            ("cargo +nightly clippy", "cargo clippy"),
            ("git status", "git status"),
            ("git -C /repo --no-pager diff HEAD~1", "git diff"),
            ("cd /repo && git add -A && git commit -m 'cd; rm'", "git add"),
            ("bash -lc 'cd /repo && rg TODO'", "rg"),
            ("bash -c \"python -m build\"", "python -m build"),
            ("sh -ec 'sh -c \"ls\"'", "ls"),
            ("cat <<'EOF' > x.py\nprint(1)\nEOF", "cat"),
            ("echo \"a && b\" | grep a", "echo"),
            ("> out.txt sort in.txt", "sort"),
            ("2>/dev/null find . -name '*.rs'", "find"),
            ("(cd sub && make test)", "make"),
            ("# look first\nls", "ls"),
            ("if grep -q x f; then echo y; fi", "grep"),
            ("for f in *.py; do black \"$f\"; done", "black"),
            ("! test -f x", "test"),
            ("FOO=$(date +%s) ./bench --n 3", "bench"),
            ("cd \"my dir\" &&\\\n  yarn test", "yarn test"),
            ("&>log.txt make", "make"),
            ("command -v jq", "command"),
            ("source venv/bin/activate && pytest", "source"),
        ] {
            assert_eq!(program(line, MAX_SHELLS).as_deref(), Some(expected), "{line}");
        }
        for line in ["", "cd /repo", "A=1", "  \n ", "sudo", "timeout 5", "# only words", "cd a && cd b"] {
            assert_eq!(program(line, MAX_SHELLS), None, "{line}");
        }
    }

    #[test]
    fn the_argument_is_a_text_or_a_list_of_words() {
        let subtools = Subtools::new(&default_subtools());
        let of = |name: &str, arguments: Value| {
            let place = subtools.command(Digest::of_text(name))?;
            subtools.program(place, &Action::new(name).arguments(&arguments))
        };
        assert_eq!(of("bash", json!({"command": "ls"})).as_deref(), Some("ls"));
        assert_eq!(
            of("shell", json!({"command": ["bash", "-lc", "cd x; rg y"], "timeout": 5})).as_deref(),
            Some("rg")
        );
        assert_eq!(of("exec_command", json!({"cmd": "git log", "workdir": "/"})).as_deref(), Some("git log"));
        assert_eq!(of("bash", json!({"cmd": "make"})).as_deref(), Some("make"), "the only argument");
        for arguments in [json!({}), json!({"command": 3}), json!(["ls"]), json!({"a": "ls", "b": "ls"})] {
            assert_eq!(of("bash", arguments.clone()), None, "{arguments}");
        }
        assert_eq!(of("Shell", json!({"command": "ls"})), None, "names compare exactly");
        assert!(!subtools.needs_texts() && !Subtools::new(&BTreeMap::new()).needs_texts());
    }

    proptest! {
        #[test]
        fn no_line_panics(line in r#"([a-z]{1,4}|sudo|bash -c|cd|[ '"`\\$(){};&|<>#=\n-]|é){0,30}"#) {
            let _ = program(&line, MAX_SHELLS);
        }
    }
}
