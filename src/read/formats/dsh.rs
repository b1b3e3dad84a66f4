//! Sessions of `dsh`, the harness of `DeepSeek`: `session.jsonl`, `session.v4.jsonl.zstd`, and printed events.

use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Items(Any(&[
        All(&[Says("type", &["session"]), Has(&["createdAt", "delegationDepth"]), Is(Kind::String, &["id"])]),
        All(&[
            Says(
                "type",
                &[
                    "agent/inbox/spliced",
                    "assistant/message",
                    "request/header",
                    "tool/call",
                    "tool/result",
                    "turn/end",
                    "turn/start",
                    "user/message",
                ],
            ),
            Is(Kind::Object, &["data"]),
            Is(Kind::Number, &["seq", "time"]),
        ]),
    ]))],
    reader: Reader::Session(SessionReader { open: |_| Box::new(Open::new()), list: "" }),
};

/// The session that is being read. The next header with another id ends it.
#[derive(Default)]
struct Open<'a> {
    run: Recording<'a>,
    /// The ids of its calls. A response has its calls, and each has a line of its own.
    calls: TextSet<Cow<'a, str>>,
}

impl<'a> session::Session<'a> for Open<'a> {
    fn add(&mut self, line: &Members<'a>, runs: &mut Runs<'_>) {
        let id = || line.name("id").map(Cow::into_owned);
        if line.name("type").as_deref() == Some("session")
            && self.run.metadata.id.is_some()
            && self.run.metadata.id != id()
        {
            Box::new(std::mem::replace(self, Self::new())).end(runs);
        }
        self.line(line);
        self.run.hand_on(runs);
    }

    fn end(self: Box<Self>, runs: &mut Runs<'_>) {
        self.run.give(runs);
    }
}

impl<'a> Open<'a> {
    fn new() -> Self {
        Self { run: Recording::of_agent("dsh"), ..Self::default() }
    }

    fn line(&mut self, line: &Members<'a>) {
        let (data, time) = (line.object("data"), line.time("time"));
        let text = |value: Raw<'a>| value.member("message").and_then(words::text);
        match line.name("type").as_deref() {
            Some("session") => {
                self.run.metadata.id = line.name("id").map(Cow::into_owned);
                self.run.metadata.parent = line.name("parentSession").map(Cow::into_owned);
            }
            Some("user/message") => {
                self.run.turn(time);
                let source = data.object("source").name("kind");
                let is_user = source.is_none_or(|kind| kind == "user") && !line.is("surfaceOp", Kind::Object);
                let actor = if is_user { Actor::User } else { Actor::Environment };
                self.run.say(actor, data.message("content"));
            }
            Some("assistant/message") => self.response(&data, time),
            Some("tool/call") => {
                self.run.time(time);
                self.call(data.name("callId"), data.name("name"), data.get("arguments"));
            }
            // Calls that the code of another call makes.
            Some("tool/code-dispatch-start") => {
                self.run.time(time);
                self.call(data.name("subCallId"), data.name("name"), data.get("arguments"));
            }
            Some("tool/code-dispatch") => self.answer(data.name("subCallId"), &data, time),
            Some("tool/result") => self.results(&data, time),
            Some("request/header") => self.run.model(data.object("header").object("config").name("model")),
            Some("request/context") => self.run.model(data.name("model")),
            Some("llm/retry") => {
                self.run.time(time);
                self.run.say(Actor::Environment, data.get("failure").and_then(text));
            }
            Some("turn/end") => {
                let reason = data.object("reason");
                self.run.time(time);
                self.run.metadata.termination = reason.name("kind").map(Cow::into_owned);
                self.run.say(Actor::Environment, reason.get("error").and_then(text));
            }
            _ => self.run.pass_over("lines of other types", 1),
        }
    }

    fn response(&mut self, data: &Members<'a>, time: Option<u64>) {
        let message = data.object("message");
        self.run.turn(time);
        self.run.model(message.object("source").name("model"));
        self.run.model(data.object("provenance").name("model"));
        let usage = data.object("usage");
        self.run.set_usage(tokens::of_keys(
            &usage,
            &["inputTokens"],
            &["outputTokens"],
            &["cacheReadTokens"],
        ));
        for part in message.objects("content") {
            match part.name("type").as_deref() {
                Some("text") => self.run.say(Actor::Agent, part.text("text")),
                Some("tool-call") => self.call(part.name("id"), part.name("name"), part.get("arguments")),
                _ => {}
            }
        }
    }

    fn call(&mut self, id: Option<Cow<'a, str>>, name: Option<Cow<'a, str>>, arguments: Option<Raw<'a>>) {
        if id.as_ref().is_none_or(|id| self.calls.insert(id.clone())) {
            self.run.call(id, name, arguments);
        }
    }

    /// Adds the results of a line: parts of a message, the message, or the line itself.
    fn results(&mut self, data: &Members<'a>, time: Option<u64>) {
        let message = data.object("message");
        let parts: Vec<_> = message
            .objects("content")
            .filter(|part| part.name("type").as_deref() == Some("tool-result"))
            .collect();
        for part in &parts {
            self.answer(part.name("toolCallId"), part, time);
        }
        if parts.is_empty() {
            let result = if message.has("content") { &message } else { data };
            self.answer(result.name("toolCallId").or_else(|| data.name("callId")), result, time);
        }
    }

    fn answer(&mut self, id: Option<Cow<'a, str>>, result: &Members<'a>, time: Option<u64>) {
        self.run.time(time);
        let observation = result.get("content").and_then(words::result);
        self.run.answer(id, None, observation, Outcome::of_flag(result.flag("isError")));
    }
}
