//! Pydantic AI: dumped messages with parts, and the events of a streamed run.

use super::gemini_cli::has_failed;
use super::prelude::*;

pub(super) const FORMAT: Definition =
    Definition { signature: &[Shape::Under(&LISTS, Any(&[MESSAGE, EVENT]))], reader: Reader::Document(read) };

const MESSAGE: Mark = All(&[Says("kind", &["request", "response"]), Holds("parts", &Has(&["part_kind"]))]);
const EVENT: Mark = Any(&[
    All(&[
        Says("event_kind", &["part_start", "part_end", "function_tool_call", "function_tool_result"]),
        In("part", &Has(&["part_kind"])),
    ]),
    All(&[Says("event_kind", &["function_tool_result"]), In("result", &Has(&["part_kind"]))]),
    All(&[Says("event_kind", &["part_delta"]), In("delta", &Has(&["part_delta_kind"]))]),
]);

const LISTS: [&str; 4] = ["messages", "all_messages", "message_history", "new_messages"];

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    let items: Vec<_> = objects(document, &LISTS).collect();
    let mut reader =
        Reading { runs: Recordings::of_agent("pydantic-ai"), seen: TextSet::default(), others: 0 };
    // The messages at the end of a stream repeat its events, which are then not read.
    if items.iter().any(|item| MESSAGE.fits(item)) {
        for item in &items {
            reader.message(item);
        }
    } else {
        for item in &items {
            reader.event(item);
        }
    }
    runs.pass_over("elements and parts of other types", reader.others);
    reader.runs.give(runs);
}

/// Returns true if an answer comes from a shell tool, which prints its command first.
fn runs_command(answer: &TextCow<'_>) -> bool {
    answer.text().starts_with("Command: ")
}

struct Reading<'a> {
    runs: Recordings<'a>,
    /// The ids of calls in a stream, which may show a call twice.
    seen: TextSet<Cow<'a, str>>,
    others: u64,
}

impl<'a> Reading<'a> {
    fn message(&mut self, message: &Members<'a>) {
        if !MESSAGE.fits(message) {
            self.others += u64::from(!EVENT.fits(message) && !message.has("event_kind"));
            return;
        }
        let id = message.ident("conversation_id");
        let run = self.runs.run(id.clone());
        run.turn(message.time("timestamp"));
        run.model(message.name("model_name"));
        run.set_usage(message.usage("usage"));
        message.objects("parts").for_each(|part| self.part(id.clone(), &part));
    }

    fn event(&mut self, event: &Members<'a>) {
        let part = members(event.get("part").or_else(|| event.get("result")));
        match event.name("event_kind").as_deref() {
            Some("part_end" | "function_tool_call")
                if part.name("part_kind").as_deref() == Some("tool-call") =>
            {
                let is_new = part.ident("tool_call_id").is_none_or(|id| self.seen.insert(id));
                if is_new {
                    self.runs.run(None).turn(None);
                    self.part(None, &part);
                }
            }
            Some("part_end" | "function_tool_result") => {
                self.runs.run(None).turn(None);
                self.part(None, &part);
            }
            Some("part_start" | "part_delta" | "final_result") => {}
            _ => self.others += 1,
        }
    }

    fn part(&mut self, run: Option<Cow<'a, str>>, part: &Members<'a>) {
        let run = self.runs.run(run);
        let content = part.get("content");
        let id = part.ident("tool_call_id");
        let name = part.name("tool_name");
        match part.name("part_kind").as_deref() {
            Some("system-prompt") => run.say(Actor::System, text(content)),
            Some("user-prompt") => run.say(Actor::User, text(content)),
            Some("text") => run.say(Actor::Agent, text(content)),
            Some("tool-call" | "builtin-tool-call") => {
                run.call(id, name, part.get("args"));
            }
            Some("tool-return" | "builtin-tool-return") => {
                let result = content.and_then(words::result);
                // Without a recorded outcome, the text of a shell tool may have the exit code of its command.
                let outcome = match part.outcome("outcome") {
                    None if result.as_ref().is_some_and(|text| runs_command(text) && has_failed(text)) => {
                        Outcome::exit_code(true)
                    }
                    outcome => outcome.unwrap_or(Outcome::UNMARKED),
                };
                run.answer(id, name.as_ref(), result, outcome);
            }
            // Without a tool, the prompt asks to retry the output, so it answers no call.
            Some("retry-prompt") if name.is_none() => {
                run.say(Actor::Environment, content.and_then(words::result));
            }
            Some("retry-prompt") => {
                run.answer(id, name.as_ref(), content.and_then(words::result), Outcome::flag(true));
            }
            Some("thinking" | "file") => {}
            _ => self.others += 1,
        }
    }
}
