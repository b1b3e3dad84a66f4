//! Inputs that are not valid JSON: truncated or damaged, or protobuf.

use super::collection::{SpanCollection, is_resources};
use super::otlp_json;
use super::relatives;
use super::shape::shape;
use crate::json::{Fault, Json, Kind};
use crate::read::Format;
use crate::read::members::Members;
use crate::read::runs::Runs;
use crate::read::window::Window;

/// Reads a damaged input up to the damage, or returns `None` if it holds no spans.
pub(super) fn take_damaged<'a>(bytes: &'a [u8], into: &mut SpanCollection<'a>) -> Option<Fault> {
    let mut json = Json::new(bytes);
    let mut found = false;
    // Documents may follow one another.
    while json.peek_byte() == Some(b'{') {
        let start = json.clone();
        if let Ok(whole) = json.raw() {
            let members = Members::of(&mut whole.json());
            found |= shape(&members).is_some();
            if let Err(fault) = into.take_object(&members) {
                into.fault(fault);
            }
            continue;
        }
        json = start;
        let read = json.object(|key, value| {
            let is_list = value.kind()? == Kind::List;
            match key {
                _ if is_list && is_resources(key) => {
                    found = true;
                    otlp_json::resources(value, into)
                }
                b"data" if is_list => relatives::jaeger(value, into),
                b"spans" if is_list => relatives::nested(None, value, into),
                _ => value.skip(),
            }
        });
        found |= !into.traces.is_empty();
        return read.err().filter(|_| found);
    }
    let behind = json.offset();
    found.then(|| match first_unsound(bytes) {
        // The fault may lie in a skipped part, or have been found already.
        Some(fault) => {
            into.faults.retain(|known| known.at() != fault.at());
            fault
        }
        None => Fault::syntax(behind, "expected another object"),
    })
}

/// Returns the first error in documents that follow one another.
fn first_unsound(bytes: &[u8]) -> Option<Fault> {
    let mut json = Json::new(bytes);
    while json.peek_byte() == Some(b'{') {
        if let Err(fault) = json.check() {
            return Some(fault);
        }
    }
    None
}

/// Reads a damaged document up to the damage, or returns false if it holds no spans.
pub(crate) fn read_damaged(bytes: &[u8], window: &Window<'_>, runs: &mut Runs<'_>) -> bool {
    let mut collection = SpanCollection::default();
    let Some(fault) = take_damaged(bytes, &mut collection) else { return false };
    runs.reading.format = Some(Format::OpenTelemetry);
    collection.account(runs);
    runs.fail_at(fault);
    runs.settle(window);
    collection.give(runs);
    true
}

/// Reads an input that is a request of OTLP as protobuf, or returns false.
pub(crate) fn read_protobuf(bytes: &[u8], runs: &mut Runs<'_>) -> bool {
    let mut collection = SpanCollection::default();
    match collection.add_protobuf(bytes) {
        None => return false,
        Some(Ok(())) => {
            runs.reading.format = Some(Format::OpenTelemetry);
            collection.account(runs);
            collection.give(runs);
        }
        Some(Err(error)) => {
            runs.reading.format = Some(Format::OpenTelemetry);
            runs.fail(error);
        }
    }
    true
}
