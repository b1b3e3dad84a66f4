//! Shared code of the measuring programs: their command lines and output.

#![allow(dead_code, reason = "not every program uses all of it")]

use std::io::{self, Write};
use std::process::ExitCode;

/// An error that ends the program.
pub(crate) type Failure = Box<dyn std::error::Error>;

/// Parses the command line and runs a program with it. The exit status is 2 for wrong usage and errors.
pub(crate) fn run<A: clap::Parser>(run: impl FnOnce(&A) -> Result<u8, Failure>) -> ExitCode {
    let matches = A::command().max_term_width(80).try_get_matches();
    match matches.and_then(|matches| A::from_arg_matches(&matches)) {
        Ok(arguments) => ExitCode::from(run(&arguments).unwrap_or_else(|error| {
            let _ = writeln!(io::stderr(), "error: {error}");
            2
        })),
        Err(error) => {
            let _ = error.print();
            if error.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS }
        }
    }
}

/// Writes to standard output.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}
