//! Explanations as text.

use super::table::TEXT_WIDTH;
use super::wrap::wrapped;
use crate::detect::Explanation;

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
