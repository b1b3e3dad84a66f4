//! Partial states, which `check` and `replicate` write and `merge` reads, and the text of a scan.

use std::cmp::Reverse;
use std::io::Write;
use std::path::PathBuf;

use serde_json::Value;
use wrongturn::{
    merge::{FlaggedRun, FlaggedRuns, PartialContent, PartialState, RunStrip, ScanPart},
    report::{Document, render_files, scan_document},
    scan::path_text,
    trace::Digest,
};

use super::Failure;
use super::findings;
use super::output::{Output, write_text};
use super::tables::TableFiles;
use super::terminal::printable;

/// The path of a partial state and the name of its part.
#[derive(clap::Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct PartialFile {
    /// Write a partial state, which `merge` combines with those of other parts
    #[arg(long = "partial", value_name = "OUT.json", hide_short_help = true)]
    pub(crate) path: Option<PathBuf>,
    /// Name of this part; a part that is merged twice counts once. Default: the paths
    #[arg(long, value_name = "NAME", requires = "path", hide_short_help = true)]
    split: Option<String>,
    /// Write only the partial state and requested rows, no report
    #[arg(long, requires = "path", conflicts_with_all = ["json", "csv", "markdown", "latex", "html"])]
    #[arg(hide_short_help = true)]
    pub(crate) no_report: bool,
}

impl PartialFile {
    pub(crate) fn create(&self) -> Result<Option<Output>, Failure> {
        self.path.as_deref().map(|path| Output::create(path)).transpose()
    }

    /// Writes the state of the result that was computed from `inputs`.
    pub(crate) fn write(
        &self,
        out: Output,
        inputs: &[PathBuf],
        options: &Value,
        content: PartialContent,
    ) -> Result<(), Failure> {
        let split = self.split.clone().unwrap_or_else(|| named_by(inputs));
        write(out, &PartialState::new(split, options, content)?)
    }
}

/// Names a part after its input, or after the first of several with a digest of all names.
fn named_by(inputs: &[PathBuf]) -> String {
    let mut names: Vec<_> = inputs.iter().map(|path| path_text(path.as_os_str()).into_owned()).collect();
    names.sort();
    match names.as_slice() {
        [one] => one.clone(),
        [first, rest @ ..] => {
            format!("{first} and {} more, {}", rest.len(), Digest::of_text(&names.join("\n")))
        }
        [] => String::new(),
    }
}

pub(crate) fn write(mut out: Output, state: &PartialState) -> Result<(), Failure> {
    out.write_all(&state.to_json()?)?;
    out.finish()
}

/// How much a scan prints.
#[derive(clap::Args, Debug, Clone)]
#[command(next_help_heading = "Output")]
pub(crate) struct TextOptions {
    /// Number of runs shown with their findings, at most 50
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u8).range(..=50))]
    top: u8,
    /// Order of these runs: worst, path, model, findings, steps
    #[arg(long, value_enum, default_value_t = Sort::Worst, value_name = "ORDER", hide_possible_values = true)]
    #[arg(hide_short_help = true)]
    sort: Sort,
    /// Add tables of rates by detector and model, and of costs
    #[arg(long)]
    stats: bool,
    /// Add a line for each file, and the tables of --stats
    #[arg(long, short)]
    verbose: bool,
    /// Print only errors: no report, notes or progress
    #[arg(long, short, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
}

impl TextOptions {
    fn render(&self, part: &ScanPart) -> String {
        let mut text = String::new();
        if self.verbose {
            text += &format!("{}\n", printable(&render_files(&part.files)));
        }
        if self.stats || self.verbose {
            text += &format!("{}\n", printable(&part.summary.render()));
        }
        let mut runs: Vec<&FlaggedRun> = part.worst.runs().iter().take(self.top.into()).collect();
        match self.sort {
            Sort::Worst => {}
            Sort::Path => runs.sort_by_key(|run| &run.file),
            Sort::Model => runs.sort_by_key(|run| &run.model),
            Sort::Findings => runs.sort_by_key(|run| Reverse(run.findings.len())),
            Sort::Steps => runs.sort_by_key(|run| Reverse(run.steps)),
        }
        text + &findings::render(part, &runs, super::width())
    }
}

/// The order of the runs shown.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum Sort {
    Worst,
    Path,
    Model,
    Findings,
    Steps,
}

/// Prints the findings of a scan, followed by `more`, and writes the requested text file and HTML page. For the
/// page, `draw` reads the flagged runs again.
pub(crate) fn report_scan(
    part: ScanPart,
    draw: impl FnOnce(FlaggedRuns) -> Vec<RunStrip>,
    files: &TableFiles,
    text: Option<&TextOptions>,
    more: &str,
) -> Result<(), Failure> {
    let rendered = text.map(|options| options.render(&part) + &printable(more));
    if let (Some(path), Some(text)) = (&files.text, &rendered) {
        write_text(path, text)?;
    }
    let ScanPart { files: read, summary, worst, .. } = part;
    files.write_page(|| scan_document(&summary, draw(worst), &read).html())?;
    rendered.map_or(Ok(()), |text| super::report(&text))
}

/// Writes the tables of a scan, and its figures as JSON.
pub(crate) fn write_scan(part: &ScanPart, files: &TableFiles) -> Result<(), Failure> {
    // [`report_scan`] writes the page, because it shows the flagged runs, which must be read again.
    let mut document = Document::new("Failures found by the detectors");
    files.write_tables(document.tables_of(part.summary.tables()))?;
    if files.json.is_some() { files.write_json(&part.figures()) } else { Ok(()) }
}
