//! `wrongturn bench`: the metrics of published benchmarks.

pub(crate) mod benchtrace;
pub(crate) mod recovery;

use crate::common;

/// Computes the metrics of BenchTrace and Recovery-Bench.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Scores reflection, evolution and agreement as BenchTrace does
    #[command(name = "benchtrace")]
    BenchTrace(benchtrace::Arguments),
    /// Compares recovery with fresh starts as Recovery-Bench does
    Recovery(recovery::Arguments),
}

pub(crate) fn run(arguments: &Arguments) -> Result<u8, common::Failure> {
    match &arguments.command {
        Command::BenchTrace(arguments) => benchtrace::run(arguments),
        Command::Recovery(arguments) => recovery::run(arguments),
    }
}
