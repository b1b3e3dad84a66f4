//! AutoGen since 0.4: messages and events of a chat, alone, in a task result or in a saved state. A log
//! may have each under `model_dump`.

use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[
        Shape::Under(&LISTS, MESSAGE),
        Shape::Under(&["events"], In("model_dump", &MESSAGE)),
        Shape::Object(STATE),
    ],
    reader: Reader::Document(read),
};

const LISTS: [&str; 2] = ["messages", "message_thread"];
const STATE: Mark = All(&[
    Says("type", &["*State"]),
    Any(&[Is(Kind::Object, &["agent_states"]), In("llm_context", &Has(&["messages"]))]),
]);
const MESSAGE: Mark = All(&[
    Has(&["content"]),
    Says(
        "type",
        &[
            "TextMessage",
            "MultiModalMessage",
            "HandoffMessage",
            "StopMessage",
            "ThoughtEvent",
            "StructuredMessage",
            "FunctionExecutionResultMessage",
            "UserInputRequestedEvent",
            "MemoryQueryEvent",
            "ToolCall*",
        ],
    ),
]);

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    let lists = match document {
        Document::Object(state) if STATE.fits(state) => threads(state, runs),
        document => vec![elements(document, &[LISTS[0], LISTS[1], "events"])],
    };
    for list in lists {
        let mut run = Recording::of_agent("autogen");
        run.metadata.termination = document.members().name("stop_reason").map(Into::into);
        for item in list {
            let item = Members::from(item).within("model_dump");
            run.pass_over("elements of other types", u64::from(!item.has("content")));
            message(&item, &mut run);
        }
        run.give(runs);
    }
}

/// Returns the message threads of a state, or the contexts of its agents if these have more calls. Of the
/// lists that are not used, items that are not objects are counted as skipped.
fn threads<'a>(state: &Members<'a>, runs: &mut Runs<'_>) -> Vec<Vec<Raw<'a>>> {
    let (mut chats, mut contexts) = (Vec::new(), Vec::new());
    let states = state.object("agent_states");
    let own = state.whole().into_iter();
    for agent in own.chain(states.iter().map(|(_, agent)| agent)) {
        let inner = agent.member("agent_state").unwrap_or(agent);
        chats.extend(agent.member("message_thread").and_then(Raw::items));
        let context = inner.member("llm_context").or_else(|| inner.member("model_context"));
        contexts.extend(context.and_then(|context| context.member("messages")).and_then(Raw::items));
        // A team within the team.
        if inner.member("agent_states").is_some() && agent.member("agent_state").is_some() {
            contexts.extend(threads(&Members::from(inner), runs));
        }
    }
    if let ([chat], [context]) = (&mut chats[..], &contexts[..])
        && let Some(earlier) = earlier(context, chat)
    {
        chat.splice(..0, earlier.iter().copied());
    }
    let calls = |list: &Vec<Raw<'a>>| list.iter().filter(|message| has_calls(**message)).count();
    let [in_chats, in_contexts] = [&chats, &contexts].map(|lists| lists.iter().map(calls).sum::<usize>());
    let (read, left) =
        if in_chats >= in_contexts && !chats.is_empty() { (chats, contexts) } else { (contexts, chats) };
    let others = left.iter().flatten().filter(|item| item.kind() != Kind::Object).count();
    runs.pass_over("elements of other types", others as u64);
    read
}

/// Returns the messages of a context that precede the thread, if the context ends with the whole thread. A thread
/// may start over with each task, while the context keeps earlier ones.
fn earlier<'c, 'a>(context: &'c [Raw<'a>], thread: &[Raw<'a>]) -> Option<&'c [Raw<'a>]> {
    let (before, same) = context.split_at_checked(context.len().checked_sub(thread.len())?)?;
    let says = |message: &Raw<'a>| message.member("content").map(Raw::bytes);
    let is_same = !thread.is_empty() && same.iter().map(says).eq(thread.iter().map(says));
    is_same.then_some(before)
}

fn has_calls(message: Raw<'_>) -> bool {
    items(message.member("content")).iter().any(|item| item.member("arguments").is_some())
}

fn message<'a>(message: &Members<'a>, run: &mut Recording<'a>) {
    let content = message.get("content");
    run.turn(message.time("created_at"));
    run.set_usage(message.usage("models_usage"));
    let kind = message.name("type").unwrap_or_default();
    // Summaries and chunks repeat other messages, and thoughts are reasoning.
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
            let outcome = Outcome::of_flag(item.member("is_error").and_then(Raw::boolean));
            let observed = item.member("content").and_then(words::result);
            run.answer(ident(item.member("call_id")), name.as_ref(), observed, outcome);
        }
    }
}
