//! Conversations of several agents: those of the benchmark Who&When, which labels the agent and the step of
//! the decisive mistake, and those of Magentic-One. The turn of a step is its index in the history, to which
//! the labels refer.
//!
//! Magentic-One writes `Orchestrator (-> WebSurfer)` as the role of a request to an agent. The request is
//! read as a call, and the agent's next message as its answer. In conversations of AutoGen, the code blocks
//! of a message are read as a call if the next message reports their exit code.

use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[
        Shape::Each(All(&[Has(&["mistake_agent", "mistake_step"]), Holds("history", &MESSAGE)])),
        Shape::Under(
            &["messages"],
            All(&[Is(Kind::String, &["content"]), Says("role", &["Orchestrator (*"])]),
        ),
    ],
    reader: Reader::Document(read),
};

const MESSAGE: Mark = Is(Kind::String, &["content", "role"]);

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    match document {
        Document::Object(run) if run.has("messages") => give(run, &run.list("messages"), runs),
        Document::Object(run) => give(run, &run.list("history"), runs),
        document if !document.items().iter().any(|item| item.member("history").is_some()) => {
            give(&Members::default(), document.items(), runs);
        }
        document => {
            for item in document.items() {
                let run = Members::from(*item);
                match run.get("history").and_then(Raw::items) {
                    Some(history) => give(&run, &history, runs),
                    None => runs.pass_over("items without a history", 1),
                }
            }
        }
    }
}

/// Emits a run. `around` is the object that holds its history.
fn give(around: &Members<'_>, history: &[Raw<'_>], runs: &mut Runs<'_>) {
    let mut run = Recording::default();
    // Unanswered calls, by the agent whose message answers them.
    let mut asked: TextMap<Cow<'_, str>, CallNumber> = TextMap::default();
    let mut messages = (0..).zip(history).peekable();
    while let Some((turn, message)) = messages.next() {
        run.at(turn, None);
        let (Some(role), Some(text)) =
            (message.member("role").and_then(Raw::string), message.member("content"))
        else {
            run.pass_over("messages without a role or content", 1);
            continue;
        };
        let content = text.string().unwrap_or_default();
        let name = message.member("name").and_then(common::name);
        if let Some(agent) = role.strip_prefix("Orchestrator (-> ").and_then(|rest| rest.strip_suffix(')')) {
            let call = run.call_text(agent.to_owned(), "request", &content);
            asked.insert(Cow::Owned(agent.to_owned()), call);
            continue;
        }
        let answered = asked.remove(name.as_ref().unwrap_or(&role));
        if let Some(call) = answered {
            run.answer_call(call, words::result(text), outcome(&content));
            continue;
        }
        let Some(text) = words::message(text) else { continue };
        let is_task = turn == 0 || role == "human";
        let is_report =
            exit_code(&content).is_some() || content.starts_with("There is no code from the last");
        let actor = if is_task {
            Actor::User
        } else if is_report {
            Actor::Environment
        } else {
            Actor::Agent
        };
        run.say(actor, Some(text));
        let next = messages.peek().map(|(_, next)| Members::from(**next)).unwrap_or_default();
        let is_executed = next.name("content").is_some_and(|text| exit_code(&text).is_some());
        if let (true, Some(executor)) = (is_executed, next.name("name"))
            && let Some((argument, code)) = code(&content)
        {
            let call = run.call_text(executor.clone(), argument, &code);
            asked.insert(executor, call);
        }
    }
    let labels = ["mistake_agent", "mistake_step", "mistake_reason", "mistake_type", "level"];
    let label = |key: &&str| Some(((*key).to_owned(), around.ident(key)?.into_owned()));
    run.metadata.id = around.ident("question_ID").map(Cow::into_owned);
    run.metadata.labels = labels.iter().filter_map(label).collect();
    let is_correct = ["is_correct", "is_corrected"].iter().find_map(|key| around.flag(key));
    run.reward = is_correct.map(|is_correct| f64::from(u8::from(is_correct)));
    run.give(runs);
}

/// Returns the argument name and the joined text of the code blocks of a message, which are executed
/// together.
fn code(message: &str) -> Option<(&'static str, String)> {
    let blocks: Vec<_> =
        message.split("```").skip(1).step_by(2).filter_map(|block| block.split_once('\n')).collect();
    let (language, _) = blocks.first()?;
    let is_shell = matches!(common::trim(language), "sh" | "bash" | "shell");
    let code: Vec<_> = blocks.iter().map(|(_, code)| common::trim(code)).collect();
    Some((if is_shell { "command" } else { "code" }, code.join("\n")))
}

fn exit_code(text: &str) -> Option<&str> {
    let marks = ["exitcode: ", "The script ran, then exited with Unix exit code: "];
    let rest = marks.iter().find_map(|mark| text.strip_prefix(mark))?;
    rest.split(|digit: char| !digit.is_ascii_digit()).next().filter(|code| !code.is_empty())
}

fn outcome(text: &str) -> Outcome {
    match exit_code(text) {
        Some(code) => Outcome::exit_code(code.bytes().any(|digit| digit != b'0')),
        None => Outcome::by_text(text.starts_with("No code block detected")),
    }
}
