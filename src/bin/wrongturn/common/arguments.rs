//! Flags that several subcommands share.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use wrongturn::{
    Confidence, ReadOptions, Trace,
    detect::detector_info,
    read::{Alignment, Format},
    scan::{RunTable, ScanEvent, ScanOptions, read_files, read_joined},
    stats::Resampling,
};

use super::{Failure, findings::counted, inputs::Inputs, note, output};

/// How the inputs are read.
#[derive(clap::Args, Debug, Clone, Copy, Default, Deserialize)]
#[command(next_help_heading = "Input")]
pub(crate) struct Reading {
    /// Format of the inputs, as in `wrongturn formats`; default: recognised by their content
    #[arg(long)]
    pub(crate) format: Option<Format>,
    /// Whether BenchTrace's `obs` comes before or after its action; default: by the first entry of each episode
    #[arg(long, hide_short_help = true)]
    pub(crate) alignment: Option<Alignment>,
    /// Read all files as one source: spans and log records of a trace may be in several files
    #[arg(long, hide_short_help = true)]
    #[serde(skip)]
    pub(crate) join: bool,
}

impl Reading {
    pub(crate) fn options(self) -> ReadOptions {
        ReadOptions { format: self.format, alignment: self.alignment, ..ReadOptions::default() }
    }

    /// Reads the runs of files and directories, and passes each event to `each`.
    pub(crate) fn read<P: AsRef<Path>>(
        self,
        paths: &[P],
        mut each: impl FnMut(ScanEvent<Trace>) -> Result<(), Failure>,
    ) -> Result<Inputs, Failure> {
        let (mut inputs, options) = (Inputs::default(), self.options());
        let each = |event| {
            inputs.take(&event);
            each(event)
        };
        if self.join { read_joined(paths, &options, each) } else { read_files(paths, &options, each) }?;
        Ok(inputs)
    }
}

/// Metadata that the runs do not record, and names for their models.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Input")]
pub(crate) struct Metadata {
    /// Table of metadata: CSV or JSON lines with `file`, `run` or `task`, and `model`, `domain`, `task`, `reward`,
    /// `trial` or labels, which fill in what the runs do not record
    #[arg(long, value_name = "FILE.csv|jsonl")]
    meta: Option<PathBuf>,
    /// Let the --meta table replace what the runs record
    #[arg(long, requires = "meta", hide_short_help = true)]
    meta_override: bool,
    /// Rename a model (gpt-4.1-2025-04-14=gpt-4.1); can be repeated
    #[arg(long, value_name = "MODEL=NAME", value_parser = alias, hide_short_help = true)]
    model_alias: Vec<(String, String)>,
}

fn alias(text: &str) -> Result<(String, String), String> {
    let names = text.split_once('=').map(|(model, name)| (model.trim().to_owned(), name.trim().to_owned()));
    let names = names.filter(|(model, name)| !model.is_empty() && !name.is_empty());
    names.ok_or_else(|| "expected MODEL=NAME".to_owned())
}

impl Metadata {
    /// Returns the table of metadata and aliases, or `None` if neither was given.
    pub(crate) fn table(&self) -> Result<Option<Arc<RunTable>>, Failure> {
        if self.meta.is_none() && self.model_alias.is_empty() {
            return Ok(None);
        }
        let mut table = match &self.meta {
            Some(path) => {
                let is = |ending: &str| path.extension().is_some_and(|own| own.eq_ignore_ascii_case(ending));
                let is_json = is("jsonl") || is("ndjson");
                let form = if is_json { RunTable::from_jsonl } else { RunTable::from_csv };
                output::parse(path, form)?.overriding(self.meta_override)
            }
            None => RunTable::default(),
        };
        for (model, name) in &self.model_alias {
            table = table.with_alias(model, name);
        }
        Ok(Some(Arc::new(table)))
    }

    /// Reports on stderr how many rows and runs did not match, and the aliases that no run needed.
    pub(crate) fn tell(&self, table: Option<&Arc<RunTable>>) {
        let Some(table) = table else { return };
        for model in table.unmatched_aliases() {
            note(&format!("note: --model-alias {model}: no run has this model"));
        }
        let Some(path) = &self.meta else { return };
        let (rows, unused, runs) = (table.rows(), table.unmatched_rows(), table.unmatched_runs());
        if unused + runs > 0 || rows == 0 {
            let (used, without) = (counted(rows - unused, "row"), counted(runs, "run"));
            note(&format!("note: {}: {used} of {rows} used; {without} without a row", path.display()));
        }
    }
}

/// How a scan reads its inputs.
#[derive(clap::Args, Debug)]
pub(crate) struct Scanning {
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) metadata: Metadata,
    #[command(flatten)]
    pub(crate) threads: Threads,
}

impl Scanning {
    /// Returns the options of a scan, with the table of metadata.
    pub(crate) fn options(&self) -> Result<ScanOptions, Failure> {
        Ok(ScanOptions {
            read: self.reading.options(),
            join: self.reading.join,
            run_table: self.metadata.table()?,
            threads: self.threads.wanted(),
            ..ScanOptions::default()
        })
    }
}

/// The confidence that findings must have to be reported.
#[derive(clap::Args, Debug, Clone, Copy)]
#[command(next_help_heading = "Detectors")]
pub(crate) struct Surety {
    /// Report only findings of at least this confidence (likely, certain)
    #[arg(long, default_value = "likely", value_name = "CONFIDENCE")]
    pub(crate) min_confidence: Confidence,
}

/// Parses the id of a detector, ignoring spaces around it.
pub(crate) fn detector(text: &str) -> wrongturn::Result<String> {
    detector_info(text.trim()).map(|info| info.id.to_owned())
}

/// How many threads to use.
#[derive(clap::Args, Debug, Clone, Copy)]
#[command(next_help_heading = "Input")]
pub(crate) struct Threads {
    /// Number of threads; default: one per core
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    #[arg(hide_short_help = true)]
    threads: Option<u16>,
}

impl Threads {
    /// Returns the requested number of threads.
    pub(crate) fn wanted(self) -> Option<usize> {
        self.threads.map(usize::from)
    }

    /// Returns a pool with this number of threads, or with one per core.
    pub(crate) fn pool(self) -> Result<rayon::ThreadPool, Failure> {
        Ok(rayon::ThreadPoolBuilder::new().num_threads(self.wanted().unwrap_or(0)).build()?)
    }
}

/// The options of resampling.
#[derive(clap::Args, Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Resamples {
    /// Number of resamples for each bootstrap and permutation test
    #[arg(long, default_value_t = 2000, value_name = "N", value_parser = clap::value_parser!(u32).range(100..=1_000_000))]
    #[arg(hide_short_help = true)]
    pub(crate) resamples: u32,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) seed: Seed,
}

impl Resamples {
    pub(crate) fn options(self) -> Resampling {
        Resampling { resamples: self.resamples as usize, seed: self.seed.seed, ..Resampling::default() }
    }
}

/// The seed of random draws.
#[derive(clap::Args, Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Seed {
    /// Seed for random draws
    #[arg(long, default_value_t = 0, value_name = "N", hide_short_help = true)]
    pub(crate) seed: u64,
}
