//! The arguments of a call: those that rules know by name, and the ids among them.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::call::is_path;
use super::phrase_search::Hints;
use super::quote::short_path;
use super::{Meaning, Tool, excerpt, words};
use crate::json::{Json, Kind, Raw};
use crate::trace::{Action, Arguments, Digest, Members};

/// Arguments that hold a command line, in order of preference. All names of arguments are compared ignoring case, `_`
/// and `-`.
const COMMAND_LINES: [&str; 5] = ["command", "cmd", "keystrokes", "script", "commandline"];
/// Arguments that hold the rest of a command line: `{"command": "ls", "args": "-la"}`.
const RESTS: [&str; 3] = ["args", "arguments", "argv"];
/// Arguments that name a file or an address.
#[rustfmt::skip]
const TARGETS: [&str; 10] = ["filepath", "path", "filename", "file", "notebookpath", "absolutepath", "targetfile",
    "relativepath", "uri", "url"];
/// Arguments that name an operation of the tool: `browser` with `{"action": "snapshot"}`.
const OPERATIONS: [&str; 2] = ["action", "operation"];
const CODE: [&str; 4] = ["code", "jscode", "pythoncode", "sourcecode"];
/// The line that ends the here-document in which code becomes a command line. Assumed not to occur in code.
const END: &str = "END_OF_CODE";
/// Arguments that name the directory in which a command line runs.
const PLACES: [&str; 3] = ["workdir", "cwd", "workingdirectory"];
/// Arguments that ask to run a command outside a sandbox, unless their value is one of `USUAL_RIGHTS`.
const RIGHTS: [&str; 3] = ["sandboxpermissions", "withescalatedpermissions", "dangerouslydisablesandbox"];
const USUAL_RIGHTS: [&[u8]; 3] = [b"false", b"null", b"\"use_default\""];
/// Arguments that say how a call is made, not what it does. Calls that differ only in these are equal.
#[rustfmt::skip]
const ASIDE: [&str; 19] = ["description", "explanation", "thought", "reason", "comment", "note", "notes", "securityrisk", "isbackground",
    "runinbackground", "timeout", "timeoutms", "maxoutputtokens", "yieldtimems", "yieldms", "tty", "login", "toolaction",
    "toolsummary"];

/// Maximum length of a value in a message, in characters.
const VALUE: usize = 32;

/// The endings of the names above in any spelling, except `CODE`, `PLACES` and `RIGHTS`, and the beginning of a patch.
/// Calls of tools other than shells are skipped quickly if their arguments contain none of these.
static NAMES: LazyLock<Hints> = LazyLock::new(|| {
    const ENDINGS: &str = "ommand cmd Cmd ction peration eystrokes cript ine ath ilename ile_name ileName ile-name ile uri \
        Uri url Url escription xplanation hought eason omment ote otes isk ackground imeout ms Ms okens tty Tty ogin toolAction toolSummary";
    let endings = ENDINGS.split(' ').flat_map(|ending| [ending.to_owned(), ending.to_uppercase()]);
    let mut names: Vec<String> = endings.map(|ending| ending + "\"").collect();
    names.sort();
    names.dedup();
    Hints::new(names.iter().map(String::as_str).chain(["\"*** "]))
});

/// Returns the name of an argument in lower case, without `_` and `-`.
fn folded(name: &str) -> Cow<'_, str> {
    if name.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return Cow::Borrowed(name);
    }
    Cow::Owned(name.chars().filter(|c| !matches!(c, '_' | '-')).map(|c| c.to_ascii_lowercase()).collect())
}

/// The arguments of a call that rules know by name.
#[derive(Debug, Default)]
pub(super) struct Given<'a> {
    pub(super) line: Option<Cow<'a, str>>,
    pub(super) subcommand: Option<String>,
    /// The directory in which a command line runs.
    pub(super) place: Option<Cow<'a, str>>,
    pub(super) target: Option<Cow<'a, str>>,
    /// A text that begins like a patch.
    pub(super) patch: Option<Cow<'a, str>>,
    /// The digest of the time limit.
    pub(super) limit: Option<Digest>,
    /// The digest of the permissions that the call asks for.
    pub(super) rights: Option<Digest>,
    /// The digest of the arguments without those that only say how the call is made; `None` if there are none of these,
    /// or no others.
    pub(super) without_asides: Option<Digest>,
}

impl<'a> Given<'a> {
    /// Reads the known arguments of a call. Code for an interpreter becomes the command line that runs it.
    pub(super) fn of_call(action: &'a Action<'_>, tool: &Tool) -> Self {
        let code = tool.interpreter.and_then(|interpreter| Some((interpreter, code(action)?)));
        code.map_or_else(
            || Self::by(action, tool.is_shell),
            |(interpreter, code)| {
                let line = format!("{interpreter} - <<'{END}'\n{code}\n{END}");
                Self { line: Some(line.into()), ..Self::default() }
            },
        )
    }

    /// Reads the known arguments of a call that is not given code. `to_shell` is true if the tool is a shell.
    pub(super) fn by(action: &'a Action<'_>, to_shell: bool) -> Self {
        let json = action.arguments.as_ref().present().and_then(Arguments::json);
        let says_something =
            |json: &&str| to_shell || json.starts_with('"') || NAMES.occur_in(json.as_bytes());
        json.filter(says_something).map(|json| Self::of(json, to_shell)).unwrap_or_default()
    }

    fn of(json: &'a str, to_shell: bool) -> Self {
        let mut given = Self::default();
        let mut reader = Json::new(json.as_bytes());
        if matches!(reader.kind(), Ok(Kind::String)) {
            // Text that begins with a brace or bracket is an object or list in another notation, not a command line.
            given.line =
                reader.string().ok().filter(|line| !line.trim().is_empty() && !line.starts_with(['{', '[']));
            return given;
        }
        let (mut lines, mut targets) =
            ([const { None }; COMMAND_LINES.len()], [const { None }; TARGETS.len()]);
        let (mut asides, mut texts, mut listed, mut patch) = (Vec::new(), Vec::new(), None, None);
        let (mut others, mut operation, mut rest, mut has_list) = (false, None, None, false);
        let read = reader.members(|key, value| {
            let spelled = String::from_utf8_lossy(&key);
            let name = folded(&spelled);
            let slot = |names: &[&str]| names.iter().position(|known| **known == *name);
            let is_aside = ASIDE.contains(&&*name);
            if let Some(slot) = slot(&COMMAND_LINES).and_then(|at| lines.get_mut(at)) {
                *slot = command_line(value.checked()?);
            } else if let Some(slot) = slot(&TARGETS).and_then(|at| targets.get_mut(at)) {
                *slot = value.checked()?.string();
            } else if to_shell && name == "commands" {
                texts.extend(words_of(value.checked()?).map(|lines| Cow::Owned(lines.join("\n"))));
            } else if PLACES.contains(&&*name) {
                given.place = value.checked()?.string();
            } else {
                let value = value.checked()?;
                if OPERATIONS.contains(&&*name) {
                    operation = value.string();
                }
                if RESTS.contains(&&*name) {
                    rest = words_of(value).map(|words| words.join(" "));
                } else {
                    has_list |= matches!(value.kind(), Kind::List);
                }
                let digest = || Some(Digest::of_text(&String::from_utf8_lossy(value.bytes())));
                if matches!(&*name, "timeout" | "timeoutms") {
                    given.limit = digest();
                } else if RIGHTS.contains(&&*name) && !USUAL_RIGHTS.contains(&value.bytes()) {
                    given.rights = digest();
                }
                match value.items().and_then(|items| items.first().copied()) {
                    // `changes: [{"path": …}]`
                    Some(item) => listed = listed.take().or_else(|| item.member("path")?.string()),
                    None if value.bytes().starts_with(b"\"*** ") => patch = value.string(),
                    None if to_shell && !is_aside && !name.ends_with("id") => texts.extend(value.string()),
                    None => {}
                }
            }
            if is_aside {
                asides.push(spelled.into_owned());
            } else {
                others = true;
            }
            Ok(())
        });
        if read.is_err() {
            return Self::default();
        }
        let is_word = |text: &&Cow<'_, str>| {
            !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        let command = lines.first().and_then(Option::as_ref);
        given.subcommand = command.or(operation.as_ref()).filter(is_word).map(|word| word.to_lowercase());
        let about_a_file = targets.iter().any(Option::is_some);
        // If a shell gets a single text, that is the command line, whatever the argument is called.
        let only = texts.pop().filter(|_| texts.is_empty());
        let line = match (lines.into_iter().flatten().next(), rest) {
            (Some(line), Some(rest)) => Some(Cow::Owned(format!("{line} {rest}"))),
            // `{"command": "plan", "task_list": […]}` is no command line.
            (Some(line), None) => Some(line).filter(|_| to_shell || !has_list || given.subcommand.is_none()),
            (None, _) => only,
        };
        given.line = line.filter(|line| !about_a_file && !line.trim().is_empty());
        given.target = targets.into_iter().flatten().next().or(listed);
        given.patch = patch;
        // If all arguments are asides, as for `think`, they are the content of the call and are kept.
        if others && !asides.is_empty() {
            let asides: Vec<&str> = asides.iter().map(String::as_str).collect();
            given.without_asides = Some(Members::of(json).without(&asides));
        }
        given
    }
}

/// Returns the code that a call hands to an interpreter: its arguments if they are a text, or the argument `code` or
/// similar.
fn code(action: &Action<'_>) -> Option<String> {
    let json = action.arguments.as_ref().present().and_then(Arguments::json)?;
    let mut code = Json::new(json.as_bytes()).string().ok().map(Cow::into_owned);
    each_text(action, |name, text, _| {
        if CODE.contains(&&*folded(name)) {
            code = Some(text.to_owned());
        }
    });
    code.filter(|code| !code.trim().is_empty())
}

/// Returns the command line in the value of an argument: a text, or a list of words such as `["bash", "-lc", "make"]`.
fn command_line(value: Raw<'_>) -> Option<Cow<'_, str>> {
    let mut words = words_of(value)?;
    match words.as_slice() {
        [_, option, _] if option.starts_with('-') && option.ends_with('c') => words.pop(),
        [_] => words.pop(),
        words => Some(Cow::Owned(words.join(" "))),
    }
}

/// Returns the texts of a list, or the only text.
fn words_of(value: Raw<'_>) -> Option<Vec<Cow<'_, str>>> {
    let items = value.items().unwrap_or_else(|| vec![value]);
    items.into_iter().map(Raw::string).collect()
}

/// Returns the identifiers among the arguments of a structured call, in lower case. Those in lists count only if there
/// are none outside: they usually name parts of the call's target, such as the items of an order.
pub(crate) fn identifiers(action: &Action<'_>) -> BTreeSet<String> {
    let (mut found, mut listed) = (BTreeSet::new(), BTreeSet::new());
    each_text(action, |name, value, in_list| {
        let is_aside = || Meaning::of_any(words(name)).is(Meaning::ASIDE);
        let is_id = || Meaning::of_words(name).last().is_some_and(|word| word.is(Meaning::ID));
        let is_marked =
            |byte: u8| byte.is_ascii_digit() || matches!(byte, b'#' | b'@' | b'/' | b'_' | b'.' | b'-');
        if (3..=200).contains(&value.len())
            && !value.contains(char::is_whitespace)
            && (value.bytes().any(is_marked) || is_id())
            && !is_aside()
        {
            let ids = if in_list { &mut listed } else { &mut found };
            ids.insert(value.trim_matches('#').to_lowercase());
        }
    });
    if found.is_empty() { listed } else { found }
}

/// Returns the arguments of a call as messages show them: `order_id=#W6750959, reason="ordered by mistake"`. The end
/// may be cut off, so ids come first and lists late. `None` if the arguments are not an object.
pub(crate) fn listed_arguments(json: &str) -> Option<String> {
    let mut all = Vec::new();
    let read = Json::new(json.as_bytes()).members(|key, value| {
        let (name, value) = (String::from_utf8_lossy(&key).into_owned(), value.checked()?);
        let is_text = matches!(value.kind(), Kind::String);
        let is_id = || Meaning::of_words(&name).last().is_some_and(|word| word.is(Meaning::ID));
        let is_aside = || Meaning::of_any(words(&name)).is(Meaning::ASIDE);
        let rank = match value.kind() {
            _ if ASIDE.contains(&&*folded(&name)) => 4,
            Kind::List | Kind::Object => 2,
            _ if !is_id() => 1,
            _ if is_aside() => 3,
            _ => 0,
        };
        let plain = value.string().filter(|text| is_text && is_plain(text));
        let shown = plain.unwrap_or_else(|| String::from_utf8_lossy(value.bytes()));
        let shown = if is_path(&shown) { short_path(&shown, VALUE) } else { excerpt(&shown, VALUE) };
        all.push((rank, format!("{name}={shown}")));
        Ok(())
    });
    all.sort_by_key(|(rank, _)| *rank);
    let all: Vec<String> = all.into_iter().map(|(_, shown)| shown).collect();
    read.is_ok().then(|| all.join(", "))
}

/// Returns true if a text needs no quotes in a list.
fn is_plain(text: &str) -> bool {
    !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || matches!(c, '"' | ',' | '='))
}

/// Returns true if the text contains a value of the arguments that has a digit, ignoring case.
pub(crate) fn names_value(action: &Action<'_>, text: &[u8]) -> bool {
    let (mut names, lower) = (false, OnceCell::new());
    each_text(action, |_, value, _| {
        let value = value.trim_start_matches('#');
        if !names && value.len() >= 3 && value.bytes().any(|byte| byte.is_ascii_digit()) {
            let text = lower.get_or_init(|| String::from_utf8_lossy(text).to_lowercase());
            names = text.contains(&*value.to_lowercase());
        }
    });
    names
}

/// Calls `visit` with the name and value of each text among the arguments and in their lists, and with
/// whether it is in a list.
pub(crate) fn each_text(action: &Action<'_>, mut visit: impl FnMut(&str, &str, bool)) {
    let Some(json) = action.arguments.as_ref().present().and_then(Arguments::json) else { return };
    let _ = Json::new(json.as_bytes()).members(|key, value| {
        let (name, value) = (String::from_utf8_lossy(&key), value.checked()?);
        match value.items() {
            Some(items) => {
                items.into_iter().filter_map(Raw::string).for_each(|text| visit(&name, &text, true));
            }
            None => value.string().iter().for_each(|text| visit(&name, text, false)),
        }
        Ok(())
    });
}
