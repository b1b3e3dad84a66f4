//! Explanations as text.

use std::fmt;

use serde_json::Number;

use super::table::TEXT_WIDTH;
use super::wrap::wrapped;
use crate::detect::{Condition, Counterfactual, Explanation, NearMiss};

/// Renders an explanation: the verdict on one line, then near misses and counterfactuals, at most 80 columns
/// wide. The findings themselves are not part of it.
#[must_use]
pub fn render_explanation(explanation: &Explanation) -> String {
    let Explanation { detector, detected, not_applicable, near_misses, counterfactuals } = explanation;
    let verdict = match (detected, not_applicable) {
        (_, Some(reason)) => format!("not applicable: {reason}"),
        (Some(true), None) => "detected".to_owned(),
        _ => "not detected".to_owned(),
    };
    let other = if *detected == Some(true) { "would pass" } else { "would be detected" };
    let near = near_misses.iter().map(|near| {
        let is_found = *detected == Some(true) && near.conditions.iter().all(|condition| condition.holds);
        format!("{}: {near}", if is_found { "found" } else { "near miss" })
    });
    let sentences = near.chain(counterfactuals.iter().map(|change| format!("{other} {change}")));
    let mut text = format!("{detector}: {verdict}\n");
    for sentence in sentences {
        for (number, part) in wrapped(&sentence, TEXT_WIDTH - 4).iter().enumerate() {
            text += &format!("{}{part}\n", if number == 0 { "  " } else { "    " });
        }
    }
    text
}

/// Writes one line, such as ``repeated_call of `look`, steps 3–9: repeats 3, needs at least 4``.
impl fmt::Display for NearMiss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)?;
        if let Some(tool) = &self.tool {
            write!(f, " of `{tool}`")?;
        }
        if let Some(steps) = self.steps {
            write!(f, ", {}", range(steps))?;
        }
        for (number, condition) in self.conditions.iter().enumerate() {
            write!(f, "{} {condition}", if number == 0 { ":" } else { ";" })?;
        }
        Ok(())
    }
}

/// Writes one clause, such as `repeats 3, needs at least 4`.
impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = |number: &Number| match number.as_f64() {
            Some(value) if number.is_f64() => format!("{}", (value * 1e4).round() / 1e4),
            _ => number.to_string(),
        };
        let (comparator, is) =
            (self.comparator.name().replace('_', " "), if self.holds { " is" } else { ", needs" });
        write!(f, "{} {}{is} {comparator} {}", self.name, short(&self.value), short(&self.limit))
    }
}

/// Writes one clause, such as `with max_gap 5`.
impl fmt::Display for Counterfactual {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |parts: Vec<String>| parts.join(", ");
        match self {
            Self::Config(fields) => {
                write!(
                    f,
                    "with {}",
                    list(fields.iter().map(|(name, value)| format!("{name} {value}")).collect())
                )
            }
            Self::Repeat { step, times } => {
                let times = if *times == 1 { "once".to_owned() } else { format!("{times} times") };
                write!(f, "if step {step} were repeated {times} with the same answer")
            }
            Self::Succeed { steps } => {
                let plural = if steps.len() == 1 { "" } else { "s" };
                let steps = list(steps.iter().map(ToString::to_string).collect());
                write!(f, "if step{plural} {steps} were done again at the end and succeeded")
            }
            Self::Remove { ranges } => {
                write!(f, "without {}", list(ranges.iter().copied().map(range).collect()))
            }
        }
    }
}

fn range((first, last): (u64, u64)) -> String {
    if first == last { format!("step {first}") } else { format!("steps {first}–{last}") }
}
