//! The numbers that detectors compute for a trace.

use std::ops::Deref;

/// A number that a detector computes for a trace, such as for correlation with rewards.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measure {
    /// The name of the measure.
    pub name: &'static str,
    /// The value; counts are whole numbers.
    pub value: f64,
}

impl Measure {
    /// Creates a count.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts of steps are far below 2^53")]
    pub fn count(name: &'static str, count: u64) -> Self {
        Self { name, value: count as f64 }
    }
}

/// The numbers that a judgement is based on, in the detector's order.
///
/// ```
/// use wrongturn::detect::{Measure, Measures};
///
/// let measures = Measures::from([Measure::count("calls", 7), Measure { name: "rate", value: 0.5 }]);
/// assert_eq!(measures.iter().map(|measure| measure.name).collect::<Vec<_>>(), ["calls", "rate"]);
/// assert!(Measures::default().is_empty());
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Measures(Vec<Measure>);

impl Deref for Measures {
    type Target = [Measure];

    fn deref(&self) -> &[Measure] {
        &self.0
    }
}

impl<const COUNT: usize> From<[Measure; COUNT]> for Measures {
    fn from(measures: [Measure; COUNT]) -> Self {
        Self(measures.into())
    }
}

impl From<Vec<Measure>> for Measures {
    fn from(measures: Vec<Measure>) -> Self {
        Self(measures)
    }
}
