//! An event of an agent: its kind and its parts, found by the keys that most tools use.

pub(super) use super::events_kind::What;
use super::events_kind::{of_end, of_text};
pub(super) use super::events_what::holds_answers;
use super::events_what::{
    ANSWERS, ARGUMENTS, ASKED, CALL_IDS, CALL_KEYS, GENERATION, INNER, KINDS, LISTS_OF_CALLS,
    LISTS_OF_RESULTS, NAMES, NAMES_OF_STEPS, OUTPUTS, PART, RESULT_KEYS, SESSIONS, STEP, SUMMARISED, TASKS,
    TEXTS_WITHIN, ends_run, holds_steps, is_definition, is_named_call, says,
};
use super::prelude::*;

/// An event, as its object and the objects inside it that belong to the event, the innermost last.
pub(super) struct Event<'a> {
    pub(super) layers: Vec<Members<'a>>,
    /// The keys of the inner layers in the layers that enclose them.
    pub(super) path: Vec<&'static str>,
    /// The tool, if the key of the call names it.
    pub(super) tool: Option<String>,
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
            let kind = KINDS.iter().find_map(|key| What::of(&last.name(key)?));
            // An answer may repeat its call, which does not make it a call.
            let is_answer = matches!(kind, Some(What::Result | What::Tool));
            // The data in an answer may have a name, a role or an id of their own.
            let is_named = is_answer && NAMES.iter().chain(&CALL_IDS).any(|key| last.ident(key).is_some());
            let is_data = |key: &&str| {
                let mut own = NAMES.iter().chain(&CALL_IDS).chain(&KINDS).chain(&["id"]);
                is_named && OUTPUTS.contains(key) && own.any(|own| last.object(key).has(own))
            };
            let inner = if let Some(key) = known(&CALL_KEYS).filter(|_| !is_answer) {
                by_place = Some(What::Call);
                key
            } else if let Some(key) = known(&RESULT_KEYS) {
                by_place = Some(What::Result);
                key
            } else if let Some(key) = known(&INNER).filter(|key| {
                !is_data(key) && (!ANSWERS.contains(key) || repeats(key) || !is_named_call(last))
            }) {
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
        let text = layers.first().filter(|_| what.is_none()).and_then(of_text);
        what = what.or(text);
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
        let has_parts = || !event.calls().is_empty() || !event.blocks().is_empty();
        event.what = event.what.filter(|_| text.is_none() || event.text().is_some() || has_parts());
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

    /// Returns the id of its run. Next to the id of a parent, it is that of a call or of another span.
    pub(super) fn run_id(&self) -> Option<Cow<'a, str>> {
        let is_part = |outer: &&Members<'_>| {
            ["parent_run_id", "parent_id", "parent_span_id", "parent_ids"].iter().any(|key| outer.has(key))
        };
        self.layers.first().filter(|outer| !is_part(outer))?.ident("run_id")
    }

    /// Returns true if it is a step whose action is a string, without the name of a tool.
    pub(super) fn acts(&self) -> bool {
        let is_object = |layer: &Members<'_>| layer.is("action", Kind::Object);
        self.what == Some(What::Step)
            && self.ident(&["tool", "tool_name", "toolName"]).is_none()
            && !self.layers.iter().any(is_object)
    }

    /// Returns the number of its turn. The numbers of its steps may start again with each turn.
    pub(super) fn round(&self) -> Option<i64> {
        let outer = self.layers.first()?;
        ["turn", "iteration", "round"].iter().find_map(|key| outer.get(key)?.integer())
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

    /// Returns true if it is the end of a model's turn in the events of LangChain, or of a run of Factory Droid, or
    /// has the type of a text.
    pub(super) fn ends_model(&self) -> bool {
        says(&self.layers, "event", &["on_chat_model_end", "on_llm_end"])
            || says(&self.layers, "type", &["completion"]) && self.get(&["finalText"]).is_some()
            || self.layers.first().and_then(of_text).is_some()
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
        let arguments = self.get(&ARGUMENTS)?;
        // Arguments may be a string of JSON in one of the events.
        let text = arguments.string().filter(|text| Json::new(text.as_bytes()).is_sound());
        let bytes = text.as_ref().map_or(arguments.bytes(), |text| text.as_bytes());
        Some(format!("{} {}", self.name()?, wire::canonical(bytes)))
    }

    /// Returns the form of a step, equal in the events of its start and its end.
    pub(super) fn form_of_step(&self) -> Option<String> {
        let has_thought = || self.get(&["thought", "thoughts", "reasoning", "model_response"]).is_some();
        let form = self.repeated_form().filter(|_| self.what == Some(What::Step) && !has_thought())?;
        Some(format!("{:?} {:?} {form}", self.call_id(), self.number()))
    }

    /// Returns the form of a step that has its answer, or an outcome without a text.
    pub(super) fn form_of_answer(&self) -> Option<String> {
        let is_over = || {
            let outcome = self.answer().1;
            outcome != Outcome::UNMARKED && matches!(outcome.status, Status::Ok | Status::Error)
        };
        self.form_of_step().filter(|_| self.own_answer().is_some() || is_over())
    }

    /// Returns the content for a call without arguments: absent if it has a key for them, otherwise not recorded.
    pub(super) fn without_arguments<T>(&self) -> Content<T> {
        if self.has_any(&ARGUMENTS) { Content::Absent } else { Content::NotRecorded }
    }

    /// Returns true if it has one of these keys, even if the value is null.
    pub(super) fn has_any(&self, keys: &[&str]) -> bool {
        self.layers.iter().any(|layer| keys.iter().any(|key| layer.has(key)))
    }

    /// Returns the id of the run that an event starts.
    pub(super) fn started_id(&self) -> Option<Cow<'a, str>> {
        let is_start = self.what == Some(What::Start) && says(&self.layers, "event", &["run_start"]);
        self.layers.first().filter(|_| is_start)?.ident("case_id")
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
}
