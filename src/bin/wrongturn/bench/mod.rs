//! `wrongturn bench`: the measures of published benchmarks.

pub(crate) mod benchtrace;
pub(crate) mod recovery;

use crate::common;

/// Computes the measures of BenchTrace and of Recovery-Bench.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Reflection, evolution, agreement and failure modes, as BenchTrace defines them
    #[command(name = "benchtrace")]
    BenchTrace(benchtrace::Arguments),
    /// Recovery from the state in which a failed trial ended, as Recovery-Bench defines it
    Recovery(recovery::Arguments),
}

pub(crate) fn run(arguments: &Arguments) -> Result<u8, common::Failure> {
    match &arguments.command {
        Command::BenchTrace(arguments) => benchtrace::run(arguments),
        Command::Recovery(arguments) => recovery::run(arguments),
    }
}
