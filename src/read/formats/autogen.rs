//! `AutoGen` since 0.4: the messages and events of a chat, alone, in the result of a task or in a saved state.

use crate::json::{Kind, Raw};
use crate::read::Format;
use crate::read::common;
use crate::read::document::Document;
use crate::read::format::{DocumentReader, Entry, Reader};
use crate::read::outcome::Outcome;
use crate::read::runs::Runs;
use crate::read::sample::Members;
use crate::read::time;
use crate::read::tokens;
use crate::read::words;
use crate::trace::Actor;

use super::recorded::{Recording, any_of_first, elements, ident, items, members, text};

pub(in crate::read) const FORMAT: Entry = Entry {
    format: Format::AutoGen,
    about: "messages, events and saved states of AutoGen since 0.4",
    decisive: "messages with `source` and a `type` such as `ToolCallRequestEvent` or `TextMessage`, or a state with `agent_states`",
    reader: Reader::Document(DocumentReader {
        claims,
        read: |document, runs| {
            read(document, runs);
            Ok(())
        },
        is_generic: false,
    }),
};

fn claims(document: &Document<'_>) -> bool {
    let has_messages = any_of_first(&elements(document, &["messages", "message_thread"]), is_message);
    has_messages || matches!(document, Document::Object(state) if is_state(state))
}

fn is_state(state: &Members<'_>) -> bool {
    state.name("type").is_some_and(|kind| kind.ends_with("State"))
        && (state.is("agent_states", Kind::Object)
            || state.get("llm_context").is_some_and(|context| context.member("messages").is_some()))
}

fn is_message(message: &Members<'_>) -> bool {
    let kind = message.name("type");
    let is_known = |kind: &str| {
        matches!(
            kind,
            "TextMessage"
                | "MultiModalMessage"
                | "HandoffMessage"
                | "StopMessage"
                | "ThoughtEvent"
                | "StructuredMessage"
                | "FunctionExecutionResultMessage"
                | "UserInputRequestedEvent"
                | "MemoryQueryEvent"
        ) || kind.starts_with("ToolCall")
    };
    message.has("content") && kind.as_deref().is_some_and(is_known)
}

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    let lists = match document {
        Document::Object(state) if is_state(state) => threads(state),
        document => vec![elements(document, &["messages", "message_thread"])],
    };
    for list in lists {
        let mut run = Recording::of_agent("autogen");
        if let Document::Object(result) = document {
            run.metadata.termination = result.name("stop_reason").map(Into::into);
        }
        let mut others = 0;
        for item in list {
            let item = members(Some(item));
            others += u64::from(!item.has("content"));
            message(&item, &mut run);
        }
        runs.pass_over("elements of other types", others);
        run.give(runs);
    }
}

/// The threads of messages in a state: that of the group chat if it holds calls, or else the contexts of its agents.
fn threads<'a>(state: &Members<'a>) -> Vec<Vec<Raw<'a>>> {
    let (mut chats, mut contexts) = (Vec::new(), Vec::new());
    let states = members(state.get("agent_states"));
    let own = state.whole().into_iter();
    for agent in own.chain(states.iter().map(|(_, agent)| agent)) {
        let inner = agent.member("agent_state").unwrap_or(agent);
        chats.extend(agent.member("message_thread").and_then(Raw::items));
        let context = inner.member("llm_context").or_else(|| inner.member("model_context"));
        contexts.extend(context.and_then(|context| context.member("messages")).and_then(Raw::items));
        // A team within the team.
        if inner.member("agent_states").is_some() && agent.member("agent_state").is_some() {
            contexts.extend(threads(&members(Some(inner))));
        }
    }
    let calls = |list: &Vec<Raw<'a>>| list.iter().filter(|message| has_calls(**message)).count();
    let [in_chats, in_contexts] = [&chats, &contexts].map(|lists| lists.iter().map(calls).sum::<usize>());
    if in_chats >= in_contexts && !chats.is_empty() { chats } else { contexts }
}

fn has_calls(message: Raw<'_>) -> bool {
    items(message.member("content")).iter().any(|item| item.member("arguments").is_some())
}

fn message<'a>(message: &Members<'a>, run: &mut Recording<'a>) {
    let content = message.get("content");
    run.turn(message.get("created_at").and_then(time::of_string));
    run.spent(message.get("models_usage").and_then(tokens::usage));
    let kind = message.name("type").unwrap_or_default();
    // The summary repeats what the tools returned.
    if matches!(&*kind, "ToolCallSummaryMessage" | "ModelClientStreamingChunkEvent" | "ThoughtEvent") {
        return;
    }
    let is_tools = items(content)
        .iter()
        .any(|item| item.member("call_id").is_some() || item.member("arguments").is_some());
    if !is_tools {
        let actor = match (message.name("source").as_deref(), &*kind) {
            (_, "SystemMessage") => Actor::System,
            (_, "UserMessage") | (Some("user" | "user_proxy"), _) => Actor::User,
            _ => Actor::Agent,
        };
        return run.say(actor, text(content));
    }
    for item in items(content) {
        let name = item.member("name").and_then(common::name);
        if item.member("arguments").is_some() {
            run.call(ident(item.member("id")), name, item.member("arguments"));
        } else {
            let outcome = match item.member("is_error").and_then(Raw::boolean) {
                Some(failed) => Outcome::flag(failed),
                None => Outcome::UNMARKED,
            };
            let observed = item.member("content").and_then(words::result);
            run.answer(ident(item.member("call_id")), name.as_ref(), observed, outcome);
        }
    }
}
