//! Explains verdicts by experiment: runs the rule again on a changed trace or with a changed configuration, and keeps
//! the changes that flip the verdict. The search does not depend on any particular rule.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::{Map, Number, Value};

use super::{Counterfactual, Explanation, Finding, Fold, Verdict};
use crate::trace::{Actors, Digest, DigestMap, Status, Step, Trace};

/// Maximum number of times that the rule runs over the trace, after the first that gave the verdict.
const MAX_RUNS: u32 = 200;
const MAX_NEAR_MISSES: usize = 3;
const MAX_REPEATS: u64 = 16;
/// Maximum number of failed steps, or of findings, that one change covers.
const MAX_TOGETHER: usize = 32;
const FLOAT_UNITS: f64 = 1e4;

/// Starts a fold of the rule under a change; `None` if the rule rejects the changed configuration.
type Start<'a> = dyn Fn(&Counterfactual) -> Option<Box<dyn Fold>> + 'a;

/// Explains the verdict of `fold` on a trace. `config` is empty if unknown.
pub(super) fn explain(
    detector: Cow<'static, str>,
    trace: &Trace,
    config: &Map<String, Value>,
    mut fold: Box<dyn Fold>,
    start: &Start<'_>,
) -> Explanation {
    trace.steps().for_each(|step| fold.observe(&step));
    let verdict = fold.verdict();
    let (detected, near_misses, counterfactuals) = (verdict.detected(), Vec::new(), Vec::new());
    let not_applicable = match &verdict {
        Verdict::NotApplicable { reason } => Some(reason.clone()),
        Verdict::Judged(_) => None,
    };
    let mut explanation = Explanation { detector, detected, not_applicable, near_misses, counterfactuals };
    let Some(detected) = detected else { return explanation };
    explanation.near_misses = fold.near_misses();
    explanation.near_misses.truncate(MAX_NEAR_MISSES);
    let actors = config.get("actors").and_then(|actors| serde_json::from_value(actors.clone()).ok());
    let actors = actors.unwrap_or(Actors::All);
    let actions: Vec<_> = trace.steps().filter(|step| step.action_of(actors).is_some()).collect();
    let mut search = Search { trace, start, detected, runs: MAX_RUNS, found: Vec::new() };
    if detected {
        search.succeed(&actions, verdict.findings());
    } else {
        let near = explanation.near_misses.iter().filter_map(|near| near.steps.map(|(_, last)| last));
        search.repeat(&actions, near.collect());
    }
    for (field, value) in config {
        search.vary(value, &|value| Counterfactual::Config([(field.clone(), value)].into_iter().collect()));
    }
    if detected && verdict.findings().len() <= MAX_TOGETHER {
        search.remove(verdict.findings());
    }
    explanation.counterfactuals = search.found;
    explanation
}

/// A search for changes that flip a verdict.
struct Search<'a> {
    trace: &'a Trace,
    start: &'a Start<'a>,
    detected: bool,
    /// Number of remaining runs of the rule.
    runs: u32,
    found: Vec<Counterfactual>,
}

impl Search<'_> {
    /// Runs the rule and returns true if a change flips the verdict. Returns false if the rule rejects the
    /// change or no runs are left.
    fn flips(&mut self, change: &Counterfactual) -> bool {
        let Some(mut fold) = (self.start)(change).filter(|_| self.runs > 0) else { return false };
        self.runs -= 1;
        let (trace, observe) = (self.trace, |step: Step<'_>| fold.observe(&step));
        match change {
            Counterfactual::Config(_) => trace.steps().for_each(observe),
            Counterfactual::Repeat { step, times } => trace.with_repeats(*step, *times).for_each(observe),
            Counterfactual::Succeed { steps } => trace.with_successes(steps).for_each(observe),
            Counterfactual::Remove { ranges } => trace.without(ranges).for_each(observe),
        }
        fold.verdict().detected() == Some(!self.detected)
    }

    /// Returns the smallest number up to `most` whose change flips the verdict, by doubling and bisection.
    /// Assumes that all numbers from there up to `most` flip it too.
    fn smallest(&mut self, most: u64, change: &dyn Fn(u64) -> Counterfactual) -> Option<u64> {
        if most == 0 || !self.flips(&change(most)) {
            return None;
        }
        let (mut below, mut flipping) = (0, most);
        while below + 1 < flipping {
            let number = below.saturating_mul(2).max(1).min(below.midpoint(flipping));
            if self.flips(&change(number)) { flipping = number } else { below = number }
        }
        Some(flipping)
    }

    /// Records the change to these items if it flips the verdict, without the items that are not needed.
    fn fewest<T: Clone>(&mut self, mut items: Vec<T>, change: &dyn Fn(Vec<T>) -> Counterfactual) {
        if items.is_empty() || !self.flips(&change(items.clone())) {
            return;
        }
        let mut place = 0;
        while place < items.len() && items.len() > 1 {
            let mut fewer = items.clone();
            fewer.remove(place);
            if self.flips(&change(fewer.clone())) { items = fewer } else { place += 1 }
        }
        self.found.push(change(items));
    }

    /// Records the step that flips the verdict with the fewest repeats. The candidates are the ends of near misses,
    /// the last action, the last failed action, and the most frequent call.
    fn repeat(&mut self, actions: &[Step<'_>], mut candidates: Vec<u64>) {
        let mut counts: DigestMap<u64> = DigestMap::default();
        actions.iter().filter_map(call).for_each(|call| *counts.entry(call).or_default() += 1);
        let frequent = actions.iter().max_by_key(|step| call(step).and_then(|call| counts.get(&call)));
        let failed = actions.iter().rfind(|step| has_failed(step));
        candidates.extend([actions.last(), failed, frequent].into_iter().flatten().map(Step::index));
        let (mut best, mut most) = (None, MAX_REPEATS);
        for step in candidates {
            let repeat = |times| Counterfactual::Repeat { step, times };
            if let Some(times) = self.smallest(most, &repeat) {
                (best, most) = (Some(repeat(times)), times - 1);
            }
        }
        self.found.extend(best);
    }

    /// Records the fewest failed actions inside the findings that flip the verdict if they are repeated with success.
    /// Of equal calls, only the last is tried.
    fn succeed(&mut self, actions: &[Step<'_>], findings: &[Finding]) {
        let inside = |step: u64| findings.iter().any(|found| (found.first..=found.last).contains(&step));
        let failed = actions.iter().rev().filter(|step| has_failed(step) && inside(step.index()));
        let mut known = BTreeSet::new();
        let last = failed.filter(|step| call(step).is_none_or(|call| known.insert(call)));
        let steps: BTreeSet<u64> = last.map(Step::index).take(MAX_TOGETHER).collect();
        self.fewest(steps.into_iter().collect(), &|steps| Counterfactual::Succeed { steps });
    }

    /// Records the fewest last steps of the findings whose removal flips the verdict: the same number for each finding,
    /// without the findings that are not needed.
    fn remove(&mut self, findings: &[Finding]) {
        let steps: Vec<u64> = self.trace.steps().map(|step| step.index()).collect();
        let inside = findings.iter().filter_map(|found| {
            let from = steps.partition_point(|step| *step < found.first);
            steps.get(from..steps.partition_point(|step| *step <= found.last))
        });
        let inside: Vec<&[u64]> = inside.collect();
        let longest = inside.iter().map(|steps| steps.len() as u64).max().unwrap_or(0);
        let tails = |length: u64| {
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            let tails = inside.iter().filter_map(|steps| steps.get(steps.len().saturating_sub(length)..));
            tails.filter_map(|tail| tail.first().copied().zip(tail.last().copied())).collect::<Vec<_>>()
        };
        let remove = |ranges| Counterfactual::Remove { ranges };
        if let Some(length) = self.smallest(longest, &|length| remove(tails(length))) {
            self.fewest(tails(length), &remove);
        }
    }

    /// Varies one value of the configuration: a number, or the numbers of an object. A null limit is treated
    /// as a number above every count. If nothing was detected, lists are also emptied and objects set to
    /// null.
    fn vary(&mut self, value: &Value, change: &dyn Fn(Value) -> Counterfactual) {
        let last = self.trace.steps().next_back().map_or(0, |step| step.index());
        let above = i64::from(u32::try_from(last).unwrap_or(u32::MAX)) + 2;
        let switched_off = match value {
            Value::Number(number) => return self.vary_number(number, above, change),
            Value::Null => return self.vary_number(&above.into(), above, change),
            Value::Object(fields) => {
                for (name, value) in fields.iter().filter(|(_, value)| value.is_number()) {
                    self.vary(value, &|value| {
                        let mut fields = fields.clone();
                        fields.insert(name.clone(), value);
                        change(Value::Object(fields))
                    });
                }
                change(Value::Null)
            }
            Value::Array(items) if !items.is_empty() => change(Value::Array(Vec::new())),
            _ => return,
        };
        if !self.detected && self.flips(&switched_off) {
            self.found.push(switched_off);
        }
    }

    /// Records the nearest value below a number, and the nearest above it, that the rule accepts and that flips the
    /// verdict. The distance is at most the number's absolute value plus `above`. A number of at least 0 never becomes
    /// negative. Floats change in steps of `1 / FLOAT_UNITS`.
    #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "saturates; below 2^53")]
    fn vary_number(&mut self, number: &Number, above: i64, change: &dyn Fn(Value) -> Counterfactual) {
        let float = number.as_f64().map_or(0, |float| (float * FLOAT_UNITS).round() as i64);
        let (base, unit) = number.as_i64().map_or((float, FLOAT_UNITS as i64), |integer| (integer, 1));
        let reach = base.saturating_abs().saturating_add(above.saturating_mul(unit));
        for (sign, far) in [(-1, if base >= 0 { base } else { reach }), (1, reach)] {
            let at = |distance: u64| {
                let value = base.saturating_add(sign * distance.cast_signed());
                change(if unit == 1 { value.into() } else { (value as f64 / FLOAT_UNITS).into() })
            };
            // The farthest value that the rule accepts.
            let accepts = |distance| (self.start)(&at(distance)).is_some();
            let far = far.unsigned_abs();
            let (mut most, mut rejected) = if accepts(far) { (far, far) } else { (0, far) };
            while most + 1 < rejected {
                let middle = most.midpoint(rejected);
                if accepts(middle) { most = middle } else { rejected = middle }
            }
            let nearest = self.smallest(most, &at);
            self.found.extend(nearest.map(at));
        }
    }
}

/// Returns a digest that equal calls share; `None` if the step is not a call or its arguments were not recorded.
fn call(step: &Step<'_>) -> Option<Digest> {
    step.digested(Actors::All).and_then(|(_, digests)| digests.call())
}

fn has_failed(step: &Step<'_>) -> bool {
    step.action_of(Actors::All).is_some_and(|action| action.status == Status::Error)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use serde_json::json;

    use super::*;
    use crate::detect::Judgement;

    /// Returns a given verdict and counts its calls.
    #[derive(Debug)]
    struct Told(bool, Arc<AtomicU32>);

    impl Fold for Told {
        fn observe(&mut self, _step: &Step<'_>) {}

        fn verdict(&self) -> Verdict {
            self.1.fetch_add(1, Ordering::Relaxed);
            Verdict::Judged(Judgement { detected: self.0, ..Judgement::default() })
        }
    }

    #[test]
    fn the_runs_of_a_rule_are_bounded() {
        let runs = Arc::new(AtomicU32::new(0));
        let config: Map<String, Value> =
            (0..50).map(|field| (format!("f{field:02}"), json!(1_000_000))).collect();
        let start = |change: &Counterfactual| {
            let Counterfactual::Config(fields) = change else { return None };
            let detected = fields.values().any(|value| value.as_i64() < Some(1000));
            Some(Box::new(Told(detected, Arc::clone(&runs))) as Box<dyn Fold>)
        };
        let fold = Box::new(Told(false, Arc::clone(&runs)));
        let explanation = explain("told".into(), &Trace::default(), &config, fold, &start);
        assert_eq!(runs.load(Ordering::Relaxed), MAX_RUNS + 1);
        let first = Counterfactual::Config([("f00".to_owned(), json!(999))].into_iter().collect());
        assert_eq!(explanation.counterfactuals.first(), Some(&first));
    }
}
