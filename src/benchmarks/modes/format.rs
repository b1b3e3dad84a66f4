//! `system/format`: malformed actions.

use serde_json::json;

use super::{ModeEpisode, ModeFinding, ModeRules, ModeStep, ModeVerdict};

const MODE: &str = "system/format";
/// An action, or by the public code a line of it, with at least this many characters is too long for a command.
const LONG: usize = 120;
const REFUSALS: [&str; 4] = ["sorry", "i can't", "i cannot", "as an ai"];
/// Phrases with which games answer actions that they cannot parse.
const PARSER_PHRASES: [&str; 3] = [
    "i only understood you as far as wanting to",
    "i don't understand that.",
    "please give one of the answers above",
];

pub(super) fn verdict(episode: &ModeEpisode, rules: ModeRules) -> ModeVerdict {
    let finding =
        |step: &ModeStep, evidence| ModeFinding { mode: MODE, range: [step.step, step.step], evidence };
    if rules == ModeRules::Dataset {
        let misunderstood = |step: &&ModeStep| {
            let obs = step.obs.to_lowercase();
            PARSER_PHRASES.iter().any(|phrase| obs.contains(phrase))
        };
        let steps = episode.trajectory.iter().filter(misunderstood);
        let tiers = std::iter::once("core").chain(std::iter::repeat("marginal"));
        let labelled = steps
            .zip(tiers)
            .map(|(step, tier)| finding(step, json!({"reason": "parser_phrase", "tier": tier})));
        return ModeVerdict::of(labelled.collect());
    }
    let reason = if rules == ModeRules::Paper { paper_reason } else { code_reason };
    let malformed = episode.trajectory.iter().filter_map(|step| {
        let reason = reason(step.action.as_deref()?)?;
        Some(finding(step, json!({"reason": reason})))
    });
    ModeVerdict::of(malformed.collect())
}

fn paper_reason(action: &str) -> Option<&'static str> {
    let action = action.trim();
    if action.is_empty() {
        Some("empty")
    } else if action.contains('\n') {
        Some("multi_line")
    } else if action.starts_with(['{', '[', '"']) || action.starts_with("```") {
        Some("json_leak")
    } else {
        (action.chars().count() >= LONG).then_some("long")
    }
}

fn code_reason(action: &str) -> Option<&'static str> {
    let lower = action.to_lowercase();
    if action.trim().is_empty() {
        Some("empty")
    } else if REFUSALS.iter().any(|refusal| lower.starts_with(refusal)) {
        Some("refusal")
    } else if action.contains('\n') {
        Some("multi_line")
    } else if !action.starts_with(|c: char| c.is_ascii_alphabetic()) {
        Some("non_letter_start")
    } else {
        action.lines().any(|line| line.chars().count() >= LONG).then_some("long")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_told_in_order() {
        let (long, trimmed) = ("x".repeat(120), format!("  {}  ", "x".repeat(119)));
        for (action, paper, code) in [
            ("look", None, None),
            ("", Some("empty"), Some("empty")),
            ("{\"a\":1}", Some("json_leak"), Some("non_letter_start")),
            ("I cannot", None, Some("refusal")),
            ("12 steps", None, Some("non_letter_start")),
            (" look", None, Some("non_letter_start")),
            ("look\n", None, Some("multi_line")),
            ("{\n}", Some("multi_line"), Some("multi_line")),
            ("```look", Some("json_leak"), Some("non_letter_start")),
            (&long, Some("long"), Some("long")),
            (&trimmed, None, Some("non_letter_start")),
        ] {
            assert_eq!((paper_reason(action), code_reason(action)), (paper, code), "{action}");
        }
    }
}
