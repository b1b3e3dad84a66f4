//! Cline and Roo Code: the messages of their user interface (`ui_messages.json`). A call is in the text of a
//! message; its result is in the next request.

use std::collections::BTreeSet;

use super::prelude::*;
use crate::read::text_grammars::{Written, is_name, is_of_name};
use crate::read::text_results;

pub(super) const FORMAT: Definition =
    Definition { signature: &[Shape::Items(MESSAGE)], reader: Reader::Document(read) };

const MESSAGE: Mark = All(&[
    Is(Kind::Number, &["ts"]),
    Any(&[
        All(&[Says("type", &["say"]), Is(Kind::String, &["say"])]),
        All(&[Says("type", &["ask"]), Is(Kind::String, &["ask"])]),
    ]),
]);

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    // Texts are decoded up front, because the run borrows from them.
    let messages: Vec<_> = document.each().collect();
    let texts: Vec<_> = messages.iter().map(|message| message.get("text").and_then(Raw::string)).collect();
    let mut task =
        Task { run: Recording::of_agent("cline"), open: Vec::new(), asked: None, has_begun: false };
    let incomplete = incomplete(&messages, &texts);
    for ((message, text), is_incomplete) in messages.iter().zip(&texts).zip(incomplete) {
        task.run.model(message.object("modelInfo").name("modelId"));
        if is_incomplete {
            runs.pass_over("incomplete messages", 1);
        } else if MESSAGE.fits(message) {
            task.message(message, text.as_deref().unwrap_or_default());
        } else {
            runs.pass_over("messages of other types", 1);
        }
    }
    task.results("");
    task.run.give(runs);
}

/// Returns which messages are incomplete: those that are marked as partial, except the texts of the model that no later
/// message of the request completes. Cline does not always remove the mark when a text is complete.
fn incomplete(messages: &[Members<'_>], texts: &[Option<Cow<'_, str>>]) -> Vec<bool> {
    let (mut later, mut shown) = (BTreeSet::new(), BTreeSet::new());
    let of_message = |(message, text): (&Members<'_>, _)| {
        let said = message.name("say");
        let kind = said.clone().or_else(|| message.name("ask")).unwrap_or_default();
        if kind == "api_req_started" {
            (later, shown) = Default::default();
        }
        let is_text = matches!(&*kind, "text" | "completion_result");
        let form = plain(text);
        let place = (kind == "text", message.get("ts").and_then(time::of_milliseconds));
        let is_completed = || {
            later.range(form..).next().is_some_and(|next: &&str| next.starts_with(form))
                || shown.contains(&place)
        };
        let is_partial = message.flag("partial") == Some(true);
        let is_incomplete = is_partial && (said.is_none() || !is_text || form.is_empty() || is_completed());
        if is_text {
            later.insert(form);
            shown.insert(place);
        }
        is_incomplete
    };
    let texts = texts.iter().map(|text| text.as_deref().unwrap_or_default());
    let mut found: Vec<_> = messages.iter().zip(texts).rev().map(of_message).collect();
    found.reverse();
    found
}

/// Returns a text without a leading `<thinking>` tag and an unfinished tag at its end, to compare it with a text from
/// which Cline has removed these.
fn plain(text: &str) -> &str {
    let text = text.trim_start();
    let text = text.strip_prefix("<thinking>").unwrap_or(text);
    let tag = text.rfind('<').filter(|at| text.get(*at..).is_some_and(|tag| !tag.contains('>')));
    text.get(..tag.unwrap_or(text.len())).unwrap_or(text).trim()
}

/// Prefixes of the names of tools whose `content` holds their results, even before the user approves the call.
const SEARCHES: [&str; 3] = ["searchFiles", "listFiles", "listCodeDefinitionNames"];

struct Task<'a> {
    run: Recording<'a>,
    /// Unanswered calls, with the output printed for them.
    open: Vec<(CallNumber, Vec<&'a str>)>,
    /// The text of the previous message, if it asked for approval of a call.
    asked: Option<&'a str>,
    has_begun: bool,
}

impl<'a> Task<'a> {
    fn message(&mut self, message: &Members<'a>, text: &'a str) {
        let kind = message.name("type").and_then(|kind| message.name(&kind)).unwrap_or_default();
        self.run.turn(message.get("ts").and_then(time::of_milliseconds));
        // Cline marks a command that needs approval.
        let text = text.strip_suffix("REQ_APP").filter(|_| kind == "command").unwrap_or(text);
        let json = members(Some(text).filter(|text| text.starts_with('{')).and_then(json));
        let is_call = matches!(
            &*kind,
            "tool" | "command" | "use_mcp_server" | "browser_action" | "load_mcp_documentation"
        );
        // A call that was approved may be shown again, which is not a second call.
        let asked = self.asked.take();
        if is_call {
            if asked != Some(text) {
                self.call(&kind, text, &json);
            }
            self.asked = Some(text).filter(|_| message.name("type").as_deref() == Some("ask"));
            return;
        }
        match &*kind {
            "api_req_started" => {
                let request = json.get("request").and_then(Raw::string).unwrap_or_default();
                self.results(&request);
                self.run.metadata.termination = None;
                let input = ["tokensIn", "cacheReads", "cacheWrites"];
                self.run.set_usage(tokens::of_keys(&json, &input, &["tokensOut"], &["cacheReads"]));
            }
            "command_output" | "mcp_server_response" | "browser_action_result" => {
                // A blank text is a question about a running command, not output.
                if let Some((_, printed)) = self.open.last_mut().filter(|_| !common::is_blank(text)) {
                    printed.push(text);
                }
            }
            "task" | "user_feedback" => {
                self.run.say(Actor::User, Some(text.into()));
                self.run.metadata.termination = None;
            }
            "text" if !self.has_begun => self.run.say(Actor::User, Some(text.into())),
            "text" | "followup" | "completion_result" | "plan_mode_respond" => {
                let question = json.get("question").or_else(|| json.get("response")).and_then(Raw::string);
                self.run.say(Actor::Agent, Some(question.map_or_else(|| text.into(), Into::into)));
                if kind == "completion_result" {
                    self.run.metadata.termination = Some("completion_result".to_owned());
                }
            }
            "error"
            | "diff_error"
            | "clineignore_error"
            | "rooignore_error"
            | "api_req_failed"
            | "mistake_limit_reached"
            | "shell_integration_warning" => {
                self.run.say(Actor::Environment, Some(text.into()));
                if kind == "api_req_failed" {
                    self.run.metadata.termination = Some("api_req_failed".to_owned());
                }
            }
            "reasoning"
            | "checkpoint_created"
            | "checkpoint_saved"
            | "task_progress"
            | "resume_task"
            | "resume_completed_task"
            | "api_req_finished"
            | "api_req_retried"
            | "api_req_retry_delayed"
            | "mcp_server_request_started"
            | "deleted_api_reqs"
            | "condense_context"
            | "info"
            | "user_feedback_diff" => {}
            _ => return self.run.pass_over("messages of other types", 1),
        }
        self.has_begun = true;
    }

    fn call(&mut self, kind: &str, text: &'a str, json: &Members<'a>) {
        let name = match kind {
            "tool" => json.name("tool"),
            "use_mcp_server" => {
                let [server, tool] = ["serverName", "toolName"].map(|key| json.name(key).unwrap_or_default());
                Some(Cow::Owned(format!("{server}/{tool}")))
            }
            _ => None,
        };
        let is_search =
            name.as_ref().is_some_and(|tool| SEARCHES.iter().any(|search| tool.starts_with(search)));
        let arguments = match json.whole() {
            None if text.is_empty() => Content::Absent,
            None => Content::Present(common::sole_text(kind, text)),
            Some(_) if kind == "use_mcp_server" => json.arguments("arguments"),
            Some(object) if is_search => common::arguments_without(object, |key| key == b"content"),
            Some(object) => common::arguments(object),
        };
        let name = name.unwrap_or_else(|| kind.to_owned().into());
        let call = self.run.add(Call::new(0, None, name).with(arguments));
        self.open.push((call, Vec::new()));
    }

    /// Answers the open calls with the results in a request, or else with their output.
    fn results(&mut self, request: &str) {
        let results = text_results::bracketed(request.trim_start());
        let is_one_to_one = results.len() == self.open.len();
        let texts: Vec<_> = results.iter().map(|result| result.text).collect();
        let whole = text_calls::answer_of(&texts.join("\n"));
        let last = self.open.len().saturating_sub(1);
        for (at, (call, printed)) in std::mem::take(&mut self.open).into_iter().enumerate() {
            let answer = match texts.get(at) {
                Some(text) if is_one_to_one => text_calls::answer_of(text),
                // Results that do not match the calls one to one go to the last call.
                _ if at == last && !texts.is_empty() => whole.clone(),
                _ if !printed.is_empty() => {
                    Outcome::UNMARKED.answer(Content::Present(printed.join("\n").into()))
                }
                _ if texts.is_empty() => continue,
                _ => Answer { observation: Content::NotRecorded, ..whole.clone() },
            };
            self.run.answer_to(Some(call), answer);
        }
    }
}

const CLINE_TOOLS: &str = " access_mcp_resource act_mode_respond apply_diff apply_patch ask_followup_question \
    attempt_completion browser_action codebase_search condense edit_file execute_command fetch_instructions \
    generate_explanation generate_image insert_content inspect_site list_code_definition_names list_files \
    list_files_recursive list_files_top_level load_mcp_documentation new_rule new_task plan_mode_respond read_file \
    read_command_output replace_in_file report_bug run_slash_command search_and_replace search_files search_replace \
    summarize_task switch_mode update_todo_list use_mcp_tool use_skill view_source_code_definitions_top_level \
    web_fetch web_search write_to_file ";

fn is_cline_tool(name: &str) -> bool {
    is_name(name) && CLINE_TOOLS.contains(&[" ", name, " "].concat())
}

/// Returns the name of the opening tag at the start of the text, and the text after the tag.
fn opening(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix('<')?;
    let (name, rest) = text.split_at_checked(text.find(|mark| !is_of_name(mark))?)?;
    rest.strip_prefix('>').map(|inside| (name, inside))
}

/// Parses calls of the form `<tool><parameter>value</parameter></tool>`, for the tools of Cline and Roo.
pub(in crate::read) fn calls(text: &str) -> Vec<Written> {
    let (mut calls, mut rest) = (Vec::new(), text);
    while let Some((_, from)) = rest.find('<').and_then(|at| rest.split_at_checked(at)) {
        let Some((name, inside)) = opening(from).filter(|(name, _)| is_cline_tool(name)) else {
            rest = from.get(1..).unwrap_or_default();
            continue;
        };
        let (inside, after) = inside.split_once(&*["</", name].concat()).unwrap_or((inside, ""));
        calls.push(Written::of_pairs(name, parameters(inside)));
        rest = after;
    }
    calls
}

fn parameters(inside: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = inside;
    std::iter::from_fn(move || {
        loop {
            let (_, from) = rest.split_at_checked(rest.find('<')?)?;
            let Some((name, inside)) = opening(from) else {
                rest = from.get(1..)?;
                continue;
            };
            let close = ["</", name, ">"].concat();
            // A file may contain the closing tag itself, so its last occurrence ends the value.
            let end =
                if matches!(name, "content" | "diff") { inside.rfind(&close) } else { inside.find(&close) };
            let (value, after) = inside.split_at_checked(end.unwrap_or(inside.len()))?;
            rest = after.get(close.len()..).unwrap_or_default();
            return Some((name, value));
        }
    })
}
