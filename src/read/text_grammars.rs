//! Grammars of calls written as text.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::common::trim;
use super::formats::mini_swe_agent;
use crate::trace::first_chars;

#[derive(Debug, PartialEq)]
pub(super) struct Written {
    pub(super) name: String,
    /// JSON or plain text.
    pub(super) arguments: String,
    /// The answer, if it is in the same text.
    pub(super) answer: Option<String>,
}

impl Written {
    fn new(name: &str, arguments: impl Into<String>) -> Self {
        Self { name: trim(name).to_owned(), arguments: arguments.into(), answer: None }
    }

    fn of_text(name: &str, argument: &str, text: &str) -> Self {
        Self::new(name, Value::Object(Map::from_iter([(argument.to_owned(), text.into())])).to_string())
    }

    pub(super) fn of_pairs<'t>(name: &str, pairs: impl Iterator<Item = (&'t str, &'t str)>) -> Self {
        let pairs = pairs.map(|(key, value)| (trim(key).to_owned(), value.trim_matches('\n').into()));
        Self::new(name, Value::Object(pairs.collect()).to_string())
    }

    /// Returns a call from an object with a name and arguments.
    fn of_object(object: &Map<String, Value>) -> Option<Self> {
        let mut names = ["name", "action", "tool", "tool_name", "function"].into_iter();
        let name = names.find_map(|key| object.get(key))?.as_str()?;
        let arguments = ["arguments", "action_input", "parameters", "args", "kwargs", "input", "tool_input"];
        Some(match arguments.into_iter().find_map(|key| object.get(key)) {
            Some(Value::String(text)) => Self::new(name, text.clone()),
            Some(value) => Self::new(name, value.to_string()),
            None => Self::new(name, "{}"),
        })
    }
}

/// Returns the part of each opening tag between `open` and `end`, and the contents of the tag. A tag with no
/// closing tag anywhere after it ends at the next opening, or at the end of the text.
pub(super) fn tags<'t>(
    text: &'t str,
    open: &'t str,
    end: &'t str,
    close: &'t str,
) -> impl Iterator<Item = (&'t str, &'t str)> {
    let (mut rest, mut is_closed) = (text, true);
    std::iter::from_fn(move || {
        let (head, inside) = rest.split_once(open)?.1.split_once(end)?;
        let closing = if is_closed { inside.find(close) } else { None };
        is_closed = closing.is_some();
        let inside_end = closing.or_else(|| inside.find(open)).unwrap_or(inside.len());
        let (inside, after) = inside.split_at(inside_end);
        rest = after;
        Some((head, inside))
    })
}

/// `<function=name><parameter=key>value</parameter></function>`, and the same with `<invoke name="…">`.
pub(super) fn functions(text: &str) -> Vec<Written> {
    let call = |(name, inside): (&str, &str), open, end| {
        let mut pairs = tags(inside, open, end, "</parameter").peekable();
        match pairs.peek() {
            None if trim(inside).starts_with('{') => Written::new(name, trim(inside)),
            _ => Written::of_pairs(name, pairs),
        }
    };
    let functions = tags(text, "<function=", ">", "</function").map(|tag| call(tag, "<parameter=", ">"));
    let invokes =
        tags(text, "<invoke name=\"", "\">", "</invoke").map(|tag| call(tag, "<parameter name=\"", "\">"));
    functions.chain(invokes).collect()
}

/// `<tool_call>` around an object, or around a name and pairs of `<arg_key>` and `<arg_value>`.
pub(super) fn tool_calls(text: &str) -> Vec<Written> {
    let call = |(_, inside): (&str, &str)| {
        let inside = trim(inside);
        if let Ok(Value::Object(object)) = serde_json::from_str(inside) {
            return Written::of_object(&object);
        }
        if inside.starts_with('{') {
            // The call is not valid JSON; its name may still be legible.
            let name = inside.split_once("\"name\"")?.1.split('"').nth(1)?;
            return Some(Written::new(name, inside));
        }
        let (name, rest) = inside.split_at(inside.find(['\n', '<']).unwrap_or(inside.len()));
        let values = tags(rest, "<arg_value>", "", "</arg_value").map(|(_, value)| value);
        let keys = tags(rest, "<arg_key>", "", "</arg_key").map(|(_, key)| key);
        is_name(trim(name)).then(|| Written::of_pairs(name, keys.zip(values)))
    };
    tags(text, "<tool_call>", "", "</tool_call").filter_map(call).collect()
}

/// The last block between `----BEGIN_FUNCTION_CALL----` and `----END_FUNCTION_CALL----`: a name, and for each
/// argument `----ARG----`, its name, optionally `----VALUE----`, and its value. Dashes may be cut off at the end of
/// the text.
pub(super) fn delimited(text: &str) -> Vec<Written> {
    const END: &str = "\n----END_FUNCTION_CALL";
    let cut = text.trim_end().trim_end_matches('-').strip_suffix(END);
    let text = &*cut.map_or(Cow::Borrowed(text), |start| Cow::Owned([start, END, "----"].concat()));
    let call = |(_, inside): (&str, &str)| {
        let mut parts = inside.split("----ARG----").map(trim);
        let name = parts.next().filter(|name| !name.is_empty())?;
        let pairs = parts.map(|part| {
            let (key, value) = part.split_once('\n').unwrap_or((part, ""));
            (key, value.strip_prefix("----VALUE----").unwrap_or(value))
        });
        Some(Written::of_pairs(name, pairs))
    };
    let calls = tags(text, "----BEGIN_FUNCTION_CALL----", "", "----END_FUNCTION_CALL----");
    calls.last().and_then(call).into_iter().collect()
}

/// `<execute_bash>command</execute_bash>` and related tags.
pub(super) fn executions(text: &str) -> Vec<Written> {
    let call = |(kind, inside): (&str, &str)| {
        let is_known = matches!(kind, "" | "_bash" | "_ipython" | "_browse" | "_python");
        let argument = if matches!(kind, "_bash") { "command" } else { "code" };
        is_known.then(|| Written::of_text(&["execute", kind].concat(), argument, trim(inside)))
    };
    tags(text, "<execute", ">", "</execute").filter_map(call).collect()
}

/// `{"commands": [{"keystrokes": "ls\n"}]}` or `<keystrokes>ls\n</keystrokes>`, after any thoughts: what
/// Terminus types into its terminal before it looks at the screen.
pub(super) fn keystrokes(text: &str) -> Vec<Written> {
    let text = text.rsplit_once("</think>").map_or(text, |(_, rest)| rest);
    let json = text.find('{').and_then(|at| text.get(at..)).unwrap_or_default();
    let object = serde_json::Deserializer::from_str(json).into_iter::<Value>().next();
    let commands = object.and_then(|object| object.ok()?.get("commands")?.as_array().cloned());
    let mut typed: String =
        commands.iter().flatten().filter_map(|command| command.get("keystrokes")?.as_str()).collect();
    typed.extend(tags(text, "<keystrokes", ">", "</keystrokes").map(|(_, keys)| keys));
    if typed.is_empty() { Vec::new() } else { vec![Written::of_text("bash_command", "keystrokes", &typed)] }
}

/// A text that is an object: `{"thought": …, "action": "search", "action_input": …}`,
/// `{"tool_name", "arguments"}`, or `{"command": {"name", "args"}}`.
pub(super) fn object(text: &str) -> Vec<Written> {
    let object: Map<String, Value> = serde_json::from_str(unfenced(text)).unwrap_or_default();
    let inner = object.get("command").and_then(Value::as_object);
    let has = |keys: &[&str]| keys.iter().any(|key| object.contains_key(*key));
    let is_call = inner.is_some()
        || has(&["action", "tool_name"])
            && has(&["action_input", "input", "arguments", "args", "parameters"]);
    let call = Written::of_object(inner.unwrap_or(&object)).filter(|call| is_call && is_name(&call.name));
    call.into_iter().collect()
}

/// A text that is `{"type": "tool_call", "name": …, "arguments": …}`.
pub(super) fn typed_object(text: &str) -> Vec<Written> {
    let object: Map<String, Value> = serde_json::from_str(unfenced(text)).unwrap_or_default();
    let is_call =
        is_of_type(&object, "tool_call") && ["arguments", "args"].iter().any(|key| object.contains_key(*key));
    let call = Written::of_object(&object).filter(|call| is_call && is_name(&call.name));
    call.into_iter().collect()
}

pub(super) fn is_of_type(object: &Map<String, Value>, kind: &str) -> bool {
    object.get("type").is_some_and(|value| value == kind)
}

/// A text that is `{"name", "arguments"}` or `{"name", "parameters"}`, or holds it in its only fence.
pub(super) fn named_object(text: &str) -> Vec<Written> {
    let mut fenced = text.split("```").skip(1).step_by(2);
    let fence = fenced.next().filter(|_| fenced.next().is_none());
    let text = fence.map_or(text, |fence| fence.strip_prefix("json").unwrap_or(fence));
    let object: Map<String, Value> = serde_json::from_str(text).unwrap_or_default();
    let is_call =
        ["arguments", "parameters"].iter().any(|key| object.get(*key).is_some_and(Value::is_object));
    let call = Written::of_object(&object).filter(|call| is_call && is_name(&call.name));
    call.into_iter().collect()
}

/// A text that is a request: `GET http://…`, or `POST http://…` with a body in the lines below.
pub(super) fn requests(text: &str) -> Vec<Written> {
    let request = || {
        let (method, rest) = trim(text).split_once(' ')?;
        let (url, body) = rest.split_once('\n').unwrap_or((rest, ""));
        let url = trim(url);
        let is_url = url.starts_with("http://") || url.starts_with("https://");
        let pairs = [("url", url), ("body", trim(body))].into_iter().filter(|(_, value)| !value.is_empty());
        (is_url && matches!(method, "GET" | "POST")).then(|| Written::of_pairs(method, pairs))
    };
    request().into_iter().collect()
}

/// `<action>…</action>`.
pub(super) fn action_tags(text: &str) -> Vec<Written> {
    tags(text, "<action>", "", "</action").filter_map(|(_, action)| plain(action)).collect()
}

/// The fenced actions of `WebArena`'s agents.
pub(super) fn performed(text: &str) -> Vec<Written> {
    let after = text.split("next action I will perform is").skip(1);
    after.filter_map(|rest| plain(rest.split("```").nth(1)?)).collect()
}

/// Returns the only fenced block of shell commands in a text.
pub(super) fn command_blocks(text: &str) -> Vec<Written> {
    mini_swe_agent::command(text).iter().map(|command| Written::of_text("bash", "command", command)).collect()
}

/// Returns true if a command of mini-swe-agent prints the mark before a submission.
pub(super) fn is_submission(command: &str) -> bool {
    let is_mark = |rest: &str| {
        let word = rest
            .split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
            .find(|word| !word.is_empty());
        word.is_some_and(|word| word.ends_with("_FINAL_OUTPUT"))
    };
    command.split("echo ").skip(1).any(is_mark)
}

/// Returns the fenced blocks of code in a text as one call, because AutoGen runs them together. A call is not code.
pub(super) fn scripts(text: &str) -> Vec<Written> {
    let fenced = text.split("```").skip(1).step_by(2);
    let code: Vec<_> = fenced.filter_map(|block| Some(block.split_once('\n')?.1.trim_end())).collect();
    if code.is_empty() || !named_object(text).is_empty() {
        Vec::new()
    } else {
        vec![Written::of_text("execute", "code", &code.join("\n"))]
    }
}

/// `Action:` with `Action Input:`, an object, or a plain action; optionally with its `Observation:`. Labels
/// may be numbered, and their case does not matter.
pub(super) fn react(text: &str) -> Vec<Written> {
    let (mut calls, mut label): (Vec<Written>, _) = (Vec::new(), "");
    let (mut action, mut input, mut seen) = (String::new(), None::<String>, String::new());
    for line in text.lines().chain(["End:"]) {
        let bare = line.trim_start_matches([' ', '*', '#', '\t']);
        let head = bare.split_once(':').map(|(head, rest)| (head.trim_end_matches(['*', ' ']), rest));
        let labelled = head.and_then(|(head, rest)| {
            let word = head.trim_end_matches(|mark: char| mark.is_ascii_digit() || mark == ' ');
            let labels = ["Action Input", "Action", "Observation", "Thought", "Final Answer", "End"];
            Some((
                labels.into_iter().find(|label| label.eq_ignore_ascii_case(word))?,
                rest.trim_start_matches(['*', ' ']),
            ))
        });
        let Some((next, rest)) = labelled else {
            match (label, &mut input) {
                ("Action", _) => action.extend(["\n", line]),
                ("Action Input", Some(input)) => input.extend(["\n", line]),
                ("Observation", _) => seen.extend(["\n", line]),
                _ => {}
            }
            continue;
        };
        if matches!(next, "Action" | "Thought" | "Final Answer" | "End") && !trim(&action).is_empty() {
            let call = match input.take() {
                Some(input) => Some(Written::new(&action, unfenced(&input))),
                None => plain(&action).filter(|call| call.name != "ANSWER"),
            };
            let answer = Some(trim(&seen).to_owned()).filter(|seen| !seen.is_empty());
            calls.extend(call.map(|call| Written { answer, ..call }));
            (action, seen) = (String::new(), String::new());
        }
        label = next;
        match label {
            "Action" => rest.clone_into(&mut action),
            "Action Input" => input = Some(rest.to_owned()),
            "Observation" => rest.clone_into(&mut seen),
            _ => {}
        }
    }
    calls
}

/// The first `Action: search[words]` or `Action: click[button]`, followed by nothing but turns that the model invents.
pub(super) fn bracketed_action(text: &str) -> Vec<Written> {
    let call = || {
        let (name, rest) = text.split_once("Action:")?.1.split_once('[')?;
        let mut depth = 1;
        let end = rest.find(|letter| {
            depth += i32::from(letter == '[') - i32::from(letter == ']');
            depth == 0 || letter == '\n'
        });
        let (input, after) = rest.split_at(end?);
        let after = trim(after.strip_prefix(']')?);
        let turns = ["user\n", "Instruction:", "Observation:", "Thought:"];
        let is_last = after.is_empty() || turns.iter().any(|turn| first_chars(after, 100).contains(turn));
        (is_last && matches!(trim(name), "search" | "click")).then(|| Written::of_text(name, "input", input))
    };
    call().into_iter().collect()
}

/// Parses an action without mark-up: an object, `name[argument]`, `name(argument)`, or a name and the rest.
fn plain(action: &str) -> Option<Written> {
    let action = unfenced(action);
    if let Ok(Value::Object(object)) = serde_json::from_str(action) {
        return Written::of_object(&object);
    }
    if let Some((first, second)) = action.split_once('\n')
        && let Some(name) = ["tool:", "action:"].iter().find_map(|label| first.strip_prefix(label))
        && let Some(parameters) = trim(second).strip_prefix("parameters:")
    {
        return Some(Written::new(name, unfenced(parameters)));
    }
    let (name, rest) = action.split_at(action.find(|mark| !is_of_name(mark)).unwrap_or(action.len()));
    let inner = [('[', ']'), ('(', ')')]
        .into_iter()
        .find_map(|(open, close)| rest.strip_prefix(open)?.strip_suffix(close));
    let input = inner.unwrap_or(rest).trim_matches([' ', ';', '\n', ':']);
    (!name.is_empty()).then(|| match input {
        "" => Written::new(name, "{}"),
        input => Written::of_text(name, "input", input),
    })
}

pub(super) fn unfenced(text: &str) -> &str {
    let text = trim(text);
    let Some(inside) = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```")) else {
        return text;
    };
    // `pythonx[1]` names no language.
    let ends = |rest: &&str| rest.starts_with(|c: char| c.is_whitespace() || matches!(c, '{' | '['));
    let code = ["json", "python"].iter().find_map(|name| inside.strip_prefix(name).filter(ends));
    trim(code.unwrap_or(inside))
}

pub(super) fn is_of_name(mark: char) -> bool {
    mark.is_ascii_alphanumeric() || matches!(mark, '_' | '-' | '.')
}

pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_of_name)
}
