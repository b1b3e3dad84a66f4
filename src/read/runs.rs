//! The runs of one input, in order, as the readers of formats emit them.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::header::Header;
use super::place::{RunPlaces, RunStart, SourceMap};
use super::text_calls;
use super::unread_calls::{self, Tally};
use super::window::Window;
use super::{Format, InputContext, ReadOptions, ReadSummary, SpanBatch};
use crate::error::{Error, ErrorKind, Result};
use crate::json::{Fault, Json, Read};
use crate::trace::{
    Actor, Assembler, Event, Metadata, Places, RouteStatus, RunSource, RunSummary, Step, StepSink, Unpaired,
};

/// The runs of one input, on their way to a sink.
pub(super) struct Runs<'s> {
    pub(super) options: &'s ReadOptions,
    sink: &'s mut dyn StepSink,
    position: u64,
    /// True if the sink has the beginning of the next run.
    is_begun: bool,
    /// Number of actions of the next run that the sink has.
    actions_begun: u64,
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
    /// The ids of sub-agents whose steps another input has.
    sub_agents: Option<&'s BTreeSet<String>>,
    broken: Option<Error>,
    /// Faults in parts of a document, until their places in the input are known.
    faults: Vec<Fault>,
    /// The places of steps of whole documents and of sessions, if requested.
    pub(super) places: SourceMap,
    /// The start of the next run, if the run is a separate value and places are requested.
    pub(super) start: Option<RunStart>,
    /// Facts in the object that encloses the document, for runs that lack them.
    pub(super) around: RunSummary,
    /// The keys of the runs with calls next to the value that is read.
    pub(super) keys: BTreeSet<String>,
}

impl<'s> Runs<'s> {
    pub(super) fn new(options: &'s ReadOptions, sink: &'s mut dyn StepSink) -> Self {
        Self {
            options,
            sink,
            position: 0,
            is_begun: false,
            actions_begun: 0,
            named: None,
            reading: ReadSummary::default(),
            joins: false,
            actions: 0,
            strangers: 0,
            documents: 0,
            is_recount: false,
            sub_agents: None,
            broken: None,
            faults: Vec::new(),
            places: SourceMap::default(),
            start: None,
            around: RunSummary::default(),
            keys: BTreeSet::new(),
        }
    }

    /// Creates an empty set of runs for an input with this context.
    pub(super) fn with_context(
        options: &'s ReadOptions,
        context: &InputContext<'s>,
        sink: &'s mut dyn StepSink,
    ) -> Self {
        let (joins, is_recount, sub_agents) = (context.joins, context.is_recount, context.sub_agents);
        Self { joins, is_recount, sub_agents, ..Self::new(options, sink) }
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

    pub(super) fn pass_over(&mut self, reason: impl Into<Cow<'static, str>>, count: u64) {
        if count > 0 {
            *self.reading.counts.passed_over.entry(reason.into()).or_default() += count;
        }
    }

    /// Returns true if another input has the steps of this sub-agent.
    pub(super) fn is_elsewhere(&self, sub_agent: &str) -> bool {
        self.sub_agents.is_some_and(|agents| agents.contains(sub_agent))
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

    /// Returns true if the sink has the beginning of the next run.
    pub(super) fn has_begun(&self) -> bool {
        self.is_begun
    }

    /// Begins the next run. If it has begun already, its steps are discarded first.
    pub(super) fn begin(&mut self, routing: &RouteStatus) {
        self.abandon();
        self.sink.begin(self.position, routing);
        (self.is_begun, self.actions_begun) = (true, 0);
    }

    #[inline]
    pub(super) fn step(&mut self, step: &Step<'_>) {
        self.actions_begun += u64::from(matches!(step.event(), Event::Action(_)));
        self.strangers += u64::from(step.actor() == Actor::Environment);
        self.sink.step(step);
    }

    /// Emits the complete steps of the next run.
    #[inline]
    pub(super) fn flush(&mut self, run: &mut Assembler<'_>) -> Result<()> {
        run.flush(&mut |step| self.step(step))
    }

    /// Emits all steps of the next run, and returns the counts of unpaired calls and answers.
    pub(super) fn finish(&mut self, run: &mut Assembler<'_>) -> Result<Unpaired> {
        run.finish(&mut |step| self.step(step))
    }

    fn end(&mut self, ending: RunSummary, places: Option<&dyn Places>) {
        let unpaired = ending.unpaired();
        let format = self.named.or(self.reading.format).map(Format::name);
        self.sink.end_of(ending, &RunSource { format, places });
        self.is_begun = false;
        self.position += 1;
        self.actions += self.actions_begun;
        let counts = &mut self.reading.counts;
        counts.runs += 1;
        counts.runs_without_actions += u64::from(self.actions_begun == 0);
        counts.unpaired.add(unpaired);
    }

    /// Discards the steps of the next run.
    fn abandon(&mut self) {
        if std::mem::take(&mut self.is_begun) {
            self.sink.abandon();
        }
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
        if !self.is_begun {
            let unread = text_calls::read(run) as u64;
            if unread > 0 && !self.is_recount {
                self.reading.counts.unread_calls += unread;
                let what = format!("calls in texts of run {} were not read: {unread}", self.position);
                self.fail(Error::new(ErrorKind::Unread, what));
            }
            self.begin(routing);
        }
        let unpaired = self.finish(run);
        match unpaired.and_then(|unpaired| Ok(ending?.with_unpaired(unpaired))) {
            Ok(mut ending) => {
                ending.fill(&self.around);
                let all = std::mem::take(&mut self.places);
                self.end(ending, self.options.places.then_some(&all));
                self.places = all;
            }
            Err(error) => {
                self.abandon();
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
        let emitted = run.emit_before(turn, &mut |step| {
            if !self.is_begun {
                self.begin(&None.into());
            }
            self.step(step);
        });
        if let Err(error) = emitted {
            self.abandon();
            self.broken = Some(error);
        }
    }

    /// Like [`Runs::give`], for a format without reference routes.
    pub(super) fn give_unrouted(&mut self, run: &mut Assembler<'_>, metadata: Metadata, reward: Option<f64>) {
        self.give(run, RunSummary::new(metadata, reward), &None.into());
    }

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
        steps: &mut Assembler<'a>,
    ) -> Read<()> {
        json.space();
        let start = json.offset();
        let read = read(json, header, steps, self).and_then(|ending| {
            // Bytes that the reader skipped without checking must be UTF-8 as well.
            match simdutf8::basic::from_utf8(json.since(start)) {
                Ok(_) => Ok(ending),
                Err(_) => Err(Fault::encoding_at(start)),
            }
        });
        let ending = read.inspect_err(|_| self.abandon())?;
        let (bytes, position) = (json.since(start), self.position);
        let places = self.start.map(|start| RunPlaces { bytes, start });
        self.end(ending, places.as_ref().map(|places| places as &dyn Places));
        if self.actions_begun == 0 {
            unread_calls::report_run(bytes, position, self);
        }
        Ok(())
    }
}

/// Reads one run: from a JSON value to steps and an ending.
pub(super) type ReadRun =
    for<'a> fn(&mut Json<'a>, &Header, &mut Assembler<'a>, &mut Runs<'_>) -> Read<RunSummary>;
