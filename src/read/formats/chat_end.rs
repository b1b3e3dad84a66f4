//! The last answer of the model, in the object that encloses the messages of a chat.

use super::chat::Form;
use super::chat_content;
use super::chat_element::Element;
use super::chat_messages::Conversation;
use super::prelude::*;
use crate::trace::Entry;

impl<'a> Conversation<'a> {
    /// Adds the last answer of the model, if an object has it next to messages that do not include it.
    pub(super) fn end_with(&mut self, around: &Members<'a>) {
        if self.form != Form::Messages {
            return;
        }
        let response = around.get("response").filter(|response| response.member("role").is_some());
        let choice = || around.objects("choices").next()?.get("message");
        if let Some(message) = response.or_else(choice).filter(|message| message.kind() == Kind::Object) {
            if !self.includes(message) {
                self.of_one_response(around.usage("usage"));
                self.take(message);
            }
            return;
        }
        // Other outputs are those of the model only if the messages end before it answered.
        let is_answered = matches!(self.steps().next(), Some(Entry::Message { actor: Actor::Agent, .. }));
        let others = || ["completion", "output"].iter().find_map(|key| around.string(key));
        let said = around.string("response").or_else(|| others().filter(|_| !is_answered));
        let Some(said) = said.filter(|said| !wire::is_blank(said.text())) else { return };
        if !self.has_said(&said.text().to_str()) {
            let turn = self.turn();
            self.assembler.message(Actor::Agent, turn, said);
        }
    }

    /// Adds the error with which a response ended.
    pub(super) fn fail(&mut self, response: &Members<'a>) {
        if let Some(text) = response.object("error").message("message") {
            let turn = self.end_turn();
            self.assembler.message(Actor::Environment, turn, text);
        }
    }

    /// Returns the steps that were added, newest first.
    fn steps(&self) -> impl Iterator<Item = &Entry<'a>> {
        self.assembler.entries().iter().rev().filter(|entry| !matches!(entry, Entry::Paired))
    }

    /// Returns true if the messages include this one: its text, or else its calls.
    fn includes(&self, message: Raw<'_>) -> bool {
        let element = Element::from(message);
        let (text, blocks) = element.content.map(chat_content::message).unwrap_or_default();
        let of_blocks = blocks.iter().filter(|block| block.is_call).map(|block| block.id.as_deref());
        let calls = element.tool_calls.iter().filter_map(|read| Some(read.call.as_ref()?.id.as_deref()));
        let mut ids = calls.chain(of_blocks).peekable();
        if ids.peek().is_none() {
            return text.is_none_or(|text| self.has_said(&text.text().to_str()));
        }
        let has = |id: Option<&str>| {
            let is_it =
                |entry: &Entry<'_>| matches!(entry, Entry::Call(call, ..) if call.id.as_deref() == id);
            id.is_some() && self.steps().any(is_it)
        };
        ids.all(has)
    }

    /// Returns true if the model said this after the last message of the user, or just before it if it ends the chat.
    /// Thoughts, white space and punctuation at the end do not count.
    fn has_said(&self, said: &str) -> bool {
        let is_of_user = |entry: &&Entry<'_>| matches!(entry, Entry::Message { actor: Actor::User, .. });
        let dense = |text: &str| {
            let text = text.rsplit_once("</think>").map_or(text, |(_, answer)| answer);
            let text: String = text.split_whitespace().collect();
            text.trim_end_matches(|letter: char| letter.is_ascii_punctuation()).to_owned()
        };
        let answer = dense(said);
        let is_open = self.steps().next().is_some_and(|entry| is_of_user(&entry));
        let of_turn = self.steps().skip_while(is_of_user).take_while(|entry| !is_of_user(entry));
        of_turn.enumerate().any(|(place, entry)| {
            let Entry::Message { actor: Actor::Agent, text, .. } = entry else { return false };
            let text = dense(&text.text().to_str());
            // The last text may also have a few words around the answer, or the answer some before the text.
            let is_most = || answer.len() * 2 >= text.len() && text.contains(&answer);
            let is_end = || !text.is_empty() && answer.ends_with(&text);
            // The user may ask again, and get an answer with the same end.
            if is_open {
                return text == answer;
            }
            text.ends_with(&answer) || place == 0 && (is_most() || is_end())
        })
    }
}
