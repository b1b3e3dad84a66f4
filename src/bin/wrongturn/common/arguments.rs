//! Flags that several subcommands share.

use clap::builder::{StringValueParser, TypedValueParser};
use wrongturn::{Alignment, Confidence, Format, ReadOptions};

use super::Failure;

/// How the inputs are read.
#[derive(clap::Args, Debug)]
pub(crate) struct Reading {
    /// Format of the inputs; default: as their content says. See `wrongturn formats`
    #[arg(long)]
    pub(crate) format: Option<Format>,
    /// What `obs` is in BenchTrace episodes (before, after); default: as each episode's first entry tells
    #[arg(long)]
    pub(crate) alignment: Option<Alignment>,
    /// All files are one source: the spans and log records of a trace meet wherever they lie. Files of other formats are
    /// read as always
    #[arg(long)]
    pub(crate) join: bool,
}

impl Reading {
    pub(crate) fn options(&self) -> ReadOptions {
        ReadOptions { format: self.format, alignment: self.alignment, ..ReadOptions::default() }
    }
}

/// Which findings are told.
#[derive(clap::Args, Debug, Clone, Copy)]
pub(crate) struct Surety {
    /// Tell only findings that are at least this sure (likely, certain)
    #[arg(long, default_value = "likely", value_name = "CONFIDENCE")]
    pub(crate) min_confidence: Confidence,
}

/// A name in a list, without the space that may stand around it.
pub(crate) fn name() -> impl TypedValueParser<Value = String> {
    StringValueParser::new().map(|text| text.trim().to_owned())
}

/// How many threads work.
#[derive(clap::Args, Debug, Clone, Copy)]
pub(crate) struct Threads {
    /// Threads; default: one per core
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
}

impl Threads {
    /// How many were asked for.
    pub(crate) fn wanted(self) -> Option<usize> {
        self.threads.map(usize::from)
    }

    /// A pool of them.
    pub(crate) fn pool(self) -> Result<rayon::ThreadPool, Failure> {
        Ok(rayon::ThreadPoolBuilder::new().num_threads(self.wanted().unwrap_or(0)).build()?)
    }
}

/// What is drawn, and from where.
#[derive(clap::Args, Debug, Clone, Copy)]
pub(crate) struct Resamples {
    /// Resamples of each bootstrap and permutation test
    #[arg(long, default_value_t = 2000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) resamples: u32,
    #[command(flatten)]
    pub(crate) seed: Seed,
}

/// Where drawing begins.
#[derive(clap::Args, Debug, Clone, Copy)]
pub(crate) struct Seed {
    /// Seed of whatever is drawn
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub(crate) seed: u64,
}
