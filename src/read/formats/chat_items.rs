//! Items of OpenAI's Responses API: calls, their outputs, and calls that contain their results.

use super::chat_element::Element;
use super::chat_messages::Conversation;
use super::codex_text;
use super::prelude::*;
use crate::read::written_results::unwrapped;

/// The kind of an item, by its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Item {
    Function,
    /// A call to a tool whose input is free text.
    Custom,
    /// A call to one of OpenAI's own tools, which the type names.
    Tool(&'static str),
    /// Like `Tool`, but run on the server. The status of the item is the outcome of the call.
    Server(&'static str),
    /// A call to a remote tool. The item contains the result.
    Mcp,
    /// A call to a remote tool that waits for approval. If it is approved, an item of kind `Mcp` follows.
    Request,
    /// The approval or refusal of a request.
    Approval,
    Output,
}

impl Item {
    pub(super) fn of(kind: &str) -> Option<Self> {
        Some(match kind {
            "function_call" => Self::Function,
            "custom_tool_call" => Self::Custom,
            "local_shell_call" => Self::Tool("local_shell"),
            "tool_search_call" => Self::Tool("tool_search"),
            "computer_call" => Self::Tool("computer"),
            "shell_call" => Self::Tool("shell"),
            "apply_patch_call" => Self::Tool("apply_patch"),
            "program" => Self::Tool("program"),
            "web_search_call" => Self::Server("web_search"),
            "file_search_call" => Self::Server("file_search"),
            "code_interpreter_call" => Self::Server("code_interpreter"),
            "image_generation_call" => Self::Server("image_generation"),
            "mcp_call" => Self::Mcp,
            "mcp_approval_request" => Self::Request,
            "mcp_approval_response" => Self::Approval,
            "function_call_output"
            | "function_call_result"
            | "function_result"
            | "custom_tool_call_output"
            | "local_shell_call_output"
            | "tool_search_output"
            | "computer_call_output"
            | "shell_call_output"
            | "apply_patch_call_output"
            | "program_output" => Self::Output,
            _ => return None,
        })
    }
}

impl Item {
    /// Returns the call of an item, and the answer that it contains, if any. `part` returns a member unless
    /// it is null.
    pub(super) fn call<'a>(
        self,
        id: Option<Cow<'a, str>>,
        name: Option<Cow<'a, str>>,
        status: Option<&str>,
        part: impl Fn(&str) -> Option<Raw<'a>>,
    ) -> (Call<'a>, Option<Answer<'a>>) {
        let name = match self {
            Self::Tool(name) | Self::Server(name) => name.into(),
            _ => name.unwrap_or_default(),
        };
        let arguments = match self {
            Self::Function | Self::Mcp | Self::Request => part("arguments"),
            _ => ["action", "arguments", "queries", "operation"].into_iter().find_map(&part),
        };
        let call = Call::new(0, id, name).with(match self {
            Self::Custom => wire::sole_argument("input", part("input")),
            _ => arguments.map_or(Content::Absent, common::arguments),
        });
        let answer = match (self, status) {
            (Self::Server(_), Some("completed")) => Outcome::flag(false).answer(Content::Absent),
            (Self::Server(_), Some("failed" | "incomplete")) => Outcome::flag(true).answer(Content::Absent),
            (Self::Mcp, _) => match (part("error"), part("output")) {
                (Some(error), _) => Outcome::flag(true).answer(words::result(error).into()),
                (None, Some(output)) => Outcome::UNMARKED.answer(words::result(output).into()),
                (None, None) => return (call, None),
            },
            _ => return (call, None),
        };
        (call, Some(answer))
    }
}

impl<'a> Conversation<'a> {
    /// Adds an item: a call, an answer, or a call with its answer.
    pub(super) fn item(&mut self, item: Item, element: &Element<'a>) {
        let id = element.id_of_call();
        if item == Item::Output {
            let turn = self.end_turn();
            let answer = match (element.output().and_then(of_commands), element.output().map(content)) {
                (Some(answer), _) => answer,
                (None, Some(None)) => element.flag().unwrap_or(Outcome::UNMARKED).answer(Content::Absent),
                (None, text) => element.answer(text.flatten(), self.is_of_hermes),
            };
            // The server searches for tools, one search at a time, without ids.
            let is_bare = element.is_null("call_id");
            let search = if is_bare { self.oldest("tool_search") } else { None };
            return self.assembler.answer_to(search, turn, id, answer);
        }
        let request = element.part("approval_request_id").and_then(common::ident);
        if item == Item::Approval {
            let turn = self.end_turn();
            if element.part("approve").and_then(Raw::boolean) == Some(false) {
                let reason = element.part("reason").and_then(words::result);
                self.assembler.answer(turn, request, Outcome::REFUSED.answer(reason.into()));
            }
            return;
        }
        let turn = self.turn();
        let (name, status) = (element.name(), element.status());
        let (call, answer) = item.call(id, name, status.as_deref(), |key| element.part(key));
        let requested = request.and_then(|id| self.requests.remove(&id));
        let number = requested.unwrap_or_else(|| self.call(Call { turn, ..call }, element.time()));
        if item == Item::Request {
            self.requests.extend(element.id_of_call().map(|id| (id, number)));
        }
        if let Some(answer) = answer {
            self.assembler.answer_call(number, answer);
        }
    }
}

/// Returns the answer in an output: a text, a list of parts, or an object with the content and optionally
/// `success`. `stated` is the outcome recorded elsewhere. The text of a tool of MCP may be its blocks, written as JSON.
pub(super) fn answer(output: Option<Raw<'_>>, stated: Option<Outcome>, is_of_mcp: bool) -> Answer<'_> {
    let success = output.and_then(|output| output.member("success")?.boolean());
    let stated = success.map(|success| Outcome::flag(!success)).or(stated);
    let Some(text) = output.and_then(content) else {
        return stated.unwrap_or(Outcome::UNMARKED).answer(Content::Absent);
    };
    if let Some(outcome) = never_ran(text.text()) {
        return outcome.answer(Content::Present(text));
    }
    let (by_text, observation) = codex_text::split(text);
    let (of_blocks, observation) = if is_of_mcp && observation.text().starts_with("[{") {
        let unwrapped = unwrapped(observation, false);
        (unwrapped.outcome, unwrapped.text)
    } else {
        (None, observation)
    };
    // A text that says that the call is still running or was interrupted takes precedence.
    let unfinished = by_text.filter(|outcome| outcome.status == Status::Unknown);
    let outcome = unfinished.or(stated).or(by_text).or(of_blocks).unwrap_or(Outcome::UNMARKED);
    outcome.answer(Content::Present(observation))
}

/// Returns the answer in the outputs of commands, each with its outcome.
fn of_commands(output: Raw<'_>) -> Option<Answer<'_>> {
    let outputs = output.items().filter(|outputs| !outputs.is_empty())?;
    let (mut text, mut failed) = (String::new(), false);
    for output in outputs {
        let outcome = output.member("outcome")?;
        let code = outcome.member("exit_code").and_then(is_failure_code);
        failed |= code.unwrap_or(outcome.member("type").and_then(common::name)? != "exit");
        for key in ["stdout", "stderr"] {
            text += &output.member(key).and_then(Raw::string).unwrap_or_default();
        }
    }
    Some(Outcome::exit_code(failed).answer(Content::Present(text.into())))
}

/// Returns the text of an output.
fn content(output: Raw<'_>) -> Option<TextCow<'_>> {
    let is_text = output.member("type").and_then(common::name).is_some_and(|kind| kind == "text");
    let text = if is_text { output.member("text") } else { None };
    words::result(text.or_else(|| output.member("content")).unwrap_or(output))
}
