//! An event of an agent: its kind and its parts, found by the keys that most tools use.

use super::events_what::{
    ANSWERS, ARGUMENTS, ASKED, CALL_IDS, CALL_KEYS, ERRORS, GENERATION, INNER, KINDS, LISTS_OF_CALLS,
    LISTS_OF_RESULTS, NAMES, NAMES_OF_STEPS, OUTPUTS, OUTPUTS_OF_STEPS, PART, RESULT_KEYS, SESSIONS, STEP,
    SUMMARISED, TASKS, TEXTS_WITHIN, ends_run, holds_steps, is_definition, is_named_call, of_end,
    output_of_step, says,
};
pub(super) use super::events_what::{What, holds_answers};
use super::prelude::*;
use crate::read::call_outcome::{have_failed, is_http_failure, is_printed_error};

/// An event, as its object and the objects inside it that belong to the event, the innermost last.
pub(super) struct Event<'a> {
    pub(super) layers: Vec<Members<'a>>,
    /// The keys of the inner layers in the layers that enclose them.
    path: Vec<&'static str>,
    /// The tool, if the key of the call names it.
    tool: Option<String>,
    pub(super) what: Option<What>,
    /// The text of several events, joined.
    pub(super) joined: Option<String>,
    /// True if it is part of the same response as the event before it.
    pub(super) continues: bool,
}

impl<'a> Event<'a> {
    pub(super) fn of(object: Raw<'a>) -> Self {
        let (mut layers, mut path) = (vec![Members::from(object)], Vec::new());
        let mut by_place = None;
        let most = if layers.iter().any(|event| PART.fits(event)) { 1 } else { 5 };
        while let Some(last) = layers.last().filter(|_| layers.len() < most) {
            let known = |keys: &'static [&'static str]| keys.iter().find(|key| last.is(key, Kind::Object));
            // Answers of API-Bank repeat the call.
            let repeats = |key: &str| last.has("api_name") && last.object(key).has("api_name");
            // An answer may repeat its call, which does not make it a call.
            let is_answer = last.name("role").is_some_and(|role| What::of(&role) == Some(What::Tool));
            let inner = if let Some(key) = known(&CALL_KEYS).filter(|_| !is_answer) {
                by_place = Some(What::Call);
                key
            } else if let Some(key) = known(&RESULT_KEYS) {
                by_place = Some(What::Result);
                key
            } else if let Some(key) =
                known(&INNER).filter(|key| !ANSWERS.contains(key) || repeats(key) || !is_named_call(last))
            {
                key
            } else {
                break;
            };
            path.push(*inner);
            let inner = last.object(inner);
            layers.push(inner);
        }
        // Cursor's CLI names a call by its key: `{"shellToolCall": {"args": …, "result": …}}`.
        let tool = layers.last().filter(|_| by_place == Some(What::Call)).and_then(|last| {
            let (key, value) = last.iter().find(|(_, value)| value.kind() == Kind::Object)?;
            Some((key.strip_suffix("ToolCall")?.to_owned(), Members::from(value)))
        });
        layers.extend(tool.as_ref().map(|(_, inner)| inner.clone()));
        let tool = tool.map(|(tool, _)| tool);
        let words = layers.iter().rev().flat_map(|layer| {
            let named = KINDS.iter().filter_map(|key| layer.name(key));
            // Hooks of Cline.
            let hook =
                layer.name("hookName").map(|hook| if hook == "agent_end" { "agent".into() } else { hook });
            named.chain(layer.object("role").name("value")).chain(hook)
        });
        let of_action =
            |word: Cow<'_, str>| What::of(&word).filter(|what| matches!(what, What::Call | What::Result));
        let sender = || layers.first()?.name("sender").filter(|_| says(&layers, "type", &["message"]));
        let mut what = by_place
            .or_else(|| layers.first()?.has("api_name").then_some(What::Tool))
            .or_else(|| words.into_iter().find_map(|word| What::of(&word)))
            .or_else(|| What::of(&sender()?))
            .or_else(|| GENERATION.fits(layers.first()?).then_some(What::Message(Actor::Agent)))
            .or_else(|| layers.last()?.name("action").and_then(of_action));
        if what.is_none()
            && let Some(last) = layers.last().filter(|last| STEP.fits(last))
        {
            what = Some(What::Step);
            layers.extend(Some(last.object("action")).filter(|_| last.is("action", Kind::Object)));
        }
        if what.is_none() && layers.last().is_some_and(ends_run) {
            what = Some(What::Finish);
        }
        if what.is_none() && layers.iter().any(holds_answers) && !layers.first().is_some_and(holds_steps) {
            what = Some(What::Message(Actor::Agent));
        }
        what = what.or_else(|| layers.first().and_then(of_end));
        // A stream of OpenAI's Responses adds an item before it has arguments. Approvals repeat the call, and sub-agents
        // of pi the prompt.
        if says(&layers, "type", &["response.output_item.added", "interaction_request"])
            || says(&layers, "operationType", &["Reasoning"])
            || says(&layers, "sourceEventType", &["initial_prompt"])
            || matches!(what, Some(What::Tool | What::Step)) && is_definition(&layers, &path)
        {
            what = None;
        } else if what == Some(What::Message(Actor::User))
            // Grok Build and Factory Droid mark what their harness adds.
            && (says(&layers, "visibility", &["llm_only", "user_only"])
                || layers.iter().any(|layer| layer.name("synthetic_reason").is_some()))
        {
            what = Some(What::Message(Actor::Environment));
        }
        let of_thought = |key: &&str, layer: &Members<'_>| {
            matches!(layer.name(key).as_deref(), Some("thinking" | "reasoning"))
        };
        // A message may hold a text in addition to a thought.
        let is_thought = layers.iter().any(|layer| {
            ["type", "kind"].iter().any(|key| of_thought(key, layer))
                && layer.has("content")
                && !layer.has("text")
        });
        let mut event = Self { layers, path, tool, what, joined: None, continues: false };
        if event.what == Some(What::Call) && event.name().is_none() && !event.calls().is_empty() {
            event.what = Some(What::Message(Actor::Agent));
        }
        if is_thought && event.what == Some(What::Message(Actor::Agent)) && !event.is_call() {
            event.what = None;
        }
        event
    }

    /// Reads the value of the first of these keys that has one, from the innermost object outwards.
    pub(super) fn find<T>(&self, keys: &[&str], read: impl Fn(&Members<'a>, &str) -> Option<T>) -> Option<T> {
        self.layers.iter().rev().find_map(|layer| keys.iter().find_map(|key| read(layer, key)))
    }

    /// Returns the value of the first of these keys, from the innermost object outwards.
    pub(super) fn get(&self, keys: &[&str]) -> Option<Raw<'a>> {
        self.find(keys, Members::present)
    }

    /// Like [`Event::get`], but skips values that contain the innermost object, since they are the event itself.
    pub(super) fn get_next_to(&self, keys: &[&str]) -> Option<Raw<'a>> {
        self.layers.iter().enumerate().rev().find_map(|(place, layer)| {
            let is_other = |key: &&&str| self.path.get(place) != Some(*key);
            let says = |key: &str, value: &Raw<'_>| match key {
                "outputs" => self.what != Some(What::Call) || !matches!(value.bytes(), b"[]" | b"{}"),
                _ => !key.starts_with("error") || value.bytes() != b"\"\"",
            };
            keys.iter().filter(is_other).find_map(|key| layer.present(key).filter(|value| says(key, value)))
        })
    }

    /// Returns the answer in the object of its call. In a list of calls, it may be a summary.
    pub(super) fn own_answer(&self) -> Option<Raw<'a>> {
        let summarised = || self.layers.iter().find(|layer| SUMMARISED.fits(layer))?.get("summary");
        self.get_next_to(&ANSWERS).or_else(|| summarised().filter(|_| self.what != Some(What::Call)))
    }

    pub(super) fn ident(&self, keys: &[&str]) -> Option<Cow<'a, str>> {
        self.find(keys, Members::ident)
    }

    pub(super) fn name(&self) -> Option<Cow<'a, str>> {
        if let Some(tool) = &self.tool {
            return Some(Cow::Owned(tool.clone()));
        }
        let names = if self.what == Some(What::Step) { &NAMES_OF_STEPS[..] } else { &NAMES };
        // A log may name a call by the intent that it serves.
        self.find(names, Members::name).or_else(|| self.find(&["intent"], Members::name))
    }

    pub(super) fn session(&self) -> Option<Cow<'a, str>> {
        let mut outer = self.layers.iter().take(1 + usize::from(self.path.first() == Some(&"payload")));
        outer.find_map(|layer| SESSIONS.iter().find_map(|key| layer.ident(key)))
    }

    pub(super) fn task(&self) -> Option<Cow<'a, str>> {
        let outer = self.layers.first()?;
        TASKS.iter().find_map(|key| outer.ident(key))
    }

    /// Returns true if it is a step whose action is a string, without the name of a tool.
    pub(super) fn acts(&self) -> bool {
        let is_object = |layer: &Members<'_>| layer.is("action", Kind::Object);
        self.what == Some(What::Step)
            && self.ident(&["tool", "tool_name", "toolName"]).is_none()
            && !self.layers.iter().any(is_object)
    }

    /// Returns the number of its step or turn. The numbers start again with each run.
    pub(super) fn number(&self) -> Option<i64> {
        let outer = self.layers.first()?;
        ["step", "step_idx", "step_index", "turn", "iteration", "round", "call_no"]
            .iter()
            .find_map(|key| outer.get(key)?.integer())
    }

    /// Returns the question of the user that a call repeats.
    pub(super) fn question(&self) -> Option<Cow<'a, str>> {
        self.layers.first()?.name("question").filter(|_| self.is_call())
    }

    /// Returns the id of the sub-agent, if the event contains a line of a sub-agent of Claude Code.
    pub(super) fn sidechain(&self) -> Option<Cow<'a, str>> {
        let is_one = self.layers.iter().any(|layer| layer.flag("isSidechain") == Some(true));
        is_one.then(|| self.ident(&["agentId"]).unwrap_or("sidechain".into()))
    }

    pub(super) fn calls(&self) -> Vec<Raw<'a>> {
        // `tools_called` may list no more than names.
        let calls = |items: &Vec<Raw<'a>>| items.iter().any(|item| item.kind() != Kind::String);
        self.find(&LISTS_OF_CALLS, |layer, key| layer.get(key)?.items().filter(calls)).unwrap_or_default()
    }

    /// Returns the results in a message, apart from its content.
    pub(super) fn results(&self) -> Vec<Raw<'a>> {
        self.find(&LISTS_OF_RESULTS, |layer, key| layer.get(key)?.items()).unwrap_or_default()
    }

    /// Returns the id of a call or a result. `ElevenLabs` writes that of a call as that of a request.
    pub(super) fn call_id(&self) -> Option<Cow<'a, str>> {
        let of_request =
            || self.get(&["params_as_json", "result_value"]).and_then(|_| self.ident(&["request_id"]));
        self.ident(&CALL_IDS).or_else(of_request)
    }

    /// Returns the text of a message, without the blocks in it.
    pub(super) fn text(&self) -> Option<TextCow<'a>> {
        if let Some(joined) = &self.joined {
            return Some(joined.clone().into());
        }
        let within = |(outer, key): &(&str, &str)| words::text(self.get(&[outer])?.member(key)?);
        let inside = || TEXTS_WITHIN.iter().find_map(within);
        let keys = ["content", "text", "parts", "contents", "message", "prompt", "model_output", "finalText"];
        self.find(&keys, Members::text).or_else(inside)
    }

    /// Returns true if it is the end of a model's turn in the events of LangChain, or of a run of Factory Droid.
    pub(super) fn ends_model(&self) -> bool {
        says(&self.layers, "event", &["on_chat_model_end", "on_llm_end"])
            || says(&self.layers, "type", &["completion"]) && self.get(&["finalText"]).is_some()
    }

    /// Returns the parts of the content that are calls or results.
    pub(super) fn blocks(&self) -> Vec<Self> {
        let parts = self.find(&["content", "parts", "contents"], |layer, key| layer.get(key)?.items());
        let parts = parts.unwrap_or_default().into_iter().filter(|part| part.kind() == Kind::Object);
        parts.map(Self::of).filter(|part| matches!(part.what, Some(What::Call | What::Result))).collect()
    }

    pub(super) fn is_call(&self) -> bool {
        match self.what {
            Some(What::Call | What::Step | What::Done) => self.name().is_some(),
            Some(What::Message(_)) => {
                self.calls().iter().any(|call| Self::of(*call).name().is_some())
                    || self.blocks().iter().any(|block| block.what == Some(What::Call))
            }
            // A log may record no more of a call than its tool.
            Some(What::Tool) => {
                self.name().is_some() && (self.get(&ARGUMENTS).is_some() || !self.has_any(&OUTPUTS))
            }
            Some(What::Result) => self.repeats_call(),
            _ => false,
        }
    }

    /// Returns true if it is a result with the tool and the arguments of its call.
    pub(super) fn repeats_call(&self) -> bool {
        self.what == Some(What::Result) && self.name().is_some() && self.get(&ARGUMENTS).is_some()
    }

    /// Returns the name and arguments of a call, equal in all events that record it.
    pub(super) fn repeated_form(&self) -> Option<String> {
        let arguments = self.get(&ARGUMENTS)?.bytes();
        Some(format!("{} {}", self.name()?, wire::canonical(arguments)))
    }

    /// Returns the content for a call without arguments: absent if it has a key for them, otherwise not recorded.
    pub(super) fn without_arguments<T>(&self) -> Content<T> {
        if self.has_any(&ARGUMENTS) { Content::Absent } else { Content::NotRecorded }
    }

    /// Returns true if it has one of these keys, even if the value is null.
    fn has_any(&self, keys: &[&str]) -> bool {
        self.layers.iter().any(|layer| keys.iter().any(|key| layer.has(key)))
    }

    /// Returns true if the event starts a run with a task. Starts of agents inside a run name the agent.
    pub(super) fn starts_a_run(&self) -> bool {
        self.what == Some(What::Start)
            && self.get(&ASKED).and_then(words::text).is_some()
            && self.get(&["agent", "agent_name", "agentName", "name"]).is_none()
    }

    pub(super) fn time(&self) -> Option<u64> {
        let time = self.get(&["timestamp", "time", "created_at", "createdAt", "ts"])?;
        // Integers of 12 or more digits are milliseconds.
        let is_long = time.integer().is_some_and(|number| number > 99_999_999_999);
        time::of_string(time)
            .or_else(|| if is_long { time::of_milliseconds(time) } else { time::of_seconds(time) })
    }

    /// Returns true if it is an answer, or a call with its answer.
    pub(super) fn is_answered(&self) -> bool {
        match self.what {
            Some(What::Result | What::Done | What::Tool) => true,
            Some(What::Call | What::Step) => self.get_next_to(&ANSWERS).is_some(),
            _ => {
                self.layers.iter().any(holds_answers)
                    || self.blocks().iter().any(|block| block.what == Some(What::Result))
            }
        }
    }

    /// Returns whether a call failed, if a status of HTTP or a flag says so. The start of a call has no such flag.
    pub(super) fn has_failed(&self) -> Option<bool> {
        let status = self.layers.first().and_then(|layer| layer.integer("status_code"));
        let is_start = self.what == Some(What::Call) && self.own_answer().is_none();
        let flag = || self.flag(&["tool_success"]).filter(|_| !is_start).map(|ok| !ok);
        status.filter(|status| is_http_failure(*status)).map(|_| true).or_else(flag)
    }

    fn flag(&self, keys: &[&str]) -> Option<bool> {
        self.get(keys).and_then(Raw::boolean)
    }

    /// Returns the text of a result and its outcome.
    pub(super) fn answer(&self) -> (Option<TextCow<'a>>, Outcome) {
        let is_none = |error: &Raw<'a>| {
            error.boolean().is_some() || matches!(&*error.spelling(), "\"\"" | "{}" | "[]" | "\"None\"")
        };
        let error = self.get(&ERRORS).filter(|error| !is_none(error));
        let is_step = self.what == Some(What::Step);
        let output = if is_step { self.find(&OUTPUTS_OF_STEPS, output_of_step) } else { self.get(&OUTPUTS) };
        let is_blank = |output: &Raw<'a>| match output.items() {
            Some(items) => items.is_empty(),
            None => output.string().is_some_and(|text| common::is_blank(&text)),
        };
        let summary = || self.get(&["summary", "detail"]).filter(|_| error.is_none());
        let output = output.or_else(|| self.get(&["preview"])).or_else(summary);
        let output =
            output.filter(|output| error.is_none() || output.kind() != Kind::Object && !is_blank(output));
        let is_text = |output: &Raw<'a>| {
            output.member("type").and_then(common::name).is_some_and(|kind| kind == "text")
        };
        // The AI SDK gives the kind of an output next to it.
        let typed = output.and_then(|output| {
            let of_output = Members::from(output);
            let (key, failed) = typed_output(&of_output.name("type")?)?;
            Some((of_output.get(key).filter(|_| of_output.iter().count() == 2)?, failed))
        });
        let text = output.filter(is_text).and_then(words::text).or_else(|| words::result(typed?.0));
        let text = text.or_else(|| words::result(output?.member("llmContent")?));
        // A message of LangChain or LangGraph.
        let message = output.filter(|output| output.member("tool_call_id").is_some()).map(Members::from);
        let text = text.or_else(|| words::result(message.as_ref()?.get("content")?));
        let observed = text.or_else(|| output.or(error).and_then(words::result));
        let of_output = |keys: &[&str]| keys.iter().find_map(|key| output?.member(key));
        // Cursor's CLI puts the result under a word for its outcome, such as `success`.
        let cursor = self.tool.as_ref().map(|_| members(output));
        let said = cursor.as_ref().and_then(|output| output.iter().next());
        let code = self
            .get(&["exit_code", "exitCode"])
            .or_else(|| of_output(&["exit_code", "exitCode", "exit"]))
            .or_else(|| said?.1.member("exitCode"))
            .or_else(|| members(self.get(&["metadata"])).first(&["exit_code", "exit"]));
        let status = self.find(&["status"], Members::name).or_else(|| message.as_ref()?.name("status"));
        let status = status.map(|status| status.to_ascii_lowercase());
        // If the action is a string without input, `success` next to it is the outcome of the task, not of the call.
        let succeeded: &[&str] = if self.acts() && self.get(&["action_input"]).is_none() {
            &[]
        } else {
            &["execution_success", "success", "successful", "ok"]
        };
        let failed = self
            .flag(&["is_error", "isError", "error"])
            .or_else(|| self.flag(succeeded).map(|succeeded| !succeeded))
            .or_else(|| of_output(&["is_error", "isError"]).and_then(Raw::boolean))
            .or_else(|| self.find(&["hookName"], Members::name).and(output).and_then(have_failed))
            .or_else(|| typed.filter(|(_, failed)| *failed).map(|(_, failed)| failed))
            .or_else(|| error.is_some().then_some(true))
            .or_else(|| said.map(|(word, _)| word != "success"))
            .or_else(|| match status.as_deref()? {
                "error" | "failed" | "failure" | "invalid_request" => Some(true),
                "success" | "ok" => Some(false),
                _ => None,
            })
            .or_else(|| self.has_failed());
        // Grok Build puts the exit code on the first line of the output of a command.
        let first = |text: &TextCow<'_>| words::exit_line(words::first_line(&text.text().head(20)), "exit: ");
        let by_line = || observed.as_ref().filter(|_| failed.is_none()).and_then(first);
        let code = code.and_then(is_failure_code).or_else(by_line);
        let outcome = match (failed, code) {
            _ if said.is_some_and(|(word, _)| word == "rejected") => Outcome::REFUSED,
            (None, None) if status.as_deref() == Some("blocked") => Outcome::REFUSED,
            (Some(true), _) => Outcome::flag(true),
            (_, Some(failed)) => Outcome::exit_code(failed),
            (Some(false), None) => Outcome::flag(false),
            (None, None) => observed.as_ref().map(TextCow::text).map_or(Outcome::UNMARKED, |text| {
                at_start(text)
                    .unwrap_or_else(|| Outcome::by_text(reports_failure(text) || is_printed_error(text)))
            }),
        };
        (observed, outcome)
    }
}
