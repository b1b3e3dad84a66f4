//! Counts of a check by model, agent, domain, task, format or a label.

use std::collections::BTreeMap;

use wrongturn::scan::TraceRecord;

use crate::common::findings::{counted, fired, percent};
use crate::common::inputs::group_name;
use crate::common::terminal::{self, note, wrapped};

/// Maximum number of groups counted separately. Runs of further groups are counted together.
const MOST_GROUPS: usize = 1000;

const UNKNOWN: &str = "(not named)";

/// The group of runs that belong to none of the first [`MOST_GROUPS`] groups.
const OTHER: &str = "(other)";

#[derive(Debug)]
pub(crate) struct Groups {
    by: String,
    groups: BTreeMap<String, Group>,
}

#[derive(Debug, Default)]
struct Group {
    runs: u64,
    flagged: u64,
    /// For each detector, the flagged runs and the runs to which it applies.
    detectors: BTreeMap<String, (u64, u64)>,
}

impl Groups {
    /// Groups by `model`, `agent`, `domain`, `task`, `format`, or the label with this name.
    pub(crate) fn by(what: &str) -> Self {
        Self { by: what.to_owned(), groups: BTreeMap::new() }
    }

    /// Reports on stderr if no run has the value.
    pub(crate) fn report_unknown(&self) {
        if self.groups.keys().eq([UNKNOWN]) {
            let expected = "model, agent, domain, task, format, or the name of a label";
            note(&format!("note: --group-by {}: no run has this; expected {expected}", self.by));
        }
    }

    pub(crate) fn add(&mut self, record: &TraceRecord) {
        let mut name = group_name(record, &self.by).unwrap_or(UNKNOWN);
        if self.groups.len() >= MOST_GROUPS && !self.groups.contains_key(name) {
            name = OTHER;
        }
        let group = self.groups.entry(name.to_owned()).or_default();
        group.runs += 1;
        let verdicts = record.verdicts.iter().filter_map(|(id, verdict)| Some((id, verdict.detected()?)));
        let mut is_flagged = false;
        for (id, detected) in verdicts {
            let (flagged, applicable) = group.detectors.entry(id.to_string()).or_default();
            *flagged += u64::from(detected);
            *applicable += 1;
            is_flagged |= detected;
        }
        group.flagged += u64::from(is_flagged);
    }

    /// Renders a line for each group, in descending order of the share of flagged runs.
    pub(crate) fn render(&self) -> String {
        let mut groups: Vec<(&String, &Group)> = self.groups.iter().collect();
        // Cross-multiplication compares the shares exactly.
        let weighed = |flagged: u64, runs: u64| u128::from(flagged) * u128::from(runs);
        groups.sort_by(|(one, a), (other, b)| {
            weighed(b.flagged, a.runs).cmp(&weighed(a.flagged, b.runs)).then(one.cmp(other))
        });
        let line = |(name, group): (&String, &Group)| {
            let detectors = group.detectors.iter().map(|(id, counts)| (id.as_str(), *counts));
            let fired = fired(detectors);
            let found = if fired.is_empty() { String::new() } else { format!(": {fired}") };
            let flagged = percent(group.flagged, group.runs);
            let text = format!(
                "{}  {} of {} flagged ({flagged}){found}",
                terminal::name(name),
                group.flagged,
                counted(group.runs, "run")
            );
            wrapped(&text, 80, 4) + "\n"
        };
        format!("\nBy {}:\n{}", self.by, groups.into_iter().map(line).collect::<String>())
    }
}
