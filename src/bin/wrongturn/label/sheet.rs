//! Samples runs into a sheet, and makes golden entries from a filled sheet.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use wrongturn::{
    Trace,
    calibrate::{Difficulty, GoldenEntry, RunFeatures, run_of, sample_runs, trace_digest},
    report::{Document, render_run},
    scan::ScanEvent,
};

use super::cells::{Span, labelled};
use super::entry::{append, blind};
use super::{Arguments, read, required};
use crate::common::arguments::Reading;
use crate::common::inputs::Inputs;
use crate::common::output::{Output, is_stdout, protect, write_text};
use crate::common::{Failure, Unread, json_line, print};

/// A row of a sheet: cells for a reader to fill in, and the run to read. Nothing in it comes from a detector.
#[derive(Serialize)]
struct Row {
    n: usize,
    detector: String,
    file: String,
    run: String,
    digest: String,
    label: Option<bool>,
    #[serde(rename = "where")]
    range: Option<Span>,
    difficulty: Option<Difficulty>,
    description: Option<String>,
    /// The run in the native form, as [`blind`] leaves it.
    trace: Value,
}

/// Samples runs to read, and writes a sheet and a page that shows them.
pub(crate) fn sample(arguments: &Arguments) -> Result<u8, Failure> {
    let detector = required(arguments.detector.as_ref(), "detector")?;
    let out = arguments.out.clone().unwrap_or_else(|| PathBuf::from("sheet.jsonl"));
    let html = out.with_extension("html");
    // Do not replace a sheet: it may hold labels.
    if let Some(file) = [&out, &html].into_iter().find(|file| file.exists()) {
        return Err(format!("{}: file exists; choose another --out", file.display()).into());
    }
    protect(&arguments.sample)?;
    // The files are read twice, to hold only the sample in memory.
    let is_read_once =
        |path: &&PathBuf| is_stdout(path) || path.exists() && !path.is_file() && !path.is_dir();
    if let Some(path) = arguments.sample.iter().find(is_read_once) {
        return Err(
            format!("{}: expected a file or directory, which can be read twice", path.display()).into()
        );
    }
    let (mut features, mut numbers) = (Vec::new(), Vec::new());
    let (mut digests, mut number) = (BTreeSet::new(), 0_usize);
    let inputs = Reading::default().read(&arguments.sample, |event| {
        if let ScanEvent::Record(trace) = event {
            // Only the first of equal runs is a candidate.
            if digests.insert(trace_digest(&trace)) {
                numbers.push(number);
                features.push(RunFeatures::of(&trace));
            }
            number += 1;
        }
        Ok(())
    })?;
    let drawn = sample_runs(&features, arguments.n.get(), arguments.seed.seed);
    if drawn.is_empty() {
        inputs.report();
        return Err(Unread::nothing_read());
    }
    let drawn = (0_usize..).zip(drawn).filter_map(|(n, place)| Some((*numbers.get(place)?, n)));
    let mut wanted: BTreeMap<usize, usize> = drawn.collect();
    let mut rows: BTreeMap<usize, (Row, Trace)> = BTreeMap::new();
    let (mut file, mut position, mut number) = (Arc::from(Path::new("")), 0_usize, 0_usize);
    Reading::default().read(&arguments.sample, |event| {
        match event {
            ScanEvent::Begin(path) => (file, position) = (path, 0),
            ScanEvent::Record(trace) => {
                if let Some(n) = wanted.remove(&number) {
                    let row = Row {
                        n,
                        detector: detector.clone(),
                        file: file.display().to_string(),
                        run: format!("#{position}"),
                        digest: trace_digest(&trace),
                        label: None,
                        range: None,
                        difficulty: None,
                        description: None,
                        trace: blind(&trace)?,
                    };
                    rows.insert(n, (row, trace));
                }
                position += 1;
                number += 1;
            }
            _ => {}
        }
        Ok(())
    })?;
    let mut sheet = Output::create(&out)?;
    let mut page = Document::new(format!("{} runs to read for {detector}", rows.len()));
    let question = wrongturn::detect::detector_info(detector)?.summary;
    page.lead(format!(
        "Drawn by repeats, errors and length, not by any verdict. The question: {question}? Fill in each row of the sheet \
         next to this page: label true or false, where as [first, last] or \"first-last\" in the step numbers of the left column (null if \
         there is no place), difficulty easy, medium or hard, description in a sentence."
    ));
    for (n, (row, trace)) in &rows {
        sheet.write_all(json_line(row)?.as_bytes())?;
        page.section(format!("Run {n}"));
        for line in render_run(trace, &[], 1000).lines() {
            page.paragraph(line);
        }
    }
    sheet.finish()?;
    write_text(&html, &page.html())?;
    print(&format!("{} of {} runs: {}, {}\n", rows.len(), number, out.display(), html.display()))?;
    inputs.report();
    Ok(inputs.status())
}

/// Makes golden entries from the rows with a label.
pub(crate) fn filled(arguments: &Arguments, sheet: &Path) -> Result<u8, Failure> {
    let rows = labelled(sheet)?;
    if rows.is_empty() {
        return Err(format!("{}: no row has a label", sheet.display()).into());
    }
    let mut files: BTreeMap<PathBuf, (Vec<Trace>, &'static str, Inputs)> = BTreeMap::new();
    let mut made: BTreeMap<PathBuf, Vec<GoldenEntry>> = BTreeMap::new();
    for label in &rows {
        let place = |error: &dyn std::fmt::Display| format!("{}: {}: {error}", sheet.display(), label.key);
        let row = label.row.as_ref().ok_or_else(|| place(&"this is a golden entry, not a row of a sheet"))?;
        let file = PathBuf::from(&row.file);
        let (runs, format, _) = match files.entry(file.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(read(&file)?),
        };
        let trace = run_of(runs, &row.run).map_err(|error| place(&error))?;
        if trace_digest(trace) != row.digest {
            return Err(place(&"the run has changed since the sheet was written").into());
        }
        let out = arguments.out.clone();
        let out = out.unwrap_or_else(|| PathBuf::from(format!("{}.jsonl", label.detector)));
        let entry = label.entry(arguments, (&file, &row.run), trace, format, &out)?;
        made.entry(out).or_default().push(entry);
    }
    for (out, entries) in made {
        append(&out, &entries)?;
    }
    let mut status = 0;
    for (_, _, inputs) in files.values() {
        inputs.report();
        status = status.max(inputs.status());
    }
    Ok(status)
}
