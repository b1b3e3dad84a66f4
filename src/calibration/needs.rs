//! How many entries a calibration still takes.
//!
//! The proof over always-firing: the interval of F1 narrows with the root of the number of entries. If half of it
//! below F1 is `w` at `n` entries, and F1 lies `d` above the F1 of always firing, then `m` entries show the difference
//! with a chance of 80%, if these rates are the true ones, where
//!
//! ```text
//! m = n ((z(0.975) + z(0.8)) / z(0.975) · w / d)²
//! ```
//!
//! (Cohen, "Statistical Power Analysis", 1988, for a normal estimate: an approximation.)

use serde::Serialize;

use super::evaluate::Figures;
use super::tier::{Tier, TierGate, tier};

/// (z(0.975) + z(0.8)) / z(0.975).
const POWER: f64 = (1.959_963_984_540_054 + 0.841_621_233_572_914_3) / 1.959_963_984_540_054;

/// What a detector lacks for the next tier, and for the proof that it does better than always firing.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Needs {
    /// The tier above the one that is reached; null at the highest.
    pub next_tier: Option<Tier>,
    /// How many more entries it asks for, at least; 0 where their number is enough.
    pub entries: u64,
    /// Whether F1 and precision, as they are, would do for it.
    pub figures_suffice: bool,
    /// How many more entries show, with a chance of 80%, that F1 exceeds that of always firing, if the rates stay as
    /// they are; 0 where that is shown, null where F1 is not above it.
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

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "saturates"
)]
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
    let entries = figures.n as f64 * (POWER * width / distance).powi(2);
    Some((entries.ceil() as u64).saturating_sub(figures.n).max(1))
}
