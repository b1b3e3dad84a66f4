//! BFCL: results and scores of the Berkeley Function Calling Leaderboard, with the log of each step if present.

use super::prelude::*;
use crate::read::text_grammars::unfenced;

pub(super) const FORMAT: Definition =
    Definition { signature: &[Shape::Each(KNOWN)], reader: Reader::Document(read) };

const KNOWN: Mark = Any(&[ENTRY, FAILED, SCORED]);

const ENTRY: Mark = All(&[
    Has(&["result"]),
    HasOne(&["id", "idx"]),
    Any(&[Is(Kind::List, &["inference_log"]), Has(&["input_token_count", "latency"])]),
]);
/// An entry whose run was aborted.
const FAILED: Mark = All(&[Is(Kind::String, &["id", "result", "traceback"]), Not(&ENTRY)]);
/// An entry of a file of scores, which repeats the result.
const SCORED: Mark = All(&[
    Has(&["id", "model_name", "prompt"]),
    Is(Kind::Bool, &["valid"]),
    HasOne(&["model_result_raw", "model_result", "inference_log"]),
]);

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    for entry in fitting(&KNOWN, document.each(), "objects of other types", runs) {
        read_entry(&entry, runs);
    }
}

fn read_entry(entry: &Members<'_>, runs: &mut Runs<'_>) {
    let mut run = Recording::of_agent("bfcl");
    run.metadata.task = entry.ident("id").or_else(|| entry.ident("idx")).map(Into::into);
    run.model(entry.name("model_name"));
    run.reward = entry.flag("valid").map(|is_valid| f64::from(u8::from(is_valid)));
    let is_step = |(key, _): &(&str, Raw<'_>)| key.starts_with("step_");
    let has_steps = entry.objects("inference_log").any(|turn| turn.iter().any(|member| is_step(&member)));
    // Without steps, the questions come with the result.
    let questions = if has_steps || !SCORED.fits(entry) { Vec::new() } else { questions(entry) };
    let log = entry.list("inference_log").into_iter().filter(|_| questions.is_empty());
    for turn in log.map(Members::from) {
        for message in turn.objects("begin_of_turn_query") {
            run.turn(None);
            run.say(Actor::User, message.text("content"));
        }
        for (_, step) in turn.iter().filter(is_step) {
            read_step(step, &mut run);
        }
    }
    if FAILED.fits(entry) {
        run.turn(None);
        run.say(Actor::Environment, entry.text("result"));
        run.metadata.termination = Some("error".into());
    } else if !has_steps && let Some(result) = entry.first(&["result", "model_result_raw", "model_result"]) {
        // With several turns, the result is a list of the results of each.
        let results = if questions.len() > 1 { result.items() } else { None };
        let mut results = results.unwrap_or_else(|| vec![result]).into_iter();
        for question in questions {
            for message in question {
                ask(message, &mut run);
            }
            if let Some(result) = results.next() {
                run.turn(None);
                read_result(result, &mut run);
            }
        }
        for result in results {
            run.turn(None);
            read_result(result, &mut run);
        }
    }
    run.give(runs);
}

/// Returns the messages of each turn in the question of a scored entry, which may also be one list, or one text.
fn questions<'a>(entry: &Members<'a>) -> Vec<Vec<Raw<'a>>> {
    let prompt = entry.get("prompt");
    let question = prompt.and_then(|prompt| prompt.member("question")).or(prompt);
    match question.and_then(Raw::items) {
        Some(turns) if turns.iter().all(|turn| turn.kind() == Kind::List) => {
            turns.into_iter().map(|turn| items(Some(turn))).collect()
        }
        Some(messages) => vec![messages],
        None => vec![question.into_iter().collect()],
    }
}

/// Adds a message of the question: an object, or the text of the user.
fn ask<'a>(message: Raw<'a>, run: &mut Recording<'a>) {
    run.turn(None);
    if message.kind() == Kind::String {
        return run.say(Actor::User, text(Some(message)));
    }
    let role = message.member("role").and_then(Raw::string).unwrap_or_default();
    run.say(words::actor_of(&role), text(message.member("content")));
}

/// Reads a step: the model's text, the calls decoded from it, and their results in order.
fn read_step<'a>(step: Raw<'a>, run: &mut Recording<'a>) {
    run.turn(None);
    let mut calls: Vec<CallNumber> = Vec::new();
    let (mut answered, mut written) = (0, None);
    for event in items(Some(step)) {
        let content = event.member("content");
        let role = event.member("role").and_then(Raw::string);
        match role.as_deref() {
            Some("assistant") => {
                written = content;
                run.say(Actor::Agent, text(content));
            }
            Some("handler_log") => {
                let decoded = items(event.member("model_response_decoded"));
                // The model's own calls have the arguments as JSON.
                let own =
                    items(written).into_iter().filter(|call| call.kind() == Kind::Object).collect::<Vec<_>>();
                let given = if own.len() == decoded.len() { own } else { decoded };
                calls.extend(given.into_iter().map(|call| add(call, run)));
                if let Some(error) = event.member("error") {
                    // Calls that could not be decoded were not made, so they are text.
                    let undecoded = written.filter(|_| text(written).is_none());
                    run.say(Actor::Agent, undecoded.and_then(words::result));
                    run.say(Actor::Environment, text(Some(error)));
                }
            }
            Some("tool") => {
                let observed = content.and_then(words::result);
                let failed = content.and_then(Raw::string).is_some_and(|observed| is_error(&observed));
                let outcome = Outcome::by_text(failed);
                match calls.get(answered) {
                    Some(call) => run.answer_call(*call, observed, outcome),
                    None => run.answer(None, None, observed, outcome),
                }
                answered += 1;
            }
            _ => {}
        }
    }
}

/// Reads a result without a log: calls that were not executed, or the model's text.
fn read_result<'a>(result: Raw<'a>, run: &mut Recording<'a>) {
    match result.kind() {
        Kind::Object => {
            let call = add(result, run);
            run.answer_without_text(call, Outcome::unknown(UnknownReason::Unspecified, Provenance::None));
        }
        Kind::List => items(Some(result)).into_iter().for_each(|result| read_result(result, run)),
        _ => {
            let text = text(Some(result));
            let calls: Vec<_> = text.as_ref().map_or_else(Vec::new, |text| {
                calls_in(&text.text().to_str()).into_iter().map(str::to_owned).collect()
            });
            run.say(Actor::Agent, text);
            for code in calls {
                let call = add_code(&code, run);
                run.answer_without_text(call, Outcome::unknown(UnknownReason::Unspecified, Provenance::None));
            }
        }
    }
}

/// Returns the calls in a text such as `[cd(folder='a'), ls()]`, with or without a fence and brackets; empty if it
/// holds anything else.
fn calls_in(text: &str) -> Vec<&str> {
    let text = unfenced(text);
    let listed = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    // Without brackets, a text such as `area(3) is 9 (about)` is not a call.
    let is_one = || text.find(')') == Some(text.len() - 1);
    let list = listed.or_else(|| is_one().then_some(text)).unwrap_or_default();
    let (mut depth, mut quote) = (0_u32, None);
    let is_between = |mark: char| {
        match (quote, mark) {
            (Some(open), _) if mark == open => quote = None,
            (None, '\'' | '"') => quote = Some(mark),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth = depth.saturating_sub(1),
            (None, ',') => return depth == 0,
            _ => {}
        }
        false
    };
    let calls: Vec<_> = list.split(is_between).map(str::trim).collect();
    let is_of_name = |mark: char| mark.is_alphanumeric() || matches!(mark, '_' | '.');
    let is_call = |call: &str| {
        call.ends_with(')')
            && call.split_once('(').is_some_and(|(name, _)| !name.is_empty() && name.chars().all(is_of_name))
    };
    if calls.iter().all(|call| is_call(call)) { calls } else { Vec::new() }
}

/// Returns true if a result is an error object, as JSON or as a Python `repr` (possibly in a list), or a message
/// that the call could not be executed.
fn is_error(observed: &str) -> bool {
    let has_error =
        observed.starts_with('{') && members(Some(Raw::over(observed.as_bytes(), 0))).has("error");
    let starts = ["Error during execution", "{'error':", "[{'error':"];
    has_error || starts.iter().any(|start| observed.starts_with(start))
}

fn add_code(code: &str, run: &mut Recording<'_>) -> CallNumber {
    let name = code.split_once('(').map_or(code, |(name, _)| name).to_owned();
    run.call_text(name, "code", code)
}

/// Adds a decoded call: code such as `cd(folder='a')`, or an object that maps the name to the arguments.
fn add<'a>(call: Raw<'a>, run: &mut Recording<'a>) -> CallNumber {
    if let Some(code) = call.string() {
        return add_code(&code, run);
    }
    let call = Members::from(call);
    let named = call.iter().next().map(|(name, given)| (name.to_owned(), given));
    let (name, given) = named.map_or((None, None), |(name, given)| (Some(Cow::Owned(name)), Some(given)));
    run.call(None, name, given)
}
