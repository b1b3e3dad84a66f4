//! The parts of the loops of a segment: chains of equal calls and runs of failures that have qualified. Those that
//! overlap are one loop.

use super::loop_::LoopKind;
use super::loop_names::Id;

/// The place of a loop: positions in the segment, and the source indices of the steps there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) kind: LoopKind,
    /// How often the call was made, or the tool failed; of several parts, that of the earlier one.
    pub(super) count: u64,
    /// The call that repeats, or one of those that fail.
    pub(super) key: u32,
    pub(super) first: usize,
    pub(super) last: usize,
    pub(super) first_step: u64,
    pub(super) last_step: u64,
    /// The step at which it was reported online.
    pub(super) reported: Option<u64>,
    /// Those of other loops that were reported and have become part of this one.
    pub(super) merged: Vec<u64>,
}

/// Parts in the order in which they qualified.
#[derive(Debug, Default)]
pub(super) struct Parts {
    list: Vec<Span>,
    /// Position at which the latest of them ends.
    end: Option<usize>,
}

impl Parts {
    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.end = None;
    }

    /// About how many bytes are held.
    pub(super) fn memory(&self) -> usize {
        self.list.capacity() * size_of::<Span>()
    }

    /// The position at which the latest part ends.
    pub(super) fn end(&self) -> Option<usize> {
        self.end
    }

    /// Puts down what has qualified, under the number that it has or now gets; gives the number of a new part.
    pub(super) fn put(&mut self, number: &mut Option<Id>, span: Span) -> Option<Id> {
        self.end = self.end.max(Some(span.last));
        if let Some(part) = number.and_then(|number| self.list.get_mut(number.get())) {
            (part.last, part.last_step, part.count) = (span.last, span.last_step, span.count);
            return None;
        }
        *number = Some(Id::new(self.list.len()));
        self.list.push(span);
        *number
    }

    /// Whether a part begins behind this position.
    pub(super) fn is_apart(&self, part: Id, end: Option<usize>) -> bool {
        self.list.get(part.get()).is_some_and(|part| end.is_none_or(|end| part.first > end))
    }

    /// Notes that a part is reported at this step.
    pub(super) fn report(&mut self, part: Id, step: u64) -> Option<Span> {
        let part = self.list.get_mut(part.get())?;
        part.reported = Some(step);
        Some(part.clone())
    }

    /// The loops: parts that overlap are one.
    pub(super) fn joined(&self) -> Vec<Span> {
        let mut parts = self.list.clone();
        // Of parts that begin together, the repeated call gives the kind.
        parts.sort_by_key(|part| (part.first, part.kind));
        let mut spans: Vec<Span> = Vec::new();
        for part in parts {
            match spans.last_mut() {
                Some(span) if part.first <= span.last => {
                    if part.last > span.last {
                        (span.last, span.last_step) = (part.last, part.last_step);
                    }
                    span.merged.extend(part.reported);
                }
                _ => spans.push(part),
            }
        }
        for span in &mut spans {
            // The part that qualified first was reported; later ones where they did not overlap yet.
            span.merged.extend(span.reported);
            span.merged.sort_unstable();
            span.reported = (!span.merged.is_empty()).then(|| span.merged.remove(0));
        }
        spans
    }
}
