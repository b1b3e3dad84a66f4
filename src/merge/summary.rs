//! Counts of a scan: its runs, its flagged runs, and for each detector and model, how often the detector fires and
//! at what cost.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::flagged::union;
use super::ids::{Ids, Repeats};
use crate::detect::Cost;
use crate::scan::TraceRecord;

/// Counts over the runs of a scan by detector and model, and the cost of findings.
///
/// ```
/// use wrongturn::{Scanner, default_detectors, merge::ScanSummary, scan::ScanOptions};
///
/// let scanner = Scanner::new(default_detectors(), ScanOptions::default())?;
/// let scanned = scanner.scan_slice("a.jsonl".as_ref(), b"{\"id\": \"a\", \"messages\": []}");
/// let mut summary = ScanSummary::default();
/// scanned.traces.iter().for_each(|record| summary.add(record));
/// assert_eq!((summary.runs(), summary.flagged()), (1, 0));
/// # Ok::<(), wrongturn::Error>(())
/// ```
///
/// Summaries can be merged. The result depends neither on the order in which runs were counted nor on how they
/// were split.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ScanSummary {
    runs: u64,
    flagged: u64,
    /// The steps inside findings of any detector, and all steps.
    steps: CostPart,
    ids: Ids,
    pub(crate) counts: BTreeMap<DetectorOfModel, Counts>,
    detectors: BTreeSet<Cow<'static, str>>,
    /// The models counted separately.
    models: BTreeSet<Arc<str>>,
}

/// Maximum number of models counted separately. These are the first by name, so the choice does not depend on the
/// order of merging.
const MOST_MODELS: usize = 1000;

/// The name under which the runs of all other models are counted.
const OTHER: &str = "(other)";

/// The id of a detector, and the model of the runs that it judged.
pub(crate) type DetectorOfModel = (Cow<'static, str>, Option<Arc<str>>);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Counts {
    pub(crate) traces: u64,
    pub(crate) applicable: u64,
    pub(crate) detected: u64,
    pub(crate) steps: CostPart,
    pub(crate) duration_ns: CostPart,
    pub(crate) tokens: CostPart,
}

/// An amount inside findings and in total, over the runs that record it. In JSON: `[inside, all]`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u64, u64)", into = "(u64, u64)")]
pub(crate) struct CostPart {
    pub(crate) inside: u64,
    pub(crate) all: u64,
}

impl CostPart {
    fn of(inside: Option<u64>, all: Option<u64>) -> Self {
        all.map_or(Self::default(), |all| Self { inside: inside.unwrap_or(0).min(all), all })
    }

    fn add(&mut self, other: Self) {
        self.inside = self.inside.saturating_add(other.inside);
        self.all = self.all.saturating_add(other.all);
    }

    pub(crate) fn is_known(self) -> bool {
        self.all > 0
    }
}

impl From<(u64, u64)> for CostPart {
    fn from((inside, all): (u64, u64)) -> Self {
        Self { inside, all }
    }
}

impl From<CostPart> for (u64, u64) {
    fn from(part: CostPart) -> Self {
        (part.inside, part.all)
    }
}

impl Counts {
    pub(crate) fn add(&mut self, other: Self) {
        self.traces = self.traces.saturating_add(other.traces);
        self.applicable = self.applicable.saturating_add(other.applicable);
        self.detected = self.detected.saturating_add(other.detected);
        self.steps.add(other.steps);
        self.duration_ns.add(other.duration_ns);
        self.tokens.add(other.tokens);
    }
}

impl ScanSummary {
    /// Counts a run, its verdicts, and the cost inside its findings.
    pub fn add(&mut self, record: &TraceRecord) {
        self.runs = self.runs.saturating_add(1);
        self.ids.add(record);
        let is_flagged = record.verdicts.iter().any(|(_, verdict)| verdict.detected() == Some(true));
        self.flagged = self.flagged.saturating_add(is_flagged.into());
        let findings = record.verdicts.iter().flat_map(|(_, verdict)| verdict.findings());
        let inside = union(findings.map(|finding| (finding.first, finding.last)).collect());
        self.steps.add(CostPart::of(Some(inside), Some(record.cost.steps)));
        let model = self.counted_as(record.metadata.model.as_ref());
        for (detector, verdict) in &record.verdicts {
            let detected = verdict.detected();
            let inside = record.costs_inside.iter().find(|(id, _)| id == detector).map(|(_, cost)| *cost);
            let part = |of: fn(&Cost) -> Option<u64>| match detected {
                Some(_) => CostPart::of(inside.as_ref().and_then(of), of(&record.cost)),
                None => CostPart::default(),
            };
            self.counts_of(detector.clone(), model.clone()).add(Counts {
                traces: 1,
                applicable: u64::from(detected.is_some()),
                detected: u64::from(detected == Some(true)),
                steps: part(|cost| Some(cost.steps)),
                duration_ns: part(|cost| cost.duration_ns),
                tokens: part(Cost::tokens),
            });
        }
    }

    /// Adds the counts of another split.
    pub fn merge(&mut self, other: &Self) {
        self.runs = self.runs.saturating_add(other.runs);
        self.flagged = self.flagged.saturating_add(other.flagged);
        self.steps.add(other.steps);
        self.ids.merge(&other.ids);
        for ((detector, model), counts) in &other.counts {
            self.add_counts(detector.clone(), model.as_ref(), *counts);
        }
    }

    fn add_counts(&mut self, detector: Cow<'static, str>, model: Option<&Arc<str>>, counts: Counts) {
        let model = self.counted_as(model);
        self.counts_of(detector, model).add(counts);
    }

    fn counts_of(&mut self, detector: Cow<'static, str>, model: Option<Arc<str>>) -> &mut Counts {
        if !self.detectors.contains(&detector) {
            self.detectors.insert(detector.clone());
        }
        self.counts.entry((detector, model)).or_default()
    }

    /// Returns the model name under which a run is counted. Once there are [`MOST_MODELS`] models, a new one that
    /// sorts before the last replaces it, and any other counts as [`OTHER`].
    fn counted_as(&mut self, model: Option<&Arc<str>>) -> Option<Arc<str>> {
        let model = model?;
        if &**model == OTHER || self.models.contains(model) {
            return Some(Arc::clone(model));
        }
        let is_first = self.models.last().is_none_or(|last| model < last);
        if self.models.len() >= MOST_MODELS {
            if !is_first {
                return Some(OTHER.into());
            }
            if let Some(last) = self.models.pop_last() {
                self.count_as_other(&last);
            }
        }
        self.models.insert(Arc::clone(model));
        Some(Arc::clone(model))
    }

    fn count_as_other(&mut self, model: &Arc<str>) {
        for detector in &self.detectors {
            if let Some(counts) = self.counts.remove(&(detector.clone(), Some(Arc::clone(model)))) {
                self.counts.entry((detector.clone(), Some(OTHER.into()))).or_default().add(counts);
            }
        }
    }

    /// Returns true if some models are counted together as `(other)`.
    #[must_use]
    pub fn has_other_models(&self) -> bool {
        self.counts.keys().any(|(_, model)| model.as_deref() == Some(OTHER))
    }

    /// Returns the number of runs.
    #[must_use]
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// Returns the number of runs in which at least one detector fires.
    #[must_use]
    pub fn flagged(&self) -> u64 {
        self.flagged
    }

    /// Returns the number of steps inside findings of any detector, and the number of all steps.
    #[must_use]
    pub fn steps(&self) -> (u64, u64) {
        self.steps.into()
    }

    /// Returns, for each detector, the number of runs that it flags and the number of runs to which it applies.
    #[must_use]
    pub fn detectors(&self) -> BTreeMap<&str, (u64, u64)> {
        let counts = |(detector, counts): (_, Counts)| (detector, (counts.detected, counts.applicable));
        self.totals().into_iter().map(counts).collect()
    }

    pub(crate) fn totals(&self) -> BTreeMap<&str, Counts> {
        let mut totals: BTreeMap<&str, Counts> = BTreeMap::new();
        for ((detector, _), counts) in &self.counts {
            totals.entry(detector).or_default().add(*counts);
        }
        totals
    }

    /// Returns counts of runs that share an id. All are 0 unless the scan computes digests
    /// ([`ScanOptions::digests`](crate::scan::ScanOptions)).
    #[must_use]
    pub fn repeats(&self) -> Repeats {
        self.ids.repeats()
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written<'s> {
    runs: u64,
    flagged: u64,
    steps: CostPart,
    ids: Cow<'s, Ids>,
    detectors: Vec<(Cow<'s, str>, Option<Arc<str>>, Counts)>,
}

impl Serialize for ScanSummary {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let line = |((detector, model), counts): (&DetectorOfModel, &Counts)| {
            (Cow::Owned(detector.to_string()), model.clone(), *counts)
        };
        Written {
            runs: self.runs,
            flagged: self.flagged,
            steps: self.steps,
            ids: Cow::Borrowed(&self.ids),
            detectors: self.counts.iter().map(line).collect(),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ScanSummary {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Written { runs, flagged, steps, ids, detectors } = Written::deserialize(deserializer)?;
        let mut summary = Self { runs, flagged, steps, ids: ids.into_owned(), ..Self::default() };
        for (detector, model, counts) in detectors {
            summary.add_counts(Cow::Owned(detector.into_owned()), model.as_ref(), counts);
        }
        Ok(summary)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_beyond_the_first_are_counted_together_in_any_order() {
        let of = |models: &mut dyn Iterator<Item = usize>| {
            let mut summary = ScanSummary::default();
            for model in models {
                let model: Arc<str> = format!("m{model:04}").into();
                summary.add_counts(
                    Cow::Borrowed("loop"),
                    Some(&model),
                    Counts { traces: 1, ..Counts::default() },
                );
            }
            summary
        };
        let all = of(&mut (0..2500));
        assert_eq!(all.counts.len(), MOST_MODELS + 1);
        let other = all.counts.get(&(Cow::Borrowed("loop"), Some(OTHER.into())));
        assert_eq!(other.map(|counts| counts.traces), Some(1500));
        assert!(all.has_other_models());
        assert_eq!(of(&mut (0..2500).rev()), all);
        let mut merged = of(&mut (1200..2500));
        merged.merge(&of(&mut (0..1200).rev()));
        assert_eq!(merged, all);
    }
}
