//! References from golden entries to traces in other files, each with the digest of the labelled trace.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::read::ReadOptions;
use crate::scan::{ScanEvent, read_files};
use crate::trace::{Digest, Trace};

/// The location of a golden entry's trace in another file, for data that must not be copied.
///
/// In JSON: `{"file": "runs/today.json", "run": "sim-17", "digest": "…"}`. `file` is relative to the folder
/// of the entry's file. `run` is the run's id in its source, or `#` and the 0-based position among the readable runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceReference {
    /// The file.
    pub file: String,
    /// The run in it.
    pub run: String,
    /// [`trace_digest`] of the labelled run. If the run in the file has a different digest, loading fails.
    pub digest: String,
}

/// Returns the digest of a trace, not counting its id and source: 32 hexadecimal digits.
///
/// ```
/// use serde_json::json;
/// use wrongturn::{Status, Trace, calibrate::trace_digest};
///
/// let mut run = Trace::builder();
/// run.call("look", &json!({}), Status::Ok, "a wall")?;
/// assert_eq!(trace_digest(&run.build()?).len(), 32);
/// # Ok::<(), wrongturn::Error>(())
/// ```
#[must_use]
pub fn trace_digest(trace: &Trace) -> String {
    content(trace).to_string()
}

/// Returns the digest of a trace, not counting its id and source, so a copy under another id is a duplicate.
pub(super) fn content(trace: &Trace) -> Digest {
    let mut metadata = trace.metadata().clone();
    (metadata.id, metadata.source) = (None, None);
    let anonymous = trace.clone().with_metadata(metadata);
    Digest::of_value(&serde_json::to_value(anonymous).unwrap_or_default())
}

/// Reads runs from files and keeps them, because many entries may refer to one file.
#[derive(Debug, Default)]
pub(super) struct Runs {
    files: BTreeMap<PathBuf, Vec<Trace>>,
}

impl Runs {
    /// Resolves a reference whose file is relative to `folder`.
    pub(super) fn find(&mut self, folder: &Path, reference: &TraceReference) -> Result<Trace> {
        let path = folder.join(&reference.file);
        let runs = match self.files.entry(path.clone()) {
            std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::btree_map::Entry::Vacant(new) => new.insert(read(&path)?),
        };
        let TraceReference { file, run, digest } = reference;
        let trace = run_of(runs, run).map_err(|why| Error::golden(format!("{file}: {why}")))?;
        let found = trace_digest(trace);
        if found == *digest {
            Ok(trace.clone())
        } else {
            Err(Error::golden(format!(
                "{file}: run `{run}` has the digest {found}, not {digest}: the labelled run was a different one"
            )))
        }
    }
}

fn read(path: &Path) -> Result<Vec<Trace>> {
    let mut traces = Vec::new();
    read_files([path], &ReadOptions::default(), |event| match event {
        ScanEvent::Record(trace) => {
            traces.push(trace);
            Ok(())
        }
        // An error in one run does not affect the others. Any other error, such as a missing file, is
        // returned.
        ScanEvent::Error(error) if error.run().is_none() => Err(Error::golden(error.to_string())),
        _ => Ok(()),
    })?;
    Ok(traces)
}

/// Returns the run with this id, or if there is none, the run at this 0-based position, written with or without `#`.
///
/// ```
/// use wrongturn::{ReadOptions, read_traces, calibrate::run_of};
///
/// let lines = b"{\"id\": \"sim-17\", \"messages\": []}\n{\"id\": \"sim-18\", \"messages\": []}";
/// let (runs, _) = read_traces(lines, &ReadOptions::default());
/// assert_eq!(run_of(&runs, "sim-18")?, run_of(&runs, "#1")?);
/// # Ok::<(), wrongturn::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Golden`](crate::ErrorKind::Golden) if no run matches, or if several runs have the id.
pub fn run_of<'t>(runs: &'t [Trace], name: &str) -> Result<&'t Trace> {
    let mut named = runs.iter().filter(|trace| trace.metadata().id.as_deref() == Some(name));
    if let Some(first) = named.next() {
        return match named.next() {
            None => Ok(first),
            Some(_) => Err(Error::golden(format!(
                "several runs have the id `{name}`; name one by `#` and its position"
            ))),
        };
    }
    let position = name.strip_prefix('#').unwrap_or(name).parse::<usize>().ok();
    let found = position.and_then(|position| runs.get(position));
    found.ok_or_else(|| {
        Error::golden(format!("expected an id or a position below {}, got `{name}`", runs.len()))
    })
}
