//! Responses of a model without their requests: whole, or as the events of streams.

use super::chat::{self, Form};
use super::chat_messages::{Conversation, SKIPPED};
use super::gemini_contents::Contents;
use super::prelude::*;
use super::{llm_calls, llm_messages, llm_stream};

/// A whole response, or a chunk of one of the Gemini API.
pub(super) const RESPONSE: Mark = Any(&[
    CANDIDATES,
    All(&[llm_messages::RESPONSE, Not(&HasOne(&["messages", "request", "prompt", "input"]))]),
    All(&[In("output", &In("message", &Has(&["role", "content"]))), Is(Kind::String, &["stopReason"])]),
]);

pub(super) const CANDIDATES: Mark = All(&[
    Every("candidates", &In("content", &HasOne(&["parts", "role"]))),
    Not(&HasOne(&["contents", "request"])),
]);

/// Returns true if all objects fit, except events that may be in any stream.
fn are_alone(objects: &[Members<'_>], mark: &Mark) -> bool {
    let mut others = objects.iter().filter(|object| !mark.fits(object));
    others.all(|object| llm_stream::OTHER.fits(object)) && objects.iter().any(|object| mark.fits(object))
}

/// Returns true if all objects are responses or events of streams, except those of OpenAI's Responses API.
pub(super) fn are_listed(objects: &[Members<'_>]) -> bool {
    are_alone(objects, &Any(&[RESPONSE, llm_stream::EVENT]))
}

/// Returns true for a response, or a list or lines of events of OpenAI's Responses API.
pub(super) fn is_alone(document: &Document<'_>) -> bool {
    let is_event = |first: &Raw<'_>| llm_stream::OF_RESPONSES.fits_value(*first);
    match document {
        Document::Object(object) => RESPONSE.fits(object),
        _ => {
            document.items().first().is_some_and(is_event)
                && are_alone(&document.each().collect::<Vec<_>>(), &llm_stream::OF_RESPONSES)
        }
    }
}

/// Emits the runs of responses. A response with calls and the one after it are of the same run.
pub(super) fn read<'a>(objects: impl Iterator<Item = Members<'a>>, runs: &mut Runs<'_>) -> Read<()> {
    let responses = llm_stream::responses(objects);
    let (mut contents, mut chat): (Option<Contents<'_>>, Option<Conversation<'_>>) = (None, None);
    for response in &responses {
        let value = Raw::over(response.as_bytes(), 0);
        let members = Members::from(value);
        if chat::is_response(&members) {
            chat::read_object(&members, runs)?;
            continue;
        }
        let spoken = llm_messages::spoken(value);
        let is_last = spoken.iter().all(|message| llm_messages::said(*message).1.is_empty());
        if members.has("candidates") {
            contents.get_or_insert_with(|| Contents::of_agent("gemini")).response(&members);
        } else {
            let chat = chat.get_or_insert_with(|| Conversation::new(Form::Messages, Metadata::default()));
            chat.metadata.model =
                chat.metadata.model.take().or(members.name("model").as_deref().map(Into::into));
            chat.of_one_response(members.usage("usage"));
            let others = spoken.into_iter().filter(|message| !llm_calls::add(*message, chat)).count();
            runs.pass_over(SKIPPED, others as u64);
            chat.fail(&members);
            if runs.named != Some(Format::LlmCalls) {
                runs.named = Some(chat.format());
            }
        }
        if is_last {
            give(contents.take(), chat.take(), runs);
        }
    }
    give(contents, chat, runs);
    Ok(())
}

fn give(contents: Option<Contents<'_>>, chat: Option<Conversation<'_>>, runs: &mut Runs<'_>) {
    if let Some(contents) = contents {
        contents.run.give(runs);
    }
    if let Some(chat) = chat {
        chat.give(runs);
    }
}
