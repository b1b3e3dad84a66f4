//! How many more entries a calibration needs.
//!
//! The interval of F1 narrows with the square root of the number of entries. If its lower half is `w` wide at
//! `n` entries, and F1 lies `d` above the F1 of always firing, then `m` entries show the difference with a
//! power of 80%, assuming the observed rates, where
//!
//! ```text
//! m = n ((z(0.975) + z(0.8)) / z(0.975) · w / d)²
//! ```
//!
//! The formula is an approximation for a normal estimate (Cohen, "Statistical Power Analysis", 1988).

use serde::Serialize;

use super::figures::Figures;
use super::tier::{Tier, TierGate, tier};
use crate::stats::float;

/// (z(0.975) + z(0.8)) / z(0.975).
const POWER: f64 = (1.959_963_984_540_054 + 0.841_621_233_572_914_3) / 1.959_963_984_540_054;

/// How many more entries a detector needs to reach the next tier, and to prove better than always firing.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Needs {
    /// The next higher tier; `None` at the highest.
    pub next_tier: Option<Tier>,
    /// Minimum number of further entries that the next tier requires; 0 if there are enough.
    pub entries: u64,
    /// True if the present F1 and precision suffice for the next tier, or if none is higher.
    pub figures_suffice: bool,
    /// Number of further entries that show, with a power of 80% and at the same rates, that F1 exceeds that
    /// of always firing. 0 if this is shown already; `None` if F1 is not above it, or has no interval.
    pub entries_to_prove: Option<u64>,
}

impl Needs {
    pub(super) fn of(figures: &Figures, always_fire_f1: Option<f64>, gates: &[TierGate]) -> Self {
        let reached = tier(&figures.confusion, gates);
        let above = gates.iter().take_while(|gate| gate.tier != reached).last();
        Self {
            next_tier: above.map(|gate| gate.tier),
            entries: above.map_or(0, |gate| gate.n.saturating_sub(figures.n)),
            figures_suffice: above.is_none_or(|gate| TierGate { n: 0, ..*gate }.clears(&figures.confusion)),
            entries_to_prove: entries_to_prove(figures, always_fire_f1),
        }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
fn entries_to_prove(figures: &Figures, always_fire_f1: Option<f64>) -> Option<u64> {
    let (f1, interval) = (figures.f1?, figures.f1_ci95.interval?);
    let Some(always) = always_fire_f1 else { return Some(0) };
    if interval.low > always {
        return Some(0);
    }
    let (width, distance) = (f1 - interval.low, f1 - always);
    if distance <= 0.0 {
        return None;
    }
    let entries = float(figures.n) * (POWER * width / distance).powi(2);
    Some((entries.ceil() as u64).saturating_sub(figures.n).max(1))
}

#[cfg(test)]
mod tests {
    use super::super::evaluate::CalibrationOptions;
    use super::*;
    use crate::stats::Outcome;

    fn of(tp: usize, fp: usize, fn_: usize, tn: usize) -> (Figures, Needs) {
        let outcome = |label, predicted| Outcome { label, predicted };
        let counts = [(tp, outcome(true, true)), (fp, outcome(false, true)), (fn_, outcome(true, false))];
        let mut outcomes: Vec<Outcome> =
            counts.into_iter().flat_map(|(count, outcome)| std::iter::repeat_n(outcome, count)).collect();
        outcomes.extend(std::iter::repeat_n(outcome(false, false), tn));
        let options = CalibrationOptions::default();
        let figures = Figures::of(&outcomes, &options);
        let needs = Needs::of(&figures, figures.confusion.always_fire().f1(), &options.gates);
        (figures, needs)
    }

    #[test]
    fn the_next_tier_asks_for_entries_or_for_better_figures() {
        let (_, needs) = of(9, 0, 1, 10);
        assert_eq!(
            (needs.next_tier, needs.entries, needs.figures_suffice),
            (Some(Tier::Production), 10, true)
        );
        assert_eq!(needs.entries_to_prove, Some(0));
        let (_, needs) = of(10, 8, 5, 7);
        assert_eq!((needs.next_tier, needs.entries, needs.figures_suffice), (Some(Tier::Beta), 0, false));
        let (_, needs) = of(0, 0, 0, 0);
        assert_eq!(
            (needs.next_tier, needs.entries, needs.entries_to_prove),
            (Some(Tier::Experimental), 8, None)
        );
        let (_, needs) = of(20, 0, 0, 20);
        assert_eq!((needs.next_tier, needs.entries), (None, 0));
    }

    #[test]
    fn as_many_entries_as_were_asked_for_prove_it_mostly() {
        let (figures, needs) = of(8, 4, 2, 6);
        // F1 is 0.727, against 0.667 for always firing, so the interval has to shrink far.
        let more = needs.entries_to_prove.unwrap();
        assert!((200..2000).contains(&more), "{more}");
        let factor = usize::try_from((figures.n + more) / figures.n).unwrap();
        let (_, needs) = of(8 * factor, 4 * factor, 2 * factor, 6 * factor);
        assert_eq!(needs.entries_to_prove, Some(0));
        // A quarter of the entries does not suffice.
        let (_, needs) = of(2 * factor, factor, factor / 2, 3 * factor / 2);
        assert_ne!(needs.entries_to_prove, Some(0));
        assert_eq!(of(5, 9, 5, 1).1.entries_to_prove, None, "worse than always firing");
    }
}
