//! Sessions and evaluation sets of the Agent Development Kit (ADK): events that wrap contents of the Gemini
//! API, and conversations with the tool uses of each invocation. A row of its database holds an event as JSON in a
//! string; rows of several sessions may be interleaved.

use super::gemini_contents::{Contents, usage};
use super::prelude::*;
use crate::read::call_outcome::has_failed;

pub(super) const FORMAT: Definition = Definition {
    signature: &[
        Shape::Object(Any(&[
            Holds("events", &EVENT),
            EVALUATED,
            Holds("eval_cases", &CASE),
            Holds("evalCases", &CASE),
            Holds("eval_case_results", &ID),
            Holds("evalCaseResults", &ID),
        ])),
        Shape::List(EVENT),
        Shape::Lines(All(&[EVENT, Has(&["content"])])),
        Shape::Items(ROW),
    ],
    reader: Reader::Document(read),
};

const EVENT: Mark =
    All(&[Is(Kind::String, &["author"]), HasOne(&["invocation_id", "invocationId"]), Has(&["id"])]);
const ROW: Mark = Is(Kind::String, &["app_name", "session_id", "event_data"]);
/// A row of an evaluation, with the session next to a request and a response that repeat its texts.
pub(super) const EVALUATED: Mark = In("final_session_state", &Holds("events", &EVENT));
const ID: Mark = HasOne(&["eval_id", "evalId"]);
const CASE: Mark = All(&[ID, Has(&["conversation"])]);

/// The outcome of a call whose answer was not recorded.
const UNTOLD: Outcome = Outcome::unknown(UnknownReason::Unspecified, Provenance::None);

/// Returns the value of a key that has two spellings; `None` if it is absent or null.
fn either<'a>(members: &Members<'a>, names: [&str; 2]) -> Option<Raw<'a>> {
    names.into_iter().find_map(|name| members.get(name)).filter(|value| value.kind() != Kind::Null)
}

const CASES: [&str; 2] = ["eval_cases", "evalCases"];
const RESULTS: [&str; 2] = ["eval_case_results", "evalCaseResults"];

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    let Document::Object(members) = document else {
        let are_rows = |item: &Raw<'_>| ROW.fits_value(*item) && !EVENT.fits_value(*item);
        if document.items().iter().take(words::DECISIVE_ITEMS).all(are_rows) {
            return read_rows(document, runs);
        }
        session(&Members::default(), document.items().to_vec(), None, runs);
        return;
    };
    let state = Some(members.object("final_session_state"));
    let recorded = state.filter(|state| !state.list("events").is_empty()).unwrap_or_else(|| members.clone());
    if let Some(events) = recorded.get("events").and_then(Raw::items) {
        session(&recorded, events, None, runs);
    }
    let domain = either(members, ["eval_set_id", "evalSetId"]);
    for case in items(either(members, CASES)) {
        let case = Members::from(case);
        conversation(&case, case.list("conversation"), domain, None, runs);
    }
    for case in items(either(members, RESULTS)) {
        result(&Members::from(case), domain, runs);
    }
}

fn read_rows(document: &Document<'_>, runs: &mut Runs<'_>) {
    let rows = fitting(&ROW, document.each(), "items of other types", runs);
    let events: Vec<_> = rows.iter().map(|row| row.get("event_data").and_then(Raw::string)).collect();
    let mut sessions: Ordered<_, Contents<'_>> = Ordered::default();
    for (row, event) in rows.iter().zip(&events) {
        // Sessions of different users or apps may have the same id.
        let key = ["session_id", "app_name", "user_id"].map(|key| row.name(key));
        let begin = |[id, app, _]: &[Option<Cow<'_, str>>; 3]| begun(id.clone(), app.clone());
        let event = event.as_deref().and_then(json).map(Members::from);
        match event.filter(|event| event.is("author", Kind::String)) {
            Some(event) => add(&event, sessions.get(key, begin)),
            None => runs.pass_over("rows without an event", 1),
        }
    }
    sessions.into_values().for_each(|contents| contents.run.give(runs));
}

/// Reads the result of a case: the recorded session, or else its invocations.
fn result(case: &Members<'_>, domain: Option<Raw<'_>>, runs: &mut Runs<'_>) {
    // 3 means not evaluated.
    let reward =
        match either(case, ["final_eval_status", "finalEvalStatus"]).and_then(common::ident).as_deref() {
            Some("1" | "passed") => Some(1.0),
            Some("2" | "failed") => Some(0.0),
            _ => None,
        };
    let details = recorded::members(either(case, ["session_details", "sessionDetails"]));
    if let Some(events) = details.get("events").and_then(Raw::items) {
        return session(&details, events, reward, runs);
    }
    let each = items(either(case, ["eval_metric_result_per_invocation", "evalMetricResultPerInvocation"]));
    let names = ["actual_invocation", "actualInvocation"];
    let actual = each.into_iter().filter_map(|each| names.into_iter().find_map(|name| each.member(name)));
    conversation(case, actual.collect(), domain, reward, runs);
}

fn session(members: &Members<'_>, events: Vec<Raw<'_>>, reward: Option<f64>, runs: &mut Runs<'_>) {
    let domain = either(members, ["app_name", "appName"]).and_then(common::name);
    let mut contents = begun(members.name("id"), domain);
    contents.run.reward = reward;
    for event in events {
        add(&Members::from(event), &mut contents);
    }
    contents.run.give(runs);
}

fn begun<'a>(id: Option<Cow<'_, str>>, domain: Option<Cow<'_, str>>) -> Contents<'a> {
    let mut contents = Contents::of_agent("adk");
    contents.run.metadata.id = id.map(Cow::into_owned);
    contents.run.metadata.domain = domain.map(|name| name.as_ref().into());
    contents
}

fn add<'a>(event: &Members<'a>, contents: &mut Contents<'a>) {
    // Chunks are skipped because the whole response follows them.
    if event.flag("partial") == Some(true) {
        return;
    }
    let time =
        event.get("timestamp").and_then(|time| time::of_seconds(time).or_else(|| time::of_string(time)));
    let role = if event.name("author").as_deref() == Some("user") { "user" } else { "model" };
    contents.run.model(either(event, ["model_version", "modelVersion"]).and_then(common::name));
    let tokens = usage(either(event, ["usage_metadata", "usageMetadata"])).filter(|_| role == "model");
    contents.add_with(role, event.present("content"), time, tokens, None);
    if let Some(code) = either(event, ["error_code", "errorCode"]).and_then(common::name) {
        contents.run.metadata.termination = Some(code.into_owned());
        let message = either(event, ["error_message", "errorMessage"]);
        contents.run.say(Actor::Environment, message.and_then(words::message));
    }
}

/// Emits one run with the invocations of a case.
fn conversation(
    case: &Members<'_>,
    invocations: Vec<Raw<'_>>,
    domain: Option<Raw<'_>>,
    reward: Option<f64>,
    runs: &mut Runs<'_>,
) {
    let is_trpc = invocations.iter().filter_map(|invocation| invocation.member("userContent"));
    let is_trpc = is_trpc.map(|said| said.member("content")).any(|text| text.is_some());
    let mut contents = Contents::of_agent(if is_trpc { "trpc-agent-go" } else { "adk" });
    let id = either(case, ["eval_id", "evalId"]).and_then(common::name).map(Cow::into_owned);
    let domain = domain.and_then(common::name).map(|name| name.as_ref().into());
    (contents.run.metadata.id, contents.run.metadata.task) = (id.clone(), id);
    (contents.run.metadata.domain, contents.run.reward) = (domain, reward);
    for invocation in invocations {
        let invocation = Members::from(invocation);
        let time =
            either(&invocation, ["creation_timestamp", "creationTimestamp"]).and_then(time::of_seconds);
        contents.add("user", either(&invocation, ["user_content", "userContent"]), time);
        let between = recorded::members(either(&invocation, ["intermediate_data", "intermediateData"]));
        for event in items(either(&between, ["invocation_events", "invocationEvents"])) {
            contents.add("model", event.member("content"), None);
        }
        // Each response is a pair of an author and a list of parts.
        for said in items(either(&between, ["intermediate_responses", "intermediateResponses"])) {
            let texts = said.items().and_then(|said| said.get(1)?.items()).unwrap_or_default();
            contents.run.turn(None);
            for text in texts.into_iter().filter_map(|part| part.member("text")) {
                contents.run.say(Actor::Agent, words::message(text));
            }
        }
        contents.run.turn(None);
        // tRPC-Agent keeps each call with its result.
        for tool in invocation.objects("tools") {
            let call = contents.run.call(tool.name("id"), tool.name("name"), tool.get("arguments"));
            match tool.present("result") {
                Some(result) => {
                    let text = words::result(result);
                    let has_failed = has_failed(&Members::from(result))
                        || text.as_ref().is_some_and(|text| text.text().starts_with("Error: "));
                    contents.run.answer_call(call, text, Outcome::by_text(has_failed));
                }
                None => contents.run.answer_without_text(call, UNTOLD),
            }
        }
        let responses = items(either(&between, ["tool_responses", "toolResponses"]));
        for call in items(either(&between, ["tool_uses", "toolUses"])) {
            let call = contents.call(&Members::from(call));
            // Older sets hold only the calls, so their outcome is unknown.
            if responses.is_empty() {
                contents.run.answer_without_text(call, UNTOLD);
            }
        }
        for response in responses {
            contents.answer(&Members::from(response), None);
        }
        contents.add("model", either(&invocation, ["final_response", "finalResponse"]), None);
    }
    contents.run.give(runs);
}
