//! Files of native traces: `{"traces": […]}`, a bare list, one trace, or one per line.

use crate::error::Error;
use crate::json::{Fault, Json, Kind, Read};
use crate::read::Format;
use crate::read::format::{Entry, Reader, RecordReader};
use crate::read::runs::{Header, OpenRun};
use crate::read::sample::{Members, Sample};
use crate::trace::Trace;

pub(in crate::read) const FORMAT: Entry = Entry {
    format: Format::Native,
    about: "this crate's own form",
    decisive: "`version` and `steps`, or a list `traces` of such",
    reader: Reader::Records(RecordReader {
        what: "native traces",
        claims,
        list: "traces",
        run_keys: &["version", "steps"],
        header_keys: &[],
        header: RecordReader::no_header,
        is_complete: |_| true,
        run,
    }),
};

fn claims(sample: &Sample<'_>) -> bool {
    let trace = |members: &Members<'_>| members.is("version", Kind::Number) && members.has("steps");
    // Langfuse has traces of its own, with their observations next to them.
    sample.records().iter().any(trace) || sample.holds("traces") && !sample.holds("observations")
}

/// The form is this crate's own, and read by serde: the one reader of it that golden entries use as well.
fn run(json: &mut Json<'_>, _: &Header, run: &mut OpenRun<'_, '_>) -> Read<()> {
    let start = json.offset();
    let raw = json.raw()?;
    match serde_json::from_slice::<Trace>(raw.bytes()) {
        Ok(trace) => {
            run.replay(&trace);
            Ok(())
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
