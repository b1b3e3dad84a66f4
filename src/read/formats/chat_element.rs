//! An element of a chat (a message or an item), and the signs of an error in it.

use super::chat_call::ToolCall;
use super::chat_content;
use super::chat_items::Item;
use super::claude_code_queue::is_all_of_harness;
use super::codex_text;
use super::mini_swe_agent::Extra;
use super::prelude::*;
use crate::read::call_outcome::{in_last_line, says_error};
use crate::read::text_results;
use crate::read::written_results::{self, Unwrapped};

/// A message or an item. The members that every reader needs are parsed, the others on demand.
#[derive(Debug, Default)]
pub(super) struct Element<'a> {
    members: Members<'a>,
    pub(super) item: Option<Item>,
    pub(super) role: Option<Cow<'a, str>>,
    /// True for a step of the Gemini Interactions API. It has no role; its type implies one.
    is_step: bool,
    pub(super) content: Option<Raw<'a>>,
    /// The entries of a message under `tool_calls`.
    pub(super) tool_calls: Vec<ToolCall<'a>>,
    /// The id of the call that a message answers.
    pub(super) answers: Option<Cow<'a, str>>,
}

impl<'a> From<Raw<'a>> for Element<'a> {
    fn from(value: Raw<'a>) -> Self {
        Self::of(value.into())
    }
}

impl<'a> Element<'a> {
    pub(super) fn of(members: Members<'a>) -> Self {
        let text = |key: &str| members.get(key).and_then(Raw::string);
        let (kind, role) = (text("type"), text("role").map(plain_role));
        let implied = match kind.as_deref() {
            Some("user_input") => Some("user".into()),
            Some("model_output") => Some("assistant".into()),
            _ => None,
        };
        // A message without content may have a refusal, or the transcript of speech.
        let refusal = || members.get("refusal").filter(|text| text.kind() == Kind::String);
        let is_text = |content: &Raw<'_>| content.bytes() != b"\"\"";
        let content = members.present("content").filter(is_text).or_else(refusal);
        let content = content.or_else(|| members.present("audio")?.member("transcript"));
        let answers = members.first(&["tool_call_id", "toolCallId"]).and_then(common::ident);
        let last = || members.list("tool_call_ids").into_iter().rev().find_map(common::ident);
        Self {
            item: kind.as_deref().and_then(Item::of),
            is_step: role.is_none() && implied.is_some(),
            role: role.or(implied),
            content: content.or_else(|| members.get("content")),
            tool_calls: ToolCall::all(&members),
            answers: answers.or_else(last),
            members,
        }
    }

    /// Returns the id of the call that an item is or answers.
    pub(super) fn id_of_call(&self) -> Option<Cow<'a, str>> {
        let id = self.members.first(&["call_id", "callId"]).and_then(common::ident);
        id.or_else(|| self.members.ident("id"))
    }

    pub(super) fn name(&self) -> Option<Cow<'a, str>> {
        self.members.name("name").or_else(|| self.members.object("call").name("name"))
    }

    pub(super) fn status(&self) -> Option<Cow<'a, str>> {
        self.members.name("status")
    }

    /// Returns the results inside one message as separate messages: lists of AutoGen 0.2 and Cohere, or results by id
    /// of fast-agent.
    pub(super) fn results(&self) -> Vec<Self> {
        if !self.has_results() {
            return Vec::new();
        }
        // Blocks in the content are the same results.
        let is_copied = self.content.is_some_and(|content| {
            let (_, blocks) = chat_content::results(content);
            blocks.iter().any(|block| block.answers.is_some())
        });
        let lists = RESULTS.into_iter().filter(|_| !is_copied).flat_map(|key| self.members.objects(key));
        let listed = |result: Members<'a>| {
            let id = result.first(&["tool_use_id", "call_id"]).and_then(common::ident);
            let result = Self::of(result);
            Self { answers: result.answers.clone().or(id), ..result }
        };
        let by_id = self.members.object("tool_results");
        let of =
            |(id, result): (&str, Raw<'a>)| Self { answers: Some(id.to_owned().into()), ..result.into() };
        lists.filter(is_result).map(listed).chain(by_id.iter().map(of)).collect()
    }

    pub(super) fn has_results(&self) -> bool {
        RESULTS.iter().any(|key| self.members.objects(key).any(|result| is_result(&result)))
            || self.members.is("tool_results", Kind::Object)
    }

    /// Returns true if the content of a message is that of its results, joined, as AutoGen 0.2 writes it.
    pub(super) fn is_joined(&self) -> bool {
        self.members.is("tool_responses", Kind::List)
    }

    pub(super) fn extra(&self) -> Extra<'a> {
        Extra::of(&self.members.object("extra"))
    }

    /// Returns true if the harness wrote a message of the user.
    pub(super) fn is_notice(&self, text: &TextCow<'_>) -> bool {
        let text = text.text();
        self.extra().is_notice()
            || text_results::is_notice(text)
            || self.is_exported() && is_all_of_harness(text)
    }

    /// Returns true if a message of the model is a report of Claude Code that a request failed: one line, for which no
    /// model spent tokens.
    pub(super) fn is_failed_request(&self, text: &TextCow<'_>) -> bool {
        let reports = ["API Error: ", "API Error (", "Please run /login · API Error: "];
        let text = text.text();
        self.is_exported()
            && reports.iter().any(|start| text.starts_with(start))
            && !text.to_str().trim_end().contains('\n')
            && self.usage().is_none()
            && self.model().is_none()
    }

    /// Returns true for a message of a session that was converted to a chat.
    fn is_exported(&self) -> bool {
        self.members.is("_metadata", Kind::Object)
    }

    /// Returns the name of the sub-agent that the role names (`subagent-7` in `assistant-subagent-7`), and
    /// replaces the role with `assistant`, `tool` or the one before an exporter replaced it.
    pub(super) fn sub_agent(&mut self) -> Option<String> {
        let name = self.role.as_deref()?.strip_prefix("assistant-")?.to_owned();
        let original = || self.members.object("_metadata").name("original_role");
        let role = if self.answers.is_some() { Some("tool".into()) } else { original() };
        self.role = Some(role.unwrap_or_else(|| "assistant".into()));
        Some(name)
    }

    pub(super) fn is_message(&self) -> bool {
        let has_calls = || ["tool_calls", "function_call"].iter().any(|key| self.members.has(key));
        let is_result = || self.role.as_deref() == Some("tool") && self.has_results();
        (self.content.is_some() || has_calls() || is_result()) && self.may_be_message()
    }

    /// Returns true if it is a message, or would be one if it had content or calls.
    pub(super) fn may_be_message(&self) -> bool {
        // Only the reader of events reads texts under other keys.
        let has_other_text =
            || ["message", "model_output"].iter().any(|key| self.members.is(key, Kind::String));
        self.role.is_some()
            && !self.is_step
            && (self.content.is_some() || !has_other_text())
            && !["parts", "requestor", "toolUseId"].iter().any(|key| self.members.has(key))
            && !self.tool_calls.iter().any(|call| call.is_foreign)
    }

    pub(super) fn has_type(&self) -> bool {
        self.members.is("type", Kind::String)
    }

    pub(super) fn is_item(&self) -> bool {
        self.has_type() || self.role.is_some()
    }

    pub(super) fn is_reasoning(&self) -> bool {
        matches!(self.members.name("type").as_deref(), Some("reasoning" | "thought"))
    }

    pub(super) fn is_null(&self, key: &str) -> bool {
        self.members.is(key, Kind::Null)
    }

    /// Returns a member of an item, unless it is null.
    pub(super) fn part(&self, key: &str) -> Option<Raw<'a>> {
        match key {
            "output" => self.output().filter(|output| output.kind() != Kind::Null),
            "action" if !self.members.has(key) => self.members.present("code"),
            _ => self.members.present(key),
        }
    }

    /// Returns the output of a call: `output` if it says something, else the first value that does.
    pub(super) fn output(&self) -> Option<Raw<'a>> {
        let says = |value: &Raw<'_>| value.kind() != Kind::Null && value.bytes() != b"\"\"";
        let keys = ["output", "result", "tool_result", "response", "observation", "outputs"];
        let mut all = self.members.iter().filter(|(key, _)| keys.contains(key)).map(|(_, value)| value);
        let output = self.members.get("output").filter(says).or_else(|| all.find(says));
        output.or_else(|| self.members.first(&keys))
    }

    /// Returns its time, from a date or from seconds since 1970.
    pub(super) fn time(&self) -> Option<u64> {
        let exported = || self.members.object("_metadata").present("timestamp");
        let at = self.members.get("timestamp").or_else(exported);
        let time = at.and_then(|at| time::of_string(at).or_else(|| time::of_seconds(at)));
        time.or_else(|| self.extra().time)
    }

    /// Returns the model that wrote the message.
    pub(super) fn model(&self) -> Option<Cow<'a, str>> {
        // Cline keeps it under `modelInfo`, Amp under `usage`.
        let within = |outer: &str, key: &str| self.members.object(outer).name(key);
        let own = self.members.name("model").or_else(|| within("modelInfo", "modelId"));
        own.or_else(|| within("usage", "model"))
    }

    /// Returns the token usage of its response.
    pub(super) fn usage(&self) -> Option<Usage> {
        self.members.usage("usage").or_else(|| self.extra().usage)
    }

    /// Returns the flag of a result that says whether the call failed.
    pub(super) fn is_error(&self) -> Option<bool> {
        let first = |members: &Members<'_>, keys: &[&str]| {
            keys.iter().find_map(|key| members.get(key).and_then(says_error))
        };
        let stated = first(&self.members, &["is_error", "isError", "tool_call_error"]);
        stated
            .or_else(|| self.members.flag("success").map(|succeeded| !succeeded))
            .or_else(|| self.output()?.member("success")?.boolean().map(|succeeded| !succeeded))
            .or_else(|| first(&self.members.object("metadata"), &["isError", "is_error"]))
    }

    /// Returns the outcome that the text and flags of a result show, if any. Callers must try this before the
    /// text rules of Codex.
    pub(super) fn outcome(&self, text: Text<'_>) -> Option<Outcome> {
        let starts = |start, outcome| text.starts_with(start).then_some(outcome);
        let stopped = Outcome::unknown(UnknownReason::Interrupted, Provenance::Text);
        let early =
            never_ran(text).or_else(|| broken_off(text)).or_else(|| starts("aborted by user", stopped));
        let marked = early.or_else(|| self.flag()).or_else(|| in_background(text));
        let marked = marked.or_else(|| starts("<tool_use_error>", Outcome::error(Provenance::Text)));
        if marked.is_some() {
            return marked;
        }
        // OpenHands appends the exit code of a command.
        let tail = text.tail(300);
        let by_line = |line: &str| {
            let line = line.strip_prefix('[')?.strip_suffix(']')?;
            let codes = ["Command finished with exit code ", "The command completed with exit code "];
            codes.iter().find_map(|code| words::exit_line(line.trim_end_matches('.'), code))
        };
        if let Some(failed) = tail.lines().rev().take(3).find_map(by_line) {
            return Some(Outcome::exit_code(failed));
        }
        at_start(text)
    }

    /// Returns the answer of a result. `content` is its text, if it has one besides its output.
    pub(super) fn answer(&self, content: Option<TextCow<'a>>, is_of_hermes: bool) -> Answer<'a> {
        let output =
            self.part("output").or_else(|| self.part("error").filter(|error| error.boolean().is_none()));
        let text = content.filter(|text| output.is_none() || !wire::is_blank(text.text()));
        let Some(text) = text.or_else(|| output.and_then(words::result)) else {
            return self.flag().unwrap_or(Outcome::UNMARKED).answer(Content::Absent);
        };
        let Unwrapped { outcome: written, text, may_report } = written_results::unwrapped(text, is_of_hermes);
        let marked = self.outcome(text.text()).or(written);
        let (codex, observation) = codex_text::split(text_calls::unmarked(text));
        let text = observation.text();
        // A text that says that the call is still running or was interrupted takes precedence.
        let unfinished = codex.filter(|outcome| outcome.status == Status::Unknown);
        let outcome = unfinished.or(marked).or(codex).unwrap_or_else(|| {
            let failed = may_report && reports_failure(text);
            let by_text = failed.then_some(Outcome::error(Provenance::Text));
            by_text.or_else(|| at_end(text)).unwrap_or(Outcome::UNMARKED)
        });
        outcome.answer(Content::Present(observation))
    }

    /// Returns the outcome of a call from the flags and the exit code of its result.
    pub(super) fn flag(&self) -> Option<Outcome> {
        if let Some(failed) = self.is_error().or_else(|| self.members.get("error").and_then(says_error)) {
            return Some(Outcome::flag(failed));
        }
        let by_word = self.members.outcome("status").filter(|outcome| match outcome.status {
            Status::Error => true,
            // Other words may be about the message.
            _ => self.status().as_deref() == Some("success"),
        });
        if by_word.is_some() {
            return by_word;
        }
        self.extra().returncode.and_then(is_failure_code).map(Outcome::exit_code)
    }
}

/// Keys of results inside one message.
const RESULTS: [&str; 2] = ["tool_responses", "tool_results"];

/// Returns true if an entry of a list of results is one, not the source of an answer, such as a title with an address.
fn is_result(entry: &Members<'_>) -> bool {
    const KEYS: [&str; 9] = [
        "tool_call_id",
        "toolCallId",
        "tool_use_id",
        "call_id",
        "call",
        "content",
        "output",
        "outputs",
        "result",
    ];
    KEYS.iter().any(|key| entry.present(key).is_some())
}

/// Returns a role. Results in messages of pi have one of their own.
fn plain_role(role: Cow<'_, str>) -> Cow<'_, str> {
    let is_tool = ["tool", "toolResult"].iter().any(|name| role.eq_ignore_ascii_case(name));
    if is_tool { "tool".into() } else { role }
}

/// Returns the outcome in the last line of a text, or in the report that Toolathlon writes below the output of code.
fn at_end(text: Text<'_>) -> Option<Outcome> {
    let end = text.tail(300);
    let report = || end.rsplit_once("=== EXECUTION INFO ===\n").map(|(_, report)| words::first_line(report));
    let in_report = || words::exit_line(report()?, "Return code: ").map(Outcome::exit_code);
    in_last_line(&end).or_else(in_report)
}
