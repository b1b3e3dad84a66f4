//! Items of OpenAI's Responses: calls, their outputs, and calls that contain their results.

use super::chat_element::Element;
use super::chat_messages::Conversation;
use super::codex_text;
use super::prelude::*;
use crate::read::outcome::never_ran;

/// The kind of an item, by its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::read) enum Item {
    /// A function call.
    Function,
    /// A call of a tool with free text.
    Custom,
    /// A call of a tool of OpenAI's, named by the type.
    Tool(&'static str),
    /// The same, run on the server: it contains its result.
    Server(&'static str),
    /// A call of a remote tool: it contains its result.
    Mcp,
    /// The output of a call.
    Output,
}

impl Item {
    pub(in crate::read) fn of(kind: &str) -> Option<Self> {
        Some(match kind {
            "function_call" => Self::Function,
            "custom_tool_call" => Self::Custom,
            "local_shell_call" => Self::Tool("local_shell"),
            "tool_search_call" => Self::Tool("tool_search"),
            "computer_call" => Self::Tool("computer"),
            "web_search_call" => Self::Server("web_search"),
            "file_search_call" => Self::Server("file_search"),
            "code_interpreter_call" => Self::Server("code_interpreter"),
            "image_generation_call" => Self::Server("image_generation"),
            "mcp_call" => Self::Mcp,
            "function_call_output"
            | "function_result"
            | "custom_tool_call_output"
            | "local_shell_call_output"
            | "tool_search_output"
            | "computer_call_output" => Self::Output,
            _ => return None,
        })
    }
}

impl<'a> Conversation<'a> {
    /// Adds an item.
    pub(in crate::read) fn item(&mut self, item: Item, element: &mut Element<'a>) {
        let id = element.call_id.take().or(element.id.take());
        if item == Item::Output {
            let turn = self.end_turn();
            return self.assembler.answer(turn, id, output(element.output, element.is_error));
        }
        let turn = self.turn();
        let mut call = match item {
            Item::Tool(name) | Item::Server(name) => Call::new(turn, id, name),
            _ => Call::new(turn, id, element.name.clone().unwrap_or_default()),
        };
        call.arguments = match item {
            Item::Function | Item::Mcp => element.arguments.map_or(Content::Absent, common::arguments),
            Item::Custom => wire::sole_argument("input", element.input),
            _ => [element.action, element.arguments, element.queries]
                .into_iter()
                .find_map(present)
                .map_or(Content::Absent, common::arguments),
        };
        let number = self.call(call, element.time());
        if let Some(answer) = own_answer(item, element) {
            self.assembler.answer_call(number, answer);
        }
    }
}

/// Returns a value that is present and not null.
fn present(value: Option<Raw<'_>>) -> Option<Raw<'_>> {
    value.filter(|value| value.kind() != Kind::Null)
}

/// Returns the answer that a call contains.
fn own_answer<'a>(item: Item, element: &Element<'a>) -> Option<Answer<'a>> {
    match (item, element.status.as_deref()) {
        (Item::Server(_), Some("completed")) => Some(Outcome::flag(false).answer(Content::Absent)),
        (Item::Server(_), Some("failed" | "incomplete")) => Some(Outcome::flag(true).answer(Content::Absent)),
        (Item::Mcp, _) => match (present(element.error), present(element.output)) {
            (Some(error), _) => Some(Outcome::flag(true).answer(words::result(error).into())),
            (None, Some(output)) => Some(Outcome::UNMARKED.answer(words::result(output).into())),
            (None, None) => None,
        },
        _ => None,
    }
}

/// Returns the output of a call: a text, a list of parts, or an object with the content and optionally its success.
fn output(value: Option<Raw<'_>>, is_error: Option<bool>) -> Answer<'_> {
    let Some(value) = value else { return Outcome::UNMARKED.answer(Content::Absent) };
    let member = |name: &str| value.member(name);
    let success = member("success").and_then(Raw::boolean).or(is_error.map(|failed| !failed));
    let text = words::result(member("content").unwrap_or(value));
    let Some(text) = text else {
        return success.map_or(Outcome::UNMARKED, |success| Outcome::flag(!success)).answer(Content::Absent);
    };
    if let Some(outcome) = never_ran(text.text()) {
        return outcome.answer(Content::Present(text));
    }
    let nested = nested_outcome(&text.text().to_str());
    let (by_text, observation) = codex_result(text);
    let outcome = match (by_text.or(nested), success) {
        (Some(outcome), _) if outcome.status == Status::Unknown => outcome,
        (_, Some(success)) => Outcome::flag(!success),
        (by_text, None) => by_text.unwrap_or(Outcome::UNMARKED),
    };
    outcome.answer(Content::Present(observation))
}

/// Returns the outcome by the text rules of Codex, and the rest of the text.
pub(in crate::read) fn codex_result(text: TextCow<'_>) -> (Option<Outcome>, TextCow<'_>) {
    let (outcome, rest) = match codex_text::read(&text) {
        Some(codex) => (Some(codex.outcome), codex.observation),
        None => (None, None),
    };
    (outcome, rest.unwrap_or(text))
}

/// Returns the outcome of a JSON result that contains the real one, as MCP writes it: by its flag, or by its text.
pub(in crate::read) fn nested_outcome(text: &str) -> Option<Outcome> {
    const MOST_NESTED: usize = 4;
    let mut text = Cow::Borrowed(text);
    for depth in 0..MOST_NESTED {
        let start = text.trim_start();
        if depth > 0
            && ["Error:", "error:", "Failed to ", "failed to "].iter().any(|word| start.starts_with(word))
        {
            return Some(Outcome::error(Provenance::Text));
        }
        if !start.starts_with(['{', '[']) {
            return None;
        }
        let value = Raw::over(start.as_bytes(), 0);
        let flag = ["isError", "is_error"].iter().find_map(|key| value.member(key)?.boolean());
        if flag == Some(true) {
            return Some(Outcome::flag(true));
        }
        if depth > 0 && value.member("object").and_then(Raw::string).is_some_and(|object| object == "error") {
            return Some(Outcome::error(Provenance::Text));
        }
        let inner = match value.member("content") {
            Some(content) if content.kind() == Kind::List => words::result(content)?.into_cow().into_owned(),
            _ => value
                .member("type")
                .and_then(Raw::string)
                .filter(|kind| kind == "text")
                .and_then(|_| value.member("text").and_then(Raw::string).map(Cow::into_owned))?,
        };
        text = Cow::Owned(inner);
    }
    None
}
