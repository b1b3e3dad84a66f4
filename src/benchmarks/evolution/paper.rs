//! The paper's definition of avoidance, and a count of repeats that agrees with it.

use std::collections::{BTreeMap, BTreeSet};

use super::super::text::norm;
use super::{EvolutionCase, EvolutionStep, Exclusion, Timing};

/// Returns how often the failure recurred; it was avoided if it never did.
///
/// A failure of class system or operation recurs in each new step that has the result of a failing step. A
/// failure of class strategy recurs in each window of new steps that sees at least half of the
/// failure's distinct observations. Windows are as long as the failure and do not overlap.
pub(super) fn repeats(case: &EvolutionCase) -> Result<u64, Exclusion> {
    let class = case.target.class();
    if !["system", "strategy", "operation"].contains(&class) {
        return Err(Exclusion::UnknownClass);
    }
    if case.post.is_empty() {
        return Err(Exclusion::NoPostSteps);
    }
    let failing = |step: &EvolutionStep| case.target.range.contains(step.step);
    if !case.original.iter().any(failing) {
        return Err(Exclusion::RangeOutsideEpisode);
    }
    if class == "strategy" {
        let region: BTreeSet<String> =
            case.original.iter().filter(|step| failing(step)).map(|step| norm(step.obs.as_deref())).collect();
        return Ok(revisits(&region, &case.post, length(case)));
    }
    let brought = produced(&case.original, case.original_obs, case.original_final_obs.as_deref());
    let steps = case.original.iter().zip(brought).filter(|(step, _)| failing(step));
    let feared: BTreeSet<String> = steps.filter_map(|(_, obs)| obs).collect();
    if feared.is_empty() {
        return Err(Exclusion::NoProducedObservation);
    }
    let brought = produced(&case.post, case.post_obs, case.post_final_obs.as_deref());
    Ok(brought.into_iter().flatten().filter(|obs| feared.contains(obs)).count() as u64)
}

/// Returns the normalized result of each action; `None` for a last action whose result is unknown.
fn produced(steps: &[EvolutionStep], timing: Timing, last: Option<&str>) -> Vec<Option<String>> {
    let own = || steps.iter().map(|step| Some(norm(step.obs.as_deref())));
    match timing {
        Timing::After => own().collect(),
        Timing::Before => own().skip(1).chain([last.map(|obs| norm(Some(obs)))]).take(steps.len()).collect(),
    }
}

/// Returns the number of steps of the failure, but at least 1 and at most the number of new steps.
fn length(case: &EvolutionCase) -> usize {
    let range = case.target.range;
    let steps = range.last.abs_diff(range.first).saturating_add(1);
    usize::try_from(steps).unwrap_or(usize::MAX).min(case.post.len()).max(1)
}

/// Counts windows of `length` new steps that see at least half of the region. Counted windows do not overlap.
fn revisits(region: &BTreeSet<String>, post: &[EvolutionStep], length: usize) -> u64 {
    // The position in the region of each step's observation.
    let place: BTreeMap<&str, usize> = region.iter().map(String::as_str).zip(0..).collect();
    let seen: Vec<Option<usize>> =
        post.iter().map(|step| place.get(norm(step.obs.as_deref()).as_str()).copied()).collect();
    let mut counts = vec![0_u64; region.len()];
    let mut distinct = 0_usize;
    let mut full = Vec::new();
    for (end, entering) in seen.iter().enumerate() {
        if let Some(count) = entering.and_then(|place| counts.get_mut(place)) {
            distinct += usize::from(*count == 0);
            *count += 1;
        }
        let leaving = end.checked_sub(length).and_then(|gone| seen.get(gone).copied().flatten());
        if let Some(count) = leaving.and_then(|place| counts.get_mut(place)) {
            *count -= 1;
            distinct -= usize::from(*count == 0);
        }
        if end + 1 >= length {
            full.push(distinct * 2 >= region.len());
        }
    }
    let (mut repeats, mut start) = (0, 0);
    while let Some(revisited) = full.get(start) {
        repeats += u64::from(*revisited);
        start += if *revisited { length } else { 1 };
    }
    repeats
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn steps<'o>(first: i64, obs: impl IntoIterator<Item = &'o str>) -> Vec<EvolutionStep> {
        let step = |(step, obs): (i64, &str)| EvolutionStep {
            step,
            obs: Some(obs.to_owned()),
            action: Some("look".to_owned()),
            subtask_idx: None,
        };
        (first..).zip(obs).map(step).collect()
    }

    fn case(mode: &str, range: [i64; 2], original: usize, post: &[&str]) -> EvolutionCase {
        let case = json!({"id": "c", "task": "jericho", "truncation": range[0] - 1,
            "target": {"type": mode, "where": range}, "original": [], "post": []});
        let original: Vec<String> = (0..original).map(|step| format!("o{step}")).collect();
        EvolutionCase {
            original: steps(0, original.iter().map(String::as_str)),
            post: steps(range[0] - 1, post.iter().copied()),
            ..serde_json::from_value(case).unwrap()
        }
    }

    #[test]
    fn a_strategy_returns_when_a_window_sees_half_of_it() {
        for (range, original, post, repeats) in [
            ([2, 5], 20, vec!["o2", "z", "o3", "z2"], 1),
            ([2, 6], 20, vec!["o2", "z", "o3", "z2", "z3"], 0),
            ([2, 3], 20, vec!["o2", "o3", "o2", "o3", "z"], 2),
            ([2, 5], 20, vec!["o2", "z", "z", "z", "z", "o3", "z"], 0),
            ([1, 3], 8, vec!["o1", "o2", "o3"], 1),
            ([1, 9], 20, vec![" O1 ", "o2", "o3", "o4", "o5"], 1),
        ] {
            let case = case("strategy/loop", range, original, &post);
            assert_eq!(super::repeats(&case), Ok(repeats), "{range:?} {post:?}");
        }
    }

    #[test]
    fn an_operation_returns_when_it_brings_the_same() {
        let mut failed = case("operation/decision_error", [3, 3], 4, &["o2", "x"]);
        assert_eq!(repeats(&failed), Err(Exclusion::NoProducedObservation));
        failed.original_final_obs = Some(" The END ".to_owned());
        assert_eq!(repeats(&failed), Ok(0));
        failed.post_final_obs = Some("the end".to_owned());
        assert_eq!(repeats(&failed), Ok(1));
        failed.original_obs = Timing::After;
        failed.post = steps(2, ["o3", "o3"]);
        failed.post_obs = Timing::After;
        assert_eq!(repeats(&failed), Ok(2));
    }

    #[test]
    fn what_cannot_be_answered_says_why() {
        for (mode, range, post, why) in [
            ("unknown", [1, 1], vec!["x"], Exclusion::UnknownClass),
            ("strategy/loop", [30, 40], vec![], Exclusion::NoPostSteps),
            ("strategy/loop", [30, 40], vec!["x"], Exclusion::RangeOutsideEpisode),
            ("strategy/loop", [-5, -1], vec!["x"], Exclusion::RangeOutsideEpisode),
        ] {
            assert_eq!(repeats(&case(mode, range, 20, &post)), Err(why));
        }
        let huge = case("strategy/loop", [i64::MIN + 1, i64::MAX], 20, &["o1"]);
        assert_eq!(repeats(&huge), Ok(0));
    }

    /// Counts like [`revisits`], but looks at each window anew.
    fn naive(region: &BTreeSet<String>, post: &[EvolutionStep], length: usize) -> u64 {
        let hit = |start: usize| {
            let seen: BTreeSet<String> =
                post[start..start + length].iter().map(|step| norm(step.obs.as_deref())).collect();
            2 * region.intersection(&seen).count() >= region.len()
        };
        let (mut start, mut repeats) = (0, 0);
        while start + length <= post.len() {
            if hit(start) {
                repeats += 1;
                start += length;
            } else {
                start += 1;
            }
        }
        repeats
    }

    proptest! {
        #[test]
        fn sliding_is_counting_anew(post in proptest::collection::vec(0..8_u8, 1..20), a in 0..6_i64, more in 0..6_i64) {
            let post: Vec<String> = post.iter().map(|step| format!("o{step}")).collect();
            let post: Vec<&str> = post.iter().map(String::as_str).collect();
            let case = case("strategy/loop", [a, a + more], 12, &post);
            let region = (a..=a + more).map(|step| format!("o{step}")).collect();
            let repeats = naive(&region, &case.post, length(&case));
            prop_assert_eq!(super::repeats(&case), Ok(repeats));
        }
    }
}
