//! Langfuse traces, from its API and exports: observations, each a model call, tool call or other span.

use super::otel::observed::{self, Observed, sole};
use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Object(HOLDER), Shape::List(HOLDER), Shape::Items(OBSERVATION)],
    reader: Reader::Fallible(read),
};

const OBSERVATION: Mark =
    All(&[Is(Kind::String, &["traceId", "startTime", "id"]), Test("`type` in capitals", has_type)]);
/// An observation in a trace, which may have the id of the trace alone.
const PART: Mark = All(&[Is(Kind::String, &["startTime", "id"]), Test("`type` in capitals", has_type)]);
const OBSERVATIONS: Mark = Holds("observations", &PART);
const DATA: Mark = Holds("data", &OBSERVATION);
const HOLDER: Mark = Any(&[OBSERVATIONS, DATA]);
/// The lists of observations: in a trace of the API or next to one, or in a page of results.
const LISTS: [(&str, Mark); 2] = [("observations", OBSERVATIONS), ("data", DATA)];

fn has_type(observation: &Members<'_>) -> bool {
    let is_capital = |byte: u8| byte.is_ascii_uppercase() || byte == b'_';
    observation.name("type").is_some_and(|kind| kind.bytes().all(is_capital))
}

/// An observation, with the ids of its trace and its session.
type Found<'a> = (Members<'a>, Context<'a>);

/// What the object that holds observations records about them.
#[derive(Default, Clone)]
struct Context<'a> {
    trace: Option<Cow<'a, str>>,
    session: Option<Cow<'a, str>>,
}

fn read(document: &Document<'_>, runs: &mut Runs<'_>) -> Read<()> {
    let mut found = Vec::new();
    for object in document.each() {
        if HOLDER.fits(&object) {
            take(&object, &mut found, runs);
        } else if OBSERVATION.fits(&object) {
            found.push((object, Context::default()));
        } else {
            runs.pass_over("items that are not observations", 1);
        }
    }
    let outdated = outdated(&found);
    runs.pass_over("earlier states of an iteration", outdated.len() as u64);
    let is_current = |(observation, _): &&Found<'_>| !outdated.contains(&*id(observation));
    let spans =
        found.iter().filter(is_current).map(|(observation, context)| span(observation, context.clone()));
    observed::give(spans, runs)
}

fn take<'a>(members: &Members<'a>, found: &mut Vec<Found<'a>>, runs: &mut Runs<'_>) {
    let trace = members.object("trace");
    let trace = if trace.whole().is_some() { &trace } else { members };
    let context = Context { trace: trace.name("id"), session: trace.name("sessionId") };
    let held = LISTS.iter().find(|(_, list)| list.fits(members));
    let items = held.into_iter().flat_map(|(key, _)| members.objects(key));
    for item in fitting(&PART, items, "items that are not observations", runs) {
        found.push((item, context.clone()));
    }
}

fn id<'a>(observation: &Members<'a>) -> Cow<'a, str> {
    observation.name("id").unwrap_or_default()
}

/// A state of an iteration: its start, whether it is a whole update, and its id. The greatest one is current.
type State<'a> = (Option<u64>, bool, Cow<'a, str>);

/// Returns the event of an agent of `BeeAI` after which an observation is named: `update` for `agent.react.update-3`.
fn event(name: &str) -> Option<&str> {
    name.strip_prefix("agent.")?.rsplit_once('-')?.0.rsplit('.').next()
}

/// Returns the ids of observations that a later one repeats. `BeeAI` records an iteration after each change
/// (`agent.react.update-3`): the last state has the call with its answer. Observations below an earlier state
/// repeat the call, so they are outdated too.
fn outdated<'a>(found: &[Found<'a>]) -> TextSet<Cow<'a, str>> {
    let mut states: TextMap<Cow<'a, str>, Vec<State<'a>>> = TextMap::default();
    let mut below: TextMap<Cow<'a, str>, Vec<Cow<'a, str>>> = TextMap::default();
    for (observation, _) in found {
        let Some(parent) = observation.name("parentObservationId") else { continue };
        let name = observation.name("name").unwrap_or_default();
        if let Some(event @ ("update" | "partial_update")) = event(&name) {
            let state = (observation.time("startTime"), event == "update", id(observation));
            states.entry(parent.clone()).or_default().push(state);
        }
        below.entry(parent).or_default().push(id(observation));
    }
    let mut outdated = TextSet::default();
    let mut open = Vec::new();
    for mut states in states.into_values() {
        states.sort_unstable();
        states.pop();
        open.extend(states.into_iter().map(|(.., id)| id));
    }
    while let Some(id) = open.pop() {
        open.extend(below.remove(&id).unwrap_or_default());
        outdated.insert(id);
    }
    outdated
}

/// Converts an observation to a span. Those sent as OpenTelemetry spans keep their attributes.
fn span<'a>(observation: &Members<'a>, context: Context<'a>) -> Read<Observed<'a>> {
    let name = |key: &str| observation.name(key);
    let moment = |key: &str| observation.time(key);
    let parent = name("parentObservationId");
    let trace = name("traceId").or(context.trace).unwrap_or_default();
    let mut span = Observed::new(trace, id(observation), parent);
    span.name(name("name").unwrap_or_default());
    span.set_times(moment("startTime"), moment("endTime"));
    if name("level").is_some_and(|level| level == "ERROR") {
        span.ended(true, name("statusMessage"));
    }
    let metadata = observation.get("metadata");
    let text = metadata.and_then(Raw::string).filter(|text| Json::new(text.as_bytes()).check().is_ok());
    let parsed = text.as_ref().map(|text| Raw::over(text.as_bytes(), 0)).or(metadata);
    if let Some(attributes) = parsed.and_then(|metadata| metadata.member("attributes")) {
        span.attributes(attributes)?;
    }
    span.kind(kind(name("type").as_deref()).map(Cow::Borrowed));
    if name("name").is_some_and(|name| event(&name) == Some("start")) {
        // It is the start of an iteration, not of another agent.
        span.kind(Some("CHAIN".into()));
    }
    span.text("session.id", context.session);
    span.value("metadata", metadata.filter(|metadata| metadata.kind() == Kind::Object))?;
    if !span.has(&["input.value", "gen_ai.input.messages"]) {
        match observation.get("input").and_then(unwrapped_text) {
            Some(text) => span.text("input.value", Some(text)),
            None => span.value("input.value", observation.get("input").map(unwrapped))?,
        }
    }
    if !span.has(&["output.value", "gen_ai.output.messages"]) {
        span.value("output.value", observation.get("output"))?;
    }
    let usage = members(observation.first(&["usageDetails", "usage"]));
    let count = |keys: [&str; 2], flat: &str| {
        let within = keys.iter().find_map(|key| usage.count(key));
        within.or_else(|| observation.count(flat)).filter(|count| *count > 0)
    };
    let input = count(["input", "promptTokens"], "inputUsage");
    span.used(name("model"), input, count(["output", "completionTokens"], "outputUsage"));
    Ok(span)
}

/// Returns an input without what a framework wraps around it: a few members named `input`, and the list of the arguments
/// of a function with one argument, if that is text.
fn unwrapped(input: Raw<'_>) -> Raw<'_> {
    let arguments = |value| sole(value, "input").filter(|inner| inner.kind() == Kind::Object);
    let inner = std::iter::successors(Some(input), |value| arguments(*value)).take(4).last().unwrap_or(input);
    let call = Members::from(inner);
    let has_others =
        call.iter().any(|(key, value)| key != "args" && (key != "kwargs" || value.bytes() != b"{}"));
    match call.list("args")[..] {
        [only] if only.kind() == Kind::String && !has_others => only,
        _ => inner,
    }
}

/// Returns the object inside an input that is JSON in a string, if the input wraps one.
fn unwrapped_text<'a>(input: Raw<'_>) -> Option<Cow<'a, str>> {
    let text = input.string()?;
    Json::new(text.as_bytes()).check().ok()?;
    let whole = Raw::over(text.as_bytes(), 0);
    let inner = unwrapped(whole);
    let is_inner = inner.kind() == Kind::Object && inner.bytes().len() < whole.bytes().len();
    is_inner.then(|| Cow::Owned(inner.spelling().into_owned()))
}

/// Returns the span kind for the type of an observation. `None` for other types, such as `SPAN`: attributes
/// or the name then decide.
fn kind(kind: Option<&str>) -> Option<&'static str> {
    let kinds = [("GENERATION", "LLM"), ("TOOL", "TOOL"), ("AGENT", "AGENT"), ("CHAIN", "CHAIN")];
    kinds.iter().find(|(own, _)| Some(*own) == kind).map(|(_, kind)| *kind)
}
