//! Makes golden entries from labelled runs.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use wrongturn::{
    Trace,
    calibrate::{GoldenEntry, GoldenSet, TraceReference, trace_digest},
    detect::ALL,
};

use super::Arguments;
use super::cells::Labelled;
use crate::common::output::{at, write_text};
use crate::common::{Failure, joined};

impl Labelled {
    /// Returns the entry of a run. The path in a reference is relative to the folder of `out`.
    pub(crate) fn entry(
        &self,
        arguments: &Arguments,
        (file, run): (&Path, &str),
        trace: &Trace,
        source: &str,
        out: &Path,
    ) -> Result<GoldenEntry, Failure> {
        let digest = trace_digest(trace);
        let id = || format!("{}-{}", self.detector, digest.get(..12).unwrap_or(&digest));
        let id = arguments.id.clone().unwrap_or_else(id);
        let trace = if arguments.reference { Value::Null } else { blind(trace)? };
        let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty());
        let file = relative(file, folder.unwrap_or(Path::new(".")))?;
        let reference = arguments.reference.then(|| TraceReference { file, run: run.to_owned(), digest });
        let mut entry = serde_json::json!({
            "id": id, "detector": self.detector, "difficulty": self.difficulty, "label": self.label,
            "where": self.range, "description": self.description, "source": source, "tags": arguments.tags,
            "reference": reference, "trace": trace,
        });
        if let Some(fields) = entry.as_object_mut() {
            fields.retain(|_, value| !value.is_null());
        }
        Ok(serde_json::from_value(entry)?)
    }
}

fn relative(file: &Path, folder: &Path) -> Result<String, Failure> {
    let place = |path: &Path| fs::canonicalize(path).map_err(at(path));
    let (file, folder) = (place(file)?, place(folder)?);
    let shared = file.components().zip(folder.components()).take_while(|(a, b)| a == b).count();
    let up = folder.components().skip(shared).map(|_| "..".as_ref());
    let down = file.components().skip(shared).map(std::path::Component::as_os_str);
    let path: PathBuf = up.chain(down).collect();
    Ok(path.display().to_string())
}

/// Returns a trace in the native form without its ids, task, trial, model, source, labels, reward, failures and
/// termination, which could bias a labeller.
pub(crate) fn blind(trace: &Trace) -> Result<Value, Failure> {
    let mut json = serde_json::to_value(trace)?;
    if let Some(fields) = json.as_object_mut() {
        for field in "id parent task trial model source labels reward failures termination".split(' ') {
            fields.remove(field);
        }
    }
    Ok(json)
}

/// Appends entries to a golden file. Writes nothing and returns an error if the result is not valid.
pub(crate) fn append(out: &Path, entries: &[GoldenEntry]) -> Result<(), Failure> {
    let mut text = match fs::read_to_string(out) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(at(out)(error).into()),
    };
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    let before = text.len();
    for entry in entries {
        text += &serde_json::to_string(entry)?;
        text.push('\n');
    }
    let known: Vec<&str> = ALL.iter().map(|info| info.id).collect();
    GoldenSet::parse(&[(out, &text)], &known)
        .map_err(|errors| format!("nothing was written: {}", joined(&errors)))?;
    write_text(out, &text)?;
    let what = if entries.len() == 1 { "entry" } else { "entries" };
    eprintln!("{}: {} {what} added, {} bytes", out.display(), entries.len(), text.len() - before);
    Ok(())
}
