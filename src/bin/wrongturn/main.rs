//! The program `wrongturn`: one file per subcommand, and `common` for what they share.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program")]
#![allow(clippy::doc_markdown, reason = "doc comments of arguments are help texts")]

mod bench;
mod calibrate;
mod check;
mod common;
mod compare;
mod convert;
mod doctor;
mod fingerprint;
mod guard;
mod label;
mod list;
mod merge;
mod replicate;
mod show;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

/// Finds failures in recorded runs of AI agents.
#[derive(Parser)]
#[command(name = "wrongturn", version, arg_required_else_help = true, after_help = common::GATE_STATUS)]
struct Program {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Check(check::Arguments),
    Show(show::Arguments),
    Compare(compare::Arguments),
    Fingerprint(fingerprint::Arguments),
    Gate(compare::Gate),
    Convert(convert::Arguments),
    Replicate(replicate::Arguments),
    Calibrate(calibrate::Arguments),
    Label(label::Arguments),
    Merge(merge::Arguments),
    Guard(guard::Arguments),
    Watch(guard::Watch),
    Bench(bench::Arguments),
    Doctor(doctor::Arguments),
    Formats(list::Formats),
    Detectors(list::Detectors),
    Completions(list::Completions),
    Man(list::Man),
    Schema(list::Schema),
}

fn main() -> ExitCode {
    // Coding agents treat exit status 2 of a hook as a block, so usage errors of `guard` exit with 1.
    let is_guard = std::env::args_os().nth(1).is_some_and(|name| name == "guard");
    let usage = if is_guard { common::FAILED } else { common::USAGE };
    let Program { command } = match common::parse(usage) {
        Ok(program) => program,
        Err(status) => return status,
    };
    let status = match command {
        Command::Check(arguments) => check::run(&arguments),
        Command::Show(arguments) => show::run(&arguments),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Fingerprint(arguments) => fingerprint::run(&arguments),
        Command::Gate(arguments) => compare::gate(&arguments),
        Command::Convert(arguments) => convert::run(&arguments),
        Command::Replicate(arguments) => replicate::run(&arguments),
        Command::Calibrate(arguments) => calibrate::run(&arguments),
        Command::Label(arguments) => label::run(&arguments),
        Command::Merge(arguments) => merge::run(&arguments),
        Command::Guard(arguments) => guard::run(&arguments),
        Command::Watch(arguments) => guard::watch(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Formats(arguments) => list::formats(&arguments),
        Command::Detectors(arguments) => list::detectors(&arguments),
        Command::Completions(arguments) => list::completions(&arguments, Program::command()),
        Command::Man(arguments) => list::man(&arguments, Program::command()),
        Command::Schema(_) => list::schema(),
    };
    common::finish(status, usage)
}
