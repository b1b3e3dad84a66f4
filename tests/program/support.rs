//! Runs the program and the examples that cargo has built, in temporary directories.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

/// Returns the path of an example that cargo has built, in `target/<profile>/examples`.
pub(crate) fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().and_then(Path::parent).unwrap();
    let program = profile.join("examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    assert!(
        program.is_file(),
        "{} is not built: run `cargo test`, or `cargo build --examples` before",
        program.display()
    );
    program
}

/// Returns a command that runs a subcommand (`bench recovery` is two words) in the directory of this package.
pub(crate) fn command(name: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wrongturn"));
    command.args(name.split(' ')).current_dir(env!("CARGO_MANIFEST_DIR"));
    command
}

/// Runs a subcommand without standard input.
pub(crate) fn run(name: &str, arguments: &[&str]) -> Output {
    command(name).args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// Runs a subcommand, checks its exit status, and returns stdout and stderr.
#[track_caller]
pub(crate) fn ends(name: &str, arguments: &[&str], status: i32) -> (String, String) {
    let (found, out, err) = told(name, arguments);
    assert_eq!(found, status, "{name} {arguments:?}\n{out}\n{err}");
    (out, err)
}

/// Runs a subcommand and returns its exit status, stdout and stderr.
pub(crate) fn told(name: &str, arguments: &[&str]) -> (i32, String, String) {
    let output = run(name, arguments);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// Runs a subcommand with `--json -` and returns what it writes.
#[track_caller]
pub(crate) fn json_of(name: &str, arguments: &[&str]) -> Value {
    serde_json::from_str(&ends(name, &[arguments, &["--json", "-"]].concat(), 0).0).unwrap()
}

/// Returns the commands that a help text lists.
pub(crate) fn commands_of(help: &str) -> Vec<&str> {
    let listed = help.split_once("\nCommands:\n").map_or("", |(_, rest)| rest);
    let listed = listed.split_once("\n\n").map_or("", |(listed, _)| listed);
    let names = listed.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| !name.is_empty() && *name != "help").collect()
}

/// A temporary directory, removed on drop.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(test: &str) -> Self {
        // Several tests may use the same name.
        static MADE: AtomicU64 = AtomicU64::new(0);
        let program = std::env::current_exe().unwrap();
        let program = program.file_stem().unwrap().to_str().unwrap();
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("wrongturn-{program}-{}-{number}-{test}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Returns the path of a file in the directory, as an argument.
    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    /// Replaces the path of the directory by `FOLDER`, and trims line ends.
    pub(crate) fn masked(&self, text: &str) -> String {
        let text = text.replace(self.0.to_str().unwrap(), "FOLDER");
        text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
    }

    /// Writes a file and creates its parent directories.
    pub(crate) fn write(&self, name: &str, content: &str) -> String {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self.path(name)
    }

    /// Returns the names of the unfinished outputs in the directory.
    pub(crate) fn left_over(&self) -> Vec<String> {
        let names = fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name());
        let names = names.map(|name| name.to_string_lossy().into_owned());
        names.filter(|name| name.contains(".part")).collect()
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.0.join(name)).unwrap()
    }

    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).unwrap()
    }

    pub(crate) fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&self.bytes(name)).unwrap()
    }

    /// Reads a file with one object per line.
    pub(crate) fn lines(&self, name: &str) -> Vec<Value> {
        let text = self.text(name);
        assert!(text.is_empty() || text.ends_with('\n'));
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns the keys of an object.
pub(crate) fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

/// A tau2 file with one run.
pub(crate) const GOOD: &str = r#"{"info": {"agent_info": {"llm": "m"}, "environment_info": {"domain_name": "d"}}, "tasks": [],
    "simulations": [{"id": "r", "task_id": "t", "trial": 1, "reward_info": {"reward": 1.0}, "messages": [
        {"role": "assistant", "tool_calls": [{"id": "1", "name": "look"}]},
        {"role": "tool", "id": "1", "content": "Error: dark", "error": true},
        {"role": "user", "tool_calls": [{"id": "2", "name": "look"}]},
        {"role": "tool", "id": "2", "content": "light", "error": false}]}]}"#;

/// A tau2 file whose second run of three is wrong.
pub(crate) const PARTLY: &str = "{\"simulations\": [\n{\"id\": \"a\", \"messages\": []},\n{\"id\": \"b\", \"messages\": 7},\n\
    {\"id\": \"c\", \"messages\": []}]}";

/// A file of `BenchTrace` episodes.
pub(crate) const EPISODES: &str = r#"{"version": 1, "game": "zork1", "episodes": [{"id": "e", "snapshot": {"final_score": 1,
    "max_score": 2, "trajectory": [
        {"step": 0, "obs": "** Hall **", "action": "look"}, {"step": 1, "obs": "** Hall **", "action": "look"},
        {"step": 2, "obs": "You can't go that way.", "action": "go up"}]}}]}"#;

/// Returns a call in the native form.
fn call(tool: &str, answer: &str, status: &str) -> Value {
    json!({"name": tool, "arguments": {"q": tool}, "observation": answer, "status": status})
}

/// Returns a run with two looks at the same wall, whose steps start at 10.
pub(crate) fn two_looks() -> String {
    let ask = json!({"actor": "user", "text": "Find the door.", "step": 10});
    let look = call("look", "a wall", "ok");
    let steps = [ask, call("map", "a page", "ok"), look.clone(), look];
    json!({"version": 1, "id": "walls", "reward": 0.0, "steps": steps}).to_string()
}

/// Returns a golden entry of `loop` with this many looks at the same wall.
pub(crate) fn entry(id: usize, label: bool, looks: usize) -> String {
    let mut steps: Vec<Value> = (0..looks).map(|_| call("look", "a wall", "ok")).collect();
    steps.push(call(&format!("door {id}"), "open", "ok"));
    let entry = json!({"id": format!("e{id:02}"), "detector": "loop", "difficulty": "easy", "label": label,
        "description": "made <up> & \"quoted\"", "source": "hand-written", "trace": {"version": 1, "domain": "walls", "steps": steps}});
    format!("{entry}\n")
}
