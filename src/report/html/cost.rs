//! What failures cost, as charts.

use super::chart::{Bar, BarChart, Chart};
use crate::stats::{float, ratio};

/// What the findings of one detector cost in the runs of one model.
///
/// What the source does not record is `None`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FailureCost {
    /// The detector.
    pub detector: String,
    /// The model, where it is known.
    pub model: Option<String>,
    /// Steps inside of findings, of all steps.
    pub steps: Option<(u64, u64)>,
    /// Nanoseconds inside of findings, of all.
    pub duration_ns: Option<(u64, u64)>,
    /// Tokens inside of findings, of all.
    pub tokens: Option<(u64, u64)>,
}

/// How many bars a chart has.
const DRAWN: usize = 20;

/// What failures cost, as charts: one for each of steps, time and tokens that is known of some detector, the largest
/// share first.
#[must_use]
pub fn cost_charts(costs: &[FailureCost]) -> Vec<Chart> {
    type Part = fn(&FailureCost) -> Option<(u64, u64)>;
    let kinds: [(&str, Part); 3] =
        [("steps", |cost| cost.steps), ("time", |cost| cost.duration_ns), ("tokens", |cost| cost.tokens)];
    kinds
        .into_iter()
        .filter_map(|(kind, part)| {
            let mut bars: Vec<Bar> = costs.iter().filter_map(|cost| bar(cost, part(cost)?, kind)).collect();
            let all = bars.len();
            bars.sort_by(|one, other| other.share.total_cmp(&one.share));
            bars.truncate(DRAWN);
            let most = if all > DRAWN { format!(" The largest {DRAWN} of {all}.") } else { String::new() };
            (!bars.is_empty()).then(|| {
                Chart::Bars(BarChart {
                    title: format!("What failures cost: {kind}"),
                    caption: format!("Share of {kind} inside of findings, by detector and model.{most}"),
                    bars,
                })
            })
        })
        .collect()
}

fn bar(cost: &FailureCost, (inside, all): (u64, u64), kind: &str) -> Option<Bar> {
    let share = ratio(inside, all)?.min(1.0);
    let seconds = |ns: u64| float(ns) / 1e9;
    let note = if kind == "time" {
        format!("{:.1}%, {:.0} s of {:.0} s", 100.0 * share, seconds(inside), seconds(all))
    } else {
        format!("{:.1}%, {inside} of {all}", 100.0 * share)
    };
    let model = cost.model.as_deref().unwrap_or("model not named");
    Some(Bar { label: format!("{}: {model}", cost.detector), share, note })
}
