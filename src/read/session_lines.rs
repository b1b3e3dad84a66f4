//! Sessions with an event in each line: each line is read by itself and added to the state so far.

use super::document::Document;
use super::runs::Runs;
use crate::json::{Json, Read};

/// The sessions of one input.
pub(super) trait SessionLines<'a>: Default {
    /// A parsed line.
    type Line;

    /// Reads a line.
    fn read_line(json: &mut Json<'a>) -> Read<Self::Line>;

    /// Adds the next line.
    fn add(&mut self, line: Self::Line);

    /// Emits the runs of all sessions.
    fn end(self, runs: &mut Runs<'_>);
}

/// Reads the lines of a document. A faulty line is skipped and reported.
#[expect(clippy::unnecessary_wraps, reason = "a reader of documents may fail")]
pub(super) fn read<'a, S: SessionLines<'a>>(document: &Document<'a>, runs: &mut Runs<'_>) -> Read<()> {
    let Document::Lines(lines) = document else { return Ok(()) };
    let mut sessions = S::default();
    for line in lines {
        match S::read_line(&mut line.json()) {
            Ok(line) => sessions.add(line),
            // Reading finds faults that skipping does not.
            Err(_) => runs.pass_over("lines that are no JSON", 1),
        }
    }
    sessions.end(runs);
    Ok(())
}
