//! The program in a command line: what a tool is whose name says no more than that it is a shell.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::iter::Peekable;

use super::shell_words::Words;
use crate::json::{Escapes, Json, JsonString, Kind, Raw};
use crate::trace::{Action, Arguments, Digest};

/// How many shells within shells are looked into.
const MAX_SHELLS: u8 = 4;

/// The shell tools of common agents, each with the argument that holds its command line.
///
/// ```
/// use serde_json::json;
/// use wrongturn::{
///     Detector, Evidence, Status, ToolErrorRecovery, ToolErrorRecoveryConfig, Trace, default_subtools,
/// };
///
/// let mut subtools = default_subtools();
/// assert_eq!(subtools["bash"], "command");
/// subtools.insert("run_in_container".to_owned(), "script".to_owned());
/// let detector = ToolErrorRecovery::new(ToolErrorRecoveryConfig { subtools, ..Default::default() })?;
/// let mut run = Trace::builder();
/// run.call("run_in_container", &json!({"script": "cargo test"}), Status::Error, "no")?;
/// let verdict = detector.detect(&run.build()?);
/// let Evidence::ToolErrorRecovery(evidence) = &verdict.findings()[0].evidence else { panic!("{verdict:?}") };
/// assert_eq!(evidence.errors[0].tool, "run_in_container:cargo test");
/// # Ok::<(), wrongturn::Error>(())
/// ```
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
    pub(super) fn program<'a>(&self, command: usize, action: &'a Action<'_>) -> Option<Cow<'a, str>> {
        let (_, argument) = self.arguments.get(command)?;
        let json = action.arguments.as_ref().present().and_then(Arguments::json)?;
        match command_line(json, argument)? {
            CommandLine::Text(line) => program_of_text(line),
            CommandLine::Words(words) => program_of_words(&mut words.into_iter(), MAX_SHELLS),
        }
    }
}

/// A command line as arguments hold it.
enum CommandLine<'a> {
    Text(JsonString<'a>),
    Words(Vec<Cow<'a, str>>),
}

/// An argument, as far as it may be a command line.
enum Value<'a> {
    Text(JsonString<'a>),
    List(Raw<'a>),
    Other,
}

/// The command line that is the argument of this name, or the only argument.
fn command_line<'a>(json: &'a str, argument: &str) -> Option<CommandLine<'a>> {
    let (mut named, mut other, mut is_alone) = (None, None::<(Cow<'_, [u8]>, Value<'_>)>, true);
    let mut reader = Json::new(json.as_bytes());
    let read = reader.members(|key, value| {
        let value = match value.kind()? {
            Kind::String => Value::Text(value.text()?),
            Kind::List => Value::List(value.checked()?),
            _ => value.check().map(|()| Value::Other)?,
        };
        if *key == *argument.as_bytes() {
            named = Some(value);
        } else {
            is_alone &= other.as_ref().is_none_or(|(first, _)| *first == key);
            other = Some((key, value));
        }
        Ok(())
    });
    if read.is_err() || reader.peek_byte().is_some() {
        return None;
    }
    match named.or(other.filter(|_| is_alone).map(|(_, value)| value))? {
        Value::Text(text) => Some(CommandLine::Text(text)),
        Value::List(list) => {
            list.items()?.into_iter().map(Raw::string).collect::<Option<_>>().map(CommandLine::Words)
        }
        Value::Other => None,
    }
}

/// The program of a command line in JSON. What is far behind it is not decoded.
fn program_of_text(line: JsonString<'_>) -> Option<Cow<'_, str>> {
    const NEAR: usize = 160;
    if line.escapes() != Escapes::None && line.inner().len() > 2 * NEAR {
        let near = line.head(NEAR);
        let mut words = Words::new(&near);
        let found = next_program(&mut words, MAX_SHELLS);
        if !words.has_ended() {
            return found.map(|found| Cow::Owned(found.into_owned()));
        }
    }
    program_of_line(line.to_str()?, MAX_SHELLS)
}

/// The program of a command line.
fn program_of_line(line: Cow<'_, str>, shells: u8) -> Option<Cow<'_, str>> {
    match line {
        Cow::Borrowed(line) => program(line, shells),
        Cow::Owned(line) => program(&line, shells).map(|found| Cow::Owned(found.into_owned())),
    }
}

/// The program of a command line: that of the first command that does more than set the scene.
fn program(line: &str, shells: u8) -> Option<Cow<'_, str>> {
    next_program(&mut Words::new(line), shells)
}

fn next_program<'l>(words: &mut Words<'l>, shells: u8) -> Option<Cow<'l, str>> {
    loop {
        let found = program_of_words(words, shells);
        if found.is_some() || !words.next_command() {
            return found;
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
fn program_of_words<'w>(words: &mut dyn Iterator<Item = Cow<'w, str>>, shells: u8) -> Option<Cow<'w, str>> {
    let mut words = words.peekable();
    let name = loop {
        let first = words.next()?;
        if KEYWORDS.contains(&&*first) || is_assignment(&first) {
            continue;
        }
        let name = base_name(first);
        let Some((_, valued, positional)) = WRAPPERS.iter().find(|(wrapper, ..)| *wrapper == name) else {
            break name;
        };
        if name == "command" && words.peek().is_some_and(|word| word == "-v" || word == "-V") {
            return Some(name);
        }
        pass_over_options(&mut words, valued);
        while words.next_if(|word| is_assignment(word)).is_some() {}
        for _ in 0..*positional {
            words.next()?;
        }
    };
    match &*name {
        "cd" | "for" | "case" | "select" | "done" | "esac" | "" => None,
        "export" | "declare" | "local" | "readonly" => {
            if words.any(|word| is_assignment(&word)) {
                None
            } else {
                Some(name)
            }
        }
        "bash" | "sh" | "zsh" | "dash" | "ash" => {
            let mut behind_c =
                words.skip_while(|word| !(word.starts_with('-') && word.ends_with('c'))).skip(1);
            match behind_c.next().filter(|_| shells > 0) {
                Some(line) => program_of_line(line, shells - 1),
                None => Some(name),
            }
        }
        "git" => {
            pass_over_options(&mut words, &["-C", "-c", "--git-dir", "--work-tree"]);
            Some(joined(name, words.next()))
        }
        "cargo" => {
            words.next_if(|word| word.starts_with('+'));
            pass_over_options(&mut words, &["-C", "-Z", "--color", "--config"]);
            Some(joined(name, words.next()))
        }
        "npm" | "pnpm" | "yarn" => {
            pass_over_options(&mut words, &["--prefix", "-C", "-w", "--workspace"]);
            match words.next() {
                Some(run) if matches!(&*run, "run" | "run-script") => {
                    pass_over_options(&mut words, &["--prefix", "-w"]);
                    Some(joined(joined(name, Some(run)), words.next()))
                }
                sub => Some(joined(name, sub)),
            }
        }
        _ if name.starts_with("python") || name.starts_with("pypy") => {
            while let Some(option) = words.next_if(|word| word.starts_with('-') && word != "-m") {
                if matches!(&*option, "-W" | "-X") {
                    words.next();
                }
            }
            match (words.next(), words.next()) {
                (Some(option), Some(module)) if option == "-m" => {
                    Some(joined(joined(name, Some(option)), Some(module)))
                }
                _ => Some(name),
            }
        }
        _ => Some(name),
    }
}

fn joined<'w>(name: Cow<'w, str>, sub: Option<Cow<'w, str>>) -> Cow<'w, str> {
    match sub {
        Some(sub) => Cow::Owned(format!("{name} {sub}")),
        None => name,
    }
}

/// Passes over the options at the front, some of which take a value.
fn pass_over_options<'w>(words: &mut Peekable<impl Iterator<Item = Cow<'w, str>>>, valued: &[&str]) {
    while let Some(option) = words.next_if(|word| word.starts_with('-')) {
        if valued.contains(&&*option) {
            words.next();
        }
        if option == "--" {
            break;
        }
    }
}

/// The last part of a path.
fn base_name(word: Cow<'_, str>) -> Cow<'_, str> {
    match word {
        Cow::Borrowed(path) => Cow::Borrowed(last_part(path)),
        Cow::Owned(path) => Cow::Owned(last_part(&path).to_owned()),
    }
}

fn last_part(path: &str) -> &str {
    let path = path.trim_end_matches('/');
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
    use serde_json::json;

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
        let of = |name: &str, arguments: serde_json::Value| {
            let place = subtools.command(Digest::of_text(name))?;
            let action = Action::new(name).arguments(&arguments);
            subtools.program(place, &action).map(Cow::into_owned)
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

    #[test]
    fn what_is_far_behind_the_program_does_not_matter() {
        let subtools = Subtools::new(&default_subtools());
        let long = "word ".repeat(100);
        for (line, expected) in [
            (format!("cat <<'E'\n{long}"), Some("cat")),
            (format!("cd \"/a b\"\n# {long}\nmake {long}"), Some("make")),
            (format!("\"{long}\" x"), Some(long.as_str())),
            (format!("bash -c \"# {long}\nls\""), Some("ls")),
            (format!("cd x\n# {long}"), None),
            (format!("{}\n&>a make", "\u{e9} ;".repeat(40)), Some("\u{e9}")),
        ] {
            let action = Action::new("bash").arguments(&json!({"command": line}));
            assert_eq!(subtools.program(1, &action).as_deref(), expected, "{line}");
            assert_eq!(program(&line, MAX_SHELLS).as_deref(), expected, "{line}");
        }
    }

    proptest! {
        #[test]
        fn the_near_part_of_a_line_says_what_all_of_it_says(
            parts in proptest::collection::vec("[a-z]{1,60}|sudo |bash -c |cd |[ '\"`\\\\$(){};&|<>#=\n-]|\u{e9}| \n", 0..60)
        ) {
            let line = parts.concat();
            let spelled = serde_json::to_string(&line).unwrap();
            let text = Json::new(spelled.as_bytes()).text().unwrap();
            prop_assert_eq!(program_of_text(text), program(&line, MAX_SHELLS));
        }

        #[test]
        fn no_line_panics(line in r#"([a-z]{1,4}|sudo|bash -c|cd|[ '"`\\$(){};&|<>#=\n-]|é){0,30}"#) {
            let _ = program(&line, MAX_SHELLS);
        }
    }
}
