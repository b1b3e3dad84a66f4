//! A linear axis with round ticks.

/// The width of every chart, in SVG units.
pub(super) const WIDTH: f64 = 400.0;

pub(super) const MARGIN: f64 = 8.0;

pub(super) struct Axis {
    from: f64,
    to: f64,
    left: f64,
    right: f64,
}

impl Axis {
    /// Creates an axis that covers all finite values, with round ends. Without values, it covers [0, 1].
    pub(super) fn fitting(values: impl Iterator<Item = f64>) -> Self {
        let (mut from, mut to) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|value| value.is_finite()) {
            (from, to) = (from.min(value), to.max(value));
        }
        if from > to {
            (from, to) = (0.0, 1.0);
        }
        if to - from < 1e-9 * from.abs().max(to.abs()).max(1e-9) {
            (from, to) = (from - 0.5, to + 0.5);
        }
        let step = step(from, to);
        Self::between((from / step).floor() * step, (to / step).ceil() * step)
    }

    pub(super) fn between(from: f64, to: f64) -> Self {
        Self { from, to, left: MARGIN + 6.0, right: WIDTH - MARGIN - 6.0 }
    }

    pub(super) fn at(&self, value: f64) -> f64 {
        let share = ((value - self.from) / (self.to - self.from)).clamp(0.0, 1.0);
        self.left + share * (self.right - self.left)
    }

    pub(super) fn ticks(&self) -> Vec<f64> {
        let step = step(self.from, self.to);
        let first = (self.from / step - 1e-9).ceil();
        (0..=20_u32)
            .map(|number| (first + f64::from(number)) * step)
            .take_while(|tick| *tick <= self.to + 1e-9 * step)
            .collect()
    }

    pub(super) fn label(&self, tick: f64) -> String {
        let step = step(self.from, self.to);
        // Rounding may turn a tick of 0 into a tiny number, which must not be shown as "-0.0".
        let tick = if tick.abs() < step * 1e-6 { 0.0 } else { tick };
        let decimals = (0..9).find(|decimals| step * 10_f64.powi(*decimals) > 0.999).unwrap_or(9);
        let decimals = usize::try_from(decimals).unwrap_or(0);
        format!("{tick:.decimals$}")
    }
}

/// Returns a step of 1, 2 or 5 times a power of ten that divides the range into about five parts.
fn step(from: f64, to: f64) -> f64 {
    let rough = (to - from) / 5.0;
    if !(rough.is_finite() && rough > 0.0) {
        return 1.0;
    }
    let power = 10_f64.powf(rough.log10().floor());
    let lead = rough / power;
    let steps = [(1.5, 1.0), (3.5, 2.0), (7.5, 5.0)];
    power * steps.into_iter().find(|(below, _)| lead < *below).map_or(10.0, |(_, step)| step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_read_well() {
        for (from, to, expected) in
            [(0.0, 1.0, 0.2), (-1.0, 1.0, 0.5), (0.0, 0.03, 0.005), (0.0, 100.0, 20.0)]
        {
            assert!((step(from, to) - expected).abs() < 1e-12, "{from} {to}: {}", step(from, to));
        }
        let axis = Axis::fitting([-0.23, 0.61].into_iter());
        let labels: Vec<String> = axis.ticks().iter().map(|tick| axis.label(*tick)).collect();
        assert_eq!(labels, ["-0.4", "-0.2", "0.0", "0.2", "0.4", "0.6", "0.8"]);
    }
}
