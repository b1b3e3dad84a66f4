//! `LlamaIndex`: events of an agent workflow, alone or in its saved context, and responses of an agent with the outputs
//! of its tools.

use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Under(&["events"], EVENT), Shape::Object(CONTEXT), Shape::Each(RESPONSE)],
    reader: Reader::Document(read),
};

/// The output of `Context.to_dict()`. Its events are JSON in strings.
const CONTEXT: Mark = Has(&["broker_log", "accepted_events", "is_running"]);
const EVENT: Mark = Has(&["qualified_name", "__is_pydantic", "value"]);
const RESPONSE: Mark = Holds("sources", &Has(&["tool_name", "raw_input", "raw_output"]));

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    let events = elements(document, &["events", "broker_log"]);
    let texts: Vec<_> = events.iter().map(|event| event.string()).collect();
    let mut run = Recording::of_agent("llama-index");
    for response in document.each().filter(|response| RESPONSE.fits(response)) {
        run.turn(None);
        for source in response.objects("sources") {
            let given = source.object("raw_input");
            let given = given.present("kwargs").or_else(|| source.present("raw_input"));
            let call = run.call(None, source.name("tool_name"), given);
            let (text, outcome) = output(&source);
            run.answer_call(call, text, outcome);
        }
        run.say(Actor::Agent, response.text("response"));
        std::mem::replace(&mut run, Recording::of_agent("llama-index")).give(runs);
    }
    let mut is_workflow = false;
    let events =
        events.iter().zip(&texts).map(|(event, text)| text.as_deref().and_then(json).unwrap_or(*event));
    for event in events.map(Members::from).filter(|event| EVENT.fits(event)) {
        is_workflow = true;
        let name = event.name("qualified_name").unwrap_or_default();
        let value = event.object("value");
        match name.rsplit('.').next().unwrap_or_default() {
            "ToolCall" => {
                run.call(value.ident("tool_id"), value.name("tool_name"), value.get("tool_kwargs"));
            }
            "ToolCallResult" => {
                let (text, outcome) = output(&plain(&value, "tool_output"));
                run.answer(value.ident("tool_id"), value.name("tool_name").as_ref(), text, outcome);
            }
            "AgentOutput" => {
                run.turn(None);
                run.say(Actor::Agent, said(&plain(&value, "response")));
            }
            "StartEvent" | "AgentWorkflowStartEvent" => {
                run.turn(None);
                run.say(Actor::User, value.text("user_msg"));
            }
            _ => run.pass_over("events of other types", 1),
        }
    }
    if is_workflow {
        run.give(runs);
    }
}

/// Returns the object under a key, without a wrapper that names its class.
fn plain<'a>(members: &Members<'a>, key: &str) -> Members<'a> {
    let object = members.object(key);
    if EVENT.fits(&object) { object.object("value") } else { object }
}

/// Returns the text of a message, from its blocks or else its `content`.
fn said<'a>(message: &Members<'a>) -> Option<TextCow<'a>> {
    let blocks = message.objects("blocks").filter_map(|block| block.text("text")).collect();
    wire::joined(blocks).or_else(|| message.text("content"))
}

fn output<'a>(output: &Members<'a>) -> (Option<TextCow<'a>>, Outcome) {
    let text = said(output).or_else(|| output.result("raw_output"));
    (text, Outcome::of_flag(output.flag("is_error")))
}
