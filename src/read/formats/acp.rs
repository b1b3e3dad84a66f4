//! ACP, the Agent Client Protocol: JSON-RPC messages between an editor and an agent. A call has a kind and a
//! title instead of a tool name; updates follow until it completes or fails.

use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Items(Any(&[
        UPDATE,
        In("update", &UPDATE),
        In("params", &Any(&[UPDATE, In("update", &UPDATE)])),
        All(&[Has(&["jsonrpc"]), Says("method", &["session/*"])]),
    ]))],
    reader: Reader::Document(read),
};

const UPDATE: Mark = Is(Kind::String, &["sessionUpdate"]);

/// The names of updates in Kiro, and those of the protocol.
const UPDATES_OF_KIRO: [(&str, &str); 5] = [
    ("AgentMessageChunk", "agent_message_chunk"),
    ("AgentThoughtChunk", "agent_thought_chunk"),
    ("ToolCall", "tool_call"),
    ("ToolCallUpdate", "tool_call_update"),
    ("UserMessageChunk", "user_message_chunk"),
];

/// Returns the parameters of a message and their update. Some logs record only the parameters or the update.
fn update<'a>(message: &Members<'a>) -> (Members<'a>, Members<'a>) {
    let params = if message.has("params") { message.object("params") } else { message.clone() };
    let update = if params.has("sessionUpdate") { params.clone() } else { params.object("update") };
    (params, update)
}

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    let mut sessions = Sessions { runs: Recordings::of_agent("acp"), ..Sessions::default() };
    document.each().for_each(|message| sessions.message(&message));
    let open: Vec<_> = sessions.open.keys().cloned().collect();
    for session in open {
        sessions.say(session);
    }
    let early = sessions.open.values().flat_map(|open| open.early.values()).map(|list| list.len() as u64);
    runs.pass_over("messages of other methods", sessions.others + early.sum::<u64>());
    sessions.runs.give(runs);
}

#[derive(Default)]
struct Sessions<'a> {
    runs: Recordings<'a>,
    open: TextMap<Option<Cow<'a, str>>, Open<'a>>,
    /// Requests for permission, by message id.
    requests: TextMap<Cow<'a, str>, Request<'a>>,
    /// The session of each prompt, by message id.
    prompts: TextMap<Cow<'a, str>, Option<Cow<'a, str>>>,
    /// The session of the last update. A response to an unknown prompt belongs to it.
    current: Option<Cow<'a, str>>,
    others: u64,
}

/// The unfinished message and the calls of a session.
#[derive(Default)]
struct Open<'a> {
    /// Chunks of the unfinished message, all from `actor`.
    chunks: Vec<TextCow<'a>>,
    actor: Option<Actor>,
    calls: TextMap<Cow<'a, str>, Called<'a>>,
    /// Updates of calls that have not begun, by call id. Those left at the end count as skipped.
    early: TextMap<Cow<'a, str>, Vec<Members<'a>>>,
}

struct Request<'a> {
    session: Option<Cow<'a, str>>,
    call: Cow<'a, str>,
    /// The ids of the options that reject the call.
    rejecting: Vec<Cow<'a, str>>,
}

struct Called<'a> {
    number: CallNumber,
    content: Option<Raw<'a>>,
    output: Option<Raw<'a>>,
    has_input: bool,
    is_rejected: bool,
}

impl<'a> Sessions<'a> {
    fn message(&mut self, message: &Members<'a>) {
        let (params, update) = update(message);
        let session = params.ident("sessionId");
        let kind = update.name("sessionUpdate").map(|kind| {
            match UPDATES_OF_KIRO.iter().find(|(of_kiro, _)| kind == *of_kiro) {
                Some((_, known)) => Cow::Borrowed(*known),
                None => kind,
            }
        });
        if kind.is_some() {
            self.current.clone_from(&session);
        }
        if let Some(model) = update.object("_meta").name("modelId") {
            self.runs.run(session.clone()).model(Some(model));
        }
        match (message.name("method").as_deref(), kind.as_deref()) {
            (_, Some("agent_message_chunk")) => self.chunk(session, Actor::Agent, &update),
            (_, Some("user_message_chunk")) => self.chunk(session, Actor::User, &update),
            (_, Some("tool_call" | "tool_call_update")) => {
                self.call(session, &update, kind.as_deref() == Some("tool_call"));
            }
            (Some("session/request_permission"), _) => {
                let call = params.object("toolCall");
                self.call(session.clone(), &call, true);
                let rejects = |option: &Raw<'a>| {
                    option.member("kind").and_then(Raw::string).is_some_and(|kind| kind.starts_with("reject"))
                };
                let options = params.list("options").into_iter().filter(rejects);
                let rejecting = options.filter_map(|option| ident(option.member("optionId"))).collect();
                if let (Some(request), Some(call)) = (message.ident("id"), call.ident("toolCallId")) {
                    self.requests.insert(request, Request { session, call, rejecting });
                }
            }
            (Some("session/prompt"), _) => {
                self.say(session.clone());
                self.prompts.extend(message.ident("id").map(|id| (id, session.clone())));
                let run = self.runs.run(session);
                run.turn(None);
                for part in params.list("prompt").into_iter().chain(params.list("content")) {
                    run.say(Actor::User, text(Some(part)));
                }
            }
            (None, None) if message.has("result") => self.response(message),
            (_, Some("agent_thought_chunk" | "plan")) => self.say(session),
            _ => self.others += 1,
        }
    }

    /// Adds a chunk to the unfinished message. A chunk from another actor begins a new one.
    fn chunk(&mut self, session: Option<Cow<'a, str>>, actor: Actor, update: &Members<'a>) {
        if self.open.get(&session).is_some_and(|open| open.actor != Some(actor)) {
            self.say(session.clone());
        }
        let open = self.open.entry(session).or_default();
        open.actor = Some(actor);
        open.chunks
            .extend(update.get("content").and_then(|part| wire::part_text(&mut part.json()).ok().flatten()));
    }

    /// Ends the unfinished message of a session and adds it to the run.
    fn say(&mut self, session: Option<Cow<'a, str>>) {
        let Some(open) = self.open.get_mut(&session) else { return };
        let text: String = open.chunks.drain(..).map(TextCow::into_cow).collect();
        if let Some(actor) = open.actor.take() {
            let run = self.runs.run(session);
            run.turn(None);
            run.say(actor, Some(text.into()));
        }
    }

    /// Reads a call or an update. A call may begin with a request for permission. If Gemini CLI gives up before
    /// it runs the tool, it sends only a final update; the call id then contains the name of the tool.
    fn call(&mut self, session: Option<Cow<'a, str>>, call: &Members<'a>, may_begin: bool) {
        self.say(session.clone());
        let run = self.runs.run(session.clone());
        let Some(id) = call.ident("toolCallId") else {
            self.others += 1;
            return;
        };
        let open = self.open.entry(session).or_default();
        let name = name(call).or_else(|| name_in(&id).map(|name| name.to_owned().into()));
        let has_ended = status(call).is_some() && name.is_some();
        if (may_begin || has_ended) && !open.calls.contains_key(&id) {
            run.turn_of_call(None);
            let mut called = Call::new(0, Some(id.clone()), name.unwrap_or_default());
            if !may_begin {
                called.arguments = Content::NotRecorded;
            }
            let number = run.add(called);
            let mut called =
                Called { number, content: None, output: None, has_input: false, is_rejected: false };
            for early in open.early.remove(&id).unwrap_or_default() {
                called.update(&early, run);
            }
            open.calls.insert(id.clone(), called);
        }
        match open.calls.get_mut(&id) {
            Some(called) => called.update(call, run),
            None if status(call).is_some() => {
                let observation = observation(call.get("content"), call.get("rawOutput"));
                run.answer(Some(id), None, observation, Outcome::flag(status(call) == Some(true)));
            }
            None => open.early.entry(id).or_default().push(call.clone()),
        }
    }

    /// Reads a response: to a prompt, or to a request for permission.
    fn response(&mut self, message: &Members<'a>) {
        let result = message.object("result");
        let outcome = result.object("outcome");
        let id = message.ident("id");
        if let (Some(chosen), Some(id)) = (outcome.name("outcome"), &id)
            && let Some(Request { session, call, rejecting }) = self.requests.remove(id)
            && let Some(called) = self.open.get_mut(&session).and_then(|open| open.calls.get_mut(&call))
        {
            let option = outcome.ident("optionId");
            called.is_rejected =
                chosen == "cancelled" || option.is_some_and(|option| rejecting.contains(&option));
        }
        if let Some(reason) = result.name("stopReason") {
            let session = id.and_then(|id| self.prompts.remove(&id)).unwrap_or_else(|| self.current.clone());
            self.say(session.clone());
            self.runs.run(session).metadata.termination = Some(reason.into_owned());
        }
    }
}

impl<'a> Called<'a> {
    /// Merges an update into a call.
    fn update(&mut self, call: &Members<'a>, run: &mut Recording<'a>) {
        // A proposed edit replaces a title, which only describes the call, but not the raw input.
        let input = call.get("rawInput").filter(|input| !matches!(input.bytes(), b"{}" | b"null"));
        let is_diff = |item: &Raw<'a>| item.member("type").and_then(common::name).as_deref() == Some("diff");
        let diff = || items(call.get("content")).into_iter().find(is_diff).filter(|_| !self.has_input);
        let arguments = input.or_else(diff).map(common::arguments);
        self.has_input |= arguments.is_some();
        if let Some(known) = run.call_mut(self.number) {
            if let Some(arguments) = arguments {
                known.arguments = arguments;
            } else if !known.arguments.is_present()
                && let Some(title) = call.get("title").and_then(Raw::string)
            {
                // Different calls may share a shortened title, and would look equal.
                let is_whole = !title.contains("...");
                known.arguments = if is_whole {
                    Content::Present(common::sole_text("title", &title))
                } else {
                    Content::NotRecorded
                };
            }
        }
        self.content = call.get("content").filter(|content| content.bytes() != b"[]").or(self.content);
        self.output = call.get("rawOutput").or(self.output);
        if let Some(failed) = status(call) {
            let outcome = if failed && self.is_rejected { Outcome::REFUSED } else { Outcome::flag(failed) };
            run.answer_call(self.number, observation(self.content, self.output), outcome);
        }
    }
}

/// Returns whether a call failed; `None` if it has not ended.
fn status(call: &Members<'_>) -> Option<bool> {
    match call.name("status").as_deref() {
        Some("completed") => Some(false),
        Some("failed") => Some(true),
        _ => None,
    }
}

/// Returns the name of the tool in `_meta`, or else the kind of the call unless it is `other`, or else its title.
fn name<'a>(call: &Members<'a>) -> Option<Cow<'a, str>> {
    let meta = call.get("_meta");
    let tool = meta.and_then(|meta| meta.member("claudeCode").unwrap_or(meta).member("toolName"));
    tool.and_then(common::name)
        .or_else(|| call.name("kind").filter(|kind| kind != "other"))
        .or_else(|| call.name("title"))
}

/// Returns the name in an id of Gemini CLI: a name and a time in milliseconds, such as `write_file-1735689600000`.
fn name_in(id: &str) -> Option<&str> {
    let is_time = |part: &str| part.len() == 13 && part.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = id.match_indices('-').map(|(at, _)| id.split_at(at));
    let (name, _) = parts.find(|(_, rest)| rest.split('-').nth(1).is_some_and(is_time))?;
    Some(name).filter(|name| !name.is_empty())
}

/// Returns the observation of a call that ended: its content, or else its raw output.
fn observation<'a>(content: Option<Raw<'a>>, output: Option<Raw<'a>>) -> Option<TextCow<'a>> {
    let part = |item: Raw<'a>| text(item.member("content")).or_else(|| words::result(item));
    let parts = items(content).into_iter().filter_map(part);
    wire::joined(parts.collect()).or_else(|| output.or(content).and_then(words::result))
}
