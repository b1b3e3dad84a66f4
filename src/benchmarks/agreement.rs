//! Agreement between two annotators on failures and their modes.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::Definition;
use super::read::{StepRange, ordered, record};
use crate::names::named;
use crate::stats::{cohens_kappa, jaccard, ratio};

/// The minimum Jaccard index for two ranges to match.
const MIN_OVERLAP: f64 = 0.3;

/// An episode with the failures that two annotators found.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct AnnotatedEpisode {
    /// Id of the episode.
    pub id: String,
    /// The failures of the first annotator.
    pub a: Vec<AnnotatedFailure>,
    /// The failures of the second.
    pub b: Vec<AnnotatedFailure>,
}

/// An annotated failure.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct AnnotatedFailure {
    /// The failure mode, `class/name`.
    #[serde(rename = "type")]
    pub mode: String,
    /// Its steps.
    #[serde(rename = "where", deserialize_with = "ordered")]
    pub range: StepRange,
    /// Whether it decides the outcome of the episode.
    pub tier: FailureTier,
}

named! {
    /// Whether a failure decides the outcome.
    pub enum FailureTier: "tier" {
        /// It decides the episode.
        Core = "core",
        /// It does not.
        Marginal = "marginal",
    }
}

record!(AnnotatedEpisode, "episode", id);

/// Agreement between two annotators over episodes; see [`agree`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Agreement {
    /// The definition that was used.
    #[serde(rename = "mode")]
    pub definition: Definition,
    /// Every episode, in order.
    pub episodes: Vec<EpisodeAgreement>,
    /// Matched pairs that are core for both annotators over those that are core for at least one.
    pub tier_jaccard: Option<f64>,
    /// Matched core failures over the union of core failures.
    pub core_set_jaccard: Option<f64>,
    /// The score over core failures.
    pub core: AgreementScore,
    /// The score over all failures.
    pub all: AgreementScore,
}

/// The matched failures of two annotators in one episode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct EpisodeAgreement {
    /// Id of the episode.
    pub id: String,
    /// The matching of core failures. Its positions count only core failures.
    pub core: Matching,
    /// The matching of all failures.
    pub all: Matching,
}

/// A matching of two annotators' failures, in pairs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Matching {
    /// Number of failures of the first annotator.
    pub a: usize,
    /// Number of failures of the second.
    pub b: usize,
    /// Number of matched pairs.
    pub matched: usize,
    /// The 0-based positions of each pair's failures, sorted by the position of the first annotator's.
    pub pairs: Vec<(usize, usize)>,
}

/// Agreement between two annotators on core failures or on all failures.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct AgreementScore {
    /// Number of matched pairs.
    pub matched: u64,
    /// Number of failures of the first annotator.
    pub a: u64,
    /// Number of failures of the second.
    pub b: u64,
    /// F1 of finding the same failures. Without failures, `None` by the paper's definition, 0 by the code's.
    pub f1: Option<f64>,
    /// Cohen's kappa of the modes of matched pairs; `None` without pairs. If all modes are the same, `None` by
    /// the paper's definition, 1 by the code's.
    pub mode_kappa: Option<f64>,
}

type Failures<'e> = Vec<&'e AnnotatedFailure>;

/// Matches the failures of two annotators in each episode, and measures the annotators' agreement.
///
/// Failures match one to one, and only if the Jaccard index of their ranges is at least 0.3. The paper
/// matches the best pair first; the code takes the first annotator's failures in order.
///
/// ```
/// use serde_json::json;
/// use wrongturn::benchmarks::{AnnotatedEpisode, Definition, agree};
///
/// let episodes: Vec<AnnotatedEpisode> = serde_json::from_value(json!([{"id": "e",
///     "a": [{"type": "strategy/loop", "where": [0, 9], "tier": "core"}],
///     "b": [{"type": "strategy/loop", "where": [0, 4], "tier": "core"},
///           {"type": "system/format", "where": [20, 20], "tier": "marginal"}],
/// }]))?;
/// let agreement = agree(&episodes, Definition::Paper);
/// assert_eq!((agreement.all.matched, agreement.core.f1), (1, Some(1.0)));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[must_use]
pub fn agree(episodes: &[AnnotatedEpisode], definition: Definition) -> Agreement {
    let mut scores = [Pool::default(), Pool::default()];
    let (mut both_core, mut any_core) = (0, 0);
    let mut matchings = Vec::with_capacity(episodes.len());
    for episode in episodes {
        let sides = [&episode.a, &episode.b].map(|failures| failures.iter().collect::<Failures<'_>>());
        let core_sides = sides.clone().map(|failures| {
            failures.into_iter().filter(|failure| failure.tier == FailureTier::Core).collect::<Failures<'_>>()
        });
        let [core_pool, all_pool] = &mut scores;
        let core = core_pool.add(&core_sides, definition);
        let all = all_pool.add(&sides, definition);
        for (a, b) in pairs(&all, &sides) {
            let cores = [a, b].map(|failure| failure.tier == FailureTier::Core);
            both_core += u64::from(cores == [true, true]);
            any_core += u64::from(cores != [false, false]);
        }
        matchings.push(EpisodeAgreement { id: episode.id.clone(), core, all });
    }
    let [core, all] = scores.map(|pool| pool.score(definition));
    Agreement {
        definition,
        episodes: matchings,
        tier_jaccard: ratio(both_core, any_core),
        core_set_jaccard: ratio(core.matched, core.a + core.b - core.matched),
        core,
        all,
    }
}

/// Counts and matched modes over episodes.
#[derive(Default)]
struct Pool<'e> {
    a: u64,
    b: u64,
    modes: Vec<(&'e str, &'e str)>,
}

impl<'e> Pool<'e> {
    fn add(&mut self, sides: &[Failures<'e>; 2], definition: Definition) -> Matching {
        let [a, b] = sides;
        let found = matched(a, b, definition);
        let matching = Matching { a: a.len(), b: b.len(), matched: found.len(), pairs: found };
        self.a += a.len() as u64;
        self.b += b.len() as u64;
        self.modes.extend(pairs(&matching, sides).map(|(a, b)| (a.mode.as_str(), b.mode.as_str())));
        matching
    }

    fn score(self, definition: Definition) -> AgreementScore {
        let code = definition == Definition::Code;
        let matched = self.modes.len() as u64;
        let f1 = match (ratio(matched, self.b), ratio(matched, self.a)) {
            (None, None) => code.then_some(0.0),
            (Some(precision), Some(recall)) if matched > 0 => {
                Some(2.0 * precision * recall / (precision + recall))
            }
            _ => Some(0.0),
        };
        // If both annotators use one and the same mode, kappa is undefined; the code sets it to 1.
        let one_label = (code && !self.modes.is_empty()).then_some(1.0);
        let mode_kappa = cohens_kappa(self.modes).map(|found| found.kappa).or(one_label);
        AgreementScore { matched, a: self.a, b: self.b, f1, mode_kappa }
    }
}

fn pairs<'m, 'e>(
    matching: &'m Matching,
    [a, b]: &'m [Failures<'e>; 2],
) -> impl Iterator<Item = (&'e AnnotatedFailure, &'e AnnotatedFailure)> + use<'m, 'e> {
    matching.pairs.iter().filter_map(move |(in_a, in_b)| Some((*a.get(*in_a)?, *b.get(*in_b)?)))
}

/// Takes the pairs that overlap enough one by one, skipping failures that are already matched: in order of decreasing
/// overlap, or by the code's definition for each failure of `a` in turn.
fn matched(a: &[&AnnotatedFailure], b: &[&AnnotatedFailure], definition: Definition) -> Vec<(usize, usize)> {
    let mut candidates = Vec::new();
    for (in_a, of_a) in a.iter().enumerate() {
        for (in_b, of_b) in b.iter().enumerate() {
            let overlap = jaccard(&of_a.range.steps(), &of_b.range.steps());
            if overlap >= MIN_OVERLAP {
                candidates.push((overlap, in_a, in_b));
            }
        }
    }
    // The sort is stable: equal pairs stay sorted by position.
    candidates.sort_by(|left, right| {
        let in_turn = if definition == Definition::Code { left.1.cmp(&right.1) } else { Ordering::Equal };
        in_turn.then(right.0.total_cmp(&left.0))
    });
    let (mut taken_a, mut taken_b) = (BTreeSet::new(), BTreeSet::new());
    let mut found = Vec::new();
    for (_, in_a, in_b) in candidates {
        if !taken_a.contains(&in_a) && !taken_b.contains(&in_b) {
            taken_a.insert(in_a);
            taken_b.insert(in_b);
            found.push((in_a, in_b));
        }
    }
    found.sort_unstable();
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn failure(mode: &str, range: [i64; 2], tier: FailureTier) -> AnnotatedFailure {
        AnnotatedFailure { mode: mode.to_owned(), range: range.into(), tier }
    }

    fn cores(ranges: &[[i64; 2]]) -> Vec<AnnotatedFailure> {
        ranges.iter().map(|range| failure("strategy/loop", *range, FailureTier::Core)).collect()
    }

    fn of(a: Vec<AnnotatedFailure>, b: Vec<AnnotatedFailure>, definition: Definition) -> Agreement {
        agree(&[AnnotatedEpisode { id: "e".to_owned(), a, b }], definition)
    }

    #[test]
    fn the_paper_matches_the_best_first_and_the_code_in_order() {
        let (a, b) = (cores(&[[0, 9], [5, 9]]), cores(&[[5, 9]]));
        for (definition, pair) in [(Definition::Paper, (1, 0)), (Definition::Code, (0, 0))] {
            let found = of(a.clone(), b.clone(), definition);
            assert_eq!(found.episodes[0].core.pairs, [pair]);
            assert_eq!(found.core.f1, Some(2.0 / 3.0));
            assert_eq!(found.core_set_jaccard, Some(0.5));
        }
    }

    #[test]
    fn three_tenths_match_and_less_does_not() {
        for (range, matched) in [([7, 9], 1), ([8, 9], 0), ([0, 2], 1)] {
            let found = of(cores(&[[0, 9]]), cores(&[range]), Definition::Paper);
            assert_eq!(
                (found.core.matched, found.core.f1),
                (matched, Some(if matched == 1 { 1.0 } else { 0.0 }))
            );
        }
    }

    #[test]
    fn what_is_undefined_differs_between_paper_and_code() {
        let nothing = |definition| of(Vec::new(), Vec::new(), definition).core;
        assert_eq!((nothing(Definition::Paper).f1, nothing(Definition::Code).f1), (None, Some(0.0)));
        assert_eq!(nothing(Definition::Code).mode_kappa, None);
        let alike = |definition| of(cores(&[[0, 1]]), cores(&[[0, 1]]), definition).core;
        assert_eq!(
            (alike(Definition::Paper).mode_kappa, alike(Definition::Code).mode_kappa),
            (None, Some(1.0))
        );
        assert_eq!(of(cores(&[[0, 1]]), Vec::new(), Definition::Paper).core.f1, Some(0.0));
    }

    #[test]
    fn tiers_are_compared_on_matched_pairs_only() {
        let a = vec![
            failure("x", [0, 3], FailureTier::Core),
            failure("x", [10, 13], FailureTier::Core),
            failure("x", [20, 23], FailureTier::Marginal),
            failure("x", [90, 93], FailureTier::Core),
        ];
        let b = vec![
            failure("x", [0, 3], FailureTier::Core),
            failure("y", [10, 13], FailureTier::Marginal),
            failure("y", [20, 23], FailureTier::Marginal),
        ];
        let found = of(a, b, Definition::Paper);
        assert_eq!(found.tier_jaccard, Some(0.5));
        assert_eq!((found.core.matched, found.core.a, found.core.b), (1, 3, 1));
        assert_eq!(found.all.mode_kappa, Some(0.0));
    }

    proptest! {
        #[test]
        fn matchings_are_one_to_one_and_close(
            a in proptest::collection::vec((0..12_i64, 0..6_i64), 0..6),
            b in proptest::collection::vec((0..12_i64, 0..6_i64), 0..6),
        ) {
            let side = |drawn: &[(i64, i64)]| {
                cores(&drawn.iter().map(|(first, more)| [*first, first + more]).collect::<Vec<_>>())
            };
            for definition in [Definition::Paper, Definition::Code] {
                let found = of(side(&a), side(&b), definition);
                let pairs = &found.episodes[0].core.pairs;
                let firsts: BTreeSet<usize> = pairs.iter().map(|pair| pair.0).collect();
                let seconds: BTreeSet<usize> = pairs.iter().map(|pair| pair.1).collect();
                prop_assert_eq!((firsts.len(), seconds.len()), (pairs.len(), pairs.len()));
                let (a, b) = (side(&a), side(&b));
                prop_assert!(pairs.iter().all(|(i, j)| jaccard(&a[*i].range.steps(), &b[*j].range.steps()) >= 0.3));
                let most = a.len().min(b.len());
                prop_assert!(pairs.len() <= most);
            }
        }
    }
}
