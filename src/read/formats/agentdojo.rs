//! AgentDojo runs: messages of a user task, often with an injected task, and the verdicts on utility and security.

use std::collections::VecDeque;

use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Object(All(&[
        Any(&[Is(Kind::List, &["messages"]), Is(Kind::List, &["conversations"])]),
        Has(&["suite_name", "pipeline_name"]),
        HasOne(&["user_task_id", "task_id"]),
    ]))],
    reader: Reader::Object(read),
};

fn read(members: &Members<'_>, runs: &mut Runs<'_>) {
    let mut task = Task::default();
    // DRIFT, a defence for AgentDojo, records `conversations` instead of `messages`.
    let messages = ["messages", "conversations"].into_iter().flat_map(|key| members.objects(key));
    messages.for_each(|message| task.message(&message));
    let text = |key: &str| members.name(key).map(Cow::into_owned);
    let evaluation = members.object("evaluation");
    let judged = |key: &str| members.flag(key).or_else(|| evaluation.flag(key));
    let place = ["suite_name", "user_task_id", "attack_type", "injection_task_id"];
    let mut metadata = Metadata {
        id: text("run_id")
            .or_else(|| Some(place.iter().filter_map(|key| members.name(key)).collect::<Vec<_>>().join("/"))),
        model: text("pipeline_name").map(Into::into),
        domain: text("suite_name").map(Into::into),
        task: text("user_task_id").or_else(|| text("task_id")),
        termination: text("error"),
        ..Metadata::default()
    };
    for key in ["attack_type", "injection_task_id"] {
        metadata.labels.extend(text(key).map(|value| (key.to_owned(), value)));
    }
    metadata.labels.extend(judged("security").map(|value| ("security".to_owned(), value.to_string())));
    task.run.metadata = metadata;
    task.run.reward = judged("utility").map(|useful| f64::from(u8::from(useful)));
    task.run.give(runs);
}

#[derive(Default)]
struct Task<'a> {
    run: Recording<'a>,
    /// Unanswered calls, each with its id, if any, and its name.
    open: VecDeque<(Option<Cow<'a, str>>, Cow<'a, str>, CallNumber)>,
}

impl<'a> Task<'a> {
    fn message(&mut self, message: &Members<'a>) {
        let content = message.get("content").and_then(text);
        let actor = match message.name("role").as_deref() {
            Some(role @ ("assistant" | "user" | "system")) => words::actor_of(role),
            Some("tool") => return self.answer(message, content),
            _ => return self.run.pass_over("messages with other roles", 1),
        };
        self.run.say(actor, content);
        if actor == Actor::Agent {
            for call in message.objects("tool_calls") {
                let (id, name) = (call.ident("id"), call.name("function").unwrap_or_default());
                let number = self.run.call(id.clone(), Some(name.clone()), call.get("args"));
                self.open.push_back((id, name, number));
            }
            self.run.turn(None);
        }
    }

    /// Answers the open call with the message's id. If the message or the call has no id, answers the oldest open call
    /// with the message's tool name, or with any name if the message has none.
    fn answer(&mut self, message: &Members<'a>, content: Option<TextCow<'a>>) {
        let call = message.object("tool_call");
        let id = message.get("tool_call_id").or_else(|| call.get("id")).and_then(common::ident);
        let name = call.name("function");
        let error = message.present("error");
        let outcome = Outcome::of_flag(message.get("error").map(|_| error.is_some()));
        let answer = outcome.answer(error.and_then(words::result).or(content).into());
        let of_id = |(call, ..): &(Option<Cow<'_, str>>, _, _)| id.is_some() && *call == id;
        let of_name = |(call, called, _): &(Option<Cow<'_, str>>, Cow<'_, str>, _)| {
            (call.is_none() || id.is_none()) && name.as_ref().is_none_or(|name| name == called)
        };
        let place = self.open.iter().position(of_id).or_else(|| self.open.iter().position(of_name));
        let call = place.and_then(|place| self.open.remove(place)).map(|(.., number)| number);
        self.run.answer_to(call, answer);
    }
}

/// Returns the text of a message: a string, or parts with `content` or `text`.
fn text(content: Raw<'_>) -> Option<TextCow<'_>> {
    match content.kind() {
        Kind::List => {
            let parts = content.items()?.into_iter();
            let texts =
                parts.filter_map(|part| part.member("content").or_else(|| part.member("text"))?.string());
            wire::joined(texts.map(TextCow::from).collect())
        }
        _ => words::result(content),
    }
}
