//! The Jensen–Shannon distance between two columns of counts.
//!
//! ```text
//! d = sqrt(Σ (p log2(p/m) + q log2(q/m)) / 2),  m = (p + q)/2,  p and q the counts as shares
//! ```
//!
//! It is a metric and lies in [0, 1].
//!
//! Reference: Endres & Schindelin, "A new metric for probability distributions", IEEE Trans. Inf. Theory 49
//! (2003). Oracle: `scipy.spatial.distance.jensenshannon(p, q, base=2)`.

/// Returns the Jensen–Shannon distance between two columns of counts, in [0, 1].
///
/// Counts must be finite and not negative. A shorter column is padded with zeros. Returns `None` if the sum
/// of a column is NaN or not positive.
///
/// ```
/// use wrongturn::stats::jensen_shannon;
///
/// assert_eq!(jensen_shannon(&[1.0, 3.0], &[10.0, 30.0]), Some(0.0), "only shares count");
/// assert_eq!(jensen_shannon(&[1.0], &[0.0, 1.0]), Some(1.0), "nothing in common");
/// ```
#[must_use]
pub fn jensen_shannon(p: &[f64], q: &[f64]) -> Option<f64> {
    let (p_total, q_total) = (p.iter().sum::<f64>(), q.iter().sum::<f64>());
    if p_total.partial_cmp(&0.0)?.is_le() || q_total.partial_cmp(&0.0)?.is_le() {
        return None;
    }
    let term = |share: f64, middle: f64| if share > 0.0 { share * (share / middle).log2() } else { 0.0 };
    let divergence: f64 = (0..p.len().max(q.len()))
        .map(|place| {
            let share = |column: &[f64], total| column.get(place).map_or(0.0, |count| count / total);
            let (p, q) = (share(p, p_total), share(q, q_total));
            let middle = f64::midpoint(p, q);
            f64::midpoint(term(p, middle), term(q, middle))
        })
        .sum();
    Some(divergence.clamp(0.0, 1.0).sqrt())
}

#[cfg(test)]
mod tests {
    use super::super::assert_close;
    use super::*;

    /// `jensenshannon([.75, .25, 0], [.25, .25, .5], base=2)`, scipy 1.17.1
    #[test]
    fn agrees_with_scipy() {
        let distance = jensen_shannon(&[3.0, 1.0], &[1.0, 1.0, 2.0]).unwrap();
        assert_close(distance, 0.586_822_748_170_547_4, 1e-12);
        assert_close(jensen_shannon(&[0.0, 1.0], &[1.0]).unwrap(), 1.0, 1e-15);
        assert_close(jensen_shannon(&[2.0, 4.0], &[1.0, 2.0]).unwrap(), 0.0, 1e-9);
        assert_eq!(jensen_shannon(&[], &[1.0]), None);
        assert_eq!(jensen_shannon(&[0.0], &[1.0]), None);
        assert_eq!(jensen_shannon(&[f64::NAN], &[1.0]), None);
    }
}
