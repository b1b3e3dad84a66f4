//! Command lines of the measuring examples.

#![allow(dead_code, reason = "not every example uses all of it")]

use std::io::{self, Write};
use std::process::ExitCode;

/// An error that ends the program.
pub(crate) type Failure = Box<dyn std::error::Error>;

/// The end of a help text: inputs, outputs, exit statuses, and an example.
pub(crate) fn notes(inputs: &str, outputs: &str, status: &str, example: &str) -> String {
    format!("Inputs: {inputs}\n\nOutputs: {outputs}\n\n{status}\n\nExample: {example}")
}

/// Parses the command line. Help texts fit 80 columns.
pub(crate) fn parse<A: clap::Parser>() -> Result<A, ExitCode> {
    let matches = A::command().max_term_width(80).try_get_matches();
    matches.and_then(|matches| A::from_arg_matches(&matches)).map_err(|error| {
        let _ = error.print();
        if error.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS }
    })
}

/// Returns the exit status of `run`, after printing its error.
pub(crate) fn finish(run: Result<u8, Failure>) -> ExitCode {
    match run {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::from(2)
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
