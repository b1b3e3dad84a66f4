//! The numbers that detectors take on a trace.

use std::fmt;
use std::ops::Deref;

/// A number that a detector took on a trace, for correlations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measure {
    /// What was measured.
    pub name: &'static str,
    /// The value; counts are whole numbers.
    pub value: f64,
}

impl Measure {
    /// A count.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts of steps are far below 2^53")]
    pub fn count(name: &'static str, count: u64) -> Self {
        Self { name, value: count as f64 }
    }
}

/// The numbers behind a judgement, in the order in which the detector names them: a list of [`Measure`]s.
///
/// ```
/// use wrongturn::{Measure, Measures};
///
/// let measures = Measures::from([Measure::count("calls", 7), Measure { name: "rate", value: 0.5 }]);
/// assert_eq!(measures.iter().map(|measure| measure.name).collect::<Vec<_>>(), ["calls", "rate"]);
/// assert!(Measures::default().is_empty());
/// ```
#[derive(Clone)]
pub struct Measures(List);

/// So many measures, which is what detectors have, take no memory of their own: runs are many, and so are judgements.
const FEW: usize = 4;

#[derive(Clone)]
enum List {
    Few([Measure; FEW], usize),
    Many(Vec<Measure>),
}

impl Default for Measures {
    fn default() -> Self {
        Self(List::Few([Measure { name: "", value: 0.0 }; FEW], 0))
    }
}

impl Deref for Measures {
    type Target = [Measure];

    fn deref(&self) -> &[Measure] {
        match &self.0 {
            List::Few(measures, count) => measures.get(..*count).unwrap_or_default(),
            List::Many(measures) => measures,
        }
    }
}

impl<const COUNT: usize> From<[Measure; COUNT]> for Measures {
    fn from(measures: [Measure; COUNT]) -> Self {
        let mut few = Self::default();
        if let List::Few(places, count) = &mut few.0
            && let Some(places) = places.get_mut(..COUNT)
        {
            places.copy_from_slice(&measures);
            *count = COUNT;
            return few;
        }
        Self(List::Many(measures.into()))
    }
}

impl From<Vec<Measure>> for Measures {
    fn from(measures: Vec<Measure>) -> Self {
        Self(List::Many(measures))
    }
}

impl<'m> IntoIterator for &'m Measures {
    type Item = &'m Measure;
    type IntoIter = std::slice::Iter<'m, Measure>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl PartialEq for Measures {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl fmt::Debug for Measures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_the_same_wherever_they_lie() {
        fn check<const COUNT: usize>() {
            let measures: [Measure; COUNT] = std::array::from_fn(|n| Measure::count("n", n as u64));
            let of_array = Measures::from(measures);
            assert_eq!(*of_array, measures);
            assert_eq!(of_array, Measures::from(measures.to_vec()));
            assert_eq!(format!("{of_array:?}"), format!("{measures:?}"));
            assert_eq!((&of_array).into_iter().count(), COUNT);
            assert_eq!(of_array == Measures::default(), COUNT == 0);
        }
        check::<0>();
        check::<1>();
        check::<4>();
        check::<5>();
        check::<20>();
    }
}
