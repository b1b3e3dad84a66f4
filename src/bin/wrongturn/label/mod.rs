//! `wrongturn label`, for labelling recorded runs by hand: samples runs to read, writes sheets without
//! verdicts, appends golden entries, and measures the agreement of two readers.

mod agreement;
mod cells;
mod entry;
mod sheet;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use crate::common;
use crate::common::arguments::{Reading, Seed, detector};
use crate::common::inputs::{Inputs, find_run};
use crate::common::output::protect;
use cells::{Labelled, Span};
use clap::Parser;
use wrongturn::{Trace, calibrate::Difficulty, read::Format, scan::ScanEvent};

/// Records labels that a reader gives to runs
///
/// To label a run:
///   label FILE --run ID --detector loop --yes --where 8-14 --difficulty hard
///         --description "…"
/// To draw runs to read: label --sample FILE… --detector loop --n 40 --seed 1
/// To make entries from a filled sheet: label --filled SHEET.jsonl
/// To compare two readers: label SHEET.jsonl --second OTHER.jsonl
#[derive(Parser)]
#[command(verbatim_doc_comment, after_help = common::notes(
    "run files in any supported format; with --filled, a sheet; with --second, sheets or golden entries.",
    "golden entries, appended to a file; with --sample, a sheet and an HTML page that shows its runs; with \
     --second, the agreement of two readers on standard output.",
    "wrongturn label --sample golden/tau2 --detector loop --out sheet.jsonl",
))]
pub(crate) struct Arguments {
    /// File of runs, in any format that can be read; with --second, the labels of the first reader
    #[arg(required_unless_present_any = ["sample", "filled"])]
    file: Option<PathBuf>,
    /// The run: its id, or its position counted from 0; a number after # (#3) is always a position
    #[arg(long)]
    run: Option<String>,
    /// The detector that the label is for
    #[arg(long, value_name = "ID", value_parser = detector)]
    detector: Option<String>,
    /// The run has the failure
    #[arg(long, conflicts_with = "no")]
    yes: bool,
    /// The run does not have the failure
    #[arg(long)]
    no: bool,
    /// First and last step of the failure, such as 8-14; 8 for one step
    #[arg(long = "where", value_name = "FIRST-LAST")]
    range: Option<Span>,
    /// How hard it is to judge: easy, medium or hard
    #[arg(long)]
    difficulty: Option<Difficulty>,
    /// Why the label is what it is, in one sentence
    #[arg(long)]
    description: Option<String>,
    /// Comma-separated tags
    #[arg(long, value_delimiter = ',')]
    tags: Vec<String>,
    /// The id of the entry; default: the detector and the digest of the run
    #[arg(long)]
    id: Option<String>,
    /// Write a reference to the run instead of its trace, for data that must not be copied
    #[arg(long)]
    reference: bool,
    /// Append entries to this file, by default <detector>.jsonl; with --sample, write a sheet, by default sheet.jsonl
    #[arg(long, value_name = "OUT.jsonl")]
    out: Option<PathBuf>,
    /// Draw a sample of runs to read from these files and directories
    #[arg(long, value_name = "PATH", num_args = 1.., conflicts_with = "file")]
    sample: Vec<PathBuf>,
    /// How many runs to draw
    #[arg(long, default_value = "40", value_name = "N")]
    n: NonZeroUsize,
    #[command(flatten)]
    seed: Seed,
    /// Append an entry for every row of this sheet that has a label
    #[arg(long, value_name = "SHEET.jsonl", conflicts_with_all = ["file", "sample"])]
    filled: Option<PathBuf>,
    /// Compare with the labels of a second reader: entries, or rows of the same sheet
    #[arg(long, value_name = "READER.jsonl", requires = "file")]
    second: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<u8, common::Failure> {
    if let (Some(second), Some(first)) = (&arguments.second, &arguments.file) {
        agreement::compare(first, second)
    } else if let Some(sheet) = &arguments.filled {
        sheet::filled(arguments, sheet)
    } else if let Some(file) = &arguments.file {
        label(arguments, file)
    } else {
        sheet::sample(arguments)
    }
}

fn required<'v, T>(value: Option<&'v T>, name: &str) -> Result<&'v T, String> {
    value.ok_or_else(|| format!("--{name} is missing"))
}

fn label(arguments: &Arguments, file: &Path) -> Result<u8, common::Failure> {
    let detector = required(arguments.detector.as_ref(), "detector")?;
    if arguments.yes == arguments.no {
        return Err("one of --yes and --no is required".into());
    }
    let (runs, format, inputs) = read(file)?;
    let name = required(arguments.run.as_ref(), "run")?;
    let trace = find_run(&runs, file, name)?;
    let label = Labelled {
        key: String::new(),
        detector: detector.clone(),
        label: arguments.yes,
        range: arguments.range,
        difficulty: Some(*required(arguments.difficulty.as_ref(), "difficulty")?),
        description: required(arguments.description.as_ref(), "description")?.clone(),
        row: None,
    };
    let out = arguments.out.clone().unwrap_or_else(|| PathBuf::from(format!("{detector}.jsonl")));
    entry::append(&out, &[label.entry(arguments, (file, name), trace, format, &out)?])?;
    inputs.report();
    Ok(inputs.status())
}

/// Returns the runs of a file, its format, and the errors and counts of reading it. Fails if it has no run.
fn read(file: &Path) -> Result<(Vec<Trace>, &'static str, Inputs), common::Failure> {
    let (mut runs, mut format) = (Vec::new(), "recorded");
    protect([file])?;
    let inputs = Reading::default().read(&[file], |event| {
        match event {
            ScanEvent::Record(trace) => runs.push(trace),
            ScanEvent::End(summary) => format = summary.format.map_or(format, Format::name),
            _ => {}
        }
        Ok(())
    })?;
    if runs.is_empty() {
        inputs.report();
        return Err(common::Unread::no("run", file));
    }
    Ok((runs, format, inputs))
}
