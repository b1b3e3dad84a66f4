//! Readers: from the bytes of a recorded run to validated steps. What a format calls its fields stays in its file.
//!
//! To add a format: write a file beside the others that ends in a constant `FORMAT`, and add its module and its line
//! to the list below. The order of the list is the order in which formats are asked whether an input is theirs.

mod atif;
mod atif_result;
mod bench_trace;
mod chat;
mod chat_call;
mod chat_element;
mod chat_items;
mod chat_messages;
mod claude_code;
mod claude_code_line;
mod codex;
mod codex_exec;
mod codex_item;
mod codex_text;
mod common;
mod document;
mod format;
mod gemini_cli;
mod inspect;
#[cfg(feature = "inspect")]
mod inspect_archive;
mod inspect_events;
mod mended;
mod mini_swe_agent;
mod native;
mod opencode;
mod openhands;
mod outcome;
mod recognise;
#[cfg_attr(
    not(feature = "scan"),
    allow(dead_code, reason = "what stands beside files is known to scans alone")
)]
pub(crate) mod reward;
mod runs;
mod sample;
mod spans;
mod swe_agent;
mod tau2;
mod tau2_messages;
mod tau_bench;
mod time;
mod timestamp;
mod tokens;
mod walk;
mod window;
mod wire;
mod words;
#[cfg(feature = "compression")]
mod zstd;

use std::io::Read;

pub use bench_trace::Alignment;
pub(crate) use runs::Header;
pub use runs::PassedOver;
#[cfg(feature = "scan")]
pub(crate) use spans::SpanPool;
pub(crate) use spans::{AgentRun, LogRecord, SPAN_LABEL, Span, put_in_order, runs_of_trace, runs_so_far};
pub use spans::{SpanBatch, SpanJoin};
pub(crate) use walk::{Piece, Pieces};

use document::{Document, Parsed};
use format::{Entry, Reader, RecordReader};
use mended::Mended;
use recognise::Recognised;
use runs::Runs;
use serde::Serialize;
use walk::Walk;
pub(crate) use window::Window;
#[cfg(feature = "compression")]
pub(crate) use zstd::Frames;

use crate::error::{Error, ErrorKind, Result};
use crate::json::StringEnds;
use crate::trace::{StepSink, Trace, TraceCollector};

format::formats! {
    /// Results of tau2-bench.
    Tau2 => tau2, "tau2";
    /// Results of tau-bench, the first version.
    TauBench => tau_bench, "tau-bench";
    /// ATIF trajectories.
    Atif => atif, "atif";
    /// Sessions of Codex.
    CodexRollout => codex, "codex-rollout";
    /// What `codex exec --json` prints.
    CodexExec => codex_exec, "codex-exec";
    /// Sessions of Claude Code.
    ClaudeCode => claude_code, "claude-code";
    /// Logs of Inspect.
    Inspect => inspect, "inspect";
    /// Sessions of the Gemini CLI.
    GeminiCli => gemini_cli, "gemini-cli";
    /// Sessions exported by `OpenCode`.
    OpenCode => opencode, "opencode";
    /// Trajectories of SWE-agent.
    SweAgent => swe_agent, "swe-agent";
    /// Event logs of `OpenHands`.
    OpenHands => openhands, "openhands";
    /// Trajectories of mini-swe-agent, version 1; later ones are chats.
    MiniSweAgent1 => mini_swe_agent, "mini-swe-agent-1";
    /// Items of `OpenAI`'s Responses.
    OpenAiResponses => chat::responses, "openai-responses";
    /// Messages of Anthropic's models.
    AnthropicMessages => chat::anthropic, "anthropic-messages";
    /// Messages of `OpenAI`'s chat.
    OpenAiChat => chat::openai, "openai-chat";
    /// Episodes of `BenchTrace`.
    BenchTrace => bench_trace, "benchtrace";
    /// This crate's own form.
    Native => native, "native";
    /// Spans and log records of OpenTelemetry.
    OpenTelemetry => spans, "opentelemetry";
}

/// How files are read. Fields may be added: write `..ReadOptions::default()` behind those that you set.
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// The format; `None` looks at the content.
    pub format: Option<Format>,
    /// What `obs` is in `BenchTrace` episodes; `None` looks at the first entry of each.
    pub alignment: Option<Alignment>,
    /// Whether reference routes are read.
    pub routes: bool,
    /// Whether the JSON texts of arguments are kept for whoever looks inside them; their digests always are.
    /// `None` is as whoever reads needs it: a scan keeps them where a detector reads them, other uses always do.
    /// Where a reference route compares single arguments, the texts are kept in any case.
    pub argument_texts: Option<bool>,
    /// The most bytes of an input that are held at once: a single run of a stream, a whole file of a format that
    /// has to be seen whole.
    pub most_held: usize,
    /// Of formats without a mark of errors of their own (spans): whether a result that begins with `Error` is one.
    pub text_errors: bool,
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
        }
    }
}

/// What became of one input.
#[derive(Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Reading {
    /// The format that was read; `None` where the content gave none away, or several.
    pub format: Option<Format>,
    /// Whether there were documents of several formats.
    #[serde(skip)]
    pub(crate) is_mixed: bool,
    /// Runs that reached the sink.
    pub runs: u64,
    /// Those of them in which nobody acts.
    pub runs_without_actions: u64,
    /// How much there is that could not be read.
    pub faults: u64,
    /// Positions given out since the last piece, to runs that were read and to runs that could not be.
    #[serde(skip)]
    pub(crate) positions: u64,
    /// What could not be read, in the order of its places, as far as the sink did not take it ([`StepSink::error`]).
    /// An error with a run number costs that run alone.
    #[serde(skip)]
    pub errors: Vec<Error>,
    /// What was passed over because no rule reads it, by reason.
    pub passed_over: PassedOver,
    /// Spans and log records that were set aside, to be joined with those of other inputs.
    #[serde(skip)]
    pub(crate) set_aside: Option<SpanBatch>,
}

/// Reads the runs of a file in memory into a sink.
pub fn read_slice(bytes: &[u8], options: &ReadOptions, sink: &mut dyn StepSink) -> Reading {
    read_window(&mut Window::over_slice(bytes), &Beside::default(), options, sink)
}

/// Reads the runs of a stream into a sink, holding one run at a time where the format allows that.
///
/// What a tau2 file says of its runs only behind them is found up to 8 MiB ahead. Beyond that its reference routes,
/// model and domain are not known; the verdicts say so.
pub fn read_stream(input: impl Read, options: &ReadOptions, sink: &mut dyn StepSink) -> Reading {
    read_window(&mut Window::over_stream(input, options.most_held), &Beside::default(), options, sink)
}

/// Reads every run of a file in memory as a [`Trace`].
///
/// ```
/// use tracelint::{ReadOptions, read_traces};
///
/// let file = br#"{"info": null, "tasks": [], "simulations": [{"id": "a", "messages": []}, 7]}"#;
/// let (traces, reading) = read_traces(file, &ReadOptions::default());
/// assert_eq!(traces.len(), 1);
/// assert_eq!(reading.errors[0].run(), Some(1));
/// ```
#[must_use]
pub fn read_traces(bytes: &[u8], options: &ReadOptions) -> (Vec<Trace>, Reading) {
    let mut collector = TraceCollector::default();
    let reading = read_slice(bytes, options, &mut collector);
    (collector.traces, reading)
}

/// What is known of an input beside its bytes.
#[derive(Default)]
pub(crate) struct Beside<'b> {
    /// What another file says of its runs.
    pub(crate) header: Option<&'b Header>,
    /// Opens the input again from its start.
    pub(crate) again: Option<&'b dyn Fn() -> Option<Box<dyn Read>>>,
    /// The format, where the place of the file decides it.
    pub(crate) format: Option<Format>,
    /// Whether it is itself what says something of the runs of others.
    pub(crate) is_header: bool,
    /// Whether spans and log records are set aside instead of being read as runs.
    pub(crate) joins: bool,
}

/// Reads the runs of a window into a sink.
pub(crate) fn read_window(
    window: &mut Window<'_>,
    beside: &Beside<'_>,
    options: &ReadOptions,
    sink: &mut dyn StepSink,
) -> Reading {
    read_or_cut(window, beside, options, sink, None)
}

/// As [`read_window`], but what can be read by others is handed to them in pieces.
pub(crate) fn read_or_cut(
    window: &mut Window<'_>,
    beside: &Beside<'_>,
    options: &ReadOptions,
    sink: &mut dyn StepSink,
    pieces: Option<&mut (dyn Pieces + '_)>,
) -> Reading {
    let mut runs = Runs::new(options, sink);
    runs.joins = beside.joins;
    let may_be_spans = options.format.is_none_or(|format| format == Format::OpenTelemetry);
    if !may_be_spans || !read_binary(window, &mut runs) {
        read_text(window, beside, options, &mut runs, pieces);
    }
    if let Some(error) = window.take_fault() {
        runs.fail(error);
    }
    runs.into_reading()
}

fn read_text(
    window: &mut Window<'_>,
    beside: &Beside<'_>,
    options: &ReadOptions,
    runs: &mut Runs<'_>,
    pieces: Option<&mut (dyn Pieces + '_)>,
) {
    let recognised = recognise::recognise(window, options.format.or(beside.format));
    match recognised {
        Ok(Recognised::Records(format, reader, framing)) => {
            runs.reading.format = Some(format);
            let mut walk = Walk {
                companion: beside.header,
                pieces,
                may_hold_none: beside.is_header,
                again: beside.again,
                ..Walk::new(runs, reader)
            };
            walk.input(window, framing);
        }
        Ok(Recognised::Whole) => read_whole(window, options.format, runs),
        Ok(Recognised::Archive) => {
            hold_all(window, runs);
            if let Err(error) = read_archive(window.unread(), runs) {
                runs.fail(error);
            }
        }
        Ok(Recognised::Each) => {
            let read = match pieces {
                Some(pieces) => walk::cut_lines(window, None, pieces, || 0),
                None => read_each(window, options.format, runs),
            };
            if let Err(error) = read {
                runs.fail(error);
            }
        }
        Err(error) => runs.fail(error),
    }
}

/// Reads a piece of an input of this format; of none, a document in each line.
pub(crate) fn read_piece(
    piece: &Piece,
    beside: &Beside<'_>,
    options: &ReadOptions,
    sink: &mut dyn StepSink,
) -> Reading {
    let mut runs = Runs::new(options, sink);
    runs.joins = beside.joins;
    if let Some(Reader::Records(reader)) = piece.format().map(|format| &format.entry().reader) {
        runs.reading.format = piece.format();
        let mut walk = Walk { companion: beside.header, ..Walk::new(&mut runs, reader) };
        walk.piece(piece);
    } else {
        let (bytes, place) = piece.lines();
        if let Err(error) = read_each(&mut Window::over_part(bytes, place), options.format, &mut runs) {
            runs.fail(error);
        }
    }
    runs.into_reading()
}

/// Reads the `info` and `tasks` of a tau2 directory, whose runs lie in files of their own.
pub(crate) fn read_companion(input: impl Read, options: &ReadOptions) -> Header {
    let Reader::Records(reader) = &tau2::FORMAT.reader else { return Header::default() };
    let mut window = Window::over_stream(input, options.most_held);
    walk::read_header(&mut window, reader, options).unwrap_or_default()
}

/// Reads an input that is no text but a format of bytes; `false` where it is none. All of it is held only where it
/// begins like one.
fn read_binary(window: &mut Window<'_>, runs: &mut Runs<'_>) -> bool {
    // What cannot be read is reported by whoever reads on.
    while window.unread().is_empty() && matches!(window.grow(), Ok(true)) {}
    if window.unread().first() != Some(&b'\n') {
        return false;
    }
    while matches!(window.grow(), Ok(true)) {}
    spans::read_protobuf(window.unread(), runs)
}

/// Reads all of an input into its window.
fn hold_all(window: &mut Window<'_>, runs: &mut Runs<'_>) {
    loop {
        match window.grow() {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => runs.fail(error),
        }
    }
}

#[cfg(feature = "inspect")]
use inspect_archive::read as read_archive;

#[cfg(not(feature = "inspect"))]
fn read_archive(_: &[u8], _: &mut Runs<'_>) -> Result<()> {
    let what = "the input is a zip archive, and this build has no feature `inspect`";
    Err(Error::new(ErrorKind::Format, what))
}

/// Reads an input that has to be seen whole.
fn read_whole(window: &mut Window<'_>, wanted: Option<Format>, runs: &mut Runs<'_>) {
    hold_all(window, runs);
    let bytes = window.unread();
    if simdutf8::basic::from_utf8(bytes).is_ok() {
        let ends = StringEnds::of_length(bytes.len());
        return read_document(&Parsed::of(bytes, Some(&ends)), window, wanted, runs);
    }
    runs.pass_over("inputs with bytes that are no UTF-8, read as U+FFFD", 1);
    let mended = Mended::of(bytes);
    let text = mended.text.as_bytes();
    let ends = StringEnds::of_length(text.len());
    let window = Window::over_mended(&mended, bytes, window::Place::START);
    read_document(&Parsed::of(text, Some(&ends)), &window, wanted, runs);
}

fn read_document(parsed: &Parsed<'_>, window: &Window<'_>, wanted: Option<Format>, runs: &mut Runs<'_>) {
    if let Some(entry) = recognise::claimed(parsed, wanted) {
        return read_as(entry, parsed, window, runs);
    }
    // An object that is no document may be the only line of one.
    let line = parsed.as_line();
    match line.as_ref().and_then(|line| Some((line, recognise::claimed(line, wanted)?))) {
        Some((line, entry)) => read_as(entry, line, window, runs),
        None => fail_unrecognised(parsed, recognise::unrecognised(&parsed.document, wanted), window, runs),
    }
}

/// Says that an input is of no known format, or, where that is so, that it is no JSON.
fn fail_unrecognised(parsed: &Parsed<'_>, error: Error, window: &Window<'_>, runs: &mut Runs<'_>) {
    if let Document::Lines(lines) = &parsed.document
        && lines.is_empty()
    {
        // Of a document of spans that is cut off, what came before counts.
        if spans::read_damaged(window.unread(), window, runs) {
            return;
        }
        if let Some(error) = recognise::no_json(window) {
            return runs.fail(error);
        }
    }
    let start = window.unread().iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    runs.fail(error.at(window.place(start).location()));
}

fn read_as(entry: &format::Entry, parsed: &Parsed<'_>, window: &Window<'_>, runs: &mut Runs<'_>) {
    runs.named = Some(entry.format);
    runs.pass_over("lines that are no JSON", parsed.no_json);
    runs.pass_over("lines that are no object", parsed.no_object);
    if let Reader::Document(reader) = &entry.reader
        && let Err(fault) = (reader.read)(&parsed.document, runs)
    {
        let location = window.place(fault.at()).location();
        let error = fault.into_error().at(location);
        if error.kind() == ErrorKind::Format {
            runs.named = None;
        }
        runs.fail(error);
    }
    runs.settle(window);
    if let Some(format) = runs.named.take() {
        runs.is_of(format);
    }
}

/// Reads an input that has a document of its own in each line.
fn read_each(window: &mut Window<'_>, wanted: Option<Format>, runs: &mut Runs<'_>) -> Result<()> {
    loop {
        let whole = window.is_whole();
        let bytes = window.unread();
        let end = if whole { bytes.len() } else { memchr::memrchr(b'\n', bytes).map_or(0, |last| last + 1) };
        let ends = StringEnds::of_length(end);
        for line in sample::lines(bytes.get(..end).unwrap_or_default(), true, 0) {
            let line = line.with_ends(Some(&ends));
            read_line(line, window, wanted, runs);
        }
        window.consume(end);
        if !window.grow()? && whole {
            return Ok(());
        }
    }
}

fn read_line(line: crate::json::Raw<'_>, window: &Window<'_>, wanted: Option<Format>, runs: &mut Runs<'_>) {
    if simdutf8::basic::from_utf8(line.bytes()).is_err() {
        runs.pass_over("lines with bytes that are no UTF-8, read as U+FFFD", 1);
        let mended = Mended::of(line.bytes());
        let window = Window::over_mended(&mended, line.bytes(), window.place(line.offset()));
        return read_sound_line(crate::json::Raw::over(mended.text.as_bytes(), 0), &window, wanted, runs);
    }
    read_sound_line(line, window, wanted, runs);
}

fn read_sound_line(
    line: crate::json::Raw<'_>,
    window: &Window<'_>,
    wanted: Option<Format>,
    runs: &mut Runs<'_>,
) {
    let parsed = Parsed::of_line(line);
    if !matches!(parsed.document, document::Document::Object(_)) {
        runs.pass_over("lines that are no JSON", parsed.no_json);
        return runs.pass_over("lines that are no object", parsed.no_object);
    }
    match recognise::claimed(&parsed, wanted) {
        Some(entry) => read_as(entry, &parsed, window, runs),
        None => runs.pass_over("lines of no known format", 1),
    }
}
