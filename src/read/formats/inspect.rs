//! Inspect logs: one JSON document with samples, or a zip archive (`.eval`) with a file for each sample.
//!
//! Steps come from a sample's `messages`. Tokens and times come from its `events`: responses of the model,
//! matched by the id of their message or calls, and executions of tools, matched by the id of the call.

use memchr::memmem::Finder;
use std::collections::{BTreeMap, VecDeque};
use std::sync::LazyLock;

use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Object(All(&[
        Has(&["version"]),
        Is(Kind::Object, &["eval"]),
        Is(Kind::List, &["samples"]),
    ]))],
    reader: Reader::Object(read),
};

fn read(members: &Members<'_>, runs: &mut Runs<'_>) {
    let eval = metadata(members);
    for (position, value) in (0..).zip(members.list("samples")) {
        if let Err(fault) = sample(value, position, &eval, runs) {
            runs.fail_run(fault.into_error());
        }
    }
}

pub(super) fn metadata(log: &Members<'_>) -> Metadata {
    let name = |key: &str| Some(log.object("eval").name(key)?.as_ref().into());
    Metadata { domain: name("task"), model: name("model"), agent: name("solver"), ..Metadata::default() }
}

/// Reads the sample at this position of its log.
pub(super) fn sample(value: Raw<'_>, position: u64, eval: &Metadata, runs: &mut Runs<'_>) -> Read<()> {
    let sample = Members::from(value);
    if !sample.is("messages", Kind::List) {
        let is_object = value.kind() == Kind::Object;
        let what = if is_object { "samples without messages" } else { "samples that are not objects" };
        runs.pass_over(what, 1);
        return Ok(());
    }
    let mut metadata = eval.clone();
    let id = sample.ident("id");
    let part = id.as_deref().map_or_else(|| position.to_string(), str::to_owned);
    metadata.id = Some(format!("{part}_epoch_{}", sample.integer("epoch").unwrap_or(1)));
    metadata.task = id.map(Cow::into_owned);
    let failed = sample.present("error").map(|_| "error".into());
    metadata.termination = failed.or_else(|| sample.object("limit").name("type")).map(Cow::into_owned);
    let mut conversation = Conversation {
        steps: Assembler::default(),
        attachments: Attachments { all: sample.get("attachments"), found: None, left: MOST_COPIED },
        measured: sample.get("events").map(Measured::of).unwrap_or_default(),
    };
    for (turn, message) in (0..).zip(sample.list("messages")) {
        if message.kind() == Kind::Object {
            conversation.message(&Members::from(message), turn)?;
        } else {
            runs.pass_over("messages that are not objects", 1);
        }
    }
    let scores = sample.object("scores");
    let score = scores.only().map(|(_, score)| score).or(sample.get("score"));
    // Inspect runs the calls that a message records, and no others: a call in a text was never made.
    runs.begin(&None.into());
    runs.give_unrouted(&mut conversation.steps, metadata, score.and_then(reward));
    Ok(())
}

/// Returns the value of a score: a number, or Inspect's value for `C` (correct), `P` (partial), `I` (incorrect) or `N`
/// (no answer).
fn reward(score: Raw<'_>) -> Option<f64> {
    let value = score.member("value")?;
    match value.kind() {
        Kind::Number => value.json().float().ok(),
        Kind::String => match &*value.string()? {
            "C" => Some(1.0),
            "P" => Some(0.5),
            "I" | "N" => Some(0.0),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the outcome of a call, and the type of its error if it has one.
pub(super) fn outcome(result: &Members<'_>) -> (Outcome, Option<Box<str>>) {
    if !result.is("error", Kind::Object) {
        return (Outcome::UNMARKED, None);
    }
    let kind = result.object("error").name("type");
    let outcome = if kind.as_deref() == Some("approval") {
        Outcome::unknown(UnknownReason::Refused, Provenance::ErrorType)
    } else {
        Outcome::error(Provenance::ErrorType)
    };
    (outcome, kind.map(|kind| kind.as_ref().into()))
}

/// Returns the observation in a tool's message: its content or, if that is empty, the message of its error. After a
/// timeout, always returns the content, which is what the tool had written by then.
pub(super) fn observation<'a>(result: &Members<'a>) -> Option<TextCow<'a>> {
    let content = result.result("content");
    let error = result.object("error");
    if content.as_ref().is_some_and(|content| !content.text().is_empty())
        || error.name("type").as_deref() == Some("timeout")
    {
        return content;
    }
    error.result("message").or(content)
}

struct Conversation<'a> {
    steps: Assembler<'a>,
    attachments: Attachments<'a>,
    measured: Measured<'a>,
}

impl<'a> Conversation<'a> {
    fn message(&mut self, message: &Members<'a>, turn: u64) -> Read<()> {
        let role = message.name("role").unwrap_or_default();
        if role == "tool" {
            let observation =
                observation(message).map(|words| self.attachments.resolve(words)).transpose()?;
            let (outcome, error_type) = outcome(message);
            let mut answer = outcome.answer(observation.into());
            answer.error_type = error_type;
            self.steps.answer(turn, message.name("tool_call_id"), answer);
            return Ok(());
        }
        let actor = words::actor_of(&role);
        let id = message.name("id");
        if let Some(text) = message.message("content") {
            let time = id.as_deref().and_then(|id| self.measured.time_of_message(id));
            self.steps.message_at(actor, turn, text, time);
        }
        if actor != Actor::Agent {
            return Ok(());
        }
        let calls = message.list("tool_calls").into_iter().filter(|call| call.kind() == Kind::Object);
        let found: Vec<_> = calls.map(|call| tool_call(&Members::from(call), turn)).collect();
        let ids = found.iter().filter_map(|call| call.id.as_deref());
        let tokens = self.measured.tokens(id.as_deref(), ids);
        self.steps.set_usage(turn, tokens.filter(|_| found.is_empty()));
        for mut call in found {
            let execution = call.id.as_deref().and_then(|id| self.measured.next_execution(id));
            call.time = execution.and_then(|execution| execution.time);
            let duration_ns = execution.and_then(|execution| execution.duration_ns);
            let usage = Usage { duration_ns, ..tokens.unwrap_or_default() };
            call.usage = (!usage.is_empty()).then(|| Box::new(usage));
            self.steps.call(call);
        }
        Ok(())
    }
}

fn tool_call<'a>(call: &Members<'a>, turn: u64) -> Call<'a> {
    let name = call.name("function").unwrap_or_default();
    Call::new(turn, call.name("id"), name).with(call.arguments("arguments"))
}

/// Long texts in a separate object, to which messages refer by name.
struct Attachments<'a> {
    all: Option<Raw<'a>>,
    /// The attachments by name; `None` until one is requested.
    found: Option<BTreeMap<String, Raw<'a>>>,
    left: usize,
}

/// The beginning of a reference to an attachment, before 32 hexadecimal digits.
const ATTACHMENT: &str = "attachment://";

/// Maximum number of bytes that are copied from attachments into a sample, since a short sample must not expand
/// to a huge run. A text that is a single reference is borrowed and does not count.
const MOST_COPIED: usize = 256 << 20;

impl<'a> Attachments<'a> {
    /// Returns the attachment whose name is at the start of `named`, and the text after the name.
    fn get<'t>(&mut self, named: &'t str) -> Option<(Raw<'a>, &'t str)> {
        let (name, rest) = named.split_at_checked(32)?;
        if !name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let all = self.all;
        let found = self.found.get_or_insert_with(|| {
            let members = all.filter(|all| all.kind() == Kind::Object).map(Members::from);
            let members = members.unwrap_or_default();
            members.iter().map(|(name, text)| (name.to_owned(), text)).collect()
        });
        let text = *found.get(name)?;
        (text.kind() == Kind::String).then_some((text, rest))
    }

    /// Returns the text with attachments in place of references to them.
    fn resolve(&mut self, words: TextCow<'a>) -> Read<TextCow<'a>> {
        static FINDER: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("attachment:"));
        let text = words.text();
        // The finder omits the slashes, which JSON may escape.
        if !text.may_hold(&FINDER) {
            return Ok(words);
        }
        let whole = text.to_str();
        // Usually the text is a single reference, which is borrowed.
        if let Some((text, "")) = whole.strip_prefix(ATTACHMENT).and_then(|named| self.get(named)) {
            return Ok(Text::from(text.json().text()?).into());
        }
        let mut rest = &*whole;
        let (mut out, mut changed) = (String::new(), false);
        while let Some((before, after)) = rest.split_once(ATTACHMENT) {
            out.push_str(before);
            if let Some((text, after)) = self.get(after) {
                let attachment = text.json().string()?;
                self.left = self.left.checked_sub(attachment.len()).ok_or_else(|| {
                    let what = format!("expected attachments of at most {} MiB", MOST_COPIED >> 20);
                    Fault::other(text.offset(), Error::new(ErrorKind::TooLarge, what))
                })?;
                out.push_str(&attachment);
                (rest, changed) = (after, true);
            } else {
                out.push_str(ATTACHMENT);
                rest = after;
            }
        }
        out.push_str(rest);
        drop(whole);
        Ok(if changed { out.into() } else { words })
    }
}

/// The start and duration of a tool execution.
#[derive(Debug, Clone, Copy, Default)]
struct Execution {
    time: Option<u64>,
    duration_ns: Option<u64>,
}

#[derive(Debug, Default)]
struct Measured<'a> {
    /// Times and tokens of responses, by message id.
    by_message: BTreeMap<Cow<'a, str>, (Option<u64>, Option<Usage>)>,
    /// Tokens of responses, by call id.
    by_call: BTreeMap<Cow<'a, str>, Option<Usage>>,
    /// By call id, in order: ids may repeat.
    executions: BTreeMap<Cow<'a, str>, VecDeque<Execution>>,
}

impl<'a> Measured<'a> {
    fn of(events: Raw<'a>) -> Self {
        let mut measured = Self::default();
        for event in events.items().unwrap_or_default() {
            measured.event(&Members::from(event));
        }
        measured
    }

    fn event(&mut self, event: &Members<'a>) {
        let time = event.time("timestamp");
        match event.name("event").as_deref() {
            Some("tool") => {
                if let Some(id) = event.name("id") {
                    let end = event.time("completed");
                    let duration_ns = event
                        .get("working_time")
                        .and_then(time::of_seconds)
                        .or_else(|| end?.checked_sub(time?));
                    self.executions.entry(id).or_default().push_back(Execution { time, duration_ns });
                }
            }
            Some("model") => {
                let output = event.object("output");
                let usage = output.usage("usage");
                let choice = output.objects("choices").next();
                let message = choice.map(|choice| choice.object("message")).unwrap_or_default();
                if let Some(id) = message.name("id") {
                    self.by_message.entry(id).or_insert((time, usage));
                }
                for id in message.objects("tool_calls").filter_map(|call| call.name("id")) {
                    self.by_call.entry(id).or_insert(usage);
                }
            }
            _ => {}
        }
    }

    /// Returns the request time of the response with this message.
    fn time_of_message(&self, id: &str) -> Option<u64> {
        self.by_message.get(id)?.0
    }

    /// Returns the tokens of the response with this message, or else with one of these calls.
    fn tokens<'c>(&self, message: Option<&str>, mut calls: impl Iterator<Item = &'c str>) -> Option<Usage> {
        let by_message = message.and_then(|id| self.by_message.get(id)).map(|(_, usage)| *usage);
        by_message.or_else(|| calls.find_map(|id| self.by_call.get(id).copied()))?
    }

    fn next_execution(&mut self, id: &str) -> Option<Execution> {
        self.executions.get_mut(id)?.pop_front()
    }
}
