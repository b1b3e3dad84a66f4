//! LangChain and LangGraph: messages as written by `model_dump`, `messages_to_dict` and `dumps`, alone or in
//! the state of a graph.

use super::chat_element::Element;
use super::prelude::*;
use crate::read::call_outcome::states_error;

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Each(Test(
        "messages of `type` human, ai or tool that have `additional_kwargs`, `response_metadata`, `tool_call_id` or \
         `data`, or `lc` and `kwargs`, alone or in a state",
        |object| any_of_first(&within(object), |message| kind(message).is_some()),
    ))],
    reader: Reader::Document(read),
};

/// Returns the messages in an object: the object itself, or those in its list, a graph's state or a node's update.
fn within<'a>(object: &Members<'a>) -> Vec<Raw<'a>> {
    let held = items(object.get("messages").or_else(|| object.get("chat_history")));
    if kind(object).is_some() {
        return object.whole().into_iter().collect();
    }
    if !held.is_empty() {
        return held;
    }
    // The update of a node is the only member of its object, under the name of the node.
    let is_update = object.keys().count() == 1;
    let is_state = |key: &str| is_update || matches!(key, "values" | "state" | "output" | "channel_values");
    // A trace of DeepEval has the output of its agent as well.
    let is_trace = object.has("agentSpans");
    let is_state = |key: &str| !is_trace && is_state(key);
    let states = object.iter().filter(|(key, state)| is_state(key) && state.kind() == Kind::Object);
    let inner = states.map(|(_, state)| items(state.member("messages"))).find(|inner| !inner.is_empty());
    inner.unwrap_or_else(|| object.whole().filter(|_| class(object).is_some()).into_iter().collect())
}

/// Returns the type of a message that has a mark of LangChain, or `None` for any other object.
fn kind<'a>(message: &Members<'a>) -> Option<Cow<'a, str>> {
    const MARKS: [&str; 6] =
        ["lc", "additional_kwargs", "response_metadata", "tool_call_id", "tool_calls", "usage_metadata"];
    let data = message.get("data").and_then(|data| data.member("content"));
    let is_marked = data.is_some() || MARKS.iter().any(|mark| message.has(mark));
    class(message).filter(|_| is_marked)
}

/// Like [`kind`], for an object among LangChain messages, which needs no mark of LangChain itself.
fn class<'a>(message: &Members<'a>) -> Option<Cow<'a, str>> {
    if message.has("lc") && message.is("kwargs", Kind::Object) {
        let id = message.list("id");
        let class = id.last().and_then(|class| class.string())?;
        let class = class.strip_suffix("Chunk").unwrap_or(&class).strip_suffix("Message")?.to_lowercase();
        return Some(Cow::Owned(class));
    }
    let kind = message.name("type")?;
    let known = match kind.strip_suffix("MessageChunk").or_else(|| kind.strip_suffix("Message")) {
        Some(class) => Cow::Owned(class.to_lowercase()),
        None => kind,
    };
    let is_known =
        matches!(&*known, "human" | "ai" | "tool" | "system" | "function" | "developer" | "remove" | "chat");
    let data = message.get("data").is_some_and(|data| data.member("content").is_some());
    let is_message = data || message.has("content") && !message.has("role");
    (is_known && is_message).then_some(known)
}

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    let held: Vec<_> = document.each().map(|object| within(&object)).collect();
    let empty = held.iter().filter(|held| held.is_empty()).count() as u64;
    let mut run = conversation(held.into_iter().flatten());
    run.pass_over("elements of other types", empty);
    run.give(runs);
}

pub(super) fn is_of_user(message: Raw<'_>) -> bool {
    class(&Members::from(message)).is_some_and(|class| class == "human")
}

/// Reads a list of messages as one run.
pub(super) fn conversation<'a>(messages: impl IntoIterator<Item = Raw<'a>>) -> Recording<'a> {
    let mut run = Recording::of_agent("langchain");
    let mut seen = TextSet::default();
    for item in messages {
        let item = Members::from(item);
        let Some(kind) = class(&item) else {
            run.pass_over("elements of other types", 1);
            continue;
        };
        let body = item.get("kwargs").filter(|_| item.has("lc")).or_else(|| item.get("data"));
        let body = body.map_or_else(|| item.clone(), Members::from);
        // Consecutive states repeat messages, so each id is read only once.
        if body.name("id").is_none_or(|id| seen.insert(id)) {
            message(&kind, &body, &mut run);
        }
    }
    run
}

fn message<'a>(kind: &str, message: &Members<'a>, run: &mut Recording<'a>) {
    run.turn(None);
    let content = message.get("content");
    match kind {
        "human" => {
            run.ignore_earlier_calls();
            run.say(Actor::User, text(content));
        }
        "system" | "developer" => run.say(Actor::System, text(content)),
        "ai" => {
            let response = message.object("response_metadata");
            run.model(response.name("model_name").or_else(|| response.name("model")));
            run.set_usage(message.usage("usage_metadata"));
            run.say(Actor::Agent, text(content));
            calls(message, run);
        }
        "tool" | "function" => {
            // `success` is the default of the library, not the word of the tool.
            let is_default = message.name("status").as_deref() == Some("success");
            let observed = content.and_then(words::result);
            let is_error = || observed.as_ref().is_some_and(|text| states_error(&text.text().to_str()));
            let by_text = is_default.then(|| Outcome::by_text(is_error()));
            let stated = by_text.or_else(|| message.outcome("status"));
            let answer = match stated {
                Some(outcome) => outcome.answer(observed.into()),
                None => Element::of(message.clone()).answer(observed, false),
            };
            if let Some(id) = message.ident("tool_call_id") {
                run.answer_with(Some(id), answer);
            } else {
                let call = run.oldest(message.name("name").as_ref());
                run.answer_to(call, answer);
            }
        }
        "remove" => {}
        _ => run.pass_over("elements of other types", 1),
    }
}

/// Adds the calls of a message: parsed and invalid ones, or else the raw ones in `additional_kwargs`.
fn calls<'a>(message: &Members<'a>, run: &mut Recording<'a>) {
    let mut calls = message.list("tool_calls");
    calls.extend(message.list("invalid_tool_calls"));
    let kwargs = message.object("additional_kwargs");
    if calls.is_empty() {
        calls = kwargs.list("tool_calls");
        calls.extend(kwargs.get("function_call"));
    }
    for call in calls {
        let function = call.member("function").unwrap_or(call);
        let name = function.member("name").and_then(common::name);
        let arguments = function.member("args").or_else(|| function.member("arguments"));
        run.call(ident(call.member("id")), name, arguments);
    }
}
