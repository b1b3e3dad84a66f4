//! Renders a run: numbered steps, marked with the findings that include them, and the findings below.

use std::borrow::Cow;

use super::wrap::wrapped;
use crate::detect::{Finding, command_line, listed_arguments, without_colours};
use crate::trace::{Action, Arguments, Content, Event, Step, Trace};

const MARKS: usize = 26;

/// Renders a run as text: one line of at most `width` characters for each step, then the findings.
///
/// The first line names the columns. Each step's line shows the marks of the findings that include the step, then its
/// index, turn, actor, status with reason or provenance, tool, and shortened arguments and observation. The findings
/// are listed below the steps, each with its [`Confidence`](crate::Confidence). The first 26 have a mark.
///
/// ```
/// use serde_json::json;
/// use wrongturn::{Detector, Loop, Status, Trace, report::render_run};
///
/// let mut run = Trace::builder();
/// for _ in 0..4 {
///     run.call("look", &json!({"at": "wall"}), Status::Ok, "a wall")?;
/// }
/// let run = run.build()?;
/// let text = render_run(&run, Loop::default().detect(&run).findings(), 80);
/// let first = r#"a     0    0 agent  ok/flag           look at=wall → a wall"#;
/// assert_eq!(text.lines().nth(1), Some(first));
/// assert!(text.contains("\na loop:2 (certain): "), "{text}");
/// # Ok::<(), wrongturn::Error>(())
/// ```
#[must_use]
pub fn render_run(trace: &Trace, findings: &[Finding], width: usize) -> String {
    let marked = findings.len().min(MARKS);
    let head = format!("{:marked$}  step turn actor  status            call → answer, or message", "");
    let mut text = format!("{}\n", cut(&head, width));
    for step in trace.steps() {
        let marks: String = findings
            .iter()
            .zip('a'..='z')
            .map(
                |(finding, mark)| {
                    if (finding.first..=finding.last).contains(&step.index()) { mark } else { ' ' }
                },
            )
            .collect();
        let line = format!(
            "{marks}{:>6} {:>4} {:<6} {}",
            step.index(),
            step.turn(),
            step.actor(),
            said_or_done(&step, width, marked + 19)
        );
        text += cut(line.trim_end(), width).as_ref();
        text.push('\n');
    }
    for (number, finding) in findings.iter().enumerate() {
        let mark = ('a'..='z').nth(number).filter(|_| number < marked).unwrap_or(' ');
        let message = plain(&finding.message, usize::MAX);
        let line = format!("{mark} {} ({}): {message}", finding.id, finding.confidence);
        let lines = wrapped(&line, width.saturating_sub(2).max(20));
        // A finding without a mark is indented by two spaces.
        let indent = if mark == ' ' { "  " } else { "" };
        text += &format!("{indent}{}\n", lines.join(&format!("\n  {indent}")));
    }
    text
}

/// Renders the event of a step for a line on which `taken` columns are already in use.
fn said_or_done(step: &Step<'_>, width: usize, taken: usize) -> String {
    match step.event() {
        Event::Message(text) => plain(&text.to_str(), width),
        Event::Action(action) => {
            let name = plain(action.name, width / 4);
            let (name, given) = match command_line(action) {
                // The command line already begins with the name of the tool.
                Some(line) if line.split_whitespace().next() == Some(action.name) => {
                    (String::new(), line.into_owned())
                }
                Some(line) => (format!("{name}: "), line.into_owned()),
                None => {
                    let json = action.arguments.as_ref().present().and_then(Arguments::canonical);
                    let listed = json.and_then(|json| listed_arguments(&json));
                    let given = listed.unwrap_or_else(|| arguments(action));
                    (if given.is_empty() { name } else { format!("{name} ") }, given)
                }
            };
            let answer = observation(action, width);
            // The call may fill half of the remaining line, or more if the answer leaves room.
            let room = width.saturating_sub(taken + 18 + name.chars().count() + 3);
            let room = room.saturating_sub(answer.chars().count()).max(room / 2).max(1);
            let given = cut(&plain(&given, width), room).into_owned();
            format!("{:<17} {name}{given} → {answer}", status(action))
        }
    }
}

fn status(action: &Action<'_>) -> String {
    let mut text = action.status.to_string();
    if let Some(reason) = action.reason {
        text += &format!("/{reason}");
    } else if action.provenance != crate::trace::Provenance::None {
        text += &format!("/{}", action.provenance);
    }
    text
}

fn arguments(action: &Action<'_>) -> String {
    match action.arguments.as_ref() {
        Content::Present(arguments) => {
            arguments.canonical().or_else(|| arguments.json().map(str::to_owned)).unwrap_or_default()
        }
        Content::Absent => String::new(),
        Content::NotRecorded => "(not recorded)".to_owned(),
    }
}

fn observation(action: &Action<'_>, width: usize) -> String {
    match &action.observation {
        Content::Present(text) => plain(&text.head(width.saturating_mul(4)), width),
        Content::Absent => "(none)".to_owned(),
        Content::NotRecorded => "(not recorded)".to_owned(),
    }
}

/// Renders a step in full, without colours, and with other control characters replaced.
#[must_use]
pub fn render_step(step: &Step<'_>) -> String {
    let mut text = format!("step {}, turn {}, {}\n", step.index(), step.turn(), step.actor());
    let mut field = |name: &str, value: &str| {
        text += &format!("{name}:\n");
        for line in without_colours(value.into()).lines() {
            text += &format!("  {}\n", printable(line));
        }
    };
    match step.event() {
        Event::Message(message) => field("text", &message.to_str()),
        Event::Action(action) => {
            field("tool", action.name);
            field("arguments", &pretty(action));
            field("status", &status(action));
            if let Some(error_type) = action.error_type {
                field("error type", error_type);
            }
            match &action.observation {
                Content::Present(observation) => field("observation", &observation.to_str()),
                other => field("observation", if other.is_recorded() { "(none)" } else { "(not recorded)" }),
            }
        }
    }
    if let Some(location) = step.location() {
        field("location", location);
    }
    if let Some(progress) = step.progress() {
        field("progress", &progress.to_string());
    }
    text
}

fn pretty(action: &Action<'_>) -> String {
    let json = action.arguments.as_ref().present().and_then(Arguments::json);
    let value = json.and_then(|json| serde_json::from_str::<serde_json::Value>(json).ok());
    let text = value.and_then(|value| serde_json::to_string_pretty(&value).ok());
    text.unwrap_or_else(|| arguments(action))
}

/// Puts a text on one line of at most `most` characters, with control characters replaced.
fn plain(text: &str, most: usize) -> String {
    let mut line = String::new();
    for word in without_colours(text.into()).split_whitespace() {
        if line.len() > most.saturating_mul(4) {
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line += &printable(word);
    }
    cut(&line, most).into_owned()
}

fn printable(text: &str) -> Cow<'_, str> {
    let acts = |c: char| c.is_control() && c != '\t';
    if text.contains(acts) { text.replace(acts, "�").into() } else { text.into() }
}

/// Shortens a text to at most `width` characters, ending in `…` if any were cut.
fn cut(text: &str, width: usize) -> Cow<'_, str> {
    let width = width.max(1);
    if text.char_indices().nth(width).is_none() {
        return text.into();
    }
    let end = text.char_indices().nth(width - 1).map_or(0, |(end, _)| end);
    format!("{}…", text.get(..end).unwrap_or_default()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Actor, Status, StepInput};

    #[test]
    fn nothing_reaches_the_terminal_but_text() {
        let mut builder = Trace::builder();
        builder.push(StepInput::message(Actor::User, "red \u{1b}[31m\u{1b}\nblue")).unwrap();
        let action = Action::new("t\u{7}").answered(Status::Error, "a\tb\r\nc");
        builder.push(StepInput::action(Actor::Agent, action)).unwrap();
        let run = builder.build().unwrap();
        for width in [0, 1, 40, 200] {
            let text = render_run(&run, &[], width);
            assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
            assert!(text.lines().all(|line| line.chars().count() <= width.max(1)), "{text}");
        }
        let step = run.steps().nth(1).unwrap();
        assert_eq!(
            render_step(&step),
            "step 1, turn 1, agent\ntool:\n  t�\narguments:\nstatus:\n  error/flag\nobservation:\n  a\tb\n  c\n"
        );
    }
}
