//! DeepEval: test runs, whose cases have a trace or a list of calls, and traces.

use super::otel::observed::{self, Observed};
use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Object(Any(&[CASES, In("testRunData", &CASES)])), Shape::Each(TRACE)],
    reader: Reader::Fallible(read),
};

const CASES: Mark = Holds("testCases", &CASE);
const CASE: Mark = Has(&["name", "input", "success", "metricsData"]);
const TRACE: Mark = All(&[
    Is(Kind::String, &["uuid"]),
    Is(Kind::List, &["agentSpans", "llmSpans", "toolSpans", "baseSpans"]),
]);

/// The lists of spans in a trace, each with its kind.
const LISTS: [(&str, &str); 5] = [
    ("agentSpans", "AGENT"),
    ("llmSpans", "LLM"),
    ("toolSpans", "TOOL"),
    ("retrieverSpans", "RETRIEVER"),
    ("baseSpans", "CHAIN"),
];

fn read(document: &Document<'_>, runs: &mut Runs<'_>) -> Read<()> {
    let mut spans = Vec::new();
    for object in document.each() {
        let run = object.within("testRunData");
        if TRACE.fits(&run) {
            add(&run, &mut spans, runs)?;
            continue;
        }
        runs.pass_over("conversations of test runs", run.list("conversationalTestCases").len() as u64);
        for case in fitting(&CASE, run.objects("testCases"), "items that are not test cases", runs) {
            let trace = case.object("trace");
            if TRACE.fits(&trace) && has_run(&trace, &case) {
                traced(&case, &trace, runs)?;
            } else {
                self::case(&case, runs);
            }
        }
    }
    observed::give(spans.into_iter().map(Ok), runs)
}

/// Returns true if the trace of a case has the calls that the case lists, or the case lists none and the trace has an
/// agent or a request.
fn has_run(trace: &Members<'_>, case: &Members<'_>) -> bool {
    let has = |list| !trace.list(list).is_empty();
    has("toolSpans") || case.list("toolsCalled").is_empty() && (has("agentSpans") || has("llmSpans"))
}

/// Emits the runs of the trace of a case, each with the result of the case and its name as the task.
fn traced<'a>(case: &Members<'a>, trace: &Members<'a>, runs: &mut Runs<'_>) -> Read<()> {
    let mut spans = Vec::new();
    add(trace, &mut spans, runs)?;
    let metadata = Metadata { task: case.name("name").map(Cow::into_owned), ..Metadata::default() };
    let outer = std::mem::take(&mut runs.around);
    (runs.around.metadata, runs.around.reward) = (metadata, reward(case));
    let given = observed::give(spans.into_iter().map(Ok), runs);
    runs.around = outer;
    given
}

fn reward(case: &Members<'_>) -> Option<f64> {
    case.flag("success").map(|success| f64::from(u8::from(success)))
}

/// Emits the run of a case that is not read from its trace: its input, the calls that it lists, and its output.
fn case(case: &Members<'_>, runs: &mut Runs<'_>) {
    let mut run = Recording::default();
    run.metadata.id = case.name("name").map(Cow::into_owned);
    run.reward = reward(case);
    run.say(Actor::User, case.text("input"));
    for called in case.objects("toolsCalled") {
        let call = run.call(None, called.name("name"), called.get("inputParameters"));
        if let Some(output) = called.result("output") {
            run.answer_call(call, Some(output), Outcome::UNMARKED);
        }
    }
    run.turn(None);
    run.say(Actor::Agent, case.text("actualOutput"));
    run.give(runs);
}

fn add<'a>(trace: &Members<'a>, spans: &mut Vec<Observed<'a>>, runs: &mut Runs<'_>) -> Read<()> {
    for (list, kind) in LISTS {
        for members in trace.objects(list) {
            let is_other = |item: &&Raw<'_>| item.kind() != Kind::Object;
            let others = members.list("input").iter().filter(is_other).count();
            runs.pass_over("items of inputs that are not messages", others as u64);
            spans.push(span(trace, &members, kind)?);
        }
    }
    Ok(())
}

fn span<'a>(trace: &Members<'a>, members: &Members<'a>, kind: &'static str) -> Read<Observed<'a>> {
    let name = |key: &str| members.name(key);
    let id = |of: &Members<'a>| of.name("uuid").unwrap_or_default();
    let mut span = Observed::new(id(trace), id(members), name("parentUuid"));
    span.name(name("name").unwrap_or_default());
    span.set_times(members.time("startTime"), members.time("endTime"));
    match name("status").as_deref() {
        Some("ERRORED") => span.ended(true, name("error")),
        Some("SUCCESS") => span.ended(false, None),
        _ => {}
    }
    span.kind(Some(kind.into()));
    span.text("session.id", trace.name("threadId"));
    span.value("input.value", members.get("input"))?;
    span.value("output.value", members.get("output"))?;
    span.used(name("model"), members.count("inputTokenCount"), members.count("outputTokenCount"));
    Ok(span)
}
