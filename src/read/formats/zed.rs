//! Threads of the agent in Zed: since 0.3.0, each message is under a key with the role of its author; before
//! that, it has segments.

use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Object(Holds(
        "messages",
        &Any(&[
            Is(Kind::List, &["segments"]),
            In("User", &Is(Kind::List, &["content"])),
            In("Agent", &Is(Kind::List, &["content"])),
        ]),
    ))],
    reader: Reader::Object(read),
};

fn read(thread: &Members<'_>, runs: &mut Runs<'_>) {
    let mut run = Recording::of_agent("zed");
    run.metadata.id = thread.ident("id").map(Cow::into_owned);
    run.model(thread.object("model").name("model"));
    for message in thread.objects("messages") {
        run.turn(None);
        if message.is("User", Kind::Object) {
            parts(&message.object("User"), Actor::User, &mut run);
        } else if message.is("Agent", Kind::Object) {
            let agent = message.object("Agent");
            parts(&agent, Actor::Agent, &mut run);
            for (id, result) in agent.object("tool_results").iter() {
                answer(Some(Cow::Owned(id.to_owned())), &result.into(), &mut run);
            }
        } else if message.is("segments", Kind::List) {
            segments(&message, &mut run);
        } else {
            run.pass_over("messages of other types", 1);
        }
    }
    run.give(runs);
}

/// Adds the parts of a message: objects whose only key is the type of the part.
fn parts<'a>(message: &Members<'a>, actor: Actor, run: &mut Recording<'a>) {
    for part in message.objects("content") {
        run.say(actor, part.text("Text").or_else(|| part.object("Mention").text("content")));
        if part.is("ToolUse", Kind::Object) {
            call(&part.object("ToolUse"), run);
        }
    }
}

/// Adds a message of a thread from before 0.3.0.
fn segments<'a>(message: &Members<'a>, run: &mut Recording<'a>) {
    let actor = words::actor_of(&message.name("role").unwrap_or_default());
    for segment in message.objects("segments") {
        let is_text = segment.name("type").as_deref() == Some("text");
        run.say(actor, segment.text("text").filter(|_| is_text));
    }
    for used in message.objects("tool_uses") {
        call(&used, run);
    }
    for result in message.objects("tool_results") {
        answer(result.name("tool_use_id"), &result, run);
    }
}

fn call<'a>(used: &Members<'a>, run: &mut Recording<'a>) {
    // Since 0.3.0, the input may be in an object that says how it is encoded.
    let input = used.object("input");
    let inner = input.get("value").filter(|_| input.name("type").as_deref() == Some("json"));
    run.call(used.name("id"), used.name("name"), inner.or_else(|| used.get("input")));
}

fn answer<'a>(id: Option<Cow<'a, str>>, result: &Members<'a>, run: &mut Recording<'a>) {
    let content = result.get("content");
    let texts = |part: Raw<'a>| part.member("Text").and_then(words::result);
    let parts = content.map_or_else(Vec::new, |content| content.items().unwrap_or_else(|| vec![content]));
    let text = wire::joined(parts.into_iter().filter_map(texts).collect());
    let text = text.or_else(|| content.and_then(words::result));
    let is_canceled = |text: &TextCow<'_>| text.text().head(64) == "Tool canceled by user";
    let outcome = match result.flag("is_error") {
        Some(true) if text.as_ref().is_some_and(is_canceled) => {
            Outcome::unknown(UnknownReason::Interrupted, Provenance::Text)
        }
        failed => Outcome::of_flag(failed),
    };
    run.answer(id, result.name("tool_name").as_ref(), text, outcome);
}
