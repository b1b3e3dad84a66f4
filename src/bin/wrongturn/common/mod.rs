//! Code that the subcommands share: flags, exit statuses, reports on inputs, and atomic outputs.

pub(crate) mod arguments;
pub(crate) mod config;
pub(crate) mod findings;
pub(crate) mod inputs;
pub(crate) mod output;
pub(crate) mod parts;
pub(crate) mod records;
pub(crate) mod replicated;
pub(crate) mod tables;
pub(crate) mod terminal;

use std::io;
use std::path::Path;
use std::process::ExitCode;

use serde::Serialize;

pub(crate) use terminal::{note, print, print_raw, report, width, wrapped};

/// An error that ends the program.
pub(crate) type Failure = Box<dyn std::error::Error>;

/// Exit status if a gate such as `--fail-on` fails.
pub(crate) const FAILED: u8 = 1;

/// Exit status for a usage error, an invalid configuration, or an output that cannot be written.
pub(crate) const USAGE: u8 = 2;

/// Exit status if some input could not be read.
pub(crate) const UNREAD: u8 = 3;

/// Maximum number of errors that are printed; further ones are only counted.
const MOST_ERRORS: usize = 20;

/// The exit statuses of subcommands without a gate, for help texts.
pub(crate) const STATUS: &str = "Exit status: 0 success; 2 usage or configuration error; 3 some inputs could not be read (details \
                      on stderr).";

/// The exit statuses of subcommands with a gate, and of the program.
pub(crate) const GATE_STATUS: &str = "Exit status: 0 success; 1 a gate failed; 2 usage or configuration error; 3 some \
                                      inputs could not be read (details on stderr).";

/// An error that ends the program with [`UNREAD`].
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Unread(pub(crate) String);

impl Unread {
    /// Returns the error for a file from which no `what` could be read.
    pub(crate) fn no(what: &str, path: &Path) -> Failure {
        Self(format!("{}: no {what} could be read", path.display())).into()
    }

    /// Returns the error for a command whose inputs could not be read at all.
    pub(crate) fn nothing_read() -> Failure {
        Self("nothing could be read".to_owned()).into()
    }
}

/// Returns the end of a help text: inputs, outputs, exit statuses, and an example.
pub(crate) fn notes(inputs: &str, outputs: &str, example: &str) -> String {
    notes_with(inputs, outputs, STATUS, example)
}

/// Like [`notes`], for a subcommand with exit statuses of its own.
pub(crate) fn notes_with(inputs: &str, outputs: &str, status: &str, example: &str) -> String {
    format!("Inputs: {inputs}\n\nOutputs: {outputs}\n\n{status}\n\nExample: {example}")
}

/// Parses the command line. Returns an exit status if the program should end: 0 for `--help`, `usage` for an error.
pub(crate) fn parse<A: clap::Parser>(usage: u8) -> Result<A, ExitCode> {
    // If `--output` writes any format, only `--help` lists these flags, so the output of `-h` fits on a screen.
    let shorten = |command: clap::Command| {
        let writes_any = command.get_arguments().any(|argument| argument.get_id() == "output");
        command.mut_args(|argument| match argument.get_id().as_str() {
            "html" | "json" | "meta" if writes_any => argument.hide_short_help(true),
            _ => argument,
        })
    };
    let command = A::command().max_term_width(80).mut_subcommands(shorten);
    let matches = command.try_get_matches();
    matches.and_then(|matches| A::from_arg_matches(&matches)).map_err(|error| {
        let _ = error.print();
        if error.use_stderr() { ExitCode::from(usage) } else { ExitCode::SUCCESS }
    })
}

/// Returns the exit status of `run`. Prints an error, and returns [`UNREAD`] for [`Unread`] and `usage` for any
/// other. A closed pipe is not an error.
pub(crate) fn finish(run: Result<u8, Failure>, usage: u8) -> ExitCode {
    match run {
        Ok(status) => ExitCode::from(status),
        Err(error) if is_closed_pipe(&*error) => ExitCode::SUCCESS,
        Err(error) => {
            for error in error.to_string().split(NEXT) {
                note(&format!("error: {error}"));
            }
            ExitCode::from(if error.is::<Unread>() { UNREAD } else { usage })
        }
    }
}

/// The text between errors that [`joined`] joins and [`finish`] prints one by one.
const NEXT: &str = "\nerror: ";

/// Joins errors into one message; counts those after the first 20.
pub(crate) fn joined<E: std::fmt::Display>(errors: &[E]) -> String {
    let mut texts: Vec<String> = errors.iter().take(MOST_ERRORS).map(ToString::to_string).collect();
    let more = errors.len().saturating_sub(MOST_ERRORS) as u64;
    texts.extend((more > 0).then(|| findings::counted(more, "more error")));
    texts.join(NEXT)
}

/// Returns true if writing failed because the other end of the pipe is closed.
fn is_closed_pipe(error: &(dyn std::error::Error + 'static)) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

pub(crate) fn json_line(value: &impl Serialize) -> Result<String, String> {
    let line = serde_json::to_string(value).map_err(|error| error.to_string())?;
    Ok(terminal::printable_json(line) + "\n")
}

pub(crate) fn json_text(value: &impl Serialize) -> Result<String, serde_json::Error> {
    Ok(terminal::printable_json(serde_json::to_string_pretty(value)?) + "\n")
}
