//! Amazon Bedrock agents: the trace events of `InvokeAgent`, in the stream that it returns or alone.

use serde_json::{Map, Value};

use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Each(ORCHESTRATION), Shape::Under(&LISTS, ORCHESTRATION)],
    reader: Reader::Document(read),
};

const LISTS: [&str; 3] = ["completion", "traces", "trace"];
const ORCHESTRATION: Mark = Any(&[
    In("trace", &In("trace", &Has(&["orchestrationTrace"]))),
    In("trace", &Has(&["orchestrationTrace"])),
]);

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    let (mut sessions, mut called) = (Recordings::of_agent("bedrock"), TextSet::default());
    let events = match document {
        Document::Object(object) if ORCHESTRATION.fits(object) => object.whole().into_iter().collect(),
        document => elements(document, &LISTS),
    };
    for event in events {
        let event = Members::from(event);
        let part =
            if event.object("trace").is("trace", Kind::Object) { event.object("trace") } else { event };
        let (session, time) = (part.name("sessionId"), part.time("eventTime"));
        let trace = part.object("trace");
        let failure = trace.object("failureTrace").result("failureReason");
        if failure.is_none() && !trace.is("orchestrationTrace", Kind::Object) {
            runs.pass_over("events of other types", 1);
            continue;
        }
        let run = match part.name("collaboratorName") {
            Some(name) => {
                let id = [session.as_deref().unwrap_or_default(), "/", &*name].concat();
                let run = sessions.run(Some(id.into()));
                run.metadata.parent = session.map(Cow::into_owned);
                run
            }
            None => sessions.run(session),
        };
        match failure {
            Some(reason) => fail(reason, run),
            None => step(&trace.object("orchestrationTrace"), time, &mut called, run),
        }
    }
    sessions.give(runs);
}

fn step<'a>(
    step: &Members<'a>,
    time: Option<u64>,
    called: &mut TextSet<Cow<'a, str>>,
    run: &mut Recording<'a>,
) {
    run.say(Actor::Agent, step.object("rationale").text("text"));
    let usage = step.object("modelInvocationOutput").object("metadata").object("usage");
    if let Some(usage) = usage.whole() {
        run.set_usage(tokens::usage(usage));
    }
    let given = step.object("invocationInput");
    if let Some((name, arguments)) = call(&given) {
        called.extend(given.name("traceId"));
        let call = Call::new(0, given.name("traceId"), name).with(arguments);
        run.add(Call { time, ..call });
    }
    if step.is("observation", Kind::Object) {
        observe(&step.object("observation"), called, run);
        // The model responds next, in a new turn.
        run.turn(time);
    }
}

fn observe<'a>(seen: &Members<'a>, called: &TextSet<Cow<'a, str>>, run: &mut Recording<'a>) {
    let answer = |key: &str| Some(seen.object(key)).filter(|answer| answer.whole().is_some());
    let (text, outcome) = if let Some(output) = answer("actionGroupInvocationOutput") {
        (output.result("text"), Outcome::UNMARKED)
    } else if let Some(output) = answer("knowledgeBaseLookupOutput") {
        (output.result("retrievedReferences"), Outcome::UNMARKED)
    } else if let Some(output) = answer("agentCollaboratorInvocationOutput") {
        (output.object("output").result("text"), Outcome::UNMARKED)
    } else if let Some(output) = answer("codeInterpreterInvocationOutput") {
        let error = output.text("executionError");
        let failed = error.is_some() || output.flag("executionTimeout") == Some(true);
        (error.or_else(|| output.result("executionOutput")), Outcome::flag(failed))
    } else if let Some(output) = answer("repromptResponse") {
        let text = output.result("text");
        if output.name("source").as_deref() == Some("PARSER") {
            return run.say(Actor::Environment, text);
        }
        (text, Outcome::flag(true))
    } else {
        return run.say(Actor::Agent, seen.object("finalResponse").text("text"));
    };
    // Each event may have a trace id of its own.
    run.answer(seen.name("traceId").filter(|id| called.contains(id)), None, text, outcome);
}

/// Returns the name and the arguments of the call in an invocation input, if it is of a known kind.
fn call<'a>(given: &Members<'a>) -> Option<(Cow<'a, str>, Content<Arguments<'a>>)> {
    let sole = |key: &str, input: &Members<'a>| wire::sole_argument(key, input.present(key));
    let input = |key: &str| Some(given.object(key)).filter(|input| input.whole().is_some());
    if let Some(input) = input("knowledgeBaseLookupInput") {
        return Some(("knowledge_base".into(), sole("text", &input)));
    }
    if let Some(input) = input("codeInterpreterInvocationInput") {
        return Some(("code_interpreter".into(), sole("code", &input)));
    }
    if let Some(input) = input("agentCollaboratorInvocationInput") {
        return Some((input.name("agentCollaboratorName")?, sole("text", &input.object("input"))));
    }
    let input = input("actionGroupInvocationInput")?;
    let group = input.name("actionGroupName").unwrap_or_default();
    let path = input.name("apiPath").unwrap_or_default();
    let function = input.name("function").map_or(path, |function| format!("/{function}").into());
    let bodies = input.object("requestBody").object("content");
    let bodies = bodies.iter().flat_map(|(_, body)| body.items().unwrap_or_default());
    let given = input.list("parameters").into_iter().chain(bodies).filter_map(|given| {
        let (name, value) = (given.member("name")?.string()?, given.member("value")?);
        let value = value.string().unwrap_or_else(|| value.spelling());
        Some((name.into_owned(), Value::String(value.into_owned())))
    });
    let arguments = Value::Object(given.collect::<Map<_, _>>()).to_string();
    Some((format!("{group}{function}").into(), common::arguments_of_text(Cow::Owned(arguments))))
}

/// Answers the oldest open call with a failure. Adds the failure as a message if no call is open.
fn fail<'a>(reason: TextCow<'a>, run: &mut Recording<'a>) {
    run.metadata.termination = Some("failure".to_owned());
    match run.oldest(None) {
        Some(call) => run.answer_call(call, Some(reason), Outcome::flag(true)),
        None => run.say(Actor::Environment, Some(reason)),
    }
}
