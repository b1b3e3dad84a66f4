//! Decides whether a failure was avoided, as the benchmark's public code does. The rule depends on the task
//! and on the class of the failure.

use std::collections::{BTreeMap, BTreeSet};

use super::super::text::{first_word, norm};
use super::{EvolutionCase, EvolutionStep, Exclusion};
use crate::stats::float;

/// Length of a window of the original episode, in steps.
const WINDOW: usize = 10;
/// A failure counts as repeated if at least this share of a window's distinct observations is seen again.
const REVISITED: f64 = 0.6;
/// Cosine similarity of action counts at or above which a failure counts as repeated.
const ALIKE: f64 = 0.5;

/// Decides by the scorer that the published analyses used.
pub(super) fn avoided(case: &EvolutionCase) -> Result<bool, Exclusion> {
    let failing = failing(case)?;
    match (case.task.as_str(), case.target.class()) {
        ("bundled_web_shopping", _) => other_product(case, failing),
        (_, "operation") => other_result(case, failing),
        ("alfworld", _) => more_progress(case),
        _ => elsewhere(case, failing),
    }
}

/// Decides by the older scorer, which compares action counts unless the class is operation.
pub(super) fn avoided_by_cosine(case: &EvolutionCase) -> Result<bool, Exclusion> {
    let failing = failing(case)?;
    if case.target.class() == "operation" {
        return other_result(case, failing);
    }
    let then = case.original.get(failing.0..=failing.1).unwrap_or_default();
    Ok(cosine(&action_counts(then), &action_counts(&case.post)) < ALIKE)
}

/// Returns the first and last positions of the failure in the original episode. Like the public code, it
/// treats step numbers as positions.
fn failing(case: &EvolutionCase) -> Result<(usize, usize), Exclusion> {
    if case.post.is_empty() {
        return Err(Exclusion::NoPostSteps);
    }
    let first = usize::try_from(case.target.range.first).ok().filter(|first| *first < case.original.len());
    let first = first.ok_or(Exclusion::RangeOutsideEpisode)?;
    let last = usize::try_from(case.target.range.last).unwrap_or(usize::MAX);
    Ok((first, last.min(case.original.len() - 1)))
}

// ---- Web shopping: was another product chosen? ------------------------------------------------------------

fn other_product(case: &EvolutionCase, (first, last): (usize, usize)) -> Result<bool, Exclusion> {
    let question = usize::try_from(case.truncation).ok().and_then(|place| case.original.get(place));
    let products = question.map(|step| offered(step.obs.as_deref().unwrap_or_default())).unwrap_or_default();
    let product = |step: &EvolutionStep| products.get(&choice(step.action.as_deref()?)?);
    let failing = case.original.get(first..=last).unwrap_or_default();
    failing
        .iter()
        .find_map(|step| {
            let subtask = step.subtask_idx?;
            let then = product(step)?;
            let now = product(case.post.iter().find(|step| step.subtask_idx == Some(subtask))?)?;
            Some(then != now)
        })
        .ok_or(Exclusion::ProductUnknown)
}

/// Returns the normalized products in lines such as `[A] product` of an observation, keyed by letter.
fn offered(obs: &str) -> BTreeMap<char, String> {
    let product = |line: &str| {
        let letter = bracketed(line)?;
        let rest = line.get(3..)?;
        let product = norm(Some(rest));
        (rest.starts_with(char::is_whitespace) && !product.is_empty()).then_some((letter, product))
    };
    obs.lines().filter_map(product).collect()
}

/// Returns the letter that an action chooses outside its thoughts: the one after `selection:`, else the first in
/// brackets.
fn choice(action: &str) -> Option<char> {
    let said = without_thoughts(action);
    let behind_selection = || {
        let lower = said.to_ascii_lowercase();
        lower.match_indices("selection:").find_map(|(at, marker)| {
            let rest = said.get(at + marker.len()..)?;
            bracketed(rest.trim_start())
        })
    };
    behind_selection().or_else(|| said.char_indices().find_map(|(at, _)| bracketed(said.get(at..)?)))
}

/// Returns the letter A to E in brackets at the start of a text, upper-cased.
fn bracketed(text: &str) -> Option<char> {
    let mut chars = text.chars();
    let (open, letter, close) = (chars.next()?, chars.next()?.to_ascii_uppercase(), chars.next()?);
    (open == '[' && close == ']' && ('A'..='E').contains(&letter)).then_some(letter)
}

fn without_thoughts(action: &str) -> String {
    const OPEN: &str = "<think>";
    const CLOSE: &str = "</think>";
    let mut said = String::new();
    let mut rest = action;
    while let Some((before, thought)) = rest.split_once(OPEN) {
        let Some((_, after)) = thought.split_once(CLOSE) else { break };
        said += before;
        rest = after;
    }
    said + rest
}

// ---- Operation: did a new step have the result of a failing step? -----------------------------------------

fn other_result(case: &EvolutionCase, (first, last): (usize, usize)) -> Result<bool, Exclusion> {
    if ["jericho", "alfworld", "scienceworld", "babyai"].contains(&case.task.as_str()) {
        let place = places(&case.original).into_iter().nth(first);
        if !places(&case.post).into_iter().any(|visited| Some(visited) == place) {
            return Err(Exclusion::LocationNotVisited);
        }
    }
    let then = results(&case.original);
    let now = results(&case.post);
    let failing = then.get(first..=last).unwrap_or_default();
    Ok(!failing.iter().any(|then| now.iter().any(|now| same_result(then, now))))
}

/// Returns the first word of each step's action, and the next step's observation (`None` for the last).
fn results(steps: &[EvolutionStep]) -> Vec<(String, Option<String>)> {
    let after = steps.iter().skip(1).map(|step| Some(norm(step.obs.as_deref()))).chain([None]);
    let verb = |step: &EvolutionStep| {
        let action = norm(step.action.as_deref());
        first_word(&action).unwrap_or_default().to_owned()
    };
    steps.iter().map(verb).zip(after).collect()
}

fn same_result(then: &(String, Option<String>), now: &(String, Option<String>)) -> bool {
    match (&then.1, &now.1) {
        (Some(then), Some(now)) => then == now,
        _ => then.0 == now.0,
    }
}

/// Returns the place of each step: the first line of its observation, or the place of the previous step if
/// that line is empty, has 60 characters or more, or begins with "you ".
fn places(steps: &[EvolutionStep]) -> Vec<String> {
    let mut place = "unknown".to_owned();
    let mut places = Vec::with_capacity(steps.len());
    for step in steps {
        let obs = step.obs.as_deref().unwrap_or_default().trim();
        let heading = obs.lines().next().unwrap_or_default().to_lowercase();
        if !heading.is_empty() && heading.chars().count() < 60 && !heading.starts_with("you ") {
            place = heading;
        }
        places.push(place.clone());
    }
    places
}

// ---- Other classes ----------------------------------------------------------------------------------------

fn more_progress(case: &EvolutionCase) -> Result<bool, Exclusion> {
    let max = case.max_score.filter(|max| *max != 0.0).unwrap_or(1.0);
    let original = case.original_score.unwrap_or(0.0) / max;
    if original == 0.0 {
        return Err(Exclusion::OriginalProgressZero);
    }
    Ok(case.final_progress.unwrap_or(0.0) > original)
}

/// Returns true if, for every window of the original that starts within the failure, less than `REVISITED` of
/// its distinct observations were seen again. If none were, excludes the case, except in babyai.
fn elsewhere(case: &EvolutionCase, (first, last): (usize, usize)) -> Result<bool, Exclusion> {
    let original: Vec<String> = case.original.iter().map(|step| norm(step.obs.as_deref())).collect();
    let visited: BTreeSet<String> = case.post.iter().map(|step| norm(step.obs.as_deref())).collect();
    let mut most = 0.0;
    for window in original.windows(WINDOW).take(last + 1).skip(first) {
        let seen: BTreeSet<&String> = window.iter().collect();
        let again = seen.iter().filter(|obs| visited.contains(**obs)).count();
        most = f64::max(most, float(again as u64) / float(seen.len() as u64));
    }
    if most > 0.0 {
        Ok(most < REVISITED)
    } else if case.task == "babyai" {
        Ok(true)
    } else {
        Err(Exclusion::RegionNotVisited)
    }
}

fn action_counts(steps: &[EvolutionStep]) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for step in steps {
        *counts.entry(norm(step.action.as_deref())).or_default() += 1;
    }
    counts
}

fn cosine(left: &BTreeMap<String, u64>, right: &BTreeMap<String, u64>) -> f64 {
    let product: u64 = left.iter().map(|(action, count)| count * right.get(action).unwrap_or(&0)).sum();
    let square = |counts: &BTreeMap<String, u64>| float(counts.values().map(|count| count * count).sum());
    // The root of the product is exact if the cosine is rational, such as 0.5; a product of roots may not be.
    let lengths = (square(left) * square(right)).sqrt();
    if lengths > 0.0 { float(product) / lengths } else { 0.0 }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "exact by construction")]
mod tests {
    use super::*;

    #[test]
    fn a_letter_is_chosen_behind_selection_or_in_the_first_brackets() {
        for (action, letter) in [
            ("I pick [b]", Some('B')),
            ("[A] or [B]. Selection: [c]", Some('C')),
            ("selection:[E]", Some('E')),
            ("<think>[A]</think> selection: [D]", Some('D')),
            ("<think>[A]</think> none", None),
            ("<think>[A] never closed", Some('A')),
            ("Selection: none of [B]", Some('B')),
            ("[F] [AB] [ A ]", None),
            ("é[a]", Some('A')),
            ("", None),
        ] {
            assert_eq!(choice(action), letter, "{action}");
        }
    }

    #[test]
    fn products_are_offered_on_lines_of_their_own() {
        let found =
            offered("Pick:\n[A] Flour X\n[b]   Salt\n[C]None\nsay [D] no\n[A]  FLOUR Y \n[F] more\n[E] ");
        let expected = [('A', "flour y".to_owned()), ('B', "salt".to_owned())];
        assert_eq!(found, expected.into());
    }

    #[test]
    fn places_are_short_headings_or_those_before() {
        let step =
            |obs: &str| EvolutionStep { step: 0, obs: Some(obs.to_owned()), action: None, subtask_idx: None };
        let long = "x".repeat(60);
        let found =
            places(&[step("You see."), step("\n Attic\nDust."), step(""), step("You fall."), step(&long)]);
        assert_eq!(found, ["unknown", "attic", "attic", "attic", "attic"]);
    }

    #[test]
    fn cosines_are_exact_at_the_threshold() {
        let counts =
            |pairs: &[(&str, u64)]| pairs.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        let half = cosine(&counts(&[("a", 1), ("b", 1)]), &counts(&[("a", 2), ("c", 2)]));
        assert_eq!(half, 0.5);
        assert_eq!(cosine(&counts(&[]), &counts(&[("a", 2)])), 0.0);
    }
}
