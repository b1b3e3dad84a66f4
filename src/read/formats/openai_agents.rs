//! OpenAI Agents SDK: exported traces and their spans, where a function span is a call with its result; rows of the
//! messages table of a session, each with an item of the Responses API as JSON in a string; and the saved state of a run,
//! alone or in its result.

use super::chat::Form;
use super::chat_messages::Conversation;
use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[
        Shape::Under(&LISTS, Any(&[TRACE, SPAN])),
        Shape::Items(ROW),
        Shape::Object(Any(&[STATE, In("state", &STATE)])),
    ],
    reader: Reader::Document(read),
};

const TRACE: Mark = All(&[Says("object", &["trace"]), Has(&["workflow_name"])]);
const SPAN: Mark = All(&[Says("object", &["trace.span"]), Is(Kind::Object, &["span_data"])]);

const ROW: Mark = Is(Kind::String, &["session_id", "message_data"]);

const STATE: Mark = Any(&[
    All(&[Has(&["originalInput"]), Is(Kind::List, &["generatedItems"])]),
    All(&[Has(&["original_input"]), Is(Kind::List, &["generated_items"])]),
]);

const LISTS: [&str; 2] = ["data", "spans"];

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    if document.items().iter().any(|item| ROW.fits_value(*item)) {
        return read_rows(document, runs);
    }
    let members = document.members();
    if Any(&[STATE, In("state", &STATE)]).fits(&members) {
        return read_state(&if STATE.fits(&members) { members } else { members.object("state") }, runs);
    }
    let mut traces = Recordings::of_agent("openai-agents");
    let (mut spans, mut heard) = (Vec::new(), TextMap::default());
    for item in document.members().list("traces").into_iter().chain(elements(document, &LISTS)) {
        let item = Members::from(item);
        if SPAN.fits(&item) {
            spans.push(item);
        } else if TRACE.fits(&item) {
            let run = traces.run(item.name("id"));
            run.metadata.domain = item.name("workflow_name").as_deref().map(Into::into);
        } else {
            runs.pass_over("objects of other types", 1);
        }
    }
    // Spans are exported in the order in which they ended.
    let started = |span: &Members<'_>| span.time("started_at");
    spans.sort_by_key(started);
    for span in &spans {
        let run = traces.run(span.name("trace_id"));
        let data = span.object("span_data");
        let start = started(span);
        let end = span.time("ended_at");
        run.turn(start);
        hear(&data, span.name("trace_id").as_ref(), &mut heard, run);
        let error = span.get("error").filter(|error| error.kind() == Kind::Object);
        match data.name("type").as_deref() {
            Some(kind @ ("function" | "handoff")) => {
                let name = if kind == "handoff" { Some(Cow::Borrowed("handoff")) } else { data.name("name") };
                let given = if kind == "handoff" { data.get("to_agent") } else { data.get("input") };
                let call = run.call(None, name, given);
                run.set_times(call, start, end);
                // The message is the same for all failing tools, so prefer the detail in `data`.
                let detail =
                    error.and_then(|error| error.member("data")?.member("error").or(error.member("message")));
                let observed = detail.or_else(|| data.present("output"));
                run.answer_call(call, observed.and_then(words::result), Outcome::flag(error.is_some()));
            }
            Some("generation") => {
                run.model(data.name("model"));
                for message in data.objects("output") {
                    run.say(Actor::Agent, message.text("content"));
                }
            }
            Some(
                "agent" | "response" | "guardrail" | "mcp_tools" | "custom" | "transcription" | "speech",
            ) => {
                run.say(Actor::Environment, error.and_then(|error| words::result(error.member("message")?)));
            }
            _ => runs.pass_over("objects of other types", 1),
        }
    }
    traces.give(runs);
}

/// Adds the messages of the user in the input of a span that no earlier span of the trace repeats.
fn hear<'a>(
    data: &Members<'a>,
    trace: Option<&Cow<'a, str>>,
    heard: &mut TextMap<(Option<Cow<'a, str>>, String), usize>,
    run: &mut Recording<'a>,
) {
    if !matches!(data.name("type").as_deref(), Some("generation" | "response")) {
        return;
    }
    let others = data.list("input").iter().filter(|message| message.kind() != Kind::Object).count();
    run.pass_over("messages that are not objects", others as u64);
    let mut here = TextMap::<String, usize>::default();
    let asked = data.objects("input").filter(|message| message.name("role").as_deref() == Some("user"));
    for text in data.string("input").into_iter().chain(asked.filter_map(|message| message.text("content"))) {
        let words = text.text().to_str().into_owned();
        let count = here.entry(words.clone()).or_default();
        *count += 1;
        let known = heard.entry((trace.cloned(), words)).or_default();
        if *count > *known {
            *known = *count;
            run.say(Actor::User, Some(text));
        }
    }
}

fn chat<'a>(id: Option<Cow<'_, str>>) -> Conversation<'a> {
    let id = id.map(Cow::into_owned);
    let metadata = Metadata { id, agent: Some("openai-agents".into()), ..Metadata::default() };
    Conversation::new(Form::Items, metadata)
}

fn read_state(state: &Members<'_>, runs: &mut Runs<'_>) {
    let mut chat = chat(state.object("trace").name("id"));
    let responses = state.list("modelResponses").into_iter().chain(state.get("lastModelResponse"));
    let model = responses.last().and_then(|last| last.member("providerData")?.member("model"));
    chat.metadata.model = model.and_then(common::name).as_deref().map(Into::into);
    let asked = state.first(&["originalInput", "original_input"]);
    if let Some(text) = asked.filter(|asked| asked.kind() == Kind::String).and_then(words::text) {
        chat.assembler.message_at(Actor::User, 0, text, None);
    }
    let generated = items(state.first(&["generatedItems", "generated_items"]));
    // An approval repeats the item of its call.
    let is_item = |item: &Members<'_>| item.name("type").as_deref() != Some("tool_approval_item");
    let generated = generated.into_iter().map(Members::from).filter(is_item);
    let generated = generated.filter_map(|item| item.first(&["rawItem", "raw_item"]));
    for item in items(asked).into_iter().chain(generated) {
        chat.take(item);
    }
    chat.give(runs);
}

fn read_rows(document: &Document<'_>, runs: &mut Runs<'_>) {
    let rows = fitting(&ROW, document.each(), "rows of other types", runs);
    let items: Vec<_> = rows.iter().map(|row| row.get("message_data").and_then(Raw::string)).collect();
    let mut sessions: Ordered<_, Conversation<'_>> = Ordered::default();
    for (row, item) in rows.iter().zip(&items) {
        let Some(item) = item.as_deref().and_then(json).filter(|item| item.kind() == Kind::Object) else {
            runs.pass_over("rows that are not items", 1);
            continue;
        };
        let chat = sessions.get(row.name("session_id"), |id| chat(id.clone()));
        chat.take(item);
    }
    sessions.into_values().for_each(|chat| chat.give(runs));
}
