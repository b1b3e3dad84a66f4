//! The runs of one input, in order, as the readers of formats emit them.

use std::borrow::Cow;

use super::header::Header;
use super::place::{RunPlaces, RunStart, SourceMap};
use super::text_calls;
use super::unread_calls::{self, Tally};
use super::window::Window;
use super::{Format, InputContext, ReadOptions, ReadSummary, SpanBatch};
use crate::error::{Error, ErrorKind, Result};
use crate::json::{Fault, Json, Read};
use crate::trace::{
    Actor, Assembler, Event, Metadata, Places, RouteStatus, RunSource, RunSummary, Step, StepSink, Trace,
    Unpaired,
};

/// The runs of one input, on their way to a sink.
pub(super) struct Runs<'s> {
    pub(super) options: &'s ReadOptions,
    sink: &'s mut dyn StepSink,
    /// The position of the next run.
    position: u64,
    /// The format of the document, as its reader names it.
    pub(super) named: Option<Format>,
    pub(super) reading: ReadSummary,
    /// True if spans and log records are set aside.
    pub(super) joins: bool,
    /// Counts so far, as in [`Tally`].
    actions: u64,
    strangers: u64,
    documents: u64,
    /// True in a second pass over an input: the first pass counts the calls that are not read.
    pub(super) is_recount: bool,
    /// True if the sink already has steps of the next run.
    is_begun: bool,
    /// The error that broke the next run.
    broken: Option<Error>,
    /// Faults in parts of a document, until their places in the input are known.
    faults: Vec<Fault>,
    /// The places of steps of whole documents and of sessions, if requested.
    pub(super) places: SourceMap,
    /// The start of the next run, if the run is a separate value and places are requested.
    pub(super) start: Option<RunStart>,
    /// Facts in the object that encloses the document, for runs that lack them.
    pub(super) around: RunSummary,
}

impl<'s> Runs<'s> {
    pub(super) fn new(options: &'s ReadOptions, sink: &'s mut dyn StepSink) -> Self {
        Self {
            options,
            sink,
            position: 0,
            named: None,
            reading: ReadSummary::default(),
            joins: false,
            actions: 0,
            strangers: 0,
            documents: 0,
            is_recount: false,
            is_begun: false,
            broken: None,
            faults: Vec::new(),
            places: SourceMap::default(),
            start: None,
            around: RunSummary::default(),
        }
    }

    /// Creates an empty set of runs for an input with this context.
    pub(super) fn with_context(
        options: &'s ReadOptions,
        context: &InputContext<'s>,
        sink: &'s mut dyn StepSink,
    ) -> Self {
        Self { joins: context.joins, is_recount: context.is_recount, ..Self::new(options, sink) }
    }

    /// Numbers the following runs from this position on.
    #[cfg(feature = "scan")]
    pub(super) fn number_from(&mut self, position: u64) {
        self.position = position;
    }

    /// Keeps spans and log records until those of other inputs have been read.
    pub(super) fn set_aside(&mut self, batch: SpanBatch) {
        self.reading.set_aside.get_or_insert_default().append(batch);
    }

    /// Returns the summary of the input.
    pub(super) fn into_reading(self) -> ReadSummary {
        ReadSummary { positions: self.position, ..self.reading }
    }

    /// Records the format of a document that was read.
    pub(super) fn is_of(&mut self, format: Format) {
        self.documents += 1;
        self.reading.is_mixed |= self.reading.format.is_some_and(|before| before != format);
        self.reading.format = (!self.reading.is_mixed).then_some(format);
    }

    /// Numbers the following runs from 0 again. Returns the position that would have come next.
    pub(super) fn restart_positions(&mut self) -> u64 {
        std::mem::take(&mut self.position)
    }

    /// Counts skipped parts.
    pub(super) fn pass_over(&mut self, reason: impl Into<Cow<'static, str>>, count: u64) {
        if count > 0 {
            *self.reading.counts.passed_over.entry(reason.into()).or_default() += count;
        }
    }

    /// Reports an error in the input to the sink, and keeps it if the sink returns it.
    pub(super) fn fail(&mut self, error: Error) {
        self.reading.fail(error, self.sink);
    }

    /// Reports an error if the input should have a document and has none.
    pub(super) fn fail_without_document(&mut self) {
        let reading = &self.reading;
        if reading.wants_document
            && reading.format.is_none()
            && !reading.is_mixed
            && reading.counts.errors == 0
        {
            self.fail(super::no_document());
        }
    }

    /// Keeps a fault in a part of the document for [`Runs::settle`], which knows its place in the input.
    pub(super) fn fail_at(&mut self, fault: Fault) {
        self.faults.push(fault);
    }

    /// Reports the faults in parts of a document, with their places in the input.
    pub(super) fn settle(&mut self, window: &Window<'_>) {
        for fault in std::mem::take(&mut self.faults) {
            let location = window.place(fault.at()).location();
            self.fail(fault.into_error().at(location));
        }
    }

    /// Reports that the next run cannot be read. Its position is not given to another run.
    pub(super) fn fail_run(&mut self, error: Error) {
        let position = self.position;
        self.position += 1;
        self.fail(error.in_run(position));
    }

    /// Emits a run, or the steps that [`Runs::hand_on`] has not emitted yet. A run that breaks a rule of the trace
    /// model is reported and skipped.
    pub(super) fn give(
        &mut self,
        run: &mut Assembler<'_>,
        ending: Result<RunSummary>,
        routing: &RouteStatus,
    ) {
        if let Some(error) = self.broken.take() {
            return self.fail_run(error);
        }
        if !std::mem::take(&mut self.is_begun) {
            text_calls::read(run);
            self.sink.begin(self.position, routing);
        }
        let mut strangers = 0;
        let ended = run
            .finish(&mut |step| {
                strangers += u64::from(step.actor() == Actor::Environment);
                self.sink.step(step);
            })
            .and_then(|unpaired| Ok(ending?.with_unpaired(unpaired)));
        self.strangers += strangers;
        match ended {
            Ok(mut ending) => {
                ending.fill(&self.around);
                self.count(run.actions(), ending.unpaired());
                let places = Some(&self.places as &dyn Places).filter(|_| self.options.places);
                self.sink.end_of(ending, &RunSource { format: self.format_name(), places });
            }
            Err(error) => {
                self.sink.abandon();
                self.fail_run(error);
            }
        }
    }

    /// Emits the complete steps of the next run that come before a turn. A run without a call keeps its steps until it
    /// ends, since its calls may be written as text.
    pub(super) fn hand_on(&mut self, run: &mut Assembler<'_>, turn: u64) {
        if run.actions() == 0 || self.broken.is_some() {
            return;
        }
        let (sink, is_begun, position) = (&mut *self.sink, &mut self.is_begun, self.position);
        let mut strangers = 0;
        let emitted = run.emit_before(turn, &mut |step| {
            if !std::mem::replace(is_begun, true) {
                sink.begin(position, &None.into());
            }
            strangers += u64::from(step.actor() == Actor::Environment);
            sink.step(step);
        });
        self.strangers += strangers;
        if let Err(error) = emitted {
            if std::mem::take(&mut self.is_begun) {
                self.sink.abandon();
            }
            self.broken = Some(error);
        }
    }

    fn format_name(&self) -> Option<&'static str> {
        self.named.or(self.reading.format).map(Format::name)
    }

    /// Like [`Runs::give`], for a format without reference routes.
    pub(super) fn give_unrouted(&mut self, run: &mut Assembler<'_>, metadata: Metadata, reward: Option<f64>) {
        self.give(run, RunSummary::new(metadata, reward), &None.into());
    }

    /// Counts a run that was emitted, with its number of actions.
    fn count(&mut self, actions: u64, unpaired: Unpaired) {
        self.position += 1;
        self.actions += actions;
        let counts = &mut self.reading.counts;
        counts.runs += 1;
        counts.runs_without_actions += u64::from(actions == 0);
        counts.unpaired.add(unpaired);
    }

    /// Returns the counts so far.
    pub(super) fn tally(&self) -> Tally {
        let counts = &self.reading.counts;
        Tally {
            runs: counts.runs,
            runs_without_actions: counts.runs_without_actions,
            actions: self.actions,
            strangers: self.strangers,
            documents: self.documents,
            passed_over: counts.passed_over.values().sum(),
        }
    }

    /// Counts calls that are omitted because another run has them, so they are not reported as unread.
    pub(super) fn leave_out(&mut self, calls: u64) {
        self.actions += calls;
    }

    /// Counts and reports calls that were not read. `first` is the path of the first.
    pub(super) fn fail_unread(&mut self, calls: u64, first: &str) {
        self.reading.counts.unread_calls += calls;
        let are = if calls == 1 { "call was" } else { "calls were" };
        self.fail(Error::new(ErrorKind::Unread, format!("{calls} {are} not read, the first at {first}")));
    }

    /// Reads one run in place, by the reader of its format.
    #[inline]
    pub(super) fn read<'a>(
        &mut self,
        read: ReadRun,
        json: &mut Json<'a>,
        header: &Header,
        assembler: &mut Assembler<'a>,
    ) -> Read<()> {
        json.space();
        let start = json.offset();
        let format = self.format_name();
        let mut run = OpenRun {
            options: self.options,
            assembler,
            sink: self.sink,
            position: self.position,
            begun: false,
            actions: 0,
            ending: RunSummary::default(),
        };
        let checked = read(json, header, &mut run).and_then(|()| {
            // Bytes that the reader skipped without checking must be UTF-8 as well.
            match simdutf8::basic::from_utf8(json.since(start)) {
                Ok(_) => Ok(()),
                Err(_) => Err(Fault::encoding_at(start)),
            }
        });
        match &checked {
            Ok(()) => {
                let OpenRun { sink, ending, actions, .. } = run;
                let (position, unpaired) = (self.position, ending.unpaired());
                let places = self.start.map(|place| RunPlaces { bytes: json.since(start), start: place });
                let places = places.as_ref().map(|places| places as &dyn Places);
                sink.end_of(ending, &RunSource { format, places });
                self.count(actions, unpaired);
                if actions == 0 {
                    unread_calls::report_run(json.since(start), position, self);
                }
            }
            Err(_) if run.begun => run.sink.abandon(),
            Err(_) => {}
        }
        checked
    }
}

/// Reads one run: from a JSON value to steps and an ending.
pub(super) type ReadRun = for<'a> fn(&mut Json<'a>, &Header, &mut OpenRun<'a, '_>) -> Read<()>;

/// A run that is being read.
pub(super) struct OpenRun<'a, 's> {
    pub(super) options: &'s ReadOptions,
    pub(super) assembler: &'s mut Assembler<'a>,
    sink: &'s mut dyn StepSink,
    position: u64,
    begun: bool,
    actions: u64,
    /// Filled in place, since it is large.
    pub(super) ending: RunSummary,
}

impl OpenRun<'_, '_> {
    /// Returns true if the run has begun in the sink.
    pub(super) fn has_begun(&self) -> bool {
        self.begun
    }

    /// Begins the run. If it has begun already, its steps are discarded first.
    pub(super) fn begin(&mut self, routing: &RouteStatus) {
        if self.begun {
            self.sink.abandon();
        }
        self.sink.begin(self.position, routing);
        self.begun = true;
        self.actions = 0;
    }

    /// Emits the complete steps of the assembler.
    #[inline]
    pub(super) fn flush(&mut self) -> Result<()> {
        let sink = &mut *self.sink;
        self.assembler.flush(&mut |step| sink.step(step))
    }

    /// Emits all steps of the assembler and takes over its counts.
    pub(super) fn finish(&mut self) -> Result<()> {
        let sink = &mut *self.sink;
        self.ending.unpaired = self.assembler.finish(&mut |step| sink.step(step))?;
        self.actions = self.assembler.actions();
        Ok(())
    }

    /// Emits a step that needs no assembling.
    pub(super) fn step(&mut self, step: &Step<'_>) {
        self.actions += u64::from(matches!(step.event(), Event::Action(_)));
        self.sink.step(step);
    }

    /// Emits a whole trace.
    pub(super) fn replay(&mut self, trace: &Trace) {
        self.begin(trace.routing());
        for step in trace.steps() {
            self.step(&step);
        }
        self.ending = trace.ending().clone();
    }
}
