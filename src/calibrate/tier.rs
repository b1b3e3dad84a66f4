//! Readiness tiers.

use serde::Serialize;

use crate::names::named;
use crate::stats::Confusion;

named! {
    /// The readiness of a detector, judged by its figures on a golden set; see [`tier()`]. The
    /// thresholds are those of [`TIER_GATES`].
    #[derive(PartialOrd, Ord)]
    pub enum Tier: "tier" {
        /// No entries.
        Untested = "untested",
        /// Below all gates.
        Failing = "failing",
        /// F1 ≥ 0.40, n ≥ 8.
        Experimental = "experimental",
        /// F1 ≥ 0.65, n ≥ 15.
        Beta = "beta",
        /// F1 ≥ 0.80, precision ≥ 0.70, n ≥ 30.
        Production = "production",
    }
}

/// The F1, precision and number of entries that a tier requires.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TierGate {
    /// The tier.
    pub tier: Tier,
    /// The minimum F1.
    pub f1: f64,
    /// The minimum precision; 0 for no limit.
    pub precision: f64,
    /// The minimum number of entries.
    pub n: u64,
}

impl TierGate {
    /// Returns true if these figures clear the gate.
    #[must_use]
    pub fn clears(&self, confusion: &Confusion) -> bool {
        confusion.n() >= self.n
            && confusion.f1().is_some_and(|f1| f1 >= self.f1)
            && (self.precision <= 0.0
                || confusion.precision().is_some_and(|precision| precision >= self.precision))
    }
}

/// The gates that Pisama published, highest first.
pub const TIER_GATES: [TierGate; 3] = [
    TierGate { tier: Tier::Production, f1: 0.80, precision: 0.70, n: 30 },
    TierGate { tier: Tier::Beta, f1: 0.65, precision: 0.0, n: 15 },
    TierGate { tier: Tier::Experimental, f1: 0.40, precision: 0.0, n: 8 },
];

/// Returns the tier of these figures: that of the first gate that they clear, `Failing` if there is none, or
/// `Untested` if the set has no entries. `gates` must be sorted from the highest.
///
/// ```
/// use wrongturn::stats::Confusion;
/// use wrongturn::calibrate::{TIER_GATES, Tier, tier};
///
/// assert_eq!(tier(&Confusion { tp: 7, fp: 3, fn_: 3, tn: 7 }, &TIER_GATES), Tier::Beta);
/// assert_eq!(tier(&Confusion::default(), &TIER_GATES), Tier::Untested);
/// ```
#[must_use]
pub fn tier(confusion: &Confusion, gates: &[TierGate]) -> Tier {
    if confusion.n() == 0 {
        return Tier::Untested;
    }
    gates.iter().find(|gate| gate.clears(confusion)).map_or(Tier::Failing, |gate| gate.tier)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(tp: u64, fp: u64, fn_: u64, tn: u64) -> Tier {
        tier(&Confusion { tp, fp, fn_, tn }, &TIER_GATES)
    }

    #[test]
    fn gates_hold_at_their_edges() {
        assert_eq!(of(9, 0, 1, 10), Tier::Beta, "F1 0.947, but only 20 entries");
        assert_eq!(of(12, 3, 3, 12), Tier::Production, "F1 and n at the edge");
        assert_eq!(of(12, 3, 3, 11), Tier::Beta, "29 entries");
        assert_eq!(of(14, 6, 1, 9), Tier::Production, "precision 0.70 exactly, F1 0.8");
        assert_eq!(of(16, 7, 0, 7), Tier::Beta, "precision 0.696, F1 0.82");
        assert_eq!(of(13, 7, 7, 0), Tier::Beta, "F1 0.65 exactly");
        assert_eq!(of(12, 7, 7, 1), Tier::Experimental);
        assert_eq!(of(13, 1, 0, 0), Tier::Experimental, "14 entries");
        assert_eq!(of(2, 3, 3, 0), Tier::Experimental, "F1 0.40 exactly, 8 entries");
        assert_eq!(of(2, 3, 2, 0), Tier::Failing, "7 entries");
        assert_eq!(of(1, 3, 3, 1), Tier::Failing);
        assert_eq!(of(0, 0, 0, 40), Tier::Failing, "F1 is not defined");
        assert_eq!(of(0, 0, 0, 0), Tier::Untested);
    }
}
