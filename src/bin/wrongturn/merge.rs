//! `wrongturn merge`: merges partial states of `check` or of `replicate`, and reports the result.
//!
//! The output is byte for byte that of one process over all inputs, however the inputs were divided and
//! whatever the order of the states.

use std::path::{Path, PathBuf};

use crate::common;
use crate::common::arguments::{Reading, Threads};
use crate::common::inputs::Inputs;
use crate::common::output::{self, Output, at};
use crate::common::parts;
use crate::common::replicated::{self, Options, Outputs};
use clap::Parser;
use wrongturn::merge::{PartialContent, PartialState};

/// Merges the results of parts of a corpus.
#[derive(Parser)]
#[command(after_help = common::notes(
    "states that `check --partial` or `replicate --partial` wrote, all of one kind and with the same options. A part \
     that comes twice counts once.",
    "what one process prints over all inputs, with the options of the states, and the requested files.",
    "wrongturn merge parts/ --html report.html",
))]
pub(crate) struct Arguments {
    /// Partial states, or directories of them (*.json); `-` is standard input
    #[arg(required_unless_present = "list")]
    states: Vec<PathBuf>,
    /// A file with the paths of further states, one per line; `-` is standard input
    #[arg(long, value_name = "FILE")]
    list: Option<PathBuf>,
    /// Write the merged state to this file, and no report
    #[arg(long, value_name = "OUT.json", conflicts_with_all = ["csv", "markdown", "latex", "html", "chart", "out", "json"])]
    partial: Option<PathBuf>,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    outputs: Outputs,
    #[command(flatten)]
    text: parts::TextOptions,
}

pub(crate) fn run(arguments: &Arguments) -> Result<u8, common::Failure> {
    let Arguments { outputs, .. } = arguments;
    common::terminal::set_quiet(arguments.text.quiet);
    let mut states = arguments.states.clone();
    if let Some(list) = &arguments.list {
        let lines = String::from_utf8(output::read(list)?).map_err(at(list))?;
        states.extend(lines.lines().filter(|line| !line.is_empty()).map(PathBuf::from));
    }
    let state = merged(&states)?;
    if let Some(path) = &arguments.partial {
        parts::write(Output::create(path)?, &state)?;
        return Ok(0);
    }
    let options = state.options();
    match state.into_content() {
        PartialContent::Scan(part) => {
            output::protect(part.worst.runs().iter().map(|run| &*run.file))?;
            output::protect(part.files.listed().into_iter().flatten().map(|(path, _)| path))?;
            if outputs.out.is_some() || outputs.chart.is_some() {
                return Err(
                    "--out and --chart need states of `replicate`; these are states of `check`".into()
                );
            }
            parts::write_scan(&part, &outputs.files)?;
            let inputs = Inputs::from(part.files.clone());
            let read = serde_json::from_value::<Reading>(options)?.options();
            let text = Some(&arguments.text);
            parts::report_scan(*part, |flagged| flagged.read(&read), &outputs.files, text, "")?;
            inputs.finish()
        }
        PartialContent::Replication(part) => {
            let options: Options = serde_json::from_value(options)?;
            let inputs = Inputs::from(part.files.clone());
            if !inputs.is_nothing_read() {
                replicated::report(*part, &options, outputs, arguments.threads)?;
            }
            inputs.finish()
        }
        _ => Err("the states are of a kind that has no report here".into()),
    }
}

/// Merges states one after another. At most two are in memory at a time.
fn merged(paths: &[PathBuf]) -> Result<PartialState, common::Failure> {
    output::protect(paths)?;
    let mut all: Option<PartialState> = None;
    for path in paths {
        for path in files(path)? {
            let state = PartialState::from_json(&output::read(&path)?).map_err(at(&path))?;
            match &mut all {
                Some(all) => all.merge(&state).map_err(at(&path))?,
                None => all = Some(state),
            }
        }
    }
    all.ok_or_else(|| "expected at least one partial state, found none".into())
}

fn files(path: &Path) -> Result<Vec<PathBuf>, common::Failure> {
    if !path.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let entries = std::fs::read_dir(path).map_err(at(path))?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, std::io::Error>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    Ok(files)
}
