//! The standard form of the agent data protocol: trajectories of actions and observations. An observation answers the
//! action that it follows.

use std::borrow::Cow;

use crate::json::{Json, Kind, Raw, Read};
use crate::read::Format;
use crate::read::common;
use crate::read::document::Document;
use crate::read::format::{DocumentReader, Entry, Reader};
use crate::read::outcome::Outcome;
use crate::read::runs::Runs;
use crate::read::sample::Members;
use crate::read::wire;
use crate::read::words;
use crate::trace::{Actor, Assembler, Call, CallNumber, Content, Metadata, Words};

pub(in crate::read) const FORMAT: Entry = Entry {
    format: Format::AgentData,
    about: "trajectories of the agent data protocol, in its standard form",
    decisive: "objects with `id` and a list `content`, whose items name their `class_`",
    reader: Reader::Document(DocumentReader { claims, read, is_generic: false }),
};

fn claims(document: &Document<'_>) -> bool {
    match document {
        // Each of several lines is a document.
        Document::Lines(_) => false,
        Document::Object(members) => members.has("id") && members.get("content").is_some_and(has_classes),
        Document::List(items) => {
            !items.is_empty()
                && items.iter().take(words::DECISIVE_ITEMS).all(|item| {
                    item.member("id").is_some() && item.member("content").is_some_and(has_classes)
                })
        }
    }
}

fn has_classes(content: Raw<'_>) -> bool {
    let items = content.items().unwrap_or_default();
    let is_of_class = |item: &Raw<'_>| {
        let class = item.member("class_").and_then(Raw::string);
        class.is_some_and(|class| class.ends_with("_action") || class.ends_with("_observation"))
    };
    !items.is_empty() && items.iter().take(words::DECISIVE_ITEMS).all(is_of_class)
}

fn read(document: &Document<'_>, runs: &mut Runs<'_>) -> Read<()> {
    match document {
        Document::Lines(_) => Ok(()),
        Document::Object(members) => give(members, runs),
        Document::List(items) => items.iter().try_for_each(|item| give(&Members::of(&mut item.json()), runs)),
    }
}

fn give(members: &Members<'_>, runs: &mut Runs<'_>) -> Read<()> {
    let mut steps = Assembler::default();
    steps.begin(true);
    let (mut turn, mut asked, mut others) = (0, None, 0);
    if let Some(content) = members.get("content").filter(|content| content.kind() == Kind::List) {
        content.json().list(|json| {
            if !step(json, turn, &mut asked, &mut steps)? {
                others += 1;
            }
            turn += 1;
            Ok(())
        })?;
    }
    runs.pass_over("steps of other classes", others);
    let detail = |key| members.get("details")?.member(key).and_then(common::name);
    let metadata = Metadata {
        id: members.get("id").and_then(common::ident).map(Cow::into_owned),
        model: detail("model_name").or_else(|| detail("model")).map(|model| model.as_ref().into()),
        termination: detail("exit_status").map(Cow::into_owned),
        ..Metadata::default()
    };
    runs.give_unrouted(&mut steps, metadata, None);
    Ok(())
}

/// Reads a step; `false`: its class is unknown. `asked` is the call that an observation would answer.
fn step<'a>(
    json: &mut Json<'a>,
    turn: u64,
    asked: &mut Option<CallNumber>,
    steps: &mut Assembler<'a>,
) -> Read<bool> {
    let step = Members::of(json);
    let class = step.name("class_").unwrap_or_default();
    let is_action = class.ends_with("_action");
    if is_action && let Some(thought) = step.get("description").and_then(words::message) {
        steps.message(Actor::Agent, turn, thought);
    }
    let answers = asked.take();
    match &*class {
        "api_action" => {
            let mut call = Call::new(turn, None, step.name("function").unwrap_or_default());
            call.arguments = step.get("kwargs").map_or(Content::Absent, common::arguments);
            *asked = Some(steps.call(call));
        }
        "code_action" => {
            let language = step.name("language").unwrap_or(Cow::Borrowed("code"));
            let mut call = Call::new(turn, None, language);
            let code = step.get("content").map(|code| wire::Value::read(&mut code.json())).transpose()?;
            call.arguments = wire::sole_argument_of(code, "code");
            *asked = Some(steps.call(call));
        }
        "message_action" => {
            if let Some(text) = step.get("content").and_then(words::message) {
                steps.message(Actor::Agent, turn, text);
            }
        }
        "text_observation" | "web_observation" | "image_observation" => {
            let text = observation(&class, &step);
            if let Some(call) = answers {
                steps.answer_call(call, Outcome::UNMARKED.answer(text.into()));
            } else if let Some(text) = text.filter(|text| !wire::is_blank(text.text())) {
                let actor = match step.name("source").as_deref() {
                    Some("user") => Actor::User,
                    Some("agent") => Actor::Agent,
                    _ => Actor::Environment,
                };
                steps.message(actor, turn, text);
            }
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// The text of an observation: of a page its tree of accessible elements, or else its source.
fn observation<'a>(class: &str, step: &Members<'a>) -> Option<Words<'a>> {
    let keys: &[&str] = if class == "web_observation" { &["axtree", "html", "url"] } else { &["content"] };
    keys.iter().find_map(|key| step.get(key).and_then(words::result))
}
