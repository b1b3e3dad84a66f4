//! Samples that `SkyRL` and verl dump while they evaluate a model: its prompt and its output, in the text of a chat
//! template, and the score.

use super::prelude::*;

pub(super) const FORMAT: Definition =
    Definition { signature: &[Shape::Each(SAMPLE)], reader: Reader::Document(read) };

const SAMPLE: Mark = All(&[
    Has(&["score"]),
    Any(&[
        Is(Kind::String, &["input_prompt", "output_response"]),
        All(&[Is(Kind::String, &["input", "output"]), HasOne(&["gts", "step"])]),
    ]),
    Test("a prompt in a chat template", |sample| template(sample).is_some()),
]);

/// The marks around the messages of a chat: before and after the role, and at the end of a message.
struct Template([&'static str; 3]);

const TEMPLATES: [Template; 2] = [
    Template(["<|im_start|>", "\n", "<|im_end|>"]),
    Template(["<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"]),
];

/// Returns the prompt and the output of a sample.
fn texts<'a>(sample: &Members<'a>) -> Option<[Cow<'a, str>; 2]> {
    let text = |keys: [&str; 2]| keys.into_iter().find_map(|key| sample.get(key)?.string());
    Some([text(["input_prompt", "input"])?, text(["output_response", "output"])?])
}

/// Returns the template of a sample's prompt.
fn template(sample: &Members<'_>) -> Option<&'static Template> {
    let [prompt, _] = texts(sample)?;
    TEMPLATES.iter().find(|Template([start, ..])| prompt.contains(start))
}

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    for sample in fitting(&SAMPLE, document.each(), "objects that are not samples", runs) {
        let (Some([prompt, output]), Some(Template([start, end, close]))) =
            (texts(&sample), template(&sample))
        else {
            continue;
        };
        let mut run = Recording::default();
        run.reward = sample.number("score");
        run.metadata.termination = sample.name("stop_reason").map(Cow::into_owned);
        run.metadata.domain = sample.name("data_source").map(|source| source.as_ref().into());
        // The prompt may end with the header of the output. An output without a header is the agent's.
        let is_open = prompt.rsplit(start).next().is_some_and(|last| !last.contains(close));
        let header = if is_open || output.starts_with(start) {
            String::new()
        } else {
            [start, "assistant", end].concat()
        };
        let text = [&*prompt, &header, &*output].concat();
        for message in text.split(start).skip(1) {
            let (role, said) = message.split_once(end).unwrap_or((message, ""));
            let said = said.split(close).next().unwrap_or_default().trim().to_owned();
            run.turn(None);
            run.say(words::actor_of(role.trim()), Some(said.into()));
        }
        run.give(runs);
    }
}
