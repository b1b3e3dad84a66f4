//! Inputs that are no sound JSON: cut off or damaged, or protobuf.

use super::collection::{SpanCollection, is_resources};
use super::otlp_json;
use super::relatives;
use super::shape::shape;
use crate::json::{Fault, Json, Kind};
use crate::read::Format;
use crate::read::members::Members;
use crate::read::runs::Runs;
use crate::read::window::Window;

/// Reads what there is of an input that is cut off or otherwise damaged, up to the damage. `None`: it holds no spans.
pub(super) fn take_damaged<'a>(bytes: &'a [u8], into: &mut SpanCollection<'a>) -> Option<Fault> {
    let mut json = Json::new(bytes);
    let mut found = false;
    // Documents may stand one behind the other.
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
        // It may stand where nobody reads, or have been found there.
        Some(fault) => {
            into.faults.retain(|known| known.at() != fault.at());
            fault
        }
        None => Fault::syntax(behind, "expected another object"),
    })
}

/// The first thing that is wrong in documents that stand one behind the other.
fn first_unsound(bytes: &[u8]) -> Option<Fault> {
    let mut json = Json::new(bytes);
    while json.peek_byte() == Some(b'{') {
        if let Err(fault) = json.check() {
            return Some(fault);
        }
    }
    None
}

/// Reads what there is of a damaged document; `false` where it holds no spans.
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

/// Whether an input that is no JSON is a request of OTLP as protobuf; if so, reads it.
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
