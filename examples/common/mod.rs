//! What the command-line examples share: help texts, exit statuses, flags, the report of what could not be read, output
//! that is whole or not there.

#![allow(dead_code, reason = "no example uses all of it")]

pub(crate) mod arguments;
pub(crate) mod inputs;
pub(crate) mod output;
#[cfg(feature = "html")]
pub(crate) mod parts;
#[cfg(feature = "html")]
pub(crate) mod records;
#[cfg(feature = "html")]
pub(crate) mod replicated;
pub(crate) mod tables;

use std::io::{self, Write};
use std::process::ExitCode;

use serde::Serialize;

/// Any failure that ends the program: wrong usage, or output that cannot be written.
pub(crate) type Failure = Box<dyn std::error::Error>;

/// Exit statuses of examples that read runs.
pub(crate) const STATUS: &str = "Exit status: 0 when every input was read; 2 when some was not, which is told on standard \
                                 error with its place; 1 for wrong usage, or when nothing could be read.";

/// What stands under the options of every help: what goes in, what comes out, how it ends, and a line to try.
pub(crate) fn notes(inputs: &str, outputs: &str, status: &str, example: &str) -> String {
    format!("Inputs: {inputs}\n\nOutputs: {outputs}\n\n{status}\n\nExample: {example}")
}

/// Parses the command line, with help for 80 columns; wrong usage ends with exit status 1.
pub(crate) fn parse<A: clap::Parser>() -> Result<A, ExitCode> {
    let matches = A::command().max_term_width(80).try_get_matches();
    matches.and_then(|matches| A::from_arg_matches(&matches)).map_err(|error| {
        let _ = error.print();
        if error.use_stderr() { ExitCode::from(1) } else { ExitCode::SUCCESS }
    })
}

/// Ends with the exit status of `run`; a failure is told on stderr and ends with 1. Where nobody reads the output any
/// more there is nobody to tell.
pub(crate) fn finish(run: Result<u8, Failure>) -> ExitCode {
    match run {
        Ok(status) => ExitCode::from(status),
        Err(error) if is_closed_pipe(&*error) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::from(1)
        }
    }
}

/// Whether nobody reads any more.
fn is_closed_pipe(error: &(dyn std::error::Error + 'static)) -> bool {
    let own = error.downcast_ref::<io::Error>().map(io::Error::kind);
    let json = error.downcast_ref::<serde_json::Error>().and_then(serde_json::Error::io_error_kind);
    own.or(json) == Some(io::ErrorKind::BrokenPipe)
}

/// Writes to standard output.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// Lines of at most `width` columns, broken at spaces; all but the first are indented.
pub(crate) fn wrapped(text: &str, width: usize, indent: usize) -> String {
    let (mut lines, mut line) = (String::new(), String::new());
    for word in text.split(' ') {
        if !line.trim_start().is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines += &std::mem::replace(&mut line, " ".repeat(indent));
            lines.push('\n');
        } else if !line.is_empty() {
            line.push(' ');
        }
        line += word;
    }
    lines + &line
}

/// The width of the terminal; of whatever else is written to, 80.
pub(crate) fn width() -> usize {
    console::Term::stdout().size_checked().map_or(80, |(_, columns)| usize::from(columns))
}

/// A value as a line of JSON.
pub(crate) fn json_line(value: &impl Serialize) -> Result<Vec<u8>, String> {
    let mut line = serde_json::to_vec(value).map_err(|error| error.to_string())?;
    line.push(b'\n');
    Ok(line)
}
