//! How messages quote calls, lines and names. Only for messages: rules compare whole texts.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::arguments::{Given, listed_arguments};
use super::call::is_path;
use super::shell::Command;
use super::{Facts, Failure, FailureKind, Part};
use crate::json::Json;
use crate::trace::{Action, Arguments, canonical_text, first_chars};

/// Maximum length of a command, path or argument in a message, in characters.
const LONGEST: usize = 60;

/// A call as messages show it, formatted on demand.
#[derive(Debug, Clone)]
pub(crate) struct Shown {
    pub(crate) call: Arc<Facts>,
    /// The index of the command to show; `None` for the one that failed, else the main one.
    part: Option<usize>,
    /// The arguments that are shown.
    given: Option<Box<str>>,
    /// The whole command line, if the harness refused it or PowerShell could not parse it.
    line: Option<Box<str>>,
}

impl Shown {
    /// Shows the tool and the beginning of the command that failed, else of the main one, or the
    /// target of the call.
    pub(crate) fn of(call: &Arc<Facts>) -> Self {
        Self { call: Arc::clone(call), part: None, given: None, line: None }
    }

    /// Like [`Shown::of`], with the beginning of this command.
    pub(crate) fn part(call: &Arc<Facts>, part: &Part) -> Self {
        Self { part: Some(part.place), ..Self::of(call) }
    }

    /// Like [`Shown::of`], but shows the arguments of a structured call that names no file, and the whole of a command
    /// line that the harness refused or PowerShell could not parse.
    pub(crate) fn with(call: &Arc<Facts>, action: &Action<'_>) -> Self {
        let is_plain = !call.call.is_shell && call.call.target.is_none() && action.name.trim() == &*call.tool;
        let given = action.arguments.as_ref().present().filter(|_| is_plain).and_then(Arguments::json);
        let refused = |failure: &Failure| {
            let refused = failure.is_flagged && failure.kind == FailureKind::Refused;
            call.call.is_shell && (refused || failure.is_of_form())
        };
        let is_refused = call.failure.as_deref().is_some_and(refused);
        let line = is_refused.then(|| Given::by(action, true).line).flatten();
        Self { given: given.map(Into::into), line: line.map(Into::into), ..Self::of(call) }
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Facts { tool, call, failure, .. } = &*self.call;
        let name = quoted(tool);
        if let Some(line) = &self.line {
            return write!(f, "`{name}: {}`", excerpt(line, LONGEST));
        }
        if let Some(json) = self.given.as_deref().map(canonical_text).filter(|json| json != "{}") {
            // A single text is a query or code, so the name of its argument says nothing.
            if let Some(text) = sole_text(&json) {
                return write!(f, "`{name}: {}`", excerpt(&text, LONGEST));
            }
            let listed = listed_arguments(&json).unwrap_or(json);
            return write!(f, "`{name} {}`", excerpt(&listed, LONGEST));
        }
        let failed = || failure.as_ref().and_then(|failure| call.failed_part(&failure.line));
        let main = || call.parts.iter().find(|part| part.program == call.program).or(call.parts.first());
        let part = match self.part {
            Some(place) => call.parts.get(place),
            None => failed().or_else(main),
        };
        match (part.filter(|_| call.is_shell), &call.target) {
            // If the tool has the name of the program, the command already shows it.
            (Some(part), _) if part.name() == &**tool => write!(f, "`{}`", part.shown),
            (Some(part), _) => {
                // If the line did not parse, an ellipsis stands for the rest of it.
                let is_part = call.parts.len() > 1
                    && !part.shown.ends_with('…')
                    && failure.as_ref().is_some_and(|failure| failure.is_unparsed());
                write!(f, "`{name}: {}{}`", part.shown, if is_part { " …" } else { "" })
            }
            (None, Some(target)) => write!(f, "`{name} {}`", short_path(target, LONGEST)),
            (None, None) => write!(f, "`{name}`"),
        }
    }
}

/// Returns a command as messages quote it, after the variables that are set for it. In a long command, paths are
/// shortened at the start and the rest at the end.
pub(super) fn shown(command: &Command<'_>) -> Box<str> {
    let length: usize = command.words().map(|word| word.len() + 1).sum();
    let word = |word: &str| match word {
        word if length > LONGEST && word.len() > LONGEST / 2 && is_path(word) => {
            short_path(word, LONGEST / 2)
        }
        word if word.is_empty() || word.contains(|c: char| c.is_whitespace() || "|&;<>()".contains(c)) => {
            let quote = if word.contains('\'') { '"' } else { '\'' };
            format!("{quote}{}{quote}", first_chars(word.trim(), 2 * LONGEST))
        }
        word => word.to_owned(),
    };
    let mut words: Vec<String> = command.words().take(LONGEST).map(word).collect();
    if let Some(file) = &command.writes {
        words.extend([">".to_owned(), word(file)]);
    }
    if !command.heredoc.is_empty() {
        words.extend(["<<EOF".to_owned(), first_chars(&command.heredoc, 2 * LONGEST).to_owned()]);
    }
    let (command, variables) =
        (excerpt(&words.join(" "), LONGEST), excerpt(&command.assigned.join(" "), LONGEST / 2));
    if variables.is_empty() { command.into() } else { format!("{variables} {command}").into() }
}

/// Returns the beginning of a text on one line: at most `chars` characters, and an ellipsis if more follow.
pub(in crate::detect) fn excerpt(text: &str, chars: usize) -> String {
    let text = text.trim();
    let head = first_chars(text, 2 * chars);
    let line = head.split_whitespace().collect::<Vec<_>>().join(" ");
    let start = first_chars(&line, chars);
    let is_whole = start.len() == line.len() && head.len() == text.len();
    if is_whole { line } else { format!("{}…", start.trim_end()) }
}

/// Returns the command line, or the only text, that a call hands to its tool; of `bash -c '…'`, the line inside.
#[cfg(feature = "statistics")]
pub(crate) fn command_line<'a>(action: &'a Action<'_>) -> Option<Cow<'a, str>> {
    let json = action.arguments.as_ref().present().and_then(Arguments::json)?;
    let line = Given::by(action, false).line.or_else(|| sole_text(json).map(Cow::Owned))?;
    Some(super::shell::line_inside(&line).map_or(line, Cow::Owned))
}

/// Returns the text of the only argument, if it has several words.
fn sole_text(json: &str) -> Option<String> {
    let (mut count, mut sole) = (0, None);
    let read = Json::new(json.as_bytes()).members(|_, value| {
        count += 1;
        sole = value.checked()?.string().map(Cow::into_owned);
        Ok(())
    });
    sole.filter(|text| read.is_ok() && count == 1 && text.trim().contains(char::is_whitespace))
}

/// Shortens a path to about `longest` characters, keeping its end.
pub(super) fn short_path(path: &str, longest: usize) -> String {
    let start = path.len().saturating_sub(longest);
    let end =
        path.get(start..).filter(|_| start > 0).and_then(|end| end.find('/').and_then(|at| end.get(at..)));
    end.map_or_else(|| excerpt(path, longest), |end| format!("…{end}"))
}

/// Returns a colon and the beginning of a line without its full stop; empty if the line is blank.
pub(in crate::detect) fn after_colon(line: &str) -> String {
    // The decisive word is often at the end of an error, so a line that is not much longer is kept whole.
    let line = excerpt(line, if line.chars().count() <= 140 { 140 } else { 100 });
    let line = if line.ends_with("..") { &line } else { line.trim_end_matches('.') };
    if line.is_empty() { String::new() } else { format!(": {line}") }
}

/// Returns the part of a name that messages quote, at most 80 characters.
pub(in crate::detect) fn quoted(name: &str) -> &str {
    first_chars(name.trim(), 80)
}
