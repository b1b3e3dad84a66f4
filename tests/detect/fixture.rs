//! Reads fixtures in Markdown as cases. Errors carry a line number.

use serde_json::{Map, Value, json};
use wrongturn::{Trace, detect::Preset, trace::NATIVE_VERSION};

use crate::run;

/// A run with its reference route, and the configuration of the rule.
#[derive(Debug, Clone, Default)]
pub(crate) struct Case {
    pub(crate) title: String,
    /// The line of its heading.
    pub(crate) line: usize,
    pub(crate) preset: Preset,
    /// Fields that override those of the preset.
    pub(crate) config: Map<String, Value>,
    route: Value,
    /// `None` until its block is read.
    pub(crate) trace: Option<Trace>,
}

/// A line with its number.
pub(crate) type Line<'a> = (usize, &'a str);
/// The number of a line and its fault.
pub(crate) type Error = (usize, String);

/// Reads the cases of a file.
pub(crate) fn parse(text: &str) -> Result<Vec<Case>, Error> {
    let mut lines = text.lines().zip(1..).map(|(line, number)| (number, line.trim()));
    // The lines before the first case apply to all cases.
    let mut common = Case::default();
    let mut cases: Vec<Case> = Vec::new();
    while let Some((number, line)) = lines.next() {
        let fail = |message: String| (number, message);
        if let Some(title) = line.strip_prefix("## ") {
            if cases.iter().any(|case| case.title == title || case.trace.is_none()) {
                return Err(fail("expected a run before, and a title of its own".to_owned()));
            }
            cases.push(Case { title: title.to_owned(), line: number, ..common.clone() });
            continue;
        }
        let is_common = cases.is_empty();
        let case = cases.last_mut().unwrap_or(&mut common);
        if line.is_empty() || line.starts_with("> ") || is_common && line.starts_with("# ") {
            continue;
        }
        if case.trace.is_some() {
            return Err(fail(format!("expected `## ` and the title of the next case, got `{line}`")));
        }
        if let Some(preset) = line.strip_prefix("preset: ") {
            case.preset = preset.parse().map_err(|error| fail(format!("{error}")))?;
        } else if let Some(fields) = line.strip_prefix("config: ") {
            let fields: Map<_, _> = serde_json::from_str(fields).map_err(|error| fail(error.to_string()))?;
            case.config.extend(fields);
        } else if line == "```route" {
            case.route = run::route(&block(number, &mut lines)?)?;
        } else if line == "```run" && !is_common {
            let steps = run::steps(&block(number, &mut lines)?)?;
            let trace = json!({"version": NATIVE_VERSION, "route": case.route, "steps": steps});
            case.trace = Some(serde_json::from_value(trace).map_err(|error| fail(error.to_string()))?);
        } else {
            let expected = "expected `preset: `, `config: `, ```route, ```run or a remark after `> `";
            return Err(fail(format!("{expected}, got `{line}`")));
        }
    }
    if cases.last().is_none_or(|case| case.trace.is_none()) {
        return Err((text.lines().count(), "expected a case with a run before the end".to_owned()));
    }
    Ok(cases)
}

/// Returns the lines up to the closing fence.
fn block<'a>(opened: usize, lines: &mut impl Iterator<Item = Line<'a>>) -> Result<Vec<Line<'a>>, Error> {
    let mut is_closed = false;
    let is_inside = |(_, line): &Line<'_>| {
        is_closed = *line == "```";
        !is_closed
    };
    let block = lines.take_while(is_inside).collect();
    if is_closed { Ok(block) } else { Err((opened, "expected ``` at the end of the block".to_owned())) }
}
