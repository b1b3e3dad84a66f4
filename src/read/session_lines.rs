//! Sessions whose events stand in lines, of which each is read as it stands and added to what came before it.

use super::at_once::{Taken, read_lines};
use super::document::Document;
use super::runs::Runs;
use crate::json::{Json, Read};

/// The sessions of one input, in the middle of being read.
pub(super) trait SessionLines<'a>: Default {
    /// A line as it stands.
    type Line;

    /// Reads a line.
    fn read_line(json: &mut Json<'a>) -> Read<Self::Line>;

    /// What a line is to the format.
    fn taken(line: &Self::Line) -> Taken;

    /// Adds the next line.
    fn add(&mut self, line: Self::Line);

    /// Gives the runs of all sessions.
    fn end(self, runs: &mut Runs<'_>);
}

/// Reads lines that are known to be objects. What is wrong with one costs that line only.
#[expect(clippy::unnecessary_wraps, reason = "a reader of documents may fail")]
pub(super) fn read<'a, S: SessionLines<'a>>(document: &Document<'a>, runs: &mut Runs<'_>) -> Read<()> {
    let Document::Lines(lines) = document else { return Ok(()) };
    let mut sessions = S::default();
    for line in lines.iter() {
        match S::read_line(&mut line.json()) {
            Ok(line) => sessions.add(line),
            // What is read is looked at more closely than what is passed over.
            Err(_) => runs.pass_over("lines that are no JSON", 1),
        }
    }
    sessions.end(runs);
    Ok(())
}

/// Reads an input in one walk. `false`: nothing was handed on.
pub(super) fn read_at_once<'a, S: SessionLines<'a>>(bytes: &'a [u8], runs: &mut Runs<'_>) -> bool {
    let mut sessions = S::default();
    let take = |line| {
        let taken = S::taken(&line);
        sessions.add(line);
        taken
    };
    let Some(others) = read_lines(bytes, S::read_line, take) else { return false };
    others.pass_over(runs);
    sessions.end(runs);
    true
}
