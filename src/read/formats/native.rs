//! Files of native traces: `{"traces": […]}`, a bare list, one trace, or one per line.

use super::prelude::*;
use crate::trace::{RunSummary, Trace};

const FOREIGN: Mark = Every("traces", &Not(&HasOne(&["version", "steps"])));

pub(super) const FORMAT: Definition = Definition {
    signature: &[
        Shape::Each(All(&[Is(Kind::Number, &["version"]), Has(&["steps"])])),
        // Traces of other tools have observations or spans next to them, or neither a version nor steps.
        Shape::Object(All(&[
            Has(&["traces"]),
            Not(&Any(&[Has(&["observations"]), Has(&["spans"]), FOREIGN])),
        ])),
        Shape::Lines(All(&[MayBeList("traces"), Not(&Any(&[MayBeList("observations"), FOREIGN]))])),
    ],
    reader: Reader::Records(RecordReader {
        what: "native traces",
        list: "traces",
        run_keys: &["version", "steps"],
        header_keys: &[],
        header: RecordReader::no_header,
        is_complete: |_| true,
        run,
    }),
};

/// Reads a native trace with serde, as golden entries are read.
fn run(json: &mut Json<'_>, _: &Header, _: &mut Assembler<'_>, runs: &mut Runs<'_>) -> Read<RunSummary> {
    let start = json.offset();
    let raw = json.raw()?;
    match serde_json::from_slice::<Trace>(raw.bytes()) {
        Ok(trace) => {
            runs.begin(trace.routing());
            trace.steps().for_each(|step| runs.step(&step));
            Ok(trace.ending().clone())
        }
        Err(error) => {
            if simdutf8::basic::from_utf8(raw.bytes()).is_err() {
                return Err(Fault::encoding_at(start));
            }
            let text = raw.bytes();
            let line = error.line().saturating_sub(1);
            let before: usize = text.split_inclusive(|byte| *byte == b'\n').take(line).map(<[u8]>::len).sum();
            let at = (before + error.column().saturating_sub(1)).min(text.len());
            Err(Fault::other(start + at, Error::json(&error).unplaced()))
        }
    }
}
