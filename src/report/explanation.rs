//! Explanations as text.

use super::table::TEXT_WIDTH;
use super::wrap::wrapped;
use crate::detect::Explanation;

/// An explanation as lines of at most 80 columns: what came near, what was passed over, what turns the verdict.
#[must_use]
pub fn render_explanation(explanation: &Explanation) -> String {
    let Explanation { detector, detected, not_applicable, near, transient, exempt, changes } = explanation;
    let verdict = match (detected, not_applicable) {
        (_, Some(reason)) => format!("not applicable: {reason}"),
        (Some(true), None) => "detected".to_owned(),
        _ => "not detected".to_owned(),
    };
    let mut text = format!("{detector}: {verdict}\n");
    let mut line = |sentence: String| {
        for (number, part) in wrapped(&sentence, TEXT_WIDTH - 4).iter().enumerate() {
            text += &format!("{}{part}\n", if number == 0 { "  " } else { "    " });
        }
    };
    for near in near {
        line(near.to_string());
    }
    for (count, what) in [(transient, "transient failures"), (exempt, "polling calls")] {
        if *count > 0 {
            line(format!("passed over: {count} {what}"));
        }
    }
    let other = if *detected == Some(true) { "would pass" } else { "would be detected" };
    for change in changes {
        line(format!("{other} {change}"));
    }
    text
}
