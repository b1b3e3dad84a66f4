//! The compact form of a trace, for parking and for saved states.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::assembler::TraceAssembler;
use super::event::LiveEvent;
use super::open_trace::OpenTrace;
use super::open_traces::{Slot, State};
use super::piece::Piece;
use super::span_text::SpanText;
use super::spans::{HeldSpans, Reported};
use crate::detect::Finding;
use crate::error::{Error, Result};
use crate::trace::Metadata;

/// The state of a trace: the received pieces and the reported findings. It holds no detector state: a resumed
/// trace is judged again from its beginning.
#[derive(Serialize, Deserialize)]
struct Contents<'t> {
    metadata: Cow<'t, Metadata>,
    pieces: Vec<(u64, Cow<'t, Piece>)>,
    reported: Vec<Finding>,
    spans: Cow<'t, SpanText>,
    runs: Cow<'t, Reported>,
    last: u64,
    ended: Option<u64>,
}

impl OpenTrace {
    /// Returns the form in which the trace is parked and saved.
    pub(super) fn to_json(&self) -> Vec<u8> {
        let contents = Contents {
            metadata: Cow::Borrowed(&self.metadata),
            pieces: self.pieces.iter().map(|(time, piece)| (time, Cow::Borrowed(piece))).collect(),
            reported: self.reported(),
            spans: Cow::Borrowed(&self.spans.text),
            runs: Cow::Borrowed(&self.spans.reported),
            last: self.last,
            ended: self.ended,
        };
        // Cannot fail: keys are strings, and all numbers are finite.
        serde_json::to_vec(&contents).unwrap_or_default()
    }

    /// Returns its JSON, compressed if the feature `compression` is on.
    pub(super) fn packed(&self) -> Box<[u8]> {
        compressed(&self.to_json()).into()
    }

    /// Restores a trace from the output of [`OpenTrace::packed`].
    pub(super) fn unpacked(packed: &[u8]) -> Self {
        // It was written here, so it parses.
        Self::from_json(&unpacked(packed)).unwrap_or_default()
    }

    pub(super) fn from_json(json: &[u8]) -> Result<Self> {
        let contents: Contents<'_> = serde_json::from_slice(json)
            .map_err(|error| Error::trace(format!("expected the state of a trace: {error}")))?;
        let mut trace = Self::default();
        trace.metadata = Arc::new(contents.metadata.into_owned());
        trace.reported = contents.reported;
        trace.spans = HeldSpans::unpacked(contents.spans.into_owned().checked()?, contents.runs.into_owned());
        (trace.last, trace.ended) = (contents.last, contents.ended);
        trace.pieces.append(contents.pieces.into_iter().map(|(time, piece)| (time, piece.into_owned())));
        Ok(trace)
    }

    /// Adds another part of the same trace. Takes its metadata only if this part has none.
    pub(super) fn merge(&mut self, other: Self) {
        let known = |finding: &Finding| self.reported.iter().any(|own| own.id == finding.id);
        let new: Vec<Finding> = other.reported.into_iter().filter(|finding| !known(finding)).collect();
        self.reported.extend(new);
        if *self.metadata == Metadata::default() {
            self.metadata = other.metadata;
        }
        self.pieces.append(other.pieces.into_pieces());
        let mut reported = std::mem::take(&mut self.spans.reported);
        for (run, findings) in other.spans.reported {
            let own = reported.entry(run).or_default();
            own.extend(findings);
            own.sort_by(|one, other| one.id.cmp(&other.id));
            own.dedup_by(|one, other| one.id == other.id);
        }
        let mut text = std::mem::take(&mut self.spans.text);
        text.append(&other.spans.text);
        self.spans = HeldSpans::unpacked(text, reported);
        self.last = self.last.max(other.last);
        self.ended = self.ended.max(other.ended);
    }
}

impl TraceAssembler {
    /// Packs an open trace. An idle one is next due when it expires. Any other was parked because of a limit and keeps
    /// its due time.
    pub(super) fn park(&mut self, id: &Arc<str>) {
        // Keeping below the limit may have parked it already.
        let Some(Slot { state: State::Open(open), pieces, .. }) = self.slots.traces.get(id) else { return };
        let options = &self.rules.options;
        let due =
            if open.is_idle(self.now, options) { open.expires(options) } else { open.next_due(options) };
        let (packed, pieces) = (open.packed(), *pieces);
        self.slots.remove(id);
        self.slots.insert(id, State::Parked(packed), pieces);
        self.slots.set_due(id, due);
        self.counts.traces_parked += 1;
        self.events.push_back(LiveEvent::Parked { trace: Arc::clone(id) });
    }

    /// Unpacks a trace if it is parked, and schedules a judgement of it.
    pub(super) fn unpark(&mut self, id: &Arc<str>) {
        if !matches!(self.slots.traces.get(id), Some(Slot { state: State::Parked(_), .. })) {
            return;
        }
        let Some(slot) = self.slots.remove(id) else { return };
        let mut open = slot.state.into_open();
        open.resume(self.now, &self.rules.options);
        self.slots.insert(id, State::Open(Box::new(open)), slot.pieces);
        self.counts.traces_resumed += 1;
    }
}

#[cfg(feature = "compression")]
fn compressed(json: &[u8]) -> Vec<u8> {
    use std::io::Write;

    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
    // Writing to memory does not fail.
    let _ = encoder.write_all(json);
    encoder.finish().unwrap_or_default()
}

#[cfg(feature = "compression")]
pub(super) fn unpacked(bytes: &[u8]) -> Vec<u8> {
    use std::io::Read;

    let mut json = Vec::new();
    let _ = flate2::read::DeflateDecoder::new(bytes).read_to_end(&mut json);
    json
}

#[cfg(not(feature = "compression"))]
fn compressed(json: &[u8]) -> Vec<u8> {
    json.to_vec()
}

#[cfg(not(feature = "compression"))]
pub(super) fn unpacked(bytes: &[u8]) -> Vec<u8> {
    bytes.to_vec()
}
