//! The cost of a finding: the usage of the steps in its range.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::finding::{Finding, Verdict};
use crate::trace::{SpanId, Step, Usage, lean_push};

/// Time and tokens spent on the steps of a finding, as far as recorded. No verdict depends on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Cost {
    /// Steps in the range.
    pub steps: u64,
    /// The sum of the recorded durations, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ns: Option<u64>,
    /// Input tokens of the turns in the range, each turn counted once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Output tokens of these turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
}

impl Cost {
    /// Returns the sum of the input and output tokens, or the one that is known; `None` if neither is.
    #[must_use]
    pub fn tokens(&self) -> Option<u64> {
        plus(self.input_tokens, self.output_tokens)
    }

    fn add_range(&mut self, meter: &Meter, range: Option<(u64, u64)>) {
        let Some((first, last)) = range else { return };
        self.steps = self.steps.saturating_add(meter.steps_within(first, last));
        let Some(cost) = meter.cost(first, last) else { return };
        self.duration_ns = plus(self.duration_ns, cost.duration_ns);
        self.input_tokens = plus(self.input_tokens, cost.input_tokens);
        self.output_tokens = plus(self.output_tokens, cost.output_tokens);
    }
}

/// Adds the values that are known; `None` if neither is.
fn plus(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.saturating_add(other)),
        (one, other) => one.or(other),
    }
}

/// Sums usage along a trace. Without usage and spans it needs almost no memory.
///
/// A turn is a sequence of steps with one turn number. Its tokens are those of its first step that records any.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    steps: u64,
    /// The index of the first step and of each step after a gap in the indices, with the number of steps before it.
    stretches: Vec<(u64, u64)>,
    next_index: u64,
    /// The usage of each step that has any.
    marks: Vec<Mark>,
    /// The spans of steps, with the indices of the steps.
    spans: Vec<(u64, SpanId)>,
}

#[derive(Debug, Clone, Copy)]
struct Mark {
    index: u64,
    turn: u64,
    duration: u64,
    /// The tokens of the turn, as far as steps up to this one record them.
    input: u64,
    output: u64,
    /// Whether duration, input and output are known.
    known: [bool; 3],
}

const _: () = assert!(size_of::<Mark>() <= 48);

impl Mark {
    fn duration(&self) -> Option<u64> {
        self.known[0].then_some(self.duration)
    }

    fn input(&self) -> Option<u64> {
        self.known[1].then_some(self.input)
    }

    fn output(&self) -> Option<u64> {
        self.known[2].then_some(self.output)
    }
}

impl Meter {
    pub(crate) fn restart(&mut self) {
        self.steps = 0;
        self.stretches.clear();
        self.next_index = 0;
        self.marks.clear();
        self.spans.clear();
    }

    #[inline]
    pub(crate) fn observe(&mut self, step: &Step<'_>) {
        if self.steps == 0 || step.index() != self.next_index {
            lean_push(&mut self.stretches, (step.index(), self.steps));
        }
        self.steps += 1;
        self.next_index = step.index().saturating_add(1);
        if let Some(span) = step.span() {
            lean_push(&mut self.spans, (step.index(), span));
        }
        if let Some(usage) = step.usage().filter(|usage| !usage.is_empty()) {
            self.mark(step, *usage);
        }
    }

    fn mark(&mut self, step: &Step<'_>, usage: Usage) {
        // Sources may repeat the tokens of a turn on each of its steps, so only the first ones count.
        let before = self.marks.last().filter(|before| before.turn == step.turn());
        let input = before.and_then(Mark::input).or(usage.input_tokens);
        let output = before.and_then(Mark::output).or(usage.output_tokens);
        let mark = Mark {
            index: step.index(),
            turn: step.turn(),
            duration: usage.duration_ns.unwrap_or_default(),
            input: input.unwrap_or_default(),
            output: output.unwrap_or_default(),
            known: [usage.duration_ns.is_some(), input.is_some(), output.is_some()],
        };
        lean_push(&mut self.marks, mark);
    }

    /// Returns the cost of the trace so far.
    pub(crate) fn total(&self) -> Cost {
        self.cost(0, u64::MAX).unwrap_or(Cost { steps: self.steps, ..Cost::default() })
    }

    /// Returns the cost of the steps inside these ranges, counting each step once. The ranges must be sorted.
    pub(crate) fn inside(&self, ranges: impl IntoIterator<Item = (u64, u64)>) -> Cost {
        let mut sum = Cost::default();
        let mut open: Option<(u64, u64)> = None;
        for (start, end) in ranges {
            open = Some(match open {
                Some((first, last)) if start <= last.saturating_add(1) => (first, last.max(end)),
                before => {
                    sum.add_range(self, before);
                    (start, end)
                }
            });
        }
        sum.add_range(self, open);
        sum
    }

    fn steps_within(&self, first: u64, last: u64) -> u64 {
        let before = first.checked_sub(1).map_or(0, |at| self.steps_up_to(at));
        self.steps_up_to(last).saturating_sub(before)
    }

    /// Returns the cost of the steps from `first` to `last`; `None` if none of them has usage.
    pub(crate) fn cost(&self, first: u64, last: u64) -> Option<Cost> {
        let start = self.marks.partition_point(|mark| mark.index < first);
        let end = self.marks.partition_point(|mark| mark.index <= last);
        let marks = self.marks.get(start..end).filter(|marks| !marks.is_empty())?;
        let (mut duration, mut input, mut output) = (None, None, None);
        let mut next = marks.iter().peekable();
        while let Some(mark) = next.next() {
            duration = plus(duration, mark.duration());
            // Each mark holds the tokens of its turn so far, so only the last mark of a turn in the range is added.
            if next.peek().is_none_or(|after| after.turn != mark.turn) {
                input = plus(input, mark.input());
                output = plus(output, mark.output());
            }
        }
        Some(Cost {
            steps: self.steps_within(first, last),
            duration_ns: duration,
            input_tokens: input,
            output_tokens: output,
        })
    }

    /// Returns the number of steps up to and including this index.
    fn steps_up_to(&self, index: u64) -> u64 {
        let behind = self.stretches.partition_point(|(start, _)| *start <= index);
        let Some((start, before)) = behind.checked_sub(1).and_then(|at| self.stretches.get(at)) else {
            return 0;
        };
        let end = self.stretches.get(behind).map_or(self.steps, |(_, before)| *before);
        end.min(before.saturating_add(index - start).saturating_add(1))
    }

    fn span(&self, index: u64) -> Option<SpanId> {
        let place = self.spans.binary_search_by_key(&index, |(step, _)| *step).ok()?;
        self.spans.get(place).map(|(_, span)| *span)
    }

    /// Returns an estimate of the bytes held on the heap.
    pub(crate) fn memory(&self) -> usize {
        self.stretches.capacity() * size_of::<(u64, u64)>()
            + self.marks.capacity() * size_of::<Mark>()
            + self.spans.capacity() * size_of::<(u64, SpanId)>()
    }

    /// Sets the cost of a finding, and its span to that of its last step.
    pub(crate) fn complete(&self, finding: &mut Finding) {
        finding.cost = self.cost(finding.first, finding.last);
        finding.span = self.span(finding.last);
    }

    /// Sorts the findings of a verdict, makes their ids unique, and sets their costs and spans.
    pub(crate) fn seal(&self, mut verdict: Verdict) -> Verdict {
        if let Verdict::Judged(judgement) = &mut verdict {
            // The sort is stable: findings with the same range keep the order in which the rule reported them.
            judgement.findings.sort_by_key(|finding| (finding.first, finding.last));
            if judgement.findings.len() > 1 {
                number_twins(&mut judgement.findings);
            }
            for finding in &mut judgement.findings {
                self.complete(finding);
            }
        }
        verdict
    }
}

/// Makes the ids of findings unique: the second finding with an id gets the suffix `.2`, and so on.
fn number_twins(findings: &mut [Finding]) {
    let mut taken = BTreeMap::new();
    for finding in findings {
        let twins = taken.entry(finding.id.clone()).or_insert(0_u64);
        *twins += 1;
        if *twins > 1 {
            finding.id = format!("{}.{twins}", finding.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Action, Actor, StepInput, StepValidator};

    type Given = (u64, u64, Option<(u64, u64)>);

    /// Steps as (index, turn, (duration, input tokens)); output tokens are a tenth of the input.
    fn meter(steps: &[Given]) -> Meter {
        let (mut meter, mut gate) = (Meter::default(), StepValidator::new());
        for &(index, turn, used) in steps {
            let mut input = StepInput::action(Actor::Agent, Action::new("t")).at(index).turn(turn);
            if let Some((duration, tokens)) = used {
                input = input.usage(Usage {
                    duration_ns: Some(duration),
                    input_tokens: Some(tokens),
                    output_tokens: Some(tokens / 10),
                    cached_tokens: None,
                });
            }
            meter.observe(&gate.admit(input).unwrap());
        }
        meter
    }

    #[test]
    fn a_turn_counts_once_wherever_the_range_cuts_it() {
        let meter = meter(&[
            (3, 0, None),
            (4, 1, Some((5, 100))),
            (5, 1, Some((6, 100))),
            (9, 2, Some((7, 300))),
            (10, 2, Some((8, 300))),
            (11, 3, None),
        ]);
        let cost = |first, last| {
            let cost = meter.cost(first, last)?;
            Some((cost.steps, cost.duration_ns?, cost.input_tokens?, cost.output_tokens?))
        };
        assert_eq!(cost(0, 99), Some((6, 26, 400, 40)));
        assert_eq!(cost(5, 9), Some((2, 13, 400, 40)));
        assert_eq!(cost(5, 5), Some((1, 6, 100, 10)));
        assert_eq!(cost(4, 8), Some((2, 11, 100, 10)));
        assert_eq!(cost(10, 11), Some((2, 8, 300, 30)));
        assert_eq!((cost(3, 3), cost(6, 8), cost(11, 11)), (None, None, None));
    }

    #[test]
    fn steps_of_several_findings_count_once() {
        let meter = meter(&[
            (3, 0, None),
            (4, 1, Some((5, 100))),
            (5, 1, Some((6, 100))),
            (9, 2, Some((7, 300))),
            (10, 3, Some((8, 200))),
        ]);
        let inside = |places: &[(u64, u64)]| {
            let cost = meter.inside(places.iter().copied());
            (cost.steps, cost.duration_ns, cost.tokens())
        };
        assert_eq!(inside(&[]), (0, None, None));
        assert_eq!(inside(&[(3, 3)]), (1, None, None));
        assert_eq!(inside(&[(3, 5), (4, 9)]), (4, Some(18), Some(440)));
        // Adjacent ranges in one turn: its tokens count once.
        assert_eq!(inside(&[(3, 4), (5, 5), (10, 10)]), (4, Some(19), Some(330)));
        let total = meter.total();
        assert_eq!((total.steps, total.duration_ns, total.tokens()), (5, Some(26), Some(660)));
        assert_eq!(Meter::default().total(), Cost::default());
    }

    /// Responses with messages only, with a message and two calls, and with a single call.
    #[test]
    fn messages_count_where_their_response_made_no_call() {
        let native = r#"{"version": 1, "steps": [
            {"turn": 0, "actor": "user", "text": "go"},
            {"turn": 1, "actor": "agent", "text": "hm", "usage": {"input_tokens": 100, "output_tokens": 1}},
            {"turn": 1, "actor": "agent", "text": "so", "usage": {"input_tokens": 100, "output_tokens": 1}},
            {"turn": 2, "actor": "user", "text": "on"},
            {"turn": 3, "actor": "agent", "text": "ok"},
            {"turn": 3, "name": "f", "usage": {"input_tokens": 20, "output_tokens": 2}},
            {"turn": 3, "name": "f", "usage": {"input_tokens": 20, "output_tokens": 2}},
            {"turn": 4, "name": "f", "usage": {"input_tokens": 3, "output_tokens": 3}}]}"#;
        let chat = r#"[
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": "hm", "usage": {"prompt_tokens": 100, "completion_tokens": 1}},
            {"role": "assistant", "content": "so"},
            {"role": "user", "content": "on"},
            {"role": "assistant", "content": "ok", "usage": {"prompt_tokens": 20, "completion_tokens": 2},
             "tool_calls": [{"id": "a", "function": {"name": "f"}}, {"id": "b", "function": {"name": "f"}}]},
            {"role": "tool", "tool_call_id": "a", "content": "x"},
            {"role": "assistant", "usage": {"prompt_tokens": 3, "completion_tokens": 3},
             "tool_calls": [{"id": "c", "function": {"name": "f"}}]}]"#;
        for input in [native, chat] {
            let (traces, reading) = crate::read_traces(input.as_bytes(), &crate::ReadOptions::default());
            assert!(reading.errors.is_empty(), "{:?}", reading.errors);
            let mut meter = Meter::default();
            traces[0].steps().for_each(|step| meter.observe(&step));
            let cost = |first, last| {
                let cost = meter.cost(first, last)?;
                Some((cost.input_tokens?, cost.output_tokens?))
            };
            assert_eq!(cost(0, 7), Some((123, 6)), "{input}");
            assert_eq!((cost(0, 3), cost(2, 2)), (Some((100, 1)), Some((100, 1))), "{input}");
            assert_eq!((cost(4, 7), cost(3, 4)), (Some((23, 5)), None), "{input}");
        }
    }

    #[test]
    fn without_usage_nothing_is_kept_and_sums_do_not_overflow() {
        let none = meter(&[(0, 0, None), (1, 1, None), (2, 2, None)]);
        assert!(none.marks.is_empty() && none.stretches.len() == 1 && none.cost(0, 2).is_none());
        let vast = meter(&[(0, 0, Some((u64::MAX, u64::MAX))), (u64::MAX, 1, Some((u64::MAX, u64::MAX)))]);
        let cost = vast.cost(0, u64::MAX).unwrap();
        assert_eq!((cost.steps, cost.duration_ns, cost.input_tokens), (2, Some(u64::MAX), Some(u64::MAX)));
    }
}
