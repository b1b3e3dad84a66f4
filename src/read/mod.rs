//! Reads recorded runs in any of the known formats.
//!
//! [`read_traces`] reads bytes into traces. [`read_slice`] and [`read_stream`] feed a [`StepSink`] without
//! building traces. [`Format`] lists the formats.

mod answers_without_id;
mod call_outcome;
mod common;
mod document;
mod envelope;
mod format;
mod formats;
mod framing;
mod header;
mod inside;
mod lossy;
mod members;
mod not_text;
mod place;
mod recognise;
mod runs;
mod sample;
mod session;
mod signature;
mod snapshots;
mod summary;
mod text_calls;
mod text_grammars;
mod text_results;
mod time;
mod timestamp;
mod tokens;
#[cfg_attr(not(feature = "scan"), allow(dead_code, reason = "only scans know sidecar files"))]
pub(crate) mod trial_reward;
mod unread_calls;
mod walk;
mod whole_input;
mod window;
mod wire;
mod words;
mod written_results;
#[cfg(feature = "compression")]
mod zstd;

use std::collections::BTreeSet;
use std::io::Read;

pub use formats::Format;
pub use formats::bench_trace::Alignment;
#[cfg(feature = "scan")]
pub(crate) use formats::otel::SpanPool;
pub(crate) use formats::otel::{
    AgentRun, LogRecord, RESOURCE_LABEL, Resource, SPAN_LABEL, Span, are_whole_below, put_in_order,
    resource_bytes, runs_of_trace, runs_so_far,
};
pub use formats::otel::{SpanBatch, SpanJoin};
pub(crate) use header::Header;
pub use summary::{PassedOver, ReadCounts, ReadSummary};
pub(crate) use walk::{Piece, Pieces};

use format::{Reader, RecordReader};
use recognise::Recognised;
use runs::Runs;
use walk::Walk;
pub(crate) use window::Window;
#[cfg(all(feature = "compression", feature = "scan"))]
pub(crate) use zstd::Frames;

use crate::error::{Error, ErrorKind};
use crate::trace::{StepSink, Trace, TraceCollector};

/// How files are read. Fields may be added: end a literal with `..ReadOptions::default()`.
///
/// ```
/// use wrongturn::{read::Format, ReadOptions, read_traces};
///
/// let options = ReadOptions { format: Some(Format::Native), most_held: 64 << 20, ..ReadOptions::default() };
/// let (traces, reading) = read_traces(br#"{"version": 1, "steps": []}"#, &options);
/// assert_eq!((traces.len(), reading.format), (1, options.format));
/// ```
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// The format, or `None` to recognise it by the content.
    pub format: Option<Format>,
    /// The meaning of `obs` in `BenchTrace` episodes, or `None` to derive it from the first entry of each.
    pub alignment: Option<Alignment>,
    /// Whether to read reference routes.
    pub routes: bool,
    /// Whether to keep the JSON texts of arguments, for rules that look inside them; their digests are always kept.
    /// With `None`, a scan keeps the texts only if a detector reads them; any other use keeps them. The texts are
    /// always kept if a reference route compares only some arguments.
    pub argument_texts: Option<bool>,
    /// Limit on the number of bytes of a stream held at once: a single run, or the whole input if its format
    /// must be seen whole. Also limits each file of an archive.
    pub most_held: usize,
    /// Whether a result that begins with `Error` counts as an error, in formats that do not mark errors
    /// themselves (spans).
    pub text_errors: bool,
    /// Whether to find the places of steps in the input, for sinks that report them.
    pub places: bool,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            format: None,
            alignment: None,
            routes: true,
            argument_texts: None,
            most_held: 1 << 30,
            text_errors: true,
            places: false,
        }
    }
}

/// Reads the runs of a file in memory into a sink. Errors are in the summary. [`StepSink`] has an example.
pub fn read_slice(bytes: &[u8], options: &ReadOptions, sink: &mut dyn StepSink) -> ReadSummary {
    read_window(&mut Window::over_slice(bytes), &InputContext::default(), options, sink)
}

/// Reads the runs of a stream into a sink, holding one run at a time if the format allows it. Errors are in
/// the summary.
///
/// If the header of a tau2 file comes after its runs, this function looks up to 8 MiB ahead for it. If the header
/// lies beyond that, reference routes, model and domain are unknown, and the verdicts give that as the reason.
///
/// ```
/// use wrongturn::{ReadOptions, read::read_stream, trace::TraceCollector};
///
/// let lines = "{\"version\": 1, \"steps\": []}\n".repeat(3);
/// let mut collector = TraceCollector::default();
/// let reading = read_stream(lines.as_bytes(), &ReadOptions::default(), &mut collector);
/// assert_eq!((reading.counts.runs, collector.traces.len()), (3, 3));
/// ```
pub fn read_stream(input: impl Read, options: &ReadOptions, sink: &mut dyn StepSink) -> ReadSummary {
    read_window(&mut Window::over_stream(input, options.most_held), &InputContext::default(), options, sink)
}

/// Reads every run of a file in memory as a [`Trace`].
///
/// ```
/// use wrongturn::{ReadOptions, read_traces};
///
/// let file = br#"{"info": null, "tasks": [], "simulations": [{"id": "a", "messages": []}, 7]}"#;
/// let (traces, reading) = read_traces(file, &ReadOptions::default());
/// assert_eq!((traces.len(), reading.format.unwrap().to_string()), (1, "tau2".to_owned()));
/// assert_eq!(reading.errors[0].run(), Some(1));
/// ```
pub fn read_traces(bytes: &[u8], options: &ReadOptions) -> (Vec<Trace>, ReadSummary) {
    let mut collector = TraceCollector::default();
    let reading = read_slice(bytes, options, &mut collector);
    (collector.traces, reading)
}

/// Facts about an input that are not in its bytes.
#[derive(Default)]
pub(crate) struct InputContext<'b> {
    /// The header of the runs, if it is in another file.
    pub(crate) header: Option<&'b Header>,
    /// Opens the input again at an offset; `None` if that fails or would be slow.
    pub(crate) again: Option<&'b dyn Fn(u64) -> Option<Box<dyn Read>>>,
    /// The format, if the path decides it.
    pub(crate) format: Option<Format>,
    /// True if the file is the header of runs in other files, so it may hold no runs.
    pub(crate) is_header: bool,
    /// True if spans and log records are set aside instead of being read as runs.
    pub(crate) joins: bool,
    /// True if this pass repeats another one, which reports the calls that are not read.
    pub(crate) is_recount: bool,
    /// The ids of sub-agents whose steps another input has.
    pub(crate) sub_agents: Option<&'b BTreeSet<String>>,
}

pub(crate) fn read_window(
    window: &mut Window<'_>,
    context: &InputContext<'_>,
    options: &ReadOptions,
    sink: &mut dyn StepSink,
) -> ReadSummary {
    read_or_cut(window, context, options, sink, None)
}

/// Like [`read_window`], but with `pieces` the input is cut instead of read, if its format allows that.
pub(crate) fn read_or_cut(
    window: &mut Window<'_>,
    context: &InputContext<'_>,
    options: &ReadOptions,
    sink: &mut dyn StepSink,
    pieces: Option<&mut (dyn Pieces + '_)>,
) -> ReadSummary {
    let mut runs = Runs::with_context(options, context, sink);
    let is_cut = pieces.is_some();
    let may_be_spans = options.format.is_none_or(|format| format == Format::OpenTelemetry);
    if !may_be_spans || !read_binary(window, &mut runs) {
        read_text(window, context, options, &mut runs, pieces);
    }
    if let Some(error) = window.take_fault() {
        runs.fail(error);
    }
    // For a cut input, this is known only once all pieces are read.
    if !is_cut {
        runs.fail_without_document();
    }
    runs.into_reading()
}

fn read_text(
    window: &mut Window<'_>,
    context: &InputContext<'_>,
    options: &ReadOptions,
    runs: &mut Runs<'_>,
    pieces: Option<&mut (dyn Pieces + '_)>,
) {
    match recognise::recognise(window, options.format.or(context.format)) {
        Ok(Recognised::Records(format, reader, framing)) => {
            runs.reading.format = Some(format);
            let mut walk = Walk {
                companion: context.header,
                pieces,
                may_hold_none: context.is_header,
                again: context.again,
                ..Walk::new(runs, reader)
            };
            walk.input(window, framing);
        }
        Ok(Recognised::Whole(ends)) => whole_input::read(window, ends, options.format, runs),
        Ok(Recognised::Session(format, reader)) => {
            if let Err(error) = session::read(window, format, reader, runs) {
                runs.fail(error);
            }
        }
        Ok(Recognised::Archive) => whole_input::read_archive(window, runs),
        Ok(Recognised::Each) => {
            runs.reading.wants_document = true;
            let read = match pieces {
                Some(pieces) => walk::cut_lines(window, None, pieces, || 0),
                None => whole_input::read_each(window, options.format, runs),
            };
            if let Err(error) = read {
                runs.fail(error);
            }
        }
        Err(error) => runs.fail(error),
    }
}

/// Reads a piece of an input: runs of its format, or one document per line.
pub(crate) fn read_piece(
    piece: &Piece,
    context: &InputContext<'_>,
    options: &ReadOptions,
    sink: &mut dyn StepSink,
) -> ReadSummary {
    let mut runs = Runs::with_context(options, context, sink);
    if let Some(Reader::Records(reader)) = piece.format.map(Format::reader) {
        runs.reading.format = piece.format;
        let mut walk = Walk { companion: context.header, ..Walk::new(&mut runs, reader) };
        walk.piece(piece);
    } else {
        let mut window = Window::over_part(&piece.bytes, piece.place);
        if let Err(error) = whole_input::read_each(&mut window, options.format, &mut runs) {
            runs.fail(error);
        }
    }
    runs.into_reading()
}

/// Returns the error for an input whose lines should be documents, if none can be read.
pub(crate) fn no_document() -> Error {
    Error::new(ErrorKind::Format, "no line of the input is a document that can be read")
}

/// Reads the `info` and `tasks` of a tau2 directory, whose runs are separate files. Returns an empty header
/// if they cannot be read.
pub(crate) fn read_companion(input: impl Read, options: &ReadOptions) -> Header {
    let Reader::Records(reader) = Format::Tau2.reader() else { return Header::default() };
    let mut window = Window::over_stream(input, options.most_held);
    walk::read_header(&mut window, reader, options).unwrap_or_default()
}

/// The number of bytes checked for protobuf: a message has a byte that is not white space among them.
const MOST_TAGS: usize = 64;

/// Reads spans in protobuf and returns true, or returns false for any other input. The whole input is held only if it
/// begins like protobuf.
fn read_binary(window: &mut Window<'_>, runs: &mut Runs<'_>) -> bool {
    // A fault is reported when the rest is read.
    let _ = window.fill_once(1);
    // The first tag of such a message has the value of a line feed.
    if window.unread().first() == Some(&b'\n') {
        let _ = window.fill_once(MOST_TAGS);
    }
    let start = window.unread().get(..MOST_TAGS).unwrap_or(window.unread());
    if start.first() != Some(&b'\n') || start.iter().all(u8::is_ascii_whitespace) {
        return false;
    }
    while matches!(window.grow(), Ok(true)) {}
    formats::otel::read_protobuf(window.unread(), runs)
}
