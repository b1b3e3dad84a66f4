//! Runs whose calls are code blocks in the model's texts, as AppWorld logs them.

use super::prelude::*;

/// The beginning of a message with the output of code.
const OUTPUT: &str = "Output:";

/// Languages of code that a harness may run.
const LANGUAGES: [&str; 11] =
    ["python", "python3", "py", "bash", "sh", "shell", "javascript", "js", "typescript", "ts", "sql"];

/// Reads a prompt with examples, the messages after it, and the last response. `None` if no response has a
/// code block, or if no code block has an output: the code may then be meant for the user.
pub(super) fn run<'a>(examples: &[Raw<'a>], said: &[Raw<'a>], response: &[Raw<'a>]) -> Option<Recording<'a>> {
    let is_run = |code: Raw<'_>, output: Raw<'_>| {
        role(code) == "assistant"
            && text(output).is_some_and(|output| output.text().starts_with(OUTPUT))
            && text(code).is_some_and(|code| block(&code.text().to_str()).is_some())
    };
    let messages: Vec<_> = examples.iter().chain(said).copied().collect();
    if !messages.windows(2).any(|pair| matches!(pair, [code, output] if is_run(*code, *output))) {
        return None;
    }
    let mut run = Recording::default();
    for example in examples {
        prompt(*example, &mut run.steps);
    }
    let (mut asked, mut is_response) = (None, false);
    let responses = response.iter().map(|message| (message, true));
    for (message, is_last) in said.iter().map(|message| (message, false)).chain(responses) {
        run.turn(None);
        let is_agent = is_last || role(*message) == "assistant";
        let Some(text) = text(*message) else { continue };
        match asked.take() {
            Some(call) if !is_agent => {
                let outcome = outcome(&text);
                run.answer_call(call, Some(text), outcome);
            }
            _ if is_agent => {
                let code =
                    block(&text.text().to_str()).map(|(name, code)| (name.to_owned(), code.to_owned()));
                run.say(Actor::Agent, Some(text));
                if let Some((name, code)) = code {
                    asked = Some(run.call_text(name, "code", &code));
                    is_response = true;
                }
            }
            _ => run.say(words::actor_of(&role(*message)), Some(text)),
        }
    }
    is_response.then_some(run)
}

fn role(message: Raw<'_>) -> String {
    message.member("role").and_then(Raw::string).unwrap_or_default().into_owned()
}

fn text(message: Raw<'_>) -> Option<TextCow<'_>> {
    message.member("content").and_then(words::message)
}

/// Adds a message of the prompt. Those in the model's role are examples, so they become system messages.
pub(super) fn prompt<'a>(message: Raw<'a>, steps: &mut Assembler<'a>) {
    let actor = match words::actor_of(&role(message)) {
        Actor::Agent => Actor::System,
        other => other,
    };
    if let Some(text) = text(message) {
        steps.message(actor, 0, text);
    }
}

/// Returns the language and code of the first fenced block of a text that is in a language of [`LANGUAGES`]. An
/// unclosed block ends with the text.
fn block(text: &str) -> Option<(&str, &str)> {
    let mut blocks = text.split("```").skip(1).step_by(2).filter_map(|block| block.split_once('\n'));
    let (language, code) = blocks.find(|(language, _)| LANGUAGES.contains(&common::trim(language)))?;
    Some((common::trim(language), common::trim(code)))
}

fn outcome(text: &TextCow<'_>) -> Outcome {
    let text = text.text().to_str();
    let text = text.trim_start_matches(OUTPUT).trim_start_matches(common::SPACE).trim_start_matches("```");
    let text = text.trim_start_matches(common::SPACE);
    let failures = ["Execution failed", "Traceback (most recent call last):"];
    Outcome::by_text(failures.iter().any(|start| text.starts_with(start)))
}
