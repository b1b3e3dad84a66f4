//! Golden entries: traces labelled by a person.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::reference::{Runs, TraceReference, content};
use crate::detect::unknown_detector;
use crate::error::{Error, Location};
use crate::names::named;
use crate::objects;
use crate::trace::{Digest, Trace};

named! {
    /// How hard a golden entry is to judge.
    #[derive(PartialOrd, Ord)]
    pub enum Difficulty: "difficulty" {
        /// Obvious.
        Easy = "easy",
        /// Needs a second look.
        Medium = "medium",
        /// A simple rule and a careful reader may disagree.
        Hard = "hard",
    }
}

/// A labelled trace.
///
/// Each line of `golden/<detector>.jsonl` is an entry in JSON. Its members have the names of the fields,
/// except that `range` is called `where`. A `reference` can replace `trace`.
///
/// ```
/// let line = r##"{"id": "mine-001", "detector": "loop", "difficulty": "hard", "label": true,
///     "where": [1, 4], "source": "tau2", "tags": ["retail"],
///     "description": "The same look-up four times; its answer is never used.",
///     "trace": {"version": 1, "steps": [
///         {"actor": "user", "text": "Where is my order?"},
///         {"name": "get_order", "arguments": {"id": 7}, "observation": "shipped", "status": "ok"},
///         {"name": "get_order", "arguments": {"id": 7}, "observation": "shipped", "status": "ok"},
///         {"name": "get_order", "arguments": {"id": 7}, "observation": "shipped", "status": "ok"},
///         {"name": "get_order", "arguments": {"id": 7}, "observation": "shipped", "status": "ok"}
///     ]}}"##;
/// let entry: wrongturn::calibrate::GoldenEntry = serde_json::from_str(line)?;
/// assert_eq!(entry.range, Some((1, 4)));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoldenEntry {
    /// Id of the entry, unique in the set.
    pub id: String,
    /// The detector that the entry tests.
    pub detector: String,
    /// How hard the entry is to judge.
    pub difficulty: Difficulty,
    /// True if the failure is present.
    pub label: bool,
    /// First and last step of the failure, if it can be located; must be `None` if `label` is false.
    #[serde(rename = "where", default, skip_serializing_if = "Option::is_none")]
    pub range: Option<(u64, u64)>,
    /// The reason for the label, in one sentence.
    pub description: String,
    /// The origin of the trace: `hand-written`, or the format of the recording.
    pub source: String,
    /// Free-form tags.
    #[serde(default)]
    pub tags: Vec<String>,
    /// The location of the trace, if it is not in the entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<TraceReference>,
    /// The trace, in the native form. It is empty for a reference until [`GoldenSet::load`] reads it.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub trace: Trace,
}

fn is_empty(trace: &Trace) -> bool {
    trace.steps().len() == 0
}

impl GoldenEntry {
    /// Returns the entry as it is written to a file: without the trace if it has a reference.
    #[must_use]
    pub fn written(&self) -> Self {
        let trace = if self.reference.is_some() { Trace::default() } else { self.trace.clone() };
        Self { trace, ..self.clone() }
    }
}

/// A validated collection of golden entries, sorted by id.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GoldenSet {
    entries: Vec<GoldenEntry>,
}

/// Collects entries and all errors, because one load reports every violation.
#[derive(Default)]
struct Loader<'k> {
    known: &'k [&'k str],
    entries: BTreeMap<String, GoldenEntry>,
    contents: BTreeMap<Digest, String>,
    runs: Runs,
    errors: Vec<Error>,
}

impl GoldenSet {
    /// Loads files, and the `*.jsonl` files in directories, but not in their subdirectories. `known` lists the
    /// detectors that entries may test.
    ///
    /// # Errors
    /// All violations with file and line: invalid JSON, a duplicate id, an unknown detector, a missing or
    /// duplicate trace, a `where` that is reversed, outside the trace or set although `label` is false, a
    /// reference that cannot be resolved or comes with a trace. Files that cannot be read are errors too.
    pub fn load(paths: &[PathBuf], known: &[&str]) -> Result<Self, Vec<Error>> {
        let mut loader = Loader::new(known);
        for path in paths {
            match files(path) {
                Ok(files) => files.iter().for_each(|file| loader.file(file)),
                Err(error) => loader.errors.push(error.in_file(path)),
            }
        }
        loader.finish()
    }

    /// Like [`GoldenSet::load`], but takes texts with their paths. References are relative to the directories of
    /// these paths.
    ///
    /// # Errors
    /// See [`GoldenSet::load`].
    pub fn parse(files: &[(&Path, &str)], known: &[&str]) -> Result<Self, Vec<Error>> {
        let mut loader = Loader::new(known);
        for (path, text) in files {
            loader.text(path, text);
        }
        loader.finish()
    }

    /// Returns the entries, sorted by id.
    #[must_use]
    pub fn entries(&self) -> &[GoldenEntry] {
        &self.entries
    }

    /// Returns the entries of one detector, sorted by id.
    pub fn of<'s>(&'s self, detector: &'s str) -> impl Iterator<Item = &'s GoldenEntry> {
        self.entries.iter().filter(move |entry| entry.detector == detector)
    }
}

fn files(path: &Path) -> Result<Vec<PathBuf>, Error> {
    if !fs::metadata(path)?.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path)? {
        let path = entry?.path();
        if path.is_file() && path.extension().is_some_and(|extension| extension == "jsonl") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

impl<'k> Loader<'k> {
    fn new(known: &'k [&'k str]) -> Self {
        Self { known, ..Self::default() }
    }

    fn finish(self) -> Result<GoldenSet, Vec<Error>> {
        if self.errors.is_empty() {
            Ok(GoldenSet { entries: self.entries.into_values().collect() })
        } else {
            Err(self.errors)
        }
    }

    fn file(&mut self, path: &Path) {
        match fs::read_to_string(path) {
            Ok(text) => self.text(path, &text),
            Err(error) => self.errors.push(Error::from(error).in_file(path)),
        }
    }

    fn text(&mut self, path: &Path, text: &str) {
        for (line, text) in (1..).zip(text.lines()) {
            if text.trim().is_empty() {
                continue;
            }
            let violations = match objects::from_slice::<GoldenEntry>(text.as_bytes()) {
                Ok(entry) => self.entry(path, entry).into_iter().map(Error::golden).collect(),
                Err(error) => vec![error],
            };
            self.errors.extend(violations.into_iter().map(|error| {
                let column = error.location().map_or(1, |location| location.column);
                error.at(Location { line, column }).in_file(path)
            }));
        }
    }

    /// Adds an entry, or returns its violations.
    fn entry(&mut self, path: &Path, mut entry: GoldenEntry) -> Vec<String> {
        let mut violations = Vec::new();
        if let Some(reference) = &entry.reference {
            if !is_empty(&entry.trace) {
                violations.push(format!("entry `{}`: both a trace and a reference to one", entry.id));
            }
            match self.runs.find(path.parent().unwrap_or(Path::new("")), reference) {
                Ok(trace) => entry.trace = trace,
                Err(error) => return vec![format!("entry `{}`: {}", entry.id, error.message())],
            }
        }
        let GoldenEntry { id, detector, trace, .. } = &entry;
        if is_empty(trace) {
            violations.push(format!("entry `{id}`: neither a run with steps nor a reference to one"));
        }
        if !entry.label && entry.range.is_some() {
            violations.push(format!("entry `{id}`: `where` is set, but `label` is false"));
        }
        if !self.known.contains(&detector.as_str()) {
            let error = unknown_detector(detector, self.known.iter().copied());
            violations.push(format!("entry `{id}`: {}", error.message()));
        }
        if let Some((first, last)) = entry.range {
            let mut indices = trace.steps().map(|step| step.index());
            let bounds = indices.next().map(|start| (start, indices.next_back().unwrap_or(start)));
            match bounds {
                _ if first > last => {
                    violations.push(format!("entry `{id}`: where [{first}, {last}] ends before it begins"));
                }
                Some((start, end)) if first >= start && last <= end => {}
                Some((start, end)) => violations.push(format!(
                    "entry `{id}`: where [{first}, {last}] is outside the trace, whose steps are {start} to {end}"
                )),
                None => violations.push(format!("entry `{id}`: where [{first}, {last}] is outside the trace")),
            }
        }
        let content = content(trace);
        if let Some(other) = self.contents.get(&content) {
            violations.push(format!("entry `{id}`: its trace is that of entry `{other}`"));
        }
        if self.entries.contains_key(id) {
            violations.push(format!("entry `{id}`: duplicate id"));
        }
        if violations.is_empty() {
            self.contents.insert(content, id.clone());
            self.entries.insert(id.clone(), entry);
        }
        violations
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn entry(id: &str, detector: &str, range: &str, tool: &str) -> String {
        format!(
            r#"{{"id":"{id}","detector":"{detector}","difficulty":"hard","label":true,"where":{range},
            "description":"d","source":"s","tags":[],"trace":{{"version":1,"steps":[
            {{"step":3,"name":"{tool}","status":"ok"}},{{"name":"{tool}","status":"error"}}]}}}}"#
        )
        .replace('\n', "")
    }

    fn errors(lines: &[String]) -> Vec<Error> {
        GoldenSet::parse(&[(Path::new("golden/x.jsonl"), &lines.join("\n"))], &["loop"]).unwrap_err()
    }

    #[test]
    fn sound_entries_load_in_the_order_of_their_ids() {
        let text =
            [entry("b", "loop", "[3,4]", "t"), String::new(), entry("a", "loop", "null", "u")].join("\n");
        let set = GoldenSet::parse(&[(Path::new("x"), &text)], &["loop"]).unwrap();
        let ids: Vec<&str> = set.of("loop").map(|entry| entry.id.as_str()).collect();
        assert_eq!(ids, ["a", "b"]);
    }

    #[test]
    fn violations_name_file_line_and_reason() {
        let good = entry("a", "loop", "[3,4]", "t");
        for (bad, reason) in [
            (entry("a", "loop", "[3,4]", "u"), "duplicate id"),
            (entry("b", "loop", "[3,4]", "t"), "its trace is that of entry `a`"),
            (entry("b", "spiral", "[3,4]", "u"), "unknown detector `spiral`"),
            (entry("b", "loop", "[3,5]", "u"), "outside the trace"),
            (entry("b", "loop", "[2,4]", "u"), "outside the trace"),
            (entry("b", "loop", "[4,3]", "u"), "where [4, 3] ends before it begins"),
            (entry("b", "loop", "[3,4]", "u").replace("true", "false"), "`where` is set, but"),
            (entry("b", "loop", "[3]", "u"), "invalid length 1"),
            (entry("b", "loop", "[3,4]", "u").replace("hard", "brutal"), "unknown variant `brutal`"),
            (entry("b", "loop", "[3,4]", "u").replace("\"version\":1", "\"version\":9"), "version 9"),
        ] {
            let found = errors(&[good.clone(), bad]);
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(matches!(found[0].kind(), ErrorKind::Golden | ErrorKind::Shape), "{:?}", found[0]);
            let message = found[0].to_string();
            assert!(message.starts_with("golden/x.jsonl:2:"), "{message}");
            assert!(message.contains(reason), "{message}");
        }
    }

    #[test]
    fn broken_json_on_line_17_is_found_there() {
        let mut lines: Vec<String> =
            (0..20).map(|i| entry(&format!("e{i:02}"), "loop", "null", &format!("t{i}"))).collect();
        lines[16] = lines[16].replace("\"label\":true", "\"label\":tru");
        let found = errors(&lines);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].kind(), ErrorKind::Syntax);
        let place = found[0].location().unwrap();
        assert_eq!(place.line, 17);
        assert_eq!(
            &lines[16][..usize::try_from(place.column).unwrap() - 1],
            lines[16].split_once("tru,").unwrap().0.to_owned() + "tru"
        );
    }

    #[test]
    fn every_violation_is_reported() {
        let lines = [entry("a", "x", "[9,9]", "t"), "{".to_owned(), "[]".to_owned()];
        let found = errors(&lines);
        let places: Vec<u64> = found.iter().map(|error| error.location().unwrap().line).collect();
        assert_eq!(places, [1, 1, 2, 3]);
    }
}
