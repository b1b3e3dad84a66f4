//! Readers: from bytes of a known format to validated steps. Wire structs stay in here.

mod benchtrace;
mod careful;
mod container;
mod cut;
mod native;
mod pairing;
mod tau2;
mod tau2_messages;
mod window;
mod wire;

use std::fmt;
use std::io::Read;
use std::str::FromStr;
use std::sync::Arc;

use rayon::prelude::*;
use serde::Serialize;

pub use benchtrace::Alignment;
use container::{Layout, Outcome};
use window::Window;

use crate::error::{Error, ErrorKind, Result};
use crate::trace::{StepSink, Trace, TraceCollector};

/// A format that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Format {
    /// tau2-bench results.
    Tau2,
    /// `BenchTrace` episodes.
    BenchTrace,
    /// This crate's own form.
    Native,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 3] = [Self::Tau2, Self::BenchTrace, Self::Native];

    /// The format's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tau2 => "tau2",
            Self::BenchTrace => "benchtrace",
            Self::Native => "native",
        }
    }

    /// The format that a key, of a file or of a run, gives away.
    fn of_key(key: &str) -> Option<Self> {
        match key {
            "simulations" | "info" | "tasks" | "messages" | "reward_info" | "task_id"
            | "termination_reason" => Some(Self::Tau2),
            "episodes" | "snapshot" | "failure_instances" => Some(Self::BenchTrace),
            "traces" | "steps" => Some(Self::Native),
            _ => None,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|format| format.name() == name)
            .ok_or_else(|| Error::config("format", format!("`{name}` is none of tau2, benchtrace, native")))
    }
}

/// How files are read.
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// The format; `None` looks at the content.
    pub format: Option<Format>,
    /// What `obs` is in `BenchTrace` episodes; `None` looks at the first entry of each.
    pub alignment: Option<Alignment>,
    /// Whether reference routes are read.
    pub routes: bool,
    /// Whether the JSON texts of arguments are kept for whoever looks inside them; their digests always are.
    /// Where a reference route compares single arguments, the texts are kept in any case.
    pub argument_texts: bool,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { format: None, alignment: None, routes: true, argument_texts: true }
    }
}

/// What the run files of a tau2 directory have in common: the `info` and `tasks` of its `results.json`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Companion(Arc<tau2::Header>);

/// What became of one file.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Reading {
    /// The format that was read; `None` where the content gave none away.
    pub format: Option<Format>,
    /// Runs that reached the sink.
    pub runs: u64,
    /// What could not be read, in the order of its places. An error with a run number costs that run alone.
    pub errors: Vec<Error>,
}

/// Reads the runs of a file in memory into a sink, in one pass.
pub fn read_slice(bytes: &[u8], options: &ReadOptions, sink: &mut dyn StepSink) -> Reading {
    read_slice_with(bytes, options, None, sink)
}

pub(crate) fn read_slice_with(
    bytes: &[u8],
    options: &ReadOptions,
    companion: Option<&Companion>,
    sink: &mut dyn StepSink,
) -> Reading {
    let format = match options.format {
        Some(format) => Ok(format),
        None => detect(&mut Window::over_slice(bytes)),
    };
    dispatch(format, options, companion, &mut Source::Slice(bytes), sink)
}

/// As [`read_slice_with`], by several threads of the current pool, each with sinks of its own, which are given back in
/// the order of the runs. `None`: the file is not of a shape that can be cut; nothing has been read.
pub(crate) fn read_slice_split<S: StepSink + Send>(
    bytes: &[u8],
    options: &ReadOptions,
    companion: Option<&Companion>,
    new_sink: impl Fn() -> S + Sync,
) -> Option<(Reading, Vec<S>)> {
    let format = match options.format {
        Some(format) => format,
        None => detect(&mut Window::over_slice(bytes)).ok()?,
    };
    match format {
        Format::Tau2 => {
            let header = companion.map(|companion| (*companion.0).clone()).unwrap_or_default();
            split(tau2::Tau2 { header, ..tau2::Tau2::new(options) }, format, bytes, new_sink)
        }
        Format::BenchTrace => {
            split(benchtrace::BenchTrace::with_alignment(options.alignment), format, bytes, new_sink)
        }
        Format::Native => split(native::Native, format, bytes, new_sink),
    }
}

fn split<L: Layout + Send + Sync, S: StepSink + Send>(
    mut layout: L,
    format: Format,
    bytes: &[u8],
    new_sink: impl Fn() -> S + Sync,
) -> Option<(Reading, Vec<S>)> {
    /// Parts per thread: runs differ in length.
    const PARTS: usize = 8;
    let cut = cut::cut(&mut layout, bytes)?;
    let size = cut.len().div_ceil(PARTS * rayon::current_num_threads()).max(1);
    let parts: Vec<(Outcome, S)> = (0..cut.len().div_ceil(size))
        .into_par_iter()
        .map(|part| {
            let mut sink = new_sink();
            let start = part * size;
            let end = (start + size).min(cut.len());
            (cut.read(start..end, &mut layout.clone(), bytes, &mut sink), sink)
        })
        .collect();
    let mut reading = Reading { format: Some(format), ..Reading::default() };
    let mut sinks = Vec::with_capacity(parts.len());
    for (outcome, sink) in parts {
        reading.runs += outcome.runs;
        reading.errors.extend(outcome.errors);
        sinks.push(sink);
    }
    Some((reading, sinks))
}

/// Reads the runs of a stream into a sink, holding one run at a time.
///
/// Where `tasks` come behind the runs, reference routes are not known in time; the verdicts say so.
pub fn read_stream(input: impl Read, options: &ReadOptions, sink: &mut dyn StepSink) -> Reading {
    read_stream_with(input, options, None, sink)
}

pub(crate) fn read_stream_with(
    input: impl Read,
    options: &ReadOptions,
    companion: Option<&Companion>,
    sink: &mut dyn StepSink,
) -> Reading {
    let mut window = Window::over_stream(input);
    let format = match options.format {
        Some(format) => Ok(format),
        None => detect(&mut window),
    };
    dispatch(format, options, companion, &mut Source::Stream(window), sink)
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

/// Reads the `results.json` of a tau2 directory, whose runs lie in files of their own.
pub(crate) fn read_companion(bytes: &[u8], options: &ReadOptions) -> (Companion, Vec<Error>) {
    let mut layout = tau2::Tau2::new(options);
    let outcome = container::read_slice(&mut layout, bytes, true, &mut TraceCollector::default());
    (Companion(Arc::new(layout.header)), outcome.errors)
}

/// Reads a `results.json` whose runs lie beside it; it may hold some of its own.
pub(crate) fn read_header_or_runs(bytes: &[u8], options: &ReadOptions, sink: &mut dyn StepSink) -> Reading {
    let mut layout = tau2::Tau2::new(options);
    let outcome = container::read_slice(&mut layout, bytes, true, sink);
    Reading { format: Some(Format::Tau2), runs: outcome.runs, errors: outcome.errors }
}

enum Source<'a> {
    Slice(&'a [u8]),
    Stream(Window<'a>),
}

impl Source<'_> {
    fn read<L: Layout>(&mut self, layout: &mut L, sink: &mut dyn StepSink) -> Outcome {
        match self {
            Self::Slice(bytes) => container::read_slice(layout, bytes, false, sink),
            Self::Stream(window) => container::read_stream(layout, window, sink),
        }
    }
}

fn dispatch(
    format: Result<Format>,
    options: &ReadOptions,
    companion: Option<&Companion>,
    source: &mut Source<'_>,
    sink: &mut dyn StepSink,
) -> Reading {
    let format = match format {
        Ok(format) => format,
        Err(error) => return Reading { errors: vec![error], ..Reading::default() },
    };
    let outcome = match format {
        Format::Tau2 => {
            let header = companion.map(|companion| (*companion.0).clone()).unwrap_or_default();
            let streamed = matches!(source, Source::Stream(_));
            source.read(&mut tau2::Tau2 { streamed, header, ..tau2::Tau2::new(options) }, sink)
        }
        Format::BenchTrace => {
            source.read(&mut benchtrace::BenchTrace::with_alignment(options.alignment), sink)
        }
        Format::Native => source.read(&mut native::Native, sink),
    };
    Reading { format: Some(format), runs: outcome.runs, errors: outcome.errors }
}

/// Finds the format by the keys of the file, or of its first run. The window stays where it is.
fn detect(window: &mut Window<'_>) -> Result<Format> {
    window.skip_byte_order_mark()?;
    window.peek()?;
    window.mark();
    let found = detect_ahead(window);
    window.rewind();
    found
}

fn detect_ahead(window: &mut Window<'_>) -> Result<Format> {
    /// How many elements of a list are looked at: the first may be damaged.
    const ELEMENTS: usize = 16;
    let first = window.peek()?;
    let start = window.position().location();
    let truncated = || Error::new(ErrorKind::Truncated, "the input ends in the middle of a value").at(start);
    let unknown =
        || Error::shape("neither tau2 results, nor BenchTrace episodes, nor native traces").at(start);
    match first {
        None => return Err(Error::new(ErrorKind::Empty, "the input is empty")),
        Some(b'{') => return detect_object(window)?.ok_or_else(unknown),
        Some(b'[') => window.advance(1),
        Some(byte) if b"\"-0123456789tfn".contains(&byte) => return Err(unknown()),
        Some(_) => return Err(Error::new(ErrorKind::Syntax, "the input is not JSON").at(start)),
    }
    for element in 0..ELEMENTS {
        match window.peek()? {
            None => return Err(truncated()),
            // A list of no runs reads alike in every format.
            Some(b']') if element == 0 => return Ok(Format::Tau2),
            Some(b'{') => {
                window.mark();
                let found = detect_object(window);
                window.rewind();
                if let Ok(Some(format)) = found {
                    return Ok(format);
                }
            }
            _ => {}
        }
        window.skip()?;
        if window.peek()? != Some(b',') {
            break;
        }
        window.advance(1);
    }
    Err(unknown())
}

/// The format that the keys of the object at the cursor give away. The cursor ends somewhere inside.
fn detect_object(window: &mut Window<'_>) -> Result<Option<Format>> {
    window.advance(1);
    loop {
        match window.peek()? {
            Some(b'"') => {}
            None => {
                let place = window.position().location();
                return Err(
                    Error::new(ErrorKind::Truncated, "the input ends in the middle of a value").at(place)
                );
            }
            _ => return Ok(None),
        }
        let value = window.value()?;
        let key: String = serde_json::from_slice(window.bytes(value)).unwrap_or_default();
        window.pass(value);
        if let Some(format) = Format::of_key(&key) {
            return Ok(Some(format));
        }
        if window.peek()? != Some(b':') {
            return Ok(None);
        }
        window.advance(1);
        window.skip()?;
        if window.peek()? == Some(b',') {
            window.advance(1);
        }
    }
}
